//! Which model answers in a chat, and how to have another.

use std::sync::Arc;

use threadline_core::choose::{AllHealthy, Needs, SoFar, choose};
use threadline_core::provider::Models as _;

use super::{Room, Stage};
use crate::view::Line;

impl Room<'_> {
    /// Who answers the next message, in a few words.
    pub(super) fn who_answers(&self) -> String {
        let route = self.route.clone().or_else(|| match &self.stage {
            Stage::Before { plan, .. } => plan.route(),
            Stage::Within(_) => None,
        });
        match choose(
            &*self.market,
            &AllHealthy,
            route.as_ref(),
            &Needs::default(),
            &SoFar::default(),
        ) {
            Ok(chosen) if &*chosen.target.name == "guide" => {
                "The built-in offline model guide".to_owned()
            }
            Ok(chosen) => chosen.target.name.to_string(),
            Err(why) => format!("No model ({why})"),
        }
    }

    /// Shows which models and routes there are.
    pub(super) fn show_models(&mut self) -> anyhow::Result<()> {
        let models = Arc::clone(&self.market);
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

    /// Has another model or route answer from the next message on, wherever it has to be looked for.
    pub(super) async fn take_model(&mut self, name: &str) -> anyhow::Result<()> {
        self.market.want(name).await?;
        self.route = Some(Arc::from(name));
        self.told("/model", &format!("{name} answers from the next message on"))
    }
}
