//! The egress proxy: the one way out of a sandbox.
//!
//! PID 1 opens listeners in the network namespace of the sandbox and hands them out. What connects to them says by a protocol
//! of proxies, HTTP or SOCKS5, or by the address that it connects to, which host it wants; that is decided by the rules,
//! resolved out here, decided again with the address that was found, and that address is dialled. Nothing else leaves.

pub mod audit;
pub mod authority;
mod body;
pub mod changes;
pub mod client_hello;
pub mod credited;
mod current;
mod dial;
pub mod dns;
mod exceptions;
mod explicit;
pub mod first_bytes;
mod forward;
mod headers;
mod http;
mod http2;
mod inside;
mod inspect;
mod intercept;
pub mod limits;
mod linger;
mod listener;
pub mod names;
mod outside;
pub mod parent;
pub mod proxy;
pub mod questions;
pub mod refusal;
pub mod refused;
mod repeats;
pub mod request;
pub mod rotate;
pub mod route;
mod routed;
pub mod secret;
mod sender;
mod serving;
pub mod socks;
pub mod tls;
mod traffic;
mod transparent;
mod tunnel;
pub mod unreached;
