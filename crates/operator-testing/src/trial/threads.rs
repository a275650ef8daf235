//! Runs schedules of faults on several threads.

use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{available_parallelism, scope};

/// The number of threads that this machine runs at once.
pub(super) fn available() -> usize {
    available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Runs all schedules, and returns their failures in order.
pub(super) fn failures<S: Sync, F: Ord + Send>(
    threads: usize,
    schedules: &[S],
    run: &(dyn Fn(&S) -> Vec<F> + Sync),
) -> Vec<F> {
    let next = AtomicUsize::new(0);
    let work = || {
        let rest = std::iter::from_fn(|| schedules.get(next.fetch_add(1, Ordering::Relaxed)));
        rest.flat_map(run).collect::<Vec<_>>()
    };
    let mut failures: Vec<F> = scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .map(std::thread::ScopedJoinHandle::join)
            .flat_map(|failures| failures.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    });
    failures.sort();
    failures
}

#[cfg(test)]
mod tests {
    use super::failures;

    #[test]
    fn each_schedule_runs_once_and_failures_are_in_order() {
        let schedules: Vec<u32> = (0..100).rev().collect();
        let run = |number: &u32| vec![format!("{number:02}"); number.is_multiple_of(3).into()];
        let expected: Vec<String> = (0..100).step_by(3).map(|it| format!("{it:02}")).collect();
        for threads in [1, 4] {
            assert_eq!(failures(threads, &schedules, &run), expected);
        }
    }
}
