//! From a document to a layer of settings.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::form::{AnyText, ListOf, ValueForm, VariableName, VariableValue};
use super::schema::KEYS;
use super::{
    AgentTable, ChildrenTable, CommandRuleTable, CommandsTable, Config, ConfigFile, ContainerTable, EnvTable,
    GeneralTable, GitTable, HomeTable, ImageTable, LifecycleTable, LimitsTable, MAX_LENGTH, NativeTable,
    NetworkTable, PathBase, PoolTable, ProtectTable, SecretTable, SharedDirTable, SocketTable, WorkerTable,
    value,
};
use crate::config::document::{Broken, Document, DocumentReader, Section};
use crate::config::problem::{self, Located, Location, Problem, ProblemCode};
use crate::rules::env::Name;

impl Config {
    /// Reads the text of a configuration file; every problem in it is returned at once, from top to bottom.
    pub fn parse(text: &str, file: &ConfigFile) -> Result<Self, Vec<Problem>> {
        match Self::read(text, file) {
            (config, problems) if problems.is_empty() => Ok(config),
            (_, problems) => Err(problems),
        }
    }

    /// Reads what can be understood of a configuration file, and every problem in it from top to bottom.
    ///
    /// The settings are worth something in spite of problems: merged with other layers and checked, they may
    /// have more of them, and a person wants to see all at once.
    pub fn read(text: &str, file: &ConfigFile) -> (Self, Vec<Problem>) {
        if text.len() > MAX_LENGTH {
            let location =
                Location::File { scope: file.scope, file: Arc::clone(&file.label), line: 1, column: 1 };
            let message = format!("the file has {} bytes; at most {MAX_LENGTH} are read", text.len());
            return (Config::default(), vec![Problem::new(&location, "", ProblemCode::Refused, message)]);
        }
        let (config, mut problems) = match Document::parse(text, file.scope, &file.label, KEYS) {
            Ok(document) => read(document, &file.base),
            Err(Broken { mut problems, rest }) => {
                let (config, more) = Document::parse(&rest, file.scope, &file.label, KEYS)
                    .map(|document| read(document, &file.base))
                    .unwrap_or_default();
                problems.extend(more);
                (config, problems)
            }
        };
        problem::sort(&mut problems);
        (config, problems)
    }
}

fn read(mut document: Document<'_>, base: &PathBase) -> (Config, Vec<Problem>) {
    let (top, mut reader) = document.reader();
    let reader = &mut reader;
    let config = Config {
        name: None,
        platform: None,
        general: GeneralTable::read(reader, &top, base),
        agent: AgentTable::read(reader, &top.section("agent"), base),
        home: HomeTable::read(reader, &top.section("home"), base),
        has_image: reader.table(&top, "image"),
        image: ImageTable::read(reader, &top.section("image"), base),
        build_args: build_args(reader, &top.section("image").section("build_args"), base),
        has_shared_dirs: reader.table(&top, "shared_dirs"),
        shared_dirs: named(reader, &top.section("shared_dirs"), |reader, table| {
            Some(SharedDirTable::read(reader, table, base)).filter(SharedDirTable::is_complete)
        }),
        sockets: named(reader, &top.section("sockets"), |reader, table| {
            Some(SocketTable::read(reader, table, base)).filter(SocketTable::is_complete)
        }),
        env: env(reader, &top.section("env"), base),
        secrets: named(reader, &top.section("secrets"), |reader, table| {
            Some(SecretTable::read(reader, table, base)).filter(SecretTable::is_complete)
        }),
        network: NetworkTable::read(reader, &top.section("network"), base),
        limits: LimitsTable::read(reader, &top.section("limits"), base),
        git: GitTable::read(reader, &top.section("git"), base),
        protect: ProtectTable::read(reader, &top.section("protect"), base),
        native: NativeTable::read(reader, &top.section("native"), base),
        container: ContainerTable::read(reader, &top.section("container"), base),
        lifecycle: LifecycleTable::read(reader, &top.section("lifecycle"), base),
        pool: PoolTable::read(reader, &top.section("pool"), base),
        children: ChildrenTable::read(reader, &top.section("children"), base),
        commands: CommandsTable::read(reader, &top.section("commands"), base),
        command_rules: named(reader, &top.section("commands").section("rules"), |reader, table| {
            Some(CommandRuleTable::read(reader, table, base)).filter(CommandRuleTable::is_complete)
        }),
        workers: named(reader, &top.section("workers"), |reader, table| {
            Some(WorkerTable::read(reader, table, base)).filter(WorkerTable::is_complete)
        }),
    };
    (config, document.into_problems())
}

fn build_args(
    reader: &mut DocumentReader<'_, '_>,
    section: &Section<'_, '_>,
    base: &PathBase,
) -> BTreeMap<String, Located<String>> {
    let value = |(name, _): (&str, _)| Some((name.to_owned(), AnyText::read(reader, section, name, base)?));
    section.names().filter_map(value).collect()
}

fn env(reader: &mut DocumentReader<'_, '_>, section: &Section<'_, '_>, base: &PathBase) -> EnvTable {
    let set = section.section("set");
    let mut variables = BTreeMap::new();
    for (given, at) in set.names() {
        let name = reader.name(&set, given, at, value::parsed::<Name>);
        let text = VariableValue::read(reader, &set, given, base);
        if let (Some(name), Some(text)) = (name, text) {
            variables.insert(name, text);
        }
    }
    EnvTable {
        pass: ListOf::<VariableName>::read(reader, section, "pass", base),
        also_pass: BTreeMap::new(),
        set: variables,
        unset: ListOf::<VariableName>::read(reader, section, "unset", base)
            .into_iter()
            .flat_map(|list| list.value)
            .map(|name| (name.value, name.location))
            .collect(),
    }
}

/// Reads the tables in a table of tables. One whose name cannot be a name is read too, for the problems within it.
fn named<'d, 't, T>(
    reader: &mut DocumentReader<'_, '_>,
    section: &Section<'d, 't>,
    read: impl Fn(&mut DocumentReader<'_, '_>, &Section<'d, 't>) -> Option<T>,
) -> BTreeMap<String, Located<T>> {
    let mut all = BTreeMap::new();
    for (given, at) in section.names() {
        let name = reader.name(section, given, at, value::name);
        let table = section.section(given);
        if table.exists() {
            let location = reader.location(at);
            let one = read(reader, &table);
            reader.require(&table, &location);
            if let (Some(name), Some(one)) = (name, one) {
                all.insert(name, Located::new(one, location));
            }
        }
    }
    all
}
