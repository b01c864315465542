//! The value of a secret, anywhere but in the agent's environment.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Stdio;

use crate::machine::{callers, runners};
use crate::place::Place;

const VALUE: &str = "a-value-that-stands-nowhere-else";

#[test]
fn the_value_of_a_secret_stands_in_no_argument_list_no_output_and_no_record() {
    let everybody = callers("secrets").into_iter();
    let cases = everybody
        .flat_map(|caller| runners(caller, "secrets").into_iter().map(move |runner| (caller, runner)));
    for (caller, runner) in cases {
        let place = Place::on(caller, runner);
        let source = place.write("home/keys/token", VALUE);
        fs::set_permissions(&source, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        place.write(
            "workspace/sandbox.toml",
            &format!(
                "[secrets.token]\nmode = \"inject\"\nenv_var = \"TOKEN\"\nsource = \"file:{}\"\n",
                source.display()
            ),
        );
        let script = "test \"$TOKEN\" = \"$(printf %s a-value; printf %s -that-stands-nowhere-else)\" && echo ready; cat";
        let argv = ["sh", "-c", script];
        let mut child = place
            .inside(&["--trust", "--report"], &argv)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "by {caller:?} in {runner:?}: the agent has the secret");
        for process in fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path()) {
            let arguments = fs::read(process.join("cmdline")).unwrap_or_default();
            assert!(!holds(&arguments), "by {caller:?} in {runner:?}: {} shows it", process.display());
        }
        let client = fs::read(format!("/proc/{}/environ", child.id())).unwrap();
        assert!(!holds(&client), "by {caller:?} in {runner:?}: the environment of the client shows it");
        assert!(
            !holds_beneath(&place.home().join(".local")),
            "by {caller:?} in {runner:?}: a record shows it"
        );
        drop(child.stdin.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(child.wait().unwrap().success());
        assert!(!holds(said.as_bytes()), "by {caller:?} in {runner:?}: {said}");

        let output = place.inside(&["--trust", "--format=json"], &["true"]).output().unwrap();
        assert!(
            output.status.success() && !holds(&output.stdout) && !holds(&output.stderr),
            "by {caller:?} in {runner:?}"
        );
        let output = place.inside(&["--trust", "--dry-run"], &["true"]).output().unwrap();
        assert!(
            output.status.success() && !holds(&output.stdout) && !holds(&output.stderr),
            "by {caller:?} in {runner:?}"
        );
        // The control: a search that finds nothing must find what is there.
        assert!(holds_beneath(&place.home().join("keys")));
    }
}

fn holds(bytes: &[u8]) -> bool {
    bytes.windows(VALUE.len()).any(|window| window == VALUE.as_bytes())
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
