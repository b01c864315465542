//! The file tools of the sandboxes of a client: opened at their first use, and kept while the sandbox lives.

use std::sync::{Arc, PoisonError};

use sandbox::FileTools;

use super::Session;
use crate::failure::Failure;

/// The file tools of a sandbox, to use.
pub(crate) struct Files {
    pub(crate) tools: Arc<FileTools>,
    /// What the model should know of the sandbox.
    pub(crate) notice: Option<String>,
}

impl Session {
    /// Returns the file tools of the sandbox of this name, or of the default one, which is made where it is not there.
    pub(crate) fn files(&self, name: Option<&str>) -> Result<Files, Failure> {
        // As long as it lives, nobody is asked.
        if let Some(tools) = self.opened(name.unwrap_or(&self.default_name())) {
            return Ok(Files { tools, notice: None });
        }
        let found = self.sandbox(name)?;
        let open = |sandbox| FileTools::open(sandbox).map(Arc::new);
        let name = name.map_or_else(|| self.default_name(), str::to_owned);
        let slot =
            self.lock().sandboxes.get(&name).map(|held| (Arc::clone(&held.sandbox), Arc::clone(&held.files)));
        let Some((_, slot)) = slot.filter(|(held, _)| Arc::ptr_eq(held, &found.sandbox)) else {
            // Somebody has removed it or made it again in between, and what is kept for that one is not for this one.
            return Ok(Files { tools: open(found.sandbox)?, notice: found.notice });
        };
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let tools = match slot.take().filter(|tools| !tools.has_ended()) {
            Some(tools) => tools,
            None => open(found.sandbox)?,
        };
        *slot = Some(Arc::clone(&tools));
        Ok(Files { tools, notice: found.notice })
    }

    /// Returns the file tools of a sandbox that are open, if it lives.
    fn opened(&self, name: &str) -> Option<Arc<FileTools>> {
        let slot = Arc::clone(&self.lock().sandboxes.get(name)?.files);
        let tools = slot.lock().unwrap_or_else(PoisonError::into_inner).clone();
        tools.filter(|tools| !tools.has_ended())
    }
}
