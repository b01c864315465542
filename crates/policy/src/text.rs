//! Text: escaped for a terminal, carried in JSON, and suggested for a word that was mistyped.

pub mod escape;
pub mod json_bytes;
pub mod json_object;
pub mod suggest;
pub mod time;
