//! What a value should be, in a few words.

use super::super::found::SHOWN_CAP_BYTES;
use super::super::json::Json;
use super::super::schema::{Id, Node, Nodes, Type};

/// The most alternatives that are told.
const ALTERNATIVES_CAP: usize = 8;

/// The most values that are told.
const VALUES_CAP: usize = 40;

/// How deep alternatives within alternatives are told.
const DEPTH_CAP: usize = 3;

/// What a value should be.
pub(super) fn wish(nodes: &Nodes, node: &Node) -> String {
    wish_at(nodes, node, 0)
}

fn wish_at(nodes: &Nodes, node: &Node, depth: usize) -> String {
    if let Some(values) = &node.values {
        return one_of(values);
    }
    if let Some(format) = node.format
        && node.types == [Type::String]
    {
        return format.wish().to_owned();
    }
    if !node.types.is_empty() {
        return names(&node.types);
    }
    let parts = [&node.all, &node.any, &node.one].into_iter().find(|parts| !parts.is_empty());
    let parts = parts.filter(|_| depth < DEPTH_CAP);
    parts.map_or_else(|| "a value".to_owned(), |parts| wishes_at(nodes, parts, depth + 1))
}

/// What a node wants.
pub(super) fn wish_of(nodes: &Nodes, id: Id) -> String {
    nodes.get(id).map(|node| wish(nodes, node)).unwrap_or_default()
}

/// What one of some nodes wants: objects are told apart by what they must have.
pub(super) fn wishes(nodes: &Nodes, branches: &[Id]) -> String {
    wishes_at(nodes, branches, 0)
}

fn wishes_at(nodes: &Nodes, branches: &[Id], depth: usize) -> String {
    let mut wishes: Vec<String> = Vec::new();
    for node in branches.iter().take(ALTERNATIVES_CAP).filter_map(|id| nodes.get(*id)) {
        let mut wish = wish_at(nodes, node, depth);
        if node.types == [Type::Object] && !node.required.is_empty() {
            wish = format!("{wish} with {}", node.required.join(", "));
        }
        if !wishes.contains(&wish) {
            wishes.push(wish);
        }
    }
    wishes.join(" or ")
}

fn names(types: &[Type]) -> String {
    types.iter().map(|known| known.name()).collect::<Vec<_>>().join(" or ")
}

/// One of some values.
pub(super) fn one_of(values: &[Json<'_>]) -> String {
    match values {
        [only] => only.shortened(SHOWN_CAP_BYTES),
        _ => {
            let texts = values.iter().take(VALUES_CAP);
            let texts = texts.map(|value| value.shortened(SHOWN_CAP_BYTES)).collect::<Vec<_>>();
            let more = values.len() - texts.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("one of {}{more}", texts.join(", "))
        }
    }
}
