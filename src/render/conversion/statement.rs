//! The statements that build a spoke from its rules and from the user's answers.

use serde_json::Value;

use super::answer::Answer;
use crate::{
    conversion::{Derivation, End, Path, Place, Question, Rule},
    rust::code::{indented, list, literal},
};

/// The statements for all rules and answers, each on lines of its own.
pub fn statements(derivation: &Derivation, answers: &[Answer]) -> String {
    let asked = |place: &Place| {
        let mut questions = derivation.questions.iter().zip(answers);
        questions.find(|(question, _)| matches!(question, Question::Values(it, _) if it == place))
    };
    let mut text = String::new();
    for rule in &derivation.rules {
        match rule {
            Rule::Moved(place) => text += &call("moved", paths(place)),
            Rule::ListOfOne(place) => text += &call("list_of_one", paths(place)),
            Rule::OneOfList(place) => text += &call("one_of_list", paths(place)),
            Rule::Only(end, path) => text += &call(&method("only_in", *end), [quoted(path)]),
            Rule::Default(end, path, value) => {
                let value = expression(value);
                text += &call(&method("default_in", *end), [quoted(path), value]);
            }
            Rule::Empty(end, path) => {
                text += &call(&method("supply", *end), [quoted(path), "empty".into()]);
            }
            Rule::Null(end, path) => text += &call(&method("null_only_in", *end), [quoted(path)]),
            Rule::Values(place, pairs) => {
                // the answer is used below
                if asked(place).is_none() {
                    text += &values(place, "Values::new()", pairs);
                }
            }
        }
    }
    for (question, answer) in derivation.questions.iter().zip(answers) {
        let field = format!("answers.{}", answer.ident);
        let functions = ["to_hub", "to_spoke"].map(|function| format!("{field}.{function}"));
        match question {
            Question::Convert(place, _) => {
                text += &call("answer", paths(place).into_iter().chain(functions));
            }
            Question::Join(spoke, hub) => {
                let list = |paths: &[Path]| {
                    let paths: Vec<String> = paths.iter().map(quoted).collect();
                    format!("&[{}]", paths.join(", "))
                };
                let paths = [list(spoke), list(hub)];
                text += &call("answer_all", paths.into_iter().chain(functions));
            }
            Question::Supply(end, path, _) => {
                text += &call(&method("supply", *end), [quoted(path), field]);
            }
            Question::Values(place, _) => {
                let pairs = derivation.rules.iter().filter_map(|rule| match rule {
                    Rule::Values(it, pairs) if it == place => Some(pairs.as_slice()),
                    _ => None,
                });
                text += &values(
                    place,
                    &field,
                    pairs.flatten().cloned().collect::<Vec<_>>().as_slice(),
                );
            }
            Question::Renamed(_) => {}
        }
    }
    text
}

/// Whether the statements use the function `empty`.
pub fn uses_empty(derivation: &Derivation) -> bool {
    derivation
        .rules
        .iter()
        .any(|rule| matches!(rule, Rule::Empty(..)))
}

/// Whether the statements create `Values`.
pub fn uses_values(derivation: &Derivation) -> bool {
    derivation
        .rules
        .iter()
        .any(|rule| matches!(rule, Rule::Values(..)))
        || derivation
            .questions
            .iter()
            .any(|it| matches!(it, Question::Values(..)))
}

/// The statement `let spoke = spoke.method(arguments);`.
fn call(method: &str, arguments: impl IntoIterator<Item = String>) -> String {
    let arguments: Vec<String> = arguments.into_iter().collect();
    let head = format!("let spoke = spoke.{method}");
    indented(&list(&head, ['(', ')'], &arguments, ";"))
}

fn values(place: &Place, start: &str, pairs: &[(Value, Value)]) -> String {
    let mut text = format!("    let values = {start};\n");
    for (spoke, hub) in pairs {
        let pair = [expression(spoke), expression(hub)];
        text += &indented(&list("let values = values.both", ['(', ')'], &pair, ";"));
    }
    text + &call(
        "values",
        paths(place).into_iter().chain(["values".to_owned()]),
    )
}

fn method(verb: &str, end: End) -> String {
    match end {
        End::Spoke => format!("{verb}_spoke"),
        End::Hub => format!("{verb}_hub"),
    }
}

fn paths(place: &Place) -> [String; 2] {
    [quoted(&place.spoke), quoted(&place.hub)]
}

fn quoted(path: &Path) -> String {
    literal(&path.to_string())
}

/// A JSON value as a Rust expression.
fn expression(value: &Value) -> String {
    match value {
        Value::String(text) => literal(text),
        Value::Bool(value) => value.to_string(),
        value => format!("serde_json::json!({})", json(value)),
    }
}

/// A JSON value as the macro `json!` reads it, on one line.
fn json(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(json).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| format!("{}: {}", literal(name), json(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::String(text) => literal(text),
        scalar => scalar.to_string(),
    }
}
