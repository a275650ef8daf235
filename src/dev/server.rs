//! The API server of the session: a program of the project, which reads instructions and writes what it observes as JSON lines.

use std::{path::Path, process::Stdio, time::Duration};

use operator_schema::dev::{Environment, Greeting, Instruction, Message, VERSION};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::mpsc,
    task::JoinHandle,
    time::timeout,
};

use super::{
    DevError,
    event::{DevEvent, EventSender},
    process::OUTPUT_TIMEOUT,
};
use crate::disk::group;

/// How long the server may take to exit after its input was closed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(3);

/// A running server. It is killed when this is dropped.
pub struct Server {
    child: Child,
    instructions: ChildStdin,
    messages: mpsc::UnboundedReceiver<Result<Environment, DevError>>,
    /// The number of instructions that it has not followed yet.
    pending: usize,
    environment: Environment,
    /// Reads its output.
    reader: JoinHandle<()>,
}

impl Server {
    /// Starts the program. Its events go to `events`.
    pub fn start(program: &Path, events: &EventSender) -> Result<Self, DevError> {
        let mut command = Command::new(program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let failed = |source| DevError::Program {
            program: program.display().to_string(),
            source,
        };
        let mut child = group::own_group(&mut command).spawn().map_err(failed)?;
        let (instructions, output) = (child.stdin.take(), child.stdout.take());
        let (sender, messages) = mpsc::unbounded_channel();
        let output = output.expect("it is piped");
        Ok(Self {
            reader: tokio::spawn(read(output, events.clone(), sender)),
            child,
            instructions: instructions.expect("it is piped"),
            messages,
            pending: 0,
            environment: Environment::default(),
        })
    }

    /// Gives it an instruction, which it follows after those before.
    pub async fn instruct(&mut self, instruction: &Instruction) -> Result<(), DevError> {
        let mut line = serde_json::to_vec(instruction).map_err(std::io::Error::from)?;
        line.push(b'\n');
        self.pending += 1;
        // if it has exited, `followed` returns the reason
        let _ended = self.instructions.write_all(&line).await;
        Ok(())
    }

    /// Waits until it has followed an instruction, or returns why it has ended. A cancelled wait loses nothing.
    pub async fn followed(&mut self) -> Result<(), DevError> {
        let Some(message) = self.messages.recv().await else {
            let ended = self.child.wait().await?;
            return Err(DevError::ServerEnded(ended.to_string()));
        };
        self.environment = message?;
        self.pending = self.pending.saturating_sub(1);
        Ok(())
    }

    /// The environment of the operator, once it has followed all instructions.
    pub fn environment(&self) -> Option<&Environment> {
        (self.pending == 0).then_some(&self.environment)
    }

    /// Closes its input, so that it exits, and kills it if it does not.
    pub async fn stop(self) {
        let Self {
            mut child,
            instructions,
            reader,
            ..
        } = self;
        drop(instructions);
        if timeout(EXIT_TIMEOUT, child.wait()).await.is_err() {
            let _gone = child.kill().await;
        }
        // its last events
        let _late = timeout(OUTPUT_TIMEOUT, reader).await;
    }
}

/// Reads the lines of the server until its end.
async fn read(
    output: ChildStdout,
    events: EventSender,
    messages: mpsc::UnboundedSender<Result<Environment, DevError>>,
) {
    if let Err(error) = read_lines(BufReader::new(output).lines(), &events, &messages).await {
        // the session may be at its end
        let _unread = messages.send(Err(error));
    }
}

async fn read_lines(
    mut lines: Lines<BufReader<ChildStdout>>,
    events: &EventSender,
    messages: &mpsc::UnboundedSender<Result<Environment, DevError>>,
) -> Result<(), DevError> {
    let Some(first) = lines.next_line().await? else {
        return Ok(());
    };
    let greeting = serde_json::from_str(&first);
    let greeting: Greeting = greeting.map_err(|_| DevError::NotAServer(first))?;
    if greeting.dev != VERSION {
        return Err(DevError::ServerVersion(greeting.dev));
    }
    while let Some(line) = lines.next_line().await? {
        match serde_json::from_str(&line).map_err(|_| DevError::NotAServer(line))? {
            Message::Event(event) => events.send(DevEvent::Cluster(event)),
            Message::Done(environment) => drop(messages.send(Ok(environment))),
            Message::Failed { why, help } => return Err(DevError::Server { why, help }),
        }
    }
    Ok(())
}
