//! Sockets left behind in a shared directory, more than can be masked: the next run must neither leave one open nor
//! fail for a reason that nobody can guess.

use std::fs;
use std::process::Output;

use crate::machine::callers;
use crate::place::Place;

const MAKE: &str = r#"
import os, socket, sys
os.makedirs("left/behind", exist_ok=True)
os.chdir("left/behind")
for number in range(int(sys.argv[1]), int(sys.argv[2])):
    socket.socket(socket.AF_UNIX).bind(f"{number}.sock")
"#;

#[test]
fn more_sockets_than_can_be_masked_are_refused_and_their_place_is_named() {
    for caller in callers("many sockets") {
        let place = Place::new(caller);
        let run = |argv: &[&str]| {
            let Output { status, stderr, .. } = place.inside(&["--report"], argv).output().unwrap();
            (status.code(), String::from_utf8_lossy(&stderr).into_owned())
        };
        let (code, said) = run(&["python3", "-c", MAKE, "0", "9990"]);
        assert_eq!(code, Some(0), "by {caller:?}: {said}");
        // The control: so many are masked.
        let (code, said) = run(&["python3", "-c", MAKE, "9990", "10001"]);
        assert_eq!(code, Some(0), "by {caller:?}: {said}");
        assert!(said.contains("9990 sockets in boundaries masked"), "by {caller:?}: {said}");

        let (code, said) = run(&["touch", "started"]);
        assert_eq!(code, Some(77), "by {caller:?}: {said}");
        let place_of_all = place.workspace().join("left/behind").display().to_string();
        for word in ["10001 sockets", &place_of_all, "10000 are the most", "hint:", "find . -type s -delete"]
        {
            assert!(said.contains(word), "by {caller:?}: {word} is not in {said}");
        }
        assert!(!place.workspace().join("started").exists(), "by {caller:?}");

        // What the hint says helps.
        let directory = place.workspace().join("left/behind");
        let find = ["find", ".", "-type", "s", "-delete"];
        assert!(place.outside(&find).current_dir(&directory).status().unwrap().success());
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0, "by {caller:?}");
        let (code, said) = run(&["touch", "started"]);
        assert_eq!(code, Some(0), "by {caller:?}: {said}");
    }
}
