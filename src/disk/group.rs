//! Programs that start others: each has its own process group, which is terminated as a whole.

use std::io;
#[cfg(unix)]
use std::time::Duration;

#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::AsyncReadExt,
    process::{Child, Command},
    runtime, signal,
    time::{Instant, sleep_until},
};

/// How long a process may take to exit after SIGTERM.
#[cfg(unix)]
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// How a program ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Ended {
    /// It exited by itself, and wrote this to standard output.
    Done(Vec<u8>),
    /// It took too long.
    Late,
    /// The user interrupted it.
    Interrupted,
}

/// Runs a program, whose standard output is piped, until it ends, until the deadline or until the user interrupts it.
pub fn run(command: std::process::Command, deadline: Instant) -> io::Result<Ended> {
    let mut runtime = runtime::Builder::new_current_thread();
    runtime.enable_all().build()?.block_on(async {
        let mut command = Command::from(command);
        let interrupted = signal::ctrl_c();
        let mut child = own_group(&mut command).spawn()?;
        let mut output = child.stdout.take();
        let done = async {
            let mut text = vec![];
            if let Some(output) = &mut output {
                output.read_to_end(&mut text).await?;
            }
            child.wait().await?;
            io::Result::Ok(text)
        };
        let ended = tokio::select! {
            text = done => return text.map(Ended::Done),
            () = sleep_until(deadline) => Ended::Late,
            _ = interrupted => Ended::Interrupted,
        };
        terminate(&mut child).await;
        Ok(ended)
    })
}

/// Lets a program start in its own process group, so that only this program gets Ctrl-C. It is killed when its handle is dropped.
pub fn own_group(command: &mut Command) -> &mut Command {
    #[cfg(unix)]
    command.process_group(0);
    command.kill_on_drop(true)
}

/// Terminates a process group as Kubernetes does, and kills the processes that do not exit.
pub async fn terminate(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = Group::of(child) {
        // it may have ended meanwhile
        let _gone = kill_process_group(group.0, Signal::TERM);
        let ended = tokio::time::timeout(EXIT_TIMEOUT, child.wait()).await;
        group.kill();
        if ended.is_ok() {
            return;
        }
    }
    let _gone = child.kill().await;
}

/// The process group of a program and its children, which can outlive the program.
#[cfg(unix)]
#[derive(Clone, Copy, Debug)]
pub struct Group(Pid);

#[cfg(unix)]
impl Group {
    pub fn of(child: &Child) -> Option<Self> {
        Pid::from_raw(child.id()?.try_into().ok()?).map(Self)
    }

    /// Kills the remaining processes.
    pub fn kill(self) {
        // an error if no process is left, as is usual
        let _gone = kill_process_group(self.0, Signal::KILL);
    }
}
