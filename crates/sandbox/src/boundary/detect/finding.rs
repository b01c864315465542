//! Something that a program outside would obey, as it is reported to callers.

use std::fmt;
use std::path::{Path, PathBuf};

use policy::classify::Reason;
use policy::protect::table;
use policy::text::{escape, json_bytes};
use serde::{Deserialize, Serialize};

/// Something that a program outside would obey.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Finding {
    /// Where it lies, relative to the boundary.
    #[serde(with = "json_bytes::path")]
    pub path: PathBuf,
    pub reason: Reason,
    pub origin: FindingOrigin,
    /// Where it was moved to, relative to the boundary, if it was.
    #[serde(with = "json_bytes::optional_path")]
    pub quarantined: Option<PathBuf>,
    /// Whether what was there at the start was put back.
    pub restored: bool,
}

/// Whether something is new.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingOrigin {
    /// It was not there at the start: it can be quarantined.
    Created,
    /// Something else was there at the start. Where that was a file, somebody on the host has replaced it, which took
    /// its protection away, and the agent may have written what is there now; a link the agent can replace by itself.
    /// It is quarantined, and what was there at the start is put back.
    Replaced,
    /// It was there at the start. Somebody on the host has changed it since, or a program obeys it only now. It
    /// may be the user's own work, so it is only reported.
    Earlier,
}

impl Finding {
    /// Returns whether it is only reported, and left where it is.
    pub fn stays(&self) -> bool {
        let is_harmless_by_itself =
            matches!(self.reason, Reason::UnknownName | Reason::LinksOut { .. } | Reason::LinksTo { .. });
        // Git's own files, without which it does not work or loses what the user has done.
        let is_said_of_data = matches!(
            self.reason,
            Reason::Ambiguous { .. }
                | Reason::AttributesGone { .. }
                | Reason::ChecksOutTwice { .. }
                | Reason::CommitUnread { .. }
                | Reason::CommitsBehindLinks { .. }
                | Reason::CommitsHidden { .. }
                | Reason::CommitsLinks { .. }
                | Reason::CommitsNoMore { .. }
                | Reason::CommitsProtected { .. }
                | Reason::ConvertsFiles { .. }
                | Reason::ConvertsNoMore { .. }
                | Reason::ExcludesGone { .. }
                | Reason::FiltersHidden { .. }
                | Reason::HidesByLines { .. }
                | Reason::HidesChanges { .. }
                | Reason::ListsNoMore { .. }
                | Reason::MovedElsewhere { .. }
                | Reason::NoRepository { .. }
                | Reason::RecordsHidden { .. }
                | Reason::StagesLinks { .. }
                | Reason::StagesProtected { .. }
                | Reason::TracksHidden { .. }
        );
        self.origin == FindingOrigin::Earlier || is_harmless_by_itself || is_said_of_data
    }

    /// Returns what `[protect] allow` calls a file of variables, which agents may well be asked to set.
    fn allowed_as(&self) -> Option<&'static str> {
        let is_moved = matches!(self.reason, Reason::Variables { .. }) && !self.stays();
        is_moved.then(|| table::name_in_allow(Path::new(self.path.file_name()?))).flatten()
    }
}

/// Describes findings, one on a line, to follow "has made" or "has left": those of names that no list knows share one, which names each of
/// them, and says of which of them only the content is news.
pub fn lines<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Vec<String> {
    let is_name = |finding: &&Finding| finding.reason == Reason::UnknownName;
    let (names, others): (Vec<_>, Vec<_>) = findings.into_iter().partition(is_name);
    let mut lines: Vec<String> = others.iter().map(ToString::to_string).collect();
    let (changed, new): (Vec<_>, Vec<_>) = names.iter().partition(|one| one.origin == FindingOrigin::Earlier);
    let joined = |names: &[&&Finding]| {
        let shown: Vec<_> = names.iter().map(|one| escape::path_in_text(&one.path)).collect();
        shown.join(", ")
    };
    let subject = match (new.as_slice(), changed.as_slice()) {
        (new, []) => joined(new),
        ([], changed) => format!("changes in {}, unless they are yours", joined(changed)),
        (new, changed) => {
            format!("{}, and changes in {}, unless they are yours", joined(new), joined(changed))
        }
    };
    match names.len() {
        0 => {}
        1 => lines.push(format!("{subject}: {}; it stays, and `[protect] allow` silences this", Reason::UnknownName)),
        _ => lines.push(format!(
            "{subject}: no list of sandboxctl knows these names, and programs may obey them; they stay, and `[protect] allow` \
             silences this"
        )),
    }
    lines
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", escape::path_in_text(&self.path), self.reason)?;
        match self.origin {
            FindingOrigin::Created => {}
            FindingOrigin::Replaced => f.write_str("; it is not what was there at the start")?,
            FindingOrigin::Earlier => {
                f.write_str(
                    "; it was there at the start, and may have been changed while the sandbox ran: review it",
                )?;
            }
        }
        if let Some(quarantined) = &self.quarantined {
            write!(f, "; moved to {}", escape::path_in_text(quarantined))?;
        }
        match (self.origin, self.restored) {
            (FindingOrigin::Created, true) => f.write_str("; what else it had was put back"),
            (FindingOrigin::Replaced, true) => f.write_str("; what was there at the start was put back"),
            (FindingOrigin::Replaced, false) if self.quarantined.is_some() => {
                f.write_str("; what was there at the start could not be put back")
            }
            _ => Ok(()),
        }?;
        match self.allowed_as() {
            Some(listed) => write!(f, "; if it is to set them, `[protect] allow = [\"{listed}\"]` lets it"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_moved_for_its_variables_says_which_they_are_and_how_to_allow_them() {
        let names: Vec<String> = ('A'..='K').map(|letter| format!("{letter}_PROXY")).collect();
        let finding = Finding {
            path: "app/.env.staging.local".into(),
            reason: Reason::Variables { names },
            origin: FindingOrigin::Created,
            quarantined: Some(".sandboxctl-quarantine/x".into()),
            restored: false,
        };
        let text = finding.to_string();
        assert!(text.contains("`A_PROXY`, `B_PROXY`") && text.contains("`H_PROXY` and 3 more"), "{text}");
        assert!(text.ends_with("`[protect] allow = [\".env.*.local\"]` lets it"), "{text}");
        let earlier = Finding { origin: FindingOrigin::Earlier, quarantined: None, ..finding };
        assert!(!earlier.to_string().contains("allow"), "{earlier}");
    }

    #[test]
    fn no_shell_runs_a_name_that_is_copied_to_it() {
        let path = |top: &str| PathBuf::from(format!("{top}refs/tags/$(x)"));
        let finding = Finding {
            path: path(".git/"),
            reason: Reason::Hook,
            origin: FindingOrigin::Created,
            quarantined: Some(path(".sandboxctl-quarantine/")),
            restored: false,
        };
        let text = finding.to_string();
        assert!(text.starts_with("'.git/refs/tags/$(x)': "), "{text}");
        assert!(text.ends_with("; moved to '.sandboxctl-quarantine/refs/tags/$(x)'"), "{text}");
        let plain = Finding { quarantined: Some("a/dot-bashrc".into()), ..finding };
        assert!(plain.to_string().ends_with("; moved to a/dot-bashrc"), "the control: {plain}");
    }
}
