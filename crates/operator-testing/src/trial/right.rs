//! The proof that an operator needs all permissions that its roles grant.

use std::collections::BTreeSet;

use serde_json::Value;

use super::run::Plot;
use super::stage::Stage;
use super::{Operator, Sample, Start, Trial};
use crate::declared::{Declared, edits};
use crate::fault::{Fault, Schedule};
use crate::install::{documents, kustomization};
use crate::record::Request;
use crate::rights::{Right, Unseen};

/// What exercises the remaining permissions: an object that cannot be decoded is reported in events, a write that fails is repeated, and
/// after a write to a deleted object, the operator checks whether it exists.
const LAST: [(Fault, Plot); 3] = [
    (Fault::Garble, Plot::Touch),
    (Fault::Outage, Plot::Nothing),
    (Fault::Delay, Plot::Hurry),
];

impl Trial {
    /// Runs the operator, and checks for each permission that the manifests grant to its user whether a request needed it. Roles of
    /// one name in several namespaces count as one.
    ///
    /// The operator reconciles each sample, with the finalizer that an earlier version of the operator may have set (the group of the kind and
    /// the name of the account). Its children are deleted, and then lose their owner. While permissions remain that no request needed, the
    /// sample cannot be decoded, writes fail for some seconds, and the sample is deleted during a request. Give the operator the settings of
    /// a cluster: it should elect a leader.
    ///
    /// `written` are rules, as JSON, that somebody wrote on purpose: requests need not need what they grant.
    ///
    /// # Panics
    ///
    /// With the permissions that no request needed; and before, as [`assert_converges`](Self::assert_converges) without faults.
    pub fn assert_rights_are_needed<A>(&self, written: &[&str], operator: impl Start<A>) {
        Operator::with(operator, |operator| self.need_rights(written, operator));
    }

    fn need_rights(&self, written: &[&str], operator: &Operator<'_>) {
        let stage = Stage::new(self);
        let manifests = kustomization(&self.manifests);
        let manifests = manifests.unwrap_or_else(|error| panic!("the manifests: {error}"));
        let rules: Result<Vec<Value>, _> = written
            .iter()
            .map(|rule| serde_json::from_str(rule))
            .collect();
        let rules = rules.unwrap_or_else(|error| panic!("a written rule: {error}"));
        let mut unseen = Unseen::of(&manifests, &self.user);
        assert!(
            !unseen.0.is_empty(),
            "{} grants no permissions to {}",
            self.manifests.display(),
            self.user
        );
        let samples: Vec<Sample> = self
            .samples
            .iter()
            .map(|sample| self.bearing(sample))
            .collect();
        let mut calms = vec![];
        for sample in &samples {
            let calm = self.calm(&stage, operator, sample, Plot::Deprive);
            unseen.note(&calm.answered);
            calms.push(calm.asked);
        }
        let excused = unseen.excuse(&rules);
        for (sample, calm) in samples.iter().zip(&calms) {
            for (fault, plot) in LAST {
                let numbered = calm.iter().enumerate();
                let counts = |request: &Request| {
                    fault.befalls(request) && (request.is_work() || !request.is_write())
                };
                for (number, _) in numbered.filter(|(_, request)| counts(request)) {
                    if unseen.0.is_empty() {
                        break;
                    }
                    let schedule = Schedule([(number, fault)].into());
                    let course = self.course(&stage, sample, plot, schedule);
                    unseen.note(&self.run(&stage, operator, course).answered);
                }
            }
        }
        report(&unseen.0, &excused, &self.declared);
    }

    /// The sample with the finalizer that an earlier version of the operator may have left.
    fn bearing(&self, sample: &Sample) -> Sample {
        let name = self.user.rsplit(':').next().unwrap_or_default();
        let mut objects =
            documents(&sample.text).unwrap_or_else(|error| panic!("the sample: {error}"));
        for object in &mut objects {
            let api_version = object["apiVersion"].as_str().unwrap_or_default();
            if let Some((group, _)) = api_version.split_once('/') {
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

/// Fails with the permissions that no request needed, and prints those that somebody allowed on purpose.
fn report(unseen: &BTreeSet<Right>, excused: &BTreeSet<Right>, declared: &[Declared]) {
    for right in excused {
        println!("not used, but permitted by your `rules`: {right}");
    }
    let named: Vec<String> = unseen.iter().map(|right| format!("  {right}")).collect();
    let Some(first) = unseen.first() else {
        return;
    };
    let edits = edits(unseen, declared);
    let edits = match edits.is_empty() {
        true => "help: these permissions follow from `owns`, `watches` and `reads` in operator.toml; remove what the operator does not use".to_owned(),
        false => edits.join("\n"),
    };
    panic!(
        "no request of these tests needs these permissions of the roles:\n{}\n\n{edits}\n\
         help: if the operator uses a permission, but not with any sample, add a rule for it under its kind in operator.toml:\n{}",
        named.join("\n"),
        first.as_toml(unseen.iter())
    );
}
