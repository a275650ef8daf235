//! The standard output of the program: a line for each message.

use std::io::{self, Write};
use std::sync::mpsc;
use std::thread::JoinHandle;

use operator_schema::dev::{Event, Greeting, Message, VERSION};

/// Writes messages in their order. A clone writes to the same output.
#[derive(Clone, Debug)]
pub struct Output(mpsc::Sender<Message>);

impl Output {
    /// Writes the greeting, and starts the thread that writes the messages: a slow reader does not delay the server. The thread ends
    /// when the last clone is dropped.
    pub fn start() -> io::Result<(Self, JoinHandle<()>)> {
        write(&Greeting { dev: VERSION })?;
        let (sender, messages) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            // without a reader, the session has ended
            let _closed = messages.iter().try_for_each(|message| write(&message));
        });
        Ok((Self(sender), thread))
    }

    pub fn send(&self, message: Message) {
        // if the thread has ended, nobody reads
        let _unsent = self.0.send(message);
    }

    pub fn event(&self, event: Event) {
        self.send(Message::Event(event));
    }
}

fn write(line: &impl serde::Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(line)?;
    line.push(b'\n');
    let mut output = io::stdout().lock();
    output.write_all(&line)?;
    output.flush()
}
