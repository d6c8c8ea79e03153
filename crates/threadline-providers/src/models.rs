//! A list of models that is at hand.

use std::sync::Arc;

use threadline_core::provider::{Models, Target};

/// A list of targets, as it was given.
///
/// # Example
///
/// ```
/// use threadline_core::provider::Models as _;
/// use threadline_providers::guide::Guide;
/// use threadline_providers::models::StaticModels;
///
/// let models = StaticModels::new([Guide::target()]);
/// assert_eq!(&*models.targets()[0].name, "guide");
/// ```
#[derive(Clone, Debug, Default)]
pub struct StaticModels(Vec<Arc<Target>>);

impl StaticModels {
    /// These targets, in the order in which people should see them.
    pub fn new(targets: impl IntoIterator<Item = Target>) -> Self {
        Self(targets.into_iter().map(Arc::new).collect())
    }
}

impl Models for StaticModels {
    fn targets(&self) -> Vec<Arc<Target>> {
        self.0.clone()
    }
}
