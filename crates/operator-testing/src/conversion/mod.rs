//! The proof that the conversions of a kind lose nothing, without a server and without a cluster.
//!
//! In: a CRD, the function that converts objects, and what the user declares as lossy, normalised or inexpressible. Out: a panic that names
//! version, field, value and a cure, if an arbitrary valid object does not survive.

mod check;
mod crd;
mod declared;
mod difference;
mod field;
mod proof;
mod report;

pub use proof::ConversionProof;
