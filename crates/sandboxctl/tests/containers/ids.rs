//! What programs learn of PID 1: its number on the host, and its namespaces.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::Value;

use crate::everywhere;
use crate::machine::{Caller, Runner, callers};
use crate::place::Place;

#[test]
fn the_json_has_the_ids_that_the_host_sees() {
    let native = callers("ids").into_iter().map(|caller| (caller, Runner::Native));
    for (caller, runner) in native.chain(everywhere("ids")) {
        let what = format!("in {runner:?} by {caller:?}");
        let place = Place::on(caller, runner);
        // What the command prints is captured, so it says that it is there by a pipe with a name.
        let pipe = |name: &str| {
            let path = place.workspace().join(name);
            rustix::fs::mknodat(
                rustix::fs::CWD,
                &path,
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
                0,
            )
            .unwrap();
            place.give(&path);
            path
        };
        let (out, back) = (pipe("out"), pipe("back"));
        let script = "for name in user mnt pid net ipc uts cgroup; do echo $name $(readlink /proc/self/ns/$name); done >out; read -r go <back";
        let client = place
            .inside(&["--format", "json"], &["sh", "-c", script])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines: Vec<String> =
            BufReader::new(fs::File::open(&out).unwrap()).lines().map(Result::unwrap).collect();
        assert_eq!(lines.len(), 7, "{what}: {lines:?}");
        // Whom the host has in the same PID namespace, while it lives.
        let inside = |line: &String| {
            line.split_once(' ').map(|(name, link)| (name.to_owned(), link.to_owned())).unwrap()
        };
        let (_, of_pid) = lines.iter().map(inside).find(|(name, _)| name == "pid").unwrap();
        let mut members = Vec::new();
        for process in fs::read_dir("/proc").unwrap() {
            let process = process.unwrap();
            let is_member = fs::read_link(process.path().join("ns/pid"))
                .is_ok_and(|link| link.to_string_lossy() == of_pid);
            if is_member {
                members.push(process.file_name().into_string().unwrap());
            }
        }
        fs::File::options().write(true).open(&back).unwrap().write_all(b"go\n").unwrap();
        let output = client.wait_with_output().unwrap();
        let object: Value = serde_json::from_slice(&output.stdout).unwrap();
        let sandbox = &object["sandbox"];
        for (name, link) in lines.iter().map(inside) {
            let number = format!("{name}:[{}]", sandbox["namespaces"][&name]);
            assert_eq!(number, link, "{what}: {sandbox}");
        }
        // Only root sees whose namespaces they are, and a normal user who is played is seen by it.
        if rustix::process::geteuid().is_root() {
            let pid = sandbox["pid"].to_string();
            assert!(members.contains(&pid), "{what}: {pid} is not among {members:?}");
        } else {
            assert_eq!(caller, Caller::Normal, "{what}");
        }
    }
}
