//! Rules that change while a sandbox runs: those of its plan, and what its owner has said since.

use std::time::Instant;

use policy::rules::network::preset::AllowedHosts;
use policy::rules::network::{HostPattern, HostRule, HostRules, NetworkMode, Pattern, Wanted};
use policy::rules::verdict::{Decision, Origin, Verdict};

/// How many changes are kept. Nobody types as many.
const MAX_CHANGES: usize = 4096;

/// The rules of a plan with the changes since.
#[derive(Clone, Debug)]
pub struct ChangingRules {
    allow: Vec<HostRule>,
    deny: Vec<HostRule>,
    changes: Vec<Change>,
    /// Where requests within TLS are seen.
    intercepted: Vec<HostPattern>,
}

/// One rule that was added, and until when it holds.
#[derive(Clone, Debug)]
struct Change {
    decision: Decision,
    rule: HostRule,
    until: Option<Instant>,
}

impl ChangingRules {
    /// Makes one without changes.
    pub fn new(allow: Vec<HostRule>, deny: Vec<HostRule>) -> Self {
        Self { allow, deny, changes: Vec::new(), intercepted: Vec::new() }
    }

    /// Takes rules about requests within TLS to these hosts, too.
    #[must_use]
    pub fn intercepting(self, hosts: Vec<HostPattern>) -> Self {
        Self { intercepted: hosts, ..self }
    }

    /// Lets hosts be reached, and takes back what was said against the same hosts since the start.
    ///
    /// # Errors
    ///
    /// Another rule denies one of them, which wins, or requests are named that nobody sees; nothing has changed.
    pub fn allow(&mut self, hosts: &[AllowedHosts], until: Option<Instant>) -> Result<(), Verdict> {
        let mut changed = self.clone();
        let origin = Origin::Live("egress allow".to_owned());
        let rules: Vec<_> = hosts.iter().flat_map(|hosts| hosts.rules(origin.clone())).collect();
        changed.add(Decision::Allow, rules.clone(), until)?;
        let in_force = changed.rules();
        for rule in rules {
            if let HostPattern::Exact { host, port } = rule.pattern.hosts() {
                match port {
                    Some(port) => {
                        let host = host.to_string();
                        let verdict = in_force.decide_wanted(&host, None, *port, &Wanted::Requests);
                        if verdict.decision != Decision::Allow {
                            return Err(verdict);
                        }
                    }
                    None => drop(in_force.ports(host)?),
                }
            }
        }
        *self = changed;
        Ok(())
    }

    /// Lets hosts not be reached, and takes back what has allowed the same hosts since the start.
    ///
    /// # Errors
    ///
    /// There are too many changes, or requests are named that nobody sees.
    pub fn deny(&mut self, hosts: Vec<Pattern>) -> Result<(), Verdict> {
        let rule = |pattern| HostRule::new(pattern, Origin::Live("egress deny".to_owned()));
        self.add(Decision::Deny, hosts.into_iter().map(rule).collect(), None)
    }

    /// Takes back what was said of these since the start, so that the rules of the plan hold again.
    ///
    /// # Errors
    ///
    /// Nothing was said of one of them; nothing has changed.
    pub fn forget(&mut self, hosts: &[AllowedHosts]) -> Result<(), Verdict> {
        let rules: Vec<_> = hosts.iter().flat_map(|hosts| hosts.rules(Origin::Default)).collect();
        let was_said =
            |rule: &&HostRule| self.changes.iter().any(|change| change.rule.pattern == rule.pattern);
        if let Some(unsaid) = rules.iter().find(|rule| !was_said(rule)) {
            let rule =
                format!("no `egress allow` or `egress deny` has said anything of `{}`", unsaid.pattern);
            return Err(Verdict::deny(rule, Origin::Default));
        }
        self.changes.retain(|change| !rules.iter().any(|rule| rule.pattern == change.rule.pattern));
        Ok(())
    }

    fn add(
        &mut self,
        decision: Decision,
        rules: Vec<HostRule>,
        until: Option<Instant>,
    ) -> Result<(), Verdict> {
        if let Some(why) = rules.iter().find_map(|rule| rule.pattern.unseen(&self.intercepted)) {
            return Err(Verdict::deny(why, Origin::Default));
        }
        if self.changes.len() + rules.len() > MAX_CHANGES {
            let rule = format!("a sandbox takes {MAX_CHANGES} changes");
            return Err(Verdict::deny(rule, Origin::Default));
        }
        self.changes.retain(|change| !rules.iter().any(|rule| rule.pattern == change.rule.pattern));
        self.changes.extend(rules.into_iter().map(|rule| Change { decision, rule, until }));
        Ok(())
    }

    /// Takes back what no longer holds, and returns it.
    pub fn expire(&mut self, now: Instant) -> Vec<Pattern> {
        let (over, holds): (Vec<_>, Vec<_>) =
            self.changes.drain(..).partition(|change| change.until.is_some_and(|until| until <= now));
        self.changes = holds;
        over.into_iter().map(|change| change.rule.pattern).collect()
    }

    /// Returns when the next one no longer holds.
    pub fn next_expiry(&self) -> Option<Instant> {
        self.changes.iter().filter_map(|change| change.until).min()
    }

    /// Returns what is in force.
    pub fn rules(&self) -> HostRules {
        let list = |decision| self.list(decision).map(|(rule, _)| rule.clone()).collect();
        HostRules::new(NetworkMode::Allowlist, list(Decision::Allow), list(Decision::Deny))
    }

    /// Lists the rules that allow, or those that deny, each with when it ends.
    pub fn list(&self, decision: Decision) -> impl Iterator<Item = (&HostRule, Option<Instant>)> {
        let planned = if decision == Decision::Allow { &self.allow } else { &self.deny };
        let changes = self.changes.iter().filter(move |change| change.decision == decision);
        planned.iter().map(|rule| (rule, None)).chain(changes.map(|change| (&change.rule, change.until)))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn planned(text: &str) -> Vec<HostRule> {
        text.split_whitespace().map(|host| HostRule::new(host.parse().unwrap(), Origin::Default)).collect()
    }

    fn allow(rules: &mut ChangingRules, host: &str, until: Option<Instant>) -> Result<(), String> {
        rules.allow(&[host.parse().unwrap()], until).map_err(|verdict| verdict.rule)
    }

    fn reaches(rules: &ChangingRules, host: &str) -> bool {
        rules.rules().decide(host, 443).decision == Decision::Allow
    }

    #[test]
    fn a_rule_that_denies_wins_until_it_is_taken_back() {
        let mut rules = ChangingRules::new(planned("a.example.org"), planned("b.example.org"));
        rules.deny(vec!["a.example.org".parse().unwrap()]).unwrap();
        assert!(!reaches(&rules, "a.example.org"));
        let denied = "`a.example.org` in `egress deny`, which wins over `allow`";
        assert_eq!(allow(&mut rules, "a.example.org:443", None), Err(denied.to_owned()));
        assert_eq!(allow(&mut rules, "a.example.org", None), Ok(()));
        assert!(reaches(&rules, "a.example.org"));
        // What the plan denies stays denied, and one host that cannot be allowed keeps the others out.
        let both = ["c.example.org".parse().unwrap(), "b.example.org".parse().unwrap()];
        assert!(rules.allow(&both, None).is_err() && !reaches(&rules, "c.example.org"));
        assert!(allow(&mut rules, "b.example.org:443", None).is_err());
    }

    #[test]
    fn what_holds_for_a_time_leaves_the_rules_of_the_plan() {
        let mut rules = ChangingRules::new(planned("a.example.org"), Vec::new());
        let (now, later) = (Instant::now(), Instant::now() + Duration::from_secs(60));
        allow(&mut rules, "a.example.org", Some(later)).unwrap();
        allow(&mut rules, "preset:pypi", Some(later)).unwrap();
        // Said again, it holds as was said last.
        allow(&mut rules, "b.example.org", Some(later)).unwrap();
        allow(&mut rules, "b.example.org", None).unwrap();
        assert_eq!((rules.expire(now), rules.next_expiry()), (Vec::new(), Some(later)));
        assert!(reaches(&rules, "pypi.org"));
        assert_eq!(rules.expire(later).len(), 3);
        assert!(
            !reaches(&rules, "pypi.org")
                && reaches(&rules, "a.example.org")
                && reaches(&rules, "b.example.org")
        );
        assert_eq!(rules.next_expiry(), None);
    }

    #[test]
    fn what_is_forgotten_leaves_the_rules_of_the_plan() {
        let mut rules = ChangingRules::new(planned("a.example.org:443"), Vec::new());
        let forget = |rules: &mut ChangingRules, hosts: &[&str]| {
            let hosts: Vec<_> = hosts.iter().map(|host| host.parse().unwrap()).collect();
            rules.forget(&hosts).map_err(|verdict| verdict.rule)
        };
        rules.deny(vec!["a.example.org".parse().unwrap()]).unwrap();
        allow(&mut rules, "preset:pypi", None).unwrap();
        let unsaid = "no `egress allow` or `egress deny` has said anything of `a.example.org:443`";
        assert_eq!(forget(&mut rules, &["preset:pypi", "a.example.org:443"]), Err(unsaid.to_owned()));
        assert!(!reaches(&rules, "a.example.org") && reaches(&rules, "pypi.org"));
        assert_eq!(forget(&mut rules, &["a.example.org", "preset:pypi"]), Ok(()));
        assert!(reaches(&rules, "a.example.org") && !reaches(&rules, "pypi.org"));
        // Nothing is wider than it was.
        assert_eq!(rules.rules().decide("a.example.org", 80).decision, Decision::Deny);
    }

    #[test]
    fn changes_are_bounded() {
        let mut rules = ChangingRules::new(Vec::new(), Vec::new());
        let host = |number| format!("host{number}.example.org");
        assert!((0..MAX_CHANGES).all(|number| allow(&mut rules, &host(number), None).is_ok()));
        assert!(allow(&mut rules, &host(MAX_CHANGES), None).is_err());
        assert!(!reaches(&rules, &host(MAX_CHANGES)) && reaches(&rules, &host(0)));
    }

    #[test]
    fn rules_about_requests_change_as_others_do_but_for_those_that_nobody_sees() {
        let mut rules = ChangingRules::new(planned("a.example.org:80"), Vec::new());
        let hosts = |text: &str| vec![text.parse::<AllowedHosts>().unwrap()];
        let is_for_requests = |rules: &ChangingRules, host| rules.rules().is_for_requests(host, 80);
        rules.allow(&hosts("GET http://b.example.org/*"), None).unwrap();
        assert!(is_for_requests(&rules, "b.example.org") && !is_for_requests(&rules, "a.example.org"));
        let denied = "DELETE http://a.example.org/*";
        rules.deny(vec![denied.parse().unwrap()]).unwrap();
        assert!(is_for_requests(&rules, "a.example.org"));
        rules.allow(&hosts(denied), None).unwrap();
        assert!(!is_for_requests(&rules, "a.example.org"), "taken back by the same pattern");
        rules.deny(vec!["b.example.org".parse().unwrap()]).unwrap();
        assert!(rules.allow(&hosts("PUT http://b.example.org/*"), None).is_err());
        for unseen in ["GET https://a.example.org/*", "GET https://*.example.org/"] {
            assert!(
                rules.allow(&hosts(unseen), None).is_err()
                    && rules.deny(vec![unseen.parse().unwrap()]).is_err()
            );
        }
    }
}
