//! What the schemas of Database leave open about its versions. `versions.rs` has the rest of the conversions.

use anyhow::Context;
use operator_runtime::conversion::{Both, Values};

use super::{V1Answers, V1beta1Answers, v1::DatabaseSpecEngine};

/// Between v1beta1 and the hub, v1alpha1.
pub fn v1beta1() -> V1beta1Answers {
    V1beta1Answers {
        spec_mode: Values::new().only_in_spoke("Paranoid", "Safe"),
        spec_engine: Both {
            to_hub: |(engine, version)| {
                let engine = engine.context("spec.engine is required")?;
                let version = version.context("spec.engineVersion is required")?;
                Ok((Some(format!("{engine}:{version}")),))
            },
            to_spoke: |(engine,)| {
                let (name, version) = split(&engine.context("spec.engine is required")?)?;
                Ok((Some(name), Some(version)))
            },
        },
        rules: |spoke| spoke,
        declared: vec![],
    }
}

/// Between v1 and the hub, v1alpha1.
pub fn v1() -> V1Answers {
    V1Answers {
        spec_engine: Both {
            to_hub: |engine| Ok(format!("{}:{}", engine.name, engine.version)),
            to_spoke: |engine| {
                let (name, version) = split(&engine)?;
                Ok(DatabaseSpecEngine { name, version })
            },
        },
        spec_mode: Values::new().only_in_spoke("Paranoid", "Safe"),
        rules: |spoke| spoke,
        declared: vec![],
    }
}

/// The name and the version of an engine such as `postgres:16.2`.
fn split(engine: &str) -> anyhow::Result<(String, String)> {
    let (name, version) = engine
        .split_once(':')
        .with_context(|| format!("{engine:?} has no version"))?;
    Ok((name.to_owned(), version.to_owned()))
}
