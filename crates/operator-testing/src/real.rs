//! A real API server: one's own, started from its programs, or the cluster of the current context.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::record::RecordLayer;

/// A server that this process did not write.
pub(crate) struct Real {
    config: Config,
    namespace: String,
    /// The processes of a server of one's own, in the order of their start, and their files.
    own: Option<Own>,
    /// On the cluster of someone else: what `install` made outside the namespace.
    claimed: Mutex<BTreeSet<String>>,
}

struct Own {
    children: Vec<Child>,
    folder: PathBuf,
}

impl Real {
    pub async fn from_assets() -> Result<Self> {
        let assets = std::env::var_os("KUBEBUILDER_ASSETS").ok_or(Error::NoAssets)?;
        let assets = PathBuf::from(assets);
        for program in ["etcd", "kube-apiserver", "kube-controller-manager"] {
            if !assets.join(program).exists() {
                return Err(Error::NoAssets);
            }
        }
        let folder = fresh_folder()?;
        let mut own = Own {
            children: Vec::new(),
            folder,
        };
        let config = own.start(&assets).await?;
        Ok(Self {
            config,
            namespace: "default".into(),
            own: Some(own),
            claimed: Mutex::default(),
        })
    }

    pub async fn from_kubeconfig() -> Result<Self> {
        let unusable = |error: kube::config::KubeconfigError| Error::Kubeconfig(error.to_string());
        let kubeconfig = Kubeconfig::read().map_err(unusable)?;
        let context = kubeconfig.current_context.clone().unwrap_or_default();
        let options = KubeConfigOptions::default();
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &options)
            .await
            .map_err(unusable)?;
        let client = Client::try_from(config.clone())?;
        let body = json!({"metadata": {"generateName": "operator-testing-"}}).to_string();
        let request = http::Request::post("/api/v1/namespaces")
            .header("content-type", "application/json")
            .body(body.into_bytes())
            .map_err(|error| Error::Kubeconfig(error.to_string()))?;
        let made: Value = client.request(request).await?;
        let namespace = made["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        eprintln!("operator-testing: context {context}, namespace {namespace}");
        config.default_namespace.clone_from(&namespace);
        Ok(Self {
            config,
            namespace,
            own: None,
            claimed: Mutex::default(),
        })
    }

    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    pub fn client(&self, layer: &RecordLayer) -> Client {
        let builder = ClientBuilder::try_from(self.config.clone());
        builder
            .expect("this configuration made a client before")
            .with_layer(layer)
            .build()
    }

    pub fn own_client(&self) -> Client {
        Client::try_from(self.config.clone()).expect("this configuration made a client before")
    }

    /// Remembers what is about to be applied, and refuses to change what tests did not make.
    pub async fn claim(
        &self,
        path: &str,
        found: impl Future<Output = Result<Option<Value>>>,
    ) -> Result<()> {
        if self.own.is_some() || path.contains(&format!("/namespaces/{}/", self.namespace)) {
            return Ok(());
        }
        let mut claims = CLAIMS.lock().await;
        if !claims.contains_key(path) && found.await?.is_some() {
            return Err(Error::Taken(path.to_owned()));
        }
        let mut mine = self.claimed.lock().unwrap_or_else(PoisonError::into_inner);
        if mine.insert(path.to_owned()) {
            *claims.entry(path.to_owned()).or_default() += 1;
        }
        Ok(())
    }

    /// Deletes the namespace, and of the rest what no other test of this process still uses.
    fn clean_up(&self) {
        let mine =
            std::mem::take(&mut *self.claimed.lock().unwrap_or_else(PoisonError::into_inner));
        let (config, namespace) = (self.config.clone(), self.namespace.clone());
        // A test's runtime may be ending; this one is our own.
        let worker = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(async move {
                let client = Client::try_from(config).map_err(std::io::Error::other)?;
                let mut claims = CLAIMS.lock().await;
                let mut unused = Vec::new();
                for path in mine {
                    let users = claims.get(&path).copied().unwrap_or_default();
                    if users > 1 {
                        claims.insert(path, users - 1);
                    } else {
                        claims.remove(&path);
                        unused.push(path);
                    }
                }
                end(&client, &format!("/api/v1/namespaces/{namespace}"), false).await;
                for path in unused {
                    end(&client, &path, true).await;
                }
                Ok::<_, std::io::Error>(())
            })
        });
        if !matches!(worker.join(), Ok(Ok(()))) {
            eprintln!(
                "operator-testing: could not clean up namespace {}",
                self.namespace
            );
        }
    }
}

/// What tests of this process made outside their namespaces on someone else's cluster, and how many use it.
static CLAIMS: tokio::sync::Mutex<BTreeMap<String, usize>> =
    tokio::sync::Mutex::const_new(BTreeMap::new());

/// Deletes an object, and waits until it is gone if the next test would stumble over it.
async fn end(client: &Client, path: &str, wait: bool) {
    let request = |method: &str| {
        http::Request::builder()
            .method(method)
            .uri(path)
            .body(Vec::new())
            .ok()
    };
    let Some(delete) = request("DELETE") else {
        return;
    };
    match client.request::<Value>(delete).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 404 => return,
        Err(error) => eprintln!("operator-testing: {path} is left behind: {error}"),
    }
    for _ in 0..if wait { 100 } else { 0 } {
        let Some(get) = request("GET") else {
            return;
        };
        if client.request::<Value>(get).await.is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        if self.own.is_none() {
            self.clean_up();
        }
    }
}

impl Own {
    async fn start(&mut self, assets: &Path) -> Result<Config> {
        let (etcd, peer, port) = (free_port()?, free_port()?, free_port()?);
        let key = self.folder.join("sa.key");
        let certificates = self.folder.join("certs");
        let token = format!("{:x}{:x}", std::process::id(), port);
        write(
            &self.folder.join("tokens.csv"),
            &format!("{token},admin,1,system:masters\n"),
        )?;
        write(&self.folder.join("kubeconfig"), &kubeconfig(port, &token))?;
        let file = |name: &str| self.folder.join(name).display().to_string();
        let etcd_url = format!("http://127.0.0.1:{etcd}");
        let peer_url = format!("http://127.0.0.1:{peer}");
        let tokens = file("tokens.csv");
        let config_file = file("kubeconfig");
        let data = file("etcd");
        make_key(&key)?;
        let key = key.display().to_string();
        let certificates = certificates.display().to_string();
        let port_text = port.to_string();
        self.spawn(
            assets,
            "etcd",
            &[
                ("data-dir", &data),
                ("listen-client-urls", &etcd_url),
                ("advertise-client-urls", &etcd_url),
                ("listen-peer-urls", &peer_url),
                ("initial-advertise-peer-urls", &peer_url),
                ("initial-cluster", &format!("default={peer_url}")),
                ("unsafe-no-fsync", "true"),
            ],
        )?;
        self.spawn(
            assets,
            "kube-apiserver",
            &[
                ("etcd-servers", &etcd_url),
                ("bind-address", "127.0.0.1"),
                ("advertise-address", "127.0.0.1"),
                ("secure-port", &port_text),
                ("cert-dir", &certificates),
                ("service-account-issuer", "https://kubernetes.default.svc"),
                ("service-account-key-file", &key),
                ("service-account-signing-key-file", &key),
                ("authorization-mode", "RBAC"),
                ("token-auth-file", &tokens),
                ("service-cluster-ip-range", "10.0.0.0/16"),
                ("allow-privileged", "true"),
            ],
        )?;
        let kubeconfig = Kubeconfig::from_yaml(&kubeconfig(port, &token))
            .map_err(|error| Error::Kubeconfig(error.to_string()))?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .map_err(|error| Error::Kubeconfig(error.to_string()))?;
        let client = Client::try_from(config.clone())?;
        self.await_answer(&client, "/readyz", "kube-apiserver")
            .await?;
        self.spawn(
            assets,
            "kube-controller-manager",
            &[
                ("kubeconfig", &config_file),
                ("service-account-private-key-file", &key),
                ("secure-port", "0"),
                ("leader-elect", "false"),
                ("cert-dir", &certificates),
            ],
        )?;
        let account = "/api/v1/namespaces/default/serviceaccounts/default";
        self.await_answer(&client, account, "kube-controller-manager")
            .await?;
        Ok(config)
    }

    /// Starts a program behind a shell that ends it when this process is gone, however it went.
    fn spawn(&mut self, assets: &Path, name: &'static str, flags: &[(&str, &str)]) -> Result<()> {
        const WATCHDOG: &str = r#""$@" & child=$!; read -r _; kill "$child"; wait "$child""#;
        let log = self.folder.join(format!("{name}.log"));
        let opened = std::fs::File::create(&log)
            .and_then(|out| Ok((out.try_clone()?, out)))
            .map_err(|source| Error::File { path: log, source })?;
        let program = assets.join(name);
        let mut command = Command::new("sh");
        command.args(["-c", WATCHDOG, "sh"]).arg(&program);
        command.args(
            flags
                .iter()
                .map(|(flag, value)| format!("--{flag}={value}")),
        );
        command
            .stdin(Stdio::piped())
            .stdout(opened.0)
            .stderr(opened.1);
        let child = command.spawn().map_err(|source| Error::File {
            path: program,
            source,
        })?;
        self.children.push(child);
        Ok(())
    }

    async fn await_answer(
        &mut self,
        client: &Client,
        path: &str,
        program: &'static str,
    ) -> Result<()> {
        for _ in 0..600 {
            let request = http::Request::get(path).body(Vec::new());
            let request = request.map_err(|error| Error::Kubeconfig(error.to_string()))?;
            if client.request_text(request).await.is_ok() {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let log = std::fs::read_to_string(self.folder.join(format!("{program}.log")));
        let log = log.unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let last = lines.len().saturating_sub(10);
        Err(Error::Program {
            program,
            log: lines[last..].join("\n"),
        })
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        for child in self.children.iter_mut().rev() {
            // The shell ends its program when its input closes; failing that, there is nothing left to do.
            drop(child.stdin.take());
            let _ended = child.wait();
        }
        let _removed = std::fs::remove_dir_all(&self.folder);
    }
}

fn kubeconfig(port: u16, token: &str) -> String {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": format!("https://127.0.0.1:{port}"), "insecure-skip-tls-verify": true}}],
        "users": [{"name": "admin", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin", "namespace": "default"}}],
        "current-context": "test",
    })
    .to_string()
}

/// The key that signs service account tokens.
fn make_key(path: &Path) -> Result<()> {
    let made = Command::new("openssl")
        .args(["genrsa", "-out"])
        .arg(path)
        .arg("2048")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match made {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(Error::Program {
            program: "openssl",
            log: String::new(),
        }),
        Err(source) => Err(Error::File {
            path: PathBuf::from("openssl"),
            source,
        }),
    }
}

fn free_port() -> Result<u16> {
    TcpListener::bind(("127.0.0.1", 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|source| Error::File {
            path: PathBuf::from("127.0.0.1"),
            source,
        })
}

fn fresh_folder() -> Result<PathBuf> {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let path =
        std::env::temp_dir().join(format!("operator-testing-{}-{count}", std::process::id()));
    // What an earlier process of this number left behind.
    let _removed = std::fs::remove_dir_all(&path);
    match std::fs::create_dir_all(&path) {
        Ok(()) => Ok(path),
        Err(source) => Err(Error::File { path, source }),
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|source| Error::File {
        path: path.to_owned(),
        source,
    })
}
