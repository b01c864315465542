//! One attack per file.

mod abstract_sockets;
mod behind_sudo;
mod behind_sudo_credentials;
mod behind_sudo_kernel_files;
mod behind_sudo_paths;
mod behind_sudo_records;
mod configured_hooks;
mod core_files;
mod created;
mod descriptors;
mod devices;
mod disk;
mod environment;
mod evading_detection;
mod file_systems;
mod fork_bomb;
mod git_rules;
mod groups;
mod hard_links;
mod hidden_paths;
mod host_files;
mod host_programs;
mod host_user;
mod hostile_config;
mod io_uring;
mod kernel_calls;
mod kernel_settings;
mod late_sockets;
mod leases;
mod links;
mod machine_wide;
mod many_sockets;
mod memory;
mod mounts;
mod namespaces;
mod network;
mod obeyed_boundaries;
mod other_calling_conventions;
mod outliving;
mod pid_1;
mod pipes;
mod protected;
mod ptrace;
mod read_only;
mod report;
mod secrets;
mod set_uid;
mod socket_families;
mod streams;
mod swapped_boundaries;
mod swapped_sockets;
mod tiocsti;
mod unix_sockets;

/// A file that no `mod` line names would never run.
#[test]
fn no_case_is_forgotten() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/escape/cases");
    let named = include_str!("mod.rs");
    for entry in std::fs::read_dir(directory).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(module) = name.strip_suffix(".rs") else { continue };
        assert!(module == "mod" || named.contains(&format!("mod {module};")), "{name} is not in mod.rs");
    }
}
