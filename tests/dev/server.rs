//! The API server of a session, for projects of tests that have no dependencies: their `tests/dev.rs` starts this program.

fn main() {
    operator_testing::dev::main();
}
