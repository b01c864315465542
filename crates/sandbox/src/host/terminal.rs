//! The caller's terminal: never passed on, but relayed to a pty of the sandbox's own.
//!
//! Whoever holds a terminal can put keystrokes into it that the caller's shell obeys afterwards. So an agent
//! gets a terminal that ends at this relay. Pipes are relayed too, see `pipe.rs`; other streams stay what they are.

pub use filter::{Answers, Charset, ScreenFilter};
pub use relay::{Ends, Relay, RelaySource};
pub use signals::Signals;
pub use stream::{StreamError, StreamKind, check_stream};

mod display;
mod fields;
mod filter;
mod keyboards;
mod modes;
mod relay;
mod screen;
mod sequence;
mod signals;
mod stream;
