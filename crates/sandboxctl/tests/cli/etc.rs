//! What programs of the host's need in `/etc` is there, and can only be read.

use std::path::Path;

use policy::rules::rootfs::ETC;

use crate::env::TestEnv;

#[test]
fn what_programs_need_in_etc_is_readable_and_nothing_else_is_there() {
    let env = TestEnv::new();
    let there: Vec<_> = ETC.iter().filter(|path| Path::new(path).exists()).copied().collect();
    assert!(there.len() > 3, "{there:?}");
    let script = format!("for path in {}; do test -r $path || echo $path; done", there.join(" "));
    let answer = env.call(&["run", "-q", "--", "sh", "-c", &script]);
    assert_eq!((answer.code, answer.stdout.as_str()), (0, ""), "{answer}");
    let script = format!("for path in {}; do test -w $path && echo $path; done; true", there.join(" "));
    assert_eq!(env.call(&["run", "-q", "--", "sh", "-c", &script]).stdout, "");
    for secret in ["/etc/shadow", "/etc/sudoers", "/etc/ssh", "/etc/ssl/private", "/etc/docker"] {
        let answer = env.call(&["run", "-q", "--", "test", "-e", secret]);
        assert_eq!(answer.code, 1, "{secret}");
    }
}

#[test]
fn programs_find_services_and_a_compiler_of_java_its_settings() {
    let env = TestEnv::new();
    if Path::new("/etc/services").exists() {
        let script = "import socket; print(socket.getservbyname('https'), socket.getprotobyname('tcp'))";
        let answer = env.call(&["run", "-q", "--", "python3", "-c", script]);
        assert_eq!(answer.stdout, "443 6\n", "{answer}");
    }
    if Path::new("/usr/bin/javac").exists() {
        env.write(
            "A.java",
            "class A { public static void main(String[] a) { System.out.println(\"ran\"); } }",
        );
        let answer = env.call(&["run", "-q", "--", "sh", "-c", "javac A.java && java A"]);
        assert_eq!((answer.code, answer.stdout.as_str()), (0, "ran\n"), "{answer}");
    }
}
