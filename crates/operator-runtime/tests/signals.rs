//! Signals reach the whole process, so this binary has only one test.
#![cfg(unix)]

mod support;

use std::{sync::Arc, time::Duration};

use operator_runtime::{Fatal, Settings};
use support::{Calls, Running, create, server, widgets};

fn terminate() {
    let id = std::process::id().to_string();
    let sent = std::process::Command::new("kill")
        .args(["-TERM", &id])
        .status()
        .unwrap();
    assert!(sent.success());
}

#[tokio::test]
async fn sigterm_shuts_down_gracefully_and_a_second_one_immediately() {
    let server = server().await;
    for (way, signals) in [("slow", 1), ("hang", 2)] {
        let calls = Arc::new(Calls::default());
        let mut settings = Settings::for_tests();
        settings.handle_signals = true;
        settings.shutdown_timeout = Duration::from_secs(60);
        let mut running = Running::start(server.client(), settings, widgets::<false>(&calls)).await;
        create(&server, way, way).await;
        server
            .eventually("it is in flight", async || {
                (calls.reconciled() > 0).then_some(())
            })
            .await;
        terminate();
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(!running.task.is_finished());
        if signals == 2 {
            terminate();
        }
        let ended = running.ended().await;
        match signals {
            1 => assert!(ended.is_ok() && calls.finished() >= 1, "{ended:?}"),
            _ => assert!(matches!(ended, Err(Fatal::Interrupted)), "{ended:?}"),
        }
    }
}
