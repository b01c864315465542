//! Who the client is to others, as root behind which a user is: to whoever it speaks to, and what programs of that user get of root's.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use super::behind_sudo::{DOCKER, behind_sudo};
use crate::machine::{Caller, NORMAL, callers};
use crate::place::Place;
use crate::program;

/// A service that asks for the sender of each message, and says who has connected and who has sent: user and group.
const SERVICE: &str = r#"
import os, socket, struct, sys
listener = socket.socket(socket.AF_UNIX); listener.bind(sys.argv[1]); os.chmod(sys.argv[1], 0o666); listener.listen(64)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
print("listening", flush=True)
while True:
    stream, _ = listener.accept()
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    peer = struct.unpack("3i", stream.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    data, control, _, _ = stream.recvmsg(4096, socket.CMSG_SPACE(12))
    # Whoever only looks whether somebody listens sends nothing.
    if data:
        senders = [struct.unpack("3i", one) for level, kind, one in control if kind == socket.SCM_CREDENTIALS]
        print(*peer[1:], *senders[0][1:], flush=True)
        stream.sendall(b"answered\n")
    stream.close()
"#;

/// Says something there, and waits for the answer.
const SPEAK: &str = "
import socket, sys
stream = socket.socket(socket.AF_UNIX); stream.connect(sys.argv[1])
stream.sendall(b'a question'); assert stream.recv(100) == b'answered\\n'
";

/// A service that runs until this is dropped.
struct Service(Child, BufReader<ChildStdout>);

impl Service {
    /// Starts one of whoever runs the tests, or of the normal user.
    fn start(place: &Place, path: &Path, user: Option<u32>) -> Self {
        let id = user.map(|user| user.to_string());
        let become_user =
            id.iter().flat_map(|id| ["setpriv", "--reuid", id, "--regid", id, "--clear-groups"]);
        let words = become_user.chain(["python3", "-c", SERVICE]).map(OsString::from);
        let words: Vec<_> = words.chain([path.into()]).collect();
        let mut child = place.command(&words).stdout(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        let mut service = Self(child, said);
        assert_eq!(service.heard(), "listening");
        service
    }

    /// Waits for what it says next.
    fn heard(&mut self) -> String {
        let mut line = String::new();
        self.1.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_service_takes_what_the_agent_sends_for_the_user_s_and_not_for_root_s() {
    if !rustix::process::geteuid().is_root() || !callers("senders under sudo").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let path = place.path("service.sock");
    let mut service = Service::start(&place, &path, None);
    let socket = format!("{}:/run/service.sock", path.display());
    let run = place.run(&["--quiet", "--socket", &socket], &["python3", "-c", SPEAK, "/run/service.sock"]);
    let speak = ["python3", "-c", SPEAK].map(OsString::from).into_iter().chain([path.clone().into()]);
    // The control: what root sends is root's.
    assert!(place.command(&speak.collect::<Vec<_>>()).status().unwrap().success());
    assert_eq!(service.heard(), "0 0 0 0");
    let user = format!("{NORMAL} {NORMAL} {NORMAL} {NORMAL}");
    for (what, mut command) in [("the user's own", place.outside(&run)), ("behind sudo", place.command(&run))]
    {
        if what == "behind sudo" {
            behind_sudo(&place, &mut command);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{what}: {output:?}");
        assert_eq!(service.heard(), user, "{what}");
    }
}

#[test]
fn whoever_listens_in_the_state_directory_hears_the_user_and_nobody_behind_a_link_hears_anything() {
    if !rustix::process::geteuid().is_root() || !callers("state under sudo").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let state = place.write("home/.local/state/sandboxctl/egress/x.0.jsonl", "").parent().unwrap().to_owned();
    for directory in [state.parent().unwrap(), &state] {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).unwrap();
    }
    let name = "x.0123456789abcdef.socket";
    let program = place.path("sandboxctl").into_os_string();
    let user = format!("{NORMAL} {NORMAL} {NORMAL} {NORMAL}");
    // The user's own listener; and a link of theirs to a service of root's, which nobody follows.
    for of_root in [false, true] {
        let (path, socket) = (place.path("service.sock"), state.join(name));
        let mut service = if of_root {
            std::os::unix::fs::symlink(&path, &socket).unwrap();
            Service::start(&place, &path, None)
        } else {
            Service::start(&place, &socket, Some(NORMAL))
        };
        for words in [["egress", "list", "x"].as_slice(), &["egress", "log", "--follow", "x"]] {
            let words: Vec<_> =
                [program.clone()].into_iter().chain(words.iter().map(OsString::from)).collect();
            let mut command = place.command(&words);
            let output = behind_sudo(&place, &mut command).output().unwrap();
            if of_root {
                assert!(!output.status.success(), "{words:?}: {output:?}");
            } else {
                assert_eq!(service.heard(), user, "{words:?}");
            }
        }
        if of_root {
            // The control, and the first that it hears.
            let speak = ["python3", "-c", SPEAK].map(OsString::from).into_iter().chain([path.into()]);
            assert!(place.command(&speak.collect::<Vec<_>>()).status().unwrap().success());
            assert_eq!(service.heard(), "0 0 0 0");
        }
        // A link is nothing that anybody listens on, and was removed.
        assert_eq!(fs::remove_file(&socket).is_ok(), !of_root);
    }
}

/// Becomes a user as most programs do, by a change of user alone, and starts another program.
const BECOME: &str = "
import os, sys
user = int(sys.argv[1])
os.setgroups([]); os.setresgid(user, user, user); os.setresuid(user, user, user)
os.execv(sys.argv[2], sys.argv[2:])
";

#[test]
fn programs_of_the_user_behind_sudo_have_no_capability_whatever_root_keeps() {
    if !rustix::process::geteuid().is_root() || !callers("capabilities").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let (report, told) = (place.home().join("report"), place.path("bin/told"));
    // PR_GET_SECUREBITS.
    let bits = "import ctypes; print('Bits:', ctypes.CDLL(None).prctl(27))";
    let script = format!(
        "#!/bin/sh\n{{ grep -E '^(Uid|Gid|Cap(Inh|Prm|Eff|Amb)):' /proc/self/status; python3 -c \"{bits}\"; }} > {}\n",
        report.display()
    );
    program::write(&told, &script);
    program::write(&place.path("bin/docker"), &format!("#!/bin/sh\n{} || exit 1\n{DOCKER}", told.display()));
    let settings = format!(
        "[secrets.s]\nmode = \"inject\"\nenv_var = \"S\"\nsource = \"command:{}; echo x\"\n",
        told.display()
    );
    place.write("home/.config/sandboxctl/sandbox.toml", &settings);
    let called = |bits: &[&str], words: &[OsString]| {
        let _ = fs::remove_file(&report);
        let some = "+chown,+dac_override,+fowner,+kill,+setgid,+setuid,+setpcap,+sys_admin";
        let start = [&["setpriv", "--inh-caps", some, "--ambient-caps", some], bits].concat();
        let words: Vec<_> = start.iter().map(OsString::from).chain(words.iter().cloned()).collect();
        let mut command = place.command(&words);
        let path = format!("{}:/usr/sbin:/usr/bin:/bin", place.path("bin").display());
        behind_sudo(&place, &mut command).env("PATH", path).env("DOCKER_HOST", "tcp://192.0.2.1:2375");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        let told = fs::read_to_string(&report).unwrap();
        told.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    let ids = [NORMAL; 4].map(|id| id.to_string()).join(" ");
    let none = "0".repeat(16);
    let nothing =
        format!("Uid: {ids} Gid: {ids} CapInh: {none} CapPrm: {none} CapEff: {none} CapAmb: {none} Bits: 0");
    let user = NORMAL.to_string();
    let alone = ["python3", "-c", BECOME, &user].map(OsString::from);
    let alone: Vec<_> = alone.into_iter().chain([told.clone().into()]).collect();
    let fixed = ["--securebits", "+no_setuid_fixup"].as_slice();
    // The control: a change of user alone leaves what is inherited, and with the secure bit all of it.
    assert!(!called(&[], &alone).contains(&format!("CapInh: {none}")));
    assert!(!called(fixed, &alone).contains(&format!("CapEff: {none}")));
    for bits in [&[], fixed] {
        let run = called(bits, &place.run(&[""; 0], &["true"]));
        assert_eq!(run, nothing, "a command of a secret's, {bits:?}");
        let build = called(bits, &[place.path("sandboxctl").into(), "build".into()]);
        assert_eq!(build, nothing, "a build, {bits:?}");
    }
    // What cannot be taken back is no reason to start something with it.
    let locked = ["--securebits", "+no_setuid_fixup,+no_setuid_fixup_locked"];
    let words = [&["setpriv"], locked.as_slice()].concat().into_iter().map(OsString::from);
    let words: Vec<_> = words.chain(place.run(&[""; 0], &["true"])).collect();
    fs::remove_file(&report).unwrap();
    let output = behind_sudo(&place, &mut place.command(&words)).output().unwrap();
    assert!(!output.status.success() && !report.exists(), "{output:?}");
}

#[test]
fn a_socket_that_is_root_s_alone_is_not_reached_whatever_capabilities_root_keeps() {
    if !rustix::process::geteuid().is_root() || !callers("closed sockets").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let path = place.path("service.sock");
    let mut service = Service::start(&place, &path, None);
    let socket = format!("{}:/run/service.sock", path.display());
    let run = place.run(&["--quiet", "--socket", &socket], &["python3", "-c", SPEAK, "/run/service.sock"]);
    let kept = ["setpriv", "--securebits", "+no_setuid_fixup"].map(OsString::from);
    let run: Vec<_> = kept.into_iter().chain(run).collect();
    // The control: one that everybody may connect to.
    for (mode, is_reached) in [(0o666, true), (0o600, false)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let output = behind_sudo(&place, &mut place.command(&run)).output().unwrap();
        assert_eq!(output.status.success(), is_reached, "{mode:o}: {output:?}");
        if is_reached {
            service.heard();
        }
    }
}

/// Has a terminal of root's with this mode, gives a descriptor of it that can only be written to as standard input to a command, types
/// there, and prints what the command says.
const TERMINAL: &str = r#"
import os, pty, subprocess, sys, tty
mode, *words = sys.argv[1:]
master, slave = pty.openpty()
tty.setraw(slave)
os.chmod(os.ttyname(slave), int(mode, 8))
given = os.open(os.ttyname(slave), os.O_WRONLY | os.O_NOCTTY)
command = subprocess.Popen(words, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
# Before the command runs: it waits in the terminal until somebody reads it.
os.write(master, b"typed by root\n")
try:
    said, _ = command.communicate(timeout=20)
except subprocess.TimeoutExpired:
    command.kill()
    said, _ = command.communicate()
print(said.decode())
"#;

#[test]
fn a_terminal_that_the_user_may_only_write_to_is_not_read() {
    if !rustix::process::geteuid().is_root() || !callers("terminals of others").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let run = place.run(&["--quiet"], &["timeout", "3", "head", "-c", "13"]);
    // The control: a terminal that they may read from, too.
    for (mode, is_read) in [("666", true), ("622", false)] {
        let start = ["python3", "-c", TERMINAL, mode].map(OsString::from);
        let words: Vec<_> = start.into_iter().chain(run.iter().cloned()).collect();
        let output = behind_sudo(&place, &mut place.command(&words)).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(said.contains("typed by root"), is_read, "{mode}: {said} {output:?}");
    }
}

#[test]
fn a_set_uid_file_that_is_standard_output_loses_its_bit_as_when_the_user_writes_to_it() {
    if !rustix::process::geteuid().is_root() || !callers("set-uid files under sudo").contains(&Caller::Normal)
    {
        return;
    }
    let place = Place::new(Caller::Normal);
    let log = place.write("home/.local/state/sandboxctl/egress/x.0.jsonl", "#!the user's\n");
    for directory in log.ancestors().skip(1).take(2) {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).unwrap();
    }
    let file = place.path("set-uid");
    let mode_after = |command: &mut Command| {
        let _ = fs::remove_file(&file);
        let out = fs::File::create(&file).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o4777)).unwrap();
        let output = command.stdout(out).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_ne!(fs::metadata(&file).unwrap().len(), 0, "{output:?}");
        fs::metadata(&file).unwrap().permissions().mode() & 0o7777
    };
    let cat = [OsString::from("cat"), log.into()];
    assert_eq!(mode_after(&mut place.command(&cat)), 0o4777, "the control: root writes");
    assert_eq!(mode_after(&mut place.outside(&cat)), 0o777, "the control: the user writes");
    // Some say what they say before they ask who calls.
    for words in
        [&["egress", "log", "x"][..], &["--help"], &["--version"], &["completions", "bash"], &["man"]]
    {
        let program = place.path("sandboxctl").into_os_string();
        let words: Vec<_> = [program].into_iter().chain(words.iter().map(OsString::from)).collect();
        assert_eq!(mode_after(behind_sudo(&place, &mut place.command(&words))), 0o777, "{words:?}");
    }
}
