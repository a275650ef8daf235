//! Prepares what proofs need, and runs them: one, or those of a gate in lanes.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{LazyLock, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crate::gate::Step;
use crate::proof::{Need, PROOFS, Runs};

/// The exit code of `skip` in `settings.sh`, which is that of a skipped test of automake.
const SKIPPED: i32 = 77;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

#[derive(Default)]
pub struct Session {
    /// `ci`, `full`, or nothing if one proof runs.
    gate: &'static str,
    is_dry: bool,
    tool: OnceLock<bool>,
    server: OnceLock<bool>,
    /// The command that runs each test program, by its name.
    tests: OnceLock<HashMap<String, String>>,
    rows: Mutex<Vec<Row>>,
    stops: AtomicBool,
}

/// A step that has run.
struct Row {
    seconds: u64,
    cpu: u64,
    is_beside: bool,
    end: End,
    line: String,
}

#[derive(Clone, Copy, PartialEq)]
enum End {
    Passed,
    /// Something that the proof needs is missing.
    Skipped,
    Failed,
}

impl Session {
    pub fn new(gate: &'static str, is_dry: bool) -> Self {
        Self {
            gate,
            is_dry,
            ..Self::default()
        }
    }

    /// A bash that runs commands in the root of the repository, with the settings of proofs.
    fn bash(&self, commands: &str) -> Command {
        let mut bash = Command::new("bash");
        let commands = format!(". xtask/settings.sh; {commands}");
        bash.args(["-euo", "pipefail", "-c", &commands, "xtask"])
            .env("GATE", self.gate);
        bash.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        bash
    }

    /// Runs commands that build something, once. Returns whether they succeeded.
    fn build_once(&self, once: &OnceLock<bool>, commands: &str) -> bool {
        *once.get_or_init(|| self.is_dry || execute(self.bash(commands), None).0 == End::Passed)
    }

    fn has_tool(&self) -> bool {
        // examples are named, so that dependencies have the features of `cargo test --workspace`, and are not compiled again
        let examples = "--example serve --example handlers";
        self.build_once(
            &self.tool,
            &format!("cargo build --quiet --workspace --bin cargo-operator {examples}"),
        )
    }

    fn has_server(&self) -> bool {
        // etcd is compiled last
        let build = "[ -x \"$KUBEBUILDER_ASSETS/etcd\" ] || tests/control-plane/build \"$KUBEBUILDER_ASSETS\" >/dev/null";
        self.build_once(&self.server, &format!("server; {build}"))
    }

    /// The commands that run a test without waiting for cargo's lock, which a compiler beside it may hold.
    fn test(&self, name: &str) -> Option<&str> {
        let tests = self.tests.get_or_init(|| {
            // outside of a gate, this one alone
            let chosen = if self.gate.is_empty() { name } else { "*" };
            let build = "cargo test --workspace --no-run --message-format=json-render-diagnostics";
            let mut cargo = self.bash(&format!("{build} --test '{chosen}'"));
            let output = cargo
                .stderr(Stdio::inherit())
                .output()
                .expect("bash is installed");
            let output = String::from_utf8_lossy(&output.stdout);
            let text =
                |line: &str, key| Some(line.split_once(key)?.1.split_once('"')?.0.to_owned());
            let test = |line| {
                let manifest = text(line, r#""manifest_path":""#)?;
                let folder = manifest.strip_suffix("/Cargo.toml")?;
                Some((
                    text(line, r#""name":""#)?,
                    format!("cd '{folder}'; '{}'", text(line, r#""executable":""#)?),
                ))
            };
            output
                .lines()
                .filter(|line| line.contains(r#""kind":["test"]"#))
                .filter_map(test)
                .collect()
        });
        tests.get(name).map(String::as_str)
    }

    /// Builds what a proof needs, and returns the command that runs it.
    fn prepare(&self, words: &[&str]) -> Result<Command, &'static str> {
        let proof = PROOFS
            .iter()
            .find(|proof| proof.name == words[0])
            .ok_or("no proof has this name: `cargo xtask` lists them")?;
        let is_real = proof.needs.iter().any(|need| match need {
            Need::ServerIfReal => words.contains(&"--real"),
            need => *need == Need::Server,
        });
        let mut commands = String::new();
        for need in proof.needs {
            let (is_there, setting) = match need {
                Need::Tool => (self.has_tool(), "tool; "),
                Need::Server | Need::ServerIfReal if is_real => (self.has_server(), "server; "),
                Need::Corpus => (true, "corpus; "),
                Need::CorpusIfPresent => (true, "corpus_if_present; "),
                Need::Histories => (true, "histories; "),
                Need::Server | Need::ServerIfReal | Need::Program(_) => (true, ""),
            };
            commands += is_there
                .then_some(setting)
                .ok_or("what it needs cannot be built")?;
        }
        let is_test = match proof.runs {
            Runs::Bash(line) => {
                commands += line;
                false
            }
            Runs::Test(name, arguments) => {
                let test = if self.is_dry {
                    name
                } else {
                    self.test(name).ok_or("its test cannot be built")?
                };
                commands += &format!("{test} {arguments}");
                true
            }
        };
        let mut command = self.bash(&format!("{commands} \"$@\""));
        if is_real && is_test {
            command
                .env("OPERATOR_TEST_SERVER", "assets")
                .env("OPERATOR_TEST_CONTROLLERS", proof.controllers);
        }
        for word in &words[1..] {
            let option = word.strip_prefix("--").unwrap_or_default();
            let (name, value) = option.split_once('=').unwrap_or((option, "1"));
            if proof.options.contains(&name) {
                command.env(name.to_uppercase().replace('-', "_"), value);
            } else if !(is_real && is_test && name == "real") {
                command.arg(word);
            }
        }
        Ok(command)
    }

    /// Runs a proof with its arguments. In a lane, it prints to a log.
    pub fn run(&self, words: &[&str], log: Option<&File>) -> bool {
        let (began, line) = (Instant::now(), words.join(" "));
        if !self.gate.is_empty() {
            say(
                log,
                &format!("\n== {line} ({}s)", START.elapsed().as_secs()),
            );
        }
        let (end, cpu) = match self.prepare(words) {
            Ok(command) if self.is_dry => {
                say(log, &format!("{command:?}"));
                (End::Passed, 0)
            }
            Ok(command) => execute(command, log),
            Err(reason) => {
                say(log, reason);
                (End::Failed, 0)
            }
        };
        if end == End::Failed {
            say(log, &format!("FAILED: cargo xtask {line}"));
        }
        let (seconds, is_beside) = (began.elapsed().as_secs(), log.is_some());
        let row = Row {
            seconds,
            cpu,
            is_beside,
            end,
            line,
        };
        self.rows.lock().expect("no step panics").push(row);
        end != End::Failed
    }

    /// Runs the steps of a gate. Prints the elapsed and the CPU seconds of each step; those with + ran in a lane. A lane ends with its
    /// first failure. If a step outside of the lanes fails, no other step begins.
    pub fn run_all(&self, steps: &[Step]) -> bool {
        let run = |line: &str, log: Option<&File>| {
            let words: Vec<&str> = line.split_whitespace().collect();
            // what does not begin has not failed
            self.stops.load(Relaxed) || self.run(&words, log)
        };
        thread::scope(|scope| {
            // this takes minutes, and depends on no step
            scope.spawn(|| self.has_server());
            let mut lanes = vec![];
            for step in steps {
                match *step {
                    Step::Run(line) => {
                        self.stops.fetch_or(!run(line, None), Relaxed);
                    }
                    Step::Beside(name, lines) => {
                        // build it now, while no other compiler holds cargo's lock
                        if !self.is_dry && !self.stops.load(Relaxed) && self.has_tool() {
                            self.test(name);
                        }
                        let path = std::env::temp_dir()
                            .join(format!("xtask-{}-{name}", std::process::id()));
                        let log = File::create(&path)
                            .expect("the folder of temporary files can be written");
                        let lane = move || lines.iter().all(|line| run(line, Some(&log)));
                        lanes.push((path, scope.spawn(lane)));
                    }
                }
            }
            let end = |(path, lane): (_, thread::ScopedJoinHandle<bool>)| {
                (lane.join().expect("no step panics"), path)
            };
            let mut ended: Vec<_> = lanes.into_iter().map(end).collect();
            // those that failed come last
            ended.sort_by_key(|(passed, _)| !passed);
            for (_, path) in ended {
                print!("{}", fs::read_to_string(&path).unwrap_or_default());
                fs::remove_file(path).ok();
            }
        });
        let mut rows = self.rows.lock().expect("no step panics");
        rows.sort_by_key(|row| Reverse(row.seconds));
        println!("\nseconds     CPU  step");
        for Row {
            seconds,
            cpu,
            is_beside,
            end,
            line,
        } in rows.iter()
        {
            println!(
                "{seconds:7} {cpu:7}{} {line}{}",
                if *is_beside { '+' } else { ' ' },
                if *end == End::Skipped {
                    " (skipped)"
                } else {
                    ""
                }
            );
        }
        let failed: Vec<&Row> = rows.iter().filter(|row| row.end == End::Failed).collect();
        let outcome = if failed.is_empty() {
            "passed"
        } else {
            "failed"
        };
        println!(
            "\n== {} {outcome} ({}s)",
            self.gate,
            START.elapsed().as_secs()
        );
        failed
            .iter()
            .for_each(|row| println!("FAILED: cargo xtask {}", row.line));
        failed.is_empty()
    }
}

fn say(log: Option<&File>, line: &str) {
    match log {
        Some(mut log) => writeln!(log, "{line}").expect("the log can be written"),
        None => println!("{line}"),
    }
}

/// Runs a command. Returns how it ended, and the CPU seconds of its process and of the processes that it waited for. They are read while
/// the process is a zombie, because the standard library has no `wait4`; without `/proc`, they are 0.
fn execute(mut command: Command, log: Option<&File>) -> (End, u64) {
    if let Some(log) = log {
        let log = || log.try_clone().expect("the log is open");
        command.stdin(Stdio::null()).stdout(log()).stderr(log());
    }
    let mut child = command.spawn().expect("bash is installed");
    let path = format!("/proc/{}/stat", child.id());
    let mut ticks = 0;
    while let Ok(stat) = fs::read_to_string(&path) {
        let fields: Vec<&str> = stat
            .rsplit(") ")
            .next()
            .unwrap_or_default()
            .split(' ')
            .collect();
        if fields[0] == "Z" {
            // `utime`, `stime`, `cutime` and `cstime`
            ticks = fields[11..15]
                .iter()
                .filter_map(|field| field.parse::<u64>().ok())
                .sum();
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    let end = match child.wait().ok().and_then(|status| status.code()) {
        Some(0) => End::Passed,
        Some(SKIPPED) => End::Skipped,
        _ => End::Failed,
    };
    // `USER_HZ` of Linux is 100
    (end, ticks / 100)
}
