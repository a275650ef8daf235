//! Unique Rust names for wire names. If several wire names give one Rust name, the wire name closest to it keeps it, so that the names do
//! not depend on the order of the schema; the others are spelled out. Names contain no counters.
//!
//! Among the values of an enum, the first keeps the name, because new values are appended.

use std::collections::{HashMap, HashSet};

use super::name::{camel, field, pascal, pascal_spelled, spelled, variant};

/// The variant for values that the schema does not list.
pub const UNRECOGNIZED: &str = "Unrecognized";

/// The identifiers of a struct's fields, in the order of `wires`.
pub fn fields(wires: &[&str]) -> Vec<String> {
    distinct(
        wires,
        &HashSet::new(),
        |wire| field(wire),
        |wire, ident| (camel(ident) != *wire, ident != wire, wire.to_string()),
        |wire| field(&spelled(wire).join(" ")),
        |wire| format!("x_{}", hex(wire)),
    )
}

/// The variants of an enum, in the order of `values`; none is [`UNRECOGNIZED`]. No variant depends on later values.
pub fn variants(values: &[&str]) -> Vec<String> {
    let mut taken = HashSet::from([UNRECOGNIZED.to_owned()]);
    let unique = |value: &&str| {
        let plain = variant(value);
        let spelled = match variant(&spelled(value).join(" ")) {
            name if name == plain => format!("Lower{name}"),
            name => name,
        };
        let mut name = [plain, spelled]
            .into_iter()
            .find(|name| !taken.contains(name))
            .unwrap_or_else(|| format!("X{}", hex(value)));
        while !taken.insert(name.clone()) {
            name.push('_');
        }
        name
    };
    values.iter().map(unique).collect()
}

/// The names of the types below `root`, in the order of `paths`; none is in `reserved`.
///
/// `["spec", "alerting", "alertmanagers"]` below `Prometheus` gives `PrometheusSpecAlertingAlertmanagers`. If two paths give the same name,
/// the shorter and plainer one keeps it. In the other one, unusual characters are spelled out, or the dots if there are none:
/// `KindDotSpecDotFooDotBar` beside `KindSpecFooBar`.
pub fn types(root: &str, paths: &[&[String]], reserved: &HashSet<String>) -> Vec<String> {
    let is_odd = |wire: &str| camel(&field(wire)) != wire;
    distinct(
        paths,
        reserved,
        |path| {
            path.iter()
                .fold(root.to_owned(), |name, wire| name + &pascal(wire))
        },
        |path, _| {
            let odd = path.iter().filter(|wire| is_odd(wire)).count();
            (path.len(), odd, path.join("."))
        },
        |path| {
            path.iter().fold(root.to_owned(), |name, wire| {
                if is_odd(wire) {
                    name + &pascal_spelled(wire)
                } else {
                    name + &pascal(wire)
                }
            })
        },
        |path| root.to_owned() + &pascal_spelled(&format!(".{}", path.join("."))),
    )
}

/// The names of functions for fields below `root`, in the order of their paths; none is in `reserved`.
pub fn functions(root: &str, paths: &[&[String]], reserved: &HashSet<String>) -> Vec<String> {
    let snake = |words: String| field(&format!("{root} {words}"));
    distinct(
        paths,
        reserved,
        |path| snake(path.join(" ")),
        |path, _| (path.len(), path.join(".")),
        |path| snake(spelled(&format!(".{}", path.join("."))).join(" ")),
        |path| snake(hex(&path.join("."))),
    )
}

/// Names all wire names by `plain`. Of several with the same name, the one with the lowest `rank` keeps it, unless the name is reserved;
/// the others are named by `spelled`, or by `last` if that name is in use, too.
fn distinct<W, N, R>(
    wires: &[W],
    reserved: &HashSet<N>,
    plain: impl Fn(&W) -> N,
    rank: impl Fn(&W, &N) -> R,
    spelled: impl Fn(&W) -> N,
    last: impl Fn(&W) -> N,
) -> Vec<N>
where
    N: Clone + Eq + std::hash::Hash,
    R: Ord,
{
    let mut names: Vec<N> = wires.iter().map(plain).collect();
    let mut seen: HashSet<&N> = HashSet::with_capacity(names.len());
    if names
        .iter()
        .all(|name| seen.insert(name) && !reserved.contains(name))
    {
        return names;
    }
    let mut holders: HashMap<N, Vec<usize>> = HashMap::with_capacity(names.len());
    for (at, name) in names.iter().enumerate() {
        holders.entry(name.clone()).or_default().push(at);
    }
    let mut taken: HashSet<N> = reserved.clone();
    let mut losers = Vec::new();
    #[cfg_attr(
        not(test),
        expect(clippy::iter_over_hash_type, reason = "sorted below")
    )]
    for (name, mut group) in holders {
        if group.len() > 1 {
            group.sort_by_cached_key(|&at| rank(&wires[at], &name));
        }
        let keeps = usize::from(!reserved.contains(&name));
        losers.extend(group.drain(keeps..));
        taken.insert(name);
    }
    losers.sort_unstable();
    for at in losers {
        let name = spelled(&wires[at]);
        // `last` is unique, unless a wire name imitates its result
        names[at] = if taken.contains(&name) {
            last(&wires[at])
        } else {
            name
        };
        taken.insert(names[at].clone());
    }
    names
}

/// Spells out every byte of the wire name, as a last resort: different wire names have different results.
fn hex(wire: &str) -> String {
    wire.bytes().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wire_name_closest_to_the_identifier_keeps_it_in_any_order() {
        for wires in [["foo-bar", "fooBar"], ["fooBar", "foo-bar"]] {
            let idents = fields(&wires);
            for (wire, ident) in wires.iter().zip(&idents) {
                let expected = match *wire {
                    "fooBar" => "foo_bar",
                    _ => "foo_minus_bar",
                };
                assert_eq!(ident, expected);
            }
        }
    }

    #[test]
    fn values_that_differ_in_case_get_distinct_variants_and_the_first_the_plain_one() {
        let idents = variants(&["http", "HTTP", "Http"]);
        assert_eq!(idents, ["Http", "HTTP", "UpperHttp"]);
        let idents = variants(&["replace", "hashmod", "Replace", "HashMod"]);
        assert_eq!(idents, ["Replace", "Hashmod", "UpperReplace", "HashMod"]);
        assert_eq!(variants(&["", "Empty"]), ["Empty", "UpperEmpty"]);
        assert_eq!(variants(&["Empty", ""]), ["Empty", "LowerEmpty"]);
        let idents = variants(&["_GET", "GET", "get", "Get"]);
        assert_eq!(idents, ["Get", "GET", "LowerGet", "UpperGet"]);
    }

    #[test]
    fn a_value_that_equals_a_fallback_name_gets_its_own_variant() {
        let idents = variants(&["X676574", "Get", "lower-get", "LowerGet", "get"]);
        let expected = ["X676574", "Get", "LowerGet", "UpperLowerGet", "X676574_"];
        assert_eq!(idents, expected);
    }

    #[test]
    fn the_variant_for_other_values_is_reserved() {
        let idents = variants(&["Unrecognized", "unrecognized", "Known"]);
        assert_eq!(idents, ["UpperUnrecognized", "LowerUnrecognized", "Known"]);
    }

    #[test]
    fn a_deeper_path_yields_to_a_shorter_one() {
        let paths = ["spec.foo.bar", "spec.fooBar", "spec"].map(path);
        let paths: Vec<&[String]> = paths.iter().map(Vec::as_slice).collect();
        let names = types("Kind", &paths, &HashSet::new());
        assert_eq!(
            names,
            ["KindDotSpecDotFooDotBar", "KindSpecFooBar", "KindSpec"]
        );
    }

    #[test]
    fn fields_with_the_same_function_name_get_distinct_functions() {
        let paths = ["spec.foo.barSelector", "spec.fooBar.selector", "spec.x"].map(path);
        let paths: Vec<&[String]> = paths.iter().map(Vec::as_slice).collect();
        let names = functions("Kind", &paths, &HashSet::from(["kind_spec_x".to_owned()]));
        let expected = [
            "kind_spec_foo_bar_selector",
            "kind_dot_spec_dot_foo_bar_dot_selector",
            "kind_dot_spec_dot_x",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn reserved_names_are_not_used() {
        let reserved = HashSet::from(["IntOrString".to_owned()]);
        let names = types("Int", &[&path("orString")], &reserved);
        assert_eq!(names, ["IntDotOrString"]);
    }

    fn path(path: &str) -> Vec<String> {
        path.split('.').map(str::to_owned).collect()
    }
}
