//! The questions about two versions, as fields of the struct that the user's code returns.

use heck::ToSnakeCase;
use serde::Serialize;

use crate::{
    conversion::{End, Path, Place, Question},
    crd::{Api, Version},
    rust::code::{list, literal},
    rust::is_keyword,
    types::{KindFacts, ValueType},
};

/// A field of the answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    pub ident: String,
    /// The question as a sentence, for the documentation of the field.
    pub question: String,
    pub type_: String,
    /// The field with its value, which does not compile.
    pub skeleton: String,
}

/// The two versions of a question.
pub struct Versions<'a> {
    pub api: &'a Api,
    /// The path of the CRD's file in the project.
    pub crd: &'a str,
    pub spoke: &'a Version,
    pub hub: &'a Version,
    pub facts: [&'a KindFacts; 2],
    /// The paths of the modules with their types.
    pub modules: [String; 2],
    /// What the kind's table in `operator.toml` needs for a rename.
    pub declaration: Declaration,
}

/// How a rename is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declaration {
    /// With the key `renames`, because the kind does not have it yet, and only one rename is suggested.
    Key,
    /// With an entry of the key.
    Entry,
}

impl Versions<'_> {
    /// The answers to questions, in their order, with distinct names.
    pub fn answers(&self, questions: &[Question]) -> Vec<Answer> {
        let mut answers: Vec<Answer> = vec![];
        for question in questions {
            let base = ident(question);
            let is_used = |ident: &str| answers.iter().any(|answer| answer.ident == ident);
            let ident = (1..=usize::MAX)
                .map(|number| match number {
                    1 => base.clone(),
                    number => format!("{base}_{number}"),
                })
                .find(|name| !is_used(name) && !FIXED.contains(&name.as_str()))
                .unwrap_or_default();
            answers.push(self.answer(question, ident));
        }
        answers
    }

    fn answer(&self, question: &Question, ident: String) -> Answer {
        let (text, type_, value) = match question {
            Question::Convert(place, forms) => self.convert(place, forms),
            Question::Join(spoke, hub) => self.join(spoke, hub),
            Question::Supply(end, path, meant) => self.supply(*end, path, meant.as_ref()),
            Question::Values(place, values) => {
                let text = format!("{} have different values.", self.both(place));
                let error = |value: &serde_json::Value, end: End| {
                    let version = self.name(end);
                    let text = format!(
                        "{} Which value of {version} stands for {value}?",
                        self.at(place)
                    );
                    format!("{value}, compile_error!({})", literal(&text))
                };
                let calls = [("only_in_spoke", End::Hub), ("only_in_hub", End::Spoke)];
                let calls = calls
                    .iter()
                    .zip(values)
                    .flat_map(|((method, end), values)| {
                        let call = move |value| format!(".{method}({})", error(value, *end));
                        values.iter().map(call)
                    });
                let value = format!("Values::new(){}", calls.collect::<String>());
                (text, "Values".into(), value)
            }
            Question::Renamed(place) => {
                let text = format!(
                    "{} are different fields, not one with two names.",
                    self.both(place)
                );
                let (version, from, to) = (self.name(End::Spoke), &place.spoke, &place.hub);
                let entry =
                    format!("{{ version = {version:?}, from = \"{from}\", to = \"{to}\" }}");
                let declaration = match self.declaration {
                    Declaration::Key => format!("`renames = [{entry}]` to the kind"),
                    Declaration::Entry => format!("`{entry}` to the list `renames` of the kind"),
                };
                let error = format!(
                    "{} Is it one field with two names? Then add {declaration} in operator.toml. Otherwise write `()`.",
                    self.at(place)
                );
                (
                    text,
                    "()".into(),
                    format!("compile_error!({})", literal(&error)),
                )
            }
        };
        Answer {
            skeleton: format!("{ident}: {value}"),
            ident,
            question: text,
            type_,
        }
    }

    fn convert(&self, place: &Place, forms: &[String; 2]) -> (String, String, String) {
        let [spoke, hub] = [
            self.type_of(End::Spoke, &place.spoke),
            self.type_of(End::Hub, &place.hub),
        ];
        let text = format!(
            "{} `{}` is {}, {} `{}` is {}.",
            self.name(End::Spoke),
            place.spoke,
            article(&forms[0]),
            self.name(End::Hub),
            place.hub,
            article(&forms[1]),
        );
        let type_ = functions([&spoke.text, &hub.or_absent(), &hub.text, &spoke.or_absent()]);
        let argument = argument(place.hub.name());
        let value = self.functions(&self.at(place), [&argument, &argument]);
        (text, type_, value)
    }

    fn join(&self, spoke: &[Path], hub: &[Path]) -> (String, String, String) {
        let tuple = |parts: Vec<String>| match parts.as_slice() {
            [one] => format!("({one},)"),
            parts => format!("({})", parts.join(", ")),
        };
        let types = |end, paths: &[Path]| {
            let types = paths
                .iter()
                .map(|path| format!("Option<{}>", self.type_of(end, path).text));
            tuple(types.collect())
        };
        let arguments =
            |paths: &[Path]| tuple(paths.iter().map(|it| argument(it.name())).collect());
        let (of_spoke, of_hub) = (types(End::Spoke, spoke), types(End::Hub, hub));
        let list = |end, paths: &[Path]| {
            let paths: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
            format!("{} {}", self.name(end), paths.join(", "))
        };
        let text = format!("{} are {}.", list(End::Spoke, spoke), list(End::Hub, hub));
        let places: Vec<String> = spoke
            .iter()
            .map(|path| self.place(End::Spoke, path))
            .chain(hub.iter().map(|path| self.place(End::Hub, path)))
            .collect();
        let places = format!("{}.", places.join(", "));
        let type_ = functions([&of_spoke, &of_hub, &of_hub, &of_spoke]);
        let value = self.functions(&places, [&arguments(spoke), &arguments(hub)]);
        (text, type_, value)
    }

    fn supply(&self, end: End, path: &Path, meant: Option<&Path>) -> (String, String, String) {
        let (version, other) = (self.name(end), self.name(end.other()));
        let text = format!("{version} requires `{path}`, and an object of {other} may lack it.");
        let facts = self.facts[end.other() as usize];
        let root = format!("{}::{}", self.modules[end.other() as usize], facts.root);
        let type_ = format!("fn(&{root}) -> Result<{}>", self.type_of(end, path).text);
        let hint = meant.map(|meant| {
            format!(
                " If it is {}, add that to `renames` in operator.toml.",
                self.place(end.other(), meant)
            )
        });
        let error = format!(
            "{} is required, and an object of {other} may lack it. Return its value for such an object.{}",
            self.place(end, path),
            hint.unwrap_or_default()
        );
        let value = format!(
            "|{}| compile_error!({})",
            argument(&self.api.names.kind),
            literal(&error)
        );
        (text, type_, value)
    }

    /// `Both { .. }` with functions that do not compile.
    fn functions(&self, places: &str, arguments: [&str; 2]) -> String {
        let error = |end: End| {
            let text = format!("{places} Return the value of {}.", self.name(end));
            format!("compile_error!({})", literal(&text))
        };
        let [to_hub, to_spoke] = arguments;
        let (hub, spoke) = (error(End::Hub), error(End::Spoke));
        format!("Both {{ to_hub: |{to_hub}| {hub}, to_spoke: |{to_spoke}| {spoke} }}")
    }

    fn type_of(&self, end: End, path: &Path) -> ValueType {
        self.facts[end as usize].type_at(path, &self.modules[end as usize])
    }

    fn name(&self, end: End) -> &str {
        match end {
            End::Spoke => &self.spoke.name,
            End::Hub => &self.hub.name,
        }
    }

    /// Formats the paths of both versions: ``v1 `spec.size` and v2 `spec.replicas` ``.
    fn both(&self, place: &Place) -> String {
        let [spoke, hub] = [self.name(End::Spoke), self.name(End::Hub)];
        format!("{spoke} `{}` and {hub} `{}`", place.spoke, place.hub)
    }

    /// Formats both places in the CRD as a sentence.
    fn at(&self, place: &Place) -> String {
        let (spoke, hub) = (
            self.place(End::Spoke, &place.spoke),
            self.place(End::Hub, &place.hub),
        );
        format!("{spoke}, {hub}.")
    }

    /// Formats a place in the CRD: ``v1 `spec.size` (crds/widgets.yaml:12)``.
    fn place(&self, end: End, path: &Path) -> String {
        let version = match end {
            End::Spoke => self.spoke,
            End::Hub => self.hub,
        };
        let pointer = version.schema_pointer() + &path.pointer();
        let lines = self.api.locations(&[&pointer]);
        let line = lines.first().map_or(1, |location| location.line);
        format!("{} `{path}` ({}:{line})", version.name, self.crd)
    }
}

/// The fields of every struct of answers.
pub const FIXED: [&str; 2] = ["rules", "declared"];

/// The type `Both` of two function pointers: the argument and the result of `to_hub`, and then those of `to_spoke`.
fn functions([a, b, c, d]: [&str; 4]) -> String {
    let functions = [
        format!("fn({a}) -> Result<{b}>"),
        format!("fn({c}) -> Result<{d}>"),
    ];
    let both = list("Both", ['<', '>'], &functions, "");
    both.trim_end().to_owned()
}

/// The name of an answer, from the paths of its question.
fn ident(question: &Question) -> String {
    let of = |path: &Path| {
        let names: Vec<String> = path.names().map(ToSnakeCase::to_snake_case).collect();
        word(&names.join("_"))
    };
    match question {
        Question::Convert(place, _) | Question::Values(place, _) => of(&place.hub),
        Question::Join(_, hub) => {
            let names: Vec<String> = hub.iter().map(of).collect();
            names.join("_and_")
        }
        Question::Supply(_, path, _) => format!("missing_{}", of(path)),
        Question::Renamed(place) => format!("{}_is_not_{}", of(&place.spoke), of(&place.hub)),
    }
}

/// The name of a closure's argument.
fn argument(name: &str) -> String {
    word(&name.to_snake_case())
}

/// The text as an identifier.
fn word(text: &str) -> String {
    let is_part = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    let mut word: String = text.chars().filter(is_part).collect();
    if word.is_empty() || word.starts_with(|c: char| c.is_ascii_digit()) {
        word.insert(0, '_');
    }
    if is_keyword(&word) {
        word.push('_');
    }
    if word == "_" {
        word = "value".into();
    }
    word
}

/// Adds the indefinite article to a noun: `a string`, or `an integer`.
fn article(noun: &str) -> String {
    let is_vowel = noun.starts_with(['a', 'e', 'i', 'o']);
    match noun.starts_with("any ") {
        true => noun.to_owned(),
        false if is_vowel => format!("an {noun}"),
        false => format!("a {noun}"),
    }
}
