//! Each row of the table of protected paths, by an example of what it finds and of what passes.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use policy::classify::{EntryType, Reason, Reference, classify, concerns, references};
use policy::protect::Protected;
use policy::protect::table::{GROUPS, Treatment, built_in, is_known, listed, rows};

use crate::examples::examples;

const FILE: EntryType = EntryType::File { mode: 0o100_644 };

fn file(path: &str, content: &str) -> Option<Reason> {
    classify(Path::new(path), FILE, content.as_bytes())
}

#[test]
fn every_row_finds_what_it_is_for_and_lets_the_harmless_pass() {
    let mut shown = BTreeSet::new();
    for (row, path, dangerous, harmless) in examples() {
        assert!(file(path, dangerous).is_some(), "{path}: {dangerous}");
        // Of some, whatever they hold counts, and a policy is reported in any case.
        if ![".git/commondir", ".git/hooks", "$TMPDIR"].contains(&row) && harmless != dangerous {
            assert_eq!(file(path, harmless), None, "{path}: {harmless}");
        }
        // A repository may lie anywhere, and be called anything.
        if !path.starts_with(".git") && !path.ends_with("/config") {
            let nowhere = format!("somewhere/else/{path}");
            assert_eq!(file(&nowhere, dangerous), None, "{nowhere}: no program looks there");
        }
        shown.insert(row);
    }
    shown.insert("sandbox.toml");
    // Where it leads counts, which its content alone does not say.
    shown.insert(".git/objects/info/alternates");
    let all: BTreeSet<&str> = built_in().collect();
    let differing: Vec<_> = shown.symmetric_difference(&all).collect();
    assert_eq!(differing, Vec::<&&str>::new(), "each row has an example, and each example a row");
}

/// What an agent writes thousands of within each other, so that whoever follows them runs out of stack.
const OPENINGS: &[&str] = &[
    "[", "{", "(", "<a>", "$(", "`", "${", "{\"a\":", "[[", "- ", "\"", "\\", "!", "a(", "%(", "<!--", "{{",
    "* ", "&a ", "? ", "$[", "$((", "@(", "!(", "a.", "a/", "../",
];

/// Files that are read in a way of their own, whatever their extension says.
const OF_THEIR_OWN: [&str; 5] =
    ["buildServer.json", "compile_commands.json", "compile_flags.txt", "opencode.json", "opencode.jsonc"];

/// Returns what says how a file is read: its extension, or its name.
fn reader(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    match name.rsplit_once('.') {
        Some((first, extension)) if !first.is_empty() && !OF_THEIR_OWN.contains(&name) => extension,
        _ => name,
    }
}

#[test]
fn nothing_is_so_deep_or_long_that_it_ends_the_process_or_holds_it_up() {
    let mut readers = BTreeSet::new();
    for (row, path, dangerous, harmless) in examples() {
        let reason = file(path, dangerous);
        assert!(reason.is_some(), "the control, {row}");
        // The content of some is not read, and many others are read in the same way.
        let is_read = dangerous != harmless && !matches!(reason, Some(Reason::Run { .. } | Reason::StartUp));
        if !is_read || !readers.insert(reader(path)) {
            continue;
        }
        for opening in OPENINGS {
            let deep = opening.repeat(20_000);
            // The classification need only return.
            file(path, &deep);
            for before in ['=', ' ', '\n'] {
                if let Some((begin, end)) = dangerous.split_once(before) {
                    file(path, &format!("{begin}{before}{deep}{end}"));
                }
            }
        }
    }
    assert!(readers.len() > 30, "the control: {readers:?}");
}

#[test]
fn a_version_of_dagger_counts_wherever_it_is_in_the_text() {
    for text in [
        r#"{"name": "x", "sdk": {"engineVersion": "path:./ev"}}"#,
        "{\"name\": \"x\"\n// \"engineVersion\": \"path:./ev\"\n}",
        r#"{"engineVersion": "v0.18.0", "description": "\"engineVersion\": \"path:./ev\""}"#,
        r#"{"engineVersion": /* */ "v0.18.0"}"#,
    ] {
        assert!(file("dagger.json", text).is_some(), "{text}");
    }
    assert_eq!(file("dagger.json", r#"{"name": "x", "engineVersion" : "v0.18.0"}"#), None, "the control");
}

#[test]
fn what_is_long_takes_no_longer_than_its_length() {
    let start = Instant::now();
    for opening in ["- ", "a ", "? ", "[", "  \"", "\"\" ", "a: "] {
        for header in ["", "x: ", "description: >\n  ", "x:\n"] {
            let long = opening.repeat((1 << 19) / opening.len());
            file(".claude/agents/z.md", &format!("---\n{header}{long}\n---\n"));
            let tagged = format!("---\n{header}{long}\nx: !x\n---\n");
            assert!(file(".claude/agents/z.md", &tagged).is_some(), "{header}");
        }
    }
    let arguments = "args = a\n".repeat(90_000);
    let config = format!("[lfs \"customtransfer.a\"]\n{arguments}path = tools/x\n");
    assert!(references(config.as_bytes()).contains(&Reference::Program("tools/x".into())));
    let numbered = |part: &str, count: usize| -> String {
        (0..count).map(|number| part.replace('#', &number.to_string())).collect()
    };
    for (path, content) in [
        ("compile_flags.txt", "% ".repeat(500_000)),
        (".ccls", "% ".repeat(500_000)),
        (".idea/x.xml", format!("<project><file {}/></project>", numbered("a#=\"\" ", 90_000))),
        (".gitmodules", "[submodule \"a\"]\npath=a\n".repeat(35_000)),
        (".hg/store/journal", "\\\n".repeat(500_000)),
    ] {
        file(path, &content);
    }
    // In the square of it, this would take an hour.
    assert!(start.elapsed() < Duration::from_secs(200), "{:?}", start.elapsed());
}

#[test]
fn the_source_of_a_module_counts_even_if_it_is_empty() {
    for path in [
        "readline.py",
        "_pyrepl/__init__.py",
        "pre_commit.py",
        "pre_commit/__init__.py",
        "venv.py",
        "venv/__init__.py",
        "black.py",
        "ipykernel_launcher.py",
        "ipykernel_launcher/__init__.pyc",
        "orjson.py",
        "_sysconfigdata__linux_x86_64-linux-gnu.py",
    ] {
        assert!(matches!(file(path, ""), Some(Reason::Run { .. })), "{path}: bytecode may stand in for it");
    }
    for path in ["readline.pyc", "readline.so", "_pyrepl/other.py", "readline.md"] {
        assert_eq!(file(path, ""), None, "{path}");
    }
}

#[test]
fn what_no_list_knows_in_the_directory_of_a_program_counts() {
    for path in [
        ".claude/bin/tree", ".claude/skills/x/scripts/y.py", ".junie/memory/x.sh", ".claude/workflows/x.js",
        ".agents/skills/a/bin/git", ".augment/of-tomorrow", ".codex/x.py", ".continue/x", ".cursor/bin/x",
        ".factory/commands/x", ".gemini/sandbox.Dockerfile", ".github/hooks/x.sh", ".idea/x.sh",
        ".kilocode/setup-script", ".roo/tools/x.ts", ".ropeproject/history", ".vibe/agents.py",
        ".vscode/extensions/x/main.js", ".zed/x", ".ssh/known_hosts", ".config/git/credentials",
        ".mvn/wrapper/maven-wrapper.properties", ".idea/caches/build_file_checksums.ser", ".idea/copilot/x",
        ".vscode/browse.vc.db", ".opencode/themes/x.ts", ".mise/tasks/x", ".config/mise/tasks/x",
        "mise/tasks/x", "mise-tasks/x", ".mise-tasks/x",
    ] {
        assert!(matches!(file(path, "evil"), Some(Reason::Run { .. })), "{path}");
        assert_eq!(classify(Path::new(path), EntryType::Link, b""), Some(Reason::NotAFile), "{path}");
    }
    for path in [
        ".claude/agent-memory/x/MEMORY.md",
        ".claude/scheduled_tasks.lock",
        ".claude/skills/x/LICENSE.txt",
        ".claude/worktrees/x/package.json",
        ".clinerules",
        ".cursor/debug.log",
        ".cursor/plans/x.plan.md",
        ".cursor/rules/x.mdc",
        ".devcontainer/Dockerfile",
        ".gemini/worktrees/x/run.sh",
        ".fvm/release",
        ".fvm/version",
        ".fvm/.gitignore",
        ".idea/.gitignore",
        ".idea/.name",
        ".idea/shelf/x/shelved.patch",
        ".junie/memory/tasks.json",
        ".kilo/worktrees/x/.vscode/settings.json",
        ".kiro/specs/x/.config.kiro",
        ".qwen/settings.json.orig",
        ".roo/rules/x.txt",
        ".ropeproject/autoimport.db",
        ".vscode/rust.code-snippets",
        ".settings/org.eclipse.core.resources.prefs",
        ".settings/org.eclipse.m2e.core.prefs",
        ".obsidian/app.json",
        ".obsidian/appearance.json",
        ".obsidian/graph.json",
        ".obsidian/workspace.json",
        ".obsidian/snippets/x.css",
        ".vale/styles/x.yml",
        "filter_plugins/README.md",
        ".ddev/commands/host/launch.example",
        ".ddev/providers/README.txt",
        "module_utils/a/b.md",
    ] {
        assert_eq!(file(path, "text"), None, "{path}");
    }
}

#[test]
fn every_row_is_protected_with_all_that_is_in_it() {
    let protected = Protected::new(&[], &[]).unwrap();
    for (row, path, ..) in examples() {
        let by = protected.matches(Path::new(path)).map(ToString::to_string);
        assert_eq!(by.as_deref(), Some(row), "{path}");
    }
}

#[test]
fn a_link_at_a_row_or_at_a_hidden_directory_above_one_is_suspicious() {
    let link = |path: &str| classify(Path::new(path), EntryType::Link, b"");
    // What these lead to is classified by itself.
    let may_be_one = |path: &str| {
        path.ends_with("compile_commands.json")
            || matches!(path, ".editorconfig" | ".gitattributes")
            || [".flaskenv", ".a.env"].contains(&path)
            || path.starts_with(".env")
                && !path.starts_with(".envrc")
                && ![".env.leave", ".env.local.php"].contains(&path)
    };
    for path in built_in() {
        let path = path.replace('*', "a");
        let expected = (!may_be_one(&path)).then_some(Reason::NotAFile);
        assert_eq!(link(&path), expected, "{path}");
    }
    for path in [".config", ".cargo", ".github", ".yarn"] {
        assert_eq!(link(path), Some(Reason::NotAFile), "{path}");
    }
    for path in ["tools", "mise", "a/tools/bazel", "README.md", ".config/other"] {
        assert_eq!(link(path), None, "{path}");
    }
}

#[test]
fn every_row_says_who_obeys_it_and_where_that_is_written() {
    for row in rows() {
        assert!(!row.program.is_empty() && !row.effect.is_empty(), "{:?}", row.paths);
        let is_read_only = !matches!(row.treatment, Treatment::Writable);
        assert_eq!(is_read_only, !row.source.is_empty(), "{:?}", row.paths);
        assert!(
            !row.program.contains('|') && !row.effect.contains('|'),
            "{:?}: a cell of a table",
            row.paths
        );
    }
    assert!(GROUPS.iter().all(|group| !group.rows.is_empty()));
}

#[test]
fn what_lies_beside_a_row_is_ordinary() {
    for path in [
        "bin/hermit.md", "bin/hermit2", "bin/activate", "hermit", ".github/linters/.markdown-lint.yml",
        ".github/linters/.lintr.md", "src/.lintr", "a/.project", "project", "classpath", ".classpath.md",
        "x.rust-project.json", "hie-bios", "venv/pyvenv.cfg", "venv/bin/python",
        "venv/lib/python3.13/site.py", "venv/bin/activate", "src/pip.py", "pip-tools.py", "build/lib/x.py",
        "src/black.py", "black.toml", "mypy.ini", "mypy.txt", "flake8.cfg", "pylint.rc", "jupyter/x.ipynb",
        "src/conf.json", "lab/x/conf.json", "conf.json.md", "base/index.html.j2", "base/base.html.j2",
        "base/deployment.yaml.j2", "html/index.html.j2", "lab/router.conf.j2", "lab/index.html",
        "latex/cv.tex.j2", "python/Dockerfile.j2", "python/null.py", "script/install.sh.j2",
        "templates/lab/index.html.j2", "index.html.j2", "tests/toxfile.py", "src/.npm-extension.cjs",
    ] {
        assert_eq!(file(path, "evil"), None, "{path}");
    }
}

#[test]
fn what_is_writable_is_not_classified() {
    for listed in listed().filter(|listed| matches!(listed.row.treatment, Treatment::Writable)) {
        assert_eq!(file(listed.path, "evil"), None, "{}", listed.path);
    }
}

#[test]
fn what_uv_takes_for_a_directory_is_no_version_of_python() {
    for content in [
        "envx", "cpython-3.12", "python-3.11", "pypy-3.10", "3.12.1.2.3.4", "3.12.1.2", "99999999999999",
        "256.1", "3.256", "3.+12", "3rc1", "3.12.2rc1", "3.13.0rc99999999999999999999999", "3.12 3.13",
        "3.12 # why", "3.12\u{a0}", "3.12\nenvx",
    ] {
        assert!(file(".python-version", content).is_some(), "{content:?}");
        assert!(file(".python-versions", content).is_some(), "{content:?}");
    }
    for content in [
        "", "# https://example.org/why\n3.12\n", " 3.13.0rc1\r\n\t# why\r\n\t3.12", "3", "3.14b2",
        "cpython3.12", "pypy3.10\n", "pypy@3.10",
    ] {
        assert_eq!(file(".python-version", content), None, "{content:?}");
    }
}

#[test]
fn a_directory_that_looks_like_that_of_git_hides_nothing_from_the_program_around_it() {
    let agent = "---\nname: a\nhooks: {}\n---\n";
    for directory in ["lfs", "ai", "annex", "logs", "patches", "refs/heads", "objects"] {
        for (path, content) in [
            (".opencode/agent/DOTGIT/build.md", "---\npermission:\n  bash: allow\n---\n"),
            (".opencode/command/DOTGIT/x.md", "!`evil`"),
            (".claude/agents/DOTGIT/general-purpose.md", agent),
            (".claude/commands/a/DOTGIT/x.md", agent),
            (".gemini/commands/DOTGIT/x.toml", "prompt = '!{evil}'"),
            (".agents/DOTGIT/index.ts", "evil"),
            (".pi/extensions/DOTGIT/index.ts", "evil"),
            (".idea/DOTGIT/x.iml", "<module><component name='Runs'/></module>"),
        ] {
            let path = path.replace("DOTGIT", &format!(".git/{directory}"));
            assert!(file(&path, content).is_some(), "{path}");
            assert!(concerns(Path::new(&path)), "{path}");
        }
    }
    let hash = "0494aea0494aea0494aea0494aea0494aea04940\n";
    for path in [
        "HEAD",
        "index",
        "packed-refs",
        "refs/heads/main",
        "refs/heads/v1.2",
        "refs/heads/x.ts",
        "refs/heads/x.json",
        "logs/HEAD",
        "objects/pack/pack-0494aea.pack",
        "objects/pack/pack-0494aea.idx",
        "hooks/pre-commit.sample",
        "sharedindex.a494aea0494aea0494aea0494aea0494aea04940",
        "lfs/objects/04/94/0494aea",
        "shallow.lock",
        "gc.pid",
    ] {
        for directory in [".claude/skills/r", ".agents/r", ".codex/worktrees/w", ".claude/worktrees/w"] {
            let path = format!("{directory}/.git/{path}");
            assert_eq!(file(&path, hash), None, "{path}");
        }
    }
    assert_eq!(file(".claude/worktrees/w/.git/lfs/x.md", agent), None);
}

#[test]
fn a_directory_that_a_program_uses_for_its_own_counts_even_if_it_is_empty() {
    let directory = |path: &str| classify(Path::new(path), EntryType::Directory, b"");
    assert!(matches!(directory("$TMPDIR"), Some(Reason::Run { .. })));
    for path in [".claude", ".config/nvim", "TMPDIR", "a/$TMPDIR"] {
        assert_eq!(directory(path), None, "{path}");
    }
}

#[test]
fn a_bare_repository_is_found_among_what_is_harmless() {
    for directory in [".devcontainer", ".claude/worktrees", "somewhere"] {
        let config = format!("{directory}/r/config");
        assert!(file(&config, "[core]\nfsmonitor = evil\n").is_some(), "{config}");
        assert_eq!(file(&config, "[core]\nbare = true\n"), None, "{config}");
        assert_eq!(file(&config, "Host a\n"), None, "{config}");
    }
}

#[test]
fn a_table_of_tools_is_found_however_yaml_writes_it() {
    for tools in [
        "tools:\n  bash: true",
        "tools:\n  bash:\n    true",
        "tools:\n\n  bash: true",
        "tools:\n# why\n  bash:\n    true",
        "tools:\r  bash: true",
        "tools: { bash: true }",
        "tools:\n  {\"bash\":true}",
        "tools:\n  ? bash\n  : true",
        "tools: &a\n  bash: true",
        "metadata: &a\n  bash: true\ntools: *a",
        "metadata: &a\n  bash: true\ntools:\n  *a",
    ] {
        let prompt = format!("---\ndescription: x\n{tools}\n---\nText\n");
        assert!(file(".opencode/agent/build.md", &prompt).is_some(), "{prompt}");
    }
    for tools in [
        "tools: Read, Grep",
        "tools: Bash(git:*), Read",
        "tools: ['read', 'github/*', \"*\"]",
        "tools:\n- read\n- Bash(git:*)\nmodel: opus",
        "tools:\n  [\n    \"read\",\n    \"edit\",\n  ]",
        "tools: Read\nmetadata:\n  bash: true",
    ] {
        let prompt = format!("---\ndescription: x\n{tools}\n---\nText\n");
        assert_eq!(file(".claude/agents/a.md", &prompt), None, "{prompt}");
    }
}

#[test]
fn names_that_ordinary_tools_make_at_the_root_are_known_and_no_others() {
    // npm, pnpm, yarn and frameworks; Python; Java, .NET, Ruby, PHP, Elixir and others; editors and desktops; forges.
    let ordinary = ".npmrc .npmignore .node_modules .pnpm-store .pnpm-debug.log .yarn .yarnrc.yml .pnp.cjs .pnp.loader.mjs .eslintrc.json \
         .eslintcache .prettierrc .prettierignore .babelrc .browserslistrc .next .nuxt .output .svelte-kit .astro .vite .turbo .nx .angular \
         .expo .parcel-cache .storybook .vercel .netlify .wrangler .nyc_output .husky .lintstagedrc .nvmrc .node_repl_history \
         .venv .venv-3.12 .tox .nox .pytest_cache .mypy_cache .ruff_cache .coverage .coverage.host.123.X .hypothesis .ipynb_checkpoints \
         .jupyter_ystore.db .python-version .pdm-build .pdm-python .eggs .pixi .flake8 .pylintrc .isort.cfg .pre-commit-config.yaml \
         .cargo .rustfmt.toml .rustc_info.json .sqlx .golangci.yml .goreleaser.yaml .gradle .kotlin .mvn .flattened-pom.xml .bsp .bloop \
         .config .config/dotnet-tools.json .nuget .bundle .rspec .rubocop.yml .ruby-version .ruby-gemset .kamal .dockerignore .yardoc \
         .phpunit.result.cache .phpunit.cache .php-cs-fixer.cache .env .env.example .styleci.yml .formatter.exs \
         .elixir_ls .dart_tool .metadata .flutter-plugins-dependencies .packages .build .zig-cache .stack-work .terraform \
         .terraform.lock.hcl .terraform.tfstate.lock.info .ansible .vscode .idea .DS_Store ._x .file.txt.swp .#x .x.kate-swp .Trash-1000 \
         .nfs0000 .fuse_hidden000 .goutputstream-ABC .~lock.x.odt# .git .gitattributes .gitmodules .github .gitlab-ci.yml .circleci \
         .editorconfig .mailmap .aider.chat.history.md .aider.tags.cache.v4 .claude .cursorrules .sandboxctl-quarantine";
    for name in ordinary.split_whitespace() {
        assert!(is_known(Path::new(name)), "{name}");
        assert!(is_known(Path::new(&name.to_uppercase())), "{name} in capitals");
    }
    for name in ".foorc .foo.toml .foo .vs .projects .nrepl.edn .graphqlrc.ts .pre-commit .envrcs .config/foo.toml .htaccess \
                 .php-cs-fixer.dist.php .mypy.ini .ansible-lint.toml .checkov.json .local .sops.yaml .ignored .keeper"
        .split_whitespace()
    {
        assert!(!is_known(Path::new(name)), "{name}");
    }
}
