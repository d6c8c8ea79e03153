//! The stories that tests tell.

/// A short talk of two turns, with a tool call.
pub(crate) const WEATHER: &str = r#"
! #0 described {"title":"Weather in Oslo","labels":["travel"]}
@ planner joins primary tools=weather
@ planner instruction: be brief
user: what is the weather in Oslo?
planner asks scripted/m1
planner: let me look → weather {"city":"Oslo"}
weather c6.0 starts read
weather c6.0 ok: 4 °C, rain
planner results
planner asks scripted/m1
planner: It rains in Oslo.
user: 明天天气怎么样？
planner asks scripted/m1
planner: Sun.
"#;
