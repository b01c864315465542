//! The egress proxy, as a process: started by `run`, for one sandbox, and confined before it reads anything from inside.

use std::env;
use std::fs::File;
use std::io;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context as _, bail};
use confine::account::{Account, RootPolicy};
use confine::capabilities::not_dumpable;
use confine::lockdown::{Lockdown, lock_down};
use confine::protocol::{
    ControlSocket, EgressCounts, EgressEnd, EgressEvent, EgressSpec, ListenerSource, Listeners,
    RlimitFallback,
};
use confine::report::Status;
use confine::seccomp;
use egress::audit::Audit;
use egress::authority::Authority;
use egress::changes::ChangingRules;
use egress::dns;
use egress::limits::Limits;
use egress::names::Names;
use egress::parent::Parent;
use egress::proxy::{Proxy, Setup};
use egress::rotate::Rotated;
use egress::route::Route;
use egress::tls::{Roots, RootsError};
use egress::unreached::NotifyUnreached;
use policy::plan::RouteUpstream;
use policy::rules::limits::Bytes;
use policy::rules::network::HostRule;
use policy::rules::user::{UserOrGroup, UserSpec};
use policy::text::escape;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, Signal, geteuid, getpid, getrlimit, kill_process, setrlimit};
use sandbox::host::acting::ActingAs;
use sandbox::host::identity::Identity;
use sandbox::host::small_file;
use tokio::sync::oneshot;

use super::init_socket::InitSocket;
use super::renewals::Renewals;
use super::requests::Requests;
use super::routes::{credited, route};
use crate::context::refuse_sudo;
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;

/// How long each of the two files of a log may become, in bytes.
const MAX_LOG: u64 = 4 << 20;

/// How many refused hosts are named at the end. `egress log` has all.
const MAX_REFUSED: usize = 5;

/// How much memory it may have: its cgroup is none of the sandbox's, and what is held of a connection is more than the bytes that have come.
/// A proxy that wants more ends, and nothing leaves the sandbox any more.
const MEMORY: Bytes = Bytes(1 << 30);

/// How many files of authorities are read of a directory.
const MAX_AUTHORITIES: usize = 4096;

/// How long it may take to record what was open at the end. Its client waits a little longer.
const LAST: Duration = Duration::from_secs(1);

/// The arguments of the egress proxy.
pub(crate) const ARGUMENTS: &[&str] = &["egress", "serve"];

/// Variables that it reads: the proxy that this host is behind, and the authorities that the caller believes.
pub(crate) const VARIABLES: [&str; 8] = [
    "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// Serves until the sandbox has ended.
pub(super) fn serve() -> Result<ExitCode, CommandError> {
    // 1. Nobody may look into this process, which will hold credentials.
    not_dumpable().context("cannot close this process to others")?;

    // 2. What it is to do, from the process that has started it. A person who types this has no such socket.
    let stdin = rustix::stdio::stdin();
    // Whoever may call this as root by sudo, and nothing else, is not to say what root's proxy does. A socket says only who has made it: a
    // message bus of root's passes on what anybody sends.
    refuse_sudo("the egress proxy", "sandboxctl run")?;
    let peer = rustix::net::sockopt::socket_peercred(stdin).map(|peer| peer.uid);
    if peer.is_ok_and(|peer| peer != geteuid()) {
        return Err(CommandError::message(
            Code::PolicyDenied,
            "standard input is a socket of another user; `sandboxctl run` starts this command by itself",
        ));
    }
    let mut control = ControlSocket::from(rustix::io::dup(stdin).context("standard input")?);
    let spec: EgressSpec =
        control.receive().ok().flatten().context(
            "standard input is no socket of `sandboxctl run`, which starts this command by itself",
        )?;
    // What PID 1 has sent there is not given back before it is known why.
    let descriptors = control.take_descriptors();
    let _held = descriptors.first().map(OwnedFd::try_clone);
    match run(&mut control, descriptors, spec) {
        Ok(end) => {
            // A client that is gone wants to know nothing.
            let _ = control.send(&EgressEvent::Ended(end), &[]);
            Ok(ExitCode::Success)
        }
        Err(error) => {
            let _ = control.send(&EgressEvent::Failed(format!("{error:#}")), &[]);
            Err(error.into())
        }
    }
}

fn run(
    control: &mut ControlSocket,
    descriptors: Vec<OwnedFd>,
    spec: EgressSpec,
) -> anyhow::Result<EgressEnd> {
    let descriptors: Result<[OwnedFd; 5], _> = descriptors.try_into();
    let Ok([source, first, second, requests, client]) = descriptors else { bail!("descriptors are missing") };

    // 3. As many descriptors as it may have: each connection needs two, each listener one.
    let limits = Limits { bytes: spec.bytes.unwrap_or(u64::MAX), ..Limits::default() };
    let limits = limits.within(raise_descriptors());

    // 4. Everything that is read from files and from the environment.
    let [allow, deny] = [spec.allow, spec.deny].map(|rules| rules.into_iter().map(HostRule::from).collect());
    let rules = ChangingRules::new(allow, deny).intercepting(spec.intercept.clone());
    let audit = Audit::new(Rotated::new(File::from(first), File::from(second), MAX_LOG)?);
    audit.notify_of_unreached(notifier(control)?);
    let (rejected, renewals) = Renewals::new(ControlSocket::from(client), &spec.routes);
    let (intercepted, routes): (Vec<_>, Vec<_>) =
        spec.routes.into_iter().partition(|route| matches!(route.upstream, RouteUpstream::Intercepted(_)));
    let credited: Vec<_> = intercepted.into_iter().map(credited).collect::<anyhow::Result<_>>()?;
    let credited = credited.concat();
    let routes: Vec<Route> = routes.into_iter().map(route).collect::<anyhow::Result<_>>()?;
    let authority = match spec.intercept {
        hosts if hosts.is_empty() => None,
        hosts => Some(Authority::new(hosts)?),
    };
    if let Some(authority) = &authority {
        control.send(&EgressEvent::Authority(authority.to_pem().into_bytes()), &[])?;
    }
    // Only these two speak TLS themselves: all other connections pass as they are.
    let speaks_tls = !routes.is_empty() || authority.is_some();
    let reader = reader(spec.owner, spec.user);
    let roots = if speaks_tls { roots(reader)? } else { Roots::default() };
    let setup = Setup {
        sandbox: Some(spec.name),
        parent: parent()?,
        routes,
        authority,
        credited,
        roots,
        limits,
        rejected: Some(rejected),
        ..Setup::from(rules.rules())
    };
    let proxy = Proxy::new(setup, audit).context("the resolver's configuration")?;

    // What the runtime has for signals, as other parts of this program want it, takes sockets of its own.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;

    // 5. From here on no file is opened and no program executed, and there is no way back to another user.
    confine(spec.user)?;

    // 6. Connections, until PID 1 is gone. It opens the listeners, and then starts the agent.
    let source = ListenerSource::from(source);
    let Some(Listeners { proxy: listener, dns_udp, dns_tcp }) = source.first().context("the listeners")?
    else {
        return Ok(EgressEnd::default());
    };
    let answering = Arc::new(Mutex::new(()));
    let mut requests = Requests {
        listener: UnixListener::from(requests),
        owner: spec.owner,
        rules,
        proxy: Arc::clone(&proxy),
        variables: spec.variables,
        attending: Vec::new(),
        answering: Arc::clone(&answering),
    };
    requests.serve_waiting()?;
    let (failed, requests_failed) = oneshot::channel();
    std::thread::Builder::new().spawn(move || failed.send(requests.serve()))?;
    let renewed = Arc::clone(&proxy);
    std::thread::Builder::new().spawn(move || renewals.serve(&renewed))?;
    let lifeline = source.as_fd().try_clone_to_owned()?;
    std::thread::Builder::new().spawn(move || end_after(&lifeline))?;
    runtime.block_on(async {
        let init = InitSocket::new(source)?;
        let names = Names::new(Arc::clone(&proxy), init.clone());
        let dns_udp = tokio::net::UdpSocket::from_std(UdpSocket::from(dns_udp))?;
        // Where one fails, all end: what a person does not see, such as a rule whose time is over, is still relied on.
        tokio::select! {
            ended = init.ended() => ended.context("the socket to PID 1"),
            failed = dns::serve(names, dns_udp, tcp(dns_tcp)?) => failed.context("the DNS server"),
            failed = Arc::clone(&proxy).serve(tcp(listener)?) => failed.context("the proxy listener"),
            failed = requests_failed => Err(failed?).context("the socket of the owner"),
        }
    })?;
    // What is still open ends now, and is recorded.
    drop(runtime);
    // Whoever has asked for what has ended it reads that it is done.
    drop(answering.lock());
    proxy.audit().end();
    let counts = proxy.audit().counts();
    let counts = EgressCounts {
        connections: counts.connections,
        requests: counts.requests,
        refusals: counts.refusals,
        errors: counts.errors,
        sent: counts.sent,
        received: counts.received,
    };
    let mut refused = proxy.allowable();
    let more = refused.len().saturating_sub(MAX_REFUSED);
    refused.truncate(MAX_REFUSED);
    Ok(EgressEnd { counts, refused, more })
}

/// Returns what notifies the client of a host that was not reached. There are a few, for which the socket has room.
fn notifier(control: &ControlSocket) -> io::Result<NotifyUnreached> {
    let mut client = ControlSocket::from(control.as_fd().try_clone_to_owned()?);
    Ok(Box::new(move |unreached| {
        let event = EgressEvent::Unreached { target: unreached.target(), why: unreached.why.clone() };
        // A client that is gone wants to know nothing.
        let _ = client.send(&event, &[]);
    }))
}

/// Ends this process a moment after PID 1 has closed its end, whatever keeps the event loop from noticing: a server may send without end.
fn end_after(lifeline: &OwnedFd) {
    // Only the end is waited for, which is reported unasked.
    while let Err(Errno::INTR) = poll(&mut [PollFd::new(lifeline, PollFlags::empty())], None) {}
    std::thread::sleep(LAST);
    let _ = kill_process(getpid(), Signal::KILL);
}

fn tcp(listener: OwnedFd) -> io::Result<tokio::net::TcpListener> {
    tokio::net::TcpListener::from_std(TcpListener::from(listener))
}

/// Raises the limit of descriptors to what this user may have, and returns it.
fn raise_descriptors() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, ..limit };
    let current = if setrlimit(Resource::Nofile, raised).is_ok() { raised.current } else { limit.current };
    current.and_then(|current| usize::try_from(current).ok()).unwrap_or(usize::MAX)
}

/// Returns the proxy that this host is behind: whoever has started this one has passed on its own variables.
fn parent() -> anyhow::Result<Parent> {
    let value = |name: &str| {
        let value = std::env::var(name).or_else(|_| std::env::var(name.to_lowercase()));
        value.ok().filter(|value| !value.is_empty())
    };
    let [https, http, no_proxy] = ["HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"].map(value);
    Ok(Parent::new(https.as_deref(), http.as_deref(), no_proxy.as_deref())?)
}

/// Returns who has named the files that variables name: whose sandbox it is. For root alone that is root.
fn reader(owner: u32, user: Option<(u32, u32)>) -> Identity {
    user.filter(|_| owner != 0).map_or_else(Identity::own, |(uid, gid)| Identity { uid, gid })
}

/// Reads the authorities that this host believes, or those that the caller names instead, with the caller's rights.
fn roots(reader: Identity) -> anyhow::Result<Roots> {
    let named = |variable| env::var_os(variable).filter(|value| !value.is_empty());
    let (file, directories) = (named("SSL_CERT_FILE"), named("SSL_CERT_DIR"));
    if file.is_none() && directories.is_none() {
        return Ok(Roots::of_host()?);
    }
    let refused =
        |place: &Path, error: io::Error| RootsError::Host(format!("{}: {error}", escape::path(place)));
    let mut text = Vec::new();
    if let Some(file) = file.as_deref().map(Path::new) {
        text = small_file::read(file, reader).map_err(|error| refused(file, error))?;
    }
    for directory in directories.iter().flat_map(env::split_paths) {
        let acting = ActingAs::user(reader)?;
        let entries = directory.read_dir().map_err(|error| refused(&directory, error))?;
        let files: Vec<_> = entries.filter_map(Result::ok).take(MAX_AUTHORITIES).collect();
        drop(acting);
        // Others lie there as well: lists of revoked ones, and directories.
        for content in files.iter().filter_map(|file| small_file::read(&file.path(), reader).ok()) {
            text.extend(content);
            text.push(b'\n');
        }
    }
    Roots::from_pem(&text).map_err(|none| RootsError::Host(none.to_string()).into())
}

/// Gives up what only the start needs, and takes no more memory than it may.
fn confine(user: Option<(u32, u32)>) -> anyhow::Result<()> {
    let account = |(uid, gid)| {
        let spec = UserSpec { user: UserOrGroup::Id(uid), group: Some(UserOrGroup::Id(gid)) };
        Account::find(&spec, RootPolicy::Refused).map(|account| Account { groups: vec![gid], ..account })
    };
    let account = user.map(account).transpose()?;
    let locked = lock_down(&Lockdown {
        rlimit_fallback: &RlimitFallback { memory: Some(MEMORY), ..RlimitFallback::default() },
        account: account.as_ref(),
        grants: Some(&[]),
        filter: &seccomp::compile_for_egress(),
    })?;
    for finding in [locked.landlock(), locked.seccomp()] {
        if finding.status == Status::Not {
            bail!("it cannot be confined: layer {}: {}", finding.layer, finding.reason);
        }
    }
    Ok(())
}
