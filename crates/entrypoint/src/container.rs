//! The start of an agent in a container, in one numbered list. `docs/entrypoint.md` lists the same steps.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use confine::account::{Account, LookupError, RootPolicy};
use confine::capabilities;
use confine::credentials::{KeptBecause, SupplementaryGroups};
use confine::lockdown::{Lockdown, Locked, Machine, lock_down};
use confine::process::command::Command;
use confine::process::supervise;
use confine::protocol::{EnvEntry, Grant, LandlockAccess, RlimitFallback};
use confine::report::Status;
use confine::seccomp::{self, Pid1};
use policy::rules::env::{AGENT_ALLOW_EMULATION, EnvRule, EnvRules, Name, Unnamed};
use policy::rules::verdict::Origin;
use policy::text::escape;
use rustix::io::Errno;

use crate::settings::{self, Emulation, Mode, SANDBOX_WRITABLE, Settings};

/// Exit code for failures of its own, as `docker run` and env(1) have it.
pub(crate) const FAILED: u8 = 125;
/// Exit code for a command that is there and cannot be executed.
const NOT_EXECUTABLE: u8 = 126;
/// Exit code for a command that is not there.
const NOT_FOUND: u8 = 127;

/// The user where none is named.
const DEFAULT_USER: &str = "agent";

/// Starts the agent. Returns only the exit code that says why there is none.
pub(crate) fn run(arguments: &[OsString], environment: Vec<(OsString, OsString)>) -> u8 {
    match settings::read(arguments, &environment) {
        Ok(settings) => {
            // 3. The environment without everything that is not the agent's, all occurrences of it, and with what
            //    belongs to the new user: an engine has set HOME for the user it started.
            let environment = |account: &Account| agent_environment(environment, account);
            let started = hide().and_then(|()| start(&settings, environment));
            started.unwrap_or_else(|error| print(FAILED, &format!("{error:#}")))
        }
        Err(problems) => problems.iter().fold(FAILED, |code, problem| print(code, problem)),
    }
}

/// Keeps everybody from looking into this process while it still knows what the agent must not. A set-uid copy of this
/// program would do as root what any user asks for.
fn hide() -> anyhow::Result<()> {
    // 1. Before anything else is known.
    capabilities::not_dumpable()?;
    ensure!(
        rustix::process::getuid() == rustix::process::geteuid()
            && rustix::process::getgid() == rustix::process::getegid(),
        "this program is set-uid or set-gid and must not be; take the bits off with `chmod ug-s`"
    );
    Ok(())
}

fn start(
    settings: &Settings,
    environment: impl FnOnce(&Account) -> anyhow::Result<Vec<EnvEntry>>,
) -> anyhow::Result<u8> {
    // 2. The identity of the agent. An unknown user ends the start here, and never continues as root.
    let account = account(settings)?;

    let environment = environment(&account)?;

    // 4. Standard streams become the agent's, while root is still here to give them away: otherwise
    //    `echo > /dev/stderr` fails for it.
    chown_streams(&account)?;

    // 5. Limits, capabilities, groups, group, user, no_new_privs, landlock, seccomp: the order and its reasons stand in
    //    `confine::lockdown`. Root cannot be regained, and that was tried.
    let grants = settings.writable.as_deref().map(grants);
    let locked = lock_down(&Lockdown {
        rlimit_fallback: &RlimitFallback::default(),
        account: Some(&account),
        grants: grants.as_deref(),
        filter: &seccomp::compile(match settings.mode {
            Mode::Exec => Pid1::Agents,
            Mode::Init => Pid1::Ours,
        }),
    })?;

    // 6. Look from inside, and refuse to go on without a layer.
    require(settings, &account, &locked)?;

    // 7. The umask of whoever asked for the command. The working directory, as the agent: root may enter what the agent
    //    may not, and would leave it there.
    if let Some(umask) = settings.umask {
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(umask));
    }
    enter(settings.workdir.as_deref())?;

    // 8. The agent takes this place, or this process stays and the agent becomes its child. Either way nothing crosses
    //    over but the three streams, no signal is ignored or blocked, and the command is looked up as the agent.
    let agent = || {
        let errno = match Command::new(&settings.argv, &environment) {
            Ok(command) => command.exec(),
            Err(errno) => errno,
        };
        not_executed(settings, &account, &environment, errno)
    };
    match settings.mode {
        Mode::Exec => Ok(agent()),
        Mode::Init => {
            let never: Infallible = supervise::fork_and_supervise(locked.machine(), agent)
                .context("cannot become the supervisor of the agent")?;
            match never {}
        }
    }
}

/// Prints a line to whoever reads the container's output, and returns the code.
pub(crate) fn print(code: u8, message: &str) -> u8 {
    // One write for one line. If nobody reads it, the code has to do.
    let _ = io::stderr().write_all(format!("entrypoint: {message}\n").as_bytes());
    code
}

/// Looks up the user that the settings name; otherwise the one that this process is already, and `agent` where that is root.
fn account(settings: &Settings) -> anyhow::Result<Account> {
    let found = match &settings.user {
        Some(spec) => Account::find(spec, settings.root),
        None if rustix::process::getuid().is_root() => {
            let default = DEFAULT_USER.parse().context("the default user")?;
            return Account::find(&default, RootPolicy::Refused)
                .context("AGENT_USER is not set, and no agent runs as root");
        }
        None => Account::current(),
    };
    match found {
        Err(error @ LookupError::Root { .. }) => {
            bail!("AGENT_USER: {error}: AGENT_USER=root and AGENT_ALLOW_ROOT=1")
        }
        found => found.context("AGENT_USER"),
    }
}

/// Filters the environment of the agent, each variable as `NAME=value`.
fn agent_environment(given: Vec<(OsString, OsString)>, account: &Account) -> anyhow::Result<Vec<EnvEntry>> {
    let name = OsString::from(account.name.clone().unwrap_or_else(|| account.uid.to_string()));
    let mut rules = EnvRules::new(Unnamed::Keep);
    for (variable, value) in
        [("HOME", &account.home), ("USER", &name), ("LOGNAME", &name), ("SHELL", &account.shell)]
    {
        rules.insert(variable.parse::<Name>()?, EnvRule::Set(value.clone()), Origin::Default);
    }
    let kept = policy::rules::env::apply(given, &rules).kept;
    Ok(kept.iter().map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat().into()).collect())
}

/// Makes the agent the owner of its terminal and its pipes.
///
/// Of nothing else: `/dev/null` is everybody's, and a file, a named pipe too, has an owner that is its own affair.
fn chown_streams(account: &Account) -> anyhow::Result<()> {
    // linux/magic.h: pipes without a name live in a file system of their own.
    const PIPEFS_MAGIC: i64 = 0x5049_5045;
    let owner = rustix::fs::Uid::from_raw(account.uid);
    for stream in [io::stdin().as_fd(), io::stdout().as_fd(), io::stderr().as_fd()] {
        let pipe = || rustix::fs::fstatfs(stream).is_ok_and(|found| found.f_type == PIPEFS_MAGIC);
        if !rustix::termios::isatty(stream) && !pipe() {
            continue;
        }
        match rustix::fs::fchown(stream, Some(owner), None) {
            // Without CAP_CHOWN, or on a read-only devpts, the open descriptors still work. A user who does not exist
            // in this user namespace (EINVAL) is refused in a moment, with a better explanation.
            Ok(()) | Err(Errno::PERM | Errno::ROFS | Errno::INVAL) => {}
            Err(errno) => {
                return Err(errno).context("cannot make the agent the owner of its standard streams");
            }
        }
    }
    Ok(())
}

/// Lists what landlock lets the agent do: read and execute everything, write where the settings allow it.
fn grants(writable: &[PathBuf]) -> Vec<Grant> {
    let grant = |path: &Path, access| Grant { path: path.to_owned(), access };
    let devices = ["null", "zero", "full", "random", "urandom"].map(|name| Path::new("/dev").join(name));
    [
        // Not `/proc` either, where everybody may set triggers of pressure that outlive the container.
        ("/", LandlockAccess::ReadExecute),
        ("/dev/pts", LandlockAccess::Terminal),
        ("/dev/ptmx", LandlockAccess::Terminal),
        ("/dev/tty", LandlockAccess::Terminal),
        ("/dev/console", LandlockAccess::Terminal),
    ]
    .into_iter()
    .map(|(path, access)| grant(Path::new(path), access))
    .chain(devices.iter().chain(writable).map(|path| grant(path, LandlockAccess::ReadWrite)))
    .collect()
}

/// Refuses to go on without a layer, and notes what holds in part only.
fn require(settings: &Settings, account: &Account, locked: &Locked) -> anyhow::Result<()> {
    require_filter(settings, locked)?;
    require_landlock(settings, locked)?;
    let capabilities = capabilities::probe();
    ensure!(capabilities.status != Status::Not, "capabilities are left: {}", capabilities.reason);
    if capabilities.status == Status::Partly && account.uid != 0 {
        print(0, &format!("note: {}", capabilities.reason));
    }
    if account.uid != 0 && account.gid == 0 {
        let uid = account.uid;
        let note = format!(
            "note: the agent keeps group 0, whose files may be open to it, as root's are: an engine gives it to a number \
             without an entry in /etc/passwd; start with `--user {uid}:{uid}`"
        );
        print(0, &note);
    }
    if let Some(SupplementaryGroups::Kept { extra, reason }) = &locked.groups {
        let because = match reason {
            KeptBecause::Namespace => "this user namespace refuses setgroups",
            KeptBecause::Unprivileged => "changing them takes CAP_SETGID",
        };
        if !extra.is_empty() {
            print(0, &format!("note: the agent keeps the supplementary groups {extra:?}: {because}"));
        } else if *reason == KeptBecause::Namespace {
            print(0, &format!("note: supplementary groups are left as they are: {because}"));
        }
    }
    Ok(())
}

/// Requires the seccomp filter, which nothing replaces; where an emulator has none, its user has to say that it is not needed.
fn require_filter(settings: &Settings, locked: &Locked) -> anyhow::Result<()> {
    let seccomp = locked.seccomp();
    match (locked.machine(), settings.emulation) {
        (Machine::Emulated, Emulation::Allowed) => {
            let note = "note: this program is emulated, so that nothing refuses system calls but the engine's own filter, if \
                        it has one, and there is no landlock; user, groups, the lack of capabilities and no_new_privs hold";
            print(0, note);
        }
        (Machine::Emulated, Emulation::Refused) => bail!(
            "no system call is filtered: {}; use an image for this machine's processor, or go on without the filter by \
             {AGENT_ALLOW_EMULATION}=1",
            seccomp.reason
        ),
        (Machine::Real, _) => {
            ensure!(seccomp.status != Status::Not, "no system call is filtered: {}", seccomp.reason);
        }
    }
    Ok(())
}

/// Requires landlock, if it was asked for; otherwise it restricts ptrace, and what stays in sight is noted.
fn require_landlock(settings: &Settings, locked: &Locked) -> anyhow::Result<()> {
    let missing = |reason: String| match locked.machine() {
        Machine::Emulated => "an emulator knows no landlock".to_owned(),
        Machine::Real => reason,
    };
    if settings.writable.is_some() {
        let landlock = locked.landlock();
        let reason = missing(landlock.reason);
        ensure!(landlock.status != Status::Not, "{SANDBOX_WRITABLE} cannot be enforced: {reason}");
    }
    if let (Some(Err(error)), Some(parent)) = (&locked.ptrace, readable_parent()) {
        let reason = missing(error.to_string());
        let note = format!(
            "note: the agent can read the environment of the process that started this one, /proc/{parent}/environ: \
             {reason}; start without the engine's init (AGENT_INIT=1 does its work), or as root"
        );
        print(0, &note);
    }
    Ok(())
}

/// Returns the process that started this one, if its environment can be read by the user that this is now.
fn readable_parent() -> Option<i32> {
    let parent = rustix::process::getppid()?.as_raw_nonzero().get();
    std::fs::File::open(format!("/proc/{parent}/environ")).ok().map(|_| parent)
}

/// Enters the directory the agent starts in: the one it was given, or the one this process is in.
fn enter(workdir: Option<&Path>) -> anyhow::Result<()> {
    let here =
        || rustix::process::getcwd(Vec::new()).map(|path| PathBuf::from(OsStr::from_bytes(path.as_bytes())));
    let wanted = workdir
        .map_or_else(here, |path| Ok(path.to_owned()))
        .context("cannot determine the working directory")?;
    rustix::process::chdir(&wanted).with_context(|| {
        format!(
            "cannot enter {} as the agent; AGENT_WORKDIR names a directory that the agent may enter",
            escape::path(&wanted)
        )
    })?;
    // The kernel's word for a directory outside of this root (CVE-2024-21626).
    let entered = here().context("cannot determine the working directory")?;
    ensure!(
        entered.is_absolute(),
        "{} leads out of this file system; AGENT_WORKDIR names a directory inside",
        escape::path(&wanted)
    );
    Ok(())
}

/// Prints why the command was not executed, and returns the exit code.
fn not_executed(settings: &Settings, account: &Account, environment: &[EnvEntry], errno: Errno) -> u8 {
    let program = String::from_utf8_lossy(&settings.argv[0]).into_owned();
    match errno {
        Errno::NOENT if program.contains('/') => {
            print(NOT_FOUND, &format!("there is no `{program}` in this file system"))
        }
        Errno::NOENT => {
            let path = environment.iter().find_map(|entry| entry.strip_prefix(b"PATH="));
            let path = path.map_or("no PATH, so in the usual directories".into(), String::from_utf8_lossy);
            let words = if program.contains(' ') {
                "; the command is one program, and its arguments stand in AGENT_ARGS, a JSON array"
            } else {
                ""
            };
            print(NOT_FOUND, &format!("the command `{program}` was not found; looked in {path}{words}"))
        }
        Errno::ACCESS => print(
            NOT_EXECUTABLE,
            &format!(
                "`{program}` cannot be executed by uid {}: {errno}; it must be an executable file (chmod a+x) in directories \
                 that the agent may search, on a file system without `noexec`",
                account.uid
            ),
        ),
        Errno::NOEXEC => print(
            NOT_EXECUTABLE,
            &format!(
                "`{program}` cannot be executed: it is no program for this machine, a script without `#!`, or the \
                 interpreter or loader that it names is not in this file system"
            ),
        ),
        errno => print(NOT_EXECUTABLE, &format!("`{program}` cannot be executed: {errno}")),
    }
}
