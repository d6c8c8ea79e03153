//! HTTP as providers need it: the one file that names the client.
//!
//! A request is sent once and follows no redirect, so that no key goes where it was not meant to.
//! There is no limit to how long an answer may take, only to how long it may be silent.

mod trouble;

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, ClientBuilder, Method, Response, Url, redirect, retry};
use threadline_core::history::fact::FailureKind;
use tokio::task::yield_now;
use tokio::time::timeout;

use self::trouble::Doing;
use crate::access::{KeyHeader, Secret};
use crate::failed::Failed;

/// The most that is read of one answer, after decompression.
pub const BODY_CAP_BYTES: usize = 64 * 1024 * 1024;
/// The most that is read of an answer that tells of an error.
pub const ERROR_CAP_BYTES: usize = 1024 * 1024;

/// How long is waited for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection, with its handshake.
    pub connect: Duration,
    /// For the next sign of life: the head of an answer, or any bytes of it. Models that think can
    /// be silent for minutes.
    pub idle: Duration,
    /// For the next event of an answer, while only signs of life come.
    pub event: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            idle: Duration::from_mins(5),
            event: Duration::from_mins(15),
        }
    }
}

/// A client that keeps its connections. One serves every provider.
#[derive(Clone, Debug)]
pub struct Http {
    client: Client,
    /// For servers on this machine, made when the first is talked to: no proxy leads there.
    near: Arc<OnceLock<Client>>,
    timeouts: Timeouts,
}

/// Where a request goes, and as whom.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Where to.
    pub url: &'a str,
    /// Headers without secrets.
    pub headers: &'a [(String, String)],
    /// The key and the header that carries it.
    pub key: Option<(KeyHeader, &'a Secret)>,
}

/// The head of an answer, whatever its status, and its body as it comes.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its headers, with names in small letters.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Body,
}

/// The body of an answer, as it comes. Dropping it ends the connection.
#[derive(Debug)]
pub struct Body {
    response: Response,
    host: String,
    idle: Duration,
    read_bytes: usize,
}

impl Http {
    /// A client with the certificates of the system and with proxies from the environment, which
    /// are not used for this machine.
    pub fn new(timeouts: Timeouts) -> Result<Self, Failed> {
        // A program around us may have chosen another implementation before: then that one serves.
        drop(rustls::crypto::ring::default_provider().install_default());
        let built = builder(&timeouts).build().or_else(|_| {
            // Without any certificates on the system, servers without TLS still work.
            builder(&timeouts).tls_certs_only([]).build()
        });
        let client = built.map_err(|error| {
            let what = trouble::innermost(&error);
            Failed::new(FailureKind::Unreachable, format!("no HTTP client can be made: {what}"))
        })?;
        Ok(Self { client, near: Arc::default(), timeouts })
    }

    /// How long it waits for what.
    pub const fn timeouts(&self) -> &Timeouts {
        &self.timeouts
    }

    /// Sends JSON, once.
    pub async fn post(&self, call: &Call<'_>, body: Bytes) -> Result<Answer, Failed> {
        self.send(Method::POST, call, Some(body)).await
    }

    /// Asks for a resource, such as a list of models.
    pub async fn get(&self, call: &Call<'_>) -> Result<Answer, Failed> {
        self.send(Method::GET, call, None).await
    }

    async fn send(
        &self,
        method: Method,
        call: &Call<'_>,
        body: Option<Bytes>,
    ) -> Result<Answer, Failed> {
        let url = url(call.url)?;
        let host = host(&url);
        let mut request = self.client_for(&url).request(method, url);
        let mut headers = HeaderMap::new();
        if let Some(body) = body {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            request = request.body(body);
        }
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        add_headers(&mut headers, call)?;
        // A server may close a connection that it said it would keep. To yield lets that be noticed
        // before a connection is taken from those kept, also where this thread was busy since.
        yield_now().await;
        let sent = timeout(self.timeouts.idle, request.headers(headers).send()).await;
        let Ok(sent) = sent else { return Err(trouble::silent(&host, self.timeouts.idle)) };
        let response = sent.map_err(|error| {
            let doing = match (error.is_connect(), error.is_timeout()) {
                (true, true) => Doing::ConnectingTooLong(self.timeouts.connect),
                (true, false) => Doing::Connecting,
                (false, _) => Doing::Sending,
            };
            trouble::told(&error, doing, &host)
        })?;
        Ok(self.answer(response, host))
    }

    fn client_for(&self, url: &Url) -> &Client {
        let near = match url.host_str().unwrap_or_default() {
            "localhost" => true,
            host => host.trim_matches(['[', ']']).parse().is_ok_and(|ip: IpAddr| ip.is_loopback()),
        };
        if !near {
            return &self.client;
        }
        let make = || builder(&self.timeouts).no_proxy().build();
        self.near.get_or_init(|| make().unwrap_or_else(|_| self.client.clone()))
    }

    fn answer(&self, response: Response, host: String) -> Answer {
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers = response.headers().iter();
        Answer {
            status: response.status().as_u16(),
            headers: headers.map(|(name, value)| (name.to_string(), text(value))).collect(),
            body: Body { response, host, idle: self.timeouts.idle, read_bytes: 0 },
        }
    }
}

impl Body {
    /// The next bytes; nothing at the end. An answer may break off, stay silent for too long or be
    /// too large.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Failed> {
        let Ok(next) = timeout(self.idle, self.response.chunk()).await else {
            return Err(trouble::stalled(&self.host, self.idle));
        };
        let next = next.map_err(|error| trouble::told(&error, Doing::Reading, &self.host))?;
        self.read_bytes = self.read_bytes.saturating_add(next.as_ref().map_or(0, Bytes::len));
        if self.read_bytes > BODY_CAP_BYTES {
            let mib = BODY_CAP_BYTES >> 20;
            return Err(Failed::protocol(format!("the answer is larger than {mib} MiB")));
        }
        Ok(next)
    }

    /// The beginning of the body, as far as it comes while one would wait for a sign of life.
    pub async fn beginning(&mut self, cap_bytes: usize) -> Vec<u8> {
        let mut begun = Vec::new();
        let reading = async {
            while begun.len() < cap_bytes
                && let Ok(Some(chunk)) = self.response.chunk().await
            {
                let room = cap_bytes - begun.len();
                begun.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
            }
        };
        // What came until then tells more than that more did not come.
        timeout(self.idle, reading).await.unwrap_or_default();
        begun
    }
}

fn builder(timeouts: &Timeouts) -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("threadline/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(timeouts.connect)
        .redirect(redirect::Policy::none())
        // Asking again is decided by whoever asks: an answer costs money.
        .retry(retry::never())
        .referer(false)
}

fn url(text: &str) -> Result<Url, Failed> {
    let wrong = |what: &str| {
        let words = format!("the base URL is not usable: {what}; check the endpoint's settings");
        Failed::new(FailureKind::Refused, words)
    };
    let url = Url::parse(text).map_err(|error| wrong(&error.to_string()))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        _ => Err(wrong("it must begin with http:// or https:// and a host")),
    }
}

/// Who is talked to, without anything that may be secret.
fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn add_headers(headers: &mut HeaderMap, call: &Call<'_>) -> Result<(), Failed> {
    for (name, value) in call.headers {
        let usable = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value).ok());
        let (name, value) = usable.ok_or_else(|| unusable_header(name))?;
        headers.insert(name, value);
    }
    let Some((header, key)) = call.key else { return Ok(()) };
    let (name, value) = match header {
        KeyHeader::Bearer => ("authorization", format!("Bearer {}", key.reveal())),
        KeyHeader::Named(name) => (name, key.reveal().to_owned()),
    };
    let mut value = HeaderValue::try_from(value).map_err(|_| {
        let words = "the key has characters that no header can carry; check where it is kept";
        Failed::new(FailureKind::Unauthorised, words)
    })?;
    value.set_sensitive(true);
    let name = HeaderName::try_from(name).map_err(|_| unusable_header(name))?;
    headers.insert(name, value);
    Ok(())
}

fn unusable_header(name: &str) -> Failed {
    let words = format!("the header {name:?} cannot be sent; check the endpoint's settings");
    Failed::new(FailureKind::Refused, words)
}
