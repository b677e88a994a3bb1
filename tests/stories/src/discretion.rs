//! What no log and no journal may hold, looked for when a story is over: the words people and the bot said, and every secret
//! of the house. The spool and pi's own session hold what was said because they must; they are no logs.

use std::{fs, path::Path};

use serde_json::Value;
use stand_ins::discord::Onlooker;

/// Texts that are shorter are words any log may use, such as "hello".
const TELLING: usize = 12;
/// Below the binding's data folder: answers on their way out, pi's own folder with the operator's key, and the contexts of
/// each launch.
const NO_LOGS: &[&str] = &["outbox", "pi", "launches"];

/// The secrets of one house.
#[derive(Debug)]
pub(crate) struct Discretion {
    secrets: Vec<String>,
    channels: Onlooker,
}

impl Discretion {
    pub(crate) fn new(secrets: Vec<String>, channels: Onlooker) -> Self {
        Self { secrets, channels }
    }

    /// Every place where something stands that must not; a secret is named by its number, a text by its beginning.
    pub(crate) fn breaches(&self, data: &Path, logs: &[String]) -> Vec<String> {
        let texts: Vec<String> = self
            .channels
            .texts()
            .iter()
            .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
            .filter(|line| line.chars().count() >= TELLING)
            .collect();
        let mut pages: Vec<(String, String)> = logs
            .iter()
            .enumerate()
            .map(|(number, said)| (format!("the log of program {}", number + 1), said.clone()))
            .collect();
        pages.extend(journals(data));

        let mut breaches = Vec::new();
        for (page, held) in pages {
            for (number, secret) in self.secrets.iter().enumerate() {
                if held.contains(secret) {
                    breaches.push(format!("{page} holds secret {number}"));
                }
            }
            for text in &texts {
                // In a journal a text would stand as JSON writes it.
                let as_json = Value::from(text.as_str()).to_string();
                if held.contains(text) || held.contains(as_json.trim_matches('"')) {
                    breaches.push(format!("{page} holds {text:.20?}"));
                }
            }
        }
        breaches
    }
}

/// Every file of the data folder that is a journal, a record or a ledger.
fn journals(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() {
            if !NO_LOGS.iter().any(|other| name == *other) {
                found.extend(journals(&path));
            }
        } else if let Ok(bytes) = fs::read(&path) {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            found.push((path.display().to_string(), text));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use stand_ins::discord::Discord;

    use super::*;

    #[tokio::test]
    async fn a_text_or_a_secret_in_a_log_or_a_journal_is_found() {
        let discord = Discord::guild("Acme")
            .channel("ideas")
            .user("Jason")
            .start()
            .await;
        let _ = discord.say("ideas", "Jason", "the plan is \"north\"").await;
        let discretion = Discretion::new(vec!["s3cret".into()], discord.onlooker());
        let folder = tempfile::tempdir().expect("a folder");
        let breaches = |name: &str, journal: &str, log: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(&path, journal).expect("a file");
            let found = discretion.breaches(folder.path(), &[log.to_owned()]).len();
            fs::remove_file(path).expect("it was there");
            found
        };

        assert_eq!(breaches("drops.jsonl", "{\"id\":\"1\"}", "all is well"), 0);
        assert_eq!(
            breaches(
                "drops.jsonl",
                "{\"text\":\"the plan is \\\"north\\\"\"}",
                ""
            ),
            1
        );
        assert_eq!(
            breaches("turns/1.json", "s3cret", "the plan is \"north\", s3cret"),
            3
        );
        assert_eq!(breaches("outbox/1.json", "the plan is \"north\"", ""), 0);
    }
}
