//! Tests that only root can run, because only root gives files away.

/// Returns whether this test can run. Where the machine is declared to run tests as root, that it cannot is a failure.
pub(crate) fn can_give_files_away() -> bool {
    let root = rustix::process::getuid().is_root();
    if !root {
        let declared = std::env::var("SANDBOX_TEST_FEATURES").unwrap_or_default();
        assert!(
            !declared.split(',').any(|feature| feature == "root"),
            "root is declared, and this is not root"
        );
        println!("not run: only root gives files away");
    }
    root
}
