//! Paths that the user behind sudo chooses, and links of theirs on the way: root has no more to say about where they lead than they.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::behind_sudo::{DOCKER, behind_sudo};
use crate::machine::{Caller, NORMAL, callers};
use crate::place::Place;
use crate::program;
use crate::system_path::in_system_path;

/// Makes a directory of root's, with one in it that everybody may enter, and nobody has a way to but root.
fn closed(place: &Place) -> PathBuf {
    let inner = place.path("closed/inner");
    fs::create_dir_all(&inner).unwrap();
    fs::write(inner.join("there"), "root's own").unwrap();
    fs::set_permissions(place.path("closed"), Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(&inner, Permissions::from_mode(0o777)).unwrap();
    inner
}

/// Opens or closes the way there.
fn open(place: &Place, is_open: bool) {
    let mode = if is_open { 0o711 } else { 0o700 };
    fs::set_permissions(place.path("closed"), Permissions::from_mode(mode)).unwrap();
}

/// Calls a command behind sudo from a directory, with a file of root's in it open as descriptor 9.
fn call(place: &Place, directory: &Path, words: &[OsString]) -> Output {
    let start = ["sh", "-c", "exec 9< there; exec \"$@\"", "sh"].map(OsString::from);
    let words: Vec<_> = start.into_iter().chain(words.iter().cloned()).collect();
    behind_sudo(place, &mut place.command(&words)).current_dir(directory).output().unwrap()
}

fn words<const N: usize>(place: &Place, words: [&str; N]) -> Vec<OsString> {
    [place.path("sandboxctl").into()].into_iter().chain(words.map(OsString::from)).collect()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

#[test]
fn manual_pages_are_written_nowhere_that_only_root_has_a_way_to() {
    if !rustix::process::geteuid().is_root() || !callers("manual pages").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let inner = closed(&place);
    let pages = inner.join("pages");
    let man = |directory: &Path| {
        let directory = directory.to_str().unwrap();
        let output = call(&place, &inner, &words(&place, ["man", "--output-dir", directory]));
        (output.status.success(), fs::read_dir(&pages).map_or(0, Iterator::count))
    };
    // The control: what they may reach.
    open(&place, true);
    let (done, count) = man(Path::new("pages"));
    assert!(done && count > 10, "{count}");
    fs::remove_dir_all(&pages).unwrap();
    open(&place, false);
    for directory in [Path::new("pages"), Path::new("/proc/self/cwd/pages"), &pages] {
        assert_eq!(man(directory), (false, 0), "{}", directory.display());
    }
    // A link in the place of a page.
    let page = place.write("workspace/man/sandboxctl.1", "");
    let directory = page.parent().unwrap();
    for to in ["/proc/self/cwd/there", "/proc/self/fd/9"] {
        fs::remove_file(&page).unwrap();
        symlink(to, &page).unwrap();
        fs::set_permissions(inner.join("there"), Permissions::from_mode(0o666)).unwrap();
        assert!(!man(directory).0, "{to}");
        assert_eq!(fs::read_to_string(inner.join("there")).unwrap(), "root's own", "{to}");
    }
}

#[test]
fn no_link_of_proc_tells_what_there_is_where_root_stands() {
    if !rustix::process::geteuid().is_root() || !callers("links of profiles").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let inner = closed(&place);
    let link = place.write("home/.claude/CLAUDE.md", "");
    // Under sudo the home directory is the one that passwd(5) names.
    let passwd =
        format!("root:x:0:0::/root:/bin/sh\nuser:x:{NORMAL}:{NORMAL}::{}:\n", place.home().display());
    let passwd = place.write("passwd", &passwd);
    let is_told = |to: &Path| {
        fs::remove_file(&link).unwrap();
        symlink(to, &link).unwrap();
        let before = ["unshare", "-m", "sh", "-c", "mount --bind \"$0\" /etc/passwd && exec \"$@\""];
        let show = words(&place, ["agent", "show", "claude-code"]);
        let show = before.map(OsString::from).into_iter().chain([passwd.clone().into()]).chain(show);
        let said = text(&call(&place, &inner, &show.collect::<Vec<_>>()));
        assert!(said.contains("claude"), "{said}");
        said.contains("CLAUDE.md")
    };
    // The control: what they may look at.
    open(&place, true);
    assert!(is_told(&inner.join("there")));
    assert!(!is_told(&inner.join("nowhere")));
    open(&place, false);
    for to in [inner.join("there"), "/proc/self/cwd/there".into(), "/proc/self/fd/9".into()] {
        assert!(!is_told(&to), "{}", to.display());
    }
}

#[test]
fn an_exported_home_holds_nothing_that_a_link_in_its_place_leads_to() {
    if !rustix::process::geteuid().is_root() || !callers("exported homes").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let inner = closed(&place);
    let made = place.run(&["--quiet", "--home", "x"], &["sh", "-c", "echo \"the user's\" > ~/there"]);
    let mut command = place.command(&made);
    let output = behind_sudo(&place, &mut command).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let files = place.home().join(".local/state/sandboxctl/homes/x/files");
    let holds = |what: &str| {
        let output = call(&place, &inner, &words(&place, ["home", "export", "x"]));
        String::from_utf8_lossy(&output.stdout).contains(what)
    };
    assert!(holds("the user's"), "the control");
    fs::rename(&files, files.with_file_name("aside")).unwrap();
    for to in [Path::new("/proc/self/cwd"), Path::new("/proc/self/fd/3/..")] {
        symlink(to, &files).unwrap();
        assert!(!holds("root's own"), "{}", to.display());
        fs::remove_file(&files).unwrap();
    }
}

#[test]
fn whether_a_closed_head_is_one_of_git_s_is_not_told() {
    if !rustix::process::geteuid().is_root() || !callers("closed repositories").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let repository = place.path("repository");
    for name in ["objects", "refs", "public"] {
        fs::create_dir_all(repository.join(name)).unwrap();
    }
    place.give(&repository.join("public"));
    let head = repository.join("HEAD");
    let shared = format!("{}:/x", repository.join("public").display());
    let said = |content: &str, mode: u32| {
        fs::write(&head, content).unwrap();
        fs::set_permissions(&head, Permissions::from_mode(mode)).unwrap();
        let plan = place.words("plan", &["-v", &shared], &["true"]);
        let output = behind_sudo(&place, &mut place.command(&plan)).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        text(&output).contains("part of the repository")
    };
    let (is_one, is_none) = ("ref: refs/heads/main\n", "only root knows\n");
    assert!(said(is_one, 0o644) && !said(is_none, 0o644), "the control: what they may read");
    assert_eq!(said(is_one, 0o600), said(is_none, 0o600));
}

/// Calls as a run that lives whose record says what is asked of it, and prints what the record of a run beside it says then.
const RECORD: &str = r#"
import fcntl, glob, json, os, subprocess, sys
runs, inside, device, inode, user, *words = sys.argv[1:]
def started(words, **more):
    living = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **more)
    assert living.stdout.readline() == b"started\n", words
    return living
def record(*known):
    (name,) = set(glob.glob(runs + "/*.json")) - set(known)
    head, rules = open(name).read().split("\n")
    return json.loads(head), rules
living = started(words)
forged, rules = record()
living.communicate()
boundary = forged["boundaries"][0]
forged["id"] = "0123456789abcdef"
boundary["host"] = inside
boundary["baseline"]["root"] = {"device": int(device), "inode": int(inode)}
boundary["baseline"]["taken"] = [1000000000, 0]
path = runs + "/0123456789abcdef.json"
with open(path, "w") as file:
    file.write(json.dumps(forged) + "\n" + rules); file.flush()
    os.chown(path, int(user), int(user))
    fcntl.flock(file, fcntl.LOCK_EX)
    living = started(words)
    print(json.dumps(record(path)[0]["boundaries"][0]["baseline"].get("earlier")))
    living.communicate()
os.remove(path)
"#;

#[test]
fn a_record_of_the_user_s_does_not_tell_which_directory_lies_where_they_have_no_way_to() {
    if !rustix::process::geteuid().is_root() || !callers("records under sudo").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let inner = closed(&place);
    let secret = inner.join("secret");
    fs::create_dir(&secret).unwrap();
    symlink(&inner, place.workspace().join("link")).unwrap();
    fs::create_dir_all(place.workspace().join("own")).unwrap();
    let runs = place.home().join(".local/state/sandboxctl/runs");
    let said = |path: &str, directory: &Path, more: u64| {
        let found = std::os::unix::fs::MetadataExt::ino(&fs::metadata(directory).unwrap());
        let device = std::os::unix::fs::MetadataExt::dev(&fs::metadata(directory).unwrap());
        let run = place.run(&["--quiet"], &["sh", "-c", "echo started; cat"]);
        let words = ["python3".into(), "-c".into(), RECORD.into(), runs.clone().into_os_string()];
        let words = words.into_iter().chain([place.workspace().join(path).into_os_string()]);
        let numbers = [device.to_string(), (found + more).to_string(), NORMAL.to_string()];
        let words: Vec<_> = words.chain(numbers.map(OsString::from)).chain(run).collect();
        let output = behind_sudo(&place, &mut place.command(&words)).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    // The control: of a directory that they have a way to, another run in it is known of.
    let own = place.workspace().join("own");
    assert_ne!(said("own", &own, 0), said("own", &own, 1));
    assert_eq!(said("link/secret", &secret, 0), said("link/secret", &secret, 1));
}

#[test]
fn a_build_does_not_run_where_only_root_has_a_way_to() {
    if !rustix::process::geteuid().is_root() || !callers("directories of builds").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let inner = closed(&place);
    let report = place.home().join("report");
    let script = format!("#!/bin/sh\ncat there > {} 2> /dev/null\n{DOCKER}", report.display());
    program::write(&place.path("bin/docker"), &script);
    let config = place.write("home/elsewhere/sandbox.toml", "version = 1\n[image]\nname = \"x:1\"\n");
    let config = config.to_str().unwrap();
    for is_open in [true, false] {
        open(&place, is_open);
        let build = words(&place, ["build", "--trust", "--config", config]);
        let mut command: Command = place.command(&build);
        let path = format!("{}:/usr/sbin:/usr/bin:/bin", place.path("bin").display());
        behind_sudo(&place, &mut command).env("PATH", path).env("DOCKER_HOST", "tcp://192.0.2.1:2375");
        let output = command.current_dir(&inner).output().unwrap();
        let told = fs::read_to_string(&report).unwrap_or_else(|_| panic!("{output:?}"));
        assert_eq!(told.contains("root's own"), is_open, "{output:?}");
    }
}

/// Has a lease on a file until standard input ends, and gives it back to nobody.
const LEASE: &str = "
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print('leased', flush=True); sys.stdin.read()
";

#[test]
fn nobody_waits_for_what_the_user_has_put_in_the_place_of_a_log_or_a_lock() {
    if !rustix::process::geteuid().is_root() || !callers("files of the state").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let run = |name: &str| {
        let run = place.run(&["--quiet", "--name", name, "--network", "allowlist"], &["true"]);
        let words: Vec<_> = ["timeout", "20"].map(OsString::from).into_iter().chain(run).collect();
        behind_sudo(&place, &mut place.command(&words)).output().unwrap()
    };
    let output = run("plain");
    assert!(output.status.success(), "the control: {output:?}");
    let logs = place.home().join(".local/state/sandboxctl/egress");
    assert!(logs.join("plain.0.jsonl").exists());
    let pipe = logs.join("pipe.0.jsonl");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    place.give(&pipe);
    let leased = logs.join("leased.0.jsonl");
    let hold = ["python3".into(), "-c".into(), OsString::from(LEASE), leased.into_os_string()];
    let mut holder = place.outside(&hold);
    let mut holder = holder.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "leased\n");
    for (name, why) in [("pipe", "no regular file"), ("leased", "os error 11")] {
        let output = run(name);
        let ended = output.status.code();
        assert!(ended.is_some_and(|code| code != 0 && code != 124), "{name}: {output:?}");
        let said = text(&output);
        assert!(said.contains(&format!("{name}.0.jsonl")) && said.contains(why), "{name}: {said}");
    }
    drop(holder.stdin.take());
    holder.wait().unwrap();
}

#[test]
fn root_s_engine_is_found_by_no_link_of_the_user_s() {
    if !rustix::process::geteuid().is_root() || !callers("links to engines").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let (ran, engine) = (place.path("ran"), place.path("real/podman"));
    program::write(&engine, &format!("#!/bin/sh\necho > {}\nexit 1\n", ran.display()));
    let link = place.home().join("link");
    symlink(&engine, &link).unwrap();
    fs::create_dir(place.path("bin")).unwrap();
    symlink(&link, place.path("bin/podman")).unwrap();
    // The control: a link of root's, though where the user may put another one.
    for (owner, runs) in [(0, true), (NORMAL, false)] {
        std::os::unix::fs::lchown(&link, Some(owner), Some(owner)).unwrap();
        let _ = fs::remove_file(&ran);
        let mut command = place.command(&place.run(&["--provider", "podman", "--image", "x"], &["true"]));
        let command = behind_sudo(&place, &mut command);
        in_system_path(command, &[&place.path("bin")]).output().unwrap();
        assert_eq!(ran.exists(), runs, "{owner}");
    }
}
