//! Questions about calls: a person allows them or not.

use anyhow::Context as _;
use threadline_core::history::fact::{Answer, Approver, Digest, Fact};
use threadline_core::id::CallId;
use threadline_core::inbox::Body;
use threadline_core::store;

use super::{Heard, Room, Then};
use crate::view::Line;

/// A call that a person is asked about.
struct Question {
    tool: String,
    arguments: String,
    digest: Digest,
}

impl Room<'_> {
    /// Asks about calls one after the other. To stop instead cancels the turn.
    pub(super) async fn ask_about(&mut self, calls: &[CallId]) -> anyhow::Result<Then> {
        for call in calls {
            // It may have been answered elsewhere, or its time may be over.
            let Some(question) = self.question(*call).await? else { continue };
            let wants = Line::new().bad("? ").name(&question.tool).plain(" wants to run with");
            self.view.line(&wants)?;
            self.view.text(&question.arguments, "  ")?;
            let body = match self.yes_or_no().await? {
                Heard::Line(line) => {
                    let answer = if is_yes(&line) { Answer::Allow } else { Answer::Deny };
                    let by = Approver::Person { name: None };
                    Body::Approval { call: *call, digest: question.digest, answer, by }
                }
                Heard::Stop => Body::Cancel,
                Heard::End => {
                    self.new_line()?;
                    return Ok(Then::Leave);
                }
            };
            let cancels = body == Body::Cancel;
            self.within()?.submit(body).await?;
            if cancels {
                self.new_line()?;
                break;
            }
        }
        Ok(Then::GoOn)
    }

    async fn yes_or_no(&mut self) -> anyhow::Result<Heard> {
        loop {
            self.view.prompt("  allow it? [y/N] ")?;
            match self.hear().await? {
                Heard::Line(line) if is_yes(&line) || is_no(&line) => return Ok(Heard::Line(line)),
                Heard::Line(_) => self.view.line(&Line::new().dim("  y or n"))?,
                other @ (Heard::End | Heard::Stop) => return Ok(other),
            }
        }
    }

    /// What is asked about a call, if nobody has answered.
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
        // No arguments at all stand for an empty object.
        let raw = Some(&*wanted.arguments).filter(|raw| !raw.trim().is_empty()).unwrap_or("{}");
        Ok(Some(Question {
            tool: (*wanted.name).to_owned(),
            arguments: raw.to_owned(),
            digest: asked.digest,
        }))
    }
}

fn is_yes(line: &str) -> bool {
    matches!(&*line.trim().to_ascii_lowercase(), "y" | "yes")
}

/// No answer is no.
fn is_no(line: &str) -> bool {
    matches!(&*line.trim().to_ascii_lowercase(), "" | "n" | "no")
}
