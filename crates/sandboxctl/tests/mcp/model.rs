//! A mock of a model on the host, which published agents ask what to do.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use crate::place::Place;
use crate::until;

/// A mock of a model, whose only tool call writes `made.txt` and asks the sandbox where it is.
pub(crate) struct Model {
    process: Child,
    pub(crate) address: String,
}

impl Model {
    pub(crate) fn start(place: &Place) -> Self {
        let stub = place.write("model/provider_stub.py", include_str!("../network/provider_stub.py"));
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let log = fs::File::create(place.path("model/requests")).unwrap();
        let mut model = Command::new("python3");
        let process = model.arg(stub).arg(port.to_string()).stdin(Stdio::null()).stdout(log).spawn().unwrap();
        until("the mock of a model listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Self { process, address: format!("http://127.0.0.1:{port}") }
    }
}

impl Model {
    /// Runs an agent that asks it, and returns what the agent prints.
    pub(crate) fn asked_by(&self, agent: &mut Command) -> String {
        agent
            .env("ANTHROPIC_BASE_URL", &self.address)
            .env("ANTHROPIC_API_KEY", "x")
            .env("OPENAI_API_KEY", "x");
        let output = agent.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1").output().unwrap();
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}
