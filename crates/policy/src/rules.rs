//! Rules: what decides whether something is allowed, each question in a file of its own.

pub mod children;
pub mod credentials;
pub mod env;
pub mod git;
pub mod guest;
pub mod hide;
pub mod home;
pub mod limits;
pub mod network;
pub mod path;
pub mod provider;
pub mod rootfs;
pub mod sandbox_name;
pub mod shared_dir;
pub mod socket;
pub mod upstream;
pub mod url_path;
pub mod user;
pub mod verdict;
pub mod worker;
