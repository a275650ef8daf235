//! `/healthz`, `/readyz` and `/metrics` over HTTP.

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Router,
    http::{StatusCode, header::CONTENT_TYPE},
    response::IntoResponse,
    routing::get,
};
use tokio::net::TcpListener;

use crate::{error::Fatal, health::Health, metrics::Metrics};

/// The registered media type of what the metrics are written in.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(crate) async fn listen(address: SocketAddr) -> Result<TcpListener, Fatal> {
    TcpListener::bind(address)
        .await
        .map_err(|source| Fatal::Listen { address, source })
}

/// Serves until it is dropped, or says why it no longer can.
pub(crate) async fn serve(
    listener: TcpListener,
    health: Arc<Health>,
    metrics: Arc<Metrics>,
) -> Fatal {
    let alive = health.clone();
    let app = Router::new()
        .route("/healthz", get(async move || answer(alive.unhealthy())))
        .route("/readyz", get(async move || answer(health.unready())))
        .route(
            "/metrics",
            get(async move || match metrics.page() {
                Ok(page) => ([(CONTENT_TYPE, OPEN_METRICS)], page).into_response(),
                Err(error) => {
                    (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response()
                }
            }),
        );
    let ended = axum::serve(listener, app).await;
    Fatal::Unserved(ended.map_or_else(|error| error.to_string(), |()| "the server ended".into()))
}

fn answer(trouble: Option<String>) -> (StatusCode, String) {
    match trouble {
        None => (StatusCode::OK, "ok".into()),
        Some(trouble) => (StatusCode::SERVICE_UNAVAILABLE, trouble),
    }
}
