//! Settings of git that run nothing: every key that is not on this list counts, because a list of dangerous ones is never complete.
//!
//! They are taken from git-config(1), and from what well-known tools write into the `.git/config` of ordinary repositories. In a
//! section that stands here as a whole, no key names a program, a path that git reads settings from or writes to, or another URL.

use super::syntax::ConfigEntry;
use super::values::Values::{
    self, Alias, Any, Commands, Encoding, FileName, InPlaceOfServer, MergeOptions, Name, Number, OneLine,
    Plain, Server, True, Truth, Within,
};

/// How keys end that name a program, so that they count in sections that are known as a whole.
const ENDS_OF_PROGRAMS: &[&str] =
    &["browser", "cmd", "command", "editor", "helper", "hook", "pager", "prog", "program", "shell"];

/// A section, or a section with its subsection; keys in it, or `*` for all that no other row has; and what they may hold.
pub(super) type Row = (&'static str, &'static [&'static str], Values);

const ALL: &[&str] = &["*"];

pub(super) const ROWS: &[Row] = &[
    ("absorb", ALL, Plain),
    ("add", ALL, Any),
    ("advice", &["ignoredhook", "waitingforeditor"], Any),
    ("advice", ALL, Any),
    ("alias", ALL, Alias),
    ("am", ALL, Any),
    ("annex", ANNEX, Any),
    ("apply", ALL, Any),
    ("attr", ALL, Any),
    ("author", ALL, Any),
    ("bash", &["showdirtystate", "showuntrackedfiles"], Truth),
    ("bitmappseudomerge", ALL, Any),
    ("blame", ALL, Any),
    ("branch", &["mergeoptions"], MergeOptions),
    ("branch", ALL, Any),
    ("bugtraq", &["append", "label", "logregex", "message", "number", "url", "warnifnoissue"], Any),
    ("checkout", ALL, Any),
    ("clean", ALL, Any),
    ("clone", ALL, Any),
    ("codespaces-theme", ALL, Truth),
    ("color", &["pager"], Any),
    ("color", ALL, Any),
    ("column", ALL, Any),
    ("commit", &["cleanup", "gpgsign", "status", "verbose"], Any),
    ("commitgraph", ALL, Any),
    ("committer", ALL, Any),
    ("core", CORE, Any),
    ("core", &["fsmonitor"], Truth),
    ("core", &["protecthfs", "protectntfs"], True),
    ("credential", &["interactive", "provider", "usehttppath", "username", "validate"], Any),
    ("credential", &["protectprotocol", "sanitizeprompt"], True),
    ("credentialcache", &["ignoresighup"], Any),
    ("credentialstore", &["locktimeoutms"], Any),
    ("devcontainers-theme", ALL, Truth),
    ("diff", DIFF, Any),
    ("diff", &["guitool", "tool"], Name),
    ("difftool", &["guidefault", "prompt", "trustexitcode"], Plain),
    ("extensions", EXTENSIONS, Name),
    ("fastimport", ALL, Any),
    ("feature", ALL, Any),
    ("fetch", FETCH, Any),
    ("fetch.fsck", ALL, Any),
    ("filter", &["clean", "process", "smudge"], Commands(FILTERS)),
    ("filter", &["required"], Any),
    ("format", FORMAT, Any),
    ("format", &["suffix"], FileName),
    ("fsck", ALL, Any),
    ("fsmonitor", &["allowremote"], Any),
    ("gc", GC, Any),
    ("git-town", ALL, Plain),
    ("git-town-branch", ALL, Plain),
    ("gitbutler", &["gitbutlercommitter", "signcommits", "utmostdiscretion"], Plain),
    ("gitflow", &["hooks"], Within(&[".git", "hooks"])),
    ("gitflow", ALL, Plain),
    ("github", &["user"], Plain),
    ("gitlab", &["user"], Plain),
    ("gitweb", ALL, Plain),
    ("gpg", &["format", "mintrustlevel"], Name),
    ("grep", ALL, Any),
    ("gui", &["encoding"], Encoding),
    ("gui", GUI, Plain),
    ("help", &["autocorrect", "format"], Plain),
    ("http", HTTP, Any),
    ("http", &["schannelcheckrevoke", "sslverify"], True),
    ("hub", &["protocol"], Name),
    ("i18n", &["commitencoding", "logoutputencoding"], Encoding),
    ("index", ALL, Any),
    ("init", &["defaultbranch", "defaultobjectformat", "defaultrefformat"], Any),
    ("instaweb", &["local"], Truth),
    ("instaweb", &["port"], Number),
    ("interactive", &["singlekey"], Any),
    ("lfs", LFS, Any),
    ("log", ALL, Any),
    ("lsrefs", ALL, Any),
    ("machete", ALL, Plain),
    ("mailinfo", ALL, Any),
    ("mailmap", ALL, Any),
    ("maintenance", &["auto", "autodetach", "enabled", "schedule", "strategy"], Any),
    ("man", &["viewer"], Name),
    ("merge", MERGE, Any),
    ("merge", &["guitool", "tool"], Name),
    ("mergetool", MERGETOOL, Plain),
    ("notes", ALL, Any),
    ("oh-my-zsh", ALL, Truth),
    ("pack", ALL, Any),
    ("pager", ALL, Truth),
    ("pretty", ALL, Any),
    ("promisor", &["quiet"], Any),
    ("protocol", &["version"], Any),
    ("pull", &["ff", "rebase"], Any),
    ("pull", &["octopus", "twohead"], Name),
    ("push", ALL, Any),
    ("rebase", &["instructionformat"], OneLine),
    ("rebase", ALL, Any),
    ("receive", ALL, Any),
    ("reftable", ALL, Any),
    ("remote", REMOTE, Any),
    ("remotes", ALL, Any),
    ("repack", ALL, Any),
    ("rerere", ALL, Any),
    ("revert", ALL, Any),
    ("sendemail", SENDEMAIL, Any),
    ("showbranch", ALL, Any),
    ("sparse", ALL, Any),
    ("splitindex", ALL, Any),
    ("ssh", &["variant"], Name),
    ("stash", ALL, Any),
    ("status", ALL, Any),
    ("stgit", &["autosign", "checkuntracked", "keepoptimized", "namelength", "shortnrlen"], Any),
    ("submodule", &["gitdir"], Within(&[".git", "modules"])),
    ("submodule", ALL, Any),
    ("svn", &["authorsfile", "followparent", "localtime", "pathnameencoding", "pushmergeinfo", "rmdir"], Any),
    ("svn-remote", SVN_REMOTE, Any),
    ("svn-remote", &["commiturl", "pushurl", "reposroot", "rewriteroot", "url"], Server),
    ("tag", ALL, Any),
    ("tar", &["umask"], Any),
    ("tgit", &["logwidthmarker", "projectlanguage", "warnnosignedoffby"], Any),
    ("trailer", &["ifexists", "ifmissing", "key", "separators", "where"], Any),
    ("transfer", ALL, Any),
    ("uploadarchive", ALL, Any),
    ("uploadpack", UPLOADPACK, Any),
    ("uploadpackfilter", ALL, Any),
    ("url", &["insteadof", "pushinsteadof"], InPlaceOfServer),
    ("user", ALL, Any),
    ("versionsort", ALL, Any),
    ("worktree", ALL, Any),
];

const ANNEX: &[&str] = &[
    "addunlocked", "autocommit", "backend", "backends", "crippledfilesystem", "delayadd", "direct",
    "diskreserve", "dotfiles", "fscktimelimit", "genmetadata", "hardlink", "jobs", "largefiles", "numcopies",
    "pidlock", "private", "resolvemerge", "retry", "sshcaching", "synccontent", "synconlyannex", "thin",
    "uuid", "version",
];

const CORE: &[&str] = &[
    "abbrev", "alternaterefsprefixes", "autocrlf", "bare", "bigfilethreshold", "checkroundtripencoding",
    "checkstat", "commentchar", "commentstring", "commitgraph", "compression", "createobject",
    "deltabasecachelimit", "eol", "filemode", "filesreflocktimeout", "fscache", "fsmonitorhookversion",
    "fsync", "fsyncmethod", "fsyncobjectfiles", "hidedotfiles", "ignorecase", "lockfilepid",
    "logallrefupdates", "longpaths", "loosecompression", "maxtreedepth", "multipackindex", "notesref",
    "packedgitlimit", "packedgitwindowsize", "packedrefstimeout", "precomposeunicode", "prefersymlinkrefs",
    "preloadindex", "quotepath", "repositoryformatversion", "restrictinheritedhandles", "safecrlf",
    "sharedrepository", "sparsecheckout", "sparsecheckoutcone", "splitindex", "symlinks", "trustctime",
    "untrackedcache", "usereplacerefs", "warnambiguousrefs", "whitespace",
    // Of a repository whose work tree is elsewhere: it is followed.
    "worktree",
];

const DIFF: &[&str] = &[
    "algorithm", "autorefreshindex", "binary", "cachetextconv", "colormoved", "colormovedws", "context",
    "dirstat", "dstprefix", "funcname", "ignoresubmodules", "indentheuristic", "interhunkcontext",
    "mnemonicprefix", "noprefix", "orderfile", "relative", "renamelimit", "renames", "srcprefix",
    "statgraphwidth", "statnamewidth", "submodule", "suppressblankempty", "trustexitcode", "wordregex",
    "wserrorhighlight", "xfuncname",
];

const EXTENSIONS: &[&str] = &[
    "compatobjectformat", "noop", "noop-v1", "objectformat", "partialclone", "preciousobjects", "refstorage",
    "relativeworktrees", "submodulepathconfig", "worktreeconfig",
];

const FETCH: &[&str] = &[
    "all", "bundlecreationtoken", "fsckobjects", "haveonly", "negotiationalgorithm", "output", "parallel",
    "prune", "prunetags", "recursesubmodules", "showforcedupdates", "unpacklimit", "writecommitgraph",
];

/// What git-lfs and git-annex write when they are set up.
const FILTERS: &[&str] = &[
    "git-annex filter-process", "git-annex smudge --clean -- %f", "git-annex smudge -- %f",
    "git-lfs clean -- %f", "git-lfs filter-process", "git-lfs filter-process --skip",
    "git-lfs smudge --skip -- %f", "git-lfs smudge -- %f",
];

const FORMAT: &[&str] = &[
    "attach", "cc", "coverfromdescription", "coverletter", "encodeemailheaders", "filenamemaxlength",
    "forceinbodyfrom", "from", "headers", "mboxrd", "noprefix", "notes", "numbered", "pretty", "signature",
    "signoff", "subjectprefix", "thread", "to", "useautobase",
];

const GC: &[&str] = &[
    "aggressivedepth", "aggressivewindow", "auto", "autodetach", "autopacklimit", "bigpackthreshold",
    "cruftpacks", "logexpiry", "maxcruftsize", "packrefs", "pruneexpire", "reflogexpire",
    "reflogexpireunreachable", "rerereresolved", "rerereunresolved", "worktreepruneexpire",
    "writecommitgraph",
];

const GUI: &[&str] = &[
    "blamehistoryctx", "commitmsgwidth", "copyblamethreshold", "diffcontext", "displayuntracked",
    "fastcopyblame", "fontdiff", "fontui", "gcwarning", "geometry", "matchtrackingbranch",
    "maxfilesdisplayed", "newbranchtemplate", "pruneduringfetch", "stageuntracked", "tabsize", "trustmtime",
    "warndetachedcommit", "wmstate",
];

const HTTP: &[&str] = &[
    "extraheader", "followredirects", "lowspeedlimit", "lowspeedtime", "maxrequests", "minsessions",
    "noepsv", "postbuffer", "ssltry", "useragent", "version",
];

const LFS: &[&str] = &[
    "access", "activitytimeout", "allowincompletepush", "basictransfersonly", "batch", "concurrenttransfers",
    "contenttype", "dialtimeout", "fetchexclude", "fetchinclude", "fetchrecentalways",
    "fetchrecentcommitsdays", "fetchrecentrefsdays", "fetchrecentremoterefs", "keepalive",
    "lockignoredfiles", "locksverify", "maxretries", "maxretrydelay", "maxverifies", "pruneoffsetdays",
    "pruneverifyremotealways", "repositoryformatversion", "setlockablereadonly", "skipdownloaderrors",
    "tlstimeout", "tustransfers",
];

const MERGE: &[&str] = &[
    "autostash", "branchdesc", "conflictstyle", "defaulttoupstream", "directoryrenames", "ff", "log", "name",
    "recursive", "renamelimit", "renames", "renormalize", "stat", "summary", "suppressdest", "verbosity",
    "verifysignatures",
];

const MERGETOOL: &[&str] = &[
    "guidefault", "hasoutput", "hideresolved", "keepbackup", "keeptemporaries", "layout", "prompt",
    "trustexitcode", "useautomerge", "writetotemp",
];

const REMOTE: &[&str] = &[
    "annex-bare", "annex-config-uuid", "annex-cost", "annex-ignore", "annex-pull", "annex-push",
    "annex-readonly", "annex-sync", "annex-trustlevel", "annex-uuid", "fetch", "followremotehead",
    "gh-resolved", "github-pr-remote", "glab-resolved", "mirror", "partialclonefilter", "promisor", "prune",
    "prunetags", "push", "pushdefault", "pushurl", "serveroption", "skipdefaultupdate", "skipfetchall",
    "tagopt", "url",
];

const SENDEMAIL: &[&str] = &[
    "annotate", "bcc", "cc", "chainreplyto", "confirm", "envelopesender", "forbidsendmailvariables", "from",
    "identity", "multiedit", "signedoffbycc", "smtpbatchsize", "smtprelogindelay", "suppresscc",
    "suppressfrom", "thread", "to", "transferencoding", "validate", "xmailer",
];

const SVN_REMOTE: &[&str] = &[
    "automkdirs", "branches", "branches-maxrev", "fetch", "ignore-paths", "ignore-refs", "include-paths",
    "nometadata", "preserve-empty-dirs", "rewriteuuid", "tags", "tags-maxrev", "usesvmprops",
    "usesvnsyncprops", "uuid",
];

const UPLOADPACK: &[&str] = &[
    "allowanysha1inwant", "allowfilter", "allowreachablesha1inwant", "allowrefinwant", "allowtipsha1inwant",
    "hiderefs", "keepalive",
];

/// Returns what a setting may hold, if its key is on the list.
pub(super) fn values(entry: &ConfigEntry) -> Option<Values> {
    let is_of = |section: &str| match section.split_once('.') {
        Some((section, subsection)) => {
            entry.section == section && entry.subsection.as_deref().is_some_and(|own| own == subsection)
        }
        None => entry.section == section,
    };
    let rows = || ROWS.iter().filter(|(section, ..)| is_of(section));
    let named = rows().find(|(_, keys, _)| keys.contains(&entry.key.as_str()));
    let is_program = ENDS_OF_PROGRAMS.iter().any(|end| entry.key.ends_with(end));
    let whole =
        || rows().find(|(_, keys, values)| *keys == ALL && !(is_program && matches!(values, Any | Plain)));
    named.or_else(whole).map(|(_, _, values)| *values)
}
