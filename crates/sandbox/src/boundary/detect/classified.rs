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
    /// Of a file that stays writable, the SHA-256 of each suspicious variable or setting, with its name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) parts: BTreeMap<String, String>,
}

impl Classified {
    pub(crate) fn of(path: PathBuf, reason: Reason) -> Self {
        Self { path, reason, essence: None, parts: BTreeMap::new() }
    }

    /// Returns what is new beside what was known, if anything is. Of variables and settings that are listed one by one, only new ones are:
    /// those that were there may come in another order, or be gone.
    pub(super) fn news_beside(mut self, known: &[Self]) -> Option<Self> {
        if known.contains(&self) {
            return None;
        }
        let is_new =
            |sum: &String| !known.iter().any(|one| one.path == self.path && one.parts.contains_key(sum));
        let new: BTreeSet<&String> =
            self.parts.iter().filter(|(sum, _)| is_new(sum)).map(|(_, name)| name).collect();
        match &mut self.reason {
            Reason::Variables { names } if !self.parts.is_empty() => names.retain(|name| new.contains(name)),
            Reason::Setting { key } if !self.parts.is_empty() && !new.contains(key) => {
                key.clone_from(new.first()?);
            }
            _ => return Some(self),
        }
        (!new.is_empty()).then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(parts: &[(&str, &str)]) -> Classified {
        let mut names: Vec<String> = parts.iter().map(|(_, name)| (*name).to_owned()).collect();
        names.dedup();
        Classified {
            path: ".env".into(),
            reason: Reason::Variables { names },
            essence: None,
            parts: parts.iter().map(|(sum, name)| ((*sum).to_owned(), (*name).to_owned())).collect(),
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
    fn a_setting_that_was_there_is_no_news_and_a_new_one_is_named() {
        let settings = |parts: &[(&str, &str)]| {
            let key = parts[0].1.to_owned();
            Classified { path: ".secrets.baseline".into(), reason: Reason::Setting { key }, ..env(parts) }
        };
        let known = [settings(&[("01", "plugins_used.path"), ("02", "filters_used.path")])];
        assert_eq!(settings(&[("02", "filters_used.path")]).news_beside(&known), None);
        let news = settings(&[("02", "filters_used.path"), ("03", "other")]).news_beside(&known).unwrap();
        assert_eq!(news.reason, Reason::Setting { key: "other".into() });
    }

    #[test]
    fn another_reason_is_news_whatever_was_known() {
        let known = [env(&[("01", "PATH")]), Classified::of(".vscode/x".into(), Reason::Hook)];
        assert!(Classified::of(".env".into(), Reason::NotAFile).news_beside(&known).is_some());
        assert!(Classified::of(".vscode/x".into(), Reason::Hook).news_beside(&known).is_none());
    }
}
