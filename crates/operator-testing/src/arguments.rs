//! A program and the arguments of its Deployment.

use std::{
    ffi::OsStr,
    process::{Command, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

/// How long a program may take to print its help.
const LONGEST: Duration = Duration::from_secs(60);

/// Checks that a program accepts arguments. It gets them before `--help`, so that it ends, and no kubeconfig, so that it changes nothing if
/// it starts to work instead.
///
/// # Panics
///
/// If the program refuses them, with its message; if it cannot be started, or does not end within a minute.
#[track_caller]
pub fn assert_accepts_arguments(program: impl AsRef<OsStr>, arguments: &[&str]) {
    let program = program.as_ref();
    let mut command = Command::new(program);
    command.args(arguments).arg("--help");
    for name in [
        "KUBECONFIG",
        "HOME",
        "USERPROFILE",
        "KUBERNETES_SERVICE_HOST",
    ] {
        command.env_remove(name);
    }
    let output = output(&mut command, LONGEST);
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "the program refuses the arguments of its Deployment, `args` under [deployment] in operator.toml: {error}"
    );
}

/// The output of a program that ends in time.
fn output(command: &mut Command, longest: Duration) -> Result<Output, String> {
    let text = |error: std::io::Error| error.to_string();
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::piped()).spawn().map_err(text)?;
    let end = Instant::now() + longest;
    while child.try_wait().map_err(text)?.is_none() {
        if Instant::now() > end {
            child.kill().map_err(text)?;
            return Err(format!(
                "with `--help`, it still runs after {} s",
                longest.as_secs()
            ));
        }
        sleep(Duration::from_millis(10));
    }
    child.wait_with_output().map_err(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_does_not_end_is_killed() {
        let error = output(Command::new("sleep").arg("60"), Duration::ZERO).unwrap_err();
        assert_eq!(error, "with `--help`, it still runs after 0 s");
    }

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
