//! The relay, driven through real terminals as a person drives it: `examples/relay.rs` runs the commands.
#![expect(clippy::unwrap_used, reason = "what a helper cannot do fails the test that asked for it")]

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

/// How long anything may take before the test gives up.
const PATIENCE: Duration = Duration::from_secs(20);

/// A person in front of a terminal, with a shell or a command in it.
struct Person {
    master: File,
    /// Kept open, so that the terminal can be looked at after everybody else has closed it.
    terminal: OwnedFd,
    child: Child,
    seen: String,
}

fn relay() -> PathBuf {
    // target/debug/deps/terminal-… -> target/debug/examples/relay
    let test = std::env::current_exe().unwrap();
    let relay = test.ancestors().nth(2).unwrap().join("examples/relay");
    assert!(
        relay.exists(),
        "examples/relay is built by `cargo test` for the whole crate, or `cargo build --examples`"
    );
    relay
}

impl Person {
    fn starting(command: &mut Command, streams: impl FnOnce(&mut Command, &OwnedFd)) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).unwrap();
        unlockpt(&master).unwrap();
        let terminal = ioctl_tiocgptpeer(&master, flags).unwrap();
        tcsetwinsize(&master, Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let clone = || Stdio::from(terminal.try_clone().unwrap());
        command.stdin(clone()).stdout(clone()).stderr(clone());
        // What a shell shows beside the words depends on it.
        command.env("TERM", "xterm");
        streams(command, &terminal);
        let child = command.spawn().unwrap();
        Self { master: master.into(), terminal, child, seen: String::new() }
    }

    /// In front of a relayed command.
    fn running(arguments: &[&str]) -> Self {
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait"]).arg(relay()).args(arguments);
        Self::starting(&mut command, |_, _| {})
    }

    /// In front of an interactive shell that knows the relay as `$relay`.
    fn in_a_shell() -> Self {
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait", "bash", "--norc", "--noprofile", "-i"]);
        command.env("relay", relay()).env("PS1", "outer> ").env("HISTFILE", "/dev/null");
        let mut person = Self::starting(&mut command, |_, _| {});
        person.sees("outer> ");
        person
    }

    fn types(&mut self, text: &str) {
        self.master.write_all(text.as_bytes()).unwrap();
    }

    /// Waits until the text appears, and forgets everything up to it.
    fn sees(&mut self, text: &str) {
        let end = Instant::now() + PATIENCE;
        while !self.seen.contains(text) {
            assert!(self.reads_until(end), "{text:?} did not appear in {:?}", self.seen);
        }
        let at = self.seen.find(text).unwrap() + text.len();
        self.seen.drain(..at);
    }

    fn reads_until(&mut self, end: Instant) -> bool {
        let left = Timespec::try_from(end.saturating_duration_since(Instant::now())).unwrap();
        if poll(&mut [PollFd::new(&self.master, PollFlags::IN)], Some(&left)).unwrap() == 0 {
            return false;
        }
        let mut buffer = [0; 4096];
        match self.master.read(&mut buffer) {
            Ok(length) => self.seen.push_str(&String::from_utf8_lossy(&buffer[..length])),
            Err(_) => return false,
        }
        true
    }

    fn resizes(&mut self, rows: u16, columns: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.master, size).unwrap();
    }

    /// Whether the relay has it. A shell that edits lines keeps Ctrl-C to itself, a relay does not.
    fn terminal_is_raw(&self) -> bool {
        !tcgetattr(&self.terminal).unwrap().local_modes.contains(LocalModes::ISIG)
    }

    fn waits_until_the_terminal_is(&self, raw: bool) {
        let end = Instant::now() + PATIENCE;
        while self.terminal_is_raw() != raw {
            assert!(
                Instant::now() < end,
                "the terminal did not become {}",
                if raw { "raw" } else { "cooked" }
            );
            std::thread::yield_now();
        }
    }

    fn ends_with(self, code: i32) {
        assert_eq!(self.ends().code(), Some(code));
    }

    fn ends(mut self) -> ExitStatus {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < end, "it did not end; on the screen: {:?}", self.seen);
            self.reads_until(Instant::now() + Duration::from_millis(10));
        }
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn what_is_typed_arrives_and_what_is_written_is_shown() {
    let mut person =
        Person::running(&["bash", "--norc", "-c", "read -p 'name? ' n; echo \"hello $n\"; exit 7"]);
    person.sees("name? ");
    assert!(person.terminal_is_raw());
    person.types("sam\r");
    person.sees("hello sam\r\n");
    person.waits_until_the_terminal_is(false);
    person.ends_with(7);
}

#[test]
fn the_size_is_there_from_the_start_and_follows() {
    let mut person = Person::running(&["bash", "--norc", "-c", "while ! read -t 0.05; do stty size; done"]);
    person.sees("24 80");
    person.resizes(50, 132);
    person.sees("50 132");
    person.types("\r");
    person.ends_with(0);
}

#[test]
fn ctrl_c_and_ctrl_z_go_to_the_shell_inside_which_has_job_control() {
    let mut person = Person::running(&["bash", "--norc", "--noprofile", "-i"]);
    person.types("PS1='in''ner> '\r");
    person.sees("inner> ");
    // A key only means something to a job that has the foreground, and each says when it has.
    person.types("sh -c 'echo first; exec sleep 1000'\r");
    person.sees("\rfirst\r\n");
    person.types("\x03");
    person.sees("^C");
    person.sees("inner> ");
    person.types("sh -c 'echo second; read x; echo got $x'\r");
    person.sees("\rsecond\r\n");
    person.types("\x1a");
    person.sees("Stopped");
    person.sees("inner> ");
    person.types("fg\r");
    person.sees("read x");
    person.types("back\r");
    person.sees("got back");
    person.types("exit 3\r");
    person.ends_with(3);
}

#[test]
fn everything_that_was_written_is_shown_before_it_ends() {
    let mut person = Person::running(&["bash", "--norc", "-c", "seq 1 20000; echo the end"]);
    person.sees("the end");
    person.ends_with(0);
}

#[test]
fn only_terminals_are_relayed_and_the_rest_is_byte_exact() {
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    let mut command = Command::new("setsid");
    command.args(["--ctty", "--wait"]).arg(relay());
    command.args([
        "bash",
        "--norc",
        "-c",
        "printf 'a\\nb\\n'; test -t 0 && test ! -t 1 && test -t 2 && echo ok >&2",
    ]);
    let mut person = Person::starting(&mut command, |command, _| {
        command.stdout(Stdio::from(writer));
    });
    drop(command);
    person.sees("ok\r\n");
    person.ends_with(0);
    let mut bytes = String::new();
    File::from(reader).read_to_string(&mut bytes).unwrap();
    assert_eq!(bytes, "a\nb\n");
}

#[test]
fn without_a_terminal_on_stdin_the_keyboard_stays_the_callers() {
    let line = "{ printf 'one\\ntwo\\n'; cat; } | exec \"$0\" sh -c 'cat; echo done; exec sleep 1000'";
    let mut command = Command::new("setsid");
    command.args(["--ctty", "--wait", "sh", "-c", line]).arg(relay());
    let mut person = Person::starting(&mut command, |_, _| {});
    person.sees("one\r\ntwo\r\n");
    assert!(!person.terminal_is_raw());
    person.types("\x04");
    person.sees("done\r\n");
    // Not a key for the agent but a signal for the relay, which ends the command.
    person.types("\x03");
    assert_eq!(person.ends().signal(), Some(nix::libc::SIGINT));
}

#[test]
fn a_signal_from_outside_restores_the_terminal() {
    for signal in ["TERM", "HUP"] {
        let mut person = Person::in_a_shell();
        person.types("$relay sh -c 'echo up; exec cat'\r");
        person.sees("up\r\n");
        person.waits_until_the_terminal_is(true);
        let pid = relay_below(&person);
        kill(signal, pid);
        person.waits_until_the_terminal_is(false);
    }
}

#[test]
fn stopped_from_outside_it_gives_the_terminal_back_and_takes_it_again() {
    let mut person = Person::in_a_shell();
    person.types("$relay sh -c 'printf \"\\033[?1003h\"; exec cat'\r");
    person.waits_until_the_terminal_is(true);
    person.sees("\x1b[?1003h");
    person.types("one\r");
    person.sees("one\r\none\r\n");
    kill("TSTP", relay_below(&person));
    // The shell gets no reports of the mouse.
    person.sees("\x1b[?1003l");
    person.sees("Stopped");
    person.sees("outer> ");
    person.types("echo shell\r");
    person.sees("\rshell\r\n");
    person.resizes(40, 100);
    person.types("fg\r");
    person.sees("exec cat");
    person.waits_until_the_terminal_is(true);
    person.types("two\r");
    person.sees("two\r\ntwo\r\n");
    person.types("\x04");
    person.sees("outer> ");
}

#[test]
fn in_the_background_it_leaves_the_terminal_alone_until_it_is_brought_to_the_front() {
    let mut person = Person::in_a_shell();
    person.types("$relay sh -c 'printf \"<\\033[?1h>\"; echo up; cat' &\r");
    // Both terminals translate the newline now. The keys are those of the shell.
    person.sees("<>up\r\r\n");
    person.types("echo shell\r");
    person.sees("\rshell\r\n");
    person.types("fg\r");
    person.waits_until_the_terminal_is(true);
    person.types("mine\r");
    person.sees("mine\r\nmine\r\n");
    person.types("\x04");
    person.sees("outer> ");
}

#[test]
fn a_sequence_of_one_terminals_own_is_not_shown() {
    let output = r"<\033}qs\000\033GQ\033[15]\033[8;9;9t\0337\033(B\033[1m>";
    let mut person = Person::running(&["sh", "-c", &format!("printf '{output}'")]);
    person.sees("<qs\0Q\x1b7\x1b(B\x1b[1m>");
    person.ends_with(0);
}

#[test]
fn a_notification_is_shown_and_reports_nothing() {
    let output = r"<\033]99;i=a:c=1:a=report;ended\033\\\033]133;A;click_events=1\007>";
    let mut person = Person::running(&["sh", "-c", &format!("printf '{output}'")]);
    person.sees("<\x1b]99;i=a;ended\x1b\\\x1b]133;A\x07>");
    person.ends_with(0);
}

#[test]
fn what_is_written_after_the_agent_is_seen() {
    let hides = r"\033[2;3r\033[?7;25l\033[8m\033(0\033]11;black\033\\left";
    let undone = "left\x1b[?7h\x1b[?25h\x0f\x1b(B\x1b[m\x1b7\x1b[r\x1b8\x1b]111\x1b\\after\r\n";
    let mut person = Person::in_a_shell();
    person.types(&format!("$relay sh -c \"printf '{hides}'\"; echo after\r"));
    person.sees(undone);
    // Also of one that ends by a signal, on the other screen.
    person.types("$relay sh -c \"printf '\\033[?1049h%s' screen; kill -9 \\$\\$\"; echo after\r");
    person.sees("screen\x1b[?1049l\x1b[mafter\r\n");
    // The control: who leaves nothing gets nothing.
    person.types("$relay sh -c \"printf '\\033[?1049h\\033[?1049l\\033[1m%s\\033[m' text\"; echo after\r");
    person.sees("\x1b[1mtext\x1b[mafter\r\n");
}

/// The relay that runs somewhere below the person's shell.
fn relay_below(person: &Person) -> u32 {
    let session = nix::unistd::Pid::from_raw(i32::try_from(person.child.id()).unwrap());
    let end = Instant::now() + PATIENCE;
    loop {
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            if name == "relay\n" && is_below(pid, session.as_raw().unsigned_abs()) {
                return pid;
            }
        }
        assert!(Instant::now() < end, "there is no relay below {session}");
    }
}

fn is_below(mut pid: u32, ancestor: u32) -> bool {
    while pid > 1 {
        if pid == ancestor {
            return true;
        }
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)?.parse().ok());
        pid = parent.unwrap_or(0);
    }
    false
}

fn kill(signal: &str, pid: u32) {
    assert!(Command::new("kill").args(["-s", signal, &pid.to_string()]).status().unwrap().success());
}

#[test]
fn the_terminals_descriptor_stays_blocking_for_everybody_else() {
    let mut person = Person::running(&["sh", "-c", "echo up; exec cat"]);
    person.sees("up\r\n");
    let flags = rustix::fs::fcntl_getfl(person.terminal.as_fd()).unwrap();
    assert!(!flags.contains(rustix::fs::OFlags::NONBLOCK));
    person.types("\x04");
    person.ends_with(0);
}
