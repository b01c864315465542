//! What git takes for a repository is taken for one here, and nothing else. Git itself is asked, so that both are the same.

use std::borrow::Cow;
use std::process::Output;

use super::*;

/// A configuration by which git says that it obeys it: it makes a file of this name in the work tree.
const EVIL: &str = "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = touch obeyed; false\n";

/// Whether git in a directory of the boundary obeys a configuration that holds [`EVIL`].
fn obeys(boundary: &Boundary, directory: &str) -> bool {
    let git = |words: &[&str]| -> Output {
        Command::new("git")
            .args(words)
            .current_dir(boundary.host.join(directory))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", &boundary.host)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap()
    };
    let value = git(&["config", "--get", "core.fsmonitor"]);
    value.status.success() && String::from_utf8_lossy(&value.stdout).contains("obeyed")
}

/// A repository in every form that git knows: what lies in it, and where to stand.
fn shapes(boundary: &Boundary) -> Vec<(&'static str, &'static str)> {
    let head = "ref: refs/heads/main\n";
    boundary.write("plain/.git/HEAD", head).directory("plain/.git/objects").directory("plain/.git/refs");
    boundary.write("plain/.git/config", EVIL);
    // Files that may be executed, instead of directories.
    boundary.write("files/HEAD", head).write("files/objects", "").write("files/refs", "");
    boundary.mode("files/objects", 0o755).mode("files/refs", 0o755).write("files/config", EVIL);
    // A number as HEAD, a link as HEAD, links as directories.
    boundary
        .write("number/HEAD", &"0123456789".repeat(4))
        .directory("number/objects")
        .directory("number/refs");
    boundary.write("number/config", EVIL);
    boundary.directory("links").link("refs/heads/none", "links/HEAD").link(".", "links/objects");
    boundary.link("/", "links/refs").write("links/config", EVIL);
    // HEAD here, all the rest there.
    boundary.write("split/HEAD", head).write("split/commondir", "../common\n");
    boundary.directory("common/objects").directory("common/refs").write("common/config", EVIL);
    // A `.git` file, with all that git forgives, to where no search goes by itself.
    let far = |name: &str| {
        let git = format!("node_modules/.git/modules/{name}");
        boundary.bare(&git).write(&format!("{git}/config"), EVIL);
        git
    };
    boundary.write("padded/.git", &format!("gitdir: ../{}{}", far("padded"), "\n".repeat(20_000)));
    boundary.write("nul/.git", &format!("gitdir: ../{}\0 and more\n", far("nul")));
    boundary.write("gitfile", &format!("gitdir: ../{}\n", far("linked"))).directory("linked");
    boundary.link("../gitfile", "linked/.git");
    let name = boundary.host.file_name().unwrap().to_str().unwrap().to_owned();
    boundary.write("around/.git", &format!("gitdir: ../../{name}/../{name}/{}\n", far("around")));
    let host = boundary.host.display().to_string();
    boundary.write("absolute/.git", &format!("gitdir: {host}/../{name}/{}\n", far("absolute")));
    boundary.write("refs-name/.git", &format!("gitdir: ../{}\n", far("refs")));
    vec![
        ("plain", "plain/.git/config"),
        ("files", "files/config"),
        ("number", "number/config"),
        ("links", "links/config"),
        ("split", "common/config"),
        ("padded", "node_modules/.git/modules/padded/config"),
        ("nul", "node_modules/.git/modules/nul/config"),
        ("linked", "node_modules/.git/modules/linked/config"),
        ("around", "node_modules/.git/modules/around/config"),
        ("absolute", "node_modules/.git/modules/absolute/config"),
        ("refs-name", "node_modules/.git/modules/refs/config"),
    ]
}

#[test]
fn what_git_obeys_is_read_only() {
    let boundary = Boundary::new();
    let shapes = shapes(&boundary);
    let read_only = boundary.read_only();
    for (directory, config) in shapes {
        assert!(obeys(&boundary, directory), "the control: git obeys {config} in {directory}");
        assert!(read_only.iter().any(|path| path == config), "{config} is missing in {read_only:?}");
    }
}

#[test]
fn what_git_obeys_is_found_when_it_is_new() {
    let boundary = Boundary::new();
    let baseline = boundary.baseline();
    let shapes = shapes(&boundary);
    let found = boundary.paths(&baseline);
    for (directory, config) in shapes {
        assert!(obeys(&boundary, directory), "the control: git obeys {config} in {directory}");
        assert!(found.iter().any(|path| path == config), "{config} is missing in {found:?}");
    }
}

#[test]
fn a_git_directory_that_git_refuses_hides_no_bare_repository() {
    let boundary = Boundary::new();
    boundary
        .repository("")
        .directory("app")
        .directory("src")
        .repository("ok")
        .link("node_modules/deep/in", "way");
    boundary.directory("node_modules/deep/in").until_the_clock_is_past("node_modules/deep/in");
    let baseline = boundary.baseline();
    fs::rename(boundary.host.join(".git/HEAD"), boundary.host.join(".git/OLD")).unwrap();
    boundary.link("refs/heads/none", "HEAD").link(".git/objects", "objects").link(".git/refs", "refs");
    boundary.write("config", EVIL).write("hooks/pre-commit", "evil");
    boundary.bare("app").write("app/config", EVIL).directory("app/.git");
    boundary.bare("src").write("src/config", EVIL).write("src/.git", "gitdir: ../nowhere\n");
    // Behind a link, below a directory that is as little a repository as these.
    boundary.bare("node_modules/deep").write("node_modules/deep/config", EVIL);
    boundary.directory("node_modules/deep/in/.git");
    let found = boundary.paths(&baseline);
    for (directory, config) in [("", "config"), ("app", "app/config"), ("way", "node_modules/deep/config")] {
        assert!(obeys(&boundary, directory), "the control: git obeys {config}");
        assert!(found.iter().any(|path| path == config), "{config} is missing in {found:?}");
    }
    assert!(!obeys(&boundary, "src"), "the control: git refuses a pointer to nothing");
    for path in ["hooks/pre-commit", "src/.git", "src/config"] {
        assert!(found.iter().any(|found| found == path), "{path} is missing in {found:?}");
    }
    fs::remove_file(boundary.host.join("src/.git")).unwrap();
    assert!(obeys(&boundary, "src"), "the control: without it, git obeys what is beside it");
    let read_only = boundary.read_only();
    for path in ["config", "hooks", "app/config", "app/hooks", "src/config", "ok/.git/config"] {
        assert!(read_only.iter().any(|found| found == path), "{path} is missing in {read_only:?}");
    }
}

#[test]
fn nothing_on_the_way_hides_the_repository_of_a_submodule() {
    let boundary = Boundary::new();
    boundary.repository("").bare(".git/modules/whole").until_the_clock_is_past(".git/modules/whole");
    let baseline = boundary.baseline();
    // Below a directory with a HEAD, below a whole repository, and behind links of every kind.
    boundary.write(".git/modules/libs/HEAD", "x").bare("hid").bare("far/deep").directory("other/.git");
    boundary.link("../../../hid", ".git/modules/libs/link").link("../../far", ".git/modules/far");
    boundary
        .bare("all/one")
        .link("../../all", "other/.git/modules")
        .write("other/.git/HEAD", "ref: refs/heads/x\n");
    boundary
        .link("..", ".git/modules/libs/circle")
        .bare(".git/modules/libs/foo")
        .bare(".git/modules/whole/foo");
    let names = [
        (".git/modules/libs/foo", ".git/modules/libs/foo"),
        (".git/modules/whole/foo", ".git/modules/whole/foo"),
        (".git/modules/libs/link", "hid"),
        (".git/modules/far/deep", "far/deep"),
        ("other/.git/modules/one", "all/one"),
    ];
    for (_, lies) in names {
        boundary.write(&format!("{lies}/config"), EVIL);
    }
    // The walk itself finds those that lie in the work tree, but not as deep as this.
    let list: Vec<Cow<'static, str>> = built_in().map(Cow::Borrowed).collect();
    let shallow = Walk {
        repositories: boundary
            .walk(1)
            .repositories
            .into_iter()
            .filter(|one| one.git == Git::Directory)
            .collect(),
        ..boundary.walk(0)
    };
    let searched = mounts(&boundary.root().enter().unwrap(), &boundary.host, &shallow, &list).unwrap();
    let found = boundary.paths(&baseline);
    for (named, lies) in names {
        assert!(obeys(&boundary, named), "the control: git obeys {named}");
        let config = Path::new(lies).join("config");
        assert!(searched.read_only.iter().any(|one| one.path == config), "{config:?} is missing");
        assert!(found.iter().any(|path| Path::new(path) == config), "{config:?} is missing in {found:?}");
    }
    for link in [".git/modules/libs/link", ".git/modules/far", "other/.git/modules"] {
        assert!(found.iter().any(|path| path == link), "{link} is missing in {found:?}");
    }
}

#[test]
fn a_new_link_in_the_list_of_work_trees_is_found() {
    let boundary = Boundary::new();
    boundary
        .repository("")
        .repository("b")
        .directory("mine/work")
        .directory("b/.git/worktrees")
        .write("file", "");
    boundary.until_the_clock_is_past("file");
    let baseline = boundary.baseline();
    boundary.link("../mine", ".git/worktrees").link("../../../mine", "b/.git/worktrees/x");
    boundary.link("/usr", "b/.git/worktrees/out").link("../../../file", "b/.git/worktrees/file");
    let mut findings = boundary.compare(&baseline);
    let found: Vec<_> =
        findings.iter().map(|one| (one.path.to_str().unwrap(), &one.reason, one.origin)).collect();
    let wanted = [".git/worktrees", "b/.git/worktrees/out", "b/.git/worktrees/x"];
    assert_eq!(found, wanted.map(|path| (path, &Reason::NotAFile, FindingOrigin::Created)));
    for finding in &mut findings {
        assert!(quarantine(boundary.root().enter().unwrap(), finding, now()).unwrap(), "{finding}");
    }
    assert!(boundary.host.join("mine/work").is_dir(), "what a link leads to stays");
    assert_eq!(boundary.compare(&boundary.baseline()), []);
}

#[test]
fn what_git_would_refuse_makes_nothing_read_only() {
    let boundary = Boundary::new();
    // A `.git` file whose directory is an ordinary one, with files of the same names.
    for (directory, head) in [("app", None), ("named", Some("main\n")), ("half", Some("ref: refs/heads/x\n"))]
    {
        boundary.write(&format!("{directory}/config"), EVIL).directory(&format!("{directory}/hooks"));
        boundary.write(&format!("{directory}/sub/.git"), "gitdir: ..\n");
        if let Some(head) = head {
            boundary.write(&format!("{directory}/HEAD"), head);
        }
        if directory == "named" {
            boundary.write("named/objects/x", "").write("named/refs/x", "");
        }
    }
    for directory in ["app/sub", "half/sub"] {
        assert!(!obeys(&boundary, directory), "the control: git refuses {directory}");
    }
    let read_only = boundary.read_only();
    // By its names alone, `named` looks like a repository, and the agent may make it one at any time.
    let wanted = ["app/sub/.git", "half/sub/.git", "named/config", "named/hooks", "named/sub/.git"];
    assert_eq!(read_only, wanted);
}

#[test]
fn a_new_pointer_must_lead_to_what_was_searched() {
    let boundary = Boundary::new();
    let baseline = boundary.baseline();
    boundary.repository("").bare(".git/modules/sub").bare("node_modules/.git/modules/x");
    let pid = std::process::id();
    for (directory, named) in [
        ("proc-cwd", "/proc/self/cwd/../node_modules/.git/modules/x".to_owned()),
        ("proc-root", format!("/proc/{pid}/root{}/node_modules/.git/modules/x", boundary.host.display())),
        ("fd", "/dev/fd/9/.git/modules/x".to_owned()),
        ("outside", "/etc/.git/modules/x".to_owned()),
        ("nothing", "../.git/modules/none".to_owned()),
        ("circle", "../circle/.git/.git/modules/x".to_owned()),
    ] {
        boundary.write(&format!("{directory}/.git"), &format!("gitdir: {named}\n"));
    }
    // Git obeys the first one when it stands there: the descriptor is its own working directory.
    boundary.write("node_modules/.git/modules/x/config", EVIL);
    assert!(obeys(&boundary, "proc-cwd"), "the control");
    boundary.write("node_modules/.git/modules/x/config", "[core]\n\tbare = false\n");
    // What git itself makes: a submodule, and a work tree that was added inside, where the boundary has another path.
    boundary.write("sub/.git", "gitdir: ../.git/modules/sub\n");
    boundary
        .write(".git/worktrees/w/commondir", "../..\n")
        .write(".git/worktrees/w/HEAD", "ref: refs/heads/w\n");
    boundary.write("w/.git", "gitdir: /no-such-directory-on-the-host/.git/worktrees/w\n");
    let found = boundary.paths(&baseline);
    for directory in ["proc-cwd", "proc-root", "fd", "outside", "nothing", "circle"] {
        assert!(found.contains(&format!("{directory}/.git")), "{directory} is missing in {found:?}");
    }
    assert_eq!(found.len(), 6, "{found:?}");
}

#[test]
fn the_other_pointers_must_lead_there_too() {
    let boundary = Boundary::new();
    let baseline = boundary.baseline();
    let module = |name: &str| format!(".git/modules/{name}");
    boundary.repository("");
    for (name, work_tree) in [("sub", "../../../sub"), ("home", "/root"), ("cwd", "/proc/self/cwd")] {
        boundary.bare(&module(name));
        let config = format!("[core]\n\tbare = false\n\tworktree = {work_tree}\n");
        boundary.write(&format!("{}/config", module(name)), &config);
    }
    boundary.repository("borrows").write("borrows/.git/objects/info/alternates", "../../../.git/objects\n");
    boundary.repository("steals").write("steals/.git/objects/info/alternates", "/usr/lib\n");
    boundary.repository("far").write("far/.git/objects/info/alternates", "../../../between\n");
    boundary.write("between/info/alternates", "/usr/lib\n");
    let found = boundary.paths(&baseline);
    let wanted = [
        ".git/modules/cwd/config", ".git/modules/home/config", "between/info/alternates",
        "steals/.git/objects/info/alternates",
    ];
    assert_eq!(found, wanted);
}

#[test]
fn a_link_does_not_make_a_repository_look_near() {
    let boundary = Boundary::new();
    boundary.directory("mine").repository("node_modules/old").write("node_modules/old/src/x", "");
    boundary.write("node_modules/old/.git/config", EVIL);
    boundary.until_the_clock_is_past("node_modules/old/.git/config");
    assert_eq!(boundary.read_only(), [""; 0], "the control: nothing leads there");
    let baseline = boundary.baseline();
    boundary.repository("node_modules/new").write("node_modules/new/.git/config", EVIL);
    boundary.repository("1/2/3/4/5").write("1/2/3/4/5/.git/config", EVIL);
    boundary.link("node_modules", "way").link("way/new/.git/..", "new").link("../1/2/3/4/5", "mine/deep");
    boundary.link("node_modules/old/src", "old");
    for link in ["new", "mine/deep", "old"] {
        assert!(obeys(&boundary, link), "the control: git obeys what is behind {link}");
    }
    let found: Vec<_> = boundary.compare(&baseline).into_iter().map(|one| (one.path, one.origin)).collect();
    let wanted = [
        ("1/2/3/4/5/.git/config", FindingOrigin::Created),
        ("node_modules/new/.git/config", FindingOrigin::Created),
        // It leads to what may be the user's own, which stays.
        ("old", FindingOrigin::Created),
    ];
    assert_eq!(found, wanted.map(|(path, origin)| (path.into(), origin)));
    assert!(boundary.read_only().contains(&"node_modules/old/.git/config".to_owned()));
}

#[test]
fn a_change_that_an_index_hides_is_reported() {
    for (version, bit) in [("2", "--assume-unchanged"), ("3", "--skip-worktree"), ("4", "--skip-worktree")] {
        let boundary = Boundary::new();
        let git = |words: &[&str]| {
            let output = Command::new("git").args(words).current_dir(&boundary.host).output().unwrap();
            assert!(output.status.success(), "{words:?}: {output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        git(&["init", "-q", "."]);
        boundary.write("a/one", "1").write("a/other", "1").write("z", "1");
        git(&["add", "."]);
        git(&["update-index", "--index-version", version]);
        git(&["update-index", bit, "z"]);
        let baseline = boundary.baseline();
        boundary.write("a/other", "22");
        assert!(git(&["diff", "--name-only"]).contains("a/other"), "the control: git shows the change");
        git(&["update-index", "--add", "a/one"]);
        assert_eq!(boundary.compare(&baseline), [], "what was hidden before, and what is not, is no news");
        git(&["update-index", bit, "a/other"]);
        assert!(!git(&["diff", "--name-only"]).contains("a/other"), "the control: git hides the change");
        let found = boundary.compare(&baseline);
        let reason = Reason::HidesChanges { files: 1, example: "a/other".into() };
        assert_eq!(
            (found.len(), &found[0].reason, found[0].origin),
            (1, &reason, FindingOrigin::Earlier),
            "{version}"
        );
        assert_eq!(found[0].path, Path::new(".git/index"));
    }
}

#[test]
fn nothing_in_proc_may_become_something() {
    // Beyond the largest number of a process, so that there is none.
    for (base, is_found) in [("/nothing-is-here", false), ("/proc/4194999/cwd", true), ("/sys/none", true)] {
        let (boundary, _) = repositories::committed();
        let baseline = boundary.baseline();
        boundary.bare(&format!("{}/.git/modules/x", &base[1..]));
        boundary.bare(".git/modules/x").write("sub/.git", &format!("gitdir: {base}/.git/modules/x\n"));
        boundary.bare("cwd/.git/modules/x").bare("none/.git/modules/x");
        let found = boundary.paths(&baseline).contains(&"sub/.git".into());
        assert_eq!(found, is_found, "{base}");
    }
}
