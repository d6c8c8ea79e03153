//! Actions become the moves of a stream.

use std::sync::Arc;

use threadline_core::history::fact::Stop;
use threadline_core::history::metadata::Metadata;
use threadline_core::provider::{BlockIndex, Delta, ProviderError};

use super::cue::Cue;
use super::expand;
use super::script::{Action, Fault};
use crate::scripted::SCRIPTED;
use crate::speech::{Speech, Voice};

/// Plays actions up to the first that is the last; without one the answer is done.
pub(super) fn perform(actions: &[Action], cue: &Cue<'_>, speech: &mut Speech) {
    for action in actions {
        act(action, cue, speech);
        if action.is_last() {
            return;
        }
    }
    speech.stop(Stop::Done);
}

fn act(action: &Action, cue: &Cue<'_>, speech: &mut Speech) {
    match action {
        Action::Think(text) => speech.say(Voice::Thinking, expand::in_text(text, cue)),
        Action::Say(text) => speech.say(Voice::Text, expand::in_text(text, cue)),
        Action::State(state) => speech.state(Arc::clone(state)),
        Action::Call(call) => {
            let arguments = expand::in_arguments(&call.arguments, cue);
            let (tool, provider_id) = (Arc::clone(&call.tool), call.provider_id.clone());
            speech.call(tool, provider_id, &arguments, call.complete);
        }
        Action::Usage(usage) => speech.give(Delta::Usage(*usage)),
        Action::Cost(cost) => speech.give(Delta::Cost(*cost)),
        Action::Wait(millis) => speech.wait(*millis),
        Action::Huge(bytes) => speech.say(Voice::Text, "x".repeat(*bytes)),
        Action::Garbage => {
            let block = BlockIndex(u32::MAX);
            speech.give(Delta::Fragment { block, text: "of no block".into() });
        }
        Action::Stop(stop) => speech.stop(*stop),
        Action::Fail(fault) => speech.fail(error(fault)),
        Action::End => {}
        Action::Hang => speech.hang(),
    }
}

fn error(fault: &Fault) -> ProviderError {
    ProviderError {
        provider: SCRIPTED.into(),
        kind: fault.kind,
        retry_after_ms: fault.retry_after_ms,
        limit_tokens: fault.limit_tokens,
        message: (*fault.message).to_owned(),
        metadata: Metadata::new(),
        source: None,
    }
}
