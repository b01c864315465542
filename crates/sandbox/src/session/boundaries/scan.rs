//! A boundary as it is now, compared with what it was at the start.

use std::io;
use std::path::Path;
use std::time::Duration;

use policy::classify::Reason;

use crate::boundary::detect::finding::{Finding, FindingOrigin};
use crate::boundary::detect::{Compared, SearchKind};
use crate::boundary::protect::mounts::Mounts;
use crate::boundary::protect::search::{self, SearchRules};
use crate::boundary::root::Entered;
use crate::boundary::walk::{Known, Walk, walk_everywhere, walk_until};
use crate::host::deadline::Deadline;
use crate::state::record::Remembered;

/// How long a scan may take while the agent runs. Nobody attends to it, its terminal or its time meanwhile.
pub(super) const QUICK_SCAN_LIMIT: Duration = Duration::from_millis(200);

/// What a scan of one boundary found.
pub(super) struct Scan {
    pub(super) walk: Walk,
    pub(super) mounts: Mounts,
    pub(super) findings: Vec<Finding>,
    /// Whether there was time to look at everything.
    pub(super) is_whole: bool,
}

impl Scan {
    /// Scans while the agent runs.
    pub(super) fn quick(
        root: &Entered<'_>,
        remembered: &Remembered,
        by: &SearchRules<'_>,
        until: Deadline,
        known: &Known,
    ) -> io::Result<Self> {
        let walk = walk_until(root, by.protect.depth, until, known)?;
        let mounts = search::mounts(root, &remembered.host, &walk, by, until)?;
        // What was found in time is classified, though finding it has used the time up: else a large tree, or a busy machine,
        // keeps anything from being said.
        let until = Deadline::after(QUICK_SCAN_LIMIT);
        let mut scan = Self::compared(walk, mounts, root, remembered, until, SearchKind::Quick)?;
        // Programs of the host may go on to write there: what came of it is said once.
        scan.findings.retain(|one| !matches!(one.reason, Reason::Reconfigured { .. }));
        Ok(scan)
    }

    /// Scans when everything inside has ended: also where nobody looked at the start.
    pub(super) fn last(
        root: &Entered<'_>,
        remembered: &Remembered,
        by: &SearchRules<'_>,
        until: Deadline,
        known: &Known,
    ) -> io::Result<Self> {
        // What was found is classified in any case: an agent can make more than can be searched.
        let searching = until.leaving_a_third();
        let walk = walk_everywhere(root, by.protect.depth, searching, known)?;
        let commits = |git: &Path| remembered.baseline.commits_of(git);
        let is_since = |path: &Path| remembered.baseline.is_since(root, path);
        let start = search::Start { commits: &commits, is_since: &is_since };
        let mounts = search::mounts_since(root, &remembered.host, &walk, by, Some(&start), searching)?;
        let mut names = remembered.baseline.new_names(root, &mounts, by.protect);
        names.extend(remembered.baseline.new_links_out(root, &mounts));
        let prepared = remembered.baseline.prepared(root, &mounts, by.protect);
        let replacing = remembered.baseline.replacing(root, &remembered.host, &mounts, searching);
        let mut scan = Self::compared(walk, mounts, root, remembered, until, SearchKind::Last)?;
        scan.is_whole &= replacing.is_whole;
        // A repository goes as a whole.
        let goes = |one: &Finding| replacing.findings.iter().any(|whole| one.path.starts_with(&whole.path));
        scan.findings.retain(|one| one.origin != FindingOrigin::Created || !goes(one));
        scan.findings.extend(replacing.findings);
        let tags = remembered.baseline.hostile_tags(root, &remembered.host, &scan.mounts, until);
        let ambiguous = remembered.baseline.ambiguous(root, &remembered.host, &scan.mounts, until);
        scan.is_whole &= tags.is_whole && ambiguous.is_whole;
        let is_new = |tag: &Finding| !scan.findings.iter().any(|one| tag.path.starts_with(&one.path));
        let tags: Vec<Finding> = tags.findings.into_iter().filter(is_new).collect();
        scan.findings.extend(tags);
        // A file that stays has both said of it.
        let goes =
            |one: &Finding| scan.findings.iter().any(|of| !of.stays() && one.path.starts_with(&of.path));
        let ambiguous: Vec<Finding> = ambiguous.findings.into_iter().filter(|one| !goes(one)).collect();
        scan.findings.extend(ambiguous);
        scan.findings.extend(prepared);
        let ceased = remembered.baseline.ceased(root, &scan.findings);
        scan.findings.extend(ceased);
        // What is quarantined needs no other word.
        let is_reported = |name: &Finding| scan.findings.iter().any(|one| name.path.starts_with(&one.path));
        let names: Vec<Finding> = names.into_iter().filter(|name| !is_reported(name)).collect();
        scan.findings.extend(names);
        Ok(scan)
    }

    fn compared(
        walk: Walk,
        mut mounts: Mounts,
        root: &Entered<'_>,
        remembered: &Remembered,
        until: Deadline,
        search: SearchKind,
    ) -> io::Result<Self> {
        let hidden = remembered.hidden_paths();
        mounts.note_hidden(root, &hidden, until.leaving_a_third());
        let Compared { findings, is_whole } =
            remembered.baseline.compare(root, &mounts, until, search).map_err(io::Error::other)?;
        let is_whole = is_whole && walk.is_whole && mounts.is_whole();
        Ok(Self { walk, mounts, findings, is_whole })
    }
}
