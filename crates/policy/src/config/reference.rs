//! What is generated from the table of keys: the reference page and the JSON Schema.

use std::fmt::{self, Write};

use serde_json::{Map, Value, json};
use toml::de::DeValue;

use crate::config::key::{self, Key, Support, TextFormat, TrustRule, UNLIMITED, ValueKind};
use crate::config::schema::KEYS;
use crate::config::value::{Choice, Toolchain};
use crate::config::variables::{CONFIG, LOG, PREFIX};
use crate::plan::Need;
use crate::protect::table::{self, GROUPS, ProtectRow, RowGroup, Treatment};
use crate::rules::env;
use crate::rules::network::PRESET;
use crate::rules::network::preset::{PRESETS, PresetRow};

/// Writes the reference page of `sandbox.toml`, as Markdown.
pub fn markdown() -> String {
    let mut page = String::from(INTRODUCTION);
    write(&mut page).expect("a string takes whatever is written to it");
    page
}

/// Writes the JSON Schema of `sandbox.toml` (draft 2020-12), for editors. It ends with a newline.
pub fn json_schema() -> String {
    let mut schema = object("");
    schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".to_owned(), json!("sandbox.toml"));
    schema.insert("description".to_owned(), json!("What a sandbox may see, reach and use."));
    format!("{:#}\n", Value::Object(schema))
}

/// Where the table of protected paths begins in docs/protect.md.
const PROTECTED: &str =
    "<!-- Generated from crates/policy/src/protect/table by `make generate`. Do not edit below. -->\n";

/// Where the table of presets begins in docs/network.md.
const PRESETS_OF_HOSTS: &str = "<!-- Generated from crates/policy/src/rules/network/preset.rs by `make generate`. Do not edit below. -->\n";

/// Where a table ends.
const END: &str = "<!-- End of what is generated. -->\n";

/// Writes the table of protected paths into the page about them; nothing where it has no place for one.
pub fn with_protected_paths(page: &str) -> Option<String> {
    with_table(page, PROTECTED, &protected_paths())
}

/// Writes the table of presets into the page about the network; nothing where it has no place for one.
pub fn with_presets(page: &str) -> Option<String> {
    let row = |PresetRow { name, tools, hosts, source, date }: &PresetRow| {
        let hosts: Vec<_> = hosts.iter().map(|host| format!("`{host}`")).collect();
        format!("| `{PRESET}{name}` | {tools} | {} | {source}, {date} |\n", hosts.join(" "))
    };
    let rows: String = PRESETS.iter().map(row).collect();
    let table = format!("\n| preset | for | hosts | source |\n| --- | --- | --- | --- |\n{rows}\n");
    with_table(page, PRESETS_OF_HOSTS, &table)
}

fn with_table(page: &str, begin: &str, table: &str) -> Option<String> {
    let (before, rest) = page.split_once(begin)?;
    let (_, after) = rest.split_once(END)?;
    Some([before, begin, table, END, after].concat())
}

/// Writes the table of protected paths, as Markdown.
fn protected_paths() -> String {
    let group = |RowGroup { title, rows }: &RowGroup| {
        let is_writable = rows.iter().all(|row| matches!(row.treatment, Treatment::Writable));
        let head = if is_writable {
            "| paths | run by | what runs |\n| --- | --- | --- |"
        } else {
            "| paths | obeyed by | which | source |\n| --- | --- | --- | --- |"
        };
        let rows: String = rows.iter().map(row).collect();
        format!("\n### {title}\n\n{head}\n{rows}")
    };
    GROUPS.iter().map(group).collect::<String>() + "\n"
}

fn row(ProtectRow { paths, program, effect, source, treatment }: &ProtectRow) -> String {
    let paths = paths.join("`, `");
    match treatment {
        Treatment::Writable => format!("| `{paths}` | {program} | {effect} |\n"),
        Treatment::ReadOnly(_) | Treatment::ReadOnlyFile(_) | Treatment::Classified(_) => {
            format!("| `{paths}` | {program} | {effect} | {source} |\n")
        }
    }
}

const INTRODUCTION: &str = "\
<!-- Generated from crates/policy/src/config/table by `make generate`. Do not edit. -->

# sandbox.toml

What a sandbox may see, reach and use. `sandboxctl` looks for the file from the working directory upward, or takes
the one that `--config` names. Flags win over `SANDBOXCTL_*` variables, those over the project's file, that over
the user's file, and that over the defaults here. Tables whose names you choose merge name by name; other values
replace what is beneath, except that `protect.paths` adds up. `sandboxctl config show --origin` says where each
value comes from.

An unknown key, a wrong type and a value that does not parse are errors. All of them are reported at once, with
file, line and column. A key that is not acted on yet is refused too, never ignored.

Without your trust, the file of a project may only narrow what holds without it. Where a key needs trust, it says
so below; `sandboxctl trust` shows what a file would widen.
";

fn write(page: &mut String) -> fmt::Result {
    writeln!(page, "\n## At the top")?;
    for key in KEYS {
        let name = key.path.replace('*', "NAME");
        if is_table(key) {
            writeln!(page, "\n## `[{name}]`\n\n{}", key.doc)?;
            for note in notes(key) {
                writeln!(page, "\n{note}.")?;
            }
            continue;
        }
        writeln!(page, "\n### `{name}`\n\n{}\n", key.doc)?;
        writeln!(page, "- Value: {}", key.kind.expected())?;
        match key.unless {
            _ if !key.required => {}
            None => writeln!(page, "- Required")?,
            Some((name, word)) => writeln!(page, "- Required, unless `{name} = \"{word}\"`")?,
        }
        if !key.default.is_empty() {
            writeln!(page, "- Default: `{}`", key.default)?;
        }
        writeln!(page, "- Example: `{} = {}`", key::split(&name).1, key.example)?;
        for note in notes(key) {
            writeln!(page, "- {note}")?;
        }
    }
    writeln!(page, "\n## Layers of isolation\n\nWhat `native.require` can name:\n")?;
    for (layer, need) in key::LAYERS {
        let default = if *need == Need::Required { "required by default" } else { "used where it is there" };
        writeln!(page, "- `{layer}`: {default}")?;
    }
    writeln!(page, "\n## Variables that always pass\n")?;
    writeln!(
        page,
        "These enter from the host without being named in `env.pass`, and need no trust there:\n"
    )?;
    for name in env::HARMLESS {
        writeln!(page, "- `{name}`")?;
    }
    writeln!(page, "\n## Paths that are protected\n")?;
    writeln!(
        page,
        "These stay read-only in every writable boundary and in every repository within it. What Mercurial undoes a \
         transaction with (`.hg/store/journal*`, `undo*`), `.hglf`, `compile_commands.json`, `.editorconfig`, `.env`, `.secrets.baseline` and their like stay \
         writable, and are classified:\n"
    )?;
    for path in table::built_in() {
        writeln!(page, "- `{path}`")?;
    }
    writeln!(page, "\n## Variables of sandboxctl\n")?;
    writeln!(page, "They win over files, and flags win over them. An unknown name that begins with")?;
    writeln!(page, "`{PREFIX}` is an error.\n")?;
    writeln!(page, "- `{CONFIG}`: the file itself, as `--config` names it")?;
    writeln!(
        page,
        "- `{LOG}`: what is logged on stderr: a level (`info`, `debug`, `trace`), or levels of parts, such as"
    )?;
    writeln!(page, "  `sandbox::engine=debug`; `--verbose` is `info`, twice `debug`, three times `trace`")?;
    for (key, variable) in KEYS.iter().filter_map(|key| Some((key, key.variable?))) {
        writeln!(page, "- `{variable}` sets `{}`", key.path)?;
    }
    Ok(())
}

fn is_table(key: &Key) -> bool {
    matches!(key.kind, ValueKind::Table | ValueKind::Named(_))
}

/// Lists what a person must know before setting a key.
fn notes(key: &Key) -> Vec<String> {
    let status = match key.status {
        Support::NotYet(values) => Some(format!("Not supported yet: {values}")),
        Support::Containers if is_table(key) => Some(
            "Read and checked, and ignored by the providers `native` and `local` where they are named"
                .to_owned(),
        ),
        Support::ActedOn | Support::Containers => None,
    };
    let trust = match key.trust {
        TrustRule::Free => None,
        TrustRule::Needed(when) => Some(format!("Needs trust when {when}")),
    };
    status.into_iter().chain(trust).collect()
}

/// Writes the schema of the table at `table`.
fn object(table: &str) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut chosen = Value::Bool(false);
    for key in KEYS {
        let (of, name) = key::split(key.path);
        if of != table || key.path == table {
            continue;
        }
        if name == "*" {
            chosen = property(key);
        } else {
            properties.insert(name.to_owned(), property(key));
        }
    }
    let required: Vec<&str> = KEYS
        .iter()
        .filter(|key| key.required && key.unless.is_none() && key::split(key.path).0 == table)
        .map(|key| key::split(key.path).1)
        .collect();
    let mut object = Map::new();
    object.insert("type".to_owned(), json!("object"));
    object.insert("additionalProperties".to_owned(), chosen);
    if !properties.is_empty() {
        object.insert("properties".to_owned(), Value::Object(properties));
    }
    if !required.is_empty() {
        object.insert("required".to_owned(), json!(required));
    }
    object
}

fn property(key: &Key) -> Value {
    let mut property = match key.kind {
        ValueKind::Table => object(key.path),
        ValueKind::Named(names) => {
            let mut table = object(key.path);
            if let Some(pattern) = pattern(names) {
                table.insert("propertyNames".to_owned(), json!({ "pattern": pattern }));
            }
            table
        }
        kind => match value(kind) {
            Value::Object(value) => value,
            _ => Map::new(),
        },
    };
    let description = match key.status {
        Support::NotYet(values) => format!("{} Not supported yet: {values}.", key.doc),
        _ => key.doc.to_owned(),
    };
    property.insert("description".to_owned(), json!(description));
    if let Some(default) = from_toml(key.default) {
        property.insert("default".to_owned(), default);
    }
    if let Some(example) = from_toml(key.example) {
        property.insert("examples".to_owned(), json!([example]));
    }
    Value::Object(property)
}

fn value(kind: ValueKind) -> Value {
    let unlimited = json!({ "const": UNLIMITED });
    let size = json!({ "type": "string", "pattern": SIZE });
    let bytes = json!({ "type": "integer", "minimum": 1 });
    match kind {
        ValueKind::Table | ValueKind::Named(_) => json!({ "type": "object" }),
        ValueKind::Bool => json!({ "type": "boolean" }),
        ValueKind::Integer(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        ValueKind::Pids => json!({ "anyOf": [{ "type": "integer", "minimum": 1 }, unlimited] }),
        ValueKind::Cpus => json!({ "anyOf": [{ "type": "number", "exclusiveMinimum": 0 }, unlimited] }),
        ValueKind::Size => json!({ "anyOf": [size, bytes] }),
        ValueKind::Memory => json!({ "anyOf": [size, bytes, unlimited] }),
        ValueKind::Timeout => {
            json!({ "anyOf": [text(TextFormat::Duration), { "type": "integer", "minimum": 1 }, unlimited] })
        }
        ValueKind::Choice(words) => json!({ "enum": words }),
        ValueKind::Text(format) => text(format),
        ValueKind::List(format) => json!({ "type": "array", "items": text(format) }),
        ValueKind::Command => json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 }),
    }
}

const SIZE: &str = "^[0-9]+(_[0-9]+)*([bB]|[kKmMgGtT]([iI]?[bB])?)?$";

fn text(format: TextFormat) -> Value {
    match (format, pattern(format)) {
        (TextFormat::Platform, _) => json!({ "enum": key::PLATFORMS }),
        (TextFormat::Layer, _) => {
            let layers: Vec<String> = key::LAYERS.iter().map(|(layer, _)| layer.to_string()).collect();
            json!({ "enum": layers })
        }
        (TextFormat::Allowed, _) => {
            let names: Vec<&str> = PRESETS.iter().map(|row| row.name).collect();
            json!({ "type": "string", "pattern": format!("^(?!{PRESET})|^{PRESET}({})$", names.join("|")) })
        }
        (TextFormat::Toolchain, _) => {
            json!({ "type": "string", "pattern": format!("^({}|[/~].*)$", Toolchain::NAMES.join("|")) })
        }
        (_, Some(pattern)) => json!({ "type": "string", "pattern": pattern }),
        (_, None) => json!({ "type": "string" }),
    }
}

/// Returns the pattern by which an editor checks a text. It refuses nothing that is valid.
fn pattern(format: TextFormat) -> Option<&'static str> {
    match format {
        TextFormat::Any
        | TextFormat::Host
        | TextFormat::Rule
        | TextFormat::Allowed
        | TextFormat::Platform
        | TextFormat::Toolchain
        | TextFormat::Layer => None,
        TextFormat::NotEmpty | TextFormat::HostPath | TextFormat::Socket => Some("\\S"),
        TextFormat::Name => Some("^[a-z0-9][a-z0-9_-]{0,62}$"),
        TextFormat::Variable => Some("^[A-Za-z_][A-Za-z0-9_]*$"),
        TextFormat::GuestPlace => Some("^(/|same$)"),
        TextFormat::Start => Some("^."),
        TextFormat::InnerPath => Some("^[^/~]"),
        TextFormat::HidePattern => Some("^[^!~]"),
        TextFormat::User => Some("^([a-z_][a-z0-9_-]*|[0-9]+)(:([a-z_][a-z0-9_-]*|[0-9]+))?$"),
        TextFormat::Image => Some("^[A-Za-z0-9][A-Za-z0-9._/:@-]*$"),
        TextFormat::GuestSocket => Some("^/+(run|tmp)/"),
        TextFormat::Source => Some("^(env|file|command):."),
        TextFormat::Url => Some("^https?://"),
        TextFormat::Header => Some("^[!#$%&'*+.^_`|~A-Za-z0-9-]+$"),
        TextFormat::Template => Some("\\{\\}"),
        TextFormat::Suffix => Some("^\\.[^/]+$"),
        TextFormat::Duration => Some("^(([0-9_]+(d|h|ms|m|s))+|[0-9_]+)$"),
    }
}

/// Converts TOML text of the table of keys to JSON; nothing for an empty text.
fn from_toml(text: &str) -> Option<Value> {
    fn json(value: &DeValue<'_>) -> Value {
        match value {
            DeValue::String(text) => json!(text),
            DeValue::Integer(number) => json!(number.as_str().parse::<i64>().unwrap_or_default()),
            DeValue::Float(number) => json!(number.as_str().parse::<f64>().unwrap_or_default()),
            DeValue::Boolean(value) => json!(value),
            DeValue::Array(values) => values.iter().map(|value| json(value.get_ref())).collect(),
            DeValue::Table(_) => json!({}),
            DeValue::Datetime(time) => json!(time.to_string()),
        }
    }
    DeValue::parse(text).ok().map(|value| json(value.get_ref()))
}
