//! The examples of the library: each runs, and is short.

#![allow(dead_code, reason = "nobody calls the examples' main here")]

#[path = "../../examples/custom_provider.rs"]
mod custom_provider;
#[path = "../../examples/custom_tool.rs"]
mod custom_tool;
#[path = "../../examples/hello.rs"]
mod hello;
#[path = "../../examples/logging_store.rs"]
mod logging_store;
#[path = "../../examples/resume.rs"]
mod resume;

use std::fs;

use insta::assert_snapshot;

#[test]
fn each_is_short() {
    let folder = format!("{}/examples", env!("CARGO_MANIFEST_DIR"));
    let mut seen = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines < 70, "{} has {lines} lines", path.display());
        seen += 1;
    }
    assert_eq!(seen, 5);
}

#[tokio::test]
async fn hello_talks() {
    let folder = tempfile::tempdir().unwrap();
    let said = hello::run(&folder.path().join("x.db")).await.unwrap();
    assert_snapshot!(said, @r#"
    > add 2 and 3
    2 + 3 = 5.
    > remember that I like tea
    I will remember: I like tea
    > what do you remember?
    I remember:

    - I like tea
    "#);
}

#[tokio::test]
async fn a_tool_of_ones_own_is_called() {
    let folder = tempfile::tempdir().unwrap();
    let said = custom_tool::run(&folder.path().join("x.db")).await.unwrap();
    assert_eq!(said, "It is team.");
}

#[tokio::test]
async fn a_model_of_ones_own_answers() {
    let folder = tempfile::tempdir().unwrap();
    let said = custom_provider::run(&folder.path().join("x.db")).await.unwrap();
    assert!(said.starts_with("I was asked ") && said.ends_with(" words."), "{said}");
}

#[tokio::test]
async fn what_was_given_up_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let said = resume::run(&folder.path().join("x.db")).await.unwrap();
    assert_eq!(said, "2 + 3 = 5.");
}

#[tokio::test]
async fn a_wrapped_store_sees_every_call() {
    let folder = tempfile::tempdir().unwrap();
    let calls = logging_store::run(&folder.path().join("x.db")).await.unwrap();
    for (call, times) in [("create", 1), ("enqueue", 1), ("claim", 1), ("append", 4)] {
        assert_eq!(calls.get(call), Some(&times), "{calls:?}");
    }
}
