//! The C interface of a release as AMD's Python packages declare it: an independent description, and the only one for
//! the levels without headers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, bail};
use regex::Regex;
use serde::Deserialize;

use super::levels::Level;
use super::library::{Library, Names};

/// A part of the generated name of a pointer to a function without a name in the header.
pub(crate) const NAMELESS: &str = "_anon_funptr_";

/// One library at one release: `api/rocm-VERSION/LIBRARY.json`.
#[derive(Debug, Default, Clone, Deserialize)]
pub(crate) struct Facts {
    pub(crate) constants: BTreeMap<String, i128>,
    pub(crate) enum_values: BTreeMap<String, BTreeMap<String, i128>>,
    pub(crate) function_pointers: Vec<String>,
    pub(crate) functions: BTreeMap<String, Function>,
    pub(crate) structs: BTreeMap<String, Struct>,
    pub(crate) typedefs: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Function {
    pub(crate) parameters: String,
    pub(crate) returns: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Struct {
    pub(crate) fields: Vec<String>,
    /// `struct` or `union`.
    pub(crate) kind: String,
}

impl Facts {
    /// Reads the facts of `library` at the release that stands for `level`, if they exist.
    pub(crate) fn read(api: &Path, level: Level, library: &Library) -> Result<Option<Facts>> {
        let folder = api.join(format!("rocm-{}", level.witness()));
        let table = folder.join(format!("{}.tsv", library.name));
        if library.names != Names::None && table.exists() {
            return Facts::names_of(&table).map(Some);
        }
        let path = folder.join(format!("{}.json", library.name));
        if !path.exists() {
            return Ok(None);
        }
        let mut text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        for (from, to, _) in library.renames {
            text = replace_word(&text, from, to);
        }
        let mut facts: Facts = serde_json::from_str(&text).with_context(|| format!("parsing {}", path.display()))?;
        // Artefacts of the Python packages, which are not part of the C interface.
        facts.typedefs.remove("_Bool");
        facts.enum_values.retain(|name, _| !name.ends_with("__Base"));
        for declared in facts.structs.values_mut() {
            for field in &mut declared.fields {
                *field = array_after_name(field);
            }
        }
        facts.widths(&api.join("bit_fields.tsv"), level, library)?;
        facts.more_enums(&folder, library)?;
        Ok(Some(facts))
    }

    /// Reads a table of functions: module, function, result, parameters.
    fn names_of(table: &Path) -> Result<Facts> {
        let mut facts = Facts::default();
        for row in rows(table)? {
            let [_, name, returns, parameters] = &row[..] else { bail!("{}: {row:?}", table.display()) };
            let function = Function { returns: returns.clone(), parameters: parameters.clone() };
            facts.functions.insert(name.clone(), function);
        }
        Ok(facts)
    }

    /// Adds the widths of bit fields, which the packages do not store with the fields.
    fn widths(&mut self, table: &Path, level: Level, library: &Library) -> Result<()> {
        for row in rows(table)? {
            let [of, name, field, width, first, last] = &row[..] else { bail!("{}: {row:?}", table.display()) };
            let at = |release: &str| Level::all().find(|level| level.witness() == release);
            let there = at(first).is_some_and(|first| first <= level) && at(last).is_some_and(|last| level <= last);
            if of != library.name || !there {
                continue;
            }
            let declared =
                self.structs.get_mut(name).with_context(|| format!("bit fields of {name}, which is not there"))?;
            let text = declared.fields.iter_mut().find(|text| text.split_whitespace().last() == Some(field));
            *text.with_context(|| format!("no bit field {field} in {name}"))? += &format!(" : {width}");
        }
        Ok(())
    }

    /// Adds enums of which the packages only have the names. The values of some are known from other sources; the
    /// others become types without constants.
    fn more_enums(&mut self, folder: &Path, library: &Library) -> Result<()> {
        for row in rows(&folder.join("enum_names.tsv"))? {
            let [of, name, ..] = &row[..] else { bail!("{}: {row:?}", folder.display()) };
            if of == library.name {
                self.enum_values.entry(name.clone()).or_default();
            }
        }
        for row in rows(&folder.join("enum_values.tsv"))? {
            let [of, name, constant, value] = &row[..] else { bail!("{}: {row:?}", folder.display()) };
            if of == library.name {
                let value = value.parse().with_context(|| format!("value of {constant}"))?;
                self.enum_values.entry(name.clone()).or_default().insert(constant.clone(), value);
            }
        }
        Ok(())
    }

    /// Removes items of another library.
    pub(crate) fn without(&mut self, foreign: impl Fn(&str) -> bool) {
        self.constants.retain(|name, _| !foreign(name));
        self.enum_values.retain(|name, values| {
            let known = !values.is_empty();
            values.retain(|name, _| !foreign(name));
            // All values belong to another library: it is a second name of that library's enum.
            let second_name = known && values.is_empty();
            !foreign(name) && !second_name
        });
        self.function_pointers.retain(|text| !foreign(pointer_name(text)));
        self.functions.retain(|name, _| !foreign(name));
        self.structs.retain(|name, _| !foreign(name));
        self.typedefs.retain(|name, _| !foreign(name));
    }

    /// Removes items that do not belong to the library: names that `allow` does not match, unless a matching item needs
    /// them.
    pub(crate) fn only(&mut self, allow: &Regex) {
        let mut kept: BTreeSet<String> = self.names().into_iter().filter(|name| allow.is_match(name)).collect();
        let mut left: Vec<String> = kept.iter().cloned().collect();
        while let Some(name) = left.pop() {
            for word in words_of(&self.texts(&name).join(" ")) {
                if kept.insert(word.to_owned()) {
                    left.push(word.to_owned());
                }
            }
        }
        let kept = |name: &str| kept.contains(name);
        self.constants.retain(|name, _| kept(name));
        self.enum_values.retain(|name, _| kept(name));
        self.function_pointers.retain(|text| kept(pointer_name(text)));
        self.functions.retain(|name, _| kept(name));
        let structs: BTreeSet<String> =
            self.structs.keys().filter(|name| kept(self.owner(name).unwrap_or(name))).cloned().collect();
        self.structs.retain(|name, _| structs.contains(name));
        self.typedefs.retain(|name, _| kept(name));
    }

    /// Returns the C text of an item, with the parts of a struct.
    fn texts(&self, name: &str) -> Vec<String> {
        let mut texts = Vec::new();
        if let Some(function) = self.functions.get(name) {
            texts.extend([function.returns.clone(), function.parameters.clone()]);
        }
        for (part, declared) in &self.structs {
            if part == name || self.owner(part) == Some(name) {
                texts.extend(declared.fields.iter().cloned());
            }
        }
        texts.extend(self.typedefs.get(name).cloned());
        texts.extend(self.function_pointers.iter().find(|text| pointer_name(text) == name).cloned());
        texts
    }

    /// Returns the names of the public items, without parts of structs.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        let mut names: BTreeSet<String> = BTreeSet::new();
        names.extend(self.functions.keys().cloned());
        names.extend(self.structs.keys().filter(|name| self.owner(name).is_none()).cloned());
        names.extend(self.typedefs.keys().cloned());
        let pointers = self.function_pointers.iter().map(|text| pointer_name(text).to_owned());
        names.extend(pointers.filter(|name| !name.contains(NAMELESS)));
        names.extend(self.constants.keys().cloned());
        for (name, values) in &self.enum_values {
            names.insert(name.clone());
            names.extend(values.keys().cloned());
        }
        names
    }

    /// Returns the description of `name` in a normal form, which is equal if two releases agree on the item. `const`
    /// and different names of the same integer type are removed, since the packages drop them in places.
    pub(crate) fn fact(&self, name: &str) -> Option<String> {
        if let Some(function) = self.functions.get(name) {
            let types: Vec<String> =
                split(&function.parameters, ',').map(|text| self.normal(drop_name(text))).collect();
            return Some(format!("{} ({})", self.normal(&function.returns), types.join(", ")));
        }
        if self.structs.contains_key(name) {
            let mut text = String::new();
            for (part, declared) in &self.structs {
                if part == name || self.owner(part) == Some(name) {
                    let fields: Vec<String> = declared.fields.iter().map(|field| self.normal(field)).collect();
                    text += &format!("{} {part} {{ {} }} ", declared.kind, fields.join("; "));
                }
            }
            return Some(text);
        }
        if self.enum_values.contains_key(name) {
            return Some("enum".to_owned());
        }
        if let Some(target) = self.typedefs.get(name) {
            return Some(format!("typedef {}", self.normal(target)));
        }
        if let Some(text) = self.function_pointers.iter().find(|text| pointer_name(text) == name) {
            return Some(self.normal(text));
        }
        self.value(name).map(|value| value.to_string())
    }

    /// Returns the value of a constant, of an enum or not.
    pub(crate) fn value(&self, name: &str) -> Option<i128> {
        let in_enum = self.enum_values.values().find_map(|values| values.get(name));
        in_enum.or_else(|| self.constants.get(name)).copied()
    }

    /// Returns the struct that contains the part with a generated name (`hipResourceDesc_union_0`).
    pub(crate) fn owner(&self, part: &str) -> Option<&str> {
        self.structs.get(part)?;
        let candidates = part.match_indices('_').map(|(end, _)| &part[..end]);
        candidates.filter_map(|name| self.structs.get_key_value(name)).map(|(name, _)| name.as_str()).next()
    }

    fn normal(&self, text: &str) -> String {
        let mut words = Vec::new();
        for word in words_of(text) {
            self.push_normal(word, &mut words, 0);
        }
        let text = words.join(" ");
        text.replace("unsigned long long", "u64")
            .replace("unsigned long", "size_t")
            .replace("uint64_t", "size_t")
            .replace("uint32_t", "unsigned int")
    }

    fn push_normal(&self, word: &str, words: &mut Vec<String>, depth: usize) {
        match self.typedefs.get(word) {
            _ if matches!(word, "const" | "struct" | "enum" | "union") => {}
            Some(target) if depth < 8 && target != word => {
                for word in words_of(target) {
                    self.push_normal(word, words, depth + 1);
                }
            }
            _ => words.push(word.to_owned()),
        }
    }
}

/// Returns the cells of a table's rows below the head, if the table exists.
fn rows(table: &Path) -> Result<Vec<Vec<String>>> {
    if !table.exists() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(table).with_context(|| format!("reading {}", table.display()))?;
    Ok(text.lines().skip(1).map(|row| row.split('\t').map(str::to_owned).collect()).collect())
}

/// Splits C text into identifiers, numbers and single punctuation characters.
pub(crate) fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let first = rest.chars().next()?;
        let end = if is_word(first) { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (word, tail) = rest.split_at(end);
        rest = tail;
        Some(word)
    })
}

/// Converts `char[256] name`, a form of some releases, to C's `char name[256]`.
fn array_after_name(field: &str) -> String {
    match (field.find('['), field.rfind(']')) {
        (Some(open), Some(close)) if close + 1 < field.len() => {
            let (ty, bounds, name) = (&field[..open], &field[open..=close], &field[close + 1..]);
            format!("{} {}{bounds}", ty.trim(), name.trim())
        }
        _ => field.to_owned(),
    }
}

/// Returns the name in `void (*hipHostFn_t) (void *)`.
pub(crate) fn pointer_name(text: &str) -> &str {
    let inner = text.split_once("(*").map_or("", |(_, rest)| rest);
    inner.split(')').next().unwrap_or("").trim()
}

/// Splits at `separator` outside of parentheses.
pub(crate) fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    text.split(move |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == separator && depth == 0
    })
    .filter(|part| !part.trim().is_empty())
}

/// Returns `hipStream_t stream` without the name.
fn drop_name(parameter: &str) -> &str {
    let text = parameter.trim();
    let words: Vec<&str> = words_of(text).collect();
    let named = words.len() > 1 && words.last().is_some_and(|word| is_name(word));
    if named { text.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_') } else { text }
}

fn is_name(word: &str) -> bool {
    const TYPES: [&str; 8] = ["int", "long", "char", "short", "unsigned", "float", "double", "void"];
    word.starts_with(|c: char| c.is_alphabetic() || c == '_') && !TYPES.contains(&word)
}

fn replace_word(text: &str, from: &str, to: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let (before, tail) = (&rest[..at], &rest[at + from.len()..]);
        out.push_str(before);
        let whole = !out.ends_with(is_word) && !tail.starts_with(is_word);
        out.push_str(if whole { to } else { from });
        rest = tail;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(json: &str) -> Facts {
        let empty =
            r#"{"constants":{},"enum_values":{},"function_pointers":[],"functions":{},"structs":{},"typedefs":{}}"#;
        let mut all: serde_json::Value = serde_json::from_str(empty).unwrap();
        let given: serde_json::Value = serde_json::from_str(json).unwrap();
        for (key, value) in given.as_object().unwrap() {
            all[key] = value.clone();
        }
        serde_json::from_value(all).unwrap()
    }

    #[test]
    fn signatures_agree_in_spite_of_const_and_integer_names() {
        let old = facts(
            r#"{"functions":{"f":{"parameters":"hipArray_t* a,void *p,unsigned long n","returns":"int"}},"typedefs":{"hipArray_t":"hipArray *"}}"#,
        );
        let new =
            facts(r#"{"functions":{"f":{"parameters":"hipArray ** array,const void * q,size_t n","returns":"int"}}}"#);
        assert_eq!(old.fact("f"), new.fact("f"));
        let other = facts(r#"{"functions":{"f":{"parameters":"hipArray ** array,int q,size_t n","returns":"int"}}}"#);
        assert_ne!(other.fact("f"), new.fact("f"));
    }

    #[test]
    fn a_struct_includes_its_parts() {
        let one = facts(
            r#"{"structs":{"S":{"fields":["int a"],"kind":"struct"},"S_union_0":{"fields":["int b"],"kind":"union"}}}"#,
        );
        let two = facts(
            r#"{"structs":{"S":{"fields":["int a"],"kind":"struct"},"S_union_0":{"fields":["long b"],"kind":"union"}}}"#,
        );
        assert_ne!(one.fact("S"), two.fact("S"));
        assert_eq!(one.owner("S_union_0"), Some("S"));
        assert_eq!(one.names().into_iter().collect::<Vec<_>>(), ["S"]);
    }

    #[test]
    fn whole_words_are_replaced() {
        assert_eq!(replace_word("hipA hipAB \"hipA\"", "hipA", "X"), "X hipAB \"X\"");
    }
}
