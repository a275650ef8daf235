//! Conformance: the cases of `tests/cases/`, on whichever server `OPERATOR_TEST_SERVER` names. The real server decides what is right.
//!
//! A case is a list of steps in a namespace of its own, `${ns}`. A step is one request, with what its answer must be:
//! `code`, a `body` that the answer contains (`null` means absent, `<any>` anything but absent), values to `save` by JSON pointer.
//! `eventually` repeats the step until it fits, for what controllers of a real cluster do in their own time.
//! `CASE=words` runs only the cases whose name has these words; `SHOW=1` prints every answer.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use http::Request;
use http_body_util::BodyExt;
use kube::client::Body;
use operator_testing::Server;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    case: String,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    get: Option<String>,
    watch: Option<String>,
    post: Option<String>,
    put: Option<String>,
    delete: Option<String>,
    apply: Option<String>,
    merge: Option<String>,
    json: Option<String>,
    strategic: Option<String>,
    /// What is sent.
    send: Option<Value>,
    /// What is sent, as it is.
    raw: Option<String>,
    /// Another media type than the method's own.
    media: Option<String>,
    accept: Option<String>,
    #[serde(default = "agent")]
    agent: String,
    #[serde(default, rename = "as")]
    user: String,
    code: u16,
    body: Option<Value>,
    /// The answer as text.
    text: Option<String>,
    /// Each event of a watch, as far as it matters.
    events: Option<Vec<Value>>,
    #[serde(default)]
    save: BTreeMap<String, String>,
    #[serde(default)]
    eventually: bool,
}

fn agent() -> String {
    "case/1".to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_case_holds() {
    if std::env::var("OPERATOR_TEST_SERVER").is_ok_and(|mode| mode == "kubeconfig") {
        eprintln!("the cases make definitions and namespaces: not on someone's cluster");
        return;
    }
    let server = Server::start().await.unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    server
        .install(&std::fs::read_to_string(folder.join("widgets.crd.yaml")).unwrap())
        .await
        .unwrap();
    let wanted = std::env::var("CASE").unwrap_or_default();
    let mut cases = Vec::new();
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|f| f.unwrap().path())
        .collect();
    files.sort();
    for file in files
        .iter()
        .filter(|file| !file.to_string_lossy().ends_with(".crd.yaml"))
    {
        let text = std::fs::read_to_string(file).unwrap();
        let read: Vec<Case> = serde_yaml::from_str(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        cases.extend(read);
    }
    let total = cases.len();
    cases.retain(|case| case.case.contains(&wanted));
    let ran = cases.len();
    let outcomes: Vec<Option<String>> = stream::iter(cases.into_iter().enumerate())
        .map(|(number, case)| run(&server, number, case))
        .buffer_unordered(8)
        .collect()
        .await;
    let failures: Vec<String> = outcomes.into_iter().flatten().collect();
    println!(
        "{} of {ran} cases hold ({total} in all)",
        ran - failures.len()
    );
    assert!(
        failures.is_empty(),
        "{} cases fail:\n\n{}",
        failures.len(),
        failures.join("\n\n")
    );
    assert!(total >= 40 || !wanted.is_empty(), "only {total} cases");
}

/// What is wrong, if anything is.
async fn run(server: &Server, number: usize, case: Case) -> Option<String> {
    let mut known = BTreeMap::from([("ns".to_owned(), format!("case-{number}"))]);
    let body = format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: case-{number}}}}}");
    server.install(&body).await.unwrap();
    for (at, step) in case.steps.iter().enumerate() {
        // The real collector looks for new kinds every half minute.
        let deadline = Instant::now() + Duration::from_secs(90);
        let wrong = loop {
            let outcome = check(server, step, &mut known).await;
            match outcome {
                Err(wrong) if step.eventually && Instant::now() < deadline => {
                    drop(wrong);
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                outcome => break outcome.err(),
            }
        };
        if let Some(wrong) = wrong {
            return Some(format!("{} / step {}: {wrong}", case.case, at + 1));
        }
    }
    None
}

async fn check(
    server: &Server,
    step: &Step,
    known: &mut BTreeMap<String, String>,
) -> Result<(), String> {
    let methods = [
        ("GET", &step.get, ""),
        ("GET", &step.watch, ""),
        ("POST", &step.post, "application/json"),
        ("PUT", &step.put, "application/json"),
        ("DELETE", &step.delete, "application/json"),
        ("PATCH", &step.apply, "application/apply-patch+yaml"),
        ("PATCH", &step.merge, "application/merge-patch+json"),
        ("PATCH", &step.json, "application/json-patch+json"),
        (
            "PATCH",
            &step.strategic,
            "application/strategic-merge-patch+json",
        ),
    ];
    let (method, path, media) = methods
        .iter()
        .find_map(|(m, path, media)| Some((*m, path.as_ref()?, *media)))
        .unwrap();
    let mut request = Request::builder()
        .method(method)
        .uri(fill(path, known))
        .header("user-agent", &step.agent)
        .header("content-type", step.media.as_deref().unwrap_or(media));
    if let Some(accept) = &step.accept {
        request = request.header("accept", accept);
    }
    let sent = match (&step.send, &step.raw) {
        (Some(send), _) => fill(&send.to_string(), known),
        (None, Some(raw)) => fill(raw, known),
        (None, None) => String::new(),
    };
    let request = request.body(Body::from(sent.into_bytes())).unwrap();
    let response = server
        .client_as(&fill(&step.user, known))
        .send(request)
        .await
        .unwrap();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let answer = String::from_utf8_lossy(&bytes).into_owned();
    if std::env::var_os("SHOW").is_some() {
        eprintln!("{method} {} -> {code}\n{answer}", fill(path, known));
    }
    let shown: String = answer.chars().take(3000).collect();
    if code != step.code {
        return Err(format!(
            "{method} {path}: code {code}, not {}: {shown}",
            step.code
        ));
    }
    if let Some(text) = &step.text
        && *text != answer
    {
        return Err(format!("{method} {path}: {shown}"));
    }
    if let Some(events) = &step.events {
        // A server may send a plain bookmark at any time, and the real one does when it is busy.
        let is_plain_bookmark = |line: &Value| {
            line["type"] == "BOOKMARK" && line["object"]["metadata"]["annotations"].is_null()
        };
        let lines: Vec<Value> = answer
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .filter(|line| !is_plain_bookmark(line))
            .collect();
        let expected = serde_json::from_str(&fill(&Value::from(events.clone()).to_string(), known));
        contains("", &Value::Array(lines), &expected.unwrap())
            .map_err(|wrong| format!("{method} {path}: {wrong} in {shown}"))?;
        return Ok(());
    }
    let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
    if let Some(body) = &step.body {
        let body = serde_json::from_str(&fill(&body.to_string(), known)).unwrap();
        contains("", &answer, &body)
            .map_err(|wrong| format!("{method} {path}: {wrong} in {shown}"))?;
    }
    for (name, pointer) in &step.save {
        let value = answer
            .pointer(pointer)
            .ok_or(format!("{path}: no {pointer} in {shown}"))?;
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        known.insert(name.clone(), text);
    }
    Ok(())
}

/// Puts in what is known for each `${name}`.
fn fill(text: &str, known: &BTreeMap<String, String>) -> String {
    known.iter().fold(text.to_owned(), |text, (name, value)| {
        text.replace(&format!("${{{name}}}"), value)
    })
}

/// Lists are compared whole, objects as far as is expected.
fn contains(path: &str, found: &Value, expected: &Value) -> Result<(), String> {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            for (name, expected) in expected {
                let found = found.get(name).unwrap_or(&Value::Null);
                contains(&format!("{path}/{name}"), found, expected)?;
            }
            Ok(())
        }
        (Value::Array(items), Value::Array(expected)) if items.len() == expected.len() => {
            for (at, (item, expected)) in items.iter().zip(expected).enumerate() {
                contains(&format!("{path}/{at}"), item, expected)?;
            }
            Ok(())
        }
        (found, Value::String(any)) if any == "<any>" && !found.is_null() => Ok(()),
        (found, expected) if found == expected => Ok(()),
        _ => Err(format!("{path} is {found}, not {expected}")),
    }
}
