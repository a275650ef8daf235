use std::collections::BTreeSet;

use jiff::SignedDuration;

use serde_json::{Map, Value, json};

use super::{
    DeploymentSettings, SHUTDOWN_TIMEOUT,
    check::{KEYS, KNOWN, objects},
};
use crate::config::ConfigFile;

const ALL: &str = include_str!("all-settings.toml");

fn project(deployment: &str) -> String {
    format!(
        "format = 1\nname = \"printer\"\nruntime = {{ path = \"..\" }}\ntool = \"0.1.0\"\n\n[deployment]\n{deployment}\n"
    )
}

/// The message of an error, and the text at its place.
fn refused(deployment: &str) -> (String, String) {
    let text = project(deployment);
    let error = ConfigFile::read(&text).expect_err(deployment).remove(0);
    let place = error.range(&text).unwrap_or_default();
    assert!(!error.help.is_empty());
    (error.to_string(), text[place].to_owned())
}

/// All settings but one.
fn without(key: &str) -> DeploymentSettings {
    let mut all: Map<String, Value> = toml_edit::de::from_str(ALL).unwrap();
    all.remove(key);
    serde_json::from_value(all.into()).unwrap()
}

#[test]
fn all_settings_are_read() {
    let text = project(ALL);
    let deployment = ConfigFile::read(&text).unwrap().config.deployment;
    assert_eq!(deployment.replicas(), 2);
    assert_eq!(
        deployment.arguments().first().map(String::as_str),
        Some("--log-format=json")
    );
    assert!(deployment.affinity.unwrap().node_affinity.is_some());
}

#[test]
fn each_key_is_checked_and_has_a_place() {
    let unknown = serde_json::from_value::<DeploymentSettings>(json!({"unknown": 1}));
    let message = unknown.unwrap_err().to_string();
    let all = objects(&without(""));
    for key in message.split('`').skip(3).step_by(2) {
        assert!(
            ALL.contains(&format!("\n{key} = ")) || ALL.contains(&format!("\n{key}.")),
            "src/config/deployment/all-settings.toml lacks `{key}`"
        );
        let is_checked = objects(&without(key)) != all;
        let has_place = KEYS.iter().any(|(_, known)| *known == key);
        // they become an argument and another object, which other functions check
        if !["log-format", "disruption-budget"].contains(&key) {
            assert!(
                is_checked,
                "src/config/deployment/check.rs: `objects` lacks `{key}`"
            );
            let has_object = ["image-pull-secrets", "service-account-annotations"].contains(&key);
            assert!(
                has_place || has_object,
                "src/config/deployment/check.rs: `KEYS` lacks `{key}`"
            );
        }
    }
}

#[test]
fn a_wrong_setting_is_refused_at_its_place() {
    let cases = [
        (
            "replica = 2",
            "unknown key `replica`; the nearest is `replicas`",
            "replica",
        ),
        (
            "replicas = -1",
            "invalid value: integer `-1`, expected a number from 0 to 65535",
            "-1",
        ),
        (
            "args = [\"--namespace=a\"]",
            "[deployment]: `--namespace` cannot be set here, because the roles follow from the key `namespaces`",
            "\"--namespace=a\"",
        ),
        (
            "env = { WATCH_NAMESPACE = \"a\" }",
            "[deployment]: `WATCH_NAMESPACE` cannot be set here, because the roles follow from the key `namespaces`",
            "\"a\"",
        ),
        (
            "args = [\"--log=debug\", \"--log\", \"info\"]",
            "[deployment]: `--log` is given twice",
            "\"--log\"",
        ),
        (
            "args = [\"--own=1\", \"--own=2\", \"--own=1\"]",
            "[deployment]: `--own=1` is given twice",
            "\"--own=1\"",
        ),
        (
            "log-format = \"json\"\nargs = [\"--log-format=human\"]",
            "[deployment]: the argument `--log-format` and the key `log-format` are the same setting",
            "\"--log-format=human\"",
        ),
        (
            "args = [\"--priority=1\"]\nenv = { PRIORITY = \"2\" }",
            "[deployment]: the argument `--priority` and the variable `PRIORITY` are the same setting",
            "\"--priority=1\"",
        ),
        (
            "replicas = 2\nargs = [\"--leader-election\", \"false\"]",
            "[deployment]: without a leader, 2 replicas would work on the same objects",
            "\"--leader-election\"",
        ),
        (
            "replicas = 3\nenv.LEADER_ELECTION = \"false\"",
            "[deployment]: without a leader, 3 replicas would work on the same objects",
            "\"false\"",
        ),
        (
            "env.\"1ST VALUE=\" = \"a\"",
            "[deployment]: name: Invalid value: \"1ST VALUE=\": a valid environment variable name must consist only of printable ASCII characters other than '='",
            "\"a\"",
        ),
        (
            "env.A = 1",
            "write a text, or a source such as { secretKeyRef = { name = \"credentials\", key = \"token\" } }",
            "1",
        ),
        (
            "env.A = { secretKeyRef = { name = \"a\", kye = \"b\" } }",
            "unknown field `secretKeyRef.kye`",
            "{ secretKeyRef = { name = \"a\", kye = \"b\" } }",
        ),
        (
            "resources = { limits = { memory = \"12 MB\" } }",
            "[deployment]: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            "{ limits = { memory = \"12 MB\" } }",
        ),
        (
            "resources = { requests = { memory = \"1Gi\" }, limits = { memory = \"1Mi\" } }",
            "[deployment]: requests: Invalid value: \"1Gi\": must be less than or equal to memory limit of 1Mi",
            "{ requests = { memory = \"1Gi\" }, limits = { memory = \"1Mi\" } }",
        ),
        (
            "tolerations = [{ key = \"a\", operator = \"Exists\" }, { key = \"a\", operator = \"Exists\", effect = \"NoSchedul\" }]",
            "[deployment]: effect: Unsupported value: \"NoSchedul\": supported values: \"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\"",
            "{ key = \"a\", operator = \"Exists\", effect = \"NoSchedul\" }",
        ),
        (
            "tolerations = [{ key = \"a\", tolerationSecond = 3 }]",
            "unknown field `tolerationSecond`",
            "[{ key = \"a\", tolerationSecond = 3 }]",
        ),
        (
            "topology-spread-constraints = [{ maxSkew = 0, topologyKey = \"zone\", whenUnsatisfiable = \"ScheduleAnyway\" }]",
            "[deployment]: maxSkew: Invalid value: 0: must be greater than zero",
            "{ maxSkew = 0, topologyKey = \"zone\", whenUnsatisfiable = \"ScheduleAnyway\" }",
        ),
        (
            "priority-class-name = \"Very High\"",
            "[deployment]: Invalid value: \"Very High\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            "\"Very High\"",
        ),
        (
            "labels = { \"app.kubernetes.io/name\" = \"other\" }",
            "[deployment]: the label `app.kubernetes.io/name` selects the pods of the operator",
            "\"other\"",
        ),
        (
            "disruption-budget = { minAvailable = 1 }",
            "[deployment]: with one replica, this budget never permits to take a pod away, so no node that runs one can be drained",
            "{ minAvailable = 1 }",
        ),
        (
            "replicas = 3\ndisruption-budget = { minAvailable = \"67%\" }",
            "[deployment]: with 3 replicas, this budget never permits to take a pod away, so no node that runs one can be drained",
            "{ minAvailable = \"67%\" }",
        ),
        (
            "disruption-budget = { maxUnavailable = 1, minAvailable = 1 }",
            "[deployment]: a disruption budget has either `minAvailable` or `maxUnavailable`",
            "{ maxUnavailable = 1, minAvailable = 1 }",
        ),
        (
            "disruption-budget = { maxUnavailable = \"half\" }",
            "[deployment]: `half` is not a percentage of the pods",
            "{ maxUnavailable = \"half\" }",
        ),
    ];
    for (deployment, message, place) in cases {
        let (found, at) = refused(deployment);
        assert_eq!(
            (found.as_str(), at.as_str()),
            (message, place),
            "{deployment}"
        );
    }
}

#[test]
fn the_settings_of_the_runtime_are_known() {
    let source = include_str!("../../../crates/operator-runtime/src/settings.rs");
    let variables = source.split("env = \"").skip(1);
    let variables: BTreeSet<_> = variables.filter_map(|it| it.split('"').next()).collect();
    let known: BTreeSet<_> = KNOWN.iter().map(|it| it.variable).collect();
    assert_eq!(
        known, variables,
        "`KNOWN` in src/config/deployment/check.rs has the settings of the runtime"
    );
    let help = include_str!("../../../docs/running.md");
    let flags: BTreeSet<_> = help
        .lines()
        .map(str::trim)
        .filter(|it| it.starts_with("--"))
        .filter_map(|it| it.split(' ').next())
        .collect();
    let unknown = KNOWN.iter().filter(|it| !flags.contains(it.flag));
    // an operator with webhooks or protected metrics has these, too
    let is_optional = |flag: &&str| flag.starts_with("--webhook-") || *flag == "--metrics-address";
    let unknown = unknown.map(|it| it.flag).filter(|it| !is_optional(it));
    // clap hides this flag
    assert_eq!(
        unknown.collect::<Vec<_>>(),
        ["--parent-process"],
        "docs/running.md shows what `--help` prints"
    );
}

#[test]
fn the_default_of_the_shutdown_timeout_is_that_of_the_runtime() {
    let source = include_str!("../../../crates/operator-runtime/src/settings.rs");
    let (_, rest) = source.split_once("env = \"SHUTDOWN_TIMEOUT\"").unwrap();
    let (_, rest) = rest.split_once("default_value = \"").unwrap();
    let default = rest.split('"').next().unwrap();
    assert_eq!(default.parse::<SignedDuration>().unwrap(), SHUTDOWN_TIMEOUT);
}
