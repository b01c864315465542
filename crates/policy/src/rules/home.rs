//! The home directory of the agent: whether it stays when the sandbox ends, and for whom.

use crate::config::Config;

/// What the agent's home directory is.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Home {
    /// A tmpfs that ends with the sandbox.
    #[default]
    Temporary,
    /// A persistent directory, for the sandboxes of this project.
    OfProject,
    /// A persistent directory, for the sandboxes that name it.
    Named(String),
}

impl Home {
    /// Returns what settings ask for. A name implies that it is kept, unless something stronger says otherwise.
    pub(crate) fn of(config: &Config) -> Self {
        let keep = config.home.keep.as_ref();
        match &config.home.name {
            Some(name) if keep.is_none_or(|keep| keep.value || name.location > keep.location) => {
                Self::Named(name.value.clone())
            }
            _ if keep.is_some_and(|keep| keep.value) => Self::OfProject,
            _ => Self::Temporary,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::effective::Effective;
    use crate::config::problem::Scope;
    use crate::config::{ConfigFile, PathBase};

    fn home(user: &str, project: &str) -> Home {
        let layer = |scope, label: &str, text| {
            let base = PathBase { directory: "/project".into(), home: None };
            Config::parse(text, &ConfigFile { scope, label: label.into(), base }).unwrap()
        };
        let layers = [layer(Scope::User, "user.toml", user), layer(Scope::Project, "sandbox.toml", project)];
        Home::of(Effective::merge(layers).settings())
    }

    #[test]
    fn ends_with_the_sandbox_unless_it_is_kept() {
        assert_eq!(home("", ""), Home::Temporary);
        assert_eq!(home("home.keep = true", ""), Home::OfProject);
        assert_eq!(home("home.keep = true", "home.keep = false"), Home::Temporary);
    }

    #[test]
    fn a_name_implies_that_it_is_kept_and_the_stronger_word_wins() {
        let named = Home::Named("a".to_owned());
        assert_eq!(home("home.name = \"a\"", ""), named);
        assert_eq!(home("home.keep = false", "home.name = \"a\""), named);
        assert_eq!(home("home.name = \"a\"", "home.keep = false"), Home::Temporary);
        assert_eq!(home("home.name = \"a\"", "home.keep = true"), named);
    }
}
