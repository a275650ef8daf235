//! Runs the operator as a process, and sends its output as events, line by line.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::{Duration, SystemTime},
};

use operator_schema::dev::Environment;
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, BufReader},
    process::{Child, Command},
    task::JoinHandle,
    time::timeout,
};

use super::{
    DevError,
    event::{DevEvent, EventSender},
};
use crate::disk::group;

/// How long to read the output of a process after its end.
pub const OUTPUT_TIMEOUT: Duration = Duration::from_millis(200);

/// The environment of the operator, unless the user sets a variable: it does not elect a leader, stops quickly, uses a free port, and logs
/// its reconciliations in a format that is parsed here.
const DEFAULTS: [(&str, &str); 5] = [
    ("LEADER_ELECTION", "false"),
    ("HTTP_ADDRESS", "127.0.0.1:0"),
    ("SHUTDOWN_TIMEOUT", "2s"),
    ("LOG_FORMAT", "json"),
    (
        "RUST_LOG",
        "info,operator_runtime=debug,kube_client=error,kube_client::client::builder=off,kube_runtime=error,kube_runtime::watcher=off",
    ),
];

/// The environment for an operator that the user starts: as [`Operator::start`] sets it, but with a text log.
pub fn of_user(environment: &Environment) -> Vec<(String, String)> {
    let defaults = DEFAULTS
        .into_iter()
        .filter(|(name, _)| !matches!(*name, "LOG_FORMAT" | "RUST_LOG"))
        .map(|(name, value)| {
            let own = env::var(name);
            (name.to_owned(), own.unwrap_or_else(|_| value.to_owned()))
        });
    environment.set.iter().cloned().chain(defaults).collect()
}

/// A running operator. It is killed when this is dropped.
pub struct Operator {
    child: Child,
    readers: Vec<JoinHandle<()>>,
    /// The file from which it was started.
    stamp: Option<Stamp>,
    environment: Environment,
    /// The process group of the operator and its children.
    #[cfg(unix)]
    group: Option<group::Group>,
}

/// Distinguishes a file from an earlier file at the same path.
type Stamp = (PathBuf, SystemTime, u64);

fn stamp(program: &Path) -> Option<Stamp> {
    let metadata = program.metadata().ok()?;
    Some((
        program.to_owned(),
        metadata.modified().ok()?,
        metadata.len(),
    ))
}

impl Operator {
    /// Starts the operator in its own process group, so that only the session gets Ctrl-C.
    pub fn start(
        program: &Path,
        arguments: &[OsString],
        environment: &Environment,
        root: &Path,
        events: &EventSender,
    ) -> Result<Self, DevError> {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .envs(
                DEFAULTS
                    .into_iter()
                    .filter(|(name, _)| env::var_os(name).is_none()),
            )
            .envs(environment.set.iter().map(|(name, value)| (name, value)))
            // the operator exits if this process is killed
            .env("PARENT_PROCESS", std::process::id().to_string())
            .current_dir(root)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for name in &environment.unset {
            command.env_remove(name);
        }
        let stamp = stamp(program);
        let mut child =
            group::own_group(&mut command)
                .spawn()
                .map_err(|source| DevError::Program {
                    program: program.display().to_string(),
                    source,
                })?;
        // there is no id if it has already exited
        events.send(DevEvent::Started(child.id().unwrap_or_default()));
        let mut readers = vec![];
        if let Some(output) = child.stdout.take() {
            readers.push(tokio::spawn(read(output, events.clone())));
        }
        if let Some(output) = child.stderr.take() {
            readers.push(tokio::spawn(read(output, events.clone())));
        }
        Ok(Self {
            readers,
            stamp,
            environment: environment.clone(),
            #[cfg(unix)]
            group: group::Group::of(&child),
            child,
        })
    }

    /// Whether it was started from the current file, in this environment.
    pub fn was_started_from(&self, program: &Path, environment: &Environment) -> bool {
        self.stamp.is_some() && self.stamp == stamp(program) && self.environment == *environment
    }

    /// Waits until it exits and its output is read. Returns how it exited, for example `exit status: 1`.
    pub async fn ended(&mut self) -> String {
        let ended = self.child.wait().await;
        #[cfg(unix)]
        if let Some(group) = self.group {
            group.kill();
        }
        self.read_rest().await;
        ended.map_or_else(
            |error| error.to_string(),
            |status: ExitStatus| status.to_string(),
        )
    }

    /// Terminates it as Kubernetes does, and kills it if it does not exit.
    pub async fn stop(mut self) {
        group::terminate(&mut self.child).await;
        self.read_rest().await;
    }

    /// Reads the rest of the output, for a limited time, because a child process may keep the output open.
    async fn read_rest(&mut self) {
        let rest = async {
            while let Some(reader) = self.readers.last_mut() {
                let _ended = reader.await;
                self.readers.pop();
            }
        };
        let _late = timeout(OUTPUT_TIMEOUT, rest).await;
    }
}

async fn read(output: impl AsyncRead + Unpin, events: EventSender) {
    let mut lines = BufReader::new(output).split(b'\n');
    while let Ok(Some(line)) = lines.next_segment().await {
        let line = String::from_utf8_lossy(&line);
        events.send(parse_log_line(line.trim_end_matches('\r')));
    }
}

/// Parses a line of the operator's output, which is JSON if the runtime has the settings of the session.
fn parse_log_line(line: &str) -> DevEvent {
    let parsed: Option<Value> = line
        .starts_with('{')
        .then(|| serde_json::from_str(line).ok())
        .flatten();
    let parsed = parsed.filter(|parsed| parsed["level"].is_string());
    let Some(Value::Object(mut fields)) = parsed else {
        return DevEvent::Log {
            level: String::new(),
            object: String::new(),
            text: line.to_owned(),
        };
    };
    let mut take = |name: &str| fields.shift_remove(name).unwrap_or_default();
    let (level, text, target) = (take("level"), take("message"), take("target"));
    let (_time, span) = (take("timestamp"), take("span"));
    let word = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let object = match (&span["kind"], &span["object"]) {
        (Value::String(kind), Value::String(object)) => {
            // the runtime names a kind by KIND.GROUP
            let kind = kind.split('.').next().unwrap_or_default();
            format!("{kind} {object}")
        }
        _ => String::new(),
    };
    let is_runtime = target
        .as_str()
        .is_some_and(|it| it.starts_with("operator_runtime"));
    if is_runtime && text == "reconciled" {
        let took = rounded(&word(&fields.shift_remove("took").unwrap_or_default()));
        return DevEvent::Reconciled { object, took };
    }
    let fields = fields
        .iter()
        .map(|(name, value)| format!(" {name}={}", word(value)));
    DevEvent::Log {
        level: word(&level),
        object,
        text: match text {
            Value::Null => fields.collect::<String>().trim_start().to_owned(),
            text => word(&text) + &fields.collect::<String>(),
        },
    }
}

/// Formats a duration: `11.530207ms` as `11.5 ms`.
fn rounded(took: &str) -> String {
    let unit = took.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = took
        .strip_suffix(unit)
        .and_then(|number| number.parse::<f64>().ok());
    number.map_or_else(|| took.to_owned(), |number| format!("{number:.1} {unit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_runtimes_log_is_parsed() {
        let line = r#"{"timestamp":"2026-01-01T00:00:00Z","level":"DEBUG","took":"11.530207ms","message":"reconciled","target":"operator_runtime::turn","span":{"kind":"Widget.example.com","object":"default/a","name":"reconcile"}}"#;
        let DevEvent::Reconciled { object, took } = parse_log_line(line) else {
            panic!("{:?}", parse_log_line(line));
        };
        assert_eq!(
            (object.as_str(), took.as_str()),
            ("Widget default/a", "11.5 ms")
        );
        let line = r#"{"timestamp":"2026-01-01T00:00:00Z","level":"WARN","message":"no such thing","retry_in":"1s","target":"operator_runtime::turn","span":{"kind":"Widget.example.com","object":"a"}}"#;
        let DevEvent::Log {
            level,
            object,
            text,
        } = parse_log_line(line)
        else {
            panic!("{:?}", parse_log_line(line));
        };
        assert_eq!((level.as_str(), object.as_str()), ("WARN", "Widget a"));
        assert_eq!(text, "no such thing retry_in=1s");
    }

    #[test]
    fn other_output_is_passed_on_unchanged() {
        for line in ["hello", "{", r#"{"a": 1}"#, ""] {
            let DevEvent::Log { level, text, .. } = parse_log_line(line) else {
                panic!("{:?}", parse_log_line(line));
            };
            assert_eq!((level.as_str(), text.as_str()), ("", line));
        }
    }
}
