//! The types of CEL, and their unification: which type a free variable stands for.
//!
//! <https://github.com/google/cel-spec/blob/master/doc/langdef.md#gradual-type-checking>

use super::declared::Object;
use std::fmt;
use std::sync::Arc;

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type<'s> {
    /// The type of an expression whose error is already reported.
    Error,
    /// Any type, which is known only when the rule is evaluated.
    Dyn,
    /// `int`, `list(string)`, `optional_type(int)`, `net.IP`.
    Named(&'static str, Arc<[Type<'s>]>),
    /// A variable; in the catalogue, a type parameter of the overload.
    Var(usize),
    /// An object of the schema.
    Object(Object<'s>),
}

pub(super) const TIMESTAMP: &str = "google.protobuf.Timestamp";
pub(super) const DURATION: &str = "google.protobuf.Duration";
const OPTIONAL: &str = "optional_type";

impl Type<'_> {
    pub(super) fn simple(name: &'static str) -> Self {
        Type::Named(name, Arc::new([]))
    }

    pub(super) fn list(item: Self) -> Self {
        Type::Named("list", Arc::new([item]))
    }

    pub(super) fn map(key: Self, value: Self) -> Self {
        Type::Named("map", Arc::new([key, value]))
    }

    pub(super) fn optional(value: Self) -> Self {
        Type::Named(OPTIONAL, Arc::new([value]))
    }

    pub(super) fn is(&self, name: &str) -> bool {
        matches!(self, Type::Named(found, _) if *found == name)
    }

    /// The type of the value of an optional.
    pub(super) fn of_optional(&self) -> Option<Self> {
        match self {
            Type::Named(OPTIONAL, inner) => inner.first().cloned(),
            _ => None,
        }
    }

    pub(super) fn is_dynamic(&self) -> bool {
        matches!(self, Type::Dyn | Type::Error)
    }

    /// Whether the value can be null: an object, a time, or an optional.
    fn is_nullable(&self) -> bool {
        const NEVER: [&str; 9] = [
            "bool", "bytes", "double", "int", "list", "map", "string", "type", "uint",
        ];
        match self {
            Type::Named(name, _) => !NEVER.contains(name),
            _ => true,
        }
    }

    /// Whether the type is `other`, or `other` with dynamic parts.
    fn is_as_general(&self, other: &Self) -> bool {
        match (self, other) {
            (Type::Dyn | Type::Var(_), _) => true,
            (_, Type::Dyn | Type::Var(_)) => false,
            (Type::Named("type", _), Type::Named("type", _)) => true,
            (Type::Named(a, left), Type::Named(b, right)) => {
                let mut pairs = left.iter().zip(right.iter());
                a == b && left.len() == right.len() && pairs.all(|(a, b)| a.is_as_general(b))
            }
            _ => self == other,
        }
    }
}

impl fmt::Display for Type<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Error => f.write_str("error"),
            Type::Dyn | Type::Var(_) => f.write_str("dyn"),
            Type::Object(_) => f.write_str("object"),
            Type::Named(TIMESTAMP, _) => f.write_str("timestamp"),
            Type::Named(DURATION, _) => f.write_str("duration"),
            Type::Named(name, parameters) => {
                f.write_str(name)?;
                if parameters.is_empty() {
                    return Ok(());
                }
                write!(f, "({})", listed(parameters))
            }
        }
    }
}

/// The types with commas between them: `int, string`.
pub(super) fn listed(types: &[Type<'_>]) -> String {
    let texts: Vec<_> = types.iter().map(ToString::to_string).collect();
    texts.join(", ")
}

/// The types that variables stand for.
#[derive(Default)]
pub(super) struct Bindings<'s> {
    bound: Vec<Option<Type<'s>>>,
}

impl<'s> Bindings<'s> {
    /// Adds unbound variables. Returns the first.
    pub(super) fn add(&mut self, count: usize) -> usize {
        let first = self.bound.len();
        self.bound.resize(first + count, None);
        first
    }

    pub(super) fn variable(&mut self) -> Type<'s> {
        Type::Var(self.add(1))
    }

    /// Whether each type fits the one at the same index. Binds variables if all fit.
    pub(super) fn unify(&mut self, left: &[Type<'s>], right: &[Type<'s>]) -> bool {
        if left.len() != right.len() {
            return false;
        }
        let before = self.bound.clone();
        let fits = left.iter().zip(right).all(|(a, b)| self.fits(a, b));
        if !fits {
            self.bound = before;
        }
        fits
    }

    fn fits(&mut self, left: &Type<'s>, right: &Type<'s>) -> bool {
        if let Type::Var(variable) = right {
            let is_bound = self.bound[*variable].is_some() || left == right;
            if self.bind(*variable, left) {
                return true;
            }
            if is_bound {
                return false;
            }
        }
        if let Type::Var(variable) = left {
            return self.bind(*variable, right);
        }
        if left.is_dynamic() || right.is_dynamic() {
            return true;
        }
        match (left, right) {
            (Type::Named("null_type", _), Type::Named("null_type", _)) => true,
            (Type::Named("null_type", _), other) | (other, Type::Named("null_type", _)) => {
                other.is_nullable()
            }
            (Type::Named("type", _), Type::Named("type", _)) => true,
            (Type::Named(a, left), Type::Named(b, right)) => {
                let mut pairs = left.iter().zip(right.iter());
                a == b && left.len() == right.len() && pairs.all(|(a, b)| self.fits(a, b))
            }
            _ => left == right,
        }
    }

    /// Binds a variable to a type. Returns whether it can stand for that type.
    fn bind(&mut self, variable: usize, type_: &Type<'s>) -> bool {
        if *type_ == Type::Var(variable) {
            return true;
        }
        let Some(bound) = self.bound[variable].clone() else {
            let is_free = !self.mentions(variable, type_);
            if is_free {
                self.bound[variable] = Some(type_.clone());
            }
            return is_free;
        };
        if bound == *type_ {
            return true;
        }
        if !self.fits(type_, &bound) {
            return false;
        }
        let general = if type_.is_as_general(&bound) {
            type_.clone()
        } else {
            bound
        };
        if !self.mentions(variable, &general) {
            self.bound[variable] = Some(general);
        }
        true
    }

    fn mentions(&self, variable: usize, type_: &Type<'s>) -> bool {
        match type_ {
            Type::Var(other) if *other == variable => true,
            Type::Var(other) => {
                let bound = self.bound[*other].as_ref();
                bound.is_some_and(|bound| self.mentions(variable, bound))
            }
            Type::Named(_, parameters) => parameters.iter().any(|it| self.mentions(variable, it)),
            _ => false,
        }
    }

    /// The type with all bound variables replaced.
    pub(super) fn known(&self, type_: &Type<'s>) -> Type<'s> {
        match type_ {
            Type::Var(variable) => match &self.bound[*variable] {
                Some(bound) => self.known(bound),
                None => type_.clone(),
            },
            Type::Named(name, parameters) if !parameters.is_empty() => {
                Type::Named(name, parameters.iter().map(|it| self.known(it)).collect())
            }
            _ => type_.clone(),
        }
    }

    /// The type with unbound variables as `dyn`.
    pub(super) fn settled(&self, type_: &Type<'s>) -> Type<'s> {
        match self.known(type_) {
            Type::Var(_) => Type::Dyn,
            Type::Named(name, parameters) => {
                Type::Named(name, parameters.iter().map(|it| self.settled(it)).collect())
            }
            other => other,
        }
    }

    /// The more general of two types, if one fits the other.
    pub(super) fn join(&mut self, before: &Type<'s>, next: &Type<'s>) -> Option<Type<'s>> {
        let fits = self.unify(std::slice::from_ref(before), std::slice::from_ref(next));
        fits.then(|| {
            if before.is_as_general(next) {
                before.clone()
            } else {
                next.clone()
            }
        })
    }
}

/// The type with its parameters as variables from `first` on.
pub(super) fn instance<'s>(type_: &Type<'s>, first: usize) -> Type<'s> {
    match type_ {
        Type::Var(parameter) => Type::Var(first + parameter),
        Type::Named(name, parameters) if !parameters.is_empty() => {
            let parameters = parameters.iter().map(|it| instance(it, first));
            Type::Named(name, parameters.collect())
        }
        _ => type_.clone(),
    }
}
