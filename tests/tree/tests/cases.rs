//! Every small input of the list of Discord cases is a test that names its id: this looks for the names, the tests do the rest.

use std::collections::BTreeSet;

use tree::rust;

/// The rows of the sections delivery, splitting, gateway life, who may speak, turns, and REST. Numbers are only names.
const CASES: &[u32] = &[
    2, 3, 4, 6, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 23, 24, 25, 27, 28, 29, 30, 32,
    33, 35, 36, 37, 38, 40, 41, 42, 43, 45, 46, 47, 48, 50, 51, 52, 53, 54, 55, 62, 63, 64, 66, 67,
];

#[test]
fn every_discord_case_is_named_by_a_test() {
    let mut named = BTreeSet::new();
    for source in rust("connector").into_iter().chain(rust("tests/stories")) {
        let names = source.text.lines().filter_map(|line| {
            let line = line.trim_start();
            let name = line
                .strip_prefix("async fn ")
                .or(line.strip_prefix("fn "))?;
            name.split('(').next().map(str::to_owned)
        });
        named.extend(names.flat_map(|name| cases(&name)));
    }

    let missing: Vec<_> = CASES.iter().filter(|case| !named.contains(case)).collect();
    assert!(missing.is_empty(), "no test is named d_NN for {missing:?}");
}

/// The ids a test's name begins with: `d_53_d_55_a_typing_…` names two.
fn cases(name: &str) -> Vec<u32> {
    let mut words = name.split('_');
    let mut cases = Vec::new();
    while words.next() == Some("d") {
        match words.next().map(str::parse) {
            Some(Ok(number)) => cases.push(number),
            _ => break,
        }
    }
    cases
}

#[test]
fn a_name_can_carry_several_ids_and_only_in_front() {
    assert_eq!(cases("d_53_d_55_a_typing_request"), [53, 55]);
    assert_eq!(cases("a_message_of_d_14"), [0; 0]);
    assert_eq!(cases("do_nothing"), [0; 0]);
}
