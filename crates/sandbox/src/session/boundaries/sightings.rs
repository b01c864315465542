//! What scans find while the agent runs, and what of it was reported.
//!
//! Programs leave things half made for a moment: `git submodule deinit` makes the work tree anew before it takes its path
//! out of the configuration. So what may be such a passing state is reported when two scans have found it. Everything
//! else is reported at once: an agent is told of each scan by inotify(7), and could take a hook away before the next one. The scan
//! at the end needs no other: nothing changes any more.

use std::collections::HashSet;
use std::path::PathBuf;

use policy::classify::Reason;

use super::clear::MAX_REPORTED;
use crate::boundary::detect::finding::Finding;

/// How many passing states are remembered.
const MAX_SEEN: usize = 10_000;

/// What the scans so far have found.
#[derive(Default)]
pub(super) struct Sightings {
    /// Passing states that were found once, by whichever scan.
    seen: HashSet<(PathBuf, Reason)>,
    reported: Vec<Finding>,
}

/// What is to be done about what a scan found while the agent runs.
#[derive(Default)]
pub(crate) struct Detected {
    /// What is to be reported now.
    pub(crate) findings: Vec<Finding>,
    /// Whether something was found for the first time, which another scan has to confirm.
    pub(crate) is_unconfirmed: bool,
}

impl Sightings {
    /// Takes what a scan found, and returns what of it is to be reported. At most [`MAX_REPORTED`] findings are.
    pub(super) fn add(&mut self, found: &[Finding]) -> Detected {
        let mut detected = Detected::default();
        let mut passing = Vec::new();
        for finding in found {
            if self.reported.len() == MAX_REPORTED {
                break;
            }
            if self.reported.contains(finding) {
                continue;
            }
            let sighting = (finding.path.clone(), finding.reason.clone());
            let is_first = self.seen.len() < MAX_SEEN && !self.seen.contains(&sighting);
            if is_passing(&finding.reason) && is_first {
                passing.push(sighting);
                detected.is_unconfirmed = true;
            } else {
                self.reported.push(finding.clone());
                detected.findings.push(finding.clone());
            }
        }
        self.seen.extend(passing);
        detected
    }
}

/// Returns whether programs that do nothing unusual leave this behind for a moment: a pointer of git's to what is not there yet, a file that
/// is half written, or what git itself stashes while it rebases.
fn is_passing(reason: &Reason) -> bool {
    matches!(reason, Reason::GitElsewhere | Reason::Unreadable { .. } | Reason::AppliesStash { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boundary::detect::finding::FindingOrigin;

    fn finding(path: &str, reason: Reason) -> Finding {
        Finding {
            path: path.into(),
            reason,
            origin: FindingOrigin::Created,
            quarantined: None,
            restored: false,
        }
    }

    #[test]
    fn a_passing_state_is_reported_when_two_scans_have_found_it_and_all_else_at_once() {
        for reason in [Reason::GitElsewhere, Reason::AppliesStash { commit: None }] {
            let mut sightings = Sightings::default();
            let mut add = |paths: &[&str]| {
                let found = paths.iter().map(|path| match path.strip_prefix("hook/") {
                    Some(_) => finding(path, Reason::Hook),
                    None => finding(path, reason.clone()),
                });
                let Detected { findings, is_unconfirmed } = sightings.add(&found.collect::<Vec<_>>());
                let paths: Vec<_> = findings.into_iter().map(|one| one.path.display().to_string()).collect();
                (paths.join(" "), is_unconfirmed)
            };
            assert_eq!(add(&["a", "hook/1"]), ("hook/1".into(), true));
            assert_eq!(add(&["b"]), (String::new(), true), "what was there once is not reported");
            assert_eq!(add(&["a"]), ("a".into(), false), "however long it was gone");
            assert_eq!(add(&["a", "b", "hook/1"]), ("b".into(), false));
            assert_eq!(add(&["a", "b", "hook/1"]), (String::new(), false), "once each");
        }
    }

    #[test]
    fn no_more_is_reported_than_anybody_reads() {
        let mut sightings = Sightings::default();
        let all: Vec<_> =
            (0..MAX_REPORTED + 5).map(|number| finding(&number.to_string(), Reason::GitElsewhere)).collect();
        assert!(sightings.add(&all).is_unconfirmed);
        assert_eq!(sightings.add(&all).findings.len(), MAX_REPORTED);
        let Detected { findings, is_unconfirmed } = sightings.add(&all);
        assert!(findings.is_empty() && !is_unconfirmed, "the rest asks for no other scan");
    }
}
