//! What Entire remembers of a session: it records the transcript that this names in a branch, at a commit.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::reason::Reason;
use super::settings::folded;
use super::within::is_within;
use crate::protect::table::content::FileFormat;

/// Where agents keep transcripts, below a home directory.
const TRANSCRIPTS: [&str; 4] = [".claude/projects", ".codex/sessions", ".cursor/projects", ".gemini/tmp"];

/// How the names of transcripts end.
const ENDS: [&str; 3] = ["json", "jsonl", "txt"];

/// Classifies the state of a session: paths in it must be relative and stay in the work tree, and a transcript must be one that an agent
/// keeps, in no directory that is shared: there it may be a link.
pub(super) fn classify(content: &[u8], program: &str, shared: &[PathBuf]) -> Option<Reason> {
    if content.trim_ascii().is_empty() {
        return None;
    }
    let Ok(state) = serde_json::from_slice::<Value>(content) else {
        return Some(Reason::Unreadable { format: FileFormat::Json });
    };
    let example = odd_path("", &state, shared)?.to_owned();
    Some(Reason::NamesPath { program: program.to_owned(), example })
}

/// Returns a path in a value that leads elsewhere. Go does not regard the case of keys, and neither does this.
fn odd_path<'a>(key: &str, value: &'a Value, shared: &[PathBuf]) -> Option<&'a str> {
    match value {
        Value::Object(members) => members.iter().find_map(|(key, value)| odd_path(key, value, shared)),
        Value::Array(values) => values.iter().find_map(|value| odd_path(key, value, shared)),
        Value::String(text) => {
            let key: String = key.chars().map(folded).collect();
            let is_ordinary = match key.as_str() {
                // Paths of files are made relative to it, and nothing is read there.
                "worktree_path" => true,
                "transcript_path" => is_transcript(Path::new(text), shared),
                key if ["path", "file", "dir"].iter().any(|part| key.contains(part)) => is_within(text),
                _ => true,
            };
            (!is_ordinary && !text.is_empty()).then_some(text)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn is_transcript(path: &Path, shared: &[PathBuf]) -> bool {
    let mut parts = path.components();
    let is_plain =
        parts.next() == Some(Component::RootDir) && parts.all(|part| matches!(part, Component::Normal(_)));
    let ends_so = path.extension().is_some_and(|end| ENDS.iter().any(|one| end == *one));
    let is_kept = path.ancestors().skip(1).any(|above| TRANSCRIPTS.iter().any(|kept| above.ends_with(kept)));
    is_plain && ends_so && is_kept && !shared.iter().any(|shared| path.starts_with(shared))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(content: &str) -> bool {
        classify(content.as_bytes(), "entire", &[PathBuf::from("/home/me/project")]).is_some()
    }

    #[test]
    fn what_entire_writes_passes() {
        for ordinary in [
            "",
            "{}",
            r#"{"session_id": "2026-02-02-x", "base_commit": "0123", "worktree_path": "/home/me/project", "phase": "active",
                "checkpoint_count": 1, "files_touched": ["a", "src/b..rs"], "untracked_files_at_start": null,
                "transcript_path": "/home/agent/.claude/projects/-home-me-project/0123.jsonl",
                "first_prompt": "read /etc/passwd, and ../x", "prompt_attributions": [{"user_added_per_file": {"a": 1}}]}"#,
            r#"{"transcript_path": "/root/.gemini/tmp/0123/chats/session-2026-02-02-0123.json"}"#,
            r#"{"transcript_path": ""}"#,
        ] {
            assert!(!found(ordinary), "{ordinary}");
        }
    }

    #[test]
    fn a_path_that_leads_elsewhere_is_found() {
        for path in [
            "/home/me/.ssh/id_ed25519",
            "/home/me/.claude/.credentials.json",
            "/home/me/.claude/projects/../.credentials.json",
            "/home/me/.claude/projects/x/key",
            "/home/me/project/.claude/projects/x/y.jsonl",
            "x.jsonl",
            ".claude/projects/x/y.jsonl",
            "../x",
        ] {
            for key in ["transcript_path", "Transcript_Path", "tran\u{17f}cript_path"] {
                assert!(found(&format!(r#"{{"{key}": "{path}"}}"#)), "{key}: {path}");
            }
        }
        for other in [
            r#"{"files_touched": ["a", "../../.ssh/id_ed25519"]}"#,
            r#"{"files_touched": ["/etc/passwd"]}"#,
            r#"{"x": {"subagent_transcript_path": "/etc/passwd"}}"#,
            "{",
        ] {
            assert!(found(other), "{other}");
        }
    }
}
