//! Finds conflict markers in a text, of this tool and of git.

/// Whether a text still has the markers of a merge that failed.
pub fn is_marked(text: &str) -> bool {
    let is_ours = |line| matches!(line, "<<<<<<< ours" | "||||||| original" | ">>>>>>> theirs");
    let mut lines = text.lines();
    let is_gits = lines.any(|line| line.starts_with("<<<<<<< "))
        && lines.any(|line| line == "=======")
        && lines.any(|line| line.starts_with(">>>>>>> "));
    is_gits || text.lines().any(is_ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflict_markers_are_recognized_and_similar_lines_are_not() {
        for (text, expected) in [
            ("a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> other\n", true),
            ("a\r\n<<<<<<< ours\r\nb\r\n", true),
            ("<<<<<<< HEAD\n", false),
            (">>>>>>> b\n=======\n<<<<<<< a\n", false),
            (
                "Heading\n=======\n    <<<<<<< HEAD\n    >>>>>>> other\n",
                false,
            ),
        ] {
            assert_eq!(is_marked(text), expected, "{text}");
        }
    }
}
