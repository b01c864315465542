//! `init`: writes a commented sandbox.toml, made from the one table of every key.

use std::io::{self, Write};

use anyhow::Context as _;
use policy::agents::Profile;
use policy::config::key::{Key, Support, TrustRule, ValueKind, split};
use policy::config::schema::KEYS;
use policy::text::escape;
use policy::text::json_bytes::JsonBytes;
use sandbox::host::acting::ActingAs;
use sandbox::host::small_file;
use serde_json::json;

use crate::cli::{Format, InitArgs};
use crate::context::{self, Context};
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;
use crate::ui::Ui;

pub(crate) fn init(ui: &Ui, context: &Context, args: &InitArgs) -> Result<ExitCode, CommandError> {
    let path = context.absolute(&args.file);
    let name = escape::path(&args.file);
    // Under sudo, where the user behind it may write, and as a file of theirs.
    let _acting = ActingAs::user(context.caller).with_context(|| format!("cannot create {name}"))?;
    // O_EXCL: neither a file nor a dangling link is ever written through.
    let reached = context.path_to(&path).with_context(|| format!("cannot create {name}"))?;
    let mut file = match small_file::create_new(&reached, 0o666) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(CommandError::message(
                Code::ConfigExists,
                format_args!("{name} exists, and `init` never overwrites"),
            )
            .hint(format!("`sandboxctl config validate {name}` checks the file that is there"))
            .hint("to start over, name another file or move this one away"));
        }
        opened => opened
            .with_context(|| format!("cannot create {name}"))
            .map_err(|error| context::as_user(error, context.caller))?,
    };
    file.write_all(template(args.agent).as_bytes()).with_context(|| format!("cannot write {name}"))?;
    match ui.format() {
        Format::Text if args.agent.is_some() => {
            ui.note(format_args!(
                "wrote {name}; next: `sandboxctl trust` shows what it widens, then `sandboxctl run`"
            ));
        }
        Format::Text => ui.note(format_args!("wrote {name}; next: `sandboxctl run -- COMMAND`")),
        Format::Json => ui.json(&json!({ "file": JsonBytes::from(path.as_path()) }))?,
    }
    Ok(ExitCode::Success)
}

const HEAD: &str = "\
# What a sandbox of this project may do: `sandboxctl run -- COMMAND` reads this file, `sandboxctl plan` shows what
# comes of it. A key that is commented out has its default value, unless it is marked as an example.
";

/// What is set rather than shown: just enough that the project is shared from wherever `run` is called.
const ACTIVE: &[(&str, &str)] = &[
    ("version", "version = 1\n"),
    ("shared_dirs", "workspace = { host = \".\", guest = \"/workspace\" }\n"),
];

/// Returns the whole file, for this agent.
fn template(agent: Option<Profile>) -> String {
    let profile = agent.map(|Profile(profile)| ("agent.profile", format!("profile = {:?}\n", profile.name)));
    let active = ACTIVE.iter().map(|(path, line)| (*path, (*line).to_owned()));
    let active: Vec<_> = active.chain(profile).collect();
    KEYS.iter().fold(HEAD.to_owned(), |text, key| text + &entry(key, &active))
}

/// Formats one key: its documentation, and the key itself, commented out unless it is active.
fn entry(key: &Key, active: &[(&str, String)]) -> String {
    let (table, name) = split(key.path);
    let active = active.iter().find(|(path, _)| *path == key.path).map_or("", |(_, line)| line.as_str());
    let about = format!("\n{}", comment(&explanation(key)));
    match key.kind {
        // Tables that mean something by being there stay commented out, with all that is in them.
        ValueKind::Table if key.path.contains('*') || key.path == "image" => {
            format!("{about}#[{}]\n", key.path.replace('*', "example"))
        }
        ValueKind::Table => format!("{about}[{}]\n{active}", key.path),
        ValueKind::Named(_) if !active.is_empty() => format!("{about}[{}]\n{active}", key.path),
        // The entry for one of its names follows.
        ValueKind::Named(_) => about,
        _ if !active.is_empty() => about + active,
        _ if name == "*" => format!("#{} = {{ NAME = {} }}  # an example\n", split(table).1, key.example),
        _ if key.default.is_empty() => format!("{about}#{name} = {}  # an example\n", key.example),
        _ => format!("{about}#{name} = {}\n", key.default),
    }
}

fn explanation(key: &Key) -> String {
    let not_yet = match key.status {
        Support::NotYet(what) => format!(" Not supported yet: {what}."),
        _ => String::new(),
    };
    let trust = match key.trust {
        TrustRule::Needed(when) => format!(" Needs `sandboxctl trust` when {when}."),
        TrustRule::Free => String::new(),
    };
    key.doc.to_owned() + &not_yet + &trust
}

/// Formats text as comment lines of at most 110 columns.
fn comment(text: &str) -> String {
    let mut lines = vec!["#".to_owned()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < 110 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!("# {word}")),
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use policy::config::schema::KEYS;

    use super::*;

    #[test]
    fn shows_every_key() {
        let text = template(None);
        for key in KEYS {
            let (_, name) = split(key.path);
            assert!(name == "*" || text.contains(name), "{} is missing", key.path);
        }
    }

    #[test]
    fn breaks_lines_that_are_too_long() {
        assert!(template(None).lines().all(|line| line.chars().count() <= 120));
    }
}
