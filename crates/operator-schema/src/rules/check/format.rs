//! Checks literal formats: `'%s has %d'.format([self.name, self.size])`.
//!
//! <https://pkg.go.dev/github.com/google/cel-go/ext#Strings>

use super::infer::Inference;
use super::types::{DURATION, TIMESTAMP, Type};
use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{CallExpr, EntryExpr, Expr, LiteralValue};

/// What is wrong with the format of a call and its list of arguments, if both are literals.
pub(super) fn fault(call: &CallExpr, inference: &Inference<'_>) -> Option<String> {
    let ("format", Some(target), [list]) = (
        call.func_name.as_str(),
        call.target.as_deref(),
        call.args.as_slice(),
    ) else {
        return None;
    };
    let (Expr::Literal(LiteralValue::String(text)), Expr::List(list)) = (&target.expr, &list.expr)
    else {
        return None;
    };
    let mut arguments = list.elements.iter();
    let mut rest = text.inner();
    while let Some((_, clause)) = rest.split_once('%') {
        if let Some(after) = clause.strip_prefix('%') {
            rest = after;
            continue;
        }
        let (verb, after) = match read(clause) {
            Ok(read) => read,
            Err(message) => return Some(message),
        };
        let Some(argument) = arguments.next() else {
            let count = list.elements.len();
            return Some(format!("the format needs more than {count} arguments"));
        };
        if let Some(type_) = unfit(verb, argument, inference) {
            return Some(format!("'%{verb}' cannot format a value of type '{type_}'"));
        }
        rest = after;
    }
    let more = arguments.len();
    (more > 0).then(|| {
        let (count, needed) = (list.elements.len(), list.elements.len() - more);
        format!("the format needs {needed} arguments, not {count}")
    })
}

/// Reads a verb, which may follow a precision. Returns it and the text after it.
fn read(clause: &str) -> Result<(char, &str), String> {
    let rest = match clause.strip_prefix('.') {
        Some(precision) => {
            let rest = precision.trim_start_matches(|c: char| c.is_ascii_digit());
            if rest.len() == precision.len() {
                return Err("the format has no precision after '%.'".to_owned());
            }
            rest
        }
        None => clause,
    };
    let mut characters = rest.chars();
    match characters.next() {
        Some(verb) if "sdfebxXo".contains(verb) => Ok((verb, characters.as_str())),
        Some(verb) => Err(format!("'%{verb}' is no part of a format")),
        None => Err("the format ends after '%'".to_owned()),
    }
}

/// The type of an argument, or of a part of a literal, that a verb cannot format.
fn unfit<'s>(verb: char, argument: &IdedExpr, inference: &Inference<'s>) -> Option<Type<'s>> {
    let type_ = inference.settled(argument);
    let names: &[&str] = match verb {
        'd' | 'o' => &["int", "uint"],
        'f' | 'e' => &["double", "string"],
        'b' => &["int", "uint", "bool"],
        'x' | 'X' => &["int", "uint", "string", "bytes"],
        _ => &[
            "list",
            "map",
            "int",
            "uint",
            "double",
            "bool",
            "string",
            TIMESTAMP,
            "bytes",
            DURATION,
            "type",
            "null_type",
        ],
    };
    if type_ != Type::Dyn && !names.iter().any(|name| type_.is(name)) {
        return Some(type_);
    }
    match &argument.expr {
        Expr::List(list) if verb == 's' => list
            .elements
            .iter()
            .find_map(|it| unfit(verb, it, inference)),
        Expr::Map(map) if verb == 's' => map.entries.iter().find_map(|it| match &it.expr {
            EntryExpr::MapEntry(entry) => {
                unfit(verb, &entry.key, inference).or_else(|| unfit(verb, &entry.value, inference))
            }
            EntryExpr::StructField(_) => None,
        }),
        _ => None,
    }
}
