//! `threadline wire`: what is said to models and by them, byte for byte.

pub(crate) mod check;
pub(crate) mod decode;
pub(crate) mod encode;

use std::io::Read as _;
use std::path::Path;

use anyhow::Context as _;

/// The longest file that is read.
const CAP_BYTES: u64 = 256 * 1024 * 1024;

/// The bytes of a file; `-` is standard input.
fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let could_not = || format!("could not read {}", path.display());
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        std::io::stdin().lock().take(CAP_BYTES + 1).read_to_end(&mut bytes)
    } else {
        let file = std::fs::File::open(path).with_context(could_not)?;
        file.take(CAP_BYTES + 1).read_to_end(&mut bytes)
    }
    .with_context(could_not)?;
    if u64::try_from(bytes.len())? > CAP_BYTES {
        anyhow::bail!("{} is longer than 256 MiB", path.display());
    }
    Ok(bytes)
}
