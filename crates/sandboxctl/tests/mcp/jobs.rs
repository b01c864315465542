//! Background jobs.

use serde_json::json;

use crate::client::Client;
use crate::native;

#[test]
fn a_job_is_polled_and_killed() {
    let Some(place) = native("jobs by MCP") else { return };
    let mut client = Client::new(&place, &[]);
    let job = client.does(
        "shell_start",
        json!({ "command": "echo begun; read line; echo got $line; sleep 9999", "stdin": "word\n" }),
    )["job"]
        .clone();
    let mut output = String::new();
    while !output.contains("got word\n") {
        let new = client.does("shell_poll", json!({ "job": job, "wait_seconds": 30 }));
        assert_eq!(new["running"], true, "{new:#}");
        output += new["stdout"].as_str().unwrap();
    }
    assert_eq!(output, "begun\ngot word\n", "each byte once");
    let listed = client.does("shell_list", json!({}));
    assert_eq!((&listed["jobs"][0]["job"], &listed["jobs"][0]["running"]), (&job, &json!(true)));
    client.does("shell_kill", json!({ "job": job }));
    loop {
        let end = client.does("shell_poll", json!({ "job": job, "wait_seconds": 30 }));
        if end["running"] == false {
            assert!(end["end"]["reason"].as_str().unwrap().contains("killed"), "{end:#}");
            break;
        }
    }
    assert!(client.fails("shell_poll", json!({ "job": job })).contains("there is no job"));
}

#[test]
fn a_job_ends_with_its_exit_code_and_its_output_comes_in_parts() {
    let Some(place) = native("the end of a job by MCP") else { return };
    let mut client = Client::new(&place, &[]);
    let job = client
        .does("shell_start", json!({ "command": "head -c 100000 /dev/zero | tr '\\0' x; exit 7" }))["job"]
        .clone();
    let mut length = 0;
    loop {
        let new =
            client.does("shell_poll", json!({ "job": job, "wait_seconds": 30, "max_output_bytes": 30_000 }));
        let part = new["stdout"].as_str().unwrap().len();
        assert!(part <= 30_000);
        length += part;
        if new["running"] == false && new["has_more"] == false {
            assert_eq!(new["end"]["exit_code"], 7);
            break;
        }
    }
    assert_eq!(length, 100_000);
}

#[test]
fn as_many_jobs_as_there_may_be_leave_room_to_end_them() {
    let Some(place) = native("many jobs by MCP") else { return };
    let mut client = Client::new(&place, &[]);
    let started: Vec<_> = (0..32)
        .map(|_| client.does("shell_start", json!({ "command": ["sleep", "9999"] }))["job"].clone())
        .collect();
    assert!(client.fails("shell_start", json!({ "command": ["sleep", "9999"] })).contains("32 jobs"));
    client.does("shell_kill", json!({ "job": started[0] }));
    assert!(client.leave().success());
    assert_eq!(crate::listed(&place), json!([]));
}

#[test]
fn a_detached_command_goes_on_and_is_no_job() {
    let Some(place) = native("a detached command by MCP") else { return };
    let mut client = Client::new(&place, &[]);
    let started = client.does("shell_start", json!({ "command": "echo x > /tmp/began", "detach": true }));
    assert_eq!(started["job"], json!(null));
    let seen = client.does("shell", json!({ "command": "for n in $(seq 400); do [ -e /tmp/began ] && { cat /tmp/began; exit; }; sleep 0.05; done" }));
    assert_eq!(seen["stdout"], "x\n");
    assert!(
        client
            .fails("shell_start", json!({ "command": ["no-such"], "detach": true }))
            .contains("no such command")
    );
}

#[test]
fn half_a_character_is_nothing_to_fetch_until_the_rest_comes() {
    let Some(place) = native("half a character by MCP") else { return };
    let mut client = Client::new(&place, &[]);
    let script = "printf 'a\\303'; until [ -e go ]; do sleep 0.01; done; printf '\\274'; sleep 9999";
    let job = client.does("shell_start", json!({ "command": script }))["job"].clone();
    let first = client.does("shell_poll", json!({ "job": job, "wait_seconds": 30 }));
    assert_eq!((&first["stdout"], &first["has_more"]), (&json!("a"), &json!(false)), "{first:#}");
    place.write("workspace/go", "");
    let rest = client.does("shell_poll", json!({ "job": job, "wait_seconds": 30 }));
    assert_eq!(rest["stdout"], "ü", "{rest:#}");
}
