//! The entrypoint that stays as PID 1.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::ended::field;
use crate::image::{Image, Start};
use crate::{Feature, offers};

fn init(image: &Image) -> Start<'_> {
    image.start().env("AGENT_INIT", "1")
}

#[test]
fn pid_1_is_nobody_special() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    let started = init(&image).started("sleep 1000");
    let status = String::from_utf8(started.of_pid_1("status")).unwrap();
    assert_eq!(
        (field(&status, "Uid"), field(&status, "Gid")),
        ("1000 1000 1000 1000".into(), "1000 1000 1000 1000".into())
    );
    assert_eq!((field(&status, "Groups"), field(&status, "NoNewPrivs")), ("29 44 1000".into(), "1".into()));
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(field(&status, set), "0000000000000000", "{set}");
    }
    // Not dumpable: what it has in /proc belongs to root.
    let owner = std::fs::metadata(format!("/proc/{}/environ", started.pid_1())).unwrap();
    assert_eq!(std::os::unix::fs::MetadataExt::uid(&owner), 0);
    assert_eq!(
        std::fs::read_link(format!("/proc/{}/cwd", started.pid_1())).unwrap(),
        image.path("").canonicalize().unwrap()
    );
    for stream in 0..3 {
        let open = std::fs::read_link(format!("/proc/{}/fd/{stream}", started.pid_1())).unwrap();
        assert!(open.ends_with("dev/null"), "{open:?}");
    }
    started.signal(Signal::TERM);
    assert_eq!(started.wait().code, 143);
}

#[test]
fn the_agent_cannot_look_into_pid_1() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    let script = "for file in environ maps mem fd/0; do cat /proc/1/$file 2>&1 >/dev/null | grep -c 'Permission denied'; done";
    assert_eq!(init(&image).sh(script).well(), "1\n1\n1\n1\n");
}

#[test]
fn no_zombie_is_left() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    // Twenty orphans end; then the agent counts what still waits to be reaped, until there is none or a second is over.
    let script = "for n in $(seq 20); do (true & ) ; done
        for attempt in $(seq 100); do
            zombies=$(grep -c '^State:.Z' -s /proc/[0-9]*/status | grep -c ':1$')
            [ $zombies = 0 ] && break; sleep 0.01
        done; echo $zombies";
    assert_eq!(init(&image).sh(script).well(), "0\n");
    // The control: where the agent is PID 1 and reaps nothing, they stay.
    let left = image.start().run(&[
        "/usr/bin/python3",
        "-c",
        "import os, time, glob
for n in range(20):
    child = os.fork()
    if child == 0:
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    os.waitpid(child, 0)
def zombies(): return sum('State:\\tZ' in open(f).read() for f in glob.glob('/proc/[0-9]*/status'))
until = time.monotonic() + 10
while zombies() < 20 and time.monotonic() < until: time.sleep(0.01)
print(zombies())",
    ]);
    assert_eq!(left.out, "20\n", "{left:?}");
}

#[test]
fn sigterm_ends_it_at_once() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    let started = init(&image).started("exec sleep 1000");
    let sent = Instant::now();
    started.signal(Signal::TERM);
    let ended = started.wait();
    assert_eq!(ended.code, 143, "{ended:?}");
    // At once, and not when a time to think is over, which is ten seconds with most tools.
    assert!(sent.elapsed() < Duration::from_secs(5), "{:?}", sent.elapsed());
}

#[test]
fn signals_reach_the_agent_and_what_it_started() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    for (signal, name, code) in
        [(Signal::TERM, "TERM", 7), (Signal::HUP, "HUP", 7), (Signal::USR1, "USR1", 7)]
    {
        let script = format!("trap 'echo caught; exit 7' {name}; while :; do sleep 0.01; done");
        let started = init(&image).started(&script);
        // The line comes before the trap: until that is set, the default action ends the agent too.
        while !caught(&started, signal) {
            std::thread::yield_now();
        }
        started.signal(signal);
        let ended = started.wait();
        assert_eq!((ended.code, ended.out.as_str()), (code, "caught\n"), "{name}: {ended:?}");
    }
}

/// Whether the agent has a handler for a signal yet.
fn caught(started: &crate::image::Started, signal: Signal) -> bool {
    let pid = started.pid_1();
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    let agent = children.split_whitespace().next().unwrap();
    let status = std::fs::read_to_string(format!("/proc/{agent}/status")).unwrap();
    let mask = u64::from_str_radix(&field(&status, "SigCgt"), 16).unwrap();
    mask & (1 << (signal.as_raw() - 1)) != 0
}

#[test]
fn exit_codes_are_the_agents() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    for (script, code) in
        [("exit 0", 0), ("exit 3", 3), ("exit 255", 255), ("kill -KILL $$", 137), ("kill -SEGV $$", 139)]
    {
        assert_eq!(init(&image).sh(script).code, code, "{script}");
    }
}

#[test]
fn a_stopped_agent_goes_on() {
    if !offers(Feature::Root) {
        return;
    }
    assert_eq!(init(&Image::new()).sh("kill -STOP $$; echo awake").well(), "awake\n");
}

#[test]
fn everything_inside_ends_with_the_agent() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    // The output would not end while somebody holds it open.
    assert_eq!(init(&image).sh("sleep 1000 & echo done").well(), "done\n");
}

#[test]
fn the_agent_has_a_session_or_the_foreground() {
    if !offers(Feature::Root) {
        return;
    }
    let image = Image::new();
    // Fields of proc(5): process, group, session, terminal, foreground group.
    let script = "exec cut -d' ' -f1,5,6,7,8 /proc/self/stat";
    let ids =
        |text: &str| -> Vec<i32> { text.split_whitespace().map(|word| word.parse().unwrap()).collect() };
    let alone = ids(&init(&image).sh(script).well());
    assert_eq!(alone[1..], [alone[0], alone[0], 0, -1]);
    let on_a_terminal = init(&image).on_a_terminal().sh(script);
    let on_a_terminal = ids(&on_a_terminal.out);
    assert_ne!(on_a_terminal[3], 0, "{on_a_terminal:?}");
    assert_eq!(
        (on_a_terminal[1], on_a_terminal[4]),
        (on_a_terminal[0], on_a_terminal[0]),
        "{on_a_terminal:?}"
    );
}
