//! The walk, the mounts that follow from it, and the detection, on real trees.
#![expect(clippy::unwrap_used, reason = "what a helper cannot do fails the test that asked for it")]
#![expect(clippy::print_stdout, reason = "what was not run is said")]

mod beyond;
mod chains;
mod detection;
mod ends;
mod git;
mod git_ambiguous;
mod git_annex;
mod git_applied;
mod git_attributes;
mod git_commits;
mod git_data;
mod git_elsewhere;
mod git_named;
mod git_obeys;
mod git_references;
mod git_remotes;
mod git_settings;
mod git_staged;
mod git_submodules;
mod git_tools;
mod git_worktrees;
mod known;
mod listed;
mod mounts;
mod nested;
mod origin;
mod other_systems;
mod outside;
mod quarantine;
mod repositories;
mod walk;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use policy::classify::Reason;
use policy::plan::Protect;
use policy::protect::table::built_in;
use rustix::time::{ClockId, clock_gettime};
use sandbox::boundary::detect::SearchKind;
use sandbox::boundary::detect::baseline::Baseline;
use sandbox::boundary::detect::finding::{Finding, FindingOrigin};
use sandbox::boundary::protect::mounts::{FileKind, Mounts, ProtectionGap};
use sandbox::boundary::protect::search::{self, SearchRules};
use sandbox::boundary::quarantine::name::QUARANTINE;
use sandbox::boundary::quarantine::quarantine;
use sandbox::boundary::root::{Entered, Root};
use sandbox::boundary::walk::{Git, Known, Names, Walk, walk, walk_everywhere, walk_until, walk_with_files};
use sandbox::host::deadline::Deadline;
use sandbox::host::identity::Identity;

/// Searches for these paths, as long as it takes.
fn mounts(root: &Entered<'_>, host: &Path, walk: &Walk, list: &[Cow<'static, str>]) -> io::Result<Mounts> {
    mounts_until(root, host, walk, &Protect { paths: list.to_vec(), ..Protect::NOTHING }, Deadline::NEVER)
}

/// Searches for what a plan protects, until a deadline.
fn mounts_until(
    root: &Entered<'_>,
    host: &Path,
    walk: &Walk,
    by: &Protect,
    until: Deadline,
) -> io::Result<Mounts> {
    search::mounts(root, host, walk, &SearchRules::of(by), until)
}

/// A boundary in a directory of its own.
struct Boundary {
    _top: tempfile::TempDir,
    host: PathBuf,
}

impl Boundary {
    fn new() -> Self {
        Self::of(tempfile::tempdir().unwrap())
    }

    /// One where a store through a mapping sets the time of change; says that the test is not run where there is none.
    fn on_disk(test: &str) -> Option<Self> {
        const DISK: &str = "/var/tmp";
        // ext4, XFS, Btrfs, F2FS.
        let sees_stores = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010];
        if !sees_stores.contains(&rustix::fs::statfs(DISK).unwrap().f_type) {
            println!("not run: {test}, because {DISK} is on a file system where stores leave no time");
            return None;
        }
        Some(Self::of(tempfile::tempdir_in(DISK).unwrap()))
    }

    fn of(top: tempfile::TempDir) -> Self {
        let host = top.path().canonicalize().unwrap().join("workspace");
        fs::create_dir(&host).unwrap();
        Self { _top: top, host }
    }

    fn write(&self, path: &str, content: &str) -> &Self {
        let path = self.host.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    fn directory(&self, path: &str) -> &Self {
        fs::create_dir_all(self.host.join(path)).unwrap();
        self
    }

    fn link(&self, target: impl AsRef<Path>, path: &str) -> &Self {
        symlink(target, self.host.join(path)).unwrap();
        self
    }

    /// What `git init` makes, as far as it matters here.
    fn repository(&self, path: &str) -> &Self {
        let git = format!("{path}/.git");
        self.bare(git.trim_start_matches('/'))
    }

    fn bare(&self, path: &str) -> &Self {
        self.write(&format!("{path}/HEAD"), "ref: refs/heads/main\n")
            .write(&format!("{path}/config"), "[core]\n\tbare = false\n")
            .write(&format!("{path}/hooks/pre-commit.sample"), "#!/bin/sh\n")
            .directory(&format!("{path}/objects"))
            .directory(&format!("{path}/refs"))
    }

    fn mode(&self, path: &str, mode: u32) -> &Self {
        fs::set_permissions(self.host.join(path), fs::Permissions::from_mode(mode)).unwrap();
        self
    }

    /// File systems take the time from a clock that ticks every few milliseconds.
    fn until_the_clock_is_past(&self, path: &str) {
        let stat = fs::symlink_metadata(self.host.join(path)).unwrap();
        let now = || clock_gettime(ClockId::RealtimeCoarse);
        while (now().tv_sec, now().tv_nsec) <= (stat.ctime(), stat.ctime_nsec()) {}
    }

    fn root(&self) -> Root {
        root(&self.host)
    }

    fn walk(&self, depth: u32) -> Walk {
        walk(&self.root().enter().unwrap(), depth).unwrap()
    }

    fn mounts(&self) -> Mounts {
        let list: Vec<Cow<'static, str>> = built_in().map(Cow::Borrowed).collect();
        mounts(&self.root().enter().unwrap(), &self.host, &self.walk(3), &list).unwrap()
    }

    fn read_only(&self) -> Vec<String> {
        self.mounts().read_only.iter().map(|one| one.path.display().to_string()).collect()
    }

    fn baseline(&self) -> Baseline {
        Baseline::take(self.root().enter().unwrap(), &self.mounts()).unwrap().0
    }

    /// What the commits have to which git brings the work trees, and which were not named at the start.
    fn compare_commits(&self, baseline: &Baseline) -> Vec<Finding> {
        let list: Vec<Cow<'static, str>> = built_in().map(Cow::Borrowed).collect();
        let by = Protect { paths: list, ..Protect::NOTHING };
        let root = self.root();
        let root = root.enter().unwrap();
        let walk = walk_everywhere(&root, 3, Deadline::NEVER, &Known::default()).unwrap();
        let commits = |git: &Path| baseline.commits_of(git);
        let is_since = |path: &Path| baseline.is_since(&root, path);
        let start = search::Start { commits: &commits, is_since: &is_since };
        let rules = SearchRules::of(&by);
        let mounts =
            search::mounts_since(&root, &self.host, &walk, &rules, Some(&start), Deadline::NEVER).unwrap();
        baseline.compare(&root, &mounts, Deadline::NEVER, SearchKind::Last).unwrap().findings
    }

    fn hostile_tags(&self, baseline: &Baseline) -> Vec<Finding> {
        let root = self.root();
        let found = baseline.hostile_tags(root.enter().unwrap(), &self.host, &self.mounts(), Deadline::NEVER);
        assert!(found.is_whole);
        found.findings
    }

    fn ambiguous(&self, baseline: &Baseline) -> Vec<Finding> {
        let root = self.root();
        let found = baseline.ambiguous(root.enter().unwrap(), &self.host, &self.mounts(), Deadline::NEVER);
        assert!(found.is_whole);
        found.findings
    }

    fn compare(&self, baseline: &Baseline) -> Vec<Finding> {
        let compared = baseline
            .compare(self.root().enter().unwrap(), &self.mounts(), Deadline::NEVER, SearchKind::Quick)
            .unwrap();
        assert!(compared.is_whole);
        compared.findings
    }

    /// What the last look finds, which goes everywhere.
    fn last_look(&self, baseline: &Baseline) -> Vec<Finding> {
        let list: Vec<Cow<'static, str>> = built_in().map(Cow::Borrowed).collect();
        let walk =
            walk_everywhere(&self.root().enter().unwrap(), 3, Deadline::NEVER, &Known::default()).unwrap();
        assert!(walk.is_whole);
        let mounts = mounts(&self.root().enter().unwrap(), &self.host, &walk, &list).unwrap();
        baseline
            .compare(self.root().enter().unwrap(), &mounts, Deadline::NEVER, SearchKind::Quick)
            .unwrap()
            .findings
    }

    fn paths(&self, baseline: &Baseline) -> Vec<String> {
        self.compare(baseline).iter().map(|finding| finding.path.display().to_string()).collect()
    }
}

/// Opens a directory as that of a boundary.
fn root(path: &Path) -> Root {
    Root::of(File::open(path).unwrap().into(), Identity::own()).unwrap()
}

fn paths(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.display().to_string()).collect()
}

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_700_000_000)
}

/// Runs one of these tests again as a user without rights.
fn as_somebody_else(name: &str) {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = directory.path().join("test");
    // By another process: what this one has open for writing, a child of another test may hold open, and then
    // nobody can execute it (ETXTBSY).
    let itself = std::env::current_exe().unwrap();
    assert!(Command::new("cp").arg(itself).arg(&program).status().unwrap().success());
    let output = Command::new("setpriv")
        .args(["--reuid", "1001", "--regid", "1001", "--clear-groups"])
        .arg(&program)
        .args(["--exact", name])
        .env("TMPDIR", "/tmp")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}
