//! Finds two bytes at a fixed distance: what a shape without fixed letters is found by. Dots and colons are everywhere, so
//! asking at each of them would cost more than all other shapes together; two at the right distance are rare.

/// Two ranges of bytes, bounds included, and how far apart they stand.
#[derive(Clone, Copy)]
pub(super) struct Marks {
    pub(super) first: (u8, u8),
    pub(super) second: (u8, u8),
    pub(super) distance: usize,
}

/// Bytes looked at together.
const BLOCK: usize = 128;

impl Marks {
    /// Where the first mark stands with the second at its distance.
    pub(super) fn places(self, text: &[u8]) -> impl Iterator<Item = usize> {
        let ahead = text.get(self.distance..).unwrap_or_default();
        let blocks = text.chunks(BLOCK).zip(ahead.chunks(BLOCK)).enumerate();
        blocks
            .filter(move |(_, block)| self.any(*block))
            .flat_map(move |(index, (here, there))| {
                let fits = move |(offset, (&here, &there))| {
                    self.fits(here, there).then_some(index * BLOCK + offset)
                };
                here.iter().zip(there).enumerate().filter_map(fits)
            })
    }

    /// Whether a block holds the marks anywhere. A loop that never leaves early and adds up bytes is compiled to look at
    /// many of them at once; with `any` this pass would cost more than the one for all the letters.
    fn any(self, (here, there): (&[u8], &[u8])) -> bool {
        let found = here.iter().zip(there).fold(0, |found, (&here, &there)| {
            found | u8::from(self.fits(here, there))
        });
        found != 0
    }

    fn fits(self, here: u8, there: u8) -> bool {
        let within = |byte: u8, (low, high): (u8, u8)| byte.wrapping_sub(low) <= high - low;
        within(here, self.first) & within(there, self.second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_in_every_block_and_across_their_seam() {
        let marks = Marks {
            first: (b'.', b'.'),
            second: (b'0', b'9'),
            distance: 3,
        };
        let mut text = vec![b'x'; 3 * BLOCK];
        let expected = [0, BLOCK - 2, BLOCK, 3 * BLOCK - 4];
        for at in expected {
            text[at] = b'.';
            text[at + 3] = b'5';
        }
        text[3 * BLOCK - 3] = b'.';

        assert_eq!(marks.places(&text).collect::<Vec<_>>(), expected);
        assert_eq!(marks.places(b"..").count(), 0);
    }
}
