//! The golden byte vectors of `proto/vectors/`: the same files are read by the extension's tests, so that Rust and
//! JavaScript cannot come to disagree about a byte.

use mosaic_proto::v1;
use prost::Message;
use serde_json::Value;

/// Serializes the arguments of one request vector through the generated types.
fn request(message: &str, arguments: &Value) -> Vec<u8> {
    let text = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
    let maybe_text = |name: &str| arguments[name].as_str().map(str::to_owned);
    let maybe_number = |name: &str| {
        arguments[name]
            .as_u64()
            .map(|number| u32::try_from(number).expect("vectors hold 32-bit numbers"))
    };
    match message {
        "ListDirRequest" => v1::ListDirRequest {
            root: text("root"),
            path: maybe_text("path"),
        }
        .encode_to_vec(),
        "ReadFileRequest" => v1::ReadFileRequest {
            root: text("root"),
            path: text("path"),
            from_line: maybe_number("from_line"),
            lines: maybe_number("lines"),
        }
        .encode_to_vec(),
        "SearchRequest" => v1::SearchRequest {
            root: text("root"),
            query: text("query"),
            path: maybe_text("path"),
            regex: arguments["regex"].as_bool(),
            ignore_case: arguments["ignore_case"].as_bool(),
            context_lines: maybe_number("context_lines"),
        }
        .encode_to_vec(),
        "WriteFileRequest" => v1::WriteFileRequest {
            root: text("root"),
            path: text("path"),
            text: text("text"),
        }
        .encode_to_vec(),
        "EditFileRequest" => v1::EditFileRequest {
            root: text("root"),
            path: text("path"),
            old: text("old"),
            new: text("new"),
        }
        .encode_to_vec(),
        other => panic!("no case for {other}: add one, every message of the contract has vectors"),
    }
}

fn reply(vector: &Value) -> v1::ToolReply {
    let text = vector["text"]
        .as_str()
        .expect("a reply has text")
        .to_owned();
    let outcome = match vector["outcome"].as_str() {
        Some("done") => v1::tool_reply::Outcome::Done(v1::Done {
            text,
            facts: vector["facts"]
                .as_array()
                .expect("done has facts")
                .iter()
                .map(fact)
                .collect(),
        }),
        Some("refusal") => v1::tool_reply::Outcome::Refusal(v1::Refusal {
            reason: vector["reason"]
                .as_str()
                .expect("a refusal has a reason")
                .to_owned(),
            text,
        }),
        other => panic!("no outcome {other:?}"),
    };
    v1::ToolReply {
        outcome: Some(outcome),
    }
}

fn fact(vector: &Value) -> v1::Fact {
    use v1::fact::Value as Fact;
    let value = match (&vector["text"], &vector["number"], &vector["flag"]) {
        (Value::String(text), _, _) => Fact::Text(text.clone()),
        (_, Value::Number(number), _) => Fact::Number(number.as_u64().expect("facts are unsigned")),
        (_, _, Value::Bool(flag)) => Fact::Flag(*flag),
        _ => panic!("a fact has one value"),
    };
    v1::Fact {
        name: vector["name"]
            .as_str()
            .expect("a fact has a name")
            .to_owned(),
        value: Some(value),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn vectors(json: &str) -> Vec<Value> {
    serde_json::from_str(json).expect("a vector file is a JSON list")
}

#[test]
fn every_request_vector_is_what_rust_encodes() {
    for vector in vectors(include_str!("../vectors/requests.json")) {
        let message = vector["message"]
            .as_str()
            .expect("a vector names its message");

        let encoded = hex(&request(message, &vector["arguments"]));

        assert_eq!(Value::from(encoded), vector["hex"], "{vector}");
    }
}

#[test]
fn every_reply_vector_is_what_rust_encodes() {
    for vector in vectors(include_str!("../vectors/replies.json")) {
        let encoded = hex(&reply(&vector).encode_to_vec());

        assert_eq!(Value::from(encoded), vector["hex"], "{vector}");
    }
}
