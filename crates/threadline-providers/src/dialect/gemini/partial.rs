//! Arguments that come in pieces, each under the path of its value.

use crate::json::{Json, Members};

use super::wire::PartialArg;

/// How deep a path may lead.
const STEPS_CAP: usize = 64;

/// The arguments of a call as far as they have come.
#[derive(Debug, Default)]
pub(super) struct Partial(Members);

/// A path that leads nowhere.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Lost;

/// One step of a path.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Place(usize),
}

impl Partial {
    /// Takes a piece in: a text is added to the one before it, any other value replaces it.
    pub(super) fn add(&mut self, piece: &PartialArg<'_>) -> Result<(), Lost> {
        let steps = steps(&piece.json_path.0).ok_or(Lost)?;
        let Some((Step::Key(first), rest)) = steps.split_first() else { return Err(Lost) };
        let mut here = member(&mut self.0, first);
        for step in rest {
            here = descend(here, step).ok_or(Lost)?;
        }
        let value = match (&piece.string_value, &piece.number_value, piece.bool_value) {
            (Some(text), _, _) => {
                if let Json::Text(before) = here {
                    before.push_str(&text.0);
                    return Ok(());
                }
                Json::text(&text.0)
            }
            (None, Some(number), _) => Json::Number(number.clone()),
            (None, None, Some(flag)) => Json::Flag(flag),
            (None, None, None) => Json::Null,
        };
        *here = value;
        Ok(())
    }

    /// The arguments as the text of an object; empty if none came.
    pub(super) fn into_text(self) -> String {
        if self.0.is_empty() {
            return String::new();
        }
        // A tree of texts, numbers and lists can always be written.
        serde_json::to_string(&Json::Object(self.0)).unwrap_or_default()
    }
}

/// The member of a name, made if there is none.
fn member<'a>(members: &'a mut Members, key: &str) -> &'a mut Json {
    let place = members.iter().position(|(name, _)| name == key).unwrap_or_else(|| {
        members.push((key.to_owned(), Json::Null));
        members.len() - 1
    });
    #[expect(clippy::indexing_slicing, reason = "the place was just found or made")]
    &mut members[place].1
}

/// What a step leads to, made if it is the next; none if the step cannot be taken.
fn descend<'a>(here: &'a mut Json, step: &Step) -> Option<&'a mut Json> {
    if *here == Json::Null {
        *here = match step {
            Step::Key(_) => Json::Object(Members::new()),
            Step::Place(_) => Json::List(Vec::new()),
        };
    }
    match (here, step) {
        (Json::Object(members), Step::Key(key)) => Some(member(members, key)),
        (Json::List(items), Step::Place(place)) => {
            if *place == items.len() {
                items.push(Json::Null);
            }
            items.get_mut(*place)
        }
        (Json::Null | Json::Flag(_) | Json::Number(_) | Json::Text(_), _)
        | (Json::List(_), Step::Key(_))
        | (Json::Object(_), Step::Place(_)) => None,
    }
}

/// The steps of a path such as `$.a['b.c'][0]`.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if steps.len() == STEPS_CAP {
            return None;
        }
        let (step, after) = match rest.strip_prefix('.') {
            Some(name) => named(name)?,
            None => bracketed(rest.strip_prefix('[')?)?,
        };
        steps.push(step);
        rest = after;
    }
    Some(steps)
}

/// A name up to the next step.
fn named(text: &str) -> Option<(Step, &str)> {
    let end = text.find(['.', '[']).unwrap_or(text.len());
    let (name, rest) = text.split_at_checked(end)?;
    (!name.is_empty()).then(|| (Step::Key(name.to_owned()), rest))
}

/// A place, or a name in quotation marks.
fn bracketed(text: &str) -> Option<(Step, &str)> {
    let Some(quote) = text.chars().next().filter(|c| ['\'', '"'].contains(c)) else {
        let (place, rest) = text.split_once(']')?;
        return Some((Step::Place(place.parse().ok()?), rest));
    };
    let mut name = String::new();
    let mut letters = text.get(1..)?.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => name.push(letters.next()?.1),
            _ if letter == quote => {
                let rest = text.get(at + 2..)?.strip_prefix(']')?;
                return Some((Step::Key(name), rest));
            }
            _ => name.push(letter),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(partial: &mut Partial, piece: &str) -> Result<(), Lost> {
        partial.add(&serde_json::from_str(piece).unwrap())
    }

    #[test]
    fn pieces_become_an_object() {
        let mut partial = Partial::default();
        for piece in [
            r#"{"jsonPath":"$.city","stringValue":"Bos","willContinue":true}"#,
            r#"{"jsonPath":"$.list[0].n","numberValue":1.5}"#,
            r#"{"jsonPath":"$.city","stringValue":"ton"}"#,
            r#"{"jsonPath":"$.list[1]","boolValue":true}"#,
            r#"{"jsonPath":"$['odd \\'.] key'][\"x\"]","nullValue":null}"#,
            r#"{"jsonPath":"$.count","numberValue":12}"#,
        ] {
            add(&mut partial, piece).unwrap();
        }
        insta::assert_snapshot!(
            partial.into_text(),
            @r#"{"city":"Boston","list":[{"n":1.5},true],"odd '.] key":{"x":null},"count":12}"#
        );
        assert_eq!(Partial::default().into_text(), "");
    }

    #[test]
    fn a_path_that_leads_nowhere_is_told() {
        let deep = format!("${}", ".a".repeat(STEPS_CAP + 1));
        let odd = ["", "$", "a", "$.", "$[0]", "$.a[", "$.a[x]", "$.a[9]", "$['a", "$['a'", &deep];
        for path in odd {
            let piece = serde_json::json!({"jsonPath": path, "stringValue": "x"}).to_string();
            assert_eq!(add(&mut Partial::default(), &piece), Err(Lost), "{path}");
        }
        let mut partial = Partial::default();
        add(&mut partial, r#"{"jsonPath":"$.a","stringValue":"x"}"#).unwrap();
        assert_eq!(add(&mut partial, r#"{"jsonPath":"$.a.b","stringValue":"x"}"#), Err(Lost));
    }
}
