//! A registry in the test process that implements the OCI distribution specification, except for the deletion of manifests and blobs.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    sync::{Arc, Mutex},
    thread,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

pub const USER: &str = "me";
pub const PASSWORD: &str = "secret: é";
pub const IDENTITY_TOKEN: &str = "identity";

/// How the registry authenticates users.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Auth {
    #[default]
    None,
    Basic,
    /// By a service that issues tokens for one repository.
    Token,
}

/// How a registry differs from a usual one.
#[derive(Clone, Default)]
pub struct Settings {
    pub auth: Auth,
    /// Whether the credentials are needed for changes only.
    pub reads_need_no_login: bool,
    /// Whether it lists the referrers of a manifest itself.
    pub lists_referrers: bool,
    /// A part of the request lines that are refused, with the status line and the body of the answer.
    pub refused: Option<(&'static str, &'static str, &'static str)>,
    /// Parts of request lines, and the status line of the answer to the first such request; if that is empty, the connection is closed.
    pub faults: Vec<(&'static str, &'static str)>,
    /// The realm for tokens, if it is not this registry.
    pub realm: Option<&'static str>,
    /// The address of another registry that receives the uploads.
    pub uploads_to: Option<String>,
}

#[derive(Default)]
struct State {
    settings: Settings,
    blobs: BTreeMap<String, Vec<u8>>,
    /// By digest and by tag, with their media types.
    manifests: BTreeMap<String, (String, Vec<u8>)>,
    /// The request lines so far.
    requests: Vec<String>,
    /// The values of `Authorization`.
    authorizations: Vec<String>,
}

pub struct Registry {
    pub address: String,
    state: Arc<Mutex<State>>,
}

struct Request {
    line: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

struct Answer {
    status: &'static str,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

pub fn digest(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

impl Registry {
    pub fn start(settings: Settings) -> Self {
        Self::start_at("127.0.0.1", settings, None)
    }

    /// A registry at an address that the command does not treat as local, and its certificate. Only Linux has this address.
    #[cfg(target_os = "linux")]
    pub fn start_with_tls(settings: Settings) -> (Self, String) {
        let host = "127.0.0.2";
        let generated = rcgen::generate_simple_self_signed([host.to_owned()]).unwrap();
        let key = generated.signing_key.serialize_der();
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(
                vec![generated.cert.der().clone()],
                rustls::pki_types::PrivateKeyDer::try_from(key).unwrap(),
            )
            .unwrap();
        let registry = Self::start_at(host, settings, Some(Arc::new(config)));
        (registry, generated.cert.pem())
    }

    fn start_at(host: &str, settings: Settings, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind((host, 0)).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let state = Arc::new(Mutex::new(State {
            settings,
            ..State::default()
        }));
        let (shared, own) = (state.clone(), address.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (shared, own) = (shared.clone(), own.clone());
                let (stream, tls) = (stream.unwrap(), tls.clone());
                thread::spawn(move || match tls {
                    Some(tls) => {
                        let connection = ServerConnection::new(tls).unwrap();
                        answer(StreamOwned::new(connection, stream), &shared, &own);
                    }
                    None => answer(stream, &shared, &own),
                });
            }
        });
        Self { address, state }
    }

    pub fn set(&self, settings: Settings) {
        self.state.lock().unwrap().settings = settings;
    }

    /// The request lines since the last call.
    pub fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().unwrap().requests)
    }

    /// The faults that did not happen yet.
    pub fn faults(&self) -> usize {
        self.state.lock().unwrap().settings.faults.len()
    }

    pub fn authorizations(&self) -> Vec<String> {
        self.state.lock().unwrap().authorizations.clone()
    }

    /// The digests of the blobs.
    pub fn blobs(&self) -> Vec<String> {
        self.state.lock().unwrap().blobs.keys().cloned().collect()
    }

    pub fn put_manifest(&self, name: &str, text: &str) {
        let manifest = ("application/json".to_owned(), text.as_bytes().to_vec());
        let mut state = self.state.lock().unwrap();
        state.manifests.insert(name.to_owned(), manifest);
    }

    /// The media type and the content of a manifest.
    pub fn manifest(&self, name: &str) -> Option<(String, Value)> {
        let state = self.state.lock().unwrap();
        let (media_type, bytes) = state.manifests.get(name)?;
        Some((media_type.clone(), serde_json::from_slice(bytes).unwrap()))
    }
}

fn read(stream: impl Read) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut headers = BTreeMap::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim().split_once(':') else {
            break;
        };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length");
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body).ok()?;
    let line = line.trim().trim_end_matches(" HTTP/1.1").to_owned();
    Some(Request {
        line,
        headers,
        body,
    })
}

fn answer(mut stream: impl Read + Write, state: &Mutex<State>, own: &str) {
    let Some(request) = read(&mut stream) else {
        return;
    };
    let mut state = state.lock().unwrap();
    state.requests.push(request.line.clone());
    state
        .authorizations
        .extend(request.headers.get("authorization").cloned());
    let answer = match state.fault(&request.line) {
        Some("") => return,
        Some(status) => of(status),
        None => state.answer(&request, own),
    };
    let mut head = format!("HTTP/1.1 {}\r\nConnection: close\r\n", answer.status);
    for (name, value) in answer.headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += &format!("Content-Length: {}\r\n\r\n", answer.body.len());
    stream.write_all(head.as_bytes()).unwrap();
    if !request.line.starts_with("HEAD") {
        stream.write_all(&answer.body).unwrap();
    }
}

fn of(status: &'static str) -> Answer {
    Answer {
        status,
        headers: vec![],
        body: vec![],
    }
}

fn refusal(status: &'static str, code: &str, message: &str) -> Answer {
    let body = json!({"errors": [{"code": code, "message": message}]});
    Answer {
        body: body.to_string().into_bytes(),
        ..of(status)
    }
}

impl State {
    /// The fault of a request, which happens once.
    fn fault(&mut self, line: &str) -> Option<&'static str> {
        let faults = &mut self.settings.faults;
        let position = faults.iter().position(|(part, _)| line.contains(part))?;
        Some(faults.remove(position).1)
    }

    fn answer(&mut self, request: &Request, own: &str) -> Answer {
        let line = request.line.as_str();
        if let Some((part, status, body)) = self.settings.refused
            && line.contains(part)
        {
            return Answer {
                body: body.as_bytes().to_vec(),
                ..of(status)
            };
        }
        let basic = format!(
            "Basic {}",
            BASE64_STANDARD.encode(format!("{USER}:{PASSWORD}"))
        );
        let authorization = request.headers.get("authorization");
        if line.contains("/token") {
            let form = String::from_utf8_lossy(&request.body).into_owned() + line;
            let is_right = form.contains("scope=repository%3Ame%2Fwidget%3Apull%2Cpush")
                && form.contains("service=the+service")
                && if line.starts_with("POST") {
                    form.contains(&format!("refresh_token={IDENTITY_TOKEN}"))
                } else {
                    authorization == Some(&basic)
                };
            return if is_right {
                Answer {
                    body: json!({"token": "issued"}).to_string().into_bytes(),
                    ..of("200 OK")
                }
            } else {
                refusal("401 Unauthorized", "DENIED", "wrong password")
            };
        }
        let (wanted, challenge) = match self.settings.auth {
            Auth::None => (None, String::new()),
            Auth::Basic => (Some(basic), "Basic realm=\"registry\"".to_owned()),
            // the scope of the token does not include deletions
            Auth::Token if line.starts_with("DELETE") => {
                let challenge = format!("Bearer realm=\"http://{own}/token\"");
                (Some(String::new()), challenge)
            }
            Auth::Token => {
                let realm = self
                    .settings
                    .realm
                    .map_or(format!("http://{own}/token"), Into::into);
                let challenge = format!("Bearer realm=\"{realm}\",service=\"the service\"");
                (Some("Bearer issued".to_owned()), challenge)
            }
        };
        let is_read = line.starts_with("GET") || line.starts_with("HEAD");
        let is_open = self.settings.reads_need_no_login && is_read;
        if !is_open && wanted.is_some() && authorization != wanted.as_ref() {
            let mut answer = refusal(
                "401 Unauthorized",
                "UNAUTHORIZED",
                "authentication required",
            );
            answer.headers.push(("WWW-Authenticate", challenge));
            return answer;
        }
        self.request(request, own)
    }

    fn request(&mut self, request: &Request, own: &str) -> Answer {
        let (method, url) = request.line.split_once(' ').unwrap();
        let path = url.strip_prefix("/v2/me/widget/").unwrap_or_default();
        if method == "POST" && path == "blobs/uploads/" {
            let to = match &self.settings.uploads_to {
                Some(other) => format!("http://{other}/v2/me/widget/blobs/uploads/1"),
                // a relative URL with a query is allowed, too
                None => "/v2/me/widget/blobs/uploads/1?state=x".to_owned(),
            };
            let mut answer = of("202 Accepted");
            answer.headers.push(("Location", to));
            return answer;
        }
        if method == "DELETE" && path.starts_with("blobs/uploads/1?") {
            return of("204 No Content");
        }
        if method == "PUT" && path.starts_with("blobs/uploads/1?") {
            let (_, wanted) = path.split_once("digest=").unwrap();
            assert_eq!(wanted, digest(&request.body), "{own}");
            self.blobs.insert(wanted.to_owned(), request.body.clone());
            return of("201 Created");
        }
        if let Some(digest) = path.strip_prefix("blobs/") {
            return if self.blobs.contains_key(digest) {
                of("200 OK")
            } else {
                of("404 Not Found")
            };
        }
        let Some(name) = path.strip_prefix("manifests/") else {
            return refusal("404 Not Found", "NAME_UNKNOWN", "repository name not known");
        };
        match method {
            "GET" => match self.manifests.get(name) {
                Some((_, bytes)) => Answer {
                    body: bytes.clone(),
                    ..of("200 OK")
                },
                None => refusal("404 Not Found", "MANIFEST_UNKNOWN", "unknown"),
            },
            "PUT" => self.put_manifest(name, request),
            _ => of("405 Method Not Allowed"),
        }
    }

    /// Stores a manifest. All that it refers to must exist, except for its subject, and for the manifests in a list of referrers.
    fn put_manifest(&mut self, name: &str, request: &Request) -> Answer {
        let manifest: Value = serde_json::from_slice(&request.body).unwrap();
        let media_type = request.headers["content-type"].clone();
        assert_eq!(manifest["mediaType"], media_type.as_str());
        let list = |key: &str| manifest[key].as_array().cloned().unwrap_or_default();
        let of_config = [manifest["config"].clone()];
        let blobs = list("layers").into_iter().chain(of_config);
        let is_known = blobs
            .filter_map(|it| it["digest"].as_str().map(str::to_owned))
            .all(|digest| self.blobs.contains_key(&digest));
        let are_known = name.starts_with("sha256-")
            || list("manifests")
                .iter()
                .all(|it| self.manifests.contains_key(it["digest"].as_str().unwrap()));
        if !is_known || !are_known {
            return refusal(
                "404 Not Found",
                "MANIFEST_BLOB_UNKNOWN",
                "a blob is missing",
            );
        }
        let digest = digest(&request.body);
        if name.starts_with("sha256:") {
            assert_eq!(name, digest);
        }
        for key in [name.to_owned(), digest] {
            let manifest = (media_type.clone(), request.body.clone());
            self.manifests.insert(key, manifest);
        }
        let mut answer = of("201 Created");
        if let Some(subject) = manifest["subject"]["digest"].as_str()
            && self.settings.lists_referrers
        {
            answer.headers.push(("OCI-Subject", subject.to_owned()));
        }
        answer
    }
}
