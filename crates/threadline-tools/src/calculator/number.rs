//! A number: exact as a decimal where it can be, else rounded.

use std::cmp::Ordering;
use std::fmt;

/// The most digits behind the point of an exact number.
const PLACES_CAP: u32 = 38;
/// How many digits of a rounded number are told: more would show the rounding of its sum.
const SIGNIFICANT_DIGITS: usize = 15;
/// Below this, rounded numbers have their units right.
const WHOLE_CAP: f64 = 1e15;

/// A number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    /// Exactly this.
    Exact(Decimal),
    /// This, but for the last digits. Always finite.
    Rounded(f64),
}

/// `digits / 10^places`, without needless zeros at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    digits: i128,
    places: u32,
}

/// Why there is no number.
pub(super) type Reason = &'static str;
/// A number, or why there is none.
pub(super) type Outcome = Result<Number, Reason>;

pub(super) const TOO_LARGE: Reason = "the result is too large";
const BY_ZERO: Reason = "division by zero";

impl Number {
    pub(super) const PI: Self = Self::Rounded(std::f64::consts::PI);
    pub(super) const E: Self = Self::Rounded(std::f64::consts::E);

    /// Reads digits with a point and an exponent, both optional.
    pub(super) fn read(text: &str) -> Outcome {
        match Decimal::read(text) {
            Some(decimal) => Ok(Self::Exact(decimal)),
            None => finite(text.parse().unwrap_or(f64::INFINITY)),
        }
    }

    pub(super) fn negated(self) -> Self {
        match self {
            Self::Exact(Decimal { digits, places }) => match digits.checked_neg() {
                Some(digits) => Self::Exact(Decimal { digits, places }),
                None => Self::Rounded(-self.rounded()),
            },
            Self::Rounded(value) => Self::Rounded(-value),
        }
    }

    pub(super) fn plus(self, other: Self) -> Outcome {
        self.either(other, Decimal::plus, |one, two| without_noise(one + two, one, two))
    }

    pub(super) fn minus(self, other: Self) -> Outcome {
        self.either(other, Decimal::minus, |one, two| without_noise(one - two, one, two))
    }

    pub(super) fn times(self, other: Self) -> Outcome {
        self.either(other, Decimal::times, |one, two| one * two)
    }

    pub(super) fn over(self, other: Self) -> Outcome {
        if other.is_zero() {
            return Err(BY_ZERO);
        }
        self.either(other, Decimal::over, |one, two| one / two)
    }

    pub(super) fn remainder(self, other: Self) -> Outcome {
        if other.is_zero() {
            return Err(BY_ZERO);
        }
        if let (Self::Exact(one), Self::Exact(two)) = (self, other)
            && let Some(remainder) = one.remainder(two)
        {
            return Ok(Self::Exact(remainder));
        }
        let (one, two) = (self.rounded(), other.rounded());
        if (one / two).abs() >= WHOLE_CAP {
            return Err("the number is too large for its remainder to be known");
        }
        finite(one % two)
    }

    pub(super) fn to_the(self, exponent: Self) -> Outcome {
        if self.is_zero() && exponent.is_negative() {
            return Err(BY_ZERO);
        }
        if let (Self::Exact(base), Some(power)) = (self, exponent.whole())
            && let Some(exact) = base.to_the(power)
        {
            return Ok(Self::Exact(exact));
        }
        if self.is_negative() && exponent.whole().is_none() {
            return Err("a negative number has no real power that is not whole");
        }
        finite(self.rounded().powf(exponent.rounded()))
    }

    pub(super) fn root(self) -> Outcome {
        if self.is_negative() {
            return Err("a negative number has no real square root");
        }
        match self {
            Self::Exact(decimal) => match decimal.root() {
                Some(root) => Ok(Self::Exact(root)),
                None => finite(self.rounded().sqrt()),
            },
            Self::Rounded(value) => finite(value.sqrt()),
        }
    }

    pub(super) fn ln(self) -> Outcome {
        self.check_above_zero()?;
        finite(self.rounded().ln())
    }

    pub(super) fn log10(self) -> Outcome {
        self.check_above_zero()?;
        let value = self.rounded().log10();
        // A power of ten has an exact one.
        let ten = Decimal { digits: 10, places: 0 };
        match Decimal::whole(value) {
            Some(whole) if ten.to_the(whole.digits).map(Self::Exact) == Some(self) => {
                Ok(Self::Exact(whole))
            }
            Some(_) | None => finite(value),
        }
    }

    fn check_above_zero(self) -> Result<(), Reason> {
        if self.is_zero() || self.is_negative() {
            return Err("only numbers above zero have a logarithm");
        }
        Ok(())
    }

    pub(super) fn magnitude(self) -> Self {
        if self.is_negative() { self.negated() } else { self }
    }

    /// Rounded down, up or to the nearest, half away from zero, at so many places.
    pub(super) fn to_places(self, places: Self, to: Rounding) -> Outcome {
        let Some(places) = places.whole().and_then(|places| i32::try_from(places).ok()) else {
            return Err("the digits to round to have to be a whole number");
        };
        if let Self::Exact(decimal) = self {
            return match decimal.to_places(places, to) {
                Some(rounded) => Ok(Self::Exact(rounded)),
                None => finite(to.of_float(self.rounded(), places)),
            };
        }
        let value = to.of_float(significant(self.rounded()), places);
        match Decimal::whole(value) {
            Some(whole) => Ok(Self::Exact(whole)),
            None => finite(value),
        }
    }

    pub(super) fn larger(self, other: Self) -> Self {
        if self.compare(other) == Ordering::Less { other } else { self }
    }

    pub(super) fn smaller(self, other: Self) -> Self {
        if self.compare(other) == Ordering::Greater { other } else { self }
    }

    fn compare(self, other: Self) -> Ordering {
        if let (Self::Exact(one), Self::Exact(two)) = (self, other)
            && let Some((one, two, _)) = one.aligned(two)
        {
            return one.cmp(&two);
        }
        self.rounded().total_cmp(&other.rounded())
    }

    /// The exact result of two exact numbers if there is one, else the rounded one.
    fn either(
        self,
        other: Self,
        exact: fn(Decimal, Decimal) -> Option<Decimal>,
        rounded: fn(f64, f64) -> f64,
    ) -> Outcome {
        if let (Self::Exact(one), Self::Exact(two)) = (self, other)
            && let Some(result) = exact(one, two)
        {
            return Ok(Self::Exact(result));
        }
        finite(rounded(self.rounded(), other.rounded()))
    }

    fn rounded(self) -> f64 {
        match self {
            // By way of the text: reading rounds once, dividing would round twice.
            Self::Exact(decimal) => decimal.to_string().parse().unwrap_or(f64::INFINITY),
            Self::Rounded(value) => value,
        }
    }

    fn whole(self) -> Option<i128> {
        match self {
            Self::Exact(Decimal { digits, places: 0 }) => Some(digits),
            Self::Exact(_) | Self::Rounded(_) => None,
        }
    }

    fn is_zero(self) -> bool {
        match self {
            Self::Exact(decimal) => decimal.digits == 0,
            Self::Rounded(value) => value == 0.0,
        }
    }

    fn is_negative(self) -> bool {
        match self {
            Self::Exact(decimal) => decimal.digits < 0,
            Self::Rounded(value) => value < 0.0,
        }
    }
}

/// Which way a number is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounding {
    Down,
    Up,
    Nearest,
}

impl Rounding {
    fn of_float(self, value: f64, places: i32) -> f64 {
        let scale = 10f64.powi(places);
        let scaled = value * scale;
        if !scaled.is_finite() || scale == 0.0 {
            return if places < 0 { 0.0 } else { value };
        }
        let whole = match self {
            Self::Down => scaled.floor(),
            Self::Up => scaled.ceil(),
            Self::Nearest => scaled.round(),
        };
        whole / scale
    }
}

impl Decimal {
    fn new(digits: i128, places: u32) -> Option<Self> {
        let (mut digits, mut places) = (digits, places);
        while places > 0 && digits % 10 == 0 {
            digits /= 10;
            places -= 1;
        }
        (places <= PLACES_CAP).then_some(Self { digits, places })
    }

    /// A whole number that a float holds with all its digits.
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and below 10^15")]
    fn whole(value: f64) -> Option<Self> {
        let whole = value.fract() == 0.0 && value.abs() < WHOLE_CAP;
        whole.then_some(Self { digits: value as i128, places: 0 })
    }

    fn read(text: &str) -> Option<Self> {
        let (number, exponent) = match text.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (units, fraction) = number.split_once('.').unwrap_or((number, ""));
        let fraction = fraction.trim_end_matches('0');
        let digits = format!("0{units}{fraction}").parse::<i128>().ok()?;
        let places = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
        match u32::try_from(places) {
            Ok(places) => Self::new(digits, places),
            Err(_) => Self::new(digits.checked_mul(ten_to(places.unsigned_abs())?)?, 0),
        }
    }

    /// Both numbers' digits at the same number of places.
    fn aligned(self, other: Self) -> Option<(i128, i128, u32)> {
        let places = self.places.max(other.places);
        let at = |number: Self| number.digits.checked_mul(ten_to(places - number.places)?);
        Some((at(self)?, at(other)?, places))
    }

    fn plus(self, other: Self) -> Option<Self> {
        let (one, two, places) = self.aligned(other)?;
        Self::new(one.checked_add(two)?, places)
    }

    fn minus(self, other: Self) -> Option<Self> {
        let (one, two, places) = self.aligned(other)?;
        Self::new(one.checked_sub(two)?, places)
    }

    fn times(self, other: Self) -> Option<Self> {
        Self::new(self.digits.checked_mul(other.digits)?, self.places + other.places)
    }

    /// The quotient, if it comes to an end.
    fn over(self, other: Self) -> Option<Self> {
        let (mut one, two, _) = self.aligned(other)?;
        for places in 0..=PLACES_CAP {
            if one.checked_rem(two)? == 0 {
                return Self::new(one.checked_div(two)?, places);
            }
            one = one.checked_mul(10)?;
        }
        None
    }

    fn remainder(self, other: Self) -> Option<Self> {
        let (one, two, places) = self.aligned(other)?;
        Self::new(one.checked_rem(two)?, places)
    }

    fn to_the(self, power: i128) -> Option<Self> {
        let one = Self { digits: 1, places: 0 };
        let (mut result, mut square, mut left) = (one, self, power.unsigned_abs());
        while left > 0 {
            if left % 2 == 1 {
                result = result.times(square)?;
            }
            left /= 2;
            if left > 0 {
                square = square.times(square)?;
            }
        }
        if power < 0 { one.over(result) } else { Some(result) }
    }

    /// The square root, if it is exact.
    fn root(self) -> Option<Self> {
        let even = self.places.next_multiple_of(2);
        let digits = self.digits.checked_mul(ten_to(even - self.places)?)?;
        let root = digits.isqrt();
        (root.checked_mul(root)? == digits).then_some(())?;
        Self::new(root, even / 2)
    }

    fn to_places(self, places: i32, to: Rounding) -> Option<Self> {
        let Some(cut) =
            i64::from(self.places).checked_sub(i64::from(places)).filter(|cut| *cut > 0)
        else {
            return Some(self);
        };
        let Some(unit) = u32::try_from(cut).ok().and_then(ten_to) else {
            // More digits are cut away than there can be: it is less than half of the unit.
            return Some(Self { digits: 0, places: 0 }).filter(|_| to == Rounding::Nearest);
        };
        let (whole, rest) = (self.digits.div_euclid(unit), self.digits.rem_euclid(unit));
        let up = match to {
            Rounding::Down => false,
            Rounding::Up => rest > 0,
            // Half goes away from zero.
            Rounding::Nearest if self.digits < 0 => rest > unit / 2,
            Rounding::Nearest => rest >= unit - unit / 2,
        };
        let whole = whole.checked_add(i128::from(up))?;
        match u32::try_from(places) {
            Ok(places) => Self::new(whole, places),
            Err(_) => Self::new(whole.checked_mul(ten_to(places.unsigned_abs())?)?, 0),
        }
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.digits < 0 { "-" } else { "" };
        let places = usize::try_from(self.places).unwrap_or(usize::MAX);
        let digits = format!("{:0>width$}", self.digits.unsigned_abs(), width = places + 1);
        match digits.split_at_checked(digits.len() - places) {
            Some((units, "")) => write!(f, "{sign}{units}"),
            Some((units, fraction)) => write!(f, "{sign}{units}.{fraction}"),
            None => write!(f, "{sign}{digits}"),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(decimal) => decimal.fmt(f),
            Self::Rounded(value) => {
                let value = significant(*value);
                if value == 0.0 {
                    write!(f, "0")
                } else if (1e-6..WHOLE_CAP).contains(&value.abs()) {
                    write!(f, "{value}")
                } else {
                    write!(f, "{value:e}")
                }
            }
        }
    }
}

/// A float without the digits that rounding has spoilt.
fn significant(value: f64) -> f64 {
    with_digits(value, SIGNIFICANT_DIGITS)
}

/// The power of ten of a number's first digit.
fn power_of_ten(value: f64) -> i32 {
    let text = format!("{value:e}");
    text.rsplit_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or(0)
}

fn with_digits(value: f64, digits: usize) -> f64 {
    let behind_point = digits.saturating_sub(1);
    format!("{value:.behind_point$e}").parse().unwrap_or(value)
}

/// A sum of rounded numbers, unless only their rounding is left of it.
fn without_noise(sum: f64, one: f64, two: f64) -> f64 {
    let largest = one.abs().max(two.abs());
    if sum == 0.0 || sum.abs() >= largest {
        return sum;
    }
    // Digits that cancelled out leave as many behind that mean nothing.
    let cancelled = power_of_ten(largest) - power_of_ten(sum);
    let left = SIGNIFICANT_DIGITS.saturating_sub(usize::try_from(cancelled).unwrap_or(0));
    if left == 0 { 0.0 } else { with_digits(sum, left) }
}

fn finite(value: f64) -> Outcome {
    if value.is_nan() {
        return Err("it has no result");
    }
    if value.is_infinite() {
        return Err(TOO_LARGE);
    }
    Ok(Number::Rounded(value))
}

fn ten_to(power: u32) -> Option<i128> {
    10i128.checked_pow(power)
}
