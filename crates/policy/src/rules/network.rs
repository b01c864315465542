//! Network rules: which hosts may be reached.
//!
//! Rules are patterns of host names and addresses. Names are checked twice: as they are asked for
//! ([`HostRules::decide`]), and with the address they resolved to ([`HostRules::decide_resolved`]), which is the
//! address that must then be dialled. Nothing here resolves a name.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::rules::verdict::{Decision, Origin, Verdict, listing, shown};

pub use self::host::{Host, HostAndPort, HostError, HostPattern, PRESET};
use self::preset::{AllowedHosts, Preset};
pub use self::request::{Pattern, Request, RequestPattern, Scheme};

pub mod egress;
mod host;
mod internal;
pub mod preset;
mod request;

/// How much of the network a sandbox sees.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkMode {
    /// Nothing but its own loopback.
    #[default]
    None,
    /// Named hosts, through the egress proxy.
    Allowlist,
    /// Everything the host can reach.
    Open,
}

/// One pattern and where it was written.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct HostRule {
    pub pattern: Pattern,
    pub preset: Option<Preset>,
    pub origin: Origin,
}

/// What is wanted of a host.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Wanted {
    /// A connection on which nobody looks at what passes.
    Connection,
    /// A connection for requests, each of which is decided by itself.
    Requests,
    Request(Request),
}

/// The ports on which a host may be reached, be it for requests alone.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum AllowedPorts {
    /// These, one at least.
    Only(BTreeSet<u16>),
    AllBut(BTreeSet<u16>),
}

/// The network rules of one sandbox, ready to be asked.
///
/// 1. A host that is not canonical (see [`Host`]) is denied.
/// 2. Mode `none` denies everything.
/// 3. A `deny` rule that matches denies, whatever `allow` has.
/// 4. Mode `open` allows the rest.
/// 5. Metadata services of clouds are denied, whatever `allow` has.
/// 6. Other internal addresses, and `localhost`, are denied unless an `allow` rule names exactly that address or
///    name: a wildcard never reaches them, and neither does an allowed name that resolves to one (DNS rebinding).
/// 7. An `allow` rule that matches allows; everything else is denied.
///
/// A rule about requests matches a request that it describes. A connection on which nobody looks at requests is denied where a rule of
/// `deny` is about requests to that host, and not allowed by rules about requests.
#[derive(Clone, Debug)]
pub struct HostRules {
    mode: NetworkMode,
    allow: RuleIndex,
    deny: RuleIndex,
    /// What the last rule answers: what would have been allowed.
    allowed: String,
    /// Every port that a rule names to allow it.
    named_ports: BTreeSet<u16>,
}

impl Host {
    /// Returns whether it leads inwards by what it is called: an internal address, or a name of this host.
    pub fn is_internal(&self) -> bool {
        internal::host(self).is_some()
    }

    /// Returns whether it is the address of a cloud's metadata service.
    pub fn is_metadata(&self) -> bool {
        matches!(self, Self::Address(address) if internal::is_metadata(*address))
    }
}

impl HostRule {
    /// Makes one that is of no preset.
    pub fn new(pattern: Pattern, origin: Origin) -> Self {
        Self { pattern, preset: None, origin }
    }

    /// Returns whether a rule about requests allows what is wanted of one of its hosts.
    fn allows(&self, wanted: &Wanted) -> bool {
        match (&self.pattern, wanted) {
            (Pattern::Requests(requests), Wanted::Request(request)) => requests.allows(request),
            (Pattern::Hosts(_), _) | (_, Wanted::Requests) => true,
            (Pattern::Requests(_), Wanted::Connection) => false,
        }
    }

    /// Returns what holds it: a list of the configuration, or a command that was given since.
    fn list(&self, list: &str) -> String {
        match &self.origin {
            Origin::Live(command) => format!("`{command}`"),
            _ => format!("`[network] {list}`"),
        }
    }
}

impl AllowedHosts {
    /// Returns the rules that it stands for: one, or one for each host of a preset.
    pub fn rules(&self, origin: Origin) -> Vec<HostRule> {
        match self {
            Self::Pattern(pattern) => vec![HostRule::new(pattern.clone(), origin)],
            Self::Preset(preset) => {
                let rule = |hosts| HostRule {
                    pattern: Pattern::Hosts(hosts),
                    preset: Some(*preset),
                    origin: origin.clone(),
                };
                preset.patterns().map(rule).collect()
            }
        }
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.preset {
            None => write!(f, "`{}`", self.pattern),
            Some(preset) => write!(f, "`{}` of `{preset}`", self.pattern),
        }
    }
}

impl HostRules {
    /// Makes rules ready; of two rules with the same pattern the first is the one that is named.
    pub fn new(mode: NetworkMode, allow: Vec<HostRule>, deny: Vec<HostRule>) -> Self {
        let allowed = listing(allow.iter().map(|rule| &rule.pattern));
        let named_ports = allow.iter().filter_map(|rule| rule.pattern.hosts().port()).collect();
        Self { mode, allow: RuleIndex::new(allow), deny: RuleIndex::new(deny), allowed, named_ports }
    }

    /// Returns rules that allow these hosts and no other, and deny what these here deny: for what is allowed elsewhere than in `allow`.
    #[must_use]
    pub fn only(&self, allow: Vec<HostRule>) -> Self {
        Self { deny: self.deny.clone(), ..Self::new(NetworkMode::Allowlist, allow, Vec::new()) }
    }

    /// Decides about a connection to a host as it was asked for: a name, or an address as text.
    pub fn decide(&self, host: &str, port: u16) -> Verdict {
        self.decide_wanted(host, None, port, &Wanted::Connection)
    }

    /// Decides about the address that a host resolved to; the caller dials this address and no other.
    pub fn decide_resolved(&self, host: &str, address: IpAddr, port: u16) -> Verdict {
        self.decide_wanted(host, Some(address), port, &Wanted::Connection)
    }

    /// Returns whether a host may be reached for requests alone, each of which is decided by itself.
    pub fn is_for_requests(&self, host: &str, port: u16) -> bool {
        let allows =
            |wanted: &Wanted| self.decide_wanted(host, None, port, wanted).decision == Decision::Allow;
        allows(&Wanted::Requests) && !allows(&Wanted::Connection)
    }

    /// Returns whether a rule of `deny` is about what is wanted of a host, so that nothing allows it.
    pub fn denies(&self, host: &Host, port: u16, wanted: &Wanted) -> bool {
        self.deny.denies(host, port, wanted).is_some()
    }

    /// Decides about what is wanted of a host: as it was asked for, and where it was resolved, with the address.
    pub fn decide_wanted(&self, host: &str, address: Option<IpAddr>, port: u16, wanted: &Wanted) -> Verdict {
        let host = match host.parse::<Host>() {
            Ok(host) => host,
            Err(error) => return Verdict::deny(error.to_string(), Origin::Default),
        };
        let asked = self.decide_host(&host, port, wanted);
        let Some(address) = address else { return asked };
        if let Host::Address(literal) = host {
            let same = literal == address.to_canonical();
            let other = || Verdict::deny(format!("`{literal}` is not `{address}`"), Origin::Default);
            return if same { asked } else { asked.stricter(other()) };
        }
        let address = address.to_canonical();
        if let Some(rule) = self.deny.denies(&Host::Address(address), port, wanted) {
            return asked.stricter(denied(rule));
        }
        if self.mode == NetworkMode::Allowlist {
            if internal::is_metadata(address) {
                return asked.stricter(metadata(&format!("`{host}` resolves to `{address}`")));
            }
            if let Some(what) = internal::address(address) {
                let named = self.allow.allows_exactly(&Host::Address(address), port, wanted).is_some();
                let localhost = host.is_localhost() && address.is_loopback();
                if !named && !localhost {
                    return asked.stricter(Verdict::deny(
                        format!(
                            "`{host}` resolves to `{address}`, {what}; allowed only when `[network] allow` names that address"
                        ),
                        Origin::Default,
                    ));
                }
            }
        }
        asked
    }

    /// Returns the ports on which a host may be reached, as [`HostRules::decide_wanted`] says for each of them and [`Wanted::Requests`].
    ///
    /// # Errors
    ///
    /// The verdict that denies it on every port.
    pub fn ports(&self, host: &Host) -> Result<AllowedPorts, Verdict> {
        if self.mode == NetworkMode::None {
            return Err(network_is_off());
        }
        if self.mode == NetworkMode::Allowlist && host.is_metadata() {
            return Err(metadata(&format!("`{host}`")));
        }
        let mut denied_on = BTreeMap::new();
        for ports in self.deny.exact(host).chain(self.deny.below(host)) {
            if let Some(rule) = self.deny.rule(ports.any) {
                return Err(denied(rule));
            }
            denied_on.extend(&ports.one);
        }
        let mut allowed_on = BTreeSet::new();
        let inwards = self.mode == NetworkMode::Allowlist && internal::host(host).is_some();
        let below = self.allow.below(host).filter(|_| !inwards);
        let mut every = self.mode == NetworkMode::Open;
        for ports in self.allow.exact(host).chain(below) {
            every |= ports.any.is_some();
            allowed_on.extend(ports.one.keys());
        }
        let requests = self.allow.requests().map(|rule| rule.pattern.hosts());
        let named = requests.filter(|hosts| !inwards || hosts.is_exact());
        allowed_on.extend(named.filter_map(|hosts| hosts.port().filter(|port| hosts.matches(host, *port))));
        if every {
            return Ok(AllowedPorts::AllBut(denied_on.into_keys().collect()));
        }
        let denying = allowed_on.iter().find_map(|port| denied_on.get(port).copied());
        allowed_on.retain(|port| !denied_on.contains_key(port));
        match (allowed_on.is_empty(), self.deny.rule(denying)) {
            (false, _) => Ok(AllowedPorts::Only(allowed_on)),
            (true, Some(rule)) => Err(denied(rule)),
            (true, None) => Err(self.not_allowed(host)),
        }
    }

    /// Returns these rules and one more that allows something.
    #[must_use]
    pub fn with(&self, rule: HostRule) -> Self {
        let rules = self.allow.rules.iter().cloned().chain([rule]).collect();
        Self { allow: RuleIndex::new(rules), ..self.clone() }
    }

    /// Returns whether no rule says anything of a host on this port, and it does not lead inwards: a person may be asked about it. For
    /// port 0, whether no rule says anything of it on every port.
    pub fn is_undecided(&self, host: &Host, port: u16) -> bool {
        let says = |list: &RuleIndex| {
            list.find(host, port).is_some() || list.requests_to(host, port).next().is_some()
        };
        self.mode == NetworkMode::Allowlist
            && !says(&self.deny)
            && !says(&self.allow)
            && internal::host(host).is_none()
    }

    /// Returns every port that a rule names to allow it.
    pub fn named_ports(&self) -> &BTreeSet<u16> {
        &self.named_ports
    }

    fn decide_host(&self, host: &Host, port: u16, wanted: &Wanted) -> Verdict {
        if self.mode == NetworkMode::None {
            return network_is_off();
        }
        if let Some(rule) = self.deny.denies(host, port, wanted) {
            return denied(rule);
        }
        if self.mode == NetworkMode::Open {
            return Verdict::allow("the network is open: `[network] mode = \"open\"`", Origin::Default);
        }
        if host.is_metadata() {
            return metadata(&format!("`{host}`"));
        }
        let exact = self.allow.allows_exactly(host, port, wanted);
        let inwards = internal::host(host);
        if let Some(rule) =
            exact.or_else(|| self.allow.allows(host, port, wanted).filter(|_| inwards.is_none()))
        {
            return Verdict::allow(format!("{rule} in {}", rule.list("allow")), rule.origin.clone());
        }
        let named = self.allow.requests_to(host, port);
        let mut named = named.filter(|rule| inwards.is_none() || rule.pattern.hosts().is_exact()).peekable();
        if named.peek().is_some() {
            return not_among(host, port, wanted, &listing(named.map(|rule| &rule.pattern)));
        }
        match inwards {
            Some(what) => Verdict::deny(
                format!("`{host}` is {what}; allowed only when `[network] allow` names it exactly"),
                Origin::Default,
            ),
            None => self.not_allowed(HostAndPort { host, port }),
        }
    }

    fn not_allowed(&self, what: impl fmt::Display) -> Verdict {
        Verdict::deny(
            format!("`{what}` matches nothing in `[network] allow`, which allows {}", self.allowed),
            Origin::Default,
        )
    }
}

/// Denies what no rule allows.
fn metadata(what: &str) -> Verdict {
    let rule = "the address of a cloud's metadata service, which hands out the credentials of the machine";
    Verdict::deny(format!("{what}: {rule}; no rule allows it"), Origin::Default)
}

/// Denies what is not among the requests that are allowed to a host.
fn not_among(host: &Host, port: u16, wanted: &Wanted, allowed: &str) -> Verdict {
    let target = HostAndPort { host, port };
    let rule = match wanted {
        Wanted::Request(request) => format!(
            "`{} {}{}` matches nothing in `[network] allow`, which allows there {allowed}",
            shown(&request.method),
            request.scheme.origin(host, port),
            shown(&request.path)
        ),
        Wanted::Connection | Wanted::Requests => {
            format!("`{target}` is reached for requests alone, of which `[network] allow` has {allowed}")
        }
    };
    Verdict::deny(rule, Origin::Default)
}

fn network_is_off() -> Verdict {
    Verdict::deny("the network is off: `[network] mode = \"none\"`", Origin::Default)
}

fn denied(rule: &HostRule) -> Verdict {
    Verdict::deny(format!("{rule} in {}, which wins over `allow`", rule.list("deny")), rule.origin.clone())
}

/// Rules by what they match, so that the number of rules does not matter.
#[derive(Clone, Debug)]
struct RuleIndex {
    /// Those about hosts, and those about requests.
    rules: Vec<HostRule>,
    exact: HashMap<Host, Ports>,
    suffixes: HashMap<String, Ports>,
    /// How many labels the longest suffix has: longer ones need no look-up.
    longest: usize,
    /// Where rules about requests are. They are looked at one by one: a person writes them.
    requests: Vec<usize>,
}

/// Which rule stands for which port, as positions in the list of rules.
#[derive(Clone, Debug, Default)]
struct Ports {
    any: Option<usize>,
    one: BTreeMap<u16, usize>,
}

impl RuleIndex {
    fn new(rules: Vec<HostRule>) -> Self {
        let mut table = Self {
            rules: vec![],
            exact: HashMap::new(),
            suffixes: HashMap::new(),
            longest: 0,
            requests: vec![],
        };
        for (position, rule) in rules.iter().enumerate() {
            let Pattern::Hosts(hosts) = &rule.pattern else {
                table.requests.push(position);
                continue;
            };
            let ports = match hosts {
                HostPattern::Exact { host, .. } => table.exact.entry(host.clone()).or_default(),
                HostPattern::Below { suffix, .. } => {
                    table.longest = table.longest.max(suffix.split('.').count());
                    table.suffixes.entry(suffix.clone()).or_default()
                }
            };
            match hosts.port() {
                None => {
                    ports.any.get_or_insert(position);
                }
                Some(port) => {
                    ports.one.entry(port).or_insert(position);
                }
            }
        }
        table.rules = rules;
        table
    }

    /// Returns the rule that denies what is wanted.
    fn denies(&self, host: &Host, port: u16, wanted: &Wanted) -> Option<&HostRule> {
        let request = || {
            self.requests_to(host, port).find(|rule| match (&rule.pattern, wanted) {
                (Pattern::Requests(requests), Wanted::Request(request)) => requests.denies(request),
                // Nobody would see which request it is.
                (_, wanted) => *wanted == Wanted::Connection,
            })
        };
        self.find(host, port).or_else(request)
    }

    /// Returns the rule that allows what is wanted.
    fn allows(&self, host: &Host, port: u16, wanted: &Wanted) -> Option<&HostRule> {
        self.find(host, port).or_else(|| self.requests_to(host, port).find(|rule| rule.allows(wanted)))
    }

    /// Returns the rule that allows what is wanted, and names this host itself.
    fn allows_exactly(&self, host: &Host, port: u16, wanted: &Wanted) -> Option<&HostRule> {
        let named = |rule: &&HostRule| rule.pattern.hosts().is_exact() && rule.allows(wanted);
        self.find_exact(host, port).or_else(|| self.requests_to(host, port).find(named))
    }

    /// Returns the rules about requests.
    fn requests(&self) -> impl Iterator<Item = &HostRule> {
        self.requests.iter().filter_map(|position| self.rules.get(*position))
    }

    /// Returns the rules about requests to this host.
    fn requests_to(&self, host: &Host, port: u16) -> impl Iterator<Item = &HostRule> {
        self.requests().filter(move |rule| rule.pattern.hosts().matches(host, port))
    }

    /// Returns the rule that names this host itself.
    fn find_exact(&self, host: &Host, port: u16) -> Option<&HostRule> {
        self.exact(host).find_map(|ports| self.at(ports, port))
    }

    /// Returns the most specific rule that matches: the host itself, else the longest suffix.
    fn find(&self, host: &Host, port: u16) -> Option<&HostRule> {
        // The longest comes last.
        let below = || self.below(host).filter_map(|ports| self.at(ports, port)).last();
        self.find_exact(host, port).or_else(below)
    }

    /// Returns the ports of the rules that name this host itself.
    fn exact(&self, host: &Host) -> impl Iterator<Item = &Ports> {
        self.exact.get(host).into_iter()
    }

    /// Returns the ports of the rules for every name below one of those that this host is below, the shortest first.
    fn below(&self, host: &Host) -> impl Iterator<Item = &Ports> {
        let name = match host {
            Host::Address(_) => "",
            Host::Name(name) => name,
        };
        let dots = name.bytes().enumerate().rev().filter(|(_, byte)| *byte == b'.').take(self.longest);
        dots.filter_map(|(dot, _)| self.suffixes.get(&name[dot + 1..]))
    }

    fn at(&self, ports: &Ports, port: u16) -> Option<&HostRule> {
        self.rule(ports.one.get(&port).copied().or(ports.any))
    }

    fn rule(&self, position: Option<usize>) -> Option<&HostRule> {
        position.and_then(|position| self.rules.get(position))
    }
}
