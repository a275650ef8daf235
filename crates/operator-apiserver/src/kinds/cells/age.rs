//! Formats durations for people: `5s`, `3m20s`, `47h`, `2y30d`, with two or three significant digits.

use jiff::Timestamp;
use serde_json::Value;

use crate::model::clock;

/// The age of a time, for the column `AGE`.
pub(crate) fn since(time: &Value) -> String {
    match time.as_str().unwrap_or_default() {
        "" => "<unknown>".to_owned(),
        text => match text.parse::<Timestamp>() {
            Ok(then) => human(seconds(then, clock::now())),
            Err(_) => "<invalid>".to_owned(),
        },
    }
}

/// The time between two times, if both are set.
pub(crate) fn between(from: &Value, to: &Value) -> Option<String> {
    let read = |time: &Value| time.as_str()?.parse::<Timestamp>().ok();
    Some(human(seconds(read(from)?, read(to)?)))
}

fn seconds(from: Timestamp, to: Timestamp) -> i64 {
    to.duration_since(from).as_secs()
}

/// Formats a duration as `duration.HumanDuration` of Kubernetes does.
fn human(seconds: i64) -> String {
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    let two = |large: i64, unit: char, small: i64, rest: char| match small {
        0 => format!("{large}{unit}"),
        small => format!("{large}{unit}{small}{rest}"),
    };
    if seconds < -1 {
        "<invalid>".to_owned()
    } else if seconds < 0 {
        "0s".to_owned()
    } else if seconds < 120 {
        format!("{seconds}s")
    } else if minutes < 10 {
        two(minutes, 'm', seconds % 60, 's')
    } else if minutes < 180 {
        format!("{minutes}m")
    } else if hours < 8 {
        two(hours, 'h', minutes % 60, 'm')
    } else if hours < 48 {
        format!("{hours}h")
    } else if days < 8 {
        two(days, 'd', hours % 24, 'h')
    } else if years < 2 {
        format!("{days}d")
    } else if years < 8 {
        two(years, 'y', days % 365, 'd')
    } else {
        format!("{years}y")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_two_or_three_digits() {
        const MINUTE: i64 = 60;
        const HOUR: i64 = 60 * MINUTE;
        const DAY: i64 = 24 * HOUR;
        for (seconds, text) in [
            (-2, "<invalid>"),
            (-1, "0s"),
            (119, "119s"),
            (120, "2m"),
            (200, "3m20s"),
            (10 * MINUTE + 59, "10m"),
            (3 * HOUR - 1, "179m"),
            (3 * HOUR + 5 * MINUTE, "3h5m"),
            (8 * HOUR, "8h"),
            (2 * DAY, "2d"),
            (2 * DAY + HOUR, "2d1h"),
            (729 * DAY, "729d"),
            (2 * 365 * DAY, "2y"),
            (2 * 365 * DAY + 3 * DAY, "2y3d"),
            (9 * 365 * DAY, "9y"),
        ] {
            assert_eq!(human(seconds), text);
        }
    }
}
