//! Who the agent of a sandbox is, as a record says it, and how far that is believed.

use serde::{Deserialize, Serialize};

use crate::host::identity::{Free, Identity, NOBODY};

/// The user and the group on the host that the commands of a sandbox are, as they stand in its record.
///
/// Under sudo the record is a file of the user behind it, who may have put anybody there. So nobody reads them but by
/// [`RecordedAgent::believed`].
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct RecordedAgent(Identity);

impl From<Identity> for RecordedAgent {
    fn from(agent: Identity) -> Self {
        Self(agent)
    }
}

impl RecordedAgent {
    /// Returns who this process takes the agent for, whose record belongs to `owner`.
    pub(crate) fn believed(self, owner: Identity) -> Identity {
        self.believed_by(Identity::own(), owner, || Free::on_this_host().ok())
    }

    /// Does the same for `process`, with what `free` finds.
    ///
    /// Whoever is not root has no more rights than they have, and records of root's are written by root alone. On the word of anybody else
    /// root takes nobody's rights but the owner's: under sudo the agent is the user behind it. Where that user's group is root's, the agent has
    /// an id that nobody has; one that is none is not believed, and then the owner has no group.
    fn believed_by(
        self,
        process: Identity,
        owner: Identity,
        free: impl FnOnce() -> Option<Free>,
    ) -> Identity {
        let Self(recorded) = self;
        if process.uid != 0 || owner.uid == 0 {
            return recorded;
        }
        if owner.gid != 0 {
            return owner;
        }
        let is_unallocated =
            recorded.uid == recorded.gid && free().is_some_and(|free| free.contains(recorded.uid));
        if is_unallocated { recorded } else { Identity { uid: owner.uid, gid: NOBODY } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::identity::WINDOW;

    const ROOT: Identity = Identity { uid: 0, gid: 0 };
    const SAM: Identity = Identity { uid: 1001, gid: 1002 };
    const OF_ROOTS_GROUP: Identity = Identity { uid: 1001, gid: 0 };
    const UNALLOCATED: Identity = Identity { uid: WINDOW.start + 7, gid: WINDOW.start + 7 };

    fn believed(process: Identity, owner: Identity, recorded: Identity) -> Identity {
        let free = || Some(Free::parse("", "", "", ""));
        RecordedAgent::from(recorded).believed_by(process, owner, free)
    }

    #[test]
    fn root_believes_of_a_record_of_a_users_that_it_names_nobody_else() {
        let others = [
            ROOT,
            OF_ROOTS_GROUP,
            Identity { uid: 1001, gid: 42 },
            Identity { uid: 33, gid: 33 },
            Identity { gid: 0, ..UNALLOCATED },
        ];
        for recorded in others {
            assert_eq!(believed(ROOT, SAM, recorded), SAM, "{recorded:?}");
            let alone = Identity { uid: 1001, gid: NOBODY };
            assert_eq!(believed(ROOT, OF_ROOTS_GROUP, recorded), alone, "{recorded:?}");
        }
        assert_eq!(believed(ROOT, SAM, UNALLOCATED), SAM);
        assert_eq!(believed(ROOT, OF_ROOTS_GROUP, UNALLOCATED), UNALLOCATED);
        let unknown = RecordedAgent::from(UNALLOCATED).believed_by(ROOT, OF_ROOTS_GROUP, || None);
        assert_eq!(unknown.gid, NOBODY, "where nobody knows which ids are free");
    }

    #[test]
    fn root_alone_and_whoever_is_not_root_believe_their_own_records() {
        assert_eq!(believed(ROOT, ROOT, UNALLOCATED), UNALLOCATED);
        let in_another_group = Identity { gid: 42, ..SAM };
        assert_eq!(believed(SAM, SAM, in_another_group), in_another_group);
    }
}
