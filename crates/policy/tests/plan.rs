//! From configuration files to a plan.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use policy::agents::ProfileContext;
use policy::build_spec::{BuildFlags, BuildSpec};
use policy::config::effective::{Effective, EngineAnswer};
use policy::config::key::ValueKind;
use policy::config::overrides::Overrides;
use policy::config::problem::{Problem, ProblemCode, Scope};
use policy::config::schema;
use policy::config::{Config, ConfigFile, Expose, PathBase, Toolchain};
use policy::plan::{BoundaryMode, FileId, Layer, Need, Network, Plan, Provider, SecretSource, Variable};
use policy::rules::home::Home;
use policy::rules::limits::Limits;
use policy::rules::path::PathAccess;
use policy::rules::shared_dir::PathKind;
use policy::rules::socket::SocketSource;
use policy::rules::verdict::Decision;
use policy::{
    BoundaryRequest, HostDirectory, HostFacts, HostHome, LinkedWorktree, Policy, Presence, ToolchainParts,
    Unavailable,
};

const PROJECT: &str = "/home/me/project";

fn base() -> PathBase {
    PathBase { directory: PROJECT.into(), home: Some("/home/me".into()) }
}

fn project(text: &str) -> Config {
    let file = ConfigFile { scope: Scope::Project, label: "sandbox.toml".into(), base: base() };
    Config::parse(text, &file).expect(text)
}

fn policy(text: &str) -> Policy {
    Policy::new(&Effective::merge([project(text)]), Path::new(PROJECT)).expect(text)
}

fn refused(layers: impl IntoIterator<Item = Config>) -> Vec<Problem> {
    Policy::new(&Effective::merge(layers), Path::new(PROJECT)).expect_err("these settings go together")
}

/// A host on which everything is where it was asked for, but for what need not be there.
fn facts(policy: &Policy) -> HostFacts {
    let is_there = |wanted: &&BoundaryRequest| wanted.presence == Presence::Required;
    let (present, absent): (Vec<_>, Vec<_>) = policy.boundaries().iter().partition(is_there);
    let directories = present.into_iter().zip(1..).map(|(wanted, inode)| {
        let host = policy::rules::path::normalise(&wanted.host);
        let file_id = FileId { device: 1, inode };
        (
            wanted.name.clone(),
            Ok(HostDirectory {
                host,
                kind: PathKind::Directory,
                owner: 1001,
                file_id,
                is_repository: false,
                repository: None,
            }),
        )
    });
    let home = match policy.home() {
        Home::Temporary => None,
        Home::OfProject => Some("of-the-project".to_owned()),
        Home::Named(name) => Some(name.clone()),
    };
    HostFacts {
        sockets: policy
            .sockets()
            .iter()
            .map(|wanted| (wanted.name.clone(), Ok(led(&wanted.source))))
            .collect(),
        absent: absent.into_iter().map(|wanted| wanted.name.clone()).collect(),
        home: home.map(|name| HostHome { host: Path::new("/state/homes").join(&name), name, file_id: None }),
        name: "quick-fox".to_owned(),
        environment: vec![
            ("LANG".into(), "C.UTF-8".into()),
            ("HOME".into(), "/home/me".into()),
            ("PATH".into(), "/home/me/bin:/usr/bin".into()),
            ("AWS_SECRET_ACCESS_KEY".into(), "hunter2".into()),
        ],
        directories: directories.collect(),
        workdir: Ok(()),
        git: None,
        toolchains: BTreeMap::new(),
        uid: 1001,
        homes: vec!["/home/me".into()],
        other_homes: Vec::new(),
        allowed_root: None,
    }
}

fn led(source: &SocketSource) -> PathBuf {
    match source {
        SocketSource::Path(path) => policy::rules::path::normalise(path),
        SocketSource::Variable(_) => "/tmp/ssh-x/agent.1".into(),
    }
}

fn plan(text: &str) -> Plan {
    let policy = policy(text);
    policy.plan(&facts(&policy)).expect(text)
}

fn variable<'p>(plan: &'p Plan, name: &str) -> Option<&'p OsString> {
    plan.env.iter().find(|variable| variable.name == name).map(|variable| &variable.value)
}

#[test]
fn without_any_file_the_working_directory_is_the_workspace() {
    let plan = plan("");
    assert_eq!(plan.name, "quick-fox");
    assert_eq!(plan.provider, Provider::Native);
    assert_eq!(plan.agent.argv, ["bash", "-l"]);
    assert_eq!(plan.agent.workdir, Path::new("/workspace"));
    let [workspace] = plan.boundaries.as_slice() else { panic!("{:?}", plan.boundaries) };
    assert_eq!(
        (workspace.host.as_path(), workspace.guest.as_path()),
        (Path::new(PROJECT), Path::new("/workspace"))
    );
    assert_eq!(workspace.mode, BoundaryMode::ReadWrite);
    assert_eq!(plan.limits, Limits::default());
    let names: Vec<&str> = plan.env.iter().map(|variable| variable.name.as_str()).collect();
    assert_eq!(names, ["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "USER"]);
    assert_eq!(variable(&plan, "HOME").unwrap(), "/home/agent");
    assert!(!variable(&plan, "PATH").unwrap().to_string_lossy().contains("/home/me"));
}

/// The texts in the table of keys are documentation; what holds is in code. Both must say the same.
#[test]
fn the_documented_defaults_are_what_holds() {
    let defaults: Vec<String> = schema::KEYS
        .iter()
        .filter(|key| !key.default.is_empty() && !key.path.contains('*'))
        // An explicit `require_os_sandbox = true` means more than its default, and is no part of a plan.
        .filter(|key| key.path != "require_os_sandbox" && !key.path.starts_with("image"))
        .map(|key| format!("{} = {}", key.path, key.default))
        .collect();
    assert_eq!(plan(&defaults.join("\n")), plan(""));
}

#[test]
fn an_empty_table_shares_nothing_and_starts_at_home() {
    let plan = plan("[shared_dirs]");
    assert_eq!(plan.boundaries, []);
    assert_eq!(plan.agent.workdir, Path::new("/home/agent"));
}

#[test]
fn a_volume_comes_besides_the_workspace() {
    let overrides = Overrides { volume: vec!["/srv/data:/data:ro".to_owned()], ..Overrides::default() };
    let (flags, _) = overrides.read(&base());
    let policy = Policy::new(&Effective::merge([flags]), Path::new(PROJECT)).unwrap();
    let names: Vec<&str> = policy.boundaries().iter().map(|wanted| wanted.name.as_str()).collect();
    assert_eq!(names, ["workspace", "data"]);
}

#[test]
fn a_volume_at_the_workspace_takes_its_place() {
    let overrides = Overrides { volume: vec!["/srv/data:/workspace".to_owned()], ..Overrides::default() };
    let (flags, _) = overrides.read(&base());
    let policy = Policy::new(&Effective::merge([flags]), Path::new(PROJECT)).unwrap();
    let hosts: Vec<&Path> = policy.boundaries().iter().map(|wanted| wanted.host.as_path()).collect();
    assert_eq!(hosts, [Path::new("/srv/data")]);
}

#[test]
fn only_named_variables_enter_and_values_stay_bytes() {
    let policy = policy("[env]\npass = [\"RAW\", \"ABSENT\"]\nset = { LANG = \"de_DE.UTF-8\" }");
    let mut facts = facts(&policy);
    let raw = OsString::from_vec(vec![0xff, 0x01]);
    facts.environment.push(("RAW".into(), raw.clone()));
    let plan = policy.plan(&facts).unwrap();
    assert_eq!(variable(&plan, "RAW"), Some(&raw));
    assert_eq!(variable(&plan, "LANG").unwrap(), "de_DE.UTF-8");
    assert_eq!(variable(&plan, "ABSENT"), None);
    assert_eq!(variable(&plan, "AWS_SECRET_ACCESS_KEY"), None);
}

#[test]
fn a_secret_is_named_and_its_value_is_nowhere() {
    let policy = policy(
        "[secrets.aws]\nmode = \"inject\"\nenv_var = \"AWS_SECRET_ACCESS_KEY\"\nsource = \"env:AWS_SECRET_ACCESS_KEY\"",
    );
    let plan = policy.plan(&facts(&policy)).unwrap();
    assert_eq!(plan.secrets[0].source, SecretSource::Env("AWS_SECRET_ACCESS_KEY".to_owned()));
    assert!(!serde_json::to_string(&plan).unwrap().contains("hunter2"));
    assert_eq!(policy.variable("AWS_SECRET_ACCESS_KEY").decision, Decision::Allow);
}

#[test]
fn toolchains_stand_in_front_of_the_path() {
    let policy = policy("[native]\nexpose = [\"rust\"]");
    let mut facts = facts(&policy);
    let bin = PathBuf::from("/home/me/.rustup/toolchains/stable/bin");
    let exposed = policy::plan::Exposed {
        name: "rust".to_owned(),
        host: "/x".into(),
        guest: "/x".into(),
        file_id: policy::plan::FileId { device: 1, inode: 2 },
    };
    let parts = ToolchainParts {
        exposed: vec![exposed.clone()],
        links: vec![],
        bin: vec![bin],
        variables: vec![Variable { name: "RUSTUP_HOME".to_owned(), value: "/x".into() }],
    };
    facts.toolchains.insert(Expose::Preset(Toolchain::Rust), Ok(parts));
    let plan = policy.plan(&facts).unwrap();
    assert_eq!(plan.expose, [exposed]);
    let path = variable(&plan, "PATH").unwrap().to_string_lossy();
    assert!(path.starts_with("/home/me/.rustup/toolchains/stable/bin:/usr/local/bin:"), "{path}");
    assert_eq!(variable(&plan, "RUSTUP_HOME").unwrap(), "/x");
}

#[test]
fn everything_that_stands_against_a_plan_is_reported_at_once() {
    let policy = policy(
        "[shared_dirs]\ngone = { host = \"gone\", guest = \"/gone\" }\nssh = { host = \"~/.ssh\", guest = \"/ssh\" }\nroot = { host = \"/\", guest = \"/host\" }\n[native]\nexpose = [\"node\"]",
    );
    let mut facts = facts(&policy);
    let missing =
        |hint: &str| Unavailable { reason: "does not exist".to_owned(), hint: Some(hint.to_owned()) };
    facts.directories.insert("gone".to_owned(), Err(missing("--create-dirs makes it")));
    facts.toolchains.insert(
        Expose::Preset(Toolchain::Node),
        Err(Unavailable { reason: "`node` is not in PATH".to_owned(), hint: None }),
    );
    let problems = policy.plan(&facts).unwrap_err();
    let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(problems.len(), 4, "{shown:#?}");
    assert_eq!(
        shown[0],
        "sandbox.toml:2:1: shared_dirs.gone: `/home/me/project/gone` does not exist; --create-dirs makes it"
    );
    assert!(problems[1].code == ProblemCode::Refused && shown[1].contains("credentials"), "{}", shown[1]);
    assert!(
        problems[2].code == ProblemCode::Refused
            && shown[2].starts_with("sandbox.toml:4:1: shared_dirs.root: ")
    );
    assert!(
        shown[3].ends_with("native.expose: \"node\" cannot be exposed: `node` is not in PATH"),
        "{}",
        shown[3]
    );
}

#[test]
fn a_boundary_inside_a_writable_one_is_refused() {
    let policy =
        policy("[shared_dirs]\na = { host = \".\", guest = \"/a\" }\nb = { host = \"sub\", guest = \"/b\" }");
    let problems = policy.plan(&facts(&policy)).unwrap_err();
    assert_eq!(problems.len(), 1);
    assert!(problems[0].to_string().starts_with("sandbox.toml:3:1: shared_dirs.b: "), "{}", problems[0]);
}

#[test]
fn require_says_what_must_be_there_and_the_rest_is_preferred() {
    let default = plan("").layers;
    assert_eq!(default[&Layer::Landlock], Need::Required);
    assert_eq!(default[&Layer::Memory], Need::Preferred);
    assert_eq!(default[&Layer::Disk], Need::Preferred);
    assert_eq!(default.len(), 17);
    let own = plan("[native]\nrequire = [\"memory\"]").layers;
    assert_eq!(own[&Layer::Memory], Need::Required);
    assert_eq!(own[&Layer::Landlock], Need::Preferred);
}

#[test]
fn auto_takes_native_unless_an_image_is_asked_for_and_an_engine_answers() {
    assert!(plan("").provider_reason.is_some());
    let with = |text: &str, answer: EngineAnswer| {
        let mut effective = Effective::merge([project(text)]);
        assert!(effective.needs_engine_query(), "{text}");
        effective.with_engine(answer);
        let policy = Policy::new(&effective, Path::new(PROJECT)).unwrap();
        policy.plan(&facts(&policy)).unwrap()
    };
    let none = with("[image]", EngineAnswer::None("nobody is there".to_owned()));
    assert_eq!((none.provider, none.container), (Provider::Native, None));
    let reason = none.provider_reason.unwrap();
    assert!(reason.contains("nobody is there") && reason.contains("sandbox.toml:1:2"), "{reason}");
    let podman = with("[image]\nname = \"box:1\"", EngineAnswer::By(Provider::Podman));
    assert_eq!(podman.provider, Provider::Podman);
    assert_eq!(podman.container.unwrap().image, "box:1");
    assert!(podman.provider_reason.unwrap().contains("podman answers"));

    for text in ["", "provider = \"native\"\n[image]", "provider = \"docker\"\n[image]"] {
        assert!(!Effective::merge([project(text)]).needs_engine_query(), "{text}");
    }
    assert_eq!(plan("require_os_sandbox = false").provider, Provider::Native);
    assert_eq!(plan("provider = \"native\"").provider_reason, None);
}

#[test]
fn a_container_has_what_its_image_has() {
    let plan = plan(
        "provider = \"docker\"\n[native]\nexpose = [\"rust\"]\nrequire = [\"user\"]\n[agent]\nworkdir = \"/srv\"",
    );
    assert_eq!(plan.container.as_ref().unwrap().image, "sandbox-image");
    assert!(plan.expose.is_empty(), "toolchains of the host are not for containers");
    assert_eq!((variable(&plan, "PATH"), variable(&plan, "SHELL")), (None, None));
    assert_eq!(variable(&plan, "HOME").unwrap(), "/home/agent");
    assert_eq!((plan.layers[&Layer::User], plan.layers[&Layer::Seccomp]), (Need::Preferred, Need::Required));
}

#[test]
fn local_runs_where_the_files_are_and_as_the_caller() {
    let plan = plan("provider = \"local\"\n[agent]\nworkdir = \"/workspace/sub\"");
    assert_eq!(plan.provider, Provider::Local);
    assert_eq!(plan.agent.workdir, Path::new("/home/me/project/sub"));
    assert_eq!(plan.boundaries[0].guest, Path::new(PROJECT));
    assert_eq!(variable(&plan, "HOME").unwrap(), "/home/me");
    assert_eq!(variable(&plan, "AWS_SECRET_ACCESS_KEY"), None);
    assert!(plan.layers.values().all(|need| *need == Need::Preferred));
}

#[test]
fn a_stronger_layer_decides_between_passing_and_setting() {
    let overrides = Overrides { env: vec!["EDITOR=vi".into()], ..Overrides::default() };
    let (flags, _) = overrides.read(&base());
    let effective = Effective::merge([project("[env]\npass = [\"EDITOR\"]"), flags]);
    let policy = Policy::new(&effective, Path::new(PROJECT)).unwrap();
    let plan = policy.plan(&facts(&policy)).unwrap();
    assert_eq!(variable(&plan, "EDITOR").unwrap(), "vi");

    let overrides = Overrides { env: vec!["LANG".into()], ..Overrides::default() };
    let (flags, _) = overrides.read(&base());
    let effective = Effective::merge([project("[env]\nset = { LANG = \"C\" }"), flags]);
    let policy = Policy::new(&effective, Path::new(PROJECT)).unwrap();
    assert_eq!(variable(&policy.plan(&facts(&policy)).unwrap(), "LANG").unwrap(), "C.UTF-8");
}

#[test]
fn a_flag_replaces_what_a_file_may_not_have() {
    let open = || project("[network]\nmode = \"open\"");
    assert_eq!(refused([open()])[0].code, ProblemCode::Refused);
    let mode = schema::find("network", "mode").unwrap();
    let overrides = Overrides { keys: vec![(mode, vec!["none".to_owned()])], ..Overrides::default() };
    let (flags, _) = overrides.read(&base());
    assert!(Policy::new(&Effective::merge([open(), flags]), Path::new(PROJECT)).is_ok());
}

#[test]
fn questions_have_answers_with_an_origin() {
    let policy = policy("[shared_dirs]\na = { host = \"a\", guest = \"/a\", mode = \"ro\" }");
    let inside = policy.guest_path(Path::new("/a/x"), PathAccess::Read);
    assert_eq!((inside.decision, inside.origin.to_string().as_str()), (Decision::Allow, "sandbox.toml:2"));
    assert_eq!(policy.guest_path(Path::new("/a/x"), PathAccess::Write).decision, Decision::Deny);
    assert_eq!(
        policy.host_path(Path::new("/home/me/project/a/x"), PathAccess::Read).decision,
        Decision::Allow
    );
    assert_eq!(policy.host_path(Path::new("/home/me/project/ab"), PathAccess::Read).decision, Decision::Deny);
    assert_eq!(
        policy.host_path(Path::new("/home/me/project/a/../b"), PathAccess::Read).decision,
        Decision::Deny
    );
    assert_eq!(policy.host("example.org", 443).decision, Decision::Deny);
    assert_eq!(policy.variable("AWS_SECRET_ACCESS_KEY").decision, Decision::Deny);
    assert_eq!(policy.variable("LANG").decision, Decision::Allow);
}

/// Other values than the default, where the example is the default or changes nothing on the host of these tests.
const OTHER_VALUES: &[(&str, &str)] = &[
    ("provider", "\"docker\""),
    ("agent.user", "\"1001\""),
    ("agent.init", "false"),
    ("env.pass", "[\"AWS_SECRET_ACCESS_KEY\"]"),
    ("limits.output_bytes", "\"1m\""),
    ("network.mode", "\"open\""),
    ("native.expose", "[\"/opt/tools\"]"),
    ("secrets.x.mode", "\"proxy\""),
    ("commands.read", "\"deny\""),
    ("commands.rules.x.pattern", "[\"ls\"]"),
    ("commands.rules.x.decision", "\"deny\""),
    // Examples that do not hold are refused.
    ("commands.rules.x.matching", "[\"git pull\"]"),
    ("commands.rules.x.not_matching", "[\"git push\"]"),
    ("workers.x.inherit", "\"none\""),
];

/// What a key needs beside it to be complete.
fn needed_beside(key: &str) -> &'static [(&'static str, &'static str)] {
    match key.split('.').next() {
        Some("shared_dirs") => &[("shared_dirs.x.host", "\"x\""), ("shared_dirs.x.guest", "\"/x\"")],
        Some("sockets") => &[("sockets.x.host", "\"/run/x.sock\"")],
        Some("secrets") => &[
            ("secrets.x.mode", "\"inject\""),
            ("secrets.x.env_var", "\"X\""),
            ("secrets.x.source", "\"env:Y\""),
        ],
        // A denial counts where something is allowed.
        Some("network") => &[("network.mode", "\"allowlist\"")],
        Some("pool") => &[("pool.size", "1")],
        Some("commands") if key.starts_with("commands.rules") => {
            &[("commands.rules.x.pattern", "[\"git\", \"push\"]"), ("commands.rules.x.decision", "\"ask\"")]
        }
        Some("workers") => &[("workers.x.config", "\"w.toml\"")],
        Some("children") => &[("children.max", "1"), ("limits.memory", "\"1g\""), ("limits.cpus", "2")],
        _ => &[],
    }
}

#[test]
fn whoever_names_hosts_wants_to_reach_them() {
    let network = |text: &str| {
        Policy::new(&Effective::merge([project(text)]), Path::new(PROJECT)).map(|policy| {
            let plan = policy.plan(&facts(&policy)).unwrap();
            let proxy = plan
                .env
                .iter()
                .find(|variable| variable.name == "HTTPS_PROXY")
                .map(|found| found.value.clone());
            (plan.network, proxy)
        })
    };
    let allow = "[network]\nallow = [\"api.example.org:443\"]\n";
    let (named, proxy) = network(allow).unwrap();
    assert!(
        matches!(&named, Network::Allowlist { allow, deny, .. } if allow.len() == 1 && deny.is_empty()),
        "{named:?}"
    );
    assert_eq!(proxy, Some("http://127.0.0.1:61080".into()));
    // A list beside a network that is off would mean nothing.
    assert!(network(&format!("{allow}mode = \"none\"")).is_err());
    assert_eq!(
        network(&format!("{allow}[env]\nset = {{ HTTPS_PROXY = \"mine\" }}")).unwrap().1,
        Some("mine".into())
    );
    // A preset is its hosts by then, each on its port and no other.
    let (named, _) = network("[network]\nallow = [\"preset:pypi\"]").unwrap();
    let Network::Allowlist { allow: hosts, .. } = named else { panic!("{named:?}") };
    let hosts: Vec<_> = hosts.iter().map(ToString::to_string).collect();
    assert_eq!(hosts, ["`files.pythonhosted.org:443` of `preset:pypi`", "`pypi.org:443` of `preset:pypi`"]);
    // Nothing would enforce these.
    for text in [
        format!("provider = \"local\"\nrequire_os_sandbox = false\n{allow}"),
        "provider = \"docker\"\n[network]\nmode = \"open\"\ndeny = [\"example.org\"]".to_owned(),
    ] {
        let problems = network(&text).unwrap_err();
        assert!(problems.iter().any(|problem| problem.code == ProblemCode::Refused), "{text}: {problems:?}");
    }
    // A flag that would have no effect.
    let host = schema::find("network", "allow").unwrap();
    let overrides = Overrides { keys: vec![(host, vec!["example.org".to_owned()])], ..Overrides::default() };
    let (flags, _) = overrides.read(&base());
    let both = Effective::merge([project("[network]\nmode = \"none\""), flags]);
    assert_eq!(Policy::new(&both, Path::new(PROJECT)).unwrap_err()[0].code, ProblemCode::Conflict);
}

/// The same where the project is a linked worktree.
fn with_repository(mut policy: Policy) -> Policy {
    let worktree = LinkedWorktree {
        directory: "workspace".to_owned(),
        repository: "/home/me/main/.git".into(),
        data: "tree".to_owned(),
        names: "/home/me/main/.git/worktrees/tree".into(),
        named: Path::new(PROJECT).join(".git"),
    };
    let names: Vec<_> = policy.possible_worktrees(None).map(|wanted| wanted.name.clone()).collect();
    if names.contains(&worktree.directory) {
        policy.share_repository(&worktree).expect("nothing else is there");
    }
    policy
}

/// A row alone would be accepted, documented and ignored: whoever adds one has to act on it, or to refuse it.
#[test]
fn every_key_changes_the_plan_or_the_image_or_is_refused() {
    let carried_out = |settings: &[(&str, &str)]| {
        let lines: Vec<String> = settings.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        let mut effective = Effective::merge([project(&lines.join("\n"))]);
        if let Some(profile) = effective.profile().map(|profile| profile.value.0) {
            effective.with_profile(project(&profile.settings(&ProfileContext::default())));
        }
        let build = BuildSpec::new(&effective, &BuildFlags::default()).map_err(drop);
        let policy = Policy::new(&effective, Path::new(PROJECT)).map_err(drop).map(with_repository);
        // A worker is lowered from a file of its own.
        let workers = policy.as_ref().map(|policy| format!("{:?}", policy.workers())).unwrap_or_default();
        (policy.and_then(|policy| policy.plan(&facts(&policy)).map_err(drop)), build, workers)
    };
    let leaves =
        schema::KEYS.iter().filter(|key| !matches!(key.kind, ValueKind::Table | ValueKind::Named(_)));
    for key in leaves.filter(|key| key.path != "version") {
        let path = key.path.replace('*', "x");
        let other = OTHER_VALUES.iter().find(|(key, _)| *key == path);
        let value = other.map_or(key.example, |(_, value)| value);
        let mut settings: Vec<_> = needed_beside(&path).to_vec();
        if path.starts_with("container") || path.starts_with("pool") || path == "image.name" {
            settings.push(("provider", "\"docker\""));
        }
        // It is what the providers with isolation do anyway.
        if path == "require_os_sandbox" {
            settings.push(("provider", "\"local\""));
        }
        let without = carried_out(&settings);
        settings.retain(|(beside, _)| *beside != path);
        settings.push((&path, value));
        assert!(carried_out(&settings) != without, "{path} = {value} changes nothing");
    }
}

#[test]
fn a_socket_is_where_programs_look_for_it_or_in_run() {
    let text = r#"
        [sockets]
        ssh = { host = "env:SSH_AUTH_SOCK" }
        db = { host = "/run/postgresql/.s.PGSQL.5432" }
        gpg = { host = "~/.gnupg/S.gpg-agent", env_var = "GPG_SOCKET" }
        other = { host = "/srv/other", guest = "/tmp/a/b" }
    "#;
    let plan = plan(text);
    let places: Vec<_> = plan.sockets.iter().map(|socket| socket.guest.to_str().unwrap()).collect();
    assert_eq!(places, ["/run/postgresql/.s.PGSQL.5432", "/run/gpg.sock", "/tmp/a/b", "/tmp/ssh-x/agent.1"]);
    assert_eq!(variable(&plan, "SSH_AUTH_SOCK").unwrap(), "/tmp/ssh-x/agent.1");
    assert_eq!(variable(&plan, "GPG_SOCKET").unwrap(), "/run/gpg.sock");
    // Without isolation it is the socket itself.
    let policy = policy(&format!("provider = \"local\"\n{text}"));
    let local = policy.plan(&facts(&policy)).unwrap();
    assert_eq!(local.sockets, []);
    assert_eq!(variable(&local, "GPG_SOCKET").unwrap(), "/home/me/.gnupg/S.gpg-agent");
}

#[test]
fn a_socket_that_the_agent_could_replace_or_that_has_no_place_is_refused() {
    let refused = |text: &str| {
        let policy = policy(text);
        policy.plan(&facts(&policy)).map_or_else(|problems| problems[0].message.clone(), |_| String::new())
    };
    for host in ["./run/app.sock", "/home/me/project/app.sock", "../project/x"] {
        let text = format!("sockets.x.host = \"{host}\"");
        assert!(refused(&text).contains("lies in `workspace`, which the agent can write"), "{host}");
    }
    let read_only = "sockets.x.host = \"./x\"\nshared_dirs.workspace = { host = \".\", guest = \"/workspace\", mode = \"ro\" }";
    assert_eq!(refused(read_only), "", "the control");
    let twice = "[sockets]\na = { host = \"/srv/a\", guest = \"/run/s\" }\nb = { host = \"/srv/b\", guest = \"/run/s/t\" }";
    assert_eq!(refused(twice), "nothing can be at /run/s/t: `a` is there");
    let shared = "sockets.a = { host = \"/srv/a\", guest = \"/tmp/d/s\" }\nshared_dirs.d = { host = \"d\", guest = \"/tmp/d\" }";
    assert_eq!(refused(shared), "nothing can be at /tmp/d/s: `d` is there");
    let set = "env.set.X = \"1\"\nsockets.a = { host = \"/srv/a\", env_var = \"X\" }";
    let problems = self::refused([project(set)]);
    assert!(problems[0].message.contains("`X` is asked for in two ways"), "{problems:?}");
}
