//! The engine's folders and the settings pi finds in them. The connector owns every file here but `auth.json` and
//! `models.json`, which are the operator's (DESIGN 7.21). It does not know what pi does with them.

use std::{
    fs::{self, DirBuilder, OpenOptions, Permissions},
    io::{self, Write as _},
    os::unix::fs::{
        DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
    },
    path::{Path, PathBuf},
};

use reqwest::Url;
use serde_json::{Value, json};

use super::error::EngineError;

/// Where the engine lives on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineFolders {
    /// pi's agent folder: settings, credentials, models.
    pub agent: PathBuf,
    /// pi's sessions.
    pub sessions: PathBuf,
    /// One record per launch.
    pub launches: PathBuf,
    /// Holds the three folders below; emptied at each start.
    pub scratch: PathBuf,
}

impl EngineFolders {
    /// The engine's folders for the binding whose files are in `data` (`<dataRoot>/discord/<binding>`).
    #[must_use]
    pub fn below(data: &Path, sessions: PathBuf) -> Self {
        Self {
            agent: data.join("pi"),
            sessions,
            launches: data.join("launches"),
            scratch: data.join("engine"),
        }
    }

    /// pi's HOME. Empty: pi looks there for skills and credentials of other programs.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.scratch.join("home")
    }

    /// pi's working folder. Empty: pi obeys files it finds there. Its path names the session, so it never changes.
    #[must_use]
    pub fn work(&self) -> PathBuf {
        self.scratch.join("work")
    }

    /// pi's TMPDIR. Private, since node runs code it finds in caches there.
    #[must_use]
    pub fn tmp(&self) -> PathBuf {
        self.scratch.join("tmp")
    }

    /// Makes the folders that are missing, each 0700, and checks those that are there.
    ///
    /// Call it before the process confines itself: the fence grants the folders it finds.
    ///
    /// # Errors
    /// When one cannot be made, is a link, or belongs to somebody else.
    pub fn create(&self) -> Result<(), EngineError> {
        for folder in [&self.agent, &self.sessions, &self.launches, &self.scratch] {
            private_folder(folder)?;
        }
        Ok(())
    }

    /// Makes everything as a launch needs it: scratch folders empty, settings ours, the operator's files private.
    pub(super) fn prepare(&self) -> Result<(), EngineError> {
        self.create()?;
        for folder in [self.home(), self.work(), self.tmp()] {
            if folder.symlink_metadata().is_ok() {
                fs::remove_dir_all(&folder)
                    .map_err(|source| failed(&folder, "cannot be emptied", source))?;
            }
            private_folder(&folder)?;
        }
        for name in ["auth.json", "models.json"] {
            private_file(&self.agent.join(name))?;
        }
        let settings = self.agent.join("settings.json");
        replace(&settings, &settings_json())
            .map_err(|source| failed(&settings, "cannot be written", source))
    }
}

/// What pi is told in its settings, and nothing else: a `packages` or `npmCommand` entry in this file runs programs.
fn settings_json() -> Value {
    json!({
        // Otherwise pi sends the whole conversation again while nobody asks, and the operator pays.
        "cacheWarming": "off",
        "compaction": { "enabled": true },
        // Silence of a provider, in ms; below the turn's default time-out, so that a retry has a chance.
        "httpIdleTimeoutMs": 90_000,
        "retry": { "enabled": true, "maxRetries": 3, "baseDelayMs": 2000, "provider": { "maxRetries": 0 } },
    })
}

/// Where the model answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelEndpoint {
    /// TCP port.
    pub port: u16,
    /// Whether its host is a name that has to be resolved.
    pub named: bool,
}

/// Reads where `model` of `provider` answers from the operator's `models.json`: the base url of the model, else of the
/// provider, else the built-in provider's, which is https on 443.
///
/// # Errors
/// When the file is no JSON, when the url is none, or when it would send the credential in the clear past this host, or
/// when its key is a command, which the engine cannot run.
pub fn model_endpoint(
    agent: &Path,
    provider: &str,
    model: &str,
) -> Result<ModelEndpoint, EngineError> {
    let path = agent.join("models.json");
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => "{}".to_owned(),
        Err(source) => return Err(failed(&path, "cannot be read", source)),
    };
    endpoint(&text, provider, model).map_err(|why| EngineError::Models { path, why })
}

fn endpoint(models: &str, provider: &str, model: &str) -> Result<ModelEndpoint, String> {
    const BUILT_IN: ModelEndpoint = ModelEndpoint {
        port: 443,
        named: true,
    };
    // The error is not shown: it could quote a key.
    let models: Value = serde_json::from_str(models).map_err(|_| "is not JSON".to_owned())?;
    let provider = &models["providers"][provider];
    if provider["apiKey"]
        .as_str()
        .is_some_and(|key| key.starts_with('!'))
    {
        return Err(
            "takes its key from a command, which the engine cannot run; put the key into auth.json"
                .to_owned(),
        );
    }
    let listed = provider["models"].as_array().into_iter().flatten();
    let own = listed
        .filter(|listed| listed["id"] == model)
        .find_map(|listed| listed["baseUrl"].as_str());
    let Some(base) = own.or(provider["baseUrl"].as_str()) else {
        return Ok(BUILT_IN);
    };
    let url: Url = base
        .parse()
        .map_err(|_| "has a baseUrl that is no url".to_owned())?;
    let host = url.host_str().unwrap_or_default();
    let address: Option<std::net::IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    let here = address.is_some_and(|address| address.is_loopback());
    match (url.scheme(), url.port_or_known_default()) {
        ("https", Some(port)) => Ok(ModelEndpoint {
            port,
            named: address.is_none(),
        }),
        ("http", Some(port)) if here => Ok(ModelEndpoint { port, named: false }),
        _ => Err("has a baseUrl that is neither https nor http on 127.0.0.1 or [::1]".to_owned()),
    }
}

/// Makes `path` a folder of ours alone, or checks that it is one.
fn private_folder(path: &Path) -> Result<(), EngineError> {
    let made = DirBuilder::new().mode(0o700).recursive(true).create(path);
    made.map_err(|source| failed(path, "cannot be made", source))?;
    let seen = path
        .symlink_metadata()
        .map_err(|source| failed(path, "cannot be looked at", source))?;
    if !seen.is_dir() {
        return Err(wrong(path, "must be a folder and no link"));
    }
    if seen.uid() != nix::unistd::geteuid().as_raw() {
        return Err(wrong(path, "belongs to another user"));
    }
    if seen.mode() & 0o077 != 0 {
        let private = Permissions::from_mode(0o700);
        fs::set_permissions(path, private)
            .map_err(|source| failed(path, "cannot be made private", source))?;
    }
    Ok(())
}

/// Checks a file of the operator's, if it is there.
pub(super) fn private_file(path: &Path) -> Result<(), EngineError> {
    let seen = match path.symlink_metadata() {
        Ok(seen) => seen,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(failed(path, "cannot be looked at", source)),
    };
    if !seen.is_file() {
        return Err(wrong(path, "must be a regular file and no link"));
    }
    if seen.mode() & 0o077 != 0 {
        return Err(wrong(
            path,
            "may hold a key and is readable by others; set its mode to 0600",
        ));
    }
    Ok(())
}

/// Writes a file beside the old one and puts it in its place, so that a link in its place is replaced, not followed.
pub(super) fn replace(path: &Path, value: &Value) -> io::Result<()> {
    let fresh = path.with_extension("json.new");
    let _ = fs::remove_file(&fresh);
    write_new(&fresh, format!("{value:#}\n").as_bytes())?;
    fs::rename(&fresh, path)
}

/// Writes a file that did not exist, 0600, and waits until it is on disk.
pub(super) fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

fn failed(path: &Path, why: &'static str, source: io::Error) -> EngineError {
    EngineError::Folder {
        path: path.to_owned(),
        why,
        source: Some(source),
    }
}

fn wrong(path: &Path, why: &'static str) -> EngineError {
    EngineError::Folder {
        path: path.to_owned(),
        why,
        source: None,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn folders() -> (tempfile::TempDir, EngineFolders) {
        let root = tempfile::tempdir().unwrap();
        let folders = EngineFolders::below(&root.path().join("data"), root.path().join("sessions"));
        (root, folders)
    }

    fn mode(path: &Path) -> u32 {
        path.symlink_metadata().unwrap().mode() & 0o777
    }

    #[test]
    fn a_launch_finds_private_empty_folders_and_our_settings() {
        let (_root, folders) = folders();
        folders.prepare().unwrap();
        fs::write(folders.work().join("AGENTS.md"), "obey me").unwrap();
        fs::create_dir(folders.home().join(".pi")).unwrap();
        fs::write(
            folders.agent.join("settings.json"),
            "{\"packages\": [\"npm:evil\"]}",
        )
        .unwrap();

        folders.prepare().unwrap();

        for folder in [folders.home(), folders.work(), folders.tmp()] {
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
            assert_eq!(mode(&folder), 0o700);
        }
        let settings = folders.agent.join("settings.json");
        let written: Value = serde_json::from_slice(&fs::read(&settings).unwrap()).unwrap();
        assert_eq!((written, mode(&settings)), (settings_json(), 0o600));
    }

    #[test]
    fn a_link_in_place_of_the_settings_is_replaced_and_its_target_untouched() {
        let (root, folders) = folders();
        folders.prepare().unwrap();
        let target = root.path().join("target");
        fs::write(&target, "untouched").unwrap();
        fs::remove_file(folders.agent.join("settings.json")).unwrap();
        symlink(&target, folders.agent.join("settings.json")).unwrap();

        folders.prepare().unwrap();

        assert_eq!(fs::read_to_string(target).unwrap(), "untouched");
        assert!(
            folders
                .agent
                .join("settings.json")
                .symlink_metadata()
                .unwrap()
                .is_file()
        );
    }

    #[test]
    fn a_link_in_place_of_a_folder_is_refused() {
        let (root, folders) = folders();
        fs::create_dir_all(folders.agent.parent().unwrap()).unwrap();
        fs::create_dir(root.path().join("elsewhere")).unwrap();
        symlink(root.path().join("elsewhere"), &folders.agent).unwrap();

        let error = folders.prepare().unwrap_err().to_string();

        assert!(
            error.ends_with("/data/pi: must be a folder and no link"),
            "{error}"
        );
    }

    #[test]
    fn credentials_that_others_can_read_are_refused() {
        let (_root, folders) = folders();
        folders.create().unwrap();
        let auth = folders.agent.join("auth.json");
        fs::write(&auth, "{}").unwrap();
        fs::set_permissions(&auth, Permissions::from_mode(0o640)).unwrap();

        let error = folders.prepare().unwrap_err().to_string();

        assert!(error.ends_with(
            "auth.json: may hold a key and is readable by others; set its mode to 0600"
        ));
    }

    #[test]
    fn the_endpoint_is_the_models_else_the_providers_else_the_built_in_one() {
        let models = json!({ "providers": {
            "acme": { "baseUrl": "https://api.example.com/v1", "models": [
                { "id": "a" },
                { "id": "b", "baseUrl": "https://[2001:db8::1]:8443" },
            ] },
            "here": { "baseUrl": "http://127.0.0.1:11434/v1" },
            "six": { "baseUrl": "http://[::1]:80" },
        } })
        .to_string();
        for (provider, model, port, named) in [
            ("acme", "a", 443, true),
            ("acme", "b", 8443, false),
            ("here", "x", 11434, false),
            ("six", "x", 80, false),
            ("anthropic", "x", 443, true),
        ] {
            assert_eq!(
                endpoint(&models, provider, model),
                Ok(ModelEndpoint { port, named }),
                "{provider}/{model}"
            );
        }
    }

    #[test]
    fn an_endpoint_in_the_clear_past_this_host_is_refused() {
        for base in [
            "http://api.example.com",
            "http://localhost:1",
            "http://10.0.0.1",
            "ftp://127.0.0.1",
            "no url",
            "",
        ] {
            let models = json!({ "providers": { "p": { "baseUrl": base } } }).to_string();

            assert!(endpoint(&models, "p", "m").is_err(), "{base}");
        }
    }

    #[test]
    fn a_key_command_is_refused_and_an_error_never_quotes_the_file() {
        let command = json!({ "providers": { "p": { "apiKey": "!pass show key" } } }).to_string();

        assert!(
            endpoint(&command, "p", "m")
                .unwrap_err()
                .starts_with("takes its key from a command")
        );
        assert_eq!(
            endpoint("{\"key\": secret", "p", "m"),
            Err("is not JSON".to_owned())
        );
    }
}
