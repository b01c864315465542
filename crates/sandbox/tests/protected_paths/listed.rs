//! The list of protected paths, in a boundary: every row, patterns, and what `[protect] paths` asks for.

use policy::protect::table::is_only_classified;
use std::borrow::Cow;

use super::*;

fn with(boundary: &Boundary, asked: &[&'static str]) -> Mounts {
    let list: Vec<Cow<'static, str>> =
        built_in().chain(asked.iter().copied()).map(|path| Cow::Owned(path.to_owned())).collect();
    mounts(&boundary.root().enter().unwrap(), &boundary.host, &boundary.walk(3), &list).unwrap()
}

fn compare(boundary: &Boundary, baseline: &Baseline, asked: &[&'static str]) -> Vec<Finding> {
    baseline
        .compare(boundary.root().enter().unwrap(), &with(boundary, asked), Deadline::NEVER, SearchKind::Quick)
        .unwrap()
        .findings
}

#[test]
fn every_row_is_read_only_where_it_exists() {
    let boundary = Boundary::new();
    boundary.repository("").repository("nested");
    assert_eq!(boundary.read_only().len(), 4, "the control: two configurations and two directories of hooks");
    let all = || built_in().flat_map(|row| [row.to_owned(), format!("nested/{row}")]);
    for path in all().map(|path| path.replace('*', "Some Name")) {
        if !boundary.host.join(&path).is_dir() {
            boundary.write(&path, "");
        }
    }
    let mut expected: Vec<_> = all().map(|path| PathBuf::from(path.replace('*', "Some Name"))).collect();
    // It is a directory, in which others lie.
    expected.retain(|path| !path.ends_with(".jj/repo"));
    // Their program writes them.
    expected.retain(|path| !is_only_classified(path.strip_prefix("nested").unwrap_or(path)));
    expected.sort();
    assert_eq!(boundary.mounts().read_only.into_iter().map(|one| one.path).collect::<Vec<_>>(), expected);
}

/// Where a file of a name is obeyed, a directory of that name may be anybody's.
#[test]
fn what_only_a_file_is_obeyed_at_may_be_a_directory() {
    for (name, control) in [("flutter", ".flutter/bin/flutter"), (".vale", ".vale.ini")] {
        let boundary = Boundary::new();
        boundary.write(&format!("{name}/lib/a"), "").write(control, "").write("bin/flutter.dart", "");
        assert_eq!(boundary.read_only(), [control], "{name}");
        let baseline = boundary.baseline();
        boundary.write(&format!("{name}/lib/b"), "").write(&format!("{name}/c"), "");
        assert_eq!(boundary.paths(&baseline), Vec::<String>::new(), "{name}");
        let boundary = Boundary::new();
        boundary.write("sdk/bin/flutter", "").link("sdk/bin/flutter", name);
        assert!(!boundary.read_only().is_empty(), "a link: {name}");
    }
}

/// A program outside takes them for an SDK before the one in `PATH`.
#[test]
fn an_sdk_of_flutter_in_the_project_is_found_however_it_is_led_to() {
    for (sdk, link) in [
        ("bin/flutter", None),
        (".flutter/bin/flutter", None),
        ("x/bin/flutter", Some(("x", ".flutter"))),
        ("x/bin/flutter", Some(("../x", "vendor/flutter"))),
        ("x/bin/flutter", Some(("x/bin/flutter", "flutter"))),
        ("x/bin/flutter", Some(("x/bin", "bin"))),
    ] {
        let boundary = Boundary::new();
        boundary.repository("").directory("vendor");
        let baseline = boundary.baseline();
        boundary.write(sdk, "evil");
        if let Some((target, name)) = link {
            boundary.link(target, name);
        }
        assert!(!boundary.paths(&baseline).is_empty(), "{sdk} {link:?}");
    }
    let boundary = Boundary::new();
    boundary.repository("");
    let baseline = boundary.baseline();
    boundary.write("bin/main.dart", "").write("bin/flutter.sh", "").write("flutter/a", "");
    boundary.write("vendor/flutter/README.md", "").write("app/bin/flutter", "").write(".flutter/bin/x", "");
    assert_eq!(boundary.paths(&baseline), Vec::<String>::new());
}

/// nbconvert looks in the directory that it is started in first.
#[test]
fn a_template_of_nbconvert_is_found_however_it_is_led_to_and_no_other_one() {
    let hostile = r#"{"preprocessors": {"1": {"type": "subprocess.Popen", "args": ["evil"]}}}"#;
    for (path, content, link) in [
        ("conf.json", hostile, None),
        ("lab/conf.json", hostile, None),
        ("python/conf.json", r#"{"base_template": "docs"}"#, None),
        ("lab/conf.json", r#"{"base_template": "rst"}"#, None),
        ("lab/conf.json", r#"{"base_template": "base "}"#, None),
        ("lab/conf.json", r#"{"base_template": ""}"#, None),
        ("classic/conf.json", r#"{"base_template": "rst", "mimetypes": {}}"#, None),
        ("lab/index.html.j2", "{{ evil }}", None),
        ("docs/conf.json", hostile, Some(("docs", "lab"))),
        ("docs/null.j2", "{{ evil }}", Some(("docs", "base"))),
        ("rst/lab.json", hostile, Some(("lab.json", "rst/conf.json"))),
    ] {
        let boundary = Boundary::new();
        boundary.repository("").write("python/app.py", "").write("conf.json", r#"{"port": 1}"#);
        boundary.write("classic/conf.json", r#"{"base_template": "base"}"#);
        let baseline = boundary.baseline();
        boundary.write(path, content);
        if let Some((target, name)) = link {
            boundary.link(target, name);
        }
        assert!(!boundary.paths(&baseline).is_empty(), "{path} {link:?}");
    }
    let boundary = Boundary::new();
    boundary.repository("").write("base/conf.json", "{").write("base/index.html.j2", "a");
    boundary.write("classic/conf.json", r#"{"base_template": "base"}"#);
    assert_eq!(boundary.read_only().len(), 2, "the control: a configuration and a directory of hooks");
    let baseline = boundary.baseline();
    boundary.write("conf.json", r#"{"port": 1}"#).write("base/conf.json", r#"{"a": [{"type": "b"}]}"#);
    boundary.write("base/index.html.j2", "{{ b }}").write("lab/router.conf.j2", "{{ c }}");
    boundary.write("python/app.py", "").write("markdown/a.md", "").write("docs/conf.json", hostile);
    boundary.write("classic/conf.json", r#"{"base_template": "base", "mimetypes": {"text/html": true}}"#);
    assert_eq!(boundary.paths(&baseline), Vec::<String>::new());
}

/// APFS, HFS+, and ext4, F2FS and tmpfs where they fold names, find these under the names of the list.
#[test]
fn letters_of_unicode_that_a_file_system_takes_for_those_of_a_name_are_these() {
    let boundary = Boundary::new();
    boundary.write("mise.toml", "").write("Stra\u{df}e.sh", "");
    let asked = ["Stra\u{df}e.*", "\u{17f}kript"];
    let before: Vec<_> = with(&boundary, &asked).read_only.into_iter().map(|one| one.path).collect();
    assert_eq!(before, ["Stra\u{df}e.sh", "mise.toml"].map(PathBuf::from), "the control");
    let held = boundary.root();
    let baseline = Baseline::take(held.enter().unwrap(), &with(&boundary, &asked)).unwrap().0;
    boundary
        .write("mi\u{17f}e.linux.toml", "[hooks]\nenter = 'evil'")
        .write("ru\u{17f}t-toolchain", "[toolchain]\npath = 'evil'")
        .write(".v\u{17f}code/tasks.json", r#"{"tasks": [{"runOptions": {"runOn": "folderOpen"}}]}"#)
        .write(".ba\u{200d}\u{17f}hrc", "evil")
        .write(".\u{212a}shrc", "evil")
        .write("\u{17f}kript", "evil")
        .write("\u{17f}andbox.toml", "version = 1")
        .write("\u{17f}rc/main.rs", "evil");
    let found = compare(&boundary, &baseline, &asked);
    let mut found: Vec<_> = found.into_iter().map(|one| one.path.display().to_string()).collect();
    found.sort();
    assert_eq!(
        found,
        [
            ".ba\u{200d}\u{17f}hrc", ".v\u{17f}code/tasks.json", ".\u{212a}shrc", "mi\u{17f}e.linux.toml",
            "ru\u{17f}t-toolchain", "\u{17f}andbox.toml", "\u{17f}kript",
        ]
    );
}

#[test]
fn a_pattern_finds_every_name_that_ends_so_whatever_its_case() {
    let boundary = Boundary::new();
    boundary.write("a.code-workspace", "{}").write("B.CODE-WORKSPACE", "{}").write("c.sublime-project", "{}");
    boundary.write("mise.linux.toml", "").write("mise.toml.bak", "");
    boundary
        .write(".code-workspace", "{}")
        .write("code-workspace", "{}")
        .write("deep/a.code-workspace", "{}");
    assert_eq!(
        boundary.read_only(),
        ["B.CODE-WORKSPACE", "a.code-workspace", "c.sublime-project", "mise.linux.toml"]
    );
    let baseline = boundary.baseline();
    boundary.write("new.code-workspace", r#"{"settings": {"git.path": "./evil"}}"#);
    boundary.write("harmless.code-workspace", r#"{"folders": [{"path": "."}]}"#);
    boundary
        .write(
            ".mise.ci.local.toml", "[env]
PATH = 'evil'",
        )
        .write(
            "mise.ci.toml", "[tools]
node = '22'",
        );
    assert_eq!(boundary.paths(&baseline), [".mise.ci.local.toml", "new.code-workspace"]);
}

#[test]
fn names_that_cannot_be_listed_are_asked_for_one_by_one() {
    // Root lists everything, so somebody else has to look.
    if rustix::process::getuid().is_root() {
        return as_somebody_else("listed::names_that_cannot_be_listed_are_asked_for_one_by_one");
    }
    let boundary = Boundary::new();
    boundary.write("a/.claude/settings.json", "").repository("a").mode("a", 0o311);
    let walk = Walk { repositories: vec![], ..boundary.walk(0) };
    let repository = sandbox::boundary::walk::Repository { path: "a".into(), git: Git::Directory };
    let walk = Walk { repositories: vec![repository], ..walk };
    let list: Vec<Cow<'static, str>> = built_in().map(Cow::Borrowed).collect();
    let found = mounts(&boundary.root().enter().unwrap(), &boundary.host, &walk, &list).unwrap();
    boundary.mode("a", 0o755);
    let found: Vec<_> = found.read_only.iter().map(|one| one.path.to_str().unwrap()).collect();
    assert_eq!(found, ["a/.claude", "a/.git/config", "a/.git/hooks"]);
}

#[test]
fn whatever_appears_at_a_path_that_was_asked_for_is_found() {
    let asked = ["secrets", "ci/deploy.sh", "*.key"];
    let boundary = Boundary::new();
    boundary.repository("").write("ordinary.txt", "");
    let baseline = Baseline::take(boundary.root().enter().unwrap(), &with(&boundary, &asked)).unwrap().0;
    assert_eq!(compare(&boundary, &baseline, &asked), []);
    boundary
        .write("secrets/anything.txt", "harmless")
        .write("ci/deploy.sh", "")
        .write("A.KEY", "x")
        .write("ci/other.sh", "x")
        .repository("nested")
        .write("nested/ci/deploy.sh", "");
    let mut findings = compare(&boundary, &baseline, &asked);
    findings.sort_by(|a, b| a.path.cmp(&b.path));
    let found: Vec<_> = findings.iter().map(|one| one.path.to_str().unwrap()).collect();
    assert_eq!(found, ["A.KEY", "ci/deploy.sh", "nested/ci/deploy.sh", "secrets"]);
    assert!(findings.iter().all(|one| one.reason == Reason::Listed && one.origin == FindingOrigin::Created));
    assert_eq!(compare(&boundary, &baseline, &[]), [], "the control: nobody asked");
    for finding in &mut findings {
        assert!(quarantine(boundary.root().enter().unwrap(), finding, now()).unwrap(), "{finding}");
    }
    assert_eq!(compare(&boundary, &baseline, &asked), []);
    assert!(boundary.host.join("ordinary.txt").exists());
}

#[test]
fn what_was_asked_for_and_was_there_is_read_only_and_no_news() {
    let boundary = Boundary::new();
    boundary.write("secrets/a", "mine").write("notes.txt", "mine");
    let asked = ["secrets", "link"];
    let there = with(&boundary, &asked);
    assert_eq!(there.read_only.iter().map(|one| one.path.to_str().unwrap()).collect::<Vec<_>>(), ["secrets"]);
    boundary.until_the_clock_is_past("notes.txt");
    let baseline = Baseline::take(boundary.root().enter().unwrap(), &there).unwrap().0;
    assert_eq!(compare(&boundary, &baseline, &asked), []);
    // A link at such a path is news, and what it leads to is still the user's own.
    boundary.link("notes.txt", "link");
    let found: Vec<_> = compare(&boundary, &baseline, &asked)
        .into_iter()
        .filter(|finding| finding.origin == FindingOrigin::Created)
        .map(|finding| finding.path)
        .collect();
    assert_eq!(found, [PathBuf::from("link")]);
}

#[test]
fn what_its_program_writes_at_every_command_stays_writable_and_is_classified() {
    const ORDINARY: &str = "2\nplain\0dirstate\0undo.backup.dirstate.bck\u{0}0\n";
    const EVIL: &str = "2\nplain\0x\0../../../precious\u{0}0\n";
    for tree in ["", "nested/"] {
        let boundary = Boundary::new();
        let undo = format!("{tree}.hg/store/undo.backupfiles");
        let journal = format!("{tree}.hg/store/journal");
        let requires = format!("{tree}.hg/requires");
        boundary.write(&undo, EVIL).write(&requires, "store\n");
        let baseline = boundary.baseline_of_old();
        assert_eq!(boundary.read_only(), [requires]);
        assert_eq!(boundary.paths(&baseline), [""; 0], "the control: it is the user's own");
        boundary.write(&undo, ORDINARY).write(&journal, "data/a.i\u{0}67\n");
        assert_eq!(boundary.paths(&baseline), [""; 0], "what a commit writes");
        boundary.write(&undo, &EVIL.replace('x', "y")).write(&journal, "../../../precious\u{0}0\n");
        let found = boundary.compare(&baseline).into_iter();
        let found: Vec<_> = found.map(|one| (one.path.display().to_string(), one.origin)).collect();
        assert_eq!(found, [(journal, FindingOrigin::Created), (undo, FindingOrigin::Replaced)]);
    }
}

#[test]
fn a_pattern_below_a_directory_is_found_behind_a_link_to_one() {
    let boundary = Boundary::new();
    boundary.link("data", "mise").link("cfg", ".config");
    boundary
        .write("data/config.local.toml", "")
        .write("data/other.toml", "")
        .write("cfg/mise.local.toml", "");
    let read_only = boundary.read_only();
    for (path, is_protected) in
        [("data/config.local.toml", true), ("data/other.toml", false), ("cfg/mise.local.toml", true)]
    {
        assert_eq!(read_only.contains(&path.to_owned()), is_protected, "{path}: {read_only:?}");
    }
}

#[test]
fn what_builds_write_stays_writable_and_is_classified_wherever_a_link_leads() {
    const ORDINARY: &str = r#"[{"directory":"/w","command":"/usr/bin/cc -O2 -c a.c","file":"a.c"}]"#;
    const EVIL: &str = r#"[{"directory":".","command":"cc -Bbuild/tools/ -c a.c","file":"a.c"}]"#;
    for tree in ["", "nested/"] {
        let boundary = Boundary::new();
        if !tree.is_empty() {
            boundary.repository("nested");
        }
        let [root, build, settings] =
            ["compile_commands.json", "build/compile_commands.json", ".editorconfig"]
                .map(|path| format!("{tree}{path}"));
        boundary.write(&build, ORDINARY).write(&settings, "[*]\nindent_size = 4\n");
        boundary.link("build/compile_commands.json", &root);
        let baseline = boundary.baseline_of_old();
        let read_only = boundary.read_only();
        assert!(![&root, &build, &settings].iter().any(|path| read_only.contains(path)), "{read_only:?}");
        // A project of some size.
        let long = format!("[{}]", vec![&ORDINARY[1..ORDINARY.len() - 1]; 100_000].join(","));
        boundary.write(&build, &long).write(&settings, "[*]\nindent_size = 2\n");
        assert_eq!(boundary.paths(&baseline), [""; 0], "what a build writes");
        // It may put a file there in the place of a link, or nothing.
        std::fs::remove_file(boundary.host.join(&root)).unwrap();
        assert_eq!(boundary.paths(&baseline), [""; 0]);
        boundary.write(&root, ORDINARY);
        assert_eq!(boundary.paths(&baseline), [""; 0]);
        std::fs::remove_file(boundary.host.join(&root)).unwrap();
        boundary.write(&format!("{tree}out/x.json"), EVIL).link("out/x.json", &root);
        boundary.write(&build, EVIL).write(&settings, "[*]\nindent_size = 4; nop %sh{id}\n");
        let found = boundary.paths(&baseline);
        for path in [settings, build, format!("{tree}out/x.json")] {
            assert!(found.contains(&path), "{path}: {found:?}");
        }
    }
}

#[test]
fn a_compiler_in_a_shared_directory_is_found_wherever_that_lies() {
    const PREFIX: &str = r#"[{"arguments":["cc","-B/opt/w/tools/","-c","a.c"],"file":"a.c"}]"#;
    for (shared, found) in [(vec!["/opt/w".into()], &["compile_commands.json"][..]), (Vec::new(), &[])] {
        let boundary = Boundary::new();
        let mounts = Mounts { shared, ..boundary.mounts() };
        let (baseline, _) = Baseline::take(boundary.root().enter().unwrap(), &mounts).unwrap();
        boundary.write("compile_commands.json", PREFIX);
        assert_eq!(boundary.paths(&baseline), found);
    }
}

#[test]
fn variables_stay_writable_and_are_classified_where_they_are_new() {
    const OWN: &str = "OPENAI_BASE_URL=http://localhost:1\nPORT=1\n";
    let boundary = Boundary::new();
    boundary.write(".env", OWN).write(".env.local", "PORT=1\n");
    let baseline = boundary.baseline_of_old();
    assert!(!boundary.read_only().iter().any(|path| path.starts_with(".env")));
    boundary.write(".env", &OWN.replace("PORT=1", "PORT=2\nDATABASE_URL=postgres://db.example.org/x"));
    boundary
        .write(".env.production.local", "PORT=3\n")
        .write(".env.build", "PORT=3\n")
        .write(".env.example", "OPENAI_BASE_URL=https://example.org\n");
    assert_eq!(boundary.paths(&baseline), [""; 0], "what people let agents write");
    boundary.write(".env", &OWN.replace("localhost:1", "evil.example"));
    boundary.write(".env.local", "PORT=1\nNODE_OPTIONS=--require=./evil.js\n");
    boundary.write(".env.production.local", "QWEN_CODE_SYSTEM_SETTINGS_PATH=s.json\n");
    boundary.write(".env.build", "NODE_OPTIONS=--require=./evil.js\n").write(".serve.env", "BASH_ENV=evil\n");
    assert_eq!(
        boundary.paths(&baseline),
        [".env", ".env.build", ".env.local", ".env.production.local", ".serve.env"]
    );
}

#[test]
fn variables_that_were_there_may_go_or_move_and_new_ones_are_named() {
    let boundary = Boundary::new();
    boundary.write(".env", "PATH=./bin:$PATH\nHTTP_PROXY=http://proxy.example:1\nPORT=1\n");
    let baseline = boundary.baseline_of_old();
    for harmless in ["HTTP_PROXY=http://proxy.example:1\n# why\nPATH=./bin:$PATH\n", "PORT=2\n", ""] {
        boundary.write(".env", harmless);
        assert_eq!(boundary.paths(&baseline), [""; 0], "{harmless}");
    }
    boundary.write(".env", "PATH=./evil\nHTTP_PROXY=http://proxy.example:1\nBASH_ENV=evil\n");
    let findings = boundary.compare(&baseline);
    let reasons: Vec<_> = findings.into_iter().map(|finding| (finding.origin, finding.reason)).collect();
    let new = policy::classify::Reason::Variables { names: vec!["PATH".into(), "BASH_ENV".into()] };
    assert_eq!(reasons, [(FindingOrigin::Replaced, new)]);
}
