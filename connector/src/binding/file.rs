//! From the bytes of the file to a [`Binding`]: every field, its bounds and every rule between fields, in the order of the
//! table in the README. It opens nothing.

use std::ops::RangeInclusive;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use mosaic_sandbox::RequiredAbi;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::value::{Misfit, Place, Value};
use super::{Binding, Channel, ContextPath, Engine, Limits, Mode, OpaqueTools, User};
use crate::discord::Snowflake;
use crate::journal::Digest;
use crate::paths::BindingName;

/// A binding of a thousand users is a tenth of this.
pub(super) const MAX_BYTES: u64 = 1024 * 1024;

/// pi's thinking levels.
pub(super) const THINKING: [&str; 7] = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];

const FIELDS: [&str; 14] = [
    "bindingVersion",
    "name",
    "seat",
    "guildId",
    "guildName",
    "botUserId",
    "tokenFile",
    "channels",
    "users",
    "engine",
    "limits",
    "context",
    "tools",
    "sandbox",
];

const ID: &str = "a Discord id: 1 to 20 digits as a string";
const LINE: &str = "1 to 100 printable characters on one line";
const WORD: &str = "1 to 200 printable ASCII characters without a space, not beginning with -";

/// What is wrong with the bytes.
#[derive(Debug)]
pub(super) enum Fault {
    Syntax { line: usize, column: usize },
    Field(Misfit),
}

impl From<Misfit> for Fault {
    fn from(misfit: Misfit) -> Self {
        Self::Field(misfit)
    }
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Self {
        Self::Syntax {
            line: error.line(),
            column: error.column(),
        }
    }
}

/// Reads the file's bytes; `expected` is the name it must give itself.
pub(super) fn parse(bytes: &[u8], expected: &str) -> Result<Binding, Fault> {
    let file: Value = serde_json::from_slice(bytes)?;
    let file = Place::whole_file(&file).keys(&FIELDS)?;

    file.required("bindingVersion", "1")?
        .number(1..=1, "the only version there is")?;
    let name = name(&file.required("name", "the name of the file")?, expected)?;
    let seat = file.required("seat", LINE)?.text(LINE, line)?;
    let guild = id(&file.required("guildId", ID)?)?;
    let guild_name = file.required("guildName", LINE)?.text(LINE, line)?;
    let bot_user = id(&file.required("botUserId", ID)?)?;
    let token_file = token_file(&file.required("tokenFile", TOKEN_FILE)?)?;
    let channels = channels(&file.required("channels", CHANNELS)?)?;
    let users = users(&file.required("users", USERS)?, bot_user, &channels)?;
    let engine = engine(&file.required("engine", ENGINE)?)?;
    let limits = file
        .optional("limits")
        .map(|place| limits(&place))
        .transpose()?
        .unwrap_or_default();
    let context_files = context_files(&file.required("context", CONTEXT)?)?;
    let tools = file
        .optional("tools")
        .map(|place| tools(&place, bytes))
        .transpose()?;
    let required_abi = file
        .optional("sandbox")
        .map(|place| sandbox(&place))
        .transpose()?
        .unwrap_or_default();

    Ok(Binding {
        name,
        seat,
        guild,
        guild_name,
        bot_user,
        token_file,
        channels,
        users,
        engine,
        limits,
        context_files,
        tools,
        required_abi,
    })
}

const TOKEN_FILE: &str = "an absolute path without . or .. segments";
const CHANNELS: &str = "a list of at least one {id, name, mode}";
const USERS: &str = "a list of at least one {id, name, channels?}";
const ENGINE: &str = "an object with provider, model, thinking";
const CONTEXT: &str = "an object with files";
const CONTEXT_FILES: &str = "a list of paths below the repository";
const CONTEXT_FILE: &str = "a path below the repository without . or .. segments, listed once";

fn name(place: &Place<'_>, expected: &str) -> Result<String, Misfit> {
    let accepted = format!("\"{expected}\", the name of the binding");
    place.text(&accepted, |text| {
        (text == expected && BindingName::parse(text).is_ok()).then(|| text.to_owned())
    })
}

fn token_file(place: &Place<'_>) -> Result<PathBuf, Misfit> {
    place.text(TOKEN_FILE, |text| {
        let path = Path::new(text);
        let mut parts = path.components();
        let absolute = parts.next() == Some(Component::RootDir) && parts.next().is_some();
        let plain =
            !text.contains('\0') && !text.split('/').any(|part| part == "." || part == "..");
        (absolute && plain).then(|| path.to_owned())
    })
}

fn channels(place: &Place<'_>) -> Result<Vec<Channel>, Misfit> {
    let mut channels: Vec<Channel> = Vec::new();
    for item in place.items(false, CHANNELS)? {
        let keys = item.keys(&["id", "name", "mode"])?;
        let id_place = keys.required("id", ID)?;
        let id = id(&id_place)?;
        if channels.iter().any(|listed| listed.id == id) {
            return Err(id_place.refuse("an id that is listed once"));
        }
        let mode = "\"open\" or \"mention\"";
        channels.push(Channel {
            id,
            name: keys.required("name", LINE)?.text(LINE, line)?,
            mode: keys.required("mode", mode)?.text(mode, |text| match text {
                "open" => Some(Mode::Open),
                "mention" => Some(Mode::Mention),
                _ => None,
            })?,
        });
    }
    Ok(channels)
}

fn users(place: &Place<'_>, bot: Snowflake, channels: &[Channel]) -> Result<Vec<User>, Misfit> {
    let mut users: Vec<User> = Vec::new();
    for item in place.items(false, USERS)? {
        let keys = item.keys(&["id", "name", "channels"])?;
        let id_place = keys.required("id", ID)?;
        let id = id(&id_place)?;
        if id == bot {
            return Err(id_place.refuse("the id of a person; this one is botUserId"));
        }
        if users.iter().any(|listed| listed.id == id) {
            return Err(id_place.refuse("an id that is listed once"));
        }
        users.push(User {
            id,
            name: keys.required("name", LINE)?.text(LINE, line)?,
            channels: keys
                .optional("channels")
                .map(|place| user_channels(&place, channels))
                .transpose()?,
        });
    }
    Ok(users)
}

fn user_channels(place: &Place<'_>, channels: &[Channel]) -> Result<Vec<Snowflake>, Misfit> {
    let mut allowed: Vec<Snowflake> = Vec::new();
    for item in place.items(
        false,
        "a list of at least one channel id; leave it out for every listed channel",
    )? {
        let channel = id(&item)?;
        if allowed.contains(&channel) || !channels.iter().any(|listed| listed.id == channel) {
            return Err(item.refuse("the id of a channel in channels, once"));
        }
        allowed.push(channel);
    }
    Ok(allowed)
}

fn engine(place: &Place<'_>) -> Result<Engine, Misfit> {
    let keys = place.keys(&["provider", "model", "thinking"])?;
    let thinking = format!("one of {}", THINKING.join(", "));
    Ok(Engine {
        provider: keys.required("provider", WORD)?.text(WORD, word)?,
        model: keys.required("model", WORD)?.text(WORD, word)?,
        thinking: keys
            .required("thinking", &thinking)?
            .text(&thinking, |text| {
                THINKING.contains(&text).then(|| text.to_owned())
            })?,
    })
}

/// The one way to run on an older kernel: said in the binding, and then in every record.
fn sandbox(place: &Place<'_>) -> Result<RequiredAbi, Misfit> {
    let keys = place.keys(&["landlockAbi"])?;
    let accepted = "4 to 6, a Landlock ABI";
    let place = keys.required("landlockAbi", accepted)?;
    let abi = place.number(4..=6, "a Landlock ABI")?;
    let abi = u32::try_from(abi).map_err(|_| place.refuse(accepted))?;
    RequiredAbi::at_least(abi).map_err(|_| place.refuse(accepted))
}

fn limits(place: &Place<'_>) -> Result<Limits, Misfit> {
    let keys = place.keys(&[
        "turnsPerDay",
        "turnTimeoutSeconds",
        "replyChunkChars",
        "inboundMaxChars",
        "maxAgeSeconds",
    ])?;
    let number = |key: &str, range, unit: &str, default: u64| {
        keys.optional(key)
            .map_or(Ok(default), |place| place.number(range, unit))
    };
    let seconds = |time: Duration| time.as_secs();
    let default = Limits::default();

    Ok(Limits {
        turns_per_day: u32::try_from(number(
            "turnsPerDay",
            1..=100_000,
            "turns",
            default.turns_per_day.into(),
        )?)
        .expect("the bounds fit in 32 bits"),
        // The stop timeout of the unit is 3,700 s: the largest turn timeout and a margin.
        turn_timeout: Duration::from_secs(number(
            "turnTimeoutSeconds",
            1..=3600,
            "seconds",
            seconds(default.turn_timeout),
        )?),
        // Discord takes 2,000. Below 200 a reply could need more parts than a nonce can number.
        reply_chunk_chars: size(number(
            "replyChunkChars",
            200..=2000,
            "characters",
            default.reply_chunk_chars as u64,
        )?),
        inbound_max_chars: size(number(
            "inboundMaxChars",
            1..=100_000,
            "characters",
            default.inbound_max_chars as u64,
        )?),
        max_age: Duration::from_secs(number(
            "maxAgeSeconds",
            1..=86_400,
            "seconds",
            seconds(default.max_age),
        )?),
    })
}

fn size(number: u64) -> usize {
    usize::try_from(number).expect("the bounds of every size fit in 32 bits")
}

fn context_files(place: &Place<'_>) -> Result<Vec<ContextPath>, Misfit> {
    let mut files: Vec<ContextPath> = Vec::new();
    for item in place
        .keys(&["files"])?
        .required("files", CONTEXT_FILES)?
        .items(true, CONTEXT_FILES)?
    {
        let file = item.text(CONTEXT_FILE, ContextPath::parse)?;
        if files.contains(&file) {
            return Err(item.refuse(CONTEXT_FILE));
        }
        files.push(file);
    }
    Ok(files)
}

/// Takes the bytes of the value as they stand. That it is an object is all that is asked here.
fn tools(place: &Place<'_>, bytes: &[u8]) -> Result<OpaqueTools, Fault> {
    #[derive(Deserialize)]
    struct OnlyTools<'a> {
        #[serde(borrow)]
        tools: &'a RawValue,
    }

    if !place.is_object() {
        return Err(place
            .refuse("an object; leave the key out for no tools")
            .into());
    }
    let only: OnlyTools<'_> = serde_json::from_slice(bytes)?;
    let raw = only.tools.get().as_bytes().to_vec();
    Ok(OpaqueTools {
        sha256: Digest::of(&raw),
        raw,
    })
}

fn id(place: &Place<'_>) -> Result<Snowflake, Misfit> {
    place.text(ID, |text| text.parse().ok())
}

/// Characters that would break a line, turn it around or hide in it. The joiner U+200D stays: emoji are made with it.
const NOT_IN_A_LINE: [RangeInclusive<char>; 5] = [
    '\u{200b}'..='\u{200c}',
    '\u{200e}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{feff}'..='\u{feff}',
];

/// A name for people: it will stand in one line of a prompt, a trailer or a table.
fn line(text: &str) -> Option<String> {
    let printable =
        |c: char| !c.is_control() && !NOT_IN_A_LINE.iter().any(|range| range.contains(&c));
    let fits = (1..=100).contains(&text.chars().count())
        && text.trim() == text
        && text.chars().all(printable);
    fits.then(|| text.to_owned())
}

/// A word that becomes an argument of pi: it must not be taken for an option.
fn word(text: &str) -> Option<String> {
    let fits = (1..=200).contains(&text.len())
        && !text.starts_with('-')
        && text.chars().all(|c| c.is_ascii_graphic());
    fits.then(|| text.to_owned())
}

#[cfg(test)]
mod tests;
