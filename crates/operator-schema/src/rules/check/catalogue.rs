//! What the API server declares for rules: functions, their overloads, and the names of types.
//!
//! `catalogue.txt` is what `tests/control-plane/catalogue` prints. The first word of a line, a minor version of Kubernetes, is not used
//! here.

use super::types::Type;
use std::collections::HashMap;
use std::sync::LazyLock;

/// An overload of a function.
pub(super) struct Overload {
    pub(super) name: &'static str,
    pub(super) is_member: bool,
    /// With the receiver first.
    pub(super) arguments: Vec<Type<'static>>,
    pub(super) result: Type<'static>,
    /// The number of type parameters, which are [`Type::Var`] from 0 on.
    pub(super) parameters: usize,
}

#[derive(Default)]
struct Catalogue {
    functions: HashMap<&'static str, Vec<Overload>>,
    variables: HashMap<&'static str, Overload>,
}

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    let mut catalogue = Catalogue::default();
    for line in include_str!("catalogue.txt").lines() {
        let words: Vec<_> = line.split(' ').skip(1).collect();
        match words[..] {
            [name, signature, result] => {
                let overload = overload(name, signature, result);
                catalogue.functions.entry(name).or_default().push(overload);
            }
            [name, type_] => {
                catalogue
                    .variables
                    .insert(name, overload(name, "()", type_));
            }
            _ => unreachable!("a line of the catalogue has three or four words"),
        }
    }
    catalogue
});

/// The overloads of a function, in the order in which the API server tries them.
pub(super) fn function(name: &str) -> Option<&'static [Overload]> {
    CATALOGUE.functions.get(name).map(Vec::as_slice)
}

/// A variable, such as the name of a type, as a function without arguments.
pub(super) fn variable(name: &str) -> Option<&'static Overload> {
    CATALOGUE.variables.get(name)
}

/// Parses an overload with a signature such as `string.(int)` or `(string,int)`.
fn overload(name: &'static str, signature: &'static str, result: &'static str) -> Overload {
    let (receiver, arguments) = match signature.split_once(".(") {
        Some((receiver, arguments)) => (Some(receiver), arguments),
        None => (None, &signature[1..]),
    };
    let mut text = Text::new(receiver.unwrap_or_default());
    let mut types: Vec<_> = receiver.into_iter().map(|_| text.type_()).collect();
    text.rest = arguments;
    while !text.rest.starts_with(')') {
        types.push(text.type_());
        text.rest = text.rest.strip_prefix(',').unwrap_or(text.rest);
    }
    text.rest = result;
    Overload {
        name,
        is_member: receiver.is_some(),
        arguments: types,
        result: text.type_(),
        parameters: text.parameters.len(),
    }
}

/// The text that remains to be parsed, and the type parameters before it.
struct Text {
    rest: &'static str,
    parameters: Vec<&'static str>,
}

impl Text {
    fn new(rest: &'static str) -> Self {
        let parameters = Vec::new();
        Self { rest, parameters }
    }

    /// Reads `int`, `<A>` or `map(string,<A>)`.
    fn type_(&mut self) -> Type<'static> {
        let end = self.rest.find(['(', ',', ')']).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        if name == "dyn" {
            return Type::Dyn;
        }
        if name.starts_with('<') {
            let known = self.parameters.iter().position(|it| *it == name);
            return Type::Var(known.unwrap_or_else(|| {
                self.parameters.push(name);
                self.parameters.len() - 1
            }));
        }
        let mut inner = Vec::new();
        let mut is_open = self.rest.starts_with('(');
        while is_open {
            self.rest = &self.rest[1..];
            inner.push(self.type_());
            is_open = self.rest.starts_with(',');
            if !is_open {
                self.rest = &self.rest[1..];
            }
        }
        Type::Named(name, inner.into())
    }
}
