//! Small operators for the tests of code that takes one, such as `manifests` and `package`.

use super::{Operator, resolve};
use crate::{
    config::{ConfigFile, Kind},
    crd::{self, Api},
};

/// A namespaced kind with a finalizer, a status and a child.
pub const MEMCACHED: &str = r#"
[[kind]]
kind = "Memcached"
group = "cache.example.com"
crd = "crds/memcacheds.cache.example.com.yaml"
versions = ["v1"]
scaffold = "reconciler"
cleanup = true
owns = ["apps/v1/Deployment"]
"#;

/// A cluster-scoped kind, which reads Nodes.
pub const ZONE: &str = r#"
[[kind]]
kind = "Zone"
group = "dns.example.com"
crd = "crds/zones.dns.example.com.yaml"
versions = ["v1"]
scaffold = "reconciler"
owns = ["v1/ConfigMap"]
reads = [{ kind = "v1/Node", verbs = ["get", "list"] }]
"#;

/// Resolves the operator of an `operator.toml`, in which `text` follows the keys that every project has.
pub fn operator(text: &str) -> Operator<'static> {
    let text = format!(
        "format = 1\nname = \"memcached-operator\"\nruntime = {{ path = \"..\" }}\ntool = \"0.1.0\"\n\
         image = \"ghcr.io/me/memcached-operator:0.1.0\"\n{text}"
    );
    let config = ConfigFile::read(&text).unwrap().config;
    let crds: Vec<Api> = config.kinds.iter().map(crd).collect();
    // leaked, because the operator borrows both, and the process of the tests ends soon
    resolve(Box::leak(Box::new(config)), crds.leak(), |_| false).unwrap()
}

/// The CRD of a kind: with a status if the kind has namespaces.
fn crd(kind: &Kind) -> Api {
    let Kind {
        kind, group, crd, ..
    } = kind;
    let (scope, status) = match kind.as_str() {
        "Memcached" => ("Namespaced", "{status: {}}"),
        _ => ("Cluster", "{}"),
    };
    let singular = kind.to_lowercase();
    let text = format!(
        "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {singular}s.{group}}}
spec:
  group: {group}
  scope: {scope}
  names: {{kind: {kind}, plural: {singular}s, singular: {singular}, listKind: {kind}List}}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status}
    schema: {{openAPIV3Schema: {{type: object, properties: {{status: {{type: object}}}}}}}}
"
    );
    crd::read(crd, &text).unwrap().remove(0)
}
