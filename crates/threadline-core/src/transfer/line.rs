//! The lines of an export.

use std::borrow::Cow;
use std::io::{self, BufRead, Read as _, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::history::fact::{Digest, from_hex};
use crate::history::record::Record;
use crate::id::{ConversationId, Seq};
use crate::inbox::Item;

/// The version of the format.
pub const VERSION: u32 = 1;
/// The longest line.
pub const LINE_CAP_BYTES: usize = 16 * 1024 * 1024;
/// The most bytes of an attachment in one line.
pub const PART_CAP_BYTES: usize = 8 * 1024 * 1024;

/// One line of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// The first line: the version and the conversation.
    Header(ConversationId),
    /// An entry's record, verbatim.
    Entry(Record),
    /// A part of an attachment; all parts come before the first entry that names it.
    Attachment(Part),
    /// An inbox item; only where a conversation was moved.
    Waiting(Item),
    /// The last line: the last entry and its hash.
    End(Seq, Digest),
}

/// A part of an attachment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The attachment's digest.
    pub digest: Digest,
    /// The attachment's size.
    pub size: u64,
    /// Where the part begins.
    pub offset: u64,
    /// The part's bytes.
    pub bytes: Vec<u8>,
}

/// A line that is not one of ours.
#[derive(Debug, thiserror::Error)]
pub enum NotALine {
    /// Not JSON, or not of the form of any line.
    #[error("it is not a line of an export")]
    Form(#[source] serde_json::Error),
    /// Of a newer format.
    #[error(
        "the export is of version {0}, this program reads up to {VERSION}; use a newer threadline"
    )]
    Version(u32),
    /// None or several kinds of line in one.
    #[error("it is none of header, entry, attachment, waiting and end")]
    Kind,
    /// Bytes that are not written as they should be.
    #[error("{0} is not written as it should be")]
    Bytes(&'static str),
}

#[derive(Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Form<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    threadline: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    conversation: Option<ConversationId>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    entry: Option<EntryForm<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    attachment: Option<PartForm<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    waiting: Option<Item>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<EndForm>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryForm<'a> {
    #[serde(borrow)]
    envelope: &'a RawValue,
    #[serde(borrow)]
    body: &'a RawValue,
    #[serde(borrow)]
    salt: Cow<'a, str>,
    hash: Digest,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PartForm<'a> {
    digest: Digest,
    size: u64,
    offset: u64,
    #[serde(borrow)]
    bytes: Cow<'a, str>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EndForm {
    seq: Seq,
    hash: Digest,
}

impl Line {
    /// Reads a line, without its line break.
    pub fn parse(bytes: &[u8]) -> Result<Self, NotALine> {
        let form: Form<'_> = serde_json::from_slice(bytes).map_err(NotALine::Form)?;
        match form {
            Form {
                threadline: Some(version),
                conversation,
                entry: None,
                attachment: None,
                waiting: None,
                end: None,
            } => {
                if version != VERSION {
                    return Err(NotALine::Version(version));
                }
                conversation.map(Self::Header).ok_or(NotALine::Kind)
            }
            Form {
                threadline: None,
                conversation: None,
                entry: Some(entry),
                attachment: None,
                waiting: None,
                end: None,
            } => Ok(Self::Entry(Record {
                envelope: entry.envelope.get().as_bytes().to_vec(),
                body: entry.body.get().as_bytes().to_vec(),
                salt: from_hex(&entry.salt).map_err(|_| NotALine::Bytes("the salt"))?,
                hash: entry.hash,
            })),
            Form {
                threadline: None,
                conversation: None,
                entry: None,
                attachment: Some(part),
                waiting: None,
                end: None,
            } => {
                let bytes =
                    STANDARD.decode(&*part.bytes).map_err(|_| NotALine::Bytes("the attachment"))?;
                Ok(Self::Attachment(Part {
                    digest: part.digest,
                    size: part.size,
                    offset: part.offset,
                    bytes,
                }))
            }
            Form {
                threadline: None,
                conversation: None,
                entry: None,
                attachment: None,
                waiting: Some(item),
                end: None,
            } => Ok(Self::Waiting(item)),
            Form {
                threadline: None,
                conversation: None,
                entry: None,
                attachment: None,
                waiting: None,
                end: Some(end),
            } => Ok(Self::End(end.seq, end.hash)),
            _ => Err(NotALine::Kind),
        }
    }

    /// Writes a line, with its line break.
    pub fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        let mut form = Form::default();
        match self {
            Self::Header(id) => {
                form.threadline = Some(VERSION);
                form.conversation = Some(*id);
            }
            Self::Entry(record) => {
                form.entry = Some(EntryForm {
                    envelope: raw(&record.envelope)?,
                    body: raw(&record.body)?,
                    salt: Cow::Owned(hex(&record.salt)),
                    hash: record.hash,
                });
            }
            Self::Attachment(part) => {
                form.attachment = Some(PartForm {
                    digest: part.digest,
                    size: part.size,
                    offset: part.offset,
                    bytes: Cow::Owned(STANDARD.encode(&part.bytes)),
                });
            }
            Self::Waiting(item) => form.waiting = Some(item.clone()),
            Self::End(seq, hash) => form.end = Some(EndForm { seq: *seq, hash: *hash }),
        }
        serde_json::to_writer(&mut *to, &form)?;
        to.write_all(b"\n")
    }
}

/// Reads the next line into `line`, without its line break, up to the cap; false at the end.
///
/// The second answer tells whether the line came to its end: a line that is too long, or that the
/// file breaks off in, did not.
pub(crate) fn read_line(from: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<(bool, bool)> {
    line.clear();
    let cap = u64::try_from(LINE_CAP_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    from.take(cap).read_until(b'\n', line)?;
    if line.is_empty() {
        return Ok((false, false));
    }
    let whole = line.last() == Some(&b'\n');
    if whole {
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
    }
    Ok((true, whole))
}

fn raw(bytes: &[u8]) -> io::Result<&RawValue> {
    serde_json::from_slice(bytes).map_err(io::Error::from)
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
