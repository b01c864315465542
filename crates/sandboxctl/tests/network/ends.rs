//! The proxy ends with its sandbox, and the way out with the proxy.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::internet::bash;
use crate::machine::Caller;
use crate::place::Place;
use crate::{ask, callers, everywhere, natively};

/// The egress proxies of sandboxes of this place, by their process ids: their logs are in its state directory.
fn proxies(place: &Place) -> Vec<u32> {
    let logs = place.home().join(".local/state/sandboxctl/egress");
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let ours = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let opened = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let mut opened = opened.filter_map(|entry| fs::read_link(entry.path()).ok());
        line.split(|byte| *byte == 0).any(|word| word == b"serve")
            && opened.any(|path| path.starts_with(&logs))
    };
    pids.filter(ours).collect()
}

#[test]
fn nothing_leaves_when_the_proxy_is_killed() {
    natively("a proxy that is killed", |place, internet, who| {
        let get =
            ask("GET http://up.example.org:8080/ HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n");
        let script = format!("({get}) | tail -n 1; read -r line; ({get}) 2>&1; echo done");
        let mut command =
            internet.command(&place.inside(&["--allow-host", "up.example.org:8080"], &bash(&script)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = command.spawn().unwrap();
        let mut said = BufReader::new(running.stdout.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert!(line.starts_with("served GET /"), "{who}: {line}");
        let [proxy] = proxies(place)[..] else { panic!("{who}: {:?}", proxies(place)) };
        let proxy = rustix::process::Pid::from_raw(proxy.try_into().unwrap()).unwrap();
        rustix::process::kill_process(proxy, rustix::process::Signal::KILL).unwrap();
        let mut warned = BufReader::new(running.stderr.take().unwrap());
        line.clear();
        warned.read_line(&mut line).unwrap();
        assert_eq!(
            line, "warning: the egress proxy has ended: nothing leaves the sandbox any more\n",
            "{who}"
        );
        running.stdin.take().unwrap().write_all(b"go\n").unwrap();
        let rest: Vec<String> = said.lines().map(Result::unwrap).collect();
        assert!(rest.iter().any(|line| line.contains("Connection refused")), "{who}: {rest:?}");
        assert_eq!(rest.last().map(String::as_str), Some("done"), "{who}: {rest:?}");
        assert!(running.wait().unwrap().success(), "{who}");
    });
}

#[test]
fn a_proxy_that_lost_a_listener_ends_and_says_so() {
    natively("a listener that fails", |place, internet, who| {
        let mut command = internet.command(
            &place.inside(&["--allow-host", "up.example.org:8080"], &bash("echo started; read -r line")),
        );
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(running.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let [proxy] = proxies(place)[..] else { panic!("{who}: {:?}", proxies(place)) };
        // The sandbox's network namespace is that of PID 1, and every process of the run has this client above it.
        let children = |pid: u32| -> Vec<u32> {
            let listed = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
            listed.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
        };
        let mut below = children(running.id());
        while let Some(pid) = below.iter().find(|pid| !children(**pid).is_empty() && **pid != proxy).copied()
        {
            below = children(pid);
        }
        let inside = below.into_iter().find(|pid| *pid != proxy).unwrap();
        let closed = std::process::Command::new("nsenter")
            .args([&format!("--net=/proc/{inside}/ns/net"), "ss", "-K", "-l", "-t", "-n", "sport = :53"])
            .output()
            .unwrap();
        assert!(String::from_utf8_lossy(&closed.stdout).contains("127.0.0.53:53"), "{who}: {closed:?}");
        line.clear();
        // Held until the end: a run that nobody is left to read is ended.
        let mut warnings = BufReader::new(running.stderr.take().unwrap());
        warnings.read_line(&mut line).unwrap();
        assert_eq!(
            line,
            "warning: the egress proxy has ended (the DNS server: Invalid argument (os error 22)): \
             nothing leaves the sandbox any more\n",
            "{who}"
        );
        running.stdin.take().unwrap().write_all(b"go\n").unwrap();
        assert!(running.wait().unwrap().success(), "{who}");
    });
}

#[test]
fn the_proxy_ends_with_its_sandbox() {
    everywhere("the end of a proxy", |place, internet, who| {
        let output = internet.run(place, &["--allow-host", "up.example.org:8080"], &["true"]);
        assert!(output.status.success(), "{who}: {output:?}");
        assert_eq!(proxies(place), [0_u32; 0], "{who}");
        // And with a client that is killed.
        let mut command = internet.command(
            &place.inside(&["--allow-host", "up.example.org:8080"], &bash("echo started; exec sleep 600")),
        );
        let mut running = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(running.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let before = proxies(place);
        assert_eq!(before.len(), 1, "{who}");
        let proxy = rustix::process::Pid::from_raw(before[0].try_into().unwrap()).unwrap();
        let pidfd = rustix::process::pidfd_open(proxy, rustix::process::PidfdFlags::empty()).unwrap();
        running.kill().unwrap();
        running.wait().unwrap();
        let mut ends = [rustix::event::PollFd::new(&pidfd, rustix::event::PollFlags::IN)];
        let limit = rustix::event::Timespec { tv_sec: 30, tv_nsec: 0 };
        assert_eq!(rustix::event::poll(&mut ends, Some(&limit)), Ok(1), "{who}: the proxy lives on");
    });
}

#[test]
fn the_memory_of_the_proxy_is_bounded() {
    everywhere("the memory of a proxy", |place, internet, who| {
        let mut command = internet.command(
            &place.inside(&["--allow-host", "up.example.org:8080"], &bash("echo started; read -r line")),
        );
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut running = command.spawn().unwrap();
        let mut said = BufReader::new(running.stdout.take().unwrap());
        said.read_line(&mut String::new()).unwrap();
        let [proxy] = proxies(place)[..] else { panic!("{who}: {:?}", proxies(place)) };
        let limits = |pid: &str| -> Vec<String> {
            let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
            let line = limits.lines().find(|line| line.starts_with("Max data size")).unwrap();
            line.split_whitespace().skip(3).take(2).map(str::to_owned).collect()
        };
        assert_eq!(limits(&proxy.to_string()), ["1073741824", "1073741824"], "{who}");
        // The control: whoever starts it has no such limit.
        assert_ne!(limits("self"), limits(&proxy.to_string()));
        drop(running.stdin.take());
        running.wait().unwrap();
    });
}

#[test]
fn a_server_that_sends_without_end_keeps_no_proxy_alive() {
    natively("a server without end", |place, internet, who| {
        // By a route, whose servers are not bounded as others are.
        place.write(
            "home/.config/sandboxctl/sandbox.toml",
            "[secrets.model]\nmode = \"proxy\"\nprovider = \"custom\"\nupstream = \"http://198.51.100.7:9203\"\n\
             header = \"x-api-key\"\nurl_var = \"MODEL_URL\"\nenv_var = \"MODEL_KEY\"\nsource = \"env:REAL_KEY\"\n",
        );
        let script = r#"for _ in 1 2 3; do
            { exec 3<>/dev/tcp/127.0.0.1/61080
            printf 'GET /model/x HTTP/1.1\r\nHost: x\r\nx-api-key: %s\r\n\r\n' "$MODEL_KEY" >&3; cat <&3; } >/dev/null & done
            echo asked; read -r line"#;
        let mut command = internet.command(&place.inside(&["--name=endless"], &bash(script)));
        command.env("REAL_KEY", "value").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut running = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(running.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let [proxy] = proxies(place)[..] else { panic!("{who}: {:?}", proxies(place)) };
        let proxy = rustix::process::Pid::from_raw(proxy.try_into().unwrap()).unwrap();
        let pidfd = rustix::process::pidfd_open(proxy, rustix::process::PidfdFlags::empty()).unwrap();
        // Nobody is left who could end it from outside.
        running.kill().unwrap();
        running.wait().unwrap();
        let mut ends = [rustix::event::PollFd::new(&pidfd, rustix::event::PollFlags::IN)];
        let limit = rustix::event::Timespec { tv_sec: 10, tv_nsec: 0 };
        assert_eq!(rustix::event::poll(&mut ends, Some(&limit)), Ok(1), "{who}: the proxy lives on");
    });
}

#[test]
fn root_serves_nobody_who_has_given_it_a_socket_of_another_user() {
    const ASK: &str = "
import os, socket, subprocess, sys
def serve(user):
    os.seteuid(user); ours, theirs = socket.socketpair(); os.seteuid(0); ours.close()
    return subprocess.run([sys.argv[1], 'egress', 'serve'], stdin=theirs, capture_output=True, text=True).stderr
print(serve(0), serve(1001))
";
    if !callers("sockets of other users").contains(&Caller::Root) {
        return;
    }
    let place = Place::new(Caller::Root);
    let program = place.path("sandboxctl");
    let output = place
        .outside(&["python3".as_ref(), "-c".as_ref(), ASK.as_ref(), program.as_os_str()])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let (own, of_another) = said.split_once("error: standard input is a socket of another user").unwrap();
    assert!(own.contains("is no socket of `sandboxctl run`") && of_another.contains("by itself"), "{said}");
    // Nor one of its own, where sudo has started it.
    let mut by_sudo = place.outside(&["python3".as_ref(), "-c".as_ref(), ASK.as_ref(), program.as_os_str()]);
    let output = by_sudo.env("SUDO_UID", "1001").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(said.matches("is not started by sudo").count(), 2, "{said}");
}
