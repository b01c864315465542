//! Which sockets of the host the agent may connect to, and whether that goes together with what is shared.

use std::path::{Path, PathBuf};

use super::environment::socket_variable;
use super::facts::HostFacts;
use crate::config::problem::{Located, Location, Problem, ProblemCode};
use crate::config::{Config, SocketTable};
use crate::plan::{self, BoundaryMode, Provider, Variable};
use crate::rules::path::normalise;
use crate::rules::socket::{GuestSocket, SocketSource};
use crate::text::escape;

/// How many sockets a sandbox has at most.
const MOST: usize = 16;

/// A socket of the host that the agent may connect to. The caller has to look it up.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SocketRequest {
    /// Its name in the configuration.
    pub name: String,
    pub source: SocketSource,
    /// Where the sandbox has it, if somebody says so.
    pub guest: Option<GuestSocket>,
    /// The variable with its path.
    pub variable: Option<String>,
    pub location: Location,
}

impl SocketRequest {
    fn problem(&self, code: ProblemCode, message: String) -> Problem {
        Problem::new(&self.location, format!("sockets.{}", self.name), code, message)
    }
}

/// Lists them.
pub(super) fn wanted(config: &Config, problems: &mut Vec<Problem>) -> Vec<SocketRequest> {
    let request = |(name, table): (&String, &Located<SocketTable>)| {
        Some(SocketRequest {
            name: name.clone(),
            source: table.value.host.as_ref()?.value.clone(),
            guest: table.value.guest.as_ref().map(|guest| guest.value.clone()),
            variable: socket_variable(&table.value).map(|(name, _)| name.to_string()),
            location: table.location.clone(),
        })
    };
    let all: Vec<_> = config.sockets.iter().filter_map(request).collect();
    if let Some(one) = all.get(MOST) {
        problems.push(
            one.problem(ProblemCode::Refused, format!("a sandbox has at most {MOST} sockets of the host")),
        );
    }
    all
}

/// Lowers them to what a provider does, and the variables of the agent.
pub(super) fn lowered(
    wanted: &[SocketRequest],
    facts: &HostFacts,
    boundaries: &[plan::Boundary],
    provider: Provider,
    problems: &mut Vec<Problem>,
) -> (Vec<plan::Socket>, Vec<Variable>) {
    let (mut sockets, mut variables) = (Vec::new(), Vec::new());
    for one in wanted {
        match socket(one, facts, boundaries, provider, &sockets) {
            Ok(socket) => {
                let value = || socket.guest.clone().into_os_string();
                variables.extend(one.variable.clone().map(|name| Variable { name, value: value() }));
                sockets.push(socket);
            }
            Err(problem) => problems.push(*problem),
        }
    }
    if provider == Provider::Local {
        sockets.clear();
    }
    (sockets, variables)
}

/// Lowers one, beside these others.
fn socket(
    wanted: &SocketRequest,
    facts: &HostFacts,
    boundaries: &[plan::Boundary],
    provider: Provider,
    others: &[plan::Socket],
) -> Result<plan::Socket, Box<Problem>> {
    let host = match facts.sockets.get(&wanted.name) {
        Some(Ok(host)) => host.clone(),
        Some(Err(missing)) => {
            let problem = wanted.problem(ProblemCode::Host, missing.reason.clone());
            return Err(Box::new(Problem { hint: missing.hint.clone(), ..problem }));
        }
        None => return Err(Box::new(wanted.problem(ProblemCode::Host, "it was not looked up".to_owned()))),
    };
    if let Some(boundary) = where_written(wanted, &host, boundaries) {
        let message = format!(
            "{} lies in `{boundary}`, which the agent can write: it could put a link to any other socket there",
            escape::path(&host)
        );
        let hint = "have the service listen elsewhere, such as in /run or $XDG_RUNTIME_DIR";
        return Err(Box::new(wanted.problem(ProblemCode::Refused, message).hinting(hint)));
    }
    if provider == Provider::Local {
        // Without isolation the agent connects to the socket itself.
        return Ok(plan::Socket { name: wanted.name.clone(), guest: host.clone(), host });
    }
    let guest = wanted.guest.clone().map_or_else(|| GuestSocket::of(&host, &wanted.name), Ok);
    let guest = guest.map_err(|error| wanted.problem(ProblemCode::InvalidValue, error.to_string()))?;
    let guest = guest.as_path().to_owned();
    if let Some(taken) = taken_by(&guest, others, boundaries) {
        let message = format!("nothing can be at {}: `{taken}` is there", escape::path(&guest));
        return Err(Box::new(
            wanted.problem(ProblemCode::Conflict, message).hinting("choose another `guest`"),
        ));
    }
    Ok(plan::Socket { name: wanted.name.clone(), host, guest })
}

/// Returns the writable boundary that a socket lies in, as its path is written or by where that leads.
fn where_written<'b>(
    wanted: &SocketRequest,
    host: &Path,
    boundaries: &'b [plan::Boundary],
) -> Option<&'b str> {
    let written: Option<PathBuf> = match &wanted.source {
        SocketSource::Path(path) => Some(normalise(path)),
        SocketSource::Variable(_) => None,
    };
    let lies_in = |boundary: &&plan::Boundary| {
        boundary.mode == BoundaryMode::ReadWrite
            && (host.starts_with(&boundary.host)
                || written.as_ref().is_some_and(|path| path.starts_with(&boundary.host)))
    };
    boundaries.iter().find(lies_in).map(|boundary| boundary.name.as_str())
}

/// Returns what else is where a socket would be, or on the way there.
fn taken_by(guest: &Path, sockets: &[plan::Socket], boundaries: &[plan::Boundary]) -> Option<String> {
    let overlaps = |other: &Path| guest.starts_with(other) || other.starts_with(guest);
    let sockets = sockets.iter().map(|socket| (&socket.name, &socket.guest));
    let boundaries = boundaries.iter().map(|boundary| (&boundary.name, &boundary.guest));
    let mut all = sockets.chain(boundaries);
    all.find(|(_, other)| overlaps(other)).map(|(name, _)| name.clone())
}
