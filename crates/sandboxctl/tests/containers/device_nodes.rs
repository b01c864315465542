//! Device nodes that an image brings: under sudo the agent is a user of this host, who could open them by `/proc/PID/root`,
//! where no control group keeps them from devices.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::behind_sudo::{places, said, sudo};
use crate::environment::made_of_the_image;
use crate::exec::First;
use crate::machine::{NORMAL, Runner};

/// Where the image has nodes of `/dev/null`, open to everybody: in its rootfs, and where engines make a volume of it.
const NODES: [&str; 2] = ["/node", "/data/node"];

/// What makes them.
const LINES: &str =
    "RUN mkdir -p /data && mknod -m 666 /node c 1 3 && mknod -m 666 /data/node c 1 3\nVOLUME /data";

/// What the normal user outside is told of such a node.
#[derive(Debug, Eq, PartialEq)]
enum Answer {
    Opened,
    Refused,
    NotThere,
}

/// Opens a node as the normal user outside does.
fn open(pid: u32, node: &str) -> Answer {
    let path = format!("/proc/{pid}/root{node}");
    let user = NORMAL.to_string();
    let as_user = |argv: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", &user, "--regid", &user, "--clear-groups", "--"]).args(argv);
        command.env("LC_ALL", "C").output().unwrap()
    };
    // What is to be refused is to open it, not to get there.
    if !as_user(&["test", "-c", &path]).status.success() {
        return Answer::NotThere;
    }
    let opened = as_user(&["dd", &format!("if={path}"), "count=0"]);
    let said = String::from_utf8_lossy(&opened.stderr).into_owned();
    assert_eq!(opened.status.success(), !said.contains("Permission denied"), "{said}");
    if opened.status.success() { Answer::Opened } else { Answer::Refused }
}

/// Finds the process of the normal user whose arguments hold a word. What it has just forked has the same arguments for a moment.
fn process(word: &str) -> u32 {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        match processes(word)[..] {
            [one] => return one,
            ref found => assert!(Instant::now() < until, "{word}: {found:?}"),
        }
    }
}

fn processes(word: &str) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let entry = entry.unwrap();
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let is_theirs = entry.metadata().ok()?.uid() == NORMAL;
        let arguments = fs::read(entry.path().join("cmdline")).ok()?;
        (is_theirs && String::from_utf8_lossy(&arguments).contains(word)).then_some(pid)
    });
    processes.collect()
}

#[test]
fn the_user_behind_sudo_does_not_open_the_devices_of_an_image() {
    for (place, runner) in places("device nodes of images") {
        let name = if runner == Runner::Podman { "podman" } else { "docker" };
        let image = made_of_the_image("localhost/sandbox-test-device-nodes:latest", LINES);
        let root = |line: &str| Command::new("sh").args(["-c", line]).output().unwrap();
        if runner == Runner::Podman {
            let loaded = root(&format!("docker save {image} | podman load --quiet"));
            assert!(loaded.status.success(), "{loaded:?}");
        }

        // The control: what the engine itself makes of the same image, for the same user.
        let word = format!("control-{}", std::process::id());
        let started = root(&format!(
            "{name} run --detach --rm --name {word} --user {NORMAL}:{NORMAL} --cap-drop=ALL {image} sh -c 'sleep 600; : {word}'"
        ));
        assert!(started.status.success(), "{started:?}");
        let answers = NODES.map(|node| open(process(&word), node));
        root(&format!("{name} rm --force {word}"));
        assert_eq!(answers[0], Answer::Opened, "the control, in {runner:?}");
        // Podman need not copy nodes into a volume.
        assert!(answers[1] == Answer::Opened || runner == Runner::Podman, "the control: {:?}", answers[1]);
        let is_copied = answers[1] != Answer::NotThere;

        let word = format!("ours-{}", std::process::id());
        let script = format!("echo ready; cat; : {word}");
        let first = First::start(sudo(&place, "run", &["--image", &image], &["sh", "-c", &script]));
        let answers = NODES.map(|node| open(process(&word), node));
        first.end();
        let volume = if is_copied { Answer::Refused } else { Answer::NotThere };
        assert_eq!(answers, [Answer::Refused, volume], "in {runner:?}");

        // Inside there are the devices that the engine makes, and no others.
        let script = ": > /dev/null && head -c 1 /dev/zero >/dev/null && test -c /node && echo ours\n\
                      (: < /node) 2>/dev/null && echo of the image";
        let seen = said(&mut sudo(&place, "run", &["--quiet", "--image", &image], &["sh", "-c", script]));
        assert_eq!(seen, "ours\n", "in {runner:?}");
    }
}
