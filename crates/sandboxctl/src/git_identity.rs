//! Who commits: the name and the address in the caller's own configuration of git. Git itself is not run.

use std::path::{Path, PathBuf};

use policy::classify::{IdentityEntry, identity};
use policy::rules::git::GitIdentity;
use sandbox::boundary::resolve::Lead;
use sandbox::host::acting::ActingAs;
use sandbox::host::small_file;

use crate::context::Context;
use crate::own_git;

/// How deep configurations may include each other, as in git.
const MAX_DEPTH: u32 = 10;

/// Reads who the caller is for git in the working directory. Where git would decide by something that is not looked at here, nobody
/// is: git then asks, and no commit has a wrong name.
pub(crate) fn find(context: &Context) -> Option<GitIdentity> {
    let mut found = GitIdentity::default();
    for file in &own_git::files(context) {
        read(context, file, MAX_DEPTH, &mut found).ok()?;
    }
    Some(found).filter(|found| !found.is_empty())
}

/// A condition that is not understood decides about who commits.
struct Unknown;

fn read(context: &Context, file: &Path, depth: u32, found: &mut GitIdentity) -> Result<(), Unknown> {
    // One that is not there says nothing, and so does one that the caller may not read.
    let Ok(content) = small_file::read(file, context.caller) else { return Ok(()) };
    for entry in identity(&content) {
        match entry {
            IdentityEntry::Name(name) => found.name = Some(name),
            IdentityEntry::Email(email) => found.email = Some(email),
            IdentityEntry::Include { .. } if depth == 0 => {}
            IdentityEntry::Include { condition, path } => {
                let path =
                    file.parent().unwrap_or(Path::new("/")).join(own_git::in_home(&context.home, &path));
                match condition.map_or(Some(true), |condition| holds(context, &condition)) {
                    Some(true) => read(context, &path, depth - 1, found)?,
                    Some(false) => {}
                    None => {
                        let mut other = found.clone();
                        read(context, &path, depth - 1, &mut other)?;
                        if other != *found {
                            return Err(Unknown);
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

/// Returns whether a condition holds in the working directory, if that is understood: a directory that the repository lies in.
fn holds(context: &Context, condition: &str) -> Option<bool> {
    let pattern = condition.strip_prefix("gitdir:")?;
    let directory = pattern.strip_suffix('/')?;
    if directory.contains(['*', '?', '[', '\\']) || !directory.starts_with(['/', '~']) {
        return None;
    }
    let directory = own_git::in_home(&context.home, Path::new(directory));
    // Links lead there by the caller's rights, under sudo too.
    let resolved = match Lead::of(&directory, context.caller) {
        Ok(Lead::Found(found)) => found.path,
        Ok(Lead::Missing(_)) | Err(_) => directory.clone(),
    };
    let _acting = ActingAs::user(context.caller).ok()?;
    let git: Option<PathBuf> = context.cwd.ancestors().map(|path| path.join(".git")).find(|git| git.exists());
    Some(git.is_some_and(|git| git.starts_with(&directory) || git.starts_with(&resolved)))
}
