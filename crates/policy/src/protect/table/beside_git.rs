//! Rows of programs that keep data of a repository beside git, or for it: secrets, large files, other repositories.

use super::content::{ContentRule, FileFormat};
use super::harmless;
use super::row::{FileRules, ProtectRow, RUN, read_only};

const REMOTE_HG: &str = "git, by git-remote-hg";

const REMOTE_HG_EFFECT: &str = "runs hooks and extensions that it names at `git fetch`";

const REMOTE_HG_DOCS: &str = "git-remote-hg, get_repo; hgrc(5)";

const DVC: &str = "DVC, in its hooks too";

const DVC_EFFECT: &str =
    "loads pickles from where it says, of which each may run anything, and sends data where it says";

const DVC_DOCS: &str = "DVC, \"Configuration\", `core.site_cache_dir`; Python library reference, pickle";

const DVC_FILES: FileRules = &[("", ContentRule::Settings(FileFormat::Ini, harmless::tools::DVC))];

const GNUPG: &str = "gpg(1), gpg-agent(1), dirmngr(8); GnuPG manual, \"Configuration files\"";

const GNUPG_EFFECT: &str = "runs the viewers, agents and other programs that it names";

const GNUPG_AT_HOME: &str = "runs the programs that it names, where this is a home directory";

/// Makes a row of a configuration of one of the programs of `GnuPG`, whose name may end in a version.
const fn gnupg(paths: &'static [&'static str], program: &'static str, effect: &'static str) -> ProtectRow {
    read_only(paths, program, effect, GNUPG, RUN)
}

#[rustfmt::skip]
pub(super) const ROWS: &[ProtectRow] = &[
    // The repository that all remotes share, and that of the remote that `git clone` makes.
    read_only(&[".git/hg/.hg/hgrc", ".git/hg/.hg/hgrc-not-shared", ".git/hg/origin/clone/.hg/hgrc",
        ".git/hg/origin/clone/.hg/hgrc-not-shared"], REMOTE_HG, REMOTE_HG_EFFECT, REMOTE_HG_DOCS, RUN),
    read_only(&[".git/hg/.hg/sharedpath", ".git/hg/origin/clone/.hg/sharedpath"], REMOTE_HG,
        "reads `hgrc` somewhere else", REMOTE_HG_DOCS, RUN),
    read_only(&[".dvc/config", ".dvc/config.local"], DVC, DVC_EFFECT, DVC_DOCS, DVC_FILES),
    read_only(&[".datalad/config"], "DataLad",
        "runs procedures by the commands and from the directories that it names",
        "DataLad, datalad-run-procedure(1); datalad/local/run_procedure.py",
        &[("", ContentRule::Settings(FileFormat::Git, harmless::tools::DATALAD))]),
    read_only(&[".datalad/procedures"], "DataLad",
        "runs the procedures in it by name, also before and after its commands where a configuration says so",
        "DataLad, datalad-run-procedure(1)", RUN),
    read_only(&[".datalad/providers"], "DataLad", "sends passwords to the pages that it names",
        "DataLad, \"Credentials\"; datalad/downloaders/providers.py", RUN),
    gnupg(&[".gitsecret/keys/common.conf", ".gitsecret/keys/dirmngr.*", ".gitsecret/keys/gpg-agent.*",
        ".gitsecret/keys/gpg.*", ".gitsecret/keys/gpgsm.*", ".gitsecret/keys/keyboxd.*",
        ".gitsecret/keys/scdaemon.*"], "gpg, by git-secret", GNUPG_EFFECT),
    gnupg(&[".gnupg/common.conf", ".gnupg/dirmngr.*", ".gnupg/gpg-agent.*", ".gnupg/gpg.*", ".gnupg/gpgsm.*",
        ".gnupg/keyboxd.*", ".gnupg/scdaemon.*"], "gpg", GNUPG_AT_HOME),
    read_only(&[".mrconfig"], "mr, of myrepos", "runs the commands that it names, once it is trusted",
        "mr(1)", RUN),
    read_only(&[".mrtrust"], "mr, of myrepos",
        "believes it which `.mrconfig` are trusted, where this is a home directory", "mr(1)", RUN),
];
