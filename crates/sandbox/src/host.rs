//! What is done on the host itself, outside of any sandbox.

pub(crate) mod child;
mod guard;
