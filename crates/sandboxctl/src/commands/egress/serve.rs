//! The egress proxy, as a process: started by `run`, for one sandbox, and confined before it reads anything from inside.

use std::fs::File;
use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use anyhow::{Context as _, bail};
use confine::account::{Account, RootPolicy};
use confine::capabilities::not_dumpable;
use confine::lockdown::{Lockdown, lock_down};
use confine::protocol::{
    ControlSocket, EgressCounts, EgressEvent, EgressSpec, ListenerSource, Listeners, RlimitFallback,
};
use confine::report::Status;
use confine::seccomp::{self, Pid1};
use egress::audit::Audit;
use egress::proxy::Proxy;
use policy::rules::network::{HostPattern, HostRule, HostRules, NetworkMode};
use policy::rules::user::{UserOrGroup, UserSpec};
use policy::rules::verdict::Origin;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sandbox::session::egress::EgressProgram;
use tokio::io::Interest;

use crate::error::CommandError;
use crate::exit_code::ExitCode;

/// This program, as it is now, whatever becomes of its path.
pub(crate) const PROGRAM: EgressProgram<'static> =
    EgressProgram { path: "/proc/self/exe", arguments: &["egress", "serve"] };

/// Serves until the sandbox has ended.
pub(super) fn serve() -> Result<ExitCode, CommandError> {
    // 1. Nobody may look into this process, which will hold credentials.
    not_dumpable().context("cannot close this process to others")?;

    // 2. What it is to do, from the process that has started it. A person who types this has no such socket.
    let mut control = ControlSocket::from(rustix::io::dup(rustix::stdio::stdin()).context("standard input")?);
    let spec: EgressSpec =
        control.receive().ok().flatten().context(
            "standard input is no socket of `sandboxctl run`, which starts this command by itself",
        )?;
    match run(&mut control, spec) {
        Ok(counts) => {
            // A client that is gone wants to know nothing.
            let _ = control.send(&EgressEvent::Ended(counts), &[]);
            Ok(ExitCode::Success)
        }
        Err(error) => {
            let _ = control.send(&EgressEvent::Failed(format!("{error:#}")), &[]);
            Err(error.into())
        }
    }
}

fn run(control: &mut ControlSocket, spec: EgressSpec) -> anyhow::Result<EgressCounts> {
    let mut descriptors = control.take_descriptors().into_iter();
    let (Some(source), Some(log)) = (descriptors.next(), descriptors.next()) else {
        bail!("descriptors are missing");
    };

    // 3. Everything that is read from files: the configuration of the resolver.
    let rules = |patterns: Vec<HostPattern>| {
        let rule = |pattern| HostRule { pattern, origin: Origin::Default };
        patterns.into_iter().map(rule).collect()
    };
    let rules = HostRules::new(NetworkMode::Allowlist, rules(spec.allow), rules(spec.deny));
    let proxy = Proxy::new(rules, Audit::new(File::from(log))).context("the resolver's configuration")?;

    // 4. From here on no file is opened and no program executed, and there is no way back to another user.
    confine(spec.user)?;

    // 5. Connections, until PID 1 is gone. It opens the listeners, and then starts the agent.
    let source = ListenerSource::from(source);
    let Some(listeners) = source.first().context("the listeners")? else {
        return Ok(EgressCounts::default());
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let Listeners { proxy: listener, .. } = listeners;
        let listener = tokio::net::TcpListener::from_std(TcpListener::from(listener))?;
        tokio::spawn(std::sync::Arc::clone(&proxy).serve(listener));
        ended(&source).await
    })?;
    let counts = proxy.audit().counts();
    Ok(EgressCounts {
        connections: counts.connections,
        refusals: counts.refusals,
        sent: counts.sent,
        received: counts.received,
    })
}

/// Gives up what only the start needs.
fn confine(user: Option<(u32, u32)>) -> anyhow::Result<()> {
    let account = |(uid, gid)| {
        let spec = UserSpec { user: UserOrGroup::Id(uid), group: Some(UserOrGroup::Id(gid)) };
        Account::find(&spec, RootPolicy::Refused).map(|account| Account { groups: vec![gid], ..account })
    };
    let account = user.map(account).transpose()?;
    let locked = lock_down(&Lockdown {
        rlimit_fallback: &RlimitFallback::default(),
        account: account.as_ref(),
        grants: Some(&[]),
        filter: &seccomp::compile(Pid1::Agents),
    })?;
    for finding in [locked.landlock(), locked.seccomp()] {
        if finding.status == Status::Not {
            bail!("it cannot be confined: layer {}: {}", finding.layer, finding.reason);
        }
    }
    Ok(())
}

/// Waits until PID 1 has closed its end.
async fn ended(source: &ListenerSource) -> io::Result<()> {
    let lifeline = UnixStream::from(source.as_fd().try_clone_to_owned()?);
    lifeline.set_nonblocking(true)?;
    let lifeline = tokio::net::UnixStream::from_std(lifeline)?;
    loop {
        lifeline.readable().await?;
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut ends = [PollFd::new(source, PollFlags::empty())];
        if poll(&mut ends, Some(&now))? > 0 {
            return Ok(());
        }
        // It was an answer, which somebody else reads.
        let waits = || Err::<(), _>(io::ErrorKind::WouldBlock.into());
        let _ = lifeline.try_io(Interest::READABLE, waits);
    }
}
