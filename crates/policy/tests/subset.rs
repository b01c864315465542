//! Whether a worker has no more than its sandbox, and that every difference is named.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use policy::child::ChildRequest;
use policy::config::effective::Effective;
use policy::config::problem::Scope;
use policy::config::{Config, ConfigFile, PathBase};
use policy::plan::{FileId, Plan};
use policy::rules::shared_dir::PathKind;
use policy::{HostDirectory, HostFacts, Policy};

const SANDBOX: &str = r#"
    [agent]
    command = ["agent"]
    [shared_dirs]
    code = { host = "/srv/a/code", guest = "/workspace", hide = ["secret"] }
    data = { host = "/srv/a/data", guest = "/data", mode = "ro", exec = false }
    cover = { host = "/srv/a/empty", guest = "/data/inner", mode = "ro" }
    [env]
    pass = ["EDITOR"]
    unset = ["LANG"]
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
    allow = ["api.example.org:443", "*.files.example.org"]
    deny = ["bad.files.example.org"]
    [limits]
    memory = "1g"
    pids = 100
    timeout = "10m"
    [native]
    require = ["net", "seccomp", "landlock", "mount", "user", "pid", "capabilities"]
"#;

/// What every worker here has to say of what its sandbox narrows.
const NARROW: &str = r#"
    [env]
    unset = ["LANG"]
    [limits]
    memory = "512m"
    pids = 50
    timeout = "1m"
    [native]
    require = ["net", "seccomp", "landlock", "mount", "user", "pid", "capabilities"]
"#;

fn policy(text: &str) -> Policy {
    let base = PathBase { directory: "/home/me/project".into(), home: Some("/home/me".into()) };
    let file = ConfigFile { scope: Scope::User, label: "config.toml".into(), base };
    let config = Config::parse(text, &file).expect(text);
    Policy::new(&Effective::merge([config]), Path::new("/home/me/project")).expect("a policy")
}

fn plan(policy: &Policy) -> Plan {
    let directory = |wanted: &policy::BoundaryRequest| {
        let host = policy::rules::path::normalise(&wanted.host);
        let directory = HostDirectory {
            // Each its own.
            file_id: FileId { device: 1, inode: host.as_os_str().len() as u64 },
            host,
            kind: PathKind::Directory,
            owner: 1000,
            is_repository: false,
            repository: None,
        };
        (wanted.name.clone(), Ok(directory))
    };
    let facts = HostFacts {
        uid: 1000,
        homes: vec!["/home/me".into()],
        directories: policy.boundaries().iter().map(directory).collect(),
        workdir: Ok(()),
        name: "one".to_owned(),
        environment: vec![("EDITOR".into(), "vi".into()), ("PAGER".into(), "less".into())],
        home: None,
        absent: BTreeSet::new(),
        sockets: BTreeMap::new(),
        git: None,
        toolchains: BTreeMap::new(),
        allowed_root: None,
    };
    policy.plan(&facts).expect("a plan")
}

/// What a worker with these settings has beyond the sandbox.
fn beyond(worker: &str) -> Vec<String> {
    beyond_of(SANDBOX, &format!("{NARROW}\n{worker}"))
}

fn beyond_of(sandbox: &str, worker: &str) -> Vec<String> {
    let worker = policy(worker);
    let found = plan(&policy(sandbox)).exceeded_by(&plan(&worker), &worker.passed_variables());
    found.into_iter().map(|mistake| mistake.message).collect()
}

#[test]
fn the_same_and_less_is_no_more() {
    let sandbox = policy(SANDBOX);
    let (own, passed) = (plan(&sandbox), sandbox.passed_variables());
    assert_eq!(own.exceeded_by(&own, &passed), []);
    for worker in [
        "[shared_dirs]",
        "[shared_dirs]\ncode = { host = \"/srv/a/code\", guest = \"/x\", mode = \"ro\", hide = [\"secret\", \"more\"] }",
        "[shared_dirs]\npart = { host = \"/srv/a/code/src\", guest = \"/x\", hide = [\"secret\"] }",
        "[shared_dirs]\ncode = { host = \"/srv/a/code\", guest = \"/x\", hide = [\"secret\"] }\n\
         part = { host = \"/srv/a/data/other\", guest = \"/y\", mode = \"ro\", exec = false }",
        "[shared_dirs]\n[secrets.token]\nmode = \"inject\"\nenv_var = \"OTHER\"\nsource = \"file:/srv/token\"",
        "[shared_dirs]\n[network]\nmode = \"allowlist\"\nallow = [\"a.files.example.org\"]\ndeny = [\"bad.files.example.org\"]",
        "env.set = { PAGER = \"less\" }\n[shared_dirs]",
    ] {
        let worker =
            if worker.starts_with("env") { worker.replace("env.set", "# ") } else { worker.to_owned() };
        assert_eq!(beyond(&worker), Vec::<String>::new(), "{worker}");
    }
}

#[test]
fn every_difference_is_named() {
    for (worker, named) in [
        (
            "other = { host = \"/srv/a/other\", guest = \"/x\" }",
            "`other` shares /srv/a/other, which this sandbox does not have",
        ),
        (
            "up = { host = \"/srv/a\", guest = \"/x\" }",
            "`up` shares /srv/a, which this sandbox does not have",
        ),
        (
            "code = { host = \"/srv/a/code\", guest = \"/x\" }",
            "`code` shows what this sandbox hides: `secret`",
        ),
        (
            "data = { host = \"/srv/a/data/other\", guest = \"/x\", exec = false, hide = [\"secret\"] }",
            "`data` is writable, and /srv/a/data/other is read-only in this sandbox",
        ),
        (
            "data = { host = \"/srv/a/data/other\", guest = \"/x\", mode = \"ro\" }",
            "programs in `data` can be executed, which they cannot in this sandbox",
        ),
        (
            "data = { host = \"/srv/a/data\", guest = \"/x\", mode = \"ro\", exec = false }",
            "`data` shows /srv/a/data/inner, which `cover` covers in this sandbox",
        ),
        (
            "data = { host = \"/srv/a/data/inner/deep\", guest = \"/x\", mode = \"ro\", exec = false }",
            "`data` shows /srv/a/data/inner, which `cover` covers in this sandbox",
        ),
        (
            "data = { host = \"/srv/a/data/other\", guest = \"/x\", mode = \"ro\", exec = false }",
            "this sandbox hides files in `code`, which may be in `data` too, so a worker has both or neither",
        ),
    ] {
        let found = beyond(&format!("[shared_dirs]\n{worker}"));
        assert!(found.iter().any(|message| message == named), "{worker}: {found:#?}");
    }
    for (worker, named) in [
        (
            "[secrets.other]\nmode = \"inject\"\nenv_var = \"O\"\nsource = \"file:/srv/other\"",
            "it has the secret `other`, which this sandbox does not have",
        ),
        (
            "[secrets.key]\nmode = \"inject\"\nenv_var = \"KEY\"\nsource = \"file:/srv/key\"",
            "it sees the secret `key`, which stays with the egress proxy for this sandbox",
        ),
        (
            "[secrets.gpt]\nmode = \"proxy\"\nprovider = \"openai\"\nenv_var = \"OPENAI_API_KEY\"\nsource = \"file:/srv/token\"",
            "the egress proxy adds the secret `openai` to its requests, and not to those of this sandbox",
        ),
        (
            "[network]\nmode = \"allowlist\"\nallow = [\"example.net\"]\ndeny = [\"bad.files.example.org\"]",
            "it may reach `example.net`, and this sandbox may not",
        ),
        (
            "[network]\nmode = \"allowlist\"\nallow = [\"*.files.example.org\"]",
            "`bad.files.example.org` is denied to this sandbox, and not to it",
        ),
        ("[children]\nmax = 1", "it may start more sandboxes than this sandbox may"),
        ("[protect]\ndepth = 1", "`protect.depth` is 1, and 3 in this sandbox"),
        ("[protect]\nallow = [\".new\"]", "new names are not reported that this sandbox reports: `.new`"),
        (
            "[protect]\non_replaced = \"warn\"",
            "it is not ended when a protected file is replaced, and this sandbox is",
        ),
    ] {
        let found = beyond(&format!("[shared_dirs]\n{worker}"));
        assert!(found.iter().any(|message| message == named), "{worker}: {found:#?}");
    }
}

#[test]
fn another_provider_image_or_an_open_network_is_more() {
    let docker = "provider = \"docker\"\n[shared_dirs]\n";
    for (worker, named) in [
        (
            "provider = \"podman\"\n[shared_dirs]\n",
            "its provider is podman, and that of this sandbox is docker",
        ),
        (&*format!("{docker}[image]\nname = \"other\"\n"), "its image, or how that is run, is another one"),
        (&*format!("{docker}[network]\nmode = \"open\"\n"), "it has a network, and this sandbox has none"),
    ] {
        assert_eq!(beyond_of(docker, worker), [named], "{worker}");
    }
    let listed = format!("{docker}[network]\nmode = \"allowlist\"\nallow = [\"example.org\"]\n");
    let open = format!("{docker}[network]\nmode = \"open\"\n");
    assert_eq!(beyond_of(&listed, &open), ["it reaches every host, and this sandbox only some"]);
    assert_eq!(beyond_of(&open, &listed), Vec::<String>::new());
    let inwards = format!("{docker}[network]\nmode = \"allowlist\"\nallow = [\"127.0.0.1:80\"]\n");
    assert_eq!(beyond_of(&open, &inwards), ["`127.0.0.1:80` leads inwards, where this sandbox does not"]);
}

#[test]
fn limits_variables_and_layers_that_are_not_named_are_wider() {
    let worker = policy("provider = \"native\"\n[shared_dirs]\n[env]\npass = [\"PAGER\"]");
    let found = plan(&policy(SANDBOX)).exceeded_by(&plan(&worker), &worker.passed_variables());
    let found: Vec<_> = found.into_iter().map(|mistake| mistake.message).collect();
    for named in [
        "it sees the caller's value of the variable PAGER, and this sandbox does not",
        "the variable LANG is taken away from this sandbox, and not from it",
        "`limits.memory` is unlimited, and 1g in this sandbox",
        "`limits.pids` is 1024, and 100 in this sandbox",
        "`limits.timeout` is unlimited, and 10m in this sandbox",
    ] {
        assert!(found.iter().any(|message| message == named), "{named}: {found:#?}");
    }
}

#[test]
fn what_a_child_gets_is_never_more() {
    let parent = format!("{SANDBOX}\n[children]\nmax = 3\n");
    let parent = policy(&parent);
    let (own, passed) = (plan(&parent), parent.passed_variables());
    for request in [
        r#"{"command": ["true"]}"#,
        r#"{"command": ["true"], "shared_dirs": {"code": "rw", "data": "ro", "cover": "ro"}, "secrets": ["token", "anthropic"]}"#,
        r#"{"command": ["true"], "allow": ["a.files.example.org:80"], "memory": "64m", "pids": 5, "timeout": "1s"}"#,
    ] {
        let request = ChildRequest::parse(request.as_bytes()).expect(request);
        let child = own.child(&request, "child".to_owned()).expect("a child");
        assert_eq!(own.exceeded_by(&child, &passed), [], "{request:?}");
    }
}

#[test]
fn what_is_protected_is_protected_in_a_part_of_the_directory_too() {
    let sandbox = plan(&policy(
        "[shared_dirs]\ncode = { host = \"/srv/a/code\", guest = \"/w\" }\n[protect]\npaths = [\"a/b/c\", \"d\"]",
    ));
    let mut worker = plan(&policy("[shared_dirs]\npart = { host = \"/srv/a/code/x/a\", guest = \"/w\" }"));
    let before = worker.protect.paths.clone();
    sandbox.protect_in(&mut worker);
    let new: Vec<_> =
        worker.protect.paths.iter().filter(|path| !before.contains(path)).map(PathBuf::from).collect();
    // `x` may be a repository, in which `a/b/c` is protected.
    for path in ["a/b/c", "b/c", "d"] {
        assert!(new.contains(&PathBuf::from(path)), "{path}: {new:?}");
    }
    assert_eq!(sandbox.exceeded_by(&worker, &BTreeSet::new()), []);
}
