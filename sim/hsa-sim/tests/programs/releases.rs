//! The releases, and their known differences from hip-sim.

/// A release of ROCm.
pub(crate) struct Release {
    pub(crate) name: &'static str,
    pub(crate) file: &'static str,
    /// Whether the last error stays until it is read, as in hip-sim. Before 7.0 the next successful call clears it.
    keeps_errors: bool,
    /// Known differences.
    known: &'static [Known],
}

/// A known difference of a release from hip-sim, and why it is correct.
struct Known {
    /// The prefix of the printed call, and a string in it.
    call: &'static str,
    with: &'static str,
    /// The statuses of hip-sim and of the release.
    statuses: (u32, u32),
    /// Whether the rest of the program differs too.
    ends: bool,
}

const fn known(call: &'static str, with: &'static str, ours: u32, theirs: u32) -> Known {
    Known { call, with, statuses: (ours, theirs), ends: false }
}

/// A difference after which the rest of the program is not compared.
const fn ends(call: &'static str, with: &'static str, ours: u32, theirs: u32) -> Known {
    Known { call, with, statuses: (ours, theirs), ends: true }
}

/// The release that hip-sim implements.
pub(crate) const ROCM_7_2: Release = Release { name: "7.2", file: "libamdhip64.so.7", keeps_errors: true, known: &[] };

pub(crate) const ROCM_6_4: Release = Release {
    name: "6.4",
    file: "libamdhip64.so.6",
    keeps_errors: false,
    known: &[
        // `hipFreeAsync` of null is an error.
        known("Free", "Async", 0, 1),
    ],
};

pub(crate) const ROCM_5_7: Release = Release {
    name: "5.7",
    file: "libamdhip64.so.5",
    keeps_errors: false,
    known: &[
        known("Free", "Async", 0, 1),
        known("Allocate", "Pinned(3221225472)", 0, 1),
        // Row copies are checked even without rows, and addresses are checked before pitches.
        known("Copy2D", "", 0, 1),
        known("Copy2D", "", 0, 12),
        known("Copy2D", "", 12, 1),
        // An invalid kind is reported last, or accepted.
        known("Copy", "", 21, 1),
        ends("Copy", "", 21, 0),
        // Reserved flags are not checked, or only after the event.
        known("DevicePointer", "flags: 1", 1, 0),
        known("WaitEvent", "", 1, 400),
    ],
};

/// The comparison of two lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Same,
    Different,
    /// A known difference, after which nothing can be compared.
    Over,
}

/// The call, the status and the rest of a line.
fn parts(line: &str) -> Option<(&str, u32, &str)> {
    let (call, answer) = line.split_once(" = ")?;
    let (status, rest) = answer.split_once(' ')?;
    Some((call, status.parse().ok()?, rest))
}

/// Compares two lines, allowing for known differences.
pub(crate) fn compare(release: &Release, ours: &str, theirs: &str) -> Verdict {
    let verdict = |same: bool| if same { Verdict::Same } else { Verdict::Different };
    if ours == theirs {
        return Verdict::Same;
    }
    let (Some(ours), Some(theirs)) = (parts(ours), parts(theirs)) else {
        return verdict(!release.keeps_errors && ours.starts_with("last error") && theirs.starts_with("last error"));
    };
    let ((call, status, told), (other, answer, also)) = (ours, theirs);
    if call != other {
        return Verdict::Different;
    }
    if !release.keeps_errors && status == answer {
        // Without the last error, also in a gate.
        let rest = |told: &str| {
            let told = told.split("; last").next().unwrap_or_default();
            told.split(['(', ')']).step_by(2).collect::<String>()
        };
        if rest(told) == rest(also) {
            return Verdict::Same;
        }
    }
    if !release.keeps_errors && call == "LastError" {
        return Verdict::Same;
    }
    let is_it = |known: &&Known| {
        let name = call.split([' ', '{']).next() == Some(known.call);
        name && call.contains(known.with) && known.statuses == (status, answer)
    };
    match release.known.iter().find(is_it) {
        Some(known) if known.ends => Verdict::Over,
        known => verdict(known.is_some()),
    }
}

/// The class of a difference: the call's name and the results.
pub(crate) fn kind(difference: &str) -> String {
    let line = |line: &str| match parts(line.split_once(": ").map_or(line, |(_, line)| line)) {
        Some((call, status, rest)) => {
            let name = call.split([' ', '{']).next().unwrap_or(call);
            (name.to_owned(), format!("{status} {}", rest.split("; last").next().unwrap_or_default()))
        }
        None => (String::new(), line.to_owned()),
    };
    let both: Vec<_> = difference.lines().map(line).collect();
    match &both[..] {
        [(name, ours), (_, theirs)] => format!("{name}: {ours} against {theirs}"),
        _ => difference.to_owned(),
    }
}
