//! Conversion of objects between the versions of a kind, on raw JSON.
//!
//! In: the rules between each version (a [`Spoke`]) and the hub, and objects. Out: objects of another version, or a [`ConversionError`]
//! that names version and field. What no rule mentions is copied unchanged. Nothing here does I/O or panics.
//!
//! | file | what it does |
//! |---|---|
//! | `spoke`, `values`, `declared` | the rules, as users and generated code write them |
//! | `function` | typed functions as functions of JSON |
//! | `path`, `place`, `side`, `item` | where values are: in a schema, in an object, on which side, in which item of a list |
//! | `check` | problems of the rules themselves |
//! | `plain` | the conversion by rules alone, and where the value of a place goes |
//! | `difference` | what would be lost: the object, compared with what comes back |
//! | `kept` | the annotation that keeps it |
//! | `restore` | puts kept values back, if they were not edited since |
//! | `convert` | the conversion of a kind: hub, spokes, and the steps of a conversion |

mod canonical;
mod check;
mod convert;
mod declared;
mod difference;
mod error;
mod function;
mod item;
mod kept;
mod path;
mod place;
mod plain;
mod restore;
mod side;
mod spoke;
mod values;

pub use convert::Conversion;
pub use declared::Declared;
pub use error::ConversionError;
pub use spoke::{Both, Spoke};
pub use values::Values;
