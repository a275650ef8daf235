//! A control plane for one process: etcd, kube-apiserver and kube-controller-manager, started from their binaries.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;

use crate::{Error, Result};

/// The running processes, in the order of their start, and their files. Dropping it terminates them.
pub(crate) struct ControlPlane {
    children: Vec<Child>,
    folder: PathBuf,
}

/// How many times the programs are started, if a port is already in use.
const ATTEMPTS: usize = 3;

/// What the programs log if their port is in use.
const PORT_IN_USE: &str = "address already in use";

impl ControlPlane {
    /// Starts the binaries in `KUBEBUILDER_ASSETS`, with the controllers that `OPERATOR_TEST_CONTROLLERS` lists, or all.
    pub async fn start_from_environment(plugins: &str) -> Result<(Self, Config)> {
        let assets = std::env::var_os("KUBEBUILDER_ASSETS").ok_or(Error::NoAssets)?;
        let assets = PathBuf::from(assets);
        for program in ["etcd", "kube-apiserver", "kube-controller-manager"] {
            if !assets.join(program).exists() {
                return Err(Error::NoAssets);
            }
        }
        let mut attempts = 1;
        loop {
            let mut control_plane = ControlPlane {
                children: Vec::new(),
                folder: fresh_folder()?,
            };
            match control_plane.start(&assets, plugins).await {
                // Another process has taken a port since `free_port` returned it.
                Err(Error::Program { log, .. })
                    if attempts < ATTEMPTS && log.contains(PORT_IN_USE) =>
                {
                    attempts += 1;
                }
                started => return Ok((control_plane, started?)),
            }
        }
    }

    async fn start(&mut self, assets: &Path, plugins: &str) -> Result<Config> {
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
        let controllers = std::env::var("OPERATOR_TEST_CONTROLLERS").unwrap_or("*".into());
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
                ("enable-admission-plugins", plugins),
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
                ("controllers", &controllers),
            ],
        )?;
        // the controller manager creates it, so its controllers work
        let account = "/api/v1/namespaces/default/serviceaccounts/default";
        self.await_answer(&client, account, "kube-controller-manager")
            .await?;
        Ok(config)
    }

    /// Starts a program behind a shell that terminates it when this process has ended, even if this process was killed.
    fn spawn(&mut self, assets: &Path, name: &'static str, flags: &[(&str, &str)]) -> Result<()> {
        const WATCHDOG: &str = r#""$@" & child=$!; read -r _; kill -9 "$child"; wait "$child""#;
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

    /// Waits up to a minute until the API server has this path. The error has the end of the log of `program`.
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
        let log =
            std::fs::read_to_string(self.folder.join(format!("{program}.log"))).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let last = lines.len().saturating_sub(10);
        Err(Error::Program {
            program,
            log: lines[last..].join("\n"),
        })
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        for child in self.children.iter_mut().rev() {
            // The shell kills its program when its standard input closes.
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
    // An earlier process may have had the same id.
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
