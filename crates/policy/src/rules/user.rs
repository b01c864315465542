//! The user of an agent, as text names one: one grammar for files, flags and the entrypoint.
//!
//! Looking the name up in a user database is for others.

use std::fmt;
use std::str::FromStr;

/// The largest id: signed programs read more as negative, and -1 means "leave it as it is" to the kernel.
const MAX_ID: u32 = i32::MAX.unsigned_abs();

/// Who is meant: `user`, or `user:group`.
///
/// Each is a name, `^[a-z_][a-z0-9_-]*$`, or a number of digits alone, from 0 to 2^31-1. Nothing else is taken for
/// a user: `-1`, `+0`, ` 0`, `0day` and `4294967296` have all been taken for root (CVE-2019-14287, CVE-2020-13776).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UserSpec {
    pub user: UserOrGroup,
    pub group: Option<UserOrGroup>,
}

/// A user or a group.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum UserOrGroup {
    Name(String),
    /// By its number, at most 2^31-1.
    Id(u32),
}

/// Text that names no user or group.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "{given:?} is not a {kind}; expected a name (lower-case letters, digits, `_` and `-`) or a number from 0 to 2147483647, \
     such as `agent`, `1000` or `1000:1000`"
)]
pub struct UserSpecError {
    given: String,
    kind: &'static str,
}

impl UserSpec {
    /// Returns whether the user or the group is root's, as far as the text shows: another name may have the number 0 too.
    pub fn names_root(&self) -> bool {
        [Some(&self.user), self.group.as_ref()].into_iter().flatten().any(|who| match who {
            UserOrGroup::Name(name) => name == "root",
            UserOrGroup::Id(id) => *id == 0,
        })
    }
}

impl FromStr for UserSpec {
    type Err = UserSpecError;

    fn from_str(text: &str) -> Result<Self, UserSpecError> {
        let (user, group) = match text.split_once(':') {
            Some((user, group)) => (user, Some(group)),
            None => (text, None),
        };
        Ok(Self {
            user: user_or_group(user, "user")?,
            group: group.map(|group| user_or_group(group, "group")).transpose()?,
        })
    }
}

impl fmt::Display for UserSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.user)?;
        self.group.as_ref().map_or(Ok(()), |group| write!(f, ":{group}"))
    }
}

impl fmt::Display for UserOrGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Id(id) => write!(f, "{id}"),
        }
    }
}

/// Reads the id of a user or group: digits and nothing else, from 0 to 2^31-1; `str::parse` alone would take a sign.
pub fn id(text: &[u8]) -> Option<u32> {
    if !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok().filter(|id| *id <= MAX_ID)
}

fn user_or_group(text: &str, kind: &'static str) -> Result<UserOrGroup, UserSpecError> {
    let first = |byte: &u8| byte.is_ascii_lowercase() || *byte == b'_';
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-');
    if text.as_bytes().first().is_some_and(first) && text.bytes().all(inner) {
        return Ok(UserOrGroup::Name(text.to_owned()));
    }
    id(text.as_bytes()).map(UserOrGroup::Id).ok_or_else(|| UserSpecError { given: text.to_owned(), kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_or_digits_name_a_user() {
        let numbers =
            "-1|+0| 0|0 |0x0|0day|-0|1.0|\u{663}|4294967295|4294967296|2147483648|99999999999999999999";
        let names = "|Agent|-agent|a b|a\n|root\0|\u{e4}gent|/etc|$(id)";
        let pairs = ":|:0|0:|agent:|a:b:c|0:0day|1000:-1|1000:4294967296";
        for bad in [numbers, names, pairs].iter().flat_map(|list| list.split('|')) {
            assert!(bad.parse::<UserSpec>().is_err(), "{bad:?}");
        }
        for good in "agent|_apt|www-data|a1|0|2147483647|1000:1000|agent:video|1000:video".split('|') {
            assert_eq!(good.parse::<UserSpec>().unwrap().to_string(), good);
        }
    }

    #[test]
    fn root_is_recognised_by_name_and_number_of_user_and_group() {
        let names_root = |text: &str| text.parse::<UserSpec>().unwrap().names_root();
        assert!(["root", "0", "00", "1000:0", "agent:root", "0:1000"].into_iter().all(names_root));
        assert!(!["agent", "1000:1000", "rooty", "agent:roots"].into_iter().any(names_root));
    }
}
