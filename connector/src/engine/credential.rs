//! Whether pi will find a key for the bound provider, looked at before any start so that `check` can say it. It tries no
//! key, shows none, and knows no provider: pi has the last word.

use std::{fs, io, path::Path};

use serde_json::{Map, Value};

use super::{agent_folder::private_file, error::EngineError};

/// Looks where pi looks: in `auth.json`, then in `models.json` (pi's own order). The engine has neither an environment nor a
/// shell, so pi's other sources are closed to it.
///
/// # Errors
/// When neither holds a key for `provider` that the engine can use, or when one of them is open to other users or is no JSON.
pub fn credential(agent: &Path, provider: &str) -> Result<(), EngineError> {
    let auth_path = agent.join("auth.json");
    let auth = object(&auth_path)?;
    let models = object(&agent.join("models.json"))?;
    let key = match auth.get(provider) {
        // A login is an object without a key of its own.
        Some(entry) => entry["key"].as_str().unwrap_or("a login").to_owned(),
        None => text(&models, provider),
    };
    let why = if key.is_empty() {
        let others: Vec<&str> = auth.keys().map(String::as_str).collect();
        let others = match others.as_slice() {
            [] => String::new(),
            others => format!(" (it has one for {})", others.join(", ")),
        };
        format!("there is no key for {provider} in it{others}")
    } else if key.starts_with('!') || names_a_variable(&key) {
        format!("the key for {provider} is a command or a variable, which the engine has not")
    } else {
        return Ok(());
    };
    Err(EngineError::NoCredential {
        path: auth_path,
        why,
    })
}

/// The key `models.json` gives a provider; empty when it gives none.
fn text(models: &Map<String, Value>, provider: &str) -> String {
    let provider = models
        .get("providers")
        .and_then(|providers| providers.get(provider));
    let key = provider.and_then(|provider| provider["apiKey"].as_str());
    key.unwrap_or_default().to_owned()
}

/// `$NAME`; `$$` and `$!` are pi's way to write the letters themselves.
fn names_a_variable(key: &str) -> bool {
    let name = key.strip_prefix('$').unwrap_or_default();
    !name.is_empty() && !name.starts_with(['$', '!'])
}

/// The object in a file of the operator's; an empty one when the file is not there.
fn object(path: &Path) -> Result<Map<String, Value>, EngineError> {
    private_file(path)?;
    let unusable = |why: &str| EngineError::Models {
        path: path.to_owned(),
        why: why.to_owned(),
    };
    match fs::read(path) {
        // The error is not shown: it could quote a key.
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|_| unusable("is not a JSON object")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Map::new()),
        Err(_) => Err(unusable("cannot be read")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs::Permissions, os::unix::fs::PermissionsExt as _};

    const AUTH: &str = r#"{"acme": {"type": "api_key", "key": "hunter2"}, "login": {"type": "oauth"},
        "shell": {"key": "!pass show key"}, "variable": {"key": "$ACME_KEY"}, "dollar": {"key": "$$1"}}"#;
    const MODELS: &str =
        r#"{"providers": {"local": {"apiKey": "x"}, "keyless": {"baseUrl": "https://a.example"}}}"#;

    fn agent(auth: &str) -> tempfile::TempDir {
        let agent = tempfile::tempdir().unwrap();
        for (name, content) in [("auth.json", auth), ("models.json", MODELS)] {
            let path = agent.path().join(name);
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        }
        agent
    }

    fn refusal(auth: &str, provider: &str) -> String {
        let agent = agent(auth);
        let refusal = credential(agent.path(), provider).unwrap_err().to_string();
        refusal.replace(&format!("{}/", agent.path().display()), "")
    }

    #[test]
    fn a_key_of_either_file_and_a_login_will_do() {
        let agent = agent(AUTH);
        for provider in ["acme", "login", "dollar", "local"] {
            assert!(credential(agent.path(), provider).is_ok(), "{provider}");
        }
    }

    #[test]
    fn a_provider_without_a_key_is_told_which_ones_have_one() {
        assert_eq!(
            refusal(r#"{"anthropic": {"key": "hunter2"}}"#, "antropic"),
            "auth.json: there is no key for antropic in it (it has one for anthropic). Put one in as README.md says under \
             \"Set-up on a host\", or correct engine.provider"
        );
        assert!(
            refusal("{}", "keyless")
                .starts_with("auth.json: there is no key for keyless in it. Put")
        );
        let empty = tempfile::tempdir().unwrap();
        assert!(credential(empty.path(), "acme").is_err());
    }

    #[test]
    fn a_key_the_engine_cannot_come_by_is_none() {
        for provider in ["shell", "variable"] {
            assert!(refusal(AUTH, provider).contains("is a command or a variable"));
        }
    }

    #[test]
    fn a_file_that_is_no_object_is_refused_and_not_quoted() {
        assert_eq!(
            refusal("{\"key\": hunter2", "acme"),
            "auth.json: is not a JSON object"
        );
    }
}
