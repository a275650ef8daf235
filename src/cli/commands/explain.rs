//! `explain`: prints the section of a diagnostic code in `docs/diagnostics.md`.

use crate::{
    diagnostic::Code,
    diagnostic::{Exit, Failure},
    terminal::Terminal,
    workspace::kind_error::KindError,
};

/// The documentation of the codes: a section for each, with the code as its heading.
const TEXT: &str = include_str!("../../../docs/diagnostics.md");

/// Explain the code of a diagnostic or error, or list all codes
#[derive(clap::Args)]
pub struct Args {
    /// The code as printed in brackets, such as `untyped` in `note[untyped]`
    code: Option<String>,
}

pub fn exec(args: Args, terminal: &Terminal) -> Result<Exit, Failure> {
    let text = match args.code {
        None => list(),
        Some(name) => {
            let unknown = || KindError::Code(name.clone(), nearest(&name));
            let code = Code::named(&name).ok_or_else(unknown)?;
            section(code).unwrap_or_default().to_owned()
        }
    };
    terminal.print(&text)?;
    Ok(Exit::Clean)
}

/// The codes with the first sentence about each.
fn list() -> String {
    let line = |code: &Code| {
        let text = section(*code).unwrap_or_default();
        let first = text.lines().nth(2).unwrap_or_default();
        format!("{:<22} {first}\n", code.as_str())
    };
    Code::ALL.iter().map(line).collect()
}

/// The section of the code, with its heading.
fn section(code: Code) -> Option<&'static str> {
    let heading = format!("\n## {code}\n");
    let start = TEXT.find(&heading)? + 1;
    let end = TEXT[start..]
        .find("\n## ")
        .map_or(TEXT.len(), |end| start + end);
    Some(&TEXT[start..end])
}

/// The most similar code, if there is one.
fn nearest(name: &str) -> Option<&'static str> {
    let codes = Code::ALL.iter().map(|code| code.as_str());
    let likeness = |code: &str| strsim::jaro_winkler(code, name);
    codes
        .max_by(|a, b| likeness(a).total_cmp(&likeness(b)))
        .filter(|code| likeness(code) > 0.8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_sections_of_the_docs_correspond() {
        let headings: Vec<&str> = TEXT
            .lines()
            .filter_map(|line| line.strip_prefix("## "))
            .collect();
        let codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        let differ = headings.iter().zip(&codes).find(|(a, b)| a != b);
        if let Some((heading, code)) = differ {
            panic!(
                "docs/diagnostics.md: the section `{code}` must be where `{heading}` is, as in src/diagnostic/code.rs"
            );
        }
        assert_eq!(
            headings.len(),
            codes.len(),
            "docs/diagnostics.md: the sections after the last code of src/diagnostic/code.rs, or the other way round"
        );
        for code in Code::ALL {
            let text = section(*code).unwrap_or_default();
            let first = text.lines().nth(2).unwrap_or_default();
            assert!(
                (20..=100).contains(&first.len()),
                "docs/diagnostics.md: the first line of `{code}` has 20 to 100 bytes: {first}"
            );
            for part in ["```text\n", "What to do: "] {
                assert!(
                    text.contains(part),
                    "docs/diagnostics.md: `{code}` lacks {part:?}"
                );
            }
            // of a CRD, or of the config
            let mut inputs = ["```yaml\n", "```toml\n"].into_iter();
            assert!(
                inputs.any(|input| text.contains(input)),
                "docs/diagnostics.md: `{code}` lacks an example in YAML or TOML"
            );
        }
    }

    #[test]
    fn an_unknown_code_suggests_the_nearest() {
        assert_eq!(nearest("untypd"), Some("untyped"));
        assert_eq!(nearest("refused-shema"), Some("refused-schema"));
        for none in ["banana", "E0308", "x"] {
            assert_eq!(nearest(none), None);
        }
    }
}
