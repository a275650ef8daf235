//! Controllers of any kind: their names, what they share, and their options.

mod declared;
mod deleted;
mod each;
mod metadata;
mod named;
mod options;
