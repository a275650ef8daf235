//! Checks that an operator needs all permissions that its roles grant.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use serde_json::Value;

use super::run::Scenario;
use super::stage::Stage;
use super::{Operator, Sample, Start, Trial};
use crate::Request;
use crate::declared::{Declared, Table, edits};
use crate::fault::Fault;
use crate::fixture::one_object;
use crate::install::documents;
use crate::kustomization::kustomization;
use crate::permission::{Permission, UnusedPermissions};
use crate::schedule::Schedule;

/// Runs that use the remaining permissions: in them, the operator emits an event about an object that cannot be decoded, repeats a failed
/// write, and checks whether an object exists after a write to a deleted object.
const EXTRA_RUNS: [(Fault, Scenario); 3] = [
    (Fault::Undecodable, Scenario::UpdateEarly),
    (Fault::Outage, Scenario::Plain),
    (Fault::Delay, Scenario::DeleteEarly),
];

impl Trial {
    /// Runs the operator, and checks that its requests need each permission that the manifests grant to its user. Roles with the same name
    /// in several namespaces count as one.
    ///
    /// The operator reconciles each sample. To trigger as many kinds of requests as possible, the test
    ///
    /// - sets the finalizer that an earlier version of the operator may have set (the group of the kind and the name of the account),
    ///   unless the kind is [`existing`](Self::existing);
    /// - removes labels of the children, if some of them are not updated by apply ([`declares`](Self::declares));
    /// - deletes the children, and later removes their owner references;
    /// - creates children that the sample should not have, if the operator [`prunes`](Self::prunes).
    ///
    /// If some permissions are still unused, further runs make the sample undecodable, let writes fail for some seconds, and delete the
    /// sample during a request. Start the operator with the settings that it has on a cluster, including leader election.
    ///
    /// `written` contains the `rules` of `operator.toml` as JSON; the permissions that they grant may be unused.
    ///
    /// # Panics
    ///
    /// Panics with the unused permissions; also if [`assert_converges`](Self::assert_converges) would panic without faults.
    pub fn assert_permissions_are_needed<A>(&self, written: &[&str], operator: impl Start<A>) {
        Operator::with(operator, |operator| {
            self.check_permissions(written, operator);
        });
    }

    fn check_permissions(&self, written: &[&str], operator: &Operator<'_>) {
        let stage = Stage::new(self);
        let manifests = kustomization(&self.manifests);
        let manifests = manifests.unwrap_or_else(|error| panic!("the manifests: {error}"));
        let rules: Result<Vec<Value>, _> = written
            .iter()
            .map(|rule| serde_json::from_str(rule))
            .collect();
        let rules = rules.unwrap_or_else(|error| panic!("a written rule: {error}"));
        let mut unused = UnusedPermissions::of(&manifests, &self.user);
        assert!(
            !unused.0.is_empty(),
            "{} grants no permissions to {}",
            self.manifests.display(),
            self.user
        );
        let samples: Vec<Sample> = self
            .samples
            .iter()
            .map(|sample| self.with_old_finalizer(sample))
            .collect();
        let mut baselines = vec![];
        for sample in &samples {
            let baseline = self.baseline(&stage, operator, sample, Scenario::DeleteChildren);
            unused.record(&baseline.server_requests);
            baselines.push(baseline.requests);
        }
        let allowed = unused.take_allowed(&rules);
        let mut runs = vec![];
        for (sample, baseline) in samples.iter().zip(&baselines) {
            let changed = self.changed_resources(&stage, sample, baseline);
            let is_on_changed =
                |permission: &Permission| changed.iter().any(|it| permission.is_on(&it.0, &it.1));
            let changes_unused = unused.0.iter().any(is_on_changed);
            for (fault, scenario) in EXTRA_RUNS {
                for (number, request) in baseline.iter().enumerate() {
                    let counts = request.is_work() || !request.is_write();
                    if counts && fault.applies_to(request) {
                        let likeliness = [
                            changed.contains(&resource_of(request)),
                            changes_unused,
                            !baseline[..number].iter().any(|it| it.is_like(request)),
                        ];
                        let schedule = Schedule([(number, fault)].into());
                        runs.push((likeliness, sample, scenario, schedule));
                    }
                }
            }
        }
        // first the runs that most likely use a permission: for an operator of many kinds, there are thousands of runs
        runs.sort_by_key(|(likeliness, ..)| Reverse(*likeliness));
        for (_, sample, scenario, schedule) in runs {
            if unused.0.is_empty() {
                break;
            }
            let options = self.options(&stage, sample, scenario, schedule);
            unused.record(&self.run(&stage, operator, options).server_requests);
        }
        let has_kinds = (self.kinds.iter()).any(|kind| !self.existing.contains(kind));
        report(&unused.0, &allowed, &self.declared, has_kinds);
    }

    /// The resources of the sample and of the objects that the operator writes. Most requests of an operator of many kinds are lists and
    /// watches of other resources, in which a fault rarely changes anything for the sample.
    fn changed_resources(
        &self,
        stage: &Stage,
        sample: &Sample,
        requests: &[Request],
    ) -> BTreeSet<(String, String)> {
        let path = stage.runtime().block_on(async {
            let mut object = one_object(&sample.text)?;
            stage.server(self).path_of(&mut object).await
        });
        let path = path.unwrap_or_else(|error| panic!("the sample: {error}"));
        let own = http::Request::get(path).body(());
        let own = Request::of(&own.expect("the server has taken this path"));
        let work = requests.iter().filter(|request| request.is_work());
        work.chain([&own]).map(resource_of).collect()
    }

    /// The sample with the finalizer that an earlier version of the operator may have set.
    fn with_old_finalizer(&self, sample: &Sample) -> Sample {
        let name = self.user.rsplit(':').next().unwrap_or_default();
        let mut objects =
            documents(&sample.text).unwrap_or_else(|error| panic!("the sample: {error}"));
        for object in &mut objects {
            let api_version = object["apiVersion"].as_str().unwrap_or_default();
            let group = api_version.split_once('/').map(|(group, _)| group);
            let is_existing = |(other, kind): &(String, String)| {
                Some(other.as_str()) == group && object["kind"] == **kind
            };
            if let Some(group) = group
                && !self.existing.iter().any(is_existing)
            {
                object["metadata"]["finalizers"] = vec![format!("{group}/{name}")].into();
            }
        }
        let texts: Vec<String> = objects.iter().map(Value::to_string).collect();
        Sample {
            text: texts.join("\n---\n"),
            fails: sample.fails.clone(),
        }
    }
}

fn resource_of(request: &Request) -> (String, String) {
    (request.group.clone(), request.resource.clone())
}

/// Panics with the unused permissions, and prints those that the user's own rules allow. `has_kinds`: whether the project has kinds of its
/// own, and not only controllers of existing kinds.
fn report(
    unused: &BTreeSet<Permission>,
    allowed: &BTreeSet<Permission>,
    declared: &[Declared],
    has_kinds: bool,
) {
    for permission in allowed {
        println!("not used, but permitted by your `rules`: {permission}");
    }
    let named: Vec<String> = unused
        .iter()
        .map(|permission| format!("  {permission}"))
        .collect();
    let Some(first) = unused.first() else {
        return;
    };
    let edits = edits(unused, declared);
    let edits = if edits.is_empty() {
        "help: these permissions follow from `owns`, `watches` and `reads` in operator.toml; remove what the operator does not use".to_owned()
    } else {
        edits.join("\n")
    };
    panic!(
        "no request of these tests needs these permissions of the roles:\n{}\n\n{edits}\n{}",
        named.join("\n"),
        rule(first, unused, declared, has_kinds)
    );
}

/// The help on how to keep a permission that the tests do not use: a rule in `operator.toml`.
fn rule(
    permission: &Permission,
    unused: &BTreeSet<Permission>,
    declared: &[Declared],
    has_kinds: bool,
) -> String {
    let declared = declared.iter().find(|it| it.is_about(permission));
    let (table, place) = match declared.map(|it| &it.table) {
        Some(table @ Table::Controller(_)) => ("controller", format!("the {table}")),
        None if !has_kinds => ("controller", "its controller".to_owned()),
        Some(Table::Kind(_)) | None => ("kind", "its kind".to_owned()),
    };
    format!(
        "help: if the operator uses a permission, but not with any sample, add an object that needs it to `samples`, or a rule under {place} in operator.toml:\n{}",
        permission.as_toml(table, unused.iter())
    )
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::json;

    use super::*;

    #[test]
    fn the_rule_is_for_the_table_that_the_permission_is_from() {
        let role = json!({
            "kind": "ClusterRole", "metadata": {"name": "a"},
            "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]}],
        });
        let binding = json!({
            "roleRef": {"kind": "ClusterRole", "name": "a"}, "subjects": [{"kind": "User", "name": "a"}],
        });
        let manifests = [role, binding].map(|it| (PathBuf::from("role.yaml"), it));
        let unused = UnusedPermissions::of(&manifests, "a").0;
        let declared = |table: &str, name: &str| {
            let text = json!({
                table: name, "key": "reads", "entry": "v1/Secret", "group": "", "resource": "secrets", "verbs": ["get"],
            });
            [serde_json::from_value(text).unwrap()]
        };
        let rule = |declared: &[Declared], has_kinds| {
            rule(unused.first().unwrap(), &unused, declared, has_kinds)
        };
        let kind = rule(&declared("kind", "Widget"), true);
        assert!(
            kind.ends_with("under its kind in operator.toml:\n[[kind.rules]]\napiGroups = [\"\"]\nresources = [\"secrets\"]\nverbs = [\"get\", \"list\"]"),
            "{kind}"
        );
        let controller = rule(&declared("controller", "printer"), true);
        assert!(
            controller
                .contains("under the controller printer in operator.toml:\n[[controller.rules]]\n"),
            "{controller}"
        );
        assert!(rule(&[], true).contains("[[kind.rules]]"));
        let only = rule(&[], false);
        assert!(
            only.contains("under its controller in operator.toml:\n[[controller.rules]]"),
            "{only}"
        );
    }
}
