//! The releases, and where their answers are other ones than hip-sim's.

/// A release of ROCm.
pub(crate) struct Release {
    pub(crate) name: &'static str,
    pub(crate) file: &'static str,
    /// Whether the last error stays until it is read, as it does in hip-sim; before 7.0 the next call that succeeds ends it.
    keeps_errors: bool,
    /// Answers that differ.
    known: &'static [Known],
}

/// An answer of a release that is not hip-sim's, and why that is as it should be.
struct Known {
    /// What the call, as programs print it, begins with and holds.
    call: &'static str,
    with: &'static str,
    /// The statuses of hip-sim and of the release.
    statuses: (u32, u32),
    /// Whether the rest of the program comes out otherwise, too.
    ends: bool,
}

const fn known(call: &'static str, with: &'static str, ours: u32, theirs: u32) -> Known {
    Known { call, with, statuses: (ours, theirs), ends: false }
}

/// Where the rest of the program is not to be compared.
const fn ends(call: &'static str, with: &'static str, ours: u32, theirs: u32) -> Known {
    Known { call, with, statuses: (ours, theirs), ends: true }
}

/// The release whose answers hip-sim gives.
pub(crate) const ROCM_7_2: Release = Release { name: "7.2", file: "libamdhip64.so.7", keeps_errors: true, known: &[] };

pub(crate) const ROCM_6_4: Release = Release {
    name: "6.4",
    file: "libamdhip64.so.6",
    keeps_errors: false,
    known: &[
        // `hipFreeAsync` of null is a mistake.
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
        // Rows are looked at where there are none, and addresses before pitches.
        known("Copy2D", "", 0, 1),
        known("Copy2D", "", 0, 12),
        known("Copy2D", "", 12, 1),
        // A kind that is none is told of last, or copied with.
        known("Copy", "", 21, 1),
        ends("Copy", "", 21, 0),
        // Flags that must be 0 are not looked at, or after the event.
        known("DevicePointer", "flags: 1", 1, 0),
        known("WaitEvent", "", 1, 400),
    ],
};

/// What two lines say of two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Same,
    Different,
    /// As it is known, and from here on nothing can be said.
    Over,
}

/// The call, the status and the rest of a line.
fn parts(line: &str) -> Option<(&str, u32, &str)> {
    let (call, answer) = line.split_once(" = ")?;
    let (status, rest) = answer.split_once(' ')?;
    Some((call, status.parse().ok()?, rest))
}

/// Whether two lines say the same, or differ as they are known to.
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
        // Without the last error, in a gate too.
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

/// What sort of difference two lines are: the call's name and the answers.
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
