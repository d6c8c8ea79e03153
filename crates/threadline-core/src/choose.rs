//! Choosing: which model answers a step, and why.

use std::sync::Arc;

use crate::provider::Target;

/// A chosen model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The model.
    pub target: Arc<Target>,
    /// Why this one, for the record.
    pub why: String,
}

/// No model can be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoModel {
    /// There is none at all.
    #[error("no model is configured")]
    None,
    /// None has the name that the route asks for.
    #[error("there is no model named {0:?}")]
    Unnamed(Arc<str>),
    /// Those there are cannot be used as things are.
    #[error("{name}: {why}")]
    Unusable {
        /// The first of them.
        name: Arc<str>,
        /// Why it cannot be used.
        why: Arc<str>,
    },
}

/// The model for a step: the one that the route names, else the first that can be asked.
pub fn choose(route: Option<&Arc<str>>, targets: &[Arc<Target>]) -> Result<Chosen, NoModel> {
    let named = |name: &Arc<str>| targets.iter().find(|target| target.name == *name);
    let target = match route {
        Some(name) => named(name).ok_or_else(|| NoModel::Unnamed(Arc::clone(name)))?,
        None => {
            let usable = targets.iter().find(|target| target.unusable.is_none());
            usable.or_else(|| targets.first()).ok_or(NoModel::None)?
        }
    };
    if let Some(why) = &target.unusable {
        return Err(NoModel::Unusable { name: Arc::clone(&target.name), why: Arc::clone(why) });
    }
    let why = match route {
        Some(name) => format!("named by the route {name}"),
        None => "the first that can be asked".to_owned(),
    };
    Ok(Chosen { target: Arc::clone(target), why })
}
