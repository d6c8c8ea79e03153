//! When asking again may help, out of headers and words.

use std::time::Duration;

use jiff::fmt::rfc2822::DateTimeParser;

use super::header;

/// What the headers say, if they do.
///
/// A date is counted from the date of the same reply: no clock but the provider's is asked.
pub(super) fn retry_after_ms(headers: &[(String, String)]) -> Option<u64> {
    let precise = header(headers, "retry-after-ms").and_then(|text| text.trim().parse().ok());
    if let Some(ms) = precise.and_then(|ms: f64| ms_of(ms / 1000.0)) {
        return Some(ms);
    }
    let said = header(headers, "retry-after")?.trim();
    if let Ok(seconds) = said.parse::<f64>() {
        return ms_of(seconds);
    }
    let (then, now) = (date(said)?, date(header(headers, "date")?)?);
    Some(u64::try_from(then.saturating_sub(now)).unwrap_or(0))
}

/// A time span such as `34.4s`, `1m3.5s` or `250ms`.
pub(super) fn span_ms(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at_checked(digits)?;
        let number: f64 = number.parse().ok()?;
        let units = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, next) = after.split_at_checked(units)?;
        seconds += number
            * match unit {
                "ms" => 0.001,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                _ => return None,
            };
        rest = next;
    }
    if text.is_empty() { None } else { ms_of(seconds) }
}

/// A time span in a sentence in small letters: `please try again in 11.5s`.
pub(super) fn in_words(message: &str) -> Option<u64> {
    let (_, after) = message.split_once("try again in ")?;
    span_ms(after.split_whitespace().next()?.trim_end_matches(['.', ',', ';', ')']))
}

/// The milliseconds of an HTTP date since 1970.
fn date(text: &str) -> Option<i64> {
    let zoned = DateTimeParser::new().parse_timestamp(text.trim()).ok()?;
    Some(zoned.as_millisecond())
}

fn ms_of(seconds: f64) -> Option<u64> {
    let span = Duration::try_from_secs_f64(seconds).ok()?;
    u64::try_from(span.as_millis()).ok()
}
