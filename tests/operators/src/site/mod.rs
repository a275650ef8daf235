//! What the controller of sites does, step by step, and how variants do it otherwise.

pub mod broken;
pub mod steps;
pub mod unusual;
