//! A proxy that cannot serve: nothing is started, and the error says why.

use crate::internet::bash;
use crate::natively;

#[test]
fn what_keeps_the_proxy_from_serving_is_the_error() {
    natively("a proxy that cannot serve", |place, internet, who| {
        for (name, value, reason) in [
            // A proxy of the host's that cannot be used: going around it would be what nobody has asked for.
            ("HTTPS_PROXY", "socks4://127.0.0.1:1", "HTTPS_PROXY names no proxy that can be used"),
            ("REAL_KEY", "two\nlines", "the credential has a character that no header has"),
        ] {
            place.write(
                "home/.config/sandboxctl/sandbox.toml",
                "[secrets.model]\nmode = \"proxy\"\nprovider = \"custom\"\nupstream = \"http://198.51.100.7:8080\"\n\
                 header = \"x-api-key\"\nurl_var = \"MODEL_URL\"\nenv_var = \"MODEL_KEY\"\nsource = \"env:REAL_KEY\"\n",
            );
            let mut command = internet.command(&place.inside(&["--format=json"], &bash("echo started")));
            command.env("REAL_KEY", "value").env(name, value);
            let output = command.output().unwrap();
            assert_eq!(output.status.code(), Some(125), "{who}: {output:?}");
            let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            let error = &said["error"];
            assert_eq!(error["code"], "start.failed", "{who}: {said}");
            assert!(error["message"].as_str().unwrap().contains(reason), "{who}: {said}");
            assert!(!said.to_string().contains("lines"), "{who}: the value is not shown: {said}");
        }
    });
}
