//! What is the agent's, whatever its age, and what of the user's own stays where it is.

use super::*;

/// What it says of each path, in their order.
fn found(boundary: &Boundary, baseline: &Baseline) -> Vec<(String, FindingOrigin)> {
    let one = |finding: Finding| (finding.path.display().to_string(), finding.origin);
    boundary.compare(baseline).into_iter().map(one).collect()
}

fn created<const N: usize>(paths: [&str; N]) -> Vec<(String, FindingOrigin)> {
    paths.map(|path| (path.to_owned(), FindingOrigin::Created)).into()
}

impl Boundary {
    pub(crate) fn rename(&self, from: &str, to: &str) -> &Self {
        fs::create_dir_all(self.host.join(to).parent().unwrap()).unwrap();
        fs::rename(self.host.join(from), self.host.join(to)).unwrap();
        self
    }

    /// What is there from here on was there at the start, long enough for clocks to tell.
    pub(crate) fn baseline_of_old(&self) -> Baseline {
        self.write("last", "").until_the_clock_is_past("last");
        self.baseline()
    }
}

#[test]
fn what_comes_to_an_empty_place_is_the_agents_however_old_it_is() {
    let boundary = Boundary::new();
    boundary.directory(".git/objects").directory(".git/refs").write(".git/HEAD", "ref: refs/heads/main\n");
    boundary.directory("scripts/dir").write("scripts/x", "old").write("scripts/y", "old");
    boundary.write("scripts/z", "old").write("scripts/dir/pre-push", "old").write("scripts/set/a", "old");
    boundary.write(".git/config", "[core]\n\thooksPath = named\n[include]\n\tpath = ../way/more\n");
    boundary
        .link("scripts/dir", "way")
        .write("settings/settings.json", "{\"go.goroot\": \"x\"}")
        .link("none", ".mcp.json");
    boundary.write("config", "[core]\n\tpager = evil\n");
    let baseline = boundary.baseline_of_old();
    assert_eq!(boundary.compare(&baseline), [], "the control");
    boundary.rename("scripts/x", ".git/hooks/pre-commit").rename("scripts/y", ".bashrc");
    fs::hard_link(boundary.host.join("scripts/z"), boundary.host.join(".envrc")).unwrap();
    // Nothing in these is touched by it.
    boundary
        .rename("scripts/set", "named")
        .rename("settings", ".vscode")
        .rename("config", "scripts/dir/more");
    boundary.write("new", "{\"a\":1}").rename("new", "none");
    let wanted = created([
        ".bashrc", ".envrc", ".git/hooks/pre-commit", ".vscode/settings.json", "named/a", "none",
        "scripts/dir/more",
    ]);
    assert_eq!(found(&boundary, &baseline), wanted);
}

#[test]
fn what_a_new_configuration_names_is_the_agents_if_it_was_touched() {
    let boundary = Boundary::new();
    boundary.write("src/pre-push", "mine").write("src/written", "mine").write("src/linked", "mine");
    boundary.write("src/mode", "mine").write("scripts/x", "mine").directory("moved");
    let baseline = boundary.baseline_of_old();
    boundary.repository("").write(".git/config", "[core]\n\thooksPath = src\n");
    boundary.write("src/written", "evil").rename("scripts/x", "src/renamed").mode("src/mode", 0o755);
    fs::hard_link(boundary.host.join("src/linked"), boundary.host.join("other")).unwrap();
    let wanted = created([".git/config", "src/linked", "src/mode", "src/renamed", "src/written"]);
    assert_eq!(found(&boundary, &baseline), wanted);
}

#[test]
fn a_directory_that_becomes_a_repository_keeps_what_was_in_it() {
    let boundary = Boundary::new();
    boundary.write("pkg/.envrc", "mine").write("pkg/.vscode/settings.json", "{\"go.goroot\": \"x\"}");
    boundary.write("src/hooks/useX.ts", "mine").write("src/main.rs", "").write("hooks/pre-commit", "mine");
    let baseline = boundary.baseline_of_old();
    boundary.repository("pkg");
    assert_eq!(boundary.compare(&baseline), [], "`git init` in it is nothing to be said");
    boundary.write("pkg/.bashrc", "evil").write("pkg/.envrc", "evil");
    assert_eq!(found(&boundary, &baseline), created(["pkg/.bashrc", "pkg/.envrc"]), "the control");
    fs::remove_dir_all(boundary.host.join("pkg")).unwrap();
    // In a bare repository it is a hook.
    boundary.directory("src/objects").directory("src/refs").write("src/HEAD", "ref: refs/heads/main\n");
    assert_eq!(found(&boundary, &baseline), created(["src/HEAD", "src/objects", "src/refs"]));
    fs::remove_file(boundary.host.join("src/HEAD")).unwrap();
    // And in a `.git`, which was not there, whatever was moved there is the agent's.
    boundary.repository("").rename("hooks", ".git/own").write(".git/hooks/pre-push.sample", "");
    fs::remove_dir_all(boundary.host.join(".git/hooks")).unwrap();
    boundary.rename(".git/own", ".git/hooks");
    assert_eq!(found(&boundary, &baseline), created([".git/hooks/pre-commit"]));
}

#[test]
fn a_pointer_to_what_was_there_is_moved_and_that_is_not() {
    let boundary = Boundary::new();
    boundary.bare("node_modules/x").write("node_modules/x/hooks/pre-commit", "mine");
    let baseline = boundary.baseline_of_old();
    for (wanted, make) in [
        ("way", (|boundary: &Boundary| boundary.link("node_modules/x", "way")) as fn(&Boundary) -> &Boundary),
        ("tree/.git", |boundary| boundary.write("tree/.git", "gitdir: ../node_modules/x\n")),
    ] {
        make(&boundary);
        let mut findings = boundary.compare(&baseline);
        assert_eq!(found(&boundary, &baseline), created([wanted]));
        assert!(quarantine(boundary.root().enter().unwrap(), &mut findings[0], now()).unwrap());
        assert_eq!(boundary.compare(&baseline), []);
        assert!(boundary.host.join("node_modules/x/hooks/pre-commit").exists());
    }
}

#[test]
fn a_directory_with_the_number_of_one_that_is_gone_is_another() {
    let boundary = Boundary::new();
    boundary.repository("").write(".git/hooks/pre-commit", "mine");
    let baseline = boundary.baseline_of_old();
    let inode = || fs::metadata(boundary.host.join(".git/hooks")).unwrap().ino();
    let before = inode();
    fs::remove_dir_all(boundary.host.join(".git/hooks")).unwrap();
    boundary.write(".git/hooks/pre-push", "evil");
    // Not every file system gives it again at once.
    println!("the same number: {}", inode() == before);
    assert_eq!(boundary.paths(&baseline), [".git/hooks/pre-push"]);
}
