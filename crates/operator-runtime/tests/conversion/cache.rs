//! A kind with three versions, written by hand: fields that are renamed, moved, split, dropped, a scalar that became a list, enums with
//! different values, and a field that only one version requires.

use anyhow::anyhow;
use operator_runtime::conversion::{Conversion, Spoke, Values};
use serde::Deserialize;

#[derive(Deserialize)]
struct Old {
    spec: OldSpec,
}

#[derive(Deserialize)]
struct OldSpec {
    size: i64,
}

pub fn conversion() -> Conversion {
    Conversion::new("caches.cache.example.com", "v2")
        .sensitive("v1", "spec.password")
        .spoke(v1())
        .spoke(v3())
}

fn v1() -> Spoke {
    let modes = Values::new()
        .only_in_spoke("Legacy", "Standard")
        .only_in_hub("Fast", "Standard");
    Spoke::new("v1")
        .moved("spec.size", "spec.replicas")
        .only_in_hub("spec.tier")
        .supply_hub("spec.tier", |old: &Old| {
            Ok(if old.spec.size < 10 { "small" } else { "large" })
        })
        .list_of_one("spec.host", "spec.hosts")
        .answer_all(
            &["spec.address"],
            &["spec.endpoint.host", "spec.endpoint.port"],
            |(address,): (String,)| {
                let (host, port) = address
                    .split_once(':')
                    .ok_or_else(|| anyhow!("has no port"))?;
                Ok((
                    host.to_owned(),
                    port.parse::<u16>().map_err(|error| anyhow!(error))?,
                ))
            },
            |(host, port): (String, Option<u16>)| Ok((format!("{host}:{}", port.unwrap_or(80)),)),
        )
        .only_in_hub("spec.endpoint")
        .answer(
            "spec.interval",
            "spec.intervalSeconds",
            seconds,
            |seconds: u64| Ok(interval(seconds)),
        )
        .values("spec.mode", "spec.mode", modes)
        .null_only_in_spoke("spec.comment")
        .moved("spec.password", "spec.auth.password")
        .only_in_hub("spec.auth")
        .default_in_hub("spec.eviction", "lru")
        .only_in_spoke("spec.debug")
        .only_in_hub("spec.label")
        .moved("spec.pools[name].name", "spec.pools[id].id")
        .moved("spec.pools[name].size", "spec.pools[id].count")
        .only_in_spoke("spec.pools[name].weight")
        .only_in_hub("spec.pools[id].zone")
        .only_in_spoke("spec.steps[].note")
        .only_in_hub("spec.steps[].timeout")
        .default_in_hub("spec.steps[].timeout", 30)
        .moved("spec.limits{}.cpu", "spec.limits{}.cores")
        .only_in_spoke("spec.limits{}.burst")
        .values(
            "status.state",
            "status.phase",
            Values::new().both("ok", "Ready").both("failed", "Failed"),
        )
}

fn v3() -> Spoke {
    Spoke::new("v3")
        .moved("spec.scale.replicas", "spec.replicas")
        .only_in_spoke("spec.scale")
        .one_of_list("spec.labels", "spec.label")
        .only_in_hub("spec.endpoint")
        .only_in_hub("spec.comment")
        .only_in_hub("spec.eviction")
        .default_in_hub("spec.eviction", "lru")
        .only_in_hub("spec.pools")
        .only_in_hub("spec.steps")
        .only_in_hub("spec.limits")
}

fn seconds(interval: String) -> operator_runtime::Result<u64> {
    let (number, factor) = match interval.strip_suffix('m') {
        Some(minutes) => (minutes, 60),
        None => (interval.trim_end_matches('s'), 1),
    };
    let number: u64 = number
        .parse()
        .map_err(|_| anyhow!("{interval:?} is not an interval"))?;
    Ok(number * factor)
}

fn interval(seconds: u64) -> String {
    match seconds % 60 {
        0 => format!("{}m", seconds / 60),
        _ if seconds > 9999 => format!("{}m", seconds / 60),
        _ => format!("{seconds}s"),
    }
}
