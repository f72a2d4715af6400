//! Random tokens that cannot be guessed, to authenticate their holder.

use std::io;

/// 128 bits.
const BYTES: usize = 16;

/// A random number in hex digits.
///
/// # Errors
/// Those of a system without random numbers.
pub fn random_token() -> io::Result<String> {
    let mut random = [0_u8; BYTES];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}
