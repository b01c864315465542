//! What a client does with the files of a persistent sandbox. A process of the sandbox does it, with no right that a command lacks.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::wire_path;
use crate::tree::{Copied, Source};

/// What a client asks for on a connection for files. Descriptor, but for [`FileRequest::Open`]: the one end of a pipe, for the stream of tar.
#[derive(Debug, Deserialize, Serialize)]
pub enum FileRequest {
    /// Writes what is at a path as a stream.
    Pack {
        #[serde(with = "wire_path")]
        path: PathBuf,
        links: Links,
    },
    /// Reads a stream, and makes what it has at a path; without a source, in the directory that is there.
    Unpack {
        #[serde(with = "wire_path")]
        path: PathBuf,
        source: Option<Source>,
    },
    /// Puts into its place what was unpacked: the stream was whole.
    Commit,
    /// Opens directories, through no link, for looking up what is beneath them.
    Open {
        #[serde(
            serialize_with = "wire_path::serialize_all",
            deserialize_with = "wire_path::deserialize_all"
        )]
        directories: Vec<PathBuf>,
    },
}

/// What becomes of a link that is copied.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Links {
    /// It is copied itself.
    Copied,
    /// What it leads to is copied, where the path itself is a link.
    Followed,
}

/// What the process inside answers.
#[derive(Debug, Deserialize, Serialize)]
pub enum FileEvent {
    /// What is packed.
    Found(Source),
    /// All of the stream was unpacked, and waits for [`FileRequest::Commit`].
    Unpacked,
    /// What has become of the next directory: its descriptor comes along, or this is the number of the error.
    Opened { errno: Option<i32> },
    /// It is done.
    Done(Copied),
    /// It is not, and nothing is left of it.
    Failed {
        #[serde(with = "wire_path")]
        path: PathBuf,
        /// The error's number, where the system said one.
        errno: Option<i32>,
        message: String,
    },
    /// PID 1 has no process for it: forking one has failed, with this number of the error.
    Unserved { errno: Option<i32> },
}
