//! What files of git's data name: work trees, other files of git's, and repositories. Git itself is run first, to show what it does with it.

use super::repositories::{committed, git, move_all};
use super::*;

/// The paths of what was quarantined.
fn moved(boundary: &Boundary, baseline: &Baseline) -> Vec<String> {
    move_all(boundary, baseline).iter().map(|one| one.path.to_str().unwrap().to_owned()).collect()
}

/// Makes a submodule whose configuration says that its work tree is elsewhere.
fn submodule_elsewhere(boundary: &Boundary) {
    git(&boundary.host, &["init", "-q", "--bare", ".git/modules/sub"]);
    let data = boundary.host.join(".git/modules/sub");
    fs::remove_dir_all(data.join("hooks")).unwrap();
    git(&data, &["config", "core.bare", "false"]);
    git(&data, &["config", "core.worktree", "../../../elsewhere"]);
    boundary.write("sub/.git", "gitdir: ../.git/modules/sub\n").write("elsewhere/file", "");
}

#[test]
fn a_new_work_tree_that_does_not_lead_back_is_quarantined() {
    let is_obeyed = |boundary: &Boundary| {
        git(&boundary.host.join("sub"), &["rev-parse", "--show-toplevel"]).trim().ends_with("/elsewhere")
    };
    let (boundary, _) = committed();
    let baseline = boundary.baseline();
    submodule_elsewhere(&boundary);
    assert!(is_obeyed(&boundary), "the control");
    assert_eq!(moved(&boundary, &baseline), [".git/modules/sub/config"]);
    assert!(!is_obeyed(&boundary));

    // Where it leads back, as git makes it, it stays; where the place is above a protected path, it does not.
    for (place, stays) in [("sub", true), (".cargo", false)] {
        let (boundary, _) = committed();
        let baseline = boundary.baseline();
        submodule_elsewhere(&boundary);
        let data = boundary.host.join(".git/modules/sub");
        git(&data, &["config", "core.worktree", &format!("../../../{place}")]);
        boundary.write(&format!("{place}/.git"), "gitdir: ../.git/modules/sub\n");
        let expected: &[&str] = if stays { &[] } else { &[".git/modules/sub/config"] };
        assert_eq!(moved(&boundary, &baseline), expected, "{place}");
    }
}

#[test]
fn a_work_tree_that_the_users_configuration_names_is_searched_like_others() {
    let (boundary, outside) = committed();
    submodule_elsewhere(&boundary);
    boundary.until_the_clock_is_past("elsewhere/file");
    let baseline = boundary.baseline();
    assert_eq!(boundary.compare(&baseline), []);
    boundary.write("elsewhere/.envrc", "evil\n");
    // Git reads and writes what that lists in the work tree that is in force.
    let id = "0123456789012345678901234567890123456789";
    boundary.link(outside.parent().unwrap(), "elsewhere/d");
    boundary.write(".git/modules/sub/MERGE_RR", &format!("{id}\td/outside\0"));
    let mut found = moved(&boundary, &baseline);
    found.sort();
    assert_eq!(found, [".git/modules/sub/MERGE_RR", "elsewhere/.envrc"]);
}

#[test]
fn a_configuration_of_a_linked_work_tree_names_no_other_one_and_no_server() {
    for (settings, hostile) in [
        ("[core]\n\tworktree = ../../../elsewhere\n", true),
        ("[remote \"origin\"]\n\turl = https://evil.example.org\n", true),
        ("[branch \"feature\"]\n\tremote = https://evil.example.org\n", true),
        ("[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone = true\n", false),
    ] {
        for config in [".git/config.worktree", ".git/worktrees/feature/config.worktree"] {
            let (boundary, _) = committed();
            git(&boundary.host, &["config", "extensions.worktreeConfig", "true"]);
            git(&boundary.host, &["remote", "add", "origin", "https://example.org/x.git"]);
            git(&boundary.host, &["worktree", "add", "-q", "feature"]);
            fs::create_dir(boundary.host.join("elsewhere")).unwrap();
            boundary.until_the_clock_is_past(".git/worktrees/feature/HEAD");
            let baseline = boundary.baseline();
            boundary.write(config, settings);
            let expected: &[&str] = if hostile { &[config] } else { &[] };
            assert_eq!(moved(&boundary, &baseline), expected, "{settings}");
        }
    }
}

#[test]
fn the_place_of_a_linked_work_tree_has_no_space_at_its_end() {
    let (boundary, outside) = committed();
    let there = outside.with_file_name("there");
    fs::create_dir(&there).unwrap();
    let attack = |boundary: &Boundary| {
        boundary.write(".git/worktrees/z/commondir", "../..\n");
        boundary.write(".git/worktrees/z/HEAD", "ref: refs/heads/z\n");
        let place = boundary.host.join("tree").display().to_string();
        boundary.write(".git/worktrees/z/gitdir", &format!("{place} \n")).link(&there, "tree");
        git(&boundary.host, &["branch", "z"]);
    };
    let baseline = boundary.baseline();
    attack(&boundary);
    let found = moved(&boundary, &baseline);
    assert!(found.contains(&".git/worktrees/z/gitdir".to_owned()), "{found:?}");
    git(&boundary.host, &["worktree", "repair"]);
    assert!(!there.join(".git").exists());
    let (control, _) = committed();
    attack(&control);
    git(&control.host, &["worktree", "repair"]);
    assert!(there.join(".git").exists(), "the control");
}

/// Makes the index of several packs that names one outside, and returns the number of a commit in that.
fn packs_outside(boundary: &Boundary, private: &Path) -> String {
    let parent = private.parent().unwrap();
    git(parent, &["init", "-q", "private"]);
    git(private, &["commit", "-q", "--allow-empty", "-m", "private"]);
    git(private, &["repack", "-q", "-a", "-d"]);
    let packs = private.join(".git/objects/pack");
    let files: Vec<_> = fs::read_dir(&packs).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let ours = boundary.host.join(".git/objects/pack");
    for file in &files {
        fs::copy(packs.join(file), ours.join(file)).unwrap();
    }
    git(&boundary.host, &["multi-pack-index", "write"]);
    let index = ours.join("multi-pack-index");
    let real = fs::read(&index).unwrap();
    let number =
        |at: usize| usize::try_from(u64::from_be_bytes(real[at..at + 8].try_into().unwrap())).unwrap();
    let chunks = usize::from(real[6]);
    let entry = |chunk: usize| 12 + chunk * 12;
    let (mut table, mut content) = (Vec::new(), Vec::new());
    for chunk in 0..=chunks {
        let name = &real[entry(chunk)..entry(chunk) + 4];
        table.extend(name);
        table.extend(((entry(chunks + 1) + content.len()) as u64).to_be_bytes());
        if chunk == chunks {
            break;
        }
        let old = &real[number(entry(chunk) + 4)..number(entry(chunk + 1) + 4)];
        if name == b"PNAM" {
            let pack = String::from_utf8_lossy(old).trim_end_matches('\0').to_owned();
            let path = format!("../../../../private/.git/objects/pack/{pack}\0");
            content.extend(path.as_bytes());
            content.resize(content.len().next_multiple_of(4), 0);
        } else {
            content.extend(old);
        }
    }
    let _ = fs::remove_file(&index);
    fs::write(&index, [&real[..12], &table, &content, &[0; 20]].concat()).unwrap();
    for file in &files {
        fs::remove_file(ours.join(file)).unwrap();
    }
    git(private, &["rev-parse", "HEAD"])
}

#[test]
fn an_index_of_packs_names_none_elsewhere() {
    let (boundary, outside) = committed();
    boundary.directory(".git/objects/pack");
    let baseline = boundary.baseline();
    let number = packs_outside(&boundary, &outside.with_file_name("private"));
    let is_read = || git(&boundary.host, &["cat-file", "-t", number.trim()]).contains("commit");
    assert!(is_read(), "the control");
    assert_eq!(moved(&boundary, &baseline), [".git/objects/pack/multi-pack-index"]);
    assert!(!is_read());
    // One that git has made stays.
    git(&boundary.host, &["repack", "-q", "-a", "-d"]);
    let baseline = boundary.baseline();
    git(&boundary.host, &["multi-pack-index", "write"]);
    assert!(boundary.host.join(".git/objects/pack/multi-pack-index").exists());
    assert_eq!(boundary.compare(&baseline), []);
}

/// Has a list of graphs of commits name one out of the boundary, which git takes away from there when it puts another one on top.
fn graph_outside(boundary: &Boundary) -> PathBuf {
    let graphs = boundary.host.join(".git/objects/info/commit-graphs");
    let chain = graphs.join("commit-graph-chain");
    let number = fs::read_to_string(&chain).unwrap().trim().to_owned();
    let outer = boundary.host.with_file_name("outer.graph");
    fs::rename(graphs.join(format!("graph-{number}.graph")), &outer).unwrap();
    fs::create_dir(graphs.join(format!("graph-{number}"))).unwrap();
    // What git has written is read-only.
    fs::remove_file(&chain).unwrap();
    fs::write(chain, format!("{number}/../../../../../../outer\n")).unwrap();
    outer
}

#[test]
fn a_list_of_graphs_of_commits_names_none_elsewhere() {
    const WRITE: [&str; 4] = ["commit-graph", "write", "--reachable", "--split"];
    let written = || {
        let (boundary, _) = committed();
        // A graph that is not much larger than the next one is put together with that.
        for message in ["2", "3", "4"] {
            git(&boundary.host, &["commit", "-q", "--allow-empty", "-m", message]);
        }
        git(&boundary.host, &WRITE);
        boundary
    };
    let write_again = |boundary: &Boundary| {
        git(&boundary.host, &["commit", "-q", "--allow-empty", "-m", "second"]);
        git(&boundary.host, &WRITE);
    };
    let boundary = written();
    let outer = graph_outside(&boundary);
    write_again(&boundary);
    assert!(!outer.exists(), "the control: git takes it away");
    let boundary = written();
    let baseline = boundary.baseline();
    let outer = graph_outside(&boundary);
    assert_eq!(moved(&boundary, &baseline), [".git/objects/info/commit-graphs/commit-graph-chain"]);
    write_again(&boundary);
    assert!(outer.exists());
    // One that git has made stays.
    let boundary = written();
    let baseline = boundary.baseline();
    write_again(&boundary);
    assert_eq!(boundary.compare(&baseline), []);
}

#[test]
fn lists_of_files_beside_them_name_none_elsewhere() {
    let id = "0123456789012345678901234567890123456789";
    let (boundary, _) = committed();
    git(&boundary.host, &["init", "-q", "n"]);
    boundary.directory("lender/pack").write("n/.git/objects/info/alternates", "../../../lender\n");
    let baseline = boundary.baseline();
    boundary.write("n/.git/reftable/tables.list", "0x000000000001-0x000000000002-a1b2c3.ref\n../../x.ref\n");
    boundary.write("lender/pack/multi-pack-index", "MIDX and what git did not write");
    // What else lies there is none of git's.
    boundary.write("lender/index", "of a book");
    boundary.write(".git/MERGE_RR", &format!("{id}\tfile\0"));
    // Git would read it, however large it is.
    fs::File::options()
        .write(true)
        .open(boundary.host.join(".git/MERGE_RR"))
        .and_then(|file| file.set_len(65 << 20))
        .unwrap();
    let mut found = moved(&boundary, &baseline);
    found.sort();
    assert_eq!(found, [".git/MERGE_RR", "lender/pack/multi-pack-index", "n/.git/reftable/tables.list"]);
}

#[test]
fn a_file_with_a_name_of_gits_leads_no_submodule_elsewhere() {
    let (boundary, _) = committed();
    git(&boundary.host, &["init", "-q", "--bare", ".git/modules/a"]);
    git(&boundary.host, &["init", "-q", "other"]);
    let baseline = boundary.baseline();
    boundary.write(".gitmodules", "[submodule \"a/locked\"]\n\tpath = sub\n\turl = ./sub\n");
    boundary.write(".git/modules/a/locked", "gitdir: ../../../other/.git\n");
    assert_eq!(moved(&boundary, &baseline), [".git/modules/a/locked"]);
}

/// What an index is asked for in vain when its file is the same as before.
#[test]
fn an_index_whose_file_is_the_same_is_compared_all_the_same() {
    let staged = |found: &[Finding], example: &str| {
        let reason = Reason::StagesProtected { files: 1, example: example.into() };
        found.iter().any(|one| one.path == Path::new(".git/index") && one.reason == reason)
    };
    // A shared index is another one.
    let (boundary, _) = committed();
    git(&boundary.host, &["update-index", "--split-index"]);
    let files = fs::read_dir(boundary.host.join(".git")).unwrap().map(|entry| entry.unwrap().path());
    let shared = files.into_iter().find(|path| path.to_string_lossy().contains("sharedindex.")).unwrap();
    let baseline = boundary.baseline();
    let evil = boundary.host.join("evil");
    fs::write(&evil, "evil\n").unwrap();
    let number = git(&boundary.host, &["hash-object", "-w", "evil"]);
    let entry = format!("100644,{},lefthook.yml", number.trim());
    let other = boundary.host.join("index");
    for words in [&["read-tree", "HEAD"][..], &["update-index", "--add", "--cacheinfo", &entry]] {
        let mut forge = std::process::Command::new("git");
        forge.args(words).env("GIT_INDEX_FILE", &other).current_dir(&boundary.host);
        assert!(forge.status().unwrap().success());
    }
    let name = shared.file_name().unwrap().to_str().unwrap().strip_prefix("sharedindex.").unwrap();
    let bytes: Vec<u8> =
        (0..name.len()).step_by(2).map(|at| u8::from_str_radix(&name[at..at + 2], 16).unwrap()).collect();
    let mut content = fs::read(&other).unwrap();
    // Git compares what stands at its end with the name.
    let end = content.len() - bytes.len();
    content[end..].copy_from_slice(&bytes);
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(&shared, content).unwrap();
    let found = boundary.compare(&baseline);
    assert!(staged(&found, "lefthook.yml"), "{found:?}");
    git(&boundary.host, &["checkout", "--", "."]);
    assert_eq!(fs::read_to_string(boundary.host.join("lefthook.yml")).unwrap(), "evil\n", "the control");

    // What it lists has become data of a repository.
    let (boundary, _) = committed();
    boundary.write("d/config", "[core]\n\tfsmonitor = evil\n");
    git(&boundary.host, &["add", "d/config"]);
    fs::remove_file(boundary.host.join("d/config")).unwrap();
    let baseline = boundary.baseline();
    boundary.bare("d");
    let _ = fs::remove_file(boundary.host.join("d/config"));
    let found = boundary.compare(&baseline);
    assert!(staged(&found, "d/config"), "{found:?}");
}

#[test]
fn an_index_is_compared_by_what_it_holds_and_of_which_kind() {
    let staged = |found: &[Finding]| {
        found.iter().any(|one| matches!(one.reason, Reason::StagesProtected { files: 1, .. }))
    };
    let cache = |boundary: &Boundary, mode: &str, path: &str| {
        let number = git(&boundary.host, &["hash-object", "-w", "file"]);
        let entry = format!("{mode},{},{path}", number.trim());
        git(&boundary.host, &["update-index", "--add", "--cacheinfo", &entry]);
    };
    // A directory that looks like a submodule stands in the place of a file.
    let (boundary, _) = committed();
    let baseline = boundary.baseline();
    cache(&boundary, "100644", "lefthook.yml");
    boundary.directory("lefthook.yml/.git");
    assert!(staged(&boundary.compare(&baseline)));
    git(&boundary.host, &["checkout", "--", "."]);
    assert!(boundary.host.join("lefthook.yml").is_file(), "the control");
    // The content is the user's own, and becomes where a link leads.
    let (boundary, _) = committed();
    boundary.write(".tool-versions", "1");
    git(&boundary.host, &["add", ".tool-versions"]);
    boundary.until_the_clock_is_past(".git/index");
    let baseline = boundary.baseline();
    cache(&boundary, "120000", ".tool-versions");
    assert!(staged(&boundary.compare(&baseline)));
    git(&boundary.host, &["checkout", "--", "."]);
    assert!(boundary.host.join(".tool-versions").is_symlink(), "the control");
    // One that is as it was is no news.
    let (boundary, _) = committed();
    boundary.write(".tool-versions", "1").link("file", ".nvmrc");
    git(&boundary.host, &["add", ".tool-versions", ".nvmrc"]);
    let baseline = boundary.baseline();
    boundary.write("file", "more");
    git(&boundary.host, &["add", "file"]);
    assert!(!staged(&boundary.compare(&baseline)));
}

#[test]
fn a_repository_without_a_work_tree_takes_nothing_from_where_git_is_called() {
    for (settings, hostile) in [
        ("[core]\n\tbare = true\n[remote \"origin\"]\n\turl = x\n", true),
        ("[core]\n\tbare\n[remote \"origin\"]\n\turl = x\n", true),
        // In two files, which git reads as one.
        ("[core]\n\tbare = true\n[extensions]\n\tworktreeConfig = true\n", true),
        // As in a clone that is bare beside its work trees.
        ("[core]\n\tbare = true\n[remote \"origin\"]\n\turl = https://example.org/x.git\n", false),
        ("[core]\n\tbare = false\n[remote \"origin\"]\n\turl = x\n", false),
    ] {
        let (boundary, outside) = committed();
        let baseline = boundary.baseline();
        git(&boundary.host, &["init", "-q", "n"]);
        boundary.write("n/.git/config", &format!("[core]\n\trepositoryformatversion = 0\n{settings}"));
        if settings.contains("worktreeConfig") {
            boundary.write("n/.git/config.worktree", "[remote \"origin\"]\n\turl = x\n");
        }
        git(outside.parent().unwrap(), &["init", "-q", "private"]);
        let private = outside.with_file_name("private");
        git(&private, &["commit", "-q", "--allow-empty", "-m", "private"]);
        boundary.directory("n/x").directory("n/src").link(&private, "n/src/x");
        let fetch = || {
            git(&boundary.host.join("n/src"), &["fetch", "-q", "origin"]);
            fs::metadata(boundary.host.join("n/.git/FETCH_HEAD")).is_ok_and(|stat| stat.len() > 0)
        };
        assert_eq!(fetch(), hostile, "the control: {settings}");
        let _ = fs::remove_file(boundary.host.join("n/.git/FETCH_HEAD"));
        let expected: &[&str] = if hostile { &["n/.git/config"] } else { &[] };
        assert_eq!(moved(&boundary, &baseline), expected, "{settings}");
        assert!(!fetch(), "{settings}");
    }
}
