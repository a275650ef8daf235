//! The recorded answers of a group of cases, and the list of known differences.
//!
//! `recorded/GROUP.txt` has, for each case, a line `# its name`, and for each step a line with the code and the body, after a line `! …`
//! for each warning, and a line `? …` for each call of a webhook.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::ask::Answer;

/// Whether responses are recorded instead of compared.
pub fn is_updating() -> bool {
    std::env::var("UPDATE").is_ok_and(|value| value == "1")
}

/// A step that the server in memory answers differently.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    pub case: String,
    /// The first is 1.
    pub step: usize,
    #[serde(rename = "because")]
    _because: String,
}

pub struct Recording {
    file: PathBuf,
    /// In the order of the requests.
    names: Vec<String>,
    answers: BTreeMap<String, Vec<Answer>>,
}

impl Recording {
    pub fn read(folder: &Path, group: &str, names: Vec<String>) -> Self {
        let file = folder.join(format!("recorded/{group}.txt"));
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let mut answers: BTreeMap<String, Vec<Answer>> = BTreeMap::new();
        let (mut name, mut warnings, mut asked) = (String::new(), Vec::new(), Vec::new());
        for line in text.lines() {
            match line.split_once(' ').expect("a line has two parts") {
                ("#", case) => case.clone_into(&mut name),
                ("!", warning) => warnings.push(warning.to_owned()),
                ("?", call) => asked.push(serde_json::from_str(call).unwrap()),
                (code, body) => answers.entry(name.clone()).or_default().push(Answer {
                    code: code.parse().unwrap(),
                    warnings: std::mem::take(&mut warnings),
                    body: serde_json::from_str(body).unwrap(),
                    asked: std::mem::take(&mut asked),
                }),
            }
        }
        let stale: Vec<_> = answers
            .keys()
            .filter(|name| !names.contains(name))
            .collect();
        assert!(
            stale.is_empty() || is_updating(),
            "{}: no such cases: {stale:?}",
            file.display()
        );
        let named: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(named.len(), names.len(), "{group}: two cases have one name");
        Self {
            file,
            names,
            answers,
        }
    }

    pub fn answers(&self, case: &str) -> Option<&[Answer]> {
        self.answers.get(case).map(Vec::as_slice)
    }

    pub fn set(&mut self, case: String, answers: Vec<Answer>) {
        self.answers.insert(case, answers);
    }

    pub fn write(&self) {
        let mut text = String::new();
        for name in &self.names {
            let answers = self.answers(name).unwrap_or_default();
            writeln!(text, "# {name}").unwrap();
            answers
                .iter()
                .for_each(|answer| writeln!(text, "{answer}").unwrap());
        }
        std::fs::write(&self.file, text).unwrap();
    }
}
