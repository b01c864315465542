//! What a project's file may not do without trust.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use policy::config::effective::Effective;
use policy::config::key::{TrustRule, ValueKind, split};
use policy::config::problem::Scope;
use policy::config::schema;
use policy::config::trust::{ResolvedPath, TrustContext, Widening, paths, widenings};
use policy::config::{Config, ConfigFile, PathBase, ProviderChoice};
use policy::plan::Provider;

const PROJECT: &str = "/home/me/project";

/// One value for every key that can widen, and the key that is named for it.
const WIDENING: &[(&str, &str)] = &[
    ("provider", "provider = \"local\""),
    ("require_os_sandbox", "require_os_sandbox = false"),
    ("agent.profile", "agent.profile = \"codex\""),
    ("agent.user", "agent.user = \"root\""),
    ("agent.user", "agent.user = \"0:0\""),
    ("agent.user", "agent.user = \"1000:0\""),
    ("home.keep", "home.keep = true"),
    ("home.name", "home.name = \"other\""),
    ("image.dockerfile", "image.dockerfile = \"Dockerfile\""),
    ("image.ca_certificates", "image.ca_certificates = \"ca.pem\""),
    ("image.base", "image.base = \"registry.example.org/debian:13\""),
    ("image.base", "image.base = \"debian.example.org/x\""),
    ("image.base", "image.base = \"debianish\""),
    ("image.build_args.x", "image.build_args.x = \"1\""),
    ("shared_dirs.x.host", "shared_dirs.x = { host = \"..\", guest = \"/x\" }"),
    ("shared_dirs.x.host", "shared_dirs.x = { host = \"a/../../other\", guest = \"/x\" }"),
    (
        "shared_dirs.x.host",
        "shared_dirs.x = { host = \"/home/me/project-2\", guest = \"/x\", mode = \"ro\" }",
    ),
    ("shared_dirs.x.host", "shared_dirs.x = { host = \"~/.local\", guest = \"/x\" }"),
    ("shared_dirs.x.host", "shared_dirs.x = { host = \"link-to-home\", guest = \"/x\" }"),
    ("shared_dirs.x.host", "shared_dirs.x = { host = \"dangling\", guest = \"/x\" }"),
    ("shared_dirs.x.host", "shared_dirs.x = { host = \".git/hooks\", guest = \"/x\" }"),
    ("shared_dirs.x.host", "shared_dirs.x = { host = \".git\", guest = \"/x\" }"),
    ("shared_dirs.x.host", "shared_dirs.x = { host = \"sub/.vscode/x\", guest = \"/x\" }"),
    ("shared_dirs.x.host", "shared_dirs.x = { host = \".cargo\", guest = \"/x\" }"),
    ("shared_dirs.x.host", "shared_dirs.x = { host = \"link-to-hooks\", guest = \"/x\" }"),
    ("shared_dirs.x.host", "shared_dirs.x = { host = \"hooks-of-bare\", guest = \"/x\" }"),
    ("shared_dirs.x.host", "shared_dirs.x = { host = \"hooks-of-git\", guest = \"/x\" }"),
    ("secrets.x", "secrets.x = { mode = \"inject\", env_var = \"X\", source = \"env:X\" }"),
    ("sockets.x", "sockets.x.host = \"/run/x.sock\""),
    ("sockets.x", "sockets.x.host = \"env:SSH_AUTH_SOCK\""),
    ("env.pass", "env.pass = [\"LANG\", \"AWS_SECRET_ACCESS_KEY\"]"),
    ("network.mode", "network.mode = \"allowlist\""),
    ("network.mode", "network.mode = \"open\""),
    ("network.allow", "network.allow = [\"example.org\"]"),
    ("network.allow", "network.allow = [\"preset:npm\"]"),
    ("network.allow", "network.allow = [\"GET http://example.org/*\"]"),
    ("network.intercept", "network.intercept = [\"example.org\"]"),
    ("network.deny", "network.deny = [\"other.example\"]"),
    ("network.deny", "network.deny = [\"DELETE http://example.org/*\"]"),
    ("limits.memory", "limits.memory = \"5g\""),
    ("limits.memory", "limits.memory = \"unlimited\""),
    ("limits.cpus", "limits.cpus = 9"),
    ("limits.timeout", "limits.timeout = \"2h\""),
    ("limits.pids", "limits.pids = 1025"),
    ("limits.pids", "limits.pids = \"unlimited\""),
    ("limits.output_bytes", "limits.output_bytes = \"11m\""),
    ("limits.tmp_size", "limits.tmp_size = \"513m\""),
    ("limits.network_bytes", "limits.network_bytes = \"unlimited\""),
    ("limits.cpu_time", "limits.cpu_time = \"2h\""),
    ("limits.file_size", "limits.file_size = \"unlimited\""),
    ("git.repository", "git.repository = \"ro\""),
    ("protect.allow", "protect.allow = [\".git/config\"]"),
    ("protect.depth", "protect.depth = 2"),
    ("protect.on_replaced", "protect.on_replaced = \"warn\""),
    (
        "native.require",
        "native.require = [\"user\", \"mount\", \"pid\", \"net\", \"ipc\", \"landlock\", \"seccomp\"]",
    ),
    ("native.expose", "native.expose = [\"rust\", \"/opt/tools\"]"),
    ("container.runtime", "container.runtime = \"runsc\""),
    ("pool.size", "pool.size = 1"),
    ("pool.max_age", "pool.max_age = \"11m\""),
    ("children.max", "children.max = 1"),
    ("children.depth", "children.depth = 2"),
    ("children.memory", "children.memory = \"1g\""),
    ("children.cpus", "children.cpus = 2"),
    ("children.pids", "children.pids = 200"),
    ("children.timeout", "children.timeout = \"unlimited\""),
    ("lifecycle.idle_timeout", "lifecycle.idle_timeout = \"unlimited\""),
    ("lifecycle.max_duration", "lifecycle.max_duration = \"2h\""),
    ("commands.read", "commands.read = \"allow\""),
    ("commands.write", "commands.write = \"ask\""),
    ("commands.execute", "commands.execute = \"ask\""),
    ("commands.network", "commands.network = \"allow\""),
    ("commands.rules.x", "commands.rules.x = { pattern = [\"ls\"], decision = \"allow\" }"),
    ("commands.rules.mine", "commands.rules.mine = { pattern = [\"ls\"], decision = \"deny\" }"),
    ("container.host_path_prefix", "container.host_path_prefix = \"/x\""),
    ("workers.mine", "workers.mine = { config = \"w.toml\" }"),
    ("workers.x.inherit", "workers.x = { config = \"w.toml\", inherit = \"none\" }"),
    ("workers.x.max", "workers.x = { config = \"w.toml\", max = 2 }"),
];

/// A directory that the user shares, in which the project lies.
const OWN_DIRECTORY: &str = r#"
    [shared_dirs.code]
    host = "/home/me"
    guest = "/code"
    mode = "ro"
    exec = false
    hide = ["*.key", "deep/secrets/"]
    suffixes = [".md", ".rs"]
    max_file_bytes = 1000
"#;

/// The same for what only widens where the user has that directory.
const WIDENING_OWN_DIRECTORY: &[(&str, &str)] = &[
    (
        "shared_dirs.x.mode",
        "shared_dirs.x = { host = \".\", guest = \"/x\", exec = false, suffixes = [\".md\"], max_file_bytes = 9 }",
    ),
    (
        "shared_dirs.x.exec",
        "shared_dirs.x = { host = \"a\", guest = \"/x\", mode = \"ro\", suffixes = [\".md\"], max_file_bytes = 9 }",
    ),
    (
        "shared_dirs.x.suffixes",
        "shared_dirs.x = { host = \"a\", guest = \"/x\", mode = \"ro\", exec = false, max_file_bytes = 9 }",
    ),
    (
        "shared_dirs.x.suffixes",
        "shared_dirs.x = { host = \"a\", guest = \"/x\", mode = \"ro\", exec = false, suffixes = [\".md\", \".sh\"], \
         max_file_bytes = 9 }",
    ),
    (
        "shared_dirs.x.max_file_bytes",
        "shared_dirs.x = { host = \"a\", guest = \"/x\", mode = \"ro\", exec = false, suffixes = [\".md\"] }",
    ),
    (
        "shared_dirs.x.suffixes",
        "shared_dirs.x = { host = \"a\", guest = \"/x\", mode = \"ro\", exec = false, suffixes = [], max_file_bytes = 9 }",
    ),
];

/// A directory of the user's, which hides files in others or covers a part of one.
const OWN_IN_PROJECT: &str =
    "[shared_dirs.mine]\nhost = \"/home/me/project/a\"\nguest = \"/a\"\nhide = [\"*.key\"]";

/// The same for what only widens where the user has that directory.
const REPLACING: &[(&str, &str)] = &[
    ("shared_dirs.mine.host", "shared_dirs.mine = { host = \"b\", guest = \"/a\", hide = [\"*.key\"] }"),
    ("shared_dirs.mine.guest", "shared_dirs.mine = { host = \"a\", guest = \"/b\", hide = [\"*.key\"] }"),
    (
        "shared_dirs.mine.optional",
        "shared_dirs.mine = { host = \"a\", guest = \"/a\", hide = [\"*.key\"], optional = true }",
    ),
    ("shared_dirs.mine.hide", "shared_dirs.mine = { host = \"a\", guest = \"/a\" }"),
];

/// Hosts to which the user has TLS intercepted.
const INTERCEPTING: &str =
    "[network]\nmode = \"allowlist\"\nallow = [\"api.example.org\"]\nintercept = [\"api.example.org\"]";

/// The same for what only widens where the user does so.
const NOT_INTERCEPTING: &[(&str, &str)] = &[("network.intercept", "network.intercept = []")];

/// The same for what only widens where the user is strict about a class.
const LAXER_RULES: &[(&str, &str)] =
    &[("commands.rules.x", "commands.rules.x = { pattern = [\"curl\"], decision = \"ask\" }")];

const NO_PULL: &str = "container.pull = \"never\"";

/// The same for what only widens where the user says [`NO_PULL`].
const WIDENING_PULL: &[(&str, &str)] =
    &[("container.pull", "container.pull = \"missing\""), ("container.pull", "container.pull = \"always\"")];

/// The same for what only widens where the user has chosen `local`.
const WIDENING_LOCAL: &[(&str, &str)] =
    &[("agent.command", "agent.command = [\"make\"]"), ("env.set.x", "env.set.x = \"1\"")];

/// The same for what only widens where an image is built.
const WIDENING_BUILDS: &[(&str, &str)] = &[("image.name", "image.name = \"debian:trixie-slim\"")];

fn config(scope: Scope, text: &str) -> Config {
    let base = PathBase { directory: PROJECT.into(), home: Some("/home/me".into()) };
    Config::parse(text, &ConfigFile { scope, label: "sandbox.toml".into(), base }).expect(text)
}

/// The keys that a project's file widens, where the user's own file is `user`.
fn widened(user: &str, project: &str) -> Vec<String> {
    let (provider, all) = found(user, project);
    all.into_iter().filter(|widening| widening.applies_to(provider)).map(|widening| widening.key).collect()
}

/// Who would run it, and all that the file widens for anybody.
fn found(user: &str, project: &str) -> (Provider, Vec<Widening>) {
    let project = config(Scope::Project, project);
    let lead = |path: &Path| ResolvedPath { path: path.to_owned(), repository: None, named: None };
    let leads: BTreeMap<PathBuf, ResolvedPath> = paths(&project)
        .filter_map(|path| match path.file_name()?.to_str()? {
            "dangling" => None,
            "link-to-home" => Some((path.to_owned(), lead(Path::new("/home/me")))),
            "link-to-hooks" => Some((path.to_owned(), lead(Path::new("/home/me/project/.git/hooks")))),
            "hooks-of-git" => {
                Some((path.to_owned(), ResolvedPath { named: Some("named by git".into()), ..lead(path) }))
            }
            "hooks-of-bare" => {
                Some((path.to_owned(), ResolvedPath { repository: Some(PROJECT.into()), ..lead(path) }))
            }
            _ => Some((path.to_owned(), lead(&policy::rules::path::normalise(path)))),
        })
        .collect();
    let user = config(Scope::User, user);
    let local = ProviderChoice::Named(Provider::Local);
    let chosen = user.general.provider.as_ref().is_some_and(|provider| provider.value == local);
    let provider = if chosen { Provider::Local } else { Provider::Native };
    let context = TrustContext {
        without: &Effective::merge([user]),
        directory: Path::new(PROJECT),
        resolved_directory: Path::new(PROJECT),
        leads: &leads,
    };
    (provider, widenings(&project, &context))
}

/// So a preset that has got a host since it was trusted asks again, for that host.
#[test]
fn a_preset_widens_by_each_of_its_hosts() {
    let said: Vec<_> =
        found("", "network.allow = [\"preset:pypi\"]").1.into_iter().map(|widening| widening.what).collect();
    let hosts = ["files.pythonhosted.org:443", "pypi.org:443"];
    assert_eq!(said, hosts.map(|host| format!("lets the agent reach {host}, of preset:pypi")));
}

#[test]
fn every_widening_value_is_found_alone() {
    let user = "git.repository = \"none\"\nnetwork.deny = [\"example.org\"]\n[limits]\nmemory = \"4g\"\ncpus = 8\ntimeout = \"1h\"\nnetwork_bytes = \"1g\"\ncpu_time = \"1h\"\nfile_size = \"1g\"\n[commands]\nread = \"ask\"\nwrite = \"deny\"\nexecute = \"deny\"\nnetwork = \"ask\"\n[commands.rules.mine]\npattern = [\"rm\"]\ndecision = \"deny\"\n[workers.mine]\nconfig = \"/w.toml\"\n[lifecycle]\nidle_timeout = \"10m\"\nmax_duration = \"1h\"\n[children]\nmemory = \"64m\"\ncpus = 1\npids = 100\ntimeout = \"1m\"";
    for (key, text) in WIDENING {
        assert_eq!(widened(user, text), [*key], "{text}");
    }
    for (key, text) in WIDENING_LOCAL {
        assert_eq!(widened("provider = \"local\"", text), [*key], "{text}");
        assert_eq!(widened("", text), Vec::<String>::new(), "{text}");
    }
    for (key, text) in WIDENING_OWN_DIRECTORY {
        assert_eq!(widened(OWN_DIRECTORY, text), [*key], "{text}");
        assert_eq!(widened("", text), Vec::<String>::new(), "{text}");
    }
    for (user, texts) in [
        (OWN_IN_PROJECT, REPLACING),
        (INTERCEPTING, NOT_INTERCEPTING),
        ("commands.network = \"deny\"", LAXER_RULES),
    ] {
        for (key, text) in texts {
            assert_eq!(widened(user, text), [*key], "{text}");
            assert_eq!(widened("", text), Vec::<String>::new(), "{text}");
        }
    }
    for (key, text) in WIDENING_PULL {
        assert_eq!(widened(NO_PULL, text), [*key], "{text}");
        assert_eq!(widened("", text), Vec::<String>::new(), "{text}");
    }
    for (key, text) in WIDENING_BUILDS {
        let built = found("", text).1.into_iter().filter(Widening::applies_to_builds);
        assert_eq!(built.map(|widening| widening.key).collect::<Vec<_>>(), [*key], "{text}");
        assert_eq!(widened("", text), Vec::<String>::new(), "{text}");
    }
}

/// A new key cannot be forgotten: it says in the table whether it can widen, and this holds it to that.
#[test]
fn every_key_of_the_table_does_what_the_table_says() {
    for key in schema::KEYS {
        let all =
            [WIDENING, WIDENING_LOCAL, WIDENING_PULL, WIDENING_BUILDS, WIDENING_OWN_DIRECTORY, REPLACING];
        let listed = all.iter().flat_map(|list| *list).any(|(widening, _)| {
            ["x", "mine", "code"].iter().any(|name| key.path.replace('*', name) == *widening)
        });
        match key.trust {
            TrustRule::Needed(_) => assert!(listed, "{} has no widening value above", key.path),
            TrustRule::Free => assert!(!listed, "{} is said to be free", key.path),
        }
        let table = matches!(key.kind, ValueKind::Table | ValueKind::Named(_));
        if key.trust == TrustRule::Free
            && !table
            && !key.path.starts_with("secrets")
            && !key.path.starts_with("sockets")
        {
            let needed = if key.path.starts_with("shared_dirs") {
                "shared_dirs.x.host = \"x\"\nshared_dirs.x.guest = \"/x\"\n"
            } else if key.path.starts_with("commands.rules") {
                "commands.rules.x.pattern = [\"git\", \"push\"]\ncommands.rules.x.decision = \"ask\"\n"
            } else if key.path.starts_with("workers") {
                "workers.x.config = \"w.toml\"\n"
            } else {
                ""
            };
            let line = format!("{} = {}\n", key.path.replace('*', "x"), key.example);
            let text = if needed.contains(split(key.path).1) {
                needed.to_owned()
            } else {
                format!("{needed}{line}")
            };
            assert_eq!(widened("", &text), Vec::<String>::new(), "{text}");
        }
    }
}

#[test]
fn a_directory_that_is_no_wider_than_the_users_needs_no_trust() {
    for text in [
        "shared_dirs.x = { host = \"a\", guest = \"/x\", mode = \"ro\", exec = false, suffixes = [\".md\"], max_file_bytes = 9 }",
        "shared_dirs.y = { host = \".\", guest = \"/x\", mode = \"ro\", exec = false, suffixes = [\".md\"], max_file_bytes = 9, \
         hide = [\"*.key\", \"**/secrets/\"] }",
    ] {
        let user = OWN_DIRECTORY.replace(", \"deep/secrets/\"", "");
        assert_eq!(widened(&user, text), Vec::<String>::new(), "{text}");
    }
    // The user's directory is another one.
    let user = OWN_DIRECTORY.replace("/home/me", "/home/me/other");
    assert_eq!(widened(&user, "shared_dirs.x = { host = \".\", guest = \"/x\" }"), Vec::<String>::new());
    // The user's own, as it is or narrower.
    for more in ["", ", mode = \"ro\"", ", exec = false", ", optional = false"] {
        let text = format!(
            "shared_dirs.mine = {{ host = \"./a\", guest = \"/a\", hide = [\"*.key\", \"x\"]{more} }}"
        );
        assert_eq!(widened(OWN_IN_PROJECT, &text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn a_host_that_is_not_intercepted_any_more_counts_where_it_can_be_reached() {
    for text in [
        "network.mode = \"none\"\nnetwork.intercept = []",
        "network.allow = []\nnetwork.intercept = []",
        "network.deny = [\"x.example.org\"]",
    ] {
        assert_eq!(widened(INTERCEPTING, text), Vec::<String>::new(), "{text}");
    }
    let with_port = INTERCEPTING.replace("allow = [\"api.example.org\"]", "allow = [\"*.example.org:443\"]");
    assert_eq!(widened(&with_port, "network.intercept = []"), ["network.intercept"]);
}

#[test]
fn a_rule_about_commands_may_be_as_strict_as_the_strictest_class() {
    let rule =
        |decision: &str| format!("commands.rules.x = {{ pattern = [\"curl\"], decision = \"{decision}\" }}");
    assert_eq!(widened("commands.network = \"deny\"", &rule("deny")), Vec::<String>::new());
    assert_eq!(widened("commands.network = \"ask\"", &rule("ask")), Vec::<String>::new());
}

#[test]
fn a_file_that_only_narrows_needs_no_trust() {
    let text = r#"
        provider = "native"
        require_os_sandbox = true
        limits = { memory = "1g", cpus = 1, pids = 256, timeout = "30m", output_bytes = "1m", tmp_size = "64m" }
        env.pass = ["LANG", "TERM"]
        env.set = { CI = "1" }
        image = { base = "debian:trixie-slim", packages = ["git"], platforms = ["linux/amd64"] }
        network = { mode = "none", deny = ["example.org"] }
        protect = { paths = ["secret.txt"], depth = 3 }
        native.expose = ["rust", "node", "python"]
        native.require = ["capabilities", "seccomp", "landlock", "ipc", "net", "pid", "mount", "user", "memory"]
        [shared_dirs]
        workspace = { host = ".", guest = "/workspace" }
        output = { host = "./output/../output", guest = "/output" }
    "#;
    assert_eq!(widened("", text), Vec::<String>::new());
}

#[test]
fn what_counts_is_what_the_user_has_set() {
    assert_eq!(widened("", "limits.memory = \"64g\""), Vec::<String>::new());
    assert_eq!(widened("limits.pids = 64", "limits.pids = 65"), ["limits.pids"]);
    assert_eq!(widened("limits.pids = \"unlimited\"", "limits.pids = \"unlimited\""), Vec::<String>::new());
    assert_eq!(widened("protect.depth = 8", "protect.depth = 7"), ["protect.depth"]);
    assert_eq!(widened("git.repository = \"ro\"", "git.repository = \"rw\""), ["git.repository"]);
    assert_eq!(widened("git.repository = \"ro\"", "git.repository = \"ro\""), Vec::<String>::new());
    assert_eq!(widened("git.repository = \"none\"", "git.repository = \"ro\""), ["git.repository"]);
    assert_eq!(widened("", "git.repository = \"rw\""), Vec::<String>::new());
    assert_eq!(widened("pool.size = 2", "pool.size = 2"), Vec::<String>::new());
    assert_eq!(widened("pool.size = 2", "pool.size = 3"), ["pool.size"]);
    assert_eq!(widened("pool.max_age = \"1h\"", "pool.max_age = \"30m\""), Vec::<String>::new());
    let native = "provider = \"native\"";
    assert_eq!(widened(native, "provider = \"docker\""), ["provider"]);
    assert_eq!(widened(native, "provider = \"auto\""), ["provider"]);
    assert_eq!(widened(native, native), Vec::<String>::new());
    for chosen_for_the_user in ["", "provider = \"auto\""] {
        assert_eq!(widened(chosen_for_the_user, native), Vec::<String>::new());
    }
    assert_eq!(widened(NO_PULL, NO_PULL), Vec::<String>::new());
    let strict = "native.require = [\"user\", \"memory\"]";
    assert_eq!(widened(strict, "native.require = [\"user\"]"), ["native.require"]);
    assert_eq!(widened(strict, strict), Vec::<String>::new());
}

#[test]
fn every_widening_of_a_file_is_found_from_top_to_bottom() {
    let text = "provider = \"local\"\n[env]\npass = [\"A\", \"B\"]\n[native]\nrequire = []\n";
    let keys = widened("", text);
    assert_eq!(keys[..3], ["provider", "env.pass", "env.pass"]);
    assert_eq!(keys.len(), 3 + 8);
}
