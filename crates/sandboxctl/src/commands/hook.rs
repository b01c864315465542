//! `hook`: answers the hook that an agent runs before it uses its shell tool.
//!
//! The agent itself runs on the host. What its model asks for does not: the answer replaces the command by one that runs it in the sandbox
//! of the session. Agents run a command as it is if their hook fails in whatever way but by exit code 2 or a denial, so every error
//! becomes a denial: a process of its own reads the call, and whatever becomes of that, this one answers in time.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use policy::commands::{CommandVerdict, Shell};
use policy::plan::Plan;
use policy::query::{Approval, Denial};
use policy::rules::verdict::Decision;
use policy::text::escape;
use rustix::fs::{MemfdFlags, memfd_create};
use sandbox::Attachment;
use sandbox::host::child::{Group, Running};
use sandbox::host::deadline::Deadline;
use sandbox::state::sandboxes::{Phase, SandboxError};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::create;
use super::sandboxes::{MAKING, lookup_made};
use crate::as_caller::AsCaller;
use crate::cli::{HookAgent, HookArgs};
use crate::context::{Context, caller_of_this_process};
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;
use crate::load::{self, Loaded};
use crate::shell_words::quoted;
use crate::ui::{Ui, print};

/// The longest call that is read, in bytes.
const MAX_CALL: u64 = 4 << 20;
/// How long the sandbox of a session stays without a command, unless configured. Nobody says when a session has ended.
const IDLE: Duration = Duration::from_secs(30 * 60);
/// How long an answer may take. Agents wait for a minute at least.
const PATIENCE: Duration = Duration::from_secs(50);
/// The longest command, in bytes: one argument of a program is no longer than 128 KiB, quotes included.
const MAX_COMMAND: usize = 100 << 10;
/// The event that is answered.
const EVENT: &str = "PreToolUse";

/// What an agent says of a call. It says more, which concerns nobody here.
#[derive(Deserialize)]
struct Call {
    hook_event_name: String,
    session_id: String,
    cwd: PathBuf,
    tool_name: String,
    #[serde(default)]
    tool_input: Map<String, Value>,
}

/// What is answered.
enum Answer {
    /// The hook has no opinion: it is not about a command.
    Nothing,
    Deny(String),
    /// The call goes on with this command in place of its own, at once or once a person agrees.
    Instead {
        decision: Decision,
        command: String,
        reason: String,
    },
}

pub(crate) fn hook(ui: &Ui, args: HookArgs) -> Result<ExitCode, CommandError> {
    if args.answer {
        return answer_here(ui, args);
    }
    let mut said = String::new();
    let mut output = answer_of_child(&mut said).unwrap_or_else(|why| {
        let denied = Answer::Deny(format!("the sandbox of this session cannot be used: {why}"));
        denied.into_output(args.agent, EVENT, Map::new())
    });
    if !said.is_empty() {
        // Both agents show this to the person, and standard error to nobody if a hook succeeds.
        output["systemMessage"] = Value::String(said);
    }
    // Whatever else keeps the answer from the agent, this code does as well.
    Ok(if ui.json_line(&output).is_ok() { ExitCode::Success } else { ExitCode::Usage })
}

/// Has a process of its own answer the call on standard input. What it says to a person, such as that a file was quarantined, is added to
/// `said` and printed.
///
/// # Errors
///
/// Why there is no answer.
fn answer_of_child(said: &mut String) -> Result<Value, String> {
    let call = read_input().map_err(|error| format!("{:#}", error.cause))?;
    let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let failed = |error: io::Error| format!("cannot start this program: {error}");
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1)).arg("--answer");
    command.stdin(in_memory(&call).map_err(failed)?).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut answering = Running::spawn(&mut command, Group::Ours).map_err(failed)?;
    let (status, [output, errors]) =
        answering.finish_with_output(Deadline::after(PATIENCE)).map_err(|error| error.to_string())?;
    said.push_str(String::from_utf8_lossy(&errors.bytes).trim_end());
    if !said.is_empty() {
        print(&said);
    }
    match status {
        None => Err(format!("there was no answer in {} seconds", PATIENCE.as_secs())),
        Some(status) if status.success() => serde_json::from_slice(&output.bytes)
            .map_err(|error| format!("the answer cannot be read: {error}")),
        Some(status) => Err(format!("the process that was to answer has ended with {status}")),
    }
}

/// Makes a file in memory, to be read from its beginning: unlike a pipe, it takes everything at once.
fn in_memory(content: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create(c"call", MemfdFlags::CLOEXEC)?);
    file.write_all(content)?;
    file.rewind()?;
    Ok(file)
}

/// Answers the call on standard input.
fn answer_here(ui: &Ui, args: HookArgs) -> Result<ExitCode, CommandError> {
    let agent = args.agent;
    let read = read();
    let (event, input) = match &read {
        Ok(call) => (call.hook_event_name.clone(), call.tool_input.clone()),
        Err(_) => (EVENT.to_owned(), Map::new()),
    };
    let answered = read.and_then(|call| answer(ui, &call, args));
    let answer = answered.unwrap_or_else(|error| {
        let hints: Vec<_> = error.hints.iter().map(|hint| format!(" ({hint})")).collect();
        Answer::Deny(format!(
            "the sandbox of this session cannot be used: {:#}{}",
            error.cause,
            hints.concat()
        ))
    });
    ui.json_line(&answer.into_output(agent, &event, input))?;
    Ok(ExitCode::Success)
}

fn read_input() -> Result<Vec<u8>, CommandError> {
    // This process is root's under sudo, and what it reads is shown where it is no call.
    let caller = caller_of_this_process()?;
    let mut text = Vec::new();
    let length = AsCaller::new(std::io::stdin().lock(), caller).take(MAX_CALL + 1).read_to_end(&mut text);
    length.context("cannot read the call on standard input")?;
    if text.len() as u64 > MAX_CALL {
        let message = format!("the call on standard input is longer than {MAX_CALL} bytes");
        return Err(CommandError::message(Code::UsageInvalid, message));
    }
    Ok(text)
}

fn read() -> Result<Call, CommandError> {
    let text = read_input()?;
    let call = serde_json::from_slice(&text);
    call.context("what stands on standard input is no call of a hook")
        .map_err(|error| CommandError::new(Code::UsageInvalid, error))
}

fn answer(ui: &Ui, call: &Call, mut args: HookArgs) -> Result<Answer, CommandError> {
    let command = call.tool_input.get("command").and_then(Value::as_str);
    match call.tool_name.as_str() {
        _ if call.hook_event_name != EVENT => return Ok(Answer::Nothing),
        "Bash" | "Monitor" => {}
        // A patch, or whatever a server of MCP takes.
        tool if tool == "apply_patch" || tool.starts_with("mcp__") || command.is_none() => {
            return Ok(Answer::Nothing);
        }
        tool => {
            let tool = escape::line(tool);
            return Ok(Answer::Deny(format!("nothing is known of the tool {tool}, which takes a `command`")));
        }
    }
    let Some(text) = command else {
        return Ok(Answer::Deny("the call of the shell tool has no `command`".to_owned()));
    };
    if text.len() > MAX_COMMAND || text.contains('\0') {
        return Ok(Answer::Deny(format!(
            "the command is longer than {MAX_COMMAND} bytes, or has a NUL character"
        )));
    }
    // As for the MCP server: nothing of it needs root.
    let mut context = Context::gather_as_caller()?;
    args.request.name = Some(name(args.agent, &call.session_id)?);
    let mut loaded = load::plan(ui, &context, &args.request, Vec::new(), &mut |_| ())?;
    loaded.plan.lifecycle.idle_timeout.get_or_insert(IDLE);
    let shell = if args.shell.rsplit('/').next() == Some("bash") { Shell::Bash } else { Shell::Posix };
    let verdict = loaded.plan.commands.decide(text, shell);
    if let Some(denied) = denied(args.agent, &verdict) {
        return Ok(Answer::Deny(denied.to_string()));
    }
    let Some(directory) = inside(&loaded.plan, &call.cwd) else {
        let shared: Vec<_> =
            loaded.plan.boundaries.iter().map(|boundary| escape::path(&boundary.host)).collect();
        let (cwd, shared) = (escape::path(&call.cwd), shared.join(", "));
        return Ok(Answer::Deny(format!(
            "the sandbox has no directory `{cwd}`: change to one that it shares, which are {shared}"
        )));
    };
    let name = loaded.plan.name.clone();
    ensure(ui, &mut context, loaded)?;
    let program = std::env::current_exe().context("cannot find this program")?;
    let words = [
        program.as_os_str(),
        OsStr::new("exec"),
        OsStr::new("--quiet"),
        OsStr::new("--workdir"),
        directory.as_os_str(),
        OsStr::new(&name),
        OsStr::new("--"),
        OsStr::new(&args.shell),
        OsStr::new("-c"),
        OsStr::new(text),
    ];
    let words: Option<Vec<_>> = words.into_iter().map(OsStr::to_str).map(|word| word.map(quoted)).collect();
    let command = words.context("a path that the command needs is not UTF-8")?.join(" ");
    let reason = format!("it runs in the sandbox {name}");
    let reason = match verdict.decision {
        Decision::Allow => reason,
        Decision::Ask | Decision::Deny => format!("{}; {reason}", verdict.reason),
    };
    Ok(Answer::Instead { decision: verdict.decision, command, reason })
}

/// Returns why a command does not run, if it does not.
fn denied(agent: HookAgent, verdict: &CommandVerdict) -> Option<Denial> {
    let (command, rule) = (verdict.command.clone(), verdict.reason.to_string());
    match (verdict.decision, agent) {
        (Decision::Deny, _) => Some(Denial::Command { command, rule }),
        (Decision::Ask, HookAgent::Codex) => {
            Some(Denial::NotApproved { command, rule, answer: Approval::NobodyToAsk })
        }
        (Decision::Ask, HookAgent::ClaudeCode) | (Decision::Allow, _) => None,
    }
}

/// Returns the name of the sandbox of a session.
fn name(agent: HookAgent, session: &str) -> Result<String, CommandError> {
    let agent = match agent {
        HookAgent::ClaudeCode => "claude-code",
        HookAgent::Codex => "codex",
    };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    let begins = session.starts_with(|first: char| first.is_ascii_alphanumeric());
    if !begins || session.len() > 48 || !session.bytes().all(is_plain) {
        let message = format!("`session_id`: \"{}\" cannot name a sandbox", escape::line(session));
        return Err(CommandError::message(Code::UsageInvalid, message));
    }
    Ok(format!("{agent}-{session}"))
}

/// Returns where the sandbox has a directory of the host.
fn inside(plan: &Plan, directory: &Path) -> Option<PathBuf> {
    // What the agent says is the path that it has come by, and links may be on the way.
    let real = directory.canonicalize().ok()?;
    let shared = plan.boundaries.iter().filter(|boundary| real.starts_with(&boundary.host));
    let innermost = shared.max_by_key(|boundary| boundary.host.components().count())?;
    let within = real.strip_prefix(&innermost.host).ok()?;
    Some(if within == Path::new("") { innermost.guest.clone() } else { innermost.guest.join(within) })
}

/// Makes the sandbox of the session, if it does not live.
fn ensure(ui: &Ui, context: &mut Context, loaded: Loaded) -> Result<(), CommandError> {
    let (plan, project) = (loaded.plan, loaded.project);
    let env = context.env.clone();
    let until = Deadline::after(MAKING);
    loop {
        let Some(found) = lookup_made(context, &plan.name)? else {
            let made = create::make(ui, context, &plan, project.clone(), Attachment::Detached, None);
            context.env.clone_from(&env);
            match made {
                // Calls come at once, and another one makes it.
                Err(error) if error.code == Code::SandboxNameInUse && !until.is_over() => continue,
                made => return made.map(drop),
            }
        };
        create::same_plan(&found, &plan)?;
        return match found.phase {
            Phase::Running => Ok(()),
            Phase::Stopped => create::restart(ui, context, &found).map(drop),
            phase => Err(SandboxError::Phase { name: plan.name, phase, action: "be used" }.into()),
        };
    }
}

impl Answer {
    /// Returns the answer in the form that agents read. `input` is what the tool was called with.
    fn into_output(self, agent: HookAgent, event: &str, mut input: Map<String, Value>) -> Value {
        let (decision, reason, command) = match self {
            Self::Nothing => return json!({}),
            Self::Deny(reason) => (Decision::Deny, reason, None),
            Self::Instead { decision, command, reason } => (decision, reason, Some(command)),
        };
        let mut output = json!({
            "hookEventName": event,
            "permissionDecision": decision,
            "permissionDecisionReason": reason,
        });
        if let Some(command) = command {
            input.insert("command".to_owned(), Value::String(command));
            // Codex takes what was changed, and refuses a call with fields that its tool does not have.
            output["updatedInput"] = match agent {
                HookAgent::ClaudeCode => Value::Object(input),
                HookAgent::Codex => json!({ "command": input["command"] }),
            };
        }
        json!({ "hookSpecificOutput": output })
    }
}
