//! What a client asks for, and what it is answered. The protocol itself is rmcp's.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rmcp::ErrorData;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParam, CallToolResult, Content, Implementation, InitializeResult, JsonObject,
    ListResourcesResult, ListToolsResult, Meta, PaginatedRequestParam, ProgressNotificationParam,
    ProgressToken, ProtocolVersion, ReadResourceRequestParam, ReadResourceResult, ServerCapabilities,
};
use rmcp::service::{RequestContext, RoleServer};
use sandbox::shell::Cancel;

use crate::admission::{Admission, Queue};
use crate::failure::Failure;
use crate::resources;
use crate::session::Session;
use crate::tools::{self, Answer, Row};

/// How often a client that wants to know is notified that a call goes on.
const PROGRESS: Duration = Duration::from_secs(2);

/// The server, for one client.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) session: Arc<Session>,
    admission: Admission,
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
        Self { session, admission }
    }

    /// Runs something on a thread that may wait. It is to end when the client does not want it any more, and its end is waited for.
    async fn run<T: Send + 'static>(
        &self,
        queue: Queue,
        context: &RequestContext<RoleServer>,
        work: impl FnOnce(&Session, &Cancel) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let permit = tokio::select! {
            permit = self.admission.enter(queue) => permit?,
            () = context.ct.cancelled() => return Err(Failure::Cancelled),
        };
        let cancel = Cancel::new().map_err(Failure::host("beginning the call"))?;
        let _raise = RaiseOnDrop(cancel.clone());
        let (session, wants_end) = (Arc::clone(&self.session), cancel.clone());
        let mut task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work(&session, &wants_end)
        });
        let began = Instant::now();
        let token = context.meta.get_progress_token();
        let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + PROGRESS, PROGRESS);
        let mut is_cancelled = false;
        // A client that does not read must not keep its call from being cancelled.
        let mut notifying: Option<Pin<Box<dyn Future<Output = ()> + Send + '_>>> = None;
        loop {
            tokio::select! {
                ended = &mut task => {
                    let failed = |error: tokio::task::JoinError| Failure::Host { what: "the call", reason: error.to_string() };
                    return ended.map_err(failed)?;
                }
                () = context.ct.cancelled(), if !is_cancelled => {
                    is_cancelled = true;
                    cancel.raise();
                }
                () = async { match &mut notifying {
                    Some(notifying) => notifying.await,
                    None => std::future::pending().await,
                } } => notifying = None,
                _ = ticks.tick(), if notifying.is_none() && !is_cancelled => {
                    notifying = token.clone().map(|token| Box::pin(notify_progress(context, token, began.elapsed())) as _);
                }
            }
        }
    }

    async fn call(
        &self,
        row: &'static Row,
        arguments: JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> Result<Answer, Failure> {
        self.run(row.queue, context, move |session, cancel| (row.run)(session, cancel, arguments)).await
    }
}

/// Notifies the client that a call goes on.
async fn notify_progress(context: &RequestContext<RoleServer>, token: ProgressToken, elapsed: Duration) {
    let seconds = elapsed.as_secs();
    let params = ProgressNotificationParam {
        progress_token: token,
        progress: elapsed.as_secs_f64(),
        total: None,
        message: Some(format!("it has run for {seconds} s")),
    };
    // A client that has gone is noticed elsewhere.
    let _ = context.peer.notify_progress(params).await;
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
        std::future::ready(Ok(ListToolsResult { tools: tools::definitions(), ..ListToolsResult::default() }))
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
        Ok(match self.call(row, request.arguments.unwrap_or_default(), &context).await {
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
            .run(Queue::Command, &context, move |session, _| resources::read(session, &uri).transpose())
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
