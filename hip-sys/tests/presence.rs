//! Every function at every level, compared with what AMD's own Python packages have (`api/presence.tsv`), and with
//! what the real library of the level exports.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use hip_sys::{API_LEVEL, API_LEVEL_NAME, coverage};

#[path = "generated/functions.rs"]
#[rustfmt::skip]
mod functions;

/// Functions under another name here than in the packages, and why.
const RENAMED: [(&str, &str, &str); 2] = [
    (
        "hipGetDeviceProperties",
        "hipGetDevicePropertiesR0600",
        "a macro of the headers since 6.0; the library exports both, for two structs",
    ),
    (
        "hipChooseDevice",
        "hipChooseDeviceR0600",
        "a macro of the headers since 6.0; the library exports both, for two structs",
    ),
];

/// Functions that the packages leave out, and why they are here.
const BEYOND: [(&str, &str); 3] = [
    ("hipGLGetDevices", "of hip_gl_interop.h, which the packages do not read; hip_runtime_api.h of 5.7 includes it"),
    ("hipGraphicsGLRegisterBuffer", "likewise"),
    ("hipGraphicsGLRegisterImage", "likewise"),
];

/// Functions that the headers declare and the library lacks, and at which levels.
const DECLARED_ONLY: [(&str, &[&str]); 11] = [
    ("hipDeviceGetTexture1DLinearMaxWidth", &["6.4"]),
    ("hipExternalMemoryGetMappedMipmappedArray", &["6.4", "7.2"]),
    ("hipGraphAddExternalSemaphoresSignalNode", &["5.7", "6.4"]),
    ("hipGraphAddExternalSemaphoresWaitNode", &["5.7", "6.4"]),
    ("hipGraphExecExternalSemaphoresSignalNodeSetParams", &["5.7", "6.4"]),
    ("hipGraphExecExternalSemaphoresWaitNodeSetParams", &["5.7", "6.4"]),
    ("hipGraphExternalSemaphoresSignalNodeGetParams", &["5.7", "6.4"]),
    ("hipGraphExternalSemaphoresSignalNodeSetParams", &["5.7", "6.4"]),
    ("hipGraphExternalSemaphoresWaitNodeGetParams", &["5.7", "6.4"]),
    ("hipGraphExternalSemaphoresWaitNodeSetParams", &["5.7", "6.4"]),
    ("hipTexRefGetMipMappedArray", &["5.7"]),
];

/// Functions that the libraries export and that are not here, and why.
const NOT_HERE: [(&str, &str); 8] = [
    ("hipChooseDevice", "from 6.2 on for the struct of ROCm 5; in C a macro hides it"),
    ("hipGetDeviceProperties", "likewise"),
    ("hipChooseDeviceR0000", "of hip_deprecated.h, for the struct of ROCm 5"),
    ("hipGetDevicePropertiesR0000", "likewise"),
    ("hipExtModuleLaunchKernel", "of hip_ext.h, declared for C++ alone, and a C function only in some releases"),
    ("hipHccModuleLaunchKernel", "likewise"),
    ("hipGetCmdName", "for AMD's tracers, in no header"),
    ("hipRegisterTracerCallback", "likewise"),
];

/// Releases in `presence.tsv`, as levels.
const LEVELS: [(&str, (u32, u32)); 7] = [
    ("6.2.0", (6, 2)),
    ("6.3.3", (6, 3)),
    ("6.4.4", (6, 4)),
    ("7.0.2", (7, 0)),
    ("7.1.1", (7, 1)),
    ("7.2.2", (7, 2)),
    ("10.0.0", (10, 0)),
];

fn level(release: &str) -> (u32, u32) {
    LEVELS.iter().find(|(name, _)| *name == release).unwrap_or_else(|| panic!("unknown release {release}")).1
}

fn parse(level: &str) -> (u32, u32) {
    let (major, minor) = level.split_once('.').unwrap();
    (major.parse().unwrap(), minor.parse().unwrap())
}

/// The functions of a level, by the table in the crate.
fn covered(level: (u32, u32)) -> BTreeSet<&'static str> {
    let at = coverage::FUNCTIONS
        .iter()
        .filter(|(_, first, gone)| parse(first) <= level && gone.is_none_or(|gone| level < parse(gone)));
    at.map(|(name, ..)| *name).collect()
}

fn witnessed() -> BTreeMap<(u32, u32), BTreeSet<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../api/presence.tsv");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut found: BTreeMap<(u32, u32), BTreeSet<String>> = BTreeMap::new();
    for row in text.lines().skip(1) {
        let columns: Vec<&str> = row.split('\t').collect();
        let [library, name, first, last] = columns[..] else { panic!("{row}") };
        if library == "hip" {
            let last = if last == "-" { (u32::MAX, 0) } else { level(last) };
            for (_, at) in LEVELS.iter().filter(|(_, at)| level(first) <= *at && *at <= last) {
                found.entry(*at).or_default().insert(name.to_owned());
            }
        }
    }
    found
}

#[test]
fn every_function_at_every_level() {
    let witnessed = witnessed();
    assert_eq!(witnessed[&(10, 0)].len(), 534);
    assert_eq!(witnessed[&(6, 4)].len(), 466);
    for (at, names) in &witnessed {
        let mut expected: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        for (theirs, ours, _) in RENAMED {
            assert!(expected.remove(theirs), "{theirs}");
            expected.insert(ours);
        }
        expected.extend(BEYOND.map(|(name, _)| name));
        let ours = covered(*at);
        assert_eq!(ours.difference(&expected).collect::<Vec<_>>(), Vec::<&&str>::new(), "level {at:?}: not witnessed");
        assert_eq!(expected.difference(&ours).collect::<Vec<_>>(), Vec::<&&str>::new(), "level {at:?}: missing");
    }
    // No package goes back to 5.7: all of it is still there in 6.2.
    let oldest = covered((5, 7));
    assert_eq!(oldest.len(), 431);
    for name in oldest {
        let new_name = RENAMED.iter().find(|(theirs, ..)| *theirs == name).map_or(name, |(_, ours, _)| ours);
        assert!(covered((6, 2)).contains(new_name), "{name}");
    }
}

#[test]
fn the_table_is_what_the_crate_has() {
    let declared: Vec<&str> = functions::functions().iter().map(|(name, _)| *name).collect();
    let covered: Vec<&str> = covered(API_LEVEL).into_iter().collect();
    assert_eq!(declared, covered);
    let count = coverage::COUNTS.iter().find(|(major, minor, _)| (*major, *minor) == API_LEVEL).unwrap().2;
    assert_eq!(count, covered.len());
    assert!(coverage::FUNCTIONS.is_sorted());
    // Each has an address of its own.
    let addresses: BTreeSet<usize> = functions::functions().iter().map(|(_, address)| *address as usize).collect();
    assert_eq!(addresses.len(), count);
}

#[test]
fn the_real_library_exports_every_function_and_few_others() {
    use object::{Object, ObjectSymbol};

    let trees = std::env::var_os("ROCM_RS_TREES").map(PathBuf::from);
    let trees = trees.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/rocm"));
    let folder = trees.join(API_LEVEL_NAME).join("usr/lib/x86_64-linux-gnu");
    let names = ["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"];
    let Some(path) = names.iter().map(|name| folder.join(name)).find(|path| path.exists()) else {
        let why =
            format!("SKIPPED: no HIP library in {} (`cargo xtask rocm fetch {API_LEVEL_NAME}`)\n", folder.display());
        let _ = std::io::stdout().write_all(why.as_bytes());
        return;
    };
    let bytes = std::fs::read(&path).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let exported: BTreeSet<&str> =
        file.dynamic_symbols().filter(|symbol| symbol.is_definition()).flat_map(|symbol| symbol.name()).collect();
    let ours = |name: &str| name.starts_with("hip") && !name.starts_with("hiprtc") && !name.starts_with("hip_");
    let others = exported.iter().filter(|name| ours(name) && !covered(API_LEVEL).contains(*name));
    let others: Vec<&&str> = others.filter(|name| NOT_HERE.iter().all(|(known, _)| known != *name)).collect();
    assert_eq!(others, Vec::<&&str>::new(), "exported by {} and not here", path.display());
    let missing: Vec<&str> = covered(API_LEVEL).into_iter().filter(|name| !exported.contains(name)).collect();
    let expected = DECLARED_ONLY.iter().filter(|(_, levels)| levels.contains(&API_LEVEL_NAME));
    assert_eq!(missing, expected.map(|(name, _)| *name).collect::<Vec<_>>(), "{}", path.display());
}

#[test]
fn readme_tells_the_same_counts() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md")).unwrap();
    let counts: String = coverage::COUNTS.iter().map(|(_, _, count)| format!(" {count} |")).collect();
    assert!(readme.contains(&format!("| HIP |{counts}")), "README's table should have |{counts}");
}
