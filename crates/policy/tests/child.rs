//! A child of a sandbox: what it gets, and that nothing widens.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use policy::child::ChildRequest;
use policy::config::effective::Effective;
use policy::config::problem::Scope;
use policy::config::{Config, ConfigFile, PathBase};
use policy::plan::{BoundaryMode, FileId, Network, Plan};
use policy::rules::limits::Bytes;
use policy::rules::shared_dir::PathKind;
use policy::{HostDirectory, HostFacts, Policy};

const PARENT: &str = r#"
    [agent]
    command = ["agent"]
    [shared_dirs]
    workspace = { host = "./workspace", guest = "/workspace" }
    reference = { host = "./reference", guest = "/reference", mode = "ro", hide = ["secret"] }
    [env]
    set = { CI = "1" }
    [secrets.token]
    mode = "inject"
    env_var = "TOKEN"
    source = "file:/srv/token"
    [secrets.model]
    mode = "proxy"
    provider = "anthropic"
    env_var = "ANTHROPIC_API_KEY"
    source = "file:/srv/key"
    [network]
    mode = "allowlist"
    allow = ["api.example.org:443", "*.files.example.org", "GET http://other.example/*"]
    deny = ["bad.files.example.org"]
    [limits]
    memory = "1g"
    pids = 100
    [children]
    max = 3
"#;

fn plan(text: &str) -> Plan {
    let base = PathBase { directory: "/home/me/project".into(), home: Some("/home/me".into()) };
    let file = ConfigFile { scope: Scope::User, label: "config.toml".into(), base };
    let config = Config::parse(text, &file).expect(text);
    let policy = Policy::new(&Effective::merge([config]), Path::new("/home/me/project")).expect("a policy");
    let directory = |(number, wanted): (usize, &policy::BoundaryRequest)| {
        let directory = HostDirectory {
            host: policy::rules::path::normalise(&wanted.host),
            kind: PathKind::Directory,
            owner: 1000,
            file_id: FileId { device: 1, inode: number as u64 },
            is_repository: false,
            repository: None,
        };
        (wanted.name.clone(), Ok(directory))
    };
    let facts = HostFacts {
        uid: 1000,
        homes: vec!["/home/me".into()],
        other_homes: Vec::new(),
        directories: policy.boundaries().iter().enumerate().map(directory).collect(),
        workdir: Ok(()),
        name: "parent".to_owned(),
        environment: Vec::new(),
        home: None,
        absent: BTreeSet::new(),
        sockets: BTreeMap::new(),
        git: None,
        toolchains: BTreeMap::new(),
        allowed_root: None,
    };
    policy.plan(&facts).expect("a plan")
}

fn request(text: &str) -> ChildRequest {
    ChildRequest::parse(text.as_bytes()).expect(text)
}

fn child(parent: &Plan, text: &str) -> Plan {
    parent.child(&request(text), "child".to_owned()).expect(text)
}

fn refused(parent: &Plan, text: &str) -> Vec<String> {
    let mistakes = parent.child(&request(text), "child".to_owned()).expect_err(text);
    mistakes.into_iter().map(|mistake| mistake.message).collect()
}

#[test]
fn a_child_has_nothing_that_it_does_not_ask_for() {
    let parent = plan(PARENT);
    let child = child(&parent, r#"{"command": ["true"]}"#);
    assert_eq!((child.boundaries.len(), child.secrets.len(), child.routes.len()), (0, 0, 0));
    assert_eq!(child.network, Network::None);
    assert_eq!(child.children, None);
    assert_eq!(child.agent.workdir, Path::new("/home/agent"));
    assert_eq!((parent.limits.memory, child.limits.memory), (Some(Bytes(256 << 20)), Some(Bytes(256 << 20))));
    assert_eq!((parent.limits.pids, child.limits.pids), (Some(25), Some(25)));
    let name = |plan: &Plan, name: &str| plan.env.iter().any(|variable| variable.name == name);
    assert!(name(&parent, "HTTPS_PROXY") && !name(&child, "HTTPS_PROXY"));
    assert!(name(&child, "CI") && name(&child, "PATH"));
    assert_eq!(child.layers, parent.layers);
    assert_eq!(child.protect, parent.protect);
}

#[test]
fn a_child_gets_what_it_asks_for_and_its_sandbox_has() {
    let parent = plan(PARENT);
    let text = r#"{"command": ["make"], "shared_dirs": {"workspace": "ro", "reference": "ro"}, "secrets": ["token", "anthropic"],
        "allow": ["api.example.org:443", "a.files.example.org:80", "GET http://other.example/*"], "env": {"CI": "2"},
        "memory": "64m", "timeout": "1m"}"#;
    let child = child(&parent, text);
    assert!(child.boundaries.iter().all(|boundary| boundary.mode == BoundaryMode::ReadOnly));
    assert!(
        child.boundaries.iter().any(|boundary| boundary.hide == ["secret"]),
        "what is hidden stays hidden"
    );
    assert_eq!(child.agent.workdir, parent.agent.workdir);
    assert_eq!((child.secrets.len(), child.routes.len()), (1, 1));
    let Network::Allowlist { allow, deny, .. } = &child.network else { panic!("{:?}", child.network) };
    assert_eq!((allow.len(), deny.len()), (3, 1));
    assert_eq!(child.limits.memory, Some(Bytes(64 << 20)));
    assert!(child.env.iter().any(|variable| variable.name == "CI" && variable.value == "2"));
    assert!(child.env.iter().any(|variable| variable.name == "HTTPS_PROXY"));
}

#[test]
fn what_the_sandbox_does_not_have_is_refused_and_all_of_it_at_once() {
    let parent = plan(PARENT);
    let text = r#"{"command": ["make"], "shared_dirs": {"reference": "rw", "home": "ro"}, "secrets": ["other"],
        "allow": ["example.org", "api.example.org", "*.example.org", "http.files.example.org", "GET http://other.example/x"],
        "memory": "1g", "pids": 26, "workdir": "/workspace/x"}"#;
    let messages = refused(&parent, text);
    let expected = [
        "this sandbox has no shared directory `home`",
        "`reference` is read-only in this sandbox, so a child cannot write to it",
        "this sandbox has no secret `other`",
        "this sandbox may not reach `example.org`, so a child may not",
        "this sandbox may not reach `api.example.org`, so a child may not",
        "this sandbox may not reach `*.example.org`, so a child may not",
        "this sandbox may not reach `GET http://other.example/x`, so a child may not",
        "`memory`: a child has at most 256m, and 1g is more",
        "`pids`: a child has at most 25, and 26 is more",
        "`workdir`: the child has no directory /workspace/x",
    ];
    assert_eq!(messages, expected);
    let off = plan("[children]\nmax = 1\n");
    assert_eq!(
        refused(&off, r#"{"command": ["true"], "allow": ["a.example.org"]}"#),
        ["this sandbox has no network, so a child has none"]
    );
    let none = plan("");
    assert_eq!(refused(&none, r#"{"command": ["true"]}"#), ["this sandbox may have no children"]);
}

#[test]
fn a_wildcard_of_the_sandbox_gives_no_child_an_internal_host() {
    let parent = plan("[network]\nallow = [\"*.dev.localhost\"]\n[children]\nmax = 1\n");
    let text = r#"{"command": ["true"], "allow": ["x.dev.localhost"]}"#;
    assert_eq!(refused(&parent, text).len(), 1);
    let text = r#"{"command": ["true"], "allow": ["*.dev.localhost"]}"#;
    assert!(matches!(child(&parent, text).network, Network::Allowlist { .. }), "the control");
}

#[test]
fn generations_end() {
    let parent = plan("[limits]\nmemory = \"1g\"\n[children]\nmax = 1\ndepth = 2\n");
    let first = child(&parent, r#"{"command": ["true"]}"#);
    let second = child(&first, r#"{"command": ["true"]}"#);
    assert_eq!(second.children, None);
    let memory = |plan: &Plan| plan.limits.memory.map_or(0, |memory| memory.0);
    assert!(memory(&parent) + memory(&first) + memory(&second) <= 1 << 30);
}

#[test]
fn what_covers_or_hides_files_stays_with_what_it_is_about() {
    let parent = plan(
        r#"
        [shared_dirs]
        repo = { host = "./repo", guest = "/repo", mode = "ro" }
        config = { host = "./repo/config", guest = "/config", mode = "ro", hide = ["*.key"] }
        cover = { host = "./empty", guest = "/repo/secrets", mode = "ro" }
        plain = { host = "./plain", guest = "/plain" }
        [children]
        max = 1
        "#,
    );
    let ask = |dirs: &str| format!(r#"{{"command": ["true"], "shared_dirs": {{{dirs}}}}}"#);
    let expected = [
        "`config` hides files, which may be in `repo` too, so a child has both or neither",
        "`cover` is mounted in `repo`, so a child has both or neither",
    ];
    assert_eq!(refused(&parent, &ask(r#""repo": "ro""#)), expected);
    let all = ask(r#""repo": "ro", "config": "ro", "cover": "ro""#);
    assert_eq!(child(&parent, &all).boundaries.len(), 3, "the control");
    assert_eq!(child(&parent, &ask("")).boundaries.len(), 0);
}

#[test]
fn an_open_network_gives_no_child_the_addresses_of_the_host() {
    let parent = plan("provider = \"docker\"\n[network]\nmode = \"open\"\n[children]\nmax = 1\n");
    let ask = |host: &str| format!(r#"{{"command": ["true"], "allow": ["{host}"]}}"#);
    for host in ["127.0.0.1:5432", "localhost:631", "10.0.0.1", "169.254.169.254"] {
        assert_eq!(refused(&parent, &ask(host)).len(), 1, "{host}");
    }
    assert!(matches!(child(&parent, &ask("example.org")).network, Network::Allowlist { .. }), "the control");
}
