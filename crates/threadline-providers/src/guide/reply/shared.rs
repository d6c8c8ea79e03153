//! Replies about what the agents of a conversation share: texts under keys, and the clock.

use super::Writing;
use crate::guide::screen::Clock;
use crate::guide::told::listed;
use crate::guide::wish::SharedWish;

const PUT: &str = "resource_put";
const GET: &str = "resource_get";
const LIST: &str = "resource_list";
const DROP: &str = "resource_drop";

impl<'a> Writing<'a> {
    /// Does what is wanted of the shared resources.
    pub(super) fn act_on_shared(&mut self, wish: &SharedWish) {
        match wish {
            SharedWish::Put { key, text } => {
                self.call(PUT, &[("key", key.as_str().into()), ("text", text.as_str().into())]);
            }
            SharedWish::Get(key) => self.call(GET, &[("key", key.as_str().into())]),
            SharedWish::Drop(key) => self.call(DROP, &[("key", key.as_str().into())]),
            SharedWish::List => {
                if !self.scene.shared.as_ref().is_some_and(|shared| shared.whole) {
                    self.call(LIST, &[]);
                }
            }
        }
    }

    /// Tells what is shared, unless a call has told it.
    pub(super) fn tell_shared(&mut self) {
        let Some(shared) = self.scene.shared.as_ref() else {
            // It was there before the calls, so they took it away.
            if self.has_result_of(DROP) && !self.has_result_of(LIST) {
                self.say("Nothing is shared.".to_owned());
            }
            return;
        };
        if self.has_result_of(LIST) || (!shared.whole && self.scene.results.is_empty()) {
            return;
        }
        let more = if shared.whole { "" } else { "\n\nMy screen does not show all of it." };
        self.say(format!("This is shared:\n\n{}{more}", listed(&shared.items)));
    }

    /// Tells what the clock says.
    pub(super) fn tell_clock(&mut self, told: impl FnOnce(Clock<'a>) -> String) {
        self.say(match self.scene.clock {
            Some(clock) => told(clock),
            None => "I see no clock on my screen, so I cannot tell the time.".to_owned(),
        });
    }
}
