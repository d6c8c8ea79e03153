//! Reads an expression and works it out on the way.
//!
//! From loose to tight: `+ -`, `* / %`, a sign in front, `^` (from the right). So `-2^2` is `-4`
//! and `2^-1` is `0.5`.

use std::iter::Peekable;
use std::str::CharIndices;

use super::number::{Number, Outcome, Reason, Rounding};
use super::{CannotCalculate, EXPRESSION_CAP_BYTES};

/// How deep parentheses, signs and powers may be nested: each level is one of the reader's own.
const DEPTH_CAP: usize = 100;
/// The most numbers that a function takes.
const INPUTS_CAP: usize = 1000;

type Step<T> = Result<T, CannotCalculate>;

/// Works out an expression.
pub(super) fn evaluate(expression: &str) -> Step<Number> {
    if expression.len() > EXPRESSION_CAP_BYTES {
        let message = format!(
            "the expression has {} bytes, at most {EXPRESSION_CAP_BYTES} are taken; do it in parts",
            expression.len()
        );
        return Err(CannotCalculate { column: 1, message });
    }
    let mut reader = Reader { tokens: tokens(expression)?, next: 0, depth: 0 };
    let number = reader.sum(Binding::Loosest)?;
    match reader.peek() {
        Token { kind: Kind::End, .. } => Ok(number),
        Token { kind: Kind::Comma, column } => wrong(
            *column,
            "a comma only stands between a function's numbers; write 1000, not 1,000",
        ),
        token => wrong(token.column, format!("expected an operator, not {}", token.kind.told())),
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Token {
    kind: Kind,
    /// The place of its first character, counted from 1.
    column: usize,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Number(Number),
    Name(String),
    Operator(Operator),
    Open,
    Close,
    Comma,
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Plus,
    Minus,
    Times,
    Over,
    Remainder,
    Power,
}

/// How tightly an operator holds what is around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Loosest,
    Sum,
    Product,
    Sign,
    Power,
}

impl Operator {
    const fn binding(self) -> Binding {
        match self {
            Self::Plus | Self::Minus => Binding::Sum,
            Self::Times | Self::Over | Self::Remainder => Binding::Product,
            Self::Power => Binding::Power,
        }
    }

    /// What holds tightly enough to stay with what is to its right.
    const fn right(self) -> Binding {
        match self {
            Self::Plus | Self::Minus => Binding::Sum,
            Self::Times | Self::Over | Self::Remainder => Binding::Product,
            // A power's exponent may have a sign and be a power itself.
            Self::Power => Binding::Sign,
        }
    }

    fn apply(self, one: Number, two: Number) -> Outcome {
        match self {
            Self::Plus => one.plus(two),
            Self::Minus => one.minus(two),
            Self::Times => one.times(two),
            Self::Over => one.over(two),
            Self::Remainder => one.remainder(two),
            Self::Power => one.to_the(two),
        }
    }

    const fn sign(self) -> &'static str {
        match self {
            Self::Plus => "+",
            Self::Minus => "-",
            Self::Times => "*",
            Self::Over => "/",
            Self::Remainder => "%",
            Self::Power => "^",
        }
    }
}

impl Kind {
    fn told(&self) -> String {
        match self {
            Self::Number(number) => format!("the number {number}"),
            Self::Name(name) => format!("the name {name:?}"),
            Self::Operator(operator) => format!("{:?}", operator.sign()),
            Self::Open => "\"(\"".to_owned(),
            Self::Close => "\")\"".to_owned(),
            Self::Comma => "\",\"".to_owned(),
            Self::End => "the end".to_owned(),
        }
    }
}

struct Reader {
    /// The last one is the end.
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
}

impl Reader {
    /// Reads operands and operators that hold tighter than `binding`.
    fn sum(&mut self, binding: Binding) -> Step<Number> {
        self.depth += 1;
        if self.depth > DEPTH_CAP {
            let message = format!("it is nested deeper than {DEPTH_CAP} levels; do it in parts");
            return wrong(self.peek().column, message);
        }
        let mut number = self.operand()?;
        while let Token { kind: Kind::Operator(operator), column } = *self.peek()
            && operator.binding() > binding
        {
            self.advance();
            if operator == Operator::Remainder && self.ends_here() {
                return wrong(column, "% is the remainder; for 15 percent write 15/100");
            }
            let other = self.sum(operator.right())?;
            number = operator.apply(number, other).or_else(|reason| wrong(column, reason))?;
        }
        self.depth -= 1;
        Ok(number)
    }

    fn operand(&mut self) -> Step<Number> {
        let Token { kind, column } = self.advance();
        match kind {
            Kind::Number(number) => Ok(number),
            Kind::Operator(Operator::Minus) => Ok(self.sum(Binding::Sign)?.negated()),
            Kind::Operator(Operator::Plus) => self.sum(Binding::Sign),
            Kind::Open => {
                let number = self.sum(Binding::Loosest)?;
                self.close(column)?;
                Ok(number)
            }
            Kind::Name(name) => self.name(&name, column),
            Kind::Operator(_) | Kind::Close | Kind::Comma | Kind::End => {
                let told = kind.told();
                wrong(column, format!("expected a number, a name or \"(\", not {told}"))
            }
        }
    }

    fn name(&mut self, name: &str, column: usize) -> Step<Number> {
        match name {
            "pi" | "π" => return Ok(Number::PI),
            "e" => return Ok(Number::E),
            _ => {}
        }
        let Some(function) = Function::named(name) else {
            return wrong(column, unknown(name));
        };
        let open = self.advance();
        if open.kind != Kind::Open {
            let message = format!("{name} takes its numbers in parentheses, as in {name}(2)");
            return wrong(open.column, message);
        }
        let inputs = self.inputs(open.column)?;
        match function.apply(&inputs) {
            Ok(number) => Ok(number),
            Err(Unfit::Number(reason)) => wrong(column, reason),
            Err(Unfit::Count(wanted)) => {
                wrong(column, format!("{name} takes {wanted}, not {}", inputs.len()))
            }
        }
    }

    fn inputs(&mut self, open: usize) -> Step<Vec<Number>> {
        let mut inputs = Vec::new();
        if self.peek().kind == Kind::Close {
            self.advance();
            return Ok(inputs);
        }
        loop {
            if inputs.len() == INPUTS_CAP {
                let message = format!("a function takes at most {INPUTS_CAP} numbers");
                return wrong(self.peek().column, message);
            }
            inputs.push(self.sum(Binding::Loosest)?);
            if self.peek().kind != Kind::Comma {
                self.close(open)?;
                return Ok(inputs);
            }
            self.advance();
        }
    }

    fn close(&mut self, open: usize) -> Step<()> {
        let token = self.advance();
        match token.kind {
            Kind::Close => Ok(()),
            Kind::End => wrong(open, "this \"(\" is not closed"),
            Kind::Number(_) | Kind::Name(_) | Kind::Operator(_) | Kind::Open | Kind::Comma => {
                let told = token.kind.told();
                wrong(token.column, format!("expected an operator or \")\", not {told}"))
            }
        }
    }

    /// Whether no operand can follow.
    fn ends_here(&self) -> bool {
        match self.peek().kind {
            Kind::End | Kind::Close | Kind::Comma => true,
            Kind::Operator(operator) => !matches!(operator, Operator::Plus | Operator::Minus),
            Kind::Number(_) | Kind::Name(_) | Kind::Open => false,
        }
    }

    fn peek(&self) -> &Token {
        const NONE: &Token = &Token { kind: Kind::End, column: 1 };
        self.tokens.get(self.next).or(self.tokens.last()).unwrap_or(NONE)
    }

    fn advance(&mut self) -> Token {
        let token = self.peek().clone();
        self.next += 1;
        token
    }
}

#[derive(Clone, Copy)]
enum Function {
    Root,
    Magnitude,
    Smallest,
    Largest,
    Round,
    Floor,
    Ceiling,
    Ln,
    Log10,
}

/// Why a function has no result.
enum Unfit {
    Number(Reason),
    Count(&'static str),
}

impl Function {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "sqrt" => Self::Root,
            "abs" => Self::Magnitude,
            "min" => Self::Smallest,
            "max" => Self::Largest,
            "round" => Self::Round,
            "floor" => Self::Floor,
            "ceil" => Self::Ceiling,
            "ln" => Self::Ln,
            "log10" => Self::Log10,
            _ => return None,
        })
    }

    fn apply(self, inputs: &[Number]) -> Result<Number, Unfit> {
        let zero = Number::read("0").map_err(Unfit::Number)?;
        let outcome = match (self, inputs) {
            (Self::Root, [x]) => x.root(),
            (Self::Magnitude, [x]) => Ok(x.magnitude()),
            (Self::Smallest, [x, more @ ..]) => Ok(more.iter().fold(*x, |x, y| x.smaller(*y))),
            (Self::Largest, [x, more @ ..]) => Ok(more.iter().fold(*x, |x, y| x.larger(*y))),
            (Self::Round, [x]) => x.to_places(zero, Rounding::Nearest),
            (Self::Round, [x, places]) => x.to_places(*places, Rounding::Nearest),
            (Self::Floor, [x]) => x.to_places(zero, Rounding::Down),
            (Self::Ceiling, [x]) => x.to_places(zero, Rounding::Up),
            (Self::Ln, [x]) => x.ln(),
            (Self::Log10, [x]) => x.log10(),
            (Self::Smallest | Self::Largest, []) => return Err(Unfit::Count("one number or more")),
            (Self::Round, _) => return Err(Unfit::Count("one number or two")),
            (
                Self::Root | Self::Magnitude | Self::Floor | Self::Ceiling | Self::Ln | Self::Log10,
                _,
            ) => return Err(Unfit::Count("one number")),
        };
        outcome.map_err(Unfit::Number)
    }
}

fn unknown(name: &str) -> String {
    match name {
        "log" => "write ln or log10 for the logarithm that is meant".to_owned(),
        "x" => "write * to multiply".to_owned(),
        _ => format!(
            "there is no {name:?}; there are sqrt, abs, min, max, round, floor, ceil, ln, log10, \
             pi and e"
        ),
    }
}

fn tokens(expression: &str) -> Step<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut column = 0;
    let mut chars = expression.char_indices().peekable();
    while let Some((start, first)) = chars.next() {
        column += 1;
        let begin = column;
        let kind = match first {
            _ if first.is_whitespace() => continue,
            '+' => Kind::Operator(Operator::Plus),
            '-' | '−' => Kind::Operator(Operator::Minus),
            '*' if chars.next_if(|(_, c)| *c == '*').is_some() => {
                column += 1;
                Kind::Operator(Operator::Power)
            }
            '*' | '×' | '·' => Kind::Operator(Operator::Times),
            '/' | '÷' => Kind::Operator(Operator::Over),
            '%' => Kind::Operator(Operator::Remainder),
            '^' => Kind::Operator(Operator::Power),
            '(' => Kind::Open,
            ')' => Kind::Close,
            ',' => Kind::Comma,
            '0'..='9' | '.' => {
                column += number_end(first, &mut chars);
                let text = word(expression, start, &mut chars);
                match Number::read(text) {
                    _ if !text.contains(|c: char| c.is_ascii_digit()) => {
                        return wrong(begin, "a point needs a digit beside it");
                    }
                    Ok(number) => Kind::Number(number),
                    Err(_) => return wrong(begin, "the number is too large"),
                }
            }
            _ if first.is_alphabetic() => {
                while chars.next_if(|(_, c)| c.is_alphanumeric() || *c == '_').is_some() {
                    column += 1;
                }
                Kind::Name(word(expression, start, &mut chars).to_lowercase())
            }
            _ => return wrong(begin, format!("{first:?} has no meaning here")),
        };
        tokens.push(Token { kind, column: begin });
    }
    tokens.push(Token { kind: Kind::End, column: column + 1 });
    Ok(tokens)
}

/// Takes the rest of a number and says how many characters it has.
fn number_end(first: char, chars: &mut Peekable<CharIndices<'_>>) -> usize {
    let mut taken = 0;
    let mut digits = |chars: &mut Peekable<CharIndices<'_>>| {
        while chars.next_if(|(_, c)| c.is_ascii_digit()).is_some() {
            taken += 1;
        }
    };
    digits(chars);
    if first != '.' && chars.next_if(|(_, c)| *c == '.').is_some() {
        digits(chars);
        taken += 1;
    }
    // An exponent only if digits follow: else the e is a name.
    let mut ahead = chars.clone();
    if ahead.next_if(|(_, c)| matches!(c, 'e' | 'E')).is_some() {
        let sign = usize::from(ahead.next_if(|(_, c)| matches!(c, '+' | '-')).is_some());
        if ahead.peek().is_some_and(|(_, c)| c.is_ascii_digit()) {
            *chars = ahead;
            taken += 1 + sign;
            while chars.next_if(|(_, c)| c.is_ascii_digit()).is_some() {
                taken += 1;
            }
        }
    }
    taken
}

/// The text from a place to where the reader is.
fn word<'a>(text: &'a str, start: usize, chars: &mut Peekable<CharIndices<'_>>) -> &'a str {
    let end = chars.peek().map_or(text.len(), |(end, _)| *end);
    text.get(start..end).unwrap_or_default()
}

fn wrong<T>(column: usize, message: impl Into<String>) -> Step<T> {
    Err(CannotCalculate { column, message: message.into() })
}
