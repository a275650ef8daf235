//! The numbers from which the server allocates addresses and ports to Services.

/// The number of allocations so far.
#[derive(Clone, Default)]
pub(crate) struct Allocations(u32);

impl Allocations {
    pub fn next(&mut self) -> u32 {
        self.0 += 1;
        self.0
    }

    /// A port in the default range of node ports.
    pub fn next_port(&mut self) -> u32 {
        30_000 + self.next() % 2768
    }
}
