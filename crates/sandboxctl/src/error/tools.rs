//! Errors of the file tools, as commands report them.

use policy::query::Denial;
use sandbox::tools::ToolError;

use super::{Code, CommandError};

impl From<ToolError> for CommandError {
    fn from(error: ToolError) -> Self {
        match error {
            ToolError::Denied(denial) => denial.into(),
            ToolError::Sandbox(error) => error.into(),
            ToolError::System { .. } => Self::message(Code::FileFailed, error),
            ToolError::Changed { .. } => Self::message(Code::FileChanged, error),
            ToolError::Plan(_) | ToolError::Acting(_) => Self::message(Code::ToolFailed, error),
        }
    }
}

/// What a tool does not do: `details` says it again for programs.
impl From<Denial> for CommandError {
    fn from(denial: Denial) -> Self {
        let code = match &denial {
            Denial::NotFound { .. } => Code::FileNotFound,
            Denial::WrongKind { .. } | Denial::NotText { .. } => Code::FileUnfit,
            Denial::NoMatch { .. } | Denial::SeveralMatches { .. } | Denial::NoEdit { .. } => {
                Code::EditMismatch
            }
            Denial::Pattern { .. } => Code::PatternInvalid,
            Denial::NoPath { .. } => Code::UsageInvalid,
            _ => Code::PolicyDenied,
        };
        Self::message(code, &denial).details(&denial)
    }
}
