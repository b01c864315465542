//! The value of a secret, anywhere but in the agent's environment.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::machine::{Caller, callers, runners};
use crate::place::Place;
use crate::ready;

const VALUE: &str = "a-value-that-stands-nowhere-else";

/// What is in the client's memory for as long as it runs.
const ARGUMENT: &str = "an-argument-that-stays-in-memory";

#[test]
fn the_value_of_a_secret_stands_in_no_memory_no_argument_list_no_output_and_no_record() {
    let everybody = callers("secrets").into_iter();
    let cases = everybody
        .flat_map(|caller| runners(caller, "secrets").into_iter().map(move |runner| (caller, runner)));
    for (caller, runner) in cases {
        let place = Place::on(caller, runner);
        let by = format!("by {caller:?} in {runner:?}");
        let [file, command] = ["file", "command"].map(|name| secret_file(&place, name));
        let config = [
            secret("file", &format!("file:{}", file.display())),
            secret("command", &format!("command:cat {}", command.display())),
            secret("env", "env:SOURCE"),
        ];
        place.write("workspace/sandbox.toml", &config.concat());
        let script = "test \"${IN_ENV%%.*}${IN_FILE%%.*}${IN_COMMAND%%.*}\" = \
            \"$(for name in env file command; do printf %s a-value; printf %s -that-stands-nowhere-else-$name; done)\" \
            && echo ready; cat";
        let argv = ["sh", "-c", script, ARGUMENT];
        // It is ready when the agent has the secrets.
        let mut child =
            ready::start(place.inside(&["--trust", "--report"], &argv).env("SOURCE", value("env")));
        for process in fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path()) {
            let arguments = fs::read(process.join("cmdline")).unwrap_or_default();
            assert!(!holds(&arguments), "{by}: {} shows it", process.display());
            let environment = fs::read(process.join("environ")).unwrap_or_default();
            let source = format!("SOURCE={VALUE}");
            assert!(
                !has(&environment, source.as_bytes()),
                "{by}: the environment of {} shows it",
                process.display()
            );
        }
        let ours = ours(child.id());
        assert!(
            has(&memory(child.id()), ARGUMENT.as_bytes()),
            "the control: the client's memory was searched"
        );
        for process in &ours {
            let memory = memory(*process);
            let found = memory.windows(VALUE.len()).position(|window| window == VALUE.as_bytes());
            let around =
                found.map(|at| String::from_utf8_lossy(&memory[at.saturating_sub(40)..at + 60]).into_owned());
            assert_eq!(around, None, "{by}: the memory of {process} of {ours:?} holds it");
        }
        assert!(!holds_beneath(&place.home().join(".local")), "{by}: a record shows it");
        drop(child.stdin.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(child.wait().unwrap().success());
        assert!(!holds(said.as_bytes()), "{by}: {said}");

        let output =
            place.inside(&["--trust", "--format=json"], &["true"]).env("SOURCE", VALUE).output().unwrap();
        assert!(output.status.success() && !holds(&output.stdout) && !holds(&output.stderr), "{by}");
        let output = place.inside(&["--trust", "--dry-run"], &["true"]).output().unwrap();
        assert!(output.status.success() && !holds(&output.stdout) && !holds(&output.stderr), "{by}");
        // The control: a search that finds nothing must find what is there.
        assert!(holds_beneath(&place.home().join("keys")));
    }
}

#[test]
fn nobody_looks_into_a_client_that_holds_a_secret() {
    if !callers("secrets").contains(&Caller::Normal) {
        return;
    }
    let place = Place::new(Caller::Normal);
    let file = secret_file(&place, "file");
    let pipe = place.path("home/keys/pipe");
    assert!(place.outside(&["mkfifo".as_ref(), pipe.as_os_str()]).status().unwrap().success());
    // They are read in the order of their names: one is held while the other is waited for.
    let config = [
        secret("first", &format!("file:{}", file.display())),
        secret("second", &format!("command:cat {}", pipe.display())),
    ];
    place.write("workspace/sandbox.toml", &config.concat());
    let mut child = place
        .inside(&["--trust"], &["sh", "-c", "echo ready; cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let script = format!(
        "
import ctypes, os
try:
    open('/proc/{0}/mem', 'rb').close()
    print('readable')
except OSError as error:
    print(os.strerror(error.errno))
libc = ctypes.CDLL(None, use_errno=True)
print('attached' if libc.ptrace(0x4206, {0}, 0, 0) == 0 else os.strerror(ctypes.get_errno()))
",
        child.id()
    );
    let look = || {
        let output = place.outside(&["python3", "-c", &script]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    // A pipe opens when somebody reads it.
    let mut writer = fs::OpenOptions::new().write(true).open(&pipe).unwrap();
    assert_eq!(look(), "Permission denied\nOperation not permitted\n");
    writer.write_all(b"x").unwrap();
    drop(writer);
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    assert_eq!(look(), "readable\nattached\n", "the control: it holds none any more");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

fn secret(name: &str, source: &str) -> String {
    let variable = name.to_uppercase();
    format!("[secrets.{name}]\nmode = \"inject\"\nenv_var = \"IN_{variable}\"\nsource = \"{source}\"\n")
}

/// A value, so long that what is allocated later does not happen to cover all of it.
fn value(name: &str) -> String {
    format!("{VALUE}-{name}{}", format_args!(".{VALUE}").to_string().repeat(300))
}

/// A file with a value.
fn secret_file(place: &Place, name: &str) -> PathBuf {
    let path = place.write(&format!("home/keys/{name}"), &value(name));
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    path
}

/// A process and those that it has started, but not those of the agent.
fn ours(process: u32) -> Vec<u32> {
    let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
    if has(&environment, format!("IN_ENV={VALUE}").as_bytes()) {
        return Vec::new();
    }
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    let below = children.split_whitespace().flat_map(|child| ours(child.parse().unwrap()));
    std::iter::once(process).chain(below).collect()
}

/// All of a process's memory that it could read itself, its stack and environment included.
fn memory(process: u32) -> Vec<u8> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let memory = fs::File::open(format!("/proc/{process}/mem")).unwrap();
    let mut all = Vec::new();
    for line in maps.lines().filter(|line| line.contains(" r")) {
        let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let [start, end] = [start, end].map(|at| u64::from_str_radix(at, 16).unwrap());
        let mut part = vec![0; usize::try_from(end - start).unwrap()];
        // Some of what the kernel shows there cannot be read.
        let length = memory.read_at(&mut part, start).unwrap_or_default();
        all.extend_from_slice(&part[..length]);
    }
    all
}

fn has(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

fn holds(bytes: &[u8]) -> bool {
    has(bytes, VALUE.as_bytes())
}

fn holds_beneath(directory: &Path) -> bool {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).any(|path| {
        if path.is_dir() {
            holds_beneath(&path)
        } else {
            fs::read(&path).is_ok_and(|content| holds(&content))
        }
    })
}
