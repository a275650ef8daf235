//! [Quantities] in the canonical form of the API server: `1000m` is `1`.
//!
//! [Quantities]: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/

/// The suffixes of powers of 1000.
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
/// The suffixes of powers of 1024.
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const NANO: i128 = 1_000_000_000;

/// The canonical form; `None` if the text is not a quantity, or is too precise or too large for this implementation.
pub(crate) fn canonical(text: &str) -> Option<String> {
    let (_, suffix) = split(text);
    let nanos = amount(text)?;
    if exponent(suffix).is_some() {
        return Some(exponential(nanos));
    }
    let in_binary = is_binary(suffix).then(|| binary(nanos)).flatten();
    Some(in_binary.unwrap_or_else(|| decimal(nanos)))
}

/// The API server's message for a text that is not a quantity.
pub(crate) fn refusal(text: &str) -> Option<&'static str> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let rest = unsigned.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let has_whole = rest.len() < unsigned.len();
    let fraction = rest.strip_prefix('.').unwrap_or(rest);
    let suffix = fraction.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let has_number = has_whole || suffix.len() < fraction.len();
    let after = suffix.trim_start_matches(|letter| "eEinumkKMGTP".contains(letter));
    let after = after.strip_prefix(['+', '-']).unwrap_or(after);
    if text.is_empty() || !after.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        );
    }
    let is_exponent = suffix
        .strip_prefix(['e', 'E'])
        .is_some_and(|exponent| exponent.parse::<i64>().is_ok());
    if !is_exponent && !DECIMAL.contains(&suffix) && !BINARY.contains(&suffix) {
        return Some("unable to parse quantity's suffix");
    }
    (!has_number).then_some("unable to parse numeric part of quantity")
}

/// The quantity rounded to thousandths, away from zero. `None` if it has no smaller part, or is invalid.
pub(crate) fn in_thousandths(text: &str) -> Option<String> {
    const MILLI: i128 = NANO / 1000;
    let nanos = amount(text).filter(|nanos| nanos % MILLI != 0)?;
    let rounded = (nanos / MILLI + nanos.signum()) * MILLI;
    Some(match exponent(split(text).1) {
        Some(_) => exponential(rounded),
        None => decimal(rounded),
    })
}

/// Whether the first quantity is larger than the second; false if one of them is invalid.
pub(crate) fn is_more(one: &str, other: &str) -> bool {
    amount(one)
        .zip(amount(other))
        .is_some_and(|(one, other)| one > other)
}

/// Splits a quantity into number and suffix.
fn split(text: &str) -> (&str, &str) {
    let at = text.find(|c: char| !c.is_ascii_digit() && !"+-.".contains(c));
    text.split_at(at.unwrap_or(text.len()))
}

/// The quantity in billionths.
fn amount(text: &str) -> Option<i128> {
    let (number, suffix) = split(text);
    let nanos = nanos(number)?;
    if let Some(exponent) = exponent(suffix) {
        return scaled(nanos, exponent?);
    }
    if let Some(power) = BINARY
        .iter()
        .position(|known| *known == suffix && is_binary(suffix))
    {
        return nanos.checked_mul(1i128.checked_shl(10 * u32::try_from(power).ok()?)?);
    }
    let power = DECIMAL.iter().position(|known| *known == suffix)?;
    let scaled = nanos.checked_mul(10i128.checked_pow(3 * u32::try_from(power).ok()?)?)?;
    // the powers start at `n`, a billionth; a part below it is rounded up
    Some(scaled.checked_add(NANO - 1)?.div_euclid(NANO))
}

/// The power of ten of a suffix such as `e3`: `None` for other suffixes, `Some(None)` if the power is invalid or too large.
fn exponent(suffix: &str) -> Option<Option<i32>> {
    let digits = suffix.strip_prefix(['e', 'E'])?;
    (!digits.is_empty()).then(|| digits.parse().ok())
}

/// A number times a power of ten, rounded away from zero.
fn scaled(value: i128, exponent: i32) -> Option<i128> {
    let factor = 10i128.checked_pow(exponent.unsigned_abs());
    match factor {
        Some(factor) if exponent >= 0 => value.checked_mul(factor),
        Some(factor) if value % factor == 0 => Some(value / factor),
        Some(factor) => Some(value / factor + value.signum()),
        None if exponent < 0 || value == 0 => Some(value.signum()),
        None => None,
    }
}

fn is_binary(suffix: &str) -> bool {
    suffix.ends_with('i')
}

/// Parses a number without a suffix, in billionths.
fn nanos(number: &str) -> Option<i128> {
    let (sign, digits) = match number.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, number.strip_prefix('+').unwrap_or(number)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = !(whole.is_empty() && fraction.is_empty()) && fraction.len() <= 9;
    let digits: String = whole
        .chars()
        .chain(format!("{fraction:0<9}").chars())
        .collect();
    let value: i128 = is_number.then(|| digits.parse().ok())??;
    Some(sign * value)
}

fn decimal(nanos: i128) -> String {
    let (mut value, mut power) = (nanos, 0);
    while value != 0 && value % 1000 == 0 && power + 1 < DECIMAL.len() {
        value /= 1000;
        power += 1;
    }
    match value {
        0 => "0".to_owned(),
        value => format!("{value}{}", DECIMAL[power]),
    }
}

/// Formats the quantity with powers of 1024. `None` for one below 1024 or with a fraction, which is formatted with powers of ten.
fn binary(nanos: i128) -> Option<String> {
    let mut value = (nanos % NANO == 0).then_some(nanos / NANO)?;
    if value.abs() < 1024 {
        return None;
    }
    let mut power = 0;
    while value % 1024 == 0 && power + 1 < BINARY.len() {
        value /= 1024;
        power += 1;
    }
    Some(format!("{value}{}", BINARY[power]))
}

/// Formats the quantity with a power of ten that is a multiple of three.
fn exponential(nanos: i128) -> String {
    let (mut value, mut power) = (nanos, -9);
    while value != 0 && value % 1000 == 0 {
        value /= 1000;
        power += 3;
    }
    match (value, power) {
        (0, _) => "0".to_owned(),
        (value, 0) => value.to_string(),
        (value, power) => format!("{value}e{power}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::go::quantity::{canonical, in_thousandths, refusal};

    #[test]
    fn a_resource_is_counted_in_thousandths() {
        for (text, form) in [
            ("0.0001", Some("1m")),
            ("-0.0001", Some("-1m")),
            ("1.0005", Some("1001m")),
            ("1e-4", Some("1e-3")),
            ("1.0001Ki", Some("1024103m")),
            ("1500m", None),
        ] {
            assert_eq!(in_thousandths(text).as_deref(), form, "{text}");
        }
    }

    #[test]
    fn a_quantity_has_one_form() {
        for (text, form) in [
            ("1000m", "1"),
            ("0.1", "100m"),
            ("1.5", "1500m"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("512", "512"),
            ("0.5Mi", "512Ki"),
            ("1Ki", "1Ki"),
            ("0.5Ki", "512"),
            ("1000k", "1M"),
            ("0", "0"),
            ("1e3", "1e3"),
            ("1e4", "10e3"),
            ("1e5", "100e3"),
            ("1e-4", "100e-6"),
            ("1.5e2", "150"),
            ("1e-12", "1e-9"),
            ("100", "100"),
        ] {
            assert_eq!(canonical(text).as_deref(), Some(form), "{text}");
        }
        assert_eq!(canonical("x"), None);
    }

    #[test]
    fn an_invalid_quantity_is_refused() {
        for (text, why) in [
            ("", "quantities must match"),
            ("abc", "quantities must match"),
            ("1GB", "quantities must match"),
            ("500 m", "quantities must match"),
            ("1mi", "unable to parse quantity's suffix"),
            ("1e", "unable to parse quantity's suffix"),
            ("Mi", "unable to parse numeric part"),
        ] {
            let found = refusal(text);
            assert!(
                found.is_some_and(|found| found.starts_with(why)),
                "{text}: {found:?}"
            );
        }
        for text in [
            "0",
            "1",
            "-1.5",
            ".5Gi",
            "1.G",
            "1e3",
            "1E-2147483648",
            "10e2147483647",
        ] {
            assert_eq!(refusal(text), None, "{text}");
            // does not panic, however large the exponent is
            let _form = canonical(text);
        }
    }
}
