//! PID 1, as root of the host sees it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::machine::{Feature, callers, is_there};
use crate::place::Place;

#[test]
fn pid_1_holds_nothing_of_its_client() {
    // It is not dumpable: nobody but root may look.
    if !is_there(Feature::Root, "what PID 1 holds") {
        return;
    }
    for caller in callers("what PID 1 holds") {
        let place = Place::new(caller);
        // The caller has a file open and a variable set that are nobody else's business.
        let run = place.run(&["--timeout", "60s"], &["sh", "-c", "echo ready; read -r line"]);
        let mut words: Vec<_> =
            ["sh", "-c", "exec 9<\"$HOME\" && exec \"$@\"", "sh"].map(Into::into).to_vec();
        words.extend(run);
        let mut client = place
            .outside(&words)
            .env("OF_THE_CALLER", "private")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(client.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "by {caller:?}");

        let first = only_child(client.id());
        let process = Path::new("/proc").join(&first);
        assert_eq!(fs::read(process.join("environ")).unwrap(), b"", "by {caller:?}");
        assert_eq!(fs::read(process.join("cmdline")).unwrap(), b"entrypoint\0--control\0", "by {caller:?}");
        // Its streams lead nowhere any more. The socket is its lifeline, and signals of its children it reads.
        let expected = BTreeSet::from(["/dev/null", "anon_inode", "socket"].map(str::to_owned));
        // The agent may say that it is ready before PID 1 has let go.
        let deadline = Instant::now() + Duration::from_secs(10);
        while held(&process) != expected {
            assert!(Instant::now() < deadline, "{:?} by {caller:?}", held(&process));
            thread::sleep(Duration::from_millis(1));
        }
        let capabilities = fs::read_to_string(process.join("status")).unwrap();
        for set in capabilities.lines().filter(|line| line.starts_with("Cap")) {
            assert!(set.ends_with("\t0000000000000000"), "{set} by {caller:?}");
        }

        drop(client.stdin.take());
        assert!(!client.wait().unwrap().success(), "read(1) sees the end of its input, by {caller:?}");
    }
}

/// Where its descriptors lead, without the numbers.
fn held(process: &Path) -> BTreeSet<String> {
    let descriptors = fs::read_dir(process.join("fd")).unwrap();
    // One that is closed meanwhile leads nowhere.
    let targets = descriptors.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    targets.map(|target| target.display().to_string().split(':').next().unwrap().to_owned()).collect()
}

/// The process that a client has started: PID 1.
pub(crate) fn only_child(client: u32) -> String {
    let children = fs::read_to_string(format!("/proc/{client}/task/{client}/children")).unwrap();
    let children: Vec<_> = children.split_whitespace().collect();
    assert_eq!(children.len(), 1, "{children:?}");
    children[0].to_owned()
}
