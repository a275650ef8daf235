//! A cluster in which the manifests of a project are installed, and which records the requests of the program.

use std::{
    convert::Infallible,
    path::PathBuf,
    process::Command,
    sync::{Arc, Mutex},
    time::Duration,
};

use http_body_util::Full;
use operator_testing::{ApiServer, Body, Request, Server, http::Serving};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tower::{ServiceExt, service_fn};

/// The finalizer of the project's operator.
pub const FINALIZER: &str = "example.com/shop";

const MERGE: &str = "application/merge-patch+json";

pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

pub struct Cluster {
    runtime: Runtime,
    server: Server,
    folder: TempDir,
    requests: Arc<Mutex<Vec<Request>>>,
    /// The path of an object that is replaced before its deletion.
    replaced: Arc<Mutex<Option<String>>>,
    /// The method and path of requests that get 503.
    unavailable: Arc<Mutex<Option<String>>>,
    serving: Serving,
}

impl Cluster {
    /// A cluster with the project `shop`, which has the kind Widget.
    pub fn new() -> Self {
        Self::with("regenerate")
    }

    /// A cluster with the same project after a command.
    pub fn with(command: &str) -> Self {
        Self::with_config(|config| config, command)
    }

    /// A cluster with the same project after an edit of operator.toml and a command.
    pub fn with_config(edit: impl FnOnce(String) -> String, command: &str) -> Self {
        let runtime = Runtime::new().unwrap();
        let server = Server::in_memory();
        let requests = Arc::<Mutex<Vec<Request>>>::default();
        let replaced = Arc::<Mutex<Option<String>>>::default();
        let unavailable = Arc::<Mutex<Option<String>>>::default();
        let service = server.service().unwrap();
        let (writes, replacement) = (requests.clone(), replaced.clone());
        let served = served(service, writes, replacement, unavailable.clone());
        let serving = runtime.block_on(served);
        let cluster = Self {
            folder: tempfile::tempdir().unwrap(),
            runtime,
            server,
            requests,
            replaced,
            unavailable,
            serving,
        };
        cluster.write_kubeconfigs();
        let spec = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/crds/widget.yaml");
        let init = format!("init . --name shop --crd {spec} --cleanup");
        let image = "gen-manifests --image registry.example.com/shop:1";
        cluster.ok(&init);
        let project = cluster.folder.path().join("shop");
        cluster.configure(edit);
        for args in [command, image] {
            cluster.ok(args);
        }
        let created = async {
            for name in ["cert-manager", "prometheus-operator"] {
                let crds = project.join(format!("tests/all/support/{name}.yaml"));
                if crds.exists() {
                    cluster.server.install_file(crds).await.unwrap();
                }
            }
            let spec = project.join("crds/widgets.example.com.yaml");
            cluster.server.install_file(spec).await.unwrap();
            let manifests = project.join("manifests");
            let installed = cluster.server.install_kustomization(manifests).await;
            installed.unwrap();
        };
        cluster.runtime.block_on(created);
        // what a running operator creates
        cluster.install("{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: shop, namespace: shop}}");
        cluster.install(
            "{apiVersion: v1, kind: Secret, metadata: {name: shop-webhook, namespace: shop, labels: {app.kubernetes.io/managed-by: shop}}}",
        );
        cluster
    }

    /// Edits operator.toml.
    pub fn configure(&self, edit: impl FnOnce(String) -> String) {
        let config = self.folder.path().join("shop/operator.toml");
        std::fs::write(&config, edit(std::fs::read_to_string(&config).unwrap())).unwrap();
    }

    fn write_kubeconfigs(&self) {
        let serving = &self.serving;
        std::fs::create_dir(self.folder.path().join("shop")).unwrap();
        serving.write_kubeconfig(self.kubeconfig("admin")).unwrap();
        let nobody = self.kubeconfig("nobody");
        serving.write_kubeconfig_as("nobody", nobody).unwrap();
        let text = std::fs::read_to_string(self.kubeconfig("admin")).unwrap();
        let url = serving.url();
        for (name, text) in [
            (
                "unreachable",
                text.replace(url.trim_end_matches('/'), "https://127.0.0.1:1"),
            ),
            ("stranger", text.replace("token: ", "token: no")),
            ("broken", "users: [".to_owned()),
        ] {
            std::fs::write(self.kubeconfig(name), text).unwrap();
        }
    }

    fn kubeconfig(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn run(&self, args: &str) -> Run {
        self.run_as("admin", args)
    }

    /// Runs the program in the folder of the project, with a kubeconfig.
    pub fn run_as(&self, kubeconfig: &str, args: &str) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-operator"));
        for proxy in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"] {
            command.env_remove(proxy);
        }
        let output = command
            .arg("operator")
            .args(args.split_whitespace())
            .current_dir(self.folder.path().join("shop"))
            .env_remove("CARGO_TARGET_DIR")
            .env("KUBECONFIG", self.kubeconfig(kubeconfig))
            .env("KUBECACHEDIR", self.folder.path().join("cache"))
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Run {
            code: output.status.code().unwrap(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    pub fn ok(&self, args: &str) -> Run {
        let run = self.run(args);
        assert_eq!(run.code, 0, "{args}\n{}\n{}", run.stdout, run.stderr);
        run
    }

    /// The writes of the program since the last call, as `VERB RESOURCE NAMESPACE/NAME`.
    pub fn writes(&self) -> Vec<String> {
        let requests = std::mem::take(&mut *self.requests.lock().unwrap());
        let writes = requests
            .iter()
            .filter(|request| request.is_write() && request.code < 400);
        writes
            .map(|request| {
                let Request {
                    verb,
                    resource,
                    namespace,
                    name,
                    ..
                } = request;
                match namespace.as_str() {
                    "" => format!("{verb} {resource} {name}"),
                    _ if resource == "namespaces" => format!("{verb} {resource} {name}"),
                    _ => format!("{verb} {resource} {namespace}/{name}"),
                }
            })
            .collect()
    }

    pub fn install(&self, yaml: &str) {
        self.runtime.block_on(self.server.install(yaml)).unwrap();
    }

    pub fn create_widget(&self, name: &str, finalizers: &[&str]) {
        let body = json!({
            "apiVersion": "example.com/v1",
            "kind": "Widget",
            "metadata": {"name": name, "finalizers": finalizers},
            "spec": {"size": 1},
        });
        self.server
            .answer_webhooks("shop-webhook.shop.svc", service_fn(allow));
        let path = "/apis/example.com/v1/namespaces/default/widgets";
        let created = self.request("POST", path, "application/json", &body);
        assert!(created.is_ok(), "{created:?}");
    }

    pub fn exists(&self, path: &str) -> bool {
        self.request("GET", path, "application/json", &Value::Null)
            .is_ok()
    }

    /// Sets a label or an annotation.
    pub fn mark(&self, path: &str, field: &str, name: &str, value: &str) {
        self.patch(path, &json!({"metadata": {field: {name: value}}}));
    }

    pub fn remove_finalizers(&self, widget: &str) {
        let path = format!("/apis/example.com/v1/namespaces/default/widgets/{widget}");
        self.patch(&path, &json!({"metadata": {"finalizers": null}}));
    }

    /// Deletes an object as somebody else.
    pub fn delete(&self, path: &str) {
        self.request("DELETE", path, "application/json", &Value::Null)
            .unwrap();
    }

    pub fn patch(&self, path: &str, patch: &Value) {
        self.request("PATCH", path, MERGE, patch).unwrap();
    }

    fn request(
        &self,
        method: &str,
        path: &str,
        content: &str,
        body: &Value,
    ) -> Result<Value, kube::Error> {
        let _entered = self.runtime.enter();
        let client = self.server.client();
        let request = request(method, path, content, body);
        self.runtime.block_on(client.request(request))
    }

    /// The names of all objects with the label of the operator, by their kinds.
    pub fn labeled(&self) -> Vec<String> {
        let rbac = "/apis/rbac.authorization.k8s.io/v1";
        let admission = "/apis/admissionregistration.k8s.io/v1";
        let collections = [
            "/api/v1/namespaces".to_owned(),
            "/api/v1/services".to_owned(),
            "/api/v1/serviceaccounts".to_owned(),
            "/apis/apps/v1/deployments".to_owned(),
            "/apis/networking.k8s.io/v1/networkpolicies".to_owned(),
            format!("{rbac}/roles"),
            format!("{rbac}/rolebindings"),
            format!("{rbac}/clusterroles"),
            format!("{rbac}/clusterrolebindings"),
            format!("{admission}/validatingwebhookconfigurations"),
        ];
        collections
            .iter()
            .flat_map(|collection| {
                let path = format!("{collection}?labelSelector=app.kubernetes.io/name%3Dshop");
                let list = self.request("GET", &path, "", &Value::Null).unwrap();
                let items = list["items"].as_array().unwrap().clone();
                items
                    .into_iter()
                    .map(move |item| format!("{collection}/{}", item["metadata"]["name"]))
            })
            .collect()
    }

    /// Removes the operator's finalizer from deleted widgets, as long as its Deployment exists.
    pub fn clean_up_as_the_operator(&self) {
        let _entered = self.runtime.enter();
        let client = self.server.client();
        self.runtime.spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(50)).await;
                let deployment = "/apis/apps/v1/namespaces/shop/deployments/shop";
                let deployment = request("GET", deployment, "", &Value::Null);
                if client.request::<Value>(deployment).await.is_err() {
                    return;
                }
                let widgets = "/apis/example.com/v1/widgets";
                let list = request("GET", widgets, "", &Value::Null);
                let list: Value = client.request(list).await.unwrap_or_default();
                for widget in list["items"].as_array().into_iter().flatten() {
                    let metadata = &widget["metadata"];
                    if metadata["deletionTimestamp"].is_null() {
                        continue;
                    }
                    let finalizers = metadata["finalizers"].as_array().unwrap().iter();
                    let others: Vec<&Value> = finalizers.filter(|it| *it != FINALIZER).collect();
                    let path = format!(
                        "/apis/example.com/v1/namespaces/default/widgets/{}",
                        metadata["name"].as_str().unwrap()
                    );
                    let patch = json!({"metadata": {"finalizers": others}});
                    let patch = request("PATCH", &path, MERGE, &patch);
                    let _deleted_meanwhile = client.request::<Value>(patch).await;
                }
            }
        });
    }

    /// Answers requests with this method and path with 503 from now on.
    pub fn refuse(&self, request: &str) {
        *self.unavailable.lock().unwrap() = Some(request.to_owned());
    }

    /// Replaces an object by a new one with the same name just before the program deletes it, as a GitOps controller may do.
    pub fn replace_before_deletion(&self, path: &str) {
        *self.replaced.lock().unwrap() = Some(path.to_owned());
    }
}

fn request(method: &str, path: &str, content: &str, body: &Value) -> http::Request<Vec<u8>> {
    let body = match body {
        Value::Null => vec![],
        body => body.to_string().into_bytes(),
    };
    http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", content)
        .body(body)
        .unwrap()
}

/// The answer of an admission webhook of the operator, which allows every request.
async fn allow<B: AsRef<[u8]> + From<String>>(
    request: http::Request<B>,
) -> Result<http::Response<B>, Infallible> {
    let review: Value = serde_json::from_slice(request.body().as_ref()).unwrap();
    let answer = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {"uid": review["request"]["uid"], "allowed": true},
    });
    Ok(http::Response::new(B::from(answer.to_string())))
}

async fn served(
    server: ApiServer,
    requests: Arc<Mutex<Vec<Request>>>,
    replaced: Arc<Mutex<Option<String>>>,
    unavailable: Arc<Mutex<Option<String>>>,
) -> Serving {
    let service = service_fn(move |request: http::Request<_>| {
        let (server, requests) = (server.clone(), requests.clone());
        let is_deletion = request.method() == http::Method::DELETE;
        let path = request.uri().path().to_owned();
        let asked = format!("{} {path}", request.method());
        let is_unavailable = *unavailable.lock().unwrap() == Some(asked);
        let replaced = replaced
            .lock()
            .unwrap()
            .take_if(|it| is_deletion && *it == path);
        async move {
            if let Some(path) = replaced {
                replace(&kube::Client::new(server.clone(), "default"), &path).await;
            }
            let mut asked = Request::of(&request);
            let response: http::Response<Body> = if is_unavailable {
                not_available()
            } else {
                server.oneshot(request).await?
            };
            asked.code = response.status().as_u16();
            requests.lock().unwrap().push(asked);
            Ok::<_, Infallible>(response)
        }
    });
    Serving::start(service).await.unwrap()
}

/// The answer of an API server that cannot reach an aggregated one.
fn not_available() -> http::Response<Body> {
    let status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": "the server is currently unable to handle the request",
        "reason": "ServiceUnavailable",
        "code": 503,
    });
    let mut response = http::Response::new(Body::new(Full::from(status.to_string())));
    *response.status_mut() = http::StatusCode::SERVICE_UNAVAILABLE;
    response
}

async fn replace(client: &kube::Client, path: &str) {
    let sent = async |method: &str, path: &str, body: &Value| -> Value {
        let request = request(method, path, "application/json", body);
        client.request(request).await.unwrap()
    };
    let mut object = sent("GET", path, &Value::Null).await;
    sent("DELETE", path, &Value::Null).await;
    let metadata = object["metadata"].as_object_mut().unwrap();
    metadata.retain(|field, _| ["name", "labels"].contains(&field.as_str()));
    sent("POST", path.rsplit_once('/').unwrap().0, &object).await;
}
