//! Conformance: the cases of this folder on the server that `OPERATOR_TEST_SERVER` selects, compared with the answers of the real one.
//!
//! A case is a list of requests in a namespace of its own; see [`case`] for its form. `recorded/` holds the whole answers of the real
//! server, except for what [`mask`] hides; `UPDATE=1` writes them, on the real server only. Where the server in memory is known to
//! differ, `differences.yaml` says so and why. `CASE=words` runs only the cases whose group and name (`crud: generateName
//! makes a name`) have these words, `CASES_SHARE=3` every third of them; `SHOW=1` prints all answers, also those of cases that are not
//! recorded.

mod ask;
mod case;
mod convert;
mod hooks;
#[path = "../admission/listener.rs"]
mod listener;
mod mask;
mod recorded;
mod service;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use operator_testing::Server;
use serde::Deserialize;
use serde_json::Value;

use self::ask::{Answer, ask};
use self::case::{Step, fill};
use self::hooks::Hooks;
use self::mask::Masks;
use self::recorded::{Difference, Recording};
use self::service::Service;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    case: String,
    #[serde(default)]
    hooks: Hooks,
    steps: Vec<Step>,
}

/// The minimum number of cases.
const CASES: usize = 300;
/// The maximum number of known differences.
const DIFFERENCES: usize = 20;
/// The groups that have no differences: what operators use every day.
const EXACT: [&str; 6] = [
    "crud",
    "watch",
    "apply",
    "status",
    "finalizers",
    "collection",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_response_equals_that_of_the_real_server() {
    if std::env::var("OPERATOR_TEST_SERVER").is_ok_and(|mode| mode == "kubeconfig") {
        eprintln!("the cases make definitions and namespaces: not on someone's cluster");
        return;
    }
    let server = Server::start().await.unwrap();
    let writes = recorded::is_updating();
    assert!(
        server.is_real() || !writes,
        "only the real server's answers are recorded"
    );
    let folder = folder();
    let service = Service::start().await;
    for file in files(&folder, ".crd.yaml") {
        server.install(&text(&file)).await.unwrap();
    }
    let wanted = std::env::var("CASE").unwrap_or_default();
    let known: Vec<Difference> =
        serde_yaml::from_str(&text(&folder.join("differences.yaml"))).unwrap();
    let mut groups: BTreeMap<String, Recording> = BTreeMap::new();
    let mut cases = Vec::new();
    for file in files(&folder.join("requests"), ".yaml") {
        let group = file.file_stem().unwrap().to_string_lossy().into_owned();
        let read: Vec<Case> = serde_yaml::from_str(&text(&file))
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let names = read.iter().map(|case| case.case.clone()).collect();
        groups.insert(group.clone(), Recording::read(&folder, &group, names));
        cases.extend(read.into_iter().map(|case| (group.clone(), case)));
    }
    let total = cases.len();
    let mut failures = check_differences(&known, &cases);
    cases.retain(|(group, case)| format!("{group}: {}", case.case).contains(&wanted));
    let share = std::env::var("CASES_SHARE").map_or(1, |share| share.parse().unwrap());
    cases = cases.into_iter().step_by(share).collect();
    // Cases with webhooks come last: controllers of a real server list all kinds, and wait for objects that cannot be converted.
    cases.sort_by_key(|(_, case)| case.hooks.has_any());
    let ran = cases.len();
    let mut running = stream::iter(cases.into_iter().enumerate())
        .map(|(number, (group, case))| {
            let recorded = groups[&group].answers(&case.case).filter(|_| !writes);
            let (server, service, known) = (&server, &service, &known);
            async move {
                let known: Vec<&Difference> =
                    known.iter().filter(|d| d.case == case.case).collect();
                let outcome = run(server, service, number, &case, recorded, &known).await;
                (group, case.case, outcome)
            }
        })
        .buffer_unordered(24);
    let mut answers = Vec::new();
    while let Some((group, case, outcome)) = running.next().await {
        match outcome {
            Ok(found) => answers.push((group, case, found)),
            Err(wrong) => failures.push(format!("{group}: {case}: {wrong}")),
        }
    }
    drop(running);
    println!("{} of {ran} cases hold ({total} in all)", answers.len());
    if writes {
        for (group, case, found) in answers {
            groups.get_mut(&group).unwrap().set(case, found);
        }
        groups.values().for_each(Recording::write);
    }
    assert!(
        failures.is_empty(),
        "{} failures:\n\n{}",
        failures.len(),
        failures.join("\n\n")
    );
    assert!(total >= CASES, "only {total} cases");
}

/// What is wrong with the list of known differences.
fn check_differences(known: &[Difference], cases: &[(String, Case)]) -> Vec<String> {
    let mut wrong = Vec::new();
    if known.len() > DIFFERENCES {
        wrong.push(format!("{} differences are listed", known.len()));
    }
    for difference in known {
        match cases.iter().find(|(_, case)| case.case == difference.case) {
            Some((group, _)) if !EXACT.contains(&group.as_str()) => {}
            Some((group, case)) => wrong.push(format!("{group}: {}: may not differ", case.case)),
            None => wrong.push(format!("differences.yaml: no case {:?}", difference.case)),
        }
    }
    wrong
}

/// Runs a case in its own namespace. Returns the masked answers, or what is wrong with one of them.
async fn run(
    server: &Server,
    service: &Service,
    number: usize,
    case: &Case,
    recorded: Option<&[Answer]>,
    known: &[&Difference],
) -> Result<Vec<Answer>, String> {
    let namespace = format!("case-{number:04}");
    let body = format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {namespace}}}}}");
    server.install(&body).await.unwrap();
    let hooks = format!("https://{}/{namespace}", service.host);
    let mut values = BTreeMap::from([
        ("ns".to_owned(), namespace.clone()),
        ("hooks".to_owned(), hooks),
        ("bundle".to_owned(), service.bundle.clone()),
        ("long".to_owned(), "long ".repeat(60)),
    ]);
    service.set(&namespace, filled(&case.hooks.answers, &values));
    case.hooks.install(server, &folder(), &values).await?;
    let sent = serde_yaml::to_string(&case.steps).unwrap();
    let mut masks = Masks::new(namespace.clone(), sent);
    masks.hooks = Some(service.host.clone());
    let outcome = steps(
        server,
        service,
        case,
        recorded,
        known,
        &mut values,
        &mut masks,
    )
    .await;
    // Allow everything: controllers of a real server go on to make requests.
    service.set(&namespace, BTreeMap::new());
    outcome
}

/// The masked answers to the requests.
async fn steps(
    server: &Server,
    service: &Service,
    case: &Case,
    recorded: Option<&[Answer]>,
    known: &[&Difference],
    values: &mut BTreeMap<String, String>,
    masks: &mut Masks,
) -> Result<Vec<Answer>, String> {
    let namespace = values["ns"].clone();
    let validating = case.hooks.validating();
    let mut answers = Vec::new();
    let recorded = recorded.filter(|recorded| recorded.len() == case.steps.len());
    let is_missing = recorded.is_none() && !recorded::is_updating();
    let missing = "not recorded: UPDATE=1, on the real server";
    if is_missing && std::env::var_os("SHOW").is_none() {
        return Err(missing.to_owned());
    }
    for (at, step) in case.steps.iter().enumerate() {
        let expected = recorded.map(|recorded| &recorded[at]);
        let differs = !server.is_real() && known.iter().any(|known| known.step == at + 1);
        let at_step =
            |wrong: String| format!("step {}: {} {}: {wrong}", at + 1, step.verb(), step.path());
        // The real garbage collector looks for new kinds every half minute.
        let deadline = Instant::now() + Duration::from_secs(90);
        if let Some(answers) = &step.answers {
            service.set(&namespace, filled(answers, values));
        }
        loop {
            let mut tried = masks.clone();
            let client = server.client_as(&fill(&step.user, values));
            service.take_asked(&namespace);
            let mut raw = ask(client, step, values).await.map_err(at_step)?;
            raw.asked = step.asked(service.take_asked(&namespace), &validating);
            let answer = tried.hide(step, &raw);
            let outcome = judge(step, values, &raw, &answer, expected);
            let may_wait =
                step.eventually.is_some() && server.is_real() && Instant::now() < deadline;
            match outcome {
                Err(_) if may_wait => tokio::time::sleep(Duration::from_millis(100)).await,
                Err(wrong) if !differs => return Err(at_step(wrong)),
                Ok(()) if differs => return Err(at_step("does not differ any more".to_owned())),
                _ => {
                    step.save(&raw, values).map_err(at_step)?;
                    *masks = tried;
                    answers.push(answer);
                    break;
                }
            }
        }
    }
    if is_missing {
        let answers: Vec<String> = answers.iter().map(ToString::to_string).collect();
        return Err(format!("{missing}\n{}", answers.join("\n")));
    }
    Ok(answers)
}

fn judge(
    step: &Step,
    values: &BTreeMap<String, String>,
    raw: &Answer,
    found: &Answer,
    expected: Option<&Answer>,
) -> Result<(), String> {
    if !step.is_reached(raw, values) {
        return Err(format!(
            "not {} but {found}",
            step.eventually.as_deref().unwrap_or_default()
        ));
    }
    expected.map_or(Ok(()), |expected| found.compare(expected))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases")
}

/// The answers of webhooks, with the value of each `${name}`.
fn filled(
    answers: &BTreeMap<String, Value>,
    values: &BTreeMap<String, String>,
) -> BTreeMap<String, Value> {
    let text = serde_json::to_string(answers).unwrap();
    serde_json::from_str(&fill(&text, values)).unwrap()
}

fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.to_string_lossy().ends_with(end));
    files.sort();
    files
}

fn text(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}
