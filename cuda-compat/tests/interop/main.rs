//! Every name that AMD's Python layer maps is here, or is listed with the reason why not.

use std::collections::BTreeSet;

macro_rules! names {
    ($($module:ident { $($name:ident,)* })*) => {
        $(mod $module {
            // That this compiles is the test: the names exist, in the module as in its `sys`.
            #[allow(unused_imports, reason = "what is tested is that they exist")]
            use cuda_compat::$module::{$($name),*};
        })*
        const HERE: &[&str] = &[$($(stringify!($name),)*)*];
    };
}

include!("names.rs");

fn read(file: &str) -> String {
    let path = format!("{}/{file}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn every_name_of_amds_table_is_here_or_listed_with_a_reason() {
    let here: BTreeSet<&str> = HERE.iter().copied().collect();
    let page = read("CUDA_NAMES.md");
    let wrong = page.split("## Wrong entries of AMD's table").nth(1).unwrap().split("\n## ").next().unwrap();
    let reason = |name: &str| {
        let row = wrong.lines().find(|line| line.starts_with(&format!("| `{name}` |")))?;
        row.split('|').nth(3).map(str::trim).filter(|why| !why.is_empty())
    };
    let table = read("../api/cuda-interop.tsv");
    let names: Vec<&str> = table.lines().skip(1).map(|line| line.split('\t').next().unwrap()).collect();
    assert_eq!(names.len(), 2777);
    let mut absent = 0;
    for name in names.iter().filter(|name| !here.contains(*name)) {
        let is_of_hip = name.starts_with("hip") || name.starts_with("HIP"); // the page gives their number
        assert!(is_of_hip || reason(name).is_some(), "{name} is neither here nor listed");
        absent += 1;
    }
    assert_eq!(here.len() + absent, names.len(), "a name is in two modules, or is none of the table");
}
