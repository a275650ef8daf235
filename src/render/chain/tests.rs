//! Chains with names of every length, compared with rustfmt. `LAYOUT=all` tries every length; without it some are tried.

use std::{fs, path::Path, process::Command};

use super::*;
use crate::rustfmt::{literal, skip};

/// Every length of a name, or some of them.
fn lengths(all: std::ops::Range<usize>) -> impl Iterator<Item = usize> + Clone {
    let is_whole = std::env::var("LAYOUT").is_ok_and(|which| which == "all");
    all.step_by(if is_whole { 1 } else { 5 })
}

fn word(first: char, length: usize) -> String {
    let letters = ('a'..='z').cycle().take(length.saturating_sub(1));
    std::iter::once(first).chain(letters).collect()
}

/// `.add(module::setup, |webhook| webhook.validates(path).mutates(path))`; a path without length is absent.
fn admit(module: usize, paths: [usize; 2]) -> Call {
    let calls = ["validates", "mutates"].into_iter().zip(paths);
    let calls = calls.filter(|(_, length)| *length > 0);
    let calls = calls.map(|(name, length)| Call::of_texts(name, vec![literal(&word('/', length))]));
    let closure = Chain {
        root: "webhook".into(),
        calls: calls.collect(),
    };
    let setup = Argument::Text(format!("{}::setup", word('m', module)));
    Call::new("add", vec![setup, Argument::Closure(closure)])
}

/// `.convert_kind(kind, crate::api::module::conversion())`.
fn convert(length: usize) -> Call {
    let module = word('m', length + length / 4);
    let call = format!("crate::api::{module}::conversion()");
    Call::of_texts("convert_kind", vec![literal(&word('K', length)), call])
}

fn mounted() -> Call {
    Call::new("mounted_certificates", vec![])
}

/// `.migrate_storage(&[names])`.
fn migrate(lengths: &[usize]) -> Call {
    let names = lengths.iter().map(|length| literal(&word('n', *length)));
    Call::new("migrate_storage", vec![Argument::Array(names.collect())])
}

/// Writes a function for each chain, and returns those that rustfmt lays out otherwise; none where there is no rustfmt.
fn misplaced(chains: &[Chain]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let mut files = vec![];
    for (at, chain) in chains.iter().enumerate() {
        let text = format!("pub fn all() -> All {{\n{}}}\n", super::chain(chain));
        let file = folder.path().join(format!("{at}.rs"));
        fs::write(&file, format!("{}{text}", skip(&text))).unwrap();
        files.push(file);
    }
    let differences = files.chunks(1000).flat_map(|files| {
        let mut rustfmt = Command::new("rustfmt");
        rustfmt.args(["--edition", "2024", "--check", "--color", "never"]);
        let Ok(output) = rustfmt.args(files).output() else {
            return vec![];
        };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let differences: Vec<String> = text.split("Diff in ").skip(1).map(plain).collect();
        assert!(output.status.success() || !differences.is_empty());
        differences
    });
    differences.collect()
}

/// A difference without the path of its file.
fn plain(difference: &str) -> String {
    let path = difference.split(':').next().unwrap_or_default();
    let name = Path::new(path).file_name().unwrap_or_default();
    difference.replace(path, &name.to_string_lossy())
}

fn assert_laid_out(chains: &[Chain]) {
    let differences = misplaced(chains);
    let shown: Vec<&str> = differences.iter().take(8).map(String::as_str).collect();
    let (wrong, all) = (differences.len(), chains.len());
    assert!(wrong == 0, "{wrong} of {all}\n{}", shown.concat());
}

const WEBHOOKS: &str = "Webhooks::new()";
const CONTROLLERS: &str = "controllers()";

fn of(root: &str, calls: Vec<Call>) -> Chain {
    let root = root.to_owned();
    Chain { root, calls }
}

#[test]
fn one_kind_with_a_webhook_is_laid_out() {
    let mut chains = vec![];
    for module in lengths(1..70) {
        for path in 1..130 {
            chains.push(of(WEBHOOKS, vec![admit(module, [path, 0])]));
            chains.push(of(WEBHOOKS, vec![admit(module, [0, path])]));
        }
    }
    assert_laid_out(&chains);
}

#[test]
fn one_kind_with_both_webhooks_is_laid_out() {
    let mut chains = vec![];
    for module in lengths(1..70) {
        for path in 1..130 {
            chains.push(of(WEBHOOKS, vec![admit(module, [path, path])]));
        }
    }
    for path in lengths(1..100) {
        for other in 1..100 {
            chains.push(of(WEBHOOKS, vec![admit(5, [path, other])]));
        }
    }
    assert_laid_out(&chains);
}

#[test]
fn several_kinds_with_webhooks_are_laid_out() {
    let mut chains = vec![];
    for module in lengths(1..70) {
        for path in 1..130 {
            let others = [[path, 0], [0, path], [path, path], [path, path + 2]];
            let all = others.into_iter().map(|paths| admit(module, paths));
            chains.push(of(WEBHOOKS, all.collect()));
            chains.push(of(
                WEBHOOKS,
                vec![admit(3, [path, 0]), admit(module, [4, 0])],
            ));
        }
    }
    assert_laid_out(&chains);
}

#[test]
fn converted_kinds_are_laid_out() {
    let mut chains = vec![];
    for length in 1..90 {
        chains.push(of(WEBHOOKS, vec![convert(length)]));
        chains.push(of(WEBHOOKS, vec![convert(length), mounted()]));
        chains.push(of(WEBHOOKS, vec![convert(length), convert(3)]));
        chains.push(of(WEBHOOKS, vec![convert(3), convert(length)]));
        let kinds = (1..4).map(|other| convert(length * other / 2));
        chains.push(of(WEBHOOKS, kinds.collect()));
        for path in lengths(1..100) {
            for paths in [[path, 0], [path, path]] {
                let admit = admit(length, paths);
                chains.push(of(WEBHOOKS, vec![admit, convert(length), mounted()]));
            }
        }
    }
    chains.push(of(WEBHOOKS, vec![mounted()]));
    assert_laid_out(&chains);
}

#[test]
fn what_is_added_to_the_controllers_is_laid_out() {
    let webhooks = || Call::of_texts("webhooks", vec!["webhooks::all()".into()]);
    let arguments = ["env!(\"CARGO_PKG_VERSION\")", "include_str!(\"crds.json\")"];
    let ensure = || Call::of_texts("ensure_crds", arguments.map(str::to_owned).to_vec());
    let mut chains = vec![
        of(CONTROLLERS, vec![webhooks()]),
        of(CONTROLLERS, vec![ensure()]),
        of(CONTROLLERS, vec![ensure(), webhooks()]),
    ];
    for length in 1..130 {
        for others in [vec![], vec![8], vec![length], vec![length, 20, length]] {
            let lengths = [vec![length], others].concat();
            chains.push(of(CONTROLLERS, vec![migrate(&lengths)]));
            chains.push(of(CONTROLLERS, vec![ensure(), migrate(&lengths)]));
            chains.push(of(CONTROLLERS, vec![migrate(&lengths), webhooks()]));
            let all = vec![ensure(), migrate(&lengths), webhooks()];
            chains.push(of(CONTROLLERS, all));
        }
    }
    assert_laid_out(&chains);
}

/// `.add(module::setup, |watches| watches.owns::<Kind>().watches_named(names))`, or `add_named`, with kinds as the digits of a number.
fn control(module: usize, mut number: usize) -> Call {
    let mut calls = vec![];
    while number > 0 {
        let length = 1 + (number + module) % 40;
        calls.push(match number % 4 {
            0 => Call::new(format!("owns::<{}>", word('K', length)), vec![]),
            1 => Call::new("owns_with_content::<Secret>", vec![]),
            2 => Call::of_texts("update", vec!["UpdateStrategy::Recreate".into()]),
            _ => {
                let names = [length, 2, length / 3 + 1, length];
                let names = names.map(|length| literal(&word('n', length)));
                Call::of_texts("watches_named", names.to_vec())
            }
        });
        number /= 4;
    }
    let root = "watches".to_owned();
    let closure = Argument::Closure(Chain { root, calls });
    let setup = Argument::Text(format!("{}::setup", word('m', module)));
    match module % 3 {
        0 => {
            let name = Argument::Text(literal(&word('n', module)));
            Call::new("add_named", vec![name, setup, closure])
        }
        _ => Call::new("add_declarative", vec![setup, closure]),
    }
}

#[test]
fn controllers_are_laid_out() {
    let mut chains = vec![];
    for module in 1..60 {
        for number in lengths(0..260) {
            let number = number + module % 3;
            chains.push(of("Controllers::new()", vec![control(module, number)]));
            let both = vec![control(60 - module, number / 5), control(module, number)];
            chains.push(of("Controllers::new()", both));
        }
    }
    assert_laid_out(&chains);
}
