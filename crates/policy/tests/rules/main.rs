//! The rules, asked from outside the crate: what they allow, and the nasty inputs they refuse.

mod classify;
mod dotenv;
mod dotenv_lines;
mod env;
mod examples;
mod examples_of_home;
mod examples_of_linters;
mod examples_of_services;
mod examples_of_tools;
mod examples_of_version_control;
mod git_commands;
mod git_config;
mod limits;
mod network;
mod path;
mod protect;
mod requests;
mod settings;
mod shared_dir;
mod table;
