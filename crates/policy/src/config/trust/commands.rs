//! What a project's file makes of the decisions about commands.

use super::widening::Widenings;
use crate::config::problem::Located;
use crate::config::{CommandsTable, Config};
use crate::rules::verdict::Decision;
use crate::text::escape;

/// Adds the decisions about commands that are less strict than without the file.
pub(super) fn commands(config: &Config, without: &Config, found: &mut Widenings) {
    let decisions = |table: &CommandsTable| {
        let CommandsTable { read, write, execute, network } = table;
        [("read", read), ("write", write), ("execute", execute), ("network", network)]
            .map(|(class, decision)| (class, decision.clone()))
    };
    for ((class, decision), (_, held)) in
        decisions(&config.commands).into_iter().zip(decisions(&without.commands))
    {
        let Some(Located { value: decision, location }) = decision else { continue };
        let held = held.map_or(Decision::Allow, |held| held.value);
        if decision < held {
            let what = format!("decides `{decision}` about commands of class {class}, in place of `{held}`");
            found.add(format!("commands.{class}"), &location, what);
        }
    }
    // A rule decides in place of the classes, and what it matches may be of any of them.
    let strictest = decisions(&without.commands).into_iter().filter_map(|(_, held)| Some(held?.value)).max();
    let strictest = strictest.unwrap_or(Decision::Allow);
    for (name, rule) in &config.command_rules {
        let key = format!("commands.rules.{name}");
        if without.command_rules.contains_key(name) {
            found.add(key, &rule.location, format!("takes the place of your rule `{name}` about commands"));
            continue;
        }
        let Some(decision) = rule.value.decision.as_ref().map(|decision| decision.value) else { continue };
        let words = rule.value.pattern.iter().flat_map(|list| &list.value).map(|word| word.value.as_str());
        let words = words.collect::<Vec<_>>().join(" ");
        let words = escape::line(&words);
        if decision == Decision::Allow {
            found.add(key, &rule.location, format!("allows the command `{words}`"));
        } else if decision < strictest {
            let what = format!(
                "decides `{decision}` about the command `{words}`, where your own settings say `{strictest}` of a class"
            );
            found.add(key, &rule.location, what);
        }
    }
}
