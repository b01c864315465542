//! Each row of the table of protected paths, by an example of what it finds and of what passes.

use std::collections::BTreeSet;
use std::path::Path;

use policy::judge::{Found, Reason, judge};
use policy::protect::Protected;
use policy::protect::table::{GROUPS, Treatment, built_in, rows};

const FILE: Found = Found::File { mode: 0o100_644 };

/// A row's path, a file in it, content that a program would obey, and content that harms nobody.
const EXAMPLES: &[(&str, &str, &str, &str)] = &[
    // Git, and what runs at a commit.
    (".git/branches", ".git/branches/a/b", "../hid", "\n"),
    (".git/commondir", ".git/commondir", "../evil", ""),
    (".git/config", ".git/config", "[core]\npager = evil", "[core]\nbare = false"),
    (".git/config.worktree", ".git/config.worktree", "[core]\npager = evil", "[core]\nbare = false"),
    (".git/hooks", ".git/hooks/pre-commit", "evil", ""),
    (".git/rebase-apply", ".git/rebase-apply/apply-opt", " '--build-fake-ancestor=x'", " '-p1'"),
    (".git/rebase-merge", ".git/rebase-merge/git-rebase-todo", "exec evil", "pick 0494aea"),
    (".git/remotes", ".git/remotes/origin", "URL: ../hid", "\n"),
    (".git/remotes", ".git/modules/name/remotes/refs/x", "URL: ../hid", ""),
    (".git/sequencer", ".git/sequencer/todo", "exec evil", "pick 0494aea"),
    (".config/git", ".config/git/config", "[core]\npager = evil", "[user]\nname = A"),
    (".gitconfig", ".gitconfig", "[core]\npager = evil", "[user]\nname = A"),
    (".gitmodules", ".gitmodules", "[submodule \"s\"]\nupdate = !evil", "[submodule \"s\"]\npath = s"),
    (".gitmodules", ".gitmodules", "[submodule \"s\"]\npath = .vscode/x", "[submodule \"s\"]\npath = tools"),
    (".gitmodules", ".gitmodules", "[submodule \"s\"]\npath = .Git/hooks", "[submodule \"s\"]\npath = .x"),
    (".husky", ".husky/pre-commit", "evil", ""),
    (".husky", ".husky/_/h", "evil", ""),
    (".hg/hgrc", ".hg/hgrc", "[hooks]\nupdate = evil", ""),
    (".hg/hgrc-not-shared", ".hg/hgrc-not-shared", "[hooks]\nupdate = evil", ""),
    (".pre-commit-config.yaml", ".pre-commit-config.yaml", "repos: [{repo: local}]", "\n"),
    ("prek.toml", "prek.toml", "[[repos]]", ""),
    (".overcommit.yml", ".overcommit.yml", "PreCommit:", ""),
    (".lefthook", ".lefthook/pre-commit/evil.sh", "evil", ""),
    (".lefthook-local", ".lefthook-local/pre-commit/evil.sh", "evil", ""),
    ("lefthook.yml", "lefthook.yml", "pre-commit:", ""),
    ("lefthook.yaml", "lefthook.yaml", "pre-commit:", ""),
    ("lefthook.toml", "lefthook.toml", "[pre-commit]", ""),
    ("lefthook.json", "lefthook.json", "{\"pre-commit\": {}}", ""),
    ("lefthook-local.yml", "lefthook-local.yml", "pre-commit:", ""),
    (".lefthook.yml", ".lefthook.yml", "pre-commit:", ""),
    (".lefthook.yaml", ".lefthook.yaml", "pre-commit:", ""),
    (".lefthook.toml", ".lefthook.toml", "[pre-commit]", ""),
    (".lefthook.json", ".lefthook.json", "{\"pre-commit\": {}}", ""),
    (".lefthook-local.yml", ".lefthook-local.yml", "pre-commit:", ""),
    (".git/lazygit.yml", ".git/lazygit.yml", "customCommands:\n  - command: evil", ""),
    (".git/lazygit.yml", ".git/modules/a/lazygit.yml", "git:\n  paging:\n    pager: evil", ""),
    (".git/annex/ssh_config", ".git/annex/ssh_config", "ProxyCommand evil", ""),
    (".git/arc/config", ".git/arc/config", "{\"load\": [\"evil\"]}", ""),
    (".git/arc/config", ".git/worktrees/a/arc/config", "{\"load\": [\"evil\"]}", ""),
    (".git/glab-cli/config.yml", ".git/glab-cli/config.yml", "editor: evil", ""),
    (".git/sl/config", ".git/sl/config", "[hooks]\nupdate = evil", ""),
    (".sl/config", ".sl/config", "[hooks]\nupdate = evil", ""),
    (".hg/sharedpath", ".hg/sharedpath", "/workspace/evil/.hg", ""),
    (".jj/repo/config.toml", ".jj/repo/config.toml", "ui.pager = 'evil'", "[user]\nname = 'A'"),
    (".jj/repo/config.toml", ".jj/repo/config.toml", "[fix.tools.x]\ncommand = ['evil']", ""),
    (
        ".jj/workspace-config.toml",
        ".jj/workspace-config.toml",
        "ui.editor = 'evil'",
        "user.email = 'a@example.org'",
    ),
    (".lazygit.yml", ".lazygit.yml", "os:\n  edit: evil", ""),
    // Shells and what they start.
    (".bash_aliases", ".bash_aliases", "evil", " \n"),
    (".bash_login", ".bash_login", "evil", ""),
    (".bash_logout", ".bash_logout", "evil", ""),
    (".bash_profile", ".bash_profile", "evil", ""),
    (".bashrc", ".bashrc", "evil", ""),
    (".config/fish", ".config/fish/conf.d/a.fish", "evil", ""),
    (".cshrc", ".cshrc", "evil", ""),
    (".kshrc", ".kshrc", "evil", ""),
    (".login", ".login", "evil", ""),
    (".logout", ".logout", "evil", ""),
    (".profile", ".profile", "evil", ""),
    (".tcshrc", ".tcshrc", "evil", ""),
    (".xinitrc", ".xinitrc", "evil", ""),
    (".xprofile", ".xprofile", "evil", ""),
    (".xsession", ".xsession", "evil", ""),
    (".xsessionrc", ".xsessionrc", "evil", ""),
    (".zlogin", ".zlogin", "evil", ""),
    (".zlogout", ".zlogout", "evil", ""),
    (".zprofile", ".zprofile", "evil", ""),
    (".zshenv", ".zshenv", "evil", ""),
    (".zshrc", ".zshrc", "evil", ""),
    (".envrc", ".envrc", "evil", ""),
    (".envrc.local", ".envrc.local", "evil", ""),
    (".autoenv.zsh", ".autoenv.zsh", "evil", ""),
    (".ripgreprc", ".ripgreprc", "--pre=./evil", "--smart-case"),
    (".ssh", ".ssh/config", "Host *\n  ProxyCommand evil", "Host *\n  User me"),
    (".ssh", ".ssh/config", "Match exec \"evil\"", "Host a\n  IdentityFile=x"),
    (".ssh", ".ssh/authorized_keys", "ssh-ed25519 AAAA", ""),
    (".tmux.conf", ".tmux.conf", "run-shell evil", ""),
    (".gdbinit", ".gdbinit", "shell evil", ""),
    (".lldbinit", ".lldbinit", "platform shell evil", ""),
    (".pdbrc", ".pdbrc", "import evil", ""),
    (".perldb", ".perldb", "system 'evil'", ""),
    (".Rprofile", ".Rprofile", "system('evil')", ""),
    (".RData", ".RData", "RDX3", ""),
    (".Renviron", ".Renviron", "R_PROFILE=evil", ""),
    (".irbrc", ".irbrc", "evil", ""),
    ("_irbrc", "_irbrc", "evil", ""),
    (".pryrc", ".pryrc", "evil", ""),
    (".ghci", ".ghci", ":! evil", ""),
    (".ocamlinit", ".ocamlinit", "Sys.command \"evil\"", ""),
    (".iex.exs", ".iex.exs", "evil", ""),
    (".octaverc", ".octaverc", "system evil", ""),
    (".autoenv_leave.zsh", ".autoenv_leave.zsh", "evil", ""),
    (".env.leave", ".env.leave", "evil", ""),
    (".rvmrc", ".rvmrc", "evil", ""),
    (".versions.conf", ".versions.conf", "env-PATH=evil", ""),
    (".ruby-env", ".ruby-env", "RUBYOPT=-r./evil", ""),
    (".rbenv-vars", ".rbenv-vars", "RUBYOPT=-r./evil", ""),
    (".screenrc", ".screenrc", "screen evil", ""),
    (".byebugrc", ".byebugrc", "eval `evil`", ""),
    (".rdbgrc", ".rdbgrc", "eval `evil`", ""),
    (".rdbgrc.rb", ".rdbgrc.rb", "evil", ""),
    (".erlang", ".erlang", "os:cmd(\"evil\").", ""),
    (".shadowenv.d", ".shadowenv.d/500_default.lisp", "(env/prepend-to-pathlist \"PATH\" \"evil\")", ""),
    // Editors.
    (".vscode", ".vscode/settings.json", r#"{"jest.jestCommandLine": "evil"}"#, r#"{"editor.tabSize": 2}"#),
    (
        ".vscode",
        ".vscode/settings.json",
        r#"{"java.jdt.ls.java.home": "./evil"}"#,
        r#"{"files.exclude": {"**/x": true}}"#,
    ),
    (
        ".vscode",
        ".vscode/settings.json",
        r#"{"go.goroot": "./evil"}"#,
        r#"{"[rust]": {"editor.formatOnSave": true}}"#,
    ),
    (
        ".vscode",
        ".vscode/settings.json",
        r#"{"rust-analyzer.cargo.extraEnv": {"RUSTC": "./evil"}}"#,
        r#"{"rust-analyzer.cargo.features": ["a"]}"#,
    ),
    (".vscode", ".vscode/settings.json", r#"{"an.extension.of.tomorrow": "./evil"}"#, "{}"),
    (".vscode", ".vscode/settings.json", r#"{"[python]": {"python.pythonPath": "./evil"}}"#, "{}"),
    (
        ".vscode",
        ".vscode/tasks.json",
        r#"{"tasks": [{"runOptions": {"runOn": "folderOpen"}}]}"#,
        r#"{"tasks": [{"label": "build", "command": "make"}]}"#,
    ),
    (".vscode", ".vscode/mcp.json", r#"{"servers": {"x": {"command": "evil"}}}"#, r#"{"servers": {}}"#),
    (
        ".vscode",
        ".vscode/c_cpp_properties.json",
        r#"{"configurations": [{"compilerPath": "./evil"}]}"#,
        r#"{"configurations": [{"cStandard": "c17"}], "version": 4}"#,
    ),
    (".vscode", ".vscode/of-another-extension.json", r#"{"command": "evil"}"#, "{}"),
    (
        "*.code-workspace",
        "a.code-workspace",
        r#"{"settings": {"git.path": "./evil"}}"#,
        r#"{"folders": [{"path": "."}], "settings": {"editor.tabSize": 2}}"#,
    ),
    (
        "*.code-workspace",
        "A.Code-Workspace",
        r#"{"tasks": {"tasks": [{"runOptions": {"runOn": "folderOpen"}}]}}"#,
        r#"{"folders": []}"#,
    ),
    (
        "*.code-workspace",
        "a.code-workspace",
        r#"{"folders": [{"path": "."}, {"path": "node_modules"}]}"#,
        r#"{"folders": [{"name": "all", "path": "."}]}"#,
    ),
    (
        ".idea",
        ".idea/startup.xml",
        r#"<project><component name="ProjectStartupSharedConfiguration"/></project>"#,
        r#"<project version="4"><component name="ProjectModuleManager"></component></project>"#,
    ),
    (
        ".idea",
        ".idea/of-tomorrow.xml",
        "<project><component\n  name='RunsWhatever'/></project>",
        r#"<?xml version="1.0" encoding="UTF-8"?><module><component name="NewModuleRootManager"/></module>"#,
    ),
    (
        "*.iml",
        "a.iml",
        r#"<module><component name="RunsWhatever"/></module>"#,
        r#"<module type="WEB_MODULE" version="4"><component name="NewModuleRootManager"/></module>"#,
    ),
    (".zed", ".zed/settings.json", r#"{"lsp": {"x": {"binary": {"path": "evil"}}}}"#, r#"{"tab_size": 4}"#),
    (
        ".zed",
        ".zed/settings.json",
        r#"{"languages": {"Rust": {"formatter": {"external": {"command": "evil"}}}}}"#,
        r#"{"languages": {"Rust": {"tab_size": 4, "format_on_save": "on"}}}"#,
    ),
    (".zed", ".zed/tasks.json", r#"[{"hooks": ["create_worktree"]}]"#, r#"[{"label": "a", "command": "b"}]"#),
    (
        ".helix",
        ".helix/languages.toml",
        "[language-server.evil]\ncommand = 'evil'",
        "[[language]]\nname = 'rust'\nauto-format = true",
    ),
    (".helix", ".helix/config.toml", "[editor]\nshell = ['evil']", "theme = 'x'\n[editor]\nrulers = [80]"),
    (".nvim.lua", ".nvim.lua", "os.execute('evil')", ""),
    (".nvimrc", ".nvimrc", "!evil", ""),
    (".exrc", ".exrc", "!evil", ""),
    (".vimrc", ".vimrc", "!evil", ""),
    (".gvimrc", ".gvimrc", "!evil", ""),
    (".lvimrc", ".lvimrc", "!evil", ""),
    (".dir-locals.el", ".dir-locals.el", "((nil . ((eval . (evil)))))", ""),
    (".dir-locals-2.el", ".dir-locals-2.el", "((nil . ((eval . (evil)))))", ""),
    (
        "*.sublime-project",
        "a.sublime-project",
        r#"{"settings": {"LSP": {"x": {"command": ["evil"]}}}}"#,
        r#"{"folders": [{"path": "."}]}"#,
    ),
    (".kateproject", ".kateproject", r#"{"lspclient": {"servers": {}}}"#, r#"{"name": "a"}"#),
    (
        ".devcontainer",
        ".devcontainer/devcontainer.json",
        r#"{"name": "a", "initializeCommand": "evil"}"#,
        r#"{"name": "a", "postCreateCommand": "make"}"#,
    ),
    (
        ".devcontainer",
        ".devcontainer/python/devcontainer.json",
        r#"{"runArgs": ["-v", "/:/host"]}"#,
        r#"{"name": "a", "forwardPorts": [80]}"#,
    ),
    (
        ".devcontainer",
        ".devcontainer/devcontainer.json",
        r#"{"features": {"ghcr.io/devcontainers/features/docker-outside-of-docker:1": {}}}"#,
        r#"{"remoteUser": "vscode"}"#,
    ),
    (".devcontainer", ".devcontainer/devcontainer.json", r#"{"image": "with-metadata-of-evil"}"#, "{}"),
    (
        ".devcontainer.json",
        ".devcontainer.json",
        r#"{"containerEnv": {"A": "${localEnv:SECRET}"}}"#,
        r#"{"containerEnv": {"A": "b"}}"#,
    ),
    (
        ".theia",
        ".theia/tasks.json",
        r#"{"tasks": [{"runOptions": {"runOn": "folderOpen"}}]}"#,
        r#"{"tasks": []}"#,
    ),
    (".fleet", ".fleet/settings.json", r#"{"toolchains": [{"path": "./evil"}]}"#, "{}"),
    (".nova/Configuration.json", ".nova/Configuration.json", r#"{"rust-analyzer.path": "./evil"}"#, "{}"),
    (".externalToolBuilders", ".externalToolBuilders/a.launch", "<launchConfiguration/>", ""),
    (".lazy.lua", ".lazy.lua", "os.execute('evil')", ""),
    (
        ".vim/coc-settings.json",
        ".vim/coc-settings.json",
        r#"{"languageserver": {"x": {"command": "evil"}}}"#,
        r#"{"editor.tabSize": 2}"#,
    ),
    (
        ".neoconf.json",
        ".neoconf.json",
        r#"{"lspconfig": {"rust_analyzer": {"rust-analyzer.check.overrideCommand": ["evil"]}}}"#,
        "{}",
    ),
    (".ycm_extra_conf.py", ".ycm_extra_conf.py", "import evil", ""),
    (
        ".luarc.json",
        ".luarc.json",
        r#"{"runtime.plugin": "evil.lua"}"#,
        r#"{"diagnostics.globals": ["vim"], "runtime.version": "LuaJIT"}"#,
    ),
    (
        ".luarc.json",
        ".luarc.json",
        r#"{"Lua": {"runtime": {"plugin": "evil.lua"}}}"#,
        r#"{"diagnostics": {"globals": ["vim"]}, "workspace": {"library": ["lib"]}}"#,
    ),
    (".luarc.jsonc", ".luarc.jsonc", r#"{"Lua.runtime.plugin": "evil.lua"}"#, "{ // nothing\n }"),
    ("hie.yaml", "hie.yaml", "cradle: {bios: {program: ./evil}}", ""),
    (
        ".bsp",
        ".bsp/a.json",
        r#"{"name": "a", "argv": ["./evil"]}"#,
        r#"{"name": "a", "version": "1", "bspVersion": "2", "languages": ["scala"]}"#,
    ),
    ("buildServer.json", "buildServer.json", r#"{"name": "a", "argv": ["./evil"]}"#, "{}"),
    (
        ".sourcekit-lsp/config.json",
        ".sourcekit-lsp/config.json",
        r#"{"swiftPM": {"extraArguments": ["evil"]}}"#,
        r#"{"swiftPM": {"configuration": "debug"}}"#,
    ),
    (
        "rust-analyzer.toml",
        "rust-analyzer.toml",
        "check.overrideCommand = ['evil']",
        "[inlayHints]\nmaxLength = 20",
    ),
    (".merlin", ".merlin", "S src\nFLG -ppx ./evil", "# sources\nS src\nB _build/**\nPKG lwt"),
    (
        ".solargraph.yml",
        ".solargraph.yml",
        "plugins:\n- ./evil",
        "include:\n- \"**/*.rb\"\nreporters:\n- rubocop",
    ),
    (
        ".phpactor.json",
        ".phpactor.json",
        r#"{"language_server_phpstan.bin": "./evil"}"#,
        r#"{"$schema": "a"}"#,
    ),
    (".phpactor.yml", ".phpactor.yml", "language_server_phpstan.bin: ./evil", ""),
    (".ropeproject", ".ropeproject/config.py", "import evil", ""),
    // Agents.
    (".agents", ".agents/mcp.json", r#"{"mcpServers": {"x": {"command": "evil"}}}"#, r#"{"name": "a"}"#),
    (
        ".claude",
        ".claude/settings.json",
        r#"{"enabledPlugins": {"evil@market": true}}"#,
        r#"{"permissions": {"deny": ["Read(.env)"]}, "model": "x"}"#,
    ),
    (
        ".claude",
        ".claude/settings.local.json",
        r#"{"extraKnownMarketplaces": {}}"#,
        r#"{"outputStyle": "x"}"#,
    ),
    (".claude", ".claude/skills/a/hooks/hooks.json", r#"{"hooks": {}}"#, r#"{"data": [1]}"#),
    (".claude", ".claude/commands/a.md", "!`evil`", "Write tests"),
    (
        ".claude",
        ".claude/agents/a.md",
        "---\nname: a\n\"hooks\" : {}\n---\n",
        "---\nname: a\ndescription: >\n  use: it\n---\nText: more",
    ),
    (
        ".claude",
        ".claude/agents/a.md",
        "---\npermissionMode: bypassPermissions\n",
        "---\r\nname: a\r\n---\r\n",
    ),
    (
        ".mcp.json",
        ".mcp.json",
        r#"{"mcpServers": {"x": {"command": "evil"}}}"#,
        r#"{"mcpServers": {"x": {"type": "http", "url": "https://example.org"}}}"#,
    ),
    (
        ".mcp.json",
        ".mcp.json",
        r#"{"mcpServers": {"x": {"url": "https://example.org/${SECRET}"}}}"#,
        r#"{"mcpServers": {}}"#,
    ),
    (".mcp.json", ".mcp.json", r#"{"mcpServers": {"x/url": {"command": "evil"}}}"#, ""),
    (".codex", ".codex/config.toml", "[mcp_servers.x]\ncommand = 'evil'", "model = 'x'"),
    (".codex", ".codex/environments/environment.toml", "[setup]\nscript = 'evil'", ""),
    (".codex", ".codex/hooks.json", r#"{"hooks": {"SessionStart": []}}"#, "{}"),
    (".codex", ".codex/rules/a.rules", "prefix_rule(['evil'], 'allow')", ""),
    (".cursor", ".cursor/worktrees.json", r#"{"setup-worktree": ["evil"]}"#, "{}"),
    (".cursor", ".cursor/mcp.json", r#"{"mcpServers": {"x": {"command": "evil"}}}"#, "{}"),
    (".cursor", ".cursor/hooks/a.sh", "evil", ""),
    (".gemini", ".gemini/settings.json", r#"{"toolDiscoveryCommand": "evil"}"#, r#"{"theme": "x"}"#),
    (".gemini", ".gemini/.env", "GOOGLE_GEMINI_BASE_URL=evil", ""),
    (".gemini", ".gemini/commands/a.toml", "prompt = 'see !{evil}'", "prompt = 'see `x`'"),
    (".opencode", ".opencode/plugins/evil.ts", "evil", ""),
    (".opencode", ".opencode/tool/evil.js", "evil", ""),
    (".opencode", ".opencode/package.json", r#"{"dependencies": {"evil": "1"}}"#, "{}"),
    (".opencode", ".opencode/command/a.md", "!`evil`", "Write tests"),
    ("opencode.json", "opencode.json", r#"{"mcp": {"x": {"command": ["evil"]}}}"#, r#"{"model": "x"}"#),
    ("opencode.json", "opencode.json", r#"{"plugin": ["./evil.js"]}"#, r#"{"theme": "x"}"#),
    ("opencode.jsonc", "opencode.jsonc", r#"{"formatter": {}}"#, "{ // nothing\n }"),
    (".aider.conf.yml", ".aider.conf.yml", "model: x\nlint-cmd: evil", "model: x\nread:\n- A.md\n  - B.md"),
    (".aider.conf.yml", ".aider.conf.yml", "{lint-cmd: evil}", "# nothing\n"),
    (".aider.conf.yml", ".aider.conf.yml", "model: x\u{2028}lint-cmd: evil", "---\nmodel: x"),
    (".aider.conf.yml", ".aider.conf.yml", "model: x\n--- {lint-cmd: evil}", "vim: true"),
    (".aider.conf.yml", ".aider.conf.yml", "\"lint-cmd\": evil", "dark-mode: true"),
    (".github/hooks", ".github/hooks/a.json", r#"{"version": 1, "hooks": {}}"#, r#"{"version": 1}"#),
    (
        ".github/agents",
        ".github/agents/a.md",
        "---\nname: a\nmcp-servers:\n  x:\n---\n",
        "---\nname: a\n---\nBe nice",
    ),
    (".github/mcp.json", ".github/mcp.json", r#"{"mcpServers": {"x": {"command": "evil"}}}"#, "{}"),
    (".windsurf", ".windsurf/hooks.json", r#"{"hooks": {}}"#, "{}"),
    (".kiro", ".kiro/hooks/a.kiro.hook", "evil", ""),
    (".kiro", ".kiro/settings/mcp.json", r#"{"mcpServers": {"x": {"command": "evil"}}}"#, "{}"),
    (".amazonq", ".amazonq/cli-agents/a.json", r#"{"hooks": {}}"#, "{}"),
    (".amp", ".amp/settings.json", r#"{"amp.mcpServers": {}}"#, "{}"),
    (".amp", ".amp/plugins/evil.ts", "evil", ""),
    (".cline", ".cline/hooks/TaskStart", "evil", ""),
    (".clinerules", ".clinerules/hooks/TaskStart", "evil", ""),
    (".roo", ".roo/mcp.json", r#"{"mcpServers": {"x": {"command": "evil"}}}"#, "{}"),
    (".continue", ".continue/config.ts", "evil", ""),
    (".continue", ".continue/mcpServers/a.yaml", "mcpServers:", "version: 1.0.0"),
    (".continuerc.json", ".continuerc.json", r#"{"slashCommands": []}"#, "{}"),
    (".crush.json", ".crush.json", r#"{"lsp": {"x": {"command": "evil"}}}"#, "{}"),
    ("crush.json", "crush.json", r#"{"mcp": {"x": {"command": "evil"}}}"#, "{}"),
    (".qwen", ".qwen/settings.json", r#"{"hooks": {}}"#, "{}"),
    (".factory", ".factory/mcp.json", r#"{"mcpServers": {"x": {"command": "evil"}}}"#, "{}"),
    (".junie", ".junie/mcp/mcp.json", r#"{"mcpServers": {"x": {"command": "evil"}}}"#, "{}"),
    (".trae", ".trae/mcp.json", r#"{"mcpServers": {"x": {"command": "evil"}}}"#, "{}"),
    ("conductor.json", "conductor.json", r#"{"scripts": {"setup": "evil"}}"#, "{}"),
    (".agents", ".agents/types/evil.ts", "evil", ""),
    (".agents", ".agents/skills/a/scripts/evil.ts", "evil", ""),
    (
        ".agents",
        ".agents/skills/a/SKILL.md",
        "---\nname: a\nallowed-tools: Bash\n---\n",
        "---\nname: a\ndescription: b\n---\n",
    ),
    (".github/lsp.json", ".github/lsp.json", r#"{"lspServers": {"x": {"command": "evil"}}}"#, "{}"),
    ("lsp.json", "lsp.json", r#"{"lspServers": {"x": {"command": "evil"}}}"#, "{}"),
    (".github/extensions", ".github/extensions/a/extension.mjs", "evil", ""),
    (".github/copilot", ".github/copilot/settings.json", r#"{"hooks": {}}"#, "{}"),
    (".augment", ".augment/settings.json", r#"{"hooks": {}}"#, "{}"),
    (".grok", ".grok/settings.json", r#"{"mcpServers": {"x": {"command": "evil"}}}"#, "{}"),
    (".kilocode", ".kilocode/mcp.json", r#"{"mcpServers": {"x": {"command": "evil"}}}"#, "{}"),
    (".kilo", ".kilo/kilo.jsonc", r#"{"mcp": {"x": {"command": ["evil"]}}}"#, r#"{"model": "x"}"#),
    (".kilo", ".kilo/plugin/evil.ts", "evil", ""),
    ("kilo.json", "kilo.json", r#"{"mcp": {"x": {"command": ["evil"]}}}"#, "{}"),
    ("kilo.jsonc", "kilo.jsonc", r#"{"plugin": ["./evil.js"]}"#, "{}"),
    (".pi", ".pi/extensions/evil.ts", "evil", ""),
    (".pi", ".pi/settings.json", r#"{"shellPath": "./evil"}"#, r#"{"defaultModel": "x", "theme": "dark"}"#),
    (".vibe", ".vibe/tools/evil.py", "evil", ""),
    (".vibe", ".vibe/hooks.toml", "[[hooks]]\ncommand = 'evil'", ""),
    (".openhands", ".openhands/setup.sh", "evil", ""),
    (".openhands", ".openhands/hooks.json", r#"{"SessionStart": []}"#, "{}"),
    ("gptme.toml", "gptme.toml", "context_cmd = 'evil'", "files = ['README.md']\nprompt = 'Be nice'"),
    ("gptme.local.toml", "gptme.local.toml", "[plugins]\npaths = ['evil']", ""),
    // Tools for building and versions.
    ("mise.toml", "mise.toml", "[hooks]\nenter = 'evil'", "[tools]\nnode = '22'\npython = ['3.12']"),
    ("mise.toml", "mise.toml", "[tools]\nnode = 'path:./evil'", "min_version = '2024.1'"),
    ("mise.toml", "mise.toml", "[tools]\n'ubi:evil/evil' = '1'", ""),
    ("mise.*.toml", "mise.local.toml", "[env]\nPATH = 'evil'", ""),
    ("mise.*.toml", "mise.linux.local.toml", "[env]\nPATH = 'evil'", "[tools]\nnode = '22'"),
    (".mise.toml", ".mise.toml", "[env]\nPATH = 'evil'", ""),
    (".mise.*.toml", ".mise.local.toml", "[env]\nPATH = 'evil'", ""),
    (".mise.*.toml", ".MISE.production.toml", "[env]\nPATH = 'evil'", ""),
    (".miserc.toml", ".miserc.toml", "env = ['evil']", ""),
    (".rtx.local.toml", ".rtx.local.toml", "[env]\nPATH = 'evil'", ""),
    (".rtx.toml", ".rtx.toml", "[env]\nPATH = 'evil'", ""),
    (".mise", ".mise/config.toml", "[env]\nPATH = 'evil'", ""),
    ("mise/config.toml", "mise/config.toml", "[env]\nPATH = 'evil'", ""),
    ("mise/config.local.toml", "mise/config.local.toml", "[env]\nPATH = 'evil'", ""),
    (".config/mise.local.toml", ".config/mise.local.toml", "[env]\nPATH = 'evil'", ""),
    (".config/mise.toml", ".config/mise.toml", "[env]\nPATH = 'evil'", ""),
    (".config/mise", ".config/mise/config.toml", "[env]\nPATH = 'evil'", ""),
    (".tool-versions", ".tool-versions", "nodejs path:./evil", "nodejs 22.1.0 # lts\npython 3.12"),
    (".python-version", ".python-version", "./evil/python", "3.12.1\n"),
    ("lefthook.yml", "lefthook.yml", "pre-commit: {}", ""),
    ("lefthook.yaml", "lefthook.yaml", "pre-commit: {}", ""),
    ("lefthook.toml", "lefthook.toml", "pre-commit: {}", ""),
    ("lefthook.json", "lefthook.json", "pre-commit: {}", ""),
    ("lefthook.jsonc", "lefthook.jsonc", "pre-commit: {}", ""),
    (".lefthook.yml", ".lefthook.yml", "pre-commit: {}", ""),
    (".lefthook.yaml", ".lefthook.yaml", "pre-commit: {}", ""),
    (".lefthook.toml", ".lefthook.toml", "pre-commit: {}", ""),
    (".lefthook.json", ".lefthook.json", "pre-commit: {}", ""),
    (".lefthook.jsonc", ".lefthook.jsonc", "pre-commit: {}", ""),
    (".config/lefthook.yml", ".config/lefthook.yml", "pre-commit: {}", ""),
    (".config/lefthook.yaml", ".config/lefthook.yaml", "pre-commit: {}", ""),
    (".config/lefthook.toml", ".config/lefthook.toml", "pre-commit: {}", ""),
    (".config/lefthook.json", ".config/lefthook.json", "pre-commit: {}", ""),
    (".config/lefthook.jsonc", ".config/lefthook.jsonc", "pre-commit: {}", ""),
    ("lefthook-local.yml", "lefthook-local.yml", "pre-commit: {}", ""),
    ("lefthook-local.yaml", "lefthook-local.yaml", "pre-commit: {}", ""),
    ("lefthook-local.toml", "lefthook-local.toml", "pre-commit: {}", ""),
    ("lefthook-local.json", "lefthook-local.json", "pre-commit: {}", ""),
    ("lefthook-local.jsonc", "lefthook-local.jsonc", "pre-commit: {}", ""),
    (".lefthook-local.yml", ".lefthook-local.yml", "pre-commit: {}", ""),
    (".lefthook-local.yaml", ".lefthook-local.yaml", "pre-commit: {}", ""),
    (".lefthook-local.toml", ".lefthook-local.toml", "pre-commit: {}", ""),
    (".lefthook-local.json", ".lefthook-local.json", "pre-commit: {}", ""),
    (".lefthook-local.jsonc", ".lefthook-local.jsonc", "pre-commit: {}", ""),
    (".config/lefthook-local.yml", ".config/lefthook-local.yml", "pre-commit: {}", ""),
    (".config/lefthook-local.yaml", ".config/lefthook-local.yaml", "pre-commit: {}", ""),
    (".config/lefthook-local.toml", ".config/lefthook-local.toml", "pre-commit: {}", ""),
    (".config/lefthook-local.json", ".config/lefthook-local.json", "pre-commit: {}", ""),
    (".config/lefthook-local.jsonc", ".config/lefthook-local.jsonc", "pre-commit: {}", ""),
    (".pre-commit-config.yml", ".pre-commit-config.yml", "repos: []", ""),
    ("pre_commit", "pre_commit/__main__.py", "import os", ""),
    ("pre_commit.py", "pre_commit.py", "import os", ""),
    (".gitlint", ".gitlint", "[general]\nextra-path=lints\n", ""),
    (".hgsub", ".hgsub", "sub = sub\n", ""),
    ("tui.json", "tui.json", "{\"plugin\":[\"./x.js\"]}", "{\"$schema\":\"https://opencode.ai/tui.json\"}"),
    ("tui.jsonc", "tui.jsonc", "{\"plugin\":[\"./x.js\"]}", "{}"),
    (".python-version", ".python-version", "envx\n", "pypy3.10\n"),
    (".python-version", ".python-version", "3.12x\n", "cpython@3.12\n"),
    (".corepack.env", ".corepack.env", "COREPACK_HOME=/workspace/pm\n", ""),
    (".jedi", ".jedi/project.json", "[1, {}]", ""),
    (
        "pyrefly.toml",
        "pyrefly.toml",
        "python-interpreter-path = \"ev/bin/python\"\n",
        "project-includes = [\"src\"]\npython-version = \"3.12\"\n",
    ),
    (".qwen", ".qwen/settings.json", "{\"mcpServers\":{\"x\":{\"url\":\"http://a/$KEY\"}}}", "{}"),
    (
        ".opencode",
        ".opencode/agent/build.md",
        "---\ntools:\n  bash: true\n---\n",
        "---\ndescription: x\n---\n",
    ),
    (
        ".opencode",
        ".opencode/agent/build.md",
        "---\ntools: { bash: true }\n---\n",
        "---\ntools: Read, Grep\n---\n",
    ),
    (".claude", ".claude/skills/x/.claude-plugin/plugin.json", "{\"name\":\"x\"}", ""),
    (
        ".claude",
        ".claude/skills/x/.mcp.json",
        "{\"srv\":{\"type\":\"http\",\"headersHelper\":\"id\"}}",
        "{\"mcpServers\":{\"a\":{\"type\":\"http\",\"url\":\"https://example.org\"}}}",
    ),
    (".claude", ".claude/settings.json", "{\"cleanupPeriodDays\":1}", "{\"model\":\"sonnet\"}"),
    (".crush/crush.json", ".crush/crush.json", "{\"mcp\":{\"x\":{\"command\":\"sh\"}}}", "{}"),
    (".crushrc", ".crushrc", "id", ""),
    ("crushrc", "crushrc", "id", ""),
    (".pdm-python", ".pdm-python", "/workspace/evil", ""),
    (
        "rust-toolchain.toml",
        "rust-toolchain.toml",
        "[toolchain]\npath = './evil'",
        "[toolchain]\nchannel = '1.95'",
    ),
    ("rust-toolchain", "rust-toolchain", "[toolchain]\npath = './evil'", "nightly-2026-01-01\n"),
    (".cargo/config.toml", ".cargo/config.toml", "[build]\nrustc-wrapper = './evil'", "[net]\nretry = 3"),
    (".cargo/config.toml", ".cargo/config.toml", "[target.x]\nrunner = './evil'", "[build]\njobs = 2"),
    (".cargo/config.toml", ".cargo/config.toml", "[alias]\nb = ['run']", "[profile.dev]\ndebug = 0"),
    (".cargo/config", ".cargo/config", "[env]\nRUSTC = './evil'", ""),
    (".npmrc", ".npmrc", "save-exact=true\nscript-shell=./evil", "save-exact=true\n; nothing\naudit = false"),
    (".npmrc", ".npmrc", "registry=https://evil.example", "fund=false"),
    (".yarnrc.yml", ".yarnrc.yml", "nodeLinker: pnp\nyarnPath: ./evil.cjs", "nodeLinker: node-modules\n"),
    (".yarnrc", ".yarnrc", "yarn-path \"./evil\"", ""),
    (".yarn/releases", ".yarn/releases/yarn-4.cjs", "evil", ""),
    (".yarn/plugins", ".yarn/plugins/@yarnpkg/plugin-evil.cjs", "evil", ""),
    (".pnpmfile.cjs", ".pnpmfile.cjs", "evil", ""),
    (".pnpmfile.mjs", ".pnpmfile.mjs", "evil", ""),
    ("pnpmfile.js", "pnpmfile.js", "evil", ""),
    (
        "pnpm-workspace.yaml",
        "pnpm-workspace.yaml",
        "packages:\n- a\nscriptShell: ./evil",
        "packages:\n  - 'packages/*'\ncatalog:\n  react: ^19.0.0\n",
    ),
    (
        "pnpm-workspace.yaml",
        "pnpm-workspace.yaml",
        "nodeOptions: --require=./evil.js",
        "overrides:\n  a: 1.0.0",
    ),
    ("bunfig.toml", "bunfig.toml", "preload = ['./evil.ts']", "[install]\nexact = true"),
    ("uv.toml", "uv.toml", "index-url = 'https://evil.example'", "offline = true"),
    (".mvn", ".mvn/extensions.xml", "<extensions>", ""),
    (".mvn", ".mvn/jvm.config", "-javaagent:evil", ""),
    (".bazelrc", ".bazelrc", "run --run_under=evil", ""),
    (".bazeliskrc", ".bazeliskrc", "BAZELISK_BASE_URL=https://evil.example", ""),
    ("tools/bazel", "tools/bazel", "evil", ""),
    ("ansible.cfg", "ansible.cfg", "[defaults]\ncallback_plugins = ./evil", "[defaults]\nforks = 5"),
    (".terraformrc", ".terraformrc", "provider_installation {}", ""),
    (".python-versions", ".python-versions", "path:./evil", "3.12 3.13"),
    (".nvmrc", ".nvmrc", "path:./evil", "lts/*\n"),
    (".nvmrc", ".nvmrc", "lts/../../evil", "lts/iron"),
    (".node-version", ".node-version", "path:./evil", "v22.1.0\n"),
    (".java-version", ".java-version", "path:./evil", "temurin-21.0.4+7"),
    (".ruby-version", ".ruby-version", "../../evil", "ruby-3.3.0@project"),
    (".go-version", ".go-version", "path:./evil", "1.23.1"),
    (".bun-version", ".bun-version", "path:./evil", "1.2.0"),
    (".deno-version", ".deno-version", "path:./evil", "2.1.0"),
    (".swift-version", ".swift-version", "path:./evil", "6.0.2"),
    (".zig-version", ".zig-version", "path:./evil", "0.14.0"),
    (".terraform-version", ".terraform-version", "path:./evil", "1.9.0"),
    (".sdkmanrc", ".sdkmanrc", "java=../../../../workspace/evil", "# enable\njava=21.0.4-tem"),
    (
        ".prototools",
        ".prototools",
        "[plugins]\nnode = 'source:./evil.wasm'",
        "node = '22.1.0'\nnpm = 'bundled'",
    ),
    (".asdfrc", ".asdfrc", "pre_install_nodejs = evil", ""),
    (
        "global.json",
        "global.json",
        r#"{"sdk": {"paths": ["./evil"]}}"#,
        r#"{"sdk": {"version": "10.0.100", "rollForward": "latestFeature"}}"#,
    ),
    ("lean-toolchain", "lean-toolchain", "evil/lean4:v4.9.0", "leanprover/lean4:v4.9.0\n"),
    (".yarn/sdks", ".yarn/sdks/eslint/bin/eslint.js", "evil", ""),
    (".bazelversion", ".bazelversion", "evil/7.0.0", "8.0.0\n"),
];

fn file(path: &str, content: &str) -> Option<Reason> {
    judge(Path::new(path), FILE, content.as_bytes())
}

#[test]
fn every_row_finds_what_it_is_for_and_lets_the_harmless_pass() {
    let mut shown = BTreeSet::new();
    for (row, path, dangerous, harmless) in EXAMPLES {
        assert!(file(path, dangerous).is_some(), "{path}: {dangerous}");
        // Of two, whatever they hold counts, and a policy is told of in any case.
        if ![".git/commondir", ".git/hooks"].contains(row) {
            assert_eq!(file(path, harmless), None, "{path}: {harmless}");
        }
        // A repository may lie anywhere, and be called anything.
        if !path.starts_with(".git") && !path.ends_with("/config") {
            let nowhere = format!("somewhere/else/{path}");
            assert_eq!(file(&nowhere, dangerous), None, "{nowhere}: no program looks there");
        }
        shown.insert(*row);
    }
    shown.insert("sandbox.toml");
    // Where it leads counts, which its content alone does not say.
    shown.insert(".git/objects/info/alternates");
    let all: BTreeSet<&str> = built_in().collect();
    assert_eq!(shown, all, "each row has an example");
}

#[test]
fn every_row_is_protected_with_all_that_is_in_it() {
    let protected = Protected::new(&[], &[]).unwrap();
    for (row, path, ..) in EXAMPLES {
        let by = protected.matches(Path::new(path)).map(ToString::to_string);
        assert_eq!(by.as_deref(), Some(*row), "{path}");
    }
}

#[test]
fn a_link_at_a_row_or_at_a_hidden_directory_above_one_is_suspicious() {
    let link = |path: &str| judge(Path::new(path), Found::Link, b"");
    for path in built_in() {
        let path = path.replace('*', "a");
        assert_eq!(link(&path), Some(Reason::NotAFile), "{path}");
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
        assert!(!row.program.is_empty() && !row.effect.is_empty(), "{}", row.path);
        let is_read_only = matches!(row.treatment, Treatment::ReadOnly(_));
        assert_eq!(is_read_only, !row.source.is_empty(), "{}", row.path);
        assert!(!row.program.contains('|') && !row.effect.contains('|'), "{}: a cell of a table", row.path);
    }
    assert!(GROUPS.iter().all(|group| !group.rows.is_empty()));
}

#[test]
fn what_is_writable_is_not_judged() {
    for row in rows().filter(|row| matches!(row.treatment, Treatment::Writable)) {
        assert_eq!(file(row.path, "evil"), None, "{}", row.path);
    }
}
