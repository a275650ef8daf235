//! The costs of functions and operators, and the sizes of their results.

use super::path::ITEMS;
use super::size::{Size, scaled};
use super::{Estimate, LIST, Operand, sum};
use crate::rules::check::catalogue::Overload;
use crate::rules::check::types::Type;
use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{Expr, LiteralValue};

/// The cost of a character of a regular expression for a character of the text.
const PATTERN: f64 = 0.25;

/// A call of one of the overloads of a function.
pub(super) struct Call<'c, 'e, 's> {
    pub(super) expression: &'e IdedExpr,
    pub(super) overload: &'static Overload,
    pub(super) target: Option<&'c Operand<'e, 's>>,
    pub(super) arguments: &'c [Operand<'e, 's>],
    /// The costs of the arguments.
    pub(super) costs: &'c [u64],
}

/// The cost of a call, and the size of its result.
type CallCost = (u64, Option<Size>);

impl<'e, 's> Estimate<'e, 's> {
    /// The cost of a call with its arguments, and the size of the result.
    pub(super) fn function(&mut self, call: &Call<'_, 'e, 's>) -> CallCost {
        if let ("_?_:_", [condition, yes, no]) = (call.overload.name, call.costs) {
            let size = self.chosen(call);
            return (condition.saturating_add(*yes.max(no)), size);
        }
        let (cost, size) = self
            .of_lists(call)
            .or_else(|| self.of_library(call))
            .unwrap_or_else(|| self.of_language(call));
        (sum(call.costs.iter().copied()).saturating_add(cost), size)
    }

    /// The size of the result of `condition ? yes : no`.
    fn chosen(&mut self, call: &Call<'_, 'e, 's>) -> Option<Size> {
        let [_, yes, no] = call.arguments else {
            return None;
        };
        self.join(call, yes, no);
        Some(yes.known().or(no.known()))
    }

    /// Records that the result has the entries of either operand.
    fn join(&mut self, call: &Call<'_, 'e, 's>, a: &Operand<'e, 's>, b: &Operand<'e, 's>) {
        let mut entries = [a, b].map(|it| self.entries(it.expression?)).into_iter();
        let joined = entries.next().flatten().zip(entries.next().flatten());
        self.set_entries(call.expression, joined.map(|(a, b)| a.or(b)));
    }

    /// The cost of a function on lists or sets.
    fn of_lists(&mut self, call: &Call<'_, 'e, 's>) -> Option<CallCost> {
        let factor = || match call.overload.arguments[0] {
            Type::Named("list", ref item) if item[0].is("string") || item[0].is("bytes") => 2.1,
            _ => 2.0,
        };
        let (factor, size) = match (call.overload.name, call.target, call.arguments) {
            ("slice", Some(list), [start, end]) => {
                let end = end.number(self.sized(list).max);
                let length = end.wrapping_sub(start.number(0));
                (1.0, Size::exactly(length))
            }
            ("lists.range", None, [end]) => (1.0, Size::exactly(end.number(u64::MAX))),
            ("reverse", Some(list), []) => (1.0, self.sized(list)),
            ("flatten", Some(list), []) => (1.0, self.sized(list)),
            ("flatten", Some(list), [depth]) => (depth.number(u64::MAX) as f64, self.sized(list)),
            ("distinct", Some(list), []) => (2.0, self.squared(list)),
            ("sort", Some(list), []) => (factor(), self.squared(list)),
            ("@sortByAssociatedKeys", Some(_), [keys]) => {
                let factor = match &call.overload.arguments[1] {
                    Type::Named("list", item) if item[0].is("string") || item[0].is("bytes") => 2.1,
                    _ => 2.0,
                };
                (factor, self.squared(keys))
            }
            (name, None, [a, b]) if name.starts_with("sets.") => {
                let pairs = self.sized(a).times(self.sized(b)).max;
                let factor = if name == "sets.equivalent" { 2.0 } else { 1.0 };
                return Some((scaled(pairs, factor).saturating_add(1), None));
            }
            _ => return None,
        };
        let cost = sum([scaled(size.max, factor), 1, LIST]);
        Some((cost, Some(size)))
    }

    /// The cost of a function that Kubernetes adds, or whose cost it defines itself.
    fn of_library(&mut self, call: &Call<'_, 'e, 's>) -> Option<CallCost> {
        let overload = call.overload;
        let takes_string = || overload.arguments.last().is_some_and(|it| it.is("string"));
        let cost = match (overload.name, call.target, call.arguments) {
            ("check", ..) => 350_000,
            ("fieldSelector" | "labelSelector", _, [selector]) => {
                let size = self.sized(selector);
                let requirements = scaled(scaled(size.max, 0.5), 50.0);
                sum([LIST, size.read(), requirements])
            }
            ("isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf", Some(list), _) => {
                let size = self.sized(list);
                match self.element(list) {
                    Some(item) if item.type_.is("string") || item.type_.is("bytes") => {
                        let once = self.sized(&item).read().saturating_add(1);
                        size.max.saturating_mul(once)
                    }
                    Some(_) => size.max,
                    None => size.read(),
                }
            }
            ("url", _, [text]) => return Some(self.of_same_size(text)),
            ("lowerAscii" | "upperAscii" | "substring" | "trim", Some(text), _) => {
                return Some(self.of_same_size(text));
            }
            ("replace", Some(text), [from, to, ..]) => {
                let size = self.sized(text);
                let replaced = replaced(size, self.sized(from), self.sized(to));
                return Some((scaled(size.max, 0.2), Some(replaced)));
            }
            ("split", Some(text), arguments) => {
                let size = self.sized(text);
                let most = arguments
                    .get(1)
                    .and_then(Operand::int)
                    .map_or(size.max, |it| it as u64);
                return Some((scaled(size.max, 0.2), Some(Size::up_to(most))));
            }
            ("join", Some(list), arguments) => {
                let count = self.sized(list);
                let mut size = match self.element(list) {
                    Some(item) => count.times(self.sized(&item)),
                    None => Size::exactly(0),
                };
                if let [separator] = arguments {
                    let between = Size {
                        min: count.min.saturating_sub(1),
                        max: count.max.saturating_sub(1),
                    };
                    size = size.plus(self.sized(separator).times(between));
                }
                return Some((size.read(), Some(size)));
            }
            ("find" | "findAll", Some(text), [pattern, ..]) => {
                let size = self.sized(text);
                let cost = matched(size, self.sized(pattern));
                return Some((cost, Some(Size::up_to(size.max))));
            }
            ("ip", Some(_), _) => 1,
            (
                "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver"
                | "isSemver",
                _,
                [text, ..],
            ) => self.sized(text).read(),
            ("ip.isCanonical", _, [text]) => scaled(self.sized(text).max, 0.2),
            // the cost for an address of 16 bytes
            ("containsIP", _, [other]) => {
                if takes_string() {
                    self.sized(other).read().saturating_add(4)
                } else {
                    4
                }
            }
            ("containsCIDR", _, [other]) => {
                if takes_string() {
                    self.sized(other).read().saturating_add(7)
                } else {
                    7
                }
            }
            // the cost for a pattern of 128 characters
            ("validate", _, [text]) => scaled(self.sized(text).read(), 128.0 * PATTERN),
            ("_==_", _, [a, b]) => match (&a.type_, &b.type_) {
                (Type::Named(name, _), Type::Named(other, _)) if name == other => match *name {
                    "kubernetes.URL" => b.size.map_or(1, Size::read),
                    // the cost for the name of a format of 64 characters
                    "kubernetes.NamedFormat" => 7,
                    "net.IP" | "net.CIDR" => 1,
                    _ if name.starts_with("kubernetes.") => 1,
                    _ => return None,
                },
                _ => return None,
            },
            _ => return None,
        };
        Some((cost, None))
    }

    /// The cost of a function of CEL.
    fn of_language(&mut self, call: &Call<'_, 'e, 's>) -> CallCost {
        let overload = call.overload;
        let is = |at: usize, name: &str| overload.arguments[at].is(name);
        match (overload.name, call.target, call.arguments) {
            ("format", Some(text), _) => (text.known().read(), None),
            ("bytes", _, [text]) if is(0, "string") => {
                let size = text.known();
                let max = size.max.wrapping_mul(4);
                (size.read(), Some(Size { max, ..size }))
            }
            ("string", _, [bytes]) if is(0, "bytes") => {
                let size = bytes.known();
                let min = size.min / 4;
                (size.read(), Some(Size { min, ..size }))
            }
            ("strings.quote", _, [text]) => {
                let size = text.known();
                let quoted = Size {
                    min: size.min.wrapping_add(2),
                    max: size.max.wrapping_mul(2).wrapping_add(2),
                };
                (size.read(), Some(quoted))
            }
            ("startsWith" | "endsWith", _, [affix]) => (affix.known().read(), None),
            ("@in" | "_in_" | "in", _, [_, list]) if is(1, "list") => {
                (scaled(list.known().max, 1.0), None)
            }
            ("matches", Some(text), [pattern]) => (matched(text.known(), pattern.known()), None),
            ("contains", Some(text), [part]) => {
                let cost = text.known().read().saturating_mul(part.known().read());
                (cost, None)
            }
            ("_&&_" | "_||_", ..) => (0, None),
            ("_+_", _, [a, b]) if is(0, "string") || is(0, "bytes") || is(0, "list") => {
                self.join(call, a, b);
                let size = a.known().plus(b.known());
                let cost = if is(0, "list") { 1 } else { size.read() };
                (cost, Some(size))
            }
            ("_==_" | "_!=_", _, [a, b]) => (compared(a, b), None),
            ("_<_" | "_<=_" | "_>_" | "_>=_", _, [a, b]) if is(0, "string") || is(0, "bytes") => {
                (compared(a, b), None)
            }
            _ => (1, None),
        }
    }

    /// The cost of a function that reads a text, and whose result has the same size.
    fn of_same_size(&mut self, text: &Operand<'e, 's>) -> CallCost {
        let size = self.sized(text);
        (size.read(), Some(size))
    }

    /// The square of the size of a list, for functions that compare each item with each other one.
    fn squared(&mut self, list: &Operand<'e, 's>) -> Size {
        let size = self.sized(list);
        size.times(size)
    }

    /// The size of an operand, from the expression or from the schema.
    fn sized(&mut self, operand: &Operand<'e, 's>) -> Size {
        operand
            .size
            .or_else(|| self.declared(&operand.path))
            .unwrap_or(Size::UNKNOWN)
    }

    /// An item of a list, as an operand.
    fn element(&self, list: &Operand<'e, 's>) -> Option<Operand<'e, 's>> {
        let Type::Named(_, parameters) = &list.type_ else {
            return None;
        };
        let type_ = parameters.first()?.clone();
        let path = if list.path.is_empty() {
            list.path.clone()
        } else {
            list.path.copied().then(ITEMS)
        };
        Some(Operand {
            expression: None,
            path,
            type_,
            size: None,
        })
    }
}

impl Operand<'_, '_> {
    /// The size, without the one that the schema may declare for the path.
    fn known(&self) -> Size {
        self.size.unwrap_or(Size::UNKNOWN)
    }

    fn int(&self) -> Option<i64> {
        match &self.expression?.expr {
            Expr::Literal(LiteralValue::Int(value)) => Some(*value.inner()),
            _ => None,
        }
    }

    /// A literal number, or `default`.
    fn number(&self, default: u64) -> u64 {
        self.int().map_or(default, |it| it.max(0) as u64)
    }
}

/// The cost of finding a pattern in a text.
fn matched(text: Size, pattern: Size) -> u64 {
    let text = text.plus(Size::exactly(1)).read();
    text.saturating_mul(scaled(pattern.max, PATTERN))
}

/// The cost of comparing values.
fn compared(a: &Operand<'_, '_>, b: &Operand<'_, '_>) -> u64 {
    Size::up_to(a.known().max.min(b.known().max)).read()
}

/// The size of a text of which parts are replaced.
fn replaced(text: Size, from: Size, to: Size) -> Size {
    let parts = |text: u64, from: u64| (text as f64 / from as f64).ceil() as u64;
    let (most, kept) = match from.min {
        0 => (text.max.saturating_add(1), text.max),
        least if to.max <= least => (0, text.max),
        least => (parts(text.max, least), 0),
    };
    let (fewest, least_kept) = match from.max {
        0 => (text.min.saturating_add(1), text.min),
        longest if longest <= to.min => (0, text.min),
        longest => (parts(text.min, longest), 0),
    };
    let count = Size {
        min: fewest,
        max: most,
    };
    let kept = Size {
        min: least_kept,
        max: kept,
    };
    count.times(to).plus(kept)
}
