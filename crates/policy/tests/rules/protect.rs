use std::path::{Path, PathBuf};

use policy::protect::table;
use policy::protect::{ProtectError, Protected, RelativePath};

fn path(text: &str) -> RelativePath {
    text.parse().expect("a relative path")
}

fn built_in() -> Protected {
    Protected::new(&[], &[]).expect("the built-in list")
}

fn matched(protected: &Protected, relative: &str) -> Option<String> {
    protected.matches(Path::new(relative)).map(ToString::to_string)
}

#[test]
fn the_built_in_list_is_of_relative_paths() {
    for text in table::built_in() {
        assert_eq!(path(text).as_str(), text, "each stands there in its normal form");
    }
    let different = Protected::exactly(built_in().paths().iter().cloned());
    assert_eq!(different.paths().len(), table::built_in().count(), "none stands there twice");
}

#[test]
fn a_path_and_what_lies_in_it_is_protected() {
    let protected = built_in();
    for (relative, by) in [
        (".git/hooks", ".git/hooks"),
        (".git/hooks/pre-commit", ".git/hooks"),
        (".git/config", ".git/config"),
        (".git/config.worktree", ".git/config.worktree"),
        (".gitmodules", ".gitmodules"),
        (".bashrc", ".bashrc"),
        (".vscode/a/b/c", ".vscode"),
        (".config/git/config", ".config/git"),
        ("sandbox.toml", "sandbox.toml"),
    ] {
        assert_eq!(matched(&protected, relative).as_deref(), Some(by), "{relative}");
    }
    for relative in [
        "", "src/main.rs", ".git", ".git/index", ".git/configx", ".vscodex", "docs/.vscode", "x.bashrc",
        ".config",
    ] {
        assert_eq!(matched(&protected, relative), None, "{relative}");
    }
}

#[test]
fn git_is_protected_in_nested_repositories_submodules_and_worktrees() {
    let protected = built_in();
    for relative in [
        "a/b/.git/hooks/x", "a/.git/config", ".git/modules/sub/hooks/x", ".git/modules/sub/config",
        ".git/modules/a/modules/b/config", ".git/worktrees/w/config.worktree", "x/.git/modules/sub/config",
    ] {
        assert!(matched(&protected, relative).is_some(), "{relative}");
    }
    for relative in [
        ".git/refs/heads/config", ".git/refs/heads/hooks/x", ".git/modules/sub/refs/heads/config",
        ".git/worktrees/w/commondir", ".git/modules/sub/HEAD", "a/b/config", "modules/x/config",
    ] {
        assert_eq!(matched(&protected, relative), None, "{relative}");
    }
}

#[test]
fn case_does_not_matter() {
    for relative in [".GIT/Hooks/x", ".Git/CONFIG", ".VSCode/x", "a/.gIt/config", "Sandbox.TOML"] {
        assert!(matched(&built_in(), relative).is_some(), "{relative}");
    }
}

#[test]
fn paths_are_added_and_given_up_by_name() {
    let protected =
        Protected::new(&[path(".github/workflows")], &[path(".git/config")]).expect("a valid list");
    assert_eq!(matched(&protected, ".github/workflows/ci.yml").as_deref(), Some(".github/workflows"));
    assert_eq!(matched(&protected, ".git/config"), None);
    assert_eq!(matched(&protected, ".git/modules/x/config"), None);
    assert!(matched(&protected, ".git/hooks/x").is_some(), "only what is named is given up");
}

#[test]
fn giving_up_what_is_not_protected_is_an_error_with_a_suggestion() {
    let unknown = [path(".git/hook"), path("hooks"), path(".git"), path("banana/split")];
    let errors = Protected::new(&[], &unknown).expect_err("unknown paths");
    let nearest: Vec<Option<&str>> = errors
        .iter()
        .map(|error| match error {
            ProtectError::Unknown { nearest, .. } => nearest.as_deref(),
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(nearest.len(), 4, "all are reported at once");
    assert_eq!(nearest[0], Some(".git/hooks"));
    assert_eq!(nearest[1], Some(".git/hooks"));
    assert!(nearest[2].is_some_and(|nearest| nearest.starts_with(".git")));
    assert_eq!(nearest[3], None);
    assert!(errors[0].to_string().ends_with("did you mean `.git/hooks`?"), "{}", errors[0]);
}

#[test]
fn a_name_that_no_list_knows_may_be_given_up() {
    // `.fvmrc` is near to the first one.
    for name in [".foorc", ".config/foo.toml", ".Foo.d"] {
        assert!(Protected::new(&[], &[path(name)]).is_ok(), "{name}");
        assert!(path(name).may_be_unknown(), "{name}");
    }
    for name in [".vscod", ".gitignore", ".config", ".config/x/y", "foo", "a/.foorc", ".foo/bar"] {
        assert!(Protected::new(&[], &[path(name)]).is_err(), "{name}");
    }
}

#[test]
fn what_is_no_relative_path_is_refused() {
    let error = |text: &str| text.parse::<RelativePath>().expect_err(text);
    for text in ["", ".", "./", "./."] {
        assert_eq!(error(text), ProtectError::Empty, "{text}");
    }
    for text in ["/etc", "~/x", "//x"] {
        assert!(matches!(error(text), ProtectError::Absolute { .. }), "{text}");
    }
    for text in ["..", "../x", "a/../b", "a/.."] {
        assert!(matches!(error(text), ProtectError::Parent { .. }), "{text}");
    }
    for text in ["a\0b", "a\nb"] {
        assert!(matches!(error(text), ProtectError::Control { .. }), "{text:?}");
    }
    for text in [
        "*", "*key", "*.k*y", "*.a/b", "*/a.key", "a/*", "a/?", "[ab]", "a*.key", "a.*key", "a.*.*.key",
        "a*", "a-*key", "a-*-*",
    ] {
        assert!(matches!(error(text), ProtectError::Wildcard { .. }), "{text}");
    }
    assert_eq!(path("./a//b/./c/").as_str(), "a/b/c");
    assert_eq!(path("a..b").as_str(), "a..b");
    assert_eq!(path("*.key").as_str(), "*.key");
}

#[test]
fn a_path_may_stand_for_every_name_that_ends_so() {
    let protected = Protected::exactly([path("*.Key"), path("a")]);
    for relative in ["x.key", "X.KEY", "x.key/y", "x.y.key"] {
        assert_eq!(matched(&protected, relative).as_deref(), Some("*.Key"), "{relative}");
    }
    for relative in [".key", "key", "x.keys", "b/x.key"] {
        assert_eq!(matched(&protected, relative), None, "{relative}");
    }
    let protected = Protected::exactly([path("Key.*.Toml")]);
    for relative in ["key.a.toml", "KEY.a.b.TOML", "key.a.toml/y"] {
        assert_eq!(matched(&protected, relative).as_deref(), Some("Key.*.Toml"), "{relative}");
    }
    for relative in ["key.toml", "key..toml", "a.key.a.toml", "key.a.tom", "b/key.a.toml"] {
        assert_eq!(matched(&protected, relative), None, "{relative}");
    }
    let protected = Protected::exactly([path("A/key.*")]);
    for relative in ["a/key.x", "A/KEY.x.y", "a/key.x/y"] {
        assert_eq!(matched(&protected, relative).as_deref(), Some("A/key.*"), "{relative}");
    }
    for relative in ["a", "a/key", "a/key.", "key.x", "a/b/key.x"] {
        assert_eq!(matched(&protected, relative), None, "{relative}");
    }
    let protected = Protected::exactly([path("My-Key-*"), path("b/key-*.toml")]);
    for (relative, listed) in [
        ("my-key-x", "My-Key-*"),
        ("MY-KEY-x-y.z/y", "My-Key-*"),
        ("b/key-1.2.toml", "b/key-*.toml"),
        ("b/key-a-b.toml/y", "b/key-*.toml"),
    ] {
        assert_eq!(matched(&protected, relative).as_deref(), Some(listed), "{relative}");
    }
    for relative in
        ["my-key", "my-key-", "my-keys-x", "x-my-key-x", "a/my-key-x", "b/key-.toml", "b/key-1.tom"]
    {
        assert_eq!(matched(&protected, relative), None, "{relative}");
    }
}

#[test]
fn where_a_directory_is_data_only_a_file_is_protected() {
    let protected = built_in();
    assert_eq!(matched(&protected, ".jj/repo").as_deref(), Some(".jj/repo"));
    assert_eq!(matched(&protected, ".jj/repo/config.toml").as_deref(), Some(".jj/repo/config.toml"));
    assert_eq!(matched(&protected, ".jj/repo/op_heads/heads/x"), None);
}

#[test]
fn every_directory_on_the_way_is_pinned() {
    let pins = |text: &str| path(text).pins().map(Path::to_owned).collect::<Vec<_>>();
    assert_eq!(pins(".bashrc"), Vec::<PathBuf>::new());
    assert_eq!(pins(".git/hooks"), [PathBuf::from(".git")]);
    assert_eq!(pins("a/b/c/d"), [PathBuf::from("a"), PathBuf::from("a/b"), PathBuf::from("a/b/c")]);
}

#[test]
fn a_list_from_a_plan_is_taken_as_it_is() {
    let protected = Protected::exactly([path("a"), path("A"), path("b/c")]);
    assert_eq!(protected.paths(), [path("a"), path("b/c")]);
    assert_eq!(matched(&protected, "b/c/d").as_deref(), Some("b/c"));
    assert_eq!(matched(&protected, ".git/hooks"), None);
}
