//! What is told of each call: nothing, unless `HIP_SIM_LOG` asks for it.

use std::sync::OnceLock;

use crate::abi::{HSA_STATUS_INFO_BREAK, HSA_STATUS_SUCCESS, hsa_status_t, status_text};

/// What to tell of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Nothing,
    /// Calls that fail.
    Errors,
    /// All calls that return a status.
    Calls,
}

fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| match std::env::var("HIP_SIM_LOG").as_deref() {
        Ok("errors") => Level::Errors,
        Ok("calls") => Level::Calls,
        _ => Level::Nothing,
    })
}

/// Tells of a call and what it returned.
pub(super) fn call(name: &str, status: hsa_status_t) {
    let level = level();
    let failed = status != HSA_STATUS_SUCCESS && status != HSA_STATUS_INFO_BREAK;
    if level == Level::Calls || (level == Level::Errors && failed) {
        let text = status_text(status).map_or("an unknown status".into(), |text| text.to_string_lossy());
        let text = text.split(':').next().unwrap_or_default();
        eprintln!("hsa-sim: {name}: {text}");
    }
}
