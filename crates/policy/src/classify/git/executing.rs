//! Keys of git's settings that are known to run a program, or to name a file that git obeys or writes.

use super::syntax::ConfigEntry;

/// Keys that are known to run a program, whatever the subsection, see git-config(1): only of these the words are looked for in the
/// work tree. Those that hold a program or something else are on the list of harmless ones too, with what else they may hold.
const EXECUTING: &[(&str, &str)] = &[
    ("b4", "gpgbin"),
    ("browser", "path"),
    ("cola", "blameviewer"),
    ("cola", "terminal"),
    // With these, git puts a file of theirs into what people send, or writes files where they say.
    ("commit", "template"),
    ("core", "askpass"),
    ("core", "editor"),
    ("core", "fsmonitor"),
    ("core", "gitproxy"),
    ("core", "hookspath"),
    ("core", "pager"),
    // The pager of that name.
    ("delta", "pager"),
    ("diff", "external"),
    ("diff", "textconv"),
    ("difftool", "path"),
    ("filter", "clean"),
    ("filter", "process"),
    ("filter", "smudge"),
    ("format", "outputdirectory"),
    ("format", "signaturefile"),
    // Whose signatures git calls good, and whose not any more.
    ("gpg", "allowedsignersfile"),
    ("gpg", "revocationfile"),
    // Options of `git diff` that git-gui adds: of some, it runs a program, or writes a file.
    ("gui", "diffopts"),
    ("gui", "editor"),
    ("gui", "historybrowser"),
    // With these, git keeps what a server sends in a file that they name.
    ("http", "cookiefile"),
    ("http", "savecookies"),
    ("imap", "tunnel"),
    // A template brings hooks into repositories that are made later.
    ("init", "templatedir"),
    ("include", "path"),
    ("includeif", "path"),
    ("instaweb", "browser"),
    // Where the scripts lie that the server runs.
    ("instaweb", "gitwebdir"),
    ("instaweb", "httpd"),
    ("instaweb", "modulepath"),
    ("interactive", "difffilter"),
    // What the program of a custom transfer is given: one that runs scripts is given the name of a script.
    ("lfs", "args"),
    ("lfs", "clean"),
    ("lfs", "path"),
    ("lfs", "smudge"),
    ("man", "path"),
    ("merge", "driver"),
    ("mergetool", "path"),
    // Allowing every protocol, or `ext`, lets a URL run a program.
    ("protocol", "allow"),
    ("remote", "receivepack"),
    ("remote", "uploadpack"),
    ("remote", "vcs"),
    ("secrets", "providers"),
    ("sendemail", "smtpserver"),
    // Options of the program that sends: of some, they run another one, or write files.
    ("sendemail", "smtpserveroption"),
    ("sequence", "editor"),
    ("stgit", "editor"),
    ("stgit", "pager"),
    ("submodule", "update"),
    // A configuration of Subversion names programs that reach a server.
    ("svn", "config-dir"),
    ("svn", "configdir"),
    ("web", "browser"),
];

/// Keys that end like this run a program in every section: `core.sshCommand`, `difftool.<tool>.cmd`,
/// `gpg.<format>.program`, `credential.helper`, `uploadpack.packObjectsHook`, `hook.<name>.command`. So do the options of
/// git-annex for ssh, rsync and their like, and its transport.
const EXECUTING_ENDS: &[&str] =
    &["cmd", "command", "helper", "hook", "program", "prog", "-options", "-transport"];

/// Returns whether a key is known to run a program, unless its value says otherwise.
pub(super) fn is_known_to_run(entry: &ConfigEntry) -> bool {
    EXECUTING.iter().any(|(section, key)| entry.is(section, key))
        || EXECUTING_ENDS.iter().any(|end| entry.key.ends_with(end))
        || matches!(entry.section.as_str(), "alias" | "pager" | "tig")
}
