//! `threadline chat`: talking with an agent in the terminal, or through a pipe.

mod commands;
mod models;
mod questions;
mod slash;

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use threadline::{Ending, Setup};
use threadline_core::history::fact::AgentJoined;
use threadline_core::id::Seq;
use threadline_core::inbox::{Body, Command, Item};
use threadline_core::store::StoreError;
use threadline_runtime::{NewAgent, Runtime};

use self::slash::Slash;
use super::agent::Plan;
use super::resume::{Where, unfinished};
use super::run::{print, print_name, print_others, tell_waking};
use super::{agent, list, show};
use crate::args::{AgentOptions, Bounds, Chat};
use crate::compose::Parts;
use crate::config::Config;
use crate::offer::market::Market;
use crate::outage::passes;
use crate::talk::{Came, Lines, Of, Said, Screen, Signals, Talk, To, Unheard};
use crate::view::{self, Line, View, aside, remark};

/// The exit code of someone who left before the end.
const LEFT: u8 = 130;
/// The exit code of a turn that waits for a person.
const ASKED: u8 = 4;
/// How many messages are shown of a conversation that goes on.
const SHOWN: usize = 2;

pub(crate) async fn run(
    parts: &Parts,
    config: &Config,
    arguments: &Chat,
    view: &mut View,
) -> anyhow::Result<ExitCode> {
    let options = &arguments.agent;
    let plan = agent::Plan::new(config, options)?;
    let meant = arguments.conversation.as_deref().or(arguments.again.then_some("last"));
    let mut offer = match meant {
        Some(meant) => parts.offer_for(config, parts.find(meant).await?.id).await?,
        None => Parts::offer(config)?,
    };
    plan.offer(&mut offer).await?;
    let workspace = options.workspace.folder.as_deref();
    let market = Market::new(offer);
    let setup = parts.setup_with(config, &market, workspace, &Bounds::default())?;
    let everything = setup.assistant("").joined;
    let (route, told) = (plan.named.clone(), options.instruction.is_some());
    let interactive = io::stdin().is_terminal() && io::stdout().is_terminal() && !view.json;
    let (signals, lines) = (Signals::new()?, Lines::of_stdin()?);
    let stage =
        Stage::Before { setup: Some(Box::new(setup)), plan: Box::new(plan), told, prepared: None };
    let mut chat = Room {
        parts,
        config,
        options,
        view,
        lines,
        signals,
        interactive,
        stage,
        market,
        everything,
        route,
        code: 0,
    };
    let talked = chat.talk(meant).await;
    let left = chat.leave().await;
    talked?;
    left
}

/// Where a person and an agent talk.
struct Room<'a> {
    parts: &'a Parts,
    config: &'a Config,
    options: &'a AgentOptions,
    view: &'a mut View,
    lines: Lines,
    signals: Signals,
    /// Whether a person sits there.
    interactive: bool,
    stage: Stage,
    /// The models that can be asked here.
    market: Arc<Market>,
    /// An agent with all tools and widgets there are.
    everything: AgentJoined,
    /// The model or route that answers what is said here, if one was named.
    route: Option<Arc<str>>,
    code: u8,
}

/// Whether there is a conversation yet: it begins with the first message.
enum Stage {
    Before {
        setup: Option<Box<Setup>>,
        plan: Box<Plan>,
        /// Whether the command line gave an instruction.
        told: bool,
        /// What it begins with, once it was tried: the database may not be writable at first.
        prepared: Option<(Runtime, Vec<NewAgent>)>,
    },
    Within(Box<Talk>),
}

/// What came instead of a line, or the line.
enum Heard {
    Line(String),
    /// The end of the input.
    End,
    /// Whoever sits there asked to stop.
    Stop,
    /// Something happened that was not asked for here.
    News,
}

/// Whether to go on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    GoOn,
    Leave,
}

impl Room<'_> {
    /// Talks until someone leaves.
    async fn talk(&mut self, meant: Option<&str>) -> anyhow::Result<()> {
        self.greet()?;
        if let Some(meant) = meant
            && self.enter(meant).await? == Then::Leave
        {
            return Ok(());
        }
        loop {
            if self.interactive {
                self.view.prompt("› ")?;
            }
            match self.hear(false).await? {
                Heard::Line(line) if line.trim().is_empty() => {}
                Heard::Line(line) => {
                    let answered = self.answer(&line).await;
                    if self.or_go_on(answered)? == Then::Leave {
                        return Ok(());
                    }
                }
                Heard::News => {
                    let overheard = self.overheard().await;
                    if self.or_go_on(overheard)? == Then::Leave {
                        return Ok(());
                    }
                }
                Heard::End => return self.new_line(),
                Heard::Stop => {
                    if !self.interactive {
                        self.code = LEFT;
                    }
                    return self.new_line();
                }
            }
        }
    }

    /// Says what went wrong and goes on, if it was only that the database could not be used.
    fn or_go_on(&mut self, outcome: anyhow::Result<Then>) -> anyhow::Result<Then> {
        match outcome {
            Err(error) if passes(&error) => {
                self.wrong(&crate::report::chain(&error));
                Ok(Then::GoOn)
            }
            outcome => outcome,
        }
    }

    fn greet(&mut self) -> anyhow::Result<()> {
        if !self.interactive {
            return Ok(());
        }
        let name = Line::new().bold("threadline").plain(" keeps this conversation: ");
        self.view.line(&name.plain("kill it, and it goes on where it was."))?;
        let answers = self.who_answers();
        self.view.line(&Line::new().plain(format!("{answers} answers. Try:")))?;
        let examples = ["add 2 and 3", "remember that I like tea", "read README.md", "help"]
            .map(str::to_owned);
        self.view.remarks(&examples, "  ")?;
        let help = "/help shows the commands, Ctrl-C stops an answer, Ctrl-D leaves.";
        self.view.line(&Line::new().plain(help))?;
        self.view.line(&Line::new())?;
        Ok(())
    }

    /// Goes on with a conversation that is there already.
    async fn enter(&mut self, meant: &str) -> anyhow::Result<Then> {
        let conversation = self.parts.find(meant).await?;
        let id = conversation.id;
        if conversation.moved_away {
            return Err(StoreError::MovedAway(id).into());
        }
        let Stage::Before { setup, plan, told, .. } = &mut self.stage else {
            return Ok(Then::GoOn);
        };
        let setup = setup.take().context("the conversation has begun")?;
        let instruction = plan.instruction.take().filter(|_| *told);
        let talk = Talk::new(setup.runtime()?, id, conversation.head).await?;
        self.stage = Stage::Within(Box::new(talk));
        if self.interactive {
            let title = conversation.sums.title.as_deref().unwrap_or("(no title)");
            self.view.line(&Line::new().bold(title).plain("  ").dim(id.to_string()))?;
            let now = threadline_core::clock::Clock::now(&self.parts.clock);
            self.view.remarks(&list::remarks(&conversation, now), "  ")?;
            self.view.line(&Line::new())?;
            show::messages_of(self.parts, id, SHOWN, self.view).await?;
        }
        self.tell_if_held(id).await?;
        if let Some(text) = instruction {
            self.change(Body::Command(Command::Instruct { text: text.into() })).await?;
        }
        match unfinished(self.parts, &conversation).await? {
            Where::Inside(turn) => {
                aside(Line::new().dim("· going on with what was under way"));
                self.within()?.start();
                let then = self.turn(&Followed::Turn(turn), None).await?;
                self.new_line()?;
                Ok(then)
            }
            Where::Before(item) => {
                aside(Line::new().dim("· going on with what was said last"));
                self.within()?.start();
                let then = self.turn(&Followed::Item(*item), None).await?;
                self.new_line()?;
                Ok(then)
            }
            Where::Due => {
                self.within()?.start();
                self.turn(&Followed::All, None).await
            }
            Where::Ended | Where::Answered(_) | Where::Nothing => Ok(Then::GoOn),
        }
    }

    /// Says so if another process drives the conversation.
    async fn tell_if_held(&self, id: threadline_core::id::ConversationId) -> anyhow::Result<()> {
        if let Some(holder) = self.parts.store.holder(id).await? {
            let owner = if holder.owner.is_empty() { "another process" } else { &holder.owner };
            let told = format!("· {owner} is busy with it: what you say waits for its turn there");
            aside(Line::new().bad(told));
        }
        Ok(())
    }

    /// Waits for a line, or for something else that is worth to be shown.
    async fn hear(&mut self, asking: bool) -> anyhow::Result<Heard> {
        loop {
            let (stage, interactive) = (&mut self.stage, self.interactive);
            let overheard = async {
                match stage {
                    Stage::Within(talk) if interactive => talk.overhear(asking).await,
                    Stage::Within(_) | Stage::Before { .. } => std::future::pending().await,
                }
            };
            let said = tokio::select! {
                biased;
                _ = self.signals.next() => return Ok(Heard::Stop),
                said = self.lines.next() => said.context("could not read standard input")?,
                overheard = overheard => {
                    overheard?;
                    return Ok(Heard::News);
                }
            };
            match said {
                None => return Ok(Heard::End),
                Some(Said::Line(line)) => return Ok(Heard::Line(line)),
                Some(Said::TooLong) => {
                    self.wrong("this line is longer than 16 MiB: put it into a file");
                }
            }
        }
    }

    async fn answer(&mut self, line: &str) -> anyhow::Result<Then> {
        match line.trim_start().strip_prefix('/') {
            Some(rest) if rest.starts_with('/') => self.say(rest).await,
            Some(_) => match Slash::read(line.trim()) {
                Ok(Slash::Exit) => Ok(Then::Leave),
                Ok(slash) => {
                    if let Err(error) = self.obey(&slash).await {
                        self.wrong(&crate::report::chain(&error));
                    }
                    Ok(Then::GoOn)
                }
                Err(wrong) => {
                    self.wrong(&wrong);
                    Ok(Then::GoOn)
                }
            },
            None => match self.say(line).await {
                Err(error) if error.is::<Unheard>() => {
                    let hint = match error.downcast_ref() {
                        Some(Unheard::Nobody { .. }) => "; @@ says an @",
                        Some(Unheard::Blank) | None => "",
                    };
                    self.wrong(&format!("{error}{hint}"));
                    Ok(Then::GoOn)
                }
                said => said,
            },
        }
    }

    async fn say(&mut self, text: &str) -> anyhow::Result<Then> {
        let (to, text) = To::read(text);
        if text.trim().is_empty() {
            return Err(Unheard::Blank.into());
        }
        if let (To::One(name), Stage::Before { plan, .. }) = (&to, &self.stage) {
            plan.check_agent(name)?;
        }
        self.begin().await?;
        let route = self.route.clone();
        let items = self.talk_mut()?.say(&to, text, route).await?;
        let many = items.len() > 1;
        for item in items {
            let whose = within(&self.stage)?.name_of(&item).filter(|_| many);
            if self.turn(&Followed::Item(item), whose).await? == Then::Leave {
                return Ok(Then::Leave);
            }
        }
        // Others may have been given something to do, and may ask about it.
        let then = self.turn(&Followed::All, None).await?;
        self.new_line()?;
        Ok(then)
    }

    /// Shows what goes on by itself or because of other terminals, and asks what is asked.
    async fn overheard(&mut self) -> anyhow::Result<Then> {
        self.new_line()?;
        self.turn(&Followed::All, None).await
    }

    /// Follows a turn to its end, and answers the questions that come up. Says whose answer it is
    /// if someone is named.
    async fn turn(&mut self, followed: &Followed, whose: Option<Arc<str>>) -> anyhow::Result<Then> {
        loop {
            let Stage::Within(talk) = &mut self.stage else { return Ok(Then::GoOn) };
            let mut screen = Screen::new(self.view);
            let live = screen.is_live();
            let came = talk.follow(followed.of(), &mut screen, &mut self.signals, None).await;
            screen.end_line()?;
            match came? {
                Came::Quit => {
                    self.code = LEFT;
                    return Ok(Then::Leave);
                }
                Came::Rest => {
                    print_others(talk, live, self.view).await?;
                    return Ok(Then::GoOn);
                }
                Came::To(Ending::Approval(calls), ..) if self.interactive => {
                    if self.ask_about(&calls).await? == Then::Leave {
                        return Ok(Then::Leave);
                    }
                }
                Came::To(ending, input, time_up) => {
                    if !live {
                        print_name(whose.as_deref(), self.view)?;
                    }
                    let report = print(talk, &ending, input, time_up, live, self.view).await?;
                    if report.exit_code != 0 && !self.interactive {
                        self.code = report.exit_code;
                    }
                    // Nobody is there to answer, and what comes next would wait for that.
                    return Ok(match ending {
                        Ending::Approval(_) => Then::Leave,
                        Ending::Answered { .. }
                        | Ending::Ended { .. }
                        | Ending::Open
                        | Ending::Refused(_) => Then::GoOn,
                    });
                }
            }
        }
    }

    /// Begins the conversation, if it has not begun.
    async fn begin(&mut self) -> anyhow::Result<()> {
        if let Stage::Before { setup, plan, prepared, .. } = &mut self.stage {
            if let Some(setup) = setup.take() {
                *prepared = Some(agent::prepare(*setup, plan)?);
            }
            let (runtime, agents) = prepared.as_ref().context("the conversation has begun")?;
            let talk = agent::begin_with(runtime.clone(), agents).await?;
            self.stage = Stage::Within(Box::new(talk));
        }
        Ok(())
    }

    /// The conversation, which has begun.
    fn within(&self) -> anyhow::Result<&Talk> {
        within(&self.stage)
    }

    /// Changes the conversation; what comes of it is not shown as an answer would be.
    async fn change(&mut self, body: Body) -> anyhow::Result<Seq> {
        self.talk_mut()?.change(body).await
    }

    /// The conversation, which has begun.
    fn talk_mut(&mut self) -> anyhow::Result<&mut Talk> {
        match &mut self.stage {
            Stage::Within(talk) => Ok(talk),
            Stage::Before { .. } => anyhow::bail!("nothing was said yet"),
        }
    }

    /// Tells what is wrong, and goes on.
    fn wrong(&mut self, message: &str) {
        drop(self.view.finish());
        view::error(message, self.view.json);
        if !self.interactive {
            self.code = 1;
        }
    }

    /// Leaves the line of the prompt.
    fn new_line(&mut self) -> anyhow::Result<()> {
        if self.interactive {
            self.view.line(&Line::new())?;
        }
        Ok(())
    }

    /// Says how to come back, if there is something to come back to.
    async fn leave(&mut self) -> anyhow::Result<ExitCode> {
        let written = self.view.finish();
        if let Stage::Within(talk) = &self.stage {
            talk.runtime().stop().await;
            if !self.view.json {
                if self.code != ASKED {
                    tell_waking(self.parts, talk.id()).await?;
                }
                remark(&format!("to come back: threadline chat {}", talk.id()));
            }
        }
        written?;
        Ok(ExitCode::from(self.code))
    }
}

/// The conversation, which has begun.
fn within(stage: &Stage) -> anyhow::Result<&Talk> {
    match stage {
        Stage::Within(talk) => Ok(talk),
        Stage::Before { .. } => anyhow::bail!("nothing was said yet"),
    }
}

/// What is followed.
enum Followed {
    Item(Item),
    Turn(threadline_core::id::Seq),
    /// Whatever goes on.
    All,
}

impl Followed {
    fn of(&self) -> Of<'_> {
        match self {
            Self::Item(item) => Of::Item(item),
            Self::Turn(seq) => Of::Turn(*seq),
            Self::All => Of::All,
        }
    }
}
