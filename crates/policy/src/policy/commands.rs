//! The rules about commands, and whether their examples hold.

use std::collections::BTreeMap;

use crate::commands::{CommandRule, CommandRules, TokenPattern};
use crate::config::problem::{Located, Problem, ProblemCode};
use crate::config::{CommandRuleTable, CommandsTable, Config, Setting};
use crate::rules::verdict::{Decision, Origin};

/// How many rules there are at most: each is compared with every command.
const MOST: usize = 256;

/// Makes the rules that the configuration asks for.
pub(super) fn rules(config: &Config, problems: &mut Vec<Problem>) -> CommandRules {
    let of_class =
        |setting: &Setting<Decision>| setting.as_ref().map_or(Decision::Allow, |decision| decision.value);
    let table = &config.commands;
    if let Some(one) = config.command_rules.values().nth(MOST) {
        let message = format!("there are at most {MOST} rules about commands");
        problems.push(Problem::new(&one.location, "commands.rules", ProblemCode::Refused, message));
    }
    CommandRules {
        read: of_class(&table.read),
        write: of_class(&table.write),
        execute: of_class(&table.execute),
        network: of_class(&table.network),
        rules: config.command_rules.iter().filter_map(|(name, table)| rule(name, table, problems)).collect(),
    }
}

fn rule(name: &str, table: &Located<CommandRuleTable>, problems: &mut Vec<Problem>) -> Option<CommandRule> {
    let CommandRuleTable { pattern, decision, reason, .. } = &table.value;
    let words = pattern.as_ref()?;
    let texts: Vec<&str> = words.value.iter().map(|word| word.value.as_str()).collect();
    let pattern = match TokenPattern::new(&texts) {
        Ok(pattern) => pattern,
        Err(error) => {
            let (key, code) = (format!("commands.rules.{name}.pattern"), ProblemCode::InvalidValue);
            problems.push(Problem::new(&words.location, key, code, error.to_string()));
            return None;
        }
    };
    let rule = CommandRule {
        name: name.to_owned(),
        pattern,
        decision: decision.as_ref()?.value,
        reason: reason.as_ref().map(|reason| reason.value.clone()),
    };
    #[cfg(feature = "commands")]
    check_examples(&rule, &table.value, problems);
    Some(rule)
}

/// Notes every example that does not hold.
#[cfg(feature = "commands")]
fn check_examples(rule: &CommandRule, table: &CommandRuleTable, problems: &mut Vec<Problem>) {
    let meant = table.matching.iter().flat_map(|list| &list.value).map(|example| (example, true));
    let others = table.not_matching.iter().flat_map(|list| &list.value).map(|example| (example, false));
    for (example, is_meant) in meant.chain(others) {
        if rule.matches(&example.value) == is_meant {
            continue;
        }
        let (of, does) = if is_meant { ("matching", "does not match") } else { ("not_matching", "matches") };
        let shown = crate::text::escape::line(&example.value);
        let message = format!("the pattern `{}` {does} `{shown}`", rule.pattern);
        let hint = "a command matches that begins with these words, alone or within a line of the shell";
        let key = format!("commands.rules.{}.{of}", rule.name);
        problems.push(Problem::new(&example.location, key, ProblemCode::Conflict, message).hinting(hint));
    }
}

/// Returns where each decision about commands stands, by its key.
pub(super) fn origins(config: &Config) -> BTreeMap<String, Origin> {
    let CommandsTable { read, write, execute, network } = &config.commands;
    let classes = [("read", read), ("write", write), ("execute", execute), ("network", network)];
    let classes = classes.into_iter().filter_map(|(class, setting)| {
        Some((format!("commands.{class}"), setting.as_ref()?.location.origin()))
    });
    let rules = config.command_rules.iter().filter_map(|(name, rule)| {
        Some((format!("commands.rules.{name}.decision"), rule.value.decision.as_ref()?.location.origin()))
    });
    classes.chain(rules).collect()
}
