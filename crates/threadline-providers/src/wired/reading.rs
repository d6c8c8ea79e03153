//! An answer as it is read: bytes become events, events become deltas.

use std::time::Duration;

use serde_json::value::RawValue;
use threadline_core::history::metadata::Metadata;
use threadline_core::provider::Delta;
use tokio::time::{Instant, timeout, timeout_at};

use super::odd;
use crate::capture::Recording;
use crate::dialect::Decode;
use crate::failed::Failed;
use crate::http::Body;
use crate::sse::{Event, Frame, Sse, TooLarge};

/// How much is kept of lines that belong to no event.
const STRAY_CAP_BYTES: usize = 64 * 1024;
/// How long the end of the bytes is waited for once the answer has ended: a connection of which
/// all is read is used again.
const LAST_BYTES: Duration = Duration::from_millis(20);

/// An answer that is being read.
pub(super) struct Reading {
    body: Body,
    sse: Sse,
    taking: Taking,
    recording: Option<Recording>,
    /// What the head told.
    head: Metadata,
    /// How long is waited for an event, and until when.
    event_timeout: Duration,
    deadline: Instant,
}

/// What is made of the parts of the stream.
struct Taking {
    decoder: Box<dyn Decode>,
    /// Lines that belong to no event.
    strays: String,
    events: u64,
    finished: bool,
}

impl Reading {
    pub(super) fn new(
        body: Body,
        decoder: Box<dyn Decode>,
        recording: Option<Recording>,
        event_timeout: Duration,
        head: Metadata,
    ) -> Self {
        let taking = Taking { decoder, strays: String::new(), events: 0, finished: false };
        let (sse, deadline) = (Sse::default(), Instant::now() + event_timeout);
        Self { body, sse, taking, recording, head, event_timeout, deadline }
    }

    /// Reads some more and adds what it means; whether more may come. What was added before an
    /// error counts.
    pub(super) async fn more(&mut self, out: &mut Vec<Delta>) -> Result<bool, Failed> {
        let more = self.try_more(out).await;
        more.map_err(|failed| {
            let metadata = self.head.joined(&failed.metadata);
            Failed { metadata, ..failed }
        })
    }

    async fn try_more(&mut self, out: &mut Vec<Delta>) -> Result<bool, Failed> {
        let next = timeout_at(self.deadline, self.body.chunk()).await;
        let next = next.unwrap_or_else(|_| Err(lifeless(self.event_timeout)));
        let chunk = match next {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return self.end(out).map(|()| false),
            // The protocol's own sign of the end may have come: then nothing is missing, unless an
            // event was cut.
            Err(failed) => return self.end(out).map(|()| false).map_err(|_| failed),
        };
        if let Some(recording) = &mut self.recording {
            recording.bytes(&chunk);
        }
        let before = self.taking.events;
        let taking = &mut self.taking;
        self.sse.push(&chunk, |frame| taking.take(frame, out))?;
        if self.taking.events > before {
            self.deadline = Instant::now() + self.event_timeout;
        }
        if self.taking.finished {
            self.read_out().await;
        }
        Ok(!self.taking.finished)
    }

    /// The bytes have ended.
    fn end(&mut self, out: &mut Vec<Delta>) -> Result<(), Failed> {
        let taking = &mut self.taking;
        std::mem::take(&mut self.sse).end(|frame| taking.take(frame, out))?;
        if taking.finished {
            return Ok(());
        }
        taking.decoder.end(out).map_err(|failed| match taking.events {
            0 => odd::told("", &[], taking.strays.as_bytes()),
            _ => failed,
        })
    }

    /// Reads what may follow the end of the answer, if it is at hand.
    async fn read_out(&mut self) {
        let reading = async {
            while let Ok(Some(chunk)) = self.body.chunk().await {
                if let Some(recording) = &mut self.recording {
                    recording.bytes(&chunk);
                }
            }
        };
        // Without the end of the bytes the connection is closed: that costs no more than time.
        timeout(LAST_BYTES, reading).await.unwrap_or_default();
    }
}

impl Taking {
    fn take(&mut self, frame: Frame<'_>, out: &mut Vec<Delta>) -> Result<(), Failed> {
        match frame {
            // Nothing counts after the end.
            _ if self.finished => Ok(()),
            Frame::Event(event) => self.event(event, out),
            // Only the blank line after it is missing, or the rest of it.
            Frame::Cut(event) if is_whole(event.data) => self.event(event, out),
            Frame::Cut(_) => Err(Failed::protocol("the answer broke off inside an event")),
            Frame::Comment => Ok(()),
            Frame::Stray(line) => {
                if self.strays.len() + line.len() < STRAY_CAP_BYTES {
                    self.strays.push_str(line);
                    self.strays.push('\n');
                }
                self.no_event_is_stray()
            }
        }
    }

    /// A line of JSON between events is an event without its framing, which may be an error's: the
    /// answer is not whole without it. Other lines say nothing, and a stream of such lines alone is
    /// told at its end.
    fn no_event_is_stray(&self) -> Result<(), Failed> {
        let is_json = |line: &str| line.trim_start().starts_with('{');
        if self.events == 0 || !self.strays.lines().any(is_json) {
            return Ok(());
        }
        let told = odd::told("", &[], self.strays.as_bytes());
        Err(Failed::protocol(format!("a line of the answer belongs to no event: {}", told.message)))
    }

    fn event(&mut self, event: Event<'_>, out: &mut Vec<Delta>) -> Result<(), Failed> {
        self.events += 1;
        self.no_event_is_stray()?;
        let begun = out.len();
        self.decoder.event(event.data, out)?;
        let new = out.get(begun..).unwrap_or_default();
        self.finished = new.iter().any(Delta::is_last);
        Ok(())
    }
}

fn is_whole(data: &str) -> bool {
    data.trim() == "[DONE]" || serde_json::from_str::<&RawValue>(data).is_ok()
}

fn lifeless(waited: Duration) -> Failed {
    let seconds = waited.as_secs_f64();
    Failed::protocol(format!("only signs of life came for {seconds} s, and nothing of the answer"))
}

impl From<TooLarge> for Failed {
    fn from(too_large: TooLarge) -> Self {
        Self::protocol(too_large.to_string())
    }
}
