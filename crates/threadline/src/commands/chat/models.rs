//! Which model answers in a chat, and how to have another.

use std::sync::Arc;

use threadline_core::choose::{Needs, SoFar, choose};
use threadline_core::provider::Models;

use super::{Room, Stage};
use crate::near::nearest;
use crate::view::Line;

impl Room<'_> {
    /// Who answers the next message, in a few words.
    pub(super) fn who_answers(&self) -> String {
        let route = self.route.clone().or_else(|| match &self.stage {
            Stage::Before { plan, .. } => plan.route(),
            Stage::Within(_) => None,
        });
        let Some(models) = self.models() else { return "The model".to_owned() };
        match choose(&*models, route.as_ref(), &Needs::default(), &SoFar::default()) {
            Ok(chosen) if &*chosen.target.name == "guide" => {
                "The built-in offline model guide".to_owned()
            }
            Ok(chosen) => chosen.target.name.to_string(),
            Err(why) => format!("No model ({why})"),
        }
    }

    /// Shows which models and routes there are.
    pub(super) fn show_models(&mut self) -> anyhow::Result<()> {
        let Some(models) = self.models() else { return Ok(()) };
        let named = self.route.as_deref().unwrap_or("the agent's own");
        if self.view.json {
            let names: Vec<String> =
                models.targets().iter().map(|target| target.name.to_string()).collect();
            return self.told("/model", &names.join(" "));
        }
        self.view.line(&Line::new().plain("answers by way of: ").name(named))?;
        for route in models.routes() {
            let line = Line::new().plain("  ").name(&*route.name).plain("  route of ");
            self.view.line(&line.dim(route.models.join(", ")))?;
        }
        for target in models.targets() {
            let line = Line::new().plain("  ").name(&*target.name);
            self.view.line(&match &target.unusable {
                Some(why) => line.plain("  ").bad(&**why),
                None => line.plain("  ").dim(&*target.invocation.endpoint),
            })?;
        }
        Ok(())
    }

    /// Has another model or route answer from the next message on.
    pub(super) fn take_model(&mut self, name: &str) -> anyhow::Result<()> {
        let Some(models) = self.models() else { return Ok(()) };
        let (targets, routes) = (models.targets(), models.routes());
        let names = targets.iter().map(|target| &*target.name);
        let names: Vec<&str> = names.chain(routes.iter().map(|route| &*route.name)).collect();
        if !names.contains(&name) {
            let near = nearest(name, names.into_iter());
            let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            anyhow::bail!(
                "there is no model or route {name:?} here{hint}; others: threadline chat --model {name}"
            );
        }
        self.route = Some(Arc::from(name));
        self.told("/model", &format!("{name} answers from the next message on"))
    }

    fn models(&self) -> Option<Arc<dyn Models>> {
        match &self.stage {
            Stage::Before { setup, .. } => Some(Arc::clone(&setup.as_ref()?.models)),
            Stage::Within(talk) => Some(Arc::clone(&talk.runtime().world().setting.models)),
        }
    }
}
