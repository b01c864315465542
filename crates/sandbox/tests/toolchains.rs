//! The presets of `native.expose`, on homes with the directories that the version managers create.
#![expect(clippy::unwrap_used, reason = "what a helper cannot do fails the test that asked for it")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use policy::config::{Expose, Toolchain};
use policy::rules::shared_dir::Caller;
use sandbox::host::identity::Identity;
use sandbox::host::programs::Programs;
use sandbox::host::toolchain::error::ToolchainError;
use sandbox::host::toolchain::resolve;
use sandbox::host::toolchain::search::{Crates, HostContext, Toolchains};
use sandbox::state::writable::Writable;

struct Machine {
    top: tempfile::TempDir,
    env: BTreeMap<OsString, OsString>,
    workdir: PathBuf,
    shared: Vec<PathBuf>,
    crates: Crates,
}

impl Machine {
    fn new(path: &[&str]) -> Self {
        let top = tempfile::tempdir().unwrap();
        let home = top.path().canonicalize().unwrap().join("home");
        fs::create_dir(&home).unwrap();
        let path = std::env::join_paths(path.iter().map(|entry| home.join(entry))).unwrap();
        Self { top, env: [("PATH".into(), path)].into(), workdir: home, shared: vec![], crates: Crates::Host }
    }

    fn home(&self) -> PathBuf {
        self.top.path().canonicalize().unwrap().join("home")
    }

    fn program(&self, path: &str, content: &str) -> &Self {
        let path = self.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    fn directory(&self, path: &str) -> &Self {
        fs::create_dir_all(self.home().join(path)).unwrap();
        self
    }

    fn link(&self, target: impl AsRef<Path>, path: &str) -> &Self {
        let path = self.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
        self
    }

    fn resolve(&self, names: &[&str]) -> Result<Toolchains, Vec<ToolchainError>> {
        let home = self.home();
        let preset = |name: &str| Toolchain::all().find(|preset| preset.to_string() == name).unwrap();
        let wanted = |name: &&str| match name.strip_prefix('/') {
            Some(_) => Expose::Path(name.into()),
            None => Expose::Preset(preset(name)),
        };
        let names: Vec<Expose> = names.iter().map(wanted).collect();
        let user =
            Identity { uid: rustix::process::getuid().as_raw(), gid: rustix::process::getgid().as_raw() };
        let writable = Writable::new(self.shared.clone(), self.top.path().join("state"), user);
        resolve(
            &names,
            &HostContext {
                env: &self.env,
                caller: Caller {
                    uid: rustix::process::getuid().as_raw(),
                    homes: &[&home],
                    other_homes: &[],
                    allowed_root: None,
                },
                programs: &Programs::new(&self.env, writable, user),
                user,
                home: &home,
                workdir: &self.workdir,
                guest_home: Path::new("/home/agent"),
                crates: self.crates,
            },
        )
    }

    /// What is exposed, as `host -> guest`, relative to the home.
    fn exposed(&self, names: &[&str]) -> Vec<String> {
        let short = |path: &Path| path.strip_prefix(self.home()).unwrap_or(path).display().to_string();
        let found = self.resolve(names).unwrap();
        found
            .exposed
            .iter()
            .map(|one| {
                if one.host == one.guest {
                    short(&one.host)
                } else {
                    format!("{} -> {}", short(&one.host), short(&one.guest))
                }
            })
            .collect()
    }

    fn error(&self, name: &str) -> String {
        let errors = self.resolve(&[name]).unwrap_err();
        assert_eq!(errors.len(), 1);
        errors[0].to_string()
    }
}

const BINARY: &str = "\x7fELF";
const SCRIPT: &str = "#!/bin/sh\n";

#[test]
fn rustup_is_shown_without_configuration_and_credentials() {
    let machine = Machine::new(&[".cargo/bin"]);
    machine.program(".cargo/bin/rustup", BINARY).link("rustup", ".cargo/bin/cargo");
    machine.program(".cargo/credentials.toml", "token").program(".cargo/config.toml", "");
    machine.program(".rustup/toolchains/stable-x/bin/rustc", BINARY).program(".rustup/settings.toml", "");
    machine
        .directory(".cargo/registry/src/index.crates.io-1")
        .directory(".cargo/registry/src/private.example-2");
    assert_eq!(
        machine.exposed(&["rust"]),
        [
            ".cargo/registry/src/index.crates.io-1 -> /home/agent/.cargo/registry/src/index.crates.io-1",
            ".cargo/bin",
            ".rustup/settings.toml",
            ".rustup/toolchains",
        ]
    );
    let found = machine.resolve(&["rust"]).unwrap();
    assert_eq!(found.path, [machine.home().join(".cargo/bin")]);
    let env: Vec<_> = found.env.iter().map(|one| (one.name.as_str(), one.value.to_str().unwrap())).collect();
    let rustup_home = machine.home().join(".rustup").display().to_string();
    assert_eq!(env, [("RUSTUP_HOME", rustup_home.as_str()), ("RUSTUP_AUTO_INSTALL", "0")]);
}

#[test]
fn what_cargo_can_download_itself_is_not_shown_read_only() {
    let mut machine = Machine::new(&[".cargo/bin"]);
    machine.program(".cargo/bin/rustup", BINARY).link("rustup", ".cargo/bin/cargo");
    machine.program(".rustup/toolchains/stable-x/bin/rustc", BINARY);
    machine.directory(".cargo/registry/cache/index.crates.io-1");
    assert_eq!(machine.exposed(&["rust"]).len(), 3, "the control");
    machine.crates = Crates::Network;
    assert_eq!(machine.exposed(&["rust"]), [".cargo/bin", ".rustup/toolchains"]);
}

#[test]
fn proxies_that_are_hard_links_and_linked_toolchains_are_understood() {
    let machine = Machine::new(&[".cargo/bin"]);
    machine.program(".cargo/bin/rustup", BINARY);
    fs::hard_link(machine.home().join(".cargo/bin/rustup"), machine.home().join(".cargo/bin/cargo")).unwrap();
    machine.program("src/rust/stage1/bin/rustc", BINARY);
    machine.link(machine.home().join("src/rust/stage1"), ".rustup/toolchains/dev");
    assert_eq!(machine.exposed(&["rust"]), [".cargo/bin", ".rustup/toolchains", "src/rust/stage1"]);
}

#[test]
fn a_toolchain_that_was_unpacked_is_shown_without_its_settings() {
    let machine = Machine::new(&["rust-1.95/bin"]);
    machine.program("rust-1.95/bin/cargo", BINARY).directory("rust-1.95/lib/rustlib");
    machine.directory("rust-1.95/etc").directory("rust-1.95/share").program("rust-1.95/LICENSE", "");
    assert_eq!(machine.exposed(&["rust"]), ["rust-1.95/bin", "rust-1.95/lib", "rust-1.95/share"]);
    // Where npm keeps the tokens that are for all users of an installation, and pip the address of its index.
    let machine = Machine::new(&["node/bin", "python/bin"]);
    machine.program("node/bin/node", BINARY).directory("node/include/node");
    machine.program("node/etc/npmrc", "//registry.example.org/:_authToken=secret");
    machine.program("python/bin/python3", BINARY).directory("python/lib/python3.13");
    machine.program("python/pip.conf", "[global]\nindex-url = https://me:secret@example.org");
    assert_eq!(
        machine.exposed(&["node", "python"]),
        ["node/bin", "node/include", "python/bin", "python/lib"]
    );
}

#[test]
fn what_is_in_the_view_already_needs_nothing() {
    let mut machine = Machine::new(&[]);
    machine.env.insert("PATH".into(), "/usr/bin".into());
    // Debian's git stands in for a tool in /usr: every machine that runs this test has it.
    machine.link("/usr/bin/git", "bin/node").link("/usr/bin/git", "bin/python3");
    machine.env.insert("PATH".into(), machine.home().join("bin").into());
    assert_eq!(machine.resolve(&["node", "python"]).unwrap(), Toolchains::default());
}

#[test]
fn node_is_found_behind_links_and_behind_volta() {
    let machine = Machine::new(&["multishell/bin"]);
    machine.program(".fnm/v22/installation/bin/node", BINARY).directory(".fnm/v22/installation/include/node");
    machine.link(machine.home().join(".fnm/v22/installation"), "multishell");
    assert_eq!(machine.exposed(&["node"]), [".fnm/v22/installation/bin", ".fnm/v22/installation/include"]);

    let machine = Machine::new(&[".volta/bin"]);
    machine.program(".volta/bin/volta-shim", BINARY).link("volta-shim", ".volta/bin/node");
    machine.program(".volta/tools/image/node/20.1.0/bin/node", BINARY);
    machine.directory(".volta/tools/image/node/20.1.0/lib/node_modules");
    machine.program(".volta/tools/user/platform.json", r#"{"node":{"runtime":"20.1.0","npm":null}}"#);
    let image = ".volta/tools/image/node/20.1.0";
    assert_eq!(machine.exposed(&["node"]), [format!("{image}/bin"), format!("{image}/lib")]);
    machine.program(".volta/tools/user/platform.json", r#"{"node":{"runtime":"../../../.."}}"#);
    assert!(machine.error("node").contains("is not the tool itself"));
}

#[test]
fn a_shim_that_is_not_known_is_refused_with_what_to_do() {
    let machine = Machine::new(&["shims"]);
    machine.program("bin/mise", BINARY).link(machine.home().join("bin/mise"), "shims/node");
    let error = machine.error("node");
    assert!(error.contains("name the directory it is installed in"), "{error}");
}

#[test]
fn pyenv_chooses_by_variable_by_directory_and_for_everywhere() {
    let mut machine = Machine::new(&[".pyenv/shims"]);
    machine.program(".pyenv/shims/python3", SCRIPT).program(".pyenv/version", "3.11.7\n");
    for version in ["3.11.7", "3.12.9", "3.12.10"] {
        machine.program(&format!(".pyenv/versions/{version}/bin/python3.x"), BINARY);
        machine.link("python3.x", &format!(".pyenv/versions/{version}/bin/python"));
        machine.directory(&format!(".pyenv/versions/{version}/lib/python3.x"));
    }
    assert_eq!(machine.exposed(&["python"]), [".pyenv/versions/3.11.7/bin", ".pyenv/versions/3.11.7/lib"]);
    machine.program("project/.python-version", "3.12\n").directory("project/src");
    machine.workdir = machine.home().join("project/src");
    assert_eq!(
        machine.exposed(&["python"]),
        [".pyenv/versions/3.12.10/bin", ".pyenv/versions/3.12.10/lib"],
        "the newest, by number"
    );
    machine.env.insert("PYENV_VERSION".into(), "3.12.9:3.11.7".into());
    assert_eq!(machine.exposed(&["python"]), [".pyenv/versions/3.12.9/bin", ".pyenv/versions/3.12.9/lib"]);
    machine.env.insert("PYENV_VERSION".into(), "4.0".into());
    assert!(machine.error("python").contains("version 4.0 in"));
    machine.env.insert("PYENV_VERSION".into(), "../../elsewhere".into());
    assert!(machine.resolve(&["python"]).is_err() || machine.exposed(&["python"]).is_empty());
}

#[test]
fn the_python_of_the_system_comes_after_the_shims_of_pyenv() {
    let mut machine = Machine::new(&[".pyenv/shims", "other/bin"]);
    machine.program(".pyenv/shims/python3", SCRIPT).program(".pyenv/versions/3/bin/python", BINARY);
    machine.program("other/bin/python3", BINARY).directory("other/lib/python3.13");
    machine.env.insert("PYENV_VERSION".into(), "system".into());
    assert_eq!(machine.exposed(&["python"]), ["other/bin", "other/lib"]);
}

#[test]
fn the_python_of_uv_is_found_behind_its_link() {
    let machine = Machine::new(&[".local/bin"]);
    machine.program(".local/share/uv/python/cpython-3.13/bin/python3.13", BINARY);
    machine.directory(".local/share/uv/python/cpython-3.13/lib/python3.13");
    machine.link("../share/uv/python/cpython-3.13/bin/python3.13", ".local/bin/python3");
    let python = ".local/share/uv/python/cpython-3.13";
    assert_eq!(machine.exposed(&["python"]), [format!("{python}/bin"), format!("{python}/lib")]);
}

#[test]
fn a_prefix_that_holds_more_than_the_tool_is_refused() {
    // Installed straight into ~/.local: its share holds keyrings.
    let machine = Machine::new(&[".local/bin"]);
    machine.program(".local/bin/node", BINARY).directory(".local/lib/node_modules");
    assert!(machine.error("node").contains("holds credentials"), "{}", machine.error("node"));
    // Installed straight into the home.
    let machine = Machine::new(&["bin"]);
    machine.program("bin/python3", BINARY).directory("lib/python3.13");
    assert!(machine.error("python").contains("it is your home"), "{}", machine.error("python"));
}

#[test]
fn a_path_is_shown_if_the_rules_allow_it() {
    let machine = Machine::new(&[]);
    machine.directory("go/1.25/bin").link("1.25", "go/current").directory(".ssh").directory(".cargo");
    let path = |name: &str| machine.home().join(name).display().to_string();
    assert_eq!(machine.exposed(&[&path("go/current")]), ["go/1.25 -> go/current"]);
    assert_eq!(
        machine.resolve(&[&path("go/current")]).unwrap().path,
        [machine.home().join("go/current/bin")]
    );
    for name in [".ssh", ".cargo", ""] {
        let errors = machine.resolve(&[path(name).trim_end_matches('/')]).unwrap_err();
        assert!(matches!(errors[0], ToolchainError::Refused { .. }), "{name}: {}", errors[0]);
    }
}

#[test]
fn every_mistake_is_returned_at_once() {
    let machine = Machine::new(&["bin"]);
    let errors = machine.resolve(&["ruby", "node", "/no/such"]).unwrap_err();
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), 3, "{texts:?}");
    assert_eq!(
        texts[1],
        "preset `node`: `node` in the PATH was not found; install it, or take `node` off `native.expose`"
    );
}

#[test]
fn what_lies_in_something_shown_is_not_shown_again() {
    let machine = Machine::new(&["go/bin"]);
    machine.program("go/bin/node", BINARY).directory("go/include/node");
    let go = machine.home().join("go").display().to_string();
    let bin = machine.home().join("go/bin").display().to_string();
    assert_eq!(machine.exposed(&[&bin, &go, "node"]), ["go"]);
}

/// What no agent may do: make a link, or a file, that chooses what the next sandbox sees.
#[test]
fn an_entry_of_the_path_in_which_an_agent_can_write_decides_nothing() {
    for (preset, program, library) in [
        ("rust", "cargo", "lib/rustlib"),
        ("node", "node", "include/node"),
        ("python", "python3", "lib/python3.13"),
    ] {
        let mut machine = Machine::new(&["project/.venv/bin", "linked", "through/bin", "own/bin"]);
        machine.program(&format!("private/bin/{program}"), BINARY).directory(&format!("private/{library}"));
        machine.link(
            machine.home().join(format!("private/bin/{program}")),
            &format!("project/.venv/bin/{program}"),
        );
        machine.link("project/.venv/bin", "linked").link("project/out", "through");
        machine.link(machine.home().join("private"), "project/out");
        let below = library.split('/').next().unwrap();
        let parts = |prefix: &str| [format!("{prefix}/bin"), format!("{prefix}/{below}")];
        assert_eq!(machine.exposed(&[preset]), parts("private"), "the control: nothing is shared");
        machine.shared = vec![machine.home().join("project")];
        let error = machine.error(preset);
        for part in [
            "was not found",
            "/project/.venv/bin`, because the sandbox may write to",
            "/linked`",
            "/through/bin`",
        ] {
            assert!(error.contains(part), "{preset}: {error}");
        }
        // The next one counts.
        machine.program(&format!("own/bin/{program}"), BINARY).directory(&format!("own/{library}"));
        assert_eq!(machine.exposed(&[preset]), parts("own"));
        // What is shared is no toolchain, and lies in none.
        for shared in ["own", "own/src", ""] {
            machine.shared = ["project", shared].map(|name| machine.home().join(name)).into();
            assert!(machine.resolve(&[preset]).is_err(), "{preset}, {shared}");
        }
        let own = machine.home().join("own").display().to_string();
        machine.shared = vec![machine.home().join("own/src")];
        assert_eq!(machine.exposed(&[&own]), ["own"], "what is named by path may hold it");
        machine.shared = vec![machine.home()];
        let error = machine.error(&own);
        assert!(error.contains("because sandboxes may write to"), "{error}");
    }
}

#[test]
fn entries_that_are_relative_or_that_others_may_write_to_are_left_out() {
    let mut machine = Machine::new(&["open/bin"]);
    machine.program("open/bin/node", BINARY).directory("open/include/node");
    assert_eq!(machine.exposed(&["node"]), ["open/bin", "open/include"], "the control");
    fs::set_permissions(machine.home().join("open"), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(machine.error("node").contains("because other users may write to"), "{}", machine.error("node"));
    machine.env.insert("PATH".into(), "bin:.".into());
    assert!(machine.error("node").contains("`bin`, which is not absolute"), "{}", machine.error("node"));
}

#[test]
fn a_link_shows_no_directory_that_is_no_toolchain() {
    for (preset, program) in [("rust", "cargo"), ("node", "node"), ("python", "python3")] {
        let machine = Machine::new(&["bin"]);
        machine.program(&format!("private/.git/hooks/{program}"), BINARY);
        machine.program(&format!("private/.git/bin/{program}"), BINARY);
        for target in ["hooks", "bin"] {
            let target = machine.home().join("private/.git").join(target).join(program);
            let link = machine.home().join("bin").join(program);
            let _ = fs::remove_file(&link);
            machine.link(&target, &format!("bin/{program}"));
            let error = machine.error(preset);
            assert!(error.contains("does not lie in a toolchain, which has"), "{error}");
        }
    }
}

#[test]
fn a_directory_that_only_links_to_rustup_is_not_shown() {
    let machine = Machine::new(&["bin"]);
    machine.program(".cargo/bin/rustup", BINARY).link("rustup", ".cargo/bin/cargo");
    machine.program(".rustup/toolchains/stable-x/bin/rustc", BINARY);
    machine.program("bin/private", "").link(machine.home().join(".cargo/bin/rustup"), "bin/cargo");
    assert_eq!(machine.exposed(&["rust"]), [".cargo/bin", ".rustup/toolchains"]);
}

#[test]
fn what_cargo_and_rustup_keep_in_a_shared_directory_shows_nothing_else() {
    let mut machine = Machine::new(&[".cargo/bin"]);
    machine.program(".cargo/bin/rustup", BINARY).link("rustup", ".cargo/bin/cargo").directory("private");
    machine.program(".rustup/toolchains/stable-x/bin/rustc", BINARY);
    machine.link(machine.home().join("project/settings.toml"), ".rustup/settings.toml");
    machine.program("project/settings.toml", "");
    machine.env.insert("CARGO_HOME".into(), machine.home().join("project/.cargo").into());
    machine.link(machine.home().join("private"), "project/.cargo/registry/src/index.crates.io-1");
    machine.program("project/rust/stage1/bin/rustc", BINARY);
    machine.link(machine.home().join("project/rust/stage1"), ".rustup/toolchains/dev");
    assert_eq!(machine.exposed(&["rust"]).len(), 5, "the control");
    machine.shared = vec![machine.home().join("project")];
    assert_eq!(machine.exposed(&["rust"]), [".cargo/bin", ".rustup/toolchains"]);
    machine.env.insert("RUSTUP_HOME".into(), machine.home().join("project/.rustup").into());
    machine.link(machine.home().join("private"), "project/.rustup/toolchains/x");
    assert!(machine.error("rust").contains("because sandboxes may write to"), "{}", machine.error("rust"));
}

#[test]
fn a_version_file_of_the_project_is_read_only_if_it_comes_to_an_end() {
    let mut machine = Machine::new(&[".pyenv/shims"]);
    machine.program(".pyenv/shims/python3", SCRIPT).program(".pyenv/version", "3.11.7\n");
    machine
        .program(".pyenv/versions/3.11.7/bin/python", BINARY)
        .directory(".pyenv/versions/3.11.7/lib/python3.11");
    machine.directory("project");
    machine.workdir = machine.home().join("project");
    let file = machine.workdir.join(".python-version");
    let fifo = std::ffi::CString::new(file.to_str().unwrap()).unwrap();
    nix::unistd::mkfifo(fifo.as_c_str(), nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(
        machine.exposed(&["python"]),
        [".pyenv/versions/3.11.7/bin", ".pyenv/versions/3.11.7/lib"],
        "a pipe"
    );
    fs::remove_file(&file).unwrap();
    symlink("/dev/zero", &file).unwrap();
    assert_eq!(
        machine.exposed(&["python"]),
        [".pyenv/versions/3.11.7/bin", ".pyenv/versions/3.11.7/lib"],
        "what has no end"
    );
    fs::remove_file(&file).unwrap();
    for text in ["../../../private", "/etc", ".."] {
        fs::write(&file, text).unwrap();
        assert!(machine.resolve(&["python"]).map_or(true, |found| found.exposed.is_empty()), "{text}");
    }
}

/// Lists the links that are made inside, as `link -> target`, relative to the home.
fn links(machine: &Machine, names: &[&str]) -> Vec<String> {
    let home = machine.home();
    let short = |path: &Path| path.strip_prefix(&home).unwrap_or(path).display().to_string();
    let links = machine.resolve(names).unwrap().links;
    links.iter().map(|link| format!("{} -> {}", short(&link.guest), short(&link.target))).collect()
}

#[test]
fn tools_of_uv_and_pipx_are_shown_without_where_they_came_from() {
    let machine = Machine::new(&[".local/bin"]);
    machine.program(".local/bin/uv", BINARY).program(".local/bin/private", SCRIPT);
    machine.program(".local/share/uv/python/cpython-3.13.1/bin/python3.13", BINARY);
    machine.directory(".local/share/uv/python/cpython-3.13.1/lib/python3.13");
    machine.program(".local/share/uv/python/cpython-3.13.1/pip.conf", "secret");
    machine.link("cpython-3.13.1", ".local/share/uv/python/cpython-3.13");
    for environment in [".local/share/uv/tools/black", ".local/share/pipx/venvs/httpie"] {
        let tool = environment.rsplit('/').next().unwrap();
        machine.program(&format!("{environment}/bin/{tool}"), SCRIPT);
        machine.program(&format!("{environment}/pyvenv.cfg"), "").directory(&format!("{environment}/lib"));
        machine.program(&format!("{environment}/uv-receipt.toml"), "secret");
        machine.program(&format!("{environment}/pipx_metadata.json"), "secret");
        let python = ".local/share/uv/python/cpython-3.13.1/bin/python3.13";
        machine.link(machine.home().join(python), &format!("{environment}/bin/python"));
        machine.link(machine.home().join(format!("{environment}/bin/{tool}")), &format!(".local/bin/{tool}"));
    }
    // One that lost its interpreter keeps the others from nothing.
    machine.program(".local/share/uv/tools/broken/pyvenv.cfg", "");
    assert_eq!(
        machine.exposed(&["uv"]),
        [
            ".local/bin/uv",
            ".local/share/uv/python/cpython-3.13.1/bin",
            ".local/share/uv/python/cpython-3.13.1/lib",
            ".local/share/uv/tools/black/bin",
            ".local/share/uv/tools/black/lib",
            ".local/share/uv/tools/black/pyvenv.cfg",
        ]
    );
    assert_eq!(
        links(&machine, &["uv"]),
        [
            ".local/bin/black -> .local/share/uv/tools/black/bin/black",
            ".local/share/uv/python/cpython-3.13 -> cpython-3.13.1",
        ]
    );
    assert_eq!(
        machine.exposed(&["pipx"]),
        [
            ".local/share/pipx/venvs/httpie/bin",
            ".local/share/pipx/venvs/httpie/lib",
            ".local/share/pipx/venvs/httpie/pyvenv.cfg",
            ".local/share/uv/python/cpython-3.13.1/bin",
            ".local/share/uv/python/cpython-3.13.1/lib",
        ]
    );
    assert_eq!(
        links(&machine, &["pipx"]),
        [".local/bin/httpie -> .local/share/pipx/venvs/httpie/bin/httpie"]
    );
    assert_eq!(machine.resolve(&["pipx"]).unwrap().path, [machine.home().join(".local/bin")]);
    let mut machine = machine;
    machine.shared = vec![machine.home().join(".local/share/uv/tools/black/lib")];
    assert!(machine.error("uv").contains("because sandboxes may write to"), "{}", machine.error("uv"));
}

#[test]
fn the_prefix_of_npm_shows_its_modules_and_the_links_to_them() {
    let mut machine = Machine::new(&[".local/bin", "node/bin"]);
    machine.program("node/bin/node", BINARY).directory("node/include/node");
    machine.program(".npmrc", "//registry.example.org/:_authToken=secret\nprefix = ${HOME}/.local\n");
    machine.program(".local/lib/node_modules/codex/bin/codex.js", SCRIPT).program(".local/etc/npmrc", "");
    machine.link("../lib/node_modules/codex/bin/codex.js", ".local/bin/codex");
    machine.program(".local/bin/private", SCRIPT).link("private", ".local/bin/other");
    let npmrc = fs::read_to_string(machine.home().join(".npmrc")).unwrap();
    let npmrc = npmrc.replace("${HOME}", machine.home().to_str().unwrap());
    fs::write(machine.home().join(".npmrc"), npmrc).unwrap();
    assert_eq!(machine.exposed(&["npm"]), [".local/lib/node_modules", "node/bin", "node/include"]);
    assert_eq!(links(&machine, &["npm"]), [".local/bin/codex -> ../lib/node_modules/codex/bin/codex.js"]);
    machine.env.insert("NPM_CONFIG_PREFIX".into(), machine.home().join("elsewhere").into());
    assert_eq!(machine.exposed(&["npm"]), ["node/bin", "node/include"], "a variable comes first");
}

#[test]
fn what_pnpm_and_bun_installed_globally_is_shown_without_their_stores() {
    let machine = Machine::new(&[".local/share/pnpm/bin", ".bun/bin"]);
    machine.program(".local/share/pnpm/bin/pnpm", SCRIPT).program(".local/share/pnpm/old-shim", SCRIPT);
    machine.directory(".local/share/pnpm/global/v11/node_modules").program(".local/share/pnpm/rc", "");
    fs::set_permissions(machine.home().join(".local/share/pnpm/rc"), fs::Permissions::from_mode(0o600))
        .unwrap();
    machine.directory(".local/share/pnpm/store/v11/files").directory(".local/share/pnpm/store/v11/links");
    assert_eq!(
        machine.exposed(&["pnpm"]),
        [
            ".local/share/pnpm/bin", ".local/share/pnpm/global", ".local/share/pnpm/old-shim",
            ".local/share/pnpm/store/v11/links",
        ]
    );
    machine.program(".bun/bin/bun", BINARY).directory(".bun/install/global/node_modules");
    machine.directory(".bun/install/cache").program(".bunfig.toml", "secret");
    assert_eq!(machine.exposed(&["bun"]), [".bun/bin", ".bun/install/global/node_modules"]);
}

#[test]
fn go_and_java_are_shown_without_what_was_downloaded_and_without_passwords() {
    let machine = Machine::new(&["sdk/go/bin", "jdk/bin", "maven/bin"]);
    machine.program("sdk/go/bin/go", BINARY).directory("sdk/go/src/runtime").directory("sdk/go/pkg/tool");
    machine.program("sdk/go/go.env", "").program("go/bin/gopls", BINARY).directory("go/pkg/mod/private");
    assert_eq!(
        machine.exposed(&["go"]),
        ["go/bin", "sdk/go/bin", "sdk/go/go.env", "sdk/go/pkg", "sdk/go/src"]
    );
    machine.program("jdk/bin/java", BINARY).program("jdk/lib/modules", "");
    machine
        .program("jdk/conf/security/java.security", "")
        .program("jdk/conf/management/jmxremote.password", "");
    machine.program("maven/bin/mvn", SCRIPT).directory("maven/lib").directory("maven/boot");
    machine.program("maven/conf/settings.xml", "secret").program(".m2/settings.xml", "secret");
    assert_eq!(
        machine.exposed(&["java"]),
        ["jdk/bin", "jdk/conf/security", "jdk/lib", "maven/bin", "maven/boot", "maven/lib"]
    );
    let found = machine.resolve(&["java"]).unwrap();
    let home = found.env.iter().find(|one| one.name == "JAVA_HOME").unwrap();
    assert_eq!(Path::new(&home.value), machine.home().join("jdk"));
}

#[test]
fn ruby_and_php_are_found_behind_the_shims_of_rbenv_and_phpenv() {
    let mut machine = Machine::new(&[".rbenv/shims", ".phpenv/shims", ".config/composer/vendor/bin"]);
    for (manager, program) in [("rbenv", "ruby"), ("phpenv", "php")] {
        let root = format!(".{manager}");
        machine
            .program(&format!("{root}/shims/{program}"), SCRIPT)
            .program(&format!("{root}/version"), "3.3\n");
        machine.program(&format!("{root}/versions/3.3.5/bin/{program}"), BINARY);
        machine.directory(&format!("{root}/versions/3.3.5/lib/{program}"));
        machine.program(&format!("{root}/versions/3.3.5/etc/php.ini"), "secret");
    }
    machine.directory(".config/composer/vendor/bin").program(".config/composer/auth.json", "secret");
    assert_eq!(machine.exposed(&["ruby"]), [".rbenv/versions/3.3.5/bin", ".rbenv/versions/3.3.5/lib"]);
    assert_eq!(
        machine.exposed(&["php"]),
        [".config/composer/vendor", ".phpenv/versions/3.3.5/bin", ".phpenv/versions/3.3.5/lib"]
    );
    machine.env.insert("RBENV_VERSION".into(), "2.7".into());
    assert!(machine.error("ruby").contains("version 2.7 in"));
}
