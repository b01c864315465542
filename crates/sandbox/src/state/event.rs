//! Events: what happens to persistent sandboxes, as it is recorded and shown.

use confine::protocol::{EndCause, Ending, SandboxEnd};
use policy::plan::Provider;
use serde::{Deserialize, Serialize};

use crate::host::clock::now_ms;
use crate::state::record::RunId;

/// Something that has happened to a sandbox.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct SandboxEvent {
    /// When, in milliseconds since 1970.
    pub time_ms: u64,
    pub sandbox: String,
    /// Its id: one that is started again has another.
    pub id: RunId,
    pub provider: Provider,
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What has happened. Commands are not named: their arguments may be secrets.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    Create,
    /// It was made again after its end.
    Start,
    ExecStart {
        /// What names the command in [`EventKind::ExecEnd`].
        exec_id: RunId,
    },
    /// A command has ended, whose client was there to see that.
    ExecEnd {
        exec_id: RunId,
        /// `None` where the client has not learnt it.
        exit_code: Option<u8>,
    },
    /// A child that its agent has started has ended.
    Child {
        child: String,
        /// `None` where its end was not seen.
        exit_code: Option<u8>,
        /// What there is to say to whoever runs the sandbox.
        warnings: Vec<String>,
    },
    /// Its processes were stopped.
    Pause,
    /// They go on.
    Unpause,
    /// Somebody has asked for its end.
    Stop,
    /// It has ended.
    Die(DeathCause),
    Remove,
}

/// Why a sandbox has ended.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(tag = "cause", rename_all = "lowercase")]
pub enum DeathCause {
    /// Its first command has ended.
    Command { exit_code: u8 },
    /// Somebody has asked for it.
    Stopped,
    /// Its idle time was over.
    Idle,
    /// It has reached its greatest age.
    Aged,
    /// Its PID 1 was killed, or the machine went down. The time of the event is that at which it was noticed.
    Killed,
}

/// How a sandbox has ended, and when that was, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Death {
    pub(crate) cause: DeathCause,
    pub(crate) at: u64,
}

/// How a sandbox has come to be.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BirthOrigin {
    /// Anew.
    Created,
    /// In the place of one that had ended.
    Started,
}

impl SandboxEvent {
    /// Returns another event of the same sandbox, of this moment.
    pub(crate) fn now(&self, kind: EventKind) -> Self {
        Self { time_ms: now_ms(), kind, ..self.clone() }
    }
}

impl EventKind {
    /// Every word that names one.
    pub const WORDS: [&str; 10] =
        ["create", "start", "exec_start", "exec_end", "child", "pause", "unpause", "stop", "die", "remove"];

    /// Returns the word that names it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Start => "start",
            Self::ExecStart { .. } => "exec_start",
            Self::ExecEnd { .. } => "exec_end",
            Self::Child { .. } => "child",
            Self::Pause => "pause",
            Self::Unpause => "unpause",
            Self::Stop => "stop",
            Self::Die(_) => "die",
            Self::Remove => "remove",
        }
    }

    /// Returns the end of a life that this is, if it is one: each sandbox has one of each.
    pub(crate) fn milestone(&self) -> Option<Milestone> {
        match self {
            Self::Create | Self::Start => Some(Milestone::Birth),
            Self::Die(_) => Some(Milestone::Death),
            Self::Remove => Some(Milestone::Removal),
            Self::ExecStart { .. }
            | Self::ExecEnd { .. }
            | Self::Child { .. }
            | Self::Pause
            | Self::Unpause
            | Self::Stop => None,
        }
    }
}

/// What happens once to each sandbox, in this order.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) enum Milestone {
    Birth,
    Death,
    Removal,
}

impl DeathCause {
    /// Returns the word that names it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Command { .. } => "command",
            Self::Stopped => "stopped",
            Self::Idle => "idle",
            Self::Aged => "aged",
            Self::Killed => "killed",
        }
    }
}

impl DeathCause {
    /// Returns the end that this was; `None` where PID 1 was killed, which has noted none.
    pub(crate) fn end(self, at: u64) -> Option<SandboxEnd> {
        let cause = match self {
            Self::Command { exit_code } => EndCause::Command(Ending::Exited(exit_code.into())),
            Self::Stopped => EndCause::Stopped,
            Self::Idle => EndCause::Idle,
            Self::Aged => EndCause::Aged,
            Self::Killed => return None,
        };
        Some(SandboxEnd { cause, at })
    }
}

impl From<EndCause> for DeathCause {
    fn from(cause: EndCause) -> Self {
        match cause {
            EndCause::Command(ending) => Self::Command { exit_code: ending.exit_code() },
            EndCause::Stopped => Self::Stopped,
            EndCause::Idle => Self::Idle,
            EndCause::Aged => Self::Aged,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_comes_back_as_it_was_written_and_is_called_by_its_word() {
        let exec_id = RunId::generate().unwrap();
        let kinds = [
            EventKind::Create,
            EventKind::Start,
            EventKind::ExecStart { exec_id: exec_id.clone() },
            EventKind::ExecEnd { exec_id: exec_id.clone(), exit_code: Some(3) },
            EventKind::ExecEnd { exec_id, exit_code: None },
            EventKind::Child { child: "c".to_owned(), exit_code: Some(1), warnings: vec!["w".to_owned()] },
            EventKind::Pause,
            EventKind::Unpause,
            EventKind::Stop,
            EventKind::Die(DeathCause::Command { exit_code: 7 }),
            EventKind::Die(DeathCause::Stopped),
            EventKind::Die(DeathCause::Idle),
            EventKind::Die(DeathCause::Aged),
            EventKind::Die(DeathCause::Killed),
            EventKind::Remove,
        ];
        let mut words: Vec<&str> = kinds.iter().map(EventKind::word).collect();
        words.dedup();
        assert_eq!(words, EventKind::WORDS);
        for kind in kinds {
            let event = SandboxEvent {
                time_ms: 1,
                sandbox: "Work.1".to_owned(),
                id: RunId::generate().unwrap(),
                provider: Provider::Native,
                kind,
            };
            let text = serde_json::to_string(&event).unwrap();
            assert!(text.contains(&format!("\"event\":\"{}\"", event.kind.word())), "{text}");
            if let EventKind::Die(cause) = &event.kind {
                assert!(text.contains(&format!("\"cause\":\"{}\"", cause.word())), "{text}");
            }
            assert_eq!(serde_json::from_str::<SandboxEvent>(&text).unwrap(), event, "{text}");
        }
    }
}
