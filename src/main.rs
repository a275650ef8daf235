//! From arguments to an exit code; everything else is the library's.

use std::process::ExitCode;

fn main() -> ExitCode {
    cargo_operator::command::main(std::env::args_os())
}
