//! Reads a schema's words. What is referred to is read once, whoever refers to it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Number;

use super::super::SchemaRefused;
use super::super::formats::Format;
use super::super::json::{Json, quoted};
use super::{Id, NODES_CAP, Node, Others, Type, refused};

/// The nodes of a schema, the whole first.
pub(super) fn nodes(schema: &Json<'_>) -> Result<Vec<Node>, SchemaRefused> {
    let mut reader =
        Reader { whole: schema, nodes: Vec::new(), known: BTreeMap::new(), waiting: Vec::new() };
    reader.refer("#", "")?;
    while let Some((id, schema, at)) = reader.waiting.pop() {
        let node = reader.node(schema, &at)?;
        if let Some(slot) = reader.nodes.get_mut(id.0) {
            *slot = node;
        }
    }
    Ok(reader.nodes)
}

struct Reader<'s> {
    whole: &'s Json<'s>,
    nodes: Vec<Node>,
    /// What was referred to, and where it is.
    known: BTreeMap<String, Id>,
    /// What is still to be read. References are not followed on the spot: a chain of them can be
    /// longer than the stack.
    waiting: Vec<(Id, &'s Json<'s>, String)>,
}

impl<'s> Reader<'s> {
    /// The place for a node that is read later.
    fn later(&mut self, schema: &'s Json<'s>, at: String) -> Result<Id, SchemaRefused> {
        let id = Id(self.nodes.len());
        if id.0 == NODES_CAP {
            return Err(refused("", &format!("it has more than {NODES_CAP} parts")));
        }
        self.nodes.push(Node::default());
        self.waiting.push((id, schema, at));
        Ok(id)
    }

    /// The node of a part, which is the one it refers to if that is all it does.
    fn part(&mut self, schema: &'s Json<'s>, at: &str) -> Result<Id, SchemaRefused> {
        if let Json::Object(members) = schema
            && let Some(Json::Text(pointer)) = schema.get("$ref")
            && members.iter().all(|(word, _)| word == "$ref" || DESCRIBING.contains(&&**word))
        {
            return self.refer(pointer, &format!("{at}/$ref"));
        }
        self.later(schema, at.to_owned())
    }

    /// The node that a reference names.
    fn refer(&mut self, pointer: &str, at: &str) -> Result<Id, SchemaRefused> {
        if let Some(id) = self.known.get(pointer) {
            return Ok(*id);
        }
        let path =
            pointer.strip_prefix('#').filter(|path| path.is_empty() || path.starts_with('/'));
        let path = path.ok_or_else(|| {
            let message =
                format!("{} is no reference into this schema, as #/$defs/…", quoted(pointer));
            refused(at, &message)
        })?;
        let found = path.split('/').skip(1).try_fold(self.whole, step);
        let missing = || refused(at, &format!("there is no {} in the schema", quoted(pointer)));
        let id = self.later(found.ok_or_else(missing)?, path.to_owned())?;
        self.known.insert(pointer.to_owned(), id);
        Ok(id)
    }

    fn node(&mut self, schema: &'s Json<'s>, at: &str) -> Result<Node, SchemaRefused> {
        let mut node = Node::default();
        let members = match schema {
            Json::Object(members) => members,
            Json::Flag(fits) => {
                node.never = !fits;
                return Ok(node);
            }
            Json::Null | Json::Number(_) | Json::Text(_) | Json::List(_) => {
                return Err(refused(at, "a schema is an object, true or false"));
            }
        };
        for (word, value) in members {
            self.word(&mut node, word, value, &format!("{at}/{word}"))?;
        }
        // In older schemas the first items are a list of `items`, and the others are these.
        if let Some(others) = schema.get("additionalItems")
            && matches!(schema.get("items"), Some(Json::List(_)))
        {
            node.items = Some(self.part(others, &format!("{at}/additionalItems"))?);
        }
        Ok(node)
    }

    fn word(
        &mut self,
        node: &mut Node,
        word: &str,
        value: &'s Json<'s>,
        at: &str,
    ) -> Result<(), SchemaRefused> {
        match word {
            "$ref" => node.all.push(self.refer(text(value, at)?, at)?),
            "type" => node.types = types(value, at)?,
            "enum" => {
                let values = list(value, at)?.iter().cloned().map(Json::into_owned).collect();
                node.values = Some(values);
            }
            "const" => node.values = Some(vec![value.clone().into_owned()]),
            "format" => node.format = Format::named(text(value, at)?),
            "pattern" => node.pattern = Some(pattern(text(value, at)?, at)?),
            "minLength" => node.length_range.least = Some(count(value, at)?),
            "maxLength" => node.length_range.most = Some(count(value, at)?),
            "minimum" => node.range.least = Some(number(value, at)?),
            "maximum" => node.range.most = Some(number(value, at)?),
            "exclusiveMinimum" => node.exclusive.least = Some(number(value, at)?),
            "exclusiveMaximum" => node.exclusive.most = Some(number(value, at)?),
            "multipleOf" => node.multiple_of = Some(step_size(value, at)?),
            "prefixItems" => node.prefix = self.parts(value, at)?,
            "items" if matches!(value, Json::List(_)) => node.prefix = self.parts(value, at)?,
            "items" => node.items = Some(self.part(value, at)?),
            "minItems" => node.items_range.least = Some(count(value, at)?),
            "maxItems" => node.items_range.most = Some(count(value, at)?),
            "uniqueItems" => node.unique = flag(value, at)?,
            "properties" => {
                node.names_members = true;
                node.properties = self.properties(value, at)?;
            }
            "required" => node.required = texts(value, at)?,
            "patternProperties" => {
                for (name, schema) in object(value, at)? {
                    let at = &format!("{at}/{name}");
                    node.patterns.push((pattern(name, at)?, self.part(schema, at)?));
                }
            }
            "propertyNames" => node.names = Some(self.part(value, at)?),
            "additionalProperties" => {
                node.others = match flag(value, at) {
                    Ok(true) => Others::Welcome,
                    Ok(false) => Others::Refused,
                    Err(_) => Others::Fit(self.part(value, at)?),
                }
            }
            "minProperties" => node.members_range.least = Some(count(value, at)?),
            "maxProperties" => node.members_range.most = Some(count(value, at)?),
            "allOf" => node.all.extend(self.alternatives(value, at)?),
            "anyOf" => node.any = self.alternatives(value, at)?,
            "oneOf" => node.one = self.alternatives(value, at)?,
            "not" => node.not = Some(self.part(value, at)?),
            _ if UNCHECKED.contains(&word) => {
                let message = format!("{} cannot be checked yet; say it without", quoted(word));
                return Err(refused(at, &message));
            }
            // What describes, and what JSON Schema tells readers to pass over.
            _ => {}
        }
        Ok(())
    }

    fn parts(&mut self, value: &'s Json<'s>, at: &str) -> Result<Vec<Id>, SchemaRefused> {
        let parts = list(value, at)?.iter().enumerate();
        parts.map(|(place, schema)| self.part(schema, &format!("{at}/{place}"))).collect()
    }

    fn alternatives(&mut self, value: &'s Json<'s>, at: &str) -> Result<Vec<Id>, SchemaRefused> {
        let parts = self.parts(value, at)?;
        if parts.is_empty() { Err(refused(at, "there is none")) } else { Ok(parts) }
    }

    fn properties(
        &mut self,
        value: &'s Json<'s>,
        at: &str,
    ) -> Result<Vec<(String, Id)>, SchemaRefused> {
        let members = object(value, at)?.iter();
        let read = members.map(|(name, schema)| {
            Ok((name.clone().into_owned(), self.part(schema, &format!("{at}/{name}"))?))
        });
        read.collect()
    }
}

/// The words beside a reference that demand nothing.
const DESCRIBING: &[&str] = &[
    "$comment",
    "default",
    "deprecated",
    "description",
    "example",
    "examples",
    "readOnly",
    "title",
    "writeOnly",
];

/// The words that demand something and are not checked: passing them over would let arguments
/// through that the tool has ruled out.
const UNCHECKED: &[&str] = &[
    "$dynamicRef",
    "$recursiveRef",
    "contains",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "if",
    "maxContains",
    "minContains",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// One step of a reference's way, such as `$defs`.
fn step<'s>(from: &'s Json<'s>, name: &str) -> Option<&'s Json<'s>> {
    let name = unescaped(name)?;
    match from {
        Json::List(items) => items.get(name.parse::<usize>().ok()?),
        Json::Object(_) => from.get(&name),
        Json::Null | Json::Flag(_) | Json::Number(_) | Json::Text(_) => None,
    }
}

/// A name in a reference as it is: `~1` stands for a slash, `~0` for a tilde, `%20` for a blank.
fn unescaped(name: &str) -> Option<Cow<'_, str>> {
    if !name.contains(['~', '%']) {
        return Some(Cow::Borrowed(name));
    }
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let byte = match (first, after) {
            (b'%', [high, low, after @ ..]) => {
                rest = after;
                let digits = [*high, *low];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            (byte, _) => *byte,
        };
        bytes.push(byte);
    }
    let name = String::from_utf8(bytes).ok()?;
    Some(Cow::Owned(name.replace("~1", "/").replace("~0", "~")))
}

fn pattern(text: &str, at: &str) -> Result<Regex, SchemaRefused> {
    Regex::new(text).map_err(|error| {
        let error = error.to_string();
        let why = error.lines().last().unwrap_or_default().trim();
        refused(at, &format!("the pattern cannot be used: {}", why.trim_start_matches("error: ")))
    })
}

fn types(value: &Json<'_>, at: &str) -> Result<Vec<Type>, SchemaRefused> {
    let names = match text(value, at) {
        Ok(name) => vec![name.to_owned()],
        Err(_) => texts(value, at)?,
    };
    if names.is_empty() {
        return Err(refused(at, "it names no type"));
    }
    let known = names.iter().map(|name| {
        let known = Type::ALL.into_iter().find(|known| known.name() == name);
        known.ok_or_else(|| refused(at, &format!("there is no type {}", quoted(name))))
    });
    known.collect()
}

fn object<'j, 's>(
    value: &'j Json<'s>,
    at: &str,
) -> Result<&'j [(Cow<'s, str>, Json<'s>)], SchemaRefused> {
    let Json::Object(members) = value else { return Err(refused(at, "it has to be an object")) };
    Ok(members)
}

fn list<'j, 's>(value: &'j Json<'s>, at: &str) -> Result<&'j [Json<'s>], SchemaRefused> {
    let Json::List(items) = value else { return Err(refused(at, "it has to be a list")) };
    Ok(items)
}

fn text<'j>(value: &'j Json<'_>, at: &str) -> Result<&'j str, SchemaRefused> {
    let Json::Text(text) = value else { return Err(refused(at, "it has to be a string")) };
    Ok(text)
}

fn texts(value: &Json<'_>, at: &str) -> Result<Vec<String>, SchemaRefused> {
    let text = |item: &Json<'_>| {
        let text = text(item, at).map_err(|_| refused(at, "it has to be a list of strings"));
        text.map(str::to_owned)
    };
    list(value, at)?.iter().map(text).collect()
}

fn flag(value: &Json<'_>, at: &str) -> Result<bool, SchemaRefused> {
    let Json::Flag(flag) = value else { return Err(refused(at, "it has to be true or false")) };
    Ok(*flag)
}

fn number(value: &Json<'_>, at: &str) -> Result<Number, SchemaRefused> {
    let Json::Number(number) = value else { return Err(refused(at, "it has to be a number")) };
    Ok(number.value.clone())
}

fn step_size(value: &Json<'_>, at: &str) -> Result<Number, SchemaRefused> {
    let number = number(value, at)?;
    let is_more = number.as_f64().is_some_and(|size| size > 0.0);
    if is_more { Ok(number) } else { Err(refused(at, "it has to be more than 0")) }
}

fn count(value: &Json<'_>, at: &str) -> Result<u64, SchemaRefused> {
    number(value, at)?.as_u64().ok_or_else(|| refused(at, "it has to be a whole number from 0"))
}
