//! What the self-test found: rows for the operator's table and one verdict. It does not know how an attempt is made.

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
            format!("{broken} rows not as expected")
        };
        format!(
            "{} profile: {denied} of {attempts} attempts denied, {verdict}",
            self.profile
        )
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let width = |of: fn(&Row) -> &str| {
            self.rows
                .iter()
                .map(|row| of(row).chars().count())
                .max()
                .unwrap_or(0)
        };
        let attempt = width(|row| &row.attempt).max("attempt".len());
        let expected = width(|row| &row.expected).max("expected".len());
        let answer = width(|row| &row.answer).max("answer".len());
        writeln!(
            f,
            "{:attempt$}  {:expected$}  {:answer$}",
            "attempt", "expected", "answer"
        )?;
        for row in &self.rows {
            let verdict = if row.held { "ok" } else { "BROKEN" };
            writeln!(
                f,
                "{:attempt$}  {:expected$}  {:answer$}  {verdict}",
                row.attempt, row.expected, row.answer
            )?;
        }
        writeln!(f, "{}", self.summary())
    }
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
            "attempt  expected  answer\n\
             open /x  EACCES    EACCES  ok\n\
             open /x  EACCES    works   BROKEN\n\
             engine profile: 1 of 2 attempts denied, 1 rows not as expected\n"
        );
    }
}
