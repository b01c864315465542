//! What is certain, and what is not.

use std::path::Path;

use policy::plan::{Boundary, BoundaryKind, FileId, Network, ToolRules};
use policy::rules::network::{HostRule, Pattern};
use policy::rules::verdict::Origin;

use super::*;
use crate::doctor::throw_away_plan;

fn boundary(name: &str, guest: &str, mode: BoundaryMode) -> Boundary {
    Boundary {
        name: name.to_owned(),
        host: Path::new("/home/me/secret-name").join(name),
        kind: BoundaryKind::Directory,
        guest: guest.into(),
        mode,
        execution: Execution::Allowed,
        hide: Vec::new(),
        worktrees: Vec::new(),
        file_id: FileId { device: 1, inode: 1 },
        obeyed_as: None,
        tools: ToolRules::default(),
    }
}

fn plan() -> Plan {
    let mut plan = throw_away_plan((Path::new("/"), FileId { device: 1, inode: 1 }));
    plan.provider = Provider::Native;
    plan.network = Network::None;
    plan.boundaries = vec![
        boundary("workspace", "/workspace", BoundaryMode::ReadWrite),
        boundary("reference", "/reference", BoundaryMode::ReadOnly),
    ];
    plan.boundaries[0].hide = vec!["*.key".to_owned()];
    plan.protect.paths = vec![".git/hooks".into()];
    plan
}

fn of(plan: &Plan, stderr: &str) -> Option<String> {
    note(plan, &End::Exited(1), b"", stderr.as_bytes())
}

fn reason(plan: &Plan, stderr: &str) -> String {
    of(plan, stderr).unwrap_or_else(|| panic!("no note for {stderr:?}"))
}

#[test]
fn says_what_was_denied_what_is_possible_and_that_retrying_does_not_help() {
    assert_eq!(
        reason(&plan(), "touch: cannot touch '/reference/x': Read-only file system\n"),
        "note: cannot write `/reference/x`: it is read-only. Writable paths: `/workspace`, `/tmp`, `/home/agent`. This is policy of the sandbox, and no fault: \
         retrying will not help, nor will another way to do the same. readable: `/workspace`, `/reference`, `/tmp`, `/home/agent`; \
         writable: `/workspace`, `/tmp`, `/home/agent`; the network is off."
    );
}

#[test]
fn a_protected_path_and_a_hidden_one_are_policy() {
    let protected =
        reason(&plan(), "sh: 1: cannot create /workspace/.git/hooks/pre-commit: Read-only file system");
    assert!(
        protected.contains("`.git/hooks` is protected, because programs outside of the sandbox obey it"),
        "{protected}"
    );
    let hidden = reason(&plan(), "cat: /workspace/a.key: Permission denied");
    assert!(hidden.contains("`*.key` hides it from this sandbox"), "{hidden}");
}

#[test]
fn a_write_outside_of_every_boundary_is_policy() {
    for message in [
        "touch: cannot touch '/usr/bin/x': Read-only file system",
        "sh: 1: cannot create /etc/passwd: Permission denied",
        "OSError: [Errno 30] Read-only file system: '/opt/x'",
        "Error: EROFS: read-only file system, open '/etc/x'",
    ] {
        assert!(reason(&plan(), message).contains("it lies in no shared directory"), "{message}");
    }
}

#[test]
fn what_is_not_shared_is_not_there_natively_and_an_image_may_have_it() {
    let message = "cat: /home/me/notes: No such file or directory";
    assert!(reason(&plan(), message).contains("`/home/me/notes` is not there"));
    let mut container = plan();
    container.provider = Provider::Docker;
    assert_eq!(of(&container, message), None);
}

#[test]
fn the_network_that_is_off_is_policy_and_one_that_is_open_is_not() {
    for message in [
        "curl: (6) Could not resolve host: example.org",
        "ping: connect: Network is unreachable",
        "fatal: unable to access 'https://example.org/': Could not resolve host: example.org",
        "Error: getaddrinfo EAI_AGAIN example.org",
    ] {
        assert!(reason(&plan(), message).contains("the network of this sandbox is off"), "{message}");
        let mut open = plan();
        open.network = Network::Open;
        assert_eq!(of(&open, message), None);
    }
}

#[test]
fn of_an_allow_list_only_a_host_that_no_rule_allows_is_policy() {
    let mut listed = plan();
    let pattern: Pattern = "example.org".parse().unwrap();
    let rule = HostRule { pattern, preset: None, origin: Origin::Default };
    listed.network = Network::Allowlist { allow: vec![rule], deny: vec![], intercept: vec![] };
    let denied = reason(&listed, "curl: (6) Could not resolve host: example.com");
    assert!(
        denied.contains("example.com") && denied.contains("hosts that can be reached: `example.org`"),
        "{denied}"
    );
    // It may be down.
    assert_eq!(of(&listed, "curl: (6) Could not resolve host: example.org"), None);
    assert_eq!(of(&listed, "Temporary failure in name resolution"), None);
}

#[test]
fn ordinary_failures_get_no_note() {
    for message in [
        // A file of mode 000 in a writable and in a read-only boundary, and in what the sandbox has of its own.
        "cat: /workspace/file: Permission denied",
        "touch: cannot touch '/workspace/file': Permission denied",
        "cat: /reference/file: Permission denied",
        "touch: cannot touch '/tmp/file': Permission denied",
        "touch: cannot touch '/home/agent/file': Permission denied",
        // Nothing of that is a shared directory's, or the policy's.
        "cat: /proc/1/environ: Permission denied",
        "kill: (1) - Operation not permitted",
        "cat: /etc/shadow: Permission denied",
        "python3: can't open file '/usr/lib/x.py': [Errno 2] No such file or directory",
        "cat: /workspace/file: No such file or directory",
        "cat: file: Permission denied",
        "curl: (7) Failed to connect to localhost port 80: Connection refused",
        "test failed",
        "",
    ] {
        assert_eq!(of(&plan(), message), None, "{message}");
    }
}

#[test]
fn nothing_is_said_of_what_has_not_failed_and_where_nothing_is_isolated() {
    let message = b"touch: cannot touch '/reference/x': Read-only file system";
    assert_eq!(note(&plan(), &End::Exited(0), b"", message), None);
    let mut local = plan();
    local.provider = Provider::Local;
    assert_eq!(note(&local, &End::Exited(1), b"", message), None);
}

#[test]
fn no_path_of_the_host_is_in_a_note() {
    for message in [
        "touch: cannot touch '/reference/x': Read-only file system",
        "cat: /home/me/x: No such file or directory",
    ] {
        assert!(!reason(&plan(), message).contains("secret-name"));
    }
}
