//! Patterns: names of models in which `*` stands for anything.

/// A name in which `*` stands for anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern(String);

impl From<String> for Pattern {
    fn from(text: String) -> Self {
        Self(text.to_lowercase())
    }
}

impl Pattern {
    /// Whether a name in small letters fits.
    pub(super) fn fits(&self, name: &str) -> bool {
        let mut parts = self.0.split('*');
        let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
            return false;
        };
        let Some(last) = parts.next_back() else { return rest.is_empty() };
        for part in parts {
            let Some((_, after)) = rest.split_once(part) else { return false };
            rest = after;
        }
        rest.ends_with(last)
    }

    /// How many letters it fixes: the more, the more particular it is.
    pub(super) fn letters(&self) -> usize {
        let stars = self.0.matches('*').count();
        // A whole name is more particular than one that may go on.
        2 * (self.0.chars().count() - stars) + usize::from(stars == 0)
    }

    /// Whether every name fits.
    pub(super) fn is_any(&self) -> bool {
        self.0 == "*"
    }

    /// The name, if it is one.
    pub(super) fn plain(&self) -> Option<&str> {
        Some(&*self.0).filter(|name| !name.contains('*'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, fitting, other) in [
            ("gpt-5", &["gpt-5"][..], &["gpt-5-mini", "gpt-", ""][..]),
            ("GPT-5*", &["gpt-5", "gpt-5.1"], &["gpt-4", "my-gpt-5"]),
            ("*qwen3*", &["qwen/qwen3-8b", "qwen3", "qwen3:8b"], &["qwen2.5"]),
            ("a*b*c", &["abc", "a-b-c", "abbc"], &["ab", "acb", "abcd"]),
            ("ab*ba", &["abba", "ab-ba"], &["aba"]),
            ("*", &["", "x"], &[]),
        ] {
            let pattern = Pattern::from(pattern.to_owned());
            assert!(fitting.iter().all(|name| pattern.fits(name)), "{pattern:?}");
            assert!(!other.iter().any(|name| pattern.fits(name)), "{pattern:?}");
        }
    }
}
