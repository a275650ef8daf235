//! `cargo xtask`: runs one proof of the table, or the proofs of a gate, after it has prepared what they need.

mod gate;
mod proof;
mod session;

use std::process::ExitCode;

use gate::{CI, FULL};
use proof::{Need, PROOFS};
use session::Session;

const USAGE: &str = "
cargo xtask NAME [ARGUMENT]...    one proof; --NAME=VALUE sets the variable of a name in brackets
cargo xtask ci                    all gates of a change
cargo xtask full [--proofs]       the same, then the long proofs; or these alone
cargo xtask --dry-run ...         prints what would run";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let is_dry = words.first() == Some(&"--dry-run");
    words.drain(..usize::from(is_dry));
    let session = |gate| Session::new(gate, is_dry);
    let passed = match words[..] {
        [] => print_table(),
        ["ci"] => session("ci").run_all(CI),
        ["full", "--proofs"] => session("full").run_all(FULL),
        ["full"] => session("ci").run_all(CI) && session("full").run_all(FULL),
        _ => session("").run(&words, None),
    };
    ExitCode::from(u8::from(!passed))
}

fn print_table() -> bool {
    println!(
        "{:<14} {:>7}  {:<34} proves",
        "name", "seconds", "needs beside Rust"
    );
    for proof in PROOFS {
        let needs = proof.needs.iter().filter_map(|need| match need {
            Need::Tool | Need::CorpusIfPresent => None,
            Need::Server => Some("Go for the real API server"),
            Need::ServerIfReal => Some("Go for --real"),
            Need::Corpus => Some("../shared/crds"),
            Need::Histories => Some("../shared/histories"),
            Need::Program(name) => Some(*name),
        });
        let needs = needs.collect::<Vec<_>>().join(", ");
        let options: String = proof.options.iter().map(|it| format!(" [{it}]")).collect();
        println!(
            "{:<14} {:>7}  {needs:<34} {}{options}",
            proof.name, proof.seconds, proof.proves
        );
    }
    println!("{USAGE}");
    true
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use crate::gate::{CI, FULL, Step};
    use crate::proof::{PROOFS, Runs};

    #[test]
    fn each_step_names_a_proof() {
        for step in CI.iter().chain(FULL) {
            let lines = match step {
                Step::Run(line) => std::slice::from_ref(line),
                Step::Beside(_, lines) => lines,
            };
            for line in lines {
                let name = line.split_whitespace().next().unwrap();
                assert!(PROOFS.iter().any(|proof| proof.name == name), "{line}");
            }
        }
    }

    #[test]
    fn each_script_is_in_the_table() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for entry in fs::read_dir(root.join("tests")).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let script = format!("tests/{name}/run");
            let is_run = PROOFS
                .iter()
                .any(|proof| matches!(proof.runs, Runs::Bash(line) if line == script));
            assert!(is_run || !root.join(&script).exists(), "{script}");
        }
    }
}
