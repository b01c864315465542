//! Who commits inside: the caller's name and address, for git.
//!
//! They stand in a configuration of the system (git-config(1), "FILES"), which is the weakest: what a repository or the agent's own
//! configuration says wins, and so does every variable.

use serde::{Deserialize, Serialize};

/// Where that configuration is: in a tmpfs of the sandbox's own.
pub const CONFIGURATION: &str = "/run/sandboxctl/gitconfig";

/// The variable that tells git where it is, see git(1).
pub const VARIABLE: &str = "GIT_CONFIG_SYSTEM";

/// Keeps `git gc` from removing the data of worktrees whose directories are not there inside, see git-gc(1), and git from calling it by
/// itself: it cannot change those data, and would say so on the host for a day (`gc.log`).
const GC: &str = "[gc]\n\tauto = 0\n\tworktreePruneExpire = never\n";

/// What the agent may do in the repository of a linked worktree, from the least to the most.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub enum RepositoryAccess {
    /// It is not shared.
    None,
    ReadOnly,
    /// It can be written, but for what is protected.
    #[default]
    ReadWrite,
}

/// The name and the address that the caller's own configuration has.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct GitIdentity {
    pub name: Option<String>,
    pub email: Option<String>,
}

impl GitIdentity {
    /// Returns whether it says anything.
    pub fn is_empty(&self) -> bool {
        self.name.is_none() && self.email.is_none()
    }

    /// Writes the configuration, which also leaves `git gc` to the host. That of the system is still read, before it.
    pub fn configuration(&self) -> String {
        let name = self.name.iter().map(|name| format!("\tname = {}\n", quoted(name)));
        let email = self.email.iter().map(|email| format!("\temail = {}\n", quoted(email)));
        let user: String = name.chain(email).collect();
        format!("[include]\n\tpath = /etc/gitconfig\n{GC}[user]\n{user}")
    }
}

/// Quotes a value for a configuration of git.
fn quoted(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{value}\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::{IdentityEntry, identity};

    #[test]
    fn what_is_written_is_what_git_reads() {
        let name = "A \"B\" \\ C; # ö";
        let text = GitIdentity { name: Some(name.to_owned()), email: None }.configuration();
        let entries = identity(text.as_bytes());
        assert_eq!(entries.last(), Some(&IdentityEntry::Name(name.to_owned())));
        assert!(GitIdentity::default().is_empty());
    }
}
