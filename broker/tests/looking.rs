//! What the reading verbs show: listings, parts of files, found lines.

#![expect(
    clippy::disallowed_methods,
    reason = "tests arrange and examine real files"
)]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot arrange its ground has to stop"
)]

mod ground;

use std::fs;

use ground::{Answer, Ground};
use mosaic_broker::cancel::Cancel;
use mosaic_proto::v1;

fn part(ground: &Ground, from_line: Option<u32>, lines: Option<u32>) -> Answer {
    ground.call(v1::ReadFileRequest {
        root: "vault".into(),
        path: "a.md".into(),
        from_line,
        lines,
    })
}

#[test]
fn a_listing_is_sorted_and_shows_kind_and_size() {
    let ground = Ground::new();
    ground.put("b.md", "12345");
    ground.put("a/deep.md", "");
    ground.put("B.md", "");
    ground.put("large.bin", vec![b'x'; 5_000]);

    let listed = ground.list("vault", None);

    assert_eq!(
        listed.text,
        "file 0 B.md\nfolder a/\nfile 5 b.md\nother large.bin (not readable: too_large)\n"
    );
    assert_eq!(
        (listed.number("entries"), listed.number("left_out")),
        (4, 0)
    );
    fs::create_dir(ground.vault("empty")).unwrap();
    assert_eq!(
        ground.list("vault", Some("empty")).text,
        "The folder is empty.\n"
    );
}

#[test]
fn a_long_listing_is_cut_and_the_rest_is_counted() {
    let ground = Ground::new();
    for index in 0..503 {
        ground.put(&format!("many/{index:04}.md"), "");
    }

    let listed = ground.list("vault", Some("many"));

    assert_eq!(
        (listed.number("entries"), listed.number("left_out")),
        (500, 3)
    );
    assert!(
        listed
            .text
            .ends_with("file 0 0499.md\n3 more entries are not shown.\n")
    );
}

#[test]
fn a_file_is_read_whole_or_by_lines() {
    let ground = Ground::new();
    ground.put("a.md", "one\ntwo\nthree");

    assert_eq!(part(&ground, None, None).text, "one\ntwo\nthree");
    assert_eq!(part(&ground, Some(2), Some(1)).text, "two\n");
    assert_eq!(part(&ground, None, Some(2)).text, "one\ntwo\n");
    assert_eq!(part(&ground, Some(3), None).text, "three");
    ground.refuses("lines_past_end", |ground| part(ground, Some(4), None));
    ground.refuses("lines_zero", |ground| part(ground, Some(0), None));
    ground.refuses("lines_zero", |ground| part(ground, None, Some(0)));
}

#[test]
fn a_binary_file_and_one_that_is_no_utf_8_are_refused() {
    let ground = Ground::new();
    ground.put("nul.bin", b"text\0more");
    ground.put("latin.txt", b"caf\xE9");
    ground.put("bom.txt", b"\xEF\xBB\xBFtext");

    ground.refuses("binary", |ground| ground.read("vault", "nul.bin"));
    ground.refuses("not_text", |ground| ground.read("vault", "latin.txt"));
    assert_eq!(ground.read("vault", "bom.txt").text, "\u{FEFF}text");
}

#[test]
fn a_search_goes_through_folders_in_order_and_withholds_what_a_read_refuses() {
    let ground = Ground::new();
    ground.put("b/two.md", "x needle\n");
    ground.put("a.md", "Needle\nneedle needle\r\n");
    ground.put("nul.bin", b"needle\0");
    ground.put("latin.txt", b"needle \xE9");
    ground.put("large.md", "needle ".repeat(1_000));
    std::os::unix::fs::symlink("a.md", ground.vault("link.md")).unwrap();

    let found = ground.search("vault", "needle");

    assert_eq!(
        found.found(),
        "a.md\n  2: needle needle\nb/two.md\n  1: x needle\n2 lines match, in 2 of 2 files.\n\
         Withheld and not searched: 1 binary, 1 not_text, 1 symlink, 1 too_large.\n"
    );
    assert_eq!(
        (
            found.number("hits"),
            found.number("files"),
            found.number("withheld")
        ),
        (2, 2, 4)
    );
}

#[test]
fn a_search_takes_a_folder_a_file_an_expression_case_and_context() {
    let ground = Ground::new();
    ground.put("a/one.md", "alpha\nBETA 12\ngamma\n");
    ground.put("b.md", "beta 34\n");
    let search = |path: Option<&str>, query: &str, regex, ignore_case, context_lines| {
        ground
            .call(v1::SearchRequest {
                root: "vault".into(),
                query: query.into(),
                path: path.map(Into::into),
                regex: Some(regex),
                ignore_case: Some(ignore_case),
                context_lines,
            })
            .found()
            .to_owned()
    };

    assert_eq!(
        search(Some("a"), "beta", false, true, Some(1)),
        "a/one.md\n  1- alpha\n  2: BETA 12\n  3- gamma\n1 line matches, in 1 of 1 files.\n"
    );
    assert_eq!(
        search(Some("b.md"), "^beta \\d+$", true, false, None),
        "b.md\n  1: beta 34\n1 line matches, in 1 of 1 files.\n"
    );
    assert_eq!(
        search(None, "^\\d", true, false, None),
        "No line matches in 2 files.\n"
    );
}

#[test]
fn a_search_refuses_bad_arguments() {
    let ground = Ground::new();
    let with = |query: &str, regex, context_lines| v1::SearchRequest {
        root: "vault".into(),
        query: query.into(),
        regex: Some(regex),
        context_lines,
        ..Default::default()
    };

    ground.refuses("query_empty", |ground| ground.call(with("", false, None)));
    ground.refuses("query_too_long", |ground| {
        ground.call(with("a\nb", false, None))
    });
    ground.refuses("query_pattern", |ground| {
        ground.call(with("(a{900}){900}", true, None))
    });
    ground.refuses("context_lines", |ground| {
        ground.call(with("a", false, Some(6)))
    });
    ground.refuses("not_found", |ground| {
        ground.call(v1::SearchRequest {
            path: Some("missing".into()),
            ..with("a", false, None)
        })
    });
}

#[test]
fn a_search_shows_200_lines_and_says_that_there_are_more() {
    let ground = Ground::new();
    ground.put("a.md", "needle\n".repeat(150));
    ground.put("b.md", "needle\n".repeat(150));

    let found = ground.search("vault", "needle");

    assert_eq!(found.number("hits"), 200);
    assert!(
        found
            .found()
            .ends_with("There are more. Narrow the query or the path.\n")
    );
}

#[test]
fn a_search_ends_when_its_caller_goes_away() {
    let ground = Ground::new();
    ground.put("a.md", "needle");
    let request = v1::SearchRequest {
        root: "vault".into(),
        query: "needle".into(),
        ..Default::default()
    };
    let cancel = Cancel::default();
    let cleared = mosaic_broker::tools::clear(request.into(), &ground.reach, &cancel).unwrap();

    cancel.cancel();

    assert_eq!(ground::answer(cleared.perform(&cancel)).code, "cancelled");
}

#[test]
fn a_search_goes_64_folders_deep_and_says_what_lies_deeper() {
    let ground = Ground::new();
    let folders = |count: usize| "d/".repeat(count);
    ground.put(&(folders(63) + "seen.md"), "needle");
    ground.put(&(folders(64) + "deep.md"), "needle");

    let found = ground.search("vault", "needle");

    assert_eq!((found.number("hits"), found.number("withheld")), (1, 1));
    assert!(found.found().contains("1 path_too_long"));
}
