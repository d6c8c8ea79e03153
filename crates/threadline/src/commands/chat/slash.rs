//! The commands of a chat, which begin with a slash.

use threadline_core::history::fact::PolicySet;

use super::super::policy;
use crate::near::distance;

/// What a person wants beside talking.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Slash {
    /// What commands there are.
    Help,
    /// The last messages.
    History(usize),
    /// What the notebook says.
    Notebook,
    /// Who wrote which line of the notebook.
    NotebookBlame,
    /// The notebook is to say this.
    SetNotebook(String),
    /// Who takes part.
    Agents,
    /// An agent is to join, with this description if one is given.
    AddAgent(String, String),
    /// An agent is to leave.
    RemoveAgent(String),
    /// What is to be done.
    Tasks,
    /// How the agent is instructed.
    Instruction,
    /// The agent is to be instructed like this.
    SetInstruction(String),
    /// A recap is to be written, with this in mind.
    Recap(String),
    /// The newest recap is to be taken back.
    UndoRecap,
    /// An entry is to stay whole, or no longer.
    Pin(u64, bool),
    /// Which rules count.
    Policy,
    /// This rule is to count.
    SetPolicy(PolicySet),
    /// Which models there are.
    Model,
    /// This model or route is to answer.
    SetModel(String),
    /// What the model sees.
    Context,
    /// Back to before the last turn.
    Undo,
    /// Back to before the first message.
    Reset,
    /// Leave.
    Exit,
}

/// The commands, and what each does.
pub(super) const COMMANDS: [(&str, &str, &str); 16] = [
    ("/help", "", "show this"),
    ("/history", "[N]", "show the last N messages, 10 unless told"),
    ("/notebook", "[blame|set TEXT|clear]", "show what the agent remembers, or change it"),
    ("/tasks", "", "show the task board"),
    ("/agents", "[add|remove NAME]", "show who takes part, or let an agent join or leave"),
    ("/instruction", "[TEXT]", "show how the agent is instructed, or change it"),
    ("/recap", "[TEXT | undo]", "have the older part recapped, with TEXT in mind; or not"),
    ("/pin", "SEQ", "keep an entry whole in every request; /unpin SEQ lets it fade"),
    ("/policy", "[RULE]", "show which calls are allowed, or set a rule: deny shell"),
    ("/model", "[NAME]", "show the models and routes, or have another answer"),
    ("/context", "", "show what the model sees, and what it takes of its window"),
    ("/undo", "", "go back to before the last turn; nothing is deleted"),
    ("/reset", "", "go back to before the first message; nothing is deleted"),
    ("/exit", "", "leave; the conversation stays"),
    ("@", "NAME TEXT", "say something to one agent, or to all; @@ says an @"),
    ("//", "TEXT", "say something that begins with a slash"),
];

/// How many messages are shown unless told.
const MESSAGES: usize = 10;

impl Slash {
    /// The command on a line; what would be right if it is none.
    pub(super) fn read(line: &str) -> Result<Self, String> {
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let alone = |slash| {
            if rest.is_empty() { Ok(slash) } else { Err(format!("{name} takes nothing after it")) }
        };
        match name {
            "/help" | "/?" => alone(Self::Help),
            "/history" if rest.is_empty() => Ok(Self::History(MESSAGES)),
            "/history" => match rest.parse() {
                Ok(messages) if messages > 0 => Ok(Self::History(messages)),
                Ok(_) | Err(_) => Err("/history takes a number from 1 on".to_owned()),
            },
            "/notebook" => notebook(rest),
            "/tasks" => alone(Self::Tasks),
            "/agents" => agents(rest),
            "/instruction" if rest.is_empty() => Ok(Self::Instruction),
            "/instruction" => Ok(Self::SetInstruction(rest.to_owned())),
            "/recap" if rest == "undo" => Ok(Self::UndoRecap),
            "/recap" => Ok(Self::Recap(rest.to_owned())),
            "/pin" | "/unpin" => match rest.parse() {
                Ok(seq) if seq > 0 => Ok(Self::Pin(seq, name == "/pin")),
                Ok(_) | Err(_) => Err(format!("{name} takes the number of an entry")),
            },
            "/policy" if rest.is_empty() => Ok(Self::Policy),
            "/policy" => {
                let words: Vec<&str> = rest.split_whitespace().collect();
                policy::read(&words).map(Self::SetPolicy)
            }
            "/model" if rest.is_empty() => Ok(Self::Model),
            "/model" => Ok(Self::SetModel(rest.to_owned())),
            "/context" => alone(Self::Context),
            "/undo" => alone(Self::Undo),
            "/reset" => alone(Self::Reset),
            "/exit" | "/quit" => alone(Self::Exit),
            other => Err(unknown(other)),
        }
    }
}

fn agents(rest: &str) -> Result<Slash, String> {
    let (word, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let (name, text) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
    match (word, name, text.trim()) {
        ("", ..) => Ok(Slash::Agents),
        ("add", name, text) if !name.is_empty() => {
            Ok(Slash::AddAgent(name.to_owned(), text.to_owned()))
        }
        ("remove", name, "") if !name.is_empty() => Ok(Slash::RemoveAgent(name.to_owned())),
        _ => Err("/agents shows who takes part; /agents add NAME [WHAT IT IS FOR] and /agents \
                  remove NAME change it"
            .to_owned()),
    }
}

fn notebook(rest: &str) -> Result<Slash, String> {
    let (word, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    match (word, text.trim()) {
        ("", _) => Ok(Slash::Notebook),
        ("blame", "") => Ok(Slash::NotebookBlame),
        ("clear", "") => Ok(Slash::SetNotebook(String::new())),
        ("set", text) if !text.is_empty() => Ok(Slash::SetNotebook(text.to_owned())),
        _ => Err("/notebook shows it, /notebook blame who wrote it; /notebook set TEXT and \
                  /notebook clear change it"
            .to_owned()),
    }
}

fn unknown(name: &str) -> String {
    let known = || COMMANDS.iter().map(|(known, ..)| *known).filter(|known| known.len() > 2);
    let begun = known().find(|known| name.len() > 2 && known.starts_with(name));
    let near = || known().map(|known| (distance(name, known), known)).min();
    match begun.or_else(|| near().filter(|(steps, _)| *steps <= 2).map(|(_, known)| known)) {
        Some(known) => format!("there is no command {name}; did you mean {known}?"),
        None => format!("there is no command {name}; /help shows what there is"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read() {
        assert_eq!(Slash::read("/history"), Ok(Slash::History(10)));
        assert_eq!(Slash::read("/history  3 "), Ok(Slash::History(3)));
        assert_eq!(Slash::read("/notebook"), Ok(Slash::Notebook));
        assert_eq!(Slash::read("/notebook blame"), Ok(Slash::NotebookBlame));
        assert_eq!(Slash::read("/notebook clear"), Ok(Slash::SetNotebook(String::new())));
        assert_eq!(Slash::read("/tasks"), Ok(Slash::Tasks));
        assert_eq!(Slash::read("/agents"), Ok(Slash::Agents));
        let add = Slash::AddAgent("ada".to_owned(), "knows flowers".to_owned());
        assert_eq!(Slash::read("/agents add ada  knows flowers"), Ok(add));
        assert_eq!(Slash::read("/agents remove ada"), Ok(Slash::RemoveAgent("ada".to_owned())));
        let set = Slash::SetNotebook("a  b".to_owned());
        assert_eq!(Slash::read("/notebook set a  b "), Ok(set));
        let instruct = Slash::SetInstruction("be brief".to_owned());
        assert_eq!(Slash::read("/instruction be brief"), Ok(instruct));
        assert_eq!(Slash::read("/context"), Ok(Slash::Context));
        assert_eq!(Slash::read("/exit"), Ok(Slash::Exit));
        assert_eq!(Slash::read("/recap"), Ok(Slash::Recap(String::new())));
        let recap = Slash::Recap("keep the names".to_owned());
        assert_eq!(Slash::read("/recap keep the names"), Ok(recap));
        assert_eq!(Slash::read("/recap undo"), Ok(Slash::UndoRecap));
        assert_eq!(Slash::read("/pin 12"), Ok(Slash::Pin(12, true)));
        assert_eq!(Slash::read("/unpin 12"), Ok(Slash::Pin(12, false)));
    }

    #[test]
    fn what_is_no_command_is_answered_with_what_would_be() {
        let wrong = |line: &str| Slash::read(line).unwrap_err();
        assert_eq!(wrong("/hist"), "there is no command /hist; did you mean /history?");
        assert_eq!(wrong("/udno"), "there is no command /udno; did you mean /undo?");
        assert_eq!(
            wrong("/frobnicate"),
            "there is no command /frobnicate; /help shows what there is"
        );
        assert_eq!(wrong("/history x"), "/history takes a number from 1 on");
        assert_eq!(wrong("/undo 3"), "/undo takes nothing after it");
        assert_eq!(wrong("/pin"), "/pin takes the number of an entry");
        assert!(wrong("/agents add").contains("/agents add NAME"));
        assert!(wrong("/notebook add x").contains("/notebook set TEXT"));
    }
}
