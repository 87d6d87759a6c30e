//! Starts a program again on an installed ROCm whose libraries need a newer C library than this machine has.

use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use rocm_loader::installs::loader_beside;
use rocm_loader::report::Reason;

use crate::error::Error;

/// Set in a program that was started again, which is not done twice.
const RESTARTED: &str = "HIPRTC_BUILD_RESTARTED";

/// Starts this build script again on the C library beside HIPRTC: see [`restart`].
pub(super) fn on_libraries_of(error: &Error) -> Option<String> {
    restart(error, RESTARTED, std::env::args_os().skip(1))
}

/// Replaces this process by the same program, with these arguments, on the C library beside HIPRTC, if `error` says that HIPRTC of an
/// installation (`rocm-sdk install`) needs that. Returns only if that is not so, or with the reason why the program cannot be started.
///
/// The variable `mark` is set in the new process, which is not started again.
pub fn restart(error: &Error, mark: &str, arguments: impl IntoIterator<Item = OsString>) -> Option<String> {
    let (Error::NoHiprtc(error) | Error::NoComgr { reason: error, .. }) = error else { return None };
    let rocm_loader::Error::Unusable { reason: Reason::SystemTooOld { .. }, target, .. } = &**error else {
        return None;
    };
    let (loader, libraries) = loader_beside(Path::new(target))?;
    if std::env::var_os(mark).is_some() {
        return None;
    }
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(reason) => return Some(format!("the path of this program is not known: {reason}")),
    };
    // What the script itself has printed stays in front of what the next one prints.
    let _ = std::io::stdout().flush();
    let mut command = Command::new(&loader);
    command.arg("--library-path").arg(libraries).arg(program).args(arguments).env(mark, "1");
    Some(format!("{} cannot be started: {}", loader.display(), command.exec()))
}
