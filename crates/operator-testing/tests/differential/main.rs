//! Differential fuzzing: sequences of requests at random, on a real server and on the one in memory, whose answers are compared.
//!
//! `OPERATOR_TEST_SERVER=assets` compares with a real server: `FUZZ_REQUESTS` requests are made, from the seed `FUZZ_SEED` on. A difference
//! is shrunk and printed as a case, to be pasted into `tests/cases/requests/`. Without a real server, two servers in
//! memory are compared, which tests the generator, and finds what differs by chance.

#[path = "../cases/ask.rs"]
mod ask;
#[path = "../cases/case.rs"]
mod case;
mod duel;
mod generate;
mod listed;
#[path = "../cases/mask.rs"]
mod mask;
mod shrink;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use futures::{StreamExt, stream};
use operator_testing::Server;
use serde_json::Value;

use self::duel::{duel, prepare, wait_for_garbage_collector};
use self::generate::{Kind, sequence};
use self::shrink::{case, shrink};

/// The number of sequences that run at the same time.
const AT_ONCE: usize = 48;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_servers_give_equal_responses() {
    if std::env::var("OPERATOR_TEST_SERVER").is_ok_and(|mode| mode == "kubeconfig") {
        eprintln!("the sequences make definitions and namespaces: not on someone's cluster");
        return;
    }
    let first = number("FUZZ_SEED", 1);
    let kinds = Kind::read_all();
    let server = Server::start().await.unwrap();
    let wanted = number("FUZZ_REQUESTS", if server.is_real() { 2000 } else { 300 });
    let arena = Arena {
        server,
        namespaces: AtomicUsize::new(0),
    };
    prepare(&arena.server).await;
    wait_for_garbage_collector(&arena.server).await;
    let began = Instant::now();
    let mut seeds = Vec::new();
    let mut planned = 0;
    for seed in first.. {
        if planned >= wanted {
            break;
        }
        planned += sequence(&kinds, seed).len() as u64;
        seeds.push(seed);
    }
    let (asked, finds) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    stream::iter(seeds)
        .for_each_concurrent(AT_ONCE, async |seed| {
            let mut steps = sequence(&kinds, seed);
            let count = |class: &str| {
                let mut finds = finds.lock().unwrap();
                let count = finds.entry(class.to_owned()).or_insert(0);
                *count += 1;
                *count == 1
            };
            match arena.run(&steps).await {
                Ok(None) => drop(asked.fetch_add(steps.len(), Ordering::Relaxed)),
                Ok(Some(find)) => {
                    asked.fetch_add(find.at + 1, Ordering::Relaxed);
                    steps.truncate(find.at + 1);
                    if !arena.holds(&find.class, &steps).await {
                        // A controller was late, or an order is random.
                        println!("\n# {}: seed {seed}, not seen again", find.class);
                    } else if count(&find.class) {
                        let text = arena.explain(seed, &find.class, steps).await;
                        println!("\n# {}\n{text}", find.class);
                    }
                }
                Err(wrong) => {
                    println!("\n# not asked: {wrong}: seed {seed}");
                    count(&format!("not asked: {wrong}"));
                }
            }
        })
        .await;
    let (asked, finds) = (asked.into_inner(), finds.into_inner().unwrap());
    let took = began.elapsed().as_secs_f32();
    println!("{asked} requests from seed {first} in {took:.1} s");
    for (class, count) in &finds {
        println!("{count:5} {class}");
    }
    assert!(finds.is_empty(), "{} differences, above", finds.len());
}

/// The server to compare with, and the number of namespaces that sequences have used on it.
struct Arena {
    server: Server,
    namespaces: AtomicUsize,
}

impl Arena {
    async fn run(&self, steps: &[Value]) -> Result<Option<duel::Difference>, String> {
        let number = self.namespaces.fetch_add(1, Ordering::Relaxed);
        let memory = Server::in_memory();
        prepare(&memory).await;
        let namespace = format!("fuzz-{number:06}");
        duel(&self.server, &memory, &namespace, steps).await
    }

    /// Whether a sequence ends in a difference of that class.
    async fn holds(&self, class: &str, steps: &[Value]) -> bool {
        matches!(self.run(steps).await, Ok(Some(find)) if find.class == class)
    }

    /// A difference, shrunk and printed as a case, with what differs.
    async fn explain(&self, seed: u64, class: &str, steps: Vec<Value>) -> String {
        let shrunk = shrink(steps, async |steps: &[Value]| {
            self.holds(class, steps).await
        })
        .await;
        let text = case("found", &shrunk);
        let differs = match self.run(&shrunk).await {
            Ok(Some(find)) => find.text,
            _ => "not each time".to_owned(),
        };
        format!("seed {seed}\n{text}  {differs}")
    }
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable)
        .ok()
        .map_or(otherwise, |text| text.parse().unwrap())
}

#[test]
fn a_seed_gives_one_sequence() {
    let kinds = Kind::read_all();
    assert_eq!(sequence(&kinds, 7), sequence(&kinds, 7));
    assert_ne!(sequence(&kinds, 7), sequence(&kinds, 8));
}

/// If most requests were rejected, mostly rejections would be compared.
#[tokio::test]
async fn most_requests_succeed() {
    let kinds = Kind::read_all();
    let (mut fine, mut total) = (0, 0);
    for seed in 0..60 {
        let steps = sequence(&kinds, seed);
        let server = Server::in_memory();
        prepare(&server).await;
        for code in duel::codes(&server, "codes", &steps).await {
            total += 1;
            fine += usize::from(code < 300);
        }
    }
    assert!(fine * 2 > total, "{fine} of {total}");
}
