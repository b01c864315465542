//! The user of the agent: who is meant by a name or number in this file system.
//!
//! Names are looked up in the text of `/etc/passwd` and `/etc/group` and nowhere else: in a container there is no
//! other directory of users, and a C library's lookup may load modules or ask a socket on the way, as root.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;

use policy::rules::user::{UserOrGroup, UserSpec, id};
use rustix::process::{Gid, getgid, getgroups, getuid};

const PASSWD: &str = "/etc/passwd";
const GROUP: &str = "/etc/group";

/// Whether the agent may be root.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RootPolicy {
    /// It may not, whoever is named.
    Refused,
    /// It may, if it is asked for by the name `root`.
    ByName,
}

/// Somebody whom this process can become.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Account {
    /// The name, if the user has one here.
    pub name: Option<String>,
    pub uid: u32,
    /// The primary group.
    pub gid: u32,
    /// The supplementary groups, the primary one among them: left out, a file that denies its group something
    /// would not deny it here (CVE-2022-36109).
    pub groups: Vec<u32>,
    /// The home directory; `/` for who has none.
    pub home: OsString,
    /// The shell; `/bin/sh` for who has none.
    pub shell: OsString,
}

/// Why nobody was found.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    #[error("there is no {kind} `{name}` in {file}; add it there, or name a number such as 1000:1000")]
    Unknown {
        /// `user` or `group`.
        kind: &'static str,
        name: String,
        file: &'static str,
    },
    #[error(
        "line {line} of {file}, which is about `{name}`, has no valid ids; expected numbers from 0 to 2147483647"
    )]
    Broken {
        file: &'static str,
        /// Counted from 1.
        line: usize,
        name: String,
    },
    #[error(
        "{given} is root, which is given only where it is asked for by the name `root` and allowed explicitly"
    )]
    Root { given: UserSpec },
    /// A file is there and cannot be read.
    #[error("cannot read {file}: {source}")]
    Read { file: &'static str, source: io::Error },
}

impl Account {
    /// Finds a user in this file system.
    ///
    /// A file that is not there is an empty one: images without any still know numbers.
    pub fn find(spec: &UserSpec, root: RootPolicy) -> Result<Self, LookupError> {
        resolve(spec, root, &read(PASSWD)?, &read(GROUP)?)
    }

    /// Returns the user of this process: ids and groups as they are, name and home as this file system's passwd(5) has
    /// them.
    pub fn current() -> Result<Self, LookupError> {
        let uid = getuid().as_raw();
        let gid = getgid().as_raw();
        let groups = getgroups().unwrap_or_default().into_iter().map(Gid::as_raw).collect();
        let user = user_of(&UserOrGroup::Id(uid), &read(PASSWD)?)?.unwrap_or_else(|| User::nameless(uid));
        Ok(Self { uid, gid, groups, name: user.name, home: user.home, shell: user.shell })
    }
}

/// Finds somebody in the text of passwd(5) and group(5).
///
/// - A number without an entry has a group of the same number: never group 0, which owns what root owns.
/// - Groups are the primary one and all that list the user by name. Where a group is asked for, it is the only one.
pub fn resolve(
    spec: &UserSpec,
    root: RootPolicy,
    passwd: &[u8],
    group: &[u8],
) -> Result<Account, LookupError> {
    let user = match (&spec.user, user_of(&spec.user, passwd)?) {
        (_, Some(user)) => user,
        (UserOrGroup::Id(uid), None) => User::nameless(*uid),
        (UserOrGroup::Name(name), None) => {
            return Err(LookupError::Unknown { kind: "user", name: name.clone(), file: PASSWD });
        }
    };
    if user.uid == 0 && (root == RootPolicy::Refused || spec.user != UserOrGroup::Name("root".to_owned())) {
        return Err(LookupError::Root { given: spec.clone() });
    }
    let (gid, groups) = match &spec.group {
        Some(wanted) => {
            let gid = group_of(wanted, group)?;
            (gid, vec![gid])
        }
        None => (user.gid, groups_of(&user, group)),
    };
    Ok(Account { uid: user.uid, gid, groups, name: user.name, home: user.home, shell: user.shell })
}

/// What passwd(5) says of somebody.
struct User {
    name: Option<String>,
    uid: u32,
    gid: u32,
    home: OsString,
    shell: OsString,
}

impl User {
    fn nameless(uid: u32) -> Self {
        Self { name: None, uid, gid: uid, home: "/".into(), shell: "/bin/sh".into() }
    }
}

/// Returns the first entry that matches, as every C library takes it.
fn user_of(named: &UserOrGroup, passwd: &[u8]) -> Result<Option<User>, LookupError> {
    for (line, fields) in entries(passwd) {
        let [name, _, uid, gid, _, home, shell] = fields[..] else { continue };
        let matches = match named {
            UserOrGroup::Name(wanted) => wanted.as_bytes() == name,
            UserOrGroup::Id(wanted) => id(uid) == Some(*wanted),
        };
        if !matches {
            continue;
        }
        let (Some(uid), Some(gid)) = (id(uid), id(gid)) else {
            return Err(LookupError::Broken { file: PASSWD, line, name: named.to_string() });
        };
        let or = |text: &[u8], otherwise: &str| {
            OsString::from_vec(if text.is_empty() { otherwise.into() } else { text.to_vec() })
        };
        return Ok(Some(User {
            name: String::from_utf8(name.to_vec()).ok(),
            uid,
            gid,
            home: or(home, "/"),
            shell: or(shell, "/bin/sh"),
        }));
    }
    Ok(None)
}

fn group_of(named: &UserOrGroup, group: &[u8]) -> Result<u32, LookupError> {
    let wanted = match named {
        UserOrGroup::Id(gid) => return Ok(*gid),
        UserOrGroup::Name(name) => name,
    };
    for (line, fields) in entries(group) {
        if let [name, _, gid, _] = fields[..] {
            if name == wanted.as_bytes() {
                return id(gid).ok_or_else(|| LookupError::Broken {
                    file: GROUP,
                    line,
                    name: wanted.clone(),
                });
            }
        }
    }
    Err(LookupError::Unknown { kind: "group", name: wanted.clone(), file: GROUP })
}

/// Returns the primary group, and every group that lists the user.
fn groups_of(user: &User, group: &[u8]) -> Vec<u32> {
    let mut groups = vec![user.gid];
    let Some(user) = &user.name else { return groups };
    for (_, fields) in entries(group) {
        let [_, _, gid, members] = fields[..] else { continue };
        if members.split(|byte| *byte == b',').any(|member| member == user.as_bytes()) {
            groups.extend(id(gid).filter(|gid| !groups.contains(gid)));
        }
    }
    groups
}

/// Splits a file into numbered lines, and each into its fields.
fn entries(text: &[u8]) -> impl Iterator<Item = (usize, Vec<&[u8]>)> {
    let fields = |line| <[u8]>::split(line, |byte| *byte == b':').collect();
    (1..).zip(text.split(|byte| *byte == b'\n').map(fields))
}

fn read(file: &'static str) -> Result<Vec<u8>, LookupError> {
    match fs::read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        other => other.map_err(|source| LookupError::Read { file, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &[u8] = b"root:x:0:0:root:/root:/bin/bash\n\
        # a comment\n\
        \n\
        +::::::\n\
        agent:x:1000:1000:Agent:/home/agent:/bin/bash\n\
        toor:x:0:0::/root:/bin/sh\n\
        bare:x:1001:1001:::\n\
        0day:x:0:0::/:/bin/sh\n\
        broken:x:-1:1000::/:/bin/sh\n\
        huge:x:4294967296:1000::/:/bin/sh\n\
        second:x:1000:7::/elsewhere:/bin/sh\n";
    const GROUP: &[u8] =
        b"root:x:0:\nagent:x:1000:\nvideo:x:44:bare,agent\nagents:x:45:agents\nbad:x:-1:agent\n\
        wheel:x:10:agent\nvideo2:x:44:agent\n";

    fn find(spec: &str) -> Result<Account, LookupError> {
        resolve(&spec.parse().unwrap(), RootPolicy::Refused, PASSWD, GROUP)
    }

    #[test]
    fn a_user_has_the_groups_that_list_it() {
        let agent = find("agent").unwrap();
        assert_eq!((agent.uid, agent.gid, agent.groups.as_slice()), (1000, 1000, &[1000, 44, 10][..]));
        assert_eq!((agent.home.to_str(), agent.shell.to_str()), (Some("/home/agent"), Some("/bin/bash")));
        // By number it is the same user; of two entries the first counts.
        assert_eq!(find("1000").unwrap(), agent);
    }

    #[test]
    fn a_group_that_is_asked_for_is_the_only_one() {
        let agent = find("agent:video").unwrap();
        assert_eq!((agent.gid, agent.groups.as_slice()), (44, &[44][..]));
        assert_eq!(find("agent:12345").unwrap().groups, [12345]);
        assert!(matches!(find("agent:nogroup"), Err(LookupError::Unknown { kind: "group", .. })));
    }

    #[test]
    fn a_number_without_an_entry_is_never_in_group_0() {
        for text in [PASSWD, b""] {
            let found = resolve(&"54321".parse().unwrap(), RootPolicy::ByName, text, b"").unwrap();
            assert_eq!((found.uid, found.gid, found.groups.as_slice()), (54321, 54321, &[54321][..]));
            assert_eq!((found.name, found.home.to_str()), (None, Some("/")));
        }
    }

    #[test]
    fn missing_fields_have_harmless_values() {
        let bare = find("bare").unwrap();
        assert_eq!((bare.home.to_str(), bare.shell.to_str()), (Some("/"), Some("/bin/sh")));
    }

    #[test]
    fn root_takes_its_name_and_a_permission() {
        for spec in ["root", "0", "toor", "0:1000", "root:agent"] {
            assert!(matches!(find(spec), Err(LookupError::Root { .. })), "{spec}");
        }
        let allowed = |spec: &str| resolve(&spec.parse().unwrap(), RootPolicy::ByName, PASSWD, GROUP);
        assert_eq!(allowed("root").unwrap().uid, 0);
        for spec in ["0", "toor", "0:0"] {
            assert!(matches!(allowed(spec), Err(LookupError::Root { .. })), "{spec}");
        }
        assert!(matches!(
            resolve(&"0".parse().unwrap(), RootPolicy::ByName, b"", b""),
            Err(LookupError::Root { .. })
        ));
    }

    #[test]
    fn whoever_is_not_there_is_an_error() {
        assert!(matches!(find("bogus"), Err(LookupError::Unknown { kind: "user", .. })));
        assert!(matches!(find("broken"), Err(LookupError::Broken { line: 9, .. })));
        assert!(matches!(find("huge"), Err(LookupError::Broken { line: 10, .. })));
    }

    #[test]
    fn forty_groups_are_forty_groups() {
        let text = (1..=40).fold(String::new(), |text, n| format!("{text}g{n}:x:{}:x,agent\n", 2000 + n));
        let agent = resolve(&"agent".parse().unwrap(), RootPolicy::Refused, PASSWD, text.as_bytes()).unwrap();
        assert_eq!(agent.groups.len(), 41);
    }
}
