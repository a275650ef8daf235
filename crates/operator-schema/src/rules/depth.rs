//! Limits the depth of expressions: the parser, the checks and the evaluator recurse, so a deeper expression would overflow the stack.

use super::parse::quoted;
use std::mem;

/// The [`depth`] up to which expressions are parsed. The maximum in the rules of 700 real CRDs is 42.
pub(super) const MAX_DEPTH: usize = 200;

/// More than a debug build needs for an expression of that depth: parsing a bracket takes 150 KiB, evaluating a member of a chain 40 KiB.
const STACK: usize = 16 << 20;

/// Calls a function that parses or evaluates expressions with enough stack.
pub(super) fn with_stack<T>(run: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK, 2 * STACK, run)
}

/// The depth that a bracket counts for: it takes so many times the stack of a member of a chain.
const BRACKET: usize = 4;

/// The counts within one bracket, or outside of all.
#[derive(Default)]
struct Level {
    /// The conditions `a ? b : c` since the last `,`, each of which contains the next one.
    conditions: usize,
    /// The names and values since the last `&&`, `||`, `?`, `:` or `,`: a chain of them is as deep as it is long.
    chain: usize,
    /// The depth of the deepest bracket in that chain.
    inner: usize,
    deepest: usize,
}

impl Level {
    fn end_chain(&mut self) {
        let depth = self.conditions * BRACKET + self.chain + self.inner;
        self.deepest = self.deepest.max(depth);
        (self.chain, self.inner) = (0, 0);
    }

    /// Ends this level, and continues with the surrounding one, if there is one.
    fn close(&mut self, around: Option<Self>) {
        self.end_chain();
        if let Some(around) = around {
            let closed = mem::replace(self, around);
            self.chain += 1;
            self.inner = self.inner.max(closed.deepest + BRACKET);
        }
    }
}

/// An upper bound of the depth of an expression's tree, in which brackets and conditions count for [`BRACKET`].
pub(super) fn depth(expression: &str) -> usize {
    let (mut level, mut around) = (Level::default(), Vec::new());
    let mut at = 0;
    while let Some(first) = expression[at..].chars().next() {
        let (before, rest) = expression.split_at(at);
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let mut length = first.len_utf8();
        match first {
            '(' | '[' | '{' => around.push(mem::take(&mut level)),
            ')' | ']' | '}' => level.close(around.pop()),
            ',' => {
                level.end_chain();
                level.conditions = 0;
            }
            '&' | '|' | ':' => level.end_chain(),
            // not `a.?b`, `[?a]` and `{?a: b}`
            '?' if !before.ends_with(['.', '[', '{', ',']) => {
                level.end_chain();
                level.conditions += 1;
            }
            '/' if rest.starts_with("//") => length = rest.find('\n').unwrap_or(rest.len()),
            '"' | '\'' => {
                level.chain += 1;
                length = quoted(rest, before.ends_with(['r', 'R']));
            }
            _ if is_word(first) => {
                level.chain += 1;
                length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            }
            _ => {}
        }
        at += length;
    }
    while let Some(outer) = around.pop() {
        level.close(Some(outer));
    }
    level.end_chain();
    level.deepest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Schema, rule_faults, rule_violations, sample};
    use serde_json::json;

    #[test]
    fn a_depth_is_that_of_the_tree() {
        for (text, expected) in [
            ("", 0),
            ("a", 1),
            ("a.b.c == 1", 4),
            ("a && b && c || d", 1),
            ("(a)", 6),
            ("f(a, b.c) && ((1))", 11),
            ("'(((' + r'\\' + \"]\" // ((", 4),
            ("a ? b : c ? d : e", 9),
            ("{a: b}[1]", 7),
            ("((a", 11),
        ] {
            assert_eq!(depth(text), expected, "{text}");
        }
    }

    /// Expressions that are nested `n` times, in each way.
    fn nested(n: usize) -> [String; 14] {
        let within = |open: &str, close: &str| format!("{}true{}", open.repeat(n), close.repeat(n));
        [
            within("(", ")"),
            within("[", "]") + " != []",
            within("{1: ", "}") + " != {}",
            within("!", ""),
            within("[1].all(x, ", ")"),
            within("[1].map(x, ", ")") + " != []",
            within("dyn(", ")"),
            within("true == ", ""),
            within("false ? true : ", ""),
            within("true ? ", " : false"),
            format!("{}1 > 0", "1 + ".repeat(n)),
            format!("self{} == 1", ".a".repeat(n)),
            format!("self{} == 1", "[0]".repeat(n)),
            format!("'a'{} == 'a'", ".trim()".repeat(n)),
        ]
    }

    /// The thread of a test has the smallest stack on which this crate is called.
    #[test]
    fn a_rule_of_any_depth_fits_the_stack() {
        for n in [1, 8, 16, 24, 32, 39, 48, 95, 190, 199, 250, 20_000] {
            for rule in nested(n) {
                let schema: Schema = serde_json::from_value(json!({
                    "type": "object", "x-kubernetes-validations": [{"rule": rule, "message": "m"}],
                }))
                .unwrap();
                rule_faults(&schema);
                rule_violations(&schema, &json!({}), None);
                let _ = sample(&schema);
            }
        }
    }
}
