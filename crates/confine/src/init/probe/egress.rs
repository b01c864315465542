//! Whether the egress proxy answers, and refuses what no rule allows. That a host which is allowed can be reached is not probed:
//! a start would then depend on that host.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use policy::rules::network::egress::{PROBE, PROXY};

/// How long the proxy may take to start and to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The beginning of a refusal.
const REFUSED: &[u8] = b"HTTP/1.1 403 ";

/// Asks the proxy for a host that is none.
pub(super) fn probe() -> Result<String, String> {
    let answer = ask().map_err(|error| format!("the egress proxy does not answer: {error}"))?;
    if answer == REFUSED {
        Ok("hosts of the list are reached through the egress proxy, which has refused another".into())
    } else {
        Err(format!(
            "the egress proxy has not refused a host that no rule allows: {:?}",
            answer.escape_ascii().to_string()
        ))
    }
}

fn ask() -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&SocketAddr::V4(PROXY), PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(format!("CONNECT {PROBE}:443 HTTP/1.1\r\nHost: {PROBE}:443\r\n\r\n").as_bytes())?;
    let mut answer = vec![0; REFUSED.len()];
    stream.read_exact(&mut answer)?;
    Ok(answer)
}
