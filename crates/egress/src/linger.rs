//! Closing a connection so that the other end reads what was written.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

/// How long that may take.
pub(crate) const LINGER: Duration = Duration::from_secs(1);

/// Closes a connection of which not everything was read, so that the other end reads what was written (RFC 9112, section 9.6).
pub(crate) async fn linger(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
    stream.shutdown().await?;
    let mut rest = [0; 4096];
    let drain = async {
        while stream.read(&mut rest).await? != 0 {}
        Ok(())
    };
    timeout(LINGER, drain).await.unwrap_or(Ok(()))
}
