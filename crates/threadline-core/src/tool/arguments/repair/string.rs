//! Strings, in whatever quotes they are.

use std::borrow::Cow;

use super::{Reader, Repair, place};

impl<'a> Reader<'a> {
    /// The string that begins here, if one does.
    pub(super) fn string(&mut self) -> Result<Option<Cow<'a, str>>, String> {
        let Some(quote) = self.rest().chars().next() else { return Ok(None) };
        let (end, repair) = match quote {
            '"' => ('"', None),
            '\'' => ('\'', Some(Repair::SingleQuotes)),
            '“' | '”' => ('”', Some(Repair::CurlyQuotes)),
            '‘' | '’' => ('’', Some(Repair::CurlyQuotes)),
            _ => return Ok(None),
        };
        let open = self.at;
        if let Some(repair) = repair {
            self.note(repair, open);
        }
        self.at += quote.len_utf8();
        self.content(end, open).map(Some)
    }

    /// What is in a string, up to the quote that ends it.
    fn content(&mut self, end: char, open: usize) -> Result<Cow<'a, str>, String> {
        let mut text: Cow<'a, str> = Cow::Borrowed("");
        loop {
            let stops = |c: char| c == end || c == '\\' || c < ' ';
            let length = self.rest().find(stops).ok_or_else(|| {
                let place = place(self.text, open);
                // Nothing is left to look at: whoever tells of it says what is cut off.
                self.at = self.text.len();
                format!("it is cut off: the string that begins at {place} is not closed")
            })?;
            append(&mut text, self.rest().get(..length).unwrap_or_default());
            self.at += length;
            let here = self.at;
            match self.rest().chars().next() {
                Some('\\') => text.to_mut().push(self.escape(end, open)?),
                Some(c @ ('\n' | '\r' | '\t')) => {
                    self.note(Repair::LineInString, here);
                    self.at += 1;
                    text.to_mut().push(c);
                }
                Some(c) if c == end => {
                    self.at += end.len_utf8();
                    return Ok(text);
                }
                _ => return Err(self.wanted("no control character")),
            }
        }
    }

    fn escape(&mut self, end: char, open: usize) -> Result<char, String> {
        let here = self.at;
        self.at += 1;
        let Some(sign) = self.rest().chars().next() else {
            let place = place(self.text, open);
            return Err(format!("it is cut off: the string that begins at {place} is not closed"));
        };
        self.at += sign.len_utf8();
        Ok(match sign {
            '"' | '\\' | '/' => sign,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => self.unicode(here)?,
            '\'' | '“' | '”' | '‘' | '’' => {
                if sign != end {
                    self.note(Repair::EscapedQuote, here);
                }
                sign
            }
            _ => {
                self.at = here;
                return Err(self.wanted("an escape that JSON has"));
            }
        })
    }

    /// The character of `\uXXXX`, or of two of them that belong together.
    fn unicode(&mut self, start: usize) -> Result<char, String> {
        let first = self.hex();
        let found = match first {
            Some(high @ 0xd800..0xdc00) if self.takes("\\u") => {
                self.hex().filter(|low| (0xdc00..0xe000).contains(low)).and_then(|low| {
                    char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00))
                })
            }
            Some(code) => char::from_u32(code),
            None => None,
        };
        found.ok_or_else(|| {
            self.at = start;
            self.wanted("an escape that is a character")
        })
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.rest().get(..4)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }
}

/// Adds to a text, which is borrowed as long as it has one part.
fn append<'a>(text: &mut Cow<'a, str>, part: &'a str) {
    if text.is_empty() {
        *text = Cow::Borrowed(part);
    } else {
        text.to_mut().push_str(part);
    }
}
