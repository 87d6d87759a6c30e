//! Checks whether HIPRTC is available, before a call that would crash without its compiler.

use std::path::Path;
use std::sync::OnceLock;

use hiprtc_sys::BINDING;
use rocm_loader::{Library, Scope, libraries};

use crate::comgr::Comgr;
use crate::error::{Error, Result};

/// The oldest release whose HIPRTC this crate supports.
const OLDEST: (u32, u32) = (5, 7);

/// Checks whether HIPRTC can compile. Returns the Comgr behind it, if that can be queried. The result is cached.
pub(crate) fn hiprtc() -> Result<Option<&'static Comgr>> {
    static ANSWER: OnceLock<Result<Option<Comgr>>> = OnceLock::new();
    ANSWER.get_or_init(find).as_ref().map(Option::as_ref).map_err(Error::clone)
}

fn find() -> Result<Option<Comgr>> {
    if let Some(error) = hiprtc_sys::load_error() {
        return Err(Error::NoHiprtc(Box::new(error.clone())));
    }
    // A provider needs no Comgr.
    let Some(library) = BINDING.opened() else { return Ok(None) };
    // Not the API level, which other crates of the program may raise: a missing function is a separate error.
    library.check_level(OLDEST).map_err(|error| Error::NoHiprtc(Box::new(error)))?;
    // On Windows the names contain the release, and HIPRTC's loader reports missing libraries.
    if cfg!(windows) { Ok(None) } else { open_comgr(library).map(Some) }
}

/// Opens the Comgr that `hiprtc` will request from the loader. Once it is open, the loader returns the same one to
/// HIPRTC.
fn open_comgr(hiprtc: &Library) -> Result<Comgr> {
    let path = hiprtc.path().unwrap_or_else(|| hiprtc.opened_as().as_ref());
    let wanted = std::fs::read(path).ok().and_then(|bytes| comgr_name(&bytes));
    let failed = |reason| Error::NoComgr {
        hiprtc: path.to_owned(),
        comgr: wanted.clone().unwrap_or_else(|| libraries::AMD_COMGR.unversioned().to_owned()),
        reason: Box::new(reason),
    };
    let names: Vec<&str> = match &wanted {
        Some(name) => vec![name],
        None => libraries::AMD_COMGR.sonames().iter().map(|soname| soname.file).collect(),
    };
    let beside = path
        .parent()
        .filter(|parent| parent.is_absolute())
        .and_then(|directory| names.iter().map(|name| directory.join(name)).find(|path| exists(path)));
    if let Some(beside) = beside {
        return Library::open(&libraries::AMD_COMGR, beside, Scope::Local).map(Comgr).map_err(failed);
    }
    let found = rocm_loader::process_search().open(&libraries::AMD_COMGR).map_err(failed)?;
    let fits = wanted.is_none() || found.soname().is_none() || found.soname() == wanted.as_deref();
    if fits { Ok(Comgr(found)) } else { Err(failed(other_release(&found))) }
}

/// Returns the error for a Comgr whose name is not the required one.
fn other_release(found: &Library) -> rocm_loader::Error {
    rocm_loader::Error::NotFound { library: found.spec().name(), report: found.report().clone().into() }
}

fn exists(path: &Path) -> bool {
    path.try_exists().unwrap_or(true)
}

/// Returns the name under which a HIPRTC library opens Comgr at run time: it is searched in the library's bytes.
fn comgr_name(library: &[u8]) -> Option<String> {
    let stem = libraries::AMD_COMGR.unversioned().as_bytes();
    library.windows(stem.len() + 3).find_map(|window| {
        let rest = window.strip_prefix(stem)?.strip_prefix(b".")?;
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        (digits > 0 && rest.get(digits) == Some(&0))
            .then(|| String::from_utf8_lossy(&window[..stem.len() + 1 + digits]).into_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_comgr_is_found_in_the_bytes() {
        assert_eq!(comgr_name(b"..\0libamd_comgr.so.3\0..").as_deref(), Some("libamd_comgr.so.3"));
        assert_eq!(comgr_name(b"libamd_comgr.so\0libamd_comgr.so.2\0").as_deref(), Some("libamd_comgr.so.2"));
        assert_eq!(comgr_name(b"libamd_comgr.so.3"), None, "cut off");
        assert_eq!(comgr_name(b"nothing of the kind"), None);
    }
}
