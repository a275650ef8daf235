//! What the server allocates to objects.

/// The number of addresses and ports that were allocated to Services.
#[derive(Clone, Default)]
pub(crate) struct Allocations(u32);

impl Allocations {
    pub fn next(&mut self) -> u32 {
        self.0 += 1;
        self.0
    }

    pub fn next_port(&mut self) -> u32 {
        30_000 + self.next() % 2768
    }
}
