//! Whether text shows anything to a person. One rule for what comes in, what the engine replies and what is posted.

/// Whether a person would see nothing: white space, controls and characters without a shape (E18).
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| {
        c.is_whitespace() || c.is_control() || SHAPELESS.iter().any(|range| range.contains(&c))
    })
}

/// Characters that take part in no visible shape on their own: joiners, direction marks, fillers, selectors, tags.
const SHAPELESS: [std::ops::RangeInclusive<char>; 14] = [
    '\u{ad}'..='\u{ad}',
    '\u{34f}'..='\u{34f}',
    '\u{61c}'..='\u{61c}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{200b}'..='\u{200f}',
    '\u{202a}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{3164}'..='\u{3164}',
    '\u{fe00}'..='\u{fe0f}',
    '\u{feff}'..='\u{feff}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{e0000}'..='\u{e0fff}',
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e_18_what_nobody_can_see_is_blank() {
        for blank in [
            "",
            " \n\t",
            "\u{200b}",
            "\u{feff}\u{2060}\u{200d}",
            "\u{0}",
            "\u{3164}",
            "\u{e0041}",
        ] {
            assert!(is_blank(blank), "{blank:?}");
        }
        for shown in [".", "\u{200b}x", "👀", "\u{301}"] {
            assert!(!is_blank(shown), "{shown:?}");
        }
    }
}
