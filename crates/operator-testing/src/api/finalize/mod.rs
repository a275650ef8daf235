//! What controllers of the real cluster do some time after a write, done at once.

mod collect;
mod crd;
mod namespace;
mod protection;
