//! `threadline tools`: what agents can have done, and what they see on their screens.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use threadline_core::drive::own_tools;
use threadline_core::history::fact::{Effect, Verdict};
use threadline_core::tool::{Handling, ToolSpec};
use threadline_core::widget::{Scope, Widget};

use super::agent::Plan;
use crate::args::{AgentOptions, Bounds, Tools};
use crate::compose::Parts;
use crate::config::Config;
use crate::view::{Line, View};

pub(crate) fn run(
    parts: &Parts,
    config: &Config,
    arguments: &Tools,
    view: &mut View,
) -> anyhow::Result<()> {
    let offer = Parts::offer(config)?;
    let setup = parts.setup(config, offer, None, &Bounds::default())?;
    let options = AgentOptions { agent: arguments.agent.clone(), ..AgentOptions::default() };
    let joined = Plan::new(config, &options)?.agent(&setup)?.joined;
    let own = own_tools();
    let tools = setup.tools.iter().map(|tool| tool.spec()).chain(&own);
    let tools = tools.filter(|spec| joined.tools.contains(&spec.name)).map(Listed::new);
    let tools = tools.collect::<anyhow::Result<Vec<_>>>()?;
    let widgets = setup.widgets.iter().filter(|w| joined.widgets.iter().any(|n| &**n == w.name()));
    let widgets = widgets.map(|widget| ListedWidget::new(&**widget));
    let widgets = widgets.collect::<anyhow::Result<Vec<_>>>()?;
    if view.json {
        view.value(&All { tools, widgets })?;
        return Ok(());
    }
    for tool in &tools {
        tool.print(view, "")?;
    }
    for widget in &widgets {
        let line = Line::new().bold(&widget.name).dim(format!(" · widget, {}", widget.scope));
        view.line(&line)?;
        view.text(&widget.description, "  ")?;
        for tool in &widget.tools {
            tool.print(view, "  ")?;
        }
    }
    Ok(())
}

#[derive(Serialize)]
struct All {
    tools: Vec<Listed>,
    widgets: Vec<ListedWidget>,
}

#[derive(Serialize)]
struct ListedWidget {
    name: String,
    description: String,
    scope: &'static str,
    tools: Vec<Listed>,
}

impl ListedWidget {
    fn new(widget: &dyn Widget) -> anyhow::Result<Self> {
        Ok(Self {
            name: widget.name().to_owned(),
            description: widget.description().to_owned(),
            scope: match widget.scope() {
                Scope::Agent => "each agent has its own",
                Scope::Conversation => "shared by the conversation",
            },
            tools: widget.tools().iter().map(Listed::new).collect::<anyhow::Result<_>>()?,
        })
    }
}

/// A tool as it is listed.
#[derive(Serialize)]
struct Listed {
    name: String,
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    effect: &'static str,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
    strict: bool,
    schema: Box<RawValue>,
}

impl Listed {
    fn new(spec: &ToolSpec) -> anyhow::Result<Self> {
        let (effect, timeout_ms) = match spec.handling {
            Handling::Recorded => ("recorded", None),
            Handling::Run(rules) => {
                let effect = match rules.effect {
                    Effect::Read => "read",
                    Effect::Idempotent => "idempotent",
                    Effect::Once => "once",
                };
                (effect, Some(rules.timeout_ms))
            }
        };
        Ok(Self {
            name: spec.name.to_string(),
            description: spec.description.to_string(),
            server: spec.server.as_ref().map(ToString::to_string),
            effect,
            verdict: match spec.verdict {
                Verdict::Allow => "allow",
                Verdict::Ask => "ask",
                Verdict::Deny => "deny",
            },
            timeout_ms,
            strict: spec.strict,
            schema: RawValue::from_string(spec.schema.to_string())?,
        })
    }

    fn print(&self, view: &mut View, indent: &str) -> anyhow::Result<()> {
        let line = Line::new().plain(indent).name(&self.name);
        view.line(&line.dim(format!(" · {}, {}", self.effect, self.verdict)))?;
        let inner = format!("{indent}  ");
        view.text(&self.description, &inner)?;
        for parameter in parameters(&serde_json::from_str(self.schema.get())?) {
            view.text(&parameter, &format!("{inner}- "))?;
        }
        Ok(())
    }
}

/// The parameters of a schema, each in a line.
fn parameters(schema: &Value) -> Vec<String> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| {
        required.is_some_and(|names| names.iter().any(|known| known.as_str() == Some(name)))
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let told = |(name, property): (&String, &Value)| {
        let needed = if is_required(name) { "" } else { ", optional" };
        let description = property.get("description").and_then(Value::as_str);
        let colon = if description.is_some() { ": " } else { "" };
        format!("{name} ({}{needed}){colon}{}", kind(property), description.unwrap_or_default())
    };
    let (first, rest): (Vec<_>, Vec<_>) =
        properties.into_iter().flatten().partition(|(name, _)| is_required(name));
    first.into_iter().chain(rest).map(told).collect()
}

/// What a value is to be, in a few words.
fn kind(schema: &Value) -> String {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let words = values
            .iter()
            .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        return words.collect::<Vec<_>>().join(" | ");
    }
    match schema.get("type") {
        Some(Value::String(name)) if name == "array" => {
            format!("list of {}", schema.get("items").map_or_else(|| "anything".to_owned(), kind))
        }
        Some(Value::String(name)) => name.clone(),
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ")
        }
        Some(_) | None => "anything".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_told_in_a_line_each() {
        let schema = serde_json::json!({
            "type": "object",
            "properties": {
                "all": {"type": "boolean"},
                "order": {"enum": ["up", "down"], "description": "which way"},
                "paths": {"type": "array", "items": {"type": "string"}},
                "what": {"anyOf": []},
            },
            "required": ["paths"],
        });
        assert_eq!(
            parameters(&schema),
            [
                "paths (list of string)",
                "all (boolean, optional)",
                "order (up | down, optional): which way",
                "what (anything, optional)",
            ]
        );
        assert_eq!(parameters(&Value::Null), [""; 0]);
    }
}
