//! Commands in configurations of git: which programs and scripts in the work tree they name.

use policy::classify::{Reference, references};

#[test]
fn what_runners_and_python_take_by_themselves_is_named_wherever_they_look() {
    let program = |path: &str| Reference::Program(path.into());
    let named = |command: &str| {
        let command = command.replace('\\', "\\\\").replace('"', "\\\"");
        references(format!("[filter \"x\"]\nclean = \"{command}\"\n").as_bytes())
    };
    for (command, path) in [
        ("make -C . x", "Makefile"),
        ("make -C. x", "Makefile"),
        ("make -s -C \"$(git rev-parse --show-toplevel)\" x", "Makefile"),
        ("make -C \"$PWD\" x", "GNUmakefile"),
        ("make -C tools/.. x", "Makefile"),
        ("make -C a -C b x", "a/b/Makefile"),
        ("make -C /home/me/w x", "/home/me/w/Makefile"),
        ("npm -C . run x", "package.json"),
        ("npm --prefix=. run x", "package.json"),
        ("pnpm -C . x", "package.json5"),
        ("ninja -C .", "build.ninja"),
        ("rake -C . x", "Rakefile"),
        ("rake x", "rakelib"),
        ("task -d tools x", "tools/Taskfile.yml"),
        ("composer -dtools x", "tools/composer.json"),
        ("doit --dir=tools x", "tools/dodo.py"),
        ("doit x", "doit.cfg"),
        ("inv x", "invoke.yaml"),
        ("tox -q", "toxfile.py"),
        ("node .", "index.js"),
        ("python3 ./", "__main__.py"),
        ("python3 -c 'from tools import conv'", "tools/conv.py"),
        ("python3 -c 'from tools import a as b, conv'", "tools/conv.py"),
        ("python3 -c 'from a.b import (c, d)'", "a/b/d.py"),
        ("python3 -c 'import os , tools.x'", "tools/x.py"),
        ("python3 -c 'import os as o, tools.x'", "tools/x.py"),
        ("python3 -c '__import__(\"a.b\").run()'", "a/b.py"),
        ("python3 -c 'import runpy; runpy.run_module(\"a.b\")'", "a/b.py"),
    ] {
        assert!(named(command).contains(&program(path)), "{command}: {:?}", named(command));
    }
    for (command, path) in [
        ("make -C tools x", "Makefile"),
        ("make -f build.mk x", "Makefile"),
        ("node tools", "index.js"),
        ("python3 -c 'import os; print(tools.x)'", "tools/x.py"),
    ] {
        assert!(!named(command).contains(&program(path)), "the control, {command}: {:?}", named(command));
    }
}

#[test]
fn what_the_command_of_a_url_runs_is_named() {
    let program = |path: &str| Reference::Program(path.into());
    for (config, named) in [
        ("[remote \"o\"]\nurl = \"ext::tools/proxy %S\"\n", vec![program("tools/proxy")]),
        ("[remote \"o\"]\npushurl = ext::sh px3\n", vec![program("px3")]),
        ("[remote \"o\"]\nurl = \"ext::sh -c tools/x%% %S\"\n", vec![program("tools/x%")]),
        ("[remote \"o\"]\nurl = \"ext::sh -c exec% tools/x% %S\"\n", vec![program("tools/x")]),
        ("[submodule \"s\"]\nurl = ext::tools/proxy\n", vec![program("tools/proxy")]),
        ("[branch \"main\"]\nremote = ext::tools/proxy\n", vec![program("tools/proxy")]),
        ("[url \"ext::sh tools/px2 %S \"]\ninsteadOf = x:\n", vec![program("tools/px2")]),
        ("[remote \"o\"]\nvcs = ext\nurl = tools/proxy %S\n", vec![program("tools/proxy")]),
        // The controls: a command from the search path, and no command.
        ("[remote \"o\"]\nurl = \"ext::ssh -i %S\"\n", vec![]),
        ("[remote \"o\"]\nurl = https://example.org/tools/proxy\n", vec![]),
        ("[remote \"o\"]\nurl = host:tools/proxy\n", vec![]),
    ] {
        let found = references(config.as_bytes());
        let is_named = named.iter().all(|path| found.contains(path));
        assert!(is_named && (!named.is_empty() || found.is_empty()), "{config}: {found:?}");
    }
}

#[test]
fn a_script_is_named_whatever_runs_it_and_however_the_command_is_written() {
    let command = |text: &str| {
        let text = text.replace('\\', "\\\\").replace('"', "\\\"");
        references(format!("[filter \"x\"]\nclean = \"{text}\"\n").as_bytes())
    };
    for (text, path) in [
        ("$(git rev-parse --show-cdup)tools/c8", "tools/c8"),
        ("\"$(git rev-parse --show-cdup)c8\" %f", "c8"),
        ("`git rev-parse --show-cdup`tools/c8", "tools/c8"),
        ("python3 -m tools.a0", "tools/a0.py"),
        ("python3 -um tools.a6", "tools/a6.py"),
        ("python3 -Im tools.a6", "tools/a6.py"),
        ("python3 -umtools.a6", "tools/a6.py"),
        ("pypy3 -m tools.a6", "tools/a6.py"),
        ("nodejs clean", "clean"),
        ("nodejs tools/clean", "tools/clean.js"),
        ("nodejs .", "index.js"),
        ("pypy3 clean", "clean"),
        ("luajit clean", "clean"),
        ("tclsh8.6 clean", "clean"),
        ("Rscript clean", "clean"),
        ("m4 clean", "clean"),
        ("busybox ash clean", "clean"),
        ("busybox sh -e clean", "clean"),
        ("deno run -A clean", "clean"),
        ("tsx clean", "clean.ts"),
        ("env -i nice nodejs clean", "clean"),
        ("sh +e clean", "clean"),
        ("bash -euo pipefail clean", "clean"),
        ("bash +O extglob clean", "clean"),
        ("sh < clean", "clean"),
    ] {
        let found = command(text);
        assert!(found.contains(&Reference::Program(path.into())), "{text}: {found:?}");
    }
    for (text, path) in [
        ("newlang clean", "clean"),
        ("newlang --fast clean %f", "clean"),
        ("A=1 newlang clean", "clean"),
        ("make -frules", "rules"),
        ("ssh -Fsettings", "settings"),
        ("sh -c 'cat clean | sh'", "clean"),
        ("cat clean | sh", "clean"),
        ("BASH_ENV=setup bash -c x", "setup"),
    ] {
        let found = command(text);
        assert!(found.contains(&Reference::File(path.into())), "{text}: {found:?}");
    }
    let proxy = command("ssh -o \"ProxyCommand=sh px3 %h\" x@y");
    assert!(proxy.contains(&Reference::Program("px3".into())), "{proxy:?}");
    // The controls: what is no script of the work tree.
    for text in [
        "gh auth git-credential", "git-crypt clean", "perl -e clean", "LC_ALL=C newlang", "less -FRX",
        "cat %f", "jq .", "newlang -- clean",
    ] {
        let found = command(text);
        let is_meant = |one: &Reference| matches!(one, Reference::File(_) | Reference::Program(_) if *one != Reference::Program(".".into()));
        assert!(!found.iter().any(is_meant), "{text}: {found:?}");
    }
}
