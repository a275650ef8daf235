//! Requests to which controllers react, with steps that wait for them: owners, namespaces, CRDs.

use serde_json::{Value, json};

use super::Generator;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

impl Generator<'_> {
    pub fn scenario(&mut self) {
        match self.random.u8(0..10) {
            0..6 => self.owner(),
            6..8 => self.namespace(),
            _ => self.definition(),
        }
    }

    /// An owner is deleted, and its child is deleted, or remains.
    fn owner(&mut self) {
        let (plural, api_version, kind) = match self.random.u8(0..3) {
            0 => ("widgets", "cases.example.com/v1", "Widget"),
            1 => ("configmaps", "v1", "ConfigMap"),
            _ => ("serviceaccounts", "v1", "ServiceAccount"),
        };
        let child = self.one(&["configmaps", "secrets", "widgets"]);
        let reference = json!({
            "apiVersion": api_version, "kind": kind, "name": "owner", "uid": "${owner}",
            "blockOwnerDeletion": self.random.bool(), "controller": self.random.bool(),
        });
        let owner = json!({"metadata": {"name": "owner"}});
        self.steps
            .push(json!({"post": plural, "send": owner, "save": {"owner": "/metadata/uid"}}));
        let owned = json!({"metadata": {"name": "child", "ownerReferences": [reference]}});
        self.steps.push(json!({"post": child, "send": owned}));
        let (owner, child) = (format!("{plural}/owner"), format!("{child}/child"));
        let policy = self.one(&["Background", "Foreground", "Orphan"]);
        self.steps
            .push(json!({"delete": format!("{owner}?propagationPolicy={policy}")}));
        self.steps.push(json!({"get": owner, "eventually": "404"}));
        if policy == "Orphan" {
            self.steps.push(json!({"get": child}));
        } else {
            self.steps.push(json!({"get": child, "eventually": "404"}));
        }
    }

    /// A namespace is created, changed, and deleted with its objects.
    fn namespace(&mut self) {
        let mut namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "${ns}-x"}});
        let one = "/api/v1/namespaces/${ns}-x";
        if self.random.bool() {
            namespace["metadata"]["labels"] = json!({"a": "b"});
        }
        let by_apply = self.random.bool();
        self.steps.push(if by_apply {
            json!({"apply": format!("{one}?fieldManager=one"), "send": namespace})
        } else {
            json!({"post": "/api/v1/namespaces", "send": namespace})
        });
        let change = json!({"metadata": {"annotations": {"a": "1"}, "labels": {"c": "d"}}});
        let verb = self.one(&["merge", "strategic"]);
        let mut step = json!({"send": change});
        step[verb] = one.into();
        self.steps.push(step);
        let held = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "finalizers": ["example.com/hold"]}});
        let inside = format!("{one}/configmaps");
        self.steps.push(json!({"post": inside, "send": held}));
        self.steps.push(json!({"delete": one}));
        let marked = "/metadata/deletionTimestamp";
        self.steps
            .push(json!({"get": format!("{inside}/a"), "eventually": marked}));
        let late = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}});
        self.steps.push(json!({"post": inside, "send": late}));
        let free = json!({"metadata": {"finalizers": null}});
        self.steps
            .push(json!({"merge": format!("{inside}/a"), "send": free}));
        self.steps.push(json!({"get": one, "eventually": "404"}));
    }

    /// A CRD, mostly only as a dry run, because the real server needs seconds for each new one.
    fn definition(&mut self) {
        let mut definition = self.new_definition();
        let tries = self.random.usize(2..6);
        for _ in 0..tries {
            let mut tried = definition.clone();
            let schema = self.schema(0);
            tried["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] =
                schema;
            self.steps
                .push(json!({"post": format!("{DEFINITIONS}?dryRun=All"), "send": tried}));
        }
        if self.random.u8(0..4) > 0 {
            return;
        }
        let schema = json!({"type": "object", "properties": {
            "size": {"type": "integer", "default": 3, "maximum": 9},
            "word": {"type": "string"},
        }});
        definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] =
            schema;
        let one = format!("{DEFINITIONS}/things.${{ns}}.example.com");
        let things = "/apis/${ns}.example.com/v1/namespaces/${ns}/things";
        let thing = |name: &str, spec: Value| json!({"apiVersion": "${ns}.example.com/v1", "kind": "Thing", "metadata": {"name": name}, "spec": spec});
        self.steps
            .push(json!({"post": DEFINITIONS, "send": definition}));
        self.steps
            .push(json!({"get": one, "eventually": "/status/conditions/1/status=True"}));
        let size = self.random.u8(0..10);
        self.steps.push(
            json!({"post": things, "send": thing("a", json!({"size": size})), "eventually": "201"}),
        );
        self.steps
            .push(json!({"post": things, "send": thing("b", json!({"size": 10}))}));
        self.steps.push(
            json!({"merge": format!("{things}/a"), "send": {"spec": {"size": null, "word": "x"}}}),
        );
        self.steps
            .push(json!({"merge": one, "send": {"metadata": {"labels": {"a": "b"}}}}));
        self.steps.push(json!({"get": things}));
        self.steps.push(json!({"delete": one}));
        self.steps.push(json!({"get": one, "eventually": "404"}));
    }

    fn new_definition(&mut self) -> Value {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.${ns}.example.com"},
            "spec": {
                "group": "${ns}.example.com",
                "scope": "Namespaced",
                "names": {"plural": "things", "kind": "Thing"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {}}},
                }],
            },
        })
    }

    /// A schema, mostly structural.
    fn schema(&mut self, depth: usize) -> Value {
        let text = || json!({"type": "string"});
        let known = [
            text(),
            json!({"type": "string", "enum": ["A", "B"], "default": "A"}),
            json!({"type": "string", "enum": ["A", "B"], "default": "C"}),
            json!({"type": "integer", "minimum": 1, "maximum": 0}),
            json!({"type": "integer", "default": "x"}),
            json!({"type": "string", "pattern": "["}),
            json!({"type": "string", "format": "date-time", "nullable": true}),
            json!({"x-kubernetes-int-or-string": true}),
            json!({"type": "array", "items": text()}),
            json!({"type": "array"}),
            json!({"type": "array", "items": text(), "x-kubernetes-list-type": "set"}),
            json!({"type": "array", "x-kubernetes-list-type": "map", "items": text()}),
            json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "required": ["k"], "properties": {"k": text()}}}),
            json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "properties": {"k": text()}}}),
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
            json!({"type": "object", "additionalProperties": text()}),
            json!({"type": "object", "additionalProperties": text(), "properties": {"a": text()}}),
            json!({"type": "string", "unknown": 1}),
            json!({"type": "text"}),
            json!({}),
            json!({"properties": {"a": text()}}),
            json!({"type": "string", "maxLength": 9, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}),
        ];
        if depth < 3 && self.random.u8(0..3) > 0 {
            let mut properties = json!({});
            for name in ["a", "b"] {
                properties[name] = self.schema(depth + 1);
            }
            return json!({"type": "object", "properties": properties});
        }
        known[self.random.usize(0..known.len())].clone()
    }
}
