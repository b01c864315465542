//! What was found against a file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use policy::classify::Reason;
use serde::{Deserialize, Serialize};

/// One file, and why a program would obey it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Classified {
    #[serde(with = "policy::text::json_bytes::path")]
    pub(crate) path: PathBuf,
    pub(crate) reason: Reason,
    /// The SHA-256 of what a program would obey: the same reason may stand for something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) essence: Option<String>,
    /// Of a file of variables, the SHA-256 of each that matters, with its name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) variables: BTreeMap<String, String>,
}

impl Classified {
    pub(crate) fn of(path: PathBuf, reason: Reason) -> Self {
        Self { path, reason, essence: None, variables: BTreeMap::new() }
    }

    /// Returns what is new beside what was known, if anything is. A file of variables has only new ones: those that were there may come
    /// in another order, or be gone.
    pub(super) fn news_beside(mut self, known: &[Self]) -> Option<Self> {
        let Reason::Variables { names } = &mut self.reason else {
            return (!known.contains(&self)).then_some(self);
        };
        let of_file = || known.iter().filter(|one| one.path == self.path);
        self.variables.retain(|sum, _| !of_file().any(|one| one.variables.contains_key(sum)));
        let new: BTreeSet<&String> = self.variables.values().collect();
        names.retain(|name| new.contains(name));
        (!names.is_empty()).then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(variables: &[(&str, &str)]) -> Classified {
        let mut names: Vec<String> = variables.iter().map(|(_, name)| (*name).to_owned()).collect();
        names.dedup();
        Classified {
            path: ".env".into(),
            reason: Reason::Variables { names },
            essence: None,
            variables: variables.iter().map(|(sum, name)| ((*sum).to_owned(), (*name).to_owned())).collect(),
        }
    }

    #[test]
    fn only_new_variables_are_news() {
        let known = [env(&[("01", "PATH"), ("02", "PATH"), ("03", "EDITOR")])];
        for now in [vec![("03", "EDITOR"), ("02", "PATH")], vec![("01", "PATH")]] {
            assert_eq!(env(&now).news_beside(&known), None, "{now:?}");
        }
        let news = env(&[("03", "EDITOR"), ("04", "PATH"), ("05", "PAGER")]).news_beside(&known).unwrap();
        assert_eq!(news.reason, Reason::Variables { names: vec!["PATH".into(), "PAGER".into()] });
        let elsewhere = Classified { path: "a/.env".into(), ..env(&[("01", "PATH")]) };
        assert!(elsewhere.news_beside(&known).is_some());
    }

    #[test]
    fn another_reason_is_news_whatever_was_known() {
        let known = [env(&[("01", "PATH")]), Classified::of(".vscode/x".into(), Reason::Hook)];
        assert!(Classified::of(".env".into(), Reason::NotAFile).news_beside(&known).is_some());
        assert!(Classified::of(".vscode/x".into(), Reason::Hook).news_beside(&known).is_none());
    }
}
