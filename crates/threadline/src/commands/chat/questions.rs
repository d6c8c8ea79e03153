//! Questions about calls: a person allows them or not, once or for good.

use std::time::Duration;

use threadline_core::clock::Clock as _;
use threadline_core::history::fact::{Answer, Verdict};
use threadline_core::id::CallId;
use threadline_core::inbox::{Body, Command};
use threadline_core::policy;
use tokio::time::timeout;

use super::super::question::{Question, person};
use super::slash::Slash;
use super::{Heard, Room, Then};
use crate::talk::To;
use crate::view::{Line, counted};
use crate::words;

const PROMPT: &str = "  allow it? y yes · n no · a always · d never · other words take over: ";

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

    /// Shows what is asked, and what the answers amount to.
    fn put(&mut self, question: &Question) -> anyhow::Result<()> {
        let id = self.within()?.id();
        question.put(id, self.view)?;
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
        let mut prompted = false;
        loop {
            if !std::mem::replace(&mut prompted, true) {
                self.view.prompt(PROMPT)?;
            }
            let left = question.until.millis_since(self.parts.clock.now());
            let Ok(heard) = timeout(Duration::from_millis(left), self.hear(true)).await else {
                self.new_line()?;
                self.view.line(&Line::new().dim("  nobody answered: it is not run"))?;
                self.within()?.start();
                return Ok(Asked::Next);
            };
            prompted = matches!(heard, Ok(Heard::News));
            let reply = match heard? {
                Heard::Line(line) => read(&line),
                Heard::Stop => {
                    self.within()?.cancel().await?;
                    self.new_line()?;
                    return Ok(Asked::Settled);
                }
                Heard::End => {
                    self.new_line()?;
                    return Ok(Asked::Left);
                }
                Heard::News => {
                    if self.question(question.call).await?.is_some() {
                        // What happens meanwhile is shown once it is answered.
                        continue;
                    }
                    self.new_line()?;
                    self.view.line(&Line::new().dim("  it was settled elsewhere"))?;
                    return Ok(Asked::Next);
                }
            };
            match reply {
                Ok(Reply::Once(answer)) => {
                    self.within()?.submit(question.answer(answer, person())).await?;
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
                    let told = format!("  {}", words::policy(&rule));
                    self.within()?.submit(question.answer(answer, person())).await?;
                    // Whatever else it speaks of is answered by it.
                    self.change(Body::Command(Command::SetPolicy(rule))).await?;
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
                    let route = self.route.clone();
                    let (to, said) = To::read(&text);
                    if to == To::Primary {
                        self.talk_mut()?.steer(question.agent, said, route).await?;
                        return Ok(Asked::Settled);
                    }
                    // Whoever else is spoken to does not change what is asked here.
                    if let Err(wrong) = self.talk_mut()?.say(&to, said, route).await {
                        self.wrong(&wrong.to_string());
                    }
                }
                Err(wrong) => self.wrong(&wrong),
            }
        }
    }

    /// What is asked about a call, if nobody has answered.
    async fn question(&self, call: CallId) -> anyhow::Result<Option<Question>> {
        let talk = self.within()?;
        let tools = &talk.runtime().world().setting.tools;
        Question::open(self.parts, tools, talk.id(), call).await
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
