//! Configurations of git: which settings count, and what they name.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use policy::classify::{
    FileFormat, Reason, Reference, beyond_prefix, classify, compare, names_relative, references, submodules,
};

use crate::classify::{FILE, file};

fn git_key(config: &str) -> Option<String> {
    match file(".git/config", config) {
        Some(Reason::Setting { key }) => Some(key),
        Some(other) => Some(format!("{other:?}")),
        None => None,
    }
}

/// What `git clone` of git 2.47 writes, with a submodule that was initialised afterwards.
pub(crate) const CLONED: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n[remote \"origin\"]\n\turl = https://github.com/example/example.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"master\"]\n\tremote = origin\n\tmerge = refs/heads/master\n[submodule \"sub\"]\n\turl = https://github.com/example/sub.git\n\tactive = true\n";

#[test]
fn a_long_name_of_a_section_above_many_keys_takes_no_memory() {
    let name = "a".repeat(policy::classify::MAX_CONTENT / 2);
    let keys = "a=1\n".repeat(policy::classify::MAX_CONTENT / 16);
    let config = format!("[alias \"{name}\"]\n{keys}");
    // What may be that of a bare repository, too.
    for path in [".git/config", ".gitmodules", "a/config"] {
        assert!(matches!(file(path, &config), Some(Reason::TooLarge { .. })), "{path}");
    }
    assert_eq!(file(".datalad/config", &config), Some(Reason::Unreadable { format: FileFormat::Git }));
    let ini = format!("[{name}]\n{keys}");
    assert_eq!(file("ansible.cfg", &ini), Some(Reason::Unreadable { format: FileFormat::Ini }));
    assert!(references(config.as_bytes()).is_empty());
    let short = format!("[alias \"a\"]\n{keys}");
    assert_eq!(git_key(&short).as_deref(), Some("alias.a.a"));
}

#[test]
fn every_setting_of_git_that_runs_something_is_found() {
    for (config, key) in [
        ("[core]\nfsmonitor = ./evil", "core.fsmonitor"),
        ("[core] hooksPath = .evil", "core.hookspath"),
        ("[core]\nsshCommand = evil", "core.sshcommand"),
        ("[core]\neditor = evil", "core.editor"),
        ("[core]\npager = evil", "core.pager"),
        ("[core]\naskPass = evil", "core.askpass"),
        ("[core]\ngitProxy = evil", "core.gitproxy"),
        ("[core]\nalternateRefsCommand = evil", "core.alternaterefscommand"),
        ("[core]\nworktree = /tmp", "core.worktree"),
        ("[alias]\nst = !evil", "alias.st"),
        ("[alias \"st\"]\ncommand = !evil", "alias.st.command"),
        ("[filter \"x\"]\nclean = evil", "filter.x.clean"),
        ("[filter \"x\"]\nsmudge = evil", "filter.x.smudge"),
        ("[filter \"x\"]\nprocess = evil", "filter.x.process"),
        ("[diff]\nexternal = evil", "diff.external"),
        ("[diff \"x\"]\ncommand = evil", "diff.x.command"),
        ("[diff \"x\"]\ntextconv = evil", "diff.x.textconv"),
        ("[merge \"x\"]\ndriver = evil", "merge.x.driver"),
        ("[mergetool \"x\"]\ncmd = evil", "mergetool.x.cmd"),
        ("[mergetool \"vimdiff\"]\nlayout = `sh<run`", "mergetool.vimdiff.layout"),
        ("[mergetool \"vimdiff\"]\nlayout = LOCAL,$(evil)", "mergetool.vimdiff.layout"),
        ("[mergetool \"vimdiff\"]\nlayout = \"\\\"; evil\"", "mergetool.vimdiff.layout"),
        ("[mergetool \"x\"]\nunknown = $(evil)", "mergetool.x.unknown"),
        ("[gitflow \"feature\"]\nstart = $(evil)", "gitflow.feature.start"),
        ("[guitool \"x\"]\ntitle = [exec evil]", "guitool.x.title"),
        ("[gui]\ndiffopts = --output=.envrc", "gui.diffopts"),
        ("[instaweb]\ngitwebdir = evil", "instaweb.gitwebdir"),
        ("[instaweb]\nport = `evil`", "instaweb.port"),
        ("[instaweb]\nport = __import__(chr(111)+chr(115)).system(chr(105))+1", "instaweb.port"),
        // Each makes a line end of a character that a subject may hold, and so a line of a list of commits.
        ("[i18n]\nlogOutputEncoding = IBM856//TRANSLIT", "i18n.logoutputencoding"),
        ("[i18n]\ncommitEncoding = ISO-2022-JP-2", "i18n.commitencoding"),
        ("[gui]\nencoding = IBM856//TRANSLIT", "gui.encoding"),
        ("[format]\nsuffix = /../../.bashrc", "format.suffix"),
        ("[svn-remote \"svn\"]\nurl = FILE:///x", "svn-remote.svn.url"),
        ("[url \"ext:\"]\ninsteadOf = foo", "url.ext:.insteadof"),
        ("[url \"file:\"]\ninsteadOf = foo", "url.file:.insteadof"),
        ("[url \"https:\"]\ninsteadOf = foo", "url.https:.insteadof"),
        ("[gitflow \"path\"]\nhooks = /workspace/x.git/hooks", "gitflow.path.hooks"),
        ("[submodule \"s\"]\ngitdir = x.git/modules/s", "submodule.s.gitdir"),
        ("[gui]\nhistoryBrowser = evil", "gui.historybrowser"),
        ("[secrets]\nproviders = evil", "secrets.providers"),
        ("[stgit]\neditor = evil", "stgit.editor"),
        ("[url \".git/objects/ab/\"]\ninsteadOf = https://x/", "url..git/objects/ab/.insteadof"),
        ("[remote \"o\"]\nurl = file:///w/.git/objects/a%62/x.git", "remote.o.url"),
        ("[svn]\nconfig-dir = evil", "svn.config-dir"),
        ("[difftool \"x\"]\ncmd = evil", "difftool.x.cmd"),
        ("[difftool \"x\"]\npath = evil", "difftool.x.path"),
        ("[credential]\nhelper = evil", "credential.helper"),
        ("[credential \"https://x\"]\nhelper = evil", "credential.https://x.helper"),
        ("[gpg]\nprogram = evil", "gpg.program"),
        ("[gpg \"ssh\"]\nprogram = evil", "gpg.ssh.program"),
        ("[gpg \"ssh\"]\ndefaultKeyCommand = evil", "gpg.ssh.defaultkeycommand"),
        ("[include]\npath = evil", "include.path"),
        ("[includeIf \"gitdir:/\"]\npath = evil", "includeif.gitdir:/.path"),
        ("[sequence]\neditor = evil", "sequence.editor"),
        ("[pager]\nlog = evil", "pager.log"),
        ("[web]\nbrowser = evil", "web.browser"),
        ("[browser \"x\"]\ncmd = evil", "browser.x.cmd"),
        ("[remote \"o\"]\nuploadpack = evil", "remote.o.uploadpack"),
        ("[remote \"o\"]\nreceivepack = evil", "remote.o.receivepack"),
        ("[remote \"o\"]\nvcs = evil", "remote.o.vcs"),
        ("[remote \"o\"]\nurl = ext::sh -c evil", "remote.o.url"),
        ("[protocol \"ext\"]\nallow = always", "protocol.ext.allow"),
        ("[url \"ext::evil \"]\ninsteadOf = https://", "url.ext::evil .insteadof"),
        ("[submodule \"s\"]\nupdate = !evil", "submodule.s.update"),
        ("[interactive]\ndiffFilter = evil", "interactive.difffilter"),
        ("[trailer \"x\"]\ncmd = evil", "trailer.x.cmd"),
        ("[tar \"x\"]\ncommand = evil", "tar.x.command"),
        ("[uploadpack]\npackObjectsHook = evil", "uploadpack.packobjectshook"),
        ("[hook \"x\"]\ncommand = evil", "hook.x.command"),
        ("[sendemail]\nsendmailCmd = evil", "sendemail.sendmailcmd"),
        ("[man \"x\"]\npath = evil", "man.x.path"),
        ("[imap]\ntunnel = evil", "imap.tunnel"),
        ("[gc]\nrecentObjectsHook = evil", "gc.recentobjectshook"),
        ("[branch \"main\"]\nmergeOptions = -s x/evil", "branch.main.mergeoptions"),
        ("[branch \"main\"]\nmergeOptions = --no-ff '--strategy=x/evil'", "branch.main.mergeoptions"),
        ("[sendemail]\nsmtpServerOption = -be", "sendemail.smtpserveroption"),
        ("[instaweb]\nmodulePath = ./evil", "instaweb.modulepath"),
        ("[unheard]\nof = x", "unheard.of"),
        ("[core]\nunheardOf = x", "core.unheardof"),
        ("[branch \"b.stgit\"]\nfetchcmd = evil", "branch.b.stgit.fetchcmd"),
        ("[core]\nprotectNTFS = false", "core.protectntfs"),
        ("[http]\nsslVerify = 0", "http.sslverify"),
        ("[core]\nexcludesFile = x", "core.excludesfile"),
        ("[extensions]\nrefStorage = files:///x", "extensions.refstorage"),
        ("[filter \"lfs\"]\nclean = git-lfs clean -- %f && evil", "filter.lfs.clean"),
        // It is taken in the place of what encrypts.
        ("[filter \"enc\"]\nprocess = git-lfs filter-process", "filter.enc.process"),
        ("[filter \"enc\"]\nrequired = false", "filter.enc.required"),
        // By these, git-annex runs what a branch and attributes name.
        ("[filter \"annex\"]\nprocess = git-annex filter-process", "filter.annex.process"),
        ("[filter \"annex\"]\nclean = git-annex smudge --clean -- %f", "filter.annex.clean"),
        ("[filter \"annex\"]\nsmudge = git-annex smudge -- %f", "filter.annex.smudge"),
        ("[git-town]\nbrowser = ./evil", "git-town.browser"),
        ("[svn-remote \"svn\"]\nurl = file:///w/evil", "svn-remote.svn.url"),
        ("[lfs]\nurl = https://x", "lfs.url"),
        ("[maintenance]\nrepo = evil", "maintenance.repo"),
        ("[fetch]\nbundleURI = evil", "fetch.bundleuri"),
        ("[submodule \"s\"]\ngitdir = node_modules/evil", "submodule.s.gitdir"),
        ("[submodule \"s\"]\ngitdir = .git/modules/../../evil", "submodule.s.gitdir"),
        ("[gitflow \"path\"]\nhooks = /workspace/evil", "gitflow.path.hooks"),
        ("[lfs \"customtransfer.x\"]\nargs = evil", "lfs.customtransfer.x.args"),
        ("[delta]\npager = evil", "delta.pager"),
        ("[tig \"bind\"]\ngeneric = x !evil", "tig.bind.generic"),
        ("[svn]\nauthors-prog = evil", "svn.authors-prog"),
        ("[remote \"o\"]\nannex-ssh-options = -oProxyCommand=evil", "remote.o.annex-ssh-options"),
        // What git hands on to its children as an argument.
        ("[remote \"--upload-pack=evil\"]\nurl = .", "remote.--upload-pack=evil.url"),
        ("[remote \"-u\"]\nprune = true", "remote.-u.prune"),
        ("[branch \"b\"]\nremote = --upload-pack=evil", "branch.b.remote"),
        ("[branch \"b\"]\npushRemote = --exec=evil", "branch.b.pushremote"),
        ("[branch \"b\"]\nmerge = --evil", "branch.b.merge"),
        ("[branch \"--evil\"]\nremote = origin", "branch.--evil.remote"),
        ("[remote]\npushDefault = --exec=evil", "remote.pushdefault"),
        ("[remotes]\nall = --upload-pack=evil", "remotes.all"),
        ("[extensions]\npartialClone = --upload-pack=evil", "extensions.partialclone"),
        ("[checkout]\ndefaultRemote = --evil", "checkout.defaultremote"),
        ("[submodule \"-s\"]\nactive = true", "submodule.-s.active"),
        // For these URLs, git looks for a program or an alias.
        ("[remote \"o\"]\nurl = x::--upload-pack=evil", "remote.o.url"),
        ("[remote \"o\"]\npushurl = hg::.", "remote.o.pushurl"),
        ("[remote \"o\"]\nurl = x://example.org/", "remote.o.url"),
        ("[remote \"o\"]\nurl = https://example.org/a::b", "remote.o.url"),
        ("[branch \"b\"]\nremote = x::--evil", "branch.b.remote"),
        ("[submodule \"s\"]\nurl = x::--evil", "submodule.s.url"),
        ("[remote \"o\"]\nurl = ssh://-oProxyCommand=evil/x", "remote.o.url"),
        ("[remote \"o\"]\nurl = -oProxyCommand=evil:x", "remote.o.url"),
        ("[remote \"o\"]\nurl = ~/private", "remote.o.url"),
        ("[remote \"o\"]\nurl = file://~/private", "remote.o.url"),
        ("[remote \"o\"]\nurl = $(evil)", "remote.o.url"),
        ("[remote \"o\"]\nurl = \"https://x/\\nevil\"", "remote.o.url"),
        ("[http \"evil\"]\nversion = 2", "http.evil.version"),
        ("[lfs \"-x\"]\naccess = basic", "lfs.-x.access"),
        // Aliases, formats, options, patterns and text for others, whatever they say.
        ("[alias]\nst = status", "alias.st"),
        ("[alias]\nst = clone -q . /home/me/.config/git", "alias.st"),
        ("[alias \"st\"]\ncommand = status", "alias.st.command"),
        ("[branch \"main\"]\nmergeOptions = --no-ff -F /etc/passwd", "branch.main.mergeoptions"),
        ("[branch \"main\"]\nmergeOptions = --no-ff", "branch.main.mergeoptions"),
        ("[branch \"main\"]\ndescription = x", "branch.main.description"),
        ("[url \"git@github.com:\"]\ninsteadOf = https://github.com/", "url.git@github.com:.insteadof"),
        ("[pretty]\nx = %h", "pretty.x"),
        ("[format]\npretty = %h", "format.pretty"),
        ("[log]\ndate = format:%c", "log.date"),
        ("[pull]\ntwohead = ort", "pull.twohead"),
        ("[merge]\ntool = vimdiff", "merge.tool"),
        ("[notes]\nrewriteRef = refs/notes/*", "notes.rewriteref"),
        ("[gc]\nrepackFilterTo = x", "gc.repackfilterto"),
        ("[user]\nsigningKey = x", "user.signingkey"),
        ("[user]\nname = \"a\\nb\"", "user.name"),
        ("[user]\nname = $(./e)", "user.name"),
        ("[user]\nname = \"$ ( . / e )\"", "user.name"),
        ("[user]\nname = \"$a (b ./e )\"", "user.name"),
        ("[author]\nname = \"${x@P}\"", "author.name"),
        ("[committer]\nname = \"a `e`\"", "committer.name"),
        ("[user]\nemail = \"\\\\044(./e)\"", "user.email"),
        ("[sendemail]\nto = a@b", "sendemail.to"),
        ("[bugtraq]\nurl = https://x/%BUGID%", "bugtraq.url"),
        ("[http]\nextraHeader = x", "http.extraheader"),
        ("[i18n]\ncommitEncoding = utf-8", "i18n.commitencoding"),
        ("[gitflow \"path\"]\nhooks = ~/.git/hooks", "gitflow.path.hooks"),
        ("[gitflow \"path\"]\nhooks = .git/hooks/d", "gitflow.path.hooks"),
        ("[gitflow \"release.finish\"]\nmessageFile = x", "gitflow.release.finish.messagefile"),
        ("[gitflow \"prefix\"]\nversionTag = -F x v", "gitflow.prefix.versiontag"),
        ("[machete \"github\"]\ndomain = x", "machete.github.domain"),
        ("[core]\ncommentString = \"\\texec evil #\"", "core.commentstring"),
        ("[core]\nsharedRepository = 0666", "core.sharedrepository"),
        ("[transfer]\nfsckObjects = false", "transfer.fsckobjects"),
        ("[merge]\nverifySignatures = false", "merge.verifysignatures"),
        ("[clean]\nrequireForce = false", "clean.requireforce"),
        ("[submodule \"s\"]\ngitdir = .git/modules/s", "submodule.s.gitdir"),
    ] {
        assert_eq!(git_key(config).as_deref(), Some(key), "{config}");
        assert_eq!(
            git_key(&format!("{CLONED}{config}\n")).as_deref(),
            Some(key),
            "after an ordinary one: {config}"
        );
    }
}

#[test]
fn settings_of_git_that_run_nothing_pass() {
    for config in [
        "",
        "# core.pager = evil\n; [core] pager = evil\n",
        "[core]\nfsmonitor = true\n",
        "[core]\nfsmonitor\n",
        "[core]\nautocrlf = input # pager = evil\n",
        "[core]\nsharedrepository = 1\n",
        "[gitflow \"branch.feature/x\"]\nbase = develop\n",
        "[branch \"feat(ui)\"]\nremote = origin\nmerge = refs/heads/feat(ui)\n",
        "[submodule \"my lib\"]\nactive = true\nurl = https://example.org/x.git\n",
        "[gui]\nwmstate = normal\ngeometry = 887x427+211+175 171 192\n",
        "[pager]\nlog = false\n",
        "[color]\npager = true\nui = auto\n[color \"diff\"]\nmeta = bold #ff00ff\n",
        "[user]\nname = A \\\n  pager = evil\n",
        "[user]\nname = \"[core] pager = evil\"\n",
        "[user]\nname = Jane (JD) Doe {x}\nemail = ja$e@example.org\n",
        "[user]\nname = \"CORP\\\\jane\"\n[author]\nname = Cash (JC) $\n",
        "[submodule \"s\"]\nupdate = merge\n",
        "[push]\ndefault = current\n[pull]\nrebase = merges\n[rerere]\nenabled = true\n",
        "[gc]\nauto = 0\npruneExpire = 2.weeks.ago\nreflogExpire = never\n[pack]\nwindowMemory = 100m\n",
        "[commit]\ngpgSign = true\n[init]\ndefaultBranch = main\n[http]\npostBuffer = 524288000\nversion = HTTP/1.1\n",
        // Of a clone: of a server, in every form, a mirror, with a filter, and with a part of the work tree.
        "[remote \"o\"]\nurl = git@github.com:a/b.git\npushurl = ssh://git@example.org:2222/~a/b.git\n",
        "[remote \"o\"]\nurl = https://me:t0ken@dev.azure.com/o/My%20Project/_git/b\ntagOpt = --no-tags\n",
        "[remote \"o\"]\nurl = git+ssh://example.org/x\nfetch = +refs/*:refs/*\nfetch = ^refs/heads/x\nmirror = true\n",
        "[remote \"o\"]\nurl = /srv/a b/x.git\npushurl = ../x\n[remote \"p\"]\nurl = file:///srv/x\n",
        "[extensions]\n\tworktreeConfig = true\n\tobjectFormat = sha256\n\tpartialClone = origin\n[remote \"origin\"]\n\tpromisor = true\n\tpartialclonefilter = blob:limit=1m\n",
        "[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone = true\n[index]\n\tsparse = true\n[submodule]\n\tactive = .\n",
        "[branch \"topic/#1-k\u{e4}se\"]\nremote = .\nmerge = refs/heads/main\nrebase = true\n",
        "[branch \"pr\"]\nremote = https://github.com/a/b.git\nmerge = refs/pull/1/head\npushRemote = origin\n",
        "[submodule \".vim/bundle/x\"]\nurl = https://github.com/a/b.git\nbranch = .\nignore = dirty\n",
        // What tools write: git-lfs, git-annex, git-flow, editors, forges, and git's own maintenance.
        "[lfs]\n\trepositoryformatversion = 0\n[lfs \"https://x/info/lfs\"]\n\taccess = basic\n\tlocksverify = true\n",
        "[filter \"lfs\"]\n\trequired = true\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n\tprocess = git-lfs filter-process\n",
        "[annex]\n\tuuid = 0-1\n\tversion = 10\n[remote \"origin\"]\n\tannex-uuid = 0-2\n\tannex-ignore = false\n",
        "[gitflow \"branch\"]\nmaster = main\n[gitflow \"prefix\"]\nfeature = feature/\nversiontag =\n[gitflow \"path\"]\nhooks = /workspace/.git/hooks\n",
        "[git-town-branch \"x\"]\n\tparent = main\n",
        "[gitflow]\n\tversion = 1.0\n[gitflow \"branch.main\"]\n\ttype = base\n",
        "[branch \"x\"]\n\tvscode-merge-base = origin/main\n\tgithub-pr-owner-number = a#b#1\n\tgk-merge-base = origin/main\n\tgh-merge-base = main\n\tgk-last-accessed = 2025-11-23T10:00:00.000Z\n",
        "[remote \"origin\"]\n\tgh-resolved = base\n[remote \"up\"]\n\tgh-resolved = a/b\n\tglab-resolved = base\n",
        "[maintenance]\n\tauto = false\n\tstrategy = incremental\n[log]\n\texcludeDecoration = refs/prefetch/\n",
        "[core]\n\tignorecase = true\n\tprecomposeunicode = true\n\tprotectNTFS = true\n\tabbrev = 12\n\tcompression = -1\n",
        "[credential \"https://dev.azure.com\"]\n\tuseHttpPath = true\n\tusername = me@example.org\n",
        "[codespaces-theme]\n\thide-status = 1\n[oh-my-zsh]\n\thide-dirty = 1\n",
    ] {
        assert_eq!(git_key(config), None, "{config}");
    }
}

#[test]
fn the_reader_takes_every_spelling_that_git_takes() {
    for config in [
        "[CORE]\nPAGER=evil",
        "[core]pager=evil",
        "[core]\r\n\tpager\t=\tevil\r\n",
        "\u{feff}[core]\npager = evil",
        "[core]\npager = \"evil\"",
        "[core]\npager = e\"vi\"l",
        "[core]\npager = \\\nevil",
        "[core] ; comment\npager = evil # comment",
        "[core][core]\npager = evil",
        "[user]\nname = x\n[core]\npager = evil",
        "[user]\nname = \"a\\\"b\"\n[core]\npager = evil",
        "[user]\nname = a \\\\\n[core]\npager = evil",
        "[user]\nname = x # \\\n[core]\npager = evil",
        "[core]\npager = evil\n[user \"]\"]\nname = x\n",
        "[core]\npager = evil\n[user \"a\\\"b\"]\nname = x\n",
        "  [core]\n  pager   =   evil",
        "[core]\npager",
    ] {
        let found = git_key(config);
        let bare_truth = config.ends_with("pager");
        assert_eq!(found.as_deref(), Some("core.pager"), "{config:?} ({bare_truth})");
    }
    assert_eq!(git_key("[filter.x]\nclean = evil").as_deref(), Some("filter.x.clean"));
    assert_eq!(git_key("[alias]\nx = \"!evil\"").as_deref(), Some("alias.x"));
    assert_eq!(git_key("[alias]\nx = \\\n!evil").as_deref(), Some("alias.x"));
}

#[test]
fn a_configuration_that_cannot_be_read_is_suspicious() {
    let unreadable = Some(Reason::Unreadable { format: FileFormat::Git });
    for config in [
        "pager = evil", "[core", "[core \"x\"", "[core \"x]\npager = evil", "[core]\n= x",
        "[core]\npager = \"x", "[core]\npager = \\q", "[core]\npager = x\\", "[co re]\n",
        "[core]\npa_ger = x", "[core]\n\0pager = x", "<<<<<<< HEAD",
    ] {
        assert_eq!(file(".git/config", config), unreadable, "{config:?}");
    }
    assert_eq!(classify(Path::new(".git/config"), FILE, &[0xff, 0xfe, b'x']), unreadable);
}

#[test]
fn a_bare_repository_is_classified_though_it_has_no_git_directory() {
    let config = "[core]\nbare = true\nfsmonitor = ./evil\n";
    assert!(matches!(file("innocent/config", config), Some(Reason::Setting { .. })));
    assert!(matches!(file("innocent/config", "[alias]\nst = !evil\n"), Some(Reason::Setting { .. })));
    assert_eq!(file("innocent/config", "[core]\nbare = true\n"), None);
    assert_eq!(file("innocent/config", "[default]\nregion = x\n"), None, "many programs have one");
}

#[test]
fn names_of_git_and_formats_that_lead_to_a_program_are_found() {
    for (config, key) in [
        ("[rebase]\ninstructionFormat = \"%s\\nexec evil\"", "rebase.instructionformat"),
        ("[rebase]\ninstructionFormat = %s%nexec evil", "rebase.instructionformat"),
        ("[rebase]\ninstructionFormat = %s%x0aexec evil", "rebase.instructionformat"),
        ("[rebase]\ninstructionFormat = %+s", "rebase.instructionformat"),
        ("[rebase]\ninstructionFormat = %s %b", "rebase.instructionformat"),
        ("[rebase]\ninstructionFormat = %ad", "rebase.instructionformat"),
        ("[rebase]\ninstructionFormat = raw", "rebase.instructionformat"),
        ("[pull]\ntwohead = x/evil", "pull.twohead"),
        ("[pull]\noctopus = ../evil", "pull.octopus"),
        ("[diff]\ntool = ../../evil", "diff.tool"),
        ("[diff]\nguitool = x/evil", "diff.guitool"),
        ("[merge]\ntool = x/evil", "merge.tool"),
        ("[merge]\nguiTool = x/evil", "merge.guitool"),
        ("[http]\ncookieFile = ../.bashrc", "http.cookiefile"),
        ("[http \"https://example.org\"]\nsaveCookies", "http.https://example.org.savecookies"),
    ] {
        assert_eq!(git_key(config).as_deref(), Some(key), "{config}");
    }
}

#[test]
fn what_a_configuration_of_git_names_is_known() {
    let hooks = |path: &str| Reference::Hooks(path.into());
    let configuration = |path: &str| Reference::Configuration(path.into());
    let program = |path: &str| Reference::Program(path.into());
    let file = |path: &str| Reference::File(path.into());
    let repository = |path: &str| Reference::Repository(path.into());
    for (config, named) in [
        ("[core]\n\thooksPath = .githooks\n", vec![hooks(".githooks")]),
        ("[core]\n\thooksPath = .husky/_\n", vec![hooks(".husky/_"), hooks(".husky")]),
        ("[core]\n\thooksPath = _\n", vec![hooks("_")]),
        ("[CORE]\nHooksPath = \"/srv/a b\" # all\n", vec![hooks("/srv/a b")]),
        ("[include]\npath = ../a\npath = b\n", vec![configuration("../a"), configuration("b")]),
        ("[includeIf \"gitdir:/x/\"]\npath = ../a\n", vec![configuration("../a")]),
        ("[core]\nfsmonitor = tools/watch\n", vec![program("tools/watch")]),
        ("[core]\nsshCommand = ssh -F ./ssh.conf\n", vec![program("./ssh.conf")]),
        ("[core]\nsshCommand = ssh -v -F sshconf -p 22\n", vec![file("sshconf")]),
        ("[core]\neditor = vim -u settings\n", vec![file("settings")]),
        ("[core]\neditor = emacs -nw --load=settings\n", vec![file("settings")]),
        ("[gpg]\nprogram = gpg --options settings\n", vec![file("settings")]),
        ("[credential]\nhelper = cache --timeout 3600\n", vec![]),
        ("[core]\neditor = code --wait -- file\n", vec![]),
        (
            "[core]\neditor = node --require=./hook x\n",
            ["./hook", "--require=./hook", "./hook.js", "./hook.node", "x", "x.js", "x.node"]
                .map(program)
                .into(),
        ),
        ("[filter \"x\"]\nclean = node scripts/clean.js %f\n", vec![program("scripts/clean.js")]),
        ("[filter \"x\"]\nclean = python3 fmt.py\n", vec![program("fmt.py")]),
        (
            "[filter \"x\"]\nclean = sed -ftools/x.sed\n",
            vec![program("tools/x.sed"), program("-ftools/x.sed")],
        ),
        ("[credential]\nhelper = !./helper\n", vec![program("./helper")]),
        ("[filter \"x\"]\nclean = sh clean\n", vec![program("clean")]),
        ("[filter \"x\"]\nclean = make -s -C tools clean\n", vec![program("tools")]),
        (
            "[filter \"x\"]\nclean = /usr/bin/python3.13 -u tools all\n",
            vec![program("/usr/bin/python3.13"), program("tools")],
        ),
        (
            "[filter \"x\"]\nclean = node tools/clean\n",
            vec![program("tools/clean"), program("tools/clean.js"), program("tools/clean.node")],
        ),
        ("[filter \"x\"]\nclean = sh -c status\n", vec![]),
        ("[filter \"x\"]\nclean = bash -e clean\n", vec![program("clean")]),
        ("[filter \"x\"]\nclean = perl -e clean\n", vec![]),
        (
            "[filter \"x\"]\nclean = 'my tools/fmt.sh'\n",
            vec![program("my tools/fmt.sh"), program("tools/fmt.sh")],
        ),
        ("[gpg]\nprogram = my tools/gpg\n", vec![program("my tools/gpg")]),
        (
            "[filter \"x\"]\nclean = \"\\\"$(git rev-parse --git-dir)\\\"/crypt/clean %f\"\n",
            vec![program("crypt/clean"), program(".git/crypt/clean")],
        ),
        (
            "[filter \"x\"]\nclean = sh -c '$PWD/tools/f.sh'\n",
            vec![program("tools/f.sh"), program(".git/tools/f.sh")],
        ),
        (
            "[filter \"nb\"]\nclean = /usr/bin/python3 -m nb.strip\n",
            ["/usr/bin/python3", "nb.strip", "nb/strip.py", "nb/strip/__init__.py", "nb/strip/__main__.py"]
                .map(program)
                .into(),
        ),
        // What takes its commands from a file of a fixed name, also as the command of a shell.
        (
            "[filter \"nb\"]\nclean = make -s nbclean\n",
            vec![program("GNUmakefile"), program("makefile"), program("Makefile"), file("nbclean")],
        ),
        ("[filter \"nb\"]\nclean = sh -c 'nox -s clean'\n", vec![program("noxfile.py"), file("clean")]),
        (
            "[filter \"nb\"]\nclean = pnpm run -s clean\n",
            ["package.json", "package.yaml", "package.json5"]
                .map(program)
                .into_iter()
                .chain([file("clean")])
                .collect(),
        ),
        ("[filter \"nb\"]\nclean = makeshift nbclean\n", vec![file("nbclean")]),
        ("[filter \"nb\"]\nclean = makeshift --nbclean\n", vec![]),
        // What an interpreter loads, by an option and in its text.
        (
            "[filter \"x\"]\nclean = ruby -r./tools/strip -e run\n",
            ["./tools/strip", "-r./tools/strip", "./tools/strip.rb", "./tools/strip.so"].map(program).into(),
        ),
        (
            "[filter \"x\"]\nclean = \"node -e 'require(\\\"./tools/q\\\")'\"\n",
            ["require(\"./tools/q\")", "./tools/q", "./tools/q.js", "./tools/q.node"].map(program).into(),
        ),
        (
            "[filter \"x\"]\nclean = python3 -c 'import tools.conv, one'\n",
            [
                "import tools.conv, one", "tools.conv,", "tools/conv.py", "tools/conv/__init__.py",
                "tools/conv/__main__.py", "one.py", "one/__init__.py", "one/__main__.py",
            ]
            .map(program)
            .into(),
        ),
        // Lists of keys, which no shell takes apart.
        ("[gpg \"ssh\"]\nallowedSignersFile = \"my signers\"\n", vec![file("my signers")]),
        (
            "[http]\nsslCAInfo = ca.pem\nproxySSLCAInfo = p.pem\nsslVerify = true\n[http \"https://x\"]\nsslCAPath = certs\n",
            vec![file("ca.pem"), file("p.pem"), program("certs")],
        ),
        (
            "[sendemail]\naliasesFile = .aliases\nsmtpSSLCertPath = certs/x.pem\nto = a\n",
            vec![file(".aliases"), program("certs/x.pem")],
        ),
        ("[gpg \"ssh\"]\nrevocationFile = keys/revoked\n", vec![file("keys/revoked")]),
        ("[gpg]\nformat = ssh\n", vec![]),
        // The program of a transfer, and what it is given, which may stand before it or in another configuration.
        (
            "[lfs \"customtransfer.x\"]\nargs = -u tools/xfer.py\npath = python3\n",
            vec![program("tools/xfer.py")],
        ),
        ("[lfs \"customtransfer.x\"]\npath = python3\nargs = xfer\n", vec![program("xfer")]),
        ("[lfs \"customtransfer.x\"]\nargs = xfer\n", vec![program("xfer")]),
        ("[lfs \"customtransfer.x\"]\npath = transfer\nargs = now\n", vec![file("now")]),
        ("[remote \"origin\"]\n\turl = ../origin.git\n", vec![repository("../origin.git")]),
        // The name of a remote without a URL is a path, too.
        ("[remote \"a\"]\npushurl = file:///srv/a\n", vec![repository("/srv/a"), repository("a")]),
        (
            "[remote \"a\"]\nurl = x\nurl =\n[remote \"b\"]\nurl = x:y\n",
            vec![repository("x"), repository("a")],
        ),
        (
            "[branch \"main\"]\nremote = ./a\npushRemote = origin\n",
            vec![repository("./a"), repository("origin")],
        ),
        ("[extensions]\npartialClone = a\n", vec![repository("a")]),
        ("[submodule \"s\"]\nurl = ../s\n", vec![repository("../s")]),
        ("[gitflow \"path\"]\nhooks = x/.git/hooks\n", vec![hooks("x/.git/hooks")]),
        ("[url \"vendor/a\"]\ninsteadOf = https://example.org/\n", vec![repository("vendor/a")]),
    ] {
        assert_eq!(references(config.as_bytes()), named, "{config}");
    }
}

#[test]
fn what_a_configuration_in_the_place_of_another_sets_changes_or_lacks_is_seen() {
    let before = "[remote \"o\"]\nurl = https://a/x\n[branch \"main\"]\nremote = o\n[branch \"b\"]\nmerge = refs/heads/b\n\
                  [filter \"enc\"]\nclean = enc\nrequired\n[core]\nhooksPath = .githooks\nbare = false\n[url \"DISABLED:\"]\n\
                  pushInsteadOf = https://up/\n[lfs]\nurl = https://lfs/\n[branch \"c\"]\npushRemote = kept\n\
                  [remotes]\nall = o grouped\n[remote]\npushDefault = backup\n";
    let seen = |now: &str| compare(Path::new(".git/config"), before.as_bytes(), now.as_bytes());
    let reason = |settings: &[&str]| {
        let settings: Vec<_> = settings.iter().map(|&setting| setting.to_owned()).collect();
        (!settings.is_empty()).then_some(Reason::Reconfigured { settings })
    };
    for (old, new, settings) in [
        // What git and editors write by themselves.
        ("", "", &[][..]),
        ("", "[branch \"b\"]\nremote = o\nrebase = true\n[extensions]\nworktreeConfig = true\n", &[]),
        ("", "[branch \"c\"]\nremote = .\nmerge = refs/heads/b\nvscode-merge-base = origin/main\n", &[]),
        ("[lfs]\n", "[lfs \"https://lfs/\"]\naccess = basic\n[lfs]\nrepositoryformatversion = 0\n", &[]),
        ("required\n", "required = true\n", &[]),
        // Where something goes.
        ("", "[remote \"p\"]\nurl = https://b/x\n", &["remote.p.url"]),
        ("", "[branch \"b\"]\nremote = p\n", &["branch.b.remote"]),
        ("[branch \"main\"]\nremote = o\n", "[branch \"renamed\"]\nremote = o\n", &["branch.main.remote"]),
        ("pushRemote = kept\n", "", &["branch.c.pushremote"]),
        ("", "[remote \"o\"]\npushurl = https://b/x\n", &["remote.o.pushurl"]),
        ("url = https://a/x\n", "url = https://b/x\n", &["remote.o.url"]),
        ("url = https://a/x\n", "url = https://a/x\nurl = https://b/x\n", &["remote.o.url"]),
        ("", "[branch \"main\"]\npushRemote = p\n", &["branch.main.pushremote"]),
        ("remote = o\n", "remote = p\n", &["branch.main.remote"]),
        ("pushDefault = backup\n", "pushDefault = p\n", &["remote.pushdefault"]),
        ("pushInsteadOf = https://up/\n", "", &["url.DISABLED:.pushinsteadof"]),
        ("url = https://lfs/\n", "", &["lfs.url"]),
        (
            "",
            "[push]\nrecurseSubmodules = on-demand\npushOption = x\n",
            &["push.pushoption", "push.recursesubmodules"],
        ),
        // What runs, and what keeps something from happening.
        ("clean = enc\n", "", &["filter.enc.clean"]),
        ("clean = enc\n", "clean = enc\nclean =\n", &["filter.enc.clean"]),
        ("required\n", "required\nrequired = false\n", &["filter.enc.required"]),
        ("hooksPath = .githooks\n", "", &["core.hookspath"]),
        ("bare = false\n", "bare\n", &["core.bare"]),
        (
            "",
            "[commit]\ngpgSign = 00\n[merge]\nverifySignatures = false\n",
            &["commit.gpgsign", "merge.verifysignatures"],
        ),
        (
            "",
            "[user]\nemail = a@b\n[status]\nshowUntrackedFiles = no\n",
            &["status.showuntrackedfiles", "user.email"],
        ),
    ] {
        let now = if old.is_empty() { format!("{before}{new}") } else { before.replace(old, new) };
        assert_eq!(seen(&now), reason(settings), "{old}{new}");
    }
}

#[test]
fn what_overrides_another_setting_only_by_its_place_is_seen() {
    let seen = |before: &str, now: &str| compare(Path::new(".git/config"), before.as_bytes(), now.as_bytes());
    let moved = |setting: &str| Some(Reason::Reconfigured { settings: vec![setting.into()] });
    let (include, signs) = ("[include]\npath = strict\n", "[commit]\ngpgSign = false\n");
    assert_eq!(seen(&format!("{signs}{include}"), &format!("{include}{signs}")), moved("commit.gpgsign"));
    let (empty, own) = ("[credential]\nhelper =\n", "[credential \"https://x\"]\nhelper = cache\n");
    assert_eq!(seen(&format!("{empty}{own}"), &format!("{own}{empty}")), moved("credential.helper"));
    let other = "[branch \"b\"]\nmerge = refs/heads/b\n";
    assert_eq!(seen(&format!("{signs}{include}"), &format!("{signs}{other}{include}")), None);
}

#[test]
fn a_path_that_is_no_text_is_the_one_that_git_takes() {
    let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
    for (config, named) in [
        (&b"[core]\n\tworktree = ../w\xff\n"[..], Reference::WorkTree(path(b"../w\xff"))),
        (b"[include]\n\tpath = \xfe/c\n", Reference::Configuration(path(b"\xfe/c"))),
        (b"[core]\n\thooksPath = h\xff\n", Reference::Hooks(path(b"h\xff"))),
        (b"[remote \"o\"]\n\turl = ../\xff\n", Reference::Repository(path(b"../\xff"))),
        (b"[filter \"x\"]\n\tclean = cat 't\xff/x'\n", Reference::Program(path(b"t\xff/x"))),
    ] {
        assert_eq!(references(config), [named]);
    }
    let module = b"[submodule \"\xff/x\"]\n\turl = y\n";
    assert!(submodules(module).eq([path(b"\xff/x")]));
    assert_eq!(references(module), [Reference::Repository(path(b"y"))]);
    // A name of a person may be in any encoding; what is compared with text may not.
    let verdict_of = |config: &[u8]| classify(Path::new(".git/config"), FILE, config);
    assert_eq!(verdict_of(b"[user]\n\tname = J\xfcrgen\n"), None);
    assert_eq!(
        verdict_of(b"[init]\n\tdefaultBranch = \xff\n"),
        Some(Reason::Setting { key: "init.defaultbranch".into() })
    );
}

#[test]
fn a_submodule_is_named_as_git_takes_its_name() {
    let named = |name: &str| {
        submodules(format!("[submodule \"{name}\"]\n\turl = x\n").as_bytes()).collect::<Vec<_>>()
    };
    for name in ["a/b", "./a/b", "/a//b/.", "././/a/./b"] {
        assert_eq!(named(name), [PathBuf::from("a/b")], "{name}");
    }
    assert_eq!(named("a/../b"), Vec::<PathBuf>::new());
}

#[test]
fn what_leads_out_of_where_git_is_installed_may_lead_anywhere() {
    for (path, beyond) in [
        ("%(prefix)/../home/u/p/hooks", Some("home/u/p/hooks")),
        ("%(prefix)/../../home/u/p/x/../hooks", Some("home/u/p/x/../hooks")),
        ("%(prefix)/share/../../srv/hooks", Some("srv/hooks")),
        ("%(prefix)//./../x", Some("x")),
        ("%(prefix)/share/../hooks", None),
        ("%(prefix)/etc/gitconfig", None),
        ("%(prefixes)/../x", None),
        ("x/%(prefix)/../y", None),
        ("/usr/../x", None),
    ] {
        assert_eq!(beyond_prefix(Path::new(path)), beyond.map(PathBuf::from), "{path}");
    }
    let hooks = "%(prefix)/../home/u/p/hooks";
    for (config, named) in [
        (format!("[core]\n\thooksPath = {hooks}\n"), Reference::Hooks(hooks.into())),
        (format!("[core]\n\thooksPath = :(optional){hooks}\n"), Reference::Hooks(hooks.into())),
        (format!("[include]\n\tpath = {hooks}\n"), Reference::Configuration(hooks.into())),
        (format!("[core]\n\taskPass = {hooks}\n"), Reference::Program(hooks.into())),
        // A name like others.
        ("[core]\n\thooksPath = %hooks\n".to_owned(), Reference::Hooks("%hooks".into())),
    ] {
        assert_eq!(references(config.as_bytes()), [named], "{config}");
    }
    // It is no path that depends on where git is called.
    let config = |hooks: &str| format!("[core]\n\thooksPath = {hooks}\n").into_bytes();
    assert!(!names_relative(&config(hooks)) && names_relative(&config("hooks")));
}

#[test]
fn what_lies_elsewhere_or_runs_nothing_is_no_reference() {
    for config in [
        "[core]\n\thooksPath =\n\thooksPath\n",
        "[include]\n\tpath = %(prefix)/etc/gitconfig\n",
        "[core]\n\tpager = less\n\tfsmonitor = true\n",
        "[alias]\n\tdeploy = !./deploy\n",
        "[remote \"origin\"]\n\turl = git@example.org:a/b.git\n\tpushurl = ssh://example.org/a\n",
        "[core]\n\thooksPath = .husky\n[broken\n",
        CLONED,
    ] {
        assert_eq!(references(config.as_bytes()), [], "{config}");
    }
}
