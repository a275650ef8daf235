//! A program and the arguments of its Deployment.

use std::{ffi::OsStr, process::Command};

/// Checks that a program accepts arguments. It gets them before `--help`, so that it ends.
///
/// # Panics
///
/// If the program refuses them, with its message, or if it cannot be started.
#[track_caller]
pub fn assert_accepts_arguments(program: impl AsRef<OsStr>, arguments: &[&str]) {
    let program = program.as_ref();
    let output = Command::new(program).args(arguments).arg("--help").output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "the program refuses the arguments of its Deployment, `args` under [deployment] in operator.toml: {error}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_accepts_them_prints_its_help() {
        let program = std::env::current_exe().unwrap();
        assert_accepts_arguments(program, &["--nocapture"]);
    }

    #[test]
    #[should_panic = "'no-such-flag'"]
    fn a_refused_argument_is_shown() {
        let program = std::env::current_exe().unwrap();
        assert_accepts_arguments(program, &["--no-such-flag"]);
    }
}
