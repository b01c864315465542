//! What tools can ask of a sandbox, from its plan.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use policy::config::effective::Effective;
use policy::config::problem::Scope;
use policy::config::{Config, ConfigFile, PathBase};
use policy::plan::{FileId, Plan};
use policy::query::{Denial, PathFault, Query};
use policy::rules::path::{PathAccess, normalise};
use policy::rules::shared_dir::PathKind;
use policy::rules::verdict::{Decision, Verdict};
use policy::{HostDirectory, HostFacts, Policy};

const CONFIG: &str = r#"
provider = "native"

[shared_dirs]
workspace = { host = "w", guest = "/workspace", hide = ["*.pem"] }
inner = { host = "i", guest = "/workspace/inner", mode = "ro", suffixes = [".md", ".Pdf"], max_file_bytes = "1k" }

[env]
set = { CI = "1" }

[secrets.github]
mode = "inject"
env_var = "GITHUB_TOKEN"
source = "env:GITHUB_TOKEN"

[network]
mode = "allowlist"
allow = ["api.example.org:443"]

[limits]
file_size = "1m"
"#;

fn plan(text: &str) -> Plan {
    let base = PathBase { directory: "/home/me/project".into(), home: Some("/home/me".into()) };
    let file = ConfigFile { scope: Scope::Project, label: "sandbox.toml".into(), base };
    let config = Config::parse(text, &file).expect(text);
    let policy = Policy::new(&Effective::merge([config]), Path::new("/home/me/project")).expect(text);
    let directories = policy.boundaries().iter().zip(1..).map(|(wanted, inode)| {
        let directory = HostDirectory {
            host: normalise(&wanted.host),
            kind: PathKind::Directory,
            owner: 1001,
            file_id: FileId { device: 1, inode },
            is_repository: false,
            repository: None,
        };
        (wanted.name.clone(), Ok(directory))
    });
    let facts = HostFacts {
        name: "quick-fox".to_owned(),
        environment: vec![("LANG".into(), "C.UTF-8".into()), ("SESSION_TOKEN".into(), "secret".into())],
        directories: directories.collect(),
        home: None,
        absent: BTreeSet::new(),
        workdir: Ok(()),
        sockets: BTreeMap::new(),
        git: None,
        toolchains: BTreeMap::new(),
        uid: 1001,
        homes: vec!["/home/me".into()],
        other_homes: Vec::new(),
        allowed_root: None,
    };
    policy.plan(&facts).expect(text)
}

fn query() -> Query {
    Query::new(&plan(CONFIG)).expect("a plan of this program")
}

fn allowed(verdict: &Verdict) -> bool {
    verdict.decision == Decision::Allow
}

#[test]
fn the_innermost_boundary_decides() {
    let query = query();
    let read = |path: &str| allowed(&query.can_read(OsStr::new(path)));
    let write = |path: &str| allowed(&query.can_write(OsStr::new(path)));
    for path in ["/workspace/a", "/workspace/inner/a.md", "/tmp/a", "/home/agent/a", "/workspace"] {
        assert!(read(path), "{path}");
    }
    for path in
        ["/etc/passwd", "/workspaces/a", "/", "/home/agents", "/run/x", "/workspace/key.pem", "../x", "~"]
    {
        assert!(!read(path) && !write(path), "{path}");
    }
    assert!(write("/workspace/a") && write("/tmp/a") && write("/home/agent/.bashrc"));
    assert!(!write("/workspace/inner/a.md") && !write("/workspace/.git/config"));
    assert!(!read("/workspace/inner/a"), "tools read no such suffix");
    assert!(write("/tmp/.git/config"), "nobody outside obeys it");
    assert!(
        allowed(&query.can_list(OsStr::new("/workspace"))) && !allowed(&query.can_list(OsStr::new("/etc")))
    );
}

#[test]
fn questions_are_answered_in_the_words_of_the_tools() {
    let query = query();
    for (path, access, words) in [
        ("/etc/passwd", PathAccess::Read, "it lies outside of the sandbox. Readable paths: "),
        ("key.pem", PathAccess::Read, "`*.pem` hides it from this sandbox"),
        ("inner/a", PathAccess::Read, "Allowed suffixes: `.md`, `.Pdf`"),
        ("inner/a.md", PathAccess::Write, "it is read-only. Writable paths: "),
        (".git/config", PathAccess::Write, "Other files beside it can be written"),
    ] {
        let target = OsStr::new(path);
        let verdict =
            if access == PathAccess::Write { query.can_write(target) } else { query.can_read(target) };
        assert!(!allowed(&verdict) && verdict.rule.contains(words), "{path}: {}", verdict.rule);
        assert!(verdict.rule.ends_with("This is policy: trying again changes nothing"), "{}", verdict.rule);
        assert!(!verdict.rule.contains("[protect]"), "how it is given up is for a person: {}", verdict.rule);
    }
    let host = query.can_connect("example.org", 443).rule;
    assert!(host.starts_with("cannot connect to `example.org` at port 443: "), "{host}");
    let long = query.can_read(OsStr::new(&"~".repeat(6000))).rule;
    assert!(long.len() < 500 && long.contains("~…`"), "{long}");
    assert!(
        query.check_names_file(OsStr::new("new/")).is_err()
            && query.check_names_file(OsStr::new("new")).is_ok()
    );
}

#[test]
fn paths_are_resolved_as_they_are_written() {
    let query = query();
    let resolve = |path: &str| query.resolve(OsStr::new(path), PathAccess::Read);
    let resolved = resolve("src//./main.rs").expect("it lies in the working directory");
    assert_eq!(resolved.guest.as_path(), Path::new("/workspace/src/main.rs"));
    assert_eq!(resolved.relative, Path::new("src/main.rs"));
    assert_eq!(query.place(&resolved).name, "workspace");
    let inner = resolve("inner/a.md").expect("it lies in a boundary within");
    assert_eq!((query.place(&inner).name.as_str(), inner.relative.as_path()), ("inner", Path::new("a.md")));
    let backslash = resolve("src\\main.rs").expect("a backslash is a character like others");
    assert_eq!(backslash.relative, Path::new("src\\main.rs"));
    for (path, fault) in [
        ("", PathFault::Empty),
        ("~/x", PathFault::Home),
        ("a/../b", PathFault::Parent),
        ("a\0b", PathFault::Nul),
    ] {
        assert!(
            matches!(resolve(path), Err(Denial::NoPath { fault: found, .. }) if found == fault),
            "{path:?}"
        );
    }
    let long = "a/".repeat(3000);
    assert!(matches!(resolve(&long), Err(Denial::NoPath { fault: PathFault::TooLong, .. })));
    let bytes = query.resolve(OsStr::from_bytes(b"caf\xe9"), PathAccess::Read);
    assert_eq!(bytes.expect("a path need not be UTF-8").relative.as_os_str().as_bytes(), b"caf\xe9");
    let outside = resolve("/home/me/project/w/a").expect_err("paths of the host are none").to_string();
    assert!(!outside.contains("sandbox.toml"), "{outside}");
}

#[test]
fn suffixes_and_sizes_bind_tools() {
    let query = query();
    let at = |path: &str| query.resolve(OsStr::new(path), PathAccess::Read).expect(path);
    let suffix = |path: &str| query.check_suffix(&at(path), PathAccess::Read).is_ok();
    assert!(suffix("inner/a.md") && suffix("inner/B.MD") && suffix("inner/c.pdf") && suffix("any"));
    assert!(!suffix("inner/a.mdx") && !suffix("inner/md") && !suffix("inner/a.md/b"));
    let size = |path: &str, access, size| query.check_size(&at(path), access, size).is_ok();
    assert!(size("inner/a.md", PathAccess::Read, 1024) && !size("inner/a.md", PathAccess::Read, 1025));
    // What a process of the sandbox cannot write, no tool writes.
    assert!(size("a", PathAccess::Read, 2 << 20) && !size("a", PathAccess::Write, 2 << 20));
}

#[test]
fn hosts_and_variables_are_answered_about() {
    let query = query();
    assert!(allowed(&query.can_connect("api.example.org", 443)));
    assert!(
        !allowed(&query.can_connect("api.example.org", 80))
            && !allowed(&query.can_connect("example.org", 443))
    );
    let off = Query::new(&plan("provider = \"native\"\nshared_dirs = {}")).expect("a plan");
    assert!(!allowed(&off.can_connect("api.example.org", 443)));
    assert!(allowed(&query.sees_env("CI")) && allowed(&query.sees_env("PATH")));
    let secret = query.sees_env("GITHUB_TOKEN");
    assert!(allowed(&secret) && secret.rule.contains("\"github\""), "{}", secret.rule);
    assert!(!allowed(&query.sees_env("SESSION_TOKEN")));
}

#[test]
fn without_isolation_there_is_nothing_of_the_sandbox_s_own() {
    let local = Query::new(&plan("provider = \"local\"\nrequire_os_sandbox = false")).expect("a plan");
    assert_eq!(local.places().len(), 1);
    assert!(!allowed(&local.can_read(OsStr::new("/tmp/x"))));
}
