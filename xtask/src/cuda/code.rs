//! The code of the names, as text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result};

use super::found::Level;
use super::names::{Entry, Fate, HEAD, Names, NamesOf};
use super::rules::STRUCTS;
use super::{enums, wrapper};

/// Names of constants, by their value.
type ByValue = BTreeMap<u32, Vec<String>>;

/// The first level and the module of each item.
type Place = (Option<Level>, String);

impl Names {
    /// Returns the available names of AMD's table, for the test that uses each.
    pub(super) fn of_amd(&self) -> Result<String> {
        let mut text = format!("{HEAD}\nnames! {{\n");
        for of in &self.modules {
            let mut names = of
                .entries
                .iter()
                .filter(|(_, entry)| entry.is_interop && !matches!(entry.fate, Fate::Absent(_)))
                .peekable();
            if names.peek().is_none() {
                continue;
            }
            writeln!(text, "    {} {{", of.module.name)?;
            for (name, _) in names {
                writeln!(text, "        {name},")?;
            }
            text.push_str("    }\n");
        }
        text.push_str("}\n");
        Ok(text)
    }

    /// Returns the names of invented constants.
    pub(super) fn lacking(&self) -> Result<String> {
        let mut types: BTreeMap<String, (Vec<String>, ByValue)> = BTreeMap::new();
        for of in &self.modules {
            for (name, entry) in &of.entries {
                if let Fate::Invented(value, ty) = &entry.fate {
                    let form = self.form(of.module, ty)?;
                    // HIP and HIPRTC are always available; another library is a feature with the name of its module.
                    let library = (!of.module.is_interop).then(|| of.module.name.to_owned());
                    let features = || library.into_iter().chain(form.feature()).collect();
                    let (_, values) =
                        types.entry(format!("{}::{ty}", form.module)).or_insert_with(|| (features(), BTreeMap::new()));
                    values.entry(*value).or_default().push(name.clone());
                }
            }
        }
        let mut text = format!("{HEAD}\nuse crate::CudaName;\n");
        for (ty, (features, values)) in types {
            text.push('\n');
            for feature in features {
                writeln!(text, "#[cfg(feature = \"{feature}\")]")?;
            }
            writeln!(
                text,
                "impl CudaName for {ty} {{\n    fn cuda_name(self) -> Option<&'static ::core::ffi::CStr> {{"
            )?;
            writeln!(text, "        Some(match self.0 {{")?;
            for (value, names) in values {
                writeln!(text, "            {value:#x} => c\"{}\",", names[0])?;
            }
            text.push_str("            _ => return None,\n        })\n    }\n}\n");
        }
        Ok(text)
    }
}

impl NamesOf {
    /// Returns the code of the module.
    pub(super) fn code(&self, names: &Names) -> Result<String> {
        let mut uses: BTreeMap<Place, Vec<(String, String)>> = BTreeMap::new();
        let mut items = String::new();
        for (name, entry) in &self.entries {
            let same = |to: &str| names.form(self.module, to).cloned();
            match &entry.fate {
                Fate::Same(to) => {
                    let form = same(to)?;
                    uses.entry((form.level, form.module)).or_default().push((to.clone(), name.clone()));
                }
                Fate::Wrapped(to) => items.push_str(&wrapper::wrapper(self.module, name, &same(to)?)?),
                Fate::Renamed(now, before) => items.push_str(&wrapper::renamed(name, &same(now)?, &same(before)?)?),
                Fate::Struct(to) => items.push_str(&wrapper::structure(name, to, &same(to)?)?),
                Fate::Alias(ours) => {
                    let (_, theirs, _) = STRUCTS.iter().find(|(name, ..)| name == ours).context("it is a struct")?;
                    let form = same(theirs)?;
                    wrapper::feature(&mut items, &form);
                    writeln!(items, "/// [`{ours}`].\npub type {name} = {ours};")?;
                }
                Fate::Enum(variants) => items.push_str(&enums::code(names, self, name, variants)?),
                Fate::Variant(of, to) => {
                    if let Some(to) = to {
                        wrapper::feature(&mut items, &same(to)?);
                    }
                    writeln!(items, "/// The constant of [`{of}`].\npub const {name}: {of} = {of}::{name};")?;
                }
                Fate::Named(of) => {
                    if let Some(Fate::Enum(variants)) = self.entries.get(of).map(|entry| &entry.fate) {
                        enums::gate(&mut items, names, self, variants)?;
                    }
                    writeln!(items, "/// [`{of}`].\npub use {of} as {name};")?;
                }
                Fate::Invented(value, ty) => {
                    let form = same(ty)?;
                    wrapper::feature(&mut items, &form);
                    let path = format!("{}::{ty}", form.module);
                    writeln!(
                        items,
                        "/// HIP has no such constant, and no function of HIP returns it.\npub const {name}: {path} = {path}({value:#x});"
                    )?;
                }
                Fate::ByHand(_) | Fate::Written(_) | Fate::Absent(_) => {}
            }
        }
        let mut text = format!("{HEAD}\n");
        if self.module.name == "driver" {
            text.push_str("use super::super::driver::CUdeviceptr;\n\n");
        }
        for ((level, module), mut pairs) in uses {
            pairs.sort();
            if let Some((major, minor)) = level {
                writeln!(text, "#[cfg(feature = \"rocm-{major}-{minor}\")]")?;
            }
            writeln!(text, "pub use {module}::{{")?;
            for (to, name) in pairs {
                match to == name {
                    true => writeln!(text, "    {to},")?,
                    false => writeln!(text, "    {to} as {name},")?,
                }
            }
            text.push_str("};\n");
        }
        if self.module.has_data_types {
            text.push_str("#[doc(no_inline)]\npub use super::runtime::{\n");
            let runtime = names.modules.iter().find(|of| of.module.name == "runtime").context("there is a runtime")?;
            let data = |name: &str| {
                name.starts_with("CUDA_R_")
                    || name.starts_with("CUDA_C_")
                    || ["cudaDataType", "cudaDataType_t", "cudaStream_t", "float2", "double2"].contains(&name)
            };
            let old = |entry: &Entry| matches!(&entry.fate, Fate::Same(to) if names.form(runtime.module, to).is_ok_and(|form| form.level.is_none()));
            for name in runtime.entries.iter().filter(|(name, entry)| data(name) && old(entry)).map(|(name, _)| name) {
                writeln!(text, "    {name},")?;
            }
            text.push_str("};\n");
        }
        text.push('\n');
        text.push_str(&wrapper::formatted(&items)?);
        Ok(text)
    }
}
