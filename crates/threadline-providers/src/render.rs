//! All that a model is asked, as one text: what our own models take the digest of.

use serde::Serialize;
use threadline_core::context::{Body, Part, Screen};
use threadline_core::history::fact::Attachment;
use threadline_core::provider::{AnswerForm, Request, ToolChoice};

/// The version of this form: it changes when the text of any request does.
pub const VERSION: u32 = 1;

/// A request as text, a line for each thing that the model sees and is told.
///
/// Requests that ask the same give the same text, and others do not: texts are written as JSON,
/// so that no text can look like two. What a model does not see is left out: where a part came
/// from, at which level it is shown, what was reckoned for it.
pub fn canonical(request: &Request) -> String {
    let mut page = Page::default();
    page.line("target", &request.target.invocation);
    page.line("purpose", &request.purpose);
    match &request.choice {
        ToolChoice::Free => page.line("choice", &"free"),
        ToolChoice::Never => page.line("choice", &"never"),
        ToolChoice::Some => page.line("choice", &"some"),
        ToolChoice::Only(name) => page.line("choice", &["only", name]),
    }
    match &request.form {
        AnswerForm::Text => page.line("form", &"text"),
        AnswerForm::Json { name, schema } => page.line("form", &["json", name, schema]),
    }
    page.line("options", &request.options);
    for tool in request.catalogue.tools() {
        page.line("tool", &(&tool.name, &tool.description, &tool.schema, tool.strict));
    }
    for (digest, bytes) in &request.media {
        page.line("media", &(digest, bytes.len()));
    }
    page.line("system", &request.context.system.text);
    for part in &request.context.parts {
        page.part(part);
    }
    page.0
}

#[derive(Default)]
struct Page(String);

impl Page {
    fn part(&mut self, part: &Part) {
        match &part.body {
            Body::Input(input) => {
                self.line("input", &input.text);
                self.attachments(&input.attachments);
                self.screen(input.screen.as_ref());
            }
            Body::Output(output) => {
                self.line("output", &(&output.invocation, output.stop));
                for block in &output.blocks {
                    self.line("block", block);
                }
            }
            Body::Results(results) => {
                self.line("results", &results.results.len());
                for result in &results.results {
                    self.line("result", &(result.call, &result.name, result.status, &result.text));
                    self.attachments(&result.attachments);
                }
                self.screen(results.screen.as_ref());
            }
        }
    }

    fn attachments(&mut self, attachments: &[Attachment]) {
        for attachment in attachments {
            self.line("attachment", attachment);
        }
    }

    fn screen(&mut self, screen: Option<&Screen>) {
        if let Some(screen) = screen {
            self.line("screen", &screen.text);
        }
    }

    fn line(&mut self, what: &str, value: &impl Serialize) {
        // Texts, numbers and lists of them can always be written.
        let json = serde_json::to_string(value).unwrap_or_default();
        self.0.push_str(what);
        self.0.push(' ');
        self.0.push_str(&json);
        self.0.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use threadline_core::history::fact::Status;

    use super::*;
    use crate::testing::Story;

    fn story() -> Story {
        Story::new()
            .says("add 2 and 3")
            .screen("## Notebook\n\n(empty)")
            .calls("calculator", r#"{"expression":"2 + 3"}"#)
            .gets(Status::Success, "5")
    }

    #[test]
    fn a_request_is_rendered_whole() {
        insta::assert_snapshot!(canonical(&story().request()), @r##"
        target {"provider":"test","endpoint":"here","dialect":"none","model":"test"}
        purpose "step"
        choice "free"
        form "text"
        options {}
        tool ["calculator","a tool","{\"type\":\"object\"}",false]
        tool ["read_file","a tool","{\"type\":\"object\"}",false]
        tool ["recall","a tool","{\"type\":\"object\"}",false]
        tool ["notebook_append","a tool","{\"type\":\"object\"}",false]
        tool ["notebook_replace","a tool","{\"type\":\"object\"}",false]
        system ""
        input "add 2 and 3"
        screen "# [Live Screen]\n\n## Notebook\n\n(empty)"
        output [{"provider":"test","endpoint":"here","dialect":"none","model":"test"},"done"]
        block {"tool_call":{"name":"calculator","arguments":"{\"expression\":\"2 + 3\"}"}}
        results 1
        result ["c2.0","calculator","success","5"]
        "##);
    }

    #[test]
    fn what_differs_renders_differently() {
        let base = canonical(&story().request());
        assert_eq!(base, canonical(&story().request()));
        let mut other = story().request();
        other.choice = ToolChoice::Never;
        assert_ne!(base, canonical(&other));
        let two = Story::new().says("a").says("b").request();
        let one = Story::new().says("a\"\ninput \"b").request();
        assert_ne!(canonical(&two), canonical(&one));
        assert_ne!(base, canonical(&story().screen("## Notebook\n\nx").request()));
    }
}
