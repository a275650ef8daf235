//! Validates schedules, with the messages of [cron].
//!
//! [cron]: https://pkg.go.dev/github.com/robfig/cron/v3#ParseStandard

/// The minimum and maximum of each field, and the names of its values, starting with the minimum.
const FIELDS: [(u64, u64, &[&str]); 5] = [
    (0, 59, &[]),
    (0, 23, &[]),
    (1, 31, &[]),
    (
        1,
        12,
        &[
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ],
    ),
    (0, 6, &["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
];

const NAMED: [&str; 7] = [
    "@yearly",
    "@annually",
    "@monthly",
    "@weekly",
    "@daily",
    "@midnight",
    "@hourly",
];

/// The error of an invalid schedule.
pub(crate) fn fault(schedule: &str) -> Option<String> {
    let schedule = match schedule.split_once(' ') {
        Some((zone, rest)) if zone.starts_with("TZ=") || zone.starts_with("CRON_TZ=") => {
            rest.trim()
        }
        _ => schedule,
    };
    if schedule.starts_with('@') {
        let is_known = NAMED.contains(&schedule) || schedule.starts_with("@every ");
        return (!is_known).then(|| format!("unrecognized descriptor: {schedule}"));
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        let (count, fields) = (fields.len(), fields.join(" "));
        return Some(format!(
            "expected exactly 5 fields, found {count}: [{fields}]"
        ));
    }
    let mut ranges = fields.iter().zip(FIELDS).flat_map(|(field, bounds)| {
        field
            .split(',')
            .filter(|range| !range.is_empty())
            .map(move |range| (range, bounds))
    });
    ranges.find_map(|(range, bounds)| check_range(range, bounds).err())
}

fn check_range(text: &str, (least, most, names): (u64, u64, &[&str])) -> Result<(), String> {
    let (range, step) = match text.split_once('/') {
        Some((range, step)) => (range, Some(step)),
        None => (text, None),
    };
    let ends: Vec<&str> = range.split('-').collect();
    let value = |text: &str| {
        let name = text.to_lowercase();
        match names.iter().position(|known| *known == name) {
            Some(at) => Ok(least + at as u64),
            None => number(text),
        }
    };
    let (start, mut end) = match ends.as_slice() {
        ["*" | "?", ..] => (least, most),
        [one] => {
            let one = value(one)?;
            (one, one)
        }
        [one, other] => (value(one)?, value(other)?),
        _ => return Err(format!("too many hyphens: {text}")),
    };
    let step = match step {
        Some(step) if step.contains('/') => return Err(format!("too many slashes: {text}")),
        Some(step) => number(step)?,
        None => 1,
    };
    if ends.len() == 1 && text.contains('/') {
        end = most;
    }
    if start < least {
        return Err(format!(
            "beginning of range ({start}) below minimum ({least}): {text}"
        ));
    }
    if end > most {
        return Err(format!(
            "end of range ({end}) above maximum ({most}): {text}"
        ));
    }
    if start > end {
        return Err(format!(
            "beginning of range ({start}) beyond end of range ({end}): {text}"
        ));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    Ok(())
}

fn number(text: &str) -> Result<u64, String> {
    let known: Option<i64> = text.parse().ok();
    match known {
        Some(number) => u64::try_from(number)
            .map_err(|_| format!("negative number ({number}) not allowed: {text}")),
        None => Err(format!(
            "failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax"
        )),
    }
}
