//! An operator that is killed at one of its writes, or of which one write is refused: every handler has its effect, and the kill or the
//! refusal repeats at most one call.

use super::*;
use kube::{Client, api::DeleteParams, client::Body};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use tokio::sync::Notify;
use tower::{ServiceBuilder, ServiceExt};

/// What happens to the chosen write.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// The operator is killed before it is sent.
    Before,
    /// The operator is killed before it is answered.
    After,
    /// It is refused, as the API server does when others write the object all the time.
    Refused,
}

/// A client whose write with this number never returns, or is refused. Then it notifies `killed`.
fn failing(server: &Server, number: usize, moment: Moment, killed: Arc<Notify>) -> Client {
    let requests = Arc::new(AtomicUsize::new(0));
    let inner = server.client();
    let service = ServiceBuilder::new().service_fn(move |request: http::Request<Body>| {
        let (inner, requests, killed) = (inner.clone(), requests.clone(), killed.clone());
        async move {
            let is_write = request.method() != "GET";
            let is_chosen = is_write && requests.fetch_add(1, SeqCst) + 1 == number;
            if is_chosen && matches!(moment, Moment::Before) {
                killed.notify_one();
                std::future::pending::<()>().await;
            }
            if is_chosen && matches!(moment, Moment::Refused) {
                killed.notify_one();
                let refusal = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Conflict", "code": 409,
                    "message": "the object has been modified; please apply your changes to the latest version and try again"});
                let answer = http::Response::builder().status(409);
                return Ok(answer.body(Body::from(refusal.to_string().into_bytes())).unwrap());
            }
            let answer = inner.send(request).await;
            if is_chosen {
                killed.notify_one();
                std::future::pending::<()>().await;
            }
            answer.map_err(|error| Box::new(error) as tower::BoxError)
        }
    });
    Client::new(service.boxed_clone(), "default")
}

async fn run(client: Client, journal: &Arc<Journal>) -> Running {
    let handlers = All(journal.clone());
    let setup = async move |_: Setup| Ok(handlers);
    let controllers = Controllers::new().add_handlers(setup, |watches| watches);
    Running::start(client, Settings::for_tests(), controllers).await
}

/// Lets an operator handle the life of an object, and kills it at a write. Returns whether there was such a write.
async fn survives(number: usize, moment: Moment) -> bool {
    let server = server().await;
    let journal = Arc::new(Journal::default());
    journal.plan("create-1", &[Outcome::Temporary]);
    let killed = Arc::new(Notify::new());
    let client = failing(&server, number, moment, killed.clone());
    let running = run(client, &journal).await;
    let abort = running.task.abort_handle();
    let (restarted, to_start) = (server.client(), journal.clone());
    let kills = Arc::new(AtomicUsize::new(0));
    let kill_count = kills.clone();
    let killer = tokio::spawn(async move {
        killed.notified().await;
        kill_count.fetch_add(1, SeqCst);
        if matches!(moment, Moment::Refused) {
            return;
        }
        abort.abort();
        let running = run(restarted, &to_start).await;
        std::future::pending::<()>().await;
        drop(running);
    });
    create_sized(&server, "a", 1).await;
    settled(&server, "a").await;
    patch(&server, "a", json!({"spec": {"size": 2}})).await;
    settled(&server, "a").await;
    let api = widgets(&server);
    api.delete("a", &DeleteParams::default()).await.unwrap();
    server
        .eventually("it is gone", async || {
            api.get_opt("a").await.ok()?.is_none().then_some(())
        })
        .await;
    killer.abort();
    let kills = kills.load(SeqCst);
    let lines = journal.take();
    let calls = [
        "create create-1#1",
        "create create-1#2",
        "create create-2#1",
        "create size#1",
        "update update#1",
        "update size#1",
        "delete delete-1#1",
        "delete delete-2#1",
    ];
    let mut repeated = 0;
    for call in calls {
        let count = lines.iter().filter(|line| line.contains(call)).count();
        // a failed attempt that was not recorded is repeated, and then succeeds
        let is_second = call == "create create-1#2";
        assert!(
            count > 0 || is_second && kills > 0,
            "{number} {moment:?}: {call} is missing in {lines:#?}"
        );
        repeated += count.saturating_sub(1);
    }
    assert!(repeated <= kills, "{number} {moment:?}: {lines:#?}");
    kills > 0
}

#[tokio::test]
async fn every_handler_has_its_effect_and_a_kill_or_a_refusal_repeats_at_most_one() {
    for moment in [Moment::Before, Moment::After, Moment::Refused] {
        let mut number = 1;
        while survives(number, moment).await {
            number += 1;
        }
        assert!(number > 8, "only {number} requests");
    }
}
