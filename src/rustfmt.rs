//! Lays out Rust code as rustfmt does (edition 2024, default settings), so that generated code needs no formatting.

mod order;
mod wide;

use std::{borrow::Cow, cell::Cell};

pub use order::version_order;
pub use wide::{is_wide, skip};

/// Arguments of a call, or items of an array, longer than this are placed on separate lines (`fn_call_width`, `array_width`).
pub const CALL_WIDTH: usize = 60;
/// Arguments of an attribute longer than this are placed on separate lines (`attr_fn_like_width`).
const ATTRIBUTE_WIDTH: usize = 70;
const WIDTH: usize = 100;
/// If all items are at most this long, they share lines (`short_array_element_width_threshold`).
pub const SHORT: usize = 10;

thread_local! {
    /// The column at which the laid out text will start.
    static MARGIN: Cell<usize> = const { Cell::new(0) };
}

/// The available width of a line. It depends on the nesting of modules, which is known only when a module is put into another, so it is not
/// passed through all functions that lay out a line.
pub fn width() -> usize {
    WIDTH - MARGIN.get()
}

/// The indent of the surrounding modules.
pub fn indent() -> usize {
    MARGIN.get()
}

/// `pub mod name { text }`, where `render` returns the text for this indent.
pub fn module(name: &str, render: impl FnOnce() -> String) -> String {
    wrapped(name, &nested(render))
}

/// The result of `render`, laid out for a nested module.
pub fn nested<T>(render: impl FnOnce() -> T) -> T {
    let margin = MARGIN.get();
    MARGIN.set(margin + 4);
    let text = render();
    MARGIN.set(margin);
    text
}

/// `pub mod name { text }` for the result of [`nested`].
pub fn wrapped(name: &str, text: &str) -> String {
    let mut inside = String::new();
    for line in text.lines() {
        if !line.is_empty() {
            inside += "    ";
            inside += line;
        }
        inside.push('\n');
    }
    format!("{}pub mod {name} {{\n{inside}}}\n", skip(&inside))
}

/// `#[name(arguments)]` with its indent and a trailing line feed; empty without arguments.
pub fn attribute(indent: usize, name: &str, arguments: &[String]) -> String {
    if arguments.is_empty() {
        return String::new();
    }
    let pad = " ".repeat(indent);
    format!("{pad}#[{}]\n", call(indent, name, arguments, 3))
}

/// `name(arguments)`, on one line or with a line for each argument; `rest` is the width of the rest of the line.
pub fn call(indent: usize, name: &str, arguments: &[String], rest: usize) -> String {
    let inline = arguments.join(", ");
    let length = indent + name.len() + inline.len() + 2 + rest;
    let is_short = inline.len() <= ATTRIBUTE_WIDTH || arguments.len() == 1;
    if is_short && length <= width() && !inline.contains('\n') {
        return format!("{name}({inline})");
    }
    let pad = " ".repeat(indent);
    let lines: Vec<String> = arguments
        .iter()
        .map(|argument| format!("{pad}    {argument}"))
        .collect();
    format!("{name}(\n{}\n{pad})", lines.join(",\n"))
}

/// An argument of an attribute, which may have arguments itself.
pub enum Meta {
    Leaf(String),
    List(&'static str, Vec<Meta>),
}

impl Meta {
    fn inline(&self) -> String {
        match self {
            Self::Leaf(text) => text.clone(),
            Self::List(name, _) => format!("{name}({})", self.inside()),
        }
    }

    fn inside(&self) -> String {
        match self {
            Self::Leaf(_) => String::new(),
            Self::List(_, arguments) => {
                let arguments: Vec<String> = arguments.iter().map(Self::inline).collect();
                arguments.join(", ")
            }
        }
    }

    fn is_short(&self) -> bool {
        match self {
            Self::Leaf(text) => !text.contains('\n'),
            Self::List(_, arguments) => {
                (arguments.len() == 1 || self.inside().len() <= ATTRIBUTE_WIDTH)
                    && arguments.iter().all(Self::is_short)
            }
        }
    }

    fn depth(&self) -> usize {
        match self {
            Self::Leaf(_) => 0,
            Self::List(_, arguments) => {
                1 + arguments.iter().map(Self::depth).max().unwrap_or_default()
            }
        }
    }

    /// Lays out the arguments after `before` columns of a line at an indent, with `after` columns to follow. Each nested list is a column
    /// narrower.
    fn text(&self, indent: usize, before: usize, after: usize) -> String {
        let inline = self.inline();
        let length = before + inline.len() + after + self.depth();
        match self {
            Self::List(name, arguments) if !self.is_short() || length > width() => {
                if let [only @ Self::List(..)] = arguments.as_slice() {
                    let before = before + name.len() + 1;
                    return format!("{name}({})", only.text(indent, before, after + 2));
                }
                let pad = " ".repeat(indent + 4);
                let lines: Vec<String> = arguments
                    .iter()
                    .map(|argument| pad.clone() + &argument.text(indent + 4, indent + 4, 1))
                    .collect();
                format!("{name}(\n{}\n{})", lines.join(",\n"), " ".repeat(indent))
            }
            _ => inline,
        }
    }
}

/// `#[name(arguments)]` as [`attribute`] gives it, with lists among the arguments.
pub fn deep_attribute(indent: usize, name: &'static str, arguments: Vec<Meta>) -> String {
    let list = Meta::List(name, arguments);
    format!(
        "{}#[{}]\n",
        " ".repeat(indent),
        list.text(indent, indent + 2, 1)
    )
}

/// `head(arguments)tail`, or with brackets, as a statement or expression at an indent, with a trailing line feed.
pub fn bracketed(
    indent: usize,
    head: &str,
    brackets: [char; 2],
    items: &[String],
    tail: &str,
) -> String {
    let (pad, inline) = (" ".repeat(indent), items.join(", "));
    let [open, close] = brackets;
    let listed = format!("{open}{inline}{close}{tail}");
    let is_alone = open == '[' && items.len() == 1;
    if (is_alone || inline.len() <= CALL_WIDTH) && indent + head.len() + listed.len() <= width() {
        return format!("{pad}{head}{listed}\n");
    }
    if is_alone && head.ends_with("= ") && indent + 4 + listed.len() <= width() {
        return format!("{pad}{}\n{pad}    {listed}\n", head.trim_end());
    }
    if items.iter().all(|item| item.len() <= SHORT) && indent + inline.len() + 5 <= width() {
        return format!("{pad}{head}{open}\n{pad}    {inline},\n{pad}{close}{tail}\n");
    }
    let lines: String = items
        .iter()
        .map(|item| format!("{pad}    {item},\n"))
        .collect();
    format!("{pad}{head}{open}\n{lines}{pad}{close}{tail}\n")
}

/// `let name = include_str!("path");` as a statement at four columns, with a trailing line feed.
pub fn include_str(name: &str, path: &str) -> String {
    let path = literal(path);
    let call = format!("include_str!({path});");
    if 4 + "let  = ".len() + name.len() + call.len() <= width() {
        format!("    let {name} = {call}\n")
    } else if 8 + call.len() <= width() {
        format!("    let {name} =\n        {call}\n")
    } else {
        format!("    let {name} = include_str!(\n        {path}\n    );\n")
    }
}

/// `let name = "text";` as a statement at four columns, with a trailing line feed.
pub fn let_literal(name: &str, text: &str) -> String {
    let_value(name, &literal(text))
}

/// `let name = value;` as a statement at four columns, with a trailing line feed. The value cannot be broken.
pub fn let_value(name: &str, value: &str) -> String {
    let head = format!("    let {name} =");
    let is_short = head.len() + value.len() + 2 <= width();
    // rustfmt does not move code that fits on no line
    match is_short || 8 + value.len() + 1 > width() {
        true => format!("{head} {value};\n"),
        false => format!("{head}\n        {value};\n"),
    }
}

/// `pub struct Name` or the like with its brace, which is on the next line if the head fills its line. rustfmt ignores the indent of the
/// head.
pub fn head(mut head: String) -> String {
    head += if head.len() + " {".len() > WIDTH {
        "\n{\n"
    } else {
        " {\n"
    };
    head
}

/// `pub struct Name {}`, with its braces on the same line if they fit.
pub fn empty_struct(name: &str) -> String {
    let text = format!("pub struct {name} {{}}\n");
    // as behind a list of a `use`, two columns stay free
    if text.len() < width() {
        text
    } else if text.len() - 2 < WIDTH {
        format!("pub struct {name} {{\n}}\n")
    } else {
        format!("pub struct {name}\n{{}}\n")
    }
}

/// `impl Trait for Name {` or `impl Name {`, without a line feed. rustfmt ignores the indent of the head, and does not change it if the
/// name does not fit on its own line.
pub fn impl_head(trait_: Option<&str>, name: &str) -> String {
    let (first, second) = match trait_ {
        Some(trait_) => (format!("impl {trait_}"), format!("for {name}")),
        None => ("impl".to_owned(), name.to_owned()),
    };
    let inline = format!("{first} {second} {{");
    if inline.len() <= WIDTH || 4 + second.len() > width() {
        inline
    } else {
        format!("{first}\n    {second}\n{{")
    }
}

/// `type name = target;` at four columns, with a trailing line feed.
pub fn associated(name: &str, target: &Written) -> String {
    let (head, inline) = (format!("    type {name} = "), target.inline());
    if head.len() + inline.len() < width() {
        format!("{head}{inline};\n")
    } else if 8 + inline.len() < width() {
        format!("    type {name} =\n        {inline};\n")
    } else {
        format!("{head}{};\n", target.broken(head.len(), 4))
    }
}

/// `"text".into()` as the only expression of a method, with a trailing line feed.
pub fn into(text: &str) -> String {
    let text = literal(text);
    if 8 + text.len() + ".into()".len() > width() && 8 + text.len() <= width() {
        format!("        {text}\n            .into()\n")
    } else {
        format!("        {text}.into()\n")
    }
}

/// `use module::{names};`, with as many names on a line as fit.
pub fn import(module: &str, names: &[String]) -> String {
    let inline = match names {
        [one] => format!("use {module}::{one};\n"),
        many => format!("use {module}::{{{}}};\n", many.join(", ")),
    };
    // rustfmt keeps two columns free behind a list, beside the semicolon
    if inline.len() < width() || names.len() == 1 {
        return inline;
    }
    let mut lines = vec![String::new()];
    for name in names {
        let line = lines.last_mut().expect("it has one");
        if line.is_empty() {
            *line = format!("    {name},");
        } else if line.len() + name.len() + 2 < width() {
            *line += &format!(" {name},");
        } else {
            lines.push(format!("    {name},"));
        }
    }
    format!("use {module}::{{\n{}\n}};\n", lines.join("\n"))
}

/// `#[derive(names)]`.
pub fn derive(names: &[&str]) -> String {
    let inline = names.join(", ");
    // rustfmt counts the margin of a list of derives twice
    if inline.len() + 11 + MARGIN.get() <= width() {
        format!("#[derive({inline})]\n")
    } else {
        format!("#[derive(\n    {inline},\n)]\n")
    }
}

/// The parts of a type expression that matter for its layout.
#[derive(Clone, Debug)]
pub enum Written {
    Leaf(String),
    Generic(&'static str, Vec<Written>),
}

impl Written {
    pub fn inline(&self) -> String {
        match self {
            Self::Leaf(name) => name.clone(),
            Self::Generic(name, arguments) => {
                let arguments: Vec<String> = arguments.iter().map(Self::inline).collect();
                format!("{name}<{}>", arguments.join(", "))
            }
        }
    }

    /// Lays out the type after `before` columns, with one more column for the comma.
    fn broken(&self, before: usize, indent: usize) -> String {
        let inline = self.inline();
        let Self::Generic(name, arguments) = self else {
            return inline;
        };
        let limit = match arguments.as_slice() {
            // rustfmt leaves an argument as it is that does not fit even when it is broken
            [Self::Leaf(name)] if before == indent && indent + 4 + name.len() >= width() => WIDTH,
            _ => width(),
        };
        if before + inline.len() < limit {
            return inline;
        }
        let pad = " ".repeat(indent + 4);
        let lines: String = match arguments.as_slice() {
            [one] => format!("{pad}{},\n", one.broken(indent + 4, indent + 4)),
            many => {
                let inline: Vec<String> = many.iter().map(Self::inline).collect();
                if indent + 4 + inline.join(", ").len() < width() {
                    many.iter()
                        .map(|one| format!("{pad}{},\n", one.inline()))
                        .collect()
                } else {
                    many.iter()
                        .map(|one| format!("{pad}{},\n", one.broken(indent + 4, indent + 4)))
                        .collect()
                }
            }
        };
        format!("{name}<\n{lines}{}>", " ".repeat(indent))
    }

    /// `pub ident: type,` at four columns. A type that does not fit is placed on the next line, or broken.
    pub fn field(&self, ident: &str) -> String {
        let head = format!("    pub {ident}: ");
        let inline = self.inline();
        if head.len() + inline.len() >= width() && inline.len() + 8 < width() {
            return format!("    pub {ident}:\n        {inline},\n");
        }
        format!("{head}{},\n", self.broken(head.len(), 4))
    }
}

/// `pub type name = target;`
pub fn alias(name: &str, target: &str) -> String {
    let line = format!("pub type {name} = {target};");
    if line.len() <= width() {
        line + "\n"
    } else {
        format!("pub type {name} =\n    {target};\n")
    }
}

/// Whether a character changes the writing direction, which rustc rejects in a literal.
fn turns(char: char) -> bool {
    matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Appends a JSON text as a raw literal. rustc rejects characters that change the writing direction, so they are written as JSON escapes.
pub fn put_json(text: &mut String, json: &str) {
    let mut json = Cow::Borrowed(json);
    if !json.is_ascii() && json.contains(turns) {
        let escaped = |char: char| match turns(char) {
            true => format!("\\u{:04x}", u32::from(char)),
            false => char.to_string(),
        };
        json = json.chars().map(escaped).collect();
    }
    let mut hashes = "#".to_owned();
    // a long text is soon searched for a character
    while json.contains('#') && json.contains(&format!("\"{hashes}")) {
        hashes.push('#');
    }
    for part in ["r", &hashes, "\"", &json, "\"", &hashes] {
        text.push_str(part);
    }
}

/// A string literal.
pub fn literal(text: &str) -> String {
    // most are
    let is_bare = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    if text.bytes().all(is_bare) {
        return format!("\"{text}\"");
    }
    let is_plain = |char: char| !char.is_control() && !turns(char);
    if text.contains(['"', '\\']) && !text.contains("\"#") && text.chars().all(is_plain) {
        if text.contains('"') {
            format!("r#\"{text}\"#")
        } else {
            format!("r\"{text}\"")
        }
    } else {
        format!("{text:?}").replace("\\'", "'")
    }
}

#[cfg(test)]
mod tests;
