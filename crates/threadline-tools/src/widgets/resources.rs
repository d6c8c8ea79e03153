//! Shared resources: texts under keys, so that agents pass references and not the texts.
//!
//! The live screen shows what there is and never the texts themselves: whoever wants one gets it.
//! What a call comes to is recorded as a `change`, and only that is replayed.

mod change;
mod edit;
mod show;

use std::collections::BTreeMap;
use std::sync::Arc;

use change::Recorded;
use schemars::JsonSchema;
use serde::Deserialize;
use threadline_core::history::metadata::{Metadata, Value};
use threadline_core::history::sections::Section;
use threadline_core::id::AgentId;
use threadline_core::tool::ToolSpec;
use threadline_core::widget::{
    Change, ChangeRefused, Fragment, Refusal, Reply, Scope, StateUnreadable, View, Widget,
    WidgetCall, WidgetState,
};

use super::answer::{Done, Unfit, number, read};
use crate::typed::recorded;

/// The widget's name, in records and snapshots.
pub const NAME: &str = "resources";
/// The most bytes of a text. This cap and the others may be raised and never lowered: what was
/// recorded under them has to stay.
pub const TEXT_CAP_BYTES: usize = 16 * 1024;
/// The most resources.
pub const KEYS_CAP: usize = 64;
/// The most bytes of all texts and descriptions together.
pub const ALL_CAP_BYTES: usize = 128 * 1024;
/// The most bytes of a key.
pub const KEY_CAP_BYTES: usize = 64;
/// The most bytes of a description.
pub const DESCRIPTION_CAP_BYTES: usize = 200;
/// The version of its encoded state.
const STATE_VERSION: u32 = 1;

const PUT: &str = "resource_put";
const GET: &str = "resource_get";
const LIST: &str = "resource_list";
const DROP: &str = "resource_drop";

/// The shared resources of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    by_key: BTreeMap<Arc<str>, Resource>,
}

/// A text that is shared.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Resource {
    text: Arc<str>,
    description: Option<Arc<str>>,
    /// Who put it there.
    by: AgentId,
}

impl Resource {
    fn bytes(&self) -> usize {
        self.text.len() + self.description.as_ref().map_or(0, |description| description.len())
    }
}

impl Resources {
    /// None.
    pub const fn new() -> Self {
        Self { by_key: BTreeMap::new() }
    }

    /// The text under a key.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.by_key.get(key).map(|resource| &*resource.text)
    }

    fn bytes(&self) -> usize {
        self.by_key.values().map(Resource::bytes).sum()
    }

    fn reply(
        &self,
        outcome: Result<(Done<Recorded>, String), Unfit>,
        operation: &str,
        by: AgentId,
    ) -> Result<Reply, Refusal> {
        let (done, key) = outcome.map_err(|unfit| unfit.refusal(NAME, operation))?;
        let Some(recorded) = &done.recorded else {
            return Ok(Reply {
                result: vec![Section::text(done.told)],
                metadata: self.measured(operation, self, Some(key)),
                ..Reply::default()
            });
        };
        let after = recorded
            .apply(self, by)
            .map_err(|message| Unfit::new("does_not_fit", message).refusal(NAME, operation))?;
        Ok(Reply {
            changes: vec![recorded.encode()],
            result: vec![show::result(&done, &after)],
            attachments: Vec::new(),
            metadata: self.measured(operation, &after, Some(key)),
        })
    }

    fn shown(&self, operation: &str, outcome: Result<Section, Unfit>) -> Result<Reply, Refusal> {
        match outcome {
            Ok(section) => Ok(Reply {
                result: vec![section],
                metadata: self.measured(operation, self, None),
                ..Reply::default()
            }),
            Err(unfit) => Err(unfit.refusal(NAME, operation)),
        }
    }

    fn measured(&self, operation: &str, after: &Self, key: Option<String>) -> Metadata {
        Metadata::fitted(
            [
                ("operation", Value::Text(operation.to_owned())),
                ("previous_count", number(self.by_key.len())),
                ("new_count", number(after.by_key.len())),
                ("previous_length", number(self.bytes())),
                ("new_length", number(after.bytes())),
            ]
            .into_iter()
            .chain(key.map(|key| ("key", Value::Text(key)))),
        )
    }
}

/// Puts a text under a key where all agents of this conversation can get it, and replaces what
/// was there. Use it to hand over longer texts: tell the others the key, not the text.
#[derive(Deserialize, JsonSchema)]
struct Put {
    /// a short name, of a-z, 0-9 and . _ / - only, such as plan/draft
    #[schemars(length(min = 1, max = 64))]
    key: String,
    /// the whole text, at most 16 KiB
    #[schemars(length(min = 1))]
    text: String,
    /// what it is, in a few words; left out, it stays as it was
    description: Option<String>,
}

/// Gets the text of a shared resource, 8 KiB at a time; the end says how to read on.
#[derive(Deserialize, JsonSchema)]
struct Get {
    /// its key
    key: String,
    /// the line to start at, counted from 1
    #[schemars(range(min = 1))]
    line: Option<usize>,
    /// the byte of that line to start at, counted from 1; for lines longer than 8 KiB
    #[schemars(range(min = 1))]
    byte: Option<usize>,
}

/// Lists the shared resources. Only needed when the live screen does not show all of them.
#[derive(Deserialize, JsonSchema)]
struct List {
    /// the line of the list to start at, counted from 1
    #[schemars(range(min = 1))]
    line: Option<usize>,
}

/// Drops a shared resource that nobody needs any more.
#[derive(Deserialize, JsonSchema)]
struct Drop {
    /// its key
    key: String,
}

impl Widget for Resources {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "texts under keys that the agents of a conversation share"
    }

    fn scope(&self) -> Scope {
        Scope::Conversation
    }

    fn tools(&self) -> Vec<ToolSpec> {
        vec![
            recorded::<Put>(PUT),
            recorded::<Get>(GET),
            recorded::<List>(LIST),
            recorded::<Drop>(DROP),
        ]
    }

    fn call(&self, call: &WidgetCall<'_>) -> Result<Reply, Refusal> {
        match call.tool {
            PUT => {
                let outcome = read(call.arguments).and_then(|Put { key, text, description }| {
                    Ok((edit::put(self, &key, &text, description.as_deref())?, key))
                });
                self.reply(outcome, "put", call.by)
            }
            DROP => {
                let outcome = read(call.arguments)
                    .and_then(|Drop { key }| Ok((edit::drop(self, &key)?, key)));
                self.reply(outcome, "drop", call.by)
            }
            GET => {
                let outcome = read(call.arguments).and_then(|Get { key, line, byte }| {
                    show::page(self, &key, line.unwrap_or(1), byte.unwrap_or(1))
                });
                self.shown("get", outcome)
            }
            LIST => {
                let outcome = read(call.arguments)
                    .and_then(|List { line }| show::list(self, call.by, line.unwrap_or(1)));
                self.shown("list", outcome)
            }
            other => {
                let message = format!("the shared resources have no tool {other:?}");
                Err(Unfit::new("tool_unknown", message).refusal(NAME, "none"))
            }
        }
    }

    fn apply(&mut self, change: &Change<'_>) -> Result<(), ChangeRefused> {
        let after =
            Recorded::decode(change.text).and_then(|recorded| recorded.apply(self, change.by));
        *self = after.map_err(|message| ChangeRefused { widget: NAME.into(), message })?;
        Ok(())
    }

    fn render(&self, view: &View<'_>) -> Option<Fragment> {
        let text = (!self.by_key.is_empty()).then(|| show::fragment(self, view))?;
        Some(Fragment { text, rest: Some(LIST.into()) })
    }

    fn encode(&self) -> WidgetState {
        WidgetState { version: STATE_VERSION, bytes: change::encode_state(self).into_bytes() }
    }

    fn decode(&mut self, state: &WidgetState) -> Result<(), StateUnreadable> {
        let bytes = Some(&*state.bytes).filter(|_| state.version == STATE_VERSION);
        let read = bytes.and_then(change::decode_state);
        *self = read.ok_or(StateUnreadable { widget: NAME.into(), version: state.version })?;
        Ok(())
    }

    fn copy(&self) -> Box<dyn Widget> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests;
