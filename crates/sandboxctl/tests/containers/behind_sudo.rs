//! What root's engine is given under sudo that the user behind it could exchange: PID 1's program, and what says that an
//! image is fit.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::environment::{engine, made_of_the_image};
use crate::everywhere;
use crate::exec::First;
use crate::machine::{Caller, NORMAL, Runner, image};
use crate::place::Place;
use crate::program;
use crate::system_path::in_system_path;

/// Root's directory for what it believes itself, on behalf of the normal user.
fn of_root() -> String {
    format!("/var/lib/sandboxctl/{NORMAL}")
}

/// Every engine that root calls for the normal user.
pub(crate) fn places(test: &str) -> Vec<(Place, Runner)> {
    let all = everywhere(test).into_iter();
    let rootful = all.filter(|(caller, runner)| {
        *caller == Caller::Root && matches!(runner, Runner::Docker | Runner::Podman)
    });
    let is_root = rustix::process::geteuid().is_root();
    rootful.filter(|_| is_root).map(|(_, runner)| (Place::on(Caller::Normal, runner), runner)).collect()
}

/// A command of ours that root starts under sudo.
pub(crate) fn sudo(place: &Place, words: &str, flags: &[&str], argv: &[&str]) -> Command {
    let mut command = place.command(&place.words(words, flags, argv));
    command.env("SUDO_UID", NORMAL.to_string()).env("SUDO_GID", NORMAL.to_string());
    command.env("XDG_STATE_HOME", place.home().join(".local/state"));
    command.env("XDG_CONFIG_HOME", place.home().join(".config"));
    command
}

pub(crate) fn said(command: &mut Command) -> String {
    let output = command.output().unwrap();
    [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat()
}

#[test]
fn the_user_behind_sudo_does_not_exchange_the_program_of_pid_1() {
    for (place, runner) in places("programs of PID 1 under sudo") {
        let name = if runner == Runner::Podman { "podman" } else { "docker" };
        let theirs = place.path("theirs");
        program::write(&theirs, "#!/bin/sh\necho pwned >&2\nexit 1\n");
        // Where the client alone is the user's, its user may do that: the control. Everywhere that the user gets to,
        // just before the engine starts.
        let exchange = format!(
            "for d in {}/.local/state/sandboxctl/rendezvous/$id {}/rendezvous/$id; do cp {} $d/new && mv -f $d/new $d/entrypoint; done",
            place.home().display(),
            of_root(),
            theirs.display()
        );
        let as_user = format!("setpriv --reuid {NORMAL} --regid {NORMAL} --clear-groups");
        let elsewhere = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
        for (who, is_pwned) in [("", true), (as_user.as_str(), false)] {
            let script = format!(
                "#!/bin/sh\nPATH={elsewhere}\nif [ \"$1\" = run ] || [ \"$1\" = create ]; then\n\
                 export id=$(echo \"$*\" | sed 's/.*--entrypoint=.sandboxctl-\\([0-9a-f]*\\).*/\\1/')\n\
                 echo $id > {}\n{who} sh -c '{exchange}' 2>/dev/null\nfi\nexec {name} \"$@\"\n",
                place.path("id").display()
            );
            program::write(&place.path("bin").join(name), &script);
            let command = sudo(&place, "run", &["--quiet"], &["echo", "ours"]);
            let said = said(&mut in_system_path(&command, &[&place.path("bin")]));
            assert_eq!(
                (said.contains("pwned"), said.contains("ours\n")),
                (is_pwned, !is_pwned),
                "{runner:?}: {said}"
            );
            let id = fs::read_to_string(place.path("id")).unwrap();
            let rendezvous = format!("{}/rendezvous/{}", of_root(), id.trim());
            assert!(id.len() == 17 && !Path::new(&rendezvous).exists(), "{runner:?}: {rendezvous}");
        }
    }
}

#[test]
fn root_looks_for_no_engine_where_a_group_or_an_access_list_lets_the_user_write() {
    for (place, runner) in places("groups that may write") {
        let name = if runner == Runner::Podman { "podman" } else { "docker" };
        let tools = place.path("tools");
        let engine = tools.join(name);
        // acl(5): the owner, uid 1001, the group, the mask and all others.
        let list = format!(
            "import os,struct; e=lambda *x: struct.pack('<HHI',*x); n=2**32-1; \
             os.setxattr({:?},'system.posix_acl_access',struct.pack('<I',2)+e(1,7,n)+e(2,7,{NORMAL})+e(4,5,n)+e(16,7,n)+e(32,5,n))",
            tools.display()
        );
        let list = format!("python3 -c \"{}\"", list.replace('"', "'"));
        // The first is the control: root's group.
        for (change, runs) in [
            ("chmod 2775 tools", true),
            ("chgrp 100 tools", false),
            ("chgrp 0 tools; chmod 775 tools", true),
            (&list, false),
        ] {
            fs::create_dir_all(&tools).unwrap();
            let ran = place.path("ran");
            let elsewhere = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
            let script = format!("#!/bin/sh\necho >{}\nPATH={elsewhere} exec {name} \"$@\"\n", ran.display());
            program::write(&engine, &script);
            let changed =
                Command::new("sh").args(["-ec", change]).current_dir(place.path("")).status().unwrap();
            assert!(changed.success(), "{change}");
            let command = sudo(&place, "run", &["--quiet"], &["echo", "ours"]);
            let said = said(&mut in_system_path(&command, &[&tools]));
            // Of two, root runs the one that is the system's own.
            assert!(said.contains("ours\n"), "{change} in {runner:?}: {said}");
            assert_eq!(ran.exists(), runs, "{change} in {runner:?}: {said}");
            let _ = fs::remove_file(ran);
        }
    }
}

#[test]
fn the_user_behind_sudo_does_not_say_that_an_image_is_fit() {
    for (place, runner) in places("forged marks of images") {
        if runner != Runner::Docker {
            continue;
        }
        let unfit = made_of_the_image(
            "sandbox-test-forged-fit",
            "RUN ln -s tmp.old /x && rm -rf /tmp && ln -s /x /tmp",
        );
        let id = engine(&place, runner, &["image", "inspect", "--format", "{{.Id}}", &unfit]);
        let platform =
            engine(&place, runner, &["image", "inspect", "--format", "{{.Os}}/{{.Architecture}}", &unfit]);
        // As the marks are called: which engine, which image, and where something will be mounted.
        let mark = |verb: &str, directory: &Path| {
            for address in ["unix:///var/run/docker.sock", "unix:///run/docker.sock"] {
                let parts =
                    [address, id.trim(), platform.trim(), "/workspace", "/home/agent", "/run", "/tmp"];
                let text = parts.map(|part| format!("{part}\\0")).concat();
                let script = format!(
                    "cd {} && {verb} $(printf '{text}' | sha256sum | cut -c1-64)",
                    directory.display()
                );
                assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
            }
        };
        let refused =
            |flags: &[&str]| said(&mut sudo(&place, "run", flags, &["true"])).contains("its /tmp is a link");
        let theirs = place.write("home/.local/state/sandboxctl/images/x", "");
        mark(":>", theirs.parent().unwrap());
        assert!(refused(&["--image", &unfit]), "the user's own marks are not believed");
        let marks = format!("{}/images", of_root());
        let entered = Command::new("setpriv")
            .args(["--reuid", &NORMAL.to_string(), "--clear-groups", "ls", &marks])
            .output()
            .unwrap();
        assert!(!entered.status.success(), "{entered:?}");
        // The control: the marks are what is believed.
        mark(":>", Path::new(&marks));
        let believed = !refused(&["--image", &unfit]);
        mark("rm -f", Path::new(&marks));
        assert!(believed, "the control");
        let fit = said(&mut sudo(&place, "run", &["--quiet", "--image", &image()], &["echo", "runs"]));
        assert_eq!(fit, "runs\n");
    }
}

#[test]
fn a_sandbox_that_was_started_by_sudo_is_found_with_and_without_sudo() {
    for (place, runner) in places("exec by sudo") {
        let name = format!("by-sudo{}", std::process::id());
        let argv = ["sh", "-c", "echo ready; cat"];
        let first = First::start(sudo(&place, "run", &["--name", &name], &argv));
        let found = |mut command: Command| {
            let output = command.output().unwrap();
            (output.stdout == format!("{NORMAL}\n").as_bytes(), said_of(&output.stderr))
        };
        let exec = place.words("exec", &[&name], &["id", "-u"]);
        let (is_found, said) = found(sudo(&place, "exec", &[&name], &["id", "-u"]));
        assert!(is_found, "{runner:?}: {said}");
        // It is the user's, whose agent has no more rights than they have.
        let mut without = place.outside(&exec);
        without.env("XDG_STATE_HOME", place.home().join(".local/state"));
        let (is_found, said) = found(without);
        assert!(is_found, "{runner:?}: {said}");
        first.end();
    }
}

#[test]
fn nothing_is_made_for_a_shared_directory_within_another() {
    for (caller, runner) in everywhere("nested shared directories") {
        let place = Place::on(caller, runner);
        let (outer, inner) = (place.path("outer"), place.path("inner"));
        for directory in [&outer, &inner, &outer.join("there")] {
            fs::create_dir(directory).unwrap();
        }
        place.give(&inner);
        symlink("there", outer.join("link")).unwrap();
        fs::write(outer.join("file"), "").unwrap();
        fs::write(inner.join("f"), "inner").unwrap();
        let run = |guest: &str| {
            // Root's directory, in which the caller may make nothing.
            let flags = [format!("-v={}:/w", outer.display()), format!("-v={}:/w/{guest}", inner.display())];
            let flags = ["--quiet", &flags[0], &flags[1]];
            let argv = ["cat".to_owned(), format!("/w/{guest}/f")];
            let words = place.run(&flags, &argv.each_ref().map(String::as_str));
            let is_sudo = caller == Caller::Normal && runner == Runner::Docker;
            let command = if is_sudo {
                sudo(&place, "run", &flags, &[&argv[0], &argv[1]])
            } else {
                place.outside(&words)
            };
            let mut command = command;
            said(&mut command)
        };
        for guest in ["new", "new/deep", "there/new", "link", "file"] {
            let said = run(guest);
            assert!(said.contains("must exist on the host"), "{guest} in {runner:?} by {caller:?}: {said}");
        }
        let mut left: Vec<_> =
            fs::read_dir(&outer).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["file", "link", "there"], "in {runner:?} by {caller:?}");
        assert_eq!(run("there"), "inner", "the control, in {runner:?} by {caller:?}");
    }
}

fn said_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
