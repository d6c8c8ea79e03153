//! Any bytes are an answer of Gemini's generateContent, or a failure.
#![no_main]

use libfuzzer_sys::fuzz_target;
use threadline_providers::dialect::Dialect;

fuzz_target!(|input: &[u8]| threadline_fuzz::read(Dialect::Gemini, input));
