//! Reasons why cases do not pass. Each line has a group of cases, a pattern of their names and the reason, separated by
//! tabs. The first match counts.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

#[derive(Debug, Default)]
pub(crate) struct Reasons(Vec<[String; 3]>);

impl Reasons {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut all = Vec::new();
        for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            let words: Vec<&str> = line.split('\t').collect();
            let [group, pattern, reason] = words[..] else {
                bail!("expected `group TAB pattern TAB reason`: {line}");
            };
            ensure!(!reason.trim().is_empty(), "a reason is empty: {line}");
            all.push([group, pattern, reason].map(str::to_owned));
        }
        Ok(Self(all))
    }

    /// Reads a committed file.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        Self::parse(&fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?)
    }

    /// Returns why a case does not pass, if that is known.
    pub(crate) fn of(&self, group: &str, case: &str) -> Option<&str> {
        let found = self.0.iter().find(|[of, pattern, _]| of == group && matches(pattern, case));
        found.map(|[.., reason]| reason.as_str())
    }
}

/// Returns whether a name matches a pattern, in which `*` matches any text.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            name.char_indices().map(|(at, _)| at).chain([name.len()]).any(|at| matches(rest, &name[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_matches_counts() {
        let reasons =
            Reasons::parse("# comment\nother\t*\tno\n\nrocprim\tA/*.b\tof a cause\nrocprim\t*\trest\n").unwrap();
        assert_eq!(reasons.of("rocprim", "A/0.b"), Some("of a cause"));
        assert_eq!(reasons.of("rocprim", "A/0.c"), Some("rest"));
        assert_eq!(reasons.of("rocrand", "A/0.b"), None);
        assert!(Reasons::parse("rocprim\tx\n").is_err() && Reasons::parse("rocprim\tx\t \n").is_err());
    }

    #[test]
    fn patterns() {
        assert!(matches("*", "") && matches("a*c", "abc") && matches("a*c*", "abbcd") && matches("abc", "abc"));
        assert!(!matches("a*c", "abd") && !matches("", "a") && !matches("b*", "ab"));
    }
}
