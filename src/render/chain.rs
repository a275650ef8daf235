//! A chain of calls that adds things to a list, such as the controllers, as rustfmt lays it out.

use crate::rustfmt::{CALL_WIDTH, bracketed, width};

/// A call of a method inside a closure.
pub struct Call {
    pub name: String,
    pub arguments: Vec<String>,
}

impl Call {
    fn inline(&self) -> String {
        format!(".{}({})", self.name, self.arguments.join(", "))
    }
}

/// The call that adds one thing.
pub struct Add {
    pub method: &'static str,
    /// The arguments before the closure.
    pub arguments: Vec<String>,
    /// The last argument.
    pub closure: Option<Closure>,
}

/// A closure that calls methods of its parameter.
pub struct Closure {
    pub parameter: &'static str,
    pub calls: Vec<Call>,
}

impl Add {
    /// `.add(module::setup, |watches| ...)` in a chain at an indent.
    fn text(&self, indent: usize) -> String {
        let Self {
            method,
            arguments,
            closure,
        } = self;
        let head = arguments.join(", ");
        let Some(Closure { parameter, calls }) = closure else {
            return format!(".{method}({head})");
        };
        let inline: String = calls.iter().map(Call::inline).collect();
        let body = format!("{parameter}{inline}");
        let closure = format!("|{parameter}| {body}");
        let is_short = (calls.len() < 2 || body.len() <= CALL_WIDTH) && calls.iter().all(is_short);
        if is_short && head.len() + 2 + closure.len() <= CALL_WIDTH {
            return format!(".{method}({head}, {closure})");
        }
        // where the names leave no room for the head of the closure, each argument has its own line
        let is_long = head.len() + ", || {".len() + parameter.len() > CALL_WIDTH;
        let outside = " ".repeat(indent);
        let indent = if is_long { indent + 4 } else { indent };
        let pad = " ".repeat(indent);
        let closure = match (is_short, calls.as_slice()) {
            (true, _) if is_long => closure,
            (true, _) => format!("|{parameter}| {{\n{pad}    {body}\n{pad}}}"),
            (false, [earlier @ .., last])
                if is_overflowing(indent + 4, parameter, earlier, last) =>
            {
                let earlier: String = earlier.iter().map(Call::inline).collect();
                let name = format!("{parameter}{earlier}.{}", last.name);
                let lines = bracketed(indent + 4, &name, ['(', ')'], &last.arguments, "");
                format!("|{parameter}| {{\n{lines}{pad}}}")
            }
            (false, _) => {
                let lines = calls.iter().map(|call| {
                    let name = format!(".{}", call.name);
                    bracketed(indent + 8, &name, ['(', ')'], &call.arguments, "")
                });
                let lines: String = lines.collect();
                format!("|{parameter}| {{\n{pad}    {parameter}\n{lines}{pad}}}")
            }
        };
        match is_long {
            true => {
                let lines = arguments.iter().map(|it| format!("{pad}{it},\n"));
                let lines: String = lines.collect();
                format!(".{method}(\n{lines}{pad}{closure},\n{outside})")
            }
            false => format!(".{method}({head}, {closure})"),
        }
    }
}

/// `Controllers::new()` with the calls, as the only expression of a function. A chain of one call is not broken.
pub fn chain(new: &str, adds: &[Add]) -> String {
    let add = |indent| adds.iter().map(move |add| add.text(indent));
    let inline = format!("    {new}{}\n", add(4).collect::<String>());
    if adds.len() < 2 || inline.trim().len() <= CALL_WIDTH {
        return inline;
    }
    let lines = add(8).map(|add| format!("        {add}\n"));
    format!("    {new}\n{}", lines.collect::<String>())
}

/// Whether the arguments of the last call of a chain are placed on separate lines, and the rest of the chain on the line above them.
fn is_overflowing(indent: usize, parameter: &str, earlier: &[Call], last: &Call) -> bool {
    let before: String = earlier.iter().map(Call::inline).collect();
    let before = parameter.len() + before.len();
    let fits = is_short(last) && indent + before + last.inline().len() <= width();
    let has_room = earlier.is_empty() || before + last.name.len() + ".(".len() <= CALL_WIDTH;
    !fits && has_room && earlier.iter().all(is_short) && !last.arguments.is_empty()
}

fn is_short(call: &Call) -> bool {
    call.arguments.join(", ").len() <= CALL_WIDTH
}
