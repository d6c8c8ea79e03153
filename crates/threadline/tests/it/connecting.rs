//! Connecting models: the config, a project's file, what is listed, and a model that answers.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use crate::home::Home;

const CONFIG: &str = ".config/threadline/config.toml";
const KEY: &str = "sk-never-to-be-seen";

/// A server that streams the same chat answer to whoever asks, and lists one model.
fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            let mut buffer = [0; 4096];
            while !is_whole(&request) {
                match stream.read(&mut buffer) {
                    Ok(0) | Err(_) => break,
                    Ok(read) => request.extend_from_slice(&buffer[..read]),
                }
            }
            let text = String::from_utf8_lossy(&request).into_owned();
            let authorised = text.to_lowercase().contains("authorization: bearer sk-");
            let (status, kind, body) = if !authorised {
                let body = r#"{"error":{"message":"no such key","code":"invalid_api_key"}}"#;
                ("401 Unauthorized", "application/json", body.to_owned())
            } else if text.starts_with("GET /v1/models") {
                let body = r#"{"data":[{"id":"parrot","max_model_len":32000}]}"#;
                ("200 OK", "application/json", body.to_owned())
            } else if text.contains("leak the key") {
                // The key as it is, cut in two, and in base64.
                let chunks = [
                    r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"It is sk-never-"}}]}"#,
                    r#"{"choices":[{"index":0,"delta":{"content":"to-be-seen, c2stbmV2ZXItdG8tYmUtc2Vlbg=="},"finish_reason":"stop"}]}"#,
                    "[DONE]",
                ];
                let body = chunks.map(|chunk| format!("data: {chunk}\n\n")).concat();
                ("200 OK", "text/event-stream", body)
            } else {
                let chunks = [
                    r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"Polly wants "}}]}"#,
                    r#"{"choices":[{"index":0,"delta":{"content":"a cracker."},"finish_reason":"stop"}]}"#,
                    r#"{"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":4}}"#,
                    "[DONE]",
                ];
                let body = chunks.map(|chunk| format!("data: {chunk}\n\n")).concat();
                ("200 OK", "text/event-stream", body)
            };
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            // Whoever hangs up has seen enough.
            drop(stream.write_all((head + &body).as_bytes()));
        }
    });
    address
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    body.len() >= length.map_or(0, |length| length.trim().parse().unwrap())
}

/// A home whose config knows a server, by a key in the environment.
fn parrot(address: &str) -> Home {
    let home = Home::new();
    let config = format!(
        "[endpoints.cage]\nbase_url = \"{address}\"\ndialect = \"openai-chat\"\nkey = {{ env = \"CAGE_KEY\" }}\n\
         [models.parrot]\nendpoint = \"cage\"\nwindow_tokens = 32000\n\
         [routes.talk]\nmodels = [\"parrot\", \"guide\"]\nstrategy = \"fallback\"\n"
    );
    home.write(CONFIG, config);
    home
}

#[test]
fn a_connected_model_answers() {
    let home = parrot(&server());
    let set = [("CAGE_KEY", KEY)];
    let ran = home.run_with(&set, &["run", "speak", "--model", "parrot", "--json"]).json();
    assert_eq!(ran["answer"], "Polly wants a cracker.");
    // The first of the config is the one that is asked.
    assert_eq!(home.run_with(&set, &["run", "speak"]).ok(), "Polly wants a cracker.\n");
    let asked = home.bodies("last", "invocation_started");
    assert_eq!(asked[0]["invocation"]["endpoint"], "cage");
    // One conversation goes on with another model.
    let again =
        home.run_with(&set, &["run", "add 2 and 3", "--continue", "last", "--model", "guide"]);
    assert!(again.ok().contains('5'));
    let shown = home.run(&["show", "last", "--all", "--json"]).ok();
    assert!(!shown.contains(KEY), "a history holds no key");
}

#[test]
fn an_answer_that_repeats_the_key_is_redacted_wherever_it_goes() {
    let home = parrot(&server());
    let captures = home.path("captures");
    let set = [("CAGE_KEY", KEY), ("THREADLINE_CAPTURE", captures.to_str().unwrap())];
    let ran = home.run_with(&set, &["--log", "all", "run", "leak the key", "--model", "parrot"]);
    assert_eq!(ran.ok(), "It is [redacted: CAGE_KEY], [redacted: CAGE_KEY]\n");
    // No file that the program made has it, in any form.
    let mut files = Vec::new();
    let mut folders = vec![home.path(".local"), captures];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    assert!(files.len() >= 4, "{files:?}");
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(KEY) && !text.contains("c2stbmV2ZXItdG8tYmUtc2Vl"), "{file:?}");
    }
}

#[test]
fn without_its_key_a_model_is_passed_over() {
    let home = parrot("http://127.0.0.1:1/v1");
    let ran = home.run(&["run", "add 2 and 3"]).ok();
    assert!(ran.contains('5'), "{ran}");
    let told = home.run(&["run", "speak", "--model", "parrot", "--json"]).shown();
    assert!(told.contains("CAGE_KEY is not set"), "{told}");
}

#[test]
fn models_are_listed_with_why_one_cannot_be_asked() {
    let home = parrot("http://127.0.0.1:1/v1");
    let listed = home.run(&["models", "--json"]).json();
    let names: Vec<&str> =
        listed["models"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["parrot", "guide"]);
    assert_eq!(listed["models"][0]["why_not"], "CAGE_KEY is not set");
    assert_eq!(listed["models"][0]["routes"][0], "talk");
    let shown = home.run(&["models"]).ok();
    assert!(shown.contains("set OPENAI_API_KEY"), "{shown}");
    let all = home.run(&["models", "--all"]).ok();
    assert!(all.contains("claude-opus-5 "), "{all}");
}

#[test]
fn the_doctor_tests_connections() {
    let address = server();
    let home = parrot(&address);
    let well = home.run_with(&[("CAGE_KEY", KEY)], &["doctor"]).ok();
    assert!(well.contains("answers with 1 model"), "{well}");
    let set = [("CAGE_KEY", KEY)];
    let other = home.run_with(&set, &["doctor", "--model", "cage/parot"]);
    assert!(other.shown().contains("did you mean parrot?"));
    let ill = home.run_with(&[("CAGE_KEY", "wrong-key")], &["doctor"]);
    let told = ill.shown();
    assert!(told.contains("check the environment variable CAGE_KEY"), "{told}");
    assert!(!told.contains("wrong-key"), "{told}");
    let told = home.run(&["doctor"]).shown();
    assert!(told.contains("CAGE_KEY is not set"), "{told}");
}

#[test]
fn mistakes_in_a_config_name_line_and_key() {
    for (config, wanted) in [
        (
            "[endpoints.x]\nprovidr = \"openai\"\n",
            &["line 2", "endpoints.x.providr", "did you mean provider?"][..],
        ),
        (
            "[endpoints.x]\nprovider = \"openai\"\nkey = \"sk-secret\"\n",
            &["line 3", "endpoints.x.key", "{ env ="],
        ),
        (
            "[endpoints.x]\napi_key = \"abc\"\n",
            &["line 2", "endpoints.x.api_key", "does not belong"],
        ),
        ("[endpoints.x]\nbase_url = \"sk-secret\"\n", &["line 2", "does not belong"]),
        (
            "[models.x]\nwindow_token = 5\n",
            &["line 2", "models.x.window_token", "did you mean window_tokens?"],
        ),
        ("[models.x]\nwindow_tokens = \"many\"\n", &["line 2", "models.x.window_tokens"]),
        (
            "[models.x]\nquirks = { system_rol = \"x\" }\n",
            &["line 2", "quirks", "did you mean system_role?"],
        ),
        (
            "[routes.x]\nmodels = [\"guide\"]\nstrategy = \"best\"\n",
            &["line 3", "routes.x.strategy", "fallback"],
        ),
        ("[limits]\nturn_cost = \"a lot\"\n", &["line 2", "limits.turn_cost", "dollars"]),
        ("[agents.a]\nthinking = \"hard\"\n", &["line 2", "agents.a.thinking", "adaptive"]),
        ("[agents.a]\ntemperature = 3\n", &["line 2", "from 0 to 2"]),
        ("[limits]\napproval_minutes = 0\n", &["line 2", "limits.approval_minutes"]),
        (
            "[[policy]]\ntool = \"a\"\nverdict = \"ask\"\n[[policy]]\ntool = \"b\"\nverdict = \"maybe\"\n",
            &["line 6", "policy.verdict", "`allow`, `ask`, `deny`"],
        ),
        (
            "[[policy]]\ntool = \"a\"\nverdikt = \"ask\"\n",
            &["line 3", "policy.verdikt", "did you mean verdict?"],
        ),
        ("[[policy]]\nverdict = \"ask\"\n", &["line 1", "policy", "missing field `tool`"]),
        (
            "[[policy]]\ntool = \"a\"\narguments = { path = \"docs/*\" }\nverdict = \"allow\"\nmatches = [{ path = \"docs/a\" }, { path = \"docs/../a\" }]\n",
            &["line 5", "policy.matches", "does not speak of its example 2"],
        ),
        (
            "[[policy]]\ntool = \"a\"\nverdict = \"deny\"\nnot_matches = [{ path = \"x\" }]\n",
            &["line 4", "policy.not_matches", "speaks of its example 1"],
        ),
        ("\n\n[endpoints\n", &["line 3"]),
        ("a = 1\na = 2\n", &["line 2"]),
    ] {
        let home = Home::new();
        home.write(CONFIG, config);
        let told = home.run(&["models"]).fails(1);
        for part in wanted {
            assert!(told.contains(part), "{config}\n{told}\nlacks {part}");
        }
        assert!(!told.contains("secret") && !told.contains("abc"), "{told}");
    }
}

#[test]
fn garbage_is_no_config() {
    let home = Home::new();
    for garbage in [&b"\xff\xfe\x00d\x00b"[..], b"\x00\x00\x00", b"{\"db\": 1}", b"[[[[", b"= = ="]
    {
        home.write(CONFIG, garbage);
        assert!(home.run(&["models"]).fails(1).contains("the config file"));
    }
    // An editor's mark at the beginning is no mistake, and neither are its line endings.
    home.write(CONFIG, b"\xef\xbb\xbfdb = \"x.db\"\r\n");
    home.run(&["list"]).ok();
    assert!(home.path(".config/threadline/x.db").exists());
}

#[test]
fn a_project_may_choose_but_not_define() {
    let home = parrot(&server());
    let set = [("CAGE_KEY", KEY)];
    home.write("threadline.toml", "model = \"guide\"\n[limits]\nsteps = 9\n");
    assert!(home.run_with(&set, &["run", "add 2 and 3"]).ok().contains('5'));
    let evil =
        "[endpoints.cage]\nbase_url = \"http://evil.example/v1\"\ndialect = \"openai-chat\"\n";
    home.write("threadline.toml", evil);
    let told = home.run_with(&set, &["run", "speak"]).fails(1);
    assert!(told.contains("line 1: endpoints.cage"), "{told}");
    assert!(told.contains("threadline trust"), "{told}");
    // What does not drive agents is not stopped by somebody's folder.
    home.run(&["list"]).ok();
}

#[test]
fn trust_is_in_one_exact_file() {
    let home = parrot(&server());
    let set = [("CAGE_KEY", KEY)];
    home.write("threadline.toml", "[routes.mine]\nmodels = [\"parrot\"]\n");
    home.run_with(&set, &["run", "speak", "--route", "mine"]).fails(1);
    let told = home.run(&["trust"]).ok();
    assert!(told.contains("routes.mine"), "{told}");
    assert_eq!(
        home.run_with(&set, &["run", "speak", "--route", "mine"]).ok(),
        "Polly wants a cracker.\n"
    );
    home.write("threadline.toml", "[routes.mine]\nmodels = [\"guide\"]\n");
    home.run_with(&set, &["run", "speak", "--route", "mine"]).fails(1);
    home.run(&["trust", "threadline.toml"]).ok();
    home.run(&["trust", "--remove"]).ok();
    home.run_with(&set, &["run", "speak", "--route", "mine"]).fails(1);
    assert!(home.run(&["trust", "nowhere.toml"]).fails(1).contains("could not read"));
}

#[test]
fn the_environment_beats_the_files() {
    let home = parrot(&server());
    let set = [("CAGE_KEY", KEY), ("THREADLINE_MODEL", "guide")];
    assert!(home.run_with(&set, &["run", "add 2 and 3"]).ok().contains('5'));
    let ran = home.run_with(&set, &["run", "speak", "--route", "talk"]).ok();
    assert_eq!(ran, "Polly wants a cracker.\n");
    let told = home.run(&["run", "x", "--model", "guid"]).fails(1);
    assert!(told.contains("did you mean guide?"), "{told}");
}

#[test]
fn an_agent_is_defined_in_the_config() {
    let home = Home::new();
    home.write(
        CONFIG,
        "[agents.sums]\ninstruction = \"Only sums.\"\ntools = [\"calculator\"]\nwidgets = []\nmax_output_tokens = 99\n",
    );
    home.run(&["run", "add 2 and 3", "--agent", "sums"]).ok();
    let joined = &home.bodies("last", "agent_joined")[0];
    assert_eq!(joined["name"], "sums");
    assert_eq!(joined["tools"], serde_json::json!(["calculator"]));
    assert_eq!(joined["options"]["max_output_tokens"], 99);
    assert!(home.run(&["run", "x", "--agent", "sum"]).fails(1).contains("did you mean sums?"));
}

#[test]
fn the_wire_can_be_seen() {
    let home = parrot("http://127.0.0.1:1/v1");
    home.run(&["run", "add 2 and 3", "--model", "guide"]).ok();
    for (model, dialect) in [
        ("parrot", "openai-chat"),
        ("openai/gpt-5", "openai-responses"),
        ("claude-sonnet-5", "anthropic"),
        ("gemini-2.5-pro", "gemini"),
    ] {
        let set = [("OPENAI_API_KEY", KEY), ("CAGE_KEY", KEY)];
        let arguments = ["wire", "encode", "--model", model, "--json"];
        let told = home.run_with(&set, &arguments);
        assert!(!told.shown().contains(KEY));
        let told = told.json();
        assert_eq!(told["dialect"], dialect);
        assert_eq!(told["method"], "POST");
        home.write("body.json", told["body"].to_string());
        let checked = home.run(&["wire", "check", "--dialect", dialect, "body.json"]);
        checked.ok();
        home.run_with(&set, &["wire", "encode", "--model", model, "--at", "3"]).ok();
    }
    home.write("body.json", "{\"model\":\"m\",\"messages\":[]}");
    let broken = home.run(&["wire", "check", "--dialect", "openai-chat", "body.json", "--json"]);
    assert!(broken.shown().contains("\"violations\":[{"));
    assert!(home.run(&["wire", "encode", "--model", "guide"]).fails(1).contains("built in"));
}

#[test]
fn a_captured_answer_is_read() {
    let home = Home::new();
    let sse = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\r\n\r\ndata: [DONE]\r\n\r\n";
    let line =
        "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n";
    let decode = ["wire", "decode", "--dialect", "openai-chat", "--json", "-"];
    for bytes in [sse, line] {
        let told = home.feed(bytes.as_bytes(), &decode).json();
        assert_eq!(told["output"]["blocks"], serde_json::json!([{"type": "text", "text": "Hi"}]));
        assert_eq!(told["output"]["stop"], "done");
        assert_eq!(told["error"], serde_json::Value::Null);
    }
    let half = sse.split("finish_reason").next().unwrap();
    for bytes in [half.as_bytes(), b"", b"\xff\xff", b"<html>", b"data: {\n\n"] {
        let told = home.feed(bytes, &decode).json();
        assert_eq!(told["output"]["stop"], serde_json::Value::Null);
        assert!(told["error"]["kind"].is_string(), "{told}");
    }
    assert!(
        home.run(&["wire", "decode", "--dialect", "gemini", "nowhere"])
            .fails(1)
            .contains("could not read")
    );
    home.run(&["wire", "decode", "--dialect", "klingon", "x"]).fails(2);
}

#[test]
fn a_chat_can_change_its_model() {
    let home = parrot(&server());
    let mut command = home.command(&["chat", "--model", "guide"]);
    command.env("CAGE_KEY", KEY);
    let said = "/model\nadd 2 and 3\n/model parrot\nspeak\n/model nobody\n";
    let shown = home.feed_command(command, said.as_bytes()).shown();
    assert!(shown.contains("2 + 3 = 5."), "{shown}");
    assert!(shown.contains("Polly wants a cracker."), "{shown}");
    assert!(shown.contains("there is no model or route named \"nobody\""), "{shown}");
    // One that nobody has spoken of yet is found by its endpoint.
    let mut command = home.command(&["chat", "--model", "guide", "--json"]);
    command.env("CAGE_KEY", KEY);
    let shown = home.feed_command(command, b"/model cage/macaw\nspeak\n").shown();
    assert!(shown.contains("cage/macaw answers from the next message on"), "{shown}");
    assert!(shown.contains("Polly wants a cracker."), "{shown}");
}
