//! One run of an operator, from its start to its rest.

use std::fmt::Display;
use std::future::Future;
use std::time::Duration;

use kube::Client;
use serde_json::Value;
use tokio::runtime::Runtime;

use super::Trial;
use super::state::{MESSAGES, settled};
use crate::api::ApiServer;
use crate::fault::{Faults, Schedule};
use crate::record::Request;
use crate::server::Server;

/// The same where a watch may fall silent, with the sample and without: first until watches were renewed once, then until the silence is
/// known for what it is.
const LONG_RESTS: [Duration; 2] = [Duration::from_secs(160), Duration::from_secs(450)];

/// How often it may begin anew to be at rest.
const PATIENCE: usize = 8;

/// What became of one run.
pub(super) struct Run {
    pub asked: Vec<Request>,
    /// The objects at rest: with the sample, and without.
    pub states: Vec<Value>,
    pub restless: Option<String>,
    /// What befell no request.
    pub left: Schedule,
    /// How much was asked before the sample was deleted.
    pub before_end: usize,
}

impl Trial {
    fn server(&self, server: ApiServer) -> Server {
        let first = self.namespaces.first();
        Server::of(server, first.map_or("default", String::as_str))
    }

    /// A server on which everything is but the sample.
    pub(super) fn installed(&self) -> ApiServer {
        let server = self.server(ApiServer::new());
        runtime().block_on(async {
            for name in &self.namespaces {
                let object =
                    format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}");
                let made = server.install(&object).await;
                made.unwrap_or_else(|error| panic!("the namespace {name}: {error}"));
            }
            let installed = server.install_kustomization(&self.manifests).await;
            installed.unwrap_or_else(|error| panic!("{}: {error}", self.manifests.display()));
        });
        server.service().expect("it is in memory")
    }

    pub(super) fn run<E, R>(
        &self,
        installed: &ApiServer,
        operator: &impl Fn(Client) -> R,
        schedule: Schedule,
    ) -> Run
    where
        E: Display + Send + 'static,
        R: Future<Output = Result<(), E>> + Send + 'static,
    {
        let is_silent = schedule.0.values().any(|fault| fault.is_silence());
        let rests = match is_silent {
            true => self.long_rests(),
            false => [self.rest; 2],
        };
        self.run_for(installed, operator, schedule, rests)
    }

    pub(super) fn long_rests(&self) -> [Duration; 2] {
        LONG_RESTS.map(|rest| rest.max(self.rest))
    }

    pub(super) fn run_for<E, R>(
        &self,
        installed: &ApiServer,
        operator: &impl Fn(Client) -> R,
        schedule: Schedule,
        [with, without]: [Duration; 2],
    ) -> Run
    where
        E: Display + Send + 'static,
        R: Future<Output = Result<(), E>> + Send + 'static,
    {
        runtime().block_on(async {
            let before = installed.objects();
            let server = self.server(installed.fork());
            let faults = Faults::new(schedule);
            server.run(operator(server.disturbed(&self.user, &faults)));
            let sample = server.install(&self.sample).await;
            sample.unwrap_or_else(|error| panic!("the sample: {error}"));
            let (mut states, mut before_end) = (vec![], 0);
            let mut restless = come_to_rest(&server, &faults, with).await;
            if restless.is_none() {
                states.push(settled(&server, &before));
                before_end = faults.asked().len();
                let sample = server.uninstall(&self.sample).await;
                sample.unwrap_or_else(|error| panic!("the sample: {error}"));
                restless = come_to_rest(&server, &faults, without).await;
                states.push(settled(&server, &before));
            }
            let answered = server.requests();
            let mut answered = answered.iter();
            let forbidden =
                answered.find(|request| request.code == 403 && request.user == self.user);
            let forbidden = forbidden.map(|request| format!("it may not {request}"));
            Run {
                asked: faults.asked(),
                states,
                restless: forbidden.or(restless),
                left: faults.left(),
                before_end,
            }
        })
    }
}

fn runtime() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().start_paused(true).build();
    runtime.expect("a runtime starts")
}

/// Waits until nothing is written any more, or says why there is no end of it.
async fn come_to_rest(server: &Server, faults: &Faults, rest: Duration) -> Option<String> {
    let mut written = None;
    for _ in 0..PATIENCE {
        tokio::time::sleep(rest).await;
        let ended = server.ended().clone();
        if let Some(reason) = ended {
            return Some(format!("the operator ended: {reason}"));
        }
        let writes = faults.asked();
        let writes = writes
            .iter()
            .filter(|request| request.is_write() && !MESSAGES.contains(&request.resource.as_str()));
        let writes = writes.count();
        if faults.is_exhausted() {
            break;
        }
        if written == Some(writes) {
            return None;
        }
        written = Some(writes);
    }
    let asked = faults.asked();
    let last: Vec<String> = asked
        .iter()
        .rev()
        .take(4)
        .map(ToString::to_string)
        .collect();
    Some(format!(
        "it does not come to rest: {} requests, the last of them {}",
        asked.len(),
        last.join(", ")
    ))
}

pub(super) fn told(schedule: &Schedule, run: &Run, why: &str) -> String {
    let befallen = schedule
        .0
        .iter()
        .map(|(number, fault)| match run.asked.get(*number) {
            Some(request) => format!("{fault} at request {number}, {request}"),
            None => format!("{fault} at request {number}, which is not made"),
        });
    let befallen: Vec<String> = befallen.collect();
    format!("FAULTS=\"{schedule}\": {}\n  {why}", befallen.join("; "))
}
