//! The string formats that the API server checks; it ignores all others.
//!
//! <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation>

mod net;
mod time;

use crate::{Schema, pattern};

type Check = fn(&str) -> bool;

/// The formats by name without dashes: `date-time` and `datetime` are the same.
const FORMATS: [(&str, Check); 26] = [
    ("bsonobjectid", |text| {
        text.len() == 24 && text.bytes().all(|b| b.is_ascii_hexdigit())
    }),
    ("byte", |text| {
        matches(
            "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$",
            text,
        )
    }),
    ("cidr", net::is_cidr),
    ("creditcard", is_credit_card),
    ("date", time::is_date),
    ("datetime", time::is_date_time),
    ("duration", time::is_duration),
    ("email", net::is_email),
    ("hexcolor", |text| {
        matches("^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$", text)
    }),
    ("hostname", net::is_hostname),
    ("ipv4", net::is_ipv4),
    ("ipv6", net::is_ipv6),
    ("isbn", |text| is_isbn10(text) || is_isbn13(text)),
    ("isbn10", is_isbn10),
    ("isbn13", is_isbn13),
    ("k8slongname", is_name),
    ("k8sshortname", |text| {
        text.len() <= 63 && matches(NAME, text)
    }),
    ("mac", net::is_mac),
    ("password", |_| true),
    ("rgbcolor", |text| {
        matches(
            r"^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*(,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*){2}\)$",
            text,
        )
    }),
    ("ssn", |text| {
        text.len() == 11 && matches(r"^\d{3}[- ]?\d{2}[- ]?\d{4}$", text)
    }),
    ("uri", net::is_uri),
    ("uuid", |text| {
        matches(
            "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$",
            text,
        )
    }),
    ("uuid3", |text| {
        matches(
            "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$",
            text,
        )
    }),
    ("uuid4", |text| is_uuid_of(4, text)),
    ("uuid5", |text| is_uuid_of(5, text)),
];

const NAME: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";

/// Whether a text is a DNS-1123 subdomain, as the names of objects of most kinds are.
pub(crate) fn is_name(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(|part| matches(NAME, part))
}

/// The format of a schema, if the API server knows it for the type.
pub(crate) fn effective(schema: &Schema) -> Option<&str> {
    let format = schema.format.as_deref()?;
    let type_ = if schema.int_or_string {
        ""
    } else {
        schema.type_.as_deref().unwrap_or("")
    };
    let known = match type_ {
        "" | "string" => check(format).is_some(),
        "integer" => matches!(format, "int32" | "int64"),
        "number" => matches!(format, "float" | "double"),
        _ => false,
    };
    known.then_some(format)
}

/// The effective format of a string, and the function that checks it.
pub(crate) fn text(schema: &Schema) -> Option<(&str, Check)> {
    let format = effective(schema)?;
    check(format).map(|check| (format, check))
}

fn check(format: &str) -> Option<Check> {
    let name = format.replace('-', "");
    FORMATS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, check)| *check)
}

fn matches(regex: &str, text: &str) -> bool {
    pattern::compiled(regex).is_ok_and(|regex| regex.is_match(text))
}

fn is_uuid_of(version: u8, text: &str) -> bool {
    let rest = "-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$";
    let regex = format!("(?i)^[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{version}[0-9a-f]{{3}}{rest}");
    matches(&regex, text)
}

fn is_isbn10(text: &str) -> bool {
    let text = without_blanks_and_dashes(text);
    matches("^([0-9]{9}X|[0-9]{10})$", &text)
        && (1..)
            .zip(text.bytes())
            .map(|(i, b)| i * digit(b))
            .sum::<u32>()
            % 11
            == 0
}

fn is_isbn13(text: &str) -> bool {
    let text = without_blanks_and_dashes(text);
    matches("^[0-9]{13}$", &text)
        && text
            .bytes()
            .zip([1, 3].into_iter().cycle())
            .map(|(b, f)| f * digit(b))
            .sum::<u32>()
            % 10
            == 0
}

fn without_blanks_and_dashes(text: &str) -> String {
    text.chars()
        .filter(|c| !matches!(c, '-' | ' ' | '\t' | '\n' | '\u{c}' | '\r'))
        .collect()
}

fn digit(byte: u8) -> u32 {
    if byte == b'X' {
        10
    } else {
        u32::from(byte.wrapping_sub(b'0'))
    }
}

fn is_credit_card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let issuers = r"^(4[0-9]{12}([0-9]{3})?|5[1-5][0-9]{14}|6(011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(0[0-5]|[68][0-9])[0-9]{11}|(2131|1800|35\d{3})\d{11})$";
    let doubled = |byte| [0, 2, 4, 6, 8, 1, 3, 5, 7, 9][digit(byte) as usize % 10];
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(i, byte)| {
            if i % 2 == 1 {
                doubled(byte)
            } else {
                digit(byte)
            }
        })
        .sum();
    matches(issuers, &digits) && sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_accept_what_the_server_accepts() {
        let cases = [
            ("bsonobjectid", "507f1f77bcf86cd799439011", "507f1f77"),
            ("byte", "aGVsbG8=", "aGVsbG8"),
            ("cidr", "10.0.0.0/8", "10.0.0.0"),
            ("creditcard", "4111 1111 1111 1111", "4111 1111 1111 1112"),
            ("date", "2024-02-29", "2023-02-29"),
            (
                "date-time",
                "2024-02-29T10:00:00.5Z",
                "2024-02-29 10:00:00Z",
            ),
            ("duration", "1h30m", "soon"),
            ("email", "Jane <jane@example.com>", "jane"),
            ("hexcolor", "#fff", "#ff"),
            ("hostname", "a-b.example.com", "-a.example.com"),
            ("ipv4", "010.0.0.1", "10.0.0.256"),
            ("ipv6", "::1", "1.2.3.4"),
            ("isbn", "978-0321751041", "978-0321751042"),
            ("isbn10", "0321751043", "0321751044"),
            ("isbn13", "9780321751041", "0321751043"),
            ("k8s-long-name", "a.b-c.d", "a..b"),
            ("k8s-short-name", "a-b", "a.b"),
            ("mac", "01:23:45:67:89:ab", "01:23:45:67:89"),
            ("rgbcolor", "rgb(255,255, 0)", "rgb(255,255,2559)"),
            ("ssn", "111-22-3333", "111223333"),
            ("uri", "https://example.com/a?b=c", "example.com"),
            ("uri", "/a/b", "/a%zz"),
            ("uuid", "123E4567-e89b-12d3-a456-426614174000", "123e4567"),
            (
                "uuid3",
                "123e4567-e89b-32d3-0456-426614174000",
                "123e4567-e89b-42d3-a456-426614174000",
            ),
            (
                "uuid4",
                "123e4567-e89b-42d3-a456-426614174000",
                "123e4567-e89b-42d3-0456-426614174000",
            ),
            (
                "uuid5",
                "123e4567-e89b-52d3-a456-426614174000",
                "123e4567-e89b-42d3-a456-426614174000",
            ),
        ];
        for (format, good, bad) in cases {
            let check = check(format).unwrap_or_else(|| panic!("{format} is known"));
            assert!(check(good), "{format} accepts {good}");
            assert!(!check(bad), "{format} refuses {bad}");
        }
    }

    #[test]
    fn a_format_applies_only_to_its_type() {
        let schema = |type_: &str, format: &str| Schema {
            type_: Some(type_.into()),
            format: Some(format.into()),
            ..Schema::default()
        };
        assert_eq!(effective(&schema("string", "date-time")), Some("date-time"));
        assert_eq!(effective(&schema("string", "int32")), None);
        assert_eq!(effective(&schema("string", "quantity")), None);
        assert_eq!(effective(&schema("integer", "int32")), Some("int32"));
        assert_eq!(effective(&schema("integer", "float")), None);
        assert_eq!(effective(&schema("object", "date")), None);
    }
}
