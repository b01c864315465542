//! `doctor` where engines answer.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::everywhere;
use crate::machine::{Caller, Runner};
use crate::place::Place;

/// Lists the processes that live and have this in their environment.
fn marked(mark: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let has = |variables: &Vec<u8>| String::from_utf8_lossy(variables).contains(mark);
    let marked = processes.filter(|one| fs::read(one.path().join("environ")).is_ok_and(|all| has(&all)));
    marked.map(|one| one.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn it_leaves_no_process_though_podman_starts_one_that_stays() {
    for (caller, runner) in everywhere("what doctor leaves behind") {
        if runner != Runner::Podman {
            continue;
        }
        let place = Place::on(caller, runner);
        // Of its own, so that no process of Podman's serves it yet.
        let [runtime, home] = ["runtime", "fresh"].map(|name| place.path(name));
        for directory in [&runtime, &home] {
            fs::create_dir(directory).unwrap();
            fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).unwrap();
            place.give(directory);
        }
        let mark = format!("sandbox-test-mark-{caller:?}-{}", std::process::id());
        let run = |mut command: Command| {
            let output = command
                .envs([("XDG_RUNTIME_DIR", &runtime), ("HOME", &home), ("XDG_DATA_HOME", &home)])
                .env("SANDBOX_MARK", &mark)
                .output()
                .unwrap();
            (output.status.success(), format!("{output:?}"))
        };
        let doctor = [place.path("sandboxctl"), "doctor".into()];
        let (_, said) = run(place.outside(&doctor));
        assert!(said.contains("podman: answers"), "by {caller:?}: {said}");
        assert_eq!(marked(&mark), Vec::<String>::new(), "by {caller:?}");
        if caller == Caller::Root {
            continue;
        }
        let (succeeds, said) = run(place.outside(&["podman", "ps"]));
        let left = marked(&mark);
        assert!(succeeds && !left.is_empty(), "the control: {said}");
        assert!(Command::new("kill").args(&left).status().unwrap().success());
    }
}
