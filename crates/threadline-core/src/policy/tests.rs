//! Tests of what counts for a call.

use super::pattern::plain;
use super::*;
use crate::history::fact::Effect;
use crate::tool::{Handling, RunRules};

fn tool(name: &str, server: Option<&str>, verdict: Verdict) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: "".into(),
        schema: r#"{"type":"object"}"#.into(),
        strict: false,
        server: server.map(Into::into),
        verdict,
        handling: Handling::Run(RunRules::usual(Effect::Once)),
    }
}

fn rule(verdict: Verdict, tool: &str, arguments: &str) -> Rule {
    Rule {
        name: format!("{verdict:?} {tool}").into(),
        tool: tool.into(),
        server: None,
        arguments: Patterns::read(arguments).unwrap(),
        verdict,
        tightens: false,
    }
}

fn set(verdict: Verdict, tool: &str, arguments: &str) -> PolicySet {
    let arguments = Some(arguments).filter(|text| *text != "{}").map(Into::into);
    PolicySet { tool: tool.into(), arguments, verdict }
}

fn edit(path: &str) -> String {
    serde_json::json!({ "path": path, "old": "a", "new": "b" }).to_string()
}

/// What counts for `edit_file`, which asks by itself.
fn of_edit(arguments: &str, operator: &[Rule], conversation: &[PolicySet]) -> (Verdict, String) {
    let tool = tool("edit_file", None, Verdict::Ask);
    let decision = decide(&Call::new(&tool, arguments), operator, conversation);
    (decision.verdict, decision.by.to_string())
}

#[test]
fn a_star_stands_for_any_run() {
    for (pattern, text, expected) in [
        ("shell", "shell", true),
        ("shell", "shells", false),
        ("*", "anything", true),
        ("*", "", true),
        ("file_*", "file_read", true),
        ("file_*", "read_file", false),
        ("*_file", "read_file", true),
        ("a*b*c", "a--b--c", true),
        ("a*b*c", "a--c--b", false),
        ("a**c", "abc", true),
        ("ab*ba", "aba", false),
        ("*é*", "café au lait", true),
        ("", "", true),
        ("", "x", false),
    ] {
        assert_eq!(fits(pattern, text), expected, "{pattern:?} on {text:?}");
    }
}

#[test]
fn paths_are_made_plain() {
    for (text, expected) in [
        ("docs/a.md", "docs/a.md"),
        ("./docs//a.md", "docs/a.md"),
        ("docs/../secret", "secret"),
        ("docs/../../secret", "../secret"),
        ("../../a", "../../a"),
        ("/../etc/./passwd", "/etc/passwd"),
        ("a/..", "."),
        ("/", "/"),
        ("docs/", "docs"),
        ("..", ".."),
        ("no path", "no path"),
        ("", ""),
        ("https://example.com/a/../b", "https://example.com/b"),
        ("https://example.com/../../b", "https://example.com/b"),
        ("https://example.com", "https://example.com"),
    ] {
        assert_eq!(plain(text), expected, "{text:?}");
    }
}

#[test]
fn what_counts_follows_the_order() {
    use Verdict::{Allow, Ask, Deny};
    let any = edit("src/a.rs");
    let operator = |rules: &[(Verdict, &str)]| -> Vec<Rule> {
        rules.iter().map(|(verdict, tool)| rule(*verdict, tool, "{}")).collect()
    };
    let tools = |rules: &[Verdict]| -> Vec<PolicySet> {
        rules.iter().map(|verdict| set(*verdict, "edit_file", "{}")).collect()
    };
    for (rules, sets, verdict, by) in [
        (vec![], vec![], Ask, "tool"),
        (vec![(Allow, "other")], vec![], Ask, "tool"),
        (vec![(Allow, "edit_*")], vec![], Allow, "operator: Allow edit_*"),
        (vec![(Allow, "edit_*"), (Ask, "*")], vec![], Ask, "operator: Ask *"),
        (vec![(Ask, "*"), (Allow, "edit_*")], vec![], Allow, "operator: Allow edit_*"),
        (vec![(Ask, "*")], vec![Allow], Allow, "conversation: edit_file"),
        (vec![(Allow, "*")], vec![Allow, Deny], Deny, "conversation: edit_file"),
        (vec![], vec![Deny, Allow], Allow, "conversation: edit_file"),
        (vec![(Deny, "edit_file"), (Allow, "*")], vec![Allow], Deny, "operator: Deny edit_file"),
    ] {
        let decided = of_edit(&any, &operator(&rules), &tools(&sets));
        assert_eq!(decided, (verdict, by.to_owned()), "{rules:?} {sets:?}");
    }
}

#[test]
fn what_can_only_tighten_loosens_nothing() {
    use Verdict::{Allow, Ask, Deny};
    let asks = Rule { tightens: true, ..rule(Ask, "*", "{}") };
    for (own, verdict) in [(Allow, Ask), (Ask, Ask), (Deny, Deny)] {
        let tool = tool("shell", None, own);
        let call = Call::new(&tool, "{}");
        assert_eq!(decide(&call, std::slice::from_ref(&asks), &[]).verdict, verdict);
        let after = [rule(Allow, "shell", "{}"), asks.clone()];
        assert_eq!(decide(&call, &after, &[]).verdict, Ask, "the user allows it, the project asks");
    }
}

#[test]
fn a_server_is_named_by_a_pattern() {
    let of_server = Rule { server: Some("git*".into()), ..rule(Verdict::Allow, "*", "{}") };
    for (server, verdict) in
        [(None, Verdict::Ask), (Some("github"), Verdict::Allow), (Some("mail"), Verdict::Ask)]
    {
        let tool = tool("push", server, Verdict::Ask);
        let decided = decide(&Call::new(&tool, "{}"), std::slice::from_ref(&of_server), &[]);
        assert_eq!(decided.verdict, verdict, "{server:?}");
    }
    assert_eq!(of_server.to_string(), "* of git*");
}

#[test]
fn spelling_dodges_no_rule() {
    let deny = [rule(Verdict::Deny, "edit_file", r#"{"path":"secret/*"}"#)];
    for spelled in [
        r#"{"path":"secret/key"}"#,
        r#"{ "path" : "secret/key" }"#,
        r#"{"path":"\u0073ecret/key"}"#,
        r#"{"path":"secret\/key"}"#,
        r#"{"new":"b","path":"secret/key"}"#,
        r#"{"path":"./secret/key"}"#,
        r#"{"path":"secret//key"}"#,
        r#"{"path":"docs/../secret/key"}"#,
        r#"{"path":"secret/../secret/key"}"#,
        // What it may be is denied as well: `secret` may be a link.
        r#"{"path":"secret/../docs/a.md"}"#,
    ] {
        assert_eq!(of_edit(spelled, &deny, &[]).0, Verdict::Deny, "{spelled}");
    }
    // However the rule itself is spelled.
    let deny = [rule(Verdict::Deny, "edit_file", r#"{"path":"./secret//*"}"#)];
    assert_eq!(of_edit(&edit("secret/key"), &deny, &[]).0, Verdict::Deny);
    assert_eq!(of_edit(&edit("docs/key"), &deny, &[]).0, Verdict::Ask);
}

#[test]
fn what_can_be_read_in_two_ways_is_not_allowed_by_one() {
    let allow = [set(Verdict::Allow, "edit_file", r#"{"path":"docs/*"}"#)];
    assert_eq!(of_edit(&edit("docs/a/b.md"), &[], &allow).0, Verdict::Allow);
    for path in ["docs/../secret", "./docs/../x", "docs/../../etc/passwd", "docs", "a/docs/x"] {
        assert_eq!(of_edit(&edit(path), &[], &allow).0, Verdict::Ask, "{path}");
    }
    assert_eq!(of_edit(r#"{"old":"docs/a"}"#, &[], &allow).0, Verdict::Ask, "not there");
    assert_eq!(of_edit(r#"{"path":["docs/a"]}"#, &[], &allow).0, Verdict::Ask, "no text");
    // A newer rule that may speak of it does not hide an older one that does.
    let hidden = [
        set(Verdict::Deny, "edit_file", r#"{"path":"secret*"}"#),
        set(Verdict::Ask, "edit_file", r#"{"path":"docs/*"}"#),
    ];
    assert_eq!(of_edit(&edit("docs/../secret"), &[], &hidden).0, Verdict::Deny);
}

#[test]
fn addresses_keep_their_host() {
    let allow = [rule(Verdict::Allow, "edit_file", r#"{"path":"https://example.com/*"}"#)];
    assert_eq!(of_edit(&edit("https://example.com/a"), &allow, &[]).0, Verdict::Allow);
    assert_eq!(of_edit(&edit("https://example.com.evil/a"), &allow, &[]).0, Verdict::Ask);
}

#[test]
fn parameters_are_found_within_others_and_values_are_compared_as_json() {
    for (pattern, arguments, verdict) in [
        (r#"{"a.b":"x"}"#, r#"{"a":{"b":"x"}}"#, Verdict::Allow),
        (r#"{"a.b":"x"}"#, r#"{"a.b":"x"}"#, Verdict::Allow),
        (r#"{"a.b":"x"}"#, r#"{"a.b":"x","a":{"b":"y"}}"#, Verdict::Ask),
        (r#"{"n":"1"}"#, r#"{"n":1}"#, Verdict::Allow),
        (r#"{"n":"1"}"#, r#"{"n":"1"}"#, Verdict::Allow),
        (r#"{"n":"1"}"#, r#"{"n":1.0}"#, Verdict::Ask),
        (r#"{"on":"true"}"#, r#"{"on":true}"#, Verdict::Allow),
        (r#"{"none":"null"}"#, r#"{"none":null}"#, Verdict::Allow),
        (r#"{"list":"[1,*]"}"#, r#"{"list":[ 1, 2 ]}"#, Verdict::Allow),
        (r#"{"o":"{\"a\":1,\"b\":*}"}"#, r#"{"o":{"b":2,"a":1}}"#, Verdict::Allow),
        (r#"{"list":"[\"docs/*\"]"}"#, r#"{"list":["docs/../x"]}"#, Verdict::Ask),
        (r#"{"x":"*"}"#, r#"{"y":1}"#, Verdict::Ask),
        ("{}", "{}", Verdict::Allow),
    ] {
        let allow = [rule(Verdict::Allow, "edit_file", pattern)];
        assert_eq!(of_edit(arguments, &allow, &[]).0, verdict, "{pattern} on {arguments}");
    }
    let deny = [rule(Verdict::Deny, "edit_file", r#"{"n":"1"}"#)];
    assert_eq!(of_edit(r#"{"n":1.0}"#, &deny, &[]).0, Verdict::Deny, "it is the same number");
}

#[test]
fn a_rule_of_an_older_history_means_the_text_as_a_whole() {
    let old = [PolicySet {
        tool: "edit_file".into(),
        arguments: Some("*Oslo*".into()),
        verdict: Verdict::Allow,
    }];
    assert!(matches!(check(&old[0]), Err(PatternsRefused::NoObject(_))));
    assert_eq!(of_edit(r#"{"city":"Oslo"}"#, &[], &old).0, Verdict::Allow);
    assert_eq!(of_edit(r#"{"city":"Bergen"}"#, &[], &old).0, Verdict::Ask);
    assert_eq!(of_edit(r#"{"city":"Oslo"}"#, &[], &old).1, "conversation: edit_file *Oslo*");
}

#[test]
fn a_rule_that_cannot_be_set_says_why() {
    let refused = |tool: &str, arguments: &str| {
        check(&PolicySet {
            tool: tool.into(),
            arguments: Some(arguments.into()),
            verdict: Verdict::Deny,
        })
        .unwrap_err()
    };
    assert_eq!(refused(" ", "{}"), PatternsRefused::NoTool);
    for arguments in ["docs/*", "[]", r#"{"n":1}"#, r#"{"a":{"b":"c"}}"#, ""] {
        let told = refused("x", arguments).to_string();
        assert!(told.contains(r#"such as {"path":"docs/*"}"#), "{told}");
    }
    let long = format!(r#"{{"path":"{}"}}"#, "a".repeat(PATTERNS_CAP_BYTES));
    assert_eq!(refused("x", &long), PatternsRefused::TooMuch);
    let many: Vec<String> = (0..=PARAMETERS_CAP).map(|n| format!(r#""p{n}":"*""#)).collect();
    assert_eq!(refused("x", &format!("{{{}}}", many.join(","))), PatternsRefused::TooMuch);
}

#[test]
fn patterns_are_written_as_they_are_read() {
    let patterns = Patterns::read(r#"{"b":"two words","a":"x*"}"#).unwrap();
    assert_eq!(patterns.text(), r#"{"a":"x*","b":"two words"}"#);
    assert_eq!(Patterns::read(&patterns.text()), Ok(patterns.clone()));
    assert_eq!(patterns.to_string(), r#" a=x* b="two words""#);
}
