//! Sums in words or signs become expressions that a calculator reads.

use super::wish::strip;

/// Longer texts are not sums.
const TEXT_CAP_BYTES: usize = 1_000;

const QUESTIONS: [&str; 13] = [
    "what is ",
    "what's ",
    "whats ",
    "what are ",
    "how much is ",
    "how much are ",
    "tell me ",
    "calculate ",
    "compute ",
    "evaluate ",
    "work out ",
    "the result of ",
    "the value of ",
];

/// The expression that a text asks for; none if it is not a sum.
pub(super) fn expression(text: &str) -> Option<String> {
    if text.len() > TEXT_CAP_BYTES {
        return None;
    }
    let mut text = text.trim();
    while let Some(rest) = QUESTIONS.iter().find_map(|question| strip(text, question)) {
        text = rest.trim();
    }
    let text = text.trim_end_matches(['=', ' ']);
    let expression = ordered(text).or_else(|| infix(text))?;
    expression.contains(' ').then_some(expression)
}

/// Sums that begin with what is to be done.
fn ordered(text: &str) -> Option<String> {
    let rest = |prefixes: &[&str]| prefixes.iter().find_map(|prefix| strip(text, prefix));
    if let Some(rest) = rest(&["add up ", "add ", "sum up ", "sum ", "the sum of ", "sum of "]) {
        return joined(rest, &[" and to ", " to ", " and ", " with ", " plus "], "+");
    }
    if let Some(rest) = rest(&["multiply ", "the product of ", "product of "]) {
        return joined(rest, &[" by ", " and ", " with ", " times "], "*");
    }
    if let Some(rest) = rest(&["subtract ", "take "]) {
        let (less, from) = parted(rest, " from ")?;
        return Some(format!("{} - {}", operand(from)?, operand(less)?));
    }
    if let Some(rest) = rest(&["divide "]) {
        let (whole, by) = parted(rest, " by ")?;
        return Some(format!("{} / {}", operand(whole)?, operand(by)?));
    }
    let difference = rest(&["the difference between ", "the difference of ", "difference of "])?;
    let (from, less) = parted(difference, " and ")?;
    Some(format!("{} - {}", operand(from)?, operand(less)?))
}

/// Operands between any of these words or commas, joined by a sign.
fn joined(text: &str, words: &[&str], sign: &str) -> Option<String> {
    let mut text = text.to_lowercase();
    for word in words {
        text = text.replace(word, ", ");
    }
    let operands = text.split(", ").filter(|it| !it.trim().is_empty()).map(operand);
    let operands = operands.collect::<Option<Vec<_>>>()?;
    (operands.len() > 1).then(|| operands.join(&format!(" {sign} ")))
}

fn parted<'a>(text: &'a str, word: &str) -> Option<(&'a str, &'a str)> {
    let at = text.to_ascii_lowercase().find(word)?;
    Some((text.get(..at)?, text.get(at + word.len()..)?))
}

/// A number, or a sum in brackets.
fn operand(text: &str) -> Option<String> {
    let operand = infix(text)?;
    Some(if operand.contains(' ') { format!("({operand})") } else { operand })
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Number(String),
    Sign(char),
    Open,
    Close,
}

/// A sum with its signs or their names between the operands. One number alone is one, too.
fn infix(text: &str) -> Option<String> {
    let mut written = String::new();
    let (mut depth, mut wants_operand, mut negative) = (0_u32, true, false);
    for token in tokens(text)? {
        match token {
            Token::Sign('-') if wants_operand && !negative => {
                negative = true;
                written.push('-');
            }
            Token::Number(number) if wants_operand => {
                written.push_str(&number);
                (wants_operand, negative) = (false, false);
            }
            Token::Open if wants_operand => {
                written.push('(');
                depth += 1;
                negative = false;
            }
            Token::Close if !wants_operand && depth > 0 => {
                written.push(')');
                depth -= 1;
            }
            Token::Sign(sign) if !wants_operand => {
                written.extend([' ', sign, ' ']);
                wants_operand = true;
            }
            Token::Number(_) | Token::Open | Token::Close | Token::Sign(_) => return None,
        }
    }
    (!wants_operand && depth == 0).then_some(written)
}

fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_part: fn(char) -> bool = if first.is_ascii_digit() || first == '.' {
            |c| c.is_ascii_digit() || c == '.' || c == ','
        } else if first.is_alphabetic() {
            |c| c.is_alphabetic()
        } else {
            |_| false
        };
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len()).max(first.len_utf8());
        let (part, after) = rest.split_at_checked(length)?;
        rest = after.trim_start();
        if first.is_alphabetic() {
            let (token, after) = word(part, rest)?;
            tokens.push(token);
            rest = after.trim_start();
        } else {
            tokens.push(mark(part, first)?);
        }
    }
    Some(tokens)
}

fn mark(part: &str, first: char) -> Option<Token> {
    match first {
        '0'..='9' | '.' => number(part).map(Token::Number),
        '+' | '-' | '*' | '/' | '^' | '%' => Some(Token::Sign(first)),
        '×' | '·' => Some(Token::Sign('*')),
        '÷' | ':' => Some(Token::Sign('/')),
        '−' | '–' => Some(Token::Sign('-')),
        '(' => Some(Token::Open),
        ')' => Some(Token::Close),
        _ => None,
    }
}

/// A number in digits, without the commas between its thousands.
fn number(part: &str) -> Option<String> {
    let (whole, fraction) = part.split_once('.').unwrap_or((part, "0"));
    let groups = whole.split(',').collect::<Vec<_>>();
    let (first, others) = groups.split_first()?;
    let grouped = others.iter().all(|group| group.len() == 3);
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let fits = grouped && (others.is_empty() || (1..=3).contains(&first.len())) && digits(fraction);
    let whole = groups.concat();
    match (fits, &*whole, part.contains('.')) {
        (true, "", true) => Some(format!("0.{fraction}")),
        (true, whole, true) if digits(whole) => Some(format!("{whole}.{fraction}")),
        (true, whole, false) if digits(whole) => Some(whole.to_owned()),
        _ => None,
    }
}

/// The name of a sign or of a number; with the rest after it.
fn word<'a>(part: &str, rest: &'a str) -> Option<(Token, &'a str)> {
    let sign = |sign| Some((Token::Sign(sign), rest));
    let lower = part.to_lowercase();
    match &*lower {
        "plus" => sign('+'),
        "minus" | "less" | "negative" => sign('-'),
        "times" | "x" => sign('*'),
        "over" => sign('/'),
        "multiplied" => strip(rest, "by ").map(|rest| (Token::Sign('*'), rest)),
        "divided" => strip(rest, "by ").map(|rest| (Token::Sign('/'), rest)),
        _ => named(&lower, rest),
    }
}

const UNITS: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 8] =
    ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

/// A number in words up to ninety-nine.
fn named<'a>(word: &str, rest: &'a str) -> Option<(Token, &'a str)> {
    let unit = |word: &str| UNITS.iter().position(|unit| *unit == word);
    let token = |number: usize| Token::Number(number.to_string());
    if let Some(unit) = unit(word) {
        return Some((token(unit), rest));
    }
    let tens = (TENS.iter().position(|tens| *tens == word)? + 2) * 10;
    let next = rest.strip_prefix('-').unwrap_or(rest);
    let length = next.find(|c: char| !c.is_alphabetic()).unwrap_or(next.len());
    let (after, beyond) = next.split_at_checked(length)?;
    match unit(&after.to_lowercase()).filter(|unit| (1..10).contains(unit)) {
        Some(unit) => Some((token(tens + unit), beyond)),
        None => Some((token(tens), rest)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sums_are_read_in_words_and_in_signs() {
        let table = [
            ("add 2 and 3", "2 + 3"),
            ("Add 2, 3 and 4", "2 + 3 + 4"),
            ("add 2 to 3", "2 + 3"),
            ("the sum of 1,000 and 2.50", "1000 + 2.50"),
            ("2+3*4", "2 + 3 * 4"),
            ("(2 + 3) * -4", "(2 + 3) * -4"),
            ("-(2) - -3", "-(2) - -3"),
            ("what is 7 times 6", "7 * 6"),
            ("how much is 7 x 6 =", "7 * 6"),
            ("17 minus 4", "17 - 4"),
            ("divide 10 by 4", "10 / 4"),
            ("10 divided by 4", "10 / 4"),
            ("subtract 3 from 10", "10 - 3"),
            ("multiply 2 + 3 by 4", "(2 + 3) * 4"),
            ("the difference between 9 and 4", "9 - 4"),
            ("calculate twenty-one plus thirty two", "21 + 32"),
            ("2^10 % 7", "2 ^ 10 % 7"),
            ("8 ÷ 2 × .5", "8 / 2 * 0.5"),
        ];
        for (text, expected) in table {
            assert_eq!(expression(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_sum_is_left_alone() {
        for text in [
            "",
            "2",
            "what is love",
            "add",
            "add 2",
            "add tea and milk",
            "2 +",
            "2 3",
            "(2 + 3",
            "2 + 3)",
            "1,00 + 2",
            "1.2.3 + 4",
            "2 ** 3",
            "take 2 from",
            "2 + x y",
            "seven",
            "what is 2",
            "divided by 2",
            "2 divided 2",
        ] {
            assert_eq!(expression(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_asked(text in "\\PC{0,40}", sum in "[0-9+*/(). ,x-]{0,30}") {
            for text in [text, sum] {
                if let Some(expression) = expression(&text) {
                    let again = super::expression(&expression);
                    prop_assert_eq!(again.as_deref(), Some(&*expression), "it reads itself");
                }
            }
        }
    }
}
