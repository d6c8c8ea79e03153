//! Any status, headers and body are a failure that people can read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use threadline_providers::reply::told;

/// Headers that mean something.
const NAMES: [&str; 6] =
    ["retry-after", "retry-after-ms", "date", "location", "x-should-retry", "x-request-id"];

fuzz_target!(|input: &[u8]| {
    // Two bytes of status, a line of each header there is, then the body.
    let Some(([high, low], rest)) = input.split_first_chunk() else { return };
    let mut lines = rest.splitn(NAMES.len() + 1, |byte| *byte == b'\n').collect::<Vec<_>>();
    let body = lines.pop().unwrap_or_default();
    let headers = NAMES.iter().zip(lines);
    let headers = headers
        .map(|(name, value)| ((*name).to_owned(), String::from_utf8_lossy(value).into_owned()));
    let status = u16::from_be_bytes([*high, *low]);
    let status = (100..600).contains(&status).then_some(status);
    let failed = told(status, &headers.collect::<Vec<_>>(), body);
    assert!(!failed.message.trim().is_empty(), "a failure says something");
    let chars = failed.message.chars().count();
    assert!(chars <= 300, "and not too much: {chars} characters");
    assert_eq!(failed.metadata.check(), Ok(()));
    assert!(!failed.message.contains(char::is_control), "in plain text: {:?}", failed.message);
});
