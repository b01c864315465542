//! What the agent sees of anybody's environment, and what others see of its own.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use crate::answers::error;
use crate::everywhere;
use crate::machine::{Caller, Runner, callers, image};
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
fn what_is_unset_is_not_there_whoever_would_set_it() {
    let native = callers("variables that are unset").into_iter().map(|caller| (caller, Runner::Native));
    for (caller, runner) in native.chain(everywhere("variables that are unset")) {
        let place = Place::on(caller, runner);
        let names = |flags: &[&str]| {
            let output = place
                .inside(&[&["--quiet"], flags].concat(), &["env"])
                .env("LANG", "C.UTF-8")
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success(), "in {runner:?} by {caller:?}: {output:?}");
            said.lines().filter_map(|line| Some(line.split_once('=')?.0.to_owned())).collect::<Vec<_>>()
        };
        // The caller's, what every sandbox has, and in containers what the image has.
        let taken = ["LANG", "SHELL", "PATH"];
        let all = names(&[]);
        assert!(taken.iter().all(|name| all.contains(&(*name).to_owned())), "the control: {all:?}");
        let flags = ["--unset-env", "LANG", "--unset-env", "SHELL", "--unset-env", "PATH"];
        let left = names(&flags);
        let wanted: Vec<String> =
            all.iter().filter(|name| !taken.contains(&name.as_str())).cloned().collect();
        assert_eq!(left, wanted, "in {runner:?} by {caller:?}");
        // Set to nothing is not unset, and a stronger setting gives back what a file takes.
        place.write("workspace/sandbox.toml", "[env]\nunset = [\"SHELL\", \"LANG\"]\n");
        let left = names(&["-e", "LANG=", "-v", ".:/workspace"]);
        assert!(left.contains(&"LANG".to_owned()) && !left.contains(&"SHELL".to_owned()), "{left:?}");
    }
}

#[test]
fn the_way_out_is_open_only_where_that_was_asked_for() {
    // Interfaces but loopback, and routes.
    let script = "tail -n +3 /proc/net/dev | grep -vc '^ *lo:'; tail -n +2 /proc/net/route | wc -l";
    for (caller, runner) in everywhere("networks") {
        let place = Place::on(caller, runner);
        let counted = |flags: &[&str]| {
            let output = place.inside(flags, &["sh", "-c", script]).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            said.lines().map(|line| line.trim().parse().unwrap()).collect::<Vec<u32>>()
        };
        assert_eq!(counted(&["--quiet"]), [0, 0], "in {runner:?} by {caller:?}");
        let open = counted(&["--quiet", "--network=open"]);
        assert!(open.iter().all(|count| *count > 0), "in {runner:?} by {caller:?}: {open:?}");
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
        place.write(
            "home/.docker/config.json",
            r#"{"proxies":{"default":{"httpProxy":"http://me:pass@proxy"}}}"#,
        );
        let name = format!("inspected{}", std::process::id());
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
        assert!(!inspected.contains("me:pass"), "in {runner:?} by {caller:?}: {inspected}");
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

#[test]
fn an_exec_is_confined_as_the_first_command() {
    for (caller, runner) in everywhere("execs") {
        let place = Place::on(caller, runner);
        let image = match runner {
            Runner::Docker => with_a_token(),
            Runner::Native | Runner::RootlessDocker | Runner::Podman | Runner::Local => image(),
        };
        let settings = format!("[image]\nname = {image:?}\n[env]\nset = {{ GIVEN = \"1\" }}\n");
        place.write("workspace/sandbox.toml", &settings);
        let name = format!("e{}", std::process::id());
        let mut first = place
            .inside(&["--name", &name, "--quiet"], &["sh", "-c", "echo ready $SESSION_TOKEN; cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(first.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "ready", "in {runner:?} by {caller:?}");
        if runner == Runner::Docker {
            let control = engine(&place, runner, &["exec", &format!("sandboxctl-{name}"), "env"]);
            assert!(control.contains("SESSION_TOKEN=of-the-image"), "the control: {control}");
        }
        let script = "env; id -un; pwd; grep -E '^(CapBnd|NoNewPrivs|Seccomp):' /proc/self/status; touch by-exec; \
                      touch /etc/x; exit 5";
        let words = place.words("exec", &[&name], &["sh", "-c", script]);
        let output = place.outside(&words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(5), "in {runner:?} by {caller:?}: {output:?}");
        for stripped in ["SESSION_TOKEN", "AGENT_", "SANDBOX_"] {
            assert!(!said.contains(stripped), "{stripped} in {runner:?} by {caller:?}: {said}");
        }
        for line in [
            "GIVEN=1", "HOME=/home/agent", "/workspace", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1",
            "agent",
        ] {
            assert!(
                said.lines().any(|found| found == line),
                "{line} in {runner:?} by {caller:?}: {output:?}"
            );
        }
        assert!(place.workspace().join("by-exec").exists());
        drop(first.stdin.take());
        assert!(first.wait().unwrap().success());
        let words = place.words("exec", &["--format=json", &name], &["true"]);
        assert_eq!(error(&mut place.outside(&words)), "sandbox.not_found", "in {runner:?} by {caller:?}");
    }
}

#[test]
fn options_of_java_that_an_image_has_stay_behind_those_of_interception() {
    for (caller, runner) in everywhere("options of Java") {
        if runner != Runner::Docker {
            continue;
        }
        let place = Place::on(caller, runner);
        let image = made_of_the_image("sandbox-test-with-java", "ENV JAVA_TOOL_OPTIONS=-Dof.the.image=1");
        let intercepted = "[network]\nallow = [\"example.org:443\"]\nintercept = [\"example.org\"]\n";
        let ours = "-Djavax.net.ssl.trustStore=/run/sandboxctl/ca-bundle.jks";
        for (settings, expected) in [
            ("", "-Dof.the.image=1".to_owned()),
            (intercepted, format!("{ours} -Dof.the.image=1")),
            // As everywhere, what the caller sets takes the place of what the image has.
            (&format!("{intercepted}[env.set]\nJAVA_TOOL_OPTIONS = \"-Xmx1g\"\n"), format!("{ours} -Xmx1g")),
        ] {
            let settings = format!("[image]\nname = {image:?}\n{settings}");
            place.write("home/.config/sandboxctl/sandbox.toml", &settings);
            let output =
                place.inside(&["--quiet"], &["sh", "-c", "echo $JAVA_TOOL_OPTIONS"]).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert_eq!(said.trim_end(), expected, "in {runner:?} by {caller:?}: {output:?}");
        }
    }
}

/// An image that sets a variable which no agent may see.
fn with_a_token() -> String {
    made_of_the_image("sandbox-test-with-a-token", "ENV SESSION_TOKEN=of-the-image AGENT_USER=root")
}

/// An image of Docker's with one line more than that of the tests.
pub(crate) fn made_of_the_image(name: &str, line: &str) -> String {
    let mut build = Command::new("docker")
        .args(["build", "--quiet", "--tag", name, "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let text = format!("FROM {}\n{line}\n", image());
    build.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(build.wait().unwrap().success());
    name.to_owned()
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
