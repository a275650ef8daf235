//! Who gets the page, and how often the API server is asked.

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use operator_testing::Server;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

const PERMISSION: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: metrics-reader}
rules: [{nonResourceURLs: [/metrics], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: metrics-reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: metrics-reader}
subjects: [{kind: ServiceAccount, name: prometheus, namespace: default}]
";

async fn token(server: &Server, account: &str) -> String {
    let text = format!(
        "{{apiVersion: v1, kind: ServiceAccount, metadata: {{name: {account}, namespace: default}}}}"
    );
    server.install(&text).await.unwrap();
    let accounts: Api<ServiceAccount> = Api::namespaced(server.client(), "default");
    let request = TokenRequest {
        spec: TokenRequestSpec::default(),
        ..TokenRequest::default()
    };
    let params = PostParams::default();
    let answer = accounts.create_token_request(account, &params, &request);
    answer.await.unwrap().status.unwrap().token
}

async fn get(gate: &Gate, path: &str, token: Option<&str>) -> StatusCode {
    let mut request = Request::get(path);
    if let Some(token) = token {
        request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    }
    let metrics = Metrics::new("test", "test");
    respond(&request.body(()).unwrap(), gate, &metrics)
        .await
        .status()
}

fn reviews(server: &Server) -> usize {
    let requests = server.requests();
    requests
        .iter()
        .filter(|it| it.resource.ends_with("reviews"))
        .count()
}

#[tokio::test(start_paused = true)]
async fn only_users_with_the_permission_get_the_page() {
    let server = Server::in_memory();
    server.install(PERMISSION).await.unwrap();
    let (reader, other) = (
        token(&server, "prometheus").await,
        token(&server, "other").await,
    );
    let gate = Gate::new(server.client());
    for (token, expected) in [
        (Some(reader.as_str()), StatusCode::OK),
        (Some(other.as_str()), StatusCode::FORBIDDEN),
        (Some("garbage"), StatusCode::UNAUTHORIZED),
        (Some(""), StatusCode::UNAUTHORIZED),
        (None, StatusCode::UNAUTHORIZED),
    ] {
        assert_eq!(get(&gate, METRICS, token).await, expected, "{token:?}");
    }
    assert_eq!(
        get(&gate, "/healthz", Some(&reader)).await,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test(start_paused = true)]
async fn a_verdict_holds_for_a_minute() {
    let server = Server::in_memory();
    server.install(PERMISSION).await.unwrap();
    let reader = token(&server, "prometheus").await;
    let gate = Gate::new(server.client());
    for _ in 0..3 {
        assert_eq!(get(&gate, METRICS, Some(&reader)).await, StatusCode::OK);
    }
    assert_eq!(reviews(&server), 2);
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/metrics-reader";
    let request = Request::delete(path).body(vec![]).unwrap();
    server
        .client()
        .request::<serde_json::Value>(request)
        .await
        .unwrap();
    assert_eq!(get(&gate, METRICS, Some(&reader)).await, StatusCode::OK);
    tokio::time::advance(ALLOWED_FOR).await;
    assert_eq!(
        get(&gate, METRICS, Some(&reader)).await,
        StatusCode::FORBIDDEN
    );
}

#[tokio::test(start_paused = true)]
async fn unknown_tokens_do_not_fill_the_memory() {
    let server = Server::in_memory();
    let gate = Gate::new(server.client());
    for number in 0..MAX_VERDICTS + 10 {
        let code = get(&gate, METRICS, Some(&number.to_string())).await;
        assert_eq!(code, StatusCode::UNAUTHORIZED);
    }
    assert!(gate.verdicts.lock().unwrap().len() <= MAX_VERDICTS);
}

#[tokio::test(start_paused = true)]
async fn unknown_tokens_do_not_push_out_the_known_one() {
    let server = Server::in_memory();
    server.install(PERMISSION).await.unwrap();
    let reader = token(&server, "prometheus").await;
    let gate = Gate::new(server.client());
    assert_eq!(get(&gate, METRICS, Some(&reader)).await, StatusCode::OK);
    for number in 0..MAX_VERDICTS {
        gate.remember([number as u8; SHA256_OUTPUT_LEN], Verdict::Unknown);
        let mut hash = [0; SHA256_OUTPUT_LEN];
        hash[0] = number as u8;
        gate.remember(hash, Verdict::Unknown);
    }
    let asked = reviews(&server);
    assert_eq!(get(&gate, METRICS, Some(&reader)).await, StatusCode::OK);
    assert_eq!(reviews(&server), asked);
}

#[tokio::test(start_paused = true)]
async fn few_unknown_tokens_are_reviewed_in_a_second() {
    let server = Server::in_memory();
    let gate = Gate::new(server.client());
    let tokens: Vec<_> = (0..CONNECTIONS).map(|number| number.to_string()).collect();
    let begun = Instant::now();
    let requests = tokens.iter().map(|token| get(&gate, METRICS, Some(token)));
    futures::future::join_all(requests).await;
    let shortest = PAUSE * (CONNECTIONS / REVIEWS) as u32;
    assert!(begun.elapsed() >= shortest, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_operator_that_may_not_ask_answers_503() {
    let server = Server::in_memory();
    let gate = Gate::new(server.client_as("system:serviceaccount:shop:op"));
    let code = get(&gate, METRICS, Some("a")).await;
    assert_eq!(code, StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn a_connection_has_one_request() {
    let server = Server::in_memory();
    let gate = Arc::new(Gate::new(server.client()));
    let (mut client, stream) = tokio::io::duplex(4096);
    let metrics = Arc::new(Metrics::new("test", "test"));
    tokio::spawn(answer(stream, gate, metrics));
    let request = "GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n";
    client.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    client.read_to_string(&mut response).await.unwrap();
    assert!(response.starts_with("HTTP/1.1 401"), "{response}");
    assert!(response.contains("connection: close"), "{response}");
}
