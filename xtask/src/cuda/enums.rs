//! CUDA's enum types: their constants under the type's name (`CUresult::CUDA_SUCCESS`), like cudarc's.
//!
//! An enum type that ROCm has is a newtype of a `-sys` crate, and only that crate can add constants to it: each of
//! these crates has a file `src/generated/cuda.rs` behind the feature `cuda`. An enum type that ROCm lacks, and whose
//! constants are plain numbers there, is a Rust enum in `cuda-compat`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::found::Kind;
use super::inputs::{Declared, Sort};
use super::names::{Entry, Fate, HEAD, Names, NamesOf, Variant, is_a_limit};
use super::reader::{INVENTED, Reader};
use super::rules::{STATUSES, Status};
use super::wrapper;
use crate::paths;

/// Enums of the driver that HIP has no names for. HIP functions take the values of the first two; functions of `cuda-compat`
/// have the others as parameters.
const NUMBERS: &[&str] = &[
    "CUevent_wait_flags",
    "CUevent_record_flags",
    "CUtensorMapDataType",
    "CUtensorMapFloatOOBfill",
    "CUtensorMapIm2ColWideMode",
    "CUtensorMapInterleave",
    "CUtensorMapL2promotion",
    "CUtensorMapSwizzle",
];

/// Enums of the driver that ROCm has, and that are Rust enums nevertheless: programs for cudarc import their constants by
/// `use CUdevice_attribute::*`, which the type of a `-sys` crate does not allow. Functions of HIP only read their values.
const IMPORTED: &[&str] = &["CUdevice_attribute"];

impl Reader<'_> {
    /// Makes the types of [`IMPORTED`] Rust enums, and their constants those of the enum.
    pub(super) fn imported(&self, declared: &[&Declared], entries: &mut BTreeMap<String, Entry>) {
        if self.module.name != "driver" {
            return;
        }
        for name in IMPORTED {
            let mut variants = Vec::new();
            for row in declared.iter().filter(|row| row.sort == Sort::Constant && row.of == **name) {
                let Some(entry) = entries.get_mut(&row.name) else { continue };
                let (of_rocm, value) = match &entry.fate {
                    Fate::Same(to) => (Some(to.clone()), row.value.unwrap_or_default()),
                    Fate::Invented(value, _) => (None, i64::from(*value)),
                    _ => continue,
                };
                variants.push(Variant { name: row.name.clone(), of_rocm: of_rocm.clone(), value });
                entry.fate = Fate::Variant((*name).to_owned(), of_rocm);
            }
            for (other, fate) in
                [((*name).to_owned(), Fate::Enum(variants)), (format!("{name}_enum"), Fate::Named((*name).to_owned()))]
            {
                if let Some(entry) = entries.get_mut(&other) {
                    entry.fate = fate;
                }
            }
        }
    }

    /// Adds enum types that ROCm lacks, as Rust enums if at least one of their constants is a number in ROCm. Also adds
    /// aliases of types (`CUresult` is `cudaError_enum`, `CUctx_flags` is `CUctx_flags_enum`).
    pub(super) fn enums(&self, declared: &[&Declared], entries: &mut BTreeMap<String, Entry>) {
        let is_unknown = |entries: &BTreeMap<String, Entry>, name: &str| matches!(entries.get(name), Some(Entry { fate: Fate::Absent(why), .. }) if why.is_empty());
        let types: Vec<&str> =
            declared.iter().filter(|row| row.sort == Sort::Type).map(|row| row.name.as_str()).collect();
        for name in &types {
            if !is_unknown(entries, name) {
                continue;
            }
            let constants = declared.iter().filter(|row| row.sort == Sort::Constant && row.of == **name);
            let variants: Vec<Variant> = constants
                .filter(|row| !is_a_limit(&row.name))
                .filter_map(|row| {
                    let of_rocm = match &entries.get(&row.name)?.fate {
                        Fate::Same(to) => Some(to.clone())
                            .filter(|to| self.found.get(to).is_some_and(|form| form.kind == Kind::Constant)),
                        _ => None,
                    };
                    Some(Variant { name: row.name.clone(), of_rocm, value: row.value.filter(|value| *value >= 0)? })
                })
                .collect();
            let is_number = variants.iter().any(|variant| variant.of_rocm.is_some());
            if is_number || (self.module.name == "driver" && NUMBERS.contains(name)) {
                entries.insert(
                    (*name).to_owned(),
                    Entry { sort: Sort::Type, fate: Fate::Enum(variants), is_interop: false },
                );
            }
        }
        for name in &types {
            if !is_unknown(entries, name) {
                continue;
            }
            let other = match name.strip_suffix("_enum") {
                Some(other) => other.to_owned(),
                None => format!("{name}_enum"),
            };
            let fate = match entries.get(&other).map(|entry| &entry.fate) {
                Some(Fate::Same(to)) => Fate::Same(to.clone()),
                Some(Fate::Enum(_)) => Fate::Named(other),
                _ => continue,
            };
            entries.insert((*name).to_owned(), Entry { sort: Sort::Type, fate, is_interop: false });
        }
    }
}

/// Adds the feature of an enum: that of its first variant. An enum without a variant has no representation.
pub(super) fn gate(text: &mut String, names: &Names, of: &NamesOf, variants: &[Variant]) -> Result<()> {
    let mut forms = Vec::new();
    for variant in variants {
        match &variant.of_rocm {
            Some(to) => forms.push(names.form(of.module, to)?),
            None => return Ok(()),
        }
    }
    if let Some(first) = forms.iter().min_by_key(|form| form.level) {
        wrapper::feature(text, first);
    }
    Ok(())
}

/// Returns the code of an enum that ROCm lacks.
pub(super) fn code(names: &Names, of: &NamesOf, name: &str, variants: &[Variant]) -> Result<String> {
    let (mut text, mut others) = (String::new(), String::new());
    let mut known: BTreeMap<(Option<&str>, i64), &str> = BTreeMap::new();
    gate(&mut text, names, of, variants)?;
    writeln!(
        text,
        "/// An enum of CUDA, whose values are numbers in ROCm. `as u32` is the value to pass.\n\
         #[repr(u32)]\n#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]\npub enum {name} {{"
    )?;
    for variant in variants {
        let key = (variant.of_rocm.as_deref(), if variant.of_rocm.is_some() { 0 } else { variant.value });
        if let Some(first) = known.get(&key) {
            writeln!(others, "/// The same as `{first}`.\npub const {}: Self = Self::{first};", variant.name)?;
            continue;
        }
        known.insert(key, &variant.name);
        let value = match &variant.of_rocm {
            Some(to) => {
                let form = names.form(of.module, to)?;
                let number = if form.text.is_empty() { "" } else { ".0" };
                wrapper::feature(&mut text, form);
                writeln!(text, "/// [`{to}`]({}::{to}).", form.module)?;
                format!("{}::{to}{number} as u32", form.module)
            }
            None if variant.value >= i64::from(INVENTED) => {
                writeln!(text, "/// HIP has no such constant.")?;
                format!("{:#x}", variant.value)
            }
            None => {
                writeln!(text, "/// CUDA's value: HIP has none.")?;
                variant.value.to_string()
            }
        };
        writeln!(text, "{} = {value},", variant.name)?;
    }
    text.push_str("}\n");
    if !others.is_empty() {
        writeln!(text, "impl {name} {{\n{others}}}")?;
    }
    Ok(text)
}

/// The items of cudarc's `DriverError` that the other libraries' error types lack.
const DRIVER_ERROR: &str = r#"
::std::thread_local! {
    /// The last status in this thread that came with a text, and the text.
    static EXPLANATION: ::core::cell::RefCell<Option<(crate::hipError_t, String)>> = const { ::core::cell::RefCell::new(None) };
}

impl DriverError {
    /// Keeps a text with the status: `Debug` and `Display` print it, until another status of this thread has one.
    #[doc(hidden)]
    #[must_use]
    pub fn explained(self, text: String) -> Self {
        EXPLANATION.with(|last| *last.borrow_mut() = Some((self.0, text)));
        self
    }

    /// Returns the name of the status: HIP's, or CUDA's where HIP lacks the status.
    ///
    /// # Errors
    /// If HIP does not know the status, or is not available.
    pub fn error_name(&self) -> Result<&::core::ffi::CStr, DriverError> {
        if let Some(name) = self.lacking() {
            return Ok(name);
        }
        let mut text = ::core::ptr::null();
        // SAFETY: a place for the result.
        unsafe { crate::hipDrvGetErrorName(self.0, &mut text) }.result()?;
        Self::text(text)
    }

    /// Returns the description of the status.
    ///
    /// # Errors
    /// If HIP does not know the status, or is not available.
    pub fn error_string(&self) -> Result<&::core::ffi::CStr, DriverError> {
        if self.lacking().is_some() {
            return Ok(c"a status of CUDA that no function of HIP returns");
        }
        let mut text = ::core::ptr::null();
        // SAFETY: a place for the result.
        unsafe { crate::hipDrvGetErrorString(self.0, &mut text) }.result()?;
        Self::text(text)
    }

    fn text<'a>(text: *const ::core::ffi::c_char) -> Result<&'a ::core::ffi::CStr, DriverError> {
        if text.is_null() {
            return Err(DriverError(crate::hipErrorInvalidValue));
        }
        // SAFETY: HIP's texts are C strings that live as long as the program.
        Ok(unsafe { ::core::ffi::CStr::from_ptr(text) })
    }
}

impl ::core::fmt::Debug for DriverError {
    fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        let mut tuple = f.debug_tuple("DriverError");
        match self.lacking() {
            Some(name) => tuple.field(&name),
            None => tuple.field(&self.0),
        };
        match (self.error_string(), crate::load_error()) {
            (Ok(text), _) => tuple.field(&text),
            (Err(_), Some(error)) => tuple.field(&format_args!("{error}")),
            (Err(_), None) => tuple.field(&"HIP has no description"),
        };
        EXPLANATION.with(|last| match &*last.borrow() {
            Some((status, text)) if *status == self.0 => tuple.field(&format_args!("{text}")).finish(),
            _ => tuple.finish(),
        })
    }
}
"#;

/// Crates whose modules have no equivalent in cudarc.
const WITHOUT: &[&str] = &["hipfile_sys", "roctx_sys"];

/// The generated code for one type of a `-sys` crate: its feature, and constants with theirs.
#[derive(Default)]
struct Constants {
    feature: Option<String>,
    constants: BTreeMap<String, (Option<String>, String)>,
    is_flags: bool,
}

/// Returns the files `src/generated/cuda.rs` of the `-sys` crates.
pub(super) fn files(names: &Names) -> Result<Vec<(PathBuf, String)>> {
    let mut crates: BTreeMap<String, BTreeMap<String, Constants>> = BTreeMap::new();
    for of in &names.modules {
        for (name, entry) in &of.entries {
            let Fate::Same(to) = &entry.fate else { continue };
            let rows: Vec<&Declared> =
                names.declared.iter().filter(|row| row.module == of.module.name && row.of == *name).collect();
            let Some(to) = enum_of(names, of, to, &rows) else { continue };
            let ty = names.form(of.module, &to)?;
            let (library, path) = ty.module.split_once("::").unwrap_or((&ty.module, ""));
            if WITHOUT.contains(&library) {
                continue;
            }
            let separator = if path.is_empty() { "" } else { "::" };
            let ty_path = format!("crate::{path}{separator}{to}");
            for row in rows {
                let Some(entry) = of.entries.get(&row.name) else { continue };
                let (feature, value) = match &entry.fate {
                    Fate::Same(constant) => {
                        let form = names.form(of.module, constant)?;
                        if form.kind != Kind::Constant || !form.module.starts_with(library) {
                            continue;
                        }
                        let path = form.module.replacen(library, "crate", 1);
                        let value = match form.text.as_str() {
                            "" => format!("Self({path}::{constant} as _)"),
                            same if same == to.as_str() => format!("{path}::{constant}"),
                            _ => format!("Self({path}::{constant}.0 as _)"),
                        };
                        (form.feature(), value)
                    }
                    Fate::Invented(value, of) if *of == to => (None, format!("Self({value:#x})")),
                    _ => continue,
                };
                let of_type = crates.entry(library.to_owned()).or_default().entry(ty_path.clone()).or_default();
                of_type.feature = ty.feature();
                of_type.is_flags |= name.to_lowercase().contains("flags");
                of_type.constants.insert(row.name.clone(), (feature, value));
            }
        }
    }
    for status in STATUSES {
        crates.entry(format!("{}_sys", status.library)).or_default();
    }
    crates.into_iter().map(|(library, types)| file(names, &library, &types)).collect()
}

/// Returns the enum of a type: itself, or the type of the constants if it is an alias of that.
fn enum_of(names: &Names, of: &NamesOf, to: &str, rows: &[&Declared]) -> Option<String> {
    let form = names.form(of.module, to).ok()?;
    match form.kind {
        Kind::Enum => Some(to.to_owned()),
        Kind::Type => rows.iter().find_map(|row| match &of.entries.get(&row.name)?.fate {
            Fate::Same(constant) => {
                let ty = &names.form(of.module, constant).ok()?.text;
                (names.form(of.module, ty).ok()?.kind == Kind::Enum).then(|| ty.clone())
            }
            _ => None,
        }),
        Kind::Function | Kind::Constant => None,
    }
}

fn file(names: &Names, library: &str, types: &BTreeMap<String, Constants>) -> Result<(PathBuf, String)> {
    let mut items = String::new();
    for (ty, of) in types {
        let gate = |text: &mut String, feature: &Option<String>| {
            if let Some(feature) = feature {
                let _ = writeln!(text, "#[cfg(feature = \"{feature}\")]");
            }
        };
        gate(&mut items, &of.feature);
        writeln!(items, "/// CUDA's names.\nimpl {ty} {{")?;
        for (name, (feature, value)) in &of.constants {
            gate(&mut items, feature);
            let what = match value.strip_prefix("Self(0x") {
                Some(_) => "ROCm has no such value, and no function returns it.".to_owned(),
                None => format!(
                    "CUDA's name of [`{0}`]({0}).",
                    value.trim_start_matches("Self(").split([' ', '.']).next().unwrap_or_default()
                ),
            };
            writeln!(items, "/// {what}\npub const {name}: Self = {value};")?;
        }
        items.push_str("}\n");
        if of.is_flags {
            gate(&mut items, &of.feature);
            writeln!(
                items,
                "impl ::core::ops::BitOr for {ty} {{\n type Output = Self;\n fn bitor(self, other: Self) -> Self {{ Self(self.0 | other.0) }} }}"
            )?;
        }
    }
    let (crate_name, mut more) = (library.replace('_', "-"), "");
    for status in STATUSES.iter().filter(|status| format!("{}_sys", status.library) == library) {
        items.push_str(&error(status));
        if status.library == "hip" {
            items.push_str(&lacking(names, status)?);
            more = DRIVER_ERROR;
        }
    }
    let head = format!(
        "{HEAD}\n//! CUDA's names as constants of the enum types, and statuses as results: for the crate `cuda-compat`.\n\n\
         #![allow(non_upper_case_globals, reason = \"names are C's\")]\n#![allow(clippy::unnecessary_cast, reason = \"integers of C\")]\n\n"
    );
    let path = paths::root().join(crate_name).join("src/generated/cuda.rs");
    Ok((path, format!("{head}{}{more}", wrapper::formatted(&items)?)))
}

/// Returns the error type of a status, and the method that returns it.
fn error(status: &Status) -> String {
    let Status { ty, success, error, .. } = status;
    let (result, ok, debug) = match status.library {
        "hip" => ("()", format!("crate::{success} => Ok(()),"), ""),
        "rccl" => (
            "NcclStatus",
            format!(
                "crate::{success} => Ok(NcclStatus::Success),\n// `ncclInProgress`, which RCCL 5.7 lacks.\n\
                 crate::ncclResult_t(7) => Ok(NcclStatus::InProgress),"
            ),
            ", Debug",
        ),
        _ => ("()", format!("crate::{success} => Ok(()),"), ", Debug"),
    };
    let nccl = match status.library {
        "rccl" => {
            "/// A status that is not an error.\n#[derive(Clone, Copy, Debug, PartialEq, Eq)]\npub enum NcclStatus {\n\
             /// The call is complete.\nSuccess,\n/// The call goes on.\nInProgress,\n/// The number of statuses.\nNumResults,\n}\n"
        }
        _ => "",
    };
    format!(
        "{nccl}/// A status that is an error: cudarc's `{error}`.\n#[derive(Clone, Copy, PartialEq, Eq{debug})]\npub struct {error}(pub crate::{ty});\n\
         impl crate::{ty} {{\n/// Returns the status as an error, unless it is `{success}`.\npub fn result(self) -> Result<{result}, {error}> {{\n\
         match self {{\n{ok}\n_ => Err({error}(self)),\n}}\n}}\n}}\n\
         impl ::core::fmt::Display for {error} {{\nfn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {{\n\
         write!(f, \"{{self:?}}\")\n}}\n}}\nimpl ::core::error::Error for {error} {{}}\n"
    )
}

/// Returns CUDA's names of statuses that ROCm lacks.
fn lacking(names: &Names, status: &Status) -> Result<String> {
    let mut values: BTreeMap<u32, &str> = BTreeMap::new();
    let driver = names.modules.iter().find(|of| of.module.name == "driver").context("there is a driver")?;
    for (name, entry) in &driver.entries {
        if let Fate::Invented(value, ty) = &entry.fate {
            if ty == status.ty {
                values.insert(*value, name);
            }
        }
    }
    let mut text = format!(
        "impl {} {{\n/// CUDA's name of a status that HIP lacks.\nfn lacking(&self) -> Option<&'static ::core::ffi::CStr> {{\nSome(match self.0.0 {{\n",
        status.error
    );
    for (value, name) in values {
        writeln!(text, "{value:#x} => c\"{name}\",")?;
    }
    text.push_str("_ => return None,\n})\n}\n}\n");
    Ok(text)
}
