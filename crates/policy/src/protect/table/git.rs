//! Rows of git, and of what people let it run at a commit.

use super::content::{ContentRule, FileFormat};
use super::harmless;
use super::row::{EXISTS, FileRules, NewFiles, ProtectRow, RUN, Treatment, classified, read_only};

/// What lies in `.git` is classified by its place, wherever a repository keeps its data: see `classify/git.rs`.
const BY_PLACE: FileRules = &[];

const HOOKS: &str = "githooks(5), gitrepository-layout(5)";

const LAYOUT: &str = "gitrepository-layout(5)";

const HG: &str = "hgrc(5)";

const HG_EFFECT: &str = "runs hooks, aliases, extensions and editors that it names";

const SL: &str = "Sapling, \"Configuration\"";

const JJ: &str = "Jujutsu, \"Settings\" and \"Secure config\"";

const JJ_EFFECT: &str =
    "runs editors, pagers, signers and fix tools that it names, and once takes it over as yours";

const JJ_AT_HOME: &str = "runs what `.jj/repo/config.toml` may name, where this is a home directory";

const JJ_FILES: FileRules = &[("", ContentRule::Settings(FileFormat::Toml, harmless::JJ))];

const LAZYGIT: &str = "lazygit, \"User Config\"";

const LAZYGIT_EFFECT: &str = "runs pagers, editors and custom commands that it names";

const GITGUARDIAN: &str = "sends its key, and what is committed, to the server that it names";

const GIT_TOWN: &str = "Git Town, \"Configuration file\", \"browser\" and \"origin-hostname\"";

const GIT_TOWN_EFFECT: &str =
    "runs the browser that it names, to show a page, and sends its token to the server that it names";

const GIT_TOWN_FILES: FileRules = &[("", ContentRule::Settings(FileFormat::Toml, harmless::tools::GIT_TOWN))];

#[rustfmt::skip]
pub(super) const ROWS: &[ProtectRow] = &[
    classified(&[".git/ai/git_hooks_state.json"], "git-ai before 1.4, in the place of git",
        "runs the hooks in the directory that it names; it stays writable, and is quarantined if it newly names one",
        "git-ai, src/commands/git_hook_handlers.rs",
        &[("", ContentRule::Settings(FileFormat::Json, harmless::tools::GIT_AI))]),
    classified(&[".git/entire-sessions"], "Entire, in its hooks of git",
        "records the transcript and the files that it names in a branch, which the next command reads; its hooks write it, so it stays \
         writable, and is quarantined if a path is none of a transcript, or of the work tree",
        "Entire, cmd/entire/cli/session/state.go and strategy",
        &[("*.json", ContentRule::EntireSession), ("*", ContentRule::Harmless)]),
    classified(&[".git/annex/journal/remote.log"], "git-annex",
        "runs the program of each special remote, which may be a path in the work tree; it stays writable, \
         and is quarantined if one is", "git-annex, \"internals\" and \"external special remote protocol\"",
        &[("", ContentRule::AnnexRemotes)]),
    read_only(&[".git/annex/ssh_config"], "git-annex",
        "has ssh take settings from it, of which some run programs",
        "git-annex, \"internals\"; ssh_config(5)", RUN),
    read_only(&[".git/arc/config"], "Arcanist", "loads the libraries that it names",
        "Arcanist, \"Configuration\"", RUN),
    read_only(&[".git/branches"], "git", "the same as `.git/remotes`, older still", LAYOUT, BY_PLACE),
    read_only(&[".git/branchless/config"], "git, by git-branchless",
        "runs what `.git/config` may name: `git branchless init` includes it, and keeps what it has",
        "git-branchless, git-branchless-init/src/lib.rs, create_isolated_config", RUN),
    read_only(&[".git/commondir"], "git", "reads hooks and configuration somewhere else", HOOKS, BY_PLACE),
    read_only(&[".git/config"], "git", "runs pagers, filters, helpers and monitors that it names",
        "git-config(1)", BY_PLACE),
    read_only(&[".git/config.worktree"], "git", "the same, for one worktree", "git-worktree(1)", BY_PLACE),
    read_only(&[".git/crypt"], "git, by transcrypt", "runs the filter in it", "transcrypt, README", RUN),
    read_only(&[".git/git-crypt"], "git, by git-crypt", "encrypts with the keys in it, which somebody else may know",
        "git-crypt, \"Using git-crypt\"; commands.cpp, get_internal_keys_path", RUN),
    read_only(&[".git/gitweb"], "git instaweb",
        "runs the scripts in it, and loads the configuration of the server",
        "git-instaweb(1), gitweb.conf(5)", &[("pid", ContentRule::Harmless), ("*", ContentRule::Run)]),
    read_only(&[".git/gptcommit.toml"], "gptcommit, by its hook at a commit", "sends the key and the changes to the server that it names",
        "gptcommit, README", RUN),
    classified(&[".git/opencode"], "opencode",
        "keeps its snapshots, of all files, in a directory by this name; it stays writable, and is quarantined if it is no number of a \
         commit", "opencode, packages/opencode/src/project and snapshot", &[("", ContentRule::ObjectId(&["global"]))]),
    classified(&[".git/.graphite_repo_config"], "gt of Graphite",
        "fetches from, pushes to and asks about the remote, branches and repository that it names; its commands write it, so it stays \
         writable, and is quarantined if one is no plain name", "Graphite CLI, `gt init` and `gt config`",
        &[("", ContentRule::Settings(FileFormat::Json, harmless::tools::GRAPHITE))]),
    classified(&[".git/gitbutler/virtual_branches.toml"], "GitButler",
        "fetches from and pushes to the remote that it names; GitButler writes it, so it stays writable, and is quarantined if that is no \
         plain name", "GitButler, crates/gitbutler-git/src/repository.rs",
        &[("", ContentRule::Settings(FileFormat::Toml, harmless::tools::GITBUTLER))]),
    read_only(&[".git/glab-cli/config.yml"], "glab", "runs the editor, pager and browser that it names",
        "glab, \"Configuration\"", RUN),
    read_only(&[".git/hooks"], "git", "runs them at commits, checkouts, merges and pushes", HOOKS, BY_PLACE),
    read_only(&[".git/ai/hooks"], "git, by git-ai before 1.4", "runs them as git runs its own",
        "git-ai, src/commands/git_hook_handlers.rs", RUN),
    read_only(&[".git/objects/info/alternates"], "git", "takes objects from the directories that it names",
        LAYOUT, BY_PLACE),
    read_only(&[".git/lazygit.yml", ".config/lazygit", ".lazygit.yml"], "lazygit", LAZYGIT_EFFECT, LAZYGIT,
        RUN),
    read_only(&[".git/info/lefthook-remotes"], "lefthook",
        "runs what the files there say that its configuration names", LEFTHOOK_REMOTES, RUN),
    read_only(&[".git/rebase-apply"], "git", "goes on with it at `git am --continue`", "git-am(1)", BY_PLACE),
    read_only(&[".git/rebase-merge"], "git", "runs the commands in its list at `git rebase --continue`",
        "git-rebase(1)", BY_PLACE),
    read_only(&[".git/remotes"], "git",
        "fetches from and pushes to the repositories that they name, whose hooks run", LAYOUT, BY_PLACE),
    read_only(&[".git/sl/config", ".sl/config"], "Sapling", HG_EFFECT, SL, RUN),
    classified(&[".git/sl/config-git-repo", ".git/sl/config-git-user"], "Sapling",
        "the same as `.git/sl/config`; Sapling writes them, so they stay writable, and are quarantined if they newly have more than a user",
        "Sapling, lib/gitcompat/src/init.rs and config.rs",
        &[("", ContentRule::Settings(FileFormat::Ini, harmless::tools::SAPLING_OF_GIT))]),
    read_only(&[".git/sl/sharedpath", ".sl/sharedpath"], "Sapling", "reads `config` somewhere else", SL, RUN),
    read_only(&[".git/sequencer"], "git", "goes on with it at `--continue`", "git-cherry-pick(1)", BY_PLACE),
    read_only(&[".git/svn/.caches"], "git-svn",
        "takes objects of Perl from the files in it (Storable, YAML), of which some remove files; without \
         it, git-svn makes it again",
        "git-svn(1), `memoize_svn_mergeinfo_functions` of Git::SVN; Storable(3pm), \"SECURITY WARNING\"",
        RUN),
    read_only(
        &[".config/git"],
        "git",
        "the same as `.git/config`, and takes credentials, where this is a home directory",
        "git-config(1), git-credential-store(1)",
        &[
            ("config", ContentRule::GitConfig),
            // As any such file of a repository.


            ("attributes", ContentRule::Harmless),
            ("ignore", ContentRule::Harmless),
        ],
    ),
    classified(&[".git/info/attributes"], "git",
        "runs the filter, `textconv` or merge driver of your configuration on the files that it names; it \
         stays writable, and is quarantined if it names another one than before", "gitattributes(5)",
        &[("", ContentRule::GitDrivers)]),
    classified(&[".gitattributes"], "git-annex",
        "runs the program of the backend of a file (`annex.backend`), which may be a path in the work tree; \
         it stays writable, and is quarantined if one is",
        "git-annex, \"external backends\"; gitattributes(5)", &[("", ContentRule::GitAttributes)]),
    read_only(&[".gitconfig"], "git", "the same as `.git/config`, where this is a home directory",
        "git-config(1)", &[("", ContentRule::GitConfig)]),
    read_only(&[".gitguardian", ".gitguardian.yaml", ".gitguardian.yml"], "ggshield", GITGUARDIAN,
        "ggshield, \"Configuration\"", RUN),
    read_only(&[".hg/hgrc", ".hg/hgrc-not-shared"], "Mercurial", HG_EFFECT, HG, RUN),
    read_only(&[".hgrc", ".config/hg"], "Mercurial", "the same as `.hg/hgrc`, where this is a home directory",
        HG, RUN),
    read_only(&[".hgsub"], "Mercurial", "enters the repositories that it names", "hg(1), subrepos", RUN),
    read_only(&[".hg/sharedpath"], "Mercurial", "reads `hgrc` and hooks somewhere else", "hg(1), share", RUN),
    read_only(&[".jj/repo/store/git_target"], "Jujutsu",
        "takes objects and remotes from the repository of git that it names",
        "Jujutsu, \"Git compatibility\"", &[("", ContentRule::Content(&["git", "../../../.git"]))]),
    read_only(&[".jj/repo/config.toml", ".jj/workspace-config.toml"], "Jujutsu", JJ_EFFECT, JJ, JJ_FILES),
    read_only(&[".jjconfig.toml"], "Jujutsu", JJ_AT_HOME, JJ, JJ_FILES),
    read_only(&[".config/jj"], "Jujutsu", JJ_AT_HOME, JJ,
        &[("*.toml", ContentRule::Settings(FileFormat::Toml, harmless::JJ))]),
    ProtectRow {
        paths: &[".jj/repo"],
        program: "Jujutsu",
        effect: "takes configuration and objects from the repository that it names, where it is a file",
        source: "Jujutsu, \"jj workspace\"",
        treatment: Treatment::ReadOnlyFile(NewFiles(&[("", ContentRule::Run), ("*", ContentRule::Harmless)])),
    },
    read_only(&["_darcs/prefs/defaults"], "darcs", "runs hooks that it names", "darcs, \"defaults\"", RUN),
    read_only(&["_darcs/prefs/prefs"], "darcs",
        "runs its `test` at `darcs test`, and its `predist` at `darcs dist`", "darcs, \"setpref\"", RUN),
    read_only(&[".pijul/config"], "Pijul", "runs hooks that it names", "Pijul, \"Configuration\"", RUN),
    read_only(&["CVS/Root"], "cvs", "commits to the repository that it names, whose `CVSROOT` runs programs",
        "cvs(5)", RUN),
    read_only(&[".gitmodules"], "git", "takes paths and commands of submodules from it",
        "gitmodules(5), CVE-2018-11235, CVE-2024-32002", &[("", ContentRule::GitModules)]),
    read_only(&[".gitreview"], "git-review",
        "chooses the server that it pushes to, and that it takes a hook from",
        "git-review, \"Installation and Configuration\"", RUN),
    read_only(&[".lfsconfig"], "git-lfs, in its hooks too", "chooses the server that it uploads to",
        "git-lfs-config(5)", &[("", ContentRule::GitConfig)]),
    read_only(&["nbdime_config.json"], "nbdime, also as a difftool and mergetool of git",
        "runs the browser that it names", "nbdime, \"Configuration\"", RUN),
    read_only(&[".repo/repo"], "repo, Android's",
        "runs the program in it at every command, in place of itself",
        "repo, \"Repo internal filesystem layout\"", EXISTS),
    read_only(&[".gclient"], "gclient", "runs it as Python", "depot_tools, README.gclient.md", RUN),
    read_only(&[".gclient_entries"], "gclient", "runs it as Python", "depot_tools, gclient.py", RUN),
    read_only(&[".b4-config"], "b4", "runs the checks and commands that it names", "b4, \"Configuration\"",
        RUN),
    read_only(&[".arcconfig"], "Arcanist", "loads the libraries that it names", ARC, RUN),
    read_only(&[".arclint"], "Arcanist", "runs the linters that it names", ARC, RUN),
    read_only(&[".arcunit"], "Arcanist", "runs the engines that it names", ARC, RUN),
    read_only(&[".reviewboardrc"], "RBTools", "runs it as Python", "RBTools, \".reviewboardrc\"", RUN),
    read_only(&["captainhook.json"], "CaptainHook", AT_COMMIT, CAPTAIN_HOOK, RUN),
    read_only(&["captainhook.config.json"], "CaptainHook", "runs the PHP and hooks that it names",
        CAPTAIN_HOOK, RUN),
    read_only(&[".commitlintrc", ".commitlintrc.*", "commitlint.config.*"], "commitlint", COMMITLINT_EFFECT,
        COMMITLINT, RUN),
    read_only(&[".config/config.*"], "commitlint, and others that use cosmiconfig", "loads it", COSMICONFIG,
        RUN),
    read_only(&[".czrc"], "commitizen, in its hook too", "loads the adapter that it names", CZ, RUN),
    read_only(&[".cz-config.*"], "cz-customizable, by commitizen", "loads it", "cz-customizable, README",
        RUN),
    read_only(&["cz.config.*"], "czg", "loads it", "cz-git, \"Config\"", RUN),
    read_only(&["changelog.config.*"], "git-cz", "loads it", "git-cz, README", RUN),
    read_only(&["git-town.toml", ".git-town.toml", ".git-branches.toml"], "Git Town", GIT_TOWN_EFFECT,
        GIT_TOWN, GIT_TOWN_FILES),
    read_only(&[".cz.json"], "commitizen, of Node.js and Python", CZ_PYTHON_EFFECT, CZ_PYTHON, RUN),
    read_only(&["cz.json", ".cz.toml", "cz.toml", ".cz.yaml", "cz.yaml"], "commitizen of Python",
        CZ_PYTHON_EFFECT, CZ_PYTHON, RUN),
    read_only(&["grumphp.yml", "grumphp.*.yml", "grumphp.yml.*"], "GrumPHP", AT_COMMIT, GRUMPHP, RUN),
    read_only(&["grumphp.yaml", "grumphp.*.yaml", "grumphp.yaml.*"], "GrumPHP", AT_COMMIT, GRUMPHP_PATHS,
        RUN),
    read_only(&[".hkrc.pkl", "hk.json", "hk.toml", "hk.yaml", "hk.yml"], "hk", "the same as `hk.pkl`",
        HK_PATHS, RUN),
    read_only(&["hk.pkl", "hk.*.pkl", ".config/hk.pkl", ".config/hk.*.pkl"], "hk", AT_COMMIT, HK, RUN),
    read_only(&["dprint.json", "dprint.jsonc", ".dprint.json", ".dprint.jsonc"],
        "dprint, in hooks and editors", DPRINT_EFFECT, DPRINT, DPRINT_FILES),
    read_only(&[".lintstagedrc", ".lintstagedrc.*", "lint-staged.config.*"], "lint-staged", AT_COMMIT,
        LINT_STAGED, RUN),
    read_only(&["nano-staged.*", ".nano-staged.*", ".nanostagedrc"], "nano-staged", AT_COMMIT, NANO_STAGED,
        RUN),
    read_only(&[".rusty-hook.toml", "rusty-hook.toml"], "rusty-hook", AT_COMMIT, RUSTY_HOOK, RUN),
    read_only(&[".huskyrc", ".huskyrc.*", "husky.config.*"], "husky 4", AT_COMMIT, HUSKY_4, RUN),
    read_only(&[".husky"], "git, by husky", "runs each file as a hook", "husky, \"How to\"", RUN),
    read_only(&[".pre-commit-config.yaml"], "pre-commit, prek",
        "runs the hooks that it names at each commit, once installed",
        "pre-commit, \"Adding pre-commit plugins to your project\"", RUN),
    read_only(&[".pre-commit-config.yml"], "prek", "the same as `.pre-commit-config.yaml`", PREK, RUN),
    // Source may be empty: Python may take bytecode for it from `__pycache__`.
    read_only(&["pre_commit", "pre_commit.py"], "Python, for pre-commit's hook", PRE_COMMIT_EFFECT,
        PRE_COMMIT, EXISTS),
    read_only(&["pre_commit.pyc"], "Python, for pre-commit's hook", PRE_COMMIT_EFFECT, PRE_COMMIT, RUN),
    read_only(&["prek.toml"], "prek", "the same as `.pre-commit-config.yaml`", PREK, RUN),
    read_only(&[".overcommit.yml", ".local-overcommit.yml"], "overcommit", AT_COMMIT, OVERCOMMIT, RUN),
    read_only(&[".git-hooks"], "overcommit", "loads the hooks in it", OVERCOMMIT, RUN),
    read_only(&[".lefthook", ".lefthook-local", ".config/lefthook", ".config/lefthook-local"], "lefthook",
        "runs the scripts in it at each commit", LEFTHOOK, RUN),
    read_only(&["lefthook.yml", "lefthook.yaml", "lefthook.toml", "lefthook.json", "lefthook.jsonc",
        "lefthook-local.yml", "lefthook-local.yaml", "lefthook-local.toml", "lefthook-local.json",
        "lefthook-local.jsonc", ".lefthook.yml", ".lefthook.yaml", ".lefthook.toml", ".lefthook.json",
        ".lefthook.jsonc", ".lefthook-local.yml", ".lefthook-local.yaml", ".lefthook-local.toml",
        ".lefthook-local.json", ".lefthook-local.jsonc", ".config/lefthook.yml", ".config/lefthook.yaml",
        ".config/lefthook.toml", ".config/lefthook.json", ".config/lefthook.jsonc",
        ".config/lefthook-local.yml", ".config/lefthook-local.yaml", ".config/lefthook-local.toml",
        ".config/lefthook-local.json", ".config/lefthook-local.jsonc"], "lefthook", AT_COMMIT, LEFTHOOK, RUN),
    read_only(&[".hooks4git.ini"], "hooks4git", AT_COMMIT, "hooks4git, README", RUN),
    read_only(&["devmoji.config.js"], "devmoji, in its hook too", "loads it at each commit, once installed",
        "devmoji, README", RUN),
    read_only(&[".gitlint"], "gitlint", "loads Python that it names at each commit",
        "gitlint, \"Extra path\"", RUN),
];

const AT_COMMIT: &str = "runs the commands that it names at each commit, once installed";

const ARC: &str = "Arcanist, \"Configuring a New Project\"";

const CAPTAIN_HOOK: &str = "CaptainHook, \"Configuration\"";

const COMMITLINT: &str = "commitlint, \"Configuration\"";

const COMMITLINT_EFFECT: &str = "loads it, and what it names, at each commit, once installed";

const CZ: &str = "commitizen, README";

const CZ_PYTHON: &str = "Commitizen, \"Configuration\"";

const CZ_PYTHON_EFFECT: &str = "evaluates the templates in it, and runs the hooks that it names";

const DPRINT: &str = "dprint, \"Configuration\" and \"Process plugins\"";

const DPRINT_EFFECT: &str = "runs the plugins that it names";

const DPRINT_FILES: FileRules = &[("", ContentRule::Settings(FileFormat::Json, harmless::DPRINT))];

const GRUMPHP: &str = "GrumPHP, \"Configuration\"";

const GRUMPHP_PATHS: &str = "GrumPHP, GuessedPathsLocator";

const HK_PATHS: &str = "hk, project_config_search_paths";

const HK: &str = "hk, \"Configuration\"";

const HUSKY_4: &str = "husky, \"Migrate from v4\"";

const LINT_STAGED: &str = "lint-staged, \"Configuration\"";

const NANO_STAGED: &str = "nano-staged, \"Configuration\"";

const OVERCOMMIT: &str = "overcommit, README";

const RUSTY_HOOK: &str = "rusty-hook, README";

const PREK: &str = "prek, \"Configuration\"";

const PRE_COMMIT: &str = "pre-commit, its hook; Python, \"-m\"";

const PRE_COMMIT_EFFECT: &str =
    "takes it for the program itself: the hook runs `python -m pre_commit` in the work tree";

const LEFTHOOK_REMOTES: &str = "lefthook, `remotes`";

const COSMICONFIG: &str = "cosmiconfig, \"Usage for end users\"";

const LEFTHOOK: &str = "lefthook, \"Configuration\"";
