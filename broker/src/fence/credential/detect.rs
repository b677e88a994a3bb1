//! The rules the table is made of: what must follow (or surround) the letters a shape begins with. Each works on the
//! text around one place and reads no more of it than the shape is long.

/// A place where a shape could be.
pub(super) struct Found<'a> {
    text: &'a [u8],
    /// First byte of the fixed letters, or the first mark.
    start: usize,
    /// First byte behind them.
    end: usize,
}

impl<'a> Found<'a> {
    pub(super) fn new(text: &'a [u8], start: usize, end: usize) -> Found<'a> {
        Found { text, start, end }
    }

    /// What follows the fixed letters, as far as `belongs` says.
    pub(super) fn tail(&self, belongs: fn(u8) -> bool) -> &'a [u8] {
        run(&self.text[self.end..], belongs)
    }

    /// Whether the fixed letters begin a word. An escaped line end before them (`\n` in a JSON text) begins one too.
    pub(super) fn begins_word(&self) -> bool {
        match self.text[..self.start] {
            [.., b'\\', b'n' | b'r' | b't'] => true,
            [.., last] => !is_word(last),
            [] => true,
        }
    }

    /// Everything behind the fixed letters.
    fn rest(&self) -> &'a [u8] {
        &self.text[self.end..]
    }

    /// Up to `most` bytes before the fixed letters.
    fn before(&self, most: usize) -> &'a [u8] {
        &self.text[self.start.saturating_sub(most)..self.start]
    }
}

pub(super) fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

pub(super) fn is_upper_or_digit(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The letters of base64 for urls, of which most tokens are made.
pub(super) fn is_url_safe(byte: u8) -> bool {
    is_word(byte) || byte == b'-'
}

/// A tail of at least `least` bytes that was drawn at random. Prose about tokens fails here: `ghp_xxxx…` has one letter,
/// `sk-learn-something` one kind of letters.
pub(super) fn random(tail: &[u8], least: usize) -> bool {
    const DISTINCT: usize = 8;
    let kinds = [
        u8::is_ascii_lowercase,
        u8::is_ascii_uppercase,
        u8::is_ascii_digit,
    ];
    tail.len() >= least
        && kinds.iter().filter(|kind| tail.iter().any(kind)).count() >= 2
        && distinct(tail) >= DISTINCT
}

/// GitHub: 36 letters, the last six a checksum of the others. A right checksum tells a token from a placeholder
/// whatever it looks like; a wrong one proves nothing, because tokens of other makes have none.
pub(super) fn github(found: &Found<'_>) -> bool {
    let tail = found.tail(is_alphanumeric);
    random(tail, 36) || tail.get(..36).is_some_and(checksum_fits)
}

fn checksum_fits(token: &[u8]) -> bool {
    const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let (key, written) = token.split_at(30);
    let mut rest = crc32(key) as usize;
    written.iter().rev().all(|&digit| {
        let fits = digit == BASE62[rest % 62];
        rest /= 62;
        fits
    })
}

/// CRC-32 as in zip and zlib. Thirty bytes at a time need no table.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            if crc & 1 == 1 {
                (crc >> 1) ^ 0xEDB8_8320
            } else {
                crc >> 1
            }
        })
    })
}

/// AWS key ids: sixteen letters, no more. The ones Amazon prints in its manuals end in EXAMPLE.
pub(super) fn aws_key_id(found: &Found<'_>) -> bool {
    let tail = found.tail(is_upper_or_digit);
    found.begins_word() && tail.len() == 16 && distinct(tail) >= 7 && !tail.ends_with(b"EXAMPLE")
}

/// The secret half of an AWS key: forty letters of base64 after its usual name.
pub(super) fn aws_secret(found: &Found<'_>) -> bool {
    let gap = run(found.rest(), |byte| {
        matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b':' | b'=' | b'>')
    });
    let key = run(&found.rest()[gap.len()..], |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'+')
    });
    (1..=8).contains(&gap.len())
        && key.len() == 40
        && random(key, 40)
        && !key.ends_with(b"EXAMPLEKEY")
}

/// Slack: `xoxb-…` and its siblings. The letter tells whose token it is.
pub(super) fn slack(found: &Found<'_>) -> bool {
    match found.rest() {
        [b'a'..=b'e' | b'o' | b'p' | b'r' | b's', b'-', rest @ ..] => {
            random(run(rest, is_url_safe), 20)
        }
        _ => false,
    }
}

/// OpenAI, Anthropic and others: `sk-`, possibly a maker's name, then a long run without a dash.
pub(super) fn secret_key(found: &Found<'_>) -> bool {
    let tail = found.tail(is_url_safe);
    let has_run = |run: &[u8]| run.iter().any(u8::is_ascii_digit) && random(run, 16);
    found.begins_word()
        && tail.len() >= 20
        && tail.split(|byte| matches!(byte, b'-' | b'_')).any(has_run)
}

/// SendGrid: two runs joined by a dot.
pub(super) fn send_grid(found: &Found<'_>) -> bool {
    let first = found.tail(is_url_safe);
    let second = match found.rest()[first.len()..] {
        [b'.', ref rest @ ..] => run(rest, is_url_safe),
        _ => return false,
    };
    found.begins_word() && random(first, 16) && random(second, 30)
}

/// A Discord bot token, found by the dot before its middle part: a user id in base64, six letters, a signature.
pub(super) fn discord_token(found: &Found<'_>) -> bool {
    let [middle @ .., b'.'] = found.rest().get(..7).unwrap_or_default() else {
        return false;
    };
    let first = run_back(found.before(64), is_url_safe);
    let last = run(&found.rest()[7..], is_url_safe);
    // Ids have 17 to 20 digits, so their base64 begins with one of three letters. A word joined to the front, such as
    // the n of an escaped line end, may come before it.
    let id = (22..=28.min(first.len()))
        .rev()
        .map(|len| &first[first.len() - len..]);
    middle.iter().copied().all(is_url_safe)
        && last.len() >= 27
        && last.iter().chain(first).any(u8::is_ascii_digit)
        && random(last, 27)
        && id
            .into_iter()
            .any(|id| matches!(id[0], b'M' | b'N' | b'O') && random(id, 22))
}

/// A Discord webhook: its url alone lets anyone post.
pub(super) fn discord_webhook(found: &Found<'_>) -> bool {
    let id = found.tail(|byte| byte.is_ascii_digit());
    let Some(secret) = found.rest()[id.len()..].strip_prefix(b"/") else {
        return false;
    };
    contains(found.before(40), b"discord")
        && (15..=21).contains(&id.len())
        && random(run(secret, is_url_safe), 40)
}

/// A Slack webhook or trigger: likewise.
pub(super) fn slack_webhook(found: &Found<'_>) -> bool {
    let path = found.tail(|byte| byte.is_ascii_alphanumeric() || byte == b'/');
    let kinds: [&[u8]; 3] = [b"services/", b"workflows/", b"triggers/"];
    kinds
        .iter()
        .any(|&kind| path.strip_prefix(kind).is_some_and(|rest| random(rest, 24)))
}

/// A Telegram bot token, found by the eighth digit before its colon: the bot's number, then 35 letters.
pub(super) fn telegram_token(found: &Found<'_>) -> bool {
    let (digits, rest) = found.text[found.start..].split_at(8);
    let more = run_back(found.before(3), |byte| byte.is_ascii_digit());
    let key = run(&rest[1..], is_url_safe);
    digits.iter().all(u8::is_ascii_digit) && more.len() <= 2 && key.len() == 35 && random(key, 35)
}

/// A signed JWT: three parts of base64, the first two of them JSON objects.
pub(super) fn jwt(found: &Found<'_>) -> bool {
    let header = found.tail(is_url_safe);
    let [b'.', b'e', b'y', b'J', ref rest @ ..] = found.rest()[header.len()..] else {
        return false;
    };
    let claims = run(rest, is_url_safe);
    let [b'.', ref rest @ ..] = rest[claims.len()..] else {
        return false;
    };
    header.len() >= 8 && claims.len() >= 4 && run(rest, is_url_safe).len() >= 16
}

/// The first line of a private key in any of the armours: dashes, BEGIN, capitals up to PRIVATE KEY, dashes.
pub(super) fn private_key(found: &Found<'_>) -> bool {
    let rest = found.rest();
    let rest = rest.strip_prefix(b" BLOCK").unwrap_or(rest);
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    let before = found.before(48);
    let label = run_back(before, |byte| is_upper_or_digit(byte) || byte == b' ');
    rest.starts_with(b"----")
        && label.trim_ascii_start().starts_with(b"BEGIN ")
        && before[..before.len() - label.len()].ends_with(b"----")
}

/// A url of any scheme that carries a password: `://user:password@host`. Templates such as `<password>`, `$PASS` or
/// `***` are no password.
pub(super) fn url_password(found: &Found<'_>) -> bool {
    let belongs = |byte: u8| {
        !byte.is_ascii_whitespace()
            && !matches!(byte, b'/' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\')
    };
    let rest = found.rest();
    let authority = run(&rest[..rest.len().min(512)], belongs);
    let Some(at) = memchr::memrchr(b'@', authority) else {
        return false;
    };
    let (user_info, host) = (&authority[..at], &authority[at + 1..]);
    let Some(colon) = memchr::memchr(b':', user_info) else {
        return false;
    };
    let password = &user_info[colon + 1..];
    let is_template = match password {
        [] | [b'$' | b'{' | b'[', ..] => true,
        [b'%', next, ..] => !next.is_ascii_hexdigit(),
        password => password.iter().all(|byte| matches!(byte, b'*' | b'.')),
    };
    let begins_word = found
        .before(1)
        .first()
        .is_some_and(|&byte| is_alphanumeric(byte));
    begins_word
        && !is_template
        && host
            .first()
            .is_some_and(|&byte| is_alphanumeric(byte) || byte == b'[')
}

fn run(bytes: &[u8], belongs: impl Fn(u8) -> bool) -> &[u8] {
    let end = bytes
        .iter()
        .position(|&byte| !belongs(byte))
        .unwrap_or(bytes.len());
    &bytes[..end]
}

fn run_back(bytes: &[u8], belongs: impl Fn(u8) -> bool) -> &[u8] {
    let start = bytes
        .iter()
        .rposition(|&byte| !belongs(byte))
        .map_or(0, |at| at + 1);
    &bytes[start..]
}

fn distinct(bytes: &[u8]) -> usize {
    let mut seen = [false; 256];
    bytes
        .iter()
        .filter(|&&byte| !std::mem::replace(&mut seen[usize::from(byte)], true))
        .count()
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(bytes, part).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_one_of_zlib() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn a_checksum_tells_a_github_token_from_a_placeholder() {
        // Published by GitHub as an example of the format.
        let published = ["zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ", "0mLq17"].concat();
        assert!(checksum_fits(published.as_bytes()));

        let placeholder = "a".repeat(30);
        let mut sum = crc32(placeholder.as_bytes()) as usize;
        let mut written = [b'0'; 6];
        for digit in written.iter_mut().rev() {
            *digit = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[sum % 62];
            sum /= 62;
        }
        let right = [b"ghp_", placeholder.as_bytes(), &written].concat();
        let wrong = [b"ghp_", "a".repeat(36).as_bytes()].concat();
        assert!(github(&Found::new(&right, 0, 4)));
        assert!(!github(&Found::new(&wrong, 0, 4)));
    }
}
