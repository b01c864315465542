//! What the owner of a sandbox asks of its egress proxy while it runs: one request and one answer a connection, and to whoever answers
//! questions one message after the other.

use policy::rules::network::preset::{AllowedHosts, Preset};
use policy::rules::network::{HostRule, Pattern};
use policy::rules::verdict::Origin;
use serde::{Deserialize, Serialize};

use super::init_spec::EnvEntry;

/// How many hosts one request names at most.
pub const MAX_HOSTS: usize = 256;

/// What is asked.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum EgressRequest {
    /// Lets hosts be reached.
    Allow {
        hosts: Vec<AllowedHosts>,
        /// For how long; `None` is until the sandbox ends.
        seconds: Option<u64>,
    },
    /// Lets hosts not be reached, whatever allows them.
    Deny { hosts: Vec<Pattern> },
    /// Nothing changes.
    List,
    /// Nothing either; the answer is what a command inside needs in its environment.
    Variables,
    /// Nothing either, and the connection stays open until the sandbox has ended.
    Attend,
    /// Whoever connects answers questions from now on: they are notified of each by a message, until the sandbox has ended.
    AnswerQuestions,
    /// Lets those pass who wait for the answer to this question.
    AllowOnce { question: u64 },
    /// Takes back what was said of hosts since the start.
    Forget { hosts: Vec<AllowedHosts> },
}

/// What is answered.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum EgressAnswer {
    /// It is done, and this is in force now.
    Rules(EgressRules),
    /// These are the variables.
    Variables(Vec<EnvEntry>),
    /// It is refused, and nothing has changed.
    Refused(String),
    /// To whoever answers questions: somebody waits to reach a host that no rule says anything of.
    Question(EgressQuestion),
    /// To whoever answers questions: nobody waits for the answer to this one any more.
    Settled { question: u64 },
}

/// A host that somebody waits to reach.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct EgressQuestion {
    pub id: u64,
    /// In its canonical form.
    pub host: String,
    pub port: u16,
}

/// What is in force, and what was asked for in vain.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct EgressRules {
    pub allow: Vec<RuleInForce>,
    /// Wins over `allow`.
    pub deny: Vec<RuleInForce>,
    /// The most wanted first.
    pub refused: Vec<RefusedHost>,
    /// The most wanted first.
    pub unreached: Vec<UnreachedHost>,
}

/// A rule as it travels: the form of its origin in JSON says its own types, which frames do not.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct EgressRule {
    pattern: Pattern,
    preset: Option<Preset>,
    #[serde(with = "OriginInFrame")]
    origin: Origin,
}

#[derive(Deserialize, Serialize)]
#[serde(remote = "Origin")]
enum OriginInFrame {
    Default,
    Profile(String),
    User(String),
    Project(String),
    Environment(String),
    Flag(String),
    Live(String),
}

impl From<HostRule> for EgressRule {
    fn from(HostRule { pattern, preset, origin }: HostRule) -> Self {
        Self { pattern, preset, origin }
    }
}

impl From<EgressRule> for HostRule {
    fn from(EgressRule { pattern, preset, origin }: EgressRule) -> Self {
        Self { pattern, preset, origin }
    }
}

/// A rule, and how long it holds.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct RuleInForce {
    pub rule: EgressRule,
    /// `None` is until the sandbox ends.
    pub seconds_left: Option<u64>,
}

/// A host that a rule allows and that was not reached.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct UnreachedHost {
    pub host: String,
    pub port: u16,
    pub count: u64,
    /// Why not, the first time.
    pub why: String,
}

/// A host that no rule has allowed when it was asked for.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct RefusedHost {
    pub host: String,
    /// 0 where it was only looked up.
    pub port: u16,
    pub count: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{ControlSocket, EgressSpec};

    #[test]
    fn rules_arrive_as_they_were_sent() {
        let origins = [
            Origin::Default,
            Origin::Project("sandbox.toml:3".to_owned()),
            Origin::Flag("--allow-host".to_owned()),
            Origin::Live("egress allow".to_owned()),
        ];
        let preset: AllowedHosts = "preset:pypi".parse().unwrap();
        let host: AllowedHosts = "*.example.org".parse().unwrap();
        let requests: AllowedHosts = "GET,HEAD http://example.org/pub/*".parse().unwrap();
        let rules: Vec<EgressRule> = origins
            .iter()
            .flat_map(|at| [&preset, &host, &requests].map(|hosts| hosts.rules(at.clone())).concat())
            .map(EgressRule::from)
            .collect();
        let in_force = |rule: &EgressRule| RuleInForce { rule: rule.clone(), seconds_left: Some(7) };
        let answer = EgressAnswer::Rules(EgressRules {
            allow: rules.iter().map(in_force).collect(),
            ..EgressRules::default()
        });
        let request = EgressRequest::Allow { hosts: vec![preset, host, requests], seconds: None };
        let (mut one, mut other) = ControlSocket::pair().unwrap();
        one.send(&answer, &[]).unwrap();
        one.send(&request, &[]).unwrap();
        one.send(
            &EgressSpec {
                name: "a".to_owned(),
                allow: rules.clone(),
                deny: rules.clone(),
                intercept: vec!["*.example.org".parse().unwrap()],
                bytes: Some(7),
                routes: Vec::new(),
                variables: Vec::new(),
                user: None,
                owner: 7,
            },
            &[],
        )
        .unwrap();
        assert_eq!(other.receive().unwrap(), Some(answer));
        assert_eq!(other.receive().unwrap(), Some(request));
        assert_eq!(
            other.receive::<EgressSpec>().unwrap().map(|spec| (spec.allow, spec.owner)),
            Some((rules, 7))
        );
    }
}
