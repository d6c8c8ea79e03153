//! The widgets of a conversation: those that are registered, and the states they are in.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use super::screens::Screens;
use super::{
    AgentView, Change, ChangeRefused, Fragment, Refusal, Reply, Scope, TimerView, View, Widget,
    WidgetCall, WidgetState,
};
use crate::clock::Timestamp;
use crate::history::History;
use crate::history::entry::Entry;
use crate::history::fact::{AgentJoined, Fact, TimerSet};
use crate::history::sections::floor_boundary;
use crate::history::state::PathState;
use crate::id::{AgentId, Seq};
use crate::tool::ToolSpec;

/// The most bytes of one widget on a screen; what is beyond is cut.
pub const FRAGMENT_CAP_BYTES: usize = 8 * 1024;
/// What a screen begins with.
const HEADING: &str = "# [Live Screen]";
/// Under which name a snapshot has the screens.
const SCREENS: &str = "screens";
/// How many bytes of an encoded state are its version.
const VERSION_BYTES: usize = 4;

/// The widgets a process knows, empty, in the order they were registered.
///
/// Refuses two with one name, and two tools with one name.
#[derive(Default)]
pub struct Registry(Vec<Registered>);

struct Registered {
    name: Arc<str>,
    widget: Box<dyn Widget>,
    tools: Vec<Arc<ToolSpec>>,
}

/// Two widgets, or two tools of widgets, want one name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NamesClash {
    /// Two widgets do.
    #[error("there are two widgets named {0:?}; rename or remove one of them")]
    Widget(Arc<str>),
    /// Two tools do.
    #[error("the widgets have two tools named {0:?}; rename or remove one of them")]
    Tool(Arc<str>),
}

impl Registry {
    /// Whether there are no widgets.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A registry of these widgets, which are empty.
    pub fn new(widgets: Vec<Box<dyn Widget>>) -> Result<Self, NamesClash> {
        let mut names = BTreeSet::new();
        let mut tool_names = BTreeSet::new();
        let mut registered = Vec::with_capacity(widgets.len());
        for widget in widgets {
            let name: Arc<str> = widget.name().into();
            if !names.insert(Arc::clone(&name)) {
                return Err(NamesClash::Widget(name));
            }
            let tools: Vec<Arc<ToolSpec>> = widget.tools().into_iter().map(Arc::new).collect();
            if let Some(tool) = tools.iter().find(|tool| !tool_names.insert(Arc::clone(&tool.name)))
            {
                return Err(NamesClash::Tool(Arc::clone(&tool.name)));
            }
            registered.push(Registered { name, widget, tools });
        }
        Ok(Self(registered))
    }

    /// The names of all widgets, in the order they were registered.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.0.iter().map(|registered| &registered.name)
    }

    /// A widget by its name, empty.
    pub fn get(&self, name: &str) -> Option<&dyn Widget> {
        self.find(name).map(|registered| &*registered.widget)
    }

    /// The tools of the widgets that an agent has, in the agent's order.
    pub fn tools(&self, joined: &AgentJoined) -> Vec<Arc<ToolSpec>> {
        self.of(joined).flat_map(|registered| registered.tools.iter().cloned()).collect()
    }

    /// The tools of all widgets.
    pub fn all_tools(&self) -> impl Iterator<Item = Arc<ToolSpec>> {
        self.0.iter().flat_map(|registered| registered.tools.iter().cloned())
    }

    /// The widget of an agent that has a tool of this name.
    pub fn owner(&self, joined: &AgentJoined, tool: &str) -> Option<&dyn Widget> {
        self.registered_owner(joined, tool).map(|registered| &*registered.widget)
    }

    fn registered_owner(&self, joined: &AgentJoined, tool: &str) -> Option<&Registered> {
        self.of(joined).find(|registered| registered.tools.iter().any(|spec| &*spec.name == tool))
    }

    fn find(&self, name: &str) -> Option<&Registered> {
        self.0.iter().find(|registered| &*registered.name == name)
    }

    /// The widgets that an agent has, each once; those that nobody registered are passed over.
    fn of<'a>(&'a self, joined: &AgentJoined) -> impl Iterator<Item = &'a Registered> {
        let mut seen = BTreeSet::new();
        let first = joined.widgets.iter().filter(move |name| seen.insert(&***name));
        first.filter_map(|name| self.find(name))
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// Whose state it is, and of which widget.
type Key = (AgentId, Arc<str>);

/// The widgets of a conversation with their states: of one agent, or shared.
///
/// A copy is cheap: states are shared until one of them changes.
#[derive(Clone)]
pub struct Widgets {
    registry: Arc<Registry>,
    states: BTreeMap<Key, Arc<dyn Widget>>,
    pub(super) screens: Screens,
}

impl Widgets {
    /// The widgets of a conversation in which none has changed yet.
    pub fn new(registry: Arc<Registry>) -> Self {
        Self { registry, states: BTreeMap::new(), screens: Screens::default() }
    }

    /// The widgets that the process knows.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Takes in an entry that is on the path: a widget's change changes its state, all else
    /// nothing. A widget that nobody registered is passed over.
    ///
    /// On an error nothing has changed.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), ChangeRefused> {
        let Fact::WidgetChanged(changed) = &entry.fact else { return Ok(()) };
        let Some(registered) = self.registry.find(&changed.widget) else { return Ok(()) };
        let change =
            Change { text: &changed.change, seq: entry.seq, by: entry.agent, at: entry.at };
        let key = key(registered, entry.agent);
        if let Some(state) = self.states.get_mut(&key)
            && let Some(own) = Arc::get_mut(state)
        {
            return own.apply(&change);
        }
        let shared = self.states.get(&key).map_or(&*registered.widget, |state| &**state);
        let mut own = shared.copy();
        own.apply(&change)?;
        self.states.insert(key, Arc::from(own));
        Ok(())
    }

    /// A widget as an agent sees it: its own or the shared one. One that never changed is empty.
    pub fn get(&self, agent: AgentId, name: &str) -> Option<&dyn Widget> {
        self.registry.find(name).map(|registered| self.state(registered, agent))
    }

    /// What a call to a tool of one of the agent's widgets would change, and its result, with the
    /// widget's name; none if none of its widgets has such a tool.
    pub fn call(
        &self,
        joined: &AgentJoined,
        call: &WidgetCall<'_>,
    ) -> Option<(Arc<str>, Result<Reply, Refusal>)> {
        let registered = self.registry.registered_owner(joined, call.tool)?;
        let reply = self.state(registered, call.by).call(call);
        Some((Arc::clone(&registered.name), reply))
    }

    /// The live screen of an agent as it is at a time, when a timer has fired if one has; none if
    /// no widget shows anything.
    ///
    /// A fragment over [`FRAGMENT_CAP_BYTES`] shows its head and how to read the rest.
    pub fn screen(
        &self,
        history: &History,
        agent: AgentId,
        at: Timestamp,
        fired: Option<Seq>,
    ) -> Option<String> {
        let joined = &history.agent(agent)?.joined;
        let state = history.state();
        let present = state.agents.iter().filter(|(_, agent)| agent.present);
        let agents: Vec<AgentView<'_>> = present
            .map(|(id, agent)| AgentView {
                id: *id,
                name: &agent.joined.name,
                interactions: agent.interactions,
            })
            .collect();
        let own = state.timers.iter().filter(|(_, timer)| timer.agent == agent);
        let timers: Vec<TimerView<'_>> = own
            .filter(|(_, timer)| timer.set.call.is_none())
            .filter_map(|(number, timer)| {
                let has_fired = fired == Some(*number);
                let when = if has_fired { timer.next(at)? } else { timer.set.when };
                let TimerSet { every_ms, text, .. } = &timer.set;
                Some(TimerView { number: *number, when, every_ms: *every_ms, text })
            })
            .collect();
        let (messages, cap_bytes) = (state.messages, FRAGMENT_CAP_BYTES);
        let view = View { at, agent, agents: &agents, timers: &timers, messages, cap_bytes };
        let mut screen = String::new();
        for registered in self.registry.of(joined) {
            let shown = self.state(registered, agent).render(&view);
            let Some(fragment) = shown.filter(|fragment| !fragment.text.trim().is_empty()) else {
                continue;
            };
            if screen.is_empty() {
                screen.push_str(HEADING);
            }
            screen.push_str("\n\n");
            screen.push_str(&capped(fragment, cap_bytes));
        }
        (!screen.is_empty()).then_some(screen)
    }

    /// The states for a snapshot: under the agent's number, a slash and the widget's name, the
    /// version in four bytes, lowest first, and the state. The screens are there under their own
    /// name, if any widget is registered.
    pub fn encode(&self) -> BTreeMap<String, Vec<u8>> {
        let encoded = self.states.iter().map(|((agent, name), widget)| {
            let WidgetState { version, bytes } = widget.encode();
            let value = version.to_le_bytes().into_iter().chain(bytes).collect();
            (format!("{}/{name}", agent.0), value)
        });
        let screens = (!self.registry.0.is_empty()).then(|| serde_json::to_vec(&self.screens));
        let screens = screens.and_then(Result::ok).map(|screens| (SCREENS.to_owned(), screens));
        encoded.chain(screens).collect()
    }

    /// The widgets from the states of a snapshot, and the keys of those that could not be read.
    /// States of widgets that nobody registered are passed over.
    pub fn decode(
        registry: Arc<Registry>,
        states: &BTreeMap<String, Vec<u8>>,
    ) -> (Self, Vec<String>) {
        let mut widgets = Self::new(registry);
        let mut unreadable = Vec::new();
        for (written, value) in states {
            if written == SCREENS {
                match serde_json::from_slice(value) {
                    Ok(screens) => widgets.screens = screens,
                    Err(_) => unreadable.push(written.clone()),
                }
                continue;
            }
            let parsed = written.split_once('/').and_then(|(agent, name)| {
                Some((AgentId(agent.parse().ok()?), name)).filter(|_| agent == canonical(agent))
            });
            let Some((agent, name)) = parsed else {
                unreadable.push(written.clone());
                continue;
            };
            let Some(registered) = widgets.registry.find(name) else { continue };
            match read(registered, value).filter(|_| key(registered, agent).0 == agent) {
                Some(state) => {
                    widgets.states.insert((agent, Arc::clone(&registered.name)), state);
                }
                None => unreadable.push(written.clone()),
            }
        }
        (widgets, unreadable)
    }

    /// Whether the states of a snapshot have the screens that were attached, as far as there can
    /// be any.
    pub(crate) fn has_screens(registry: &Registry, states: &BTreeMap<String, Vec<u8>>) -> bool {
        let readable = |screens: &Vec<u8>| serde_json::from_slice::<Screens>(screens).is_ok();
        registry.0.is_empty() || states.get(SCREENS).is_some_and(readable)
    }

    /// These widgets with the screens of others.
    #[must_use]
    pub(crate) fn with_screens_of(self, others: Self) -> Self {
        Self { screens: others.screens, ..self }
    }

    /// Whether there is a state for every registered widget that has changed on a path.
    pub(crate) fn has_all(&self, path: &PathState) -> bool {
        path.changed.iter().all(|(agent, names)| {
            let mut known = names.keys().filter_map(|name| self.registry.find(name));
            known.all(|registered| self.states.contains_key(&key(registered, *agent)))
        })
    }

    fn state<'a>(&'a self, registered: &'a Registered, agent: AgentId) -> &'a dyn Widget {
        let state = self.states.get(&key(registered, agent));
        state.map_or(&*registered.widget, |state| &**state)
    }
}

impl fmt::Debug for Widgets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.states.keys()).finish()
    }
}

/// Where the state is kept that an agent sees.
fn key(registered: &Registered, agent: AgentId) -> Key {
    let owner = match registered.widget.scope() {
        Scope::Agent => agent,
        Scope::Conversation => AgentId::CONVERSATION,
    };
    (owner, Arc::clone(&registered.name))
}

/// A state from a snapshot, if the widget can read it.
fn read(registered: &Registered, value: &[u8]) -> Option<Arc<dyn Widget>> {
    let (version, bytes) = value.split_first_chunk::<VERSION_BYTES>()?;
    let state = WidgetState { version: u32::from_le_bytes(*version), bytes: bytes.to_vec() };
    let mut widget = registered.widget.copy();
    widget.decode(&state).ok()?;
    Some(Arc::from(widget))
}

/// A number as we write it: no sign and no zeros in front, so that no state has two keys.
fn canonical(number: &str) -> &str {
    match number.trim_start_matches(['+', '0']) {
        "" => "0",
        digits => digits,
    }
}

/// A fragment's text, or as much of its head as fits, and how to read the rest.
fn capped(fragment: Fragment, cap_bytes: usize) -> String {
    let Fragment { text, rest } = fragment;
    if text.len() <= cap_bytes {
        return text;
    }
    let note = |left_out: usize| match &rest {
        Some(rest) => format!("\n[… {left_out} bytes left out; read the rest with {rest} …]"),
        None => format!("\n[… {left_out} bytes left out …]"),
    };
    let room = cap_bytes.saturating_sub(note(text.len()).len());
    let end = floor_boundary(&text, room);
    // A line that is cut in the middle reads as something it does not say.
    let head = text.get(..end).unwrap_or_default();
    let head = head.rfind('\n').filter(|line| *line > 0).map_or(head, |line| head.split_at(line).0);
    format!("{head}{}", note(text.len() - head.len()))
}

#[cfg(test)]
mod tests;
