//! Sessions over HTTP: each has a server of its own, and whoever waits for an answer gets it by the number of the request.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use rmcp::model::{
    ClientJsonRpcMessage, GetExtensions as _, GetMeta as _, JsonRpcMessage, ProgressToken, RequestId,
    ServerJsonRpcMessage, ServerNotification,
};
use rmcp::service::{RoleServer, serve_server_with_ct};
use rmcp::transport::Transport;
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::super::end;
use super::super::inbound::{Inbound, Step};
use crate::admission::Admission;
use crate::approval::AskedFor;
use crate::failure::Failure;
use crate::program::Program;
use crate::room::{Held, Room};
use crate::server::Server;
use crate::session::{Session, fresh_name, random_hex};

/// How many sessions there are at once.
const MOST: usize = 32;

/// How long a session may do nothing before it ends.
const IDLE: Duration = Duration::from_secs(30 * 60);

/// How often that is looked at.
const ROUND: Duration = Duration::from_secs(30);

/// How many messages of a client wait for its server.
const QUEUE: usize = 64;

/// How many notifications wait for a client that reads slowly. Others are dropped: the next one says more.
const UNREAD: usize = 16;

/// All sessions of a server.
pub(super) struct Sessions {
    program: Arc<Program>,
    admission: Admission,
    all: Mutex<HashMap<String, Arc<HttpSession>>>,
    /// How many have not ended yet, those included that are no longer in the list.
    alive: watch::Sender<usize>,
}

/// One session.
pub(super) struct HttpSession {
    id: String,
    to_server: mpsc::Sender<ClientJsonRpcMessage>,
    state: Mutex<State>,
    end: CancellationToken,
    room: Room,
}

struct State {
    inbound: Inbound,
    /// Who waits for the answer to a request.
    waiting: HashMap<RequestId, Waiting>,
    used: Instant,
}

#[derive(Clone)]
struct Waiting {
    to_client: mpsc::Sender<ServerJsonRpcMessage>,
    progress: Option<ProgressToken>,
    /// The question to the client that was asked for the request.
    asked: Option<RequestId>,
}

/// A request that has no answer yet. Dropped before, its client has hung up, and what it has asked for is cancelled: nobody could fetch the answer.
pub(super) struct Pending {
    session: Arc<HttpSession>,
    id: RequestId,
    from_server: mpsc::Receiver<ServerJsonRpcMessage>,
}

impl Sessions {
    /// Makes the list, with nothing in it.
    pub(super) fn new(program: Arc<Program>) -> Self {
        Self { program, admission: Admission::default(), all: Mutex::default(), alive: watch::Sender::new(0) }
    }

    /// Begins a session with a client that has sent this.
    pub(super) fn begin(self: &Arc<Self>, inbound: Inbound) -> Result<Arc<HttpSession>, Failure> {
        let mut all = self.lock();
        if all.len() >= MOST {
            return Err(Failure::Busy("there are as many sessions as the server takes"));
        }
        let id = random_hex::<16>().map_err(Failure::host("beginning a session"))?;
        // Only one of them can have the name that was chosen.
        let is_first = self.program.is_named && all.is_empty() && *self.alive.borrow() == 0;
        let name = if is_first { self.program.plan.name.clone() } else { fresh_name()? };
        let (to_server, from_client) = mpsc::channel(QUEUE);
        let session = Arc::new(HttpSession {
            id: id.clone(),
            to_server,
            state: Mutex::new(State { inbound, waiting: HashMap::new(), used: Instant::now() }),
            end: CancellationToken::new(),
            room: self.room().clone(),
        });
        all.insert(id, Arc::clone(&session));
        drop(all);
        self.alive.send_modify(|alive| *alive += 1);
        let held = Arc::new(Session::new(Arc::clone(&self.program), name));
        let server = Server::new(Arc::clone(&held), self.admission.clone());
        let transport = HttpTransport { session: Arc::clone(&session), from_client };
        let sessions = Arc::clone(self);
        let ours = Arc::clone(&session);
        tokio::spawn(async move {
            if let Ok(running) = serve_server_with_ct(server, transport, ours.end.clone()).await {
                drop(running.waiting().await);
            }
            sessions.lock().remove(&ours.id);
            // Nobody waits for it any more.
            ours.lock().waiting.clear();
            end(held).await;
            sessions.alive.send_modify(|alive| *alive -= 1);
        });
        Ok(session)
    }

    /// Returns the room for the messages of all sessions.
    pub(super) fn room(&self) -> &Room {
        &self.admission.room
    }

    /// Finds a session.
    pub(super) fn find(&self, id: &str) -> Option<Arc<HttpSession>> {
        self.lock().get(id).cloned()
    }

    /// Ends a session; returns whether there was one.
    pub(super) fn end(&self, id: &str) -> bool {
        let session = self.lock().remove(id);
        session.inspect(|session| session.end.cancel()).is_some()
    }

    /// Ends sessions that nobody uses, until this is dropped.
    pub(super) async fn forget_idle(&self) {
        loop {
            tokio::time::sleep(ROUND).await;
            self.lock().values().filter(|session| session.is_idle()).for_each(|session| session.end.cancel());
        }
    }

    /// Ends all of them, and waits until they have ended.
    pub(super) async fn end_all(&self) {
        self.lock().values().for_each(|session| session.end.cancel());
        let mut alive = self.alive.subscribe();
        // It cannot fail: the sender is here.
        let _ = alive.wait_for(|alive| *alive == 0).await;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<HttpSession>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HttpSession {
    /// Returns its name, which only its client knows.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Takes what a client has sent.
    pub(super) fn accept(&self, bytes: &[u8]) -> Step {
        let mut state = self.lock();
        state.used = Instant::now();
        state.inbound.accept(bytes)
    }

    /// Hands messages to the server. The last of them may be a request, for which an answer will come.
    pub(super) async fn deliver(self: &Arc<Self>, messages: Vec<ClientJsonRpcMessage>) -> Option<Pending> {
        let pending = match messages.last() {
            Some(JsonRpcMessage::Request(request)) => {
                let (to_client, from_server) = mpsc::channel(UNREAD);
                let progress = request.request.get_meta().get_progress_token();
                self.lock().waiting.insert(request.id.clone(), Waiting { to_client, progress, asked: None });
                Some(Pending { session: Arc::clone(self), id: request.id.clone(), from_server })
            }
            Some(
                JsonRpcMessage::Response(_) | JsonRpcMessage::Notification(_) | JsonRpcMessage::Error(_),
            )
            | None => None,
        };
        for message in messages {
            // It fails where the session has ended, and then the answer does not come either.
            if self.to_server.send(message).await.is_err() {
                self.lock().waiting.clear();
            }
        }
        pending
    }

    /// Cancels a request whose client has hung up.
    fn cancel(&self, id: &RequestId) {
        let mut state = self.lock();
        if state.waiting.remove(id).is_none() {
            return;
        }
        let notification = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": { "requestId": id, "reason": "the client has hung up" } });
        if let Step::Deliver(messages) = state.inbound.accept(notification.to_string().as_bytes()) {
            for message in messages {
                if let Err(mpsc::error::TrySendError::Full(message)) = self.to_server.try_send(message) {
                    let to_server = self.to_server.clone();
                    tokio::spawn(async move { to_server.send(message).await });
                }
            }
        }
    }

    fn is_idle(&self) -> bool {
        let state = self.lock();
        state.waiting.is_empty() && state.used.elapsed() > IDLE
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pending {
    /// Takes room for a message to the client, which is there already.
    pub(super) fn room_for(&self, bytes: usize) -> Held {
        self.session.room.take_for_answer(bytes)
    }

    /// Waits for what comes next; `None` where nothing will come any more.
    pub(super) async fn next(&mut self) -> Option<ServerJsonRpcMessage> {
        self.from_server.recv().await
    }

    /// Takes what comes next, if it is there.
    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<ServerJsonRpcMessage>> {
        self.from_server.poll_recv(context)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.session.cancel(&self.id);
    }
}

/// What rmcp reads from and writes to.
struct HttpTransport {
    session: Arc<HttpSession>,
    from_client: mpsc::Receiver<ClientJsonRpcMessage>,
}

impl Transport<RoleServer> for HttpTransport {
    type Error = Infallible;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        let mut state = self.session.lock();
        let is_wanted = state.inbound.send(&item);
        let to_client = match &item {
            JsonRpcMessage::Response(response) => state.waiting.remove(&response.id),
            JsonRpcMessage::Error(error) => state.waiting.remove(&error.id),
            JsonRpcMessage::Notification(notification) => {
                let waiting = state.waiting.values();
                let waiting = match &notification.notification {
                    ServerNotification::ProgressNotification(progress) => {
                        let token = Some(&progress.params.progress_token);
                        waiting.into_iter().find(|waiting| waiting.progress.as_ref() == token)
                    }
                    ServerNotification::CancelledNotification(cancelled) => waiting
                        .into_iter()
                        .find(|waiting| waiting.asked.as_ref() == Some(&cancelled.params.request_id)),
                    _ => None,
                };
                // Full, the client does not read.
                if let Some(waiting) = waiting {
                    let _ = waiting.to_client.try_send(item.clone());
                }
                None
            }
            JsonRpcMessage::Request(request) => {
                let call = request.request.extensions().get::<AskedFor>();
                let waiting = call.and_then(|AskedFor(call)| state.waiting.get_mut(call));
                waiting.map(|waiting| {
                    waiting.asked = Some(request.id.clone());
                    waiting.clone()
                })
            }
        };
        state.used = Instant::now();
        drop(state);
        async move {
            if let Some(waiting) = to_client.filter(|_| is_wanted) {
                // The client has gone.
                let _ = waiting.to_client.send(item).await;
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.from_client.recv().await
    }

    async fn close(&mut self) -> Result<(), Infallible> {
        self.from_client.close();
        Ok(())
    }
}
