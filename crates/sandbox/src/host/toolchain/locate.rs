//! Locating a program: where the caller's shell would find it, and what would have to be shown for a native sandbox to have it.

use std::path::{Path, PathBuf};

use policy::config::{Expose, Toolchain};
use policy::text::escape;

use super::find;
use super::prefix::PARTS;
use super::search::{HostContext, Toolchains, in_system_tree, is_script};
use crate::host::acting::ActingAs;
use crate::host::small_file;
use crate::state::writable;

/// How many interpreters may need one of their own.
const MAX_INTERPRETERS: u32 = 3;

/// What must lie beside `bin` for a directory to be one that a program is installed in as a whole.
const BESIDE_BIN: &[&str] = &["lib", "lib64", "libexec", "share"];

/// What a native sandbox can have of a program.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Availability {
    /// It lies in what every native sandbox shows, at this path.
    System(PathBuf),
    /// It lies elsewhere, and these presets and paths together show it, its interpreter included.
    Exposable {
        /// Its path on the host, by its name in the `PATH`.
        program: PathBuf,
        by: Vec<Expose>,
    },
    /// It is there, and nothing that could be exposed shows it.
    Hidden { program: PathBuf, reason: String },
    /// No such program was found.
    Nowhere,
}

/// Finds a program as the caller's shell would, past every link, and what shows it to a native sandbox. A `name` with a slash is
/// the path of one.
pub fn locate(name: &str, host: &HostContext<'_>) -> Availability {
    let Ok(_acting) = ActingAs::user(host.user) else { return Availability::Nowhere };
    locate_as_user(name, host, MAX_INTERPRETERS)
}

fn locate_as_user(name: &str, host: &HostContext<'_>, levels: u32) -> Availability {
    // A path that is relative means something else inside.
    if name.contains('/') && !Path::new(name).is_absolute() {
        return Availability::Nowhere;
    }
    if let Some(program) = host.programs(name).next() {
        return classify(program, host, levels);
    }
    match host.programs.unsafe_one(name, host.workdir) {
        Some((program, reason)) => Availability::Hidden { program, reason },
        None => Availability::Nowhere,
    }
}

fn classify(program: PathBuf, host: &HostContext<'_>, levels: u32) -> Availability {
    let Ok(real) = program.canonicalize() else { return Availability::Nowhere };
    if in_system_tree(&real) {
        return Availability::System(if in_system_tree(&program) { program } else { real });
    }
    let shown = by_preset(&program, host).map_or_else(|| by_path(&program, &real, host), Ok);
    match shown.and_then(|by| with_interpreter(by, &real, host, levels)) {
        Ok(by) => Availability::Exposable { program, by },
        Err(reason) => Availability::Hidden { program, reason },
    }
}

/// Finds the first preset that shows a program by the name at which it was found, and every link on the way.
fn by_preset(program: &Path, host: &HostContext<'_>) -> Option<Vec<Expose>> {
    let shows = |preset: &Toolchain| {
        let mut found = Toolchains::default();
        find(&Expose::Preset(*preset), host, &mut found).is_ok()
            && program.parent().is_some_and(|bin| found.path.iter().any(|one| one == bin))
            && found.shows(program, host)
    };
    Toolchain::all().find(shows).map(|preset| vec![Expose::Preset(preset)])
}

/// Lists paths that show a program and nothing that it does not need, as far as its surroundings say what that is.
fn by_path(program: &Path, real: &Path, host: &HostContext<'_>) -> Result<Vec<Expose>, String> {
    let mut paths = Vec::new();
    let bin = real.parent().unwrap_or(Path::new("/"));
    let prefix = if bin.ends_with("bin") { bin.parent() } else { None };
    let is_prefix = |prefix: &&Path| {
        let is_hidden = prefix.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        // Right in the home, what begins with a dot holds settings too.
        let is_of_home = prefix.parent() == host.home.canonicalize().ok().as_deref();
        !(is_hidden && is_of_home) && BESIDE_BIN.iter().any(|name| prefix.join(name).is_dir())
    };
    let environment = prefix.filter(|prefix| prefix.join("pyvenv.cfg").is_file());
    if let Some(environment) = environment {
        paths.extend(parts(environment));
    } else if bin.ends_with("versions") && program != real {
        // An installer that keeps versions side by side, and a link to the one in use.
        paths.push(bin.to_owned());
    } else if let Some(modules) = real.ancestors().find(|path| path.ends_with("lib/node_modules")) {
        let of_prefix = modules.ancestors().nth(2).map(|prefix| prefix.join("bin"));
        if of_prefix.as_deref() != program.parent()
            || program.parent().is_none_or(|bin| has_others(bin, modules))
        {
            return Err(format!(
                "it is a link to `{}`, and the directory of the link holds other programs, too; install it beneath a prefix of \
                 npm's own (`npm config set prefix ~/.npm-global`)",
                escape::path(real)
            ));
        }
        paths.extend(program.parent().into_iter().chain([modules]).map(Path::to_owned));
    } else if let Some(prefix) = prefix.filter(is_prefix) {
        // What may not be shown as a whole can still hold a program that may.
        if check(prefix, host).is_ok() { paths.extend(parts(prefix)) } else { paths.push(real.to_owned()) }
    } else if program != real && is_script(real) {
        paths.push(real.to_owned());
    }
    // By the name that it has in the `PATH`.
    if !paths.iter().any(|path| program.starts_with(path)) {
        paths.push(program.to_owned());
    }
    for path in &paths {
        check(path, host)?;
    }
    Ok(paths.into_iter().map(Expose::Path).collect())
}

/// Lists what a program needs of the directory that it is installed in.
fn parts(prefix: &Path) -> impl Iterator<Item = PathBuf> {
    PARTS.iter().map(move |part| prefix.join(part)).filter(|path| path.exists())
}

/// Returns whether a directory has programs that do not lead to npm's modules beside it.
fn has_others(bin: &Path, modules: &Path) -> bool {
    let mut programs = bin.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let is_other = |path: PathBuf| {
        let leads_to_modules = path.canonicalize().is_ok_and(|real| real.starts_with(modules));
        let is_node = path.file_name().is_some_and(|name| name == "node");
        !leads_to_modules && !is_node
    };
    programs.any(is_other)
}

/// Refuses a path that may not be shown.
fn check(path: &Path, host: &HostContext<'_>) -> Result<(), String> {
    let refused = host.refuse_agent_writable(&path.to_string_lossy(), path);
    let wanted = Expose::Path(path.to_owned());
    let shown = refused.and_then(|()| find(&wanted, host, &mut Toolchains::default()));
    shown.map_err(|error| error.to_string())
}

/// Adds what shows the interpreter of a script.
fn with_interpreter(
    mut by: Vec<Expose>,
    real: &Path,
    host: &HostContext<'_>,
    levels: u32,
) -> Result<Vec<Expose>, String> {
    let Some(interpreter) = interpreter(real) else { return Ok(by) };
    let Some(levels) = levels.checked_sub(1) else {
        return Err("its interpreter needs one, and so on".into());
    };
    let mut shown = Toolchains::default();
    if by.iter().all(|one| find(one, host, &mut shown).is_ok()) && shown.has(Path::new(&interpreter), host) {
        return Ok(by);
    }
    match locate_as_user(&interpreter, host, levels) {
        Availability::System(_) => Ok(by),
        Availability::Exposable { by: more, .. } => {
            // The interpreter of an environment is a link in what is shown already.
            let is_shown = |one: &Expose| match one {
                Expose::Path(path) => shown.covers(path),
                Expose::Preset(_) => by.contains(one),
            };
            let more: Vec<_> = more.into_iter().filter(|one| !is_shown(one)).collect();
            by.extend(more);
            Ok(by)
        }
        Availability::Hidden { program, reason } => {
            Err(format!("it needs `{}`, which cannot be shown: {reason}", escape::path(&program)))
        }
        Availability::Nowhere => Err(format!("it needs `{interpreter}`, which is not there")),
    }
}

/// Reads which program interprets a script (`execve(2)`), by path or, past `env`, by name.
fn interpreter(script: &Path) -> Option<String> {
    let start = small_file::beginning(script, 256).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line).into_owned();
    let mut words = line.split_whitespace();
    let program = words.next()?;
    if !program.ends_with("/env") {
        return Some(program.to_owned());
    }
    let named = words.find(|word| !word.starts_with('-') && !word.contains('='));
    named.map(str::to_owned)
}

impl Toolchains {
    /// Returns whether a path, every link on the way and what it leads to are readable inside.
    fn shows(&self, path: &Path, host: &HostContext<'_>) -> bool {
        let Ok(places) = writable::places(path, host.user) else { return false };
        let is_shown = |place: &PathBuf| {
            in_system_tree(place)
                || self
                    .exposed
                    .iter()
                    .any(|one| place.starts_with(&one.guest) || place.starts_with(&one.host))
                || self.links.iter().any(|link| link.guest == *place)
        };
        places.iter().all(is_shown)
    }

    /// Returns whether a program is there inside, by its path or by its name.
    fn has(&self, program: &Path, host: &HostContext<'_>) -> bool {
        if program.is_absolute() {
            return self.shows(program, host) && program.exists();
        }
        let mut directories = self.path.iter().map(|bin| bin.join(program));
        directories.any(|program| program.exists() && self.shows(&program, host))
    }
}
