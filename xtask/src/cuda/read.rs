//! Reads all names, and decides the counterpart of each.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use regex::Regex;

use super::found::{Found, Kind};
use super::inputs::{Declared, Sort, declared, module_of, rows, written};
use super::names::{Entry, Fate, Names, NamesOf, unversioned};
use super::reader::Reader;
use super::rules::{ABSENT, ADDED, BY_HAND, CORRECTED, MODULES, WRONG};

impl Names {
    /// Reads the tables, the `-sys` crates and the rules.
    pub(super) fn read() -> Result<Self> {
        let libraries: BTreeSet<&'static str> = MODULES.iter().map(|module| module.library).collect();
        let found: BTreeMap<_, _> =
            libraries.into_iter().map(|name| Ok((name, Found::read(name)?))).collect::<Result<_>>()?;
        let declared = declared()?;
        let interop: BTreeMap<String, String> =
            rows("cuda-interop.tsv", 3)?.into_iter().map(|row| (row[0].clone(), row[1].clone())).collect();
        let hipified: BTreeMap<String, String> =
            rows("cuda-library-names.tsv", 2)?.into_iter().map(|row| (row[1].clone(), row[0].clone())).collect();
        let wrong = WRONG.iter().map(|(pattern, why)| Ok((Regex::new(pattern)?, *why))).collect::<Result<Vec<_>>>()?;
        let absent =
            ABSENT.iter().map(|(pattern, why)| Ok((Regex::new(pattern)?, *why))).collect::<Result<Vec<_>>>()?;
        let mut names = Self { modules: Vec::new(), found, declared, wrong: Vec::new() };
        for (name, to) in &interop {
            if let Some((_, why)) = wrong.iter().find(|(pattern, _)| pattern.is_match(name)) {
                names.wrong.push((name.clone(), to.clone(), (*why).to_owned()));
            }
            for (_, _, right, why) in CORRECTED.iter().filter(|(_, of, ..)| of == name) {
                names.wrong.push((name.clone(), to.clone(), format!("{why}: here it is `{right}`")));
            }
        }
        for module in MODULES {
            let reader = Reader { module, found: &names.found[module.library], interop: &interop, hipified: &hipified };
            let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
            let is_wrong = |name: &str| wrong.iter().find(|(pattern, _)| pattern.is_match(name)).map(|(_, why)| *why);
            let written = if module.is_written { written(module.name)? } else { BTreeMap::new() };
            let of_module: Vec<&Declared> = names.declared.iter().filter(|row| row.module == module.name).collect();
            let mut all: Vec<(&str, Sort)> = of_module.iter().map(|row| (row.name.as_str(), row.sort)).collect();
            let known: BTreeSet<&str> = all.iter().map(|(name, _)| *name).collect();
            let unversioned: BTreeSet<String> =
                of_module.iter().filter(|row| row.sort == Sort::Function).map(|row| unversioned(&row.name)).collect();
            all.extend(
                unversioned
                    .iter()
                    .map(String::as_str)
                    .filter(|name| !known.contains(name))
                    .map(|name| (name, Sort::Function)),
            );
            let more = ADDED.iter().filter(|(of, ..)| *of == module.name).map(|(_, name, to)| (*name, *to));
            let of_amd = interop.iter().filter(|(name, _)| module_of(name) == module.name);
            let of_amd = of_amd.map(|(name, to)| (name.as_str(), to.as_str()));
            for (name, to) in more.chain(of_amd) {
                if !known.contains(name) && !unversioned.contains(name) {
                    let kind = reader.found.get(to).map(|form| form.kind);
                    all.push((name, kind.map_or(Sort::Constant, sort_of)));
                }
            }
            for (name, sort) in all {
                let is_interop = interop.contains_key(name);
                if name.starts_with("hip") || name.starts_with("HIP") || name == "getLocalRuntimeVersion" {
                    continue;
                }
                let by_hand = BY_HAND.iter().find(|(of, by_hand, _)| (*of, *by_hand) == (module.name, name));
                let fate = if let Some(beneath) = written.get(name) {
                    Fate::Written(beneath.clone())
                } else if let Some((.., how)) = by_hand {
                    Fate::ByHand(how)
                } else if let Some(why) = is_wrong(name) {
                    Fate::Absent(why.to_owned())
                } else if let Some(to) = reader.target(name) {
                    reader.fate(name, &to)?
                } else {
                    let why = match sort {
                        Sort::Function => {
                            absent.iter().find(|(pattern, _)| pattern.is_match(name)).map_or("", |(_, why)| *why)
                        }
                        Sort::Type | Sort::Constant => "",
                    };
                    Fate::Absent(why.to_owned())
                };
                entries.insert(name.to_owned(), Entry { sort, fate, is_interop });
            }
            reader.types(&of_module, &mut entries);
            reader.constants(&of_module, &mut entries)?;
            reader.enums(&of_module, &mut entries);
            reader.imported(&of_module, &mut entries);
            names.modules.push(NamesOf { module, entries });
        }
        Ok(names)
    }
}

fn sort_of(kind: Kind) -> Sort {
    match kind {
        Kind::Function => Sort::Function,
        Kind::Enum | Kind::Type => Sort::Type,
        Kind::Constant => Sort::Constant,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fate(module: &str, name: &str) -> Fate {
        let names = Names::read().unwrap();
        names.modules.iter().find(|of| of.module.name == module).unwrap().entries[name].fate.clone()
    }

    #[test]
    fn names_lead_where_they_should() {
        let same = |name: &str| Fate::Same(name.to_owned());
        assert_eq!(fate("runtime", "cudaMalloc"), same("hipMalloc"));
        assert_eq!(fate("runtime", "cudaMallocHost"), same("hipMallocHost"));
        assert_eq!(fate("driver", "cuMemAlloc_v2"), Fate::Wrapped("hipMalloc".to_owned()));
        assert_eq!(fate("driver", "cuMemAlloc"), Fate::Wrapped("hipMalloc".to_owned()));
        assert_eq!(fate("nvrtc", "nvrtcGetCUBIN"), same("hiprtcGetCode"));
        assert_eq!(fate("cublas", "cublasSgemm_v2"), same("hipblasSgemm"));
        assert_eq!(fate("nccl", "ncclAllReduce"), same("ncclAllReduce"));
        assert!(matches!(fate("driver", "cuMulticastCreate"), Fate::Absent(why) if why.contains("NVLink")));
        assert!(matches!(fate("driver", "CUDA_ERROR_JIT_COMPILER_NOT_FOUND"), Fate::Invented(0x4355_00dd, _)));
    }

    #[test]
    fn what_is_written_by_hand_or_corrected_is_a_name_of_cuda() {
        let names = Names::read().unwrap();
        let has = |module: &str, name: &str| {
            names.modules.iter().any(|of| of.module.name == module && of.entries.contains_key(name))
        };
        for (module, name) in BY_HAND
            .iter()
            .map(|(module, name, _)| (module, name))
            .chain(CORRECTED.iter().map(|(module, name, ..)| (module, name)))
        {
            assert!(has(module, name), "{module}: {name}");
        }
    }

    #[test]
    fn every_row_of_amds_table_is_mapped_or_listed() {
        let names = Names::read().unwrap();
        let known: BTreeSet<&String> = names.modules.iter().flat_map(|of| of.entries.keys()).collect();
        let wrong: BTreeSet<&String> = names.wrong.iter().map(|(name, ..)| name).collect();
        let rows = rows("cuda-interop.tsv", 3).unwrap();
        assert_eq!(rows.len(), 2777);
        for row in rows {
            assert!(known.contains(&row[0]) || wrong.contains(&row[0]), "{}", row[0]);
        }
        for of in &names.modules {
            for (name, entry) in of.entries.iter().filter(|(name, entry)| entry.is_interop && !wrong.contains(name)) {
                assert!(!matches!(entry.fate, Fate::Absent(_)), "{name}");
            }
        }
    }
}
