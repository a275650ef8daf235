//! Repeats a request whose failure may be temporary: the connection, or a response that says so.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, header::RETRY_AFTER};
use http_body_util::Full;

use super::{
    PushError,
    http::{Http, Response},
};

/// The waits before the second and the third attempt.
const WAITS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];
/// The longest wait that a registry may ask for, in seconds.
const LONGEST_WAIT: u64 = 30;

/// Sends a request up to three times. It must be one that has the same effect if the server gets it again.
pub async fn send(
    http: &Http,
    host: &str,
    request: Request<Full<Bytes>>,
) -> Result<Response, PushError> {
    for wait in WAITS {
        let response = http.send(host, request.clone()).await;
        match wait_after(&response, wait) {
            Some(wait) => tokio::time::sleep(wait).await,
            None => return response,
        }
    }
    http.send(host, request).await
}

/// How long to wait before the next attempt. `None` if it would not help.
fn wait_after(response: &Result<Response, PushError>, default: Duration) -> Option<Duration> {
    let response = match response {
        Ok(response) if is_temporary(response.status) => response,
        Err(PushError::Unreachable { .. }) => return Some(default),
        _ => return None,
    };
    let seconds = response.headers.get(RETRY_AFTER);
    // a date instead of seconds is ignored
    let seconds: Option<u64> = seconds.and_then(|it| it.to_str().ok()?.parse().ok());
    match seconds {
        None => Some(default),
        Some(seconds) if seconds <= LONGEST_WAIT => Some(Duration::from_secs(seconds)),
        Some(_) => None,
    }
}

fn is_temporary(status: StatusCode) -> bool {
    [
        StatusCode::TOO_MANY_REQUESTS,
        StatusCode::INTERNAL_SERVER_ERROR,
        StatusCode::BAD_GATEWAY,
        StatusCode::SERVICE_UNAVAILABLE,
        StatusCode::GATEWAY_TIMEOUT,
    ]
    .contains(&status)
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;

    #[test]
    fn the_wait_is_that_of_the_registry_unless_it_is_long() {
        for (status, header, expected) in [
            (503, None, Some(3)),
            (429, Some("0"), Some(0)),
            (500, Some("30"), Some(30)),
            (502, Some("31"), None),
            (504, Some("Wed, 21 Oct 2026 07:28:00 GMT"), Some(3)),
            (501, None, None),
            (404, Some("1"), None),
            (201, None, None),
        ] {
            let mut headers = HeaderMap::new();
            headers.extend(header.map(|it| (RETRY_AFTER, it.parse().unwrap())));
            let response = Response {
                status: StatusCode::from_u16(status).unwrap(),
                headers,
                body: Bytes::new(),
            };
            let wait = wait_after(&Ok(response), Duration::from_secs(3));
            assert_eq!(wait.map(|it| it.as_secs()), expected, "{status} {header:?}");
        }
    }

    #[test]
    fn a_failed_connection_is_tried_again_but_not_a_slow_or_unsafe_one() {
        let (host, message) = (|| "a.b".to_owned(), || "reset".to_owned());
        let unreachable = PushError::Unreachable {
            host: host(),
            message: message(),
        };
        let tls = PushError::Tls {
            host: host(),
            message: message(),
        };
        let late = PushError::Late {
            host: host(),
            seconds: 600,
        };
        let wait = |error| wait_after(&Err(error), Duration::from_secs(1));
        assert_eq!(wait(unreachable), Some(Duration::from_secs(1)));
        assert_eq!(wait(tls), None);
        assert_eq!(wait(late), None);
    }
}
