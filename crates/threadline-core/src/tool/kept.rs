//! A catalogue as it was kept: what models read of each tool, and no more.

use std::sync::Arc;

use serde::Deserialize;

use super::{Catalogue, Handling, ToolSpec};
use crate::history::fact::Verdict;
use crate::tokens::TokenCounter;

#[derive(Deserialize)]
struct Line {
    name: Arc<str>,
    description: Arc<str>,
    schema: Arc<str>,
}

impl Catalogue {
    /// The catalogue in an attachment that an invocation names; none if it is no such thing.
    ///
    /// It can be looked at and counted, not called: how calls were handled was not kept.
    pub fn from_attachment(bytes: &[u8], counter: &dyn TokenCounter) -> Option<Self> {
        let lines: Vec<Line> = serde_json::from_slice(bytes).ok()?;
        let spec = |line: Line| {
            Arc::new(ToolSpec {
                name: line.name,
                description: line.description,
                schema: line.schema,
                strict: false,
                server: None,
                verdict: Verdict::Deny,
                handling: Handling::Recorded,
            })
        };
        let tokens = counter.count(&String::from_utf8_lossy(bytes));
        Self::new(lines.into_iter().map(spec).collect(), tokens).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::Estimator;

    #[test]
    fn a_kept_catalogue_is_read_and_anything_else_is_not() {
        let kept = br#"[{"name":"recall","description":"reads","schema":"{}"}]"#;
        let catalogue = Catalogue::from_attachment(kept, &Estimator).unwrap();
        assert!(catalogue.has("recall"));
        assert_eq!(catalogue.tokens(), Estimator.count(std::str::from_utf8(kept).unwrap()));
        for other in [&b"{}"[..], b"[1]", b"", b"[{\"name\":\"a\"}]"] {
            assert_eq!(Catalogue::from_attachment(other, &Estimator), None);
        }
        let twice = br#"[{"name":"a","description":"","schema":""},{"name":"a","description":"","schema":""}]"#;
        assert_eq!(Catalogue::from_attachment(twice, &Estimator), None);
    }
}
