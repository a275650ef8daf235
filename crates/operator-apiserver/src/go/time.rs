//! [Times] of built-in types: parsed as in Go, and written in the canonical form of the API server.
//!
//! [Times]: https://pkg.go.dev/time#Parse

use jiff::SignedDuration;
use jiff::civil::DateTime;

use super::text::quoted_with;

/// The precision of a time type.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Precision {
    /// `Time`: whole seconds.
    Seconds,
    /// `MicroTime`, for which exactly six digits are read after the point.
    Micros,
}

impl Precision {
    /// The layout of Go's `time.Parse`, which messages show.
    fn layout(self) -> &'static str {
        match self {
            Self::Seconds => "2006-01-02T15:04:05Z07:00",
            Self::Micros => "2006-01-02T15:04:05.000000Z07:00",
        }
    }
}

/// The reason why parsing a time stopped.
enum Stop {
    /// The part of the layout at which parsing stopped, and the position in the text.
    At(&'static str, usize),
    OutOfRange(&'static str),
    /// The position of text after the time.
    Extra(usize),
}

/// Parses a time and converts it to UTC. Returns `None` for the first second of the year 1, Go's zero time.
pub(crate) fn canonical(text: &str, precision: Precision) -> Result<Option<String>, String> {
    let time = Reader { text, at: 0 }.time(precision);
    let is_set = |time: String| (!time.starts_with("0001-01-01T00:00:00")).then_some(time);
    time.map(is_set).map_err(|stop| {
        let shown = quoted(text);
        match stop {
            Stop::At(part, at) => {
                let left = quoted(&text[at..]);
                let layout = quoted(precision.layout());
                format!("parsing time {shown} as {layout}: cannot parse {left} as {part:?}")
            }
            Stop::OutOfRange(what) => format!("parsing time {shown}: {what} out of range"),
            Stop::Extra(at) => {
                format!("parsing time {shown}: extra text: {}", quoted(&text[at..]))
            }
        }
    })
}

/// Quotes a string as in Go's messages about times.
fn quoted(text: &str) -> String {
    quoted_with(text, |letter, quoted| match letter {
        ' '..'\u{80}' => quoted.push(letter),
        _ => {
            for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
                *quoted += &format!("\\x{byte:02x}");
            }
        }
    })
}

/// A position in the text of a time.
struct Reader<'a> {
    text: &'a str,
    /// The text before the position is ASCII.
    at: usize,
}

impl Reader<'_> {
    fn time(&mut self, precision: Precision) -> Result<String, Stop> {
        let year = self.digits("2006", 4..=4)?;
        self.literal("-")?;
        let month = self.within("01", 2..=2, 1..=12, "month")?;
        self.literal("-")?;
        let day = self.digits("02", 2..=2)?;
        self.literal("T")?;
        let hour = self.within("15", 1..=2, 0..=23, "hour")?;
        self.literal(":")?;
        let minute = self.within("04", 2..=2, 0..=59, "minute")?;
        self.literal(":")?;
        let second = self.within("05", 2..=2, 0..=59, "second")?;
        let nanos = self.fraction(precision)?;
        let offset = self.zone()?;
        if self.at < self.text.len() {
            return Err(Stop::Extra(self.at));
        }
        let small = |number: i32| i8::try_from(number).unwrap_or_default();
        let civil = DateTime::new(
            i16::try_from(year).unwrap_or_default(),
            small(month),
            i8::try_from(day).map_err(|_| Stop::OutOfRange("day"))?,
            small(hour),
            small(minute),
            small(second),
            nanos,
        );
        let east = SignedDuration::from_secs(offset.into());
        let time = civil
            .and_then(|civil| civil.checked_sub(east))
            .map_err(|_| Stop::OutOfRange("day"))?;
        let format = match precision {
            Precision::Seconds => "%Y-%m-%dT%H:%M:%SZ",
            Precision::Micros => "%Y-%m-%dT%H:%M:%S.%6fZ",
        };
        Ok(time.strftime(format).to_string())
    }

    fn rest(&self) -> &[u8] {
        &self.text.as_bytes()[self.at..]
    }

    fn literal(&mut self, part: &'static str) -> Result<(), Stop> {
        if !self.rest().starts_with(part.as_bytes()) {
            return Err(Stop::At(part, self.at));
        }
        self.at += part.len();
        Ok(())
    }

    /// Reads a number with an allowed count of digits.
    fn digits(
        &mut self,
        part: &'static str,
        lengths: std::ops::RangeInclusive<usize>,
    ) -> Result<i32, Stop> {
        let most = self.rest().iter().take(*lengths.end());
        let count = most.take_while(|byte| byte.is_ascii_digit()).count();
        if !lengths.contains(&count) {
            return Err(Stop::At(part, self.at));
        }
        let digits = &self.text[self.at..self.at + count];
        self.at += count;
        Ok(digits.parse().unwrap_or_default())
    }

    /// Reads a number that must be in a range.
    fn within(
        &mut self,
        part: &'static str,
        lengths: std::ops::RangeInclusive<usize>,
        values: std::ops::RangeInclusive<i32>,
        what: &'static str,
    ) -> Result<i32, Stop> {
        let number = self.digits(part, lengths)?;
        if values.contains(&number) {
            Ok(number)
        } else {
            Err(Stop::OutOfRange(what))
        }
    }

    /// Parses the fraction as nanoseconds; further digits are dropped.
    fn fraction(&mut self, precision: Precision) -> Result<i32, Stop> {
        const MICROS: &str = ".000000";
        let rest = self.rest();
        let has_point = matches!(rest, [b'.' | b',', digit, ..] if digit.is_ascii_digit());
        let digits = rest.iter().skip(1);
        let count = digits.take_while(|byte| byte.is_ascii_digit()).count();
        let count = match precision {
            Precision::Seconds if !has_point => return Ok(0),
            Precision::Seconds => count,
            Precision::Micros if has_point && count >= 6 => 6,
            Precision::Micros => return Err(Stop::At(MICROS, self.at)),
        };
        let digits = &self.text[self.at + 1..self.at + 1 + count];
        self.at += 1 + count;
        let exact = digits.bytes().chain(std::iter::repeat(b'0')).take(9);
        Ok(exact.fold(0, |nanos, byte| nanos * 10 + i32::from(byte - b'0')))
    }

    /// Parses the offset from UTC, in seconds east.
    fn zone(&mut self) -> Result<i32, Stop> {
        const ZONE: &str = "Z07:00";
        if self.rest().starts_with(b"Z") {
            self.at += 1;
            return Ok(0);
        }
        let stop = Stop::At(ZONE, self.at);
        let &[sign @ (b'+' | b'-'), h1, h2, b':', m1, m2, ..] = self.rest() else {
            return Err(stop);
        };
        if [h1, h2, m1, m2].iter().any(|byte| !byte.is_ascii_digit()) {
            return Err(stop);
        }
        let number = |a: u8, b: u8| i32::from(a - b'0') * 10 + i32::from(b - b'0');
        let (hours, minutes) = (number(h1, h2), number(m1, m2));
        // Go accepts offsets of 60 minutes and of 24 hours
        if minutes > 60 {
            return Err(Stop::OutOfRange("time zone offset minute"));
        }
        if hours > 24 {
            return Err(Stop::OutOfRange("time zone offset hour"));
        }
        self.at += 6;
        let seconds = (hours * 60 + minutes) * 60;
        Ok(if sign == b'-' { -seconds } else { seconds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_one_form() {
        for (text, precision, time) in [
            (
                "2020-01-01T00:00:00Z",
                Precision::Seconds,
                "2020-01-01T00:00:00Z",
            ),
            (
                "2020-01-01T00:00:00.987654321Z",
                Precision::Seconds,
                "2020-01-01T00:00:00Z",
            ),
            (
                "2020-01-01T00:00:00+02:00",
                Precision::Seconds,
                "2019-12-31T22:00:00Z",
            ),
            (
                "2020-01-01T5:00:00-00:30",
                Precision::Seconds,
                "2020-01-01T05:30:00Z",
            ),
            (
                "2020-01-01T00:00:00.123456+02:00",
                Precision::Micros,
                "2019-12-31T22:00:00.123456Z",
            ),
        ] {
            assert_eq!(canonical(text, precision), Ok(Some(time.to_owned())));
        }
    }

    #[test]
    fn an_invalid_time_has_the_message_of_go() {
        for (text, precision, wrong) in [
            (
                "",
                Precision::Seconds,
                r#" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006""#,
            ),
            (
                "2020-1-01T00:00:00Z",
                Precision::Seconds,
                r#" as "2006-01-02T15:04:05Z07:00": cannot parse "1-01T00:00:00Z" as "01""#,
            ),
            (
                "2020-01-01 00:00:00Z",
                Precision::Seconds,
                r#" as "2006-01-02T15:04:05Z07:00": cannot parse " 00:00:00Z" as "T""#,
            ),
            (
                "2020-13-01T00:00:00Z",
                Precision::Seconds,
                ": month out of range",
            ),
            (
                "2020-02-30T00:00:00Z",
                Precision::Seconds,
                ": day out of range",
            ),
            (
                "2020-01-01T24:00:00Z",
                Precision::Seconds,
                ": hour out of range",
            ),
            (
                "2020-01-01T00:00:60Z",
                Precision::Seconds,
                ": second out of range",
            ),
            (
                "2020-01-01T00:00:00",
                Precision::Seconds,
                r#" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00""#,
            ),
            (
                "2020-01-01T00:00:00Zx",
                Precision::Seconds,
                r#": extra text: "x""#,
            ),
            (
                "2020-01-01T00:00:00Z",
                Precision::Micros,
                r#" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000""#,
            ),
            (
                "2020-01-01T00:00:00.123456789Z",
                Precision::Micros,
                r#" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "789Z" as "Z07:00""#,
            ),
            (
                "2020-01-01T00:00:00+99:99",
                Precision::Seconds,
                ": time zone offset minute out of range",
            ),
        ] {
            assert_eq!(
                canonical(text, precision),
                Err(format!("parsing time \"{text}\"{wrong}"))
            );
        }
        let wrong = r#"parsing time "2020-01-0\xc3\xa9" as "2006-01-02T15:04:05Z07:00": cannot parse "0\xc3\xa9" as "02""#;
        assert_eq!(
            canonical("2020-01-0é", Precision::Seconds),
            Err(wrong.to_owned())
        );
    }
}
