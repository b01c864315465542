//! From a document to a layer of settings: which key is read as what.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{
    Agent, Base, Config, Container, Env, File, General, Image, Lifecycle, Limits, MAX_LENGTH, Native,
    Network, Protect, Secret, SharedDir, value,
};
use crate::document::{Broken, Document, Reader, Section};
use crate::env::Name;
use crate::problem::{self, Code, Located, Place, Problem};
use crate::schema;

pub(super) fn config(text: &str, file: &File) -> (Config, Vec<Problem>) {
    if text.len() > MAX_LENGTH {
        let place = Place::File { owner: file.owner, file: Arc::clone(&file.label), line: 1, column: 1 };
        let message = format!("the file has {} bytes; at most {MAX_LENGTH} are read", text.len());
        return (Config::default(), vec![Problem::new(&place, "", Code::Refused, message)]);
    }
    let (config, mut problems) = match Document::parse(text, file.owner, &file.label) {
        Ok(document) => read(document, &file.base),
        Err(Broken { mut problems, rest }) => {
            let (config, more) = Document::parse(&rest, file.owner, &file.label)
                .map(|document| read(document, &file.base))
                .unwrap_or_default();
            problems.extend(more);
            (config, problems)
        }
    };
    problem::sort(&mut problems);
    (config, problems)
}

fn read(mut document: Document<'_>, base: &Base) -> (Config, Vec<Problem>) {
    let (top, mut reader) = document.reader();
    let config = Config {
        name: None,
        platform: None,
        general: General {
            version: reader.scalar(&top, "version", |scalar| value::integer(scalar, 1, 1)),
            provider: reader.text(&top, "provider", value::provider),
            require_os_sandbox: reader.scalar(&top, "require_os_sandbox", value::boolean),
        },
        agent: agent(&mut reader, &top.section("agent")),
        has_image: reader.table(&top, "image"),
        image: image(&mut reader, &top.section("image"), base),
        build_args: build_args(&mut reader, &top.section("image").section("build_args")),
        has_shared_dirs: reader.table(&top, "shared_dirs"),
        shared_dirs: shared_dirs(&mut reader, &top.section("shared_dirs"), base),
        env: env(&mut reader, &top.section("env")),
        secrets: secrets(&mut reader, &top.section("secrets"), base),
        network: network(&mut reader, &top.section("network")),
        limits: limits(&mut reader, &top.section("limits")),
        protect: protect(&mut reader, &top.section("protect")),
        native: native(&mut reader, &top.section("native"), base),
        container: container(&mut reader, &top.section("container")),
        lifecycle: Lifecycle {
            idle_timeout: reader.text(&top.section("lifecycle"), "idle_timeout", value::duration),
        },
    };
    (config, document.into_problems())
}

fn agent(reader: &mut Reader<'_, '_>, section: &Section<'_, '_>) -> Agent {
    let noted = reader.noted();
    let mut command = reader.list(section, "command", value::argument);
    // An empty list is no command, and neither is an empty first word.
    if let Some(list) =
        command.take_if(|list| list.value.first().is_none_or(|program| program.value.is_empty()))
    {
        if reader.noted() == noted {
            let message = "there is no command";
            reader.note(
                Problem::new(&list.place, section.key("command"), Code::InvalidValue, message)
                    .expecting(schema::Kind::Command.expected()),
            );
        }
    }
    Agent {
        command: command.map(|list| {
            Located::new(list.value.into_iter().map(|argument| argument.value).collect(), list.place)
        }),
        user: reader.text(section, "user", value::parsed),
        workdir: reader.text(section, "workdir", value::parsed),
        init: reader.scalar(section, "init", value::boolean),
    }
}

fn image(reader: &mut Reader<'_, '_>, section: &Section<'_, '_>, base: &Base) -> Image {
    Image {
        name: reader.text(section, "name", value::image),
        base: reader.text(section, "base", value::image),
        packages: reader.list(section, "packages", value::not_empty),
        platforms: reader.list(section, "platforms", value::platform),
        dockerfile: reader.text(section, "dockerfile", |text| value::host_path(text, base)),
        ca_certificates: reader.text(section, "ca_certificates", |text| value::host_path(text, base)),
    }
}

fn build_args(reader: &mut Reader<'_, '_>, section: &Section<'_, '_>) -> BTreeMap<String, Located<String>> {
    let names = section.names();
    names.filter_map(|(name, _)| Some((name.to_owned(), reader.text(section, name, value::any)?))).collect()
}

fn shared_dirs(
    reader: &mut Reader<'_, '_>,
    section: &Section<'_, '_>,
    base: &Base,
) -> BTreeMap<String, Located<SharedDir>> {
    let mut all = BTreeMap::new();
    for (name, table, place) in named(reader, section) {
        let one = SharedDir {
            host: reader.text(&table, "host", |text| value::host_path(text, base)),
            guest: reader.text(&table, "guest", value::parsed),
            mode: reader.text(&table, "mode", value::boundary_mode),
            suffixes: reader.list(&table, "suffixes", value::suffix),
            max_file_bytes: reader.scalar(&table, "max_file_bytes", value::size),
        };
        reader.require(&table, &place, &["host", "guest"]);
        if let (Some(name), true) = (name, one.host.is_some() && one.guest.is_some()) {
            all.insert(name, Located::new(one, place));
        }
    }
    all
}

fn env(reader: &mut Reader<'_, '_>, section: &Section<'_, '_>) -> Env {
    let set = section.section("set");
    let mut variables = BTreeMap::new();
    for (given, at) in set.names() {
        let name = reader.name(&set, given, at, value::parsed::<Name>);
        let text = reader.text(&set, given, value::argument);
        if let (Some(name), Some(text)) = (name, text) {
            variables.insert(name, text);
        }
    }
    Env { pass: reader.list(section, "pass", value::parsed), also_pass: BTreeMap::new(), set: variables }
}

fn secrets(
    reader: &mut Reader<'_, '_>,
    section: &Section<'_, '_>,
    base: &Base,
) -> BTreeMap<String, Located<Secret>> {
    let mut all = BTreeMap::new();
    for (name, table, place) in named(reader, section) {
        let one = Secret {
            mode: reader.text(&table, "mode", value::secret_mode),
            env_var: reader.text(&table, "env_var", value::parsed),
            source: reader.text(&table, "source", |text| value::source(text, base)),
            provider: reader.text(&table, "provider", value::secret_provider),
            upstream: reader.text(&table, "upstream", value::url),
            header: reader.text(&table, "header", value::not_empty),
        };
        reader.require(&table, &place, &["mode", "env_var", "source"]);
        let complete = one.mode.is_some() && one.env_var.is_some() && one.source.is_some();
        if let (Some(name), true) = (name, complete) {
            all.insert(name, Located::new(one, place));
        }
    }
    all
}

fn network(reader: &mut Reader<'_, '_>, section: &Section<'_, '_>) -> Network {
    Network {
        mode: reader.text(section, "mode", value::network_mode),
        allow: reader.list(section, "allow", value::parsed),
        deny: reader.list(section, "deny", value::parsed),
    }
}

fn limits(reader: &mut Reader<'_, '_>, section: &Section<'_, '_>) -> Limits {
    Limits {
        memory: reader.scalar(section, "memory", |scalar| value::or_unlimited(scalar, value::memory)),
        cpus: reader.scalar(section, "cpus", |scalar| value::or_unlimited(scalar, value::cpus)),
        pids: reader.scalar(section, "pids", |scalar| value::or_unlimited(scalar, value::pids)),
        timeout: reader.scalar(section, "timeout", |scalar| value::or_unlimited(scalar, value::timeout)),
        output_bytes: reader.scalar(section, "output_bytes", value::size),
        tmp_size: reader.scalar(section, "tmp_size", value::size),
    }
}

fn protect(reader: &mut Reader<'_, '_>, section: &Section<'_, '_>) -> Protect {
    Protect {
        paths: reader.list(section, "paths", value::parsed),
        allow: reader.list(section, "allow", value::parsed),
        depth: reader.scalar(section, "depth", |scalar| value::integer(scalar, 0, schema::MAX_DEPTH)),
        on_replaced: reader.text(section, "on_replaced", value::on_replaced),
    }
}

fn native(reader: &mut Reader<'_, '_>, section: &Section<'_, '_>, base: &Base) -> Native {
    Native {
        require: reader.list(section, "require", value::layer),
        expose: reader.list(section, "expose", |text| value::exposed(text, base)),
    }
}

fn container(reader: &mut Reader<'_, '_>, section: &Section<'_, '_>) -> Container {
    Container {
        runtime: reader.text(section, "runtime", value::runtime),
        host_path_prefix: reader.text(section, "host_path_prefix", value::prefix),
        pull: reader.text(section, "pull", value::pull),
    }
}

/// The tables in a table of tables, each with the place of its name. One whose name cannot be a name is read
/// too, for the problems within it.
fn named<'d, 't>(
    reader: &mut Reader<'_, '_>,
    section: &Section<'d, 't>,
) -> Vec<(Option<String>, Section<'d, 't>, Place)> {
    let mut tables = Vec::new();
    for (given, at) in section.names() {
        let name = reader.name(section, given, at, value::name);
        let table = section.section(given);
        if table.exists() {
            tables.push((name, table, reader.place(at)));
        }
    }
    tables
}
