//! The values of a field that the two versions write differently.

use serde_json::Value;

/// A mapping between the values of a field in the two versions. Other values are copied unchanged.
///
/// ```
/// use operator_runtime::conversion::Values;
///
/// let values = Values::new().both("on", "Enabled").both("off", "Disabled").only_in_hub("Auto", "on");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Values {
    to_hub: Vec<(Value, Value)>,
    to_spoke: Vec<(Value, Value)>,
}

impl Values {
    /// Creates a mapping without values.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value that has another name in the hub.
    pub fn both(mut self, spoke: impl Into<Value>, hub: impl Into<Value>) -> Self {
        let (spoke, hub) = (spoke.into(), hub.into());
        self.to_hub.push((spoke.clone(), hub.clone()));
        self.to_spoke.push((hub, spoke));
        self
    }

    /// Adds a value that the hub lacks, and what the hub gets in its place. The value itself is kept.
    pub fn only_in_spoke(mut self, value: impl Into<Value>, hub: impl Into<Value>) -> Self {
        self.to_hub.push((value.into(), hub.into()));
        self
    }

    /// Adds a value that the spoke lacks, and what the spoke gets in its place. The value itself is kept.
    pub fn only_in_hub(mut self, value: impl Into<Value>, spoke: impl Into<Value>) -> Self {
        self.to_spoke.push((value.into(), spoke.into()));
        self
    }

    pub(super) fn to_hub(&self, value: Value) -> Value {
        replaced(&self.to_hub, value)
    }

    pub(super) fn to_spoke(&self, value: Value) -> Value {
        replaced(&self.to_spoke, value)
    }
}

fn replaced(pairs: &[(Value, Value)], value: Value) -> Value {
    match pairs.iter().find(|(from, _)| *from == value) {
        Some((_, to)) => to.clone(),
        None => value,
    }
}
