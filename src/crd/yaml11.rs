//! Finds plain scalars that kubectl and the API server, which read YAML 1.1, interpret differently from YAML 1.2.
//!
//! An unquoted `on` is `true` in YAML 1.1 and a string in YAML 1.2 (<https://yaml.org/type/bool.html>, <https://yaml.org/type/int.html>).

/// Whether YAML 1.1 interprets a plain scalar differently.
pub fn differs(scalar: &str) -> bool {
    is_boolean(scalar) || is_number(scalar)
}

fn is_boolean(scalar: &str) -> bool {
    matches!(
        scalar,
        "y" | "Y"
            | "n"
            | "N"
            | "on"
            | "On"
            | "ON"
            | "no"
            | "No"
            | "NO"
            | "off"
            | "Off"
            | "OFF"
            | "yes"
            | "Yes"
            | "YES"
    )
}

/// Octal numbers with a leading zero, numbers with `_` between digits, and numbers in base 60.
fn is_number(scalar: &str) -> bool {
    let digits = scalar.strip_prefix(['+', '-']).unwrap_or(scalar);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let octal = digits.len() > 1
        && digits.starts_with('0')
        && digits
            .bytes()
            .all(|b| (b'0'..=b'7').contains(&b) || b == b'_');
    let parted = digits.contains('_')
        && digits
            .bytes()
            .all(|b| b.is_ascii_digit() || b == b'_' || b == b'.');
    let mut parts = digits.split(':');
    let sexagesimal = parts.next().is_some_and(|first| {
        !first.is_empty() && !first.starts_with('0') && first.bytes().all(|b| b.is_ascii_digit())
    }) && digits.contains(':')
        && parts.all(|part| {
            (1..=2).contains(&part.len()) && part.parse::<u8>().is_ok_and(|part| part < 60)
        });
    octal || parted || sexagesimal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ambiguous_words_and_numbers_are_distinguished() {
        for scalar in ["on", "No", "y", "0777", "-07", "1_000", "1:30", "190:20:30"] {
            assert!(differs(scalar), "{scalar}");
        }
        for scalar in [
            "true", "0", "10.5", "online", "0.5", "none", "v1:2", "08", "1:60", "oN", "",
        ] {
            assert!(!differs(scalar), "{scalar}");
        }
    }
}
