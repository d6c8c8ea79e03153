//! Rules for calls: of the config, of a project, of a conversation.

use insta::assert_snapshot;

use crate::home::Home;

const CONFIG: &str = ".config/threadline/config.toml";
const ASKS: &str = "turn\n call dev_ask {\"line\":\"x\"}\nthen\n say done\n";

/// A home whose config has these rules, beside a script.
fn ruled(script: &str, rules: &str) -> Home {
    let home = Home::new();
    home.follows(script);
    let config = String::from_utf8(home.read(CONFIG)).unwrap();
    home.write(CONFIG, format!("{config}\n{rules}"));
    home
}

#[test]
fn the_config_allows_asks_and_denies() {
    let rule = |verdict: &str, line: &str| {
        format!(
            "[[policy]]\ntool = \"dev_*\"\narguments = {{ line = \"{line}\" }}\nverdict = \"{verdict}\"\n"
        )
    };
    let home = ruled(ASKS, &rule("allow", "x*"));
    home.run(&["run", "go"]).ok();
    assert_eq!(home.ledger().len(), 1);
    let started = &home.bodies("last", "tool_started")[0];
    assert_eq!(started["authority"]["rule"], "operator: dev_* line=x*");

    let home = ruled(ASKS, &format!("{}{}", rule("deny", "*"), rule("allow", "x")));
    home.run(&["run", "go"]).ok();
    assert!(home.ledger().is_empty());
    let finished = home.bodies("last", "tool_finished")[0].to_string();
    assert!(finished.contains("a rule does not allow it (operator: dev_* line=*)"), "{finished}");

    let writes = "turn\n call dev_once {\"line\":\"x\"}\nthen\n say done\n";
    let home = ruled(writes, &rule("ask", "x"));
    assert_eq!(home.run(&["run", "go"]).code, 4);
    assert!(home.ledger().is_empty());
}

#[test]
fn where_nobody_is_asked_a_rule_can_be_set_and_the_task_goes_on() {
    let home = ruled(ASKS, "");
    let told = home.run(&["run", "go"]).fails(4);
    assert!(told.contains("a person must allow c6.0"), "{told}");
    assert!(told.contains("allow TOOL; then threadline resume"), "{told}");
    assert!(home.run(&["policy", "last"]).ok().starts_with("there are no rules"));
    let set = home.run(&["policy", "last", "allow", "dev_ask", "line=x"]).ok();
    assert_eq!(set, "dev_ask line=x is allowed in this conversation from now on\n");
    assert_eq!(home.run(&["resume", "last"]).ok(), "done\n");
    assert_eq!(home.ledger().len(), 1);
    assert_snapshot!(home.run(&["policy", "last"]).ok(), @r"
      allow dev_ask line=x  conversation
    else what a tool says of itself counts
    ");
}

#[test]
fn a_rule_that_cannot_be_set_is_told() {
    let home = ruled(ASKS, "");
    home.run(&["run", "go"]).fails(4);
    let told = home.run(&["policy", "last", "perhaps", "x"]).fails(1);
    assert!(told.contains("a rule is allow, ask or deny"), "{told}");
    let told = home.run(&["policy", "deny", "shell"]).fails(1);
    assert!(told.contains("threadline policy last deny shell"), "{told}");
}

#[test]
fn a_project_can_only_tighten() {
    let home = ruled(ASKS, "[[policy]]\ntool = \"dev_ask\"\nverdict = \"allow\"\n");
    home.write("threadline.toml", "[[policy]]\ntool = \"*\"\nverdict = \"allow\"\n");
    let told = home.run(&["run", "go"]).fails(1);
    assert!(told.contains("line 3: policy.verdict"), "{told}");
    assert!(told.contains("rules that ask or deny"), "{told}");
    home.write("threadline.toml", "[[policy]]\ntool = \"dev_*\"\nverdict = \"ask\"\n");
    assert_eq!(home.run(&["run", "go"]).code, 4, "the project asks though the user allows");
    assert!(home.ledger().is_empty());
    home.write("threadline.toml", "");
    home.run(&["run", "go"]).ok();
    assert_eq!(home.ledger().len(), 1);
    assert_snapshot!(home.run(&["policy"]).ok(), @r"
      allow dev_ask  operator
    else what a tool says of itself counts
    ");
}
