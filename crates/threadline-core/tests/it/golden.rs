//! The golden files: one record of every kind, as it was written the first time. They are only
//! ever added to.

use std::path::PathBuf;

use serde_json::value::RawValue;
use threadline_core::history::fact::Digest;
use threadline_core::history::record::{Record, Salt};

#[derive(serde::Deserialize)]
struct File<'f> {
    #[serde(borrow)]
    envelope: &'f RawValue,
    #[serde(borrow)]
    body: &'f RawValue,
    salt: &'f str,
    hash: Digest,
}

/// The name and the record of every golden file, by name.
pub(crate) fn all() -> Vec<(String, Record)> {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter_map(|file| file.strip_suffix(".json").map(str::to_owned))
        .collect();
    names.sort();
    names.into_iter().map(|name| (name.clone(), read(&name))).collect()
}

/// The record of one golden file, its bytes as they stand there.
pub(crate) fn read(name: &str) -> Record {
    let text = std::fs::read_to_string(folder().join(format!("{name}.json"))).unwrap();
    let file: File<'_> = serde_json::from_str(&text).unwrap();
    Record {
        envelope: file.envelope.get().into(),
        body: file.body.get().into(),
        salt: salt(file.salt),
        hash: file.hash,
    }
}

/// Where they are.
fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/records")
}

fn salt(hex: &str) -> Salt {
    u128::from_str_radix(hex, 16).unwrap().to_be_bytes()
}
