//! Finds lines that may be too wide for rustfmt. Its output for such lines is not predictable, so the item is exempted.

use super::WIDTH;

/// The attribute for an item or a module whose text is [wide](is_wide), with a line feed; empty for others.
pub fn skip(text: &str) -> &'static str {
    match is_wide(text) {
        true => "#[rustfmt::skip]\n",
        false => "",
    }
}

/// Whether a line has more columns than rustfmt allows, not counting its comment and the contents of string literals, which rustfmt does
/// not break, nor the path of a `use`.
pub fn is_wide(text: &str) -> bool {
    let mut columns = 0;
    let mut is_import = false;
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        if columns == 0 {
            is_import = rest.trim_start().starts_with("use ");
        }
        let skipped = match char {
            '\n' => {
                columns = 0;
                rest = &rest[1..];
                continue;
            }
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '"' => quoted(rest),
            'r' => raw(rest).unwrap_or_default(),
            _ => 0,
        };
        if skipped == 0 {
            columns += 1;
            if columns > WIDTH && !is_import {
                return true;
            }
        }
        rest = &rest[skipped.max(char.len_utf8())..];
    }
    false
}

/// The length of the literal at the start of a text.
fn quoted(text: &str) -> usize {
    let mut is_escaped = true;
    let end = text.find(|char| {
        let is_end = char == '"' && !is_escaped;
        is_escaped = char == '\\' && !is_escaped;
        is_end
    });
    end.map_or(text.len(), |end| end + 1)
}

/// The length of the raw literal at the start of a text, if there is one.
fn raw(text: &str) -> Option<usize> {
    let hashes = text[1..].bytes().take_while(|byte| *byte == b'#').count();
    let inside = text[1 + hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let end = inside.find(&close)?;
    Some(text.len() - inside.len() + end + close.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_literals_and_paths_are_not_wide_lines() {
        let long = "x".repeat(120);
        for text in [
            format!("/// {long}\n"),
            format!("    let a = \"{long} \\\" {long}\";\n"),
            format!("const A: &str = r#\"\n\"{long}\"\n\"#;\n"),
            format!("use a::{long};\n"),
            "y".repeat(WIDTH),
        ] {
            assert!(!is_wide(&text), "{text}");
        }
        for text in [
            "y".repeat(WIDTH + 1),
            format!("r#\"a\"# \"b\" // c\nfn {long}() {{\n"),
            format!("use a;\nfn {long}() {{\n"),
        ] {
            assert!(is_wide(&text), "{text}");
        }
    }
}
