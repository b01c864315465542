//! Names that nobody can guess.

use crate::failure::Failure;

/// Makes a name that no other sandbox has.
pub(crate) fn fresh_name() -> Result<String, Failure> {
    Ok(format!("mcp-{}", random_hex::<8>().map_err(Failure::host("making a name"))?))
}

/// Returns random bytes of the kernel's, in hexadecimal digits.
pub(crate) fn random_hex<const BYTES: usize>() -> std::io::Result<String> {
    let mut bytes = [0; BYTES];
    let mut filled = 0;
    while filled < BYTES {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}")))
}
