//! Replaces the macros that the parser leaves as calls by comprehensions, as the API server does.
//!
//! <https://pkg.go.dev/github.com/google/cel-go/ext#TwoVarComprehensions>

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, ListExpr, LiteralValue, MapExpr, operators,
};

const RESULT: &str = "@result";
const INPUT: &str = "@input";
const UNUSED: &str = "@unused";

/// The names of all macros with a receiver.
pub(super) const MACROS: [&str; 12] = [
    "all",
    "exists",
    "existsOne",
    "exists_one",
    "filter",
    "map",
    "optFlatMap",
    "optMap",
    "sortBy",
    "transformList",
    "transformMap",
    "transformMapEntry",
];

/// Expands the macros of an expression, the innermost first.
pub(super) fn expand(expression: &mut IdedExpr) -> Result<(), String> {
    match &mut expression.expr {
        Expr::Call(call) => {
            // `.f(x)` names a function from the root scope, where all functions are
            if let Some(name) = call.func_name.strip_prefix('.') {
                call.func_name = name.to_owned();
            }
            for part in call.target.as_deref_mut().into_iter().chain(&mut call.args) {
                expand(part)?;
            }
            if let Some(expanded) = expanded(call)? {
                *expression = expanded;
            }
        }
        Expr::Comprehension(inner) => {
            expand(&mut inner.iter_range)?;
            expand(&mut inner.loop_step)?;
        }
        Expr::List(list) => list.elements.iter_mut().try_for_each(expand)?,
        Expr::Map(map) => {
            for entry in &mut map.entries {
                if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                    expand(&mut entry.key)?;
                    expand(&mut entry.value)?;
                }
            }
        }
        Expr::Select(select) => expand(&mut select.operand)?,
        Expr::Struct(_) | Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => {}
    }
    Ok(())
}

fn expanded(call: &CallExpr) -> Result<Option<IdedExpr>, String> {
    let Some(target) = &call.target else {
        return Ok(None);
    };
    let target = target.as_ref();
    let expanded = match (call.func_name.as_str(), call.args.as_slice()) {
        ("optMap", [variable, body]) => {
            let value = bound(
                name(variable)?,
                member("value", target.clone()),
                body.clone(),
            );
            chosen(target, global("optional.of", vec![value]))
        }
        ("optFlatMap", [variable, body]) => {
            let value = bound(
                name(variable)?,
                member("value", target.clone()),
                body.clone(),
            );
            chosen(target, value)
        }
        ("sortBy", [variable, key]) => {
            let keys = Loop::new(ident(INPUT), name(variable)?, None);
            let keys = keys.list(None, key.clone());
            let mut sorted = member("@sortByAssociatedKeys", ident(INPUT));
            if let Expr::Call(call) = &mut sorted.expr {
                call.args.push(keys);
            }
            bound(INPUT, target.clone(), sorted)
        }
        (macro_, [key, value, rest @ ..]) => {
            let (filter, body) = match rest {
                [body] => (None, body.clone()),
                [filter, body] if macro_.starts_with("transform") => {
                    (Some(filter.clone()), body.clone())
                }
                _ => return Ok(None),
            };
            let two = || {
                let (key, value) = (name(key)?, name(value)?);
                if key == value {
                    Err(format!("duplicate variable name: {key}"))
                } else {
                    Ok(Loop::new(target.clone(), key, Some(value)))
                }
            };
            match macro_ {
                "all" => two()?.quantifier(operators::LOGICAL_AND, true, body),
                "exists" => two()?.quantifier(operators::LOGICAL_OR, false, body),
                "existsOne" | "exists_one" => two()?.one(body),
                "transformList" => two()?.list(filter, body),
                "transformMap" => two()?.map(filter, vec![key.clone(), body]),
                "transformMapEntry" => two()?.map(filter, vec![body]),
                _ => return Ok(None),
            }
        }
        _ => return Ok(None),
    };
    Ok(Some(expanded))
}

/// The range and the variables of a comprehension.
struct Loop<'e> {
    range: IdedExpr,
    variable: &'e str,
    second: Option<&'e str>,
}

impl<'e> Loop<'e> {
    fn new(range: IdedExpr, variable: &'e str, second: Option<&'e str>) -> Self {
        Self {
            range,
            variable,
            second,
        }
    }

    fn with(self, start: IdedExpr, step: IdedExpr, result: IdedExpr) -> IdedExpr {
        self.until(boolean(true), start, step, result)
    }

    fn until(
        self,
        condition: IdedExpr,
        start: IdedExpr,
        step: IdedExpr,
        result: IdedExpr,
    ) -> IdedExpr {
        of(Expr::Comprehension(Box::new(ComprehensionExpr {
            iter_range: self.range,
            iter_var: self.variable.to_owned(),
            iter_var2: self.second.map(str::to_owned),
            accu_var: RESULT.to_owned(),
            accu_init: start,
            loop_cond: condition,
            loop_step: step,
            result,
        })))
    }

    fn quantifier(self, operator: &str, start: bool, body: IdedExpr) -> IdedExpr {
        let undecided = if start {
            ident(RESULT)
        } else {
            global(operators::LOGICAL_NOT, vec![ident(RESULT)])
        };
        let condition = global(operators::NOT_STRICTLY_FALSE, vec![undecided]);
        let step = global(operator, vec![ident(RESULT), body]);
        self.until(condition, boolean(start), step, ident(RESULT))
    }

    fn one(self, body: IdedExpr) -> IdedExpr {
        let int = |value: i64| of(Expr::Literal(LiteralValue::Int(value.into())));
        let added = global(operators::ADD, vec![ident(RESULT), int(1)]);
        let step = conditional(body, added, ident(RESULT));
        let result = global(operators::EQUALS, vec![ident(RESULT), int(1)]);
        self.with(int(0), step, result)
    }

    fn list(self, filter: Option<IdedExpr>, body: IdedExpr) -> IdedExpr {
        let added = of(Expr::List(ListExpr::new(vec![body])));
        let step = global(operators::ADD, vec![ident(RESULT), added]);
        let start = of(Expr::List(ListExpr::new(Vec::new())));
        self.with(start, filtered(filter, step), ident(RESULT))
    }

    fn map(self, filter: Option<IdedExpr>, inserted: Vec<IdedExpr>) -> IdedExpr {
        let mut arguments = vec![ident(RESULT)];
        arguments.extend(inserted);
        let step = global("cel.@mapInsert", arguments);
        let start = of(Expr::Map(MapExpr::default()));
        self.with(start, filtered(filter, step), ident(RESULT))
    }
}

/// A comprehension that binds `value` to a variable of `body`, as `cel.bind` does.
fn bound(variable: &str, value: IdedExpr, body: IdedExpr) -> IdedExpr {
    let nothing = of(Expr::List(ListExpr::new(Vec::new())));
    of(Expr::Comprehension(Box::new(ComprehensionExpr {
        iter_range: nothing,
        iter_var: UNUSED.to_owned(),
        iter_var2: None,
        accu_var: variable.to_owned(),
        accu_init: value,
        loop_cond: boolean(false),
        loop_step: ident(variable),
        result: body,
    })))
}

/// `value` as the result if `optional` has a value, otherwise `optional.none()`.
fn chosen(optional: &IdedExpr, value: IdedExpr) -> IdedExpr {
    let has_value = member("hasValue", optional.clone());
    conditional(has_value, value, global("optional.none", Vec::new()))
}

fn filtered(filter: Option<IdedExpr>, step: IdedExpr) -> IdedExpr {
    match filter {
        Some(filter) => conditional(filter, step, ident(RESULT)),
        None => step,
    }
}

fn conditional(condition: IdedExpr, yes: IdedExpr, no: IdedExpr) -> IdedExpr {
    global(operators::CONDITIONAL, vec![condition, yes, no])
}

fn name(variable: &IdedExpr) -> Result<&str, String> {
    match &variable.expr {
        Expr::Ident(name) => Ok(name),
        _ => Err("a variable of a macro must be a simple name".to_owned()),
    }
}

fn global(name: &str, args: Vec<IdedExpr>) -> IdedExpr {
    of(Expr::Call(CallExpr {
        func_name: name.to_owned(),
        target: None,
        args,
    }))
}

fn member(name: &str, target: IdedExpr) -> IdedExpr {
    of(Expr::Call(CallExpr {
        func_name: name.to_owned(),
        target: Some(Box::new(target)),
        args: Vec::new(),
    }))
}

fn ident(name: &str) -> IdedExpr {
    of(Expr::Ident(name.to_owned()))
}

fn boolean(value: bool) -> IdedExpr {
    of(Expr::Literal(LiteralValue::Boolean(value.into())))
}

fn of(expr: Expr) -> IdedExpr {
    IdedExpr { id: 0, expr }
}
