//! Attributes of work trees that newly have git write files otherwise than it records them. Git itself is run first, to show that it does.

use super::git_settings::sh;
use super::git_staged::with_hooks;
use super::repositories::git;
use super::*;

/// The file with which attributes are new, where they are, how many lines, and one of them.
fn converted(boundary: &Boundary, baseline: &Baseline) -> Vec<(String, String, usize, String)> {
    let found = boundary.compare_commits(baseline).into_iter().filter_map(|one| {
        let (stays, path) = (one.stays(), one.path.to_str().unwrap().to_owned());
        match one.reason {
            Reason::ConvertsFiles { attributes, lines, example } => {
                assert!(stays, "{path}");
                Some((path, attributes, lines, example))
            }
            _ => None,
        }
    });
    found.collect()
}

const ENCODING: &str = "x.key working-tree-encoding=UTF-16BE";

#[test]
fn attributes_that_newly_convert_files_are_reported() {
    let boundary = with_hooks(&[]);
    // What is ASCII in UTF-16 are other letters in UTF-8.
    let stage = format!(
        "printf 'echo evil\\n' | iconv -f UTF-16BE -t UTF-8 >x.key; git add x.key; echo '{ENCODING}' >.gitattributes; git add .gitattributes; \
         git commit -q -m x; rm x.key; git checkout -- x.key"
    );
    assert!(sh(&boundary, ".", &stage));
    assert_eq!(
        fs::read(boundary.host.join("x.key")).unwrap(),
        b"echo evil\n",
        "the control: git converts it"
    );

    let own = || (ENCODING.to_owned(), 1);
    let add = format!("mkdir -p sub; echo 1 >sub/x; git add sub; echo '{ENCODING}' >>$FILE; ");
    for (flags, file, then, by) in [
        (&[][..], ".gitattributes", "true", ".gitattributes"),
        (&[], "sub/.gitattributes", "true", "sub/.gitattributes"),
        (&[], ".gitattributes", "git add .; git commit -q -m x", ".gitattributes"),
        (&[], ".gitattributes", "git add $FILE; rm $FILE", ".git/index"),
        (&[], "sub/.gitattributes", "git add $FILE; rm $FILE", ".git/index"),
        (&["--object-format=sha256"], "sub/.gitattributes", "git add $FILE; rm $FILE", ".git/index"),
        (&[], "sub/.gitattributes", "git add $FILE; git commit -q -m x; git rm -q $FILE", ".git/HEAD"),
        (
            &[],
            ".gitattributes",
            "git add $FILE; git commit -q -m x; git rm -q --cached $FILE; rm $FILE; git gc -q",
            ".git/HEAD",
        ),
    ] {
        let boundary = with_hooks(flags);
        let baseline = boundary.baseline();
        assert!(sh(&boundary, ".", &format!("FILE={file}; {add}{then}")), "{file} {then}");
        let (line, lines) = own();
        assert_eq!(
            converted(&boundary, &baseline),
            [(by.to_owned(), file.to_owned(), lines, line)],
            "{file} {then}"
        );
    }
    for line in [
        "*.key filter=crypt", "* diff=lockb", "*.x own", "[attr]own filter=crypt", "* text merge=x",
        "*.key -filter",
    ] {
        let boundary = with_hooks(&[]);
        let baseline = boundary.baseline();
        boundary.write(".gitattributes", &format!("{line}\n"));
        let (file, lines) = (".gitattributes".to_owned(), 1);
        assert_eq!(converted(&boundary, &baseline), [(file.clone(), file, lines, line.to_owned())]);
    }
}

#[test]
fn attributes_in_another_order_are_reported() {
    let boundary = with_hooks(&[]);
    boundary.write("sub/.gitattributes", "*.yaml -filter\n*.yaml filter=crypt\n").write("sub/x", "1");
    git(&boundary.host, &["add", "-A"]);
    git(&boundary.host, &["commit", "-q", "-m", "second"]);
    boundary.until_the_clock_is_past(".git/index");
    let baseline = boundary.baseline();
    let forged = "number=$(printf '*.yaml filter=crypt\\n*.yaml -filter\\n' | git hash-object -w --stdin); git update-index --cacheinfo 100644,$number,sub/.gitattributes";
    assert!(sh(&boundary, ".", forged));
    let (by, file) = (".git/index".to_owned(), "sub/.gitattributes".to_owned());
    assert_eq!(converted(&boundary, &baseline), [(by, file, 1, "*.yaml -filter".to_owned())]);
}

#[test]
fn attributes_of_a_repository_without_a_commit_are_reported() {
    let boundary = Boundary::new();
    git(&boundary.host, &["init", "-q", "."]);
    let baseline = boundary.baseline();
    assert!(sh(
        &boundary,
        ".",
        &format!("echo '{ENCODING}' >.gitattributes; git add .; git commit -q -m first")
    ));
    let file = ".gitattributes".to_owned();
    assert_eq!(converted(&boundary, &baseline), [(file.clone(), file, 1, ENCODING.to_owned())]);
}

#[test]
fn attributes_that_were_there_or_convert_nothing_are_no_news() {
    let prepared = || {
        let boundary = with_hooks(&[]);
        boundary
            .write(".gitattributes", &format!("{ENCODING}\n"))
            .write("sub/.gitattributes", "*.psd filter=lfs\n");
        git(&boundary.host, &["add", "-A"]);
        git(&boundary.host, &["commit", "-q", "-m", "second"]);
        git(&boundary.host, &["checkout", "-q", "-b", "other"]);
        boundary.until_the_clock_is_past(".git/index");
        boundary
    };
    for then in [
        "true",
        "echo '*.rs diff=rust' >>.gitattributes; echo '*.md text eol=lf' >>sub/.gitattributes; git add -A; git commit -q -m x",
        "git rm -q .gitattributes; git commit -q -m x",
        "git checkout -q main~1; git checkout -q other",
        "rm .gitattributes sub/.gitattributes; git stash -q; git stash pop -q",
        "mkdir new; cd new; git init -q; echo '* filter=x' >.gitattributes; git add .; git commit -q -m x",
        "git worktree add -q linked",
        "printf '\\n# why\\n' >>.gitattributes; git mv sub/.gitattributes .gitattributes.old",
    ] {
        let boundary = prepared();
        let baseline = boundary.baseline();
        assert!(sh(&boundary, ".", then), "{then}");
        assert_eq!(converted(&boundary, &baseline), [], "{then}");
    }
}

#[test]
fn attributes_that_git_has_recorded_without_lines_of_the_work_tree_are_reported() {
    let prepared = || {
        let boundary = with_hooks(&[]);
        boundary.write("sub/.gitattributes", "*.key filter=crypt\n*.md text\n").write("sub/x", "1");
        git(&boundary.host, &["add", "-A"]);
        git(&boundary.host, &["commit", "-q", "-m", "second"]);
        boundary.until_the_clock_is_past(".git/index");
        boundary
    };
    let stage = "number=$(echo '*.md text' | git hash-object -w --stdin); git update-index --cacheinfo 100644,$number,sub/.gitattributes";
    let boundary = prepared();
    assert!(sh(
        &boundary,
        ".",
        &format!("{stage}; git checkout -- .; grep filter sub/.gitattributes && exit 1; true")
    ));

    for (then, by) in [
        (stage.to_owned(), ".git/index"),
        (format!("{stage}; git commit -q -m x"), ".git/index"),
        (format!("{stage}; git commit -q -m x; git add sub"), ".git/HEAD"),
        ("git rm -q --cached sub/.gitattributes; git commit -q -m x; git add sub".to_owned(), ".git/HEAD"),
        ("git rm -q --cached sub/.gitattributes".to_owned(), ".git/index"),
    ] {
        let boundary = prepared();
        let baseline = boundary.baseline();
        assert!(sh(&boundary, ".", &then), "{then}");
        let found = boundary.compare_commits(&baseline);
        let found: Vec<_> =
            found.into_iter().map(|one| (one.path.to_str().unwrap().to_owned(), one.reason)).collect();
        let reason = Reason::ConvertsNoMore {
            attributes: "sub/.gitattributes".into(),
            lines: 1,
            example: "*.key filter=crypt".into(),
        };
        assert_eq!(found, [(by.to_owned(), reason)], "{then}");
    }
}
