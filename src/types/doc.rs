//! Doc comments from descriptions: wrapped, and such that rustdoc runs nothing of them as a test and clippy finds no broken list.

/// The column that a line of a doc comment keeps to.
const WIDTH: usize = 100;

/// `/// description` at an indent, with a line feed behind each line.
pub fn comment(indent: usize, description: Option<&str>) -> String {
    let pad = " ".repeat(indent);
    let lines = lines(description.unwrap_or_default(), WIDTH - indent - 4);
    lines
        .iter()
        .map(|line| format!("{pad}/// {line}").trim_end().to_owned() + "\n")
        .collect()
}

/// Paragraphs stay apart, list items begin their own line and hang; code fences would be run as tests and are quoted instead.
fn lines(description: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    let mut open: Option<(String, usize)> = None;
    let description = description.replace("```", "'''").replace("~~~", "'''");
    for line in description.lines().map(str::trim) {
        if line.is_empty() {
            close(&mut open, width, &mut lines);
            if lines.last().is_some_and(|last| !last.is_empty()) {
                lines.push(String::new());
            }
            continue;
        }
        match marker(line) {
            Some(hang) => {
                close(&mut open, width, &mut lines);
                open = Some((line.to_owned(), hang));
            }
            None => match &mut open {
                Some((text, _)) => {
                    text.push(' ');
                    text.push_str(line);
                }
                None => open = Some((line.to_owned(), 0)),
            },
        }
    }
    close(&mut open, width, &mut lines);
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

fn close(open: &mut Option<(String, usize)>, width: usize, lines: &mut Vec<String>) {
    let Some((text, hang)) = open.take() else {
        return;
    };
    let mut line = String::new();
    for (index, word) in text.split_whitespace().enumerate() {
        // a word that begins a block of Markdown must not begin a line
        let must_follow = index > 0 && starts_block(word);
        let fits = line.chars().count() + 1 + word.chars().count() <= width;
        if index == 0 {
            line = word.to_owned();
            if hang == 0 && starts_block(word) {
                line.insert(0, '\\');
            }
        } else if fits || must_follow {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(std::mem::replace(&mut line, " ".repeat(hang) + word));
        }
    }
    lines.push(line);
}

/// The indent that further lines of a list item need, for a line that begins one.
fn marker(line: &str) -> Option<usize> {
    let (first, rest) = line.split_once(' ')?;
    let digits = first.trim_end_matches(['.', ')']);
    let number = digits.len() + 1 == first.len()
        && !digits.is_empty()
        && digits.len() <= 2
        && digits.bytes().all(|b| b.is_ascii_digit());
    // a marker within the item would want an indent of its own
    let is_item = rest
        .split_whitespace()
        .next()
        .is_some_and(|word| !starts_block(word));
    (is_item && (matches!(first, "-" | "*" | "+") || number)).then_some(first.len() + 1)
}

fn starts_block(word: &str) -> bool {
    let digits = word.trim_end_matches(['.', ')']);
    let number = digits.len() < word.len()
        && !digits.is_empty()
        && digits.bytes().all(|b| b.is_ascii_digit());
    number
        || word.starts_with(['#', '>', '|'])
        || matches!(word, "-" | "*" | "+")
        || word.bytes().all(|b| b"-=*_".contains(&b))
        || word.starts_with('[') && word.contains("]:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_and_lists_hang() {
        let text = "Some words that are\nwrapped again.\n\n\n- a first item of some length\n- b\n\n    indented is no code\n```\nlet x = 1;\n```\n";
        let expected = [
            "Some words that",
            "are wrapped",
            "again.",
            "",
            "- a first item",
            "  of some",
            "  length",
            "- b",
            "",
            "indented is no",
            "code ''' let x =",
            "1; '''",
        ];
        assert_eq!(lines(text, 15), expected);
    }

    #[test]
    fn nothing_begins_a_block_by_chance() {
        assert_eq!(
            lines("aaaa bbbb - cc 1. dd", 9),
            ["aaaa bbbb -", "cc 1. dd"]
        );
        assert_eq!(lines("# not a title", 40), ["\\# not a title"]);
        assert_eq!(lines("* * * * *\n| | cron", 9), ["\\* * * * * | |", "cron"]);
    }
}
