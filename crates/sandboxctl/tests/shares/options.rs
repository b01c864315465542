//! How a directory is shared: only where it is there, and without its programs being executed.

use std::fs;

use crate::machine::{Caller, Runner, callers};
use crate::place::Place;
use crate::{error, places, said, script};

#[test]
fn an_optional_directory_is_left_out_where_it_is_not_there() {
    for (place, what) in places("optional directories") {
        let volume = |options: &str| format!("{}:/cache{options}", place.path("cache").display());
        let run = |options: &str| {
            let flags = ["-v", ".:/workspace", "-v", &volume(options)];
            place.inside(&flags, &["sh", "-c", "ls -d /cache 2>/dev/null; echo ran"]).output().unwrap()
        };
        let output = run("");
        assert!(error(&output).contains("does not exist"), "{what}: the control: {output:?}");
        let output = run(":ro,optional");
        assert_eq!(said(&output), "ran\n", "{what}: {output:?}");
        assert!(
            error(&output).contains("does not exist, so \"cache\", which is optional, is not shared"),
            "{what}: {output:?}"
        );
        assert!(!place.path("cache").exists(), "{what}");
        fs::create_dir(place.path("cache")).unwrap();
        place.give(&place.path("cache"));
        let output = run(":ro,optional");
        assert_eq!(said(&output), "/cache\nran\n", "{what}: {output:?}");
    }
}

#[test]
fn an_optional_directory_that_may_not_be_shared_is_refused_as_any_other() {
    for caller in callers("optional directories that are refused") {
        let place = Place::new(caller);
        place.write("workspace/file", "");
        for host in ["/etc/no-such-directory", "/etc", "/proc/1"] {
            let volume = format!("{host}:/x:ro,optional");
            let output = script(&place, &["-v", &volume], "true");
            assert_eq!(output.status.code(), Some(2), "{host} as {caller:?}: {output:?}");
        }
        let config = "[shared_dirs]\nwork = { host = \".\", guest = \"/workspace\" }\n\
                      more = { host = \"./none\", guest = \"/more\", optional = true }\n";
        place.write("workspace/sandbox.toml", config);
        let output = script(&place, &["--yes"], "test ! -e /more");
        assert!(output.status.success(), "as {caller:?}: {output:?}");
        assert!(!place.workspace().join("none").exists(), "as {caller:?}: it was made");
    }
}

#[test]
fn no_program_of_a_noexec_directory_is_executed_where_that_can_be_had() {
    for caller in callers("noexec") {
        for runner in crate::machine::runners(caller, "noexec") {
            let what = format!("in {runner:?} by {caller:?}");
            let place = Place::on(caller, runner);
            place.write("workspace/program", "#!/bin/sh\necho executed\n");
            place.write("workspace/.vscode/program", "#!/bin/sh\necho executed\n");
            for name in ["program", ".vscode/program"] {
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
                fs::set_permissions(place.workspace().join(name), mode).unwrap();
            }
            let attack = "./program; .vscode/program; cp /bin/true copy && ./copy && echo executed; \
                          /lib64/ld-linux-x86-64.so.2 ./copy && echo executed; sh ./program; true";
            let run = |volume: &str| script(&place, &["-v", volume], attack);
            let output = run(".:/workspace");
            assert_eq!(said(&output), "executed\n".repeat(5), "{what}: the control: {output:?}");
            let output = run(".:/workspace:noexec");
            let is_refused =
                caller == Caller::Normal && matches!(runner, Runner::Docker | Runner::RootlessDocker);
            if is_refused {
                assert!(error(&output).contains("has no such option"), "{what}: {output:?}");
                continue;
            }
            // A script is read by a program that lies elsewhere.
            assert_eq!(said(&output), "executed\n", "{what}: {output:?}");
            let output = run(".:/workspace:ro,noexec");
            assert_eq!(said(&output), "executed\n", "{what}: {output:?}");
            let report =
                place.inside(&["-v", ".:/workspace:noexec", "--report"], &["true"]).output().unwrap();
            assert!(error(&report).contains("of them noexec"), "{what}: {report:?}");
        }
    }
}
