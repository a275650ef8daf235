//! The report of a diagnostic or an error, rendered by rustc's own renderer.

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use serde_json::{Value, json};

use super::{Code, Diagnostic, Location, Severity};

/// A diagnostic or error as it is printed. It owns the lines that it shows, so it outlives the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub severity: Severity,
    pub code: Option<Code>,
    /// The kind that it is about, `KIND.GROUP`, or the project's name.
    pub subject: Option<String>,
    pub message: String,
    pub location: Option<Location>,
    /// How the tool handled the problem; printed at its location.
    pub instead: Option<String>,
    pub help: Option<String>,
}

impl Report {
    pub fn error(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code: None,
            subject: None,
            message: message.into(),
            location: None,
            instead: None,
            help: Some(help.into()).filter(|help: &String| !help.is_empty()),
        }
    }

    pub fn of(subject: &str, diagnostic: Diagnostic, location: Option<Location>) -> Self {
        Self {
            severity: diagnostic.severity,
            code: Some(diagnostic.code),
            subject: Some(subject.to_owned()),
            message: diagnostic.message,
            location,
            instead: diagnostic.instead,
            help: diagnostic.help,
        }
    }

    /// Formats the report with styles for a terminal; the terminal module removes them if the output is not one.
    ///
    /// ```text
    /// note[untyped]: Widget.example.com: the schema does not say what the value is
    ///   --> widgets.yaml:20:15
    ///    |
    /// 20 |               extra: {}
    ///    |               ^^^^^ its type is `serde_json::Value`
    ///    |
    ///    = at: /spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/extra
    ///    = help: ...
    /// ```
    pub fn rendered(&self) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Note => Level::NOTE,
        };
        let subject = self.subject.as_ref().map(|subject| format!("{subject}: "));
        let message = plain(&(subject.unwrap_or_default() + &self.message));
        let mut title = level.primary_title(message);
        if let Some(code) = self.code {
            title = title.id(code.as_str());
        }
        let mut group = Group::with_title(title);
        if let Some(location) = &self.location {
            let excerpt = &location.excerpt;
            let mark = AnnotationKind::Primary
                .span(excerpt.mark.clone())
                .label(self.instead.as_deref());
            let snippet = Snippet::source(excerpt.text.as_str())
                .line_start(excerpt.line)
                .fold(false)
                .annotation(mark);
            let path = location.path.as_str();
            group = if excerpt.is_cut {
                // the renderer counts columns within the excerpt
                let origin = Origin::path(path).line(location.line);
                group
                    .element(origin.char_column(location.column))
                    .element(snippet)
            } else {
                group.element(snippet.path(path))
            };
            if !location.pointer.is_empty() {
                let at = Level::NOTE
                    .with_name("at")
                    .message(plain(&location.pointer));
                group = group.element(at);
            }
        } else if let Some(instead) = &self.instead {
            group = group.element(Level::NOTE.message(plain(instead)));
        }
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(shortened(help, MOST_HELP)));
        }
        Renderer::styled().render(&[group])
    }

    /// Formats the report for programs. The keys are stable.
    pub fn json(&self) -> Value {
        let location = self.location.as_ref();
        json!({
            "kind": self.subject, "code": self.code.map(Code::as_str), "severity": self.severity.as_str(),
            "file": location.map(|it| &it.path), "line": location.map(|it| it.line), "column": location.map(|it| it.column),
            "pointer": location.map_or("", |it| &it.pointer), "message": self.message,
            "instead": self.instead, "help": self.help,
        })
    }
}

/// The hint that is printed once, after all reports, with the code of the first report that has one.
pub fn hint(reports: &[Report]) -> Option<String> {
    let code = reports.iter().find_map(|report| report.code)?;
    Some(format!("for more: cargo operator explain {code}"))
}

/// Whether a character is a control character or changes the writing direction. A terminal interprets both, and rustc rejects the latter in
/// comments.
pub fn is_unprintable(c: char) -> bool {
    let changes_direction =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    changes_direction || c.is_control()
}

/// Shortens a text from an input, and replaces characters that would move the cursor or change the writing direction.
fn plain(text: &str) -> String {
    shortened(text, 2_000)
}

/// The maximum number of characters of a help text, which can contain code for each field of a kind.
const MOST_HELP: usize = 50_000;

fn shortened(text: &str, most: usize) -> String {
    let cut = text.char_indices().nth(most).map(|(at, _)| &text[..at]);
    let ellipsis = if cut.is_some() { "..." } else { "" };
    cut.unwrap_or(text)
        .chars()
        .map(|c| match c {
            '\n' => '\n',
            c if is_unprintable(c) => '\u{fffd}',
            c => c,
        })
        .chain(ellipsis.chars())
        .collect()
}
