//! Decides the counterpart of each name of a module.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};

use super::found::{Form, Found, Kind};
use super::inputs::{Declared, Sort};
use super::names::{Entry, Fate, is_a_limit, unversioned};
use super::rules::{ADDED, CORRECTED, Module, STRUCTS};
use super::wrapper;

/// The base of invented constants: no enum of HIP has values near it.
pub(super) const INVENTED: u32 = 0x4355_0000;

/// Decides the counterparts of a module's names.
pub(super) struct Reader<'a> {
    pub(super) module: &'static Module,
    pub(super) found: &'a Found,
    pub(super) interop: &'a BTreeMap<String, String>,
    pub(super) hipified: &'a BTreeMap<String, String>,
}

impl Reader<'_> {
    /// Returns the counterpart of a name in the `-sys` crate.
    pub(super) fn target(&self, name: &str) -> Option<String> {
        let corrected = CORRECTED.iter().find(|(of, from, ..)| (*of, *from) == (self.module.name, name));
        if let Some((_, _, to, _)) = corrected {
            return Some((*to).to_owned());
        }
        if let Some((.., to)) = ADDED.iter().find(|(of, from, _)| (*of, *from) == (self.module.name, name)) {
            return Some((*to).to_owned());
        }
        if self.module.is_interop {
            let plain = unversioned(name);
            return self
                .interop
                .get(name)
                .or_else(|| self.interop.get(&plain))
                .filter(|to| self.found.get(to).is_some())
                .cloned();
        }
        let candidates = self.candidates(name);
        let current = candidates.iter().find(|name| self.found.get(name).is_some_and(Form::is_current));
        current.or_else(|| candidates.iter().find(|name| self.found.get(name).is_some())).cloned()
    }

    fn candidates(&self, name: &str) -> Vec<String> {
        let plain = unversioned(name);
        let mut candidates: Vec<String> = self.hipified.get(&plain).into_iter().cloned().collect();
        if self.module.prefixes.is_empty() {
            candidates.push(name.to_owned());
        }
        for (from, to) in self.module.prefixes {
            for name in [name, &plain] {
                let Some(rest) = name.strip_prefix(from) else { continue };
                let stem = rest.strip_suffix("_64");
                candidates.push(format!("{to}{rest}"));
                candidates.push(stem.map_or(format!("{to}{rest}_v2"), |stem| format!("{to}{stem}_v2_64")));
            }
        }
        if self.module.name == "cufile" {
            let flat = |name: &str| name.replace('_', "").to_lowercase();
            let wanted: Vec<String> = candidates.iter().map(|name| flat(name)).collect();
            candidates.extend(self.found.names().filter(|name| wanted.contains(&flat(name))).cloned());
        }
        candidates
    }

    pub(super) fn fate(&self, name: &str, to: &str) -> Result<Fate> {
        if self.module.name == "driver" {
            if let Some((ours, _, _)) = STRUCTS.iter().find(|(_, theirs, _)| *theirs == to) {
                return Ok(if *ours == name { Fate::Struct(to.to_owned()) } else { Fate::Alias(ours) });
            }
        }
        let Some(form) = self.found.get(to) else {
            return Ok(Fate::Same(to.to_owned()));
        };
        if form.kind != Kind::Function {
            return Ok(Fate::Same(to.to_owned()));
        }
        // Functions that ROCm 7.0 renamed from `_v2` have one signature under both names.
        let before = self.candidates(name).into_iter().find(|other| {
            other != to
                && self.found.get(other).is_some_and(|other| !other.is_current() && other.kind == Kind::Function)
        });
        if let Some(before) = before.filter(|_| form.level > Some((5, 7)) && !self.module.is_interop) {
            if wrapper::same_signature(form, self.found.get(&before).context("it was found")?)? {
                return Ok(Fate::Renamed(to.to_owned(), before));
            }
        }
        match wrapper::differs(self.module, name, form)? {
            true => Ok(Fate::Wrapped(to.to_owned())),
            false => Ok(Fate::Same(to.to_owned())),
        }
    }

    /// Adds enum types without a mapping: the type of their constants, if all have the same.
    pub(super) fn types(&self, declared: &[&Declared], entries: &mut BTreeMap<String, Entry>) {
        for ty in declared.iter().filter(|row| row.sort == Sort::Type) {
            if !matches!(entries.get(&ty.name), Some(Entry { fate: Fate::Absent(why), .. }) if why.is_empty()) {
                continue;
            }
            let constants = declared.iter().filter(|row| row.sort == Sort::Constant && row.of == ty.name);
            let of: BTreeSet<&str> = constants
                .filter_map(|row| match &entries.get(&row.name)?.fate {
                    Fate::Same(to) => Some(self.found.get(to)?.text.as_str()),
                    _ => None,
                })
                .collect();
            let of: Vec<&str> = of.into_iter().collect();
            if let ([of], Some(entry)) = (&of[..], entries.get_mut(&ty.name)) {
                if self.found.get(of).is_some_and(|form| form.kind == Kind::Enum) {
                    entry.fate = Fate::Same((*of).to_owned());
                }
            }
        }
    }

    /// Adds constants without a mapping: as an alias of a mapped one, or as an invented one.
    pub(super) fn constants(&self, declared: &[&Declared], entries: &mut BTreeMap<String, Entry>) -> Result<()> {
        let constants: Vec<&&Declared> = declared.iter().filter(|row| row.sort == Sort::Constant).collect();
        let mut invented: BTreeMap<(String, u32), i64> = BTreeMap::new();
        for row in &constants {
            let Some(entry) = entries.get(&row.name) else { continue };
            let Some(value) = row.value.filter(|_| matches!(&entry.fate, Fate::Absent(why) if why.is_empty())) else {
                continue;
            };
            if row.name.ends_with("_FORCE") || row.name.contains("FORCE_INT") || value == 0x7fff_ffff {
                continue;
            }
            let twin = constants.iter().find_map(|other| {
                if (other.of.as_str(), other.value) != (row.of.as_str(), Some(value)) || is_a_limit(&other.name) {
                    return None;
                }
                match &entries.get(&other.name)?.fate {
                    Fate::Same(to) => Some(Fate::Same(to.clone())),
                    _ => None,
                }
            });
            if let Some(fate) = twin.filter(|_| !is_a_limit(&row.name)) {
                entries.get_mut(&row.name).context("it is there")?.fate = fate;
                continue;
            }
            let Some(Fate::Same(ty)) =
                entries.get(&row.of).map(|entry| entry.fate.clone()).or_else(|| self.target(&row.of).map(Fate::Same))
            else {
                continue;
            };
            if self.found.get(&ty).is_none_or(|form| form.kind != Kind::Enum) {
                continue;
            }
            let number = INVENTED | u32::try_from(value & 0xffff)?;
            let old = invented.insert((ty.clone(), number), value);
            ensure!(old.is_none_or(|old| old == value), "{}: {value} and {old:?} would be one constant", row.name);
            entries.get_mut(&row.name).context("it is there")?.fate = Fate::Invented(number, ty);
        }
        Ok(())
    }
}
