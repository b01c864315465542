//! What the user behind sudo names, though only root may reach it or write there.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use crate::machine::{Caller, NORMAL, callers};
use crate::place::Place;
use crate::program;
use crate::system_path::in_system_path;

#[test]
fn what_the_user_behind_sudo_cannot_reach_is_neither_shared_nor_exposed() {
    if !rustix::process::geteuid().is_root() || !callers("directories under sudo").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let private = place.path("private");
    fs::create_dir_all(private.join("inner/bin")).unwrap();
    fs::write(private.join("inner/secret"), "root's own").unwrap();
    let inner = private.join("inner");
    let shared = format!("{}:/x:ro", inner.display());
    let exposed = format!("[native]\nexpose = [{inner:?}]\n");
    let sudo = |flags: &[&str], file: &str| {
        let mut command = place.command(&place.run(flags, &["cat", file]));
        let output = behind_sudo(&place, &mut command).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr))
    };
    let secret = inner.join("secret").display().to_string();
    let settings = "home/.config/sandboxctl/sandbox.toml";
    for (mode, seen) in [(0o700, ""), (0o711, "root's own")] {
        fs::set_permissions(&private, Permissions::from_mode(mode)).unwrap();
        let (found, said) = sudo(&["-v", &shared], "/x/secret");
        assert_eq!(found, seen, "shared, {mode:o}: {said}");
        place.write(settings, &exposed);
        let (found, said) = sudo(&[], &secret);
        assert_eq!(found, seen, "exposed, {mode:o}: {said}");
        fs::remove_file(place.path(settings)).unwrap();
        assert!(!seen.is_empty() || said.contains("ermission denied"), "{said}");
    }
}

#[test]
fn who_has_become_root_otherwise_is_the_caller_too() {
    if !rustix::process::geteuid().is_root() || !callers("users behind doas").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let private = place.path("private");
    fs::create_dir(&private).unwrap();
    fs::write(private.join("secret"), "root's own").unwrap();
    fs::set_permissions(&private, Permissions::from_mode(0o700)).unwrap();
    let shared = format!("{}:/x:ro", private.display());
    let said = |variables: &[(&str, &str)], flags: &[&str]| {
        let mut command = place.command(&place.run(flags, &["cat", "/x/secret"]));
        behind_sudo(&place, &mut command).env_remove("SUDO_UID").env_remove("SUDO_GID");
        if variables.iter().all(|(_, value)| *value == "root") {
            command.env("XDG_STATE_HOME", place.path("state"));
        }
        let output = command.envs(variables.iter().copied()).output().unwrap();
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    let (uid, passwd) = (NORMAL.to_string(), fs::read_to_string("/etc/passwd").unwrap());
    let mut accounts = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let name = accounts.find(|fields| fields[2] == uid).unwrap()[0];
    for named in [("DOAS_USER", name), ("PKEXEC_UID", &uid)] {
        let [found, failure] = said(&[named], &["-v", &shared]);
        assert!(found.is_empty() && failure.contains("ermission denied"), "{named:?}: {found}{failure}");
        let [found, failure] = said(&[named], &["--provider", "local"]);
        assert!(found.is_empty() && failure.contains("under sudo"), "{named:?}: {found}{failure}");
        // Two users: nobody knows which of them.
        let [found, failure] = said(&[named, ("SUDO_UID", "1")], &["-v", &shared]);
        assert!(found.is_empty() && failure.contains("different users"), "{named:?}: {found}{failure}");
    }
    // The control: root itself.
    for named in [&[][..], &[("DOAS_USER", "root")]] {
        let [found, failure] = said(named, &["-v", &shared]);
        assert_eq!(found, "root's own", "{named:?}: {failure}");
    }
}

#[test]
fn no_link_of_proc_leads_the_user_behind_sudo_to_where_root_stands() {
    if !rustix::process::geteuid().is_root() || !callers("links of /proc").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let closed = place.path("closed");
    fs::create_dir_all(closed.join("inner")).unwrap();
    fs::write(closed.join("inner/variables"), "SECRET=root's own\n").unwrap();
    fs::write(closed.join("inner/secret"), "root's own\n").unwrap();
    let seen = |way: &Path| {
        let (secret, workspace) = (way.join("secret"), place.workspace());
        let settings = |what: &str| {
            let workspace =
                format!("[shared_dirs]\nworkspace = {{ host = {workspace:?}, guest = \"/workspace\" }}\n");
            place.write("home/.config/sandboxctl/sandbox.toml", &(workspace + what));
        };
        let run = |flags: &[String], argv: &[&str]| {
            let argv: Vec<_> = argv.iter().map(|&word| word.to_owned()).collect();
            let mut command = place.command(&place.run(flags, &argv));
            let output =
                behind_sudo(&place, &mut command).current_dir(closed.join("inner")).output().unwrap();
            String::from_utf8_lossy(&output.stdout).contains("root's own")
        };
        settings("");
        let variables =
            run(&["--env-file".into(), way.join("variables").display().to_string()], &["printenv", "SECRET"]);
        settings(&format!(
            "[secrets.s]\nmode = \"inject\"\nenv_var = \"S\"\nsource = \"file:{}\"\n",
            secret.display()
        ));
        let secret = run(&[], &["printenv", "S"]);
        settings(&format!("x = {{ host = {way:?}, guest = \"/x\", mode = \"ro\" }}\n"));
        [variables, secret, run(&[], &["cat", "/x/secret"])]
    };
    // The control: what the user can reach is read and shared.
    assert_eq!(seen(&closed.join("inner")), [true; 3]);
    fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
    let link = place.home().join("link");
    symlink("/proc/self/cwd", &link).unwrap();
    for way in [&closed.join("inner"), Path::new("/proc/self/cwd"), &link] {
        assert_eq!(seen(way), [false; 3], "{}", way.display());
    }
}

#[test]
fn root_alone_reads_no_edits_behind_a_link_of_whoever_owns_the_directory() {
    if !rustix::process::geteuid().is_root() || !callers("edits for root").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let closed = place.path("closed");
    fs::create_dir(&closed).unwrap();
    fs::write(closed.join("edits"), r#"[{"old": "before", "new": "after"}]"#).unwrap();
    fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
    let (link, file) = (place.workspace().join("edits"), place.workspace().join("file"));
    let as_root = |words: &[&str]| {
        let words = [&["--quiet"], words].concat();
        let words = std::iter::once(place.path("sandboxctl").into_os_string())
            .chain(words.into_iter().map(OsString::from))
            .collect::<Vec<_>>();
        let mut command = place.command(&words);
        command.env("XDG_STATE_HOME", place.path("state")).env("XDG_CONFIG_HOME", place.path("config"));
        command.output().unwrap()
    };
    let made = as_root(&["create", "--name", "base"]);
    assert!(made.status.success(), "{made:?}");
    symlink(closed.join("edits"), &link).unwrap();
    for way in ["edits", "/proc/self/cwd/edits"] {
        for (owner, expected) in [(0, "after"), (NORMAL, "before")] {
            // The control: root's own link.
            std::os::unix::fs::lchown(&link, Some(owner), Some(owner)).unwrap();
            fs::write(&file, "before").unwrap();
            std::os::unix::fs::chown(&file, Some(NORMAL), Some(NORMAL)).unwrap();
            let edited = as_root(&["fs", "edit", "base", "file", "--edits", way]);
            assert_eq!(fs::read_to_string(&file).unwrap(), expected, "{way} {owner}: {edited:?}");
        }
    }
    let removed = as_root(&["rm", "--force", "base"]);
    assert!(removed.status.success(), "{removed:?}");
}

#[test]
fn root_alone_follows_no_link_of_whoever_owns_the_directory() {
    if !rustix::process::geteuid().is_root() || !callers("links for root").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let closed = place.path("closed");
    fs::create_dir(&closed).unwrap();
    fs::write(closed.join("secret"), "SECRET=root's own\n").unwrap();
    fs::write(closed.join("sandbox.toml"), "[env]\nset = { SECRET = \"root's own\" }\n").unwrap();
    fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
    let [data, found, out] = ["data", "sandbox.toml", "out"].map(|name| place.workspace().join(name));
    // Not where the sandbox may write, where nobody's link is followed to a file of variables.
    let file = place.home().join(".env");
    let as_root = |words: &[OsString]| {
        let mut command = place.command(words);
        command.env("XDG_STATE_HOME", place.path("state")).env("XDG_CONFIG_HOME", place.path("config"));
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout).contains("root's own"), text(&output.stderr))
    };
    let (program, init) = (place.path("sandboxctl").into_os_string(), closed.join("new.toml"));
    let shown = ["cat", "/data/secret"].as_slice();
    for (link, to, words) in [
        (&data, &closed, place.run(&["-v", "./data:/data:ro"], shown)),
        (&data, &closed, place.run(&["-v", "./data/secret:/data/secret:ro"], shown)),
        (&file, &closed.join("secret"), place.run(&["--env-file", "../home/.env"], &["printenv", "SECRET"])),
        (&found, &closed.join("sandbox.toml"), place.run(&[""; 0], &["printenv", "SECRET"])),
        (&out, &closed, vec![program, "init".into(), "out/new.toml".into()]),
    ] {
        symlink(to, link).unwrap();
        // The control: root's own link.
        let (seen, said) = as_root(&words);
        assert!(seen || init.exists(), "{words:?}: {said}");
        let _ = fs::remove_file(&init);
        std::os::unix::fs::lchown(link, Some(NORMAL), Some(NORMAL)).unwrap();
        let (seen, said) = as_root(&words);
        assert!(!seen && !init.exists(), "{words:?}: {said}");
        let named = format!("{}` is a link of uid {NORMAL}", link.display());
        assert!(said.contains(&named), "{words:?}: {said}");
        fs::remove_file(link).unwrap();
    }
}

#[test]
fn a_toolchain_that_is_exchanged_after_it_was_validated_is_not_exposed() {
    if !rustix::process::geteuid().is_root() || !callers("exchanged toolchains").contains(&Caller::Normal) {
        return;
    }
    // The control: the secret's command exchanges nothing.
    for (swap, seen) in [("true", "the user's"), ("mv a b; ln -s private a", "")] {
        let place = Place::new(Caller::Normal);
        place.write("home/a/tools/file", "the user's");
        let private = place.home().join("private");
        fs::create_dir_all(private.join("tools")).unwrap();
        fs::write(private.join("tools/file"), "root's own").unwrap();
        fs::set_permissions(&private, Permissions::from_mode(0o700)).unwrap();
        let tools = place.home().join("a/tools");
        let command = format!("cd {}; {swap}; echo x", place.home().display());
        let settings = format!(
            "[native]\nexpose = [{tools:?}]\n[secrets.s]\nmode = \"inject\"\nenv_var = \"S\"\nsource = \"command:{command}\"\n"
        );
        place.write("home/.config/sandboxctl/sandbox.toml", &settings);
        let file = tools.join("file").display().to_string();
        let mut command = place.command(&place.run(&[""; 0], &["cat", &file]));
        let output = behind_sudo(&place, &mut command).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), seen, "{swap}: {said}");
        assert_eq!(place.home().join("b").exists(), seen.is_empty(), "{swap}: {said}");
    }
}

#[test]
fn no_profile_of_an_agent_tells_what_there_is_in_a_closed_directory() {
    if !rustix::process::geteuid().is_root() || !callers("profiles under sudo").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let closed = place.path("closed");
    fs::create_dir(&closed).unwrap();
    fs::write(closed.join("there"), "").unwrap();
    place.write("home/.claude/keep", "");
    // Under sudo the home directory is the one that passwd(5) names.
    let passwd =
        format!("root:x:0:0::/root:/bin/sh\nuser:x:{NORMAL}:{NORMAL}::{}:\n", place.home().display());
    let passwd = place.write("passwd", &passwd);
    let script = "mount --bind \"$0\" /etc/passwd && exec \"$@\"";
    let is_told = |name: &str| {
        let link = place.home().join(".claude/CLAUDE.md");
        let _ = fs::remove_file(&link);
        symlink(closed.join(name), &link).unwrap();
        let plan = place.words("plan", &["--agent", "claude-code"], &["true"]);
        let before = ["unshare", "-m", "sh", "-c", script].map(OsString::from);
        let words: Vec<_> = before.into_iter().chain([passwd.clone().into_os_string()]).chain(plan).collect();
        let output = behind_sudo(&place, &mut place.command(&words)).output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(said.contains("claude"), "{said}");
        said.contains("CLAUDE.md")
    };
    // The control: what the user can look at is shared.
    for (mode, seen) in [(0o711, true), (0o700, false)] {
        fs::set_permissions(&closed, Permissions::from_mode(mode)).unwrap();
        assert_eq!((is_told("there"), is_told("nowhere")), (seen, false), "{mode:o}");
    }
}

#[test]
fn nothing_is_made_where_the_user_behind_sudo_may_not_write() {
    if !rustix::process::geteuid().is_root() || !callers("files under sudo").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let closed = place.path("closed");
    fs::create_dir(&closed).unwrap();
    fs::write(closed.join("file"), "root's own").unwrap();
    place.write("workspace/pages/sandboxctl-run.1", "");
    fs::remove_file(place.path("workspace/pages/sandboxctl-run.1")).unwrap();
    symlink(closed.join("file"), place.path("workspace/pages/sandboxctl-run.1")).unwrap();

    let program = place.path("sandboxctl").display().to_string();
    let in_closed = |name: &str| closed.join(name).display().to_string();
    let calls = |shared: &str, pages: &str, file: &str| {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        [
            words(&[&program, "run", "--create-dirs", "-v", &format!("{shared}:/x"), "--", "true"]),
            words(&[&program, "man", "--output-dir", pages]),
            words(&[&program, "init", file]),
        ]
    };
    for call in calls(&in_closed("new"), &in_closed("pages"), &in_closed("new.toml"))
        .into_iter()
        .chain([vec![program.clone(), "man".into(), "--output-dir".into(), "pages".into()]])
    {
        let control = place.outside(&call).output().unwrap();
        assert!(!control.status.success(), "the control: {call:?}");
        assert!(!String::from_utf8_lossy(&control.stderr).contains("sudo"), "the control: {control:?}");
        let output = behind_sudo(&place, &mut place.command(&call)).output().unwrap();
        assert!(!output.status.success(), "{call:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("ermission denied"), "{call:?}: {said}");
        if call[1] != "run" {
            assert!(said.contains("sudo env -u SUDO_UID"), "{call:?}: {said}");
        }
    }
    assert_eq!(fs::read_dir(&closed).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(closed.join("file")).unwrap(), "root's own");

    // Where they may write, what is made is theirs.
    for call in calls("../home/made", "man", "new.toml") {
        let output = behind_sudo(&place, &mut place.command(&call)).output().unwrap();
        assert!(output.status.success(), "{call:?}: {output:?}");
    }
    for made in ["../home/made", "man", "man/sandboxctl.1", "new.toml"] {
        let found = fs::metadata(place.workspace().join(made)).unwrap();
        assert_eq!((found.uid(), found.gid()), (NORMAL, NORMAL), "{made}");
    }
}

/// What stands for Docker: it reads and writes what its arguments name, as buildx does.
pub(super) const DOCKER: &str = r#"#!/bin/sh
case "$*" in
'buildx version') echo v0.13.1 ;;
info*) echo '[["driver-type","io.containerd.snapshotter.v1"]]' ;;
'buildx inspect'*) printf 'Name: default\nDriver: docker\nStatus: running\nPlatforms: linux/amd64, linux/arm64\n' ;;
'context inspect'*) echo default ;;
'buildx build'*)
    while [ $# -gt 0 ]; do
        case "$1" in
        --metadata-file) echo '{}' > "$2" || exit 1 ;;
        --secret) cat "${2#*src=}" > /dev/null || exit 1 ;;
        esac
        shift
    done ;;
esac
"#;

#[test]
fn a_build_reads_and_writes_as_the_user_behind_sudo() {
    if !rustix::process::geteuid().is_root() || !callers("builds under sudo").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    program::write(&place.path("bin/docker"), DOCKER);
    fs::write(place.path("secret"), "root's own").unwrap();
    fs::set_permissions(place.path("secret"), Permissions::from_mode(0o600)).unwrap();
    place.write("home/secret", "the user's");
    let program = place.path("sandboxctl").display().to_string();
    let build = |sudo: bool, metadata: &Path, secret: &Path| {
        let (metadata, secret) = (metadata.display(), format!("id=x,src={}", secret.display()));
        let words = [&program, "build", "--metadata-file", &metadata.to_string(), "--secret", &secret];
        let mut command = place.command(&words);
        if sudo {
            behind_sudo(&place, &mut command);
        }
        let path = format!("{}:/usr/bin:/bin", place.path("bin").display());
        let output = command.env("PATH", path).env("DOCKER_HOST", "tcp://192.0.2.1:2375").output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (of_root, of_user) = (place.path("secret"), place.home().join("secret"));
    for (metadata, secret) in [(place.path("new"), &of_user), (place.home().join("other"), &of_root)] {
        let (done, said) = build(true, &metadata, secret);
        assert!(!done && said.contains("ermission denied"), "{said}");
        assert!(!metadata.exists(), "{said}");
        let (done, said) = build(false, &metadata, secret);
        assert!(done, "the control: root may: {said}");
    }
    let metadata = place.home().join("metadata");
    let (done, said) = build(true, &metadata, &of_user);
    assert!(done, "{said}");
    assert_eq!(fs::metadata(metadata).unwrap().uid(), NORMAL);
}

/// Starts a command as a shell of root's may: in a terminal, with a file of root's open as descriptor 9, and with a key of root's in
/// its session keyring.
const SHELL_OF_ROOT: &str = r#"
import ctypes, os, platform, pty, subprocess, sys
libc, join = ctypes.CDLL(None), 250 if platform.machine() == "x86_64" else 219
child, master = pty.fork()
if child:
    try:
        while os.read(master, 1024): pass
    except OSError: pass
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
libc.syscall(join, 1, None)
libc.syscall(join - 2, b"user", b"of-root", b"only root knows", 15, -3)
os.dup2(os.open(sys.argv[1], os.O_RDONLY), 9)
with open(sys.argv[2], "w") as said:
    sys.exit(subprocess.call(sys.argv[3:], close_fds=False, stdin=subprocess.DEVNULL, stdout=said, stderr=said))
"#;

/// Says what it has of that shell's.
const TAKEN: &str = r#"#!/usr/bin/python3
import ctypes, os, platform
libc, keyctl = ctypes.CDLL(None), 250 if platform.machine() == "x86_64" else 219
def took(what, take):
    try:
        if take(): print(what, file=told)
    except OSError: pass
def read_key():
    value = ctypes.create_string_buffer(32)
    libc.syscall(keyctl, 11, libc.syscall(keyctl, 10, -3, b"user", b"of-root", 0), value, 32)
    return value.value == b"only root knows"
with open("REPORT", "w") as told:
    took("ran", lambda: True)
    took("file", lambda: os.pread(9, 32, 0) == b"root's own")
    took("key", read_key)
    took("terminal", lambda: os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
"#;

#[test]
fn programs_of_the_user_behind_sudo_get_nothing_of_the_shell_that_root_calls_from() {
    if !rustix::process::geteuid().is_root() || !callers("inherited things").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let (secret, report) = (place.path("secret"), place.home().join("report"));
    fs::write(&secret, "root's own").unwrap();
    fs::set_permissions(&secret, Permissions::from_mode(0o600)).unwrap();
    let taken = place.path("bin/taken");
    program::write(&taken, &TAKEN.replace("REPORT", &report.display().to_string()));
    program::write(&place.path("bin/docker"), &format!("#!/bin/sh\n{} || exit 1\n{DOCKER}", taken.display()));
    let settings = format!(
        "[secrets.s]\nmode = \"inject\"\nenv_var = \"S\"\nsource = \"command:{}; echo x\"\n",
        taken.display()
    );
    place.write("home/.config/sandboxctl/sandbox.toml", &settings);
    // A shell's child, and what the shell itself becomes, which leads its session.
    let becomes = "os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for one in 1, 2: os.dup2(said.fileno(), one)
    os.execvp(sys.argv[3], sys.argv[3:])";
    let (calls, _) = SHELL_OF_ROOT.split_once("    sys.exit(subprocess").unwrap();
    let leader = format!("{calls}    {becomes}\n");
    let told_by = |shell: &str, words: &[OsString]| {
        let _ = fs::remove_file(&report);
        let said = place.path("said");
        let start = [OsString::from("python3"), "-c".into(), shell.into()];
        let start = start.into_iter().chain([secret.clone().into(), said.clone().into()]);
        let mut command = place.command(&start.chain(words.iter().cloned()).collect::<Vec<_>>());
        let path = format!("{}:/usr/sbin:/usr/bin:/bin", place.path("bin").display());
        behind_sudo(&place, &mut command).env("PATH", path).env("DOCKER_HOST", "tcp://192.0.2.1:2375");
        let done = command.status().unwrap();
        assert!(done.success(), "{words:?}: {}", fs::read_to_string(said).unwrap());
        fs::read_to_string(&report).unwrap()
    };
    let told = |words: &[OsString]| told_by(SHELL_OF_ROOT, words);
    let id = NORMAL.to_string();
    let become_user = ["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups"].map(OsString::from);
    let alone: Vec<_> = become_user.into_iter().chain([taken.clone().into()]).collect();
    assert_eq!(told(&alone), "ran\nfile\nkey\nterminal\n", "the control");
    assert_eq!(told_by(&leader, &alone), "ran\nfile\nkey\nterminal\n", "the control");
    // In a pid namespace of its own a process has a session whose leader it cannot name.
    let apart = ["unshare", "--pid", "--fork", "--mount-proc"];
    for before in [[].as_slice(), &apart] {
        let call = |words: Vec<OsString>| before.iter().map(OsString::from).chain(words).collect::<Vec<_>>();
        let run = call(place.run(&[""; 0], &["true"]));
        assert_eq!(told(&run), "ran\n", "a command of a secret's, {before:?}");
        let build = call(vec![place.path("sandboxctl").into(), "build".into()]);
        assert_eq!(told(&build), "ran\n", "a build, {before:?}");
        assert_eq!(told_by(&leader, &run), "ran\n", "a command of a secret's, of a leader, {before:?}");
        assert_eq!(told_by(&leader, &build), "ran\n", "a build of a leader, {before:?}");
    }
}

#[test]
fn root_runs_no_engine_that_the_user_behind_sudo_may_have_put_there() {
    if !rustix::process::geteuid().is_root() || !callers("engines under sudo").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let ran = place.path("ran");
    let script = format!("#!/bin/sh\necho \"$HOME:$XDG_CONFIG_HOME\" > {}\nexit 1\n", ran.display());
    let (theirs, of_root) = (place.home().join("bin/podman"), place.path("bin/podman"));
    for engine in [&theirs, &of_root] {
        program::write(engine, &script);
        place.give(engine);
    }
    place.give(theirs.parent().unwrap());
    // Theirs; theirs in a directory of root's; and root's own: the control.
    for (number, engine) in [&theirs, &of_root, &of_root].into_iter().enumerate() {
        if number == 2 {
            std::os::unix::fs::chown(engine, Some(0), Some(0)).unwrap();
        }
        let mut command = place.command(&place.run(&["--provider", "podman", "--image", "x"], &["true"]));
        let command = behind_sudo(&place, &mut command);
        in_system_path(command, &[engine.parent().unwrap()]).output().unwrap();
        assert_eq!(ran.exists(), number == 2, "{number}");
    }
    // Nothing leads it to settings of theirs.
    let told = fs::read_to_string(ran).unwrap();
    assert!(!told.contains(&place.home().display().to_string()), "{told}");
}

#[test]
fn root_runs_no_program_of_the_user_s_that_lies_in_a_directory_of_root_s() {
    if !rustix::process::geteuid().is_root() || !callers("PATH under sudo").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let ran = place.path("ran");
    // As a layer in root's store of images: it belongs to root, only root may write there, and the user has chosen what is in it.
    program::write(
        &place.path("store/layer/podman"),
        &format!("#!/bin/sh\necho > {}\nexit 1\n", ran.display()),
    );
    let layer = place.path("store/layer");
    let call = || {
        let mut command = place.command(&place.run(&["--provider", "podman", "--image", "x"], &["true"]));
        behind_sudo(&place, &mut command).env("PATH", format!("{}:/usr/bin:/bin", layer.display()));
        command
    };
    call().output().unwrap();
    assert!(!ran.exists(), "the user behind sudo says by PATH what root runs");
    // The control: where the system has its programs.
    in_system_path(&call(), &[&layer]).output().unwrap();
    assert!(ran.exists());
}

/// Has a call of root alone, a control, leave nothing of root's in the user's home.
fn keep_state_of_root(place: &Place, command: &mut Command) {
    command.env("XDG_STATE_HOME", place.path("state-of-root"));
}

#[test]
fn no_variable_leads_root_s_engine_to_files_of_the_user_behind_sudo() {
    if !rustix::process::geteuid().is_root() || !callers("variables under sudo").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let (ran, settings) = (place.path("ran"), place.write("home/containers.conf", "the user's"));
    // As Podman does: it reads the file that the variable names, seen from where it runs.
    let script = format!("#!/bin/sh\ncat \"$CONTAINERS_CONF\" > {0}\nenv >> {0}\nexit 1\n", ran.display());
    program::write(&place.path("bin/podman"), &script);
    let from_the_root = settings.strip_prefix("/").unwrap();
    for (sudo, value) in [
        (false, from_the_root.as_os_str()),
        (true, from_the_root.as_os_str()),
        (true, settings.as_os_str()),
        (true, std::ffi::OsStr::new("/dev/../etc/hostname")),
    ] {
        let mut command = place.command(&place.run(&["--provider", "podman", "--image", "x"], &["true"]));
        command.env("PATH", format!("{}:/usr/bin:/bin", place.path("bin").display()));
        command.env("LANG", "C.UTF-8").env("CONTAINERS_CONF", value);
        if sudo {
            command = in_system_path(behind_sudo(&place, &mut command), &[&place.path("bin")]);
        } else {
            keep_state_of_root(&place, &mut command);
        }
        command.output().unwrap();
        let told = fs::read_to_string(&ran).unwrap();
        assert!(told.contains("LANG=C.UTF-8"), "{value:?}: {told}");
        assert_eq!(told.contains("the user's"), !sudo, "{value:?}: {told}");
        assert_eq!(told.contains("CONTAINERS_CONF"), !sudo, "{value:?}: {told}");
    }
}

#[test]
fn root_s_engine_looks_for_no_helper_where_everybody_may_put_one() {
    if !rustix::process::geteuid().is_root() || !callers("helpers under sudo").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let ran = place.path("ran");
    program::write(&place.path("bin/podman"), "#!/bin/sh\ndocker-credential-x\nexit 1\n");
    let helper = place.write("everybody/docker-credential-x", "");
    program::write(&helper, &format!("#!/bin/sh\necho > {}\n", ran.display()));
    let everybody = helper.parent().unwrap();
    std::os::unix::fs::chown(everybody, Some(0), Some(0)).unwrap();
    // The control: only root may put something there.
    for (mode, runs) in [(0o755, true), (0o1777, false)] {
        let _ = fs::remove_file(&ran);
        fs::set_permissions(everybody, Permissions::from_mode(mode)).unwrap();
        let mut command = place.command(&place.run(&["--provider", "podman", "--image", "x"], &["true"]));
        let command = behind_sudo(&place, &mut command);
        in_system_path(command, &[everybody, &place.path("bin")]).output().unwrap();
        assert_eq!(ran.exists(), runs, "{mode:o}");
    }
}

#[test]
fn settings_of_docker_are_read_with_the_rights_of_the_user_behind_sudo() {
    if !rustix::process::geteuid().is_root() || !callers("settings under sudo").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    program::write(&place.path("bin/docker"), "#!/bin/sh\nexit 1\n");
    fs::write(place.path("secret"), "\"only root knows\"").unwrap();
    let settings = place.write("home/.docker/config.json", "");
    let said = || {
        let words = place.run(&["--provider", "docker", "--image", "x"], &["true"]);
        let mut command = place.command(&words);
        behind_sudo(&place, &mut command).env("DOCKER_CONFIG", place.home().join(".docker"));
        let output = in_system_path(&command, &[&place.path("bin")]).output().unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    for mode in [0o644, 0o600] {
        fs::set_permissions(place.path("secret"), Permissions::from_mode(mode)).unwrap();
        fs::remove_file(&settings).unwrap();
        symlink(place.path("secret"), &settings).unwrap();
        let said = said();
        assert_eq!(said.contains("config.json"), mode == 0o644, "{said}");
        assert!(!said.contains("only root knows"), "{said}");
    }
    // Nobody ever writes into it.
    fs::remove_file(&settings).unwrap();
    assert!(Command::new("mkfifo").arg(&settings).status().unwrap().success());
    said();
}

/// Answers as an engine does that has nothing, as whoever runs the tests.
fn listen(socket: &Path) {
    let listener = UnixListener::bind(socket).unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut question = String::new();
            let _ = BufReader::new(&stream).read_line(&mut question);
            let status = if question.contains("/_ping") { "200 OK" } else { "404 Not Found" };
            let _ = stream.write_all(format!("HTTP/1.0 {status}\r\n\r\n").as_bytes());
        }
    });
}

#[test]
fn root_is_led_to_no_socket_of_the_user_behind_sudo() {
    if !rustix::process::geteuid().is_root() || !callers("sockets under sudo").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let (ran, link) = (place.path("ran"), place.home().join("d.sock"));
    let (of_root, theirs, sticky) =
        (place.path("bin/r.sock"), place.home().join("evil.sock"), place.path("sticky/s.sock"));
    // The user exchanges the link as soon as root's command has been started.
    let script = format!(
        "#!/bin/sh\nln -sfn {} {}\nreadlink -f \"${{DOCKER_HOST#unix://}}\" > {}\nexit 1\n",
        theirs.display(),
        link.display(),
        ran.display()
    );
    program::write(&place.path("bin/docker"), &script);
    fs::create_dir(place.path("sticky")).unwrap();
    for socket in [&of_root, &theirs, &sticky] {
        listen(socket);
    }
    place.give(&theirs);
    fs::set_permissions(place.path("sticky"), Permissions::from_mode(0o1777)).unwrap();
    let call = |sudo: bool, address: &Path, led_to: &Path| {
        let _ = fs::remove_file(&ran);
        let _ = fs::remove_file(&link);
        symlink(led_to, &link).unwrap();
        let image = ["--provider", "docker", "--pull", "always", "--image", "registry.example/x:1"];
        let mut command = place.command(&place.run(&image, &["true"]));
        let path = format!("{}:/usr/bin:/bin", place.path("bin").display());
        command.env("PATH", path).env("DOCKER_HOST", format!("unix://{}", address.display()));
        if sudo {
            command = in_system_path(behind_sudo(&place, &mut command), &[&place.path("bin")]);
        } else {
            keep_state_of_root(&place, &mut command);
        }
        let said = String::from_utf8_lossy(&command.output().unwrap().stderr).into_owned();
        (fs::read_to_string(&ran).unwrap_or_default(), said)
    };
    let line = |path: &Path| format!("{}\n", path.display());
    let (found, said) = call(false, &link, &of_root);
    assert_eq!(found, line(&theirs), "the control: without sudo it is the caller's own affair: {said}");
    for address in [&link, &of_root] {
        let (found, said) = call(true, address, &of_root);
        assert_eq!(found, line(&of_root), "{said}");
    }
    for address in [&link, &theirs, &sticky] {
        let (found, said) = call(true, address, &theirs);
        assert_eq!(found, "", "{said}");
        assert!(said.contains("without sudo") && said.contains("can exchange"), "{said}");
    }
}

#[test]
fn no_error_tells_the_user_behind_sudo_what_there_is_in_a_closed_directory() {
    if !rustix::process::geteuid().is_root() || !callers("errors under sudo").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let closed = place.path("closed");
    fs::create_dir_all(closed.join("there")).unwrap();
    place.give(&closed.join("there"));
    program::write(&place.path("bin/docker"), "#!/bin/sh\nexit 1\n");
    let intercept = "[network]\nallow = [\"example.org:443\"]\nintercept = [\"example.org\"]\n";
    let said = |path: &Path, variable: &str, value: &str| {
        let engine = match variable {
            "DOCKER_HOST" => ["--provider", "docker", "--image", "x"].as_slice(),
            _ => &[],
        };
        let settings = if engine.is_empty() { intercept } else { "" };
        place.write("home/.config/sandboxctl/sandbox.toml", settings);
        let mut command = place.command(&place.run(engine, &["true"]));
        behind_sudo(&place, &mut command).env(variable, format!("{value}{}", path.display()));
        let output = in_system_path(&command, &[&place.path("bin")]).output().unwrap();
        assert!(!output.status.success(), "{variable}: {output:?}");
        String::from_utf8_lossy(&output.stderr).replace(&path.display().to_string(), "PATH")
    };
    for (variable, value) in [("DOCKER_HOST", "unix://"), ("SSL_CERT_FILE", ""), ("SSL_CERT_DIR", "")] {
        // The control: in a directory that they may pass through they can see it themselves.
        for (mode, is_told) in [(0o711, true), (0o700, false)] {
            fs::set_permissions(&closed, Permissions::from_mode(mode)).unwrap();
            let [there, nowhere] = ["there", "nowhere"].map(|name| said(&closed.join(name), variable, value));
            assert_eq!(there != nowhere, is_told, "{variable}, {mode:o}: {there}{nowhere}");
        }
    }
    // Nobody ever writes into it.
    let pipe = place.home().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let error = said(&pipe, "SSL_CERT_FILE", "");
    assert!(error.contains("no regular file"), "{error}");
}

/// A command of root's, as sudo starts it for the normal user.
pub(super) fn behind_sudo<'a>(place: &Place, command: &'a mut Command) -> &'a mut Command {
    command.env("SUDO_UID", NORMAL.to_string()).env("SUDO_GID", NORMAL.to_string());
    command.env("XDG_STATE_HOME", place.home().join(".local/state"));
    command.env("XDG_CONFIG_HOME", place.home().join(".config"))
}
