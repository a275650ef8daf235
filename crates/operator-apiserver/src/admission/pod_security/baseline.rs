//! The checks of the level `baseline`, each named after what it forbids. The second argument is the minor version of the policy.

use std::collections::BTreeSet;

use serde_json::Value;

use super::pod::{Pod, Refusal, containers, items, plural, quoted, refusal, text};
use crate::go;

pub(crate) fn app_armor(pod: &Pod<'_>, _: u32) -> Option<Refusal> {
    const PREFIX: &str = "container.apparmor.security.beta.kubernetes.io/";
    let mut types = BTreeSet::new();
    let violators =
        pod.violators(|context| forbidden_type(&context["appArmorProfile"], &mut types));
    let is_allowed =
        |value: &str| matches!(value, "" | "runtime/default") || value.starts_with("localhost/");
    let annotations = pod.annotations();
    let mut forbidden: Vec<String> = annotations
        .filter(|(name, value)| name.starts_with(PREFIX) && !is_allowed(value))
        .map(|(name, value)| format!("{name}={}", go::quoted(value)))
        .collect();
    forbidden.sort();
    let annotated = (!forbidden.is_empty())
        .then(|| plural(forbidden.len(), "annotation", "annotations").to_owned());
    let violators: Vec<String> = violators.into_iter().chain(annotated).collect();
    let values: Vec<String> = types.into_iter().chain(forbidden).collect();
    if violators.is_empty() {
        return None;
    }
    let reason = plural(
        values.len(),
        "forbidden AppArmor profile",
        "forbidden AppArmor profiles",
    );
    let violators = violators.join(" and ");
    let values = quoted(values);
    refusal(
        reason,
        format!("{violators} must not set AppArmor profile type to {values}"),
    )
}

pub(crate) fn capabilities(pod: &Pod<'_>, _: u32) -> Option<Refusal> {
    const ALLOWED: [&str; 13] = [
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    ];
    let detail = added(pod, &ALLOWED)?;
    refusal("non-default capabilities", detail)
}

/// The message about containers that add capabilities which are not allowed.
pub(crate) fn added(pod: &Pod<'_>, allowed: &[&str]) -> Option<String> {
    let mut forbidden = BTreeSet::new();
    let names = pod.named(|container| {
        let bad: Vec<String> = items(&container["securityContext"]["capabilities"]["add"])
            .iter()
            .map(text)
            .filter(|name| !allowed.contains(name))
            .map(str::to_owned)
            .collect();
        let is_bad = !bad.is_empty();
        forbidden.extend(bad);
        is_bad
    });
    (!names.is_empty()).then(|| {
        format!(
            "{} must not include {} in securityContext.capabilities.add",
            containers(&names),
            quoted(forbidden)
        )
    })
}

pub(crate) fn host_namespaces(pod: &Pod<'_>, _: u32) -> Option<Refusal> {
    let shared: Vec<String> = ["hostNetwork", "hostPID", "hostIPC"]
        .into_iter()
        .filter(|field| pod.spec[field] == true)
        .map(|field| format!("{field}=true"))
        .collect();
    if shared.is_empty() {
        return None;
    }
    refusal("host namespaces", shared.join(", "))
}

pub(crate) fn host_paths(pod: &Pod<'_>, _: u32) -> Option<Refusal> {
    let volumes = items(&pod.spec["volumes"])
        .iter()
        .filter(|volume| !volume["hostPath"].is_null());
    let names: Vec<&str> = volumes.map(|volume| text(&volume["name"])).collect();
    if names.is_empty() {
        return None;
    }
    let volumes = plural(names.len(), "volume", "volumes");
    refusal("hostPath volumes", format!("{volumes} {}", quoted(names)))
}

pub(crate) fn host_ports(pod: &Pod<'_>, _: u32) -> Option<Refusal> {
    let mut ports = BTreeSet::new();
    let names = pod.named(|container| {
        let used: Vec<String> = items(&container["ports"])
            .iter()
            .filter_map(|port| port["hostPort"].as_i64().filter(|port| *port != 0))
            .map(|port| port.to_string())
            .collect();
        let uses = !used.is_empty();
        ports.extend(used);
        uses
    });
    if names.is_empty() {
        return None;
    }
    let (use_, port) = (
        plural(names.len(), "uses", "use"),
        plural(ports.len(), "hostPort", "hostPorts"),
    );
    let ports = ports.into_iter().collect::<Vec<_>>().join(", ");
    refusal(
        "hostPort",
        format!("{} {use_} {port} {ports}", containers(&names)),
    )
}

/// Forbids hosts in the probes and hooks of containers.
pub(crate) fn hosts(pod: &Pod<'_>, _: u32) -> Option<Refusal> {
    const HANDLERS: [&str; 5] = [
        "/livenessProbe",
        "/readinessProbe",
        "/startupProbe",
        "/lifecycle/postStart",
        "/lifecycle/preStop",
    ];
    let mut hosts = BTreeSet::new();
    let names = pod.named(|container| {
        let named: Vec<String> = HANDLERS
            .iter()
            .filter_map(|path| container.pointer(path))
            .flat_map(|handler| {
                ["httpGet", "tcpSocket"].map(|action| text(&handler[action]["host"]).to_owned())
            })
            .filter(|host| !host.is_empty())
            .collect();
        let names = !named.is_empty();
        hosts.extend(named);
        names
    });
    let names: BTreeSet<&str> = names.into_iter().collect();
    if names.is_empty() {
        return None;
    }
    let names: Vec<&str> = names.into_iter().collect();
    let (use_, host) = (
        plural(names.len(), "uses", "use"),
        plural(
            hosts.len(),
            "probe or lifecycle host",
            "probe or lifecycle hosts",
        ),
    );
    refusal(
        "probe or lifecycle host",
        format!("{} {use_} {host} {}", containers(&names), quoted(hosts)),
    )
}

pub(crate) fn privileged(pod: &Pod<'_>, _: u32) -> Option<Refusal> {
    let names = pod.named(|container| container["securityContext"]["privileged"] == true);
    if names.is_empty() {
        return None;
    }
    let names = containers(&names);
    refusal(
        "privileged",
        format!("{names} must not set securityContext.privileged=true"),
    )
}

pub(crate) fn proc_mount(pod: &Pod<'_>, minor: u32) -> Option<Refusal> {
    if pod.has_own_users(minor) {
        None
    } else {
        masked_proc(pod)
    }
}

/// Forbids other mounts of `/proc` than the default, in both levels.
pub(crate) fn masked_proc(pod: &Pod<'_>) -> Option<Refusal> {
    let mut types = BTreeSet::new();
    let names = pod.named(|container| {
        let mount = container["securityContext"]["procMount"].as_str();
        let bad = mount.filter(|mount| *mount != "Default");
        types.extend(bad.map(str::to_owned));
        bad.is_some()
    });
    if names.is_empty() {
        return None;
    }
    let (names, types) = (containers(&names), quoted(types));
    refusal(
        "procMount",
        format!("{names} must not set securityContext.procMount to {types}"),
    )
}

pub(crate) fn se_linux(pod: &Pod<'_>, minor: u32) -> Option<Refusal> {
    let is_allowed = |type_: &str| match type_ {
        "" | "container_t" | "container_init_t" | "container_kvm_t" => true,
        "container_engine_t" => minor >= 31,
        _ => false,
    };
    let (mut types, mut user, mut role) = (BTreeSet::new(), false, false);
    let violators = pod.violators(|context| {
        let options = &context["seLinuxOptions"];
        let field = |name: &str| text(&options[name]).to_owned();
        let has_type = !is_allowed(&field("type"));
        if has_type {
            types.insert(field("type"));
        }
        let (has_user, has_role) = (!field("user").is_empty(), !field("role").is_empty());
        user |= has_user;
        role |= has_role;
        has_type || has_user || has_role
    })?;
    let mut wrong = Vec::new();
    if !types.is_empty() {
        let type_ = plural(types.len(), "type", "types");
        wrong.push(format!("{type_} {}", quoted(types)));
    }
    for (is_set, field) in [(user, "user"), (role, "role")] {
        if is_set {
            wrong.push(format!("{field} may not be set"));
        }
    }
    let wrong = wrong.join("; ");
    refusal(
        "seLinuxOptions",
        format!("{violators} set forbidden securityContext.seLinuxOptions: {wrong}"),
    )
}

pub(crate) fn seccomp(pod: &Pod<'_>, minor: u32) -> Option<Refusal> {
    if minor >= 19 {
        return forbidden_seccomp(pod);
    }
    const POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
    const PREFIX: &str = "container.seccomp.security.alpha.kubernetes.io/";
    let is_allowed = |value: &str| {
        matches!(value, "runtime/default" | "docker/default") || value.starts_with("localhost/")
    };
    let names = pod.named(|_| true);
    let is_meant = |name: &str| {
        name == POD
            || name
                .strip_prefix(PREFIX)
                .is_some_and(|name| names.contains(&name))
    };
    let annotations = pod.annotations();
    let forbidden: BTreeSet<String> = annotations
        .filter(|(name, value)| is_meant(name) && !is_allowed(value))
        .map(|(name, value)| format!("{name}={}", go::quoted(value)))
        .collect();
    if forbidden.is_empty() {
        return None;
    }
    let annotations = plural(forbidden.len(), "annotation", "annotations");
    let forbidden = forbidden.into_iter().collect::<Vec<_>>().join(", ");
    refusal(
        "seccompProfile",
        format!("forbidden {annotations} {forbidden}"),
    )
}

/// Forbids the seccomp profiles that neither level allows.
pub(crate) fn forbidden_seccomp(pod: &Pod<'_>) -> Option<Refusal> {
    let mut types = BTreeSet::new();
    let violators =
        pod.violators(|context| forbidden_type(&context["seccompProfile"], &mut types))?;
    let types = quoted(types);
    refusal(
        "seccompProfile",
        format!("{violators} must not set securityContext.seccompProfile.type to {types}"),
    )
}

/// Whether a profile is set, but is neither that of the runtime nor local. If so, records its type.
fn forbidden_type(profile: &Value, types: &mut BTreeSet<String>) -> bool {
    let type_ = text(&profile["type"]);
    let is_bad = profile.is_object() && !matches!(type_, "RuntimeDefault" | "Localhost");
    if is_bad {
        types.insert(type_.to_owned());
    }
    is_bad
}

pub(crate) fn sysctls(pod: &Pod<'_>, minor: u32) -> Option<Refusal> {
    let since = |name: &str| match name {
        "kernel.shm_rmid_forced"
        | "net.ipv4.ip_local_port_range"
        | "net.ipv4.tcp_syncookies"
        | "net.ipv4.ping_group_range"
        | "net.ipv4.ip_unprivileged_port_start" => Some(0),
        "net.ipv4.ip_local_reserved_ports" => Some(27),
        "net.ipv4.tcp_keepalive_time"
        | "net.ipv4.tcp_fin_timeout"
        | "net.ipv4.tcp_keepalive_intvl"
        | "net.ipv4.tcp_keepalive_probes" => Some(29),
        "net.ipv4.tcp_rmem" | "net.ipv4.tcp_wmem" => Some(32),
        _ => None,
    };
    let names: Vec<&str> = items(&pod.spec["securityContext"]["sysctls"])
        .iter()
        .map(|sysctl| text(&sysctl["name"]))
        .filter(|name| since(name).is_none_or(|since| minor < since))
        .collect();
    if names.is_empty() {
        return None;
    }
    refusal("forbidden sysctls", names.join(", "))
}

pub(crate) fn host_process(pod: &Pod<'_>, _: u32) -> Option<Refusal> {
    let violators = pod.violators(|context| context["windowsOptions"]["hostProcess"] == true)?;
    refusal(
        "hostProcess",
        format!("{violators} must not set securityContext.windowsOptions.hostProcess=true"),
    )
}
