//! The entry point: from arguments to an exit code. Everything else is in the library.

use std::process::ExitCode;

/// Generating is mostly making and dropping small texts; a quarter of its time went to the allocator of the system.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cargo_operator::command::main(std::env::args_os())
}
