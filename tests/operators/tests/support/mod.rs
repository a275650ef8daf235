// Made by `cargo operator regenerate`. Do not edit: change operator.toml or crds/ and run it again.
//! How the tests start the operator: with the flags of `flags.rs`, and beside the objects of `tests/fixtures/`.
#![allow(dead_code, reason = "no test uses all of it")]

use kube::Client;
use operator_runtime::{Operator, Settings, options_for_tests};
use operator_testing::{Outcomes, Server};
use serde_json::json;

use operators as project;

mod flags;

pub const NAME: &str = "operators";
pub const NAMESPACES: [&str; 2] = ["team-a", "team-b"];

/// A server with the manifests and the fixtures, and the operator on it, which has only the permissions of its service account.
pub async fn start() -> anyhow::Result<Server> {
    let server = Server::start().await?;
    for name in NAMESPACES {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        server.install(&namespace.to_string()).await?;
    }
    server.install_kustomization("manifests").await?;
    server
        .install_fixtures_in("tests/fixtures", NAMESPACES[0])
        .await?;
    let client = server.client_as(&format!("system:serviceaccount:{NAME}:{NAME}"));
    let operator = operator(client, Settings::for_tests(), server.outcomes());
    server.run(operator.run());
    Ok(server)
}

/// The operator, which reports each of its reconciliations.
pub fn operator(client: Client, mut settings: Settings, outcomes: Outcomes) -> Operator {
    settings.namespaces = NAMESPACES.map(str::to_owned).to_vec();
    let connected = Operator::new(NAME, settings, client).on_reconciled(move |it| {
        outcomes.report(it.group, it.kind, it.namespace, it.name, it.result);
    });
    project::operator(connected, options())
}

/// The options of the operator, whatever the environment has.
pub fn options() -> project::Options {
    options_for_tests(flags::FLAGS).unwrap_or_else(|error| {
        let before = include_str!("flags.rs").split("FLAGS").next();
        let line = before.map_or(1, |text| text.lines().count());
        panic!("{error}\nhelp: add the flag to FLAGS in tests/support/flags.rs:{line}");
    })
}
