//! A program and the arguments of its Deployment.

use std::{
    ffi::OsStr,
    fs::{self, DirEntry},
    io::Read,
    path::Path,
    process::{Command, Stdio},
    sync::mpsc,
    thread::{sleep, spawn},
    time::{Duration, Instant},
};

/// How long a program may take to print its help.
const HELP_TIMEOUT: Duration = Duration::from_secs(60);

/// Checks that a program accepts arguments. They are followed by `--help`, so that the program ends. It finds no cluster, so that it
/// changes nothing if it starts to work instead.
///
/// # Panics
///
/// If the program refuses them, does not end within a minute, or cannot be started. The message has what it wrote to its standard error.
#[track_caller]
pub fn assert_accepts_arguments(program: impl AsRef<OsStr>, arguments: &[&str]) {
    let program = program.as_ref();
    let mut command = Command::new(program);
    without_cluster(command.args(arguments).arg("--help"));
    let ended = run(&mut command, HELP_TIMEOUT);
    let (is_success, error) =
        ended.unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    assert!(
        is_success,
        "the program refuses the arguments of its Deployment, `args` under [deployment] in operator.toml: {error}"
    );
}

/// The texts of all files in a folder and below it; empty if there is no such folder. For the overlays of a project, which may set flags that
/// its Deployment does not set.
///
/// # Panics
///
/// If a file is not text, or cannot be read.
pub fn overlays(folder: impl AsRef<Path>) -> String {
    let mut texts = String::new();
    let mut open = vec![folder.as_ref().to_owned()];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let entries = fs::read_dir(&path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
            let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            open.extend(entries.iter().map(DirEntry::path));
        } else if path.exists() {
            let text = fs::read_to_string(&path);
            texts += &text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            texts.push('\n');
        }
    }
    texts
}

/// Hides the kubeconfig and the in-cluster configuration from a program. Without `KUBECONFIG`, it would read the one in the user's home.
fn without_cluster(command: &mut Command) {
    command.env("KUBECONFIG", "/dev/null/none");
    command.env_remove("KUBERNETES_SERVICE_HOST");
}

/// Whether a program succeeds, and its standard error. It is killed if it does not end in time.
fn run(command: &mut Command, timeout: Duration) -> Result<(bool, String), String> {
    let text = |error: std::io::Error| error.to_string();
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::piped()).spawn().map_err(text)?;
    let mut pipe = child.stderr.take().expect("it is piped");
    let (sender, receiver) = mpsc::channel();
    spawn(move || {
        let mut bytes = vec![];
        // after an error, what was read before it is still shown
        let _incomplete = pipe.read_to_end(&mut bytes);
        sender.send(String::from_utf8_lossy(&bytes).into_owned())
    });
    // a process that the program has started may keep the pipe open, so do not wait for its end
    let written = || {
        let text = receiver.recv_timeout(Duration::from_secs(1));
        text.unwrap_or_default()
    };
    let end = Instant::now() + timeout;
    loop {
        if let Some(status) = child.try_wait().map_err(text)? {
            return Ok((status.success(), written()));
        }
        if Instant::now() > end {
            child.kill().map_err(text)?;
            child.wait().map_err(text)?;
            return Err(format!(
                "with `--help`, it still runs after {} s: {}",
                timeout.as_secs(),
                written()
            ));
        }
        sleep(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_does_not_end_is_killed_and_shows_its_errors() {
        let script = "echo working >&2; exec sleep 60";
        let begun = Instant::now();
        let error = run(
            Command::new("sh").args(["-c", script]),
            Duration::from_secs(2),
        );
        assert_eq!(
            error.unwrap_err(),
            "with `--help`, it still runs after 2 s: working\n"
        );
        // it ended before `sleep` would have
        assert!(begun.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_program_that_writes_more_than_a_pipe_holds_ends() {
        let script = "head -c 1000000 /dev/zero >&2; exit 1";
        let (is_success, error) =
            run(Command::new("sh").args(["-c", script]), HELP_TIMEOUT).unwrap();
        assert_eq!((is_success, error.len()), (false, 1_000_000));
    }

    #[test]
    fn a_program_finds_no_cluster() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo \"$KUBECONFIG$KUBERNETES_SERVICE_HOST\" >&2"]);
        without_cluster(command.env("KUBERNETES_SERVICE_HOST", "10.0.0.1"));
        let (_, variables) = run(&mut command, HELP_TIMEOUT).unwrap();
        // a path that no file can have
        assert_eq!(variables, "/dev/null/none\n");
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
