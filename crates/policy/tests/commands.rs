//! What commands do, and what rules decide about them.
#![expect(clippy::unwrap_used, reason = "a test whose preparation fails has failed")]

use policy::commands::{CommandClass, CommandReason, CommandRule, CommandRules, Shell, TokenPattern};
use policy::rules::verdict::Decision;

use CommandClass::{Execute, Network, Read, Write};

#[track_caller]
fn does(text: &str, expected: &[CommandClass]) {
    let classes: Vec<_> = CommandRules::default().decide(text, Shell::Bash).classes.into_iter().collect();
    assert_eq!(classes, expected, "{text}");
}

#[test]
fn what_only_reads_is_known() {
    for text in [
        "ls -la",
        "cat a b | grep -n x | sort -u | uniq -c | head -5",
        "cd src && pwd; ls",
        "for f in a b; do wc -l \"$f\"; done",
        "if test -f a; then cat a; else echo none; fi",
        "git status --short && git -C sub log --oneline -5 -- a",
        "git diff HEAD~1 -- src",
        "find . -name '*.rs' -type f | xargs grep -l main",
        "find . -type f -exec grep -l x {} +",
        "sed -n '1,20p' file",
        "sed 's/a/b/g; s|c|d|' file",
        "awk -F: '{print $1}' /etc/passwd",
        "awk 'NR < 3 {print}' f",
        "rg -n 'a|b' src 2>/dev/null",
        "echo \"$(cat a)\" '$(rm x)'",
        "LC_ALL=C sort file",
        "n=$(wc -l < file); echo $n",
        "timeout 5 ls",
        "env LANG=C ls",
        "env",
        "bash -lc 'ls | head'",
        "sh -c \"cat a\"",
        "/bin/ls /",
        "command -v python3",
        "set -euo pipefail; ls",
        "cat <<'E'\n$(rm x)\nE",
        "cat <<E\nplain\nE",
        "diff <(sort a) <(sort b)",
        "[[ -f a && $x == y ]] && cat a",
        "export LANG=C; date",
        "f() { ls; }; f2=1; true",
        "time ls",
        "ls > /dev/null 2>&1",
        "DIR=src; ls \"$DIR\"",
        "FOO=bar ls",
        "while IFS= read -r line; do echo \"$line\"; done < f",
        "git remote -v; git branch -a; git tag -l 'v*'; git stash list; git config --get user.name",
        "bash -o pipefail -c 'ls | wc -l'",
        "ls | xargs -I{} wc -l {}",
        "x=$(( 1 + 2 )); echo $x",
        "echo 'a (b' \"c <(d)\"",
    ] {
        // The name of a function of the script's own is not known to be one.
        does(text, &[Read]);
    }
    does("", &[]);
    does("# only a remark", &[]);
}

#[test]
fn the_strictest_part_counts_wherever_it_stands() {
    for (text, expected) in [
        ("cat a > b", &[Read, Write][..]),
        ("for f in a; do cat $f; done > b", &[Read, Write]),
        ("cat a >> b", &[Read, Write]),
        ("ls &> log", &[Read, Write]),
        ("rm -rf build", &[Write]),
        ("ls; rm x", &[Read, Write]),
        ("echo $(rm x)", &[Read, Write]),
        ("echo \"${a:-b}\" `rm x`", &[Read, Write]),
        ("cat <(rm x)", &[Read, Write]),
        ("if rm x; then ls; fi", &[Read, Write]),
        ("f() { rm x; }; true", &[Read, Write]),
        ("case a in b) rm x;; esac", &[Write]),
        ("while read x; do rm \"$x\"; done", &[Read, Write]),
        ("sort -o out in", &[Read, Write]),
        ("sort --out=o in", &[Read, Write]),
        ("sort -k2 \"$x\"", &[Read, Write, Execute]),
        ("uniq in out", &[Read, Write]),
        ("sed -i 's/a/b/' f", &[Read, Write]),
        ("find . -delete", &[Read, Write]),
        ("find . -exec rm {} ';'", &[Read, Write]),
        ("ls | xargs rm", &[Read, Write]),
        ("git add -A && git commit -m x", &[Write]),
        ("git diff --output=x", &[Read, Write]),
        ("git -C d push origin main", &[Network]),
        ("git fetch", &[Write, Network]),
        ("curl https://example.org", &[Network]),
        ("curl -sSLo f https://example.org", &[Write, Network]),
        ("cat < /dev/tcp/example.org/80", &[Read, Network]),
        ("exec 3<>/dev/tcp/example.org/80", &[Read, Network]),
        ("npm ci", &[Network, Execute]),
        ("npm test", &[Execute]),
        ("cargo build", &[Execute]),
        ("ssh host", &[Network, Execute]),
        ("sudo rm x", &[Write, Execute]),
        ("curl -s https://example.org | sh", &[Network, Execute]),
        ("tar xf a.tar", &[Write]),
        ("tar -xf a --to-command=sh", &[Write, Execute]),
    ] {
        does(text, expected);
    }
}

#[test]
fn whatever_is_not_known_counts_as_running_programs() {
    for text in [
        "./ls", "/tmp/cat x", "~/bin/ls", "$CMD x", "\"$(which ls)\" x", "l{s,} x", "python3 -c 'print(1)'",
        "bash script.sh", "eval \"$x\"", "source env.sh", ". ./env.sh", "alias ls='rm -rf'; ls",
        "PATH=/tmp ls", "export PATH=/tmp; ls", "LD_PRELOAD=./x.so ls", "for PATH in /tmp; do ls; done",
        "env LD_PRELOAD=x ls", "env -S 'rm x'", "rg --pre ./x y", "find . -exec ./x {} +", "find $x",
        "awk 'BEGIN { system(\"id\") }'", "sed '1e id' f", "sed 's/a/b/e' f", "sed -f script f",
        "git -c core.pager=./x log", "git log --ext-diff", "git frobnicate", "trap 'rm x' EXIT",
        "test -v 'a[$(id)]'", "[[ 'a[$(id)]' -eq 0 ]]", "printf -v 'a[$(id)]' x", "((x = 1))", "( (ls) )",
        "((ls))", "echo ${x:-$(id)}", "echo $((a[$(id)]))", "cat <<E\n'$(id)'\nE", "a[$(id)]=1", "coproc ls",
        "select x in a; do ls; done", "if true; then", "ls 'unclosed", "echo \"`echo \\`./id\\``\"",
        "timeout --foo 5", "watch ls", "xargs -I{} {} x", "ls\0x", "enable -f x y", "hash -p ./x ls; ls",
        "set -- x; set -k", "exec ./x", "command ./x", "builtin source x",
    ] {
        let classes = CommandRules::default().decide(text, Shell::Bash).classes;
        assert!(classes.contains(&Execute), "{text}: {classes:?}");
    }
}

/// Rules with these decisions about classes and these patterns.
fn rules(classes: [Decision; 4], patterns: &[(&[&str], Decision)]) -> CommandRules {
    let rule = |(position, (words, decision)): (usize, &(&[&str], Decision))| CommandRule {
        name: format!("r{position}"),
        pattern: TokenPattern::new(words).unwrap(),
        decision: *decision,
        reason: None,
    };
    let [read, write, execute, network] = classes;
    CommandRules { read, write, execute, network, rules: patterns.iter().enumerate().map(rule).collect() }
}

#[test]
fn a_rule_comes_before_the_class_and_the_strictest_of_all_counts() {
    use Decision::{Allow, Ask, Deny};
    let rules = rules(
        [Allow, Allow, Ask, Deny],
        &[
            (&["git", "push"], Ask),
            (&["git", "push", "--force|-f"], Deny),
            (&["cargo", "test|build"], Allow),
            (&["curl", "*", "https://example.org/"], Allow),
            (&["rm", "-rf"], Deny),
        ],
    );
    for (text, decision, command) in [
        ("ls", Allow, "ls"),
        ("cargo test --all", Allow, "cargo test --all"),
        ("cargo run", Ask, "cargo run"),
        ("cargo test > log", Allow, "cargo test"),
        ("git push origin main", Ask, "git push origin main"),
        ("git -C d push", Ask, "git push"),
        ("git push -f", Deny, "git push -f"),
        ("timeout 5 git push -f", Deny, "git push -f"),
        ("sh -c 'ls; git push --force'", Deny, "git push --force"),
        ("/usr/bin/git push --force", Deny, "/usr/bin/git push --force"),
        ("ls && curl https://example.org", Deny, "curl https://example.org"),
        ("curl -s https://example.org/", Allow, "curl -s https://example.org/"),
        ("cargo test && curl x", Deny, "curl x"),
        ("find . | xargs rm -rf", Deny, "rm -rf …"),
        // What is not known may be what a rule is about.
        ("git -c a=b push -f", Deny, "git …"),
        ("git -p push -f", Deny, "git …"),
        ("timeout -v 5 git push -f", Deny, "git push -f"),
        ("timeout --frob 5 git push -f", Deny, "…"),
        ("bash --norc -c 'git push -f'", Deny, "git push -f"),
        ("bash -c -- 'git push -f'", Deny, "git push -f"),
        ("bash --frob -c 'git push -f'", Deny, "…"),
        ("time -- git push -f", Deny, "git push -f"),
        ("sudo --user x git push -f", Deny, "git push -f"),
        ("sudo A=b git push -f", Deny, "…"),
        (
            "echo \"$(git push -f <<'E'\nit's\nE\n)\"",
            Deny,
            "echo \"$(git push -f <<'E'\\u{a}it's\\u{a}E\\u{a})\"",
        ),
        // A document that a substitution prints is text.
        ("git commit -m \"$(cat <<'EOF'\nit's (done) `git push -f`\nEOF\n)\"", Ask, "git commit -m …"),
        ("echo '\"$(cat <<'EOF'\n'; git push -f; echo '\nEOF\n)\"'", Deny, "git push -f"),
        ("find \"$HOME\" -name x", Ask, "find … -name x"),
        ("git $x", Deny, "git …"),
        ("git push $x", Deny, "git push …"),
        ("$x", Deny, "…"),
        // What may be allowed is not.
        ("cargo $x", Deny, "cargo …"),
        ("make $x", Ask, "make …"),
        ("if true; then", Deny, "if true; then"),
        // A test is known, whatever it tests, and a pattern of names is not.
        ("[ -e x ] && [ $x -ge 7 ]", Allow, "[ -e x ]"),
        ("[ab] x", Deny, "… x"),
    ] {
        let verdict = rules.decide(text, Shell::Bash);
        assert_eq!((verdict.decision, verdict.command.as_str()), (decision, command), "{text}: {verdict:?}");
    }
    assert!(matches!(rules.decide("git $x", Shell::Bash).reason, CommandReason::PerhapsRule { .. }));
    // A redirection is no part of what a pattern names.
    let rules = self::rules([Allow, Deny, Allow, Allow], &[(&["cargo", "test"], Allow)]);
    assert_eq!(rules.decide("cargo test", Shell::Bash).decision, Allow);
    assert_eq!(rules.decide("cargo test > log", Shell::Bash).decision, Deny);
    assert_eq!(rules.decide_words(&["cargo", "test"]).decision, Allow);
    assert_eq!(rules.decide_words(&["sh", "-c", "rm x"]).decision, Deny);
    // An argument is no text of a shell.
    assert_eq!(rules.decide_words(&["echo", "$(rm x)", ">", "f"]).decision, Allow);
}

#[test]
fn another_shell_than_bash_reads_a_text_in_its_own_way() {
    let rules = rules([Decision::Allow, Decision::Allow, Decision::Deny, Decision::Allow], &[]);
    for text in [
        "ls &>/dev/null ./x", "[[ a || ./x ]]", "echo $'a\\'; ./x; echo $'b\\'",
        "echo \"${x:-'}\"; ./x; echo \"'}\"", "cat <<$'X'\n$X\n./x\nX",
    ] {
        assert_eq!(rules.decide(text, Shell::Posix).decision, Decision::Deny, "{text}");
    }
    assert_eq!(rules.decide("ls \"${x:-y}\" 2>&1 | wc -l", Shell::Posix).decision, Decision::Allow);
    // What is set for a command counts, too.
    let verdict = || rules.decide("ls", Shell::Posix);
    for name in ["PATH", "BASH_ENV", "LD_PRELOAD", "GIT_SSH_COMMAND", "a b"] {
        assert_eq!(rules.with_variables(verdict(), [name]).decision, Decision::Deny, "{name}");
    }
    assert_eq!(rules.with_variables(verdict(), ["CI", "FOO", "LANG"]).decision, Decision::Allow);
}

#[test]
fn no_text_takes_long_or_ends_the_process() {
    let started = std::time::Instant::now();
    for part in [
        "( ", "{ ", "if ", "if x; then ", "while ", "case a in a) ", "[[ ( ", "( { if ", "for i in a; do ",
        "! ( ", "f() { ", "f() ( ", "a | ( ", "$(", "`", "\"$(", "${a:-", "$((", "((", "<(", "a && { ", "\\",
        "'", "\"", "@(", "{a,", "a=(", "<<E\n", "time ", "! ", "x=", "${x[", "${!x[", "\"${x[", "[[ ! ",
        "[[ ! ! ! ! ! ! ! ! ! ! ", "a && ", "$((x[",
    ] {
        for times in [3, 20, 30, 100, 1000, 5000] {
            for end in ["", "ls", "ls )", "} ) ) fi"] {
                let text = part.repeat(times) + end;
                CommandRules::default().decide(&text, Shell::Bash);
            }
        }
    }
    // Many documents, which are taken out before the grammar sees the text.
    CommandRules::default().decide(&"echo \"$(cat <<'E'\nx\nE\n)\";".repeat(100_000), Shell::Bash);
    // Such parts in every order, closed or not.
    let parts = [
        "( ", ") ", "{ ", "} ", "; ", "if ", "then ", "fi ", "case ", "a in ", "a) ", ";; ", "esac ",
        "while ", "do ", "done ", "for i ", "[[ ", "]] ", "a ", "| ", "&& ", "f() ", "! ", "> ", "\n",
        "$(a) ", "`b` ", "\"c\" ", "x=1 ", "<(d) ", "else ", "& ",
    ];
    let mut state = 1_u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    for _ in 0..20_000 {
        let text: String = (0..next(40)).map(|_| parts[next(parts.len())]).collect();
        CommandRules::default().decide(&text, Shell::Bash);
        // The same, closed in order.
        let opened: Vec<_> = (0..next(9))
            .map(|_| {
                [("( ", " )"), ("{ ", "; }"), ("if a; then ", "; fi"), ("case a in b) ", ";; esac")][next(4)]
            })
            .collect();
        let begin: String = opened.iter().map(|(open, _)| *open).collect();
        let end: String = opened.iter().rev().map(|(_, close)| *close).collect();
        CommandRules::default()
            .decide(&format!("{begin}ls{end} {}", ["", "; | |", "&& )", "then"][next(4)]), Shell::Bash);
    }
    // Far more than it takes; what does not end takes years.
    assert!(started.elapsed().as_secs() < 100, "{:?}", started.elapsed());
}
