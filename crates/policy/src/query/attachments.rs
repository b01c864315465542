//! Which files may be handed to a worker.

use std::path::Path;

use super::has_suffix;
use crate::query::denial::{Act, Denial};
use crate::rules::worker::AttachmentRules;
use crate::text::escape;

impl AttachmentRules {
    /// Checks that a worker takes so many files.
    ///
    /// # Errors
    ///
    /// It takes fewer.
    pub fn check_count(&self, count: usize) -> Result<(), Denial> {
        let limit = self.max;
        if usize::try_from(limit).is_ok_and(|limit| count > limit) {
            return Err(Denial::TooManyAttachments { count, limit });
        }
        Ok(())
    }

    /// Checks that it takes files with the suffix of this one.
    ///
    /// # Errors
    ///
    /// It takes others.
    pub fn check_suffix(&self, path: &Path) -> Result<(), Denial> {
        if has_suffix(&self.suffixes, path.as_os_str()) {
            return Ok(());
        }
        Err(Denial::Suffix { access: Act::Attach, path: escape::path(path), allowed: self.suffixes.clone() })
    }

    /// Checks that it takes files of this size, in bytes.
    ///
    /// # Errors
    ///
    /// It takes smaller ones.
    pub fn check_size(&self, path: &Path, size: u64) -> Result<(), Denial> {
        let limit = self.max_bytes.0;
        if size > limit {
            return Err(Denial::TooLarge { access: Act::Attach, path: escape::path(path), size, limit });
        }
        Ok(())
    }
}
