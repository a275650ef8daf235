//! Schedules of CronJobs: five fields (minutes, hours, days, months and weekdays), or a macro such as `@daily`.

use std::collections::BTreeSet;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// A parsed schedule.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    minutes: BTreeSet<i8>,
    hours: BTreeSet<i8>,
    days: BTreeSet<i8>,
    months: BTreeSet<i8>,
    /// The weekdays, from 0 for Sunday.
    weekdays: BTreeSet<i8>,
    /// Whether a day must match only one of `days` and `weekdays`, because both are restricted.
    is_either: bool,
    zone: TimeZone,
}

/// The number of years in which every date occurs, including the 29th of February.
const YEARS: i64 = 9;

impl Schedule {
    /// Parses a schedule. Returns `None` if it is invalid, or if the time zone is unknown.
    pub fn read(text: &str, zone: Option<&str>) -> Option<Self> {
        let (prefix, text) = match text.split_once(' ') {
            Some((prefix, rest)) => match prefix
                .strip_prefix("TZ=")
                .or_else(|| prefix.strip_prefix("CRON_TZ="))
            {
                Some(zone) => (Some(zone), rest),
                None => (None, text),
            },
            None => (None, text),
        };
        let zone = match zone.or(prefix) {
            None | Some("UTC" | "Etc/UTC") => TimeZone::UTC,
            Some(name) => TimeZone::get(name).ok()?,
        };
        let text = match text.trim() {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            other => other,
        };
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields.try_into().ok()?;
        const MONTHS: [&str; 12] = [
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ];
        const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
        let is_any = |field: &str| field.starts_with(['*', '?']);
        let mut on = set(weekdays, 0, 7, &WEEKDAYS, 0)?;
        if on.remove(&7) {
            on.insert(0);
        }
        Some(Self {
            minutes: set(minutes, 0, 59, &[], 0)?,
            hours: set(hours, 0, 23, &[], 0)?,
            days: set(days, 1, 31, &[], 0)?,
            months: set(months, 1, 12, &MONTHS, 1)?,
            weekdays: on,
            is_either: !is_any(days) && !is_any(weekdays),
            zone,
        })
    }

    /// The next time after this one.
    pub fn after(&self, time: Timestamp) -> Option<Timestamp> {
        let mut day = self.zone.to_datetime(time).date();
        let last = day.checked_add(YEARS.years()).ok()?;
        while day <= last {
            if let Some(next) = self.on(day).filter(|next| *next > time).min() {
                return Some(next);
            }
            day = day.tomorrow().ok()?;
        }
        None
    }

    /// The last time up to `now` that is after `since`.
    pub fn missed(&self, since: Timestamp, now: Timestamp) -> Option<Timestamp> {
        let mut day = self.zone.to_datetime(now).date();
        let first = self.zone.to_datetime(since).date();
        while day >= first {
            let times = self.on(day).filter(|time| *time <= now && *time > since);
            if let Some(last) = times.max() {
                return Some(last);
            }
            day = day.yesterday().ok()?;
        }
        None
    }

    /// The times of a day. A time that daylight saving skips is moved to a later one.
    fn on(&self, day: Date) -> impl Iterator<Item = Timestamp> {
        self.hours
            .iter()
            .filter(move |_| self.has_day(day))
            .flat_map(move |hour| {
                self.minutes
                    .iter()
                    .map(move |minute| day.at(*hour, *minute, 0, 0))
            })
            .filter_map(|local| self.zone.to_timestamp(local).ok())
    }

    fn has_day(&self, day: Date) -> bool {
        let in_month = self.days.contains(&day.day());
        let in_week = self
            .weekdays
            .contains(&day.weekday().to_sunday_zero_offset());
        let fits = if self.is_either {
            in_month || in_week
        } else {
            in_month && in_week
        };
        fits && self.months.contains(&day.month())
    }
}

/// Parses a field such as `*/15`, `1-5` or `mon,wed`; names are counted from `first`.
fn set(field: &str, least: i8, most: i8, names: &[&str], first: i8) -> Option<BTreeSet<i8>> {
    let number = |text: &str| -> Option<i8> {
        let name = text.to_lowercase();
        names
            .iter()
            .position(|known| *known == name)
            .and_then(|at| i8::try_from(at).ok())
            .map(|at| at + first)
            .or_else(|| text.parse().ok())
    };
    let mut numbers = BTreeSet::new();
    for part in field.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, step.parse::<usize>().ok().filter(|step| *step > 0)?),
            None => (part, 1),
        };
        let (from, to) = match range.split_once('-') {
            _ if matches!(range, "*" | "?") => (least, most),
            Some((from, to)) => (number(from)?, number(to)?),
            None if part.contains('/') => (number(range)?, most),
            None => (number(range)?, number(range)?),
        };
        if from < least || to > most || from > to {
            return None;
        }
        numbers.extend((from..=to).step_by(step));
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(schedule: &str, after: &str) -> String {
        let schedule = Schedule::read(schedule, None).unwrap();
        schedule.after(after.parse().unwrap()).unwrap().to_string()
    }

    #[test]
    fn the_next_time_is_the_first_that_fits() {
        let cases = [
            (
                "*/15 * * * *",
                "2024-02-28T23:50:00Z",
                "2024-02-29T00:00:00Z",
            ),
            (
                "30 4 1,15 * 5",
                "2024-01-02T00:00:00Z",
                "2024-01-05T04:30:00Z",
            ),
            ("0 0 * * 7", "2024-01-01T00:00:00Z", "2024-01-07T00:00:00Z"),
            (
                "0 12 29 feb *",
                "2024-03-01T00:00:00Z",
                "2028-02-29T12:00:00Z",
            ),
            (
                "0 9-17/4 * * mon-fri",
                "2024-01-05T17:00:00Z",
                "2024-01-08T09:00:00Z",
            ),
            ("@hourly", "2024-01-01T00:00:00Z", "2024-01-01T01:00:00Z"),
            (
                "5/20 * * * *",
                "2024-01-01T00:06:00Z",
                "2024-01-01T00:25:00Z",
            ),
        ];
        for (schedule, after, expected) in cases {
            assert_eq!(next(schedule, after), expected, "{schedule}");
        }
    }

    #[test]
    fn an_invalid_schedule_is_refused() {
        for text in [
            "",
            "* * * *",
            "60 * * * *",
            "5-1 * * * *",
            "* * * * eve",
            "*/0 * * * *",
        ] {
            assert!(Schedule::read(text, None).is_none(), "{text:?}");
        }
    }

    #[test]
    fn the_last_missed_time_counts() {
        let schedule = Schedule::read("0 * * * *", None).unwrap();
        let time = |text: &str| text.parse::<Timestamp>().unwrap();
        let missed = |since, now| schedule.missed(time(since), time(now));
        let last = missed("2024-01-01T00:30:00Z", "2024-01-01T05:10:00Z");
        assert_eq!(last, Some(time("2024-01-01T05:00:00Z")));
        assert_eq!(missed("2024-01-01T00:30:00Z", "2024-01-01T00:40:00Z"), None);
    }
}
