//! Whether a worker has no more than its sandbox, and that every difference is named.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use policy::child::ChildRequest;
use policy::config::effective::Effective;
use policy::config::problem::Scope;
use policy::config::{Config, ConfigFile, PathBase};
use policy::plan::{FileId, Network, OnReplaced, Plan};
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
    set = { TERM = "dumb" }
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
        other_homes: Vec::new(),
        directories: policy.boundaries().iter().map(directory).collect(),
        workdir: Ok(()),
        name: "one".to_owned(),
        environment: [("EDITOR", "vi"), ("PAGER", "less"), ("LC_ALL", "C"), ("TERM", "xterm")]
            .map(|(name, value)| (name.into(), value.into()))
            .into(),
        home: None,
        absent: BTreeSet::new(),
        sockets: BTreeMap::new(),
        git: None,
        toolchains: BTreeMap::new(),
        allowed_root: None,
    };
    policy.plan(&facts).expect("a plan")
}

/// A worker with these settings, narrowed by the sandbox, and what it has beyond it.
fn narrowed(sandbox: &str, worker: &str) -> (Plan, Vec<String>) {
    let (own, policy) = (plan(&policy(sandbox)), policy(worker));
    let mut worker = plan(&policy);
    own.narrow(&mut worker, &policy.explicit_variables());
    let found = own.exceeded_by(&worker).into_iter().map(|mistake| mistake.message).collect();
    (worker, found)
}

fn beyond(worker: &str) -> Vec<String> {
    narrowed(SANDBOX, worker).1
}

#[test]
fn the_same_and_less_is_no_more() {
    assert_eq!(beyond(SANDBOX), Vec::<String>::new());
    for worker in [
        "[shared_dirs]",
        "[shared_dirs]\ncode = { host = \"/srv/a/code\", guest = \"/x\", mode = \"ro\" }",
        "[shared_dirs]\ncode = { host = \"/srv/a/code\", guest = \"/x\", hide = [\"more\"] }\n\
         part = { host = \"/srv/a/data/other\", guest = \"/y\", mode = \"ro\", exec = false }",
        "[shared_dirs]\n[secrets.token]\nmode = \"inject\"\nenv_var = \"OTHER\"\nsource = \"file:/srv/token\"",
        "[shared_dirs]\n[network]\nmode = \"allowlist\"\nallow = [\"a.files.example.org\"]",
        "[shared_dirs]\n[limits]\nmemory = \"8g\"\n[protect]\ndepth = 1\n[env]\npass = [\"PAGER\"]",
    ] {
        assert_eq!(beyond(worker), Vec::<String>::new(), "{worker}");
    }
}

#[test]
fn every_difference_is_named() {
    let code = "code = { host = \"/srv/a/code\", guest = \"/c\", mode = \"ro\" }";
    for (worker, named) in [
        (
            "other = { host = \"/srv/a/other\", guest = \"/x\" }",
            "`other` shares /srv/a/other, which this sandbox does not have",
        ),
        (
            "up = { host = \"/srv/a\", guest = \"/x\", mode = \"ro\" }",
            "`up` shares /srv/a, which this sandbox does not have",
        ),
        (
            "hidden = { host = \"/srv/a/code/secret\", guest = \"/x\", mode = \"ro\", hide = [\"secret\"] }",
            "`hidden` is a part of /srv/a/code, in which this sandbox hides `secret`",
        ),
        (
            "data = { host = \"/srv/a/data/other\", guest = \"/x\", exec = false }",
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
    ] {
        assert_eq!(beyond(&format!("[shared_dirs]\n{code}\n{worker}")), [named], "{worker}");
    }
    let alone =
        "[shared_dirs]\ndata = { host = \"/srv/a/data/other\", guest = \"/x\", mode = \"ro\", exec = false }";
    assert_eq!(
        beyond(alone),
        ["this sandbox hides files in `code`, which may be in `data` too, so a worker has both or neither"]
    );
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
            "`secrets.openai` routes its requests, and not those of this sandbox",
        ),
        (
            "[network]\nmode = \"allowlist\"\nallow = [\"example.net\"]",
            "it may reach `example.net`, and this sandbox may not",
        ),
        ("[children]\nmax = 1", "it may start sandboxes of its own"),
    ] {
        assert_eq!(beyond(&format!("[shared_dirs]\n{worker}")), [named], "{worker}");
    }
}

#[test]
fn a_part_of_a_directory_is_read_only_or_refused() {
    let sandbox = "[shared_dirs]\nall = { host = \"/srv/a/all\", guest = \"/w\" }";
    let part = |mode| {
        format!(
            "[shared_dirs]\npart = {{ host = \"/srv/a/all/.git/hooks\", guest = \"/x\", mode = \"{mode}\" }}"
        )
    };
    assert_eq!(narrowed(sandbox, &part("ro")).1, Vec::<String>::new());
    assert_eq!(
        narrowed(sandbox, &part("rw")).1,
        [
            "`part` is writable and a part of /srv/a/all: protected paths are found from the top of that, so a part of it cannot be writable"
        ]
    );
    // One that narrows what it lies in covers that.
    let sandbox = "[shared_dirs]\nall = { host = \"/srv/a/all\", guest = \"/w\", mode = \"ro\" }\n\
        out = { host = \"/srv/a/all/out\", guest = \"/w/out\", mode = \"ro\", exec = false }";
    let all = "[shared_dirs]\nall = { host = \"/srv/a/all\", guest = \"/w\", mode = \"ro\" }";
    assert_eq!(narrowed(sandbox, all).1, ["`all` shows /srv/a/all/out, which `out` covers in this sandbox"]);
}

#[test]
fn another_image_or_an_open_network_is_more() {
    let docker = "provider = \"docker\"\n[shared_dirs]\n";
    let other = format!("{docker}[image]\nname = \"other\"\n");
    assert!(narrowed(docker, &other).1[0].starts_with("its image is `other`"));
    let listed = format!("{docker}[network]\nmode = \"allowlist\"\nallow = [\"example.org\"]\n");
    let open = format!("{docker}[network]\nmode = \"open\"\n");
    let inwards = format!("{docker}[network]\nmode = \"allowlist\"\nallow = [\"127.0.0.1:80\"]\n");
    for (sandbox, worker, named) in [
        (docker, &*open, &["it has a network, and this sandbox has none"][..]),
        (&*listed, &open, &["it reaches every host, and this sandbox only some"]),
        (&open, &listed, &[]),
        (&open, &inwards, &["`127.0.0.1:80` leads inwards, where this sandbox does not"]),
    ] {
        assert_eq!(narrowed(sandbox, worker).1, named, "{worker}");
    }
}

#[test]
fn what_narrows_the_sandbox_narrows_the_worker() {
    let worker = "[shared_dirs]\ncode = { host = \"/srv/a/code\", guest = \"/x\", mode = \"ro\" }\n\
        [env]\npass = [\"PAGER\", \"EDITOR\"]\nset = { OWN = \"1\" }\n[limits]\nmemory = \"8g\"\npids = 7\n\
        [network]\nmode = \"allowlist\"\nallow = [\"a.files.example.org\"]\n[protect]\nallow = [\".new\"]\non_replaced = \"warn\"\n[native]\nrequire = []";
    let (worker, found) = narrowed(SANDBOX, worker);
    assert_eq!(found, Vec::<String>::new());
    let own = plan(&policy(SANDBOX));
    assert_eq!((worker.limits.memory, worker.limits.pids), (own.limits.memory, Some(7)));
    assert_eq!(worker.limits.timeout, own.limits.timeout);
    let value = |name: &str| {
        let variable = worker.env.iter().find(|variable| variable.name == name);
        variable.map(|variable| variable.value.to_str().unwrap_or_default())
    };
    // The caller's, the sandbox's, and its own.
    assert_eq!(
        (value("PAGER"), value("EDITOR"), value("TERM"), value("OWN")),
        (None, Some("vi"), Some("dumb"), Some("1"))
    );
    assert!(worker.unset.contains(&"LANG".to_owned()));
    assert_eq!(worker.boundaries[0].hide, ["secret"]);
    let Network::Allowlist { deny, .. } = &worker.network else { panic!("{:?}", worker.network) };
    assert!(deny.iter().any(|rule| rule.pattern.to_string() == "bad.files.example.org"));
    assert_eq!(
        (&worker.layers, &worker.protect.allow, worker.protect.on_replaced),
        (&own.layers, &Vec::new(), OnReplaced::End)
    );
}

#[test]
fn built_in_variables_are_taken_away_and_what_the_worker_sets_stays() {
    let sandbox = "[shared_dirs]\n[env]\nunset = [\"SHELL\", \"LANG\"]\n[lifecycle]\nmax_duration = \"1h\"";
    let (worker, _) = narrowed(sandbox, "[shared_dirs]\n[env]\nset = { LANG = \"C\" }");
    let names: Vec<_> = worker.env.iter().map(|variable| variable.name.as_str()).collect();
    assert!(!names.contains(&"SHELL") && names.contains(&"LANG"), "{names:?}");
    assert_eq!(worker.unset, ["SHELL"]);
    assert_eq!(worker.lifecycle.max_duration, Some(std::time::Duration::from_secs(3600)));
}

#[test]
fn interception_counts_where_the_worker_reaches_the_host() {
    let sandbox = "[shared_dirs]\n[network]\nmode = \"allowlist\"\nallow = [\"api.example.org\", \"example.net\"]\nintercept = [\"api.example.org\"]";
    let worker = |host| format!("[shared_dirs]\n[network]\nmode = \"allowlist\"\nallow = [\"{host}\"]");
    assert_eq!(narrowed(sandbox, &worker("example.net")).1, Vec::<String>::new());
    assert_eq!(
        narrowed(sandbox, &worker("api.example.org")).1,
        ["the egress proxy reads what this sandbox sends to `api.example.org`, and not what it sends"]
    );
    // A port on one side, and every name below on the other, are about the same host.
    let sandbox = sandbox.replace("allow = [\"api.example.org\"", "allow = [\"*.example.org\"");
    assert_eq!(narrowed(&sandbox, &worker("*.example.org:443")).1.len(), 1);
    let intercepted = worker("*.example.org:443") + "\nintercept = [\"*.example.org\"]";
    assert_eq!(narrowed(&sandbox, &intercepted).1, Vec::<String>::new());
}

#[test]
fn what_a_child_gets_is_never_more() {
    let parent = policy(&format!("{SANDBOX}\n[children]\nmax = 3\n"));
    let own = plan(&parent);
    for request in [
        r#"{"command": ["true"]}"#,
        r#"{"command": ["true"], "shared_dirs": {"code": "rw", "data": "ro", "cover": "ro"}, "secrets": ["token", "anthropic"]}"#,
        r#"{"command": ["true"], "allow": ["a.files.example.org:80"], "memory": "64m", "pids": 5, "timeout": "1s"}"#,
    ] {
        let request = ChildRequest::parse(request.as_bytes()).expect(request);
        let child = own.child(&request, "child".to_owned()).expect("a child");
        assert_eq!(own.exceeded_by(&child), [], "{request:?}");
        let mut same = child.clone();
        own.narrow(&mut same, &parent.explicit_variables());
        // Nothing was left to be narrowed but what is denied anyway.
        assert_eq!(
            (same.limits, same.env, same.layers),
            (child.limits, child.env, child.layers),
            "{request:?}"
        );
    }
}
