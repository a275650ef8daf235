//! The time that is stored in an image: that of `SOURCE_DATE_EPOCH`, or 1970.

use jiff::Timestamp;

use crate::diagnostic::Explain;

/// A time in whole seconds, for `created` and for the modification times of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Created(u32);

/// A `SOURCE_DATE_EPOCH` that is not a time.
#[derive(Debug, thiserror::Error)]
#[error("SOURCE_DATE_EPOCH is {0:?}, which is no number of seconds since 1970")]
pub struct CreatedError(String);

impl Explain for CreatedError {
    fn help(&self) -> String {
        "set it to the time of the commit with `git log -1 --format=%ct`, or unset it".into()
    }
}

impl Created {
    /// The time that the environment sets.
    #[cfg_attr(
        not(test),
        expect(
            clippy::disallowed_methods,
            reason = "the environment has the time of the sources"
        )
    )]
    pub fn of_environment() -> Result<Self, CreatedError> {
        let variable = std::env::var_os("SOURCE_DATE_EPOCH");
        let text = variable.as_ref().map(|text| text.to_string_lossy());
        Self::read(text.as_deref())
    }

    /// Reads the value of [`SOURCE_DATE_EPOCH`](https://reproducible-builds.org/specs/source-date-epoch/).
    pub fn read(variable: Option<&str>) -> Result<Self, CreatedError> {
        let Some(text) = variable else {
            return Ok(Self::default());
        };
        let seconds = text.parse();
        seconds.map(Self).map_err(|_| CreatedError(text.to_owned()))
    }

    /// Seconds since 1970.
    pub fn seconds(self) -> u64 {
        self.0.into()
    }

    /// Formats the time as in RFC 3339.
    pub fn rfc3339(self) -> String {
        let time = Timestamp::from_second(self.0.into()).expect("32 bits of seconds are in range");
        time.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_that_of_source_date_epoch_or_1970() {
        let created = |variable| Created::read(variable).unwrap().rfc3339();
        assert_eq!(created(None), "1970-01-01T00:00:00Z");
        assert_eq!(created(Some("1700000000")), "2023-11-14T22:13:20Z");
        for wrong in ["", "-1", "today", "99999999999"] {
            let error = Created::read(Some(wrong)).unwrap_err();
            assert!(error.to_string().contains(&format!("{wrong:?}")), "{error}");
        }
    }
}
