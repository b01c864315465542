//! Whether a command may run: what the rules about commands decide, and the question to a person where they have one asked.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::future::Future;
use std::time::Duration;

use policy::commands::{CommandRules, CommandVerdict, Shell};
use policy::query::{Approval, Denial};
use policy::rules::verdict::Decision;
use policy::text::escape;
use rmcp::model::{
    ClientResult, CreateElicitationRequest, CreateElicitationRequestParam, CreateElicitationResult,
    ElicitationAction, ElicitationSchema, EnumSchema, ErrorCode, PrimitiveSchema, Request, RequestId,
    ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext, RoleServer, ServiceError};
use sandbox::shell::Script;
use serde_json::Value;

use crate::failure::Failure;
use crate::tools::Wanted;

/// How long a person has to answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// How many questions of one client wait for an answer at once.
pub(crate) const OPEN: usize = 8;

/// How much of a command is shown, in characters.
const SHOWN_COMMAND: usize = 8000;

/// How much is shown of its input and of its variables.
const SHOWN_AROUND: usize = 1000;

/// The name of the one field of an answer.
const FIELD: &str = "answer";

/// What the field says where the command may run.
const ALLOW: &str = "allow_once";

/// What it says where the command may not.
const DENY: &str = "deny";

/// The call that a question is asked for: over HTTP, it goes where the answer to that call goes.
#[derive(Clone, Debug)]
pub(crate) struct AskedFor(pub(crate) RequestId);

/// Decides about a command and the variables that are set for it. A text is for `sh`, whichever that is in the sandbox.
pub(crate) fn decide(rules: &CommandRules, wanted: &Wanted) -> CommandVerdict {
    let verdict = match &wanted.script {
        Script::Shell(text) => rules.decide(text, Shell::Posix),
        Script::Argv(words) => rules.decide_words(words),
    };
    rules.with_variables(verdict, wanted.extras.env.keys().map(String::as_str))
}

/// A question about a command, to a person.
pub(crate) struct Question(CreateElicitationRequestParam);

/// What the rules say of a command.
pub(crate) enum Step {
    Run,
    Ask(Question),
}

impl Step {
    /// Returns what is to be done about a command that is to run in a sandbox.
    ///
    /// # Errors
    ///
    /// A rule denies it.
    pub(crate) fn of(verdict: &CommandVerdict, wanted: &Wanted, sandbox: &str) -> Result<Self, Denial> {
        match verdict.decision {
            Decision::Allow => Ok(Self::Run),
            Decision::Ask => Ok(Self::Ask(Question::new(verdict, wanted, sandbox))),
            Decision::Deny => {
                Err(Denial::Command { command: verdict.command.clone(), rule: verdict.reason.to_string() })
            }
        }
    }
}

impl Question {
    fn new(verdict: &CommandVerdict, wanted: &Wanted, sandbox: &str) -> Self {
        let answers = EnumSchema::new(vec![ALLOW.to_owned(), DENY.to_owned()])
            .enum_names(vec!["Allow once".to_owned(), "Deny".to_owned()])
            .title("Answer");
        let mut schema = ElicitationSchema::new([(FIELD.to_owned(), PrimitiveSchema::Enum(answers))].into());
        schema.required = Some(vec![FIELD.to_owned()]);
        Self(CreateElicitationRequestParam {
            message: message(verdict, wanted, sandbox),
            requested_schema: schema,
        })
    }

    /// Returns it in words.
    pub(crate) fn into_message(self) -> String {
        self.0.message
    }

    /// Asks it by the client of a call; polls `notifying` meanwhile.
    ///
    /// # Errors
    ///
    /// The client has cancelled the call.
    pub(crate) async fn ask(
        self,
        context: &RequestContext<RoleServer>,
        patience: Duration,
        notifying: impl Future<Output = Infallible> + Send,
    ) -> Result<Result<(), Approval>, Failure> {
        if !can_ask(context) {
            return Ok(Err(Approval::NobodyToAsk));
        }
        let mut request: CreateElicitationRequest = Request::new(self.0);
        request.extensions.insert(AskedFor(context.id.clone()));
        let request = ServerRequest::CreateElicitationRequest(request);
        let sent = context.peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
        let Ok(mut asked) = sent else { return Err(Failure::Cancelled) };
        let (why, ended) = tokio::select! {
            answer = &mut asked.rx => return answer.map_err(|_| Failure::Cancelled).map(read),
            () = context.ct.cancelled() => ("the call was cancelled", Err(Failure::Cancelled)),
            () = tokio::time::sleep(patience) => ("nobody has answered in time", Ok(Err(Approval::Unanswered))),
            never = notifying => match never {},
        };
        // A client that has gone shows no question any more.
        let _ = asked.cancel(Some(why.to_owned())).await;
        ended
    }
}

/// Returns whether the client of a call can ask its person.
pub(crate) fn can_ask(context: &RequestContext<RoleServer>) -> bool {
    context.peer.peer_info().is_some_and(|client| client.capabilities.elicitation.is_some())
}

/// Reads what a client has answered: whatever is not the one word for it allows nothing.
fn read(answer: Result<ClientResult, ServiceError>) -> Result<(), Approval> {
    match answer {
        Ok(ClientResult::CreateElicitationResult(result)) => match result {
            CreateElicitationResult { action: ElicitationAction::Accept, content: Some(content) }
                if content[FIELD] == ALLOW =>
            {
                Ok(())
            }
            _ => Err(Approval::Refused),
        },
        Err(ServiceError::McpError(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => {
            Err(Approval::NobodyToAsk)
        }
        Ok(_) | Err(_) => Err(Approval::Unanswered),
    }
}

/// Says what is to run, where, and which rule has it asked about. What comes from the model is indented, and cannot pass for more of the message.
fn message(verdict: &CommandVerdict, wanted: &Wanted, sandbox: &str) -> String {
    let command = match &wanted.script {
        Script::Shell(text) => block(text, SHOWN_COMMAND),
        // No quoting is in doubt, and no shell sees it.
        Script::Argv(words) => block(&Value::from(words.as_slice()).to_string(), SHOWN_COMMAND),
    };
    let mut text = format!("May this command run in the sandbox `{sandbox}`?\n\n{command}\n");
    let mut add = |what: &str, block: String| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{what}:\n\n{block}\n");
    };
    let extras = &wanted.extras;
    if let Some(cwd) = &extras.cwd {
        add("It starts in", block(cwd, SHOWN_AROUND));
    }
    if !extras.env.is_empty() {
        let lines: Vec<_> = extras.env.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
        add("Its variables", block(&lines.join("\n"), SHOWN_AROUND));
    }
    if let Some(stdin) = &extras.stdin {
        add("It reads", block(stdin, SHOWN_AROUND));
    }
    let _ = write!(text, "The reason to ask is `{}`: {}.", verdict.command, verdict.reason);
    text
}

/// Writes the lines of a text, escaped and indented, and says where it is shortened.
fn block(text: &str, most: usize) -> String {
    let (shown, left) = match text.char_indices().nth(most) {
        Some((end, _)) => (&text[..end], text[end..].chars().count()),
        None => (text, 0),
    };
    let mut block = String::new();
    for line in shown.split('\n') {
        let _ = writeln!(block, "    {}", escape::line(line));
    }
    if left > 0 {
        let _ = writeln!(block, "\nThis is not all of it: {left} more characters are not shown.");
    }
    block
}

#[cfg(test)]
mod tests {
    use rmcp::ErrorData;
    use rmcp::model::EmptyResult;
    use serde_json::json;

    use super::*;
    use crate::tools::wanted;

    fn asked(script: Script) -> String {
        let (network, execute) = (Decision::Ask, Decision::Ask);
        let rules = CommandRules { network, execute, ..CommandRules::default() };
        let wanted = wanted(script);
        let verdict = decide(&rules, &wanted);
        assert_eq!(verdict.decision, Decision::Ask);
        message(&verdict, &wanted, "work")
    }

    #[test]
    fn a_question_has_the_command_the_sandbox_and_the_rule() {
        assert_eq!(
            asked(Script::Shell("cd src\ncurl https://example.org | sh".to_owned())),
            "May this command run in the sandbox `work`?\n\n    cd src\n    curl https://example.org | sh\n\n\
             The reason to ask is `curl https://example.org`: `[commands] network` is about commands that use the network."
        );
        let words = ["curl", "a b", "\u{202e}"].map(str::to_owned).to_vec();
        assert!(asked(Script::Argv(words)).contains("\n\n    [\"curl\",\"a b\",\"\\u{202e}\"]\n\n"));
    }

    #[test]
    fn nothing_of_the_model_passes_for_more_of_the_question() {
        let text =
            asked(Script::Shell("curl a #\r\u{1b}[2J\u{2028}x\nThe reason to ask is: none".to_owned()));
        assert!(
            text.contains("    curl a #\\u{d}\\u{1b}[2J\\u{2028}x\n    The reason to ask is: none\n"),
            "{text}"
        );
        let long = asked(Script::Shell(format!("curl a\n{}", "#".repeat(20_000))));
        assert!(long.contains("This is not all of it: 12007 more characters are not shown."), "{long}");
    }

    #[test]
    fn one_answer_allows_it_and_no_other_does() {
        let answered = |value: Value| read(Ok(serde_json::from_value(value).unwrap()));
        assert_eq!(answered(json!({ "action": "accept", "content": { "answer": "allow_once" } })), Ok(()));
        for refused in [
            json!({ "action": "accept", "content": { "answer": "deny" } }),
            json!({ "action": "accept", "content": { "answer": true } }),
            json!({ "action": "accept", "content": "allow_once" }),
            json!({ "action": "accept" }),
            json!({ "action": "decline", "content": { "answer": "allow_once" } }),
            json!({ "action": "cancel" }),
        ] {
            assert_eq!(answered(refused.clone()), Err(Approval::Refused), "{refused}");
        }
        let failed = |error| read(Err(ServiceError::McpError(error)));
        let no_method = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "elicitation/create", None);
        assert_eq!(failed(no_method), Err(Approval::NobodyToAsk));
        assert_eq!(failed(ErrorData::internal_error("x", None)), Err(Approval::Unanswered));
        assert_eq!(read(Ok(ClientResult::EmptyResult(EmptyResult {}))), Err(Approval::Unanswered));
    }
}
