//! Each rule of the projection, by a story.

use super::{seen_with, story};

const PLENTY: u64 = 100_000;

/// Two turns, the second with calls and an input in the middle of it.
const TURNS: &str = r#"
@ ada joins primary
@ ada instruction: be brief
user: what is the capital of Norway?
ada asks scripted/m1
ada: Oslo.
user: and the weather there?
ada asks scripted/m2
ada: let me look → weather {"city":"Oslo"} | notes {}
weather c8.0 starts read
notes c8.1 ok: none
weather c8.0 ok: 4 °C, rain
ada results
user: in Fahrenheit, please
"#;

#[test]
fn what_fits_is_there_in_its_order() {
    let told = story(TURNS);
    insta::assert_snapshot!(seen_with(&told, &[(6, "# [Live Screen]\n\nit is noon")], PLENTY), @r#"
    2 system 2: be brief
    3 Recent 7: what is the capital of Norway?
    5 Live 2: m1 says Oslo.
    6 Live 13: and the weather there?
      screen 8: # [Live Screen]⏎⏎it is noon
    8 Live 11: m2 says let me look → weather {"city":"Oslo"} → notes {}
    12 Live 6: results
      11 c8.0 weather Success Live 5: 4 °C, rain
      10 c8.1 notes Success Live 1: none
    13 Live 4: in Fahrenheit, please
    "#);
}
