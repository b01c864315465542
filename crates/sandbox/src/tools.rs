//! File tools: what a model does with the files of a persistent sandbox, from outside, and with no right that a command inside lacks.
//!
//! Every boundary is a directory descriptor that comes out of the sandbox's own mount namespace, so that masks, hidden files and read-only
//! mounts are what a command sees. What a path names is opened beneath that descriptor in one resolution, which never leaves it
//! (`RESOLVE_BENEATH`), and from then on only what is open is used: an agent that swaps links at the same time gets nothing by it. The
//! thread that does it acts as the agent, see [`ActingAs`](crate::host::acting::ActingAs).

pub use self::attach::{ATTACHMENTS, Attachment, hand_over};
pub use self::edit::{Edit, Edited, apply};
pub use self::file_tools::{FileTools, MAX_FILE_BYTES, ToolError};
pub use self::list::{ListOptions, Listed, ListedKind, Listing, MAX_ENTRIES};
pub use self::pattern::Case;
pub use self::progress::{Bounds, Stopped};
pub use self::read::{Content, MAX_CHARS, Media, ReadOptions, Text};
pub use self::search::{
    Found, FoundFile, FoundLine, LineRole, MAX_CONTEXT, MAX_LINE_BYTES, MAX_MATCHES, SearchOptions,
};
pub use self::shown::Spelling;
pub use self::walk::Selection;
pub use self::write::Written;

mod attach;
mod draft;
mod edit;
mod file_tools;
mod ignored;
mod list;
mod pattern;
mod place;
mod progress;
mod queue;
mod read;
mod search;
mod shown;
mod walk;
mod wildmatch;
mod write;
