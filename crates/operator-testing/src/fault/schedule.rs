//! Generates the schedules of faults: which requests get which fault.

use std::collections::BTreeSet;

use super::Fault;
use crate::Request;
use crate::schedule::Schedule;

/// The number of pairs of faults to try.
const PAIRS: usize = 24;

/// The maximum number of single faults to try. One kind of a new project has about 250; an operator with many kinds makes more requests.
const MAX_SCHEDULES: usize = 600;

/// All single faults of each request, and some pairs. If there are too many, or more than `FAULT_COUNT`, a selection. Faults that stall a
/// watch are injected only into `for_long`, the requests of a run that is long enough to renew its watches.
pub(crate) fn schedules(
    requests: &[Request],
    for_long: &[Request],
    seed: u64,
) -> Vec<Schedule<Fault>> {
    bounded(every(requests, for_long, seed), seed)
}

/// Selects at most `FAULT_COUNT` schedules, if it is set.
pub(crate) fn bounded<S>(mut all: Vec<S>, seed: u64) -> Vec<S> {
    if let Some(count) = count() {
        choose(&mut all, count, seed);
    }
    all
}

fn count() -> Option<usize> {
    number("FAULT_COUNT").and_then(|count| count.try_into().ok())
}

/// The integer value of an environment variable, if it is set.
fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    if text.trim().is_empty() {
        return None;
    }
    let number = text.trim().parse();
    Some(number.unwrap_or_else(|_| panic!("{variable} is `{text}`, which is not a whole number")))
}

/// Keeps `count` elements, chosen at random.
fn choose<S>(all: &mut Vec<S>, count: usize, seed: u64) {
    let mut below = random(seed);
    while all.len() > count {
        all.swap_remove(below(all.len()));
    }
}

/// All single faults, or `MAX_SCHEDULES` of them, and `PAIRS` pairs.
fn every(requests: &[Request], for_long: &[Request], seed: u64) -> Vec<Schedule<Fault>> {
    let faults = |requests: &[Request]| -> Vec<(usize, Fault)> {
        let faults = requests.iter().enumerate().flat_map(|(number, request)| {
            Fault::of(request).iter().map(move |fault| (number, *fault))
        });
        faults.collect()
    };
    let mut single = faults(requests);
    single.retain(|(_, fault)| !fault.is_silence());
    let silence = faults(for_long).into_iter();
    single.extend(silence.filter(|(_, fault)| fault.is_silence()));
    let mut below = random(seed);
    let mut pairs: BTreeSet<Schedule<Fault>> = BTreeSet::new();
    if requests.len() > 1 {
        while pairs.len() < PAIRS {
            let pair = [single[below(single.len())], single[below(single.len())]];
            if pair[0].0 != pair[1].0 {
                pairs.insert(Schedule(pair.into()));
            }
        }
    }
    while single.len() > MAX_SCHEDULES {
        single.swap_remove(below(single.len()));
    }
    let single = single.into_iter().map(|fault| Schedule([fault].into()));
    single.chain(pairs).collect()
}

/// Pseudo-random numbers below a bound, by xorshift. The sequence depends only on the seed.
fn random(mut state: u64) -> impl FnMut(usize) -> usize {
    move |bound| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % bound.max(1) as u64).unwrap_or_default()
    }
}

/// Some single faults for a real server, on which each run takes real time: three, or `FAULT_COUNT`. Excluded are faults that stall a
/// watch, which take minutes to be detected, responses that arrive after the end of the run, and faults that only the server in memory
/// supports.
pub(crate) fn sampled(requests: &[Request], seed: u64) -> Vec<Schedule<Fault>> {
    let mut all = every(requests, &[], seed);
    all.retain(|schedule| {
        let mut faults = schedule.0.values();
        schedule.0.len() == 1 && !faults.any(|fault| *fault == Fault::Compact || fault.is_slow())
    });
    choose(&mut all, count().unwrap_or(3), seed);
    all
}

/// The seed in `FAULT_SEED`. Xorshift needs one other than 0.
pub(crate) fn seed() -> u64 {
    number("FAULT_SEED").filter(|seed| *seed != 0).unwrap_or(1)
}
