//! Text that comes in pieces, broken between words at the width of the terminal.

use super::width;

/// Breaks a text that comes in pieces into lines.
///
/// The last word is held back until it is whole. Where a character takes two columns, as Chinese
/// ones do, a line may end before it.
#[derive(Debug)]
pub(crate) struct Wrapping {
    columns: usize,
    /// How much of the line is used.
    used: usize,
    word: String,
}

impl Wrapping {
    /// Lines of so many columns.
    pub(crate) fn new(columns: usize) -> Self {
        Self { columns, used: 0, word: String::new() }
    }

    /// What can be printed once this piece is here.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        let mut out = String::with_capacity(piece.len());
        for c in piece.chars() {
            match c {
                '\n' => {
                    self.end_word(&mut out);
                    out.push('\n');
                    self.used = 0;
                }
                ' ' => {
                    self.end_word(&mut out);
                    if self.used < self.columns {
                        out.push(' ');
                        self.used += 1;
                    }
                }
                c => {
                    if width::of_char(c) == 2 {
                        self.end_word(&mut out);
                    }
                    self.word.push(c);
                    if width::of(&self.word) >= self.columns {
                        self.end_word(&mut out);
                    }
                }
            }
        }
        out
    }

    /// What was held back.
    pub(crate) fn finish(&mut self) -> String {
        let mut out = String::new();
        self.end_word(&mut out);
        self.used = 0;
        out
    }

    fn end_word(&mut self, out: &mut String) {
        let wide = width::of(&self.word);
        if wide == 0 {
            return out.push_str(&std::mem::take(&mut self.word));
        }
        if self.used > 0 && self.used + wide > self.columns {
            out.push('\n');
            self.used = 0;
        }
        out.push_str(&self.word);
        self.used += wide;
        self.word.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text that comes in pieces of so many characters, broken.
    fn wrapped(text: &str, columns: usize, piece: usize) -> String {
        let mut wrapping = Wrapping::new(columns);
        let chars: Vec<char> = text.chars().collect();
        let pieces = chars.chunks(piece).map(|piece| piece.iter().collect::<String>());
        let mut out: String = pieces.map(|piece| wrapping.push(&piece)).collect();
        out.push_str(&wrapping.finish());
        out
    }

    #[test]
    fn lines_end_between_words_however_the_text_is_cut() {
        for piece in 1..20 {
            assert_eq!(wrapped("one two three\nfour", 8, piece), "one two \nthree\nfour");
            assert_eq!(wrapped("one two three", 7, piece), "one two\nthree");
            assert_eq!(wrapped("abcdefgh ij", 3, piece), "abc\ndef\ngh \nij");
            assert_eq!(wrapped("今天天气很好", 5, piece), "今天\n天气\n很好");
            assert_eq!(wrapped("a  b\n\n  c", 20, piece), "a  b\n\n  c");
        }
    }
}
