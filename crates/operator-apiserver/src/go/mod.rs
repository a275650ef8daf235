//! How Go encodes and decodes JSON: omitted zero values, errors for values of the wrong type, and the text form of values.

mod mistyped;
mod number;
pub(crate) mod quantity;
mod syntax;
mod text;
pub(crate) mod time;
mod wire;
pub(crate) mod zero;

pub(crate) use self::mistyped::{
    ANY_OBJECT, Undecodable, described, json_type, last_word, no_value_of, reference,
    time_precision, type_of,
};
pub(crate) use self::number::{parse_int, parse_uint};
pub(crate) use self::syntax::{read_json, syntax_error};
pub(crate) use self::text::{
    float, float_in_json, in_source, is_printed, printed, quoted, sorted, text_in_json,
};
#[cfg(feature = "faces")]
pub(crate) use self::wire::types;
pub(crate) use self::wire::{in_struct, omits};
