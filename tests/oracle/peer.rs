//! The program of the oracle, which answers each line with a line.

use std::{
    env,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde::Deserialize;
use serde_json::Value;

pub struct Oracle {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// How kubectl and the API server treat a document.
#[derive(Debug, Deserialize)]
pub struct Document {
    #[serde(default)]
    pub value: Value,
    pub error: Option<String>,
    /// The unknown fields of a CRD.
    #[serde(default)]
    pub unknown: Vec<String>,
    /// Why the API server refuses a CRD.
    #[serde(default)]
    pub invalid: Vec<String>,
    /// The costs of the rules of a CRD with one version.
    #[serde(default)]
    pub costs: Vec<Cost>,
}

/// The cost of one evaluation of a rule, and how often it is evaluated.
#[derive(Debug, Deserialize)]
pub struct Cost {
    pub pointer: String,
    pub once: u64,
    pub count: u64,
}

impl Oracle {
    pub fn start() -> Self {
        let program = env::var_os("ORACLE").expect("`cargo xtask oracle` builds it");
        let mut process = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: process.stdin.take().unwrap(),
            output: BufReader::new(process.stdout.take().unwrap()),
            process,
        }
    }

    pub fn ask(&mut self, text: &str) -> Vec<Document> {
        writeln!(self.input, "{}", Value::from(text)).unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}
