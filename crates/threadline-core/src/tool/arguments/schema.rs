//! A JSON schema, read into what there is to check: a list of nodes that name each other by place,
//! so that what refers to itself is there once.

mod read;

use regex::Regex;
use serde_json::Number;

use super::SchemaRefused;
use super::formats::Format;
use super::json::Json;

/// The most nodes of a schema.
const NODES_CAP: usize = 10_000;

/// The most nodes that speak of one value, one after the other.
const HEIGHT_CAP: usize = 32;

/// A schema: its first node is that of the whole.
#[derive(Clone, Debug)]
pub(super) struct Nodes(Vec<Node>);

/// The place of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Id(usize);

/// What a value has to be.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    /// Whether nothing fits.
    pub(super) never: bool,
    /// One of these types; any if there are none.
    pub(super) types: Vec<Type>,
    /// One of these values, if given.
    pub(super) values: Option<Vec<Json<'static>>>,
    pub(super) format: Option<Format>,
    pub(super) pattern: Option<Regex>,
    pub(super) length_range: Range<u64>,
    pub(super) range: Range<Number>,
    pub(super) exclusive: Range<Number>,
    pub(super) multiple_of: Option<Number>,
    /// What the first items are, each for itself.
    pub(super) prefix: Vec<Id>,
    /// What the other items are.
    pub(super) items: Option<Id>,
    pub(super) items_range: Range<u64>,
    pub(super) unique: bool,
    /// Whether it says which members there are.
    pub(super) names_members: bool,
    pub(super) properties: Vec<(String, Id)>,
    pub(super) required: Vec<String>,
    /// What members are whose names match.
    pub(super) patterns: Vec<(Regex, Id)>,
    /// What the names of members are.
    pub(super) names: Option<Id>,
    pub(super) others: Others,
    pub(super) members_range: Range<u64>,
    /// It has to be all of these too.
    pub(super) all: Vec<Id>,
    /// One of these or more; nothing if there are none.
    pub(super) any: Vec<Id>,
    /// Exactly one of these; nothing if there are none.
    pub(super) one: Vec<Id>,
    pub(super) not: Option<Id>,
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
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Others {
    /// The schema does not speak of them.
    #[default]
    Odd,
    /// They are welcome.
    Welcome,
    /// There must be none.
    Refused,
    /// They have to be this.
    Fit(Id),
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
    pub(super) fn fits(self, value: &Json<'_>) -> bool {
        match (self, value) {
            (Self::Integer, Json::Number(number)) => !number.value.is_f64(),
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

impl Nodes {
    /// Reads the schema of a whole: that of an object.
    pub(super) fn read(schema: &Json<'_>) -> Result<Self, SchemaRefused> {
        let mut nodes = Self(read::nodes(schema)?);
        nodes.check_heights()?;
        let root = nodes.0.first_mut();
        let root = root.ok_or_else(|| refused("", "there is nothing in it"))?;
        if !root.types.is_empty() && !root.types.contains(&Type::Object) {
            return Err(refused("", "arguments are an object: its type has to be \"object\""));
        }
        root.types = vec![Type::Object];
        Ok(nodes)
    }

    /// The node of the whole.
    pub(super) const fn root() -> Id {
        Id(0)
    }

    pub(super) fn get(&self, id: Id) -> Option<&Node> {
        self.0.get(id.0)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// No node speaks of a value by speaking of it again: checking it would never end.
    fn check_heights(&self) -> Result<(), SchemaRefused> {
        let mut heights = vec![None; self.0.len()];
        (0..self.0.len()).try_for_each(|place| self.height(Id(place), 0, &mut heights).map(|_| ()))
    }

    fn height(
        &self,
        id: Id,
        above: usize,
        heights: &mut [Option<usize>],
    ) -> Result<usize, SchemaRefused> {
        let known = heights.get(id.0).copied().flatten();
        if above + known.unwrap_or(0) > HEIGHT_CAP {
            let message = "it refers to itself without going into the value, or nearly so";
            return Err(refused("", message));
        }
        if let Some(height) = known {
            return Ok(height);
        }
        let mut height = 0;
        for part in self.get(id).into_iter().flat_map(Node::in_place) {
            height = height.max(1 + self.height(part, above + 1, heights)?);
        }
        if let Some(slot) = heights.get_mut(id.0) {
            *slot = Some(height);
        }
        Ok(height)
    }
}

impl Node {
    /// The nodes that speak of the same value.
    pub(super) fn in_place(&self) -> impl Iterator<Item = Id> {
        let parts = self.all.iter().chain(&self.any).chain(&self.one).chain(&self.not);
        parts.copied()
    }

    /// The place of the property of a name, looked for at a place first.
    pub(super) fn property(&self, name: &str, hint: usize) -> Option<usize> {
        let is_it = |(known, _): &(String, Id)| known == name;
        if self.properties.get(hint).is_some_and(is_it) {
            return Some(hint);
        }
        self.properties.iter().position(is_it)
    }
}

fn refused(at: &str, message: &str) -> SchemaRefused {
    let message = if at.is_empty() { message.to_owned() } else { format!("at {at}: {message}") };
    SchemaRefused { message }
}
