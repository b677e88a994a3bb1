//! The bytes that fuzzing kept, and those that once made a property fail, through the same properties (`fuzz/`).

#![expect(
    clippy::disallowed_methods,
    reason = "tests lay out real files by path"
)]

use std::{fs, path::Path};

#[path = "../../fuzz/properties.rs"]
mod properties;

fn replay(property: &str, holds: fn(&[u8])) {
    for (name, bytes) in kept(property) {
        println!("{property}/{name}");
        holds(&bytes);
    }
}

/// The bytes kept for a property, each with its name. A file that once made a property fail goes there and stays.
fn kept(property: &str) -> Vec<(String, Vec<u8>)> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    let mut kept: Vec<_> = fs::read_dir(corpus.join(property))
        .expect("the corpus is there")
        .map(|entry| {
            let path = entry.expect("an entry can be read").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            (
                name.into_owned(),
                fs::read(&path).expect("a file can be read"),
            )
        })
        .collect();
    assert!(!kept.is_empty(), "nothing is kept for {property}");
    kept.sort();
    kept
}

#[test]
fn an_accepted_path_has_plain_segments_for_all_that_is_kept() {
    replay("relpath", properties::relpath);
}

#[test]
fn a_credential_is_found_between_lines_for_all_that_is_kept() {
    replay("credential", properties::credential);
}

#[test]
fn an_edit_replaces_the_only_occurrence_for_all_that_is_kept() {
    replay("edit", properties::edit);
}

#[test]
fn a_request_leaves_what_is_outside_alone_for_all_that_is_kept() {
    replay("request", properties::request);
}
