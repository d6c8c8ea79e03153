//! What went wrong on the way, in words that say what to do.

use std::error::Error;
use std::io;
use std::time::Duration;

use threadline_core::history::fact::FailureKind;
use threadline_core::sanitise;

use crate::failed::Failed;

/// The longest cause that is told.
const CAUSE_CAP_CHARS: usize = 160;

/// What was being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// Making a connection.
    Connecting,
    /// Making a connection, for longer than was waited.
    ConnectingTooLong(Duration),
    /// Sending the request or waiting for the head of the answer.
    Sending,
    /// Reading the answer.
    Reading,
}

/// Nothing came at all.
pub(super) fn silent(host: &str, waited: Duration) -> Failed {
    let words = format!("{host} took the request but did not answer within {}", shown(waited));
    Failed::new(FailureKind::Unreachable, words)
}

/// Nothing came any more.
pub(super) fn stalled(host: &str, waited: Duration) -> Failed {
    Failed::protocol(format!("the answer of {host} stalled: nothing came for {}", shown(waited)))
}

/// An error of the client in words, with what can be done about it.
pub(super) fn told(error: &(dyn Error + 'static), doing: Doing, host: &str) -> Failed {
    let links = links(error);
    let cause = cause(&links);
    let what = cause.words(&links);
    let words = match (doing, cause) {
        (Doing::ConnectingTooLong(waited), _) => {
            let waited = shown(waited);
            format!("no connection to {host} within {waited}; check the network and the base URL")
        }
        (_, Cause::Name) => {
            format!("no server is known as {host}; check the base URL and the network")
        }
        (_, Cause::Refused) => {
            format!("{host} refused the connection; check that the server runs and its port")
        }
        (_, Cause::Tls) => format!(
            "no secure connection to {host}: {what}; check its certificate and whether it is https"
        ),
        (_, Cause::Proxy) => {
            format!("the proxy gave no connection to {host}: {what}; check the proxy's settings")
        }
        (Doing::Connecting, Cause::Closed | Cause::Other) => {
            format!("no connection to {host}: {what}")
        }
        (Doing::Sending, Cause::Closed) => {
            format!("{host} closed the connection without an answer")
        }
        (Doing::Sending, Cause::Other) => format!("no answer of {host}: {what}"),
        (Doing::Reading, Cause::Closed | Cause::Other) => {
            return Failed::protocol(format!("the answer of {host} broke off: {what}"));
        }
    };
    Failed::new(FailureKind::Unreachable, words)
}

/// The innermost cause of an error, for people.
pub(super) fn innermost(error: &(dyn Error + 'static)) -> String {
    Cause::Other.words(&links(error))
}

/// What kind of trouble it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Name,
    Refused,
    Tls,
    Proxy,
    Closed,
    Other,
}

impl Cause {
    /// Its own words.
    fn words(self, links: &[&(dyn Error + 'static)]) -> String {
        match self {
            Self::Closed => "the connection was closed".to_owned(),
            Self::Name | Self::Refused | Self::Tls | Self::Proxy | Self::Other => {
                let last = links.last().map(ToString::to_string).unwrap_or_default();
                sanitise::line(&last).chars().take(CAUSE_CAP_CHARS).collect()
            }
        }
    }
}

fn cause(links: &[&(dyn Error + 'static)]) -> Cause {
    let says = |words: &str| links.iter().any(|link| link.to_string().contains(words));
    let is = |kind: io::ErrorKind| {
        let io = links.iter().filter_map(|link| link.downcast_ref::<io::Error>());
        io.into_iter().any(|io| io.kind() == kind)
    };
    if links.iter().any(|link| link.is::<rustls::Error>()) {
        Cause::Tls
    } else if says("dns error") || says("failed to lookup address") {
        Cause::Name
    } else if says("tunnel") || says("proxy") {
        Cause::Proxy
    } else if is(io::ErrorKind::ConnectionRefused) {
        Cause::Refused
    } else if is(io::ErrorKind::ConnectionReset)
        || is(io::ErrorKind::ConnectionAborted)
        || is(io::ErrorKind::BrokenPipe)
        || is(io::ErrorKind::UnexpectedEof)
        || says("connection closed")
        || says("end of file before message")
    {
        Cause::Closed
    } else {
        Cause::Other
    }
}

/// An error and its causes, from the outside in. An I/O error hides what it wraps from its
/// `source`, so that is looked for too.
fn links<'e>(error: &'e (dyn Error + 'static)) -> Vec<&'e (dyn Error + 'static)> {
    let mut links = vec![error];
    let mut next = inner(error);
    while let Some(link) = next {
        links.push(link);
        next = inner(link);
    }
    links
}

fn inner<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    wrapped.map(|inner| inner as &(dyn Error + 'static)).or_else(|| error.source())
}

fn shown(span: Duration) -> String {
    if span.subsec_millis() == 0 {
        format!("{} s", span.as_secs())
    } else {
        format!("{} ms", span.as_millis())
    }
}
