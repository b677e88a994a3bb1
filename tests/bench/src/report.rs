//! The rows, and the three forms they are given in: a table for people, JSON for programs, Markdown for a note. It knows no
//! measurement.

use std::{
    fmt::{self, Display, Formatter},
    fs,
    path::Path,
};

use serde::Serialize;

use crate::{samples::Figures, unmeasured::Unmeasured};

/// One comparison.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    group: &'static str,
    name: String,
    /// Median of ours, in `unit`.
    ours: Option<f64>,
    /// Median of the rival, in `unit`.
    rival: Option<f64>,
    /// Ours over the rival for a goal of at most; the rival over ours for one of at least.
    ratio: Option<f64>,
    goal: Option<String>,
    /// Absent when there is no goal, or no figure.
    met: Option<bool>,
    unit: &'static str,
    rival_name: String,
    /// Where the middle eight tenths of ours and of the rival lie.
    #[serde(skip_serializing_if = "Option::is_none")]
    spread: Option<[[f64; 2]; 2]>,
    /// Why there are no figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_measured: Option<String>,
}

/// What ours is measured against.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    /// Ours takes at most so many times the rival's.
    AtMost(f64),
    /// The rival takes at least so many times ours.
    AtLeast(f64),
    /// None; the row is for the reader.
    Shown,
}

impl Row {
    /// Times in microseconds.
    pub(crate) fn times(
        group: &'static str,
        name: &str,
        ours: Figures,
        rival: (&str, Figures),
        goal: Goal,
    ) -> Self {
        let spread = [[ours.low, ours.high], [rival.1.low, rival.1.high]];
        Self {
            spread: Some(spread),
            ..Self::values(
                group,
                name,
                "µs",
                ours.median,
                (rival.0, rival.1.median),
                goal,
            )
        }
    }

    /// Single figures.
    pub(crate) fn values(
        group: &'static str,
        name: &str,
        unit: &'static str,
        ours: f64,
        rival: (&str, f64),
        goal: Goal,
    ) -> Self {
        let (rival_name, rival) = (rival.0.to_owned(), rival.1);
        let (ratio, goal, met) = match goal {
            Goal::AtMost(most) => (
                ours / rival,
                Some(format!("≤ {most}×")),
                Some(ours / rival <= most),
            ),
            Goal::AtLeast(least) => (
                rival / ours,
                Some(format!("≥ {least}×")),
                Some(rival / ours >= least),
            ),
            Goal::Shown => (ours / rival, None, None),
        };
        Self {
            group,
            name: name.to_owned(),
            ours: Some(ours),
            rival: Some(rival),
            ratio: Some(ratio),
            goal,
            met,
            unit,
            rival_name,
            spread: None,
            not_measured: None,
        }
    }

    /// What was to be measured and was not.
    pub(crate) fn unmeasured(group: &'static str, name: &str, why: &Unmeasured) -> Self {
        Self {
            group,
            name: name.to_owned(),
            ours: None,
            rival: None,
            ratio: None,
            goal: None,
            met: None,
            unit: "",
            rival_name: String::new(),
            spread: None,
            not_measured: Some(why.to_string()),
        }
    }

    fn cells(&self) -> [String; 7] {
        let figure = |value: Option<f64>, side: usize| {
            let Some(value) = value else {
                return String::new();
            };
            let (unit, scale) = if self.unit == "µs" && value >= 10_000.0 {
                ("ms", 1000.0)
            } else {
                (self.unit, 1.0)
            };
            let spread = self
                .spread
                .map(|sides| sides[side].map(|end| plain(end / scale)));
            let spread = spread.map_or_else(String::new, |[low, high]| format!(" ({low}–{high})"));
            format!("{} {unit}{spread}", plain(value / scale))
        };
        let verdict = match (&self.not_measured, self.met) {
            (Some(why), _) => format!("not measured: {why}"),
            (None, Some(true)) => "met".into(),
            (None, Some(false)) => "MISSED".into(),
            (None, None) => String::new(),
        };
        [
            self.name.clone(),
            figure(self.ours, 0),
            self.rival_name.clone(),
            figure(self.rival, 1),
            self.ratio
                .map_or_else(String::new, |ratio| format!("{ratio:.2}×")),
            self.goal.clone().unwrap_or_default(),
            verdict,
        ]
    }
}

/// Three digits are as much as such a figure is worth.
fn plain(value: f64) -> String {
    match value.abs() {
        big if big >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

const HEAD: [&str; 7] = ["", "ours", "rival", "", "ratio", "goal", ""];

/// All rows of a run.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    rows: Vec<Row>,
}

impl Report {
    pub(crate) fn add(&mut self, rows: Vec<Row>) {
        self.rows.extend(rows);
    }

    /// Whether every row has its figures.
    pub(crate) fn is_complete(&self) -> bool {
        self.rows.iter().all(|row| row.not_measured.is_none())
    }

    /// Writes `report.json` and `report.md`.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), Unmeasured> {
        let json = serde_json::to_string_pretty(self).map_err(Unmeasured::at("the report"))?;
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::write(&path, text).map_err(Unmeasured::at(path.display()))
        };
        write("report.json", &(json + "\n"))?;
        write("report.md", &self.markdown())
    }

    fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let mut text = line(&HEAD.map(str::to_owned)) + &line(&HEAD.map(|_| "---".to_owned()));
        for row in &self.rows {
            let mut cells = row.cells();
            cells[0] = format!("{}: {}", row.group, cells[0]);
            text += &line(&cells);
        }
        text
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let rows: Vec<_> = self
            .rows
            .iter()
            .map(|row| (row.group, row.cells()))
            .collect();
        let width = |column: usize| {
            let cells = rows.iter().map(|(_, cells)| cells[column].chars().count());
            cells.max().unwrap_or(0).max(HEAD[column].len())
        };
        let widths: [usize; 7] = std::array::from_fn(width);
        let mut group = "";
        for (of, cells) in &rows {
            if group != *of {
                group = of;
                write_line(
                    f,
                    &[group, "ours", "rival", "", "ratio", "goal", ""],
                    &widths,
                )?;
            }
            write_line(f, &cells.each_ref().map(String::as_str), &widths)?;
        }
        Ok(())
    }
}

fn write_line(f: &mut Formatter<'_>, cells: &[&str; 7], widths: &[usize; 7]) -> fmt::Result {
    let padded: Vec<String> = cells
        .iter()
        .zip(widths)
        .map(|(cell, width)| format!("{cell:width$}"))
        .collect();
    writeln!(f, "{}", padded.join("  ").trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIGURES: Figures = Figures {
        median: 20.0,
        low: 18.0,
        high: 30.0,
    };

    fn row(goal: Goal) -> Row {
        let rival = Figures {
            median: 10.0,
            low: 9.0,
            high: 150.0,
        };
        Row::times("call", "a read", FIGURES, ("bare", rival), goal)
    }

    #[test]
    fn at_most_compares_ours_with_the_rival_and_at_least_the_rival_with_ours() {
        let verdicts = [
            Goal::AtMost(2.0),
            Goal::AtMost(1.9),
            Goal::AtLeast(0.5),
            Goal::AtLeast(0.6),
            Goal::Shown,
        ]
        .map(|goal| (row(goal).ratio, row(goal).met));

        let expected = [
            (Some(2.0), Some(true)),
            (Some(2.0), Some(false)),
            (Some(0.5), Some(true)),
            (Some(0.5), Some(false)),
            (Some(2.0), None),
        ];
        assert_eq!(verdicts, expected);
    }

    #[test]
    fn the_table_is_aligned_and_says_why_a_row_has_no_figures() {
        let mut report = Report::default();
        report.add(vec![
            row(Goal::AtMost(2.5)),
            Row::unmeasured("call", "a write", &Unmeasured::new("no disk")),
        ]);

        let expected = "\
call     ours               rival                     ratio  goal
a read   20.0 µs (18.0–30.0)  bare   10.0 µs (9.00–150)  2.00×  ≤ 2.5×  met
a write                                                             not measured: no disk
";
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(squeezed(&report.to_string()), squeezed(expected));
        assert!(!report.is_complete());
    }

    #[test]
    fn the_json_has_the_agreed_keys() {
        let mut report = Report::default();
        report.add(vec![row(Goal::AtMost(2.5))]);

        let json = serde_json::to_value(&report).unwrap();

        let expected = serde_json::json!({ "rows": [{
            "group": "call", "name": "a read", "ours": 20.0, "rival": 10.0, "ratio": 2.0, "goal": "≤ 2.5×", "met": true,
            "unit": "µs", "rival_name": "bare", "spread": [[18.0, 30.0], [9.0, 150.0]],
        }] });
        assert_eq!(json, expected);
    }
}
