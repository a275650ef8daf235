//! Parses [label selectors] as the API server does, with its error messages.
//!
//! [Label selectors]: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors

use std::iter::Peekable;
use std::vec::IntoIter;

use serde_json::Value;

use super::name;
use crate::model::json::entries;

/// What a requirement of a selector demands of the value of its label or field.
#[derive(Clone, Debug)]
pub(crate) enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
    GreaterThan(i64),
    LessThan(i64),
}

impl Test {
    /// Whether a value, or the absence of one, meets the requirement.
    pub fn holds(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match self {
            Self::In(values) => value.is_some_and(|value| values.iter().any(|v| v == value)),
            Self::NotIn(values) => value.is_none_or(|value| values.iter().all(|v| v != value)),
            Self::Exists => value.is_some(),
            Self::Absent => value.is_none(),
            Self::GreaterThan(bound) => number().is_some_and(|number| number > *bound),
            Self::LessThan(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

type Result<T> = std::result::Result<T, String>;

/// The remaining tokens; an empty token marks the end.
struct Tokens(Peekable<IntoIter<String>>);

/// Parses a selector.
pub(crate) fn parse(text: &str) -> Result<Vec<(String, Test)>> {
    let mut tokens = Tokens(split(text).into_iter().peekable());
    let mut requirements = Vec::new();
    loop {
        match tokens.peek() {
            "" => return Ok(requirements),
            token if is_identifier(token) || token == "!" => {
                let read = requirement(&mut tokens);
                requirements.push(read.map_err(|e| format!("unable to parse requirement: {e}"))?);
            }
            token => {
                return Err(format!(
                    "found '{token}', expected: !, identifier, or 'end of string'"
                ));
            }
        }
        match tokens.next().as_str() {
            "" => return Ok(requirements),
            "," if is_identifier(tokens.peek()) || tokens.peek() == "!" => {}
            "," => {
                let found = tokens.peek();
                return Err(format!("found '{found}', expected: identifier after ','"));
            }
            found => {
                return Err(format!("found '{found}', expected: ',' or 'end of string'"));
            }
        }
    }
}

impl Tokens {
    fn peek(&mut self) -> &str {
        self.0.peek().map(String::as_str).unwrap_or_default()
    }

    fn next(&mut self) -> String {
        self.0.next().unwrap_or_default()
    }
}

/// Splits a selector into words and operators.
fn split(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut word = String::new();
    for letter in text.chars().chain([' ']) {
        let is_special = "=!(),><".contains(letter);
        if !is_special && !letter.is_whitespace() {
            word.push(letter);
            continue;
        }
        if !word.is_empty() {
            tokens.push(std::mem::take(&mut word));
        }
        match (tokens.last_mut(), letter) {
            // only `==` and `!=` have two characters
            (Some(last), '=') if last == "=" || last == "!" => last.push('='),
            _ if is_special => tokens.push(letter.to_string()),
            _ => {}
        }
    }
    tokens
}

fn is_identifier(token: &str) -> bool {
    !token.is_empty() && !token.starts_with(['=', '!', '(', ')', ',', '>', '<'])
}

fn requirement(tokens: &mut Tokens) -> Result<(String, Test)> {
    let is_negated = tokens.peek() == "!";
    if is_negated {
        tokens.next();
    }
    let key = tokens.next();
    if !is_identifier(&key) {
        return Err(format!("found '{key}', expected: identifier"));
    }
    if let Some(wrong) = name::bad_label_key(&key).first() {
        return Err(format!("<nil>: Invalid value: {key:?}: {wrong}"));
    }
    if is_negated {
        return Ok((key, Test::Absent));
    }
    if matches!(tokens.peek(), "" | ",") {
        return Ok((key, Test::Exists));
    }
    let operator = tokens.next();
    let values = match operator.as_str() {
        "in" | "notin" => values(tokens)?,
        "=" | "==" | "!=" | ">" | "<" => vec![exact_value(tokens)?],
        found => {
            return Err(format!(
                "found '{found}', expected: in, notin, =, ==, !=, gt, lt"
            ));
        }
    };
    for (at, value) in values.iter().enumerate() {
        if let Some(wrong) = name::bad_label_value(value).first() {
            return Err(format!(
                "values[{at}][{key}]: Invalid value: {value:?}: {wrong}"
            ));
        }
    }
    let bound = || {
        let value = values.first().map(String::as_str).unwrap_or_default();
        value.parse().map_err(|_| {
            format!("values[0]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer")
        })
    };
    let test = match operator.as_str() {
        "notin" | "!=" => Test::NotIn(values),
        ">" => Test::GreaterThan(bound()?),
        "<" => Test::LessThan(bound()?),
        _ => Test::In(values),
    };
    Ok((key, test))
}

/// Parses the value after an operator such as `=`. A missing value is the empty string.
fn exact_value(tokens: &mut Tokens) -> Result<String> {
    if matches!(tokens.peek(), "" | ",") {
        return Ok(String::new());
    }
    match tokens.next() {
        value if is_identifier(&value) => Ok(value),
        found => Err(format!("found '{found}', expected: identifier")),
    }
}

/// Parses `(a, b)` into sorted values; a missing value is the empty string.
fn values(tokens: &mut Tokens) -> Result<Vec<String>> {
    let open = tokens.next();
    if open != "(" {
        return Err(format!("found '{open}' expected: '('"));
    }
    let mut values = Vec::new();
    if tokens.peek() == ")" {
        tokens.next();
        return Ok(vec![String::new()]);
    }
    let first = tokens.peek().to_owned();
    if !is_identifier(&first) && first != "," {
        return Err(format!("found '{first}', expected: ',', ')' or identifier"));
    }
    loop {
        let value = match tokens.peek() {
            value if is_identifier(value) => tokens.next(),
            _ => String::new(),
        };
        values.push(value);
        match tokens.next().as_str() {
            "," => {}
            ")" => break,
            found => return Err(format!("found '{found}', expected: ',' or ')'")),
        }
    }
    values.sort();
    values.dedup();
    Ok(values)
}

/// Whether a LabelSelector of an object matches labels. An empty selector matches all.
pub(crate) fn selects(selector: &Value, labels: &Value) -> bool {
    let list = |field: &str, of: &Value| of[field].as_array().cloned().unwrap_or_default();
    let wanted = entries(&selector["matchLabels"]);
    let mut wanted = wanted.map(|(name, value)| labels[name.as_str()] == *value);
    let fits = |expression: &Value| {
        let found = &labels[expression["key"].as_str().unwrap_or_default()];
        let values = list("values", expression);
        match expression["operator"].as_str() {
            Some("In") => values.contains(found),
            Some("NotIn") => !values.contains(found),
            Some("Exists") => !found.is_null(),
            _ => found.is_null(),
        }
    };
    wanted.all(|fits| fits) && list("matchExpressions", selector).iter().all(fits)
}
