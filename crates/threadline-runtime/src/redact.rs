//! Redaction at the two places where text of others enters a conversation: the answers of models,
//! and the results of tools.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::stream::Stream;
use threadline_core::history::fact::Opaque;
use threadline_core::history::metadata::Metadata;
use threadline_core::history::sections::{Section, Shorter};
use threadline_core::provider::{BlockIndex, BlockKind, Delta, DeltaStream, ProviderError};
use threadline_core::redact::{RedactStream, Redactor, Secrets};
use threadline_core::tool::{Product, ProgressReport, ToolOutcome, ToolResult};

/// An answer without the secrets that the process knows.
///
/// What may be the beginning of a secret is held back until the next piece of its block, or its
/// end. The opaque state of a block comes at the end of the block, and not at all if a secret was
/// in the block: a provider would refuse a state that belongs to another text.
pub(crate) struct RedactedAnswer {
    answer: DeltaStream,
    secrets: Arc<Secrets>,
    /// The blocks that have not ended.
    open: BTreeMap<BlockIndex, OpenBlock>,
    /// What comes next.
    ready: VecDeque<Result<Delta, ProviderError>>,
}

struct OpenBlock {
    text: RedactStream,
    state: Option<Opaque>,
    is_foreign: bool,
}

impl RedactedAnswer {
    pub(crate) fn stream(answer: DeltaStream, secrets: Arc<Secrets>) -> DeltaStream {
        let (open, ready) = (BTreeMap::new(), VecDeque::new());
        Box::pin(Self { answer, secrets, open, ready })
    }

    fn take(&mut self, item: Result<Delta, ProviderError>) {
        match item {
            Ok(delta) => self.take_delta(delta),
            Err(error) => {
                self.flush_all();
                let redactor = self.secrets.redactor();
                self.ready.push_back(Err(ProviderError {
                    message: redactor.redact(&error.message).into_owned(),
                    metadata: metadata(&redactor, error.metadata),
                    ..error
                }));
            }
        }
    }

    fn take_delta(&mut self, delta: Delta) {
        match delta {
            Delta::Prepared(_) | Delta::Usage(_) | Delta::Cost(_) => self.push(delta),
            Delta::Started(told) => {
                let told = metadata(&self.secrets.redactor(), told);
                self.push(Delta::Started(told));
            }
            Delta::Begin { block, kind } => self.begin(block, kind),
            Delta::Fragment { block, text } => {
                let Some(open) = self.open.get_mut(&block) else {
                    return self.push(Delta::Fragment { block, text });
                };
                let text = open.text.push_text(&text);
                self.push_text(block, text);
            }
            Delta::State { block, state } => match self.open.get_mut(&block) {
                Some(open) => open.state = Some(state),
                None => self.push(Delta::State { block, state }),
            },
            Delta::End { block } => {
                self.flush(block);
                self.push(Delta::End { block });
            }
            Delta::Finished { stop, metadata: told } => {
                self.flush_all();
                let told = metadata(&self.secrets.redactor(), told);
                self.push(Delta::Finished { stop, metadata: told });
            }
        }
    }

    /// A block begins. If no secret is known there is nothing to do in it.
    fn begin(&mut self, block: BlockIndex, kind: BlockKind) {
        let redactor = self.secrets.redactor();
        if redactor.is_empty() {
            return self.push(Delta::Begin { block, kind });
        }
        let redact = |text: Arc<str>| redacted(&redactor, &text);
        let is_foreign = matches!(kind, BlockKind::Foreign { .. });
        let kind = match kind {
            BlockKind::Thinking => BlockKind::Thinking,
            BlockKind::Text => BlockKind::Text,
            BlockKind::ToolCall { name, provider_id } => {
                BlockKind::ToolCall { name: redact(name), provider_id: provider_id.map(redact) }
            }
            BlockKind::Foreign { kind } => BlockKind::Foreign { kind: redact(kind) },
        };
        let text = RedactStream::new(Arc::clone(&redactor));
        self.open.insert(block, OpenBlock { text, state: None, is_foreign });
        self.push(Delta::Begin { block, kind });
    }

    /// Gives what was held back of a block.
    fn flush(&mut self, block: BlockIndex) {
        let Some(mut open) = self.open.remove(&block) else { return };
        let text = open.text.finish_text();
        self.push_text(block, text);
        let redactor = self.secrets.redactor();
        let Some(state) = open.state else { return };
        let clean = redacted(&redactor, &state);
        // The state of a foreign block is the block itself, which cannot be left out.
        if open.is_foreign || (!open.text.found() && clean == state) {
            self.push(Delta::State { block, state: clean });
        }
    }

    fn flush_all(&mut self) {
        while let Some(block) = self.open.keys().next().copied() {
            self.flush(block);
        }
    }

    fn push_text(&mut self, block: BlockIndex, text: String) {
        if !text.is_empty() {
            self.push(Delta::Fragment { block, text: text.into() });
        }
    }

    fn push(&mut self, delta: Delta) {
        self.ready.push_back(Ok(delta));
    }
}

impl Stream for RedactedAnswer {
    type Item = Result<Delta, ProviderError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Poll::Ready(Some(item));
            }
            match ready!(self.answer.as_mut().poll_next(context)) {
                Some(item) => self.take(item),
                None if self.open.is_empty() => return Poll::Ready(None),
                None => {
                    self.flush_all();
                    if self.ready.is_empty() {
                        return Poll::Ready(None);
                    }
                }
            }
        }
    }
}

/// What came of a call, without secrets.
pub(crate) fn outcome(redactor: &Redactor, outcome: ToolOutcome) -> ToolOutcome {
    match outcome {
        ToolOutcome::Success(result) => ToolOutcome::Success(tool_result(redactor, result)),
        ToolOutcome::Failed(result) => ToolOutcome::Failed(tool_result(redactor, result)),
        ToolOutcome::NoAnswer(result) => ToolOutcome::NoAnswer(tool_result(redactor, result)),
    }
}

fn tool_result(redactor: &Redactor, result: ToolResult) -> ToolResult {
    if redactor.is_empty() {
        return result;
    }
    let ToolResult { sections, attachments, data, error } = result;
    ToolResult {
        sections: sections.into_iter().map(|it| section(redactor, it)).collect(),
        attachments: attachments.into_iter().map(|it| product(redactor, it)).collect(),
        data: data.map(|data| redacted(redactor, &data)),
        error: error.map(|error| redactor.redact(&error).into_owned()),
    }
}

fn section(redactor: &Redactor, section: Section) -> Section {
    let text = redacted(redactor, &section.text);
    let is_same = text == section.text;
    let shorter = |shorter| match shorter {
        Shorter::Same => Shorter::Same,
        Shorter::Own(text) => Shorter::Own(redacted(redactor, &text)),
        cut @ Shorter::Cut { .. } if is_same => cut,
        // It is a place in another text.
        Shorter::Cut { .. } => Shorter::Same,
    };
    let (recent, gist) = (shorter(section.recent), shorter(section.gist));
    let title = section.title.map(|title| redacted(redactor, &title));
    let section = Section { title, text, recent, gist };
    if is_same { section } else { section.derived() }
}

fn product(redactor: &Redactor, product: Product) -> Product {
    match product {
        Product::Made { bytes, media_type, name } => {
            let bytes = match redactor.redact_bytes(&bytes) {
                Cow::Borrowed(_) => bytes,
                Cow::Owned(clean) => clean.into(),
            };
            Product::Made { bytes, media_type, name: name.map(|name| redacted(redactor, &name)) }
        }
        Product::Kept(attachment) => Product::Kept(attachment),
    }
}

/// The report of a call, without secrets.
pub(crate) fn report(redactor: &Redactor, report: &ProgressReport) -> ProgressReport {
    ProgressReport { text: redacted(redactor, &report.text), ..report.clone() }
}

/// The failure of a call whose arguments hold the place of a secret instead of the secret.
pub(crate) fn refused(name: &str) -> ToolOutcome {
    let message = format!(
        "not run: the arguments contain the secret {name}, which is redacted and not passed to \
         tools; make the call without it"
    );
    let result = ToolResult::text(&*message);
    ToolOutcome::Failed(ToolResult { error: Some(message), ..result })
}

fn metadata(redactor: &Redactor, metadata: Metadata) -> Metadata {
    if redactor.is_empty() {
        return metadata;
    }
    metadata.map_text(|text| redactor.redact(text).into_owned())
}

fn redacted(redactor: &Redactor, text: &Arc<str>) -> Arc<str> {
    match redactor.redact(text) {
        Cow::Borrowed(_) => Arc::clone(text),
        Cow::Owned(clean) => clean.into(),
    }
}
