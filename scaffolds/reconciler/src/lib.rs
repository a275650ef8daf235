//! The kinds of reconciler and their controllers, as a library: tests and other programs use them from here.

pub mod api;
pub mod controllers;
