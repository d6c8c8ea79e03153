//! What the commands of a chat do.

use anyhow::Context as _;
use threadline_core::history::fact::Fact;
use threadline_core::id::{AgentId, Seq};
use threadline_core::inbox::{Body, Command};
use threadline_core::store;
use threadline_core::widget::{AgentView, Widget as _};
use threadline_tools::widgets::board::{self, Board};
use threadline_tools::widgets::notebook::{self, Notebook};

use super::super::agent::Planned;
use super::super::change::change;
use super::super::notebook::{Kept, aligned};
use super::super::{agents, context, policy};
use super::slash::{COMMANDS, Slash};
use super::{Room, Stage, show};
use crate::view::{Line, counted};
use crate::words;

impl Room<'_> {
    /// Does what a command says.
    pub(super) async fn obey(&mut self, slash: &Slash) -> anyhow::Result<()> {
        match slash {
            Slash::Help => self.help(),
            Slash::History(messages) => {
                let id = self.within()?.id();
                show::messages_of(self.parts, id, *messages, self.view).await
            }
            Slash::Notebook => {
                let kept = self.notebook().await?;
                let text = kept.as_ref().map_or("", |kept| kept.notebook.text());
                self.show("/notebook", text, "the notebook is empty")
            }
            Slash::NotebookBlame => {
                let text = self.notebook_blame().await?;
                self.show("/notebook blame", &text, "the notebook is empty")
            }
            Slash::SetNotebook(text) => {
                self.begin().await?;
                let change = Notebook::set(text)?;
                let widget = notebook::NAME.into();
                self.change(Body::Command(Command::ChangeWidget { widget, change })).await?;
                let done = if text.is_empty() { "the notebook is cleared" } else { "noted" };
                self.told("/notebook", done)
            }
            Slash::Agents => match &self.stage {
                Stage::Within(talk) => {
                    let id = talk.id();
                    agents::show(self.parts, id, self.view).await
                }
                Stage::Before { .. } => {
                    agents::planned(self.parts, self.config, self.options, self.view)
                }
            },
            Slash::AddAgent(name, text) => {
                let text = Some(text.as_str()).filter(|text| !text.is_empty());
                let planned = Planned::joining(self.config, name)?.with(text, None)?;
                if let Some(route) = planned.route() {
                    self.market.want(route).await?;
                }
                let agent = planned.agent(&self.everything)?;
                self.begin().await?;
                let id = self.within()?.id();
                let (_, seq) = agents::add(self.parts, id, &agent).await?;
                self.talk_mut()?.joined(seq).await?;
                self.told("/agents", &format!("{name} joined; @{name} speaks to it"))
            }
            Slash::RemoveAgent(name) => {
                let talk = self.within()?;
                let (id, agent) = (talk.id(), talk.cast().find(name)?);
                let seq = change(self.parts, id, Some(agent), Command::Leave).await?;
                self.talk_mut()?.left(agent, seq);
                self.told("/agents", &format!("{name} left"))
            }
            Slash::Tasks => {
                let text = self.tasks().await?;
                self.show("/tasks", &text, "there are no tasks")
            }
            Slash::Instruction => {
                let text = self.instruction().await?;
                self.show("/instruction", &text, "there is no instruction")
            }
            Slash::SetInstruction(text) => {
                self.begin().await?;
                let text = text.as_str().into();
                self.change(Body::Command(Command::Instruct { text })).await?;
                self.told("/instruction", "it counts from the next message on")
            }
            Slash::Recap(text) => {
                let hints = if text.is_empty() { Vec::new() } else { vec![text.clone()] };
                self.recap(Command::Recap { hints }).await
            }
            Slash::UndoRecap => self.recap(Command::UndoRecap).await,
            Slash::Pin(seq, on) => {
                let id = self.within()?.id();
                let head = self.parts.store.conversation(id).await?.head;
                let (seq, on) = (Seq(*seq), *on);
                anyhow::ensure!(seq <= head, "there is no entry {seq}; the last is {head}");
                self.change(Body::Command(Command::Pin { seq, on })).await?;
                let told = if on { "stays whole" } else { "fades like others" };
                self.told("/pin", &format!("entry {seq} {told}, from the next turn on"))
            }
            Slash::Policy => self.show_policy().await,
            Slash::SetPolicy(rule) => {
                self.begin().await?;
                self.change(Body::Command(Command::SetPolicy(rule.clone()))).await?;
                self.told("/policy", &words::policy(rule))
            }
            Slash::Model => self.show_models(),
            Slash::SetModel(name) => self.take_model(name).await,
            Slash::Context => {
                let talk = super::within(&self.stage)?;
                context::short(talk.runtime().world(), talk.id(), self.view).await
            }
            Slash::Undo => self.rewind("/undo", Back::Turn).await,
            Slash::Reset => self.rewind("/reset", Back::Start).await,
            Slash::Exit => Ok(()),
        }
    }

    fn help(&mut self) -> anyhow::Result<()> {
        if self.view.json {
            let names = COMMANDS.map(|(name, ..)| name).join(" ");
            return self.told("/help", &names);
        }
        for (name, takes, does) in COMMANDS {
            let line = Line::new().name(format!("  {name:<13}")).plain(format!("{takes:<24}"));
            self.view.line(&line.dim(does))?;
        }
        Ok(())
    }

    async fn show_policy(&mut self) -> anyhow::Result<()> {
        let (id, operator) = match &self.stage {
            Stage::Within(talk) => (Some(talk.id()), talk.runtime().world().setting.policy.clone()),
            Stage::Before { setup, .. } => {
                (None, setup.as_ref().map(|setup| setup.policy.clone()).unwrap_or_default())
            }
        };
        let set = match id {
            Some(id) => {
                let (_, history) = store::open(&*self.parts.store, id, &self.parts.counter).await?;
                history.ledger().policies.clone()
            }
            None => Vec::new(),
        };
        policy::show(&operator, &set, id, self.view)
    }

    async fn recap(&mut self, command: Command) -> anyhow::Result<()> {
        let id = self.within()?.id();
        let seq = self.change(Body::Command(command)).await?;
        let recap = super::super::recap::read(self.parts, id, seq).await?;
        self.told("/recap", &super::super::recap::line(seq, &recap))
    }

    async fn rewind(&mut self, command: &str, back: Back) -> anyhow::Result<()> {
        let id = self.within()?.id();
        let (_, history) = store::open(&*self.parts.store, id, &self.parts.counter).await?;
        let state = history.state();
        let to = match back {
            Back::Turn => state.last_turn.context("there is no turn to go back over")?.before(),
            Back::Start => state.first_input.context("nothing has been said yet")?.before(),
        };
        self.change(Body::Command(Command::Rewind { to })).await?;
        let messages = self.parts.store.conversation(id).await?.sums.messages;
        let left = counted(messages, "message counts", "messages count");
        let undo = format!("to undo: threadline rewind {id} --undo");
        self.told(command, &format!("back at entry {to}; {left} now; {undo}"))
    }

    async fn notebook(&self) -> anyhow::Result<Option<Kept>> {
        let Stage::Within(talk) = &self.stage else { return Ok(None) };
        Ok(Some(Kept::open(self.parts, talk.id(), None).await?))
    }

    async fn notebook_blame(&self) -> anyhow::Result<String> {
        let Some(kept) = self.notebook().await? else { return Ok(String::new()) };
        let origins = kept.origins(self.parts).await?;
        let lines = aligned(&origins).into_iter().map(|(head, text)| format!("{head}  {text}"));
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }

    async fn tasks(&self) -> anyhow::Result<String> {
        let Stage::Within(talk) = &self.stage else { return Ok(String::new()) };
        let registry = &talk.runtime().world().setting.widgets;
        let store = &*self.parts.store;
        let (_, history, widgets) =
            store::open_with_widgets(store, talk.id(), &self.parts.counter, registry).await?;
        let mut board = Board::new();
        if let Some(widget) = widgets.get(AgentId::CONVERSATION, board::NAME) {
            board.decode(&widget.encode())?;
        }
        let agents = history.state().agents.iter().map(|(id, agent)| AgentView {
            id: *id,
            name: &agent.joined.name,
            interactions: agent.interactions,
        });
        Ok(board.list(&agents.collect::<Vec<_>>()))
    }

    async fn instruction(&self) -> anyhow::Result<String> {
        let Stage::Within(talk) = &self.stage else {
            let Stage::Before { plan, .. } = &self.stage else { return Ok(String::new()) };
            return Ok(super::agent::effective(plan.instruction.as_deref()).to_owned());
        };
        let id = talk.id();
        let (_, history) = store::open(&*self.parts.store, id, &self.parts.counter).await?;
        let agent = history.state().primary().and_then(|agent| history.agent(agent));
        let set: Option<Seq> = agent.and_then(|agent| agent.instruction).map(|(seq, _)| seq);
        let Some(seq) = set else { return Ok(String::new()) };
        let entry = store::verified_entry(&*self.parts.store, id, seq).await?;
        let Fact::InstructionSet(set) = &entry.fact else { return Ok(String::new()) };
        Ok((*set.text).to_owned())
    }

    /// Shows a text, or says that there is none.
    fn show(&mut self, command: &str, text: &str, none: &str) -> anyhow::Result<()> {
        if text.is_empty() && !self.view.json {
            self.view.line(&Line::new().dim(none))?;
        } else if self.view.json {
            self.told(command, text)?;
        } else {
            self.view.text(text, "")?;
        }
        Ok(())
    }

    /// Says what a command did.
    pub(super) fn told(&mut self, command: &str, told: &str) -> anyhow::Result<()> {
        #[derive(serde::Serialize)]
        struct Told<'a> {
            command: &'a str,
            told: &'a str,
        }
        if self.view.json {
            self.view.value(&Told { command, told })?;
        } else {
            self.view.line(&Line::new().dim(told))?;
        }
        Ok(())
    }
}

/// How far to go back.
enum Back {
    /// To before the last turn.
    Turn,
    /// To before the first message.
    Start,
}
