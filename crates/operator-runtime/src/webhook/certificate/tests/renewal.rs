//! What the Secret contains over the years.

use std::{cell::Cell, time::Duration};

use super::super::{
    Lifetimes,
    contents::{Contents, Entries, Material},
    identity::Identity,
    renewal::{Next, Reason, next},
};

const DAY: u64 = 24 * 3600;

/// A replica that does what [`next`] decides.
struct World {
    identity: Identity,
    lifetimes: Lifetimes,
    now: i64,
    is_trusted: Cell<bool>,
    material: Option<Material>,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            identity: Identity::new("op", "op-webhook", "shop", &[]).unwrap(),
            lifetimes: Lifetimes::default(),
            now: 1_800_000_000,
            is_trusted: Cell::new(false),
            material: None,
        };
        assert_eq!(world.pass(), [Reason::Missing]);
        assert_eq!(world.pass(), []);
        world
    }

    fn material(&self) -> &Material {
        self.material.as_ref().unwrap()
    }

    fn decide(&self, entries: Option<&Entries>, memory: Option<&Material>) -> Next {
        let contents = entries.map(|entries| Contents::read(entries, &self.identity, self.now));
        let is_trusted = |_: &_| self.is_trusted.get();
        let (identity, lifetimes) = (&self.identity, &self.lifetimes);
        next(contents, memory, is_trusted, identity, lifetimes, self.now).unwrap()
    }

    fn pass(&mut self) -> Vec<Reason> {
        let entries = self.material.as_ref().map(entries);
        let next = self.decide(entries.as_ref(), self.material.as_ref());
        self.identity
            .accepts(
                &next.material.serving,
                next.material.authorities(),
                self.now,
            )
            .expect("what is served is trusted");
        self.material = Some(next.material);
        next.reasons
    }

    fn sleep(&mut self, days: u64) {
        self.now += i64::try_from(days * DAY).unwrap();
    }
}

fn entries(material: &Material) -> Entries {
    material
        .entries()
        .into_iter()
        .map(|(name, text)| (name.to_owned(), text.into_bytes()))
        .collect()
}

#[test]
fn a_serving_certificate_is_renewed_after_two_thirds_of_its_lifetime() {
    let mut world = World::new();
    for _ in 0..3 {
        let first = world.material().clone();
        world.sleep(59);
        assert_eq!(world.pass(), []);
        world.sleep(1);
        assert_eq!(world.pass(), [Reason::ServingDue]);
        let second = world.material();
        assert_ne!(second.serving.certificate, first.serving.certificate);
        assert_eq!(second.authority.certificate, first.authority.certificate);
        assert_eq!(world.pass(), []);
    }
}

#[test]
fn a_new_authority_issues_only_after_clients_trust_it() {
    let mut world = World::new();
    let first = world.material().authority.certificate.clone();
    let mut days = 0;
    while world.material().authority.certificate == first {
        world.sleep(30);
        days += 30;
        world.pass();
    }
    assert!((3650 * 2 / 3..3650 * 2 / 3 + 60).contains(&days), "{days}");
    assert_eq!(world.material().older, std::slice::from_ref(&first));
    let old = world.material().serving.certificate.clone();
    let signed_by = |world: &World, authority| {
        let serving = &world.material().serving;
        let accepted = world.identity.accepts(serving, [authority], world.now);
        accepted.is_ok()
    };
    assert!(signed_by(&world, &first));
    assert_eq!(world.pass(), [], "the bundle is not trusted yet");

    world.is_trusted.set(true);
    assert_eq!(world.pass(), [Reason::AuthorityTrusted]);
    let second = world.material().authority.certificate.clone();
    assert!(signed_by(&world, &second));
    assert_ne!(world.material().serving.certificate, old);

    // A replica may still serve with the old certificate until it expires.
    world.sleep(90);
    world.pass();
    assert_eq!(world.material().older, [first]);
    world.sleep(1);
    assert_eq!(world.pass(), [Reason::AuthorityRetired]);
    assert_eq!(world.material().older, []);
    assert_eq!(world.pass(), []);
}

#[test]
fn a_certificate_that_is_about_to_expire_is_replaced_though_a_client_does_not_trust_the_authority()
{
    let mut world = World::new();
    world.lifetimes.authority = Duration::from_secs(270 * DAY);
    let mut entries = entries(world.material());
    entries.0.remove("ca.key");
    let memory = world.material().clone();
    world.material = Some(world.decide(Some(&entries), Some(&memory)).material);
    let old = world.material().serving.certificate.clone();
    world.sleep(74);
    assert_eq!(world.pass(), []);
    assert_eq!(world.material().serving.certificate, old);
    world.sleep(1);
    assert_eq!(world.pass(), [Reason::ServingDue]);
    assert_ne!(world.material().serving.certificate, old);
}

#[test]
fn a_serving_certificate_has_its_whole_lifetime_within_that_of_its_authority() {
    let mut world = World::new();
    world.lifetimes.serving = Duration::from_secs(90 * DAY);
    world.lifetimes.authority = Duration::from_secs(100 * DAY);
    world.is_trusted.set(true);
    world.material = None;
    world.pass();
    let lifetime = i64::try_from(90 * DAY).unwrap();
    let mut issued = 0;
    for _ in 0..20 {
        world.sleep(9);
        let old = world.material().serving.certificate.clone();
        world.pass();
        let material = world.material();
        let serving = &material.serving.certificate;
        if *serving != old {
            assert_eq!(serving.not_after - world.now, lifetime);
            assert!(serving.not_after <= material.authority.certificate.not_after);
            issued += 1;
        }
    }
    assert!(issued > 5, "{issued}");
}

#[test]
fn what_a_replica_remembers_counts_only_if_the_secret_is_damaged() {
    let (mut world, other) = (World::new(), World::new());
    let memory = other.material().clone();
    let next = world.decide(Some(&entries(world.material())), Some(&memory));
    assert_eq!(next.reasons, []);
    assert_eq!(next.material.older, []);

    // The Secret is deleted to replace the authority: the old one is trusted until replicas have the new certificate.
    let next = world.decide(None, Some(&memory));
    assert_eq!(next.reasons, [Reason::Missing]);
    assert_ne!(
        next.material.authority.certificate,
        memory.authority.certificate
    );
    let older = std::slice::from_ref(&memory.authority.certificate);
    assert_eq!(next.material.older, older);
    assert_eq!(
        next.material.serving.certificate,
        memory.serving.certificate
    );
    world.material = Some(next.material);
    world.is_trusted.set(true);
    assert_eq!(world.pass(), [Reason::AuthorityTrusted]);
}

#[test]
fn a_secret_that_is_damaged_again_and_again_keeps_a_small_bundle() {
    let mut world = World::new();
    for _ in 0..20 {
        world.now += 1;
        let mut entries = entries(world.material());
        entries.0.remove("ca.key");
        let memory = world.material.clone();
        let next = world.decide(Some(&entries), memory.as_ref());
        world.material = Some(next.material);
        assert!(world.material().authorities().count() <= 5);
        assert!(world.material().bundle().len() < 5000);
    }
}
