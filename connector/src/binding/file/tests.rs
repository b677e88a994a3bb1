//! Every rule of the file: the example passes, and each change to it is refused with the field it is about.

use serde_json::{Value as Json, json};

use super::*;

const EXAMPLE: &str = include_str!("../../../fixtures/binding.example.json");

fn id(text: &str) -> Snowflake {
    text.parse().unwrap()
}

fn example() -> Json {
    serde_json::from_str(EXAMPLE).unwrap()
}

/// The example with the value at a JSON pointer replaced.
fn with(pointer: &str, value: Json) -> String {
    let mut file = example();
    *file
        .pointer_mut(pointer)
        .expect("the example has the field") = value;
    file.to_string()
}

/// The example with a key added to the object at a pointer.
fn plus(pointer: &str, key: &str, value: Json) -> String {
    let mut file = example();
    file.pointer_mut(pointer)
        .unwrap()
        .as_object_mut()
        .unwrap()
        .insert(key.to_owned(), value);
    file.to_string()
}

/// The example without a key of the object at a pointer.
fn without(pointer: &str, key: &str) -> String {
    let mut file = example();
    file.pointer_mut(pointer)
        .unwrap()
        .as_object_mut()
        .unwrap()
        .remove(key)
        .expect("the example has the key");
    file.to_string()
}

fn refusal(file: &str) -> Misfit {
    match parse(file.as_bytes(), "sage") {
        Err(Fault::Field(misfit)) => misfit,
        other => panic!("expected a refused field, got {other:?}"),
    }
}

#[test]
fn the_published_example_reads_as_it_says() {
    let binding = parse(EXAMPLE.as_bytes(), "sage").unwrap();

    let tools = binding.tools.clone().unwrap();
    assert_eq!(
        binding,
        Binding {
            name: "sage".into(),
            seat: "Sage".into(),
            guild: id("100000000000000001"),
            guild_name: "Example Server".into(),
            bot_user: id("100000000000000002"),
            token_file: "/home/operator/.secrets/discord-sage.token".into(),
            channels: vec![
                Channel {
                    id: id("100000000000000011"),
                    name: "ideas".into(),
                    mode: Mode::Open
                },
                Channel {
                    id: id("100000000000000012"),
                    name: "general".into(),
                    mode: Mode::Mention
                },
            ],
            users: vec![
                User {
                    id: id("100000000000000021"),
                    name: "Jason".into(),
                    channels: None
                },
                User {
                    id: id("100000000000000022"),
                    name: "Ada".into(),
                    channels: Some(vec![id("100000000000000011")]),
                },
            ],
            engine: Engine {
                provider: "anthropic".into(),
                model: "claude-sonnet-4-5".into(),
                thinking: "medium".into(),
            },
            limits: Limits::default(),
            context_files: vec![ContextPath::parse("docs/seat.md").unwrap()],
            required_abi: RequiredAbi::default(),
            tools: Some(tools),
        }
    );
    assert_eq!(
        binding.channel(id("100000000000000012")).unwrap().name,
        "general"
    );
    assert_eq!(binding.user(id("100000000000000099")), None);
}

#[test]
fn the_tools_value_is_carried_byte_for_byte() {
    let file = without("", "tools");
    let file = format!(
        "{{ \"tools\" : {{ \"roots\":[\n ] }},{}",
        file.strip_prefix('{').unwrap()
    );

    let binding = parse(file.as_bytes(), "sage").unwrap();

    let tools = binding.tools.clone().unwrap();
    assert_eq!(tools.raw, b"{ \"roots\":[\n ] }");
    assert_eq!(tools.sha256, Digest::of(b"{ \"roots\":[\n ] }"));
    assert_eq!(binding.tools_digest(), tools.sha256);
}

#[test]
fn without_tools_the_digest_is_that_of_no_bytes() {
    let binding = parse(without("", "tools").as_bytes(), "sage").unwrap();

    assert_eq!(binding.tools, None);
    assert_eq!(
        binding.tools_digest().as_str(),
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
}

#[test]
fn left_out_limits_have_the_defaults_of_the_seeds() {
    let whole = parse(without("", "limits").as_bytes(), "sage").unwrap();
    let one = parse(
        with("/limits", json!({ "turnsPerDay": 3 })).as_bytes(),
        "sage",
    )
    .unwrap();

    assert_eq!(whole.limits, Limits::default());
    assert_eq!(
        one.limits,
        Limits {
            turns_per_day: 3,
            ..Limits::default()
        }
    );
}

#[test]
fn each_missing_field_is_named() {
    for (pointer, key) in [
        ("", "bindingVersion"),
        ("", "name"),
        ("", "seat"),
        ("", "guildId"),
        ("", "guildName"),
        ("", "botUserId"),
        ("", "tokenFile"),
        ("", "channels"),
        ("", "users"),
        ("", "engine"),
        ("", "context"),
        ("/context", "files"),
        ("/engine", "provider"),
        ("/engine", "model"),
        ("/engine", "thinking"),
        ("/channels/1", "id"),
        ("/channels/1", "name"),
        ("/channels/1", "mode"),
        ("/users/1", "id"),
        ("/users/1", "name"),
    ] {
        let misfit = refusal(&without(pointer, key));

        assert_eq!(misfit.found, "missing");
        assert!(misfit.field.ends_with(key), "{misfit}");
    }
}

#[test]
fn an_unknown_key_is_refused_wherever_it_stands() {
    for (pointer, place) in [
        ("", "the binding"),
        ("/channels/0", "channels[0]"),
        ("/users/1", "users[1]"),
        ("/engine", "engine"),
        ("/limits", "limits"),
        ("/context", "context"),
    ] {
        let misfit = refusal(&plus(pointer, "extra", json!(1)));

        assert_eq!(misfit.field, format!("\"extra\" in {place}"));
        assert_eq!(misfit.found, "an unknown key");
    }
}

/// JSON pointer, the value put there, the field as the error names it.
fn refused_values() -> Vec<(&'static str, Json, &'static str)> {
    let long = |length: usize| json!("x".repeat(length));
    vec![
        ("/bindingVersion", json!(2), "bindingVersion"),
        ("/bindingVersion", json!("1"), "bindingVersion"),
        ("/name", json!("other"), "name"),
        ("/seat", json!(""), "seat"),
        ("/seat", json!("two\nlines"), "seat"),
        ("/seat", json!(" padded"), "seat"),
        ("/seat", json!("turned\u{202e}"), "seat"),
        ("/seat", long(101), "seat"),
        ("/guildId", json!(100_000_000_000_000_001_u64), "guildId"),
        ("/guildId", json!("0"), "guildId"),
        ("/guildId", json!("12a"), "guildId"),
        ("/guildId", json!("99999999999999999999"), "guildId"),
        ("/guildName", json!(null), "guildName"),
        ("/botUserId", json!([]), "botUserId"),
        ("/tokenFile", json!("token"), "tokenFile"),
        ("/tokenFile", json!("/a/../token"), "tokenFile"),
        ("/tokenFile", json!("/"), "tokenFile"),
        ("/tokenFile", json!(""), "tokenFile"),
        ("/channels", json!([]), "channels"),
        ("/channels", json!({}), "channels"),
        ("/channels/0", json!("ideas"), "channels[0]"),
        (
            "/channels/1/id",
            json!("100000000000000011"),
            "channels[1].id",
        ),
        ("/channels/1/mode", json!("Open"), "channels[1].mode"),
        ("/channels/1/name", json!(""), "channels[1].name"),
        ("/users", json!([]), "users"),
        ("/users/1/id", json!("100000000000000021"), "users[1].id"),
        ("/users/1/id", json!("100000000000000002"), "users[1].id"),
        ("/users/1/channels", json!([]), "users[1].channels"),
        ("/users/1/channels", json!(null), "users[1].channels"),
        (
            "/users/1/channels/0",
            json!("100000000000000019"),
            "users[1].channels[0]",
        ),
        (
            "/users/1/channels",
            json!(["100000000000000011", "100000000000000011"]),
            "users[1].channels[1]",
        ),
        ("/engine/provider", json!("--mode"), "engine.provider"),
        ("/engine/model", json!("two words"), "engine.model"),
        ("/engine/model", long(201), "engine.model"),
        ("/engine/thinking", json!("deep"), "engine.thinking"),
        ("/limits", json!(null), "limits"),
        ("/limits/turnsPerDay", json!(0), "limits.turnsPerDay"),
        ("/limits/turnsPerDay", json!(-1), "limits.turnsPerDay"),
        ("/limits/turnsPerDay", json!(1.5), "limits.turnsPerDay"),
        ("/limits/turnsPerDay", json!("200"), "limits.turnsPerDay"),
        (
            "/limits/turnTimeoutSeconds",
            json!(0),
            "limits.turnTimeoutSeconds",
        ),
        (
            "/limits/turnTimeoutSeconds",
            json!(3601),
            "limits.turnTimeoutSeconds",
        ),
        (
            "/limits/replyChunkChars",
            json!(199),
            "limits.replyChunkChars",
        ),
        (
            "/limits/replyChunkChars",
            json!(2001),
            "limits.replyChunkChars",
        ),
        (
            "/limits/inboundMaxChars",
            json!(0),
            "limits.inboundMaxChars",
        ),
        (
            "/limits/maxAgeSeconds",
            json!(86_401),
            "limits.maxAgeSeconds",
        ),
        ("/context/files", json!("docs/seat.md"), "context.files"),
        ("/context/files/0", json!("/etc/passwd"), "context.files[0]"),
        ("/context/files/0", json!("../secret"), "context.files[0]"),
        ("/context/files", json!(["a", "a"]), "context.files[1]"),
        ("/tools", json!(null), "tools"),
        ("/tools", json!([]), "tools"),
    ]
}

#[test]
fn each_value_out_of_bounds_is_refused_by_its_field() {
    for (pointer, value, field) in refused_values() {
        let misfit = refusal(&with(pointer, value.clone()));

        assert_eq!(misfit.field, field, "for {value} at {pointer}");
    }
}

#[test]
fn the_values_on_the_bounds_pass() {
    for (pointer, value) in [
        ("/limits/turnTimeoutSeconds", json!(3600)),
        ("/limits/turnTimeoutSeconds", json!(1)),
        ("/limits/replyChunkChars", json!(200)),
        ("/limits/replyChunkChars", json!(2000)),
        ("/limits/maxAgeSeconds", json!(86_400)),
        ("/seat", json!("ä".repeat(100))),
        ("/channels/0/name", json!("👩‍💻-ideas")),
        ("/context/files", json!([])),
        ("/engine/model", json!("us.anthropic/claude-v1:0@latest")),
    ] {
        assert!(
            parse(with(pointer, value.clone()).as_bytes(), "sage").is_ok(),
            "{value} at {pointer}"
        );
    }
}

#[test]
fn no_error_quotes_a_value_that_could_be_a_secret() {
    let secret = "hunter2-hunter2";
    for pointer in [
        "/bindingVersion",
        "/guildId",
        "/tokenFile",
        "/channels",
        "/users/0",
        "/limits/turnsPerDay",
        "/tools",
    ] {
        let misfit = refusal(&with(pointer, json!(secret)));

        assert!(!misfit.to_string().contains(secret), "{misfit}");
    }
}

#[test]
fn what_is_not_one_json_object_is_refused_with_its_place() {
    let twice = EXAMPLE.replacen("\"seat\"", "\"name\": \"sage\", \"seat\"", 1);
    for text in ["", "{", "{}{}", "\u{feff}{}", "[1,]", &twice] {
        assert!(
            matches!(parse(text.as_bytes(), "sage"), Err(Fault::Syntax { .. })),
            "{text:?}"
        );
    }
    assert!(matches!(
        parse(b"{\"name\":\"\xff\"}", "sage"),
        Err(Fault::Syntax { .. })
    ));
    assert_eq!(refusal("[]").field, "The binding");
}

#[test]
fn nesting_without_end_is_an_error_and_no_crash() {
    let deep = format!(
        "{{\"tools\":{}{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );

    assert!(matches!(
        parse(deep.as_bytes(), "sage"),
        Err(Fault::Syntax { .. })
    ));
}

/// The published schema says what the parser says, wherever a schema can say it.
mod published_schema {
    use super::super::super::schema;
    use super::*;

    /// Rules between fields, and finer ones than a pattern should carry: the program's alone.
    const PROGRAM_ONLY: [&str; 12] = [
        "name",
        "seat",
        "guildId",
        "tokenFile",
        "channels[1].id",
        "users[1].id",
        "users[1].channels[0]",
        "users[1].channels[1]",
        "context.files[0]",
        "context.files[1]",
        "engine.model",
        "engine.provider",
    ];

    #[test]
    fn it_accepts_the_example() {
        assert_eq!(schema::check(&example()), Ok(()));
        for (pointer, key) in [("", "limits"), ("", "tools"), ("/users/1", "channels")] {
            assert_eq!(
                schema::check(&serde_json::from_str(&without(pointer, key)).unwrap()),
                Ok(())
            );
        }
    }

    #[test]
    fn it_refuses_what_the_parser_refuses() {
        for (pointer, value, field) in refused_values() {
            let file: Json = serde_json::from_str(&with(pointer, value.clone())).unwrap();

            if !PROGRAM_ONLY.contains(&field) {
                assert!(schema::check(&file).is_err(), "{value} at {pointer}");
            }
        }
        for key in ["bindingVersion", "name", "users", "context"] {
            assert!(
                schema::check(&serde_json::from_str(&without("", key)).unwrap()).is_err(),
                "{key}"
            );
        }
        assert!(
            schema::check(&serde_json::from_str(&plus("/engine", "extra", json!(1))).unwrap())
                .is_err()
        );
    }

    #[test]
    fn it_knows_the_same_fields_bounds_and_levels() {
        assert_eq!(schema::property_names(""), sorted(&FIELDS));
        let levels = schema::at("/properties/engine/properties/thinking/enum");
        assert_eq!(levels, json!(THINKING));
        let defaults =
            |name: &str| schema::at(&format!("/properties/limits/properties/{name}/default"));
        let limits = Limits::default();
        assert_eq!(defaults("turnsPerDay"), json!(limits.turns_per_day));
        assert_eq!(
            defaults("turnTimeoutSeconds"),
            json!(limits.turn_timeout.as_secs())
        );
        assert_eq!(defaults("replyChunkChars"), json!(limits.reply_chunk_chars));
        assert_eq!(defaults("inboundMaxChars"), json!(limits.inbound_max_chars));
        assert_eq!(defaults("maxAgeSeconds"), json!(limits.max_age.as_secs()));
    }

    fn sorted(names: &[&str]) -> Vec<String> {
        let mut names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        names.sort();
        names
    }
}
