//! Rows of other agents.

use super::content::{ContentRule, FileFormat};
use super::harmless;
use super::row::{FileRules, ProtectRow, RUN, classified, read_only};

/// Work trees that an agent makes for itself: what is in one is looked at as in any repository.
const WORKTREES: (&str, ContentRule) = ("worktrees/*", ContentRule::Harmless);

/// Returns what is in the directory of an agent of which no more is known: hooks and plugins run, settings may name a server,
/// and text passes.
const fn directory(prompts: &'static harmless::Keys) -> [(&'static str, ContentRule); 13] {
    [
        WORKTREES,
        ("hooks/*", ContentRule::Run),
        ("plugin/*", ContentRule::Run),
        ("plugins/*", ContentRule::Run),
        ("memory/*.json", ContentRule::Harmless),
        ("*.md", ContentRule::Prompt(prompts)),
        ("*.mdc", ContentRule::Prompt(prompts)),
        ("*.json", ContentRule::Settings(FileFormat::Json, harmless::NOTHING)),
        ("*.jsonc", ContentRule::Settings(FileFormat::Json, harmless::NOTHING)),
        ("*.toml", ContentRule::Settings(FileFormat::Toml, harmless::NOTHING)),
        ("*.yaml", ContentRule::Settings(FileFormat::Yaml, harmless::NOTHING)),
        ("*.yml", ContentRule::Settings(FileFormat::Yaml, harmless::NOTHING)),
        // Kiro keeps the number of a specification.
        ("**/.config.kiro", ContentRule::Text),
    ]
}

const DIRECTORY: FileRules = &directory(harmless::PROMPT);

const CONTINUE: FileRules = &directory(harmless::PROMPT_OF_CONTINUE);

/// A file of which every setting counts.
const NO_JSON: FileRules = &[("", ContentRule::Settings(FileFormat::Json, harmless::NOTHING))];

const OPENCODE: FileRules = &[
    WORKTREES,
    ("", ContentRule::Opencode(harmless::OPENCODE)),
    ("opencode.json", ContentRule::Opencode(harmless::OPENCODE)),
    ("opencode.jsonc", ContentRule::Opencode(harmless::OPENCODE)),
    ("kilo.json", ContentRule::Opencode(harmless::OPENCODE)),
    ("kilo.jsonc", ContentRule::Opencode(harmless::OPENCODE)),
    ("*.json", ContentRule::Opencode(harmless::NOTHING)),
    ("*.md", ContentRule::Prompt(harmless::PROMPT)),
    ("themes/*.json", ContentRule::Harmless),
];

const OPENCODE_DOCS: &str = "opencode, \"Config\", \"Plugins\" and \"Custom Tools\"";

const OPENCODE_GO: &str = "opencode-ai/opencode, README";

const CLINE: &str = "Cline, \"Hooks\"";

const SERENA: &str = "Serena, src/serena/resources/project.template.yml";

const SERENA_EFFECT: &str = "runs its `activation_command`, language servers that it names, and templates in the files that it names as modes";

const SERENA_FILES: FileRules = &[("", ContentRule::Settings(FileFormat::Yaml, harmless::tools::SERENA))];

const BACKLOG: &str = "Backlog.md, \"Configuration\"";

const BACKLOG_EFFECT: &str =
    "runs what it names when a task changes or is edited; its commands write it, so it stays writable";

const BACKLOG_FILES: FileRules = &[("", ContentRule::Settings(FileFormat::Yaml, harmless::tools::BACKLOG))];

const SKILLS: &str = "takes what skills allow, and runs their scripts";

const SKILL_FILES: FileRules = &[
    ("*.json", ContentRule::Settings(FileFormat::Json, harmless::NOTHING)),
    ("*.md", ContentRule::Prompt(harmless::PROMPT)),
];

#[rustfmt::skip]
pub(super) const ROWS: &[ProtectRow] = &[
    read_only(&["fast-agent.config.yaml", "fast-agent.config.yml", "fast-agent.secrets.yaml",
        "fast-agent.secrets.yml", "fast-agent.yaml", "fast-agent.yml", "fastagent.config.yaml",
        "fastagent.config.yml", "fastagent.secrets.yaml", "fastagent.secrets.yml"], "fast-agent", FAST_AGENT,
        FAST_AGENT_DOCS, RUN),
    read_only(&["mcp-agent.config.yaml", "mcp-agent.secrets.yaml", "mcp_agent.config.yaml",
        "mcp_agent.secrets.yaml", ".mcp-agent"], "mcp-agent", FAST_AGENT,
        "mcp-agent, \"Configuration\"; mcp_agent/config.py, `find_config`", RUN),
    // It keeps its sessions beside these.
    read_only(&[".fast-agent/auths.md", ".fast-agent/fast-agent.*", ".fast-agent/fastagent.*"], "fast-agent",
        FAST_AGENT_HOME, FAST_AGENT_DOCS, RUN),
    read_only(&[".fast-agent/agent-cards", ".fast-agent/plugins", ".fast-agent/tool-cards"], "fast-agent",
        "starts the servers, and loads the Python, that they name", FAST_AGENT_DOCS, RUN),
    read_only(&[".fast-agent/skills"], "fast-agent", SKILLS,
        "fast-agent, \"Agent Skills\"", &[("*.md", ContentRule::Prompt(harmless::PROMPT))]),
    dotenv(&[".env", ".env.local", ".env.*.local", ".env.development", ".env.production", ".env.test",
        ".env.testing", ".env.dev", ".env.prod", ".env.staging", ".env.preview", ".env.ci", ".env.beta",
        ".env.demo", ".env.develop", ".env.docker", ".env.e2e", ".env.localhost", ".env.preprod",
        ".env.qa", ".env.sandbox", ".env.stage", ".env.uat"], DOTENV_EFFECT),
    dotenv(&[".env.dist"], "the same as `.env`, by Symfony where there is no `.env`"),
    dotenv(&[".env.defaults"], "the same as `.env`, by dotenv-flow and dotenv-defaults"),
    dotenv(&[".flaskenv"], "the same as `.env`, by Flask"),
    read_only(&[".env.local.php"], "Symfony", "runs it in the place of `.env`",
        "Symfony, \"Configuring Environment Variables in Production\"", RUN),
    read_only(&[".agents"], "agents that share skills, Codebuff, Droid",
        "runs what their settings name and scripts in `commands`, takes what skills allow, and loads each `.ts` in it",
        "Agent Skills specification; Codebuff, \"Customizing agents\"; Factory, \"Custom Slash Commands\"",
        &[("*.json", ContentRule::Settings(FileFormat::Json, harmless::NOTHING)),
        ("*.toml", ContentRule::Settings(FileFormat::Toml, harmless::NOTHING)),
        ("**/agents/openai.yaml", ContentRule::Settings(FileFormat::Yaml, harmless::SKILL_OF_CODEX)),
        ("*.md", ContentRule::Prompt(harmless::PROMPT))]),
    read_only(
        &[".claude"],
        "Claude Code",
        "runs hooks, helpers, servers and plugins that settings name, and what they allow",
        "Claude Code, \"All settings\", \"Hooks\" and \"Plugins\"; CVE-2025-59536, CVE-2026-21852",
        &[
            WORKTREES,
            ("settings.json", ContentRule::Settings(FileFormat::Json, harmless::CLAUDE)),
            ("settings.local.json", ContentRule::Settings(FileFormat::Json, harmless::CLAUDE)),
            ("scheduled_tasks.lock", ContentRule::Harmless),
            // A directory with one is a plugin, also among skills: its `bin` is searched for programs.


            ("**/.claude-plugin/plugin.json", ContentRule::Run),
            ("**/.lsp.json", ContentRule::Run),
            ("*.json", ContentRule::Settings(FileFormat::Json, harmless::NOTHING)),
            ("*.md", ContentRule::Prompt(harmless::PROMPT)),
        ],
    ),
    read_only(&[".worktreeinclude"], "Claude Code",
        "copies the files that it names, of those that git ignores, to each work tree that it makes, where a hidden one is not hidden",
        "Claude Code, \"Run parallel sessions with worktrees\"", RUN),
    read_only(&[".kimi-code"], "Kimi Code CLI", "starts the servers that `mcp.json` names, and takes more directories from `local.toml`",
        "Kimi Code CLI, \"MCP\"", DIRECTORY),
    read_only(&["reasonix.toml"], "Reasonix", "starts the plugins that it names, takes permissions, and sends keys and prompts to the server that it names",
        "Reasonix, README", &[("", ContentRule::Settings(FileFormat::Toml, harmless::NOTHING))]),
    read_only(&[".reasonix"], "Reasonix", "runs the hooks that `settings.json` names", "Reasonix, internal/hook/hook.go", DIRECTORY),
    read_only(&["config/mcporter.json"], "mcporter", "starts the servers that it names, when started there",
        "mcporter, \"Configuration\"", NO_JSON),
    read_only(&["mcp_servers.json"], "mcp-cli", "starts the servers that it names, when started there",
        "philschmid/mcp-cli, README", NO_JSON),
    classified(&["server_config.json"], "mcp-cli of IBM and chrishayuk",
        "starts the servers that it names, when started there; it stays writable, and is quarantined if it newly has `mcpServers`",
        "chrishayuk/mcp-cli, README", &[("", ContentRule::Settings(FileFormat::Json, harmless::MCP_SERVERS))]),
    read_only(&[".bob"], "IBM Bob", "runs hooks that `settings.json` names, and starts the servers that `mcp.json` names",
        "IBM Bob, \"Lifecycle hooks\" and \"MCP\"", DIRECTORY),
    read_only(&[".cortex/settings.json"], "Snowflake Cortex Code", "runs the hooks that it names",
        "Snowflake, \"Cortex Code CLI extensibility\", Hooks", NO_JSON),
    read_only(&[".commandcode/settings.json", ".commandcode/settings.local.json"], "Command Code",
        "runs the hooks that it names, and takes what it allows", "Command Code, \"Hooks\" and \"Permissions\"", NO_JSON),
    read_only(&[".poolside/settings.yaml", ".poolside/settings.local.yaml"], "Pool of Poolside",
        "runs the hooks and servers that it names, and takes what it allows", "Poolside, \"Settings file reference\"",
        &[("", ContentRule::Settings(FileFormat::Yaml, harmless::NOTHING))]),
    read_only(&[".zcode/config.json"], "ZCode", "starts the servers and runs the hooks that it names", "ZCode, \"MCP Services\"", NO_JSON),
    read_only(&[".mastracode/mcp.json", ".mastracode/hooks.json"], "Mastra Code", "starts the servers and runs the hooks that it names",
        "Mastra Code, \"Configuration\"", NO_JSON),
    read_only(&[".deepagents/.mcp.json", ".deepagents/hooks.json"], "Deep Agents Code",
        "starts the servers and runs the hooks that it names", "deepagents-code, deepagents_code/mcp_tools.py and hooks/loading.py",
        NO_JSON),
    read_only(&[".takt/config.yaml"], "TAKT", "takes what agents and workflows may do", "TAKT, docs/configuration.md",
        &[("", ContentRule::Settings(FileFormat::Yaml, harmless::tools::TAKT))]),
    read_only(&[".pochi/config.jsonc"], "Pochi", "starts the servers that it names, and sends keys and prompts to the server that it names",
        "TabbyML/pochi, packages/common/src/configuration/config-manager.ts", NO_JSON),
    read_only(&[".aider-desk/extensions", ".aider-desk/hooks"], "AiderDesk", "loads each file in it",
        "AiderDesk, \"Extensions\" and \"Hooks\"", RUN),
    read_only(&[".antigravity/settings.json"], "Antigravity", "takes what it allows, and starts the servers that it names",
        "GitHub Agentic Workflows, generateAntigravitySettingsStep", NO_JSON),
    read_only(&[".mcphub/servers.json"], "mcphub.nvim", "starts the servers that it names when Neovim starts there",
        "mcphub.nvim, doc/workspace.md", NO_JSON),
    read_only(&["firebender.json"], "Firebender in Android Studio and IntelliJ", "starts the servers that it names",
        "Firebender, \"Configuration syntax\"", NO_JSON),
    read_only(&[".mcp.json"], "Claude Code, Copilot CLI and others", "starts the servers that it names",
        "Claude Code, \"MCP\"; Model Context Protocol", NO_JSON),
    read_only(&[".codex"], "Codex", "runs hooks, servers, set-up scripts and `notify`, and what rules allow",
        "Codex, \"Config reference\", \"Hooks\" and \"Rules\"; CVE-2025-61260",
        &[("config.toml", ContentRule::Settings(FileFormat::Toml, harmless::CODEX)),
        ("*.toml", ContentRule::Settings(FileFormat::Toml, harmless::NOTHING)),
        ("*.json", ContentRule::Settings(FileFormat::Json, harmless::NOTHING)),
        ("*.md", ContentRule::Prompt(harmless::PROMPT))]),
    read_only(&[".cursor"], "Cursor",
        "starts servers, runs hooks, set-up of worktrees, and what permissions allow",
        "Cursor, \"MCP\", \"Hooks\" and \"Worktrees\"; CVE-2025-54135, CVE-2025-54136", DIRECTORY),
    read_only(
        &[".gemini"],
        "Gemini CLI",
        "runs hooks, servers and `toolDiscoveryCommand`, and takes variables from `.env`",
        "Gemini CLI, \"Configuration\" and \"Trusted Folders\"",
        &[
            WORKTREES,
            ("settings.json", ContentRule::Settings(FileFormat::Json, harmless::GEMINI)),
            ("*.json", ContentRule::Settings(FileFormat::Json, harmless::NOTHING)),
            ("*.toml", ContentRule::Settings(FileFormat::Toml, harmless::GEMINI_COMMAND)),
            // Of Gemini Code Assist, on its machines.


            ("config.yaml", ContentRule::Harmless),
            ("*.md", ContentRule::Prompt(harmless::PROMPT)),
        ],
    ),
    read_only(&[".opencode"], "opencode",
        "loads each plugin and tool in it, and installs its packages, at the start", OPENCODE_DOCS, OPENCODE),
    read_only(&["opencode.json", "opencode.jsonc"], "opencode",
        "runs servers, formatters and plugins that it names", OPENCODE_DOCS, OPENCODE),
    read_only(&[".config/opencode"], "opencode", "the same as `.opencode`, where this is a home directory",
        OPENCODE_DOCS, OPENCODE),
    read_only(&["tui.json", "tui.jsonc"], "opencode", "loads the plugins that it names", OPENCODE_DOCS,
        OPENCODE),
    read_only(&[".opencode.json"], "OpenCode, before it became Crush", "starts the servers that it names",
        OPENCODE_GO, NO_JSON),
    read_only(&[".aider.tags.cache.*"], "aider",
        "loads the pickles in it, of which each may run anything, when it makes its map of the repository",
        "aider, aider/repomap.py; Python library reference, pickle", &[("*", ContentRule::Run)]),
    read_only(&[".aider.conf.yml"], "aider",
        "runs `lint-cmd`, `test-cmd`, `notifications-command` and what `load` names",
        "aider, \"YAML config file\" and \"Options reference\"",
        &[("", ContentRule::Settings(FileFormat::Yaml, harmless::AIDER))]),
    read_only(&[".aider.model.settings.yml"], "aider", "sends keys and prompts to the server that it names",
        "aider, \"Advanced model settings\"",
        &[("", ContentRule::Settings(FileFormat::Yaml, harmless::NOTHING))]),
    read_only(&[".aider.model.metadata.json"], "aider", "takes the provider of a model from it",
        "aider, \"Advanced model settings\"", NO_JSON),
    read_only(&[".serena/project.yml", ".serena/project.local.yml"], "Serena", SERENA_EFFECT, SERENA,
        SERENA_FILES),
    classified(&[".serena/cache"], "Serena before 2.0",
        "loads the pickles in it, of which each may run anything; Serena writes them, so they stay writable, \
         and are quarantined if they are new or have changed",
        "Serena, src/solidlsp/ls.py; Python library reference, pickle",
        &[("*.pkl", ContentRule::Run), ("*", ContentRule::Harmless)]),
    classified(&[".taskmaster/config.json", ".taskmasterconfig"], "Task Master",
        "sends keys and prompts to the server, and starts the agents, that it names; its commands write it, \
         so it stays writable", "Task Master, \"Configuration\"",
        &[("", ContentRule::Settings(FileFormat::Json, harmless::tools::TASK_MASTER))]),
    read_only(&[".playwright/cli.config.json"], "playwright-cli, which agents on the host call",
        "runs the browser, and loads the scripts, that it names", "Playwright CLI, \"Configuration file\"",
        RUN),
    read_only(&["agent-browser.json"], "agent-browser, which agents on the host call",
        "runs the browser that it names", "agent-browser, \"Configuration\"", RUN),
    classified(&["backlog/config.yml", ".backlog/config.yml", "backlog.config.yml"], "Backlog.md",
        BACKLOG_EFFECT, BACKLOG, BACKLOG_FILES),
    read_only(&[".specstory/cli/config.toml"], "SpecStory", "runs the commands that it names",
        "SpecStory, \"CLI configuration\"", RUN),
    read_only(&["repomix.config.*"], "Repomix", "loads it", "Repomix, \"Configuration\"", RUN),
    read_only(&[".github/hooks"], "GitHub Copilot",
        "runs hooks that it names when a session starts, and around each tool",
        "GitHub Copilot, \"Hooks reference\"",
        &[("*.json", ContentRule::Settings(FileFormat::Json, harmless::NOTHING))]),
    read_only(&[".github/agents"], "GitHub Copilot", "starts the servers that an agent brings along",
        "GitHub Copilot, \"Custom agents configuration\"", &[("*.md", ContentRule::Prompt(harmless::PROMPT))]),
    read_only(&[".github/chatmodes"], "VS Code, with GitHub Copilot", "the same as `.github/agents`, as they were called before",
        "VS Code, \"Custom agents\"", &[("*.md", ContentRule::Prompt(harmless::PROMPT))]),
    read_only(&[".github/skills"], "GitHub Copilot", SKILLS, "GitHub Copilot, \"Agent skills\"", SKILL_FILES),
    read_only(&[".gitlab/duo/mcp.json"], "GitLab Duo", "starts the servers that it names",
        "GitLab Duo, \"Model Context Protocol clients\"", NO_JSON),
    read_only(&[".github/mcp.json"], "GitHub Copilot CLI", "starts the servers that it names", MCP, NO_JSON),
    read_only(&[".github/lsp.json", "lsp.json"], "GitHub Copilot CLI",
        "starts language servers that it names", LSP, NO_JSON),
    read_only(&[".github/extensions"], "GitHub Copilot CLI", "runs each `extension.mjs` in it",
        "GitHub Copilot CLI, \"About extensions\"", &[("*", ContentRule::Run)]),
    read_only(&[".github/copilot"], "GitHub Copilot CLI", "runs hooks and plugins that settings name",
        "GitHub Copilot CLI, \"Configuration directory\"",
        &[("*.json", ContentRule::Settings(FileFormat::Json, harmless::NOTHING))]),
    read_only(&[".agent"], "Antigravity, Droid",
        "runs commands of workflows that are marked `// turbo`, without asking, and scripts in `commands`",
        "Antigravity, \"Rules and workflows\"; Factory, \"Custom Slash Commands\"", DIRECTORY),
    read_only(&[".ai/mcp/mcp.json"], "JetBrains AI Assistant", "starts the servers that it names",
        "JetBrains AI Assistant, \"MCP\"", NO_JSON),
    read_only(&[".codebuddy"], "CodeBuddy Code", "runs hooks and servers", "CodeBuddy Code, \"Hooks\"",
        DIRECTORY),
    read_only(&[".iflow"], "iFlow CLI", "the same as `.gemini`", "iFlow CLI, \"Configuration\"", DIRECTORY),
    read_only(&[".qoder"], "Qoder", "runs hooks and servers", "Qoder CLI, \"Hooks\"", DIRECTORY),
    read_only(&[".tabnine"], "Tabnine", "starts servers and runs hooks", "Tabnine CLI, \"Settings\"",
        DIRECTORY),
    read_only(&[".windsurf"], "Windsurf", "runs hooks and servers", "Windsurf, \"Cascade Hooks\"", DIRECTORY),
    read_only(&[".kiro"], "Kiro", "runs hooks, servers and what agents allow",
        "Kiro, \"Hooks\", \"MCP\" and \"Custom agents\"", DIRECTORY),
    read_only(&[".amazonq"], "Amazon Q Developer CLI", "starts servers and runs hooks of agents",
        "Amazon Q Developer, \"MCP configuration\"", DIRECTORY),
    read_only(&[".amp"], "Amp", "starts servers, loads plugins, and takes permissions",
        "Amp, \"Owner's Manual\", settings", DIRECTORY),
    read_only(&[".cline", ".clinerules"], "Cline", "runs each file in `hooks`", CLINE, DIRECTORY),
    read_only(&[".roo"], "Roo Code", "starts the servers that `mcp.json` names", "Roo Code, \"MCP\"",
        DIRECTORY),
    read_only(&[".continue"], "Continue",
        "starts servers that it names, also as tools of an agent, and runs `config.ts`",
        "Continue, \"config.yaml Reference\" and \"Agents\"; extensions/cli, agent files", CONTINUE),
    read_only(&[".continuerc.json"], "Continue", "the same as `.continue`",
        "Continue, \"config.json Reference\"", NO_JSON),
    read_only(&[".crush.json", ".crush/crush.json", "crush.json"], "Crush",
        "runs servers and `$(commands)` that it names", CRUSH, NO_JSON),
    read_only(&[".crushrc", "crushrc"], "Crush", "runs it as a script of Bash", CRUSH,
        &[("", ContentRule::Run)]),
    read_only(&[".crush/skills"], "Crush", SKILLS, "Crush, README, \"Agent Skills\"", SKILL_FILES),
    read_only(&[".qwen"], "Qwen Code", "the same as `.gemini`", "Qwen Code, \"Configuration\"", DIRECTORY),
    read_only(&[".devin"], "Devin CLI", "starts servers, runs hooks, and takes permissions",
        "Devin CLI, \"Configuration\" and \"Hooks\"", DIRECTORY),
    read_only(&[".letta/settings.json", ".letta/settings.local.json"], "Letta Code", LETTA_EFFECT, LETTA,
        NO_JSON),
    read_only(&[".letta/hooks"], "Letta Code", "runs those in it that settings name, which may be those of the home directory",
        LETTA, RUN),
    read_only(&[".letta/mods"], "Letta Code", "loads each file in it at its start, where this is a home directory",
        "Letta Code, \"Mods\"", RUN),
    read_only(&[".mux"], "Mux",
        "runs `init` in a new workspace, and `tool_env`, `tool_pre` and `tool_post` around each tool",
        "Mux, \"Init Hooks\" and \"Tool Hooks\"", DIRECTORY),
    read_only(&[".hermes/plugins"], "Hermes Agent",
        "loads each plugin in it at its start, where `HERMES_ENABLE_PROJECT_PLUGINS` is set",
        "Hermes Agent, hermes_cli/plugins.py", RUN),
    read_only(&[".goose/recipes"], "goose",
        "starts the servers, and runs the checks, of the recipe that is chosen",
        "goose, \"Recipe Reference Guide\" and \"Storing Recipes\"", RUN),
    read_only(&[".goose/skills"], "goose", SKILLS, "goose, \"Agent Skills\"", SKILL_FILES),
    read_only(&[".factory"], "Droid", "runs hooks and servers, and scripts in `commands`, whatever their names are",
        "Factory, \"Hooks\", \"MCP\" and \"Custom Slash Commands\"", DIRECTORY),
    read_only(&[".augment"], "Auggie",
        "runs hooks and servers, and sends prompts and variables to the server that an agent in it names",
        "Augment Code, \"CLI\" and \"Subagents\"", DIRECTORY),
    read_only(&[".grok"], "Grok CLI", "starts the servers that it names", "grok-cli, README", DIRECTORY),
    read_only(&[".kilocode"], "Kilo Code", "starts the servers that it names", KILO, DIRECTORY),
    read_only(&[".kilo"], "Kilo Code", "the same as `.opencode`", KILO, OPENCODE),
    read_only(&["kilo.json", "kilo.jsonc"], "Kilo Code", "the same as `opencode.json`", KILO, OPENCODE),
    read_only(&[".pi"], "pi", "loads extensions and packages, and runs the shell that settings name",
        "pi, \"Settings\" and \"Extensions\"", &[("extensions/*", ContentRule::Run),
        ("git/*", ContentRule::Run), ("npm/*", ContentRule::Run), ("themes/*.json", ContentRule::Harmless),
        ("settings.json", ContentRule::Settings(FileFormat::Json, harmless::PI)),
        ("*.md", ContentRule::Prompt(harmless::PROMPT))]),
    read_only(&[".vibe"], "Mistral Vibe", "loads tools, runs hooks and servers, and takes permissions",
        "Mistral Vibe, README", &[("tools/*", ContentRule::Run),
        ("*.toml", ContentRule::Settings(FileFormat::Toml, harmless::NOTHING)),
        ("*.md", ContentRule::Prompt(harmless::PROMPT))]),
    read_only(&[".openhands"], "OpenHands", "runs `setup.sh`, hooks, and `pre-commit.sh` at each commit",
        "OpenHands, \"Repository Customization\"", &[("hooks/*", ContentRule::Run),
        ("hooks.json", ContentRule::Settings(FileFormat::Json, harmless::NOTHING)),
        ("*.md", ContentRule::Prompt(harmless::PROMPT))]),
    read_only(&["gptme.toml", "gptme.local.toml", ".github/gptme.toml", ".github/gptme.local.toml"], "gptme",
        "runs `context_cmd`, hooks and plugins at its start", GPTME, GPTME_FILES),
    read_only(&[".junie"], "Junie", "starts the servers that it names", "Junie, \"MCP\"", DIRECTORY),
    read_only(&[".trae"], "Trae", "starts the servers that it names", "Trae, \"MCP\"", DIRECTORY),
    read_only(&["codebuff.jsonc"], "Codebuff", "the same as `codebuff.json`, and is taken before it",
        "Codebuff, loadCodebuffConfig", NO_JSON),
    read_only(&["codebuff.json"], "Codebuff", "runs its `startupProcesses` and hooks",
        "Codebuff, \"Configuration\"", &[("", ContentRule::Settings(FileFormat::Json, harmless::NOTHING))]),
    read_only(&["conductor.json"], "Conductor", "runs its scripts when a workspace is made or put away",
        "Conductor, \"Scripts\"", &[("", ContentRule::Settings(FileFormat::Json, harmless::NOTHING))]),
    read_only(&[".superset/config.json"], "Superset, the terminal for agents", "the same as `conductor.json`",
        "superset-sh/superset, loadSetupConfig", NO_JSON),
    read_only(&[".emdash.json"], "Emdash", "the same as `conductor.json`, and before each of its shells", "Emdash, `.emdash.json`", NO_JSON),
    read_only(&["orca.yaml"], "Orca", "the same as `conductor.json`", "Orca, `orca.yaml`",
        &[("", ContentRule::Settings(FileFormat::Yaml, harmless::NOTHING))]),
    read_only(&[".warp"], "Warp", "starts the servers and runs the workflows that it names",
        "Warp, \"MCP\" and \"Workflows\"", RUN),
    read_only(&[".conductor/settings.toml", ".conductor/settings.local.toml"], "Conductor",
        "the same as `conductor.json`", "Conductor, \"Settings\"",
        &[("", ContentRule::Settings(FileFormat::Toml, harmless::NOTHING))]),
    read_only(&["vtcode.toml", ".vtcode/vtcode.toml"], "VT Code", "runs the hooks and servers that it names",
        "VT Code, \"Lifecycle hooks\" and \"MCP integration\"",
        &[("", ContentRule::Settings(FileFormat::Toml, harmless::NOTHING))]),
    read_only(&["trae_config.yaml", "trae_config.json"], "Trae Agent",
        "starts the servers that it names, and sends keys and prompts to the one that it names",
        "bytedance/trae-agent, README", RUN),
    read_only(&["agents.config.json"], "Nanocoder",
        "runs the hooks and servers that it names, takes what it allows, and sends keys, prompts and \
         variables to the server that it names", NANOCODER, NO_JSON),
    read_only(&["nanocoder-preferences.json"], "Nanocoder", "takes from it which directories are trusted",
        NANOCODER, NO_JSON),
    read_only(
        &[".nanocoder"],
        "Nanocoder",
        "loads each plugin in it, and runs tools and hooks",
        "Nanocoder, \"Lifecycle Hooks\", \"Custom Tools\" and \"Skills\"",
        &[
            WORKTREES,
            ("hooks/*", ContentRule::Run),
            ("plugins/*", ContentRule::Run),
            // A tool is text with a script of the shell in it, and a skill may bring some.


            ("skills/*", ContentRule::Run),
            ("tools/*", ContentRule::Run),
            ("*.json", ContentRule::Settings(FileFormat::Json, harmless::NOTHING)),
            ("*.md", ContentRule::Prompt(harmless::PROMPT)),
        ],
    ),
    // The policy itself.
    read_only(&["sandbox.toml"], "sandboxctl", "takes from it what a sandbox may do",
        "[sandbox-toml.md](sandbox-toml.md)", &[("", ContentRule::Policy)]),
];

/// Makes a row of variables for whoever loads them, which people and agents edit all day.
const fn dotenv(paths: &'static [&'static str], effect: &'static str) -> ProtectRow {
    classified(
        paths,
        "agents that load it where they start, such as Qwen Code, Gemini CLI, aider and opencode; frameworks; autoenv and Oh My Zsh's dotenv",
        effect,
        "Qwen Code and Gemini CLI, \"Configuration\"; aider, \"Config with .env\"; Bun, \"Environment variables\"; Flask, \"Environment Variables From dotenv\"",
        &[("", ContentRule::DotEnv)],
    )
}

const DOTENV_EFFECT: &str = "takes variables from it, of which some run programs (`NODE_OPTIONS`, `LD_PRELOAD`), and some say where keys and prompts \
                             are sent (`*_BASE_URL`, `*_PROXY`) or which settings count; it stays writable, and is quarantined if it newly has one \
                             of those. autoenv runs all of it, of which only assignments, `$(…)` and backticks are classified";

const FAST_AGENT: &str = "starts the servers that it names, when started there";

const FAST_AGENT_HOME: &str = "the same as `fast-agent.yaml`; and takes from `auths.md` what it may do";

const FAST_AGENT_DOCS: &str = "fast-agent, \"Configuration Reference\"";

const LETTA: &str = "Letta Code, \"Hooks\"";

const LETTA_EFFECT: &str = "runs the hooks in it";

const NANOCODER: &str = "Nanocoder, \"Configuration\"";

const MCP: &str = "GitHub Copilot CLI, \"Adding MCP servers\"";

const LSP: &str = "GitHub Copilot CLI, \"Adding LSP servers\"";

const KILO: &str = "Kilo Code, \"Using MCP\" and \"Configuration\"";

const GPTME: &str = "gptme, \"Configuration\"";

const GPTME_FILES: FileRules = &[("", ContentRule::Settings(FileFormat::Toml, harmless::NOTHING))];

const CRUSH: &str = "Crush, \"Configuration\"";
