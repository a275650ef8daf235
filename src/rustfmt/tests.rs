use super::*;

#[test]
fn long_arguments_get_their_own_lines() {
    let arguments = |rename: &str| {
        [
            format!("rename = \"{rename}\""),
            "default".into(),
            "skip_serializing_if = \"Option::is_none\"".into(),
        ]
    };
    let short = attribute(4, "serde", &arguments("abcdefgh"));
    assert_eq!(
        short,
        "    #[serde(rename = \"abcdefgh\", default, skip_serializing_if = \"Option::is_none\")]\n"
    );
    let long = attribute(4, "serde", &arguments("abcdefghijkl"));
    assert_eq!(
        long,
        "    #[serde(\n        rename = \"abcdefghijkl\",\n        default,\n        skip_serializing_if = \"Option::is_none\"\n    )]\n"
    );
}

#[test]
fn a_long_path_to_include_goes_on_the_next_line_or_below() {
    let text = |length| include_str("spec", &"p".repeat(length));
    assert_eq!(text(68).lines().next().map(str::len), Some(100));
    assert_eq!(text(69).lines().map(str::len).collect::<Vec<_>>(), [14, 94]);
    assert_eq!([75, 76].map(|length| text(length).lines().count()), [2, 3]);
}

#[test]
fn short_arguments_share_a_line() {
    let text = bracketed(
        4,
        &"f".repeat(90),
        ['(', ')'],
        &["spec".into(), "sample".into()],
        ";",
    );
    assert!(
        text.ends_with("(\n        spec, sample,\n    );\n"),
        "{text}"
    );
}

#[test]
fn a_list_of_one_item_is_on_one_line_if_it_fits() {
    let text = |length| bracketed(4, "let x = ", ['[', ']'], &["i".repeat(length)], ";");
    let lines = |length| text(length).lines().map(str::len).collect::<Vec<_>>();
    assert_eq!(lines(85), [100]);
    assert_eq!(lines(86), [11, 97]);
    assert_eq!(lines(89), [11, 100]);
    assert_eq!(lines(90), [13, 99, 6]);
}

#[test]
fn a_module_in_a_module_has_narrower_lines() {
    let text = |length| {
        module("v1", || {
            Written::Generic("Option", vec![Written::Leaf("A".repeat(length))]).field("p")
        })
    };
    assert_eq!(text(76).lines().map(str::len).max(), Some(100));
    assert_eq!(text(77).lines().count(), 4);
    assert_eq!(width(), WIDTH);
}

#[test]
fn long_types_are_broken() {
    let map = Written::Generic(
        "BTreeMap",
        vec![
            Written::Leaf("String".into()),
            Written::Leaf("A".repeat(70)),
        ],
    );
    let field = Written::Generic("Option", vec![map]).field("p5");
    assert_eq!(
        field,
        format!(
            "    pub p5: Option<\n        BTreeMap<String, {}>,\n    >,\n",
            "A".repeat(70)
        )
    );
}

#[test]
fn a_long_head_breaks_before_its_brace() {
    let text = |length: usize| {
        let name = "A".repeat(length - "pub struct  {".len());
        nested(|| head(format!("pub struct {name}")))
    };
    // the indent of a module does not count
    assert_eq!(text(100).lines().count(), 1);
    assert_eq!(text(101).lines().count(), 2);
}

#[test]
fn bidirectional_control_characters_are_escaped() {
    let mut text = "x".to_owned();
    put_json(&mut text, "\"a\u{202e}\"");
    assert_eq!(text, r##"xr#""a\u202e""#"##);
    text.clear();
    put_json(&mut text, "\"\"#");
    assert_eq!(text, "r##\"\"\"#\"##");
    assert_eq!(literal("\\ \u{2066}"), r#""\\ \u{2066}""#);
}
