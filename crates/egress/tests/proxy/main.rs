//! The proxy in front of real servers on loopback, spoken to as programs do.
#![expect(clippy::unwrap_used, reason = "what a helper cannot do fails the test that asked for it")]

mod descriptors;
mod explicit;
mod fronting;
mod http2;
mod http2_server;
mod http2_upstream;
mod inspect;
mod intercept;
mod kept;
mod large;
mod limits;
mod log;
mod parent;
mod questions;
mod routes;
mod smuggling;
mod streaming;
mod support;
mod tls;
mod upstream;
