//! Which files are meant: patterns such as `*.rs` or `src/**/*.{ts,tsx}`.

use regex::{Regex, RegexBuilder};

/// The longest pattern.
const PATTERN_CAP_BYTES: usize = 500;

/// A pattern of names. One with a slash is of paths relative to the workspace.
#[derive(Debug)]
pub(super) struct Names {
    pattern: Regex,
    of_paths: bool,
}

impl Names {
    pub(super) fn new(pattern: &str) -> Result<Self, String> {
        if pattern.len() > PATTERN_CAP_BYTES {
            return Err(format!("the pattern of names is longer than {PATTERN_CAP_BYTES} bytes"));
        }
        let pattern = pattern.trim_start_matches("./");
        let unfit = |error| format!("{pattern:?} is no pattern of names: {error}");
        let built = RegexBuilder::new(&regex_of(pattern)).build().map_err(unfit)?;
        Ok(Self { pattern: built, of_paths: pattern.contains('/') })
    }

    /// Whether the file at a path is meant.
    pub(super) fn fit(&self, path: &str) -> bool {
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        self.pattern.is_match(if self.of_paths { path } else { name })
    }
}

/// `*` is any run within a name, `**` also over folders, `?` one character, `{a,b}` one of these.
fn regex_of(pattern: &str) -> String {
    let mut regex = "(?s)^".to_owned();
    let mut rest = pattern.strip_prefix('/').unwrap_or(pattern);
    let mut open = false;
    while let Some(c) = rest.chars().next() {
        let (taken, part) = match c {
            _ if rest.starts_with("**/") => (3, "(?:.*/)?".to_owned()),
            _ if rest.starts_with("**") => (2, ".*".to_owned()),
            '*' => (1, "[^/]*".to_owned()),
            '?' => (1, "[^/]".to_owned()),
            '{' if !open && rest.contains('}') => {
                open = true;
                (1, "(?:".to_owned())
            }
            ',' if open => (1, "|".to_owned()),
            '}' if open => {
                open = false;
                (1, ")".to_owned())
            }
            c => (c.len_utf8(), regex::escape(c.encode_utf8(&mut [0; 4]))),
        };
        regex.push_str(&part);
        rest = rest.get(taken..).unwrap_or_default();
    }
    regex.push('$');
    regex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_names_or_paths() {
        let table = [
            ("*.rs", "a.rs", true),
            ("*.rs", "src/deep/a.rs", true),
            ("*.rs", "a.rsx", false),
            ("*.rs", "a_rs", false),
            ("a?.txt", "ab.txt", true),
            ("a?.txt", "a.txt", false),
            ("a?.txt", "a雨.txt", true),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/b/a.rs", false),
            ("src/*.rs", "x/src/a.rs", false),
            ("./src/*.rs", "src/a.rs", true),
            ("src/**/*.rs", "src/a.rs", true),
            ("src/**/*.rs", "src/b/c/a.rs", true),
            ("**/a.rs", "a.rs", true),
            ("src/**", "src/b/c", true),
            ("*.{ts,tsx}", "a.tsx", true),
            ("*.{ts,tsx}", "a.ts", true),
            ("*.{ts,tsx}", "a.t", false),
            ("{", "{", true),
            ("a{b", "a{b", true),
            ("(+", "(+", true),
            ("[a]", "a", false),
            ("Makefile", "sub/Makefile", true),
            ("Makefile", "Makefile.am", false),
        ];
        for (pattern, path, fits) in table {
            assert_eq!(Names::new(pattern).unwrap().fit(path), fits, "{pattern} {path}");
        }
        assert!(Names::new(&"a".repeat(501)).is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_pattern_is_one(pattern in "[a*?{},/(+.\\\\\\[雨]{1,12}") {
            proptest::prop_assert!(Names::new(&pattern).is_ok(), "{}", pattern);
        }
    }
}
