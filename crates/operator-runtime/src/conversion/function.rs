//! The functions of rules: ours, and the typed functions of users, which are called with JSON through serde.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use serde_path_to_error::Segment;

use super::values::Values;
use crate::Result;

/// Maps the values at the paths of one side to those of the other side; `None` is an absent field.
pub(super) type Function = Box<
    dyn Fn(Vec<Option<Value>>) -> std::result::Result<Vec<Option<Value>>, Refused> + Send + Sync,
>;

/// Maps a whole object to the value of a field that only the other side has; `None` if the object is only a part of one.
pub(super) type Supply =
    Box<dyn Fn(&Value) -> std::result::Result<Option<Value>, Refused> + Send + Sync>;

/// Why a function has no result.
#[derive(Debug)]
pub(super) struct Refused {
    /// The index of the path whose value is wrong.
    pub source: usize,
    /// The path from there to the value that is wrong, for example `.a[0]`.
    pub below: String,
    pub reason: String,
}

impl Refused {
    fn new(reason: impl ToString) -> Self {
        Self {
            source: 0,
            below: String::new(),
            reason: reason.to_string(),
        }
    }
}

/// Makes a function from one that maps a single value and cannot fail. Absent fields and `null` stay as they are.
pub(super) fn mapped(map: impl Fn(Value) -> Option<Value> + Send + Sync + 'static) -> Function {
    Box::new(move |values| {
        let mapped = |value| match value {
            Some(Value::Null) => Some(Value::Null),
            value => value.and_then(&map),
        };
        Ok(values.into_iter().map(mapped).collect())
    })
}

/// Puts a value into a list of one item.
pub(super) fn list_of_one() -> Function {
    mapped(|value| Some(Value::Array(vec![value])))
}

/// Takes the first item of a list. Any other value stays as it is.
pub(super) fn first_item() -> Function {
    mapped(|value| match value {
        Value::Array(items) => items.into_iter().next(),
        other => Some(other),
    })
}

pub(super) fn to_hub(values: Values) -> Function {
    mapped(move |value| Some(values.to_hub(value)))
}

pub(super) fn to_spoke(values: Values) -> Function {
    mapped(move |value| Some(values.to_spoke(value)))
}

/// Makes a function from a user's typed function of one field.
pub(super) fn answer<A, B>(function: impl Fn(A) -> Result<B> + Send + Sync + 'static) -> Function
where
    A: DeserializeOwned,
    B: Serialize,
{
    Box::new(move |mut values| {
        let value = match values.pop().flatten() {
            None => return Ok(vec![None]),
            Some(Value::Null) => return Ok(vec![Some(Value::Null)]),
            Some(value) => value,
        };
        let Some(value) = read(value)? else {
            return Ok(vec![None]);
        };
        let answer = function(value).map_err(Refused::new)?;
        Ok(vec![present(written(answer)?)])
    })
}

/// Makes a function from a user's typed function of several fields, which takes and returns tuples.
pub(super) fn answer_all<A, B>(
    targets: usize,
    function: impl Fn(A) -> Result<B> + Send + Sync + 'static,
) -> Function
where
    A: DeserializeOwned,
    B: Serialize,
{
    Box::new(move |values| {
        let is_absent: Vec<bool> = values.iter().map(Option::is_none).collect();
        let values = values.into_iter().map(Option::unwrap_or_default).collect();
        let tuple = match read(Value::Array(values)).map_err(attributed_to_item) {
            Ok(Some(tuple)) => tuple,
            Ok(None) => return Ok(vec![None; targets]),
            // the function does not accept `null` for an absent field
            Err(refused) if is_absent.get(refused.source) == Some(&true) => {
                return Ok(vec![None; targets]);
            }
            Err(refused) => return Err(refused),
        };
        let answers = written(function(tuple).map_err(Refused::new)?)?;
        match answers {
            Value::Array(answers) if answers.len() == targets => {
                Ok(answers.into_iter().map(present).collect())
            }
            other => Err(Refused::new(format!(
                "the answer must be a tuple of {targets} values, but is {other}"
            ))),
        }
    })
}

/// Makes a [`Supply`] from a user's typed function of a whole object.
pub(super) fn supply<S, T>(function: impl Fn(&S) -> Result<T> + Send + Sync + 'static) -> Supply
where
    S: DeserializeOwned,
    T: Serialize,
{
    Box::new(move |object| {
        let Some(object) = read::<S>(object.clone())? else {
            return Ok(None);
        };
        written(function(&object).map_err(Refused::new)?).map(Some)
    })
}

fn present(value: Value) -> Option<Value> {
    (!value.is_null()).then_some(value)
}

/// Reads the argument of a function. `None` if a required field is missing: valid objects have it, but the API server also converts the
/// [parts of objects](https://kubernetes.io/docs/reference/using-api/server-side-apply/) that an applied object no longer has.
fn read<T: DeserializeOwned>(value: Value) -> std::result::Result<Option<T>, Refused> {
    let error = match serde_path_to_error::deserialize(value) {
        Ok(value) => return Ok(Some(value)),
        Err(error) => error,
    };
    // the message of `serde::de::Error::missing_field`, which is its only trace
    if error.inner().to_string().starts_with("missing field `") {
        return Ok(None);
    }
    let mut below = String::new();
    for segment in error.path() {
        match segment {
            Segment::Seq { index } => below.push_str(&format!("[{index}]")),
            Segment::Map { key } => below.push_str(&format!(".{key}")),
            Segment::Enum { variant } => below.push_str(&format!(".{variant}")),
            Segment::Unknown => {}
        }
    }
    Err(Refused {
        below,
        ..Refused::new(error.inner())
    })
}

fn written(value: impl Serialize) -> std::result::Result<Value, Refused> {
    serde_json::to_value(value).map_err(Refused::new)
}

/// Attributes the error of an item of the argument, a tuple, to the path of that item.
fn attributed_to_item(refused: Refused) -> Refused {
    let rest = refused.below.strip_prefix('[');
    match rest.and_then(|rest| rest.split_once(']')) {
        Some((index, below)) => Refused {
            source: index.parse().unwrap_or(0),
            below: below.to_owned(),
            reason: refused.reason,
        },
        None => refused,
    }
}
