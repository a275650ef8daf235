//! A command that was killed: what the next command does, and that nothing remains half done.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use sha2::{Digest, Sha256};

use crate::support::{WIDGET, files, folder, ok, project, run, staging};

/// Makes `folder`, whose files are `before`, look as if a command had been killed just before it changed the first file.
fn interrupt(folder: &Path, before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) {
    let hash = |text: &String| {
        let digest = Sha256::digest(text.as_bytes());
        digest
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    let (staging, new) = (staging(folder), folder.join(".operator/new"));
    let mut changes = vec![];
    for (path, text) in after
        .iter()
        .filter(|(path, text)| before.get(*path) != Some(text))
    {
        fs::write(new.join(changes.len().to_string()), text).unwrap();
        changes.push(serde_json::json!({
            "path": path, "before": before.get(path).map(hash), "after": hash(text),
        }));
    }
    let journal =
        serde_json::json!({"format": 1, "staging": staging, "folders": [], "changes": changes});
    fs::write(folder.join(".operator/journal"), journal.to_string()).unwrap();
}

#[test]
fn an_interrupted_command_is_reported_by_reading_and_completed_by_writing_commands() {
    let folder = project();
    let p = folder.path().join("p");
    let before = files(&p);
    ok(&p, "gen-manifests --image x/y:1");
    let after = files(&p);
    for path in after.keys() {
        match before.get(path) {
            Some(text) => fs::write(p.join(path), text).unwrap(),
            None => fs::remove_file(p.join(path)).unwrap(),
        }
    }
    interrupt(&p, &before, &after);
    let interrupted = files(&p);
    for looks in [
        "regenerate --check",
        "regenerate --diff",
        "regenerate --dry-run",
        "gen-manifests --check",
        "add-crd ../clusters.yaml --dry-run",
        "inspect",
    ] {
        let run = run(&p, looks);
        assert_eq!(run.code, 1, "{looks}: {}", run.stderr);
        assert!(run.stderr.contains("was interrupted"), "{}", run.stderr);
        assert!(
            run.stderr.contains("`cargo operator regenerate`"),
            "{looks}"
        );
        assert_eq!(files(&p), interrupted, "{looks}");
    }
    let run = ok(&p, "regenerate");
    let lines: Vec<String> = after
        .iter()
        .filter(|(path, text)| before.get(*path) != Some(text))
        .map(|(path, _)| {
            if before.contains_key(path) {
                format!("update {path}\n")
            } else {
                format!("create {path}\n")
            }
        })
        .collect();
    let expected = format!(
        "finished a command that was interrupted: {} files\n{}",
        lines.len(),
        lines.concat()
    );
    assert!(run.stderr.starts_with(&expected), "{}", run.stderr);
    assert_eq!(files(&p), after);
    assert!(!p.join(".operator/new").exists());
    ok(&p, "regenerate --check");
}

#[test]
fn an_interrupted_command_does_not_undo_an_edit() {
    let folder = project();
    let p = folder.path().join("p");
    let before = files(&p);
    let mut after = before.clone();
    for path in ["README.md", "deny.toml"] {
        after.insert(path.to_owned(), "of the command\n".to_owned());
    }
    interrupt(&p, &before, &after);
    fs::write(p.join("README.md"), "of the user\n").unwrap();
    let run = ok(&p, "regenerate");
    let expected = "interrupted: 1 file\nupdate deny.toml\nnote: README.md is not changed, because it was edited meanwhile\n";
    assert!(run.stderr.contains(expected), "{}", run.stderr);
    assert_eq!(
        fs::read_to_string(p.join("README.md")).unwrap(),
        "of the user\n"
    );
    assert_eq!(
        fs::read_to_string(p.join("deny.toml")).unwrap(),
        "of the command\n"
    );
}

#[test]
fn a_folder_of_types_is_recovered_by_its_command() {
    let folder = folder();
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    ok(folder.path(), "types widget.yaml --out out");
    let after = files(&out);
    fs::remove_dir_all(&out).unwrap();
    fs::create_dir(&out).unwrap();
    interrupt(&out, &BTreeMap::new(), &after);
    let looks = run(folder.path(), "types widget.yaml --out out --check");
    assert_eq!(looks.code, 1, "{}", looks.stderr);
    assert!(
        looks
            .stderr
            .contains("run the command again without --check")
    );
    let run = ok(folder.path(), "types widget.yaml --out out");
    assert!(
        run.stderr.starts_with("finished a command"),
        "{}",
        run.stderr
    );
    assert_eq!(files(&out), after);
}

#[test]
fn a_foreign_journal_is_refused() {
    let folder = project();
    let p = folder.path().join("p");
    let outside = r#"{"format": 1, "staging": "1", "folders": [], "changes": [{"path": "../x", "before": null, "after": "0"}]}"#;
    let newer = r#"{"format": 2, "staging": "1", "folders": [], "changes": []}"#;
    for (journal, expected) in [
        (outside, "no path in the project"),
        (newer, "format 2"),
        ("half", "can't be read"),
    ] {
        fs::write(p.join(".operator/journal"), journal).unwrap();
        let before = files(&p);
        let run = run(&p, "regenerate");
        assert_eq!(run.code, 2, "{}", run.stderr);
        assert!(run.stderr.contains(expected), "{}", run.stderr);
        assert_eq!(files(&p), before);
    }
}

/// How often a command is killed, at moments that are spread over its work on the disk. The variable `KILLS` sets another number.
fn kills() -> u32 {
    let kills = std::env::var("KILLS").ok();
    kills.map_or(3, |kills| kills.parse().unwrap())
}

fn start(folder: &Path, args: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-operator"));
    command.arg("operator").args(args.split_whitespace());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.current_dir(folder).spawn().unwrap()
}

/// Waits until the command has created `begun`, and kills it `after` this time. Returns how long it worked from then on.
fn kill(folder: &Path, args: &str, begun: &Path, after: Duration) -> Duration {
    let mut child = start(folder, args);
    while !begun.exists() && child.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_micros(100));
    }
    let begin = Instant::now();
    while begin.elapsed() < after && child.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_micros(100));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    begin.elapsed()
}

/// What a command creates first, and what it creates at the point of no return.
const BEGUN: [&str; 2] = [".operator/new", ".operator/journal"];

#[test]
fn an_init_killed_at_any_moment_is_completed_by_the_next_command() {
    let folder = folder();
    let p = folder.path().join("p");
    let init = "init p --crd widget.yaml";
    let (kills, mut interrupted) = (kills(), 0);
    let mut made = BTreeMap::new();
    for begun in BEGUN.map(|path| p.join(path)) {
        let whole = kill(folder.path(), init, &begun, Duration::from_secs(60));
        made = files(&p);
        for number in 0..kills {
            fs::remove_dir_all(&p).unwrap();
            kill(folder.path(), init, &begun, whole * number / kills);
            let was_interrupted = p.join(BEGUN[1]).exists();
            interrupted += u32::from(was_interrupted);
            if was_interrupted && number % 2 == 0 {
                let run = ok(&p, "regenerate");
                assert!(run.stderr.contains("finished a command"), "{}", run.stderr);
            } else if was_interrupted || !p.join("operator.toml").exists() {
                ok(folder.path(), init);
            }
            ok(&p, "regenerate");
            ok(&p, "regenerate --check");
            assert_eq!(files(&p), made, "{number}");
        }
        fs::remove_dir_all(&p).unwrap();
    }
    println!(
        "{} files, {interrupted} of {} kills were after the journal",
        made.len(),
        2 * kills
    );
}

#[test]
fn a_command_killed_at_any_moment_is_completed_by_the_next() {
    let folder = project();
    let p = folder.path().join("p");
    let mut number = 0;
    let mut add = || {
        number += 1;
        let name = format!("gadget{number}");
        let spec = WIDGET.replace("widget", &name);
        let spec = spec.replace("Widget", &format!("Gadget{number}"));
        fs::write(folder.path().join(format!("{name}.yaml")), spec).unwrap();
        (
            format!("add-crd ../{name}.yaml"),
            format!("\"Gadget{number}\""),
        )
    };
    let (kills, mut interrupted) = (kills(), 0);
    for begun in BEGUN.map(|path| p.join(path)) {
        let whole = kill(&p, &add().0, &begun, Duration::from_secs(60));
        for number in 0..kills {
            let before = files(&p);
            let (command, kind) = add();
            kill(&p, &command, &begun, whole * number / kills);
            let was_interrupted = p.join(BEGUN[1]).exists();
            interrupted += u32::from(was_interrupted);
            let run = ok(&p, "regenerate");
            let is_told = run.stderr.contains("finished a command");
            assert_eq!(is_told, was_interrupted, "{}", run.stderr);
            ok(&p, "regenerate --check");
            let state = fs::read_to_string(p.join("operator.toml")).unwrap();
            assert_eq!(state.contains(&kind), files(&p) != before, "{kind}");
        }
    }
    println!(
        "{interrupted} of {} kills were after the journal",
        2 * kills
    );
}
