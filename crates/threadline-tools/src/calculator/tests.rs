//! Tests of the calculator: an expression in, a result or a place and a reason out.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;

fn told(expression: &str) -> String {
    evaluate(expression).unwrap_or_else(|error| error.to_string())
}

#[test]
fn sums_come_out_as_people_expect() {
    let table = [
        ("2 + 3", "= 5"),
        ("0.1 + 0.2", "= 0.3"),
        ("1.10 * 3", "= 3.3"),
        ("100 - 99.99", "= 0.01"),
        ("2 + 3 * 4", "= 14"),
        ("(2 + 3) * 4", "= 20"),
        ("10 - 2 - 3", "= 5"),
        ("7 / 2", "= 3.5"),
        ("1 / 3", "≈ 0.333333333333333"),
        ("2 / 3 * 3", "≈ 2"),
        ("10 % 3", "= 1"),
        ("-7 % 3", "= -1"),
        ("7 % -3", "= 1"),
        ("5.5 % 2", "= 1.5"),
        ("2^10", "= 1024"),
        ("2**10", "= 1024"),
        ("2^3^2", "= 512"),
        ("-2^2", "= -4"),
        ("(-2)^2", "= 4"),
        ("2^-1", "= 0.5"),
        ("2^-2 * 8", "= 2"),
        ("--3", "= 3"),
        ("+3", "= 3"),
        ("2 - -3", "= 5"),
        ("2^0.5", "≈ 1.4142135623731"),
        ("0^0", "= 1"),
        (".5 + 5.", "= 5.5"),
        ("1e3 + 2E-2", "= 1000.02"),
        ("6 × 7 ÷ 2 − 1", "= 20"),
        ("sqrt(16)", "= 4"),
        ("sqrt(0.25)", "= 0.5"),
        ("sqrt(2)^2", "≈ 2"),
        ("abs(-3.5)", "= 3.5"),
        ("min(3, 1, 2)", "= 1"),
        ("max(3, pi)", "≈ 3.14159265358979"),
        ("max(0.1, 0.10)", "= 0.1"),
        ("round(2.5)", "= 3"),
        ("round(-2.5)", "= -3"),
        ("round(2.345, 2)", "= 2.35"),
        ("round(1234, -2)", "= 1200"),
        ("round(5, -1)", "= 10"),
        ("round(1/3, 2)", "≈ 0.33"),
        ("round(2/3)", "= 1"),
        ("round(12, -60)", "= 0"),
        ("floor(-1.5)", "= -2"),
        ("ceil(-1.5)", "= -1"),
        ("floor(1.5) + ceil(1.5)", "= 3"),
        ("floor(2/3*3)", "= 2"),
        ("ln(e)", "≈ 1"),
        ("log10(1000)", "= 3"),
        ("log10(2)", "≈ 0.301029995663981"),
        ("PI", "≈ 3.14159265358979"),
        ("2\n+\t3", "= 5"),
        ("170141183460469231731687303715884105727", "= 170141183460469231731687303715884105727"),
        ("99999999999999999999 + 1", "= 100000000000000000000"),
        ("170141183460469231731687303715884105727 + 1", "≈ 1.70141183460469e38"),
        ("2^200", "≈ 1.60693804425899e60"),
        ("0.1^30", "= 0.000000000000000000000000000001"),
        ("0.1^60", "≈ 1e-60"),
        ("1e-400", "≈ 0"),
        ("sqrt(2)^2 - 2", "≈ 0"),
        ("1/3 + 1/3 + 1/3", "≈ 1"),
        ("1/3 - 1/7", "≈ 0.19047619047619"),
        ("10^40 + 1 - 10^40", "≈ 0"),
        ("10^40 - 9 * 10^39", "≈ 1e39"),
        ("pi - 3.1415926535", "≈ 8.979e-11"),
        ("123456789012345678901234567890123456789012345", "≈ 1.23456789012346e44"),
    ];
    for (expression, expected) in table {
        assert_eq!(told(expression), expected, "{expression}");
    }
}

#[test]
fn what_has_no_result_is_told_with_its_column() {
    let table = [
        ("", "column 1: expected a number, a name or \"(\", not the end"),
        ("  ", "column 3: expected a number, a name or \"(\", not the end"),
        ("2 +", "column 4: expected a number, a name or \"(\", not the end"),
        ("2 + * 3", "column 5: expected a number, a name or \"(\", not \"*\""),
        ("(2 + 3", "column 1: this \"(\" is not closed"),
        ("2 + 3)", "column 6: expected an operator, not \")\""),
        ("2(3)", "column 2: expected an operator, not \"(\""),
        ("2 3", "column 3: expected an operator, not the number 3"),
        ("2 x 3", "column 3: expected an operator, not the name \"x\""),
        ("x", "column 1: write * to multiply"),
        ("1.2.3", "column 4: expected an operator, not the number 0.3"),
        (".", "column 1: a point needs a digit beside it"),
        (
            "1,000 + 1",
            "column 2: a comma only stands between a function's numbers; write 1000, not 1,000",
        ),
        ("1 / 0", "column 3: division by zero"),
        ("1 % (2 - 2)", "column 3: division by zero"),
        ("0^-1", "column 2: division by zero"),
        ("2^130 % 7", "column 7: the number is too large for its remainder to be known"),
        ("15%", "column 3: % is the remainder; for 15 percent write 15/100"),
        ("15% * 3", "column 3: % is the remainder; for 15 percent write 15/100"),
        ("10^400", "column 3: the result is too large"),
        ("1e308 * 10", "column 7: the result is too large"),
        ("1e400", "column 1: the number is too large"),
        ("sqrt(-1)", "column 1: a negative number has no real square root"),
        ("(-8)^0.5", "column 5: a negative number has no real power that is not whole"),
        ("ln(0)", "column 1: only numbers above zero have a logarithm"),
        ("round(1, 0.5)", "column 1: the digits to round to have to be a whole number"),
        ("round()", "column 1: round takes one number or two, not 0"),
        ("sqrt(1, 2)", "column 1: sqrt takes one number, not 2"),
        ("min()", "column 1: min takes one number or more, not 0"),
        ("sqrt 2", "column 6: sqrt takes its numbers in parentheses, as in sqrt(2)"),
        ("log(2)", "column 1: write ln or log10 for the logarithm that is meant"),
        ("2 = 2", "column 3: '=' has no meaning here"),
        (
            "雨 + 1",
            "column 1: there is no \"雨\"; there are sqrt, abs, min, max, round, floor, ceil, ln, log10, pi and e",
        ),
        ("1 + \u{0}", "column 5: '\\0' has no meaning here"),
    ];
    for (expression, expected) in table {
        assert_eq!(told(expression), expected, "{expression:?}");
    }
}

#[test]
fn what_is_too_long_or_too_deep_is_refused() {
    let long = "1+".repeat(EXPRESSION_CAP_BYTES);
    assert!(told(&long).contains("at most 4096 are taken"));
    for deep in ["(", "-", "2^", "abs("] {
        let deep = deep.repeat(EXPRESSION_CAP_BYTES / deep.len());
        assert!(told(&deep).contains("nested deeper than 100 levels"), "{}", told(&deep));
    }
    let wide = format!("1{}", "+1".repeat(2000));
    assert_eq!(told(&wide), "= 2001");
}

/// A chain of whole numbers, and what it comes to: products first, then sums.
fn chain() -> impl Strategy<Value = (String, i128)> {
    let links = prop::collection::vec((prop_oneof!["[+]", "-", "[*]"], -999..1000i128), 0..8);
    (-999..1000i128, links).prop_map(|(first, links)| {
        let (mut text, mut sum, mut product) = (first.to_string(), 0, first);
        for (operator, number) in links {
            let _ = write!(text, " {operator} {number}");
            match &*operator {
                "*" => product *= number,
                sign => {
                    sum += product;
                    product = if sign == "-" { -number } else { number };
                }
            }
        }
        (text, sum + product)
    })
}

proptest! {
    #[test]
    fn products_come_before_sums((text, expected) in chain()) {
        prop_assert_eq!(told(&text), format!("= {expected}"));
        prop_assert_eq!(told(&format!("-({text}) / 8 * 8")), format!("= {}", -expected));
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC*", sum in "[0-9.e+*/%^(), a-z-]{0,60}") {
        drop(evaluate(&text));
        drop(evaluate(&sum));
    }

    #[test]
    fn a_column_is_one_of_the_expression_or_just_behind_it(sum in "[0-9.e+*/%^() 雨-]{0,40}") {
        if let Err(error) = evaluate(&sum) {
            prop_assert!((1..=sum.chars().count() + 1).contains(&error.column));
        }
    }

    #[test]
    fn integers_are_exact(a in any::<i64>(), b in any::<i64>(), c in 1..=i64::MAX) {
        let (wide_a, wide_b) = (i128::from(a), i128::from(b));
        let exact = |number: i128| format!("= {number}");
        prop_assert_eq!(told(&format!("{a} + {b}")), exact(wide_a + wide_b));
        prop_assert_eq!(told(&format!("{a} - {b}")), exact(wide_a - wide_b));
        prop_assert_eq!(told(&format!("({a}) * ({b})")), exact(wide_a * wide_b));
        prop_assert_eq!(told(&format!("({a}) % {c}")), exact(wide_a % i128::from(c)));
        prop_assert_eq!(told(&format!("({a}) * {c} / {c}")), exact(wide_a));
    }

    #[test]
    fn what_is_printed_can_be_read_again(a in any::<i32>(), b in 1..10_000i32, places in 0..6u32) {
        let decimal = format!("{a} / {}", 10i64.pow(places));
        let printed = told(&decimal);
        prop_assert_eq!(told(printed.trim_start_matches("= ")), printed);
        let rounded = told(&format!("{a} / {b}"));
        prop_assert!(rounded.starts_with("= ") || rounded.starts_with("≈ "));
    }
}

#[tokio::test]
async fn a_call_tells_the_sum_and_its_result() {
    use threadline_core::history::sections::{Level, render};

    let answer = |arguments: String| async move {
        let outcome = Calculator::new().call(&arguments, &crate::testing::context()).await;
        let at = |level| render(&outcome.result().sections, level).into_owned();
        let success = matches!(outcome, ToolOutcome::Success(_));
        (success, at(Level::Live), at(Level::Recent), at(Level::Gist))
    };
    let sum = "2 + 3 = 5".to_owned();
    let expected = (true, sum.clone(), sum.clone(), sum);
    assert_eq!(answer(r#"{"expression":" 2 +\n3 "}"#.to_owned()).await, expected);

    let (success, live, _, gist) = answer(r#"{"expression":"2 +"}"#.to_owned()).await;
    assert!(!success);
    assert_eq!(live, "column 4: expected a number, a name or \"(\", not the end");
    assert_eq!(gist, "2 +: column 4: expected a number, a name or \"(\", not the end");

    let long = format!(r#"{{"expression":"1{}"}}"#, " + 1".repeat(500));
    let (success, live, _, gist) = answer(long).await;
    assert!(success && live.ends_with("+ 1 = 501") && gist.ends_with("… = 501"), "{gist}");
    assert!(gist.len() < 80);

    let (success, live, ..) = answer("[]".to_owned()).await;
    assert!(!success && live.starts_with("the arguments do not fit"), "{live}");
}
