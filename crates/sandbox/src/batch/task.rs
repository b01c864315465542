//! A task of a batch: what is to be run, for whom, and how often.

use std::collections::BTreeSet;

/// A task.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Task<T> {
    /// What is to be run: only the function that runs tasks knows what it means.
    pub payload: T,
    /// Whose it is. Groups have their turns one after another, however many tasks each has; tasks without one are a group too.
    pub group: Option<String>,
    pub retries: Retries,
}

/// What a batch knows a task by.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TaskId(pub(super) u64);

/// How often a task is tried again, and after what.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Retries {
    /// How many attempts may follow the first one.
    pub most: u32,
    /// The exit codes after which a command that ran is run again: none unless they are named, because it has had effects.
    pub exit_codes: BTreeSet<u8>,
}

/// How an attempt has ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ending {
    /// The command ran and had this exit code: 128+n where signal n ended it.
    Ran(u8),
    /// The sandbox could not be started, which another attempt may change.
    NotStarted,
    /// The task is wrong or forbidden, which no attempt changes.
    Refused,
}

impl Ending {
    /// Returns whether all went well.
    pub fn is_success(self) -> bool {
        self == Self::Ran(0)
    }
}

impl Retries {
    /// Returns whether another attempt follows, after this many that ended like this.
    pub(super) fn allow_another(&self, attempts: u32, ending: Ending) -> bool {
        let may_help = match ending {
            Ending::Ran(code) => self.exit_codes.contains(&code),
            Ending::NotStarted => true,
            Ending::Refused => false,
        };
        may_help && attempts <= self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_ran_is_run_again_only_where_its_exit_code_is_named() {
        let retries = Retries { most: 2, exit_codes: BTreeSet::from([75]) };
        assert!(retries.allow_another(1, Ending::Ran(75)));
        assert!(!retries.allow_another(1, Ending::Ran(1)));
        assert!(!retries.allow_another(1, Ending::Ran(0)));
    }

    #[test]
    fn a_start_that_failed_is_tried_as_often_as_asked_for() {
        let retries = Retries { most: 2, ..Retries::default() };
        assert!(retries.allow_another(1, Ending::NotStarted));
        assert!(retries.allow_another(2, Ending::NotStarted));
        assert!(!retries.allow_another(3, Ending::NotStarted));
        assert!(!Retries::default().allow_another(1, Ending::NotStarted));
    }

    #[test]
    fn what_is_refused_is_never_tried_again() {
        let retries = Retries { most: 9, exit_codes: (0..=255).collect() };
        assert!(!retries.allow_another(1, Ending::Refused));
    }
}
