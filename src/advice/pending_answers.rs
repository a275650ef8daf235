//! Reports the questions about the versions of kinds that the user's code does not answer, answers to questions that no longer exist, and
//! sensitive fields with which no object can be converted.

use std::ops::Range;

use super::missing_file;
use crate::{
    conversion::Path,
    diagnostic::{Code, Failure, Location, Report, Severity},
    disk::{self, DiskError},
    plan::Plan,
    render::{Converted, FieldWithoutTarget, SpokeAnswers},
    user_code::{Answers, conversion_file},
    workspace::open::OpenProject,
};

/// The fields that all answers have, with the values that change nothing.
const FIXED: [(&str, &str); 2] = [
    ("rules", "rules: |spoke| spoke"),
    ("declared", "declared: vec![]"),
];

/// The questions and answers to report, until the user has changed the answers.
pub fn reports(
    open: &OpenProject,
    plan: &Plan,
    converted: &[Converted],
) -> Result<Vec<Report>, Failure> {
    let mut reports = vec![];
    for kind in converted.iter().filter(|kind| !kind.spokes.is_empty()) {
        let Some(text) = answers_text(open, plan, kind)? else {
            if !missing_file::exists(open, &kind.path)? {
                let (subject, path) = (kind.full_name.clone(), &kind.path);
                let purpose = "answers what does not follow from the schemas";
                reports.push(missing_file::report(open, subject, path, purpose, ""));
            }
            continue;
        };
        let Some(file) = conversion_file(&text) else {
            continue;
        };
        let file_of = FileOfKind {
            open,
            kind,
            text: &text,
        };
        for spoke in &kind.spokes {
            let mut answers = file.answers.iter();
            match answers.find(|(name, _)| *name == spoke.name) {
                Some((_, answers)) => reports.extend(file_of.compare(spoke, answers)),
                None if file.functions.contains(&spoke.function) => {}
                None => reports.push(file_of.missing_function(spoke)),
            }
            let is_known = |path: &Path| is_argument(&text, path);
            let unplaced = spoke
                .unplaced
                .iter()
                .filter(|it| !is_known(&it.path) && !is_known(&it.only));
            reports.extend(unplaced.map(|it| unplaced_field(open, kind, it)));
        }
        let is_known = |name: &String| kind.spokes.iter().any(|spoke| spoke.name == *name);
        for (name, answers) in &file.answers {
            if name.ends_with("Answers") && !is_known(name) {
                reports.push(file_of.report(
                    format!("`{name}` is about a version that is no longer converted"),
                    answers.name.clone(),
                    "remove the function that returns it".into(),
                ));
            }
        }
    }
    Ok(reports)
}

/// The user's file of answers, as it is after the plan.
pub fn answers_text(
    open: &OpenProject,
    plan: &Plan,
    kind: &Converted,
) -> Result<Option<String>, DiskError> {
    let change = plan.changes.iter().find(|change| change.path == kind.path);
    change
        .and_then(|change| change.after.clone())
        .map_or_else(|| disk::read(&open.root, &kind.path), |it| Ok(Some(it)))
}

/// Whether the user's code passes a path to a function, such as `Declared::lossy` or that of a rule.
pub fn is_argument(text: &str, path: &Path) -> bool {
    let text: String = text.split_whitespace().collect();
    let path = format!("{:?}", path.to_string());
    let mut arguments = text.match_indices(&path);
    arguments.any(|(at, _)| text[..at].ends_with(['(', ',']))
}

/// Reports a sensitive field that the other version has no place for.
fn unplaced_field(open: &OpenProject, kind: &Converted, field: &FieldWithoutTarget) -> Report {
    let FieldWithoutTarget {
        version,
        other,
        path,
        ..
    } = field;
    Report {
        severity: Severity::Warning,
        code: Some(Code::OpenConversion),
        subject: Some(kind.full_name.clone()),
        message: format!(
            "{version} `{path}` is sensitive, so its value is never kept, and {other} has no place for it"
        ),
        location: None,
        instead: Some("the operator does not start, because it could convert no object".into()),
        help: Some(format!(
            "give {other} such a field, declare it in `renames`, or accept that the value is lost: add `Declared::lossy(\"{path}\", object)` to `declared` in {}",
            disk::shown(&open.root.join(&kind.path))
        )),
    }
}

struct FileOfKind<'a> {
    open: &'a OpenProject,
    kind: &'a Converted,
    text: &'a str,
}

impl FileOfKind<'_> {
    /// Compares the questions about a version with the answers in the file.
    fn compare(&self, spoke: &SpokeAnswers, answers: &Answers) -> Vec<Report> {
        let mut reports = vec![];
        let SpokeAnswers {
            version,
            answers: questions,
            ..
        } = spoke;
        let hub = &self.kind.hub;
        for question in questions {
            match answers.fields.iter().find(|it| it.ident == question.ident) {
                Some(written) if written.is_open => reports.push(self.report(
                    format!("an open question about {version} and {hub}: {}", question.question),
                    written.range.clone(),
                    "replace each `compile_error!` by the answer, or declare the field in `renames` in operator.toml".into(),
                )),
                Some(_) => {}
                None if answers.has_rest => {}
                None => reports.push(self.report(
                    format!("a new question about {version} and {hub}: {}", question.question),
                    answers.name.clone(),
                    format!("add to `{}`:\n{},", spoke.name, indented(&question.skeleton)),
                )),
            }
        }
        let is_known = |ident: &str| {
            questions.iter().any(|question| question.ident == ident)
                || FIXED.iter().any(|(fixed, _)| *fixed == ident)
        };
        for written in answers.fields.iter().filter(|it| !is_known(&it.ident)) {
            reports.push(self.report(
                format!(
                    "`{}` answers a question about {version} and {hub} that no longer exists",
                    written.ident
                ),
                written.range.clone(),
                format!("remove it from `{}`", spoke.name),
            ));
        }
        reports
    }

    /// Reports that the file has no answers about a version.
    fn missing_function(&self, spoke: &SpokeAnswers) -> Report {
        let fields: String = spoke
            .answers
            .iter()
            .map(|answer| answer.skeleton.as_str())
            .chain(FIXED.iter().map(|(_, field)| *field))
            .map(|field| format!("        {field},\n"))
            .collect();
        self.report(
            format!("there are no answers about {} and {}", spoke.version, self.kind.hub),
            0..self.text.lines().next().map_or(0, str::len),
            format!(
                "import `super::{name}`, and add:\npub fn {function}() -> {name} {{\n    {name} {{\n{fields}    }}\n}}",
                name = spoke.name,
                function = spoke.function,
            ),
        )
    }

    fn report(&self, message: String, range: Range<usize>, help: String) -> Report {
        let path = disk::shown(&self.open.root.join(&self.kind.path));
        Report {
            severity: Severity::Warning,
            code: Some(Code::OpenConversion),
            subject: Some(self.kind.full_name.clone()),
            message,
            location: Some(Location::new(&path, 1, self.text, range)),
            instead: Some("the project does not compile".into()),
            help: Some(help),
        }
    }
}

/// A line of code as part of a struct's value.
fn indented(text: &str) -> String {
    format!("        {text}")
}
