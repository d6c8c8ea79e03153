//! A schema laid flat: what it says itself, what it refers to and all that it joins, as one.

use crate::json::{Json, Members, get};

/// How many references are followed into one another.
const REFERENCES_CAP: usize = 5;
/// How many schemas and properties are looked at: references may multiply them without end.
const LOOKS_CAP: usize = 4_096;

/// Where references lead, and how much may still be looked at.
#[derive(Debug)]
pub(super) struct Book<'a> {
    root: &'a Members,
    looks_left: usize,
    /// Whether a reference led nowhere, too deep, or too far.
    pub(super) cut: bool,
}

/// A schema laid flat.
#[derive(Clone, Debug, Default)]
pub(super) struct Flat<'a> {
    /// Its other words, each once.
    pub(super) words: Vec<(&'a str, &'a Json)>,
    /// Its properties, each once.
    pub(super) properties: Vec<(&'a str, &'a Json)>,
    /// The properties that must be there.
    pub(super) required: Vec<&'a str>,
    /// How many references led here.
    pub(super) references: usize,
}

impl<'a> Book<'a> {
    /// The book of a whole schema.
    pub(super) const fn new(root: &'a Members) -> Self {
        Self { root, looks_left: LOOKS_CAP, cut: false }
    }

    /// Lays a schema flat that was reached over so many references.
    pub(super) fn flat(&mut self, schema: &'a Members, references: usize) -> Flat<'a> {
        let mut flat = Flat { references, ..Flat::default() };
        self.gather(schema, &mut flat, references);
        flat
    }

    /// Adds what a schema says to what is known already, which counts.
    pub(super) fn gather(&mut self, schema: &'a Members, flat: &mut Flat<'a>, references: usize) {
        if !self.look() {
            return;
        }
        flat.references = flat.references.max(references);
        for (word, value) in schema {
            match (&**word, value) {
                ("properties", Json::Object(properties)) => {
                    self.gather_properties(properties, flat);
                }
                ("required", Json::List(names)) => gather_required(names, flat),
                ("$ref", Json::Text(pointer)) => self.follow(pointer, flat, references),
                ("allOf", Json::List(all)) => {
                    for schema in all.iter().filter_map(Json::members) {
                        self.gather(schema, flat, references);
                    }
                }
                _ if flat.word(word).is_none() => flat.words.push((word, value)),
                _ => {}
            }
        }
    }

    fn gather_properties(&mut self, properties: &'a Members, flat: &mut Flat<'a>) {
        for (name, schema) in properties {
            if !self.look() {
                return;
            }
            if !flat.properties.iter().any(|(known, _)| known == name) {
                flat.properties.push((name, schema));
            }
        }
    }

    fn follow(&mut self, pointer: &str, flat: &mut Flat<'a>, references: usize) {
        let target = (references < REFERENCES_CAP).then(|| self.find(pointer)).flatten();
        match target {
            Some(schema) => self.gather(schema, flat, references + 1),
            None => self.cut = true,
        }
    }

    /// What a reference within the schema points to.
    fn find(&self, pointer: &str) -> Option<&'a Members> {
        let path = pointer.strip_prefix('#')?;
        let mut here = self.root;
        let mut list: Option<&'a [Json]> = None;
        for step in path.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            let next = match list.take() {
                Some(items) => items.get(step.parse::<usize>().ok()?)?,
                None => get(here, &step)?,
            };
            match next {
                Json::Object(members) => here = members,
                Json::List(items) => list = Some(items),
                Json::Null | Json::Flag(_) | Json::Number(_) | Json::Text(_) => return None,
            }
        }
        list.is_none().then_some(here)
    }

    /// Takes one look; false if there are none left.
    pub(super) const fn look(&mut self) -> bool {
        match self.looks_left.checked_sub(1) {
            Some(left) => self.looks_left = left,
            None => self.cut = true,
        }
        !self.cut_off()
    }

    const fn cut_off(&self) -> bool {
        self.cut && self.looks_left == 0
    }
}

fn gather_required<'a>(names: &'a [Json], flat: &mut Flat<'a>) {
    for name in names.iter().filter_map(Json::as_text) {
        if !flat.required.contains(&name) {
            flat.required.push(name);
        }
    }
}

impl<'a> Flat<'a> {
    /// What is said under a word.
    pub(super) fn word(&self, word: &str) -> Option<&'a Json> {
        self.words.iter().find(|(known, _)| *known == word).map(|(_, value)| *value)
    }

    /// Takes a word out.
    pub(super) fn take(&mut self, word: &str) -> Option<&'a Json> {
        let place = self.words.iter().position(|(known, _)| *known == word)?;
        Some(self.words.remove(place).1)
    }

    /// The types that are named, each once; none if the schema does not say.
    pub(super) fn types(&self) -> Vec<&'a str> {
        let mut types = Vec::new();
        let named = match self.word("type") {
            Some(Json::List(names)) => names.as_slice(),
            Some(one) => std::slice::from_ref(one),
            None => &[],
        };
        for name in named.iter().filter_map(Json::as_text) {
            if !types.contains(&name) {
                types.push(name);
            }
        }
        types
    }
}
