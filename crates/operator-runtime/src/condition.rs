//! Conditions of a status, for any item type that has the fields of `metav1.Condition`.

use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::Result;

/// The status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionStatus {
    /// The condition holds.
    True,
    /// The condition does not hold.
    False,
    /// It is not known whether the condition holds.
    Unknown,
}

impl ConditionStatus {
    fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// One [condition](https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties)
/// of an object.
///
/// ```
/// use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition as MetaV1;
/// use operator_runtime::Condition;
///
/// let mut conditions: Vec<MetaV1> = vec![];
/// Condition::new("Ready", true, "AllUp", "3 of 3 replicas are up").set_in(&mut conditions, Some(7))?;
/// assert_eq!(conditions[0].status, "True");
/// # Ok::<(), operator_runtime::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Condition {
    type_: String,
    status: ConditionStatus,
    reason: String,
    message: String,
}

impl Condition {
    /// Creates a condition. `reason` is one word in CamelCase, for programs; `message` is for humans.
    pub fn new(
        type_: impl Into<String>,
        status: impl Into<ConditionStatus>,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            type_: type_.into(),
            status: status.into(),
            reason: reason.into(),
            message: message.into(),
        }
    }

    /// Replaces the condition of the same type in `conditions`, or appends it.
    ///
    /// `lastTransitionTime` changes only with `status`, so that setting the same condition again changes nothing. `lastUpdateTime`, which
    /// `metav1.Condition` does not have, is set if `C` requires it; once it is set, it changes with any other field. `generation` is the
    /// `metadata.generation` for which the condition was observed; it becomes `observedGeneration`. Fields that `C` does not have are
    /// omitted, and fields that only `C` has keep their values. Fails if the condition does not fit `C`.
    pub fn set_in<C: Serialize + DeserializeOwned>(
        self,
        conditions: &mut Vec<C>,
        generation: Option<i64>,
    ) -> Result<()> {
        self.set_at(conditions, generation, Timestamp::now())
    }

    fn set_at<C: Serialize + DeserializeOwned>(
        self,
        conditions: &mut Vec<C>,
        generation: Option<i64>,
        now: Timestamp,
    ) -> Result<()> {
        let mut position = None;
        let mut item = Map::new();
        for (index, condition) in conditions.iter().enumerate() {
            if let Value::Object(fields) = serde_json::to_value(condition)?
                && fields.get("type").and_then(Value::as_str) == Some(&self.type_)
            {
                (position, item) = (Some(index), fields);
                break;
            }
        }
        let before = item.clone();
        let now = serde_json::to_value(Time(now))?;
        let status = Value::from(self.status.as_str());
        if item.get("status") != Some(&status) || !item.contains_key("lastTransitionTime") {
            item.insert("lastTransitionTime".into(), now.clone());
        }
        item.insert("type".into(), self.type_.into());
        item.insert("status".into(), status);
        item.insert("reason".into(), self.reason.into());
        item.insert("message".into(), self.message.into());
        match generation {
            Some(generation) => item.insert("observedGeneration".into(), generation.into()),
            None => item.remove("observedGeneration"),
        };
        // compares only the fields of `before`: others do not exist in `C`
        let differs = before
            .iter()
            .any(|(key, value)| item.get(key) != Some(value));
        if item.contains_key("lastUpdateTime") && differs {
            item.insert("lastUpdateTime".into(), now.clone());
        }
        let is_null = |item: &C| -> Result<bool> {
            Ok(serde_json::to_value(item)?.get("lastUpdateTime") == Some(&Value::Null))
        };
        let item = match C::deserialize(&Value::Object(item.clone())) {
            // required but nullable: the runtime drops nulls before it writes a status, so the API server would miss the field
            Ok(condition) if is_null(&condition)? => {
                item.insert("lastUpdateTime".into(), now);
                C::deserialize(&Value::Object(item))?
            }
            Ok(condition) => condition,
            Err(error) => {
                item.entry("lastUpdateTime").or_insert(now);
                C::deserialize(&Value::Object(item)).map_err(|_| error)?
            }
        };
        match position {
            Some(index) => conditions[index] = item,
            None => conditions.push(item),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition as MetaV1;
    use serde::Deserialize;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn ready(status: bool, message: &str) -> Condition {
        Condition::new("Ready", status, "Because", message)
    }

    #[test]
    fn last_transition_time_changes_only_with_the_status() {
        let mut conditions: Vec<MetaV1> = vec![];
        ready(false, "starting")
            .set_at(&mut conditions, Some(1), at(1))
            .unwrap();
        ready(false, "still starting")
            .set_at(&mut conditions, Some(2), at(2))
            .unwrap();
        assert_eq!(conditions.len(), 1);
        assert_eq!(conditions[0].last_transition_time.0, at(1));
        assert_eq!(conditions[0].message, "still starting");
        assert_eq!(conditions[0].observed_generation, Some(2));
        ready(true, "up")
            .set_at(&mut conditions, Some(2), at(3))
            .unwrap();
        assert_eq!(conditions[0].last_transition_time.0, at(3));
    }

    #[test]
    fn other_conditions_are_not_changed() {
        let mut conditions: Vec<MetaV1> = vec![];
        Condition::new("Other", ConditionStatus::Unknown, "R", "")
            .set_at(&mut conditions, None, at(1))
            .unwrap();
        ready(true, "up")
            .set_at(&mut conditions, None, at(2))
            .unwrap();
        let types: Vec<_> = conditions
            .iter()
            .map(|condition| &*condition.type_)
            .collect();
        assert_eq!(types, ["Other", "Ready"]);
        assert_eq!(conditions[0].status, "Unknown");
    }

    #[test]
    fn a_required_last_update_time_changes_with_any_field() {
        #[derive(Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Updated {
            r#type: String,
            status: String,
            message: String,
            last_update_time: Time,
        }
        #[derive(Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Nullable {
            r#type: String,
            status: String,
            last_update_time: Option<Time>,
        }
        let mut conditions: Vec<Nullable> = vec![];
        for (status, second, expected) in [(false, 1, 1), (false, 2, 1), (true, 3, 3)] {
            ready(status, "a")
                .set_at(&mut conditions, None, at(second))
                .unwrap();
            let time = conditions[0].last_update_time.as_ref();
            assert_eq!(time.map(|time| time.0), Some(at(expected)));
        }
        let mut conditions: Vec<Updated> = vec![];
        for (message, second, expected) in [("a", 1, 1), ("a", 2, 1), ("b", 3, 3)] {
            ready(false, message)
                .set_at(&mut conditions, None, at(second))
                .unwrap();
            assert_eq!(conditions[0].last_update_time.0, at(expected));
        }
    }

    #[test]
    fn a_custom_condition_type_ignores_unknown_fields_and_keeps_its_own() {
        #[derive(Serialize, Deserialize, Debug, PartialEq)]
        struct Own {
            r#type: String,
            status: String,
            #[serde(default)]
            severity: Option<String>,
        }
        let mut conditions = vec![Own {
            r#type: "Ready".into(),
            status: "True".into(),
            severity: Some("low".into()),
        }];
        ready(false, "down")
            .set_in(&mut conditions, Some(1))
            .unwrap();
        let expected = Own {
            r#type: "Ready".into(),
            status: "False".into(),
            severity: Some("low".into()),
        };
        assert_eq!(conditions, [expected]);
    }
}
