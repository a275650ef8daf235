//! The entry point: from arguments to an exit code. Everything else is in the library.

use std::process::ExitCode;

/// A quarter of the time to generate files went to the system's allocator, because many small strings are created and dropped.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cargo_operator::cli::main(std::env::args_os())
}
