//! Parses a pattern as Go does, and writes it in the syntax of the `regex` crate.

use super::PatternError;
use std::fmt::Write;

/// Translates a pattern to the syntax of the `regex` crate.
pub(crate) fn translated(pattern: &str) -> Result<String, PatternError> {
    let mut reader = Reader {
        rest: pattern,
        out: String::with_capacity(pattern.len()),
    };
    reader.read()?;
    Ok(reader.out)
}

struct Reader<'a> {
    rest: &'a str,
    out: String,
}

impl<'a> Reader<'a> {
    fn read(&mut self) -> Result<(), PatternError> {
        let mut repeated = false;
        while let Some(c) = self.next() {
            let count = if c == '{' { count(self.rest) } else { None };
            if matches!(c, '*' | '+' | '?') || count.is_some() {
                if repeated {
                    return Err(PatternError::NestedRepeat(c));
                }
                self.out.push(c);
                if let Some(text) = count {
                    self.count(text)?;
                }
                if self.eat('?') {
                    self.out.push('?');
                }
                repeated = true;
                continue;
            }
            repeated = false;
            match c {
                '[' => self.class()?,
                '(' => self.group()?,
                '\\' => self.escape()?,
                '.' | '^' | '$' | '|' | ')' => self.out.push(c),
                _ => self.literal(c),
            }
        }
        Ok(())
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn eat(&mut self, c: char) -> bool {
        let rest = self.rest.strip_prefix(c);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Consumes the text up to and including `end`, and returns what precedes it.
    fn until(&mut self, end: &str) -> Option<&'a str> {
        let (text, rest) = self.rest.split_once(end)?;
        self.rest = rest;
        Some(text)
    }

    fn literal(&mut self, c: char) {
        if c.is_ascii_alphanumeric() || !c.is_ascii() || matches!(c, ' ' | '_' | '/' | ',' | '@') {
            self.out.push(c);
        } else {
            let _ = write!(self.out, "\\x{{{:x}}}", u32::from(c));
        }
    }

    fn count(&mut self, text: &str) -> Result<(), PatternError> {
        let wrong = || PatternError::Count(format!("{{{text}}}"));
        self.rest = &self.rest[text.len() + 1..];
        let (least, most) = text.split_once(',').unwrap_or((text, text));
        let number = |text: &str| text.parse::<u32>().ok().filter(|n| *n <= 1000);
        let least = number(least).ok_or_else(wrong)?;
        if !most.is_empty() && number(most).ok_or_else(wrong)? < least {
            return Err(wrong());
        }
        self.out.push_str(text);
        self.out.push('}');
        Ok(())
    }

    fn group(&mut self) -> Result<(), PatternError> {
        self.out.push('(');
        let Some(inside) = self.rest.strip_prefix('?') else {
            self.out.push_str("?:");
            return Ok(());
        };
        let start: String = self.rest.chars().take(2).collect();
        let wrong = || PatternError::Group(format!("({start}"));
        let named = inside
            .strip_prefix("P<")
            .or_else(|| inside.strip_prefix('<'));
        if let Some(named) = named {
            let (name, rest) = named.split_once('>').ok_or_else(wrong)?;
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if name.is_empty() || !name.chars().all(is_word) {
                return Err(wrong());
            }
            self.rest = rest;
            self.out.push_str("?:");
            return Ok(());
        }
        let end = inside.find([':', ')']).ok_or_else(wrong)?;
        let (flags, rest) = inside.split_at(end);
        let known = flags
            .chars()
            .all(|c| matches!(c, 'i' | 'm' | 's' | 'U' | '-'));
        if !known || flags.ends_with('-') || flags.matches('-').count() > 1 {
            return Err(wrong());
        }
        let _ = write!(self.out, "?{flags}{}", &rest[..1]);
        self.rest = &rest[1..];
        Ok(())
    }

    fn escape(&mut self) -> Result<(), PatternError> {
        match self.rest.chars().next() {
            Some('Q') => {
                self.next();
                let quoted = self
                    .until("\\E")
                    .unwrap_or_else(|| std::mem::take(&mut self.rest));
                quoted.chars().for_each(|c| self.literal(c));
            }
            Some(c @ ('A' | 'z')) => {
                self.next();
                self.out.push('\\');
                self.out.push(c);
            }
            Some(c @ ('b' | 'B')) => {
                self.next();
                let _ = write!(self.out, "(?-u:\\{c})");
            }
            _ => {
                if let Some(set) = self.set()? {
                    let _ = write!(self.out, "[{set}]");
                } else {
                    let c = self.escaped()?;
                    self.literal(c);
                }
            }
        }
        Ok(())
    }

    /// After a backslash: a named set of characters, in the syntax for brackets.
    fn set(&mut self) -> Result<Option<String>, PatternError> {
        let set = match self.rest.chars().next() {
            Some('d') => "0-9",
            Some('D') => "[^0-9]",
            Some('s') => "\\t\\n\\x{c}\\r\\x{20}",
            Some('S') => "[^\\t\\n\\x{c}\\r\\x{20}]",
            Some('w') => "0-9A-Za-z_",
            Some('W') => "[^0-9A-Za-z_]",
            Some(p @ ('p' | 'P')) => {
                self.next();
                let wrong = || PatternError::Escape(format!("\\{p}"));
                let name = if self.eat('{') {
                    self.until("}").ok_or_else(wrong)?.to_owned()
                } else {
                    self.next().ok_or_else(wrong)?.to_string()
                };
                let (negated, name) = match name.strip_prefix('^') {
                    Some(name) => (p == 'p', name),
                    None => (p == 'P', name.as_str()),
                };
                let p = if negated { 'P' } else { 'p' };
                return Ok(Some(format!("\\{p}{{{name}}}")));
            }
            _ => return Ok(None),
        };
        self.next();
        Ok(Some(set.to_owned()))
    }

    /// After a backslash: one character.
    fn escaped(&mut self) -> Result<char, PatternError> {
        let start: String = self.rest.chars().take(1).collect();
        let wrong = || PatternError::Escape(format!("\\{start}"));
        let c = self.next().ok_or_else(wrong)?;
        Ok(match c {
            'a' => '\u{7}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'x' => {
                let digits = if self.eat('{') {
                    self.until("}").ok_or_else(wrong)?
                } else {
                    let digits = self.rest.get(..2).ok_or_else(wrong)?;
                    self.rest = &self.rest[2..];
                    digits
                };
                u32::from_str_radix(digits, 16)
                    .ok()
                    .and_then(char::from_u32)
                    .ok_or_else(wrong)?
            }
            '0'..='7' => {
                let length = self
                    .rest
                    .chars()
                    .take(2)
                    .take_while(|c| ('0'..='7').contains(c))
                    .count();
                if c != '0' && length == 0 {
                    return Err(wrong());
                }
                let text = format!("{c}{}", &self.rest[..length]);
                self.rest = &self.rest[length..];
                u32::from_str_radix(&text, 8)
                    .ok()
                    .and_then(char::from_u32)
                    .ok_or_else(wrong)?
            }
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => c,
            _ => return Err(wrong()),
        })
    }

    fn class(&mut self) -> Result<(), PatternError> {
        let whole = self.rest;
        let open = || PatternError::OpenClass(format!("[{whole}"));
        self.out.push('[');
        if self.eat('^') {
            self.out.push('^');
        }
        let mut first = true;
        loop {
            if !first && self.eat(']') {
                self.out.push(']');
                return Ok(());
            }
            first = false;
            if self.rest.starts_with("[:")
                && let Some(end) = self.rest.find(":]")
            {
                let (name, rest) = self.rest.split_at(end + 2);
                self.out.push_str(name);
                self.rest = rest;
                continue;
            }
            let before = self.rest;
            let Some(low) = self.member()? else {
                if self.rest.is_empty() {
                    return Err(open());
                }
                continue;
            };
            let high = match self.rest.strip_prefix('-') {
                Some(rest) if !rest.starts_with(']') && !rest.is_empty() => {
                    self.rest = rest;
                    self.bound()?
                }
                _ => low,
            };
            if high < low {
                let range = &before[..before.len() - self.rest.len()];
                return Err(PatternError::Range(range.to_owned()));
            }
            let _ = write!(
                self.out,
                "\\x{{{:x}}}-\\x{{{:x}}}",
                u32::from(low),
                u32::from(high)
            );
        }
    }

    /// One character within brackets; `None` if a set was written.
    fn member(&mut self) -> Result<Option<char>, PatternError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        if self.rest.starts_with('\\') {
            self.next();
            if let Some(set) = self.set()? {
                self.out.push_str(&set);
                return Ok(None);
            }
            return self.escaped().map(Some);
        }
        Ok(self.next())
    }

    fn bound(&mut self) -> Result<char, PatternError> {
        let rest = self.rest;
        let wrong = || PatternError::Range(rest.chars().take(8).collect());
        if self.eat('\\') {
            self.escaped()
        } else {
            self.next().ok_or_else(wrong)
        }
    }
}

/// The text between braces, if it is a count.
fn count(rest: &str) -> Option<&str> {
    let (text, _) = rest.split_once('}')?;
    let (least, most) = text.split_once(',').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    (!least.is_empty() && digits(least) && digits(most)).then_some(text)
}
