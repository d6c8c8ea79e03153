//! Replies about the notebook.

use threadline_core::history::fact::Thinking;

use super::{REPLACE, Writing};
use crate::guide::notebook::Found;
use crate::guide::told::listed;

impl Writing<'_> {
    pub(super) fn forget(&mut self, what: &str) {
        let found = self.scene.notebook.as_ref().map(|notebook| notebook.strike(what));
        match found {
            None => self.say("I see no notebook here, so there is nothing to forget.".to_owned()),
            Some(Found::Nothing) => {
                self.say(format!("The notebook has nothing like “{what}”."));
                self.say_if_cut();
            }
            Some(Found::Several(lines)) => {
                let lines = listed(&lines);
                self.say(format!("Which of these should I forget?\n\n{lines}"));
            }
            Some(Found::One(strike)) => {
                self.scene.notebook =
                    self.scene.notebook.as_ref().map(|notebook| notebook.after(&strike));
                let (find, with) = (strike.find.as_str().into(), strike.with.as_str().into());
                self.call(REPLACE, &[("find", find), ("with", with)]);
            }
        }
    }

    pub(super) fn recall(&mut self, about: Option<&str>) {
        let lines = self.scene.notebook.as_ref().map(|notebook| notebook.lines(about));
        let sentence = match (lines.as_deref(), about) {
            (None, _) => "I see no notebook here.".to_owned(),
            (Some([]), None) if self.is_cut() => "The notebook is not empty.".to_owned(),
            (Some([]), None) => "The notebook is empty. Say `remember that X` to fill it.".into(),
            (Some([]), Some(about)) => format!("I remember nothing about {about}."),
            (Some(lines), _) => format!("I remember:\n\n{}", listed(lines)),
        };
        self.say(sentence);
        self.say_if_cut();
    }

    /// Whether the screen shows only a part of the notebook.
    fn is_cut(&self) -> bool {
        self.scene.notebook.as_ref().is_some_and(|notebook| !notebook.whole)
    }

    fn say_if_cut(&mut self) {
        if self.is_cut() {
            self.say("My screen does not show all of the notebook.".to_owned());
        }
    }

    pub(super) fn think(&mut self, what: &str) {
        let lines = self.scene.notebook.as_ref().map(|notebook| notebook.lines(Some(what)));
        let lines = lines.unwrap_or_default();
        let noted = match &*lines {
            [] => "The notebook says nothing about it.".to_owned(),
            lines => format!("The notebook says:\n\n{}", listed(lines)),
        };
        if self.request.options.thinking != Some(Thinking::Off) {
            self.thoughts.push(format!(
                "I am to think about {what}. I know nothing by myself: all I have is the \
                 notebook, a calculator and files. {noted}"
            ));
        }
        self.say(format!(
            "I thought about {what}. I am too small a model to have views of my own. {noted}"
        ));
    }
}
