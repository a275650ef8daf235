//! The other system limits the rate of its requests, or is busy for a while.

use super::*;

#[tokio::test(start_paused = true)]
async fn fourteen_objects_are_synced_by_a_system_that_permits_five_calls_a_second() {
    let (server, world) = (server().await, World::default());
    *world.0.calls_left.lock().unwrap() = Some(5);
    let refill = {
        let world = world.clone();
        async move {
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                *world.0.calls_left.lock().unwrap() = Some(5);
            }
        }
    };
    let refill = tokio::spawn(refill);
    let controllers = controllers(world.clone(), ExternalOptions::default());
    let running = Running::start(server.client(), Settings::for_tests(), controllers).await;
    let begin = tokio::time::Instant::now();
    let names: Vec<String> = (0..14).map(|number| format!("a{number}")).collect();
    for name in &names {
        create(&server, name, "name").await;
    }
    let api: Api<Widget> = Api::default_namespaced(server.client());
    let is_synced = |widget: &Widget| condition(widget, "Synced").as_deref() == Some("True");
    while !api
        .list(&Default::default())
        .await
        .unwrap()
        .iter()
        .all(is_synced)
    {
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(
            begin.elapsed() < Duration::from_secs(30),
            "{:?}",
            world.changes()
        );
    }
    let throttled = running.metric(r#"operator_throttled_reconciles_total{controller="widget"}"#);
    let (throttled, took) = (throttled.await.unwrap(), begin.elapsed());
    assert!((1.0..60.0).contains(&throttled), "{throttled} in {took:?}");
    refill.abort();
}

#[tokio::test]
async fn the_conditions_of_an_object_outlast_a_busy_system_for_the_time_of_the_option() {
    let (server, world) = (server().await, World::default());
    let options = ExternalOptions::default()
        .rate(1000.0, 1000)
        .poll(Duration::from_millis(100))
        .unobserved(Duration::from_secs(5));
    let controllers = controllers(world.clone(), options);
    let running = Running::start(server.client(), Settings::for_tests(), controllers).await;
    create(&server, "a", "name").await;
    let before = until_reason(&server, "a", "Synced").await;
    *world.0.calls_left.lock().unwrap() = Some(0);
    event(&server, "a", "Throttled").await;
    let api: Api<Widget> = Api::default_namespaced(server.client());
    let status = |widget: Widget| serde_json::to_value(widget.status).unwrap();
    assert_eq!(status(api.get("a").await.unwrap()), status(before.clone()));
    let widget = until_reason(&server, "a", "ReconcileError").await;
    assert_eq!(condition(&widget, "Ready").as_deref(), Some("Unknown"));
    *world.0.calls_left.lock().unwrap() = None;
    let after = until_reason(&server, "a", "Synced").await;
    assert_eq!(condition(&after, "Ready").as_deref(), Some("True"));
    running.stop().await.unwrap();
}

#[tokio::test]
async fn the_conditions_of_an_object_whose_thing_is_not_there_yet_show_a_busy_system() {
    let (server, world) = (server().await, World::default());
    *world.0.calls_left.lock().unwrap() = Some(0);
    let _running = start(&server, &world).await;
    create(&server, "a", "name").await;
    until_reason(&server, "a", "ReconcileError").await;
}
