//! `threadline approve`: answering what agents ask, from any terminal.

use serde::Serialize;
use serde_json::value::RawValue;
use threadline::{asked, item};
use threadline_core::history::fact::{Answer, Verdict};
use threadline_core::id::{CallId, ConversationId};
use threadline_core::inbox::Command;
use threadline_core::store;

use super::change::{became, change};
use super::question::{Question, person};
use super::send;
use crate::args::{Approve, Bounds};
use crate::compose::Parts;
use crate::config::Config;
use crate::view::{Line, View};
use crate::words;

pub(crate) async fn run(
    parts: &Parts,
    config: &Config,
    arguments: &Approve,
    view: &mut View,
) -> anyhow::Result<()> {
    let meant = arguments.conversation.as_deref().unwrap_or("last");
    let id = parts.find(meant).await?.id;
    let questions = questions(parts, config, id).await?;
    let Some(call) = &arguments.call else { return list(id, &questions, view) };
    let calls: Vec<String> = questions.iter().map(|(call, _)| call.to_string()).collect();
    let meant = questions.into_iter().find(|(asked, _)| asked.to_string() == *call);
    let question = match meant {
        Some((_, question)) => question?,
        None if calls.is_empty() => anyhow::bail!("nothing is asked in conversation {id}"),
        None => {
            anyhow::bail!("nobody is asked about call {call:?}; asked about: {}", calls.join(", "))
        }
    };
    let (answer, verdict) = if arguments.deny {
        (Answer::Deny, Verdict::Deny)
    } else {
        (Answer::Allow, Verdict::Allow)
    };
    let rule = arguments.always.then(|| question.for_good(verdict));
    anyhow::ensure!(
        rule != Some(None),
        "this call has a * where a rule would name it: answer without --always"
    );
    let by = arguments.by.as_deref().map(Into::into).or_else(person);
    let item = item(question.answer(answer, by));
    parts.store.enqueue(id, &item).await?;
    if let Some(rule) = rule.flatten() {
        change(parts, id, None, Command::SetPolicy(rule.clone())).await?;
        if !view.json {
            view.line(&Line::new().dim(words::policy(&rule)))?;
        }
    }
    let became = became(parts, id, &[item]).await?;
    send::tell(id, &became, view)
}

/// A call that is asked about, and what is asked, or why that cannot be told.
type Asked = (CallId, anyhow::Result<Question>);

/// What is asked in a conversation now.
async fn questions(
    parts: &Parts,
    config: &Config,
    id: ConversationId,
) -> anyhow::Result<Vec<Asked>> {
    let (_, history) = store::open(&*parts.store, id, &parts.counter).await?;
    let calls: Vec<CallId> = asked(&history).collect();
    let setup = parts.setup(config, Parts::offer(config)?, None, &Bounds::default())?;
    let runtime = setup.runtime()?;
    let tools = &runtime.world().setting.tools;
    let mut questions = Vec::new();
    for call in calls {
        let question = Question::open(parts, tools, id, call).await.transpose();
        questions.extend(question.map(|question| (call, question)));
    }
    Ok(questions)
}

/// A question as it is listed.
#[derive(Serialize)]
#[serde(untagged)]
enum Listed<'a> {
    Open {
        call: String,
        agent: &'a str,
        tool: &'a str,
        arguments: &'a RawValue,
        warnings: &'a [String],
        until: String,
    },
    Unreadable {
        call: String,
        error: String,
    },
}

impl<'a> Listed<'a> {
    fn new((call, question): &'a Asked) -> anyhow::Result<Self> {
        let call = call.to_string();
        Ok(match question {
            Ok(question) => Self::Open {
                call,
                agent: &question.name,
                tool: &question.tool.name,
                arguments: serde_json::from_str(&question.arguments)?,
                warnings: &question.warnings,
                until: question.until.to_string(),
            },
            Err(error) => Self::Unreadable { call, error: format!("{error:#}") },
        })
    }
}

fn list(id: ConversationId, questions: &[Asked], view: &mut View) -> anyhow::Result<()> {
    #[derive(Serialize)]
    struct All<'a> {
        id: String,
        questions: Vec<Listed<'a>>,
    }
    if view.json {
        let questions = questions.iter().map(Listed::new).collect::<anyhow::Result<_>>()?;
        return Ok(view.value(&All { id: id.to_string(), questions })?);
    }
    if questions.is_empty() {
        view.line(&Line::new().plain("nothing is asked there"))?;
    }
    for (call, question) in questions {
        match question {
            Ok(question) => {
                question.put(id, view)?;
                let told =
                    format!("  to allow it: threadline approve {id} {call}; not to: add --deny");
                view.line(&Line::new().dim(told))?;
            }
            Err(error) => view.line(&Line::new().bad("? ").plain(format!("{error:#}")))?,
        }
    }
    Ok(())
}
