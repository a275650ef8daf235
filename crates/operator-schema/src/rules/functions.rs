//! Functions of CEL that the evaluator lacks, or in which it differs from the API server.
//!
//! <https://github.com/google/cel-spec/blob/master/doc/langdef.md#list-of-standard-definitions>

use kube_cel::cel::extractors::This;
use kube_cel::cel::{Context, ExecutionError, FunctionContext, Value as Cel, functions};
use std::sync::Arc;

pub(super) fn add(context: &mut Context<'static>) {
    context.add_function("size", size);
    context.add_function("string", string);
    context.add_function("bool", boolean);
    context.add_function("contains", contains);
    context.add_function("matches", matches);
    context.add_function("dyn", |value: Cel| -> Result<Cel, ExecutionError> {
        Ok(value)
    });
}

/// The size of a string is the number of code points, not of bytes.
fn size(ftx: &FunctionContext<'_, '_>, This(this): This<Cel>) -> Result<i64, ExecutionError> {
    match this {
        Cel::Bool(_) | Cel::Int(_) | Cel::Float(_) => Err(ExecutionError::NoSuchOverload),
        Cel::String(text) => Ok(i64::try_from(text.chars().count()).unwrap_or(i64::MAX)),
        other => functions::size(ftx, This(other)),
    }
}

fn string(ftx: &FunctionContext<'_, '_>, This(this): This<Cel>) -> Result<Cel, ExecutionError> {
    let text = match this {
        Cel::Bool(value) => value.to_string(),
        Cel::Timestamp(time) => {
            let text = time.to_utc().to_rfc3339();
            let text = text.trim_end_matches("+00:00");
            if text.contains('.') {
                format!("{}Z", text.trim_end_matches('0'))
            } else {
                format!("{text}Z")
            }
        }
        Cel::Duration(duration) => {
            let seconds = duration.num_nanoseconds().unwrap_or(i64::MAX) as f64 / 1e9;
            format!("{seconds}s")
        }
        other => return functions::string(ftx, This(other)),
    };
    Ok(Cel::String(text.into()))
}

/// Only of strings, unlike the function of the evaluator.
fn contains(This(text): This<Arc<String>>, part: Arc<String>) -> bool {
    text.contains(part.as_str())
}

/// With patterns in Go's syntax, each of which is compiled once.
fn matches(
    ftx: &FunctionContext<'_, '_>,
    This(text): This<Arc<String>>,
    pattern: Arc<String>,
) -> Result<bool, ExecutionError> {
    match crate::pattern::compiled(&pattern) {
        Ok(pattern) => Ok(pattern.is_match(&text)),
        Err(error) => Err(ftx.error(format!("error parsing regexp: {error}"))),
    }
}

fn boolean(ftx: &FunctionContext<'_, '_>, This(this): This<Cel>) -> Result<bool, ExecutionError> {
    match &this {
        Cel::Bool(value) => Ok(*value),
        Cel::String(text) => match text.as_str() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
            other => Err(ftx.error(format!("{other:?} is no bool"))),
        },
        other => Err(ftx.error(format!("{other:?} is no bool"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube_cel::KubeCelExt;
    use kube_cel::cel::Program;

    #[test]
    fn functions_behave_as_in_the_api_server() {
        let mut context = Context::default().with_all();
        add(&mut context);
        for rule in [
            "size('üx') == 2",
            "'äöü'.size() == 3",
            "size([1, 2]) == 2",
            "string(true) == 'true'",
            "string(1) == '1'",
            "string(timestamp('2020-01-01T00:00:00Z')) == '2020-01-01T00:00:00Z'",
            "string(timestamp('2020-01-01T01:00:00.5+01:00')) == '2020-01-01T00:00:00.5Z'",
            "string(duration('90m')) == '5400s'",
            "string(duration('1500ms')) == '1.5s'",
            "bool('true') && !bool('0') && bool(true)",
            "dyn(1) == 1",
            "'a_1'.matches('^\\\\w+$') && !'é'.matches('^\\\\w$') && matches('abc', 'b')",
        ] {
            let result = Program::compile(rule).unwrap().execute(&context);
            assert_eq!(result, Ok(Cel::Bool(true)), "{rule}");
        }
    }
}
