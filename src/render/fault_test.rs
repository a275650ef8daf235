//! `tests/all/faults.rs`: tests the whole operator with each sample, under every fault, without its lease, and with its permissions.

use heck::ToSnakeCase;
use k8s_openapi::api::rbac::v1::PolicyRule;
use serde::Serialize;
use serde_json::json;

use crate::{
    config::{Certificates, Namespaces, Source},
    crd::Api,
    manifests,
    operator::{Admission, Controller, Operator, ResourceType},
    rust::code::{chain, indented, list, literal, untouched},
    template::fill,
};

#[derive(Serialize)]
struct Context<'a> {
    name: &'a str,
    /// The kinds that the operator reconciles, as a statement.
    kinds: String,
    /// The kinds whose controllers delete undesired children, as a statement; empty if there are none.
    pruned: String,
    /// The kinds that exist without the operator, as a statement; empty if there are none.
    existing: String,
    /// Whether there are CRDs that the manifests do not install.
    foreign: bool,
    /// Whether the operator watches only some namespaces.
    namespaces: bool,
    /// Whether there is a failing sample whose result may depend on the history of the object.
    history_of_failures: bool,
    /// Whether a kind with a sample has a provider.
    has_providers: bool,
    /// Whether the children of a kind have a snapshot.
    has_snapshots: bool,
    has_webhooks: bool,
    manages_certificates: bool,
    /// The samples of kinds that have webhooks, or whose children have.
    webhook_samples: Vec<Test>,
    tests: Vec<Test>,
    /// The declarations in `operator.toml`, as a statement.
    declared: String,
    /// The statement that defines the permissions that may be unused: the rules of `operator.toml`, and those of [`Case::with_unused`].
    rules: String,
}

#[derive(Clone, Serialize)]
struct Test {
    /// The snake case name of the kind.
    name: String,
    /// The statements that define the sample, and its expected error if there is one.
    sample: String,
    /// The statement that defines the resources whose objects may remain; empty if there are none.
    kept: String,
    /// The statement that defines the resources of children that are not updated; empty if there are none.
    waiting: String,
    /// The trial with the sample and these resources, as an expression.
    followed: String,
    /// The call that adds the sample to a trial.
    add: &'static str,
    /// The statements that define all samples of its kind in a trial, to which the fields of the kind make a difference; empty if they
    /// need not.
    fields: String,
    /// Whether its requests, or those for its children, are admitted by webhooks.
    is_admitted: bool,
    /// Whether the calls of its provider get faults.
    has_provider: bool,
    /// Whether the result may depend on how the object became what it is.
    depends_on_history: bool,
    /// Whether its children have a snapshot.
    has_snapshot: bool,
}

/// How a controller is tested.
#[derive(Clone)]
pub struct Case {
    module: String,
    /// The path of the sample.
    sample: Option<String>,
    /// The paths of further samples, each of which is tested by itself.
    more_samples: Vec<String>,
    /// The error with which the reconciliation of the sample fails, if it does.
    fails: Option<String>,
    /// The resources whose objects may remain after the deletion of the sample, such as `configmaps` or `certificates.cert-manager.io`.
    keeps: Vec<String>,
    /// The resources of children that are not updated.
    waiting: Vec<String>,
    /// Whether the children depend on all fields of the object, except for some.
    uses_fields: bool,
    unused_fields: Vec<String>,
    /// The permissions that no request of the tests needs, although the operator may need them.
    unused: Vec<PolicyRule>,
    /// Whether the controller manages external resources.
    has_provider: bool,
    /// Whether the children of the sample have a snapshot.
    has_snapshot: bool,
    /// Whether the result may depend on how the object became what it is.
    depends_on_history: bool,
    /// The kinds of the objects that the tests write: that of the sample, and those of its children.
    concerned: Vec<ResourceType>,
}

impl Case {
    pub fn new(controller: &Controller, sample: Option<String>) -> Self {
        let children = controller.owns.iter();
        let waiting = children.clone().filter(|it| it.update.waits_for_deletion());
        Self {
            module: controller.module.clone(),
            sample: sample.map(|file| format!("manifests/samples/{file}")),
            more_samples: controller.samples.clone(),
            fails: controller.sample_fails.clone(),
            keeps: controller
                .keeps
                .iter()
                .map(|it| it.resource.name())
                .collect(),
            waiting: waiting.map(|it| it.related.resource.name()).collect(),
            uses_fields: controller.is_own()
                && !controller.scaffold.has_provider
                && !controller.scaffold.records_history,
            unused_fields: controller.unused_fields.clone(),
            unused: vec![],
            has_provider: controller.scaffold.has_provider,
            has_snapshot: false,
            depends_on_history: controller.scaffold.records_history,
            concerned: [&controller.resource]
                .into_iter()
                .chain(children.map(|it| &it.related.resource))
                .cloned()
                .collect(),
        }
    }

    /// Sets the permissions that no request of the tests needs.
    pub fn with_unused(self, unused: Vec<PolicyRule>) -> Self {
        Self { unused, ..self }
    }

    /// Sets whether the children of the sample have a snapshot.
    pub fn with_snapshot(self, has_snapshot: bool) -> Self {
        Self {
            has_snapshot,
            ..self
        }
    }

    /// Adds what another controller of the same objects needs.
    fn absorb(&mut self, other: &Self) {
        self.depends_on_history |= other.depends_on_history;
        self.has_snapshot |= other.has_snapshot;
        self.fails = self.fails.take().or_else(|| other.fails.clone());
        self.concerned.extend(other.concerned.iter().cloned());
        self.more_samples.extend(other.more_samples.iter().cloned());
        for (own, others) in [
            (&mut self.keeps, &other.keeps),
            (&mut self.waiting, &other.waiting),
        ] {
            for name in others {
                if !own.contains(name) {
                    own.push(name.clone());
                }
            }
        }
    }

    /// The values for the templates of each sample of this case.
    fn tests(&self, admissions: &[Admission]) -> Vec<Test> {
        let name = self.module.trim_end_matches('_');
        let first = self.sample.iter().map(|sample| Test {
            has_snapshot: self.has_snapshot,
            ..self.test(name.to_owned(), sample, admissions)
        });
        let more = self.more_samples.iter().map(move |sample| {
            let file = sample.rsplit('/').next().unwrap_or_default();
            let stem = file.split('.').next().unwrap_or_default().to_snake_case();
            self.test(format!("{name}_{stem}"), sample, admissions)
        });
        let mut tests: Vec<Test> = first.chain(more).collect();
        if let Some(first) = tests.first_mut() {
            first.fields = self.fields();
        }
        tests
    }

    /// The statements of the test that all fields of the samples are used.
    fn fields(&self) -> String {
        if !self.uses_fields || self.fails.is_some() {
            return String::new();
        }
        let samples = self.sample.iter().chain(&self.more_samples);
        let samples = samples.map(|sample| format!(".sample_file({})", literal(sample)));
        let unused = (!self.unused_fields.is_empty()).then(|| ".unused(&unused)".to_owned());
        let calls: Vec<String> = samples.chain(unused).collect();
        let trial = indented(&chain("trial()", &calls));
        let unused = names("unused", &self.unused_fields);
        format!("{unused}    let trial = {};\n", trial.trim_start())
    }

    fn test(&self, name: String, sample: &str, admissions: &[Admission]) -> Test {
        let add = match self.fails {
            None => "sample_file(sample)",
            Some(_) => "sample_file_that_fails(sample, error)",
        };
        let keeps = (!self.keeps.is_empty()).then_some("keeps(&kept)");
        let waits = (!self.waiting.is_empty()).then_some("waits_for_deletion(&waiting)");
        let history = self.depends_on_history.then_some("depends_on_history()");
        let calls = [Some(add), keeps, waits, history].into_iter().flatten();
        let calls: Vec<String> = calls.map(|call| format!(".{call}")).collect();
        let text = |name: &str, text: &str| format!("    let {name} = {};\n", literal(text));
        let error = self.fails.as_ref();
        let error = error.map(|error| text("error", error));
        Test {
            has_provider: self.has_provider && self.fails.is_none(),
            depends_on_history: self.depends_on_history,
            has_snapshot: false,
            is_admitted: self.fails.is_none()
                && admissions.iter().any(|admission| {
                    self.concerned
                        .iter()
                        .any(|resource| resource.name() == admission.resource.name())
                }),
            kept: names("kept", &self.keeps),
            waiting: names("waiting", &self.waiting),
            followed: indented(&chain("trial()", &calls)).trim_start().to_owned(),
            name,
            sample: text("sample", sample) + &error.unwrap_or_default(),
            fields: String::new(),
            add,
        }
    }
}

/// The tests of the controllers; `None` where no kind has a sample. Controllers of one kind share its sample, and so a test.
pub fn text(operator: &Operator<'_>, cases: Vec<Case>) -> Option<String> {
    let controllers = &operator.controllers;
    let unused: Vec<PolicyRule> = cases.iter().flat_map(|case| case.unused.clone()).collect();
    let mut merged: Vec<Case> = vec![];
    for case in cases {
        let mut known = merged.iter_mut();
        match known.find(|it| it.sample.is_some() && it.sample == case.sample) {
            Some(known) => known.absorb(&case),
            None => merged.push(case),
        }
    }
    let constant = |name: &str, counts: fn(&Controller) -> bool| {
        let mut names: Vec<String> = vec![];
        for controller in controllers.iter().filter(|it| counts(it)) {
            let ResourceType { kind, group, .. } = &controller.resource;
            let name = match group.as_str() {
                "" => format!("{kind:?}"),
                group => format!("\"{kind}.{group}\""),
            };
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let head = format!("const {name}: [&str; {}] = ", names.len());
        if names.is_empty() {
            String::new()
        } else {
            list(&head, ['[', ']'], &names, ";")
        }
    };
    let rules = controllers.iter().flat_map(|it| &it.rules);
    // The CRDs are installed before the operator starts, so its only requests for them are `get`.
    let crds: Vec<String> = operator.ensured_crds().map(Api::name).collect();
    let crds = (!crds.is_empty()).then(|| manifests::crd_rules(&crds));
    let crds = crds.into_iter().flatten().map(|mut rule| {
        rule.verbs.retain(|verb| verb != "get");
        rule
    });
    // `status.storedVersions` has one version in the tests, so nothing is migrated, and the only requests for the CRDs are `get`.
    let migrated: Vec<&Api> = operator.migrated_crds().collect();
    let migration = (!migrated.is_empty()).then(|| manifests::migration_rules(&migrated));
    let migration = migration.into_iter().flatten().map(|mut rule| {
        rule.verbs.retain(|verb| verb != "get");
        rule
    });
    let renewal = operator.has_certificates(Certificates::Managed);
    let renewal = renewal.then(|| manifests::renewal_rule(&operator.config.name));
    // the tests do not read the metrics
    let protected = operator.config.monitoring.protected;
    let reviews = protected.then(manifests::review_rules);
    // the runtime records an event about an object that cannot be decoded, and metadata always can
    let events = (controllers.iter().all(|it| it.watches_metadata)).then(manifests::event_rule);
    let rules: Vec<String> = rules
        .map(manifests::policy_rule)
        .chain(unused)
        .chain(crds)
        .chain(migration)
        .chain(renewal)
        .chain(events)
        .chain(reviews.into_iter().flatten())
        .map(|rule| literal(&json!(rule).to_string()))
        .collect();
    let tests: Vec<Test> = merged
        .iter()
        .flat_map(|case| case.tests(&operator.admissions))
        .collect();
    let context = Context {
        name: &operator.config.name,
        kinds: constant("KINDS", |_| true),
        existing: constant("EXISTING", |controller| !controller.is_own()),
        pruned: constant("PRUNED", |controller| controller.scaffold.prunes),
        has_webhooks: operator.has_webhooks(),
        manages_certificates: operator.has_certificates(Certificates::Managed),
        webhook_samples: tests.iter().filter(|it| it.is_admitted).cloned().collect(),
        history_of_failures: merged
            .iter()
            .any(|case| case.depends_on_history && case.fails.is_some()),
        has_providers: tests.iter().any(|test| test.has_provider),
        has_snapshots: tests.iter().any(|test| test.has_snapshot),
        namespaces: !matches!(operator.config.namespaces, Namespaces::All),
        foreign: !foreign_crds(operator).is_empty(),
        declared: variable("declared", &declared(operator)),
        rules: variable("unchecked", &rules),
        tests,
    };
    let text = || untouched(&fill("tests/all/faults.rs.j2", &context));
    (!context.tests.is_empty()).then(text)
}

/// The file with the objects that replace cert-manager in tests.
pub const CERT_MANAGER: &str = "tests/all/support/cert-manager.yaml";

/// The file with the CRDs that replace the Prometheus operator in tests.
pub const PROMETHEUS_OPERATOR: &str = "tests/all/support/prometheus-operator.yaml";

/// The CRDs of reconciled and admitted kinds that others install, as a statement; empty where there are none.
pub fn foreign_crds(operator: &Operator<'_>) -> String {
    let reconciled = operator.controllers.iter().filter_map(|it| it.kind);
    let admitted = operator.admissions.iter().filter_map(|it| it.kind);
    let mut crds: Vec<String> = reconciled
        .chain(admitted)
        .map(|kind| operator[kind].table)
        .filter(|table| table.source() == Source::Foreign)
        .map(|table| literal(&table.crd))
        .collect();
    if operator.has_certificates(Certificates::CertManager) {
        crds.push(literal(CERT_MANAGER));
    }
    if operator.config.monitoring.prometheus {
        crds.push(literal(PROMETHEUS_OPERATOR));
    }
    crds.sort_unstable();
    crds.dedup();
    let head = format!("pub const CRDS: [&str; {}] = ", crds.len());
    if crds.is_empty() {
        String::new()
    } else {
        list(&head, ['[', ']'], &crds, ";")
    }
}

/// The statement that defines some names; empty if there are none.
fn names(name: &str, names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| literal(name)).collect();
    if names.is_empty() {
        String::new()
    } else {
        variable(name, &names)
    }
}

/// The statement that defines an array.
fn variable(name: &str, items: &[String]) -> String {
    let head = format!("let {name} = ");
    indented(&list(&head, ['[', ']'], items, ";"))
}

/// The watched namespaces, as a statement of the test support; empty if all are watched.
pub fn watched_namespaces(namespaces: &Namespaces) -> String {
    let names = match namespaces {
        Namespaces::All => return String::new(),
        Namespaces::Own => vec!["NAME".to_owned()],
        Namespaces::Listed(names) => names.iter().map(|name| literal(name)).collect(),
    };
    let head = format!("pub const NAMESPACES: [&str; {}] = ", names.len());
    list(&head, ['[', ']'], &names, ";")
}

/// The kinds whose objects controllers request, each as a JSON literal.
fn declared(operator: &Operator<'_>) -> Vec<String> {
    let mut declared = vec![];
    for controller in &operator.controllers {
        let (table, name) = match &controller.name {
            None => ("kind", &controller.resource.kind),
            Some(name) => ("controller", name),
        };
        for (key, related) in controller.requested() {
            let ResourceType { group, plural, .. } = &related.resource;
            let text = json!({
                table: name, "key": key, "entry": related.entry,
                "group": group, "resource": plural, "verbs": related.verbs,
            });
            declared.push(literal(&text.to_string()));
        }
    }
    declared
}
