//! Conversions between versions: a kind written by hand, laws of the engine, and inputs that no schema allows.

mod cache;
mod edited;
mod laws;
mod leaf;
mod proof;
mod shape;
