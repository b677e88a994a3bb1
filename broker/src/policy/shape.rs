//! The shape of the `tools` key: which keys there are and of which type. Meaning (whether a root may lie where it lies)
//! is checked in `root`; nothing here looks at the host.
//!
//! Each level is parsed from its raw text so that every fault can be named by its place in the file.

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer};
use serde_json::value::RawValue;

use super::{Bounds, PolicyError};
use crate::limits;

/// The `tools` key, by type.
#[derive(Debug)]
pub(super) struct Tools {
    pub(super) roots: Vec<Root>,
    pub(super) bounds: Bounds,
}

/// One entry of `tools.roots`, by type.
#[derive(Debug)]
pub(super) struct Root {
    /// Where it stands: `tools.roots[1]`.
    pub(super) at: String,
    pub(super) name: String,
    pub(super) path: String,
    pub(super) write: bool,
    pub(super) protect: Vec<String>,
    pub(super) protocol: Option<String>,
}

/// The two keys of the file that are the broker's business. Every other one belongs to somebody else.
#[derive(Debug)]
pub(super) struct Keys<'a> {
    /// The raw text of the `tools` value.
    pub(super) tools: Option<&'a str>,
    /// What `sandbox.landlockAbi` lowers the requirement to.
    pub(super) landlock_abi: Option<u32>,
}

/// Finds the broker's keys.
pub(super) fn keys(file: &[u8]) -> Result<Keys<'_>, PolicyError> {
    #[derive(Deserialize)]
    struct Binding<'a> {
        #[serde(borrow, default)]
        tools: Field<'a>,
        #[serde(borrow, default)]
        sandbox: Field<'a>,
    }

    let refuse = |found: String| PolicyError::new("the binding", found, "a JSON object");
    let whole: &RawValue =
        serde_json::from_slice(file).map_err(|error| refuse(format!("is not JSON ({error})")))?;
    if !whole.get().starts_with('{') {
        return Err(refuse(class_of(whole).to_owned()));
    }
    let binding: Binding<'_> =
        serde_json::from_str(whole.get()).map_err(|error| refuse(plain(&error)))?;
    Ok(Keys {
        tools: binding.tools.0.map(RawValue::get),
        landlock_abi: binding.sandbox.0.map(landlock_abi).transpose()?,
    })
}

impl Tools {
    /// Parses the raw text of the `tools` value.
    pub(super) fn parse(raw: &str) -> Result<Tools, PolicyError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Shape<'a> {
            #[serde(borrow, default)]
            roots: Field<'a>,
            #[serde(borrow, default)]
            max_file_bytes: Field<'a>,
            #[serde(borrow, default)]
            max_calls_per_turn: Field<'a>,
            #[serde(borrow, default)]
            web: Field<'a>,
            #[serde(borrow, default)]
            setspark: Field<'a>,
        }

        let shape: Shape<'_> = object("tools", raw)?;
        not_yet("tools.web", &shape.web)?;
        not_yet("tools.setspark", &shape.setspark)?;

        let mut bounds = Bounds::default();
        if let Some(raw) = shape.max_file_bytes.0 {
            bounds.max_file_bytes =
                number("tools.maxFileBytes", raw, 1, limits::CEILING_MAX_FILE_BYTES)?;
        }
        if let Some(raw) = shape.max_calls_per_turn.0 {
            let ceiling = u64::from(limits::CEILING_MAX_CALLS_PER_TURN);
            bounds.max_calls_per_turn = narrow(number("tools.maxCallsPerTurn", raw, 1, ceiling)?);
        }

        const ROOTS: &str = "a list of 1 to 32 objects {name, path, write?, protect?, protocol?}";
        let Some(raw) = shape.roots.0 else {
            return Err(PolicyError::new("tools.roots", "is missing", ROOTS));
        };
        let entries: Vec<&RawValue> = serde_json::from_str(raw.get())
            .map_err(|_| PolicyError::new("tools.roots", class_of(raw), ROOTS))?;
        if entries.is_empty() || entries.len() > limits::ROOTS {
            return Err(PolicyError::new(
                "tools.roots",
                format!("has {} entries", entries.len()),
                ROOTS,
            ));
        }
        let roots = entries
            .iter()
            .enumerate()
            .map(|(index, raw)| Root::parse(format!("tools.roots[{index}]"), raw.get()))
            .collect::<Result<_, _>>()?;
        Ok(Tools { roots, bounds })
    }
}

impl Root {
    fn parse(at: String, raw: &str) -> Result<Root, PolicyError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Shape<'a> {
            #[serde(borrow, default)]
            name: Field<'a>,
            #[serde(borrow, default)]
            path: Field<'a>,
            #[serde(borrow, default)]
            write: Field<'a>,
            #[serde(borrow, default)]
            protect: Field<'a>,
            #[serde(borrow, default)]
            protocol: Field<'a>,
            #[serde(borrow, default)]
            git: Field<'a>,
        }

        let shape: Shape<'_> = object(&at, raw)?;
        not_yet(&format!("{at}.git"), &shape.git)?;
        Ok(Root {
            name: leaf(
                format!("{at}.name"),
                &shape.name,
                None,
                "a short plain name such as \"vault\"",
            )?,
            path: leaf(
                format!("{at}.path"),
                &shape.path,
                None,
                "an absolute path of a folder",
            )?,
            write: leaf(
                format!("{at}.write"),
                &shape.write,
                Some(false),
                "true or false",
            )?,
            protect: leaf(
                format!("{at}.protect"),
                &shape.protect,
                Some(Vec::new()),
                "a list of paths below the root",
            )?,
            protocol: shape
                .protocol
                .0
                .map(|_| {
                    let at = format!("{at}.protocol");
                    leaf(at, &shape.protocol, None, "\"vault\"")
                })
                .transpose()?,
            at,
        })
    }
}

fn landlock_abi(raw: &RawValue) -> Result<u32, PolicyError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Shape<'a> {
        #[serde(borrow, default)]
        landlock_abi: Field<'a>,
    }

    let shape: Shape<'_> = object("sandbox", raw.get())?;
    let Some(raw) = shape.landlock_abi.0 else {
        return Err(PolicyError::new(
            "sandbox.landlockAbi",
            "is missing",
            "4, 5 or 6, or no sandbox key at all",
        ));
    };
    number(
        "sandbox.landlockAbi",
        raw,
        4,
        u64::from(limits::DEFAULT_LANDLOCK_ABI),
    )
    .map(narrow)
}

/// The raw text of a key, or nothing when the key is absent. An explicit `null` is text like any other and is refused
/// by whoever parses it: an absent key and an empty one are different statements.
#[derive(Debug, Default)]
struct Field<'a>(Option<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Field<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Field<'a>, D::Error> {
        <&RawValue>::deserialize(deserializer).map(|raw| Field(Some(raw)))
    }
}

/// Parses an object of fields. serde would also take a list for a struct, so the opening brace is asked for.
fn object<'a, T: Deserialize<'a>>(at: &str, raw: &'a str) -> Result<T, PolicyError> {
    const OBJECT: &str = "an object with known keys, each once";
    if !raw.starts_with('{') {
        return Err(PolicyError::new(at, class(raw), OBJECT));
    }
    serde_json::from_str(raw).map_err(|error| PolicyError::new(at, plain(&error), OBJECT))
}

fn leaf<T: DeserializeOwned>(
    at: String,
    field: &Field<'_>,
    default: Option<T>,
    accepted: &str,
) -> Result<T, PolicyError> {
    match (field.0, default) {
        (Some(raw), _) => serde_json::from_str(raw.get())
            .map_err(|_| PolicyError::new(at, class_of(raw), accepted)),
        (None, Some(default)) => Ok(default),
        (None, None) => Err(PolicyError::new(at, "is missing", accepted)),
    }
}

fn number(at: &str, raw: &RawValue, least: u64, most: u64) -> Result<u64, PolicyError> {
    let accepted = format!("a whole number from {least} to {most}");
    match serde_json::from_str::<u64>(raw.get()) {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        Ok(_) => Err(PolicyError::new(at, "is out of bounds", accepted)),
        Err(_) => Err(PolicyError::new(at, class_of(raw), accepted)),
    }
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).expect("its upper bound fits")
}

fn not_yet(at: &str, field: &Field<'_>) -> Result<(), PolicyError> {
    match field.0 {
        Some(_) => Err(PolicyError::new(
            at,
            "names a part that this version does not offer yet",
            "a binding without this key; remove it",
        )),
        None => Ok(()),
    }
}

fn class_of(raw: &RawValue) -> &'static str {
    class(raw.get())
}

/// What a JSON text is, by its first letter.
fn class(raw: &str) -> &'static str {
    match raw.as_bytes().first() {
        Some(b'{') => "is an object of another kind",
        Some(b'[') => "is a list of another kind",
        Some(b'"') => "is a string",
        Some(b't' | b'f') => "is true or false",
        Some(b'n') => "is null",
        _ => "is a number of another kind",
    }
}

/// A serde message without its position, which counts from the start of a fragment and would mislead.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.find(" at line ").unwrap_or(text.len());
    format!("has an {}", &text[..end])
        .replace("has an missing", "has a missing")
        .replace("has an duplicate", "has a duplicate")
}
