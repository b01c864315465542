//! Programs and modules that an agent leaves in a shared directory, for the client of the next run to run on the host.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::machine::callers;
use crate::place::Place;

/// A program of the agent's that an engine or a helper is taken for.
fn leave(place: &Place, name: &str) {
    let script = format!("#!/bin/sh\ntouch {}\n", place.home().join("owned").display());
    let path = place.write(&format!("workspace/node_modules/.bin/{name}"), &script);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Whether it has run; what it left is taken away.
fn has_run(place: &Place) -> bool {
    std::fs::remove_file(place.home().join("owned")).is_ok()
}

#[test]
fn no_engine_is_looked_up_where_the_agent_can_write() {
    for caller in callers("programs of the host") {
        for how in ["absolute", "relative", "a link"] {
            let place = Place::new(caller);
            for name in ["docker", "podman"] {
                leave(&place, name);
            }
            place.write("workspace/sandbox.toml", "[image]\n");
            let bin = place.workspace().join("node_modules/.bin");
            std::os::unix::fs::symlink(&bin, place.home().join("bin")).unwrap();
            let entry = match how {
                "absolute" => bin.display().to_string(),
                "relative" => "node_modules/.bin".to_owned(),
                _ => place.home().join("bin").display().to_string(),
            };
            let call = |words: &[&str], flags: &[&str]| {
                let mut command =
                    place.outside(&place.words(words[0], &[&words[1..], flags].concat(), &["true"]));
                command.env("PATH", format!("{entry}:/usr/bin:/bin")).stderr(Stdio::piped());
                String::from_utf8(command.output().unwrap().stderr).unwrap()
            };
            call(&["plan"], &[]);
            let said = call(&["run", "--provider", "podman"], &[]);
            call(&["run", "--provider", "docker"], &[]);
            assert!(!has_run(&place), "by {caller:?}, {how}: {said}");
            if !said.contains("; not searched: ") {
                // Where there is another podman, that one is meant.
                assert!(std::path::Path::new("/usr/bin/podman").exists(), "by {caller:?}, {how}: {said}");
            }
            // The control: what the agent cannot write is the caller's own.
            if how != "relative" {
                call(&["plan"], &["-v", ".:/workspace:ro", "--trust"]);
                call(&["run", "--provider", "podman"], &["-v", ".:/workspace:ro"]);
                assert!(has_run(&place), "the control, by {caller:?}, {how}");
            }
        }
    }
}

#[test]
fn no_module_of_the_agents_is_imported_by_a_command_that_gives_a_secret() {
    for caller in callers("programs of the host") {
        let place = Place::new(caller);
        let command = "python3 -c 'import json; print(json.dumps(1))'";
        let module = format!("open({:?}, 'w')\ndumps = str\n", place.home().join("owned"));
        place.write("workspace/json.py", &module);
        place.write(
            "home/.config/sandboxctl/sandbox.toml",
            &format!("[secrets.x]\nmode = \"inject\"\nenv_var = \"X\"\nsource = \"command:{command}\"\n"),
        );
        let path = place.workspace().display().to_string();
        for variables in [&[][..], &[("PYTHONPATH", path.as_str())]] {
            let output = place
                .inside(&[] as &[&str], &["sh", "-c", "echo $X"])
                .envs(variables.iter().copied())
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(String::from_utf8_lossy(&output.stdout), "1\n", "by {caller:?}: {said}");
            assert!(!has_run(&place), "by {caller:?}, {variables:?}");
        }
        // The control: where the caller is, it is imported.
        assert!(place.outside(&["sh", "-c", command]).status().unwrap().success());
        assert!(has_run(&place), "the control, by {caller:?}");
    }
}

/// Has the caller's next sandboxes ask this command for a secret.
fn ask(place: &Place, command: &str) {
    let source = format!("command:{command}");
    let settings = format!("[secrets.x]\nmode = \"inject\"\nenv_var = \"X\"\nsource = {source:?}\n");
    place.write("home/.config/sandboxctl/sandbox.toml", &settings);
}

/// What a sandbox gets for it, or what is said instead.
fn given(place: &Place, flags: &[&str], variables: &[(&str, &str)]) -> Result<String, String> {
    let mut command = place.inside(flags, &["sh", "-c", "echo $X"]);
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let text = |bytes| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

#[test]
fn a_command_that_gives_a_secret_reads_and_runs_nothing_beneath_a_boundary() {
    for caller in callers("programs of the host") {
        let place = Place::new(caller);
        let token = place.write("workspace/bin/token", "#!/bin/sh\necho agent\n");
        std::fs::set_permissions(token, std::fs::Permissions::from_mode(0o755)).unwrap();
        place.write("workspace/lib/m.py", "print('agent')\n");
        place.write("workspace/lib/m.js", "console.log('agent')\n");
        let link = |target: &str, name: &str| {
            std::os::unix::fs::symlink(place.path(target), place.home().join(name)).unwrap();
        };
        link("workspace/bin", "bin");
        link("workspace/lib", "lib");
        let top = place.path("");
        let top = top.display().to_string();
        let top = top.trim_end_matches('/');
        let through = place.home().join("lib").display().to_string();
        let required = format!("--require {through}/m.js");
        for (line, variables) in [
            ("~/../workspace/bin/token".to_owned(), None),
            ("$HOME/bin/token".to_owned(), None),
            ("~/b*/token".to_owned(), None),
            ("cd; bin/token".to_owned(), None),
            (format!("cd {top}; ./workspace/bin/token"), None),
            (format!("a={top}; $a/workspace/bin/token"), None),
            (format!("{top}/w*/bin/token"), None),
            (format!("{top}//workspace/./bin/token"), None),
            (format!("/proc/self/root{top}/workspace/bin/token"), None),
            ("sh -c '. ~/bin/token'".to_owned(), None),
            (format!("cd {top}; cat w*/bin/token | sh"), None),
            ("python3 -c 'import m'".to_owned(), Some(("PYTHONPATH", through.as_str()))),
            (format!("cd {top}; PYTHONPATH=workspace/lib python3 -c 'import m'"), None),
            ("node -e 0".to_owned(), Some(("NODE_OPTIONS", required.as_str()))),
        ] {
            if line.starts_with("node") && !crate::machine::is_there(crate::machine::Feature::Node, "node") {
                continue;
            }
            ask(&place, &line);
            let control = given(&place, &["-v", ".:/workspace:ro"], variables.as_slice());
            assert_eq!(control.as_deref(), Ok("agent"), "the control, by {caller:?}: {line}");
            let said = given(&place, &[], variables.as_slice()).unwrap_err();
            assert!(said.contains("error: secret `x` from command:"), "by {caller:?}, {line}: {said}");
        }
        // What lies beside is read and run as ever, also in the directories above.
        place.write("home/.token", "own");
        ask(
            &place,
            &format!("cat ~/.token && cd {top} && ls >/dev/null && echo x > home/new && cat home/n*"),
        );
        assert_eq!(given(&place, &[], &[]).as_deref(), Ok("ownx"), "by {caller:?}");
    }
}

#[test]
fn what_the_agent_of_another_sandbox_can_write_is_neither_run_nor_read() {
    for caller in callers("programs of the host") {
        let place = Place::new(caller);
        let script = format!("#!/bin/sh\ntouch {}\n", place.home().join("owned").display());
        for name in ["docker", "podman"] {
            let path = place.write(&format!("other/bin/{name}"), &script);
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        place.write("other/token", "agent");
        ask(&place, &format!("cat {}/o*/token", place.path("").display()));
        let call = |words: &[&str]| {
            let path = format!("{}:/usr/bin:/bin", place.path("other/bin").display());
            let words: Vec<_> = [place.path("sandboxctl").into_os_string()]
                .into_iter()
                .chain(words.iter().map(Into::into))
                .collect();
            place.outside(&words).env("PATH", path).output().unwrap();
        };
        let attacks: [&[&str]; 2] = [&["doctor"], &["run", "--provider", "podman", "--", "true"]];
        // The control: while nothing runs in that directory, it is the caller's own.
        for words in attacks {
            call(words);
            assert!(has_run(&place), "the control, by {caller:?}: {words:?}");
        }
        assert_eq!(given(&place, &[], &[]).as_deref(), Ok("agent"), "the control, by {caller:?}");

        let mut other = place
            .inside(&["-v", "../other:/workspace"], &["sh", "-c", "echo ready; cat"])
            .env("XDG_CONFIG_HOME", place.path("none"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = [0; 6];
        std::io::Read::read_exact(other.stdout.as_mut().unwrap(), &mut ready).unwrap();
        for words in attacks {
            call(words);
            assert!(!has_run(&place), "by {caller:?}: {words:?}");
        }
        let said = given(&place, &[], &[]).unwrap_err();
        assert!(said.contains("error: secret `x` from command:"), "by {caller:?}: {said}");
        drop(other.stdin.take());
        assert!(other.wait().unwrap().success());
    }
}

#[test]
fn a_boundary_that_is_mounted_twice_is_one() {
    if !callers("programs of the host").contains(&crate::machine::Caller::Root) {
        return;
    }
    let place = Place::new(crate::machine::Caller::Root);
    place.write("workspace/bin/token", "echo agent\n");
    place.write("home/whole/empty", "");
    place.write("home/part/empty", "");
    for (bound, line) in [("", "cd; sh wh*/bin/token"), ("/bin", "cd; sh pa*/token")] {
        ask(&place, line);
        let given = |flags: &[&str]| {
            let run = place.run(flags, &["sh", "-c", "echo $X"]);
            let at = if bound.is_empty() { "whole" } else { "part" };
            let mount = format!("mount --bind {}{bound} ~/{at} && exec \"$@\"", place.workspace().display());
            let words: Vec<std::ffi::OsString> =
                ["unshare", "--mount", "--propagation", "private", "sh", "-c", &mount, "sh"]
                    .map(Into::into)
                    .into();
            let output = place.command(&[words, run].concat()).output().unwrap();
            (output.stdout, String::from_utf8_lossy(&output.stderr).into_owned())
        };
        let (control, said) = given(&["-v", ".:/workspace:ro"]);
        assert_eq!(control, b"agent\n", "the control, {line}: {said}");
        let (got, said) = given(&[]);
        assert!(got.is_empty() && said.contains("error: secret `x` from command:"), "{line}: {said}");
    }
}

#[test]
fn a_link_that_the_agent_made_does_not_choose_what_the_next_sandbox_sees() {
    for caller in callers("programs of the host") {
        let place = Place::new(caller);
        place.write("home/.config/sandboxctl/sandbox.toml", "[native]\nexpose = [\"node\"]\n");
        // It even looks like a toolchain.
        let node = place.write("home/private/bin/node", "");
        std::fs::set_permissions(&node, std::fs::Permissions::from_mode(0o755)).unwrap();
        place.write("home/private/include/node/node.h", "");
        let secret = place.write("home/private/lib/secret", "private").display().to_string();
        place.write("workspace/.venv/bin/empty", "");
        std::os::unix::fs::symlink(&node, place.workspace().join(".venv/bin/node")).unwrap();
        std::os::unix::fs::symlink(place.workspace().join(".venv/bin"), place.home().join("bin")).unwrap();
        for entry in [".venv/bin", "HOME/bin", "WORKSPACE/.venv/bin"] {
            let entry = entry.replace("HOME", &place.home().display().to_string());
            let entry = entry.replace("WORKSPACE", &place.workspace().display().to_string());
            let seen = |flags: &[&str]| {
                let mut command = place.inside(flags, &["cat", &secret]);
                let output = command.env("PATH", format!("{entry}:/usr/bin:/bin")).output().unwrap();
                (output.stdout, String::from_utf8_lossy(&output.stderr).into_owned())
            };
            let (control, said) = seen(&["-v", ".:/workspace:ro"]);
            if entry.starts_with('/') {
                assert_eq!(control, b"private", "the control, by {caller:?}, {entry}: {said}");
            }
            let (got, said) = seen(&[]);
            assert!(got.is_empty(), "by {caller:?}, {entry}: {said}");
        }
    }
}
