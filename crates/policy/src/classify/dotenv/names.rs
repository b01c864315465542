//! Names of files of variables: which of them no program loads unless it is told to.

/// The last parts of such names, without that of the file itself: what people copy or keep, and files in the format of something else.
const UNLOADED: &[&str] = &[
    "backup", "bak", "example", "fish", "js", "json", "keys", "md", "mjs", "old", "orig", "php", "ps1", "py",
    "sample", "sh", "template", "tmpl", "toml", "tpl", "ts", "txt", "vault", "xcode", "yaml", "yml", "zsh",
];

/// Returns whether a file of variables has a name, in lower case, that only who was told of it loads: `.env.example`, and `.xcode.env`, which
/// the build of a person runs. A task of Nx could be called so; nobody calls one so.
pub(in crate::classify) fn is_unloaded(name: &str) -> bool {
    let name = name.strip_suffix(".env").unwrap_or(name);
    name.rsplit_once('.').is_some_and(|(_, last)| UNLOADED.contains(&last))
}
