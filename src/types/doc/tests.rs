use super::*;

fn check(description: &str, expected: &[&str]) {
    assert_eq!(lines(description, 40), expected, "{description}");
}

#[test]
fn a_description_that_fits_is_kept_unchanged() {
    let plain = [
        "Replicas is the number.",
        "a\n\n\nb - c",
        "exactly as wide as one line of it allows",
    ];
    for description in plain {
        let width = 41;
        assert!(is_comment(description, width), "{description}");
        let expected: Vec<&str> = description.split('\n').collect();
        assert_eq!(lines(description, width), expected);
        assert_eq!(unwrapped(description), description);
    }
    let other = [
        "",
        "a\n",
        "\na",
        "a ",
        "a\n b",
        "a <b>",
        "`a`",
        "- a",
        "1. a",
        "# a",
        "a\tb",
        "see http://a.b",
        "a\\b",
        "\u{e4}",
    ];
    for description in other {
        assert!(!is_comment(description, 41), "{description}");
    }
    assert!(!is_comment(plain[2], 40));
}

#[test]
fn long_text_is_wrapped_between_words() {
    check(
        "Replicas is the number of instances that the cluster has at rest.",
        &[
            "Replicas is the number of instances",
            " that the cluster has at rest.",
        ],
    );
}

#[test]
fn continuation_lines_of_a_list_item_are_indented() {
    check(
        "One of:\n- first, which is rather long and needs two lines\n  of text\n- second\n",
        &[
            "One of:",
            "",
            "- first, which is rather long and needs",
            "  two lines of text",
            "- second",
        ],
    );
}

#[test]
fn text_that_looks_like_markup_is_escaped() {
    check("a <key> of m[x], 3 * 4", &[r"a \<key\> of m\[x\], 3 \* 4"]);
    check(
        "see https://example.com/a_b.",
        &["see <https://example.com/a_b>."],
    );
    check("# no heading", &[r"\# no heading"]);
    check("an odd ` tick", &[r"an odd \` tick"]);
    check("    indented code", &["indented code"]);
    check("`map[string]<T>` stays", &["`map[string]<T>` stays"]);
}

#[test]
fn wrapping_does_not_put_a_marker_at_the_start_of_a_line() {
    check(
        "the value of the field is at the most o - 1",
        &["the value of the field is at the most o", r" \- 1"],
    );
}

#[test]
fn fenced_blocks_are_text() {
    check(
        "Like:\n```yaml\na: <b>\n```\nand so",
        &["Like:", "```text", "a: <b>", "```", "and so"],
    );
}
