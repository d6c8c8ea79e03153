//! Texts that stand for something else: times and addresses.

use jiff::civil::{Date, Time};

/// What a text stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    DateTime,
    Date,
    Time,
    Uri,
}

impl Format {
    /// The format of a name in schemas, if it is one that is checked.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "date-time" => Some(Self::DateTime),
            "date" => Some(Self::Date),
            "time" => Some(Self::Time),
            "uri" => Some(Self::Uri),
            _ => None,
        }
    }

    /// What is expected, with an example.
    pub(super) const fn wish(self) -> &'static str {
        match self {
            Self::DateTime => "a date and time such as \"2025-01-31T09:00:00Z\"",
            Self::Date => "a date such as \"2025-01-31\"",
            Self::Time => "a time such as \"09:00:00\" or \"09:00:00Z\"",
            Self::Uri => "an address such as \"https://example.org/page\"",
        }
    }

    pub(super) fn fits(self, text: &str) -> bool {
        match self {
            Self::DateTime => is_date_time(text),
            Self::Date => is_date(text),
            Self::Time => is_time(text, false),
            Self::Uri => is_uri(text),
        }
    }
}

/// Whether it is a time of RFC 3339, which says where on earth it holds.
fn is_date_time(text: &str) -> bool {
    let Some((date, rest)) = text.split_at_checked(10) else { return false };
    let time = rest.strip_prefix(['T', 't']);
    is_date(date) && time.is_some_and(|time| is_time(time, true))
}

fn is_date(text: &str) -> bool {
    looks_like(text, b"0000-00-00") && text.parse::<Date>().is_ok()
}

fn is_time(text: &str, needs_offset: bool) -> bool {
    let Some((clock, rest)) = text.split_at_checked(8) else { return false };
    if !looks_like(clock, b"00:00:00") || clock.parse::<Time>().is_err() {
        return false;
    }
    let rest = match rest.strip_prefix('.') {
        Some(fraction) => {
            let offset = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
            if offset.len() == fraction.len() {
                return false;
            }
            offset
        }
        None => rest,
    };
    match rest {
        "" => !needs_offset,
        "Z" | "z" => true,
        _ => match rest.strip_prefix(['+', '-']) {
            Some(offset) => {
                looks_like(offset, b"00:00") && format!("{offset}:00").parse::<Time>().is_ok()
            }
            None => false,
        },
    }
}

/// Whether a text has digits where a form has noughts, and else its signs.
fn looks_like(text: &str, form: &[u8]) -> bool {
    let fits = |(byte, sign): (u8, &u8)| match sign {
        b'0' => byte.is_ascii_digit(),
        sign => byte == *sign,
    };
    text.len() == form.len() && text.bytes().zip(form).all(fits)
}

/// Whether it begins with a scheme and has no sign that must not stand in an address.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let is_bad = |c: char| c.is_whitespace() || c.is_control() || "<>\"\\^`{|}".contains(c);
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(is_sign)
        && !rest.is_empty()
        && !rest.contains(is_bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_what_their_format_says() {
        let table: &[(Format, &[&str], &[&str])] = &[
            (
                Format::DateTime,
                &[
                    "2025-01-31T09:00:00Z",
                    "2024-02-29t23:59:60.123456789z",
                    "2025-01-31T09:00:00+05:30",
                    "1969-12-31T00:00:00.5-11:00",
                ],
                &[
                    "",
                    "tomorrow",
                    "2025-01-31",
                    "2025-01-31T09:00:00",
                    "2025-01-31 09:00:00Z",
                    "2025-02-29T09:00:00Z",
                    "2025-01-31T24:00:00Z",
                    "2025-01-31T09:00Z",
                    "2025-01-31T09:00:00.Z",
                    "2025-01-31T09:00:00+0530",
                    "2025-01-31T09:00:00+25:00",
                    "2025-01-31T09:00:00Zulu",
                    "2025-01-3雨T09:00:00Z",
                ],
            ),
            (Format::Date, &["2025-01-31", "0001-01-01"], &["2025-13-01", "2025-1-1", "20250131"]),
            (Format::Time, &["09:00:00", "09:00:00.25+01:00"], &["9:00:00", "09:00", "25:00:00"]),
            (
                Format::Uri,
                &["https://example.org/a?b=c#d", "mailto:ada@example.org", "file:///雨"],
                &["", "example.org", "https:", "https://a b", "1a:b", "a_b:c", "a:b\nc", "x:<y>"],
            ),
        ];
        for (format, good, bad) in table {
            for text in *good {
                assert!(format.fits(text), "{format:?}: {text}");
            }
            for text in *bad {
                assert!(!format.fits(text), "{format:?}: {text}");
            }
            let example = format.wish().split('"').nth(1).unwrap_or_default();
            assert!(format.fits(example), "{example}");
        }
    }
}
