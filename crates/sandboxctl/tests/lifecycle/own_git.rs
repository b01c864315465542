//! The caller's own configuration of git: what it names in a shared directory stays as it is, or is quarantined where it is new.

use crate::machine::callers;
use crate::place::Place;

/// The owner's, with a relative directory of hooks, a filter in the project and a file that is not there yet.
const OWN: &str = "[core]\n\thooksPath = ./.my-hooks\n[filter \"own\"]\n\tclean = sh tools/own.sh\n\
                   [include]\n\tpath = more.conf\n\tpath = ../workspace/later.conf\n[user]\n\tname = a\n\temail = a@example.org\n";

const MORE: &str = "[filter \"more\"]\n\tclean = ~/../workspace/tools/more\n";

const ATTACK: &str = r#"
for file in tools/own.sh tools/more; do echo 'touch obeyed-filter; cat' > $file || echo "kept $file"; done
mkdir .my-hooks; printf '#!/bin/sh\ntouch obeyed-hook\n' > .my-hooks/pre-commit; chmod +x .my-hooks/pre-commit
printf '[alias]\n\tx = !touch obeyed-alias\n' > later.conf
"#;

const USE: &str = "touch a; git add a; git status; git commit -q --allow-empty -m x; git x; ls -d obeyed-*";

fn prepared(caller: crate::machine::Caller) -> Place {
    let place = Place::new(caller);
    place.write("home/.gitconfig", OWN);
    place.write("home/more.conf", MORE);
    place.write("workspace/tools/own.sh", "cat\n");
    place.write("workspace/tools/more", "#!/bin/sh\ncat\n");
    place.write("workspace/.gitattributes", "a filter=own\n");
    assert!(place.outside(&["git", "init", "-q", "."]).status().unwrap().success());
    place
}

fn obeyed(place: &Place) -> String {
    let output = place.outside(&["sh", "-c", USE]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).lines().filter(|line| line.starts_with("obeyed")).collect()
}

#[test]
fn what_the_callers_own_configuration_names_is_not_the_agents() {
    for caller in callers("the caller's own configuration of git") {
        let place = prepared(caller);
        assert!(place.outside(&["sh", "-c", ATTACK]).status().unwrap().success());
        assert_eq!(obeyed(&place), "obeyed-aliasobeyed-filterobeyed-hook", "the control, by {caller:?}");

        let place = prepared(caller);
        let output = place.inside(&[""; 0], &["sh", "-c", ATTACK]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let kept = String::from_utf8_lossy(&output.stdout);
        assert_eq!(kept, "kept tools/own.sh\nkept tools/more\n", "by {caller:?}: {said}");
        for moved in [".my-hooks", "later.conf"] {
            assert!(said.contains(moved) && !place.workspace().join(moved).exists(), "by {caller:?}: {said}");
        }
        assert_eq!(obeyed(&place), "", "by {caller:?}: {said}");
    }
}

#[test]
fn a_configuration_that_lies_in_a_shared_directory_is_not_the_agents() {
    let write = "echo '[alias]' >> gitconfig";
    for caller in callers("the caller's own configuration of git in a shared directory") {
        let place = Place::new(caller);
        place.write("workspace/gitconfig", "[user]\n\tname = a\n");
        let link = ["ln", "-s", "../workspace/gitconfig", "../home/.gitconfig"];
        assert!(
            place.inside(&[""; 0], &["sh", "-c", write]).status().unwrap().success(),
            "the control, by {caller:?}"
        );
        assert!(place.outside(&link).status().unwrap().success());
        assert!(!place.inside(&[""; 0], &["sh", "-c", write]).status().unwrap().success(), "by {caller:?}");
    }
}

/// Runs a script in a directory below the workspace, in a sandbox of its own.
fn inside(place: &Place, directory: &str, flags: &[&str], script: &str) -> std::process::Output {
    let mut command = place.inside(flags, &["sh", "-c", script]);
    command.current_dir(place.workspace().join(directory)).output().unwrap()
}

fn outside(place: &Place, script: &str) {
    let script = format!(
        "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a; {script}"
    );
    assert!(place.outside(&["sh", "-ec", &script]).status().unwrap().success(), "{script}");
}

const HOOK: &str = "printf '#!/bin/sh\\ntouch obeyed-hook\\n' > hooks/pre-commit; chmod +x hooks/pre-commit";

#[test]
fn hooks_are_found_behind_the_home_of_any_user_and_behind_links_that_lead_nowhere() {
    for caller in callers("directories of hooks in other words") {
        for by in ["in another home", "behind a link", "that may be missing", "out of where git is"] {
            let place = Place::new(caller);
            let hooks = place.workspace().join("hooks");
            let named = match by {
                // Its home is /usr/sbin.
                "in another home" => format!("~daemon/../..{}", hooks.display()),
                "that may be missing" => format!(":(optional){}", hooks.display()),
                "out of where git is" => format!("%(prefix)/../..{}", hooks.display()),
                _ => {
                    let link = place.path("home/link").display().to_string();
                    outside(&place, &format!("ln -s {} {link}", hooks.display()));
                    link
                }
            };
            place.write("home/.gitconfig", &format!("[core]\n\thooksPath = {named}\n"));
            outside(&place, "git init -q .");
            let attack = format!("mkdir hooks; {HOOK}");
            let is_old_git = by == "that may be missing";
            outside(&place, &attack);
            outside(&place, "git commit -q --allow-empty -m x");
            let obeyed = place.workspace().join("obeyed-hook");
            assert!(is_old_git || std::fs::remove_file(&obeyed).is_ok(), "the control, {by} by {caller:?}");
            outside(&place, "rm -r hooks");
            let said = inside(&place, "", &[], &attack).stderr;
            let said = String::from_utf8_lossy(&said);
            assert!(said.contains("/workspace/hooks: `[protect] paths` or"), "{by} by {caller:?}: {said}");
            outside(&place, "git commit -q --allow-empty -m y");
            assert!(!obeyed.exists() && !hooks.exists(), "{by} by {caller:?}: {said}");
        }
    }
}

#[test]
fn a_configuration_that_cannot_be_read_whole_is_in_the_report() {
    for caller in callers("a configuration that cannot be read") {
        let plain = "[user]\n\tname = a\n";
        for (content, is_whole) in [
            (plain.to_owned(), true),
            (format!("{plain}#{}\n", "x".repeat(2 << 20)), false),
            (format!("{plain}\temail = a\0b\n"), false),
        ] {
            let place = Place::new(caller);
            place.write("home/.gitconfig", &content);
            let report = |variable: &str| {
                let mut command = place.inside(&["--format", "json"], &["true"]);
                let output = command.envs(variable.split_once('=')).output().unwrap();
                let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
                let report = answer["report"].as_array().unwrap();
                report.iter().find(|line| line["layer"] == "protect").unwrap().to_string()
            };
            let is_told = report("A=b").contains(".gitconfig");
            assert_eq!(is_told, !is_whole, "by {caller:?}: {}", report("A=b"));
            assert!(report("GIT_CONFIG_GLOBAL=/dev/null").contains("\"enforced\""), "by {caller:?}");
        }
    }
}

/// A repository whose configuration names hooks and a filter in its work tree, and a submodule.
const AROUND: &str = "
git init -q -b main main; cd main; mkdir -p web/hooks web/tools; printf 'cat\\n' > web/tools/fmt; : > web/hooks/keep
git config core.hooksPath web/hooks; git config filter.f.clean 'sh web/tools/fmt'; echo '*.x filter=f' > .gitattributes
git add -A; git -c core.hooksPath=/ commit -q -m x; git worktree add -q ../tree -b tree; git worktree add -q ../far/tree -b far; cd ..
git init -q -b main lib; git -C lib commit -q --allow-empty -m x
cd main; git -c protocol.file.allow=always -c core.hooksPath=/ submodule --quiet add ../lib lib
git -C lib config core.hooksPath hooks; mkdir lib/hooks; : > lib/hooks/keep";

#[test]
fn what_a_repository_around_a_shared_directory_names_in_it_is_not_the_agents() {
    let hook = |hooks: &str| {
        format!(
            "printf '#!/bin/sh\\ntouch \"$OBEYED\"\\n' > {hooks}/pre-commit && chmod +x {hooks}/pre-commit; "
        )
    };
    for caller in callers("a configuration around a shared directory") {
        for (directory, hooks, tools) in [
            ("main/web", "hooks", Some("tools/fmt")),
            ("tree", "web/hooks", Some("web/tools/fmt")),
            ("main/lib", "hooks", None),
            // A work tree within, of a repository out of the shared directory.
            ("far", "tree/web/hooks", Some("tree/web/tools/fmt")),
        ] {
            let attack = hook(hooks)
                + &tools
                    .map(|tools| format!("echo 'touch \"$OBEYED\"; cat' > {tools}; "))
                    .unwrap_or_default()
                + "touch a.x; test ! -d tree || touch tree/a.x";
            let place = Place::new(caller);
            let obeyed = place.path("home/obeyed");
            let work = format!(
                "export OBEYED={}; cd {directory}; cd tree 2> /dev/null || true; git add -A; git commit -q --allow-empty -m y",
                obeyed.display()
            );
            outside(&place, AROUND);
            outside(&place, &format!("cd {directory}; {attack}"));
            outside(&place, &work);
            assert!(obeyed.exists(), "the control, {directory} by {caller:?}");

            let place = Place::new(caller);
            let obeyed = place.path("home/obeyed");
            let work = format!(
                "export OBEYED={}; cd {directory}; cd tree 2> /dev/null || true; git add -A; git commit -q --allow-empty -m y",
                obeyed.display()
            );
            outside(&place, AROUND);
            let said = inside(&place, directory, &[], &attack).stderr;
            let said = String::from_utf8_lossy(&said);
            assert_eq!(
                said.matches("Read-only file system").count(),
                if tools.is_some() { 2 } else { 1 },
                "{directory} by {caller:?}: {said}"
            );
            outside(&place, &work);
            assert!(!obeyed.exists(), "{directory} by {caller:?}: {said}");

            // Ordinary work.
            let said =
                inside(&place, directory, &[], "echo 1 > new; mkdir src; echo 2 > src/x; cat a.x").stderr;
            let said = String::from_utf8_lossy(&said);
            assert!(
                !said.contains("Read-only") && !said.contains("the agent has made"),
                "{directory} by {caller:?}: {said}"
            );
        }
    }
}

#[test]
fn what_variables_name_is_protected_like_what_a_file_names() {
    let variables = [
        ("GIT_CONFIG_COUNT", "2"),
        ("GIT_CONFIG_KEY_0", "filter.a \"b\".c.clean"),
        ("GIT_CONFIG_VALUE_0", "sh tools/fmt"),
        ("GIT_CONFIG_KEY_1", "core.hooksPath"),
        ("GIT_CONFIG_VALUE_1", "tools/../hooks"),
        ("GIT_EXTERNAL_DIFF", "tools/diff"),
    ];
    let attack =
        format!("{HOOK}; echo 'touch obeyed-filter; cat' > tools/fmt; echo 'touch obeyed-diff' > tools/diff");
    for caller in callers("variables of git") {
        let place = Place::new(caller);
        outside(
            &place,
            "git init -q .; mkdir hooks tools; echo cat > tools/fmt; echo : > tools/diff; chmod +x tools/diff; \
             echo '*.x filter=a \"b\".c' > .gitattributes; git add .",
        );
        let git = |script: &str| {
            let script = format!("git config user.name a; git config user.email a; {script}");
            place.outside(&["sh", "-c", &script]).envs(variables).output().unwrap()
        };
        let said = place.inside(&[""; 0], &["sh", "-c", &attack]).envs(variables).output().unwrap();
        let said = String::from_utf8_lossy(&said.stderr);
        assert_eq!(said.matches("Read-only file system").count(), 3, "by {caller:?}: {said}");
        let work = "git commit -q --allow-empty -m x; echo >> .gitattributes; git --no-pager diff";
        let obeyed = ["obeyed-hook", "obeyed-diff"].map(|trace| place.workspace().join(trace));
        git(work);
        assert!(obeyed.iter().all(|trace| !trace.exists()), "by {caller:?}: {said}");
        outside(&place, &attack);
        git(work);
        assert!(obeyed.iter().all(|trace| trace.exists()), "the control, by {caller:?}");
    }
}

#[test]
fn what_links_lead_to_among_hooks_outside_a_shared_directory_is_not_the_agents() {
    let attack = "printf '#!/bin/sh\\ntouch \"$OBEYED\"\\n' > git/hook";
    // What makes git take hooks from elsewhere; where they are, seen from the shared directory; and what runs one.
    for caller in callers("links among hooks outside") {
        for (prepare, hooks, work) in [
            ("git config --global core.hooksPath '~/hooks'", "../../home/hooks", "git commit"),
            ("git config core.hooksPath ../../home/hooks", "../../home/hooks", "git commit"),
            (
                "git config --global init.templateDir '~/template'",
                "../../home/template/hooks",
                "git init -q ../new; cd ../new; git commit",
            ),
            ("cd ..; git init -q .", "../.git/hooks", "cd ..; git commit"),
        ] {
            let prepared = || {
                let place = Place::new(caller);
                outside(
                    &place,
                    &format!(
                        "mkdir -p web/git web/src; cd web; git init -q .; echo '#!/bin/sh' > git/hook; chmod +x git/hook; mkdir -p {hooks}; \
                         ln -sf \"$PWD/git/hook\" {hooks}/pre-commit; ln -s \"$PWD\" {hooks}/all; {prepare}"
                    ),
                );
                place
            };
            let obeyed = |place: &Place| {
                let trace = place.path("home/obeyed");
                outside(
                    place,
                    &format!("export OBEYED={}; cd web; {work} -q --allow-empty -m x", trace.display()),
                );
                trace.exists()
            };
            let place = prepared();
            outside(&place, &format!("cd web; {attack}"));
            assert!(obeyed(&place), "the control, {prepare} by {caller:?}");

            let place = prepared();
            let said =
                inside(&place, "web", &[], &format!("{attack}; echo 1 > git/other; echo 2 > src/x")).stderr;
            let said = String::from_utf8_lossy(&said);
            assert_eq!(said.matches("Read-only file system").count(), 1, "{prepare} by {caller:?}: {said}");
            assert!(!said.contains("the agent has made"), "{prepare} by {caller:?}: {said}");
            assert!(!obeyed(&place), "{prepare} by {caller:?}: {said}");
        }
    }
}

#[test]
fn a_repository_is_not_made_around_hooks_that_an_earlier_run_has_prepared() {
    const HOOK: &str = "printf '#!/bin/sh\\ntouch \"$OBEYED\"\\n' > hook; chmod +x hook";
    let prepare = |hooks: &str| match hooks {
        "a link" => format!("mkdir d/h; cd d/h; {HOOK}; mv hook pre-commit; cd ..; ln -s h .githooks"),
        _ => format!("mkdir d/.githooks; cd d/.githooks; {HOOK}; mv hook pre-commit"),
    };
    let init = "cd d; git init -q .; echo x > new; git init -q ../other";
    for caller in callers("hooks that an earlier run has prepared") {
        for hooks in ["a directory", "a link"] {
            let prepared = || {
                let place = Place::new(caller);
                place.write("home/.gitconfig", "[core]\n\thooksPath = .githooks\n");
                outside(&place, "mkdir d");
                place
            };
            let obeyed = |place: &Place| {
                let trace = place.path("home/obeyed");
                let work = "cd d; git commit -q --allow-empty -m x || true";
                outside(place, &format!("export OBEYED={}; {work}", trace.display()));
                trace.exists()
            };
            let place = prepared();
            outside(&place, &prepare(hooks));
            outside(&place, init);
            assert!(obeyed(&place), "the control, {hooks} by {caller:?}");

            let place = prepared();
            let said = inside(&place, "", &[], &prepare(hooks)).stderr;
            assert!(!String::from_utf8_lossy(&said).contains("moved to"), "{hooks} by {caller:?}");
            let said = inside(&place, "", &[], init).stderr;
            let said = String::from_utf8_lossy(&said);
            assert!(
                said.contains("/workspace/d/.git: it makes a program obey"),
                "{hooks} by {caller:?}: {said}"
            );
            assert_eq!(said.matches("moved to").count(), 1, "{hooks} by {caller:?}: {said}");
            assert!(!obeyed(&place), "{hooks} by {caller:?}: {said}");
        }
        // What others obey too was obeyed before.
        let place = Place::new(caller);
        place.write("workspace/sandbox.toml", "version = 1\n[protect]\npaths = [\"Makefile\"]\n");
        outside(&place, "mkdir d; echo all: > d/Makefile; touch d/.envrc");
        let said = inside(&place, "", &[], "git init -q d").stderr;
        assert_eq!(String::from_utf8_lossy(&said), "", "by {caller:?}");
    }
}

/// The shared directory is what a configuration of git names, or lies in it: nothing within it is a protected path.
#[test]
fn a_shared_directory_that_a_configuration_of_git_names_is_reported_and_needs_trust() {
    const HOOKS: &str = "[core]\n\thooksPath = .my-hooks\n";
    const FILTER: &str = "[filter \"x\"]\n\tclean = python3 tools/strip\n\tsmudge = cd ./ && cat\n";
    const ABSOLUTE: &str =
        "[core]\n\thooksPath = ~/../workspace/q/hooks\n[init]\n\ttemplateDir = ~/../workspace/q/template\n";
    for caller in callers("shared directories that a configuration of git names") {
        let cases = [
            ("home/.gitconfig", HOOKS, ".my-hooks", true),
            ("workspace/.git/config", HOOKS, ".my-hooks", true),
            ("workspace/.git/config", FILTER, "tools/strip/lib", true),
            ("home/.gitconfig", ABSOLUTE, "q/hooks", true),
            ("home/.gitconfig", ABSOLUTE, "q/template/hooks", true),
            ("home/.gitconfig", HOOKS, "hooks", false),
            ("home/.gitconfig", FILTER, "src", false),
            ("workspace/.git/config", FILTER, "tools/other", false),
        ];
        for (file, text, directory, is_named) in cases {
            let place = Place::new(caller);
            outside(&place, &format!("git init -q .; mkdir -p {directory}"));
            outside(&place, &format!("printf '%s' '{text}' >> ../{file}"));
            let case = format!("{directory} by {file}, by {caller:?}");
            let output = inside(&place, directory, &["--report", "-v", ".:/workspace"], "touch x");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{case}: {said}");
            assert_eq!(said.contains("is named by a configuration of git"), is_named, "{case}: {said}");
            let is_partly = said.lines().any(|line| {
                line.starts_with("protect") && line.contains("partly") && line.contains("named by")
            });
            assert_eq!(is_partly, is_named, "{case}: {said}");

            let shared =
                |more: &str| format!("[shared_dirs.x]\nhost = \"{directory}\"\nguest = \"/x\"\n{more}");
            place.write("workspace/sandbox.toml", &shared(""));
            let output = inside(&place, "", &[], "touch /x/x");
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.success(), !is_named, "{case}: {said}");
            assert_eq!(said.contains("shared_dirs.x.host lets the agent write"), is_named, "{case}: {said}");
            assert!(inside(&place, "", &["--trust"], "touch /x/x").status.success(), "{case}, with trust");
            place.write("workspace/sandbox.toml", &shared("mode = \"ro\"\n"));
            assert!(inside(&place, "", &[], "ls /x").status.success(), "{case}, read-only");
        }
    }
}

/// Runs a command in a mount namespace in which the normal user has this home.
fn with_home(place: &Place, words: &[std::ffi::OsString]) -> std::process::Command {
    let passwd = place.path("passwd");
    let home = place.path("home/of-owner");
    let line = format!(
        "root:x:0:0::/root:/bin/sh\nowner:x:{0}:{0}::{1}:/bin/sh\n",
        crate::machine::NORMAL,
        home.display()
    );
    std::fs::write(&passwd, line).unwrap();
    let script = format!("mount --bind {} /etc/passwd && exec \"$@\"", passwd.display());
    let start = ["unshare", "--mount", "sh", "-c", &script, "sh"].map(std::ffi::OsString::from);
    place.command(&[start.to_vec(), words.to_vec()].concat())
}

#[test]
fn what_is_named_by_another_mount_of_a_shared_directory_is_not_the_agents() {
    use crate::machine::{Caller, NORMAL};

    if !rustix::process::geteuid().is_root() {
        return;
    }
    for caller in callers("directories that are mounted twice") {
        for named_in in ["home/.gitconfig", "workspace/.git/config"] {
            // The control: nothing is named.
            for is_named in [false, true] {
                let place = Place::new(caller);
                let other = place.path("other");
                std::fs::create_dir(&other).unwrap();
                place.write("workspace/hooks/keep", "");
                outside(&place, "git init -q .");
                if is_named {
                    let hooks = place.workspace().join("hooks");
                    place.write(named_in, &format!("[core]\n\thooksPath = {}\n", hooks.display()));
                }
                let mount = "mount --bind . \"$0\"; cd \"$0\"; exec \"$@\"";
                let start = ["unshare", "--mount", "sh", "-ec", mount, other.to_str().unwrap()];
                let id = NORMAL.to_string();
                let user = ["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups", "--"];
                let user = if caller == Caller::Normal { &user[..] } else { &[] };
                let start = start.iter().chain(user).map(std::ffi::OsString::from).collect::<Vec<_>>();
                let run = place.run(&[""; 0], &["sh", "-c", HOOK]);
                let output = place.command(&[start, run].concat()).output().unwrap();
                let is_kept = !place.workspace().join("hooks/pre-commit").exists();
                assert_eq!(is_kept, is_named, "in {named_in} by {caller:?}: {output:?}");
            }
        }
    }
}

#[test]
fn for_root_what_the_owner_of_the_directory_has_configured_is_protected() {
    use crate::machine::{Caller, NORMAL};

    if callers("configurations of owners").len() != 2 || !rustix::process::geteuid().is_root() {
        return;
    }
    let prepared = |owner: u32| {
        let place = Place::new(Caller::Root);
        place.write(
            "home/of-owner/.gitconfig",
            "[core]\n\thooksPath = .githooks\n[diff \"x\"]\n\tcommand = ~/../../workspace/tools/show\n",
        );
        place.write("workspace/tools/show", "#!/bin/sh\n");
        let git = ["git", "-C", "workspace", "init", "-q", "."];
        let made = std::process::Command::new(git[0]).args(&git[1..]).current_dir(place.path("")).status();
        assert!(made.unwrap().success());
        let own = format!("chown -R {owner}:{owner} workspace home/of-owner");
        let given = std::process::Command::new("sh").args(["-c", &own]).current_dir(place.path("")).status();
        assert!(given.unwrap().success());
        place
    };
    let attack = "mkdir .githooks; printf '#!/bin/sh\\n' > .githooks/pre-commit; chmod +x .githooks/pre-commit; \
                  echo x >> tools/show || echo kept";
    // The control: where root owns the directory, root runs git there, by its own configuration.
    for (owner, is_kept) in [(0, false), (NORMAL, true)] {
        let place = prepared(owner);
        let words = place.run(&["--report", "-v", ".:/workspace"], &["sh", "-c", attack]);
        let output = with_home(&place, &words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.stdout == b"kept\n", is_kept, "owned by {owner}: {output:?}");
        assert_eq!(!place.workspace().join(".githooks").exists(), is_kept, "owned by {owner}: {said}");
        assert_eq!(said.contains("XDG_CONFIG_HOME of uid"), is_kept, "owned by {owner}: {said}");
    }
}

#[test]
fn under_sudo_a_configuration_that_a_variable_names_is_not_claimed_to_be_protected() {
    use crate::machine::{Caller, NORMAL};

    if callers("variables of git under sudo").len() != 2 || !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::new(Caller::Normal);
    let said = |variable: Option<&str>| {
        let words = place.run(&["--report", "-v", ".:/workspace"], &["true"]);
        let mut command = with_home(&place, &words);
        command.env("SUDO_UID", NORMAL.to_string()).env("SUDO_GID", NORMAL.to_string());
        if let Some(name) = variable {
            command.env(name, place.home().join(".config"));
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        said.lines().find(|line| line.contains("protect")).unwrap_or_default().to_owned()
    };
    let unknown = said(None);
    assert!(
        unknown.contains("partly") && unknown.contains("GIT_CONFIG_GLOBAL and XDG_CONFIG_HOME"),
        "{unknown}"
    );
    let known = said(Some("XDG_CONFIG_HOME"));
    assert!(!known.contains("XDG_CONFIG_HOME"), "the control: {known}");
}
