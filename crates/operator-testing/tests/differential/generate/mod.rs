//! Generates random sequences of requests from a seed.
//!
//! A sequence uses few kinds and few names, so that its requests affect each other. It is generated without a server: its steps save the
//! values of earlier answers that they need, as in cases. Most requests are valid. No answer depends on the speed of a controller: steps
//! wait for controllers ([`scenario`]). The known differences of `differences.yaml` are avoided.

mod kind;
mod scenario;
pub mod spoil;

use fastrand::Rng;
use serde_json::{Value, json};

pub use self::kind::Kind;

/// The number of actions in a sequence, each of one to four requests.
const ACTIONS: std::ops::Range<usize> = 15..35;

/// The steps of a sequence, in the form of cases.
pub fn sequence(kinds: &[Kind], number: u64) -> Vec<Value> {
    let mut random = Rng::with_seed(number);
    let count = random.usize(1..=2);
    let chosen = (0..count).map(|_| &kinds[random.usize(0..kinds.len())]);
    let mut generator = Generator {
        kinds: chosen.collect(),
        steps: Vec::new(),
        random,
    };
    generator.fill();
    generator.steps
}

struct Generator<'a> {
    kinds: Vec<&'a Kind>,
    steps: Vec<Value>,
    random: Rng,
}

impl Generator<'_> {
    fn fill(&mut self) {
        let kind = self.kinds[0];
        let beginning = json!({"get": kind.plural, "save": {"start": "/metadata/resourceVersion"}});
        self.steps.push(beginning);
        if self.random.u8(0..12) == 0 {
            self.scenario();
        }
        for _ in 0..self.random.usize(ACTIONS) {
            let kind = self.kinds[self.random.usize(0..self.kinds.len())];
            self.act(kind);
        }
        let plurals: Vec<_> = self.kinds.iter().map(|kind| kind.plural.clone()).collect();
        plurals
            .iter()
            .for_each(|plural| self.steps.push(json!({"get": plural})));
        if self.random.u8(0..4) == 0 {
            self.watch(kind);
        }
    }

    fn act(&mut self, kind: &Kind) {
        match self.random.u8(0..100) {
            0..18 => self.create(kind),
            18..24 => self.read(kind),
            24..31 => self.list(kind),
            31..42 => self.replace(kind),
            42..53 => self.merge(kind),
            53..60 => self.json(kind),
            60..67 if kind.strategic => self.strategic(kind),
            60..80 => self.apply(kind),
            80..87 if kind.has_status() => self.status(kind),
            80..89 if kind.scale => self.scale(kind),
            80..92 => self.finalizers(kind),
            92..97 => self.delete(kind),
            97..98 => self.delete_all(kind),
            98..99 => self.forbidden(kind),
            _ => self.nonsense(kind),
        }
    }

    fn one(&mut self, of: &[&'static str]) -> &'static str {
        of[self.random.usize(0..of.len())]
    }

    fn name(&mut self) -> &'static str {
        self.one(&["a", "a", "a", "b", "b", "c"])
    }

    fn is_rare(&mut self) -> bool {
        self.random.u8(0..14) == 0
    }

    /// Adds a step, whose body is sometimes invalid.
    fn push(&mut self, verb: &str, path: String, mut body: Value) {
        // not for Services: their addresses would be rejected first
        if self.is_rare() && !path.starts_with("services") {
            spoil::body(&mut self.random, &mut body);
        }
        if path.starts_with("pods") && body["spec"].is_object() && verb != "merge" {
            body["spec"]["automountServiceAccountToken"] = false.into();
        }
        // the labels of a Job contain its uid
        if path.starts_with("jobs") && body["metadata"]["uid"] == "other" {
            kind::set(&mut body, "/metadata/uid", Value::Null);
        }
        let mut step = json!({});
        step[verb] = path.into();
        step["send"] = body;
        if self.is_rare() {
            step["agent"] = self.one(&["other/1", "kubectl"]).into();
        }
        self.steps.push(step);
    }

    /// A path with the query of a write.
    fn written(&mut self, path: String) -> String {
        match self.random.u8(0..24) {
            0 => path + "?dryRun=All",
            1 => path + "?fieldValidation=Strict",
            2 => path + "?fieldValidation=Ignore",
            3..5 => path + "?fieldManager=" + self.one(&["one", "two", "three"]),
            5 => path + "?" + spoil::query(&mut self.random),
            _ => path,
        }
    }

    fn create(&mut self, kind: &Kind) {
        let name = self.name();
        let mut body = if kind.has_status() && self.is_rare() {
            kind.with_status(&mut self.random, name)
        } else {
            kind.whole(&mut self.random, name)
        };
        if self.is_rare() {
            body["metadata"]["finalizers"] = json!(["example.com/hold"]);
        }
        let path = self.written(kind.plural.clone());
        self.push("post", path, body);
    }

    fn read(&mut self, kind: &Kind) {
        let (plural, name) = (&kind.plural, self.name());
        let path = match self.random.u8(0..8) {
            0 => format!("{plural}/{name}?resourceVersion=0"),
            1 if kind.has_status() => format!("{plural}/{name}/status"),
            2 if kind.scale => format!("{plural}/{name}/scale"),
            3 => format!("{plural}/{name}?{}", spoil::query(&mut self.random)),
            _ => format!("{plural}/{name}"),
        };
        // the cache of a real server may be behind
        let path = path.replace("?resourceVersion=0", "");
        self.steps.push(json!({"get": path}));
    }

    fn list(&mut self, kind: &Kind) {
        let plural = &kind.plural;
        match self.random.u8(0..10) {
            0..3 => {
                let selector = self.one(&[
                    "x",
                    "!x",
                    "x=1",
                    "x%21%3D1",
                    "x%20in%20%281,2%29",
                    "x%20notin%20%281%29",
                    "x=1,y=z",
                    "x=bad!",
                    "x==",
                ]);
                self.steps
                    .push(json!({"get": format!("{plural}?labelSelector={selector}")}));
            }
            3..5 => {
                let field = &kind.selectable[self.random.usize(0..kind.selectable.len())];
                let value = self.one(&["a", "b", "red", "Opaque", "Running", "1", ""]);
                let operator = self.one(&["=", "==", "!="]).replace('=', "%3D");
                let path = format!("{plural}?fieldSelector={field}{operator}{value}");
                self.steps.push(json!({"get": path}));
            }
            5..7 => {
                let limit = self.random.u8(1..3);
                let first = format!("{plural}?limit={limit}");
                let next = format!("{first}&continue=${{token}}");
                self.steps
                    .push(json!({"get": first, "save": {"token": "/metadata/continue"}}));
                if self.random.bool() {
                    self.act_once(kind);
                }
                self.steps.push(json!({"get": next}));
            }
            7 => {
                let name = self.name();
                self.steps.push(json!({"get": format!("{plural}/{name}"), "save": {"version": "/metadata/resourceVersion"}}));
                let rule = self.one(&["Exact", "NotOlderThan"]);
                let path =
                    format!("{plural}?resourceVersion=${{version}}&resourceVersionMatch={rule}");
                self.steps.push(json!({"get": path}));
            }
            8 => {
                let query = spoil::query(&mut self.random);
                self.steps.push(json!({"get": format!("{plural}?{query}")}));
            }
            _ => self.steps.push(json!({"get": plural})),
        }
    }

    /// A write between two pages.
    fn act_once(&mut self, kind: &Kind) {
        if self.random.bool() {
            self.create(kind);
        } else {
            self.merge(kind);
        }
    }

    fn replace(&mut self, kind: &Kind) {
        let (plural, name) = (&kind.plural, self.name());
        let mut body = kind.whole(&mut self.random, name);
        match self.random.u8(0..8) {
            0 => {}
            1 => body["metadata"]["resourceVersion"] = "${version}".into(),
            2 => {
                let saved = json!({"uid": "/metadata/uid"});
                self.steps
                    .push(json!({"get": format!("{plural}/{name}"), "save": saved}));
                body["metadata"]["uid"] = "${uid}".into();
            }
            _ => {
                let saved = json!({"version": "/metadata/resourceVersion"});
                self.steps
                    .push(json!({"get": format!("{plural}/{name}"), "save": saved}));
                body["metadata"]["resourceVersion"] = "${version}".into();
            }
        }
        let path = self.written(format!("{plural}/{name}"));
        self.push("put", path, body);
    }

    fn merge(&mut self, kind: &Kind) {
        let body = kind.part(&mut self.random);
        let path = format!("{}/{}", kind.plural, self.name());
        let path = self.written(path);
        self.push("merge", path, body);
    }

    fn strategic(&mut self, kind: &Kind) {
        let mut body = kind.part(&mut self.random);
        if self.is_rare() {
            let directive = json!({"$patch": self.one(&["replace", "delete", "merge"])});
            let top = body
                .as_object_mut()
                .and_then(|fields| fields.values_mut().next());
            match top {
                Some(Value::Object(fields)) => {
                    fields.insert("$patch".into(), directive["$patch"].clone());
                }
                Some(Value::Array(items)) => items.push(directive),
                _ => {}
            }
        }
        let path = format!("{}/{}", kind.plural, self.name());
        let path = self.written(path);
        self.push("strategic", path, body);
    }

    fn json(&mut self, kind: &Kind) {
        let count = self.random.usize(1..3);
        let mut operations = Vec::new();
        for _ in 0..count {
            let (path, value) = kind.field(&mut self.random);
            let (from, _) = kind.field(&mut self.random);
            operations.push(match self.random.u8(0..10) {
                0..5 => json!({"op": "add", "path": path, "value": value}),
                5..7 => json!({"op": "replace", "path": path, "value": value}),
                7 => json!({"op": "remove", "path": path}),
                8 => json!({"op": "test", "path": path, "value": value}),
                _ => {
                    json!({"op": self.one(&["copy", "move"]), "from": from, "path": path})
                }
            });
        }
        let path = format!("{}/{}", kind.plural, self.name());
        let path = self.written(path);
        self.push("json", path, operations.into());
    }

    fn apply(&mut self, kind: &Kind) {
        let name = self.name();
        let mut body = match self.random.u8(0..3) {
            0 => kind.part(&mut self.random),
            _ => kind.whole(&mut self.random, name),
        };
        kind::set(&mut body, "/metadata/name", name.into());
        let manager = self.one(&["one", "one", "two", "three"]);
        let mut path = format!("{}/{name}?fieldManager={manager}", kind.plural);
        match self.random.u8(0..6) {
            0..2 => path += "&force=true",
            2 if self.is_rare() => path += "&dryRun=All",
            _ => {}
        }
        self.push("apply", path, body);
    }

    fn status(&mut self, kind: &Kind) {
        let (plural, name) = (&kind.plural, self.name());
        let part = kind.status_part(&mut self.random);
        match self.random.u8(0..5) {
            0..2 => self.push("merge", format!("{plural}/{name}/status"), part),
            2 => {
                let saved = json!({"version": "/metadata/resourceVersion"});
                self.steps
                    .push(json!({"get": format!("{plural}/{name}"), "save": saved}));
                let mut body = kind.with_status(&mut self.random, name);
                body["metadata"]["resourceVersion"] = "${version}".into();
                self.push("put", format!("{plural}/{name}/status"), body);
            }
            3 => {
                let mut body = part;
                kind::set(&mut body, "/metadata/name", name.into());
                let manager = self.one(&["one", "two", "controller"]);
                let force = self.one(&["", "&force=true"]);
                let path = format!("{plural}/{name}/status?fieldManager={manager}{force}");
                self.push("apply", path, body);
            }
            _ => {
                let status = part["status"].clone();
                let body = json!([{"op": "add", "path": "/status", "value": status}]);
                self.push("json", format!("{plural}/{name}/status"), body);
            }
        }
    }

    fn scale(&mut self, kind: &Kind) {
        let path = format!("{}/{}/scale", kind.plural, self.name());
        let is_scale = |step: &Value| {
            step["merge"]
                .as_str()
                .is_some_and(|it| it.ends_with("/scale"))
        };
        if kind.plural == "widgets" && self.steps.iter().any(is_scale) {
            return;
        }
        // a new number, because a scale without effect is a known difference
        let count = match kind.plural.as_str() {
            "widgets" => 7,
            _ => 10 + self.steps.len(),
        };
        let body = json!({"spec": {"replicas": count}});
        self.steps.push(json!({"merge": path, "send": body}));
    }

    fn finalizers(&mut self, kind: &Kind) {
        let finalizers = match self.random.u8(0..5) {
            0..2 => json!(["example.com/hold"]),
            2 => json!(["example.com/hold", "example.com/more"]),
            3 => json!([]),
            _ => Value::Null,
        };
        let path = format!("{}/{}", kind.plural, self.name());
        let body = json!({"metadata": {"finalizers": finalizers}});
        self.steps.push(json!({"merge": path, "send": body}));
    }

    fn delete(&mut self, kind: &Kind) {
        let name = self.name();
        let mut path = format!("{}/{name}", kind.plural);
        let mut step = json!({});
        let mut options = vec![kind.delete.clone()];
        match self.random.u8(0..8) {
            0 => options.push("dryRun=All".into()),
            1 => options.push(format!("gracePeriodSeconds={}", self.random.u8(0..2))),
            2 if kind.delete.is_empty() => options.push("propagationPolicy=Background".into()),
            3 => {
                let saved = json!({"version": "/metadata/resourceVersion", "uid": "/metadata/uid"});
                self.steps.push(json!({"get": path, "save": saved}));
                if self.random.bool() {
                    self.merge(kind);
                }
                step["send"] =
                    json!({"preconditions": {"uid": "${uid}", "resourceVersion": "${version}"}});
            }
            4 => {
                step["send"] = json!({"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "other"}});
            }
            _ => {}
        }
        options.retain(|option| !option.is_empty());
        if !options.is_empty() {
            path = format!("{path}?{}", options.join("&"));
        }
        step["delete"] = path.into();
        self.steps.push(step);
    }

    fn delete_all(&mut self, kind: &Kind) {
        let mut path = format!("{}?{}", kind.plural, kind.delete);
        // controllers recreate the initial objects of a namespace
        let has_initial_objects = ["configmaps", "serviceaccounts"].contains(&kind.plural.as_str());
        match self.random.u8(0..3) {
            0 => path += "&labelSelector=x%3D1",
            1 => path += "&fieldSelector=metadata.name%3Da",
            _ if has_initial_objects => path += "&labelSelector=y",
            _ => {}
        }
        let path = path.replace("?&", "?");
        self.steps
            .push(json!({"delete": path.trim_end_matches('?')}));
    }

    /// A request of a user without permissions.
    fn forbidden(&mut self, kind: &Kind) {
        let path = format!("{}/{}", kind.plural, self.name());
        let verb = self.one(&["get", "delete", "merge"]);
        let mut step = json!({"as": "someone"});
        step[verb] = path.into();
        if verb == "merge" {
            step["send"] = json!({});
        }
        self.steps.push(step);
    }

    /// A request with an invalid body or path.
    fn nonsense(&mut self, kind: &Kind) {
        let (plural, name) = (&kind.plural, self.name());
        let step = match self.random.u8(0..6) {
            0 => json!({"post": plural, "raw": spoil::raw(&mut self.random)}),
            1 => json!({"put": format!("{plural}/{name}"), "raw": spoil::raw(&mut self.random)}),
            2 => json!({"merge": format!("{plural}/{name}"), "raw": spoil::raw(&mut self.random)}),
            3 => json!({"get": format!("{plural}/{name}/unknown")}),
            4 => json!({"post": format!("{plural}/{name}"), "send": {"metadata": {"name": name}}}),
            _ => json!({"merge": plural, "send": {}}),
        };
        self.steps.push(step);
    }

    /// A watch of a kind from the beginning of the sequence.
    fn watch(&mut self, kind: &Kind) {
        let extra = self.one(&[
            "",
            "",
            "&labelSelector=x%3D1",
            "&fieldSelector=metadata.name%3Da",
        ]);
        let path = format!(
            "{}?watch=true&resourceVersion=${{start}}&timeoutSeconds=1{extra}",
            kind.plural
        );
        self.steps.push(json!({"watch": path}));
    }
}
