//! A repository in a registry: the requests of a push, with credentials if the registry asks for them.

use std::time::Duration;

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use form_urlencoded::Serializer;
use http::{
    HeaderValue, Method, Request, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, LOCATION, WWW_AUTHENTICATE},
};
use http_body_util::Full;
use serde_json::Value;

use super::{
    Credentials, PushError,
    challenge::{Challenge, challenge},
    http::{Http, Response},
    origin::Origin,
    retry,
};
use crate::image::{Blob, Reference, descriptor::media_type};

/// The upload of a blob, in errors.
const UPLOAD: &str = "the upload of a blob";

/// How long the cancellation of an upload may take.
const CANCELLATION: Duration = Duration::from_secs(10);

pub struct Registry {
    http: Http,
    /// The host as the user names it.
    host: String,
    /// The root of the API, such as `https://ghcr.io`.
    url: String,
    origin: Origin,
    repository: String,
    credentials: Option<Credentials>,
    /// The header `Authorization`, once the registry has asked for it.
    authorization: Option<HeaderValue>,
}

impl Registry {
    pub fn new(name: &Reference, credentials: Option<Credentials>) -> Result<Self, PushError> {
        let url = name.origin();
        let origin = Origin::of(&url).ok_or_else(|| PushError::Host(name.registry.clone()))?;
        Ok(Self {
            http: Http::new()?,
            host: name.registry.clone(),
            url,
            origin,
            repository: name.repository.clone(),
            credentials,
            authorization: None,
        })
    }

    /// Begins an upload, and cancels it: only that shows whether the credentials may push.
    pub async fn check(&mut self) -> Result<(), PushError> {
        let url = self.begin_upload().await?;
        // this may fail, because many registries require the permission to delete, which a push does not need; they discard unfinished
        // uploads anyway
        let _answer = tokio::time::timeout(CANCELLATION, self.cancel_upload(&url)).await;
        Ok(())
    }

    /// Whether the registry has a blob. An error counts as no: the upload then fails with a message, which a response to HEAD does not
    /// have.
    pub async fn has_blob(&mut self, blob: &Blob) -> Result<bool, PushError> {
        let url = self.url(&format!("blobs/{}", blob.descriptor.digest));
        let response = self.send(Method::HEAD, &url, &[], &[]).await?;
        // some registries redirect to their storage
        Ok(response.status.is_success() || response.status.is_redirection())
    }

    /// Uploads a blob in two requests: the first one returns the URL for the second.
    pub async fn upload_blob(&mut self, blob: &Blob) -> Result<(), PushError> {
        let url = self.begin_upload().await?;
        let separator = if url.contains('?') { '&' } else { '?' };
        let url = format!("{url}{separator}digest={}", blob.descriptor.digest);
        let headers = [(CONTENT_TYPE, "application/octet-stream")];
        let ended = self.send(Method::PUT, &url, &headers, &blob.bytes).await?;
        self.accept(UPLOAD, ended)?;
        Ok(())
    }

    /// Returns the URL to which a blob is then sent.
    async fn begin_upload(&mut self) -> Result<String, PushError> {
        let begun = self
            .send(Method::POST, &self.url("blobs/uploads/"), &[], &[])
            .await?;
        let begun = self.accept(UPLOAD, begun)?;
        let location = begun.headers.get(LOCATION);
        let location = location.and_then(|it| it.to_str().ok()).unwrap_or_default();
        self.upload_url(location)
    }

    /// Cancels an upload with one request, which is not repeated.
    async fn cancel_upload(&self, url: &str) -> Result<Response, PushError> {
        let request = self.authorized(&Method::DELETE, url, &[]);
        let request = request.body(Full::default()).map_err(self.unusable())?;
        self.http.send(&self.host, request).await
    }

    /// The URL in the response to the start of an upload. It can be one of another host.
    fn upload_url(&self, location: &str) -> Result<String, PushError> {
        let url = if location.starts_with('/') {
            format!("{}{location}", self.url)
        } else {
            location.to_owned()
        };
        let origin = Origin::of(&url).ok_or_else(|| PushError::Response {
            host: self.host.clone(),
            expected: "the URL of an upload",
            response: location.to_owned(),
        })?;
        if self.origin.may_upload_to(&origin) {
            Ok(url)
        } else {
            Err(PushError::InsecureUpload {
                host: self.host.clone(),
                other: origin.to_string(),
            })
        }
    }

    /// The response to the request of a manifest, which may not exist.
    pub async fn manifest(&mut self, name: &str) -> Result<Response, PushError> {
        let url = self.url(&format!("manifests/{name}"));
        let headers = [(ACCEPT, media_type::INDEX)];
        let response = self.send(Method::GET, &url, &headers, &[]).await?;
        match response.status {
            StatusCode::NOT_FOUND => Ok(response),
            _ => self.accept("the request of a manifest", response),
        }
    }

    /// Uploads a manifest under a digest or a tag.
    pub async fn put_manifest(&mut self, blob: &Blob, name: &str) -> Result<Response, PushError> {
        let url = self.url(&format!("manifests/{name}"));
        let headers = [(CONTENT_TYPE, blob.descriptor.media_type)];
        let response = self.send(Method::PUT, &url, &headers, &blob.bytes).await?;
        self.accept("the upload of a manifest", response)
    }

    fn url(&self, path: &str) -> String {
        format!("{}/v2/{}/{path}", self.url, self.repository)
    }

    /// Turns a response that is not a success into an error with the registry's message.
    fn accept(&self, act: &str, response: Response) -> Result<Response, PushError> {
        if response.status.is_success() {
            Ok(response)
        } else {
            Err(PushError::Refused {
                host: self.host.clone(),
                act: format!("{act} to {}", self.repository),
                status: response.status,
                message: message(&response.body),
                with_credentials: self.credentials.is_some(),
            })
        }
    }

    /// Sends a request, and once more if the registry asks for credentials.
    async fn send(
        &mut self,
        method: Method,
        url: &str,
        headers: &[(HeaderName, &'static str)],
        body: &[u8],
    ) -> Result<Response, PushError> {
        let response = self.send_once(&method, url, headers, body).await?;
        if response.status != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        if let Some(other) = Origin::of(url).filter(|other| *other != self.origin) {
            return Err(PushError::Foreign {
                host: self.host.clone(),
                other: other.to_string(),
            });
        }
        if !self.authorize(&response).await? {
            return Ok(response);
        }
        self.send_once(&method, url, headers, body).await
    }

    async fn send_once(
        &self,
        method: &Method,
        url: &str,
        headers: &[(HeaderName, &'static str)],
        body: &[u8],
    ) -> Result<Response, PushError> {
        let request = self.authorized(method, url, headers);
        self.request(request, body.to_vec()).await
    }

    /// A request with the authorization that the registry has asked for, if it has.
    fn authorized(
        &self,
        method: &Method,
        url: &str,
        headers: &[(HeaderName, &'static str)],
    ) -> http::request::Builder {
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        // an upload can lead to another host, which must not get the credentials
        let is_ours = Origin::of(url).is_some_and(|origin| origin == self.origin);
        match self.authorization.as_ref().filter(|_| is_ours) {
            Some(authorization) => request.header(AUTHORIZATION, authorization),
            None => request,
        }
    }

    fn unusable(&self) -> impl Fn(http::Error) -> PushError {
        |error| PushError::Response {
            host: self.host.clone(),
            expected: "a usable URL",
            response: error.to_string(),
        }
    }

    async fn request(
        &self,
        request: http::request::Builder,
        body: Vec<u8>,
    ) -> Result<Response, PushError> {
        let has_body = !body.is_empty();
        let request = request.body(Full::new(Bytes::from(body)));
        let request = request.map_err(self.unusable())?;
        // not repeated: a POST with a body exchanges a refresh token, which the service may accept only once
        if request.method() == Method::POST && has_body {
            self.http.send(&self.host, request).await
        } else {
            retry::send(&self.http, &self.host, request).await
        }
    }

    /// Sets the authorization that a registry has asked for. Returns false if there are no credentials for it, or if it was sent already.
    async fn authorize(&mut self, response: &Response) -> Result<bool, PushError> {
        let unknown = || {
            let text = response.headers.get(WWW_AUTHENTICATE);
            PushError::Challenge {
                host: self.host.clone(),
                challenge: text.map_or("no challenge".into(), |it| {
                    String::from_utf8_lossy(it.as_bytes()).into()
                }),
            }
        };
        let value = match challenge(&response.headers).ok_or_else(unknown)? {
            Challenge::Basic => match self.basic() {
                Some(basic) => basic,
                None => return Ok(false),
            },
            Challenge::Bearer { realm, service } => {
                format!("Bearer {}", self.token(&realm, service.as_deref()).await?)
            }
        };
        let mut value = HeaderValue::from_str(&value).map_err(|_| unknown())?;
        value.set_sensitive(true);
        let is_new = self.authorization.as_ref() != Some(&value);
        self.authorization = Some(value);
        Ok(is_new)
    }

    fn basic(&self) -> Option<String> {
        let Some(Credentials::Password { user, password }) = &self.credentials else {
            return None;
        };
        let encoded = BASE64_STANDARD.encode(format!("{user}:{password}"));
        Some(format!("Basic {encoded}"))
    }

    /// Requests a token for this repository; an anonymous one without credentials.
    async fn token(&self, realm: &str, service: Option<&str>) -> Result<String, PushError> {
        let is_secure = Origin::of(realm).is_some_and(|it| self.origin.may_trust(&it));
        if !is_secure {
            return Err(PushError::Insecure {
                host: self.host.clone(),
                realm: realm.to_owned(),
            });
        }
        let scope = format!("repository:{}:pull,push", self.repository);
        let mut query = Serializer::new(String::new());
        query.append_pair("scope", &scope);
        if let Some(service) = service {
            query.append_pair("service", service);
        }
        let response = match &self.credentials {
            Some(Credentials::IdentityToken(token)) => {
                query.append_pair("grant_type", "refresh_token");
                query.append_pair("client_id", "cargo-operator");
                query.append_pair("refresh_token", token);
                let request =
                    Request::post(realm).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
                self.request(request, query.finish().into_bytes()).await?
            }
            _ => {
                let separator = if realm.contains('?') { '&' } else { '?' };
                let mut request = Request::get(format!("{realm}{separator}{}", query.finish()));
                if let Some(basic) = self.basic() {
                    request = request.header(AUTHORIZATION, basic);
                }
                self.request(request, vec![]).await?
            }
        };
        let response = self.accept("a token for pushing", response)?;
        let json: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        let token = json["token"].as_str().or(json["access_token"].as_str());
        token.map(str::to_owned).ok_or_else(|| PushError::Response {
            host: self.host.clone(),
            expected: "a token",
            response: "no `token` and no `access_token`".into(),
        })
    }
}

/// The maximum length of a message of the registry, in characters.
const MAX_MESSAGE: usize = 300;

/// The errors in a response, as the specification defines them, or else its first line.
fn message(body: &[u8]) -> String {
    let json: Value = serde_json::from_slice(body).unwrap_or_default();
    let errors: Vec<String> = json["errors"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|error| {
            let text = |key: &str| error[key].as_str().unwrap_or_default();
            let (code, message) = (text("code"), text("message"));
            let separator = if code.is_empty() || message.is_empty() {
                ""
            } else {
                ": "
            };
            format!("{code}{separator}{message}")
        })
        .collect();
    let text = if errors.is_empty() {
        String::from_utf8_lossy(body)
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()
    } else {
        errors.join("; ")
    };
    text.chars().take(MAX_MESSAGE).collect()
}
