//! Text: escaped for a terminal, carried in JSON, suggested for a word that was mistyped, and folded where case does not count.

pub mod escape;
pub mod fold;
pub mod json_bytes;
pub mod json_object;
pub mod suggest;
pub mod time;
