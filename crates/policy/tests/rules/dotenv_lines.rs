//! Lines of a `.env` that readers take differently: a listed variable counts there whatever its value is, and others do not count.

use std::path::Path;

use policy::classify::{EntryType, Reason, classify, parts};

fn names(text: &str) -> Vec<String> {
    match classify(Path::new(".env"), EntryType::File { mode: 0o100_644 }, text.as_bytes()) {
        None => Vec::new(),
        Some(Reason::Variables { names }) => names,
        Some(other) => panic!("{text}: {other}"),
    }
}

#[test]
fn a_listed_name_counts_in_a_line_that_is_not_clear() {
    for (text, name) in [
        // A value that goes on in the next line, to a shell.
        ("export \"EDITOR=vim\n./evil\"", "EDITOR"),
        ("export 'NODE_OPTIONS=--no-warnings\n--require=./evil.js'", "NODE_OPTIONS"),
        // What joins two lines, behind a comment too.
        ("A=1 # \\\nLD_\\\nPRELOAD=./evil.so", "LD_PRELOAD"),
        ("# \\\nLD_\\\nPRELOAD=./evil.so", "LD_PRELOAD"),
        // npm and yarn take hyphens for underscores.
        ("npm_config_script-shell=./evil", "npm_config_script_shell"),
        ("export npm_config_script-shell=./evil", "npm_config_script_shell"),
        ("yarn_script-shell=./evil", "yarn_script_shell"),
        // zsh: no comment within brackets, and what a reference sets.
        ("A=x( #; LD_PRELOAD=./evil.so", "LD_PRELOAD"),
        ("A=x(\n#; LD_PRELOAD=./evil.so", "LD_PRELOAD"),
        (": ${path::=x}", "path"),
        // A backslash before the quote that ends a value, to some readers.
        ("A='\\\\'\nB='; LD_PRELOAD=./evil.so'", "LD_PRELOAD"),
        ("A='\\'\nB='; LD_PRELOAD=./evil.so; '", "LD_PRELOAD"),
        ("A=\"\\\\\"\nB=\"; LD_PRELOAD=./evil.so\"", "LD_PRELOAD"),
        ("A=it's\nB='; LD_PRELOAD=./evil.so; '", "LD_PRELOAD"),
        ("A=it's\n# '; LD_PRELOAD=./evil.so; '", "LD_PRELOAD"),
        ("A=\"x\ny\" z\nB=\"; LD_PRELOAD=./evil.so\"", "LD_PRELOAD"),
        // In parts, and behind what is no name.
        ("export LD_''PRELOAD=./evil.so", "LD_PRELOAD"),
        ("=LD_PRELOAD=./evil.so", "LD_PRELOAD"),
        ("A= =LD_PRELOAD=./evil.so", "LD_PRELOAD"),
        ("A = LD_PRELOAD=./evil.so", "LD_PRELOAD"),
        ("A=\n\"LD_PRELOAD=./evil.so\"", "LD_PRELOAD"),
        ("A={ LD_PRELOAD=./evil.so", "LD_PRELOAD"),
        ("A=\"${X:-\"a\"}\"\nB=\"; LD_PRELOAD=./evil.so;\"", "LD_PRELOAD"),
        ("A=$'\\'\nB='; LD_PRELOAD=./evil.so; '", "LD_PRELOAD"),
        ("cat <<E\nB='; LD_PRELOAD=./evil.so; '\nE", "LD_PRELOAD"),
        ("export A= LD_PRELOAD=./evil.so", "LD_PRELOAD"),
    ] {
        assert!(names(text).contains(&name.to_owned()), "{text:?}: {:?}", names(text));
    }
    // A variable holds all of an assignment.
    for text in ["X='PATH=./evil'\nexport $X", "X='PATH=./evil'\ndeclare -x $X"] {
        assert_ne!(names(text), [""; 0], "{text:?}");
    }
}

#[test]
fn ordinary_lines_in_a_file_with_a_listed_name_do_not_count() {
    for odd in [
        "APP_NAME=Bob's app",
        "APP_NAME=\"Bob's app\"",
        "APP_NAME='Bob \"B\" app' # it's",
        "A=x # it's",
        "# it's",
        "# C:\\dir\\x",
        "DIR=C:\\dir\\x",
        "DIR=\"C:\\dir\\x\"",
        "A=\"a\\nb\"",
        "A=a#b",
        "A=(x) y",
        "JSON={\"a\": \"b\", \"c\": [1, 2]}",
        "JSON='{\"a\": \"b\"}'",
        "JSON=\"{\\\"a\\\": \\\"b\\\"}\"",
        "URL=postgres://u:p$w@h:1/d?a=b&c=d",
        "URL=\"${BASE}/x\"",
        "export URL=${BASE:-x}/y",
        "A=a;b",
        "KEY=\"-----BEGIN-----\nMIIE/a+b==\n-----END-----\"",
        "KEY='-----BEGIN-----\nMIIE/a+b==\n-----END-----' # mine",
        "KEY=-----BEGIN-----\\nMIIE==\\n-----END-----",
        "A = \"x\"",
        "A: x",
        "A=",
        "A=\nB=",
        "A= x",
        " A=x ",
        "A=\"x\" # y=z",
        "A=x y=z",
        "A=<x@y>",
        "A=\"<x@y>, 'z'\"",
        "PASSWORD=a\"b",
        "PASSWORD=a`b",
        "A=\"x\\\"y\"",
        "A=x{y",
        "if [ -f x ]; then\nA=1\nfi",
        "A=\"line\n  'of' text\"",
    ] {
        for listed in [
            "NODE_ENV=development", "OPENAI_API_KEY=sk-x", "EDITOR=\"code --wait\"", "export PAGER=less",
            "OPENAI_API_KEY = \"sk-x\"", "NODE_OPTIONS=--no-warnings # why", "HTTP_PROXY=",
        ] {
            for text in [format!("{odd}\n{listed}\nB=1\n"), format!("{listed}\n{odd}\nB=1\n")] {
                assert_eq!(names(&text), [""; 0], "{text:?}");
            }
        }
    }
    // Where all quotes end that begin, names in the next values are text.
    for line in ["URL=\"${BASE}/x\"", "A=\"it's\"", "A=\"x\ny\"", "A=a\"b\"", "JSON={\"a\": \"b\"}"] {
        let text = format!("{line}\nA_OPTS=\"-x PATH=y\"\n# PATH=z\n");
        assert_eq!(names(&text), [""; 0], "{text:?}");
    }
}

#[test]
fn what_a_name_may_get_belongs_to_it() {
    let parts_of = |text: &str| parts(Path::new(".env"), text.as_bytes());
    for (before, now) in [
        ("export \"EDITOR=vim\n./a\"\n", "export \"EDITOR=vim\n./evil\"\n"),
        ("A=it's\nexport \"EDITOR=vim\n'./a\"\n", "A=it's\nexport \"EDITOR=vim\n'./evil\"\n"),
        ("A=1; EDITOR=a\n", "A=1; EDITOR=b\n"),
        (
            &format!("export \"EDITOR=vim\n{}\n./a\"\n", "x".repeat(5000)),
            &format!("export \"EDITOR=vim\n{}\n./evil\"\n", "x".repeat(5000)),
        ),
    ] {
        let known = parts_of(before);
        assert!(parts_of(now).iter().any(|part| !known.contains(part)), "{before:?}");
    }
    // What has nothing to do with it is none of it.
    for (before, now) in [
        ("A=1; EDITOR=a\n", "A=1; EDITOR=a\nB=2\n"),
        ("A=1; EDITOR=a\nKEY=\"a\nb\"\n", "A=1; EDITOR=a\nKEY=\"a\nc\"\n"),
    ] {
        let known = parts_of(before);
        assert!(parts_of(now).iter().all(|part| known.contains(part)), "{before:?}");
    }
}
