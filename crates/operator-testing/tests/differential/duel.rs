//! Runs one sequence of requests on two servers, and finds the first difference between their answers.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kube::Client;
use operator_testing::Server;
use serde_json::{Value, json};

use crate::ask::{Answer, ask};
use crate::case::{Step, fill};
use crate::listed::is_listed;
use crate::mask::Masks;

/// The kinds of the cases.
const DEFINITIONS: [&str; 2] = [
    include_str!("../cases/gadgets.crd.yaml"),
    include_str!("../cases/widgets.crd.yaml"),
];

/// The first difference of a sequence.
pub struct Difference {
    /// The step, from 0.
    pub at: usize,
    /// Equal for differences that have the same cause: the form of the request, and where the answers differ.
    pub class: String,
    pub text: String,
}

pub async fn prepare(server: &Server) {
    for definition in DEFINITIONS {
        server.install(definition).await.unwrap();
    }
}

/// Waits until the garbage collector knows the kinds, which takes half a minute on a real server.
pub async fn wait_for_garbage_collector(server: &Server) {
    let reference = json!([{
        "apiVersion": "v1", "kind": "ServiceAccount", "name": "owner", "uid": "${owner}",
    }]);
    for plural in ["widgets", "gadgets"] {
        let owned =
            json!({"metadata": {"name": "child", "ownerReferences": reference}, "spec": {}});
        let steps = [
            json!({"post": "serviceaccounts", "send": {"metadata": {"name": "owner"}}, "save": {"owner": "/metadata/uid"}}),
            json!({"post": plural, "send": owned}),
            json!({"delete": "serviceaccounts/owner"}),
            json!({"get": format!("{plural}/child"), "eventually": "404"}),
        ];
        let codes = codes(server, &format!("collected-{plural}"), &steps).await;
        assert_eq!(codes, [201, 201, 200, 404]);
    }
}

/// Runs a sequence in a new namespace of both servers, up to the first difference. A request that could not be sent is an error.
pub async fn duel(
    real: &Server,
    memory: &Server,
    namespace: &str,
    steps: &[Value],
) -> Result<Option<Difference>, String> {
    let read = serde_json::from_value::<Vec<Step>>(steps.to_vec().into());
    let read = read.expect("what is generated has the form of cases");
    let mut real = Side::new(real, namespace, &read).await?;
    let mut memory = Side::new(memory, namespace, &read).await?;
    for (at, step) in read.iter().enumerate() {
        let (expected, found) = tokio::join!(real.step(step), memory.step(step));
        let (expected, found) = (expected?, found?);
        if let Err(text) = found.compare(&expected) {
            if is_listed(&found, &expected) {
                continue;
            }
            let class = format!("{}: {}", form(step), place(&found, &expected, &text));
            return Ok(Some(Difference { at, class, text }));
        }
    }
    Ok(None)
}

/// One of the servers, with the values and masks from its answers so far.
struct Side {
    admin: Client,
    server: Server,
    values: BTreeMap<String, String>,
    masks: Masks,
}

impl Side {
    async fn new(server: &Server, namespace: &str, steps: &[Step]) -> Result<Self, String> {
        let body = format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {namespace}}}}}");
        server.install(&body).await.map_err(|e| e.to_string())?;
        let sent = serde_yaml::to_string(steps).map_err(|e| e.to_string())?;
        let mut side = Self {
            admin: server.client(),
            server: server.clone(),
            values: BTreeMap::from([("ns".to_owned(), namespace.to_owned())]),
            masks: Masks::new(namespace.to_owned(), sent),
        };
        // the objects that controllers create in each namespace
        for initial in ["serviceaccounts/default", "configmaps/kube-root-ca.crt"] {
            let step = serde_json::json!({"get": initial, "eventually": "200"});
            let step: Step = serde_json::from_value(step).map_err(|e| e.to_string())?;
            let masks = side.masks.clone();
            side.step(&step).await?;
            side.masks = masks;
        }
        Ok(side)
    }

    async fn step(&mut self, step: &Step) -> Result<Answer, String> {
        let deadline = Instant::now() + Duration::from_secs(40);
        loop {
            let user = fill(&step.user, &self.values);
            let client = match user.as_str() {
                "" => self.admin.clone(),
                user => self.server.client_as(user),
            };
            let raw = ask(client, step, &self.values).await?;
            if !step.is_reached(&raw, &self.values)
                && self.server.is_real()
                && Instant::now() < deadline
            {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
            // if an answer lacks the value, both servers get the earlier value, or `${name}` itself
            let _kept = step.save(&raw, &mut self.values);
            let mut answer = self.masks.hide(step, &raw);
            let version = answer.body.pointer_mut("/metadata/resourceVersion");
            if let Some(version) =
                version.filter(|it| it.as_str().is_some_and(|it| it.starts_with("<page")))
            {
                // requests of other sequences change the versions of lists
                *version = "<page>".into();
            }
            return Ok(answer);
        }
    }
}

/// The verb and the path of a request, without names.
fn form(step: &Step) -> String {
    let path = step.path().split('?').next().unwrap_or_default();
    let short: Vec<&str> = path.split('/').collect();
    match short.as_slice() {
        ["", ..] => format!("{} {path}", step.verb()),
        [plural, _, subresource] => format!("{} {plural}/{subresource}", step.verb()),
        _ => format!("{} {}", step.verb(), short[0]),
    }
}

/// Where two answers differ, without numbers.
fn place(found: &Answer, expected: &Answer, text: &str) -> String {
    if found.code != expected.code {
        return format!("{} is {}", found.code, expected.code);
    }
    text.split(" is ")
        .next()
        .unwrap_or_default()
        .chars()
        .filter(|letter| !letter.is_ascii_digit())
        .take(120)
        .collect()
}

/// The codes of the answers of one server.
pub async fn codes(server: &Server, namespace: &str, steps: &[Value]) -> Vec<u16> {
    let read = serde_json::from_value::<Vec<Step>>(steps.to_vec().into()).unwrap();
    let mut side = Side::new(server, namespace, &read).await.unwrap();
    let mut codes = Vec::new();
    for step in read.iter().filter(|step| !step.is_watch()) {
        codes.push(side.step(step).await.unwrap().code);
    }
    codes
}
