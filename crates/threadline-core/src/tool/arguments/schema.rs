//! A JSON schema, read into what there is to check.

use serde_json::Number;

use super::SchemaRefused;
use super::json::{Json, quoted};

/// What a value has to be.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    /// One of these types; any if there are none.
    pub(super) types: Vec<Type>,
    /// One of these values, if given.
    pub(super) values: Option<Vec<Json>>,
    pub(super) properties: Vec<(String, Self)>,
    pub(super) required: Vec<String>,
    pub(super) others: Others,
    pub(super) items: Option<Box<Self>>,
    pub(super) items_range: Range<u64>,
    pub(super) length_range: Range<u64>,
    pub(super) range: Range<Number>,
    pub(super) exclusive: Range<Number>,
}

/// The smallest and the largest that fits.
#[derive(Clone, Debug)]
pub(super) struct Range<T> {
    pub(super) least: Option<T>,
    pub(super) most: Option<T>,
}

impl<T> Default for Range<T> {
    fn default() -> Self {
        Self { least: None, most: None }
    }
}

/// What becomes of members that the schema does not name.
#[derive(Clone, Debug, Default)]
pub(super) enum Others {
    /// The schema does not speak of them.
    #[default]
    Odd,
    /// They are welcome.
    Welcome,
    /// There must be none.
    Refused,
    /// They have to be this.
    Fit(Box<Node>),
}

/// A type of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

impl Type {
    const ALL: [Self; 7] = [
        Self::Null,
        Self::Boolean,
        Self::Integer,
        Self::Number,
        Self::String,
        Self::Array,
        Self::Object,
    ];

    /// Its name in schemas.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    /// Whether a value is of this type.
    pub(super) fn fits(self, value: &Json) -> bool {
        match (self, value) {
            (Self::Integer, Json::Number(number)) => !number.is_f64(),
            (Self::Null, Json::Null)
            | (Self::Boolean, Json::Flag(_))
            | (Self::Number, Json::Number(_))
            | (Self::String, Json::Text(_))
            | (Self::Array, Json::List(_))
            | (Self::Object, Json::Object(_)) => true,
            (
                Self::Null
                | Self::Boolean
                | Self::Integer
                | Self::Number
                | Self::String
                | Self::Array
                | Self::Object,
                _,
            ) => false,
        }
    }
}

/// Reads the schema of a whole: that of an object.
pub(super) fn root(schema: &Json) -> Result<Node, SchemaRefused> {
    let mut root = node(schema, "")?;
    match &*root.types {
        [] => root.types = vec![Type::Object],
        [Type::Object] => {}
        _ => return Err(refused("", "arguments are an object: its type has to be \"object\"")),
    }
    Ok(root)
}

/// Reads the schema of a value. The depth is that of the JSON, which is limited.
fn node(schema: &Json, at: &str) -> Result<Node, SchemaRefused> {
    let members = match schema {
        Json::Object(members) => members,
        Json::Flag(true) => return Ok(Node::default()),
        Json::Flag(false) | Json::Null | Json::Number(_) | Json::Text(_) | Json::List(_) => {
            return Err(refused(at, "a schema is an object or true"));
        }
    };
    let mut node = Node::default();
    for (word, value) in members {
        let at = &format!("{at}/{word}");
        match &**word {
            "type" => node.types = types(value, at)?,
            "enum" => node.values = Some(list(value, at)?.to_vec()),
            "const" => node.values = Some(vec![value.clone()]),
            "properties" => node.properties = properties(value, at)?,
            "required" => node.required = texts(value, at)?,
            "additionalProperties" => node.others = others(value, at)?,
            "items" => node.items = Some(Box::new(self::node(value, at)?)),
            "minItems" => node.items_range.least = Some(count(value, at)?),
            "maxItems" => node.items_range.most = Some(count(value, at)?),
            "minLength" => node.length_range.least = Some(count(value, at)?),
            "maxLength" => node.length_range.most = Some(count(value, at)?),
            "minimum" => node.range.least = Some(number(value, at)?),
            "maximum" => node.range.most = Some(number(value, at)?),
            "exclusiveMinimum" => node.exclusive.least = Some(number(value, at)?),
            "exclusiveMaximum" => node.exclusive.most = Some(number(value, at)?),
            _ if UNCHECKED.contains(&&**word) => {
                let message = format!("{} cannot be checked yet; say it without", quoted(word));
                return Err(refused(at, &message));
            }
            // What describes, and what JSON Schema tells readers to pass over.
            _ => {}
        }
    }
    Ok(node)
}

/// The words that demand something and are not checked: passing them over would let arguments
/// through that the tool has ruled out.
const UNCHECKED: &[&str] = &[
    "$dynamicRef",
    "$recursiveRef",
    "$ref",
    "additionalItems",
    "allOf",
    "anyOf",
    "contains",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "if",
    "maxContains",
    "maxProperties",
    "minContains",
    "minProperties",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
];

fn types(value: &Json, at: &str) -> Result<Vec<Type>, SchemaRefused> {
    let names = match value {
        Json::Text(name) => vec![name.clone()],
        Json::Null | Json::Flag(_) | Json::Number(_) | Json::List(_) | Json::Object(_) => {
            texts(value, at)?
        }
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

fn properties(value: &Json, at: &str) -> Result<Vec<(String, Node)>, SchemaRefused> {
    match value {
        Json::Object(members) => members
            .iter()
            .map(|(name, schema)| Ok((name.clone(), node(schema, &format!("{at}/{name}"))?)))
            .collect(),
        Json::Null | Json::Flag(_) | Json::Number(_) | Json::Text(_) | Json::List(_) => {
            Err(refused(at, "it has to be an object"))
        }
    }
}

fn others(value: &Json, at: &str) -> Result<Others, SchemaRefused> {
    match value {
        Json::Flag(true) => Ok(Others::Welcome),
        Json::Flag(false) => Ok(Others::Refused),
        Json::Null | Json::Number(_) | Json::Text(_) | Json::List(_) | Json::Object(_) => {
            Ok(Others::Fit(Box::new(node(value, at)?)))
        }
    }
}

fn list<'a>(value: &'a Json, at: &str) -> Result<&'a [Json], SchemaRefused> {
    match value {
        Json::List(items) => Ok(items),
        Json::Null | Json::Flag(_) | Json::Number(_) | Json::Text(_) | Json::Object(_) => {
            Err(refused(at, "it has to be a list"))
        }
    }
}

fn texts(value: &Json, at: &str) -> Result<Vec<String>, SchemaRefused> {
    let text = |item: &Json| match item {
        Json::Text(text) => Ok(text.clone()),
        Json::Null | Json::Flag(_) | Json::Number(_) | Json::List(_) | Json::Object(_) => {
            Err(refused(at, "it has to be a list of strings"))
        }
    };
    list(value, at)?.iter().map(text).collect()
}

fn number(value: &Json, at: &str) -> Result<Number, SchemaRefused> {
    match value {
        Json::Number(number) => Ok(number.clone()),
        Json::Null | Json::Flag(_) | Json::Text(_) | Json::List(_) | Json::Object(_) => {
            Err(refused(at, "it has to be a number"))
        }
    }
}

fn count(value: &Json, at: &str) -> Result<u64, SchemaRefused> {
    number(value, at)?.as_u64().ok_or_else(|| refused(at, "it has to be a whole number from 0"))
}

fn refused(at: &str, message: &str) -> SchemaRefused {
    let message = if at.is_empty() { message.to_owned() } else { format!("at {at}: {message}") };
    SchemaRefused { message }
}
