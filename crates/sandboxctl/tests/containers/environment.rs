//! What the agent sees of anybody's environment, and what others see of its own.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use crate::everywhere;
use crate::machine::{Caller, Runner};
use crate::place::Place;

#[test]
fn nothing_enters_but_what_the_image_and_the_file_say() {
    for (caller, runner) in everywhere("the environment") {
        let place = Place::on(caller, runner);
        // Docker's own command adds these to every container.
        place.write(
            "home/.docker/config.json",
            r#"{"proxies":{"default":{"httpProxy":"http://me:secret@proxy"}}}"#,
        );
        let mut command = place.inside(&["-e", "GIVEN=1"], &["env"]);
        command.env("HTTPS_PROXY", "http://me:secret@proxy").env("SESSION_TOKEN", "secret");
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let mut names: Vec<&str> = said.lines().filter_map(|line| line.split('=').next()).collect();
        names.sort_unstable();
        let expected = ["GIVEN", "HOME", "LOGNAME", "PATH", "SHELL", "USER"];
        names.retain(|name| !["LANG", "LC_ALL", "TERM"].contains(name));
        assert_eq!(names, expected, "in {runner:?} by {caller:?}: {said}");
    }
}

#[test]
fn an_engine_knows_nothing_of_what_an_agent_is_given() {
    for (caller, runner) in everywhere("what engines know") {
        let place = Place::on(caller, runner);
        let token = place.write("home/token", "the-value");
        fs::set_permissions(&token, Permissions::from_mode(0o600)).unwrap();
        let settings = format!(
            "[secrets.token]\nmode = \"inject\"\nenv_var = \"TOKEN\"\nsource = \"file:{}\"\n",
            place.home().join("token").display()
        );
        place.write("workspace/sandbox.toml", &settings);
        let name = format!("k{}", std::process::id());
        let script = "echo \"$TOKEN $GIVEN\"; cat";
        let mut child = place
            .inside(&["--trust", "--name", &name, "-e", "GIVEN=plain-value"], &["sh", "-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "the-value plain-value", "in {runner:?} by {caller:?}");
        let container = format!("sandboxctl-{name}");
        let inspected = engine(&place, runner, &["inspect", &container]);
        assert!(inspected.contains(&container), "the control, in {runner:?} by {caller:?}: {inspected}");
        assert!(
            !inspected.contains("the-value") && !inspected.contains("plain-value"),
            "in {runner:?}: {inspected}"
        );
        // Nor does whoever enters by the engine's own way.
        let entered = engine(&place, runner, &["exec", &container, "env"]);
        assert!(
            entered.contains("PATH=") && !entered.contains("-value"),
            "in {runner:?} by {caller:?}: {entered}"
        );
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }
}

/// What the engine's own command line says.
pub(crate) fn engine(place: &Place, runner: Runner, words: &[&str]) -> String {
    let program = if runner == Runner::Podman { "podman" } else { "docker" };
    let argv: Vec<&str> = std::iter::once(program).chain(words.iter().copied()).collect();
    let mut command: Command = match place.caller {
        Caller::Root => place.command(&argv),
        Caller::Normal => place.outside(&argv),
    };
    let output = command.output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
