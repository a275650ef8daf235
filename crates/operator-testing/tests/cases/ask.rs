//! One request, its answer, and how two answers differ.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http::response::Parts;
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::Value;

use crate::case::Step;

/// What a server answered: JSON, or the events of a watch, or text.
#[derive(Clone, PartialEq)]
pub struct Answer {
    pub code: u16,
    /// The [`Warning`] headers.
    ///
    /// [`Warning`]: https://kubernetes.io/blog/2020/09/03/warnings/
    pub warnings: Vec<String>,
    pub body: Value,
    /// The calls of webhooks for the request.
    pub asked: Vec<Value>,
}

/// Sends the request of a step. The caller has chosen a client for the user of the step.
pub async fn ask(
    client: Client,
    step: &Step,
    values: &BTreeMap<String, String>,
) -> Result<Answer, String> {
    let (method, path, media, body) = step.filled(values);
    let mut request = Request::builder()
        .method(method)
        .uri(&path)
        .header("user-agent", step.agent.as_deref().unwrap_or("case/1"))
        .header("content-type", media);
    if let Some(accept) = &step.accept {
        request = request.header("accept", accept);
    }
    let request = request
        .body(Body::from(body.into_bytes()))
        .map_err(|error| error.to_string())?;
    let answered = tokio::time::timeout(Duration::from_secs(40), answer(client, request));
    let (parts, bytes) = answered
        .await
        .map_err(|_| "no answer in time".to_owned())??;
    let code = parts.status.as_u16();
    let warnings = parts.headers.get_all("warning").iter();
    let warnings = warnings
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        .collect();
    let text = String::from_utf8_lossy(&bytes);
    if std::env::var_os("SHOW").is_some() {
        eprintln!("{method} {path} -> {code}\n{text}");
    }
    let body = if step.is_watch() && code == 200 {
        let lines = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_default());
        // A server may send a plain bookmark at any time, and the real one does when it is busy.
        let is_plain = |line: &Value| {
            line["type"] == "BOOKMARK" && line["object"]["metadata"]["annotations"].is_null()
        };
        lines.filter(|line| !is_plain(line)).collect()
    } else {
        serde_json::from_str(&text).unwrap_or_else(|_| text.trim_end().into())
    };
    Ok(Answer {
        code,
        warnings,
        body,
        asked: Vec::new(),
    })
}

async fn answer(client: Client, request: Request<Body>) -> Result<(Parts, Bytes), String> {
    let response = client
        .send(request)
        .await
        .map_err(|error| error.to_string())?;
    let (parts, body) = response.into_parts();
    let body = body.collect().await.map_err(|error| error.to_string())?;
    Ok((parts, body.to_bytes()))
}

impl Answer {
    /// Compares the code, the warnings, the number of webhook calls, and if these are equal, all fields.
    pub fn compare(&self, expected: &Self) -> Result<(), String> {
        if self.code != expected.code {
            return Err(format!("{self}\n  recorded: {expected}"));
        }
        if self.warnings != expected.warnings {
            return Err(format!(
                "warnings {:?}\n  recorded: {:?}",
                self.warnings, expected.warnings
            ));
        }
        if self.asked.len() != expected.asked.len() {
            return Err(format!("{self}\n  recorded: {expected}"));
        }
        let mut wrong = Vec::new();
        for (found, expected) in self.asked.iter().zip(&expected.asked) {
            differences("asked: ", found, expected, &mut wrong);
        }
        differences("", &self.body, &expected.body, &mut wrong);
        if wrong.is_empty() {
            Ok(())
        } else {
            Err(wrong.join("\n  "))
        }
    }
}

fn differences(path: &str, actual: &Value, expected: &Value, wrong: &mut Vec<String>) {
    match (actual, expected) {
        (Value::Object(actual), Value::Object(expected)) => {
            for name in actual
                .keys()
                .chain(expected.keys().filter(|name| !actual.contains_key(*name)))
            {
                let path = format!("{path}/{name}");
                match (actual.get(name), expected.get(name)) {
                    (Some(actual), Some(expected)) => differences(&path, actual, expected, wrong),
                    (Some(actual), None) => {
                        wrong.push(format!("{path} is {actual}, recorded nothing"));
                    }
                    (None, Some(expected)) => {
                        wrong.push(format!("{path} is absent, recorded {expected}"));
                    }
                    (None, None) => {}
                }
            }
        }
        (Value::Array(actual), Value::Array(expected)) if actual.len() == expected.len() => {
            for (at, (actual, expected)) in actual.iter().zip(expected).enumerate() {
                differences(&format!("{path}/{at}"), actual, expected, wrong);
            }
        }
        (actual, expected) if actual == expected => {}
        _ => wrong.push(format!("{path} is {actual}\n    recorded {expected}")),
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for warning in &self.warnings {
            writeln!(f, "! {warning}")?;
        }
        for asked in &self.asked {
            writeln!(f, "? {asked}")?;
        }
        write!(f, "{} {}", self.code, self.body)
    }
}
