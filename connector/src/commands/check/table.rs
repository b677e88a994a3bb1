//! The table `check` prints: one row per thing looked at, ok or FAILED with the next step. It knows none of the things.

use std::fmt::Write as _;
use std::io::Write as _;

use serde::Serialize;

use crate::exit::{Code, Exit, wrap};

/// Columns a name may take; details begin after them.
const NAME_WIDTH: usize = 24;
/// Columns of a line.
const WIDTH: usize = 80;

/// Rows in the order they were looked at.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    check: String,
    state: State,
    detail: String,
    #[serde(skip)]
    code: Code,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    Failed,
    Skipped,
}

impl Table {
    /// Adds a row and hands on what was found, when something was.
    pub(super) fn row<T>(
        &mut self,
        check: impl Into<String>,
        found: Result<(T, String), Exit>,
    ) -> Option<T> {
        let (found, state, detail, code) = match found {
            Ok((found, detail)) => (Some(found), State::Ok, detail, Code::Ok),
            Err(exit) => (None, State::Failed, exit.sentence, exit.code),
        };
        self.rows.push(Row {
            check: check.into(),
            state,
            detail,
            code,
        });
        found
    }

    /// Adds a row for what could not be looked at because of a row before it.
    pub(super) fn skip(&mut self, check: impl Into<String>, why: &str) {
        self.rows.push(Row {
            check: check.into(),
            state: State::Skipped,
            detail: why.to_owned(),
            code: Code::Ok,
        });
    }

    /// Prints the table on stdout. That nobody reads it is no failure.
    pub(super) fn print(&self, json: bool) -> Result<(), Exit> {
        let text = if json {
            serde_json::to_string_pretty(&self.rows).map_err(Exit::failed)? + "\n"
        } else {
            self.text()
        };
        let _ = std::io::stdout().write_all(text.as_bytes());
        Ok(())
    }

    /// The end of the command: a fault an operator must mend outweighs one that may pass.
    pub(super) fn verdict(&self) -> Result<(), Exit> {
        let failed: Vec<&Row> = self
            .rows
            .iter()
            .filter(|row| row.state == State::Failed)
            .collect();
        if failed.is_empty() {
            return Ok(());
        }
        let sentence = format!("{} of {} checks failed.", failed.len(), self.rows.len());
        if failed.iter().any(|row| row.code == Code::Invalid) {
            Err(Exit::invalid(sentence))
        } else {
            Err(Exit::failed(sentence))
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for row in &self.rows {
            let state = match row.state {
                State::Ok => "ok",
                State::Failed => "FAILED",
                State::Skipped => "-",
            };
            let margin = 8 + NAME_WIDTH + 1;
            let detail =
                wrap(&row.detail, WIDTH - margin).replace('\n', &format!("\n{:margin$}", ""));
            let name: String = row.check.chars().take(NAME_WIDTH).collect();
            let _ = writeln!(text, "{state:<8}{name:<NAME_WIDTH$} {detail}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::default();
        assert_eq!(
            table.row("binding", Ok((7, "Sage for Example Server".to_owned()))),
            Some(7)
        );
        table.row::<()>(
            "channel #ideas",
            Err(Exit::invalid(
                "The bot lacks Send Messages. Give it that permission in the channel's settings.",
            )),
        );
        table.skip("gateway", "not opened");
        table
    }

    #[test]
    fn rows_stand_in_columns_and_fit_the_screen() {
        let text = table().text();

        assert!(
            text.lines().all(|line| line.chars().count() <= WIDTH),
            "{text}"
        );
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_fault_to_mend_outweighs_one_that_may_pass() {
        let mut table = table();
        table.row::<()>("Discord", Err(Exit::failed("not reached")));

        assert_eq!(table.verdict(), Err(Exit::invalid("2 of 4 checks failed.")));
    }

    #[test]
    fn what_was_skipped_is_no_failure() {
        let mut table = Table::default();
        table.skip("gateway", "not opened");

        assert_eq!(table.verdict(), Ok(()));
    }
}
