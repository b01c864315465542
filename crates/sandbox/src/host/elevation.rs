//! Who has become root by a program that leaves in variables who called it: theirs are the files and the consent then.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::host::identity::{HostUidError, Identity};

/// A program by which a user becomes root.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Elevation {
    /// See sudo(8).
    Sudo,
    /// See doas(1).
    Doas,
    /// See pkexec(1).
    Pkexec,
}

impl Elevation {
    /// All that are known.
    pub const ALL: [Self; 3] = [Self::Sudo, Self::Doas, Self::Pkexec];

    /// Returns the variable that says who called it, by number or by name.
    pub fn variable(self) -> &'static str {
        match self {
            Self::Sudo => "SUDO_UID",
            Self::Doas => "DOAS_USER",
            Self::Pkexec => "PKEXEC_UID",
        }
    }

    /// Returns the variable that says with which group, if there is one.
    fn group_variable(self) -> Option<&'static str> {
        match self {
            Self::Sudo => Some("SUDO_GID"),
            Self::Doas | Self::Pkexec => None,
        }
    }

    /// Returns what the names of all its variables begin with.
    fn prefix(self) -> &'static [u8] {
        match self {
            Self::Sudo => b"SUDO_",
            Self::Doas => b"DOAS_",
            Self::Pkexec => b"PKEXEC_",
        }
    }

    /// Returns whether its variable means this account.
    fn means(self, named: &str, account: &Account<'_>) -> bool {
        match self {
            Self::Sudo | Self::Pkexec => named.parse() == Ok(account.user.uid),
            Self::Doas => named == account.name,
        }
    }

    /// Returns whether its variable means root, whatever accounts there are.
    fn means_root(self, named: &OsStr) -> bool {
        match self {
            Self::Sudo | Self::Pkexec => named == "0",
            Self::Doas => named == "root",
        }
    }

    /// Returns whom its variables name, if they are there.
    fn caller(
        self,
        variable: &dyn Fn(&str) -> Option<String>,
        passwd: &str,
    ) -> Result<Option<Identity>, HostUidError> {
        let Some(named) = variable(self.variable()) else { return Ok(None) };
        let unknown = |variable, value, what| HostUidError::Elevation { variable, value, what };
        let account = accounts(passwd).find(|account| self.means(&named, account));
        let Identity { uid, gid } =
            account.ok_or_else(|| unknown(self.variable(), named.clone(), "user"))?.user;
        let group = self.group_variable().and_then(|name| Some((name, variable(name)?)));
        let gid = match group {
            None => gid,
            Some((name, value)) => value.parse().map_err(|_| unknown(name, value.clone(), "group"))?,
        };
        Ok(Some(Identity { uid, gid }))
    }
}

/// Returns the identity of the caller: for root, the user who has become that, if anybody says so. Fails if that is nobody, or several.
///
/// `variable` reads the environment, and `passwd` is the text of `/etc/passwd`. Anybody but root could have made the variables up, so they
/// count for root only.
pub fn caller(
    process: Identity,
    variable: &dyn Fn(&str) -> Option<String>,
    passwd: &str,
) -> Result<Identity, HostUidError> {
    let mut found: Option<(Elevation, Identity)> = None;
    for elevation in Elevation::ALL.into_iter().filter(|_| process.uid == 0) {
        let Some(named) = elevation.caller(variable, passwd)? else { continue };
        match found {
            // Root may have become root once more.
            Some((_, known)) if named.uid == 0 || named.uid == known.uid => {}
            Some((other, Identity { uid: 1.., .. })) => {
                let variables = [other.variable(), elevation.variable()];
                return Err(HostUidError::SeveralCallers { variables });
            }
            _ => found = Some((elevation, named)),
        }
    }
    Ok(found.map_or(process, |(_, named)| named))
}

/// Returns whether the variables name anybody but root.
pub fn may_be_of_another(variable: &dyn Fn(&str) -> Option<std::ffi::OsString>) -> bool {
    let named = |elevation: Elevation| Some((elevation, variable(elevation.variable())?));
    Elevation::ALL.into_iter().filter_map(named).any(|(elevation, named)| !elevation.means_root(&named))
}

/// Returns whether a variable is one by which such a program says who called it.
pub fn is_of_caller(variable: &OsStr) -> bool {
    Elevation::ALL.into_iter().any(|elevation| variable.as_bytes().starts_with(elevation.prefix()))
}

/// An account in passwd(5).
struct Account<'a> {
    name: &'a str,
    user: Identity,
}

fn accounts(passwd: &str) -> impl Iterator<Item = Account<'_>> {
    passwd.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let mut fields = fields.skip(1);
        Some(Account {
            name,
            user: Identity { uid: fields.next()?.parse().ok()?, gid: fields.next()?.parse().ok()? },
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: Identity = Identity { uid: 0, gid: 0 };
    const SAM: Identity = Identity { uid: 1001, gid: 1002 };
    const PASSWD: &str =
        "root:x:0:0:root:/root:/bin/bash\nsam:x:1001:1002::/home/sam:/bin/sh\nkim:x:7:7::/:/bin/sh\n";

    fn called(process: Identity, variables: &[(&str, &str)]) -> Result<Identity, HostUidError> {
        let variable = |name: &str| Some(variables.iter().find(|(one, _)| *one == name)?.1.to_owned());
        caller(process, &variable, PASSWD)
    }

    #[test]
    fn each_program_names_the_caller_of_root_and_of_nobody_else() {
        for named in [("SUDO_UID", "1001"), ("DOAS_USER", "sam"), ("PKEXEC_UID", "1001")] {
            assert_eq!(called(ROOT, &[named]).unwrap(), SAM, "{named:?}");
            let kim = Identity { uid: 7, gid: 7 };
            assert_eq!(called(kim, &[named]).unwrap(), kim, "{named:?}");
            assert_eq!(called(ROOT, &[named, ("SUDO_GID", "9")]).unwrap().uid, 1001, "{named:?}");
        }
        let with_group = [("SUDO_UID", "1001"), ("SUDO_GID", "9")];
        assert_eq!(called(ROOT, &with_group).unwrap(), Identity { uid: 1001, gid: 9 });
        assert_eq!(called(ROOT, &[]).unwrap(), ROOT);
    }

    #[test]
    fn refuses_who_is_no_user() {
        for variable in ["SUDO_UID", "DOAS_USER", "PKEXEC_UID"] {
            for value in ["4242", "", "-1", "1001x", "4294967296", "Sam"] {
                let error = called(ROOT, &[(variable, value)]).unwrap_err().to_string();
                assert!(error.starts_with(&format!("{variable} is `{value}`")), "{error}");
            }
        }
        let error = called(ROOT, &[("SUDO_UID", "1001"), ("SUDO_GID", "x")]).unwrap_err().to_string();
        assert!(error.starts_with("SUDO_GID is"), "{error}");
    }

    #[test]
    fn of_several_that_are_named_one_may_be_another_than_root() {
        let (sudo, doas) = (("SUDO_UID", "1001"), ("DOAS_USER", "sam"));
        for variables in [
            &[sudo, doas][..],
            &[("SUDO_UID", "0"), doas],
            &[sudo, ("DOAS_USER", "root")],
            &[sudo, ("DOAS_USER", "root"), ("PKEXEC_UID", "0")],
        ] {
            assert_eq!(called(ROOT, variables).unwrap(), SAM, "{variables:?}");
        }
        assert_eq!(called(ROOT, &[("SUDO_UID", "0"), ("DOAS_USER", "root")]).unwrap(), ROOT);
        for variables in [&[sudo, ("DOAS_USER", "kim")][..], &[("DOAS_USER", "kim"), ("PKEXEC_UID", "1001")]]
        {
            let error = called(ROOT, variables).unwrap_err();
            assert!(matches!(error, HostUidError::SeveralCallers { .. }), "{error}");
        }
    }

    #[test]
    fn who_may_be_another_is_known_without_accounts() {
        for (variable, value, is_other) in [
            ("SUDO_UID", "1001", true),
            ("SUDO_UID", "0", false),
            ("DOAS_USER", "sam", true),
            ("DOAS_USER", "root", false),
            ("PKEXEC_UID", "", true),
            ("OTHER_UID", "1001", false),
        ] {
            let found = may_be_of_another(&|name| (name == variable).then(|| value.into()));
            assert_eq!(found, is_other, "{variable}={value}");
        }
    }
}
