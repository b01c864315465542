//! A client on standard input and output: one message of JSON a line.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::{RoleServer, serve_server};
use rmcp::transport::Transport;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Stdin};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

use super::inbound::{Inbound, Step, error_object};
use super::{ENDING, MOST_MESSAGE, collect_children, end, runtime};
use crate::admission::Admission;
use crate::program::Program;
use crate::room::{Held, Room};
use crate::server::Server;
use crate::session::{Session, fresh_name};

/// How many messages wait to be written: who sends more waits until the client reads.
const UNWRITTEN: usize = 64;

/// How long calls may go on when input has ended and somebody still reads output.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// Serves the client on standard input and output until it has gone, and removes what it had.
///
/// # Errors
///
/// This process cannot have the threads that it needs.
pub fn serve(program: Program) -> io::Result<()> {
    let runtime = runtime()?;
    let program = Arc::new(program);
    let name =
        if program.is_named { program.plan.name.clone() } else { fresh_name().map_err(io::Error::other)? };
    let session = Arc::new(Session::new(Arc::clone(&program), name));
    runtime.block_on(async {
        let signalled = signalled();
        tokio::spawn(collect_children());
        let admission = Admission::default();
        let transport = StdioTransport::open(admission.room.clone());
        let server = Server::new(Arc::clone(&session), admission);
        let ended = async {
            match serve_server(server, transport).await {
                Ok(running) => drop(running.waiting().await),
                // It has gone before it had begun.
                Err(error) => (program.log)(&format!("the client has gone: {error}")),
            }
        };
        tokio::select! {
            () = ended => {}
            () = signalled => {}
        }
        // What cannot be removed in time ends with this process, and is swept by the next command.
        let _ = tokio::time::timeout(ENDING, end(session)).await;
    });
    // What reads standard input may wait for ever.
    runtime.shutdown_timeout(Duration::from_millis(100));
    Ok(())
}

/// Takes over the signals that ask this process to end, and returns what waits for one. A client that has got an answer may send one at once, so
/// this comes before any answer.
pub(super) fn signalled() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
    let mut signals: Vec<_> = kinds.into_iter().filter_map(|kind| signal(kind).ok()).collect();
    async move {
        let [terminate, interrupt, hangup] = signals.as_mut_slice() else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}

/// Standard input and output.
struct StdioTransport {
    input: BufReader<Stdin>,
    /// What there is of the line that is being read.
    line: Vec<u8>,
    /// Whether the line is too long, and the rest of it is not kept.
    is_too_long: bool,
    /// What has come and was not handed on yet.
    ready: VecDeque<ClientJsonRpcMessage>,
    /// The answer to what is no request, until there is room to write it; as long as there is none, nothing is read.
    unsent: Option<Vec<u8>>,
    /// Where input has ended: ends when nobody reads output any more, or that has lasted.
    ending: Option<JoinHandle<()>>,
    output: Option<mpsc::Sender<Line>>,
    writer: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
}

/// A line to be written, and the room that it takes until then.
type Line = (Vec<u8>, Held);

/// What sending and receiving share.
struct Shared {
    inbound: Mutex<Inbound>,
    room: Room,
    /// Notified of each answer.
    answered: Notify,
    /// Notified when nobody reads output any more.
    gone: Notify,
}

impl Shared {
    fn inbound(&self) -> MutexGuard<'_, Inbound> {
        self.inbound.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StdioTransport {
    fn open(room: Room) -> Self {
        let shared = Arc::new(Shared {
            inbound: Mutex::new(Inbound::new(room.clone())),
            room,
            answered: Notify::new(),
            gone: Notify::new(),
        });
        let (output, mut lines) = mpsc::channel::<Line>(UNWRITTEN);
        let of_writer = Arc::clone(&shared);
        let writer = tokio::spawn(async move {
            let mut stdout = tokio::io::stdout();
            while let Some((line, _room)) = lines.recv().await {
                let written = async { stdout.write_all(&line).await.and(stdout.flush().await) };
                if written.await.is_err() {
                    of_writer.gone.notify_one();
                    return;
                }
            }
        });
        Self {
            input: BufReader::new(tokio::io::stdin()),
            line: Vec::new(),
            is_too_long: false,
            ready: VecDeque::new(),
            unsent: None,
            ending: None,
            output: Some(output),
            writer: Some(writer),
            shared,
        }
    }

    /// Keeps an answer to be written before anything else is read.
    fn answer(&mut self, value: &Value) {
        self.unsent = Some(format!("{value}\n").into_bytes());
    }

    /// Hands the answer that is kept to the writer, when that has room. Nothing is lost where this is not waited for to the end.
    async fn send_answer(&mut self) {
        let Some(output) = &self.output else { return };
        // It fails where nobody reads output any more, which is noticed elsewhere.
        let Ok(room) = output.reserve().await else { return std::future::pending().await };
        let line = self.unsent.take().unwrap_or_default();
        let held = self.shared.room.take_for_answer(line.len());
        room.send((line, held));
    }

    /// Takes the line that was read.
    fn take_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_too_long) {
            let message = format!("a message is {MOST_MESSAGE} bytes long at most");
            self.answer(&error_object(&Value::Null, -32600, &message));
            return;
        }
        if line.trim_ascii().is_empty() {
            return;
        }
        let step = self.shared.inbound().accept(&line);
        match step {
            Step::Deliver(messages) => self.ready.extend(messages),
            Step::Answer(value) => self.answer(&value),
            Step::Nothing => {}
        }
    }

    /// Reads what there is; returns whether input has ended. Nothing is lost where this is not waited for to the end.
    async fn read(&mut self) -> bool {
        let Ok(bytes) = self.input.fill_buf().await else { return true };
        if bytes.is_empty() {
            // The last line need not have an end.
            self.take_line();
            return true;
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let part = &bytes[..end.unwrap_or(bytes.len())];
        if self.line.len() + part.len() > MOST_MESSAGE {
            self.is_too_long = true;
            self.line.clear();
        }
        if !self.is_too_long {
            self.line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        self.input.consume(used);
        if end.is_some() {
            self.take_line();
        }
        false
    }
}

impl Transport<RoleServer> for StdioTransport {
    type Error = io::Error;

    fn send(&mut self, item: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (output, shared) = (self.output.clone(), Arc::clone(&self.shared));
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let held = shared.room.take_for_answer(line.len());
            let line = (line, held);
            let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
            let output = output.ok_or_else(gone)?;
            if matches!(item, JsonRpcMessage::Notification(_)) {
                // A client that does not read misses it: the next one says more, and nothing else waits for this one.
                shared.inbound().send(&item);
                let _ = output.try_send(line);
            } else {
                // Until there is room to write it, its request has no answer: of these a client has so many and no more.
                let place = output.reserve().await.map_err(|_| gone())?;
                if shared.inbound().send(&item) {
                    place.send(line);
                }
            }
            shared.answered.notify_one();
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Some(message);
            }
            let shared = Arc::clone(&self.shared);
            if self.unsent.is_some() {
                tokio::select! {
                    () = shared.gone.notified() => return None,
                    () = self.send_answer() => {}
                }
                continue;
            }
            if let Some(ending) = &mut self.ending {
                if shared.inbound().is_idle() {
                    return None;
                }
                tokio::select! {
                    () = shared.answered.notified() => {}
                    () = shared.gone.notified() => return None,
                    _ = ending => return None,
                }
                continue;
            }
            tokio::select! {
                () = shared.gone.notified() => return None,
                has_ended = self.read() => if has_ended {
                    self.ending = Some(tokio::task::spawn_blocking(wait_for_hang_up));
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // The writer ends with the last sender.
        self.output = None;
        if let Some(writer) = self.writer.take() {
            let _ = tokio::time::timeout(ENDING, writer).await;
        }
        Ok(())
    }
}

/// Waits until nobody reads standard output any more, or for so long as last answers may take.
fn wait_for_hang_up() {
    let mut output = [PollFd::from_borrowed_fd(rustix::stdio::stdout(), PollFlags::empty())];
    let limit = Timespec::try_from(LAST_ANSWERS).unwrap_or_default();
    // Interrupted, it counts as gone: the input has ended.
    let _ = poll(&mut output, Some(&limit));
}
