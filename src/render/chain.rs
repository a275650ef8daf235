//! A chain of calls that adds things to a list, such as the controllers, as rustfmt lays it out.
//!
//! In: calls, whose arguments may be closures with a chain of their own. Out: the text of the only expression of a function. The functions
//! follow those of rustfmt (`chains.rs`, `overflow.rs`, `closures.rs`); each returns nothing if the code does not fit.

use crate::rustfmt::{CALL_WIDTH, SHORT, width};

/// The indent of a level.
const TAB: usize = 4;
/// If the last call has at least this many lines, the rest of the chain is placed before its first one.
const LONG: usize = 5;

/// A value with calls of its methods.
pub struct Chain {
    /// `Controllers::new()`.
    pub root: String,
    pub calls: Vec<Call>,
}

/// `.name(arguments)`.
pub struct Call {
    /// May end with type arguments.
    pub name: String,
    pub arguments: Vec<Argument>,
}

pub enum Argument {
    /// An expression that cannot be broken.
    Text(String),
    /// `&[items]`.
    Array(Vec<String>),
    /// `|root| chain`, of a chain whose root is the parameter.
    Closure(Chain),
}

impl Call {
    pub fn new(name: impl Into<String>, arguments: Vec<Argument>) -> Self {
        let name = name.into();
        Self { name, arguments }
    }

    /// A call whose arguments cannot be broken.
    pub fn of_texts(name: impl Into<String>, texts: Vec<String>) -> Self {
        Self::new(name, texts.into_iter().map(Argument::Text).collect())
    }
}

/// Where code is placed: the indent of its line, the columns before it after the indent, and those that are left for its first line.
#[derive(Clone, Copy)]
struct Shape {
    /// Columns of a line.
    most: usize,
    indent: usize,
    offset: usize,
    width: usize,
}

impl Shape {
    /// A line of its own.
    fn line(most: usize, indent: usize) -> Self {
        Self {
            most,
            indent,
            offset: 0,
            width: most.saturating_sub(indent),
        }
    }

    fn nested(self) -> Self {
        Self::line(self.most, self.indent + TAB)
    }

    fn after(self, columns: usize) -> Option<Self> {
        let (offset, width) = (self.offset + columns, self.width.checked_sub(columns)?);
        Some(Self {
            offset,
            width,
            ..self
        })
    }

    fn before(self, columns: usize) -> Option<Self> {
        let width = self.width.checked_sub(columns)?;
        Some(Self { width, ..self })
    }

    /// The columns at the end of the line that belong to others.
    fn missing(self) -> usize {
        let end = self.indent + self.offset + self.width;
        self.most.saturating_sub(end)
    }

    fn has_room(self, text: &str) -> bool {
        let last = text.lines().next_back().map_or(0, str::len);
        let is_single = !text.contains('\n');
        first_line(text).len() <= self.width
            && text.lines().skip(1).all(|line| line.len() <= self.most)
            && (is_single || last <= self.indent + self.offset + self.width)
    }

    /// A line break with the indent.
    fn break_line(self) -> String {
        format!("\n{}", " ".repeat(self.indent))
    }
}

/// The chain as the only expression of a function, with its indent and a line feed.
pub fn chain(chain: &Chain) -> String {
    // where a name leaves no room, rustfmt changes nothing
    let mut widths = width()..;
    let text = widths.find_map(|most| chain.rewrite(Shape::line(most, TAB)));
    format!("    {}\n", text.expect("each text fits into some width"))
}

impl Chain {
    fn rewrite(&self, shape: Shape) -> Option<String> {
        let Some((last, earlier)) = self.calls.split_last() else {
            return Some(self.root.clone()).filter(|root| root.len() <= shape.width);
        };
        let below = shape.nested();
        let mut parts = vec![self.root.clone()];
        for call in earlier {
            parts.push(call.rewrite(below)?);
        }
        let before: usize = parts.iter().map(String::len).sum();
        let most = match self.calls.len() {
            1 => shape.width,
            _ => shape.width.min(CALL_WIDTH),
        };
        let budget = most.saturating_sub(before);
        let may_share = parts.iter().all(|part| !part.contains('\n')) && budget > 0;
        let beside = shape.after(before).filter(|_| may_share);
        let beside = beside.and_then(|shape| last.rewrite(shape));
        let on_own_line = || last.rewrite(below.before(shape.missing())?);
        let (last, is_shared) = match beside {
            None => (on_own_line()?, false),
            Some(beside) => {
                let fits = first_line(&beside).len() <= budget;
                let lines = beside.lines().count();
                match on_own_line().filter(|_| !fits || lines < LONG) {
                    Some(own) if !fits || own.lines().count() < lines => (own, false),
                    _ => (beside, fits),
                }
            }
        };
        parts.push(last);
        let separator = match is_shared {
            true => String::new(),
            false => below.break_line(),
        };
        Some(parts.join(&separator)).filter(|text| shape.has_room(text))
    }
}

impl Call {
    fn rewrite(&self, shape: Shape) -> Option<String> {
        delimited(&format!(".{}(", self.name), &self.arguments, ")", shape)
    }
}

/// `head` and `tail` with the items between them.
fn delimited(head: &str, items: &[Argument], tail: &str, shape: Shape) -> Option<String> {
    let Some((last, earlier)) = items.split_last() else {
        return Some(format!("{head}{tail}"));
    };
    let line_width = shape.width.saturating_sub(head.len() + tail.len());
    let nested = shape.nested().before(1)?;
    let mut texts = vec![];
    for item in earlier {
        texts.push(item.rewrite(nested)?);
    }
    let before: usize = texts.iter().map(|text| text.len() + 2).sum();
    let short_width = line_width.min(CALL_WIDTH);
    let beside = |last: &str| {
        let inside: String = texts.iter().map(|text| format!("{text}, ")).collect();
        let is_short = !inside.contains('\n') && before + first_line(last).len() <= short_width;
        is_short.then(|| format!("{head}{inside}{last}{tail}"))
    };
    if last.overflows(items.len()) {
        let width = match earlier {
            [] => line_width,
            _ => short_width,
        };
        let shape = shape.after(head.len());
        let shape = shape.and_then(|shape| Shape { width, ..shape }.after(before));
        let last = shape.and_then(|shape| last.rewrite(shape));
        if let Some(text) = last.and_then(|last| beside(&last)) {
            return Some(text);
        }
    }
    let last = last.rewrite(nested)?;
    if !last.contains('\n') {
        // only one argument may fill the line
        if earlier.is_empty() && last.len() <= line_width {
            return Some(format!("{head}{last}{tail}"));
        }
        if let Some(text) = beside(&last) {
            return Some(text);
        }
    }
    texts.push(last);
    let lines = match texts.iter().all(|text| text.len() <= SHORT) {
        true => filled(&texts, nested.width),
        false => texts,
    };
    let lines = lines.iter();
    let lines = lines.map(|line| format!("{}{line},", nested.break_line()));
    let lines: String = lines.collect();
    Some(format!("{head}{lines}{}{tail}", shape.break_line()))
}

/// Short items, as many on a line as fit.
fn filled(items: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for item in items {
        match lines.last_mut() {
            Some(line) if line.len() + 2 + item.len() <= width => *line += &format!(", {item}"),
            _ => lines.push(item.clone()),
        }
    }
    lines
}

impl Argument {
    /// Whether it may begin on the line of the call, and end on another one, as the last of so many arguments.
    fn overflows(&self, count: usize) -> bool {
        match self {
            Self::Text(_) => false,
            Self::Array(_) => count == 1,
            Self::Closure(_) => true,
        }
    }

    fn rewrite(&self, shape: Shape) -> Option<String> {
        match self {
            Self::Text(text) => {
                let is_literal = text.starts_with('"');
                (!is_literal || text.len() <= shape.width).then(|| text.clone())
            }
            Self::Array(items) => {
                let items: Vec<Self> = items.iter().cloned().map(Self::Text).collect();
                delimited("&[", &items, "]", shape)
            }
            Self::Closure(body) => {
                let head = format!("|{}| ", body.root);
                let inline = body.rewrite(shape.after(head.len())?);
                if let Some(inline) = inline.filter(|text| !text.contains('\n')) {
                    return Some(head + &inline);
                }
                let inside = shape.nested();
                let lines = body.rewrite(inside)?;
                let (open, close) = (inside.break_line(), shape.break_line());
                Some(format!("{head}{{{open}{lines}{close}}}"))
            }
        }
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests;
