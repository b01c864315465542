//! Rows of other version control and of patches: files that stay writable, because their programs write them, or that name programs.

use super::content::{ContentRule, FileFormat};
use super::harmless::tools;
use super::row::{FileRules, ProtectRow, RUN, classified, read_only};

const OF_MERCURIAL: FileRules = &[("", ContentRule::HgPaths(&[".hg"]))];

const OF_SAPLING: FileRules = &[("", ContentRule::HgPaths(&[".sl"]))];

const OF_SAPLING_IN_GIT: FileRules = &[("", ContentRule::HgPaths(&[".git", "sl"]))];

/// Formats of Mercurial's own: `_basesupported` of localrepo.py, and those of its engines for compression. Of the rest, `git`, `largefiles` and
/// `lfs` load an extension, and `shared` and `relshared` lead to another store.
const HG_FORMATS: FileRules = &[(
    "",
    ContentRule::Requirements(&[
        "bookmarksinstore", "delta-info-revlog", "dirstate-tracked-key-v1", "dirstate-v2", "dotencode",
        "exp-archived-phase", "exp-changelog-v2", "exp-compression-none", "exp-compression-zlib",
        "exp-compression-zstd", "exp-copies-sidedata-changeset", "exp-revlogv2.2", "exp-sparse",
        "fileindex-v1", "fncache", "generaldelta", "internal-phase", "internal-phase-2",
        "narrowhg-experimental", "persistent-nodemap", "revlog-compression-zstd", "revlogv1", "share-safe",
        "sparserevlog", "store", "treemanifest",
    ]),
)];

/// The same of Sapling's localrepo.py. Where its store is one of git (`git-store`), `gitdir` says where that lies.
const SL_FORMATS: FileRules = &[(
    "",
    ContentRule::Requirements(&[
        "dotencode", "dotgit", "doublewritechangelog", "eagercompat", "eagerepo", "fncache", "generaldelta",
        "git", "git-store", "hybridchangelog", "invalidatelinkrev", "lazychangelog", "lazytextchangelog",
        "lz4revlog", "narrowheads", "pythonrevlogchangelog", "remotefilelog", "revlogv1",
        "rustrevlogchangelog", "segmentedchangelog", "store", "storerequirements", "treemanifest",
        "treestate", "visibleheads", "windowssymlinks", "zstorecommitdata",
    ]),
)];

const REQUIRES_EFFECT: &str =
    "loads the extensions that it names (`largefiles`), which take paths anywhere from data beside it";

const REQUIRES_DOCS: &str =
    "Mercurial, hg(1), internals.requirements; mercurial/requirements.py and localrepo.py";

const LARGEFILES: &str = "Mercurial, by largefiles";

const LARGEFILES_DOCS: &str = "Mercurial, hgext/largefiles/lfutil.py, lfcommands.py and reposetup.py";

const GITDIR_EFFECT: &str = "takes objects and remotes from the repository of git that it names";

const GITDIR_DOCS: &str = "Sapling, sapling/git.py, readgitdir";

const REPO: &str = "repo, Android's";

const REPO_LISTS_EFFECT: &str = "deletes what it lists, and a manifest does not, at `repo sync`; it stays writable, and is quarantined if a path \
                                 leads out of the work tree";

const REPO_DOCS: &str = "repo, \"Repo internal filesystem layout\" and \"Manifest Format\"; subcmds/sync.py";

const REPO_HOOKS: &str = "repo, Android's, by its hooks";

const REPO_HOOKS_DOCS: &str = "Android, platform/tools/repohooks, README.md";

const PERFORCE: FileRules = &[("", ContentRule::Settings(FileFormat::Ini, tools::PERFORCE))];

const PERFORCE_EFFECT: &str = "runs the server (`P4PORT=rsh:…`), editor, pager and programs for differences and merges that it names, and sends \
                               passwords to the address that it names";

const GBP: FileRules = &[("", ContentRule::Settings(FileFormat::Ini, tools::GBP))];

const GBP_EFFECT: &str = "runs the builders, cleaners and hooks that it names";

const GBP_DOCS: &str = "gbp.conf(5)";

#[rustfmt::skip]
pub(super) const ROWS: &[ProtectRow] = &[
    // Without `store` in `requires`, the store is `.hg` itself.
    transaction(&[".hg/store/journal", ".hg/store/journal.backupfiles", ".hg/store/undo",
        ".hg/store/undo.backupfiles", ".hg/journal", ".hg/journal.backupfiles", ".hg/undo",
        ".hg/undo.backupfiles"], "Mercurial", OF_MERCURIAL),
    read_only(&[".hg/requires", ".hg/store/requires", ".git/hg/.hg/requires", ".git/hg/.hg/store/requires",
        ".git/hg/origin/clone/.hg/requires", ".git/hg/origin/clone/.hg/store/requires"],
        "Mercurial, also for git-remote-hg", REQUIRES_EFFECT, REQUIRES_DOCS, HG_FORMATS),
    read_only(&[".sl/requires", ".sl/store/requires", ".git/sl/requires", ".git/sl/store/requires"],
        "Sapling", "takes what it says for the form of its data, or for a sign that they lie elsewhere",
        "Sapling, sapling/localrepo.py", SL_FORMATS),
    read_only(&[".sl/store/gitdir"], "Sapling", GITDIR_EFFECT, GITDIR_DOCS,
        &[("", ContentRule::Content(&["git"]))]),
    read_only(&[".git/sl/store/gitdir"], "Sapling", GITDIR_EFFECT, GITDIR_DOCS,
        &[("", ContentRule::Content(&["../.."]))]),
    classified(&[".hglf"], LARGEFILES,
        "copies files from and to the paths that the files in it name by numbers; they stay writable, and are quarantined if one holds \
         anything else", LARGEFILES_DOCS, &[("*", ContentRule::ObjectId(&[]))]),
    classified(&[".hg/largefiles/dirstate", ".hg/largefiles/dirstate.*", ".hg/largefiles/journal.backup.dirstate",
        ".hg/largefiles/journal.backup.dirstate.*", ".hg/largefiles/undo.backup.dirstate",
        ".hg/largefiles/undo.backup.dirstate.*"], LARGEFILES,
        "deletes the files that it lists; it stays writable, and is quarantined if one is not in the work tree, or if it is of the format \
         `dirstate-v2`", LARGEFILES_DOCS, &[("", ContentRule::LargefilesDirstate)]),
    transaction(&[".sl/store/journal", ".sl/store/journal.backupfiles", ".sl/store/undo",
        ".sl/store/undo.backupfiles"], "Sapling", OF_SAPLING),
    transaction(&[".git/sl/store/journal", ".git/sl/store/journal.backupfiles", ".git/sl/store/undo",
        ".git/sl/store/undo.backupfiles"], "Sapling", OF_SAPLING_IN_GIT),
    classified(&[".hg/histedit-state", ".sl/histedit-state", ".git/sl/histedit-state"], "Mercurial, Sapling",
        "goes on with it at `histedit --continue`: Mercurial unpickles it, which runs what it holds, and Sapling runs its commands (`exec`); it \
         stays writable, and is quarantined if it has more than changes of commits",
        "Mercurial, hgext/histedit.py; Sapling, ext/fbhistedit.py", &[("", ContentRule::EditedHistory)]),
    classified(&[".hg/bookmarks.current", ".hg/branch", ".hg/topic", ".sl/bookmarks.current",
        ".git/sl/bookmarks.current"], "bash, zsh, by themes with a prompt",
        "expands the name in it, which a theme puts into the prompt as it is; it stays writable, and is \
         quarantined if a shell would run something",
        "Bash-it, themes/base.theme.bash; bash(1), `promptvars`", &[("", ContentRule::ShownName)]),
    classified(&[".bzr/branch/branch.conf"], "Breezy, Bazaar",
        "evaluates the hooks that it names (`post_commit`); it stays writable, and is quarantined if it has \
         other settings than where branches are", "Breezy, \"Configuration Settings\"; breezy/commit.py",
        &[("", ContentRule::Settings(FileFormat::Ini, tools::BREEZY))]),
    read_only(&[".bzr/branch/location"], "Breezy, Bazaar",
        "takes the branch, and its `branch.conf`, from where it says", "Breezy, breezy/bzr/branch.py", RUN),
    classified(&[".west/config"], "west, of Zephyr",
        "runs the commands of its aliases, also in place of those of west; it stays writable, and is \
         quarantined if it has one, or another setting that no list knows",
        "west, \"Configuration\" and \"Aliases\"",
        &[("", ContentRule::Settings(FileFormat::Ini, tools::WEST))]),
    read_only(&[".gbp.conf", "debian/gbp.conf", ".git/gbp.conf"], "git-buildpackage", GBP_EFFECT, GBP_DOCS,
        GBP),
    classified(&["debian/patches/series", "patches/series", ".pc/applied-patches"], "quilt, also in prompts",
        "puts the names in it into programs of awk; it stays writable, and is quarantined if one is more \
         than a name", "quilt(1), scripts/patchfns", &[("", ContentRule::PatchNames)]),
    read_only(&[".p4config", ".p4config.txt", "p4config.txt"], "p4 and plug-ins of editors, where `P4CONFIG` names it",
        PERFORCE_EFFECT, "P4 Command-Line Reference, \"P4CONFIG\" and \"P4PORT\"", PERFORCE),
    read_only(&[".p4enviro"], "p4 and plug-ins of editors", "the same, where this is a home directory",
        "P4 Command-Line Reference, \"P4ENVIRO\"", PERFORCE),
    read_only(&[".p4aliases"], "p4", "takes commands from it with options such as `-p`, where this is a home directory",
        "P4 Command-Line Reference, \"P4ALIASES\"", RUN),
    read_only(&[".beads/hooks"], "bd, of beads", "runs them when an issue has changed",
        "beads, internal/hooks", RUN),
    read_only(&[".beads/.env"], "bd, of beads",
        "takes variables from it, by which each of its settings can be set, and git obeys others",
        "beads, cmd/bd/main.go, loadBeadsEnvFile", RUN),
    read_only(&[".beads/redirect"], "bd, of beads", "takes hooks, settings and data from the directory that it names",
        "beads, internal/beads/beads.go, FollowRedirect", RUN),
    classified(&[".beads/config.yaml", ".beads/config.local.yaml"], "bd, of beads",
        "writes issues to the file, and sends them to the remote, that it names; its commands write it, so it stays writable, and is \
         quarantined if it newly names one, or has another setting that no list knows",
        "beads, internal/config", &[("", ContentRule::Settings(FileFormat::Yaml, tools::BEADS))]),
    classified(&[".beads/metadata.json", ".beads/config.json"], "bd, of beads",
        "takes its data from the server or the directory that it names; its commands write it, so it stays writable, and is quarantined \
         if it newly names one", "beads, internal/configfile",
        &[("", ContentRule::Settings(FileFormat::Json, tools::BEADS_METADATA))]),
    read_only(&[".gitpublish"], "git-publish", "runs the commands by which it finds reviewers (`cccmd`)",
        "git-publish(1), \"CONFIGURATION\"", RUN),
    read_only(&["codereview.settings"], "git cl, of depot_tools",
        "writes settings of git that it names (`PUSH_URL_CONFIG`), and chooses the server",
        "depot_tools, git_cl.py", RUN),
    read_only(&["PREUPLOAD.cfg"], REPO_HOOKS, "runs the hooks that it names at `repo upload`",
        REPO_HOOKS_DOCS, RUN),
    read_only(&["GLOBAL-PREUPLOAD.cfg"], REPO_HOOKS,
        "the same for all repositories below", REPO_HOOKS_DOCS, RUN),
    classified(&[".repo/copy-link-files.json"], REPO, REPO_LISTS_EFFECT, REPO_DOCS,
        &[("", ContentRule::WorkTreePaths(FileFormat::Json))]),
    classified(&[".repo/project.list"], REPO, REPO_LISTS_EFFECT, REPO_DOCS,
        &[("", ContentRule::WorkTreePaths(FileFormat::Text))]),
    classified(&[".repo/submanifests"], REPO, "keeps the same lists and a manifest there for each further manifest",
        REPO_DOCS, &[("**/copy-link-files.json", ContentRule::WorkTreePaths(FileFormat::Json)),
            ("**/project.list", ContentRule::WorkTreePaths(FileFormat::Text)),
            ("**/manifest.xml", ContentRule::Run), ("*", ContentRule::Harmless)]),
    read_only(&[".repo/local_manifest.xml", ".repo/local_manifests", ".repo/manifest.xml", ".repo/manifests",
        ".repo/manifests.git"], REPO,
        "fetches from the servers, runs the hooks and the helper, and links and copies the files that it names", REPO_DOCS, RUN),
    read_only(&["PRESUBMIT.py"], "git cl, of depot_tools",
        "runs it at `git cl upload` and `git cl presubmit`", "depot_tools, presubmit_support.py", RUN),
    read_only(&[".gh-dash.yml", ".gh-dash.yaml"], "gh dash",
        "runs the pager and the commands of keys that it names", "gh-dash, \"Configuration\"", RUN),
    read_only(&[".workmux.yaml"], "workmux", "runs the hooks and commands that it names in a new work tree",
        "workmux, \"Configuration\"", RUN),
    read_only(&[".wtp.yml"], "wtp", "runs the commands that it names in a new work tree", "wtp, README", RUN),
    read_only(&["phantom.config.json"], "phantom", "runs the commands that it names in a new work tree",
        "phantom, README", RUN),
];

const fn transaction(paths: &'static [&'static str], program: &'static str, files: FileRules) -> ProtectRow {
    classified(
        paths,
        program,
        "deletes and writes the files that it names; it stays writable, and is quarantined if it names any but those of the program's own data",
        "Mercurial, mercurial/transaction.py; Sapling, sapling/transaction.py",
        files,
    )
}
