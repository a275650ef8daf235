//! A project in memory: `open` reads it, `adding` and `removing` change its config, `planning` renders it and plans its files, and `evolve`
//! compares its CRDs with those of the last plan.

pub mod adding;
mod controllers;
pub mod evolve;
pub mod kind_error;
pub mod kinds;
pub mod member;
pub mod open;
pub mod origin;
pub mod planning;
pub mod recover;
pub mod removing;
pub mod starter;
