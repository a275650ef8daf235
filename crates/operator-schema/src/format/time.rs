//! Dates, times and durations.

use super::matches;

/// A date such as `2006-01-02` that exists in the calendar.
pub(super) fn is_date(text: &str) -> bool {
    if !matches("^[0-9]{4}-[0-9]{2}-[0-9]{2}$", text) {
        return false;
    }
    let number = |range| {
        text.get(range)
            .and_then(|part: &str| part.parse::<u32>().ok())
    };
    let (Some(year), Some(month), Some(day)) = (number(0..4), number(5..7), number(8..10)) else {
        return false;
    };
    let days = match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// A date, `T`, and a time with a zone; there are no leap seconds.
pub(super) fn is_date_time(text: &str) -> bool {
    let text = text.to_lowercase();
    let mut parts = text.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else {
        return false;
    };
    // the dot of the fraction is not escaped in the API server's library (go-openapi/strfmt) either
    let regex = r"^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})$";
    is_date(date) && matches(regex, time)
}

/// A Go duration such as `1h30m`, or a number with a unit anywhere in the text (`2 days`).
pub(super) fn is_duration(text: &str) -> bool {
    let go = "^[-+]?(0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|\u{b5}s|\u{3bc}s|ms|s|m|h))+)$";
    let words = "(?i)[0-9]\\s*(ns|us|\u{b5}s|ms|s|m|h|hr|d|w|wk)([^A-Za-z\u{b5}]|$)";
    let prefixes = "(?i)[0-9]\\s*(nano|micro|milli|sec|min|hour|day|week)";
    [go, words, prefixes]
        .iter()
        .any(|regex| matches(regex, text))
}
