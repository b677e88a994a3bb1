//! The walls inside the broker, looked for in its source; and the table of verbs against the wire contract.

#![expect(clippy::disallowed_methods, reason = "tests read the source tree")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot arrange its ground has to stop"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use mosaic_broker::tools::TABLE;
use prost::Message as _;
use prost_types::FileDescriptorSet;
use prost_types::field_descriptor_proto::Type;

fn sources(below: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("src")
            .join(below),
    ];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    assert!(!found.is_empty());
    found
}

/// The code of a source: without its tests and its comments.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]").next().unwrap();
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn effects_decide_nothing() {
    for (path, text) in sources("effect") {
        for word in ["Refusal", "policy", "RelPath", "openat2"] {
            assert!(!code(&text).contains(word), "{word} in {}", path.display());
        }
    }
}

#[test]
fn fences_change_nothing() {
    let changes = [
        "CREATE",
        "WRONLY",
        "RDWR",
        "unlinkat",
        "renameat",
        "mkdirat",
        "chmod",
        "write(",
        "ftruncate",
        "symlinkat",
        "linkat",
        "mknod",
        "fs::write",
        "OpenOptions",
    ];
    for (path, text) in sources("fence") {
        for word in changes {
            assert!(!code(&text).contains(word), "{word} in {}", path.display());
        }
    }
}

#[test]
fn verbs_touch_files_through_fences_and_effects_only() {
    for (path, text) in sources("tools") {
        for word in ["rustix", "nix::", "std::fs", "std::path", "OwnedFd"] {
            assert!(!code(&text).contains(word), "{word} in {}", path.display());
        }
    }
}

#[test]
fn a_schema_has_exactly_the_fields_of_its_request() {
    let set = FileDescriptorSet::decode(mosaic_proto::DESCRIPTORS).unwrap();
    let file = set
        .file
        .iter()
        .find(|file| file.name().ends_with("tools.proto"))
        .unwrap();
    let service = file
        .service
        .iter()
        .find(|service| service.name() == "Tools")
        .unwrap();

    for tool in TABLE {
        let schema: serde_json::Value = serde_json::from_str(tool.json_schema).unwrap();
        let method = tool
            .rpc_path
            .strip_prefix("/mosaic.broker.v1.Tools/")
            .unwrap();
        let method = service
            .method
            .iter()
            .find(|known| known.name() == method)
            .unwrap();
        let message = method.input_type().rsplit('.').next().unwrap();
        let message = file
            .message_type
            .iter()
            .find(|known| known.name() == message)
            .unwrap();

        let fields = |optional: Option<bool>| -> BTreeSet<(String, &str)> {
            message
                .field
                .iter()
                .filter(|field| optional.is_none_or(|optional| field.proto3_optional() == optional))
                .map(|field| {
                    let kind = match field.r#type() {
                        Type::String => "string",
                        Type::Bool => "boolean",
                        Type::Uint32 => "integer",
                        other => panic!("{other:?} has no JSON type here"),
                    };
                    (field.name().to_owned(), kind)
                })
                .collect()
        };
        let properties: BTreeSet<(String, &str)> = schema["properties"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, property)| (name.clone(), property["type"].as_str().unwrap()))
            .collect();
        let required: BTreeSet<&str> = schema["required"]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap())
            .collect();

        assert_eq!(properties, fields(None), "{}", tool.name);
        let must: BTreeSet<String> = fields(Some(false))
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(
            required,
            must.iter().map(String::as_str).collect(),
            "{}",
            tool.name
        );
        assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
    }
}

#[test]
fn the_table_has_a_line_for_every_verb_of_the_contract() {
    let set = FileDescriptorSet::decode(mosaic_proto::DESCRIPTORS).unwrap();
    let verbs: BTreeSet<String> = set
        .file
        .iter()
        .flat_map(|file| &file.service)
        .filter(|service| service.name() == "Tools")
        .flat_map(|service| &service.method)
        .filter(|method| method.output_type().ends_with(".ToolReply"))
        .map(|method| format!("/mosaic.broker.v1.Tools/{}", method.name()))
        .collect();

    assert_eq!(
        TABLE
            .iter()
            .map(|tool| tool.rpc_path.to_owned())
            .collect::<BTreeSet<_>>(),
        verbs
    );
}

#[test]
fn every_refusal_has_a_code_of_its_own() {
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/refusal.rs")).unwrap();
    let codes = text
        .split("pub const fn code")
        .nth(1)
        .unwrap()
        .split("pub fn text")
        .next()
        .unwrap();
    let codes: Vec<&str> = codes.split('"').skip(1).step_by(2).collect();

    assert!(codes.len() > 40);
    assert!(codes.iter().all(|code| {
        code.bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    }));
    assert_eq!(codes.iter().collect::<BTreeSet<_>>().len(), codes.len());
}
