//! Where libraries are looked for, and in which order.

use std::sync::Arc;

use crate::error::Error;
use crate::library::Library;
use crate::report::{Attempt, Origin, Reason, Report};
use crate::spec::LibrarySpec;

/// The process-wide search.
pub(crate) fn open_global(spec: &'static LibrarySpec) -> Result<Library, Error> {
    let mut attempts = Vec::new();
    for name in spec.file_names() {
        // SAFETY: opening runs the library's initialisers; ROCm's have no precondition.
        let outcome = unsafe { libloading::Library::new(name) };
        let failure = outcome.as_ref().err().map(|_| Reason::NotThere);
        attempts.push(Attempt { origin: Origin::System, target: name.to_owned(), failure });
        if let Ok(handle) = outcome {
            let report = Arc::new(Report::new(spec.name(), attempts));
            return Ok(Library::from_parts(spec, handle, Origin::System, name.to_owned(), None, report));
        }
    }
    Err(Error::NotFound { library: spec.name(), report: Arc::new(Report::new(spec.name(), attempts)) })
}
