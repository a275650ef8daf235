//! Comparisons with a peer: yaml_serde, another reader, whose parser is a port of libyaml, like the one in kubectl.

use proptest::{prelude::*, sample::select};
use serde_json::json;

use super::{super::problem::MOST_BYTES, *};

fn value(text: &str) -> Option<Value> {
    compose(text).ok().map(|composed| composed.value)
}

fn peer(text: &str) -> Option<Value> {
    serde_yaml::from_str(text).ok()
}

fn refused(text: &str) -> (String, &str) {
    match compose(text) {
        Ok(composed) => panic!("{text:?} is read: {}", composed.value),
        Err(Fault { place, problem }) => (problem.to_string(), &text[place]),
    }
}

#[test]
fn every_scalar_has_the_same_value_as_for_the_peer() {
    let numbers = [
        "0",
        "-0",
        "+1",
        "-1",
        "1.5",
        "-1.5e3",
        "+.5",
        ".5",
        "5.",
        "1e3",
        "1E-3",
        "1e999",
        "0x1F",
        "-0x1F",
        "0xg",
        "0x",
        "0o17",
        "-0o17",
        "0b11",
        "0755",
        "-0755",
        "00",
        "1_000",
        "--1",
        "-+1",
        "+-1",
        "0x-1",
        "18446744073709551615",
        "-9223372036854775808",
        "340282366920938463463374607431768211456",
        "0xffffffffffffffffffffffffffffffffff",
        "inf",
        "nan",
        "-",
        "+",
        ".",
        "..",
        "1.2.3",
        "1e",
        "e1",
    ];
    let words = [
        "null",
        "Null",
        "NULL",
        "nUll",
        "~",
        "true",
        "True",
        "TRUE",
        "tRue",
        "false",
        "False",
        "on",
        "y",
        "",
        "x",
        "a b",
        "2001-01-01",
        "=",
        "<<",
    ];
    for scalar in numbers.into_iter().chain(words) {
        for text in [
            format!("a: {scalar}\n"),
            format!("- {scalar}\n"),
            format!("{scalar}: 1\n"),
            format!("[{scalar}]\n"),
            format!("'{scalar}'\n"),
            format!("\"{scalar}\": |\n  {scalar}\n"),
            format!("a: !!str {scalar}\n"),
            format!("a: !!int {scalar}\n"),
            format!("a: !!float {scalar}\n"),
            format!("a: !!bool {scalar}\n"),
            format!("a: !!null {scalar}\n"),
            format!("a: !!int '{scalar}'\n"),
            format!("a: !own {scalar}\n"),
        ] {
            // only the peer accepts a null key and a bare `-` in brackets, and refuses an empty `!!null`; only we merge `<<`, like kubectl
            let is_null = text.ends_with(": 1\n") && peer(scalar).is_none_or(|it| it.is_null());
            if is_null || matches!(text.as_str(), "[-]\n" | "a: !!null \n") || scalar == "<<" {
                continue;
            }
            let (ours, peers) = (value(&text), peer(&text));
            assert_eq!(ours, peers, "{text:?}");
        }
    }
    // the peer refuses integers of more than 64 bits
    for integer in ["18446744073709551616", "-9223372036854775809"] {
        let double: f64 = integer.parse().unwrap();
        assert_eq!(value(integer), Some(double.into()), "{integer}");
    }
    assert_eq!(
        value("0x10000000000000000"),
        Some("0x10000000000000000".into())
    );
    // the peer reads null instead of what is not a JSON number
    for scalar in [".inf", "-.inf", "+.INF", ".nan"] {
        let (message, _) = refused(&format!("a: {scalar}\n"));
        assert!(message.ends_with("is not a JSON number"), "{message}");
    }
}

#[test]
fn every_yaml_style_is_read_as_by_the_peer() {
    for text in [
        "a: {b: [c, {d: e}], f: , \"g\":h, i: [j: k]}\n",
        "- - a\n  - b\n-\n  - c\n- d: e\n  f:\n  - g\n",
        "? a\n: b\n? - c\n",
        "? |\n  block\n: b\n",
        "a: &x {b: 1}\nc: *x\nd: [*x, *x]\n",
        "- &k a: &v b\n- *k : *v\n",
        "&k 1: a\nb: *k\n",
        "a: &x 1\nb: &x 2\nc: *x\n",
        "a: some\n  words\n\n  more\nb: \"some\n  words\\\n  \\x41\\u00e4\\n\"\nc: 'it''s\n\n  more'\n",
        "a: |\n  text\n   more\n\n  end\n\nb: >-\n  text\n  more\n\n   x\n\n  end\nc: |+\n  x\n\n\nd: |2\n   x\n",
        "a: |\n",
        "a: x",
        "a: # b\n  c # d\n#e\nf: 'g' # h\n",
        "a:\r\n  b: |\r\n    c\r\n    d\r\n",
        "!!map\na: !!seq [1]\nb: !!set {c, d}\n",
        "%TAG !t! tag:yaml.org,2002:\n---\na: !t!int 1\n",
        "a: [1,\n\t2]\nb: \"c\td\"\n",
        "a: |-\t\n  x\nb:\tc\n",
        "[1, 2]\n",
        "word\n",
        "",
    ] {
        let (ours, peers) = (value(text), peer(text));
        assert_eq!(ours, peers, "{text:?}");
    }
}

/// Whether a plain scalar may begin with a colon between brackets. The peer then reads an empty key instead, after an anchor or a tag.
fn has_flow_scalar_with_colon(text: &str) -> bool {
    text.contains(['[', '{'])
        && text.as_bytes().windows(3).any(|bytes| match bytes {
            [before, b':', after] => b" \n[{,".contains(before) && !after.is_ascii_whitespace(),
            _ => false,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn documents_that_both_accept_have_equal_values(
        start in select(vec!["a: ", "a:\n  b: ", "a:\n- b\n- "]),
        parts in prop::collection::vec(select(vec![
            ": ", ":", "\n", "\n  ", "\n    ", "- ", "\"", "'", " #", "#", "x", "y z", "1", "|", ">", "|-", "[", "]", "{", "}",
            ", ", "-", " ", "&a ", "*a", "!!int ", "~", "0x", "\\n", "\u{e4}", "? ", "\r\n",
        ]), 0..12),
    ) {
        let text = format!("{start}{}\n", parts.concat());
        if let (Ok(ours), Some(peers), false) = (compose(&text), peer(&text), has_flow_scalar_with_colon(&text)) {
            prop_assert_eq!(ours.value, peers);
            // `Positions::of` is for JSON, so it does not resolve aliases
            if !text.contains('*') {
                prop_assert_eq!(ours.positions, Some(Positions::of(&text)));
            }
        }
    }
}

#[test]
fn a_text_without_a_last_line_break_has_one_for_kubectl() {
    for text in ["a: |\n  x", "a: >\t\n  x", "a: |+\n  x\n"] {
        assert_eq!(value(text), Some(json!({"a": "x\n"})), "{text:?}");
    }
}

#[test]
fn separators_in_quotes_lose_the_blanks_around_them() {
    let text = "a: 'see \u{2028}    docs'\nb: \"c\u{2029}\"\nd: ' e '\n";
    let expected = json!({"a": "see\u{2028}docs", "b": "c\u{2029}", "d": " e "});
    assert_eq!(value(text), Some(expected));
}

#[test]
fn merge_keys_are_expanded() {
    for (text, expected) in [
        (
            "x: &x {a: 1, b: 2}\ny: {z: 0, <<: *x, b: 3}\n",
            json!({"z": 0, "a": 1, "b": 3}),
        ),
        (
            "x: [&x {a: 1}, &y {a: 2, b: 2}]\ny: {<<: [*x, *y]}\n",
            json!({"a": 1, "b": 2}),
        ),
        (
            "x: &x {<<: {a: 1}}\ny: {<<: *x, b: 2}\n",
            json!({"a": 1, "b": 2}),
        ),
        // the same value before and after
        ("y: {a: 1, <<: {a: 1}}\n", json!({"a": 1})),
        ("y: {!!merge <<: {a: 1}}\n", json!({"a": 1})),
        ("y: {<<: []}\n", json!({})),
        ("y: {'<<': 1, a: <<}\n", json!({"<<": 1, "a": "<<"})),
    ] {
        let read = value(text).unwrap();
        // as texts, to compare the order of the keys, too
        assert_eq!(read["y"].to_string(), expected.to_string(), "{text}");
    }
}

#[test]
fn merged_and_aliased_nodes_are_found_at_their_anchors() {
    let text = "a: &a {x: 1, s: [2]}\nb: {<<: [{y: 3}, *a], x: 4}\nc: *a\n";
    let positions = compose(text).unwrap().positions.unwrap();
    let pointers = ["/b/s/0", "/b/x", "/b/y", "/c/x", "/c", "/b/z"];
    let places = positions.places(text, &pointers);
    let found: Vec<&str> = places.into_iter().map(|place| &text[place]).collect();
    assert_eq!(found, ["2", "x: 4", "y: 3", "x: 1", "c: *a", "b"]);
}

/// The peer accepts these; `tests/oracle` compares with kubectl's own reader.
#[test]
fn a_text_that_kubectl_refuses_or_reads_differently_is_refused() {
    for (text, message, place) in [
        ("{a: :x}\n", "no `?` and no `:`", ":x"),
        ("[a?b]\n", "no `?` and no `:`", "a?b"),
        (
            "{a:, b: 1}\n",
            "takes the colon for a part of the text",
            "a",
        ),
        ("-\t1\n", "only spaces may indent", "\t"),
        ("a: |\n  \tx\n", "only spaces may indent", "\t"),
        ("- x\n\t\n y\n", "only spaces may indent", "\t"),
        ("a: !!binary eA==\n", "`!!binary` is not supported", "eA=="),
        (
            "a: \"\\\\\\/\"\n",
            "does not know the escape `\\/`",
            "\"\\\\\\/\"",
        ),
        (
            "a: b # \u{2028}c\n",
            "kubectl ends the line at the character U+2028",
            "\u{2028}",
        ),
        ("~: 1\n", "a key is null", "~"),
        (
            "a: \"\\ud83d\\ude00\"\n",
            "does not know pairs of `\\u`",
            "\"\\ud83d\\ude00\"",
        ),
        ("a: 'b\u{85}c'\n", "the character U+0085", "\u{85}"),
        ("a: 'b\u{2028}\n  c'\n", "the character U+2028", "\u{2028}"),
        (
            "a: &a [{b: 1}]\nc: {<<: *a}\n",
            "merges no list that an alias stands for",
            "*a",
        ),
        ("{<<: 1}\n", "`<<` merges a mapping, or a list", "<<"),
        ("{<<: [1]}\n", "`<<` merges a mapping, or a list", "<<"),
        (
            "{<<: {a: 1}, <<: {b: 1}}\n",
            "the key `<<` is given twice",
            "<<",
        ),
        (
            "{a: 1, <<: {a: 2}}\n",
            "the key `a` is given before `<<`",
            "<<",
        ),
    ] {
        let (error, at) = refused(text);
        assert!(error.contains(message), "{text:?}: {error}");
        assert_eq!(at, place, "{text:?}: {error}");
    }
}

#[test]
fn errors_have_their_positions() {
    let deep = "[".repeat(MOST_LEVELS + 1);
    let beside = format!(
        "a: &x {}\nb: [*x]\n",
        "[".repeat(MOST_LEVELS - 1) + &"]".repeat(MOST_LEVELS - 1)
    );
    for (text, message, place) in [
        (
            "a:\n- b: 1\n  \"c\\\"\": 2\n  'c\"': 3\n",
            "the key `c\"` is given twice",
            "'c\"'",
        ),
        (
            "x: {k: [k, k]}\nk: k\ny: [{k: 1, l: 2, k: 3}]\n",
            "the key `k` is given twice",
            "k",
        ),
        (&deep, "more than 128 levels", "["),
        (&beside, "more than 128 levels", "*x"),
        ("a: &a\n- b: *a\n", "more than 128 levels", "*a"),
        ("{a: 1}: 2\n", "a key is a mapping or list", "{"),
        ("a: &a [1]\n*a : 2\n", "a key is a mapping or list", "*a"),
        ("a: !own 1\n", "the tag `!own` is not supported", "1"),
        ("a: !!int x\n", "`x` is not an integer", "x"),
        ("a: *b\n", "unknown anchor", "*"),
        ("a: && b\n", "kubectl reads only letters", "b"),
        ("a: &é !!map\n  b: 1\n", "kubectl reads only letters", ""),
        (
            "a: [&a-_1 b, *a-_1]\nb: &ü c\n",
            "kubectl reads only letters",
            "c",
        ),
        ("a: 1\n--- {b: 2}\n", "a second document", "---"),
        ("a: 1\n\t\nb: 2\n", "only spaces may indent", "\t"),
        ("a: 'x'\n\t# note\n", "only spaces may indent", "\t"),
        ("\ta: 1\n", "only spaces may indent", "\t"),
        ("a: \"b\nc: 1\n", "unclosed quote", "\""),
        ("a: \u{1}\n", "control characters are not allowed", "\u{1}"),
    ] {
        let (error, at) = refused(text);
        assert!(error.contains(message), "{text:?}: {error}");
        assert_eq!(at, place, "{text:?}: {error}");
        assert!(
            peer(text).is_none() || message.starts_with("the key"),
            "{text:?}"
        );
    }
}

#[test]
fn excessive_depth_is_detected_quickly() {
    for text in ["[", "{a: ", "{\"a\":", "- "] {
        let (message, _) = refused(&text.repeat(300_000));
        assert!(message.contains("more than 128 levels"), "{message}");
    }
    let fine = format!(
        "a: '{}'\nb: {}{}\n",
        "[".repeat(10_000),
        "[".repeat(127),
        "]".repeat(127)
    );
    assert_eq!(value(&fine), peer(&fine));
}

#[test]
fn aliases_do_not_multiply() {
    let long = "x".repeat(MOST_BYTES / 4);
    for alias in ["*x", "{*x : 1}"] {
        let aliases = |count| format!("a: &x {long}\nb: [{}]\n", vec![alias; count].join(", "));
        assert!(value(&aliases(2)).is_some());
        let (message, _) = refused(&aliases(3));
        assert!(message.contains("repetition limit exceeded"), "{message}");
    }
}

#[test]
fn ambiguous_scalars_are_found_at_every_position() {
    for text in [
        "- on",
        "[on]",
        "{on: 1}",
        "{a: on}",
        "{\"a\":on}",
        "on: 1",
        "on : 1",
        "a: on # x",
        "a:\n  on",
        "? on",
        "- - on",
        "a: &a on",
        "[1,on ,2]",
        "[\n  on\n]",
        "a:  on\t",
    ] {
        let ambiguous = compose(text).unwrap().ambiguous;
        let [
            Fault {
                place,
                problem: Problem::Ambiguous(scalar),
            },
        ] = ambiguous.as_slice()
        else {
            panic!("{text:?}: {ambiguous:?}")
        };
        assert_eq!(
            (scalar.as_str(), &text[place.clone()]),
            ("on", "on"),
            "{text:?}"
        );
    }
    for text in [
        "a: depends on it",
        "a: x\n  on\n  y",
        "a: 'on'",
        "a: \"on\"",
        "a: at 10:30",
        "a: 1:30",
        "a: !!str on",
        "d: |\n  yes\n  no: 1\n",
    ] {
        assert_eq!(compose(text).unwrap().ambiguous, [], "{text:?}");
    }
    assert_eq!(
        compose(&"- on\n".repeat(100)).unwrap().ambiguous.len(),
        MOST_REPORTED
    );
}
