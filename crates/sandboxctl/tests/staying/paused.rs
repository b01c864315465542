//! Sandboxes whose processes are stopped for a while, and what sandboxes use.

use std::fs;
use std::time::Instant;

use serde_json::Value;

use crate::place::Place;
use crate::{PATIENCE, Staying, error_code, name, ours, said, wherever};

#[test]
fn nothing_runs_in_a_paused_one_until_it_goes_on() {
    for (caller, runner) in wherever("pause") {
        let place = Place::on(caller, runner);
        let who = format!("in {runner:?} by {caller:?}");
        let sandbox = Staying::create(&place, &["--idle-timeout", "1s"]);
        let script = "while :; do echo x >>ticks; sleep 0.02; done";
        said(&sandbox.exec(&["--detach"], &["sh", "-c", script]).output().unwrap());
        let ticks = || fs::read(place.workspace().join("ticks")).map_or(0, |ticks| ticks.len());
        let grows = || {
            let (before, until) = (ticks(), Instant::now() + PATIENCE);
            while ticks() == before {
                assert!(Instant::now() < until, "{who}");
            }
        };
        grows();
        said(&ours(&place, &["pause", &name(&place)]).output().unwrap());
        let before = ticks();
        assert_eq!(sandbox.inspect()["state"], "paused", "{who}");
        let output = sandbox.exec(&["--format", "json"], &["true"]).output().unwrap();
        assert_eq!(error_code(&output), "sandbox.state", "{who}");
        let output = ours(&place, &["pause", "--format", "json", &name(&place)]).output().unwrap();
        assert_eq!(error_code(&output), "sandbox.state", "{who}");
        // Longer than its idle time, which is not counted.
        std::thread::sleep(std::time::Duration::from_millis(1200));
        assert_eq!(ticks(), before, "{who}");
        said(&ours(&place, &["unpause", &name(&place)]).output().unwrap());
        grows();
        assert_eq!(sandbox.prints(&["echo", "goes on"]), "goes on\n", "{who}");
        // A paused one is ended as any other.
        said(&ours(&place, &["pause", &name(&place)]).output().unwrap());
        said(&ours(&place, &["stop", "--time", "5s", &name(&place)]).output().unwrap());
        assert_eq!(sandbox.inspect()["end"]["ended_by"], "stop", "{who}");
    }
}

#[test]
fn what_it_uses_is_shown() {
    for (caller, runner) in wherever("stats") {
        let place = Place::on(caller, runner);
        let who = format!("in {runner:?} by {caller:?}");
        let sandbox = Staying::create(&place, &[]);
        let stats = || -> Value {
            let output = ours(&place, &["stats", "--format", "json"]).output().unwrap();
            serde_json::from_str::<Value>(&said(&output)).unwrap()["stats"][0].clone()
        };
        let idle = stats();
        assert_eq!((&idle["name"], &idle["processes"]), (&name(&place).into(), &1.into()), "{who}");
        let busy = ["python3", "-c", "held = bytearray(b'x' * (64 << 20))\nwhile True: pass"];
        said(&sandbox.exec(&["--detach"], &busy).output().unwrap());
        let until = Instant::now() + PATIENCE;
        loop {
            let seen = stats();
            if seen["cpu_percent"].as_u64() > Some(20) && seen["resident"].as_u64() > Some(64 << 20) {
                assert_eq!(seen["processes"], 3, "{who}: {seen}");
                break;
            }
            assert!(Instant::now() < until, "{who}: {seen}");
        }
    }
}
