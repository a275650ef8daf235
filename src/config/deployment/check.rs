//! Checks `[deployment]`: what contradicts itself or the manifests, and what the API server would refuse.

use operator_apiserver::{Refusal, refusals};
use serde_json::{Value, json};

use super::{DeploymentSettings, DisruptionBudget, IntOrPercent, LogFormat, Variable};
use crate::config::place::Place;

/// A mistake in the settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeploymentProblem {
    #[error("`{name}` cannot be set here, because {reason}")]
    Reserved {
        name: String,
        reason: &'static str,
        help: &'static str,
    },
    #[error("`{0}` is given twice")]
    Twice(String),
    #[error("the argument `{0}` and the variable `{1}` are the same setting")]
    ArgumentAndVariable(&'static str, &'static str),
    #[error("the argument `{0}` and the key `{1}` are the same setting")]
    ArgumentAndKey(&'static str, &'static str),
    #[error("without a leader, {0} replicas would work on the same objects")]
    NoLeader(u16),
    #[error("the label `app.kubernetes.io/name` selects the pods of the operator")]
    NameLabel,
    #[error("a disruption budget has either `minAvailable` or `maxUnavailable`")]
    BudgetFields,
    #[error("`{0}` is not a percentage of the pods")]
    Percentage(String),
    #[error(
        "with {0}, this budget never permits to take a pod away, so no node that runs one can be drained"
    )]
    BudgetForbids(Replicas),
    #[error("{}", refused(.field, .message))]
    Refused { field: String, message: String },
}

/// A number of replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replicas(u16);

impl std::fmt::Display for Replicas {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            1 => f.write_str("one replica"),
            count => write!(f, "{count} replicas"),
        }
    }
}

/// A message of the API server about a field.
pub fn refused(field: &str, message: &str) -> String {
    match field {
        "" => message.to_owned(),
        field => format!("{field}: {message}"),
    }
}

impl DeploymentProblem {
    pub fn help(&self) -> &'static str {
        match self {
            Self::Reserved { help, .. } => help,
            Self::Twice(_) => "remove one of the two",
            Self::ArgumentAndVariable(..) | Self::ArgumentAndKey(..) => {
                "remove one of the two; an argument has precedence over a variable"
            }
            Self::NoLeader(_) => "remove the argument, or set `replicas = 1`",
            Self::NameLabel => "choose another name for the label",
            Self::BudgetFields => "write one of them: `disruption-budget = { maxUnavailable = 1 }`",
            Self::Percentage(_) => "write 0% to 100%, such as \"50%\"",
            Self::BudgetForbids(_) => {
                "permit one, with `{ maxUnavailable = 1 }`; one that is taken away starts again on another node"
            }
            Self::Refused { .. } => {
                "the API server would refuse the manifests; the fields are those of a Deployment: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/"
            }
        }
    }
}

/// A setting of the runtime: its flag, its variable, and the reason why it cannot be set here, with the cure.
pub(super) struct Known {
    pub flag: &'static str,
    pub variable: &'static str,
    reserved: Option<(&'static str, &'static str)>,
}

const fn known(flag: &'static str, variable: &'static str) -> Known {
    Known {
        flag,
        variable,
        reserved: None,
    }
}

const fn reserved(
    flag: &'static str,
    variable: &'static str,
    reason: &'static str,
    help: &'static str,
) -> Known {
    Known {
        reserved: Some((reason, help)),
        ..known(flag, variable)
    }
}

const LEASE: &str = "the role permits only the lease of the operator's name in its namespace";
const LEASE_HELP: &str = "remove it, or set it in an overlay, with a role for that lease";
const PORT: &str = "the Service, the NetworkPolicy and the container name the port";
const PORT_HELP: &str = "remove it, or change all of them in an overlay";

/// The settings of the runtime, each of which may be set only once.
pub(super) const KNOWN: &[Known] = &[
    reserved(
        "--namespace",
        "WATCH_NAMESPACE",
        "the roles follow from the key `namespaces`",
        "set `namespaces` at the top of operator.toml",
    ),
    known("--leader-election", "LEADER_ELECTION"),
    reserved("--lease-name", "LEASE_NAME", LEASE, LEASE_HELP),
    reserved("--lease-namespace", "LEASE_NAMESPACE", LEASE, LEASE_HELP),
    known("--lease-duration", "LEASE_DURATION"),
    known("--renew-deadline", "RENEW_DEADLINE"),
    known("--retry-period", "RETRY_PERIOD"),
    known("--priority", "PRIORITY"),
    reserved("--http-address", "HTTP_ADDRESS", PORT, PORT_HELP),
    reserved(
        "--metrics-address",
        "METRICS_ADDRESS",
        PORT,
        "set `protected = true` under [monitoring]",
    ),
    known(LogFormat::FLAG, "LOG_FORMAT"),
    known("--log", "RUST_LOG"),
    known("--concurrency", "CONCURRENCY"),
    known("--backoff-first", "BACKOFF_FIRST"),
    known("--backoff-last", "BACKOFF_LAST"),
    known("--error-events", "ERROR_EVENTS"),
    known("--log-events", "LOG_EVENTS"),
    known("--watch-timeout", "WATCH_TIMEOUT"),
    known("--shutdown-timeout", "SHUTDOWN_TIMEOUT"),
    known("--migration-rate", "MIGRATION_RATE"),
    reserved("--webhook-address", "WEBHOOK_ADDRESS", PORT, PORT_HELP),
    known("--webhook-url", "WEBHOOK_URL"),
    reserved(
        "--webhook-certificates",
        "WEBHOOK_CERTIFICATES",
        "the volume follows from the key `certificates`",
        "set `certificates = \"cert-manager\"` at the top of operator.toml",
    ),
    known(
        "--webhook-certificate-lifetime",
        "WEBHOOK_CERTIFICATE_LIFETIME",
    ),
    reserved(
        "--parent-process",
        "PARENT_PROCESS",
        "the operator would end with another process",
        "remove it",
    ),
];

type Found = (Place, DeploymentProblem);

fn at(key: &str) -> Place {
    Place::of("deployment").then(key)
}

/// The first problem of the settings, with its place.
pub fn problem(settings: &DeploymentSettings) -> Option<Found> {
    arguments(settings)
        .or_else(|| variables(settings))
        .or_else(|| labels(settings))
        .or_else(|| budget(settings))
        .or_else(|| refusal(settings))
}

/// The flag of an argument: `--log` of `--log=debug`.
fn flag(argument: &str) -> &str {
    argument.split_once('=').map_or(argument, |(flag, _)| flag)
}

/// Finds an argument that is reserved, is given twice, or contradicts another setting.
fn arguments(settings: &DeploymentSettings) -> Option<Found> {
    let args = &settings.args;
    let is_set = |variable: &str| settings.env.0.iter().any(|(name, _)| name == variable);
    for (index, argument) in args.iter().enumerate() {
        let flag = flag(argument);
        let place = at("args").then(index);
        let Some(known) = KNOWN.iter().find(|it| it.flag == flag) else {
            // a flag of the user's own may be given more than once, with other values
            let is_twice = argument.starts_with("--") && argument.contains('=');
            if is_twice && args[..index].contains(argument) {
                return Some((place, DeploymentProblem::Twice(argument.clone())));
            }
            continue;
        };
        if let Some((reason, help)) = known.reserved {
            let name = flag.to_owned();
            return Some((place, DeploymentProblem::Reserved { name, reason, help }));
        }
        let mut earlier = args[..index].iter();
        if earlier.any(|it| self::flag(it) == flag) {
            return Some((place, DeploymentProblem::Twice(flag.to_owned())));
        }
        if flag == LogFormat::FLAG && settings.log_format.is_some() {
            let problem = DeploymentProblem::ArgumentAndKey(known.flag, "log-format");
            return Some((place, problem));
        }
        if is_set(known.variable) {
            let problem = DeploymentProblem::ArgumentAndVariable(known.flag, known.variable);
            return Some((place, problem));
        }
        let value = argument
            .split_once('=')
            .map(|(_, value)| value)
            .or(args.get(index + 1).map(String::as_str));
        if flag == "--leader-election" && value == Some("false") {
            return no_leader(settings, place);
        }
    }
    None
}

fn no_leader(settings: &DeploymentSettings, place: Place) -> Option<Found> {
    let replicas = settings.replicas();
    (replicas > 1).then_some((place, DeploymentProblem::NoLeader(replicas)))
}

/// Finds a variable that is reserved, or contradicts another setting.
fn variables(settings: &DeploymentSettings) -> Option<Found> {
    for (name, variable) in &settings.env.0 {
        let place = at("env").then(name.as_str());
        let Some(known) = KNOWN.iter().find(|it| it.variable == *name) else {
            continue;
        };
        if let Some((reason, help)) = known.reserved {
            let name = name.clone();
            return Some((place, DeploymentProblem::Reserved { name, reason, help }));
        }
        if known.flag == LogFormat::FLAG && settings.log_format.is_some() {
            let problem = DeploymentProblem::Reserved {
                name: name.clone(),
                reason: "it is also the key `log-format`",
                help: "remove one of the two",
            };
            return Some((place, problem));
        }
        if name == "LEADER_ELECTION" && matches!(variable, Variable::Text(it) if it == "false") {
            return no_leader(settings, place);
        }
    }
    None
}

fn labels(settings: &DeploymentSettings) -> Option<Found> {
    let name = "app.kubernetes.io/name";
    let is_set = settings.labels.contains_key(name);
    is_set.then(|| (at("labels").then(name), DeploymentProblem::NameLabel))
}

/// Checks the fields of the disruption budget, and that it permits at least one eviction.
fn budget(settings: &DeploymentSettings) -> Option<Found> {
    let DisruptionBudget {
        min_available,
        max_unavailable,
    } = settings.disruption_budget.as_ref()?;
    let place = at("disruption-budget");
    let replicas = settings.replicas();
    let (share, at_least) = match (min_available, max_unavailable) {
        (Some(share), None) => (share, true),
        (None, Some(share)) => (share, false),
        _ => return Some((place, DeploymentProblem::BudgetFields)),
    };
    let pods = match share {
        IntOrPercent::Pods(pods) => u32::from(*pods),
        IntOrPercent::Percentage(text) => {
            let share = text.strip_suffix('%').and_then(|it| it.parse::<u32>().ok());
            let Some(share) = share.filter(|share| *share <= 100) else {
                return Some((place, DeploymentProblem::Percentage(text.clone())));
            };
            // both are rounded up: https://kubernetes.io/docs/tasks/run-application/configure-pdb/#rounding-logic-when-specifying-percentages
            (u32::from(replicas) * share).div_ceil(100)
        }
    };
    let forbids = if at_least {
        replicas > 0 && pods >= u32::from(replicas)
    } else {
        pods == 0
    };
    forbids.then_some((place, DeploymentProblem::BudgetForbids(Replicas(replicas))))
}

/// The first setting that the API server would refuse.
fn refusal(settings: &DeploymentSettings) -> Option<Found> {
    objects(settings)
        .into_iter()
        .flat_map(|(object, place)| {
            refusals(&object)
                .into_iter()
                .map(move |refusal| found(settings, refusal, place.clone()))
        })
        .next()
}

/// Objects with the settings and otherwise only required fields, for the checks of the API server. If all settings of an object are in one
/// key, it has the place of this key.
pub(super) fn objects(settings: &DeploymentSettings) -> Vec<(Value, Option<Place>)> {
    let name = "operator";
    let pod = json!({
        "containers": [{
            "name": name,
            "image": name,
            "args": settings.args,
            "env": settings.env.in_container().collect::<Vec<_>>(),
            "envFrom": settings.env_from.iter().map(|it| json!(it.0)).collect::<Vec<_>>(),
            "resources": settings.resources.as_ref().map(|it| json!(it.0)),
        }],
        "nodeSelector": settings.node_selector,
        "tolerations": settings.tolerations.iter().map(|it| json!(it.0)).collect::<Vec<_>>(),
        "affinity": settings.affinity.as_ref().map(|it| json!(it.0)),
        "topologySpreadConstraints": settings.topology_spread_constraints.iter().map(|it| json!(it.0)).collect::<Vec<_>>(),
        "priorityClassName": settings.priority_class_name,
        "imagePullSecrets": settings.image_pull_secrets.iter().map(|name| json!({"name": name})).collect::<Vec<_>>(),
    });
    let labels = json!({"app.kubernetes.io/name": name});
    let deployment = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": name, "labels": settings.labels},
        "spec": {
            "replicas": settings.replicas(),
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels, "annotations": settings.pod_annotations},
                "spec": pod,
            },
        },
    });
    let account = json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {
            "name": name, "namespace": name, "annotations": settings.service_account_annotations,
        },
    });
    let secrets = settings.image_pull_secrets.iter().enumerate();
    let secrets = secrets.map(|(index, name)| {
        let metadata = json!({"name": name, "namespace": "any"});
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata});
        (secret, Some(at("image-pull-secrets").then(index)))
    });
    let mut objects = vec![
        (deployment, None),
        (account, Some(at("service-account-annotations"))),
    ];
    objects.extend(secrets);
    objects
}

/// The fields of the Deployment, with their keys.
pub(super) const KEYS: &[(&str, &str)] = &[
    ("metadata.labels", "labels"),
    ("spec.template.metadata.annotations", "pod-annotations"),
    ("spec.template.spec.containers[0].args", "args"),
    ("spec.template.spec.containers[0].envFrom", "env-from"),
    ("spec.template.spec.containers[0].env", "env"),
    ("spec.template.spec.containers[0].resources", "resources"),
    ("spec.template.spec.nodeSelector", "node-selector"),
    ("spec.template.spec.tolerations", "tolerations"),
    ("spec.template.spec.affinity", "affinity"),
    (
        "spec.template.spec.topologySpreadConstraints",
        "topology-spread-constraints",
    ),
    (
        "spec.template.spec.priorityClassName",
        "priority-class-name",
    ),
    ("spec.replicas", "replicas"),
];

/// The place of a refusal, and its message with the field below the key.
fn found(settings: &DeploymentSettings, refusal: Refusal, place: Option<Place>) -> Found {
    let Refusal { field, message } = refusal;
    if let Some(place) = place {
        let field = String::new();
        return (place, DeploymentProblem::Refused { field, message });
    }
    let mut keys = KEYS.iter();
    let (prefix, key) = match keys.find(|(prefix, _)| field.starts_with(prefix)) {
        Some(found) => *found,
        // all other values are typed, so an error of decoding is about a quantity
        None if field.is_empty() => ("", "resources"),
        None => ("", ""),
    };
    let rest = &field[prefix.len()..];
    let (place, rest) = match indexed(rest) {
        Some((index, rest)) if key == "env" => match settings.env.0.get(index) {
            Some((name, _)) => (at(key).then(name.as_str()), rest),
            None => (at(key), rest),
        },
        Some((index, rest)) => (at(key).then(index), rest),
        None => (at(key), rest),
    };
    let field = rest.trim_start_matches('.').to_owned();
    (place, DeploymentProblem::Refused { field, message })
}

/// The index with which a part of a field begins, and what follows it: `[1].name`.
pub fn indexed(field: &str) -> Option<(usize, &str)> {
    let (index, rest) = field.strip_prefix('[')?.split_once(']')?;
    Some((index.parse().ok()?, rest))
}
