//! A tunnel: bytes that pass both ways, and are not looked at.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional_with_sizes};

use crate::outside::Outside;

/// How much is under way in each direction at most. With a quarter of it a transfer is a third slower; the limit of connections bounds
/// what all of them hold.
const BUFFER: usize = 64 << 10;

/// Passes bytes both ways until both ends have said that there are no more, nothing has passed for so long, or rules
/// no longer allow it.
pub(crate) async fn pass<T>(inside: &mut T, outside: &mut Outside, idle: Duration) -> io::Result<()>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let ends = outside.ends(idle);
    let passed = tokio::select! {
        passed = copy_bidirectional_with_sizes(inside, outside, BUFFER, BUFFER) => passed.map(drop),
        ended = ends => Err(ended),
    };
    if let Err(error) = &passed {
        outside.failed(error);
    }
    passed
}
