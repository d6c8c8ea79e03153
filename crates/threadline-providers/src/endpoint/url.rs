//! URLs: a base, and the path that a protocol adds to it.

use super::Azure;
use crate::dialect::Dialect;

/// A path below a base, whose query stays at the end.
pub(super) fn join(base: &str, path: &str) -> String {
    let (base, query) =
        base.split_once('?').map_or((base, None), |(base, query)| (base, Some(query)));
    let mut url = format!("{}/{path}", base.trim_end_matches('/'));
    if let Some(query) = query.filter(|query| !query.is_empty()) {
        url.push(if path.contains('?') { '&' } else { '?' });
        url.push_str(query);
    }
    url
}

/// Anthropic's bases come with their version and without.
pub(super) fn anthropic(base: &str, path: &str) -> String {
    let plain = base.split('?').next().unwrap_or_default().trim_end_matches('/');
    if plain.ends_with("/v1") { join(base, path) } else { join(base, &format!("v1/{path}")) }
}

/// The model is part of Gemini's path; one with a slash brings its own collection.
pub(super) fn gemini(base: &str, model: &str) -> String {
    let collection = if model.contains('/') { "" } else { "models/" };
    join(base, &format!("{collection}{}:streamGenerateContent?alt=sse", escaped(model)))
}

/// The classic paths of a resource name a version, the newer ones do not.
pub(super) fn azure(base: &str, azure: Option<&Azure>, dialect: Dialect, model: &str) -> String {
    let base = azure_base(base);
    let path = match dialect {
        Dialect::OpenAiResponses => "responses",
        Dialect::OpenAiChat | Dialect::Anthropic | Dialect::Gemini => "chat/completions",
    };
    let Some(azure) = azure else { return join(base, &format!("openai/v1/{path}")) };
    let version = escaped(&azure.api_version);
    if dialect == Dialect::OpenAiResponses {
        return join(base, &format!("openai/responses?api-version={version}"));
    }
    let deployment = escaped(azure.deployment.as_deref().unwrap_or(model));
    join(base, &format!("openai/deployments/{deployment}/{path}?api-version={version}"))
}

/// Where a resource lists its models.
pub(super) fn azure_list(base: &str, azure: Option<&Azure>) -> String {
    let base = azure_base(base);
    match azure {
        None => join(base, "openai/v1/models"),
        Some(azure) => {
            join(base, &format!("openai/models?api-version={}", escaped(&azure.api_version)))
        }
    }
}

/// People copy the address of a resource with more or less of its path.
fn azure_base(base: &str) -> &str {
    let base = base.trim_end_matches('/');
    let base = base.strip_suffix("/v1").unwrap_or(base);
    base.strip_suffix("/openai").unwrap_or(base)
}

/// A name as a part of a path.
fn escaped(name: &str) -> String {
    name.bytes().fold(String::new(), |mut path, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~/:".contains(&byte) {
            path.push(char::from(byte));
        } else {
            path.push('%');
            let digits = [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16));
            path.extend(digits.into_iter().flatten().map(|digit| digit.to_ascii_uppercase()));
        }
        path
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_may_end_in_a_slash_or_bring_a_query() {
        assert_eq!(join("http://x/v1/", "models"), "http://x/v1/models");
        assert_eq!(join("http://x/v1?a=b", "models"), "http://x/v1/models?a=b");
        assert_eq!(join("http://x?a=b", "m?alt=sse"), "http://x/m?alt=sse&a=b");
        assert_eq!(anthropic("http://x/v1/", "messages"), "http://x/v1/messages");
        assert_eq!(anthropic("http://x/api", "messages"), "http://x/api/v1/messages");
    }

    #[test]
    fn models_and_deployments_are_escaped() {
        assert_eq!(
            gemini("http://x/v1beta", "a b?"),
            "http://x/v1beta/models/a%20b%3F:streamGenerateContent?alt=sse"
        );
        assert_eq!(
            gemini("http://x", "tunedModels/mine"),
            "http://x/tunedModels/mine:streamGenerateContent?alt=sse"
        );
    }

    #[test]
    fn azure_has_classic_and_newer_paths() {
        let classic = Azure { deployment: Some("my gpt".into()), api_version: "2024-10-21".into() };
        for base in ["https://r.openai.azure.com/", "https://r.openai.azure.com/openai/v1/"] {
            for (version, dialect, wanted) in [
                (None, Dialect::OpenAiChat, "openai/v1/chat/completions"),
                (None, Dialect::OpenAiResponses, "openai/v1/responses"),
                (
                    Some(&classic),
                    Dialect::OpenAiChat,
                    "openai/deployments/my%20gpt/chat/completions?api-version=2024-10-21",
                ),
                (
                    Some(&classic),
                    Dialect::OpenAiResponses,
                    "openai/responses?api-version=2024-10-21",
                ),
            ] {
                let wanted = format!("https://r.openai.azure.com/{wanted}");
                assert_eq!(azure(base, version, dialect, "gpt"), wanted);
            }
        }
    }
}
