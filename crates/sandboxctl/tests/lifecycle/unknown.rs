//! New names with a leading dot that no list knows: they are reported, and nothing else is done about them.

use serde_json::Value;

use crate::machine::callers;
use crate::place::Place;

/// What a program that nobody has looked at would obey, in the directory, in its `.config` and in a new repository.
const ATTACK: &str = "echo evil > .foorc; mkdir .config; echo evil > .config/foo.toml; echo 1 > .first; : > .empty-rc\n\
                      git init -q new; mkdir new/.foo.d; echo evil > new/.foo.d/run; mkdir plain; echo x > plain/.foorc";

/// Those that a program may well obey come first.
const NAMES: [&str; 5] = [".config/foo.toml", ".first", ".foorc", ".empty-rc", "new/.foo.d"];

#[test]
fn a_name_that_no_list_knows_is_reported_and_stays() {
    for caller in callers("names that no list knows") {
        let place = Place::new(caller);
        let output = place.inside(&[""; 0], &["sh", "-ec", ATTACK]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let told: Vec<_> = said.lines().filter(|line| line.contains("no list of sandboxctl knows")).collect();
        let names = NAMES.map(|name| format!("/workspace/{name}")).join(", ");
        let wanted = format!("warning: the agent has made {names}: no list of sandboxctl knows these names");
        assert!(told.len() == 1 && told[0].starts_with(&wanted), "by {caller:?}: {said}");
        assert!(output.status.success() && said.lines().count() == 1, "by {caller:?}: {said}");
        for name in NAMES {
            assert!(place.workspace().join(name).exists(), "by {caller:?}: {name} stays");
        }

        // A file of a name that was there is no news, in every repository.
        let again = "git init -q other; cp .foorc other; cat .foorc new/.foo.d/run";
        let output = place.inside(&[""; 0], &["sh", "-ec", again]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said, "", "by {caller:?}");

        // What changes there is.
        let again =
            "echo more >> .foorc; cp .first x; mv x .first; echo evil > new/.foo.d/second; echo 1 > .bazrc";
        let output = place.inside(&[""; 0], &["sh", "-ec", again]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let wanted = "warning: the agent has made /workspace/.bazrc, and changes in /workspace/.first, /workspace/.foorc, \
                      /workspace/new/.foo.d, unless they are yours: no list of sandboxctl knows these names, and programs may \
                      obey them; they stay, and `[protect] allow` silences this\n";
        assert_eq!(said, wanted, "by {caller:?}");
        let output = place.inside(&[""; 0], &["sh", "-ec", "echo evil > .config/foo.toml"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let wanted = "warning: the agent has made changes in /workspace/.config/foo.toml, unless they are yours: no list of sandboxctl \
                      knows the name, and a program may obey it; it stays, and `[protect] allow` silences this\n";
        assert_eq!(said, wanted, "by {caller:?}");
    }
}

/// What changes where no program takes what it runs from, what is known, and what is only read or counted anew.
const UNOBEYED: &str = "echo 1 >> .venv/x; echo 1 >> .pytest_cache/x; echo 1 >> .prettierrc; cat .own-rc .own.d/x; \
                        echo 1 >> .own.d/x.log; mkdir -p .own.d/data; echo 1 >> .own.d/data/x; echo 1 >> own-rc; \
                        echo 1 >> sub/.own-rc; rm .gone-rc; echo 1 >> .allowed-rc; echo 1 >> .many/1; touch .many/new";

#[test]
fn nothing_is_said_of_what_changes_where_no_program_looks() {
    for caller in callers("names whose files change") {
        let place = Place::new(caller);
        let prepare = "git init -q .; mkdir .venv .pytest_cache .own.d sub .many; seq 1001 | (cd .many; xargs touch); \
                       touch .venv/x .pytest_cache/x .prettierrc .own-rc .own.d/x .own.d/x.log own-rc sub/.own-rc .gone-rc .allowed-rc";
        assert!(place.outside(&["sh", "-ec", prepare]).status().unwrap().success());
        let toml = "version = 1\n[shared_dirs]\nworkspace = { host = \".\", guest = \"/workspace\" }\n\
                    [protect]\nallow = [\".allowed-rc\"]\n";
        place.write("workspace/sandbox.toml", toml);
        let output = place.inside(&["--trust"], &["sh", "-ec", UNOBEYED]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && !place.workspace().join(".gone-rc").exists(),
            "by {caller:?}: {said}"
        );
        assert_eq!(said, "", "by {caller:?}");
        let output = place.inside(&["--trust"], &["sh", "-ec", "echo 1 >> .own.d/x"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("changes in /workspace/.own.d, unless"), "the control, by {caller:?}: {said}");
    }
}

/// Files whose names are options of a program that git hands them to.
const OPTIONS: &str = r#"echo 1 > "-cimport os; os.mkdir('obeyed')"; echo 1 > '+!touch obeyed'
mkdir sub; echo 1 > 'sub/+!touch deep'; mkdir node_modules; echo 1 > node_modules/-
mkdir routes; echo 1 > routes/+page.svelte; echo more >> own/-old"#;

#[test]
fn a_name_that_reads_as_an_option_is_reported_and_stays() {
    for caller in callers("names that read as options") {
        let place = Place::new(caller);
        let git =
            "git init -q . && git config diff.x.textconv python3 && echo '* diff=x' > .git/info/attributes";
        assert!(place.outside(&["sh", "-ec", git]).status().unwrap().success());
        place.write("workspace/own/-old", "");
        let output = place.inside(&[""; 0], &["sh", "-ec", OPTIONS]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        // `git grep -O` in a directory below hands names on as they are there.
        let names = r"'/workspace/+!touch obeyed', '/workspace/-cimport os; os.mkdir(\u{27}obeyed\u{27})', '/workspace/sub/+!touch deep':";
        assert!(
            said.contains(names) && said.contains("no list of sandboxctl knows"),
            "by {caller:?}: {said}"
        );
        // The control: git has a program obey it.
        let diff = "git add -A && for file in -*; do echo 2 > \"$file\"; done && git diff > /dev/null";
        let _ = place.outside(&["sh", "-c", diff]).status().unwrap();
        assert!(place.workspace().join("obeyed").is_dir(), "by {caller:?}");
    }
}

#[test]
fn programs_learn_each_name_but_allowed_ones() {
    for caller in callers("names that are allowed") {
        let place = Place::new(caller);
        let toml = "version = 1\n[shared_dirs]\nworkspace = { host = \".\", guest = \"/workspace\" }\n\
                    [protect]\nallow = [\".foorc\", \".config/foo.toml\"]\n";
        place.write("workspace/sandbox.toml", toml);
        let flags = ["--trust", "--format", "json"];
        let output = place.inside(&flags, &["sh", "-ec", ATTACK]).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let detected: Vec<_> = answer["detected"].as_array().unwrap().iter().collect();
        assert!(
            detected
                .iter()
                .all(|one| one["reason"]["kind"] == "unknown_name" && one["quarantined"].is_null())
        );
        let paths: Vec<_> = detected.iter().map(|one| one["path"].as_str().unwrap()).collect();
        assert_eq!(
            paths,
            ["/workspace/.first", "/workspace/.empty-rc", "/workspace/new/.foo.d"],
            "by {caller:?}"
        );
        assert!(!place.inside(&[""; 0], &["true"]).status().unwrap().success(), "the control: it widens");
    }
}

/// U+011B is 0xC4 and 0x9B, of which the second begins a control sequence in ISO 8859.
#[test]
fn who_reads_single_bytes_gets_no_control_character_in_a_letter() {
    for caller in callers("names in a terminal of single bytes") {
        for (locale, shown) in
            [("C", "\\u{11b}31m"), ("de_DE.ISO-8859-1", "\\u{11b}31m"), ("C.UTF-8", "\u{11b}31m")]
        {
            let place = Place::new(caller);
            let make = ["sh", "-c", "printf x > .first-\u{11b}31m-rc"];
            let output = place.inside(&[""; 0], &make).env("LC_ALL", locale).output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(stderr.contains(&format!(".first-{shown}-rc")), "{locale} by {caller:?}: {stderr:?}");
            // On a terminal, with JSON on standard output.
            let program = place.path("sandboxctl");
            let line = format!(
                "{} run --format json -- sh -c 'printf x > .second-\u{11b}31m-rc'",
                program.display()
            );
            let words = ["script", "--quiet", "--return", "--command", &line, "/dev/null"];
            let output = place.outside(&words).env("LC_ALL", locale).output().unwrap();
            let is_escaped = !output.stdout.windows(2).any(|pair| pair == "\u{11b}".as_bytes());
            let screen = String::from_utf8_lossy(&output.stdout);
            assert!(
                screen.contains(".second-") && screen.contains("detected"),
                "{locale} by {caller:?}: {screen}"
            );
            assert_eq!(is_escaped, locale != "C.UTF-8", "{locale} by {caller:?}: {screen}");
        }
    }
}

/// What editors, desktops and tools leave, and what the agent takes away again. The machine may have a `/workspace` of its own, so the
/// clone does not name it.
const ORDINARY: &str = r"
for name in .gitignore .dockerignore .editorconfig .env .env.local .gitlab-ci.yml .prettierrc.json .eslintrc.cjs .rubocop.yml \
    .coverage .flake8 .file.swp .nfs000001 .fuse_hidden01 .goutputstream-X1 .tmpAb12 .terraform.lock.hcl .DS_Store .config.old; do
    echo x > $name
done
mkdir .venv .pytest_cache .mypy_cache .ruff_cache .next .gradle .turbo .parcel-cache .Trash-1000 .github .config
mkdir .gone; echo x > .gone/x; rm -r .gone
ln -s nobody@host:1 '.#file'
git config --global user.name a; git config --global user.email a@example.org
git worktree add -q tree; git clone -q . clone; git -C clone remote set-url origin ..
";

#[test]
fn nothing_is_said_of_what_tools_and_editors_make() {
    for caller in callers("ordinary names") {
        let place = Place::new(caller);
        let prepare = "git init -q .; echo 1 > .own-rc; mkdir .own.d; echo 1 > .own.d/x; git add -A; \
                       git -c user.name=a -c user.email=a@example.org commit -q -m 1";
        assert!(place.outside(&["sh", "-ec", prepare]).status().unwrap().success());
        let output = place.inside(&["--env", "HOME=/tmp"], &["sh", "-c", ORDINARY]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let made = place.workspace().join("clone/.own.d/x").exists()
            && place.workspace().join("tree/.own-rc").exists();
        assert!(made, "the control, by {caller:?}: {said}");
        assert_eq!(said, "", "by {caller:?}");
    }
}

#[test]
fn a_client_that_was_killed_leaves_names_to_the_next_command() {
    for caller in callers("names that a killed run leaves") {
        let place = Place::new(caller);
        place.write("workspace/.ownrc", "1\n");
        let attack = "echo evil > .foorc; echo evil > .barrc; echo evil > .ownrc; echo ready; exec sleep 60";
        let run = place.run(&[""; 0], &["sh", "-c", attack]);
        let mut client = place.outside(&run).stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(client.stdout.take().unwrap()), &mut line)
            .unwrap();
        assert_eq!(line, "ready\n", "by {caller:?}");
        client.kill().unwrap();
        client.wait().unwrap();
        let output = place.inside(&[""; 0], &["true"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            said.matches("an earlier run has left .barrc, .foorc, and changes in .ownrc, unless they are yours: no list").count(),
            1,
            "by {caller:?}: {said}"
        );
        assert!(place.workspace().join(".foorc").exists());
        let output = place.inside(&[""; 0], &["true"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "it is said once, by {caller:?}");
    }
}
