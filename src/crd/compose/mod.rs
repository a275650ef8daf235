//! Reads a YAML document in one pass: its value as JSON, the positions of its nodes, and its ambiguous scalars.
//!
//! These are errors, with their positions: duplicate keys, of which some readers take the first and others the last; too many levels; and
//! aliases that multiply. Merge keys (<https://yaml.org/type/merge.html>) are expanded.

use std::{borrow::Cow, ops::Range};

use granit_parser::{Event, Parser, ScalarStyle, StructureStyle, Tag, options};
use serde_json::{Map, Value, map::Entry};

use super::{
    alias::{self, Anchors},
    position::{Positions, range},
    problem::{Fault, MOST_LEVELS, MOST_REPORTED, Problem},
    scalar::{check, is_null, name, resolve},
    yaml11::{self, BREAKS, column, is_indentation, unknown_escape, without_blanks},
};

const NO_KEY: &str = "a key is a mapping or list";

/// The result of reading a document.
#[derive(Debug)]
pub struct Composed {
    pub value: Value,
    /// `None` if another reader has read the document.
    pub positions: Option<Positions>,
    /// The first scalars that YAML 1.1 interprets differently.
    pub ambiguous: Vec<Fault>,
}

impl Composed {
    /// The result for a document in JSON.
    pub fn of_json(value: Value) -> Self {
        Self {
            value,
            positions: None,
            ambiguous: vec![],
        }
    }
}

/// Reads the only document of a text.
pub fn compose(text: &str) -> Result<Composed, Fault> {
    let options = options! {
        block_nesting_limit: MOST_LEVELS,
        flow_nesting_limit: MOST_LEVELS,
    };
    let mut composer = Composer {
        text,
        has_tabs: text.contains('\t'),
        has_breaks: text.contains(BREAKS),
        ..Composer::default()
    };
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = match event {
            Ok(event) => event,
            // a line break of YAML 1.1 may be the cause of the parser's error, and has a better message
            Err(error) => {
                composer.check_break(composer.seen..text.len())?;
                return Err(Fault::of_parser(text, &error));
            }
        };
        composer.take(event, range(&span))?;
    }
    composer.positions.shrink();
    Ok(Composed {
        value: composer.root.unwrap_or_default(),
        positions: Some(composer.positions),
        ambiguous: composer.ambiguous,
    })
}

/// Builds the value of a document from the events of the parser, and checks what kubectl would read differently.
#[derive(Default)]
struct Composer<'t> {
    text: &'t str,
    has_tabs: bool,
    /// Whether there are [`BREAKS`].
    has_breaks: bool,
    /// The end of the last event.
    seen: usize,
    documents: usize,
    root: Option<Value>,
    /// The open collections, outermost first.
    open: Vec<Open>,
    positions: Positions,
    anchors: Anchors,
    ambiguous: Vec<Fault>,
}

/// A collection whose end has not been read yet.
struct Open {
    items: Items,
    style: StructureStyle,
    node: usize,
    /// The anchor's number in the parser, or 0.
    anchor: usize,
}

enum Items {
    Sequence(Vec<Value>),
    Mapping(Members),
}

/// The members of a mapping that have been read so far.
#[derive(Default)]
struct Members {
    entries: Map<String, Value>,
    /// The key whose value comes next, with its position.
    key: Option<(Key, Range<usize>)>,
    merge: Option<Merge>,
}

/// A key of a mapping: a text, or `<<`.
enum Key {
    Text(String),
    Merge,
}

/// The entries that `<<` adds to a mapping.
struct Merge {
    /// The number of entries before it.
    before: usize,
    /// The merged mappings; an earlier one takes precedence.
    sources: Vec<Map<String, Value>>,
    place: Range<usize>,
}

impl Members {
    /// Adds the value of the last key, and rejects a duplicate key.
    fn put(&mut self, value: Value) -> Result<(), Fault> {
        let (key, place) = self
            .key
            .take()
            .expect("a mapping's key comes before its value");
        let twice = |key: &str, place| {
            let problem = Problem::TwiceKey(key.to_owned());
            Err(Fault { place, problem })
        };
        match key {
            Key::Merge if self.merge.is_some() => return twice("<<", place),
            Key::Merge => {
                let values = match value {
                    Value::Array(items) => items,
                    value => vec![value],
                };
                let sources = values.into_iter().map(|value| match value {
                    Value::Object(entries) => Ok(entries),
                    _ => {
                        let message = "`<<` merges a mapping, or a list of mappings";
                        Err(Fault::syntax(place.clone(), message))
                    }
                });
                self.merge = Some(Merge {
                    before: self.entries.len(),
                    sources: sources.collect::<Result<_, _>>()?,
                    place,
                });
            }
            Key::Text(key) => match self.entries.entry(key) {
                Entry::Vacant(entry) => {
                    entry.insert(value);
                }
                Entry::Occupied(entry) => return twice(entry.key(), place),
            },
        }
        Ok(())
    }

    /// The entries, with the merged ones in the place of `<<`.
    fn merged(self) -> Result<Map<String, Value>, Fault> {
        let Some(merge) = self.merge else {
            return Ok(self.entries);
        };
        let mut added = Map::new();
        for (key, value) in merge.sources.into_iter().flatten() {
            added.entry(key).or_insert(value);
        }
        let mut own = self.entries.into_iter();
        let mut entries: Map<_, _> = own.by_ref().take(merge.before).collect();
        let own: Map<_, _> = own.collect();
        for (key, value) in added {
            match entries.entry(key) {
                Entry::Vacant(entry) if !own.contains_key(entry.key()) => {
                    entry.insert(value);
                }
                Entry::Occupied(entry) if *entry.get() != value => {
                    let problem = Problem::Overridden(entry.key().clone());
                    let place = merge.place;
                    return Err(Fault { place, problem });
                }
                _ => {}
            }
        }
        entries.extend(own);
        Ok(entries)
    }
}

impl Composer<'_> {
    /// Handles an event of the parser.
    fn take(&mut self, event: Event<'_>, place: Range<usize>) -> Result<(), Fault> {
        if self.has_breaks {
            self.check_breaks(&event, &place)?;
        }
        if self.has_tabs {
            self.check_tabs(&event, &place)?;
        }
        self.seen = self.seen.max(place.end);
        let name = match event {
            Event::Scalar(_, _, 1.., _)
            | Event::SequenceStart(_, 1.., _)
            | Event::MappingStart(_, 1.., _) => alias::anchor_before(self.text, place.start),
            Event::Alias(_) => self.text.get(place.start + 1..place.end),
            _ => None,
        };
        if name.is_some_and(|name| !alias::is_name(name)) {
            return Err(Fault::syntax(place, alias::NO_NAME));
        }
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.scalar(text, style, anchor, tag.as_deref(), place)
            }
            Event::SequenceStart(style, anchor, tag) => {
                let items = Items::Sequence(vec![]);
                self.begin(items, style, anchor, tag.as_deref(), place)
            }
            Event::MappingStart(style, anchor, tag) => {
                let items = Items::Mapping(Members::default());
                self.begin(items, style, anchor, tag.as_deref(), place)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(place),
            Event::Alias(anchor) => self.alias(anchor, place),
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    let message = "a second document begins on the line of its `---`";
                    return Err(Fault::syntax(place, message));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Rejects a line break of YAML 1.1, except a separator of lines or paragraphs in quotes.
    fn check_breaks(&self, event: &Event<'_>, place: &Range<usize>) -> Result<(), Fault> {
        let quoted = [ScalarStyle::SingleQuoted, ScalarStyle::DoubleQuoted];
        let is_quoted = matches!(event, Event::Scalar(_, style, ..) if quoted.contains(style));
        // kubectl keeps such a separator in quotes, and only drops the blanks around it (`without_blanks`)
        let within = self.text.get(place.clone()).unwrap_or_default();
        let is_folded = |(at, character): (usize, &str)| {
            let before = within[..at].trim_end_matches([' ', '\t']);
            let after = within[at + character.len()..].trim_start_matches([' ', '\t']);
            before.ends_with(['\n', '\r']) || after.starts_with(['\n', '\r'])
        };
        let is_kept = is_quoted
            && !within.contains(['\u{85}', '\\'])
            && !within.match_indices(BREAKS).any(is_folded);
        let end = if is_kept { place.start } else { place.end };
        self.check_break(self.seen..end)
    }

    /// Rejects the first line break of YAML 1.1 in a range of the text.
    fn check_break(&self, within: Range<usize>) -> Result<(), Fault> {
        let text = self.text.get(within.clone()).unwrap_or_default();
        let Some((at, character)) = text.match_indices(BREAKS).next() else {
            return Ok(());
        };
        let start = within.start + at;
        let message = format!(
            "kubectl ends the line at the character U+{:04X}: remove it, or write it as an escape in double quotes",
            character.chars().next().map_or(0, u32::from)
        );
        Err(Fault::syntax(start..start + character.len(), message))
    }

    /// Rejects a tab where kubectl takes it for a part of the indentation, except within quotes and brackets.
    fn check_tabs(&mut self, event: &Event<'_>, place: &Range<usize>) -> Result<(), Fault> {
        let is_block = !self.is_flow();
        let text = self.text;
        let between = text.get(self.seen..place.start).unwrap_or_default();
        let mut tab = between
            .match_indices('\t')
            .map(|(at, _)| self.seen + at)
            .into_iter()
            .find(|&at| is_indentation(text, self.seen, at));
        if let (None, Event::Scalar(_, style, ..)) = (tab, event) {
            tab = self.tab_in_scalar(*style, between, place);
        }
        match tab.filter(|_| is_block) {
            Some(at) => Err(Fault::syntax(
                at..at + 1,
                "a tab stands where only spaces may indent",
            )),
            None => Ok(()),
        }
    }

    /// A tab in the indentation of a line of a scalar. If the header of a block scalar does not set the indentation, its first line does.
    fn tab_in_scalar(
        &self,
        style: ScalarStyle,
        header: &str,
        place: &Range<usize>,
    ) -> Option<usize> {
        let written = self.text.get(place.clone())?;
        let indentation = match style {
            ScalarStyle::Literal | ScalarStyle::Folded => {
                let is_explicit = header.contains(|c: char| c.is_ascii_digit());
                if !is_explicit && written.starts_with('\t') {
                    return Some(place.start);
                }
                column(self.text, place.start)
            }
            ScalarStyle::Plain => {
                let start = self.open.last().map(|open| self.positions.start(open.node));
                start.map_or(0, |start| column(self.text, start) + 1)
            }
            _ => return None,
        };
        written
            .match_indices('\n')
            .map(|(at, _)| at + 1)
            .find_map(|start| {
                let line = &written[start..];
                let spaces = line.len() - line.trim_start_matches(' ').len();
                let is_early = line[spaces..].starts_with('\t') && spaces < indentation;
                is_early.then_some(place.start + start + spaces)
            })
    }

    /// Adds a scalar as a key or a value, and rejects one that kubectl refuses or reads as another structure.
    fn scalar(
        &mut self,
        text: Cow<'_, str>,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        place: Range<usize>,
    ) -> Result<(), Fault> {
        let is_plain = style == ScalarStyle::Plain;
        // the parser returns `~` for an empty plain scalar
        let text = if is_plain && place.is_empty() {
            "".into()
        } else {
            text
        };
        if style == ScalarStyle::DoubleQuoted
            && let Some(message) = unknown_escape(self.text.get(place.clone()))
        {
            return Err(Fault::syntax(place, message));
        }
        let text = if self.has_breaks && !is_plain {
            without_blanks(&text).into()
        } else {
            text
        };
        if is_plain && self.is_flow() && (text.contains('?') || text.starts_with(':')) {
            let message = "between brackets, kubectl takes an unquoted scalar with no `?` and no `:` at its beginning: quote it";
            return Err(Fault::syntax(place, message));
        }
        let is_key = self.awaits_key();
        let rest = self.text.get(place.end..).unwrap_or_default();
        if is_plain
            && is_key
            && self.is_flow()
            && rest.starts_with(':')
            && rest[1..].starts_with([',', '[', ']', '{', '}'])
        {
            let message = "kubectl takes the colon for a part of the text: write a space after it";
            return Err(Fault::syntax(place, message));
        }
        let node = self.positions.scalar(&place);
        let merges = tag.map_or(is_plain, |tag| name(tag).as_deref() == Some("merge"));
        if is_key && merges && text == "<<" {
            self.key(Key::Merge, place);
            return Ok(());
        }
        if is_plain && tag.is_none() && is_key && is_null(&text) {
            return Err(Fault::syntax(place, "a key is null"));
        }
        let key = text.clone().into_owned();
        if is_key && anchor == 0 && tag.is_none() {
            self.record_ambiguous(&key, is_plain && yaml11::differs_as_key(&key), &place);
            self.key(Key::Text(key), place);
            return Ok(());
        }
        let value = resolve(text, is_plain, tag);
        let value = value.map_err(|message| Fault::syntax(place.clone(), message))?;
        if is_plain && tag.is_none() {
            let differs = if is_key {
                yaml11::differs_as_key(&key)
            } else {
                yaml11::differs(&key, &value)
            };
            self.record_ambiguous(&key, differs, &place);
        }
        if anchor > 0 {
            let key = Some(key.clone());
            self.anchors.keep(anchor, node, &value, key, &place)?;
        }
        if is_key {
            self.key(Key::Text(key), place);
            return Ok(());
        }
        self.put(value)
    }

    /// Records a scalar as ambiguous if it `differs` for kubectl.
    fn record_ambiguous(&mut self, text: &str, differs: bool, place: &Range<usize>) {
        if differs && self.ambiguous.len() < MOST_REPORTED {
            let problem = Problem::Ambiguous(text.to_owned());
            let place = place.clone();
            self.ambiguous.push(Fault { place, problem });
        }
    }

    fn begin(
        &mut self,
        items: Items,
        style: StructureStyle,
        anchor: usize,
        tag: Option<&Tag>,
        place: Range<usize>,
    ) -> Result<(), Fault> {
        if self.awaits_key() {
            return Err(Fault::syntax(place, NO_KEY));
        }
        if self.open.len() == MOST_LEVELS {
            return Err(Fault::too_deep(place));
        }
        let message = tag.map_or(Ok(()), check);
        message.map_err(|message| Fault::syntax(place.clone(), message))?;
        let node = self
            .positions
            .begin(&place, matches!(items, Items::Mapping(..)));
        self.open.push(Open {
            items,
            style,
            node,
            anchor,
        });
        Ok(())
    }

    fn end(&mut self, place: Range<usize>) -> Result<(), Fault> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        self.positions.end(open.node);
        let value = match open.items {
            Items::Sequence(items) => Value::Array(items),
            Items::Mapping(members) => Value::Object(members.merged()?),
        };
        if open.anchor > 0 {
            self.anchors
                .keep(open.anchor, open.node, &value, None, &place)?;
        }
        self.put(value)
    }

    /// Adds a copy of the anchored value.
    fn alias(&mut self, anchor: usize, place: Range<usize>) -> Result<(), Fault> {
        let is_key = self.awaits_key();
        let anchored = self.anchors.find(anchor, self.open.len(), &place)?;
        self.positions.alias(&place, anchored.node);
        if is_key {
            let Some(key) = anchored.key.clone() else {
                return Err(Fault::syntax(place, NO_KEY));
            };
            self.key(Key::Text(key), place);
            return Ok(());
        }
        let value = anchored.value.clone();
        let merges = |open: &Open| matches!(&open.items, Items::Mapping(members) if matches!(members.key, Some((Key::Merge, _))));
        if value.is_array() && self.open.last().is_some_and(merges) {
            let message =
                "kubectl merges no list that an alias stands for: write the list after `<<`";
            return Err(Fault::syntax(place, message));
        }
        self.put(value)
    }

    fn is_flow(&self) -> bool {
        let open = self.open.last();
        open.is_some_and(|open| open.style == StructureStyle::Flow)
    }

    /// Whether the next node is a key of a mapping.
    fn awaits_key(&self) -> bool {
        let open = self.open.last().map(|open| &open.items);
        matches!(open, Some(Items::Mapping(Members { key: None, .. })))
    }

    fn key(&mut self, key: Key, place: Range<usize>) {
        if let Some(Open {
            items: Items::Mapping(members),
            ..
        }) = self.open.last_mut()
        {
            members.key = Some((key, place));
        }
    }

    /// Adds a value to its parent.
    fn put(&mut self, value: Value) -> Result<(), Fault> {
        match self.open.last_mut().map(|open| &mut open.items) {
            None => self.root = Some(value),
            Some(Items::Sequence(items)) => items.push(value),
            Some(Items::Mapping(members)) => members.put(value)?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
