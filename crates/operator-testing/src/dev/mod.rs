//! The API server of `cargo operator dev`, as a program of the project.
//!
//! In: [instructions](operator_schema::dev::Instruction) as JSON lines on standard input. Out: what it observes, as JSON lines on standard
//! output. It ends with its input, so that nothing remains of a session that was killed.

mod changes;
mod cluster;
mod conversions;
mod error;
mod objects;
mod output;
mod requests;
mod session;
mod webhooks;

use std::io::{self, BufRead, IsTerminal};
use std::time::Duration;

use operator_schema::dev::Instruction;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use error::DevError;
use output::Output;

/// How long the program may take to end after its standard input has ended.
const PATIENCE: Duration = Duration::from_secs(2);

/// Runs the program until its standard input ends.
///
/// # Panics
///
/// If standard output cannot be written, or if there are no threads.
pub fn main() {
    if io::stdin().is_terminal() {
        println!("`cargo operator dev` starts this program");
        return;
    }
    let (output, writer) = Output::start().expect("standard output can be written");
    let instructions = instructions();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("the system has threads");
    if let Err(error) = runtime.block_on(session::run(instructions, &output)) {
        output.send(error.message());
    }
    // end the tasks that watch objects: they have clones of the output
    runtime.shutdown_background();
    drop(output);
    // wait until all messages are written
    let _ended = writer.join();
}

/// Reads standard input in a thread of its own, because a read cannot be cancelled.
fn instructions() -> UnboundedReceiver<Instruction> {
    let (sender, instructions) = unbounded_channel();
    std::thread::spawn(move || {
        let lines = io::stdin().lock().lines().map_while(Result::ok);
        let read = |line: String| match serde_json::from_str(&line) {
            Ok(instruction) => Some(instruction),
            Err(error) => {
                eprintln!("{line:?} is no instruction of cargo operator: {error}");
                None
            }
        };
        let _ended = lines
            .map_while(read)
            .all(|instruction| sender.send(instruction).is_ok());
        drop(sender);
        // a request that waits for a cluster must not keep the program alive after its session was killed
        std::thread::sleep(PATIENCE);
        std::process::exit(1);
    });
    instructions
}
