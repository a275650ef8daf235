use super::*;
use proptest::prelude::*;
use serde_json::json;
use std::collections::{BTreeMap, VecDeque};

const NAMES: [&str; 2] = ["a", "b"];

fn children(keeps_bodies: bool) -> Children {
    Children::new(&[None], "us", keeps_bodies, |metadata| {
        let mut owners = metadata.owner_references.iter().flatten();
        owners.any(|owner| owner.kind == "Parent")
    })
}

fn object(name: &str, uid: u64, version: u64, owner: &str) -> Value {
    json!({
        "metadata": {
            "namespace": "ns", "name": name, "uid": uid.to_string(), "resourceVersion": version.to_string(),
            "ownerReferences": [
                { "apiVersion": "v1", "kind": owner, "name": "o", "uid": "0", "controller": true },
            ],
        },
    })
}

fn related(object: &Value) -> Arc<Related> {
    Arc::new(Related {
        metadata: related::metadata(object).unwrap(),
        body: Some(compact(object, "us")),
    })
}

/// The version of the object that is cached.
fn cached(children: &Children, name: &str) -> Result<Option<u64>, Cached> {
    match children.get(Some("ns"), name) {
        Cached::Absent => Ok(None),
        Cached::Child(body) => {
            let body: Value = serde_json::from_slice(&body).unwrap();
            let version = body["metadata"]["resourceVersion"].as_str().unwrap();
            Ok(Some(version.parse().unwrap()))
        }
        other => Err(other),
    }
}

fn list(children: &Children, objects: &[Value]) {
    children.handle(None, &Event::Init);
    for object in objects {
        children.handle(None, &Event::InitApply(related(object)));
    }
    children.handle(None, &Event::InitDone);
}

#[test]
fn objects_are_unknown_before_the_first_list_and_outside_the_watched_namespaces() {
    let before = children(true);
    assert_eq!(cached(&before, "a"), Err(Cached::Unknown));
    let sent = before.before_read(Some("ns"));
    before.record(sent, &object("a", 1, 5, "Parent"));
    assert_eq!(cached(&before, "a"), Err(Cached::Unknown));

    let one_namespace = Children::new(&[Some("other".into())], "us", true, |_| true);
    one_namespace.handle(Some("other"), &Event::Init);
    one_namespace.handle(Some("other"), &Event::InitDone);
    assert_eq!(cached(&one_namespace, "a"), Err(Cached::Unknown));
    assert_eq!(one_namespace.get(Some("other"), "a"), Cached::Absent);
}

#[test]
fn an_object_that_another_controls_is_read_before_it_is_refused() {
    let children = children(true);
    list(
        &children,
        &[object("a", 1, 5, "ReplicaSet"), object("b", 2, 6, "Parent")],
    );
    assert_eq!(cached(&children, "a"), Err(Cached::Unknown));
    assert_eq!(cached(&children, "b"), Ok(Some(6)));
}

#[test]
fn without_cached_bodies_an_existing_child_is_read_and_an_absent_one_is_not() {
    let children = children(false);
    list(&children, &[object("a", 1, 5, "Parent")]);
    assert_eq!(cached(&children, "a"), Err(Cached::Unknown));
    assert_eq!(cached(&children, "b"), Ok(None));
}

#[test]
fn remembered_hashes_are_dropped_with_the_object_and_at_the_next_write() {
    let children = children(true);
    let remembered = |uid| children.applied(Some("ns"), "a", uid);
    list(&children, &[object("a", 1, 5, "Parent")]);
    children.remember(Some("ns"), "a", "1", (1, 2));
    children.handle(None, &Event::Apply(related(&object("a", 1, 6, "Parent"))));
    assert_eq!(remembered("1"), Some((1, 2)));
    // the answer to this write is lost
    children.before_write(Some("ns"), "a");
    children.handle(None, &Event::Apply(related(&object("a", 1, 7, "Parent"))));
    assert_eq!(remembered("1"), None);

    children.remember(Some("ns"), "a", "1", (1, 2));
    children.handle(None, &Event::Apply(related(&object("a", 2, 9, "Parent"))));
    assert_eq!(remembered("2"), None);
    children.remember(Some("ns"), "a", "1", (1, 2));
    assert_eq!(remembered("1"), None, "the object of this uid was deleted");
}

#[test]
fn a_create_without_a_response_makes_the_name_unknown() {
    let children = children(true);
    list(&children, &[]);
    assert_eq!(cached(&children, "a"), Ok(None));
    let sent = children.before_write(Some("ns"), "a");
    assert_eq!(cached(&children, "a"), Err(Cached::Unknown));
    list(&children, &[]);
    assert_eq!(
        cached(&children, "a"),
        Err(Cached::Unknown),
        "the list may be older"
    );
    children.record_absent(sent, Some("ns"), "a");
    assert_eq!(
        cached(&children, "a"),
        Err(Cached::Unknown),
        "and so may this answer"
    );
    children.handle(None, &Event::Apply(related(&object("a", 1, 5, "Parent"))));
    assert_eq!(cached(&children, "a"), Ok(Some(5)));
}

#[test]
fn a_list_of_one_namespace_does_not_affect_another() {
    let namespaces = ["ns", "other"].map(|namespace| Some(namespace.to_owned()));
    let children = Children::new(&namespaces, "us", true, |_| true);
    for namespace in ["ns", "other"] {
        let mut child = object("a", 1, 5, "Parent");
        child["metadata"]["namespace"] = namespace.into();
        let child = Event::InitApply(related(&child));
        for event in [Event::Init, child, Event::InitDone] {
            children.handle(Some(namespace), &event);
        }
    }
    for event in [Event::Init, Event::InitDone] {
        children.handle(Some("other"), &event);
    }
    assert_eq!(cached(&children, "a"), Ok(Some(5)));
    assert_eq!(children.get(Some("other"), "a"), Cached::Absent);
}

#[test]
fn a_failed_write_makes_the_object_unknown_until_it_is_read() {
    let children = children(true);
    list(
        &children,
        &[object("a", 1, 5, "Parent"), object("b", 2, 6, "Parent")],
    );
    let before = children.before_read(Some("ns"));
    for name in NAMES {
        children.invalidate(Some("ns"), name);
        children.record(before, &object(name, 1, 5, "Parent"));
        assert_eq!(cached(&children, name), Err(Cached::Unknown));
    }
    let sent = children.before_read(Some("ns"));
    children.record(sent, &object("a", 1, 5, "Parent"));
    children.record_absent(sent, Some("ns"), "b");
    assert_eq!(cached(&children, "a"), Ok(Some(5)));
    assert_eq!(cached(&children, "b"), Ok(None));
}

/// A step of a random scenario. The numbers are indexes of names and of pending responses.
#[derive(Clone, Debug)]
enum Step {
    /// We write the object of this name; the response is pending.
    Write(usize),
    /// We delete it.
    DeleteOwn(usize),
    /// We read it.
    Read(usize),
    /// A pending response arrives.
    Answer(usize),
    /// A pending response is lost.
    Lose(usize),
    /// Another client writes the object of this name.
    OtherWrites(usize),
    /// Another client deletes it.
    Delete(usize),
    /// The watch reports its next event, or the next object of its list.
    Report,
    /// The watch begins a list, which returns the state of this number of versions ago.
    List(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let name = 0..NAMES.len();
    let step = prop_oneof![
        4 => name.clone().prop_map(Step::Write),
        1 => name.clone().prop_map(Step::DeleteOwn),
        2 => name.clone().prop_map(Step::Read),
        6 => (0..4usize).prop_map(Step::Answer),
        1 => (0..4usize).prop_map(Step::Lose),
        2 => name.clone().prop_map(Step::OtherWrites),
        2 => name.prop_map(Step::Delete),
        6 => Just(Step::Report),
        1 => (0..4usize).prop_map(Step::List),
    ];
    proptest::collection::vec(step, 1..60)
}

/// Objects by the index of their name in [`NAMES`].
type Objects = BTreeMap<usize, Value>;

/// The response to one of our requests.
struct Answer {
    sent: SentAt,
    name: usize,
    is_of_write: bool,
    /// The object, if there is one.
    object: Option<Value>,
}

/// An API server with one kind, a watch of it, and our requests.
#[derive(Default)]
struct World {
    version: u64,
    /// The state at each version, and the event that led to it.
    history: Vec<(Objects, Event<Arc<Related>>)>,
    /// The first version that the watch has not reported.
    next: usize,
    listing: Option<VecDeque<Value>>,
    answers: Vec<Answer>,
    /// The newest version of each name that the response to a write of ours had.
    acknowledged: BTreeMap<usize, u64>,
}

impl World {
    fn state(&self) -> BTreeMap<usize, Value> {
        self.history
            .last()
            .map(|(state, _)| state.clone())
            .unwrap_or_default()
    }

    fn write(&mut self, name: usize) -> Value {
        self.version += 1;
        let mut state = self.state();
        let uid = state.get(&name).map_or(self.version, |object| {
            let uid = object["metadata"]["uid"].as_str().unwrap();
            uid.parse().unwrap()
        });
        let written = object(NAMES[name], uid, self.version, "Parent");
        state.insert(name, written.clone());
        let event = Event::Apply(related(&written));
        self.history.push((state, event));
        written
    }

    fn delete(&mut self, name: usize) {
        let mut state = self.state();
        if let Some(mut deleted) = state.remove(&name) {
            self.version += 1;
            deleted["metadata"]["resourceVersion"] = self.version.to_string().into();
            let event = Event::Delete(related(&deleted));
            self.history.push((state, event));
        }
    }

    fn report(&mut self, children: &Children) -> bool {
        if let Some(listing) = &mut self.listing {
            match listing.pop_front() {
                Some(object) => children.handle(None, &Event::InitApply(related(&object))),
                None => {
                    children.handle(None, &Event::InitDone);
                    self.listing = None;
                }
            }
            return true;
        }
        let Some((_, event)) = self.history.get(self.next) else {
            return false;
        };
        children.handle(None, event);
        self.next += 1;
        true
    }

    fn answer(&mut self, children: &Children, index: usize) {
        let Answer {
            sent,
            name,
            is_of_write,
            object,
        } = self.answers.remove(index);
        let Some(object) = object else {
            children.record_absent(sent, Some("ns"), NAMES[name]);
            return;
        };
        children.record(sent, &object);
        if !is_of_write {
            return;
        }
        let version = object["metadata"]["resourceVersion"].as_str().unwrap();
        let version: u64 = version.parse().unwrap();
        let newest = self.acknowledged.entry(name).or_default();
        *newest = version.max(*newest);
    }

    /// The state that a list returns is at least as new as version `oldest`.
    fn step(&mut self, children: &Children, step: &Step, oldest: usize) {
        match *step {
            Step::Write(name) => {
                let sent = children.before_write(Some("ns"), NAMES[name]);
                let object = Some(self.write(name));
                let is_of_write = true;
                self.answers.push(Answer {
                    sent,
                    name,
                    is_of_write,
                    object,
                });
            }
            Step::DeleteOwn(name) => {
                children.before_write(Some("ns"), NAMES[name]);
                self.delete(name);
            }
            Step::Read(name) => {
                let sent = children.before_read(Some("ns"));
                let object = self.state().remove(&name);
                let is_of_write = false;
                self.answers.push(Answer {
                    sent,
                    name,
                    is_of_write,
                    object,
                });
            }
            Step::Answer(index) if index < self.answers.len() => self.answer(children, index),
            Step::Lose(index) if index < self.answers.len() => {
                let Answer {
                    name, is_of_write, ..
                } = self.answers.remove(index);
                if is_of_write {
                    children.invalidate(Some("ns"), NAMES[name]);
                }
            }
            Step::OtherWrites(name) => {
                self.write(name);
            }
            Step::Delete(name) => self.delete(name),
            Step::Report => {
                self.report(children);
            }
            Step::List(ago) if self.listing.is_none() => {
                let of = self.history.len().saturating_sub(ago).max(oldest);
                let state = of.checked_sub(1).map(|last| self.history[last].0.clone());
                self.listing = Some(state.unwrap_or_default().into_values().collect());
                self.next = of;
                children.handle(None, &Event::Init);
            }
            _ => {}
        }
    }

    fn check_own_writes(&self, children: &Children) {
        for (name, acknowledged) in &self.acknowledged {
            match cached(children, NAMES[*name]) {
                Ok(Some(version)) => assert!(version >= *acknowledged, "{version} is cached"),
                Ok(None) => {
                    let mut since = self.history.iter().skip(*acknowledged as usize);
                    let is_deleted = since.any(|(state, _)| !state.contains_key(name));
                    assert!(is_deleted, "{acknowledged} was answered and is still there");
                }
                Err(_) => {}
            }
        }
    }

    /// Delivers all events and responses. Then the cache must have the state of the server, after a read of each unknown name.
    fn finish(&mut self, children: &Children) {
        while !self.answers.is_empty() {
            self.answer(children, 0);
        }
        while self.report(children) {}
        let state = self.state();
        for (index, name) in NAMES.into_iter().enumerate() {
            if cached(children, name).is_err() {
                let sent = children.before_read(Some("ns"));
                match state.get(&index) {
                    Some(object) => children.record(sent, object),
                    None => children.record_absent(sent, Some("ns"), name),
                }
            }
            let expected = state.get(&index).map(|object| {
                let version = object["metadata"]["resourceVersion"].as_str().unwrap();
                version.parse().unwrap()
            });
            assert_eq!(cached(children, name), Ok(expected), "of {name}");
        }
    }
}

proptest! {
    #[test]
    fn own_writes_are_visible_and_the_cache_converges_to_the_server(steps in steps()) {
        let (children, mut world) = (children(true), World::default());
        list(&children, &[]);
        for step in &steps {
            // a list is not older than what the watch has reported before
            let oldest = world.next;
            world.step(&children, step, oldest);
            world.check_own_writes(&children);
        }
        world.finish(&children);
    }

    #[test]
    fn the_cache_converges_to_the_server_after_stale_lists(steps in steps()) {
        let (children, mut world) = (children(true), World::default());
        list(&children, &[]);
        for step in &steps {
            world.step(&children, step, 0);
        }
        world.finish(&children);
    }
}

#[test]
fn a_late_event_of_an_older_version_does_not_revalidate_the_object() {
    let children = children(true);
    list(&children, &[object("a", 1, 5, "Parent")]);
    children.before_write(Some("ns"), "a");
    children.handle(None, &Event::Apply(related(&object("a", 1, 5, "Parent"))));
    assert_eq!(cached(&children, "a"), Err(Cached::Unknown));
    children.handle(None, &Event::Apply(related(&object("a", 1, 6, "Parent"))));
    assert_eq!(cached(&children, "a"), Ok(Some(6)));
}

#[test]
fn lists_that_never_complete_do_not_grow_the_cache() {
    let children = children(true);
    for name in 0..10 {
        children.handle(None, &Event::Init);
        let sent = children.before_read(Some("ns"));
        children.record(sent, &object(&name.to_string(), name, name, "Parent"));
    }
    assert_eq!(lock(&children.state).objects.len(), 1);
}
