//! `events`: prints what happens to the persistent sandboxes.

use policy::text::time;
use sandbox::session::staying::events::EventStream;
use sandbox::state::event::{DeathCause, EventKind, SandboxEvent};

use super::moment::moment;
use crate::cli::EventsArgs;
use crate::context::Context;
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;
use crate::text::one_line;
use crate::ui::Ui;

/// What events are printed: those of any of these sandboxes, and of any of these kinds. Where there is none, all are.
#[derive(Debug, Default, Eq, PartialEq)]
struct Filters {
    sandboxes: Vec<String>,
    /// Words of [`EventKind::WORDS`].
    events: Vec<&'static str>,
}

pub(crate) fn events(ui: &Ui, context: &Context, args: &EventsArgs) -> Result<ExitCode, CommandError> {
    let filters = Filters::read(&args.filter)?;
    let since = args.since.as_deref().map(|text| moment("--since", text)).transpose()?;
    let until = args.until.as_deref().map(|text| moment("--until", text)).transpose()?;
    let sandboxes = super::open(context)?;
    let mut stream = EventStream::begin(&sandboxes, since)?;
    while let Some(batch) = stream.next(until)? {
        for warning in batch.warnings {
            ui.warning(warning);
        }
        for event in batch.events.iter().filter(|event| filters.pass(event)) {
            if ui.is_json() {
                ui.json_line(event)?;
            } else {
                ui.text(&format!("{}\n", line(event)))?;
            }
        }
    }
    Ok(ExitCode::Success)
}

impl Filters {
    fn read(typed: &[String]) -> Result<Self, CommandError> {
        let mut filters = Self::default();
        for text in typed {
            match text.split_once('=') {
                // As `docker events` calls them, which has no other word for a sandbox.
                Some(("sandbox" | "container", name)) if !name.is_empty() => {
                    filters.sandboxes.push(name.to_owned());
                }
                Some(("event", word)) => filters.events.push(kind(word)?),
                _ => {
                    let message =
                        format!("--filter: {text:?} is no filter; expected sandbox=NAME or event=WORD");
                    return Err(CommandError::message(Code::UsageInvalid, message)
                        .hint("such as `--filter sandbox=work --filter event=die`"));
                }
            }
        }
        Ok(filters)
    }

    fn pass(&self, event: &SandboxEvent) -> bool {
        let is_its = |name: &String| *name == event.sandbox || name == event.id.as_str();
        let is_of = self.sandboxes.is_empty() || self.sandboxes.iter().any(is_its);
        is_of && (self.events.is_empty() || self.events.contains(&event.kind.word()))
    }
}

/// Returns the word for an event that was typed: ours, or Docker's where that is another one.
fn kind(typed: &str) -> Result<&'static str, CommandError> {
    let word = match typed {
        "destroy" => "remove",
        "exec_die" => "exec_end",
        word => word,
    };
    EventKind::WORDS.into_iter().find(|known| *known == word).ok_or_else(|| {
        let message = format!("--filter: there is no event {typed:?}");
        CommandError::message(Code::UsageInvalid, message)
            .hint(format!("events are {}", EventKind::WORDS.join(", ")))
    })
}

/// Writes an event on a line: when, what, to which sandbox, and what else is known.
fn line(event: &SandboxEvent) -> String {
    let SandboxEvent { time_ms, sandbox, id, provider, kind } = event;
    let mut more = vec![format!("id={}", id.as_str()), format!("provider={provider}")];
    match kind {
        EventKind::ExecStart { exec_id } => more.push(format!("exec_id={}", exec_id.as_str())),
        EventKind::ExecEnd { exec_id, exit_code } => {
            more.push(format!("exec_id={}", exec_id.as_str()));
            more.extend(exit_code.map(|code| format!("exit_code={code}")));
        }
        EventKind::Child { child, exit_code, warnings } => {
            more.push(format!("child={child}"));
            more.extend(exit_code.map(|code| format!("exit_code={code}")));
            more.extend(warnings.iter().map(|warning| format!("warning={warning}")));
        }
        EventKind::Die(cause) => {
            more.push(format!("cause={}", cause.word()));
            if let DeathCause::Command { exit_code } = cause {
                more.push(format!("exit_code={exit_code}"));
            }
        }
        EventKind::Create
        | EventKind::Start
        | EventKind::Pause
        | EventKind::Unpause
        | EventKind::Stop
        | EventKind::Remove => {}
    }
    one_line(&format!("{} {} {sandbox} ({})", time::moment(*time_ms), kind.word(), more.join(", ")))
}

#[cfg(test)]
mod tests {
    use policy::plan::Provider;
    use sandbox::state::record::RunId;

    use super::*;

    fn event(name: &str, kind: EventKind) -> SandboxEvent {
        let id = RunId::try_from("0123456789abcdef".to_owned()).unwrap();
        SandboxEvent { time_ms: 1500, sandbox: name.to_owned(), id, provider: Provider::Native, kind }
    }

    #[test]
    fn a_line_has_what_is_known_and_no_name_leaves_it() {
        assert_eq!(
            line(&event("Web.1", EventKind::Die(DeathCause::Command { exit_code: 7 }))),
            "1970-01-01T00:00:01.500Z die Web.1 (id=0123456789abcdef, provider=native, cause=command, exit_code=7)"
        );
        let forged = line(&event("a\n1970-01-01T00:00:00.000Z die b\u{1b}[2J", EventKind::Pause));
        assert!(!forged.contains(['\n', '\u{1b}']), "{forged}");
    }

    #[test]
    fn filters_of_one_kind_are_alternatives_and_of_two_are_both_meant() {
        let filters =
            |typed: &[&str]| Filters::read(&typed.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        let passes = |typed: &[&str], name: &str, kind| filters(typed).unwrap().pass(&event(name, kind));
        assert!(passes(&[], "a", EventKind::Pause));
        let both = ["sandbox=a", "container=b", "event=destroy", "event=pause"];
        assert!(passes(&both, "a", EventKind::Pause));
        assert!(passes(&both, "b", EventKind::Remove));
        assert!(!passes(&both, "A", EventKind::Pause));
        assert!(!passes(&both, "a", EventKind::Stop));
        assert!(passes(&["sandbox=0123456789abcdef"], "a", EventKind::Stop));
        for wrong in ["", "sandbox", "sandbox=", "event=", "event=started", "type=container", "=a"] {
            assert!(filters(&[wrong]).is_err(), "{wrong}");
        }
    }
}
