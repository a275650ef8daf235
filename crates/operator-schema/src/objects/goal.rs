//! The goals of a schema, node by node.

use super::Edge;
use crate::pointer::escape;
use crate::{Schema, SchemaOrBool, Violation, prune};

/// How much of a schema a series of objects has covered.
#[derive(Clone, Debug, PartialEq)]
pub struct Coverage {
    /// The number of covered goals: nodes with a value, enum values, satisfied union branches, and edge cases.
    pub reached: usize,
    /// The number of all goals.
    pub total: usize,
    /// The goals that were not covered, in the order of the schema.
    pub unreached: Vec<Unreached>,
}

/// A part of a schema that no object of the series has covered.
#[derive(Clone, Debug, PartialEq)]
pub struct Unreached {
    /// A JSON pointer from the root of the schema to a property, enum value (`.../enum/2`) or branch (`.../oneOf/1`).
    pub pointer: String,
    /// The edge case of the node at `pointer` that was not covered; `None` for the part itself.
    pub edge: Option<Edge>,
    /// The violations of the best attempt; empty if no attempt contained the part.
    pub violations: Vec<Violation>,
}

pub(super) type Id = usize;

/// A schema that describes values, as opposed to one under `allOf` and the like, which only restricts them.
pub(super) struct Node<'s> {
    pub(super) schema: &'s Schema,
    pub(super) name: &'s str,
    pub(super) goals: Vec<Goal<'s>>,
    pub(super) fields: Vec<(&'s str, Id)>,
    /// The node of the items of a list.
    pub(super) items: Option<Id>,
    /// The node of the values of a map.
    pub(super) additional: Option<Id>,
    parent: Option<Id>,
    pointer: String,
    /// The number of open goals here and below.
    pub(super) open: usize,
}

pub(super) struct Goal<'s> {
    pub(super) kind: GoalKind<'s>,
    pub(super) is_reached: bool,
    /// How often a value was built for it.
    pub(super) tries: usize,
    /// The violations, once the goal was tried alone.
    refused: Option<Vec<Violation>>,
}

#[derive(Clone, Copy)]
pub(super) enum GoalKind<'s> {
    Value,
    Enum(usize),
    /// A branch of the node's nth union.
    Branch {
        union: usize,
        index: usize,
        schema: &'s Schema,
    },
    Edge(Edge),
}

/// All goals of a schema, and which of them are reached.
pub(super) struct Plan<'s> {
    pub(super) nodes: Vec<Node<'s>>,
    total: usize,
}

impl<'s> Plan<'s> {
    pub(super) const ROOT: Id = 0;

    pub(super) fn of(schema: &'s Schema) -> Self {
        let mut plan = Plan {
            nodes: Vec::new(),
            total: 0,
        };
        plan.add(schema, None, "", String::new(), false);
        plan.total = plan.nodes[Self::ROOT].open;
        plan
    }

    pub(super) fn schema(&self) -> &'s Schema {
        self.nodes[Self::ROOT].schema
    }

    pub(super) fn reached(&self) -> usize {
        self.total - self.nodes[Self::ROOT].open
    }

    /// Adds a node for a schema, and nodes for the schemas below it.
    fn add(
        &mut self,
        schema: &'s Schema,
        parent: Option<Id>,
        name: &'s str,
        pointer: String,
        is_optional: bool,
    ) -> Id {
        let id = self.nodes.len();
        let mut goals = vec![GoalKind::Value];
        goals.extend(is_optional.then_some(GoalKind::Edge(Edge::Absent)));
        let values = schema.enum_.iter().flatten().enumerate();
        goals.extend(
            values
                .filter(|(_, it)| !it.is_null())
                .map(|(i, _)| GoalKind::Enum(i)),
        );
        for (union, branches) in unions(schema, "").iter().enumerate() {
            goals.extend(branches.iter().enumerate().map(|(index, (_, schema))| {
                GoalKind::Branch {
                    union,
                    index,
                    schema,
                }
            }));
        }
        goals.extend(Edge::of(schema).map(GoalKind::Edge));
        let goal = |kind| Goal {
            kind,
            is_reached: false,
            tries: 0,
            refused: None,
        };
        let goals: Vec<_> = goals.into_iter().map(goal).collect();
        self.nodes.push(Node {
            schema,
            name,
            open: goals.len(),
            goals,
            fields: Vec::new(),
            items: None,
            additional: None,
            parent,
            pointer: pointer.clone(),
        });
        for (key, field) in &schema.properties {
            // the caller sets the type and the metadata of the root
            if parent.is_none() && prune::is_meta(key) {
                continue;
            }
            let pointer = format!("{pointer}/properties/{}", escape(key));
            let fewest = schema.min_properties.unwrap_or(0);
            // whether `minProperties` allows an object without one of the fields
            let is_spare = usize::try_from(fewest).is_ok_and(|it| it < schema.properties.len());
            let is_optional = is_spare && !schema.required.contains(key);
            let field = self.add(field, Some(id), key, pointer, is_optional);
            self.nodes[id].fields.push((key, field));
        }
        let is_list = matches!(schema.type_.as_deref(), Some("array") | None);
        if let Some(items) = schema.items.as_ref().filter(|_| is_list) {
            let items = self.add(items, Some(id), "", format!("{pointer}/items"), false);
            self.nodes[id].items = Some(items);
        }
        if let Some(SchemaOrBool::Schema(field)) = &schema.additional_properties {
            let pointer = format!("{pointer}/additionalProperties");
            let field = self.add(field, Some(id), "", pointer, false);
            self.nodes[id].additional = Some(field);
        }
        let node = &self.nodes[id];
        let below = node.fields.iter().map(|(_, id)| *id);
        let below = below.chain(node.items).chain(node.additional);
        let open: usize = below.map(|id| self.nodes[id].open).sum();
        self.nodes[id].open += open;
        id
    }

    pub(super) fn field(&self, id: Id, key: &str) -> Option<&Node<'s>> {
        let (_, field) = self.nodes[id]
            .fields
            .iter()
            .find(|(name, _)| *name == key)?;
        Some(&self.nodes[*field])
    }

    /// The node and its ancestors.
    pub(super) fn path(&self, node: Id) -> Vec<Id> {
        std::iter::successors(Some(node), |node| self.nodes[*node].parent).collect()
    }

    pub(super) fn is_reached(&self, node: Id, goal: usize) -> bool {
        self.nodes[node].goals[goal].is_reached
    }

    pub(super) fn reach(&mut self, node: Id, goal: usize) {
        let goal = &mut self.nodes[node].goals[goal];
        if !std::mem::replace(&mut goal.is_reached, true) {
            for node in self.path(node) {
                self.nodes[node].open -= 1;
            }
        }
    }

    /// The next open goal that was not tried alone.
    pub(super) fn next_open(&self) -> Option<(Id, usize)> {
        self.nodes.iter().enumerate().find_map(|(id, node)| {
            let open = |goal: &Goal<'_>| !goal.is_reached && goal.refused.is_none();
            Some((id, node.goals.iter().position(open)?))
        })
    }

    pub(super) fn tried(&mut self, node: Id, goal: usize, refused: Vec<Violation>) {
        self.nodes[node].goals[goal].refused = Some(refused);
    }

    pub(super) fn coverage(&self) -> Coverage {
        let mut unreached = Vec::new();
        for node in &self.nodes {
            for goal in node.goals.iter().filter(|goal| !goal.is_reached) {
                let (step, edge) = match goal.kind {
                    GoalKind::Value => (String::new(), None),
                    GoalKind::Enum(index) => (format!("/enum/{index}"), None),
                    GoalKind::Branch { union, index, .. } => {
                        (unions(node.schema, "")[union][index].0.clone(), None)
                    }
                    GoalKind::Edge(edge) => (String::new(), Some(edge)),
                };
                unreached.push(Unreached {
                    pointer: format!("{}{step}", node.pointer),
                    edge,
                    violations: goal.refused.clone().unwrap_or_default(),
                });
            }
        }
        Coverage {
            reached: self.reached(),
            total: self.total,
            unreached,
        }
    }
}

/// The unions of a schema and of its `allOf` schemas, in the order of [`flatten`](crate::sample::flatten), with a pointer for each branch.
fn unions<'s>(schema: &'s Schema, pointer: &str) -> Vec<Vec<(String, &'s Schema)>> {
    let of = |keyword: &str, branches: &'s [Schema]| -> Vec<_> {
        let branch = |(index, it)| (format!("{pointer}/{keyword}/{index}"), it);
        branches.iter().enumerate().map(branch).collect()
    };
    let mut all = vec![of("oneOf", &schema.one_of), of("anyOf", &schema.any_of)];
    all.retain(|union| !union.is_empty());
    for (index, part) in schema.all_of.iter().enumerate() {
        all.extend(unions(part, &format!("{pointer}/allOf/{index}")));
    }
    all
}
