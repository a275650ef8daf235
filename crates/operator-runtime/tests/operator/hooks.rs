//! Hooks at the start and the end, probes, and the handle that waits for the controllers.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use operator_runtime::{Controllers, Error, Fatal, Hook, Operator, Settings};

use crate::support::{self, Calls, OPERATOR, Running, server, widgets};

const SOON: Duration = Duration::from_millis(20);

type Log = Arc<Mutex<Vec<String>>>;

/// A hook that logs its calls, and fails the first `failures` times.
fn hook(log: &Log, name: &'static str, failures: usize) -> Hook {
    let (log, attempts) = (log.clone(), AtomicUsize::new(0));
    let run = move |setup: operator_runtime::Setup| {
        let attempt = attempts.fetch_add(1, Ordering::SeqCst) + 1;
        log.lock().unwrap().push(format!("{name}#{attempt}"));
        async move {
            assert_eq!(setup.operator(), OPERATOR);
            match failures {
                failures if attempt <= failures => Err(anyhow::anyhow!("not yet").into()),
                _ => Ok(()),
            }
        }
    };
    Hook::new(name, run).backoff(SOON)
}

fn take(log: &Log) -> Vec<String> {
    std::mem::take(&mut *log.lock().unwrap())
}

#[tokio::test]
async fn start_hooks_are_retried_before_the_setup_and_stop_hooks_come_last_in_reverse_order() {
    let server = server().await;
    let (log, calls) = (Log::default(), Arc::new(Calls::default()));
    let setup = {
        let log = log.clone();
        async move |_| {
            log.lock().unwrap().push("setup".into());
            Ok(support::Widgets::<false>(calls))
        }
    };
    let operator = Operator::new(OPERATOR, Settings::for_tests(), server.client())
        .register(Controllers::new().add(setup, |watches| watches))
        .on_start(hook(&log, "a", 2))
        .on_start(hook(&log, "b", 0))
        .on_stop(hook(&log, "c", 1))
        .on_stop(hook(&log, "d", 0));
    let mut ready = operator.ready_handle();
    let running = Running::run(operator).await;
    assert!(ready.ready().await);
    assert_eq!(running.page("/readyz").await, (200, "ok".into()));
    assert_eq!(take(&log), ["a#1", "a#2", "a#3", "b#1", "setup"]);
    running.stop().await.unwrap();
    assert_eq!(take(&log), ["d#1", "c#1", "c#2"]);
    assert!(!ready.ready().await);
}

#[tokio::test]
async fn a_start_hook_that_fails_for_good_ends_the_operator_and_nothing_else_is_called() {
    let server = server().await;
    let log = Log::default();
    let calls = Arc::new(Calls::default());
    let operator = Operator::new(OPERATOR, Settings::for_tests(), server.client())
        .register(widgets::<false>(&calls))
        .on_start(hook(&log, "a", 9).attempts(2))
        .on_start(hook(&log, "b", 0))
        .on_stop(hook(&log, "c", 0));
    let mut ready = operator.ready_handle();
    let mut running = Running::run(operator).await;
    assert!(!ready.ready().await);
    let error = running.ended().await.unwrap_err();
    assert_eq!(error.to_string(), "the hook \"a\" has failed: not yet");
    assert_eq!(take(&log), ["a#1", "a#2"]);

    for wrong in ["permanent", "panic"] {
        let run = move |_| async move {
            assert_ne!(wrong, "panic", "no luck");
            Err(Error::permanent(anyhow::anyhow!("wrong")))
        };
        let operator = Operator::new(OPERATOR, Settings::for_tests(), server.client())
            .on_start(Hook::new("once", run).timeout(Duration::ZERO));
        let error = Running::run(operator).await.ended().await.unwrap_err();
        assert!(matches!(error, Fatal::Hook { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_shutdown_does_not_wait_for_a_start_hook_and_a_stop_hook_has_the_shutdown_timeout() {
    let server = server().await;
    let log = Log::default();
    let operator = Operator::new(OPERATOR, Settings::for_tests(), server.client())
        .on_start(hook(&log, "a", usize::MAX))
        .on_stop(hook(&log, "b", 0));
    let running = Running::run(operator).await;
    server
        .eventually("the hook is called", async || {
            (!log.lock().unwrap().is_empty()).then_some(())
        })
        .await;
    assert_eq!(running.page("/readyz").await, (503, "starting".into()));
    running.stop().await.unwrap();
    assert!(take(&log).iter().all(|line| line.starts_with("a#")));

    let mut settings = Settings::for_tests();
    settings.shutdown_timeout = SOON;
    let calls = Arc::new(Calls::default());
    let operator = Operator::new(OPERATOR, settings, server.client())
        .register(widgets::<false>(&calls))
        .on_stop(hook(&log, "called", 0))
        .on_stop(hook(&log, "failing", usize::MAX));
    let mut ready = operator.ready_handle();
    let running = Running::run(operator).await;
    assert!(ready.ready().await);
    let error = running.stop().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the hook \"failing\" has failed: no time is left"
    );
    assert_eq!(take(&log).last().unwrap(), "called#1");
}

#[cfg(unix)]
#[tokio::test]
async fn an_operator_ends_when_the_process_that_started_it_is_gone() {
    let server = server().await;
    for is_gone in [false, true] {
        let calls = Arc::new(Calls::default());
        let mut settings = Settings::for_tests();
        let parent = std::os::unix::process::parent_id();
        settings.parent_process = Some(parent + u32::from(is_gone));
        let operator = Operator::new(OPERATOR, settings, server.client());
        let operator = operator.register(widgets::<false>(&calls));
        let mut ready = operator.ready_handle();
        let mut running = Running::run(operator).await;
        if is_gone {
            running.ended().await.unwrap();
        } else {
            assert!(ready.ready().await);
            assert!(!running.task.is_finished());
        }
    }
}

#[tokio::test]
async fn probes_of_the_program_are_part_of_health_and_readiness() {
    let server = server().await;
    let calls = Arc::new(Calls::default());
    let [healthy, connected] = [true, false].map(|it| Arc::new(AtomicBool::new(it)));
    let check = |flag: &Arc<AtomicBool>, problem: &'static str| {
        let flag = flag.clone();
        move || {
            let is_fine = flag.load(Ordering::SeqCst);
            async move {
                if is_fine {
                    Ok(())
                } else {
                    Err(anyhow::anyhow!(problem).into())
                }
            }
        }
    };
    let operator = Operator::new(OPERATOR, Settings::for_tests(), server.client())
        .register(widgets::<false>(&calls))
        .liveness("queue", check(&healthy, "9 wait"))
        .readiness("database", check(&connected, "no answer"));
    let mut ready = operator.ready_handle();
    let running = Running::run(operator).await;
    assert!(ready.ready().await);
    let pages = async || {
        [
            running.page("/healthz").await,
            running.page("/readyz").await,
        ]
    };
    let ok = (200, "ok".to_owned());
    let unready = (503, "database: no answer".to_owned());
    assert_eq!(pages().await, [ok.clone(), unready.clone()]);
    healthy.store(false, Ordering::SeqCst);
    connected.store(true, Ordering::SeqCst);
    assert_eq!(pages().await, [(503, "queue: 9 wait".into()), ok]);
    running.stop().await.unwrap();
}
