//! Writes the layout tests: for each level with headers a C program that prints sizes, alignments, offsets and
//! constants according to the C compiler, and the Rust code that computes the same lines from the bindings.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

use anyhow::Result;
use quote::ToTokens;

use super::files::Files;
use super::levels::Level;
use super::library::Library;
use super::lines::HEADER;
use super::sources::Sources;
use super::surface::{Kind, Surface, is_opaque};

/// Returns the files of `tests/generated`: `layout_6_4.c` and `layout_6_4.rs` for level 6.4, and so on.
pub(crate) fn files(
    library: &Library,
    sources: &Sources,
    levels: &BTreeMap<Level, Surface>,
    texts: &BTreeMap<Level, String>,
) -> Result<Files> {
    let mut files = Files::new();
    for (level, header) in &sources.headers {
        let mut surface = header.clone();
        if sources.reference.contains(level) {
            // Headers of another release only verify the items that are the same in both.
            let ours = &levels[level];
            surface.retain(|name, kind| ours.get(name).is_some_and(|our| our.shape() == kind.shape()));
        }
        // The release's headers declare these differently.
        surface.retain(|name, kind| {
            !library.as_newest.iter().any(|(of, ..)| of == name)
                || levels[level].get(name).is_some_and(|our| our.shape() == kind.shape())
        });
        let text = texts.get(level).map_or("", String::as_str);
        let mut writer = Writer { surface: &surface, names: CNames::new(text), c: String::new(), rust: String::new() };
        writer.all()?;
        let stem = stem(*level);
        let includes = library.include_text();
        files.insert(
            PathBuf::from(format!("{stem}.c")),
            format!("{HEADER}{C_START}{includes}{C_MACROS}{}  return 0;\n}}\n", writer.c),
        );
        let start = RUST_START.replace("@PATH@", &format!("{}::{}", library.path(), level.module()));
        files.insert(PathBuf::from(format!("{stem}.rs")), format!("{HEADER}{start}{}}}\n", writer.rust));
    }
    files.insert("mod.rs".into(), format!("{HEADER}{}", modules(library, &sources.headers)));
    Ok(files)
}

/// Declares the C programs of the levels that the crate's features enable.
fn modules(library: &Library, headers: &BTreeMap<Level, Surface>) -> String {
    let mut text = String::from("pub(crate) mod functions;\nmod names;\n");
    let mut rows = String::new();
    for level in headers.keys() {
        let Some(of) = library.headers_of(*level) else { continue };
        let (stem, condition) = (stem(*level), format!("#[cfg(feature = \"{}\")]", level.feature()));
        text += &format!("{condition}\nmod {stem};\n");
        rows += &format!(
            "    {condition}\n    Proof {{\n        level: ({}, {}),\n        program: include_str!(\"{stem}.c\"),\n        \
             lines: {stem}::lines,\n        tree: \"{}\",\n        include: \"{}\",\n        shims: &{:?},\n        \
             cplusplus: {},\n    }},\n",
            level.major(),
            level.minor(),
            of.tree,
            of.include,
            library.shims,
            library.cplusplus
        );
    }
    text + "\nuse sys_testing::layout::Proof;\n\npub(crate) const LAYOUTS: &[Proof] = &[\n" + &rows + "];\n"
}

fn stem(level: Level) -> String {
    format!("layout_{}_{}", level.major(), level.minor())
}

const C_START: &str = "#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n";
const C_MACROS: &str = r#"
#define TYPE(name, type) printf("type %s size %zu align %zu\n", name, sizeof(type), __alignof__(type))
#define FIELD(name, type, field) \
  printf("field %s.%s offset %zu size %zu\n", name, #field, offsetof(type, field), sizeof(((type*)0)->field))
#define BIT(name, type, field) \
  do { \
    type value; \
    memset(&value, 0, sizeof value); \
    value.field = -1; \
    printf("bits %s.%s", name, #field); \
    for (size_t at = 0; at < sizeof value; ++at) \
      if (((unsigned char*)&value)[at]) printf(" %zu:%u", at, (unsigned)((unsigned char*)&value)[at]); \
    printf("\n"); \
  } while (0)
#define CONSTANT(name) printf("constant %s %lld\n", #name, (long long)(name))
#define ADDRESS(name) printf("constant %s %lld\n", #name, (long long)(intptr_t)(name))

int main(void) {
"#;
const RUST_START: &str = "use @PATH@::*;\nuse sys_testing::layout::*;\n\npub(crate) fn lines(out: &mut Lines) {\n";

struct Writer<'a> {
    surface: &'a Surface,
    names: CNames,
    c: String,
    rust: String,
}

impl Writer<'_> {
    fn all(&mut self) -> Result<()> {
        for (name, kind) in self.surface.iter() {
            match kind {
                Kind::Struct(item, bits) if !is_opaque(item) && !self.surface.parts.contains(name) => {
                    self.type_line(name, "struct")?;
                    for bit in bits {
                        writeln!(self.c, "  BIT(\"{name}\", {name}, {});", bit.name)?;
                        writeln!(self.rust, "    bit!(out, {name}, {0}, set_{0});", bit.name)?;
                    }
                    self.fields(name, name, "", "")?;
                }
                Kind::Union(_) if !self.surface.parts.contains(name) => {
                    self.type_line(name, "union")?;
                    self.fields(name, name, "", "")?;
                }
                Kind::Enum(..) => self.type_line(name, "enum")?,
                Kind::Type(_) if self.sized(name) => self.type_line(name, "")?,
                Kind::Const(item, of, _) => {
                    let ty = item.ty.to_token_stream().to_string();
                    if ty.starts_with('&') || ["f32", "f64"].contains(&ty.as_str()) {
                        continue; // no integer
                    }
                    let pointer = ty.starts_with('*') || matches!(self.surface.get(&ty), Some(Kind::Type(_)));
                    let (c, rust) = match of {
                        Some(_) if self.is_wide(item, of.as_deref()) => ("CONSTANT", format!("{name}.0 as i64")),
                        None if self.is_wide(item, None) => ("CONSTANT", format!("{name} as i64")),
                        Some(_) => ("CONSTANT", format!("i64::from({name}.0)")),
                        None if pointer => ("ADDRESS", format!("{name} as usize as i64")),
                        None => ("CONSTANT", format!("i64::from({name})")),
                    };
                    writeln!(self.c, "  {c}({name});")?;
                    writeln!(self.rust, "    constant(out, \"{name}\", {rust});")?;
                }
                Kind::Alias(target) if matches!(self.surface.get(target), Some(Kind::Const(_, Some(_), _))) => {
                    writeln!(self.c, "  CONSTANT({name});")?;
                    writeln!(self.rust, "    constant(out, \"{name}\", i64::from({name}.0));")?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns whether a constant has an unsigned type of 64 bits.
    fn is_wide(&self, item: &syn::ItemConst, of: Option<&str>) -> bool {
        let ty = match of.and_then(|of| self.surface.get(of)) {
            Some(Kind::Enum(_, integer)) => integer.to_token_stream().to_string(),
            _ => item.ty.to_token_stream().to_string(),
        };
        ["u64", "c_ulong", "c_ulonglong", "usize"].contains(&ty.as_str())
    }

    fn type_line(&mut self, name: &str, tag: &str) -> Result<()> {
        writeln!(self.c, "  TYPE(\"{name}\", {});", self.names.of(name, tag))?;
        writeln!(self.rust, "    type_::<{name}>(out, \"{name}\");")?;
        Ok(())
    }

    /// Writes the fields of `part`, which `outer` contains under these paths.
    fn fields(&mut self, outer: &str, part: &str, c_path: &str, rust_path: &str) -> Result<()> {
        let fields: Vec<syn::Field> = match self.surface.get(part) {
            Some(Kind::Struct(item, _)) => item.fields.iter().cloned().collect(),
            Some(Kind::Union(item)) => item.fields.named.iter().cloned().collect(),
            _ => return Ok(()),
        };
        let tag = if matches!(self.surface.get(outer), Some(Kind::Union(_))) { "union" } else { "struct" };
        let c_outer = self.names.of(outer, tag);
        for field in &fields {
            let Some(name) = field.ident.as_ref().map(ToString::to_string) else { continue };
            if name == "bits" && matches!(self.surface.get(part), Some(Kind::Struct(_, bits)) if !bits.is_empty())
                || name.starts_with("__bindgen_padding")
                || name == "_align"
            {
                continue;
            }
            let anonymous = name.starts_with("anon_");
            let rust = format!("{rust_path}{name}");
            let c = if anonymous { c_path.to_owned() } else { format!("{c_path}{}", c_field(&name)) };
            if !anonymous {
                writeln!(self.c, "  FIELD(\"{outer}\", {c_outer}, {c});")?;
                writeln!(self.rust, "    field!(out, {outer}, {c:?}, {rust});")?;
            }
            let ty = field.ty.to_token_stream().to_string();
            if self.surface.parts.contains(&ty) {
                let c = if anonymous { c } else { format!("{c}.") };
                self.fields(outer, &ty, &c, &format!("{rust}."))?;
            }
        }
        Ok(())
    }

    /// Returns whether C knows the size of the type with this name.
    fn sized(&self, name: &str) -> bool {
        match self.surface.get(name) {
            Some(Kind::Type(item)) => match &*item.ty {
                syn::Type::Path(path) => path.path.get_ident().is_none_or(|ident| self.sized(&ident.to_string())),
                _ => true,
            },
            Some(Kind::Struct(item, _)) => !is_opaque(item),
            _ => true,
        }
    }
}

/// Returns C's name of a field: bindgen appends `_` to a Rust keyword.
fn c_field(name: &str) -> &str {
    match name {
        "type_" | "fn_" | "ref_" | "in_" | "match_" | "mod_" | "move_" | "use_" => &name[..name.len() - 1],
        _ => name,
    }
}

/// The types that C only knows with `struct`, `union` or `enum` before the name.
struct CNames {
    tags: BTreeSet<String>,
}

impl CNames {
    fn new(text: &str) -> CNames {
        let words: Vec<&str> = super::facts::words_of(text).collect();
        // C's own types, which the text does not declare.
        let mut tags: BTreeSet<String> = ["sockaddr", "timespec"].map(str::to_owned).into();
        let mut typedefs = BTreeSet::new();
        for (index, window) in words.windows(3).enumerate() {
            let [first, second, third] = window else { continue };
            if matches!(*first, "struct" | "union" | "enum") && *third == "{" {
                tags.insert((*second).to_owned());
            }
            if *first == "}" && *third == ";" {
                typedefs.insert((*second).to_owned());
            }
            // typedef struct A B;
            if *first == "typedef" && words.get(index + 4) == Some(&";") {
                typedefs.insert(words[index + 3].to_owned());
            }
        }
        CNames { tags: tags.difference(&typedefs).cloned().collect() }
    }

    fn of(&self, name: &str, tag: &str) -> String {
        if self.tags.contains(name) { format!("{tag} {name}") } else { name.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::CNames;

    #[test]
    fn tags_need_their_keyword() {
        let names =
            CNames::new("struct A { int x; }; typedef struct B { int y; } B; typedef struct C D; struct C { int z; };");
        assert_eq!(names.of("A", "struct"), "struct A");
        assert_eq!(names.of("B", "struct"), "B");
        assert_eq!(names.of("C", "struct"), "struct C");
        assert_eq!(names.of("D", "struct"), "D");
    }
}
