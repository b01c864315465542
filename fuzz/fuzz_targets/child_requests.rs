//! Any bytes as an agent's request for a child: reading them ends, and whatever child comes of it has nothing that its sandbox has not.
#![no_main]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use policy::child::ChildRequest;
use policy::config::effective::Effective;
use policy::config::problem::Scope;
use policy::config::{Config, ConfigFile, PathBase};
use policy::plan::{BoundaryMode, FileId, Network, Plan};
use policy::rules::network::HostRules;
use policy::rules::shared_dir::PathKind;
use policy::rules::verdict::Decision;
use policy::{BoundaryRequest, HostDirectory, HostFacts, Policy};

const PARENT: &str = r#"
shared_dirs.a = { host = "/srv/a", guest = "/a" }
shared_dirs.b = { host = "/srv/b", guest = "/b", mode = "ro" }
secrets.s = { mode = "inject", env_var = "S", source = "file:/srv/s" }
network.allow = ["a.example.org:443", "*.b.example.org"]
network.deny = ["c.b.example.org"]
limits = { memory = "1g", cpus = 2, pids = 100 }
children = { max = 2, depth = 2 }
"#;

static PLAN: LazyLock<Plan> = LazyLock::new(|| {
    let base = PathBase { directory: "/srv".into(), home: None };
    let file = ConfigFile { scope: Scope::User, label: "file".into(), base };
    let config = Config::parse(PARENT, &file).expect("a configuration");
    let policy = Policy::new(&Effective::merge([config]), Path::new("/srv")).expect("a policy");
    let directory = |wanted: &BoundaryRequest| {
        let directory = HostDirectory {
            host: wanted.host.clone(),
            kind: PathKind::Directory,
            owner: 1000,
            file_id: FileId { device: 1, inode: 1 },
            is_repository: false,
            repository: None,
        };
        (wanted.name.clone(), Ok(directory))
    };
    let facts = HostFacts {
        name: "parent".to_owned(),
        environment: Vec::new(),
        directories: policy.boundaries().iter().map(directory).collect(),
        home: None,
        absent: BTreeSet::new(),
        workdir: Ok(()),
        sockets: BTreeMap::new(),
        git: None,
        toolchains: BTreeMap::new(),
        uid: 1000,
        homes: vec!["/home/me".into()],
        other_homes: Vec::new(),
        allowed_root: None,
    };
    policy.plan(&facts).expect("a plan")
});

fuzz_target!(|bytes: &[u8]| {
    let Ok(request) = ChildRequest::parse(bytes) else { return };
    let parent = &*PLAN;
    let Ok(child) = parent.child(&request, "child".to_owned()) else { return };
    for boundary in &child.boundaries {
        let own = parent.boundaries.iter().find(|own| own.name == boundary.name).expect("the parent has it");
        assert_eq!((&own.host, &own.guest, &own.hide), (&boundary.host, &boundary.guest, &boundary.hide));
        assert!(own.mode == BoundaryMode::ReadWrite || boundary.mode == BoundaryMode::ReadOnly);
    }
    assert!(child.secrets.iter().all(|secret| parent.secrets.contains(secret)));
    assert!(child.sockets.is_empty() && child.agent.pass_fd.is_empty());
    let part = parent.children.as_ref().expect("it may have children");
    assert!(child.limits.memory <= part.limits.memory && child.limits.pids <= part.limits.pids);
    assert!(child.limits.memory.is_some() && child.limits.cpus.is_some() && child.limits.pids.is_some());
    let hosts = |plan: &Plan| match &plan.network {
        Network::None => HostRules::new(plan.network.mode(), Vec::new(), Vec::new()),
        Network::Allowlist { allow, deny, .. } => {
            HostRules::new(plan.network.mode(), allow.clone(), deny.clone())
        }
        Network::Open => unreachable!("the parent has a list"),
    };
    let (of_parent, of_child) = (hosts(parent), hosts(&child));
    for host in
        ["a.example.org", "x.b.example.org", "c.b.example.org", "example.org", "127.0.0.1", "localhost"]
    {
        for port in [80, 443] {
            let is_allowed = |rules: &HostRules| rules.decide(host, port).decision == Decision::Allow;
            assert!(is_allowed(&of_parent) || !is_allowed(&of_child), "{host}:{port}");
        }
    }
});
