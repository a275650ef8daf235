//! Reads a YAML document in one pass: its value as JSON, the positions of its nodes, and its ambiguous scalars.
//!
//! Errors have a position: duplicate keys, which kubectl and the API server reject too; too many levels; and aliases that multiply. A merge
//! key (`<<`) is an ordinary key.

use std::{borrow::Cow, ops::Range};

use granit_parser::{Event, Parser, ScalarStyle, StructureStyle, Tag, options};
use serde_json::{Map, Value, map::Entry};

use super::{
    alias::Anchors,
    position::{Positions, range},
    problem::{Fault, MOST_LEVELS, MOST_TOLD, Problem},
    scalar::{check, resolve},
    yaml11,
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
        has_tabs: text.starts_with('\t') || text.contains("\n\t"),
        ..Composer::default()
    };
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| Fault::of_parser(text, &error))?;
        composer.take(event, range(&span))?;
    }
    composer.positions.shrink();
    Ok(Composed {
        value: composer.root.unwrap_or_default(),
        positions: Some(composer.positions),
        ambiguous: composer.ambiguous,
    })
}

#[derive(Default)]
struct Composer<'t> {
    text: &'t str,
    /// Whether a line begins with a tab.
    has_tabs: bool,
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

struct Open {
    items: Items,
    style: StructureStyle,
    node: usize,
    /// The anchor's number in the parser, or 0.
    anchor: usize,
}

enum Items {
    Sequence(Vec<Value>),
    /// The members so far, and the key whose value comes next, with its position.
    Mapping(Map<String, Value>, Option<(String, Range<usize>)>),
}

impl Composer<'_> {
    fn take(&mut self, event: Event<'_>, place: Range<usize>) -> Result<(), Fault> {
        if self.has_tabs {
            self.check_tabs(&event, &place)?;
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
                let items = Items::Mapping(Map::new(), None);
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

    /// Rejects a line that begins with a tab, as kubectl does, except within quotes and brackets.
    fn check_tabs(&mut self, event: &Event<'_>, place: &Range<usize>) -> Result<(), Fault> {
        let is_block = self.open.last().map(|open| open.style) != Some(StructureStyle::Flow);
        let is_text = matches!(
            event,
            Event::Scalar(_, ScalarStyle::Literal | ScalarStyle::Folded, ..)
        );
        let end = if is_text { place.end } else { place.start };
        let between = self.text.get(self.seen..end).unwrap_or_default();
        let tab = match between.find("\n\t") {
            _ if self.seen == 0 && between.starts_with('\t') => Some(0),
            tab => tab.map(|at| self.seen + at + 1),
        };
        self.seen = self.seen.max(place.end);
        match tab.filter(|_| is_block) {
            Some(at) => Err(Fault::syntax(at..at + 1, "the line begins with a tab")),
            None => Ok(()),
        }
    }

    fn scalar(
        &mut self,
        text: Cow<'_, str>,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        place: Range<usize>,
    ) -> Result<(), Fault> {
        let is_plain = style == ScalarStyle::Plain;
        let text = match style {
            // the parser writes `~` where nothing stands
            ScalarStyle::Plain if place.is_empty() => "".into(),
            // and a line feed at the end of a text that has none
            ScalarStyle::Literal | ScalarStyle::Folded
                if place.end >= self.text.len() && ends_bare(self.text) =>
            {
                text.strip_suffix('\n').unwrap_or(&text).to_owned().into()
            }
            _ => text,
        };
        if is_plain && yaml11::differs(&text) && self.ambiguous.len() < MOST_TOLD {
            let problem = Problem::Ambiguous(text.clone().into_owned());
            let place = place.clone();
            self.ambiguous.push(Fault { place, problem });
        }
        self.positions.scalar(&place);
        let is_key = self.awaits_key();
        if is_key && anchor == 0 {
            self.key(text.into_owned(), place);
            return Ok(());
        }
        let key = (anchor > 0).then(|| text.clone().into_owned());
        let value = resolve(text, is_plain, tag);
        let value = value.map_err(|message| Fault::syntax(place.clone(), message))?;
        let Some(key) = key else {
            return self.put(value);
        };
        self.anchors
            .keep(anchor, &value, Some(key.clone()), &place)?;
        if is_key {
            self.key(key, place);
            return Ok(());
        }
        self.put(value)
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
            Items::Mapping(entries, _) => Value::Object(entries),
        };
        if open.anchor > 0 {
            self.anchors.keep(open.anchor, &value, None, &place)?;
        }
        self.put(value)
    }

    fn alias(&mut self, anchor: usize, place: Range<usize>) -> Result<(), Fault> {
        self.positions.scalar(&place);
        let is_key = self.awaits_key();
        let anchored = self.anchors.find(anchor, self.open.len(), &place)?;
        if is_key {
            let Some(key) = anchored.key.clone() else {
                return Err(Fault::syntax(place, NO_KEY));
            };
            self.key(key, place);
            return Ok(());
        }
        let value = anchored.value.clone();
        self.put(value)
    }

    fn awaits_key(&self) -> bool {
        let open = self.open.last().map(|open| &open.items);
        matches!(open, Some(Items::Mapping(_, None)))
    }

    fn key(&mut self, text: String, place: Range<usize>) {
        if let Some(Open {
            items: Items::Mapping(_, key),
            ..
        }) = self.open.last_mut()
        {
            *key = Some((text, place));
        }
    }

    /// Adds a value to its parent.
    fn put(&mut self, value: Value) -> Result<(), Fault> {
        match self.open.last_mut().map(|open| &mut open.items) {
            None => self.root = Some(value),
            Some(Items::Sequence(items)) => items.push(value),
            Some(Items::Mapping(entries, key)) => {
                let (key, place) = key.take().expect("a mapping's key comes before its value");
                match entries.entry(key) {
                    Entry::Vacant(entry) => {
                        entry.insert(value);
                    }
                    Entry::Occupied(entry) => {
                        let problem = Problem::TwiceKey(entry.key().clone());
                        return Err(Fault { place, problem });
                    }
                }
            }
        }
        Ok(())
    }
}

/// Whether the last line has no line break.
fn ends_bare(text: &str) -> bool {
    let last = text.rsplit(['\n', '\r']).next();
    last.is_some_and(|last| !last.trim().is_empty())
}

#[cfg(test)]
mod tests;
