//! What the self-test found: rows for the operator's table and one verdict. It does not know how an attempt is made.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};

/// Outcome of one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// What was tried, as a phrase. It may name paths of the host.
    pub attempt: String,
    /// What the fence must answer: names of errors, or `works`.
    pub expected: String,
    /// What the kernel answered: the name of an error, or `works`.
    pub answer: String,
    /// Whether the answer is one of the expected.
    pub held: bool,
    /// Whether the attempt was meant to be denied, rather than to work.
    pub denial: bool,
}

/// Everything the self-test tried. Its print is the table of `mosaic-broker selftest`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    profile: &'static str,
    rows: Vec<Row>,
}

impl Report {
    pub(super) fn new(profile: &'static str, rows: Vec<Row>) -> Report {
        Report { profile, rows }
    }

    /// A report of nothing tried. It does not hold.
    #[must_use]
    pub fn untried(profile: &'static str) -> Report {
        Report::new(profile, Vec::new())
    }

    /// Every attempt, in the order they were made.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// How many attempts were meant to be denied.
    #[must_use]
    pub fn attempts(&self) -> usize {
        self.rows.iter().filter(|row| row.denial).count()
    }

    /// How many of those were denied, with the answer expected of the fence.
    #[must_use]
    pub fn denied(&self) -> usize {
        self.rows
            .iter()
            .filter(|row| row.denial && row.held)
            .count()
    }

    /// Whether every attempt that must be denied was.
    #[must_use]
    pub fn all_denied(&self) -> bool {
        self.denied() == self.attempts()
    }

    /// Whether the fence is what its profile says: all denied, and all that must work works. A program starts only then.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.attempts() > 0 && self.broken().next().is_none()
    }

    /// The rows that did not go as expected.
    pub fn broken(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| !row.held)
    }

    /// One line for logs and `Status`.
    #[must_use]
    pub fn summary(&self) -> String {
        let (denied, attempts, broken) = (self.denied(), self.attempts(), self.broken().count());
        let verdict = if self.holds() {
            "the fence holds".to_owned()
        } else {
            format!("{broken} not as expected")
        };
        format!(
            "{} profile: {denied} of {attempts} attempts denied, {verdict}",
            self.profile
        )
    }
}

/// Columns of an attempt. With the longest names of errors a line has 80.
const ATTEMPT: usize = 37;

/// One line a row: the verdict, what was tried, the kernel's answer, and the answers that prove the fence.
impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let answer = self.rows.iter().map(|row| row.answer.len()).max();
        let answer = answer.unwrap_or(0).max("answer".len());
        let mut line = |verdict, attempt: &str, said: &str, expected: &str| {
            writeln!(
                f,
                "{verdict:6}  {attempt:ATTEMPT$}  {said:answer$}  {expected}"
            )
        };
        line("", "attempt", "answer", "expected")?;
        for row in &self.rows {
            let verdict = if row.held { "ok" } else { "BROKEN" };
            let expected = row.expected.replace(" or ", "/");
            line(verdict, &shortened(&row.attempt), &row.answer, &expected)?;
        }
        writeln!(f, "{}", self.summary())
    }
}

/// The attempt in the columns it has. A path loses its front, since it is the end that tells the paths of a host apart.
fn shortened(attempt: &str) -> Cow<'_, str> {
    let (true, Some(start)) = (attempt.chars().count() > ATTEMPT, attempt.find('/')) else {
        return attempt.into();
    };
    let (what, path) = attempt.split_at(start);
    let room = ATTEMPT.saturating_sub(what.chars().count() + "…".chars().count());
    let fits = |from: &usize| path[*from..].chars().count() <= room;
    let at_a_folder = path.match_indices('/').map(|(at, _)| at).find(fits);
    let anywhere = || path.char_indices().map(|(at, _)| at).find(fits);
    let end = at_a_folder.or_else(anywhere).map_or("", |at| &path[at..]);
    format!("{what}…{end}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(answer: &str, held: bool, denial: bool) -> Row {
        Row {
            attempt: "open /x".into(),
            expected: "EACCES".into(),
            answer: answer.into(),
            held,
            denial,
        }
    }

    #[test]
    fn a_report_holds_only_when_every_row_does() {
        assert!(
            Report::new(
                "p",
                vec![row("EACCES", true, true), row("works", true, false)]
            )
            .holds()
        );
        assert!(
            !Report::new(
                "p",
                vec![row("EACCES", true, true), row("works", false, true)]
            )
            .holds()
        );
        assert!(
            !Report::new(
                "p",
                vec![row("EACCES", true, true), row("EACCES", false, false)]
            )
            .holds()
        );
    }

    #[test]
    fn a_report_that_tried_nothing_does_not_hold() {
        assert!(!Report::new("p", vec![]).holds());
        assert!(!Report::new("p", vec![row("works", true, false)]).holds());
    }

    #[test]
    fn the_table_is_aligned_and_names_what_broke() {
        let report = Report::new(
            "engine",
            vec![row("EACCES", true, true), row("works", false, true)],
        );
        assert_eq!(
            report.to_string(),
            "        attempt                                answer  expected\n\
             ok      open /x                                EACCES  EACCES\n\
             BROKEN  open /x                                works   EACCES\n\
             engine profile: 1 of 2 attempts denied, 1 not as expected\n"
        );
    }

    #[test]
    fn the_widest_line_has_80_columns() {
        let widest = Row {
            attempt: format!("create a file in /srv/{}", "deep/".repeat(30)),
            expected: "EPERM or EACCES or ENOSYS".into(),
            answer: "EAFNOSUPPORT".into(),
            held: false,
            denial: true,
        };
        let table = Report::new("broker", vec![widest]).to_string();
        let width = table.lines().map(|line| line.chars().count()).max();
        assert_eq!(width, Some(80), "{table}");
    }

    #[test]
    fn a_long_path_keeps_its_end_and_loses_whole_folders_where_it_can() {
        for (attempt, shown) in [
            ("read /home/op/notes", "read /home/op/notes"),
            (
                "read /home/op/.mosaic/discord/sage/broker",
                "read …/op/.mosaic/discord/sage/broker",
            ),
            (
                "create a file in /home/op/a-root-with-a-long-name",
                "create a file in …ot-with-a-long-name",
            ),
            (
                "an attempt of many words and of no path at all",
                "an attempt of many words and of no path at all",
            ),
        ] {
            assert_eq!(shortened(attempt), shown);
        }
    }
}
