//! What a client asks for, and what it is answered. The protocol itself is rmcp's.

use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use policy::query::{Approval, Denial};
use rmcp::ErrorData;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParam, CallToolResult, Content, Implementation, InitializeResult, JsonObject,
    ListResourcesResult, ListToolsResult, Meta, PaginatedRequestParam, ProgressNotificationParam,
    ProtocolVersion, ReadResourceRequestParam, ReadResourceResult, ServerCapabilities,
};
use rmcp::service::{RequestContext, RoleServer};
use sandbox::shell::Cancel;
use tokio::sync::Semaphore;
use tokio::time::{MissedTickBehavior, interval_at};

use crate::admission::{Admission, Queue};
use crate::approval::{self, OPEN, PATIENCE, Step};
use crate::failure::Failure;
use crate::program::{Questions, TerminalAnswer};
use crate::resources;
use crate::session::Session;
use crate::tools::{self, Answer, Row, Wanted, delegate};

/// How often a client that wants to know is notified that a call goes on.
const PROGRESS: Duration = Duration::from_secs(2);

/// What a client is notified of while a person is asked.
const ASKED: &str = "a person was asked, and has not answered";

/// The server, for one client.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) session: Arc<Session>,
    admission: Admission,
    /// The room for questions to a person.
    questions: Arc<Semaphore>,
}

/// A call of a client.
struct Call<'a> {
    context: &'a RequestContext<RoleServer>,
    began: Instant,
}

/// Raised when nobody waits for the call any more.
struct RaiseOnDrop(Cancel);

impl Drop for RaiseOnDrop {
    fn drop(&mut self) {
        self.0.raise();
    }
}

impl Server {
    /// Serves a client. How much runs at once is counted over all that have the same `admission`.
    pub(crate) fn new(session: Arc<Session>, admission: Admission) -> Self {
        Self { session, admission, questions: Arc::new(Semaphore::new(OPEN)) }
    }

    /// Runs something on a thread that may wait. It is to end when the client does not want it any more, and its end is waited for.
    async fn run<T: Send + 'static>(
        &self,
        queue: Queue,
        call: &Call<'_>,
        work: impl FnOnce(&Session, &Cancel) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let permit = tokio::select! {
            permit = self.admission.enter(queue) => permit?,
            () = call.context.ct.cancelled() => return Err(Failure::Cancelled),
        };
        let work = move |session: &Session, cancel: &Cancel| {
            let _permit = permit;
            work(session, cancel)
        };
        self.on_a_thread(call, "it has run", work).await
    }

    /// Does the same at once; `what` is what the client is notified of meanwhile.
    async fn on_a_thread<T: Send + 'static>(
        &self,
        call: &Call<'_>,
        what: &str,
        work: impl FnOnce(&Session, &Cancel) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let cancel = Cancel::new().map_err(Failure::host("beginning the call"))?;
        let _raise = RaiseOnDrop(cancel.clone());
        let (session, wants_end) = (Arc::clone(&self.session), cancel.clone());
        let mut task = tokio::task::spawn_blocking(move || work(&session, &wants_end));
        let mut notifying = pin!(call.notify(what));
        let mut is_cancelled = false;
        loop {
            tokio::select! {
                ended = &mut task => {
                    let failed = |error: tokio::task::JoinError| Failure::Host { what: "the call", reason: error.to_string() };
                    return ended.map_err(failed)?;
                }
                () = call.context.ct.cancelled(), if !is_cancelled => {
                    is_cancelled = true;
                    cancel.raise();
                }
                never = &mut notifying, if !is_cancelled => match never {},
            }
        }
    }

    async fn call(
        &self,
        row: &'static Row,
        arguments: JsonObject,
        call: &Call<'_>,
    ) -> Result<Answer, Failure> {
        if let Some(wanted) = row.wanted.filter(|_| !self.session.program.plan.commands.allow_everything()) {
            self.approve(wanted(arguments.clone())?, call).await?;
        }
        self.run(row.queue, call, move |session, cancel| (row.run)(session, cancel, arguments)).await
    }

    /// Returns where the rules about commands, and the person they have asked, let a command run.
    async fn approve(&self, wanted: Wanted, call: &Call<'_>) -> Result<(), Failure> {
        // Away from the threads that speak the protocol: a text may take its time.
        let decided = self.run(Queue::Quick, call, move |session, _| {
            let sandbox = session.meant(wanted.sandbox.as_deref())?;
            let verdict = approval::decide(&session.program.plan.commands, &wanted);
            let step = Step::of(&verdict, &wanted, &sandbox).map_err(Box::new)?;
            Ok((step, verdict))
        });
        let (step, verdict) = decided.await?;
        let Step::Ask(question) = step else { return Ok(()) };
        let answer = match &self.session.program.questions {
            Questions::Refused => Err(Approval::NobodyToAsk),
            Questions::Asked { terminal } => {
                let busy =
                    |_| Failure::Busy("as many questions wait for a person as the server asks at once");
                let _open = self.questions.try_acquire().map_err(busy)?;
                if terminal.is_some() && !approval::can_ask(call.context) {
                    self.ask_on_terminal(question.into_message(), call).await?
                } else {
                    question.ask(call.context, PATIENCE, call.notify(ASKED)).await?
                }
            }
        };
        let (command, rule) = (verdict.command, verdict.reason.to_string());
        Ok(answer.map_err(|answer| Box::new(Denial::NotApproved { command, rule, answer }))?)
    }
}

impl Server {
    /// Asks a question on the terminal of the server, where it has one.
    ///
    /// # Errors
    ///
    /// The client has cancelled the call.
    async fn ask_on_terminal(
        &self,
        question: String,
        call: &Call<'_>,
    ) -> Result<Result<(), Approval>, Failure> {
        self.on_a_thread(call, ASKED, move |session, taken_back| {
            let Questions::Asked { terminal: Some(ask) } = &session.program.questions else {
                return Ok(Err(Approval::NobodyToAsk));
            };
            let answer = ask(&question, PATIENCE, taken_back);
            if taken_back.is_raised() {
                return Err(Failure::Cancelled);
            }
            Ok(match answer {
                TerminalAnswer::Allowed => Ok(()),
                TerminalAnswer::Refused => Err(Approval::Refused),
                TerminalAnswer::Unanswered => Err(Approval::Unanswered),
                TerminalAnswer::NobodyThere => Err(Approval::NobodyToAsk),
            })
        })
        .await
    }
}

impl<'a> Call<'a> {
    /// Begins with a call that has just come.
    fn new(context: &'a RequestContext<RoleServer>) -> Self {
        Self { context, began: Instant::now() }
    }

    /// Notifies a client that wants to know that the call goes on, for as long as this is polled. A client that does not read keeps nothing else from
    /// being done.
    async fn notify(&self, what: &str) -> Infallible {
        let Some(progress_token) = self.context.meta.get_progress_token() else {
            return std::future::pending().await;
        };
        let mut ticks = interval_at(tokio::time::Instant::now() + PROGRESS, PROGRESS);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let elapsed = self.began.elapsed();
            let params = ProgressNotificationParam {
                progress_token: progress_token.clone(),
                progress: elapsed.as_secs_f64(),
                total: None,
                message: Some(format!("{what} for {} s", elapsed.as_secs())),
            };
            // A client that has gone is noticed elsewhere.
            let _ = self.context.peer.notify_progress(params).await;
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> InitializeResult {
        let plan = &self.session.program.plan;
        InitializeResult {
            protocol_version: ProtocolVersion::V_2025_06_18,
            capabilities: ServerCapabilities::builder().enable_tools().enable_resources().build(),
            server_info: Implementation {
                name: "sandboxctl".to_owned(),
                title: Some("Sandboxes".to_owned()),
                version: self.session.program.version.to_owned(),
                icons: None,
                website_url: None,
            },
            instructions: Some(format!(
                "Commands run in a sandbox, which is made by the first of them. {}\nPaths are those in the sandbox.",
                resources::policy_text(plan)
            )),
        }
    }

    fn list_tools(
        &self,
        _: Option<PaginatedRequestParam>,
        _: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListToolsResult, ErrorData>> + Send + '_ {
        let mut tools = tools::definitions();
        // What it needs is not there.
        tools.retain(|tool| tool.name != delegate::NAME || !self.session.program.plan.workers.is_empty());
        std::future::ready(Ok(ListToolsResult { tools, ..ListToolsResult::default() }))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParam,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let Some(row) = tools::ALL.iter().find(|row| row.name == request.name) else {
            let names: Vec<_> = tools::ALL.iter().map(|row| row.name).collect();
            let message = format!("unknown tool {:?}; there are: {}", request.name, names.join(", "));
            return Err(ErrorData::invalid_params(message, None));
        };
        Ok(match self.call(row, request.arguments.unwrap_or_default(), &Call::new(&context)).await {
            Ok(answer) => CallToolResult {
                content: answer.content,
                structured_content: Some(answer.structured),
                is_error: Some(false),
                meta: None,
            },
            Err(failure) => {
                self.session.log(&failure);
                let mut result = CallToolResult::error(vec![Content::text(failure.to_string())]);
                // Not as structured content: clients hold that against the output schema, even of a call that has failed.
                if let Failure::Denied(denial) = &failure {
                    let denial = serde_json::to_value(denial).unwrap_or_default();
                    result.meta = Some(Meta([("denial".to_owned(), denial)].into_iter().collect()));
                }
                result
            }
        })
    }

    fn list_resources(
        &self,
        _: Option<PaginatedRequestParam>,
        _: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListResourcesResult, ErrorData>> + Send + '_ {
        std::future::ready(Ok(ListResourcesResult {
            resources: resources::list(),
            ..ListResourcesResult::default()
        }))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParam,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResult, ErrorData> {
        let uri = request.uri.clone();
        let read = self
            .run(Queue::Command, &Call::new(&context), move |session, _| {
                resources::read(session, &uri).transpose()
            })
            .await;
        match read {
            Ok(Some(contents)) => Ok(ReadResourceResult { contents: vec![contents] }),
            Ok(None) => {
                Err(ErrorData::resource_not_found(format!("there is no resource {:?}", request.uri), None))
            }
            Err(failure) => {
                self.session.log(&failure);
                Err(ErrorData::internal_error(failure.to_string(), None))
            }
        }
    }
}
