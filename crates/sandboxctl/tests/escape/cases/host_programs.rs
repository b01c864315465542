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
            if !said.contains("not looked for in") {
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
