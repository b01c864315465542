//! The life of a sandbox from outside: how it ends, what it answers, and that nothing of it stays.
#![expect(clippy::unwrap_used, reason = "a test whose preparation fails has failed")]

mod beside;
mod called;
mod ceased;
mod deserted;
mod detected;
mod elsewhere;
mod ended;
mod env_files;
mod git_identity;
mod git_work;
mod guarded;
mod homes;
mod hung_up;
mod keyring;
mod killed;
mod many;
mod mapped;
mod names;
mod obeyed;
mod origin;
mod own_git;
mod passed;
mod pid_1;
mod propagation;
mod refused;
mod replaced;
mod rights;
mod streams;
mod traces;
mod umask;
mod unknown;
mod warned;
mod watched;

#[path = "../support/machine.rs"]
mod machine;
#[path = "../support/place.rs"]
mod place;
#[path = "../support/ready.rs"]
mod ready;
