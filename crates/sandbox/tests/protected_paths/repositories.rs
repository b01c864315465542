//! Repositories of git with commits, and what git does with them.

use super::*;

/// A configuration that has git make a file of this name when it looks at a work tree.
pub(crate) const OBEYED: &str = "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = touch obeyed; false\n";

/// Runs git as the owner would, who has configured a name and nothing else.
pub(crate) fn git(directory: &Path, words: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"])
        .args(words)
        .current_dir(directory)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", directory)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_EDITOR", "true")
        // So that its objects have the same names each time.
        .env("GIT_AUTHOR_DATE", "2001-01-01T00:00:00Z")
        .env("GIT_COMMITTER_DATE", "2001-01-01T00:00:00Z")
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A repository on a server, for the URL `https://example.org/source`: git takes a directory for it.
pub(crate) fn served(source: &Path) -> String {
    format!("url.{}.insteadOf=https://example.org/source", source.display())
}

/// A boundary that is a repository with one commit, and a file beside it that is none of the agent's business.
pub(crate) fn committed() -> (Boundary, PathBuf) {
    committed_in(Boundary::new())
}

pub(crate) fn committed_in(boundary: Boundary) -> (Boundary, PathBuf) {
    let outside = boundary.host.with_file_name("outside");
    fs::write(&outside, "the user's own\n").unwrap();
    git(&boundary.host, &["init", "-q", "-b", "main", "."]);
    boundary.write("file", "1");
    git(&boundary.host, &["add", "file"]);
    git(&boundary.host, &["commit", "-q", "-m", "first"]);
    // Older templates have it.
    let _ = fs::remove_dir(boundary.host.join(".git/branches"));
    boundary.until_the_clock_is_past(".git/index");
    (boundary, outside)
}

pub(crate) fn move_all(boundary: &Boundary, baseline: &Baseline) -> Vec<Finding> {
    let mut findings = boundary.compare(baseline);
    // What was there stays.
    for finding in findings.iter_mut().filter(|finding| finding.origin != FindingOrigin::Earlier) {
        assert!(quarantine(boundary.root().enter().unwrap(), finding, now()).unwrap(), "{finding}");
    }
    findings
}
