//! Wired: the provider that asks models over HTTP.
//!
//! A request is encoded, announced, sent once, and its answer decoded as it comes. What differs
//! between models is in their [`Access`]; what differs between protocols is in their dialects.

mod odd;
mod reading;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use threadline_core::history::fact::{Digest, FailureKind};
use threadline_core::provider::{Delta, DeltaStream, Prepared, Provider, Request};
use threadline_core::redact::{Redactor, Secrets};

use self::reading::Reading;
use crate::access::{Access, KeyHeader};
use crate::capture::{Capture, Captured, Recording};
use crate::dialect;
use crate::failed::Failed;
use crate::http::{Answer, Call, ERROR_CAP_BYTES, Http};
use crate::names::Names;
use crate::reply;

/// Asks models over HTTP, each by its access.
///
/// Needs a tokio runtime with its timer and I/O.
#[derive(Debug)]
pub struct Wired {
    parts: Arc<Parts>,
}

#[derive(Debug)]
struct Parts {
    http: Http,
    accesses: BTreeMap<Arc<str>, Arc<Access>>,
    capture: Option<Arc<Capture>>,
    /// Where keys become known, so that they are redacted.
    secrets: Arc<Secrets>,
}

impl Wired {
    /// Asks the targets of these names, and captures what is said if it is told where to.
    pub fn new(
        http: Http,
        accesses: BTreeMap<Arc<str>, Arc<Access>>,
        capture: Option<Arc<Capture>>,
    ) -> Self {
        Self { parts: Arc::new(Parts { http, accesses, capture, secrets: Arc::default() }) }
    }

    /// The same, adding each key to these secrets before it is sent.
    #[must_use]
    pub fn with_secrets(mut self, secrets: Arc<Secrets>) -> Self {
        if let Some(parts) = Arc::get_mut(&mut self.parts) {
            parts.secrets = secrets;
        }
        self
    }
}

impl Provider for Wired {
    fn invoke(&self, request: Request) -> DeltaStream {
        let provider = Arc::clone(&request.target.invocation.provider);
        let begun = Box::new(Invocation {
            parts: Arc::clone(&self.parts),
            stage: Stage::Asked(Box::new(request)),
            ready: VecDeque::new(),
            failed: None,
        });
        let next = move |invocation: Option<Box<Invocation>>| {
            let provider = Arc::clone(&provider);
            async move {
                let mut invocation = invocation?;
                match invocation.next().await {
                    Ok(Some(delta)) => Some((Ok(delta), Some(invocation))),
                    Ok(None) => None,
                    // The connection ends with the invocation, before anyone hears of it.
                    Err(failed) => Some((Err(failed.of(provider)), None)),
                }
            }
        };
        Box::pin(stream::unfold(Some(begun), next))
    }
}

/// One invocation, as far as it has come.
struct Invocation {
    parts: Arc<Parts>,
    stage: Stage,
    /// What has come and is not yet given.
    ready: VecDeque<Delta>,
    /// What ends it, once everything that came before is given.
    failed: Option<Failed>,
}

enum Stage {
    /// Nothing has happened.
    Asked(Box<Request>),
    /// It has been said what will be sent.
    Made(Box<Made>),
    /// The answer comes.
    Reading(Box<Reading>),
    /// Nothing comes any more.
    Over,
}

/// A request that is made and not sent.
struct Made {
    access: Arc<Access>,
    model: Arc<str>,
    headers: Vec<(String, String)>,
    body: Bytes,
    names: Names,
}

impl Invocation {
    /// The next delta; none at the end.
    async fn next(&mut self) -> Result<Option<Delta>, Failed> {
        loop {
            if let Some(delta) = self.ready.pop_front() {
                return Ok(Some(delta));
            }
            if let Some(failed) = self.failed.take() {
                self.stage = Stage::Over;
                return Err(failed);
            }
            match std::mem::replace(&mut self.stage, Stage::Over) {
                Stage::Asked(request) => {
                    let (made, prepared) = make(&self.parts, &request)?;
                    self.stage = Stage::Made(Box::new(made));
                    return Ok(Some(Delta::Prepared(prepared)));
                }
                Stage::Made(made) => {
                    let (reading, started) = send(&self.parts, *made).await?;
                    self.stage = Stage::Reading(Box::new(reading));
                    return Ok(Some(started));
                }
                Stage::Reading(mut reading) => {
                    let mut deltas = Vec::new();
                    match reading.more(&mut deltas).await {
                        Ok(true) => self.stage = Stage::Reading(reading),
                        Ok(false) => {}
                        Err(failed) => self.failed = Some(failed),
                    }
                    self.ready.extend(deltas);
                }
                Stage::Over => return Ok(None),
            }
        }
    }
}

/// Makes the request, and says what will be sent.
fn make(parts: &Parts, request: &Request) -> Result<(Made, Prepared), Failed> {
    let name = &request.target.name;
    let access = parts.accesses.get(name).ok_or_else(|| {
        let words = format!("it is not known how {name} is reached; check the configuration");
        Failed::new(FailureKind::Refused, words)
    })?;
    let encoded = dialect::encode(access.dialect, request, &access.quirks);
    let accept = ("accept".to_owned(), "text/event-stream".to_owned());
    let close = ("connection".to_owned(), "close".to_owned());
    let close = access.quirks.ends_connections.then_some(close);
    let own = encoded.headers.into_iter().map(|(name, value)| (name.to_owned(), value));
    let prepared = Prepared {
        body_digest: Digest::of(&encoded.body),
        encoder_version: dialect::encoder_version(access.dialect),
        repairs: encoded.repairs,
    };
    let made = Made {
        access: Arc::clone(access),
        model: Arc::clone(&request.target.invocation.model),
        headers: access.headers.iter().cloned().chain(own).chain([accept]).chain(close).collect(),
        body: encoded.body.into(),
        names: encoded.names,
    };
    Ok((made, prepared))
}

/// Sends the request once, and waits for the head of a stream of events.
async fn send(parts: &Parts, made: Made) -> Result<(Reading, Delta), Failed> {
    let Made { access, model, headers, body, names } = made;
    let key = match &access.key {
        Some((header, key)) => {
            let secret = key.resolve().await?;
            parts.secrets.add(&key.label(), secret.reveal());
            Some((*header, secret))
        }
        None => None,
    };
    let redactor = parts.secrets.redactor();
    let mut recording = parts.capture.as_ref().and_then(|capture| {
        let request = Captured {
            method: "POST",
            url: access.url.clone(),
            headers: headers.clone(),
            key_header: key.as_ref().map(|(header, _)| header_name(*header)),
            body: body.clone(),
        };
        capture.begin(&model, request, Arc::clone(&redactor))
    });
    let secret = key.as_ref().map(|(header, key)| (*header, key));
    let call = Call { url: &access.url, headers: &headers, key: secret };
    let mut answer = parts.http.post(&call, body).await?;
    if let Some(recording) = &mut recording {
        recording.head(answer.status, &answer.headers);
    }
    if let Some(failed) = no_stream(&mut answer, recording.as_mut(), &redactor).await {
        return Err(failed);
    }
    let head = reply::metadata(&answer.headers);
    let decoder = dialect::decoder(access.dialect, names);
    let event_timeout = parts.http.timeouts().event;
    let reading = Reading::new(answer.body, decoder, recording, event_timeout, head.clone());
    Ok((reading, Delta::Started(head)))
}

/// What an answer says that is no stream of events; nothing if it is one, or may be.
async fn no_stream(
    answer: &mut Answer,
    recording: Option<&mut Recording>,
    redactor: &Redactor,
) -> Option<Failed> {
    let is_good = (200..300).contains(&answer.status);
    let content_type = reply::header(&answer.headers, "content-type").unwrap_or_default();
    if is_good && !odd::is_odd(content_type) {
        return None;
    }
    let body = answer.body.beginning(ERROR_CAP_BYTES).await;
    if let Some(recording) = recording {
        recording.bytes(&Bytes::copy_from_slice(&body));
    }
    // Some servers repeat the key.
    let body = redactor.redact_bytes(&body);
    Some(if is_good {
        odd::told(content_type, &answer.headers, &body)
    } else {
        reply::told(Some(answer.status), &answer.headers, &body)
    })
}

const fn header_name(header: KeyHeader) -> &'static str {
    match header {
        KeyHeader::Bearer => "authorization",
        KeyHeader::Named(name) => name,
    }
}
