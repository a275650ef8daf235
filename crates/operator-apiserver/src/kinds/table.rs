//! The strategies of all built-in kinds that differ from others, by group and plural. Those with code have a file; the others are written
//! here.

use super::job::{self, cron_job};
use super::resource::{
    CONTROLLER_REVISIONS, DISRUPTION_BUDGETS, ENDPOINT_SLICES, ENDPOINTS, MUTATING_POLICIES,
    RUNTIME_CLASSES, SERVICE_ACCOUNTS, VALIDATING_POLICIES,
};
use super::strategy::{Controller, Strategy};
use super::value::{items, keep};
use super::webhook::{self, of_admission};
use super::workload::{daemon_set, deployment, replica_set, stateful_set};
use super::{
    claim, config, crd, event, lease, namespace, network_policy, node, pod, priority_class, role,
    service, volume,
};

use crate::model::Kind;

/// Sorted by resource, for the binary search.
static BUILTIN: &[Strategy] = &[
    config::CONFIG_MAP,
    Strategy {
        creates_on_update: true,
        ..Strategy::of(ENDPOINTS)
    },
    event::EVENT,
    Strategy {
        creates_on_update: true,
        ..Strategy::of(("", "limitranges"))
    },
    namespace::NAMESPACE,
    node::NODE,
    claim::CLAIM,
    volume::VOLUME,
    pod::POD,
    pod::POD_TEMPLATE,
    replica_set::REPLICATION_CONTROLLER,
    Strategy {
        returns_deleted: true,
        ..Strategy::of(("", "resourcequotas"))
    },
    config::SECRET,
    Strategy {
        drop_disabled_fields: |_, account| {
            items(account, "secrets").for_each(|secret| keep(secret, &["name"]));
        },
        returns_deleted: true,
        cells: cells!(plain),
        ..Strategy::of(SERVICE_ACCOUNTS)
    },
    service::SERVICE,
    of_admission(MUTATING_POLICIES[0]).with_generation(),
    of_admission(MUTATING_POLICIES[1]),
    webhook::MUTATING,
    of_admission(VALIDATING_POLICIES[0]).with_generation(),
    of_admission(VALIDATING_POLICIES[1]).with_generation(),
    webhook::VALIDATING,
    crd::CRD,
    Strategy {
        validates_updates_as_new: false,
        ..Strategy::of(CONTROLLER_REVISIONS)
    },
    daemon_set::DAEMON_SET,
    deployment::DEPLOYMENT,
    replica_set::REPLICA_SET,
    stateful_set::STATEFUL_SET,
    cron_job::CRON_JOB,
    job::JOB,
    Strategy {
        selectable_fields: Some(&[("spec.signerName", "")]),
        ..Strategy::of(("certificates.k8s.io", "certificatesigningrequests"))
    },
    lease::LEASE,
    Strategy::of(ENDPOINT_SLICES).with_generation(),
    event::EVENTS_GROUP_EVENT,
    Strategy::of((FLOW_CONTROL, "flowschemas")).with_generation(),
    Strategy::of((FLOW_CONTROL, "prioritylevelconfigurations")).with_generation(),
    Strategy {
        has_generation: true,
        cells: cells!(core::ingress),
        ..Strategy::of(("networking.k8s.io", "ingresses"))
    },
    network_policy::NETWORK_POLICY,
    Strategy {
        kept_by_status: METADATA,
        ..Strategy::of(("networking.k8s.io", "servicecidrs"))
    },
    Strategy {
        allows_short_finalizers: true,
        creates_on_update: true,
        allows_unconditional_update: false,
        ..Strategy::of(RUNTIME_CLASSES)
    },
    Strategy {
        allows_unconditional_update: false,
        has_generation: true,
        cells: cells!(core::disruption_budget),
        controller: Some(Controller::Budget),
        ..Strategy::of(DISRUPTION_BUDGETS)
    },
    role::CLUSTER_ROLE_BINDING,
    role::CLUSTER_ROLE,
    role::ROLE_BINDING,
    role::ROLE,
    of_devices("deviceclasses"),
    Strategy {
        kept_by_status: METADATA,
        ..of_devices("resourceclaims")
    },
    of_devices("resourceclaimtemplates"),
    Strategy {
        selectable_fields: Some(&[("spec.nodeName", ""), ("spec.driver", "")]),
        ..of_devices("resourceslices")
    },
    priority_class::PRIORITY_CLASS,
    of_storage("csidrivers").without_unconditional_update(),
    of_storage("csinodes").without_unconditional_update(),
    Strategy::of((STORAGE, "csistoragecapacities")).without_unconditional_update(),
    of_storage("storageclasses"),
    Strategy {
        allows_unconditional_update: false,
        kept_by_status: METADATA,
        ..of_storage("volumeattachments")
    },
    of_storage("volumeattributesclasses"),
];

const FLOW_CONTROL: &str = "flowcontrol.apiserver.k8s.io";
const STORAGE: &str = "storage.k8s.io";

/// The metadata that a write of the status does not change, for the kinds that protect all of it.
const METADATA: &[&str] = &["annotations", "finalizers", "labels", "ownerReferences"];

const fn of_devices(plural: &'static str) -> Strategy {
    Strategy {
        returns_deleted: true,
        ..Strategy::of(("resource.k8s.io", plural))
    }
}

const fn of_storage(plural: &'static str) -> Strategy {
    Strategy {
        returns_deleted: true,
        ..Strategy::of((STORAGE, plural))
    }
}

/// The strategy of the built-in kinds without a row.
static OTHER: Strategy = Strategy::of(("", ""));

static CUSTOM: Strategy = Strategy {
    validates_updates_as_new: false,
    allows_short_finalizers: true,
    allows_unconditional_update: false,
    has_generation: true,
    ..Strategy::of(("", ""))
};

/// The strategy of a kind.
pub(crate) fn strategy(kind: &Kind) -> &'static Strategy {
    match kind.custom {
        Some(_) => &CUSTOM,
        None => strategy_of((&kind.group, &kind.plural)),
    }
}

/// The strategy of a built-in kind.
pub(crate) fn strategy_of(resource: (&str, &str)) -> &'static Strategy {
    let at = BUILTIN.binary_search_by_key(&resource, |known| known.resource);
    at.map_or(&OTHER, |at| &BUILTIN[at])
}

#[cfg(test)]
mod tests {
    use super::BUILTIN;
    use crate::model::builtin::builtin;

    #[test]
    fn strategies_are_of_recorded_kinds_in_order() {
        for pair in BUILTIN.windows(2) {
            let (row, next) = (pair[0].resource, pair[1].resource);
            assert!(
                row < next,
                "src/kinds/table.rs: the row of {next:?} is not behind the one of {row:?}"
            );
        }
        for strategy in BUILTIN {
            let is_recorded = builtin()
                .kinds
                .iter()
                .any(|kind| kind.is(strategy.resource));
            assert!(
                is_recorded,
                "data/builtin.json has no kind {:?}",
                strategy.resource
            );
        }
    }
}
