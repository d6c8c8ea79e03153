//! Questions about calls: a person allows them or not, once or for good.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use threadline_core::clock::{Clock as _, Timestamp};
use threadline_core::history::fact::{Answer, Approver, Digest, Effect, Fact, PolicySet, Verdict};
use threadline_core::id::CallId;
use threadline_core::inbox::{Body, Command};
use threadline_core::policy::{self, Patterns};
use threadline_core::store;
use threadline_core::tool::{Handling, ToolSpec};
use tokio::time::timeout;

use super::arguments::{Shown, shown, text_of};
use super::slash::Slash;
use super::{Heard, Room, Then};
use crate::view::{Line, counted};

const PROMPT: &str = "  allow it? y yes · n no · a always · d never · other words take over: ";

/// A call that a person is asked about.
struct Question {
    call: CallId,
    tool: Arc<ToolSpec>,
    /// The very arguments that it would run with.
    arguments: Arc<str>,
    digest: Digest,
    /// What was mended in them.
    warnings: Vec<String>,
    until: Timestamp,
}

/// What a person says to a question.
#[derive(Debug, PartialEq, Eq)]
enum Reply {
    Once(Answer),
    /// For the rest of the conversation.
    Always(Answer),
    Command(Slash),
    Message(String),
}

/// What came of asking.
enum Asked {
    /// On to the next question.
    Next,
    /// All of them are settled by it.
    Settled,
    Left,
}

impl Room<'_> {
    /// Asks about calls one after the other. To stop instead cancels the turn, and anything that
    /// is no answer is a message that takes over.
    pub(super) async fn ask_about(&mut self, calls: &[CallId]) -> anyhow::Result<Then> {
        for call in calls {
            // It may have been answered elsewhere, or by a rule, or its time may be over.
            let Some(question) = self.question(*call).await? else { continue };
            self.put(&question)?;
            match self.ask(&question).await? {
                Asked::Next => {}
                Asked::Settled => break,
                Asked::Left => return Ok(Then::Leave),
            }
        }
        Ok(Then::GoOn)
    }

    /// Shows what is asked: the tool, what running it does, and the very arguments.
    fn put(&mut self, question: &Question) -> anyhow::Result<()> {
        let Question { call, tool, arguments, warnings, .. } = question;
        let wants = Line::new().bad("? ").name(&*tool.name).plain(" wants to run; ");
        self.view.line(&wants.dim(words_of(tool)))?;
        let Shown { lines, left_out } = shown(arguments);
        for line in &lines {
            self.view.text(line, "  ")?;
        }
        if left_out > 0 {
            let bytes = counted(u64::try_from(left_out).unwrap_or(u64::MAX), "byte", "bytes");
            let (id, seq) = (self.within()?.id(), call.output);
            let see = format!("threadline show {id} --all --from {seq} --to {seq} --json");
            let told = format!("  {bytes} of it are not shown here; all of it: {see}");
            self.view.line(&Line::new().bad(told))?;
        }
        for warning in warnings {
            self.view.line(&Line::new().dim(format!("  {warning}")))?;
        }
        let now = self.parts.clock.now();
        let minutes = counted(question.until.millis_since(now).div_ceil(60_000), "min", "min");
        let for_good = match question.for_good(Verdict::Allow) {
            Some(rule) => format!("always and never are about {}", policy::line_of(&rule)),
            None => "always and never need a rule of your own: /policy".to_owned(),
        };
        let told = format!("  {for_good} in this conversation; no answer in {minutes} means no");
        self.view.line(&Line::new().dim(told))?;
        Ok(())
    }

    async fn ask(&mut self, question: &Question) -> anyhow::Result<Asked> {
        loop {
            self.view.prompt(PROMPT)?;
            let left = question.until.millis_since(self.parts.clock.now());
            let Ok(heard) = timeout(Duration::from_millis(left), self.hear()).await else {
                self.new_line()?;
                self.view.line(&Line::new().dim("  nobody answered: it is not run"))?;
                self.within()?.start();
                return Ok(Asked::Next);
            };
            let reply = match heard? {
                Heard::Line(line) => read(&line),
                Heard::Stop => {
                    self.within()?.submit(Body::Cancel).await?;
                    self.new_line()?;
                    return Ok(Asked::Settled);
                }
                Heard::End => {
                    self.new_line()?;
                    return Ok(Asked::Left);
                }
            };
            match reply {
                Ok(Reply::Once(answer)) => {
                    self.within()?.submit(question.answer(answer)).await?;
                    return Ok(Asked::Next);
                }
                Ok(Reply::Always(answer)) => {
                    let verdict = match answer {
                        Answer::Allow => Verdict::Allow,
                        Answer::Deny => Verdict::Deny,
                    };
                    let Some(rule) = question.for_good(verdict) else {
                        self.wrong("this call has a * where a rule would name it: answer y or n");
                        continue;
                    };
                    let told = format!("  {}", super::super::policy::done(&rule));
                    self.within()?.submit(question.answer(answer)).await?;
                    // Whatever else it speaks of is answered by it.
                    self.within()?.change(Body::Command(Command::SetPolicy(rule))).await?;
                    self.view.line(&Line::new().dim(told))?;
                    return Ok(Asked::Next);
                }
                Ok(Reply::Command(Slash::Exit)) => return Ok(Asked::Left),
                Ok(Reply::Command(slash)) => {
                    if let Err(error) = self.obey(&slash).await {
                        self.wrong(&crate::report::chain(&error));
                    }
                    if self.question(question.call).await?.is_none() {
                        return Ok(Asked::Next);
                    }
                }
                Ok(Reply::Message(text)) => {
                    self.within()?.steer(&text, self.route.clone()).await?;
                    return Ok(Asked::Settled);
                }
                Err(wrong) => self.wrong(&wrong),
            }
        }
    }

    /// What is asked about a call, if nobody has answered: with the arguments made once more from
    /// what the model wrote, as the driver made them.
    async fn question(&self, call: CallId) -> anyhow::Result<Option<Question>> {
        let (store, id) = (&*self.parts.store, self.within()?.id());
        let (_, history) = store::open(store, id, &self.parts.counter).await?;
        let open = history.state().agents.values().flat_map(|agent| agent.open_calls());
        let asked = open.filter(|(open, _)| *open == call).find_map(|(_, call)| call.approval);
        let Some(asked) = asked.filter(|asked| asked.answer.is_none()) else { return Ok(None) };
        let records = store.records(id, &[call.output]).await?;
        let record = records.first().context("the call is gone")?;
        let Fact::Output(output) = record.open()?.fact else { return Ok(None) };
        let Some(wanted) = usize::try_from(call.index).ok().and_then(|n| output.calls().nth(n))
        else {
            return Ok(None);
        };
        let tools = &self.within()?.runtime().world().setting.tools;
        let tool = tools.spec(&wanted.name).map(Arc::clone);
        let fit = tools.validate(&wanted.name, &wanted.arguments).and_then(Result::ok);
        let (Some(tool), Some(fit)) = (tool, fit) else {
            anyhow::bail!("call {call} asks for {}, which there is no more here", wanted.name);
        };
        anyhow::ensure!(
            Digest::of(fit.text.as_bytes()) == asked.digest,
            "call {call} was asked about with other arguments than it would run with now; it is not run"
        );
        Ok(Some(Question {
            call,
            tool,
            arguments: fit.text,
            digest: asked.digest,
            warnings: fit.warnings,
            until: asked.until,
        }))
    }
}

impl Question {
    fn answer(&self, answer: Answer) -> Body {
        let by = Approver::Person { name: None };
        Body::Approval { call: self.call, digest: self.digest, answer, by }
    }

    /// The rule for calls like this one: the tool, and the very path if it has one. None if the
    /// rule would speak of more than that.
    fn for_good(&self, verdict: Verdict) -> Option<PolicySet> {
        let tool = Arc::clone(&self.tool.name);
        let Some(path) = text_of(&self.arguments, "path") else {
            return Some(PolicySet { tool, arguments: None, verdict });
        };
        if path.contains('*') {
            return None;
        }
        let patterns = Patterns::new([("path".into(), path.into())]).ok()?;
        Some(PolicySet { tool, arguments: Some(patterns.text().into()), verdict })
    }
}

/// What running a tool does, in words.
fn words_of(tool: &ToolSpec) -> String {
    let does = match tool.handling {
        Handling::Recorded => "it changes nothing but this conversation",
        Handling::Run(rules) => match rules.effect {
            Effect::Read => "it only reads",
            Effect::Idempotent => "it has an effect, and may run again",
            Effect::Once => "it has an effect, and must run once only",
        },
    };
    match &tool.server {
        Some(server) => format!("{does}; on the server {server}"),
        None => does.to_owned(),
    }
}

/// What a line says to a question. No answer is no.
fn read(line: &str) -> Result<Reply, String> {
    let trimmed = line.trim();
    Ok(match &*trimmed.to_ascii_lowercase() {
        "y" | "yes" => Reply::Once(Answer::Allow),
        "" | "n" | "no" => Reply::Once(Answer::Deny),
        "a" | "always" => Reply::Always(Answer::Allow),
        "d" | "never" => Reply::Always(Answer::Deny),
        _ => match trimmed.strip_prefix('/') {
            Some(text) if text.starts_with('/') => Reply::Message(text.to_owned()),
            Some(_) => Reply::Command(Slash::read(trimmed)?),
            None => Reply::Message(line.to_owned()),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_answer_a_command_or_a_message() {
        for (line, reply) in [
            ("y", Reply::Once(Answer::Allow)),
            (" YES ", Reply::Once(Answer::Allow)),
            ("", Reply::Once(Answer::Deny)),
            ("no", Reply::Once(Answer::Deny)),
            ("a", Reply::Always(Answer::Allow)),
            ("d", Reply::Always(Answer::Deny)),
            ("/exit", Reply::Command(Slash::Exit)),
            ("//x", Reply::Message("/x".to_owned())),
            ("yes, but in docs", Reply::Message("yes, but in docs".to_owned())),
        ] {
            assert_eq!(read(line), Ok(reply), "{line:?}");
        }
        assert!(read("/frobnicate").is_err());
    }
}
