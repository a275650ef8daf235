//! What controllers of the real cluster do some time after a write, done at once.

pub(crate) mod collect;
pub(crate) mod crd;
pub(crate) mod namespace;
pub(crate) mod protection;
