//! Writes a C header from the facts of a release, which bindgen reads like any other.

use std::collections::BTreeSet;
use std::fmt::Write;

use anyhow::{Context, Result, ensure};

use super::facts::{Facts, NAMELESS, Struct, pointer_name, words_of};
use super::library::Anonymous;

/// Returns the header; `prelude` declares the types of other libraries.
pub(crate) fn header(facts: &Facts, anonymous: Anonymous<'_>, packed: &[&str], prelude: &str) -> Result<String> {
    let mut writer = Writer { facts, anonymous, packed, out: prelude.to_owned(), done: BTreeSet::new() };
    for name in ["stddef", "stdint", "stdbool", "sys/types"] {
        writeln!(writer.out, "#include <{name}.h>")?;
    }
    writer.enums()?;
    for (name, declared) in &facts.structs {
        if facts.owner(name).is_none() {
            writeln!(writer.out, "typedef {} {name} {name};", declared.kind)?;
        }
    }
    for name in facts.typedefs.keys() {
        writer.typedef(name)?;
    }
    for text in &facts.function_pointers {
        writeln!(writer.out, "typedef {text};")?;
    }
    for name in facts.structs.keys() {
        writer.define(name)?;
    }
    for (name, function) in &facts.functions {
        let parameters = if function.parameters.trim().is_empty() { "void" } else { &function.parameters };
        writeln!(writer.out, "{} {name}({parameters});", function.returns)?;
    }
    for (name, value) in &facts.constants {
        writeln!(writer.out, "#define {name} {}", literal(*value))?;
    }
    Ok(writer.out)
}

/// Writes a number as a C literal.
fn literal(value: i128) -> String {
    match value {
        // C has no literal for the smallest number.
        _ if value == i128::from(i64::MIN) => format!("({} - 1)", i64::MIN + 1),
        _ if value > i128::from(i64::MAX) => format!("{value}ULL"),
        _ => value.to_string(),
    }
}

/// Returns the parts of a struct that are in none of its fields and whose position is unknown.
pub(crate) fn unplaced(facts: &Facts, anonymous: Anonymous<'_>, name: &str) -> Vec<String> {
    let parts = facts.structs.keys().filter(|part| facts.owner(part) == Some(name));
    let placed = |part: &str| {
        anonymous.iter().any(|(.., member)| *member == part)
            || facts
                .structs
                .values()
                .flat_map(|declared| &declared.fields)
                .any(|field| words_of(field).any(|word| word == part))
    };
    parts.filter(|part| !placed(part)).cloned().collect()
}

/// Suffix of the name of a placeholder constant, for an enum without known constants.
pub(crate) const NO_CONSTANT: &str = "__none";

struct Writer<'a> {
    facts: &'a Facts,
    anonymous: Anonymous<'a>,
    packed: &'a [&'a str],
    out: String,
    done: BTreeSet<String>,
}

impl Writer<'_> {
    fn enums(&mut self) -> Result<()> {
        let mut seen: BTreeSet<&String> = BTreeSet::new();
        for (name, values) in &self.facts.enum_values {
            if self.facts.typedefs.contains_key(name) {
                continue; // comes as a typedef of its tag
            }
            if values.is_empty() {
                writeln!(self.out, "typedef enum {name} {{ {name}{NO_CONSTANT} }} {name};")?;
                continue;
            }
            let fresh: Vec<_> = values.iter().filter(|(constant, _)| seen.insert(constant)).collect();
            if fresh.is_empty() {
                // All constants belong to another enum, of which this is an alias.
                let same = self.facts.enum_values.iter().find(|(other, of)| *other != name && *of == values);
                let (same, _) = same.with_context(|| format!("enum {name} has no constants"))?;
                writeln!(self.out, "typedef {same} {name};")?;
                continue;
            }
            ensure!(fresh.len() == values.len(), "enum {name} shares constants with another");
            writeln!(self.out, "typedef enum {name} {{")?;
            for (constant, value) in fresh {
                writeln!(self.out, "  {constant} = {},", literal(*value))?;
            }
            writeln!(self.out, "}} {name};")?;
        }
        Ok(())
    }

    /// Writes a typedef, after those that it depends on.
    fn typedef(&mut self, name: &str) -> Result<()> {
        if self.done.insert(name.to_owned()) {
            let target = &self.facts.typedefs[name];
            for word in words_of(target) {
                if self.facts.typedefs.contains_key(word) {
                    self.typedef(word)?;
                }
            }
            match target.split_once('[') {
                Some((of, bounds)) => writeln!(self.out, "typedef {of} {name}[{bounds};")?,
                None => writeln!(self.out, "typedef {target} {name};")?,
            }
        }
        Ok(())
    }

    /// Writes a struct, after those that it contains by value.
    fn define(&mut self, name: &str) -> Result<()> {
        let declared = &self.facts.structs[name];
        if self.facts.owner(name).is_some() || declared.fields.is_empty() || !self.done.insert(format!("struct {name}"))
        {
            return Ok(());
        }
        for (part, declared) in &self.facts.structs {
            if part != name && self.facts.owner(part) != Some(name) {
                continue;
            }
            for field in declared.fields.iter().filter(|field| !field.contains('*')) {
                for word in words_of(field) {
                    let target = self.facts.typedefs.get(word).map_or(word, String::as_str);
                    if self.facts.structs.contains_key(target) && self.facts.owner(target).is_none() && target != name {
                        self.define(target)?;
                    }
                }
            }
        }
        let body = self.body(name, declared)?;
        let packed = if self.packed.contains(&name) { "__attribute__((packed)) " } else { "" };
        writeln!(self.out, "{} {packed}{name} {body};", declared.kind)?;
        Ok(())
    }

    /// Returns the fields in braces, with anonymous structs and unions written inline.
    fn body(&self, name: &str, declared: &Struct) -> Result<String> {
        let mut fields = Vec::new();
        for field in &declared.fields {
            let mut words = words_of(field);
            let part = words.next().filter(|word| self.facts.owner(word).is_some());
            let pointer = field.split_whitespace().find(|word| word.contains(NAMELESS));
            if let (Some(ty), Some((_, name))) = (pointer, field.rsplit_once(' ')) {
                let text = self.facts.function_pointers.iter().find(|text| pointer_name(text) == ty);
                fields.push(text.with_context(|| format!("no function pointer {ty}"))?.replacen(ty, name, 1));
                continue;
            }
            fields.push(match part {
                Some(part) => self.part(part, field[field.find(part).unwrap_or(0) + part.len()..].trim())?,
                None => field.clone(),
            });
        }
        for &(_, index, part) in self.anonymous.iter().filter(|(owner, ..)| *owner == name) {
            ensure!(index <= fields.len(), "{name} has no field {index}");
            if self.facts.structs.contains_key(part) {
                fields.insert(index, self.part(part, "")?);
            }
        }
        Ok(format!("{{ {}; }}", fields.join("; ")))
    }

    fn part(&self, part: &str, field: &str) -> Result<String> {
        let declared = &self.facts.structs[part];
        Ok(format!("{} {} {field}", declared.kind, self.body(part, declared)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: &str = r#"{
        "constants": {"LIMIT": 4},
        "enum_values": {"Kind": {"KindA": 0, "KindB": 7}, "Second": {"KindA": 0, "KindB": 7}},
        "function_pointers": ["void (*callback) (void *)"],
        "functions": {"f": {"parameters": "S * s,callback then", "returns": "Kind"}, "g": {"parameters": "", "returns": "int"}},
        "structs": {
            "A": {"fields": ["B b", "A * next"], "kind": "struct"},
            "B": {"fields": ["int x[3]"], "kind": "struct"},
            "S": {"fields": ["int n", "S_union_0 named"], "kind": "struct"},
            "S_union_0": {"fields": ["int i", "S_union_0_struct_0 s"], "kind": "union"},
            "S_union_0_struct_0": {"fields": ["char c"], "kind": "struct"},
            "S_union_1": {"fields": ["float y"], "kind": "union"}
        },
        "typedefs": {"T": "A *"}
    }"#;

    #[test]
    fn what_is_held_by_value_comes_first() {
        let facts: Facts = serde_json::from_str(FACTS).unwrap();
        let text = header(&facts, &[("S", 1, "S_union_1")], &[], "").unwrap();
        let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("no {what} in:\n{text}"));
        assert!(place("struct B { int x[3]; };") < place("struct A { B b; A * next; };"));
        place("struct S { int n; union { float y; } ; union { int i; struct { char c; } s; } named; };");
        place("typedef Kind Second;");
        place("typedef A * T;");
        place("int g(void);");
        place("#define LIMIT 4");
    }

    #[test]
    fn a_part_without_a_place_is_told() {
        let facts: Facts = serde_json::from_str(FACTS).unwrap();
        assert_eq!(unplaced(&facts, &[], "S"), ["S_union_1"]);
        assert!(unplaced(&facts, &[("S", 1, "S_union_1")], "S").is_empty());
    }

    #[test]
    fn enums_without_values_packed_structs_and_nameless_pointers() {
        let facts: Facts = serde_json::from_str(
            r#"{
                "constants": {}, "functions": {}, "typedefs": {},
                "enum_values": {"Empty": {}},
                "function_pointers": ["int (*_anon_funptr_1) (int n)"],
                "structs": {"P": {"fields": ["char c", "_anon_funptr_1 call"], "kind": "struct"}}
            }"#,
        )
        .unwrap();
        let text = header(&facts, &[], &["P"], "#include <x.h>\n").unwrap();
        assert!(text.starts_with("#include <x.h>\n"), "{text}");
        for line in [
            "typedef enum Empty { Empty__none } Empty;\n",
            "struct __attribute__((packed)) P { char c; int (*call) (int n); };\n",
        ] {
            assert!(text.contains(line), "no {line} in:\n{text}");
        }
        assert!("Empty__none".ends_with(NO_CONSTANT));
    }
}
