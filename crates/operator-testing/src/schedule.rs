//! Which request or call gets which fault, as values and as the text of `FAULTS`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// A fault that has a name in a schedule.
pub(crate) trait NamedFault: Copy + PartialEq + 'static {
    /// All faults with their names.
    const ALL: &'static [(Self, &'static str)];

    fn name(self) -> &'static str {
        let mut all = Self::ALL.iter();
        all.find(|(fault, _)| *fault == self)
            .map_or("", |(_, name)| name)
    }
}

/// The faults by the number of the request or call with which they begin, from 0. The text form is `12:504 17:cut`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Schedule<F>(pub BTreeMap<usize, F>);

impl<F: NamedFault> Schedule<F> {
    /// The schedule in an environment variable, if it is set.
    pub fn from_env(variable: &str) -> Option<Self> {
        let text = std::env::var(variable).ok()?;
        Some(
            text.parse()
                .unwrap_or_else(|error| panic!("{variable}: {error}")),
        )
    }

    /// The schedule as the value of its variable, and where each fault began: `at request 12, patch pods`.
    pub fn headline(&self, variable: &str, at: &str, begun: &[impl fmt::Display]) -> String {
        let faults: Vec<String> = self
            .0
            .iter()
            .map(|(number, fault)| {
                let name = fault.name();
                match begun.get(*number) {
                    Some(what) => format!("{name} {at} {number}, {what}"),
                    None => format!("{name} {at} {number}, which was not made"),
                }
            })
            .collect();
        format!("{variable}=\"{self}\": {}", faults.join("; "))
    }
}

impl<F> Default for Schedule<F> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<F: NamedFault> fmt::Display for Schedule<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (number, fault)) in self.0.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(f, "{space}{number}:{}", fault.name())?;
        }
        Ok(())
    }
}

impl<F: NamedFault> FromStr for Schedule<F> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let faults = text.split_whitespace().map(|word| {
            word.split_once(':')
                .and_then(|(number, name)| {
                    let (fault, _) = F::ALL.iter().find(|(_, known)| *known == name)?;
                    Some((number.parse().ok()?, *fault))
                })
                .ok_or_else(|| {
                    let names: Vec<&str> = F::ALL.iter().map(|(_, name)| *name).collect();
                    let names = names.join(", ");
                    format!("`{word}` is not NUMBER:FAULT, with a fault of {names}")
                })
        });
        faults.collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Fault;
    use crate::provider::ProviderFault;
    use crate::webhook_fault::WebhookFault;

    fn assert_is_read_as_printed<F: NamedFault + fmt::Debug>() {
        let faults = F::ALL.iter().enumerate();
        let schedule = Schedule(
            faults
                .map(|(number, (fault, _))| (number, *fault))
                .collect(),
        );
        assert_eq!(schedule.to_string().parse(), Ok(schedule));
        for wrong in ["3", "3:boom", "x:late"] {
            let error = wrong.parse::<Schedule<F>>().unwrap_err();
            assert!(
                error.contains(&format!("`{wrong}` is not NUMBER:FAULT")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_schedule_is_read_as_it_is_printed() {
        assert_is_read_as_printed::<Fault>();
        assert_is_read_as_printed::<ProviderFault>();
        assert_is_read_as_printed::<WebhookFault>();
        let schedule = Schedule([(3, Fault::TimeoutAfter), (17, Fault::Cut)].into());
        assert_eq!(schedule.to_string(), "3:504 17:cut");
    }
}
