//! Pushes an image with a made-up binary to a registry in this process.

use std::{
    io::Read,
    net::TcpListener,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use cargo_operator::{
    diagnostic::Explain,
    image::{
        Created, Credentials, Description, Image, Part, Platform, PushError, Pushed, Reference,
        Repository, Sbom, SbomPackage,
    },
};
use serde_json::Value;

use crate::registry::{Auth, IDENTITY_TOKEN, PASSWORD, Registry, Settings, USER};

fn image() -> Image {
    let description = Description {
        name: "widget".into(),
        version: "0.1.0".into(),
        ..Description::default()
    };
    let part = |platform: Platform| Part {
        platform,
        binary: platform.to_string().into_bytes(),
        sbom: Sbom {
            root: 0,
            packages: vec![SbomPackage {
                name: "widget".into(),
                version: "0.1.0".into(),
                source: None,
                license: None,
                dependencies: vec![],
            }],
        },
    };
    Image::new(
        &description,
        Created::default(),
        Platform::ALL.map(part).into(),
    )
}

fn push_to(address: &str, credentials: Option<Credentials>) -> Result<Pushed, PushError> {
    let name = Reference::read(&format!("{address}/me/widget:1.0")).unwrap();
    Repository::new(&name, credentials)?.push(&image())
}

fn check(address: &str, credentials: Option<Credentials>) -> Result<(), PushError> {
    let name = Reference::read(&format!("{address}/me/widget:1.0")).unwrap();
    Repository::new(&name, credentials)?.check()
}

fn password(password: &str) -> Option<Credentials> {
    Some(Credentials::Password {
        user: USER.into(),
        password: password.into(),
    })
}

/// The manifests that are attached to each platform's manifest, as the registry's tags list them.
fn referrers(registry: &Registry) -> Vec<Vec<Value>> {
    let platforms = image().platforms;
    platforms
        .iter()
        .map(|it| it.manifest.descriptor.digest.replace(':', "-"))
        .filter_map(|tag| registry.manifest(&tag))
        .map(|(_, index)| index["manifests"].as_array().unwrap().clone())
        .collect()
}

#[test]
fn an_image_is_pushed_with_each_way_to_authenticate() {
    let identity = || Some(Credentials::IdentityToken(IDENTITY_TOKEN.into()));
    for (auth, credentials) in [
        (Auth::None, None),
        (Auth::None, password(PASSWORD)),
        (Auth::Basic, password(PASSWORD)),
        (Auth::Token, password(PASSWORD)),
        (Auth::Token, identity()),
    ] {
        let registry = Registry::start(Settings {
            auth,
            ..Settings::default()
        });
        let pushed = push_to(&registry.address, credentials).unwrap();
        let image = image();
        assert_eq!(pushed.digest, image.index.descriptor.digest);
        let (media_type, index) = registry.manifest("1.0").unwrap();
        assert_eq!(media_type, "application/vnd.oci.image.index.v1+json");
        assert_eq!(
            index,
            serde_json::from_slice::<Value>(&image.index.bytes).unwrap()
        );
        for platform in &image.platforms {
            for blob in platform.blobs() {
                assert!(registry.blobs().contains(&blob.descriptor.digest));
            }
            assert!(
                registry
                    .manifest(&platform.manifest.descriptor.digest)
                    .is_some()
            );
        }
        // the tag is the last request, so it never refers to a part of an image
        let requests = registry.requests();
        assert_eq!(requests.last().unwrap(), "PUT /v2/me/widget/manifests/1.0");
        if auth == Auth::None {
            assert!(
                registry.authorizations().is_empty(),
                "nobody asked for credentials"
            );
        }
        // a token is requested once
        let tokens = requests.iter().filter(|line| line.contains("/token"));
        assert_eq!(tokens.count(), usize::from(auth == Auth::Token));
    }
}

#[test]
fn a_check_uploads_nothing_and_the_push_after_it_needs_no_new_token() {
    let registry = Registry::start(Settings {
        auth: Auth::Token,
        ..Settings::default()
    });
    let name = Reference::read(&format!("{}/me/widget:1.0", registry.address)).unwrap();
    let identity = Credentials::IdentityToken(IDENTITY_TOKEN.into());
    let mut repository = Repository::new(&name, Some(identity)).unwrap();
    repository.check().unwrap();
    assert!(registry.blobs().is_empty());
    let mut requests = registry.requests();
    let cancelled = "DELETE /v2/me/widget/blobs/uploads/1?state=x";
    assert_eq!(requests.last().unwrap(), cancelled);
    repository.push(&image()).unwrap();
    requests.extend(registry.requests());
    let tokens = requests.iter().filter(|line| line.contains("/token"));
    assert_eq!(tokens.count(), 1);
}

#[test]
fn a_check_finds_what_would_refuse_the_push() {
    for (line, status) in [
        ("POST", "403 Forbidden"),
        ("POST", "404 Not Found"),
        ("POST", "507 Insufficient Storage"),
    ] {
        let registry = Registry::start(Settings {
            refused: Some((line, status, "no")),
            ..Settings::default()
        });
        let error = check(&registry.address, None).unwrap_err().to_string();
        let expected = format!("the upload of a blob to me/widget: {status}: no");
        assert!(error.contains(&expected), "{error}");
    }
    // this registry lets everybody read
    let registry = Registry::start(Settings {
        auth: Auth::Basic,
        reads_need_no_login: true,
        ..Settings::default()
    });
    let error = check(&registry.address, password("wrong")).unwrap_err();
    assert!(error.to_string().contains("401 Unauthorized"), "{error}");
    check(&registry.address, password(PASSWORD)).unwrap();
}

#[test]
fn what_is_there_is_not_uploaded_again() {
    let registry = Registry::start(Settings::default());
    let first = push_to(&registry.address, None).unwrap();
    // both platforms have the same empty config of an artifact
    assert_eq!((first.uploaded, first.existing), (7, 1));
    registry.requests();
    let second = push_to(&registry.address, None).unwrap();
    assert_eq!((second.uploaded, second.existing), (0, 8));
    let requests = registry.requests();
    assert!(
        !requests.iter().any(|line| line.contains("uploads")),
        "{requests:?}"
    );
    // the list of referrers has each of them once
    assert_eq!(
        referrers(&registry)
            .iter()
            .map(Vec::len)
            .collect::<Vec<_>>(),
        [1, 1]
    );
}

#[test]
fn sboms_are_listed_by_the_registry_or_by_a_tag() {
    let registry = Registry::start(Settings {
        lists_referrers: true,
        ..Settings::default()
    });
    push_to(&registry.address, None).unwrap();
    assert!(referrers(&registry).is_empty());

    let registry = Registry::start(Settings::default());
    let image = image();
    let tag = image.platforms[0]
        .manifest
        .descriptor
        .digest
        .replace(':', "-");
    let signature = r#"{"mediaType": "application/vnd.oci.image.index.v1+json", "schemaVersion": 2, "manifests": [{"digest": "sha256:signature"}]}"#;
    registry.put_manifest(&tag, signature);
    push_to(&registry.address, None).unwrap();
    let listed = referrers(&registry);
    assert_eq!(listed[0][0]["digest"], "sha256:signature");
    let sbom = &listed[0][1];
    assert_eq!(sbom["artifactType"], "application/spdx+json");
    let (_, manifest) = registry.manifest(sbom["digest"].as_str().unwrap()).unwrap();
    assert_eq!(
        manifest["subject"]["digest"],
        image.platforms[0].manifest.descriptor.digest
    );

    registry.put_manifest(&tag, "[]");
    let error = push_to(&registry.address, None).unwrap_err();
    assert!(error.to_string().contains(&tag), "{error}");
}

#[test]
fn credentials_are_not_sent_to_other_hosts() {
    let storage = Registry::start(Settings::default());
    let registry = Registry::start(Settings {
        auth: Auth::Basic,
        uploads_to: Some(storage.address.clone()),
        ..Settings::default()
    });
    // the registry does not know what is in the other storage
    push_to(&registry.address, password(PASSWORD)).unwrap_err();
    assert!(!storage.blobs().is_empty());
    assert!(storage.authorizations().is_empty());
    assert!(!registry.authorizations().is_empty());

    // not even if the other host asks for them
    for credentials in [
        password(PASSWORD),
        Some(Credentials::IdentityToken(IDENTITY_TOKEN.into())),
        None,
    ] {
        let storage = Registry::start(Settings {
            auth: Auth::Token,
            ..Settings::default()
        });
        let registry = Registry::start(Settings {
            uploads_to: Some(storage.address.clone()),
            ..Settings::default()
        });
        let error = push_to(&registry.address, credentials).unwrap_err();
        let requests = storage.requests();
        assert!(requests[0].starts_with("PUT "), "{requests:?}");
        assert_eq!(requests.len(), 1, "{requests:?}");
        assert!(storage.authorizations().is_empty());
        let text = error.to_string();
        assert!(matches!(error, PushError::Foreign { .. }), "{text}");
        let other = format!("http://{}", storage.address);
        assert!(text.contains(&other), "{text}");
    }

    let registry = Registry::start(Settings {
        auth: Auth::Token,
        realm: Some("http://auth.example.com/token"),
        ..Settings::default()
    });
    let error = push_to(&registry.address, password(PASSWORD)).unwrap_err();
    assert!(matches!(error, PushError::Insecure { .. }), "{error}");
}

#[test]
fn a_refusal_has_the_words_of_the_registry_and_a_cure() {
    const DENIED: &str =
        r#"{"errors": [{"code": "DENIED", "message": "not allowed"}, {"code": "QUOTA"}]}"#;
    let token = Settings {
        auth: Auth::Token,
        ..Settings::default()
    };
    let refused = |part, status, body| Settings {
        refused: Some((part, status, body)),
        ..Settings::default()
    };
    let uploads = "the upload of a blob to me/widget";
    let manifests = "the upload of a manifest to me/widget";
    for (settings, credentials, message, help) in [
        (
            token.clone(),
            None,
            "a token for pushing to me/widget: 401 Unauthorized: DENIED: wrong password",
            "log in with `docker login",
        ),
        (
            token.clone(),
            password("wrong"),
            "401 Unauthorized: DENIED: wrong password",
            "log in again",
        ),
        (
            Settings {
                auth: Auth::Basic,
                ..Settings::default()
            },
            None,
            "401 Unauthorized: UNAUTHORIZED: authentication required",
            "log in with `docker login",
        ),
        (
            Settings {
                auth: Auth::Basic,
                ..Settings::default()
            },
            password("wrong"),
            "401 Unauthorized: UNAUTHORIZED: authentication required",
            "log in again",
        ),
        (
            refused("uploads", "403 Forbidden", DENIED),
            None,
            &format!("{uploads}: 403 Forbidden: DENIED: not allowed; QUOTA"),
            "docker login",
        ),
        (
            refused("uploads", "403 Forbidden", DENIED),
            password(PASSWORD),
            "DENIED",
            "your account may push",
        ),
        (
            refused("/v2/", "404 Not Found", "<html>\nno such project"),
            None,
            &format!("{uploads}: 404 Not Found: <html>"),
            "created first",
        ),
        (
            refused(
                "manifests/1.0",
                "503 Service Unavailable\r\nRetry-After: 0",
                "",
            ),
            None,
            &format!("{manifests}: 503 Service Unavailable"),
            "try again",
        ),
        (
            refused("manifests/sha256", "400 Bad Request", "{}"),
            None,
            &format!("{manifests}: 400 Bad Request: {{}}"),
            "OCI images",
        ),
    ] {
        let registry = Registry::start(settings);
        let error = push_to(&registry.address, credentials).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with(&format!("{} refused ", registry.address)),
            "{text}"
        );
        assert!(text.contains(message), "{text}");
        assert!(error.help().contains(help), "{}", error.help());
        assert!(
            registry.manifest("1.0").is_none(),
            "a part of an image has the tag"
        );
    }
}

#[test]
fn a_request_with_a_temporary_failure_is_repeated() {
    const UPLOAD: &str = "PUT /v2/me/widget/blobs/uploads";
    const TAG: &str = "PUT /v2/me/widget/manifests/1.0";
    let registry = Registry::start(Settings {
        auth: Auth::Token,
        faults: vec![
            ("/token", "503 Service Unavailable\r\nRetry-After: 0"),
            ("HEAD", "502 Bad Gateway\r\nRetry-After: 0"),
            ("POST", "429 Too Many Requests\r\nRetry-After: 1"),
            ("POST", "504 Gateway Timeout\r\nRetry-After: 0"),
            (UPLOAD, "500 Internal Server Error\r\nRetry-After: 0"),
            (UPLOAD, ""),
            ("GET /v2/me/widget/manifests", ""),
            (TAG, "503 Service Unavailable\r\nRetry-After: 0"),
            (TAG, "503 Service Unavailable\r\nRetry-After: 0"),
        ],
        ..Settings::default()
    });
    let started = Instant::now();
    let pushed = push_to(&registry.address, password(PASSWORD)).unwrap();
    assert_eq!((pushed.uploaded, pushed.existing), (7, 1));
    assert_eq!(registry.faults(), 0);
    let requests = registry.requests();
    let tags = requests.iter().filter(|line| *line == TAG);
    assert_eq!(tags.count(), 3);
    // 1 s as the registry asked for, 1 s after a first failure, and 3 s after a second one
    assert!(started.elapsed() >= Duration::from_secs(5));
}

#[test]
fn a_request_is_repeated_twice_at_most_and_only_if_that_can_help() {
    for (part, status, expected) in [
        (
            "manifests/1.0",
            "503 Service Unavailable\r\nRetry-After: 0",
            3,
        ),
        (
            "manifests/1.0",
            "429 Too Many Requests\r\nRetry-After: 31",
            1,
        ),
        ("manifests/1.0", "400 Bad Request", 1),
        // the service may accept a token only once
        (
            "POST /token",
            "503 Service Unavailable\r\nRetry-After: 0",
            1,
        ),
    ] {
        let registry = Registry::start(Settings {
            auth: Auth::Token,
            refused: Some((part, status, "")),
            ..Settings::default()
        });
        let credentials = Credentials::IdentityToken(IDENTITY_TOKEN.into());
        let error = push_to(&registry.address, Some(credentials)).unwrap_err();
        assert!(matches!(error, PushError::Refused { .. }), "{error}");
        let requests = registry.requests();
        let refused = requests.iter().filter(|line| line.contains(part));
        assert_eq!(refused.count(), expected, "{part}: {status}");
    }
}

#[test]
fn an_unusable_answer_is_an_error() {
    let registry = Registry::start(Settings {
        refused: Some(("/token", "200 OK", "{}")),
        auth: Auth::Token,
        ..Settings::default()
    });
    let error = push_to(&registry.address, None).unwrap_err();
    assert!(error.to_string().contains("else than a token"), "{error}");
    registry.set(Settings {
        refused: Some(("POST", "202 Accepted", "")),
        ..Settings::default()
    });
    let error = push_to(&registry.address, None).unwrap_err();
    assert!(
        error.to_string().contains("the URL of an upload"),
        "{error}"
    );
    registry.set(Settings {
        refused: Some(("/v2/", "401 Unauthorized", "")),
        ..Settings::default()
    });
    let error = push_to(&registry.address, None).unwrap_err();
    assert!(matches!(error, PushError::Challenge { .. }), "{error}");
}

#[test]
fn a_registry_that_is_not_there_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let error = push_to(&address, None).unwrap_err();
    assert!(matches!(error, PushError::Unreachable { .. }), "{error}");
    assert!(
        error
            .to_string()
            .starts_with(&format!("{address} can't be reached: ")),
        "{error}"
    );
    assert!(error.to_string().contains("refused"), "{error}");
    let error = push_to("a.b:1:2", None).unwrap_err();
    assert!(matches!(error, PushError::Host(_)), "{error}");
}

/// Only Linux has all addresses that start with 127.
#[cfg(target_os = "linux")]
#[test]
fn other_registries_need_tls_and_a_known_certificate() {
    let registry = Registry::start(Settings::default());
    let port = registry.address.rsplit_once(':').unwrap().1.to_owned();
    let listener = TcpListener::bind(format!("127.0.0.2:{port}")).unwrap();
    let plain = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // no TLS
        use std::io::Write;
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .unwrap();
        let _end = stream.read_to_end(&mut vec![]);
    });
    let error = push_to(&format!("127.0.0.2:{port}"), None).unwrap_err();
    assert!(matches!(error, PushError::Tls { .. }), "{error}");
    plain.join().unwrap();

    let made = rcgen::generate_simple_self_signed(["127.0.0.2".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.2:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut connection = rustls::ServerConnection::new(Arc::new(config)).unwrap();
        while connection.complete_io(&mut stream).is_ok() && connection.is_handshaking() {}
    });
    let error = push_to(&address, None).unwrap_err();
    assert!(matches!(error, PushError::Tls { .. }), "{error}");
    assert!(error.to_string().contains("UnknownIssuer"), "{error}");
    assert!(error.help().contains("certificate authority"));
    server.join().unwrap();
}
