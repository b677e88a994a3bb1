//! Data on stdout, for commands that print it, and the width of what people read. Knows how to stop when nobody reads any
//! more.

use std::{
    fmt,
    io::{self, Write},
    process,
};

use super::Code;

/// Prints one line. A reader that went away, as `head` does, ends the command without a word.
pub(crate) fn line(text: impl fmt::Display) {
    if let Err(error) = writeln!(io::stdout(), "{text}") {
        if error.kind() != io::ErrorKind::BrokenPipe {
            eprintln!("mosaic-broker: the output cannot be written: {error}.");
        }
        process::exit(Code::Failed as i32);
    }
}

/// Prints text for people, which brings its own line ends, in lines of 80 columns.
pub(crate) fn text(text: impl fmt::Display) {
    line(wrap(text.to_string().trim_end_matches('\n'), 2));
}

/// Columns of a line.
const WIDTH: usize = 80;

/// Breaks lines at blanks so that none has more than 80 columns, and goes on `hang` columns further in than the line
/// began. A longer word stays whole: paths and digests are there to be copied.
pub(crate) fn wrap(text: &str, hang: usize) -> String {
    let lines: Vec<_> = text.split('\n').map(|line| wrap_line(line, hang)).collect();
    lines.join("\n")
}

fn wrap_line(line: &str, hang: usize) -> String {
    let begin = line.len() - line.trim_start().len();
    let mut wrapped = String::new();
    let mut column = 0;
    for (index, word) in line.split(' ').enumerate() {
        let width = word.chars().count();
        if column > begin && column + 1 + width > WIDTH {
            column = begin + hang;
            wrapped.push('\n');
            wrapped.extend(std::iter::repeat_n(' ', column));
        } else if index > 0 {
            wrapped.push(' ');
            column += 1;
        }
        wrapped.push_str(word);
        column += width;
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_goes_on_further_in_and_a_short_one_is_left_as_it_is() {
        let words = |count| vec!["four"; count].join(" ");
        for (text, hang, expected) in [
            (
                "  a table   of  columns".to_owned(),
                2,
                "  a table   of  columns".to_owned(),
            ),
            (words(16), 2, words(16)),
            (words(17), 2, format!("{}\n  four", words(16))),
            (
                format!("  {}", words(17)),
                4,
                format!("  {}\n      {}", words(15), words(2)),
            ),
            (
                format!("{} {}", "x".repeat(90), "y"),
                2,
                format!("{}\n  y", "x".repeat(90)),
            ),
            ("one\ntwo".to_owned(), 2, "one\ntwo".to_owned()),
        ] {
            assert_eq!(wrap(&text, hang), expected);
        }
    }
}
