//! ROCm's mathematical libraries of one release, by name.

use std::path::Path;

use libloading::os::unix::{Library, Symbol};

/// Selects the release whose libraries the tests run; by default [`DEFAULT`].
const RELEASE: &str = "HSA_SIM_TEST_LIBRARIES";
/// The release with which everything is tested.
const DEFAULT: &str = "7.2";
/// Set to print the output of the processes with the libraries: the errors of results.
const SHOW: &str = "HSA_SIM_TEST_SHOW";

/// The release whose libraries the tests run.
pub(crate) fn release() -> String {
    super::inside().or_else(|| std::env::var(RELEASE).ok()).unwrap_or_else(|| DEFAULT.to_owned())
}

/// Whether the libraries are of this release or a newer one.
pub(crate) fn since(release: &str) -> bool {
    let number = |text: &str| text.split('.').map(|part| part.parse::<u32>().expect("a release")).collect::<Vec<_>>();
    number(&self::release()) >= number(release)
}

/// Runs `test` in a process with the libraries and these variables; false in that process.
///
/// Libraries are named without their version: `librocblas.so`.
pub(crate) fn elsewhere(test: &str, files: &[&str], variables: &[(&str, &str)]) -> bool {
    super::inside().is_none() && {
        told(test, files, variables);
        true
    }
}

/// Runs `test` in one process per architecture. Returns the output of each; `None` in such a process.
pub(crate) fn on_each(test: &str, files: &[&str], variables: &[(&str, &str)]) -> Option<Vec<(&'static str, String)>> {
    if super::inside().is_some() {
        return None;
    }
    let run = |arch| {
        let variables = [variables, &[("HIP_SIM_ARCH", arch)]].concat();
        told(test, files, &variables).map(|text| (arch, text))
    };
    Some(architectures().iter().copied().filter_map(run).collect())
}

/// The architectures for which Debian builds the release's libraries, and which the software GPU supports.
fn architectures() -> &'static [&'static str] {
    if since("7.2") {
        return &["gfx90a", "gfx942"];
    }
    super::skipped(&format_args!("gfx942: ROCm {}'s libraries have no code for it", release()));
    &["gfx90a"]
}

/// Releases whose rocRAND and rocFFT are small enough for every run of the tests.
pub(crate) const RAND_RELEASES: [(&str, &str); 4] =
    [("7.2", "gfx90a"), ("7.2", "gfx942"), ("6.4", "gfx90a"), ("5.7", "gfx90a")];

/// Runs `test` in one process per release and architecture. Returns the output of each; `None` in such a process.
pub(crate) fn on_each_of(
    places: &[(&str, &str)],
    test: &str,
    files: &[&str],
    variables: &[(&str, &str)],
) -> Option<Vec<String>> {
    if super::inside().is_some() {
        return None;
    }
    let run = |(release, arch): &(&str, &str)| {
        told_on(release, test, files, &[variables, &[("HIP_SIM_ARCH", *arch)]].concat())
    };
    Some(places.iter().filter_map(run).collect())
}

fn told(test: &str, files: &[&str], variables: &[(&str, &str)]) -> Option<String> {
    told_on(&release(), test, files, variables)
}

fn told_on(release: &str, test: &str, files: &[&str], variables: &[(&str, &str)]) -> Option<String> {
    let names: Vec<String> = [&["libamdhip64.so"], files].concat().iter().map(|file| soname(release, file)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let text = super::run_on(release, &names, test, variables)?;
    if std::env::var_os(SHOW).is_some() {
        println!("{text}");
    }
    Some(text)
}

/// The versioned name of a library in a release; the plain name if it has none.
fn soname(release: &str, file: &str) -> String {
    let folder = super::trees().join(release).join("usr/lib/x86_64-linux-gnu");
    let named = |path: &Path| path.file_name().and_then(|name| Some(name.to_str()?.to_owned()));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().filter_map(|entry| named(&entry.path()));
    let mut names: Vec<String> = entries
        .filter(|name| name.strip_prefix(file).and_then(|rest| rest.strip_prefix('.')).is_some_and(is_number))
        .collect();
    names.sort();
    names.pop().unwrap_or_else(|| file.to_owned())
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Opens a library of the release, named without its version.
pub(crate) fn open(file: &str) -> Library {
    // SAFETY: a library of ROCm, whose initialisers do what any program gets.
    unsafe { Library::new(soname(&release(), file)) }.unwrap()
}

/// A function of a library.
///
/// # Safety
/// It has the type `T`.
pub(crate) unsafe fn function<T>(library: &Library, name: &str) -> Symbol<T> {
    // SAFETY: as the caller vouches.
    unsafe { library.get(name.as_bytes()) }.unwrap_or_else(|error| panic!("{name}: {error}"))
}
