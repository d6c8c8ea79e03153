//! Replies about the other agents of a conversation.

use super::Writing;
use crate::guide::told::{listed, spoken};
use crate::guide::wish::{AgentWish, errands, parts};

pub(super) const CALL_AGENT: &str = "call_agent";

/// So many agents are asked if a plan does not say more.
const PLANNED: usize = 2;

impl<'a> Writing<'a> {
    /// Does what is wanted of other agents.
    pub(super) fn act_on_agents(&mut self, wish: &AgentWish) {
        match wish {
            AgentWish::Ask(text) => self.give(&errands(text, &self.names()), true),
            AgentWish::Send(text) => self.give(&errands(text, &self.names()), false),
            AgentWish::Plan { text, .. } => self.plan(text),
            AgentWish::Heard { .. } | AgentWish::Who => {}
        }
    }

    /// Calls agents side by side.
    fn give(&mut self, errands: &[(String, String)], wait: bool) {
        if self.request.catalogue.get(CALL_AGENT).is_none() {
            return self.say("Nobody else is here, so I can ask nobody.".to_owned());
        }
        let names = self.names();
        for (name, task) in errands {
            if !names.is_empty() && !names.contains(&name.as_str()) {
                let there = names.join(", ");
                self.say(format!("There is no agent named {name} here. There are: {there}."));
                continue;
            }
            let call = [("name", name.as_str().into()), ("task", task.as_str().into())];
            let wait = (!wait).then(|| ("wait", false.into()));
            self.call(CALL_AGENT, &call.into_iter().chain(wait).collect::<Vec<_>>());
        }
    }

    /// Asks those who are there: each for a part if there are several, and else all for the same.
    fn plan(&mut self, text: &str) {
        let (names, parts) = (self.names(), parts(text));
        let asked = names.iter().take(PLANNED.max(parts.len()));
        let errands: Vec<_> = match &*parts {
            [one] => asked.map(|name| ((*name).to_owned(), (*one).to_owned())).collect(),
            parts => {
                let asked = asked.cycle().zip(parts);
                asked.map(|(name, part)| ((*name).to_owned(), (*part).to_owned())).collect()
            }
        };
        self.give(&errands, true);
    }

    /// Passes on what an agent answered, or tells who is there.
    pub(super) fn tell_agents(&mut self, wish: &AgentWish) {
        match wish {
            AgentWish::Heard { name, text } => self.say(spoken(name, " says", text)),
            AgentWish::Who => self.say(match &*self.peers() {
                [] => "Nobody else is here.".to_owned(),
                peers => format!("Here are:\n\n{}", listed(peers)),
            }),
            AgentWish::Ask(_) | AgentWish::Send(_) | AgentWish::Plan { .. } => {}
        }
    }

    /// Who is there: a line for each, as the tool that calls them tells it.
    fn peers(&self) -> Vec<&'a str> {
        let told = self.request.catalogue.get(CALL_AGENT);
        let told = told.and_then(|spec| spec.description.split_once("\nThere are:\n"));
        let lines = told.map_or("", |(_, lines)| lines).lines();
        lines.filter_map(|line| line.strip_prefix("- ")).collect()
    }

    fn names(&self) -> Vec<&'a str> {
        let peers = self.peers().into_iter();
        peers.map(|line| line.split_once(": ").map_or(line, |(name, _)| name)).collect()
    }
}
