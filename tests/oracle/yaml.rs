//! Texts are read as kubectl reads them, or refused with a message that says why.

use std::{cell::RefCell, sync::LazyLock};

use cargo_operator::crd::{self, Problem};
use proptest::{prelude::*, sample::Index};
use serde_json::Value;

use super::{
    crds,
    peer::{Document, Oracle},
};

/// YAML with features that CRDs rarely use.
const OTHERS: [&str; 3] = [
    "a: &a\n  x: 1\n  y: [b, 'c d', \"e\\tf\"]\nb:\n  <<: *a\n  y: on\nc: [*a, {z: *a}]\n",
    "a: |\n  some text\n   more\n\n  end\nb: >-\n  folded\n  text\nc: 'one\n  two'\nd: \"one\\\n  two\\u00e4\"\ne: plain\n  text\n",
    "? a\n: - - b\n  - c: {d: e, f}\n!!str 1: !!int '2'\nlist:\n- 0x1F\n- 1.5e3\n- ~\n- 2001-01-01\n---\nsecond: 1\n",
];

const PIECES: [&str; 50] = [
    "\n",
    "\r\n",
    "\r",
    "\t",
    " ",
    "  ",
    "\n  ",
    "\n\t",
    "'",
    "\"",
    "\\",
    "\\/",
    "\\n",
    "\\x41",
    "\\N",
    "#",
    " #",
    ":",
    ": ",
    "- ",
    "-",
    "? ",
    "&a ",
    "*a",
    "*a ",
    "<<: *a\n",
    "<<: {q: 1}\n",
    "!!str ",
    "!!int ",
    "!!float ",
    "!!bool ",
    "!!null ",
    "!!binary ",
    "!!merge ",
    "!own ",
    "! ",
    "|",
    "|+",
    ">-",
    "{",
    "}",
    "[",
    "]",
    ", ",
    "\u{85}",
    "\u{2028}",
    "\u{feff}",
    "\n---\n",
    "\n--- # x\n",
    "\n...\n",
];

const SCALARS: [&str; 48] = [
    "0",
    "-0",
    "1.0",
    "1.50",
    "+1",
    "0888",
    "0755",
    "-07",
    "00",
    "0x10",
    "0X1f",
    "0o17",
    "0b11",
    "1_000",
    "0x1_0",
    "1_0.5",
    "1e3",
    "1E-3",
    "1e400",
    ".5",
    "5.",
    "+.5",
    "-.inf",
    ".nan",
    "1:30",
    "190:20:30",
    "2001-01-01",
    "2001-1-1 1:1:1",
    "18446744073709551616",
    "0x10000000000000000",
    "9223372036854775808",
    "16777217.5",
    "1000000.5",
    "on",
    "No",
    "y",
    "True",
    "null",
    "~",
    "''",
    "'a b'",
    "\"1\"",
    "<<",
    "=",
    "*a",
    "&a 1",
    "@a",
    "%a",
];

#[derive(Clone, Debug)]
enum Edit {
    Insert(Index, &'static str),
    Remove(Index, usize),
    Value(Index, &'static str),
    Key(Index, &'static str),
    Indent(Index, i8),
    Repeat(Index, Index),
    Wrap(Index),
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<Index>;
    let of = |list: &'static [&'static str]| prop::sample::select(list);
    prop_oneof![
        3 => (at(), of(&PIECES)).prop_map(|(at, piece)| Edit::Insert(at, piece)),
        1 => (at(), 1..4_usize).prop_map(|(at, length)| Edit::Remove(at, length)),
        2 => (at(), of(&SCALARS)).prop_map(|(at, scalar)| Edit::Value(at, scalar)),
        1 => (at(), of(&SCALARS)).prop_map(|(at, scalar)| Edit::Key(at, scalar)),
        1 => (at(), -3..4_i8).prop_map(|(at, by)| Edit::Indent(at, by)),
        1 => (at(), at()).prop_map(|(from, to)| Edit::Repeat(from, to)),
        1 => at().prop_map(Edit::Wrap),
    ]
}

impl Edit {
    fn apply(&self, text: &str) -> String {
        let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        let line = |index: &Index| index.index(lines.len());
        match self {
            Self::Insert(at, piece) => {
                let mut text = text.to_owned();
                text.insert_str(boundary(&text, at), piece);
                return text;
            }
            Self::Remove(at, length) => {
                let start = boundary(text, at);
                let rest = text[start..].chars().skip(*length);
                return text[..start].chars().chain(rest).collect();
            }
            Self::Value(at, scalar) => {
                let at = line(at);
                if let Some((key, _)) = lines[at].split_once(": ") {
                    lines[at] = format!("{key}: {scalar}");
                }
            }
            Self::Key(at, scalar) => {
                let at = line(at);
                if let Some((key, value)) = lines[at].split_once(':') {
                    let indent = key.len() - key.trim_start_matches([' ', '-']).len();
                    lines[at] = format!("{}{scalar}:{value}", &key[..indent]);
                }
            }
            Self::Indent(at, by) => {
                let at = line(at);
                lines[at] = match usize::try_from(*by) {
                    Ok(more) => " ".repeat(more) + &lines[at],
                    Err(_) => {
                        let fewer = usize::from(by.unsigned_abs());
                        let blank = lines[at].len() - lines[at].trim_start_matches(' ').len();
                        lines[at].split_off(fewer.min(blank))
                    }
                };
            }
            Self::Repeat(from, to) => {
                let (from, to) = (line(from), line(to));
                lines.insert(to, lines[from].clone());
            }
            Self::Wrap(at) => {
                let at = line(at);
                if let Some((key, value)) = lines[at].split_once(": ")
                    && !value.starts_with(['\'', '"', '|', '>', '[', '{'])
                {
                    lines[at] = format!("{key}: \"{}\"", value.replace(' ', "\n"));
                }
            }
        }
        lines.join("\n")
    }
}

/// The offset of a character, or of the end.
fn boundary(text: &str, at: &Index) -> usize {
    let mut at = at.index(text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Whether the tool refuses this on purpose, although kubectl accepts it. Each message gives the reason.
fn is_known(problem: &Problem) -> bool {
    match problem {
        Problem::Ambiguous(_)
        | Problem::TwiceKey(_)
        | Problem::Overridden(_)
        | Problem::TooDeep => true,
        Problem::Syntax(message) => KNOWN.iter().any(|known| message.contains(known)),
        _ => false,
    }
}

const KNOWN: [&str; 22] = [
    // kubectl reads the first node of a document, and ignores the rest
    "kubectl ignores what follows `...`",
    "did not find expected <document start>",
    "invalid trailing content",
    "comment intercepting the multiline text",
    "unclosed bracket",
    "misplaced bracket",
    "simple key expected ':'",
    // kubectl takes `>-#` for `>-`, tabs between brackets for indentation, and a lone carriage return before `---` for the end of the text
    "comments must be separated",
    "tabs disallowed within this context",
    "a second document begins",
    // in `"\'"`, `{a:, b}` and `{a: b:}`
    "unknown escape character",
    "takes the colon for a part of the text",
    "did not find expected ',' or '}'",
    // `!!str!!int`, `!!bool y` and `!!float 0x1F`
    "while scanning a tag",
    "while parsing a tag",
    "is not a boolean",
    "is not a float",
    // kubectl accepts these if `<<` or a second key of the same name replaces them
    "a key is null",
    "is not a JSON number",
    // tags of applications, and `!!binary`
    "is not supported",
    // line breaks of YAML 1.1
    "kubectl ends the line at the character",
    "a BOM must not appear",
];

/// How the tool and kubectl read a text differently, if they do.
fn difference(text: &str, theirs: &[Document]) -> Option<String> {
    let ours: Vec<_> = crd::values(text).collect();
    let refused = ours.iter().find_map(|it| it.as_ref().err());
    if let Some(problem) = refused {
        let is_refused = theirs.iter().any(|it| it.error.is_some());
        let message = || format!("refused alone: {problem}");
        return (!is_refused && !is_known(problem)).then(message);
    }
    if let Some(error) = theirs.iter().find_map(|it| it.error.as_ref()) {
        return Some(format!("accepted alone: {error}"));
    }
    let ours = ours.iter().flatten().filter(|it| !it.is_null());
    let theirs = theirs.iter().map(|it| &it.value).filter(|it| !it.is_null());
    let (ours, theirs): (Vec<_>, Vec<_>) = (ours.collect(), theirs.collect());
    if ours.len() != theirs.len() {
        return Some(format!("{} documents, not {}", ours.len(), theirs.len()));
    }
    ours.iter()
        .zip(&theirs)
        .find_map(|(ours, theirs)| unequal(ours, theirs, ""))
}

/// The first place at which values differ.
fn unequal(ours: &Value, theirs: &Value, place: &str) -> Option<String> {
    match (ours, theirs) {
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => None,
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => a
            .iter()
            .zip(b)
            .enumerate()
            .find_map(|(at, (a, b))| unequal(a, b, &format!("{place}/{at}"))),
        (Value::Object(a), Value::Object(b))
            if a.keys().all(|key| b.contains_key(key)) && a.len() == b.len() =>
        {
            a.iter()
                .find_map(|(key, value)| unequal(value, &b[key], &format!("{place}/{key}")))
        }
        _ if ours == theirs => None,
        // a text that is a single string is no Kubernetes object
        (Value::String(_), Value::String(_)) if place.is_empty() => None,
        (Value::Object(a), Value::Object(b)) => {
            let (a, b): (Vec<_>, Vec<_>) = (a.keys().collect(), b.keys().collect());
            Some(format!("{place}: the keys {a:?}, not {b:?}"))
        }
        _ => Some(format!("{place}: {ours}, not {theirs}")),
    }
}

static BASES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let small = crds().into_iter().filter(|text| text.len() < 12_000);
    small.chain(OTHERS.map(str::to_owned)).collect()
});

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_text_is_read_as_kubectl_reads_it(
        base in any::<Index>(),
        is_other in any::<bool>(),
        edits in prop::collection::vec(edit(), 1..4),
    ) {
        thread_local! {
            static ORACLE: RefCell<Oracle> = RefCell::new(Oracle::start());
        }
        let base = if is_other { OTHERS[base.index(OTHERS.len())] } else { &BASES[base.index(BASES.len())] };
        let text = edits.iter().fold(base.to_owned(), |text, edit| edit.apply(&text));
        // kubectl reads JSON with another reader
        let is_json = text.split("\n---").any(|part| part.trim_start().starts_with(['{', '[']));
        let theirs = ORACLE.with_borrow_mut(|oracle| oracle.ask(&text));
        if !is_json && let Some(difference) = difference(&text, &theirs) {
            prop_assert!(false, "{difference}
{text:?}");
        }
    }
}
