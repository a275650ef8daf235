//! Compares the controllers of workloads with the real ones: the objects that they create, with their status and managed fields.
//!
//! Each scenario has a namespace of its own. The test writes the status of pods as the kubelet would, because neither server has a kubelet.
//! After each step, when all workloads and pods have settled, they are compared with `recorded/`, the result of the same steps with
//! kube-controller-manager, except for what [`mask`] hides. `cargo xtask controllers --real --update` writes it.

mod mask;
mod scenario;
mod stage;

use std::fmt::Write as _;
use std::path::Path;

use futures::future::join_all;
use operator_testing::{Server, Workloads};
use serde_json::Value;

use self::stage::Stage;

#[test]
fn workloads_settle_as_with_real_controllers() {
    let mode = std::env::var("OPERATOR_TEST_SERVER").unwrap_or_default();
    if mode == "kubeconfig" {
        eprintln!("the scenarios make nodes: not on someone's cluster");
        return;
    }
    let is_real = !matches!(mode.as_str(), "" | "memory");
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(!is_real).build().unwrap();
    let failures = runtime.block_on(compare());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

async fn compare() -> Vec<String> {
    let server = Server::start().await.unwrap();
    let server = server.with_workloads(Workloads::default().without_node());
    let writes = std::env::var("UPDATE").is_ok_and(|value| value == "1");
    assert!(
        server.is_real() || !writes,
        "only real controllers are recorded"
    );
    let wanted = std::env::var("CASE").unwrap_or_default();
    let running = scenario::all()
        .into_iter()
        .filter(|(name, _)| name.contains(&wanted))
        .map(|(name, scenario)| {
            let mut stage = Stage::new(server.clone(), name);
            async move {
                stage.open().await;
                scenario(&mut stage).await;
                (name, stage.seen())
            }
        });
    let mut failures = Vec::new();
    for (name, seen) in join_all(running).await {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("tests/controllers/recorded/{name}.txt"));
        if writes {
            std::fs::write(file, seen).unwrap();
            continue;
        }
        let recorded = std::fs::read_to_string(file).unwrap_or_default();
        if recorded != seen {
            let mut text = format!("{name}: - is recorded, + is found");
            difference(&recorded, &seen, &mut text);
            failures.push(text);
        }
    }
    failures
}

/// What differs, with each field on a line of its own.
fn difference(recorded: &str, found: &str, text: &mut String) {
    let changes = diffy::create_patch(&spread(recorded), &spread(found)).to_string();
    for change in changes.lines().skip(2) {
        write!(text, "\n  {change}").unwrap();
    }
}

fn spread(lines: &str) -> String {
    lines
        .lines()
        .map(|line| match line.split_once('{') {
            Some((plural, object)) if !line.starts_with('#') => {
                let object: Value = serde_json::from_str(&format!("{{{object}")).unwrap();
                format!("{plural}\n{}", serde_yaml::to_string(&object).unwrap())
            }
            _ => format!("{line}\n"),
        })
        .collect()
}
