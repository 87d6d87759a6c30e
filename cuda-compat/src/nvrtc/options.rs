//! Translation of NVRTC's options to HIPRTC's, which are clang's.

use super::shifts::PLAIN;

/// The result of [`translate_options`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Translated {
    /// HIPRTC's options, in the order of the options that they came from.
    pub options: Vec<String>,
    /// NVRTC's options that have no effect on AMD GPUs, as they were written.
    pub ignored: Vec<String>,
}

/// The translation of an NVRTC option.
enum Rule {
    /// One option: this prefix, followed by the value.
    Value(&'static str),
    /// Two options: this one, and the value.
    Pair(&'static str),
    /// This option.
    Flag(&'static str),
    /// A boolean option, which becomes one or the other; an empty string is no option.
    Choice(&'static str, &'static str),
    /// The number of lanes of a warp, an option of this crate: it becomes a macro for the prelude.
    Lanes,
    /// Whether collectives in both branches of an `if` are compiled, an option of this crate: true becomes a macro.
    Divergent,
    /// Whether shifts are saturating, an option of this crate: false becomes a macro for the prelude.
    Shifts,
    /// An architecture: one of AMD is kept, one of NVIDIA decides `__CUDA_ARCH__`.
    Architecture,
    /// An option with a value, and without effect here.
    IgnoredValue,
    /// The same, and the value starts with a dash.
    IgnoredOption,
    /// An option without effect here.
    Ignored,
}

/// The translation of `--warp-size=native`: a warp is a wave, with as many lanes as the GPU has.
pub(super) const ALL_LANES: &str = "-DCUDA_COMPAT_WARP_SIZE=0";

/// The translation of `--divergent-collectives=true`.
pub(super) const DIVERGENT: &str = "-DCUDA_COMPAT_DIVERGENT_COLLECTIVES=1";

/// The translation of `--device-as-default-execution-space`: functions without a space are for the device, too.
const DEFAULT_DEVICE: &str = "-DCUDA_COMPAT_DEFAULT_DEVICE=1";

/// The prefix of the translation of an architecture: `__CUDA_ARCH__`, which the prelude defines after the headers of
/// HIPRTC.
pub(super) const ARCH: &str = "-DCUDA_COMPAT_ARCH=";

/// The prefix of the translation of `--warp-size`.
pub(super) const LANES: &str = "-DCUDA_COMPAT_WARP_SIZE=";

/// The translation of `--warp-size=32`, which is the default.
const THIRTY_TWO_LANES: &str = "-DCUDA_COMPAT_WARP_SIZE=32";

/// Long name, short name (or none), rule.
const RULES: &[(&str, &str, Rule)] = &[
    ("gpu-architecture", "arch", Rule::Architecture),
    ("warp-size", "", Rule::Lanes),
    ("saturating-shifts", "", Rule::Shifts),
    ("divergent-collectives", "", Rule::Divergent),
    ("include-path", "I", Rule::Value("-I")),
    ("define-macro", "D", Rule::Value("-D")),
    ("undefine-macro", "U", Rule::Value("-U")),
    ("pre-include", "include", Rule::Pair("-include")),
    ("std", "std", Rule::Value("-std=")),
    ("use_fast_math", "use_fast_math", Rule::Flag("-ffast-math")),
    ("fmad", "fmad", Rule::Choice("-ffp-contract=fast", "-ffp-contract=off")),
    ("ftz", "ftz", Rule::Choice("-fgpu-flush-denormals-to-zero", "")),
    ("relocatable-device-code", "rdc", Rule::Choice("-fgpu-rdc", "")),
    ("device-c", "dc", Rule::Flag("-fgpu-rdc")),
    ("device-w", "dw", Rule::Ignored),
    ("device-debug", "G", Rule::Flag("-g")),
    ("generate-line-info", "lineinfo", Rule::Flag("-gline-tables-only")),
    ("disable-warnings", "w", Rule::Flag("-w")),
    ("maxrregcount", "maxrregcount", Rule::IgnoredValue),
    ("prec-sqrt", "prec-sqrt", Rule::IgnoredValue),
    ("prec-div", "prec-div", Rule::IgnoredValue),
    ("dopt", "dopt", Rule::IgnoredValue),
    ("Ofast-compile", "Ofc", Rule::IgnoredValue),
    ("ptxas-options", "Xptxas", Rule::IgnoredOption),
    ("dlink-time-opt", "dlto", Rule::Ignored),
    ("gen-opt-lto", "", Rule::Ignored),
    ("extra-device-vectorization", "extra-device-vectorization", Rule::Ignored),
    ("modify-stack-limit", "modify-stack-limit", Rule::IgnoredValue),
    ("builtin-move-forward", "builtin-move-forward", Rule::IgnoredValue),
    ("builtin-initializer-list", "builtin-initializer-list", Rule::IgnoredValue),
    ("split-compile", "split-compile", Rule::IgnoredValue),
    ("time", "time", Rule::IgnoredValue),
    ("fdevice-time-trace", "fdevice-time-trace", Rule::IgnoredValue),
    ("version-ident", "dQ", Rule::IgnoredValue),
    ("default-device", "default-device", Rule::Flag(DEFAULT_DEVICE)),
    ("device-as-default-execution-space", "default-device", Rule::Flag(DEFAULT_DEVICE)),
    ("device-int128", "device-int128", Rule::Ignored),
    ("no-source-include", "no-source-include", Rule::Ignored),
    ("restrict", "restrict", Rule::Ignored),
    ("minimal", "minimal", Rule::Ignored),
    ("display-error-number", "err-no", Rule::Ignored),
    ("no-display-error-number", "no-err-no", Rule::Ignored),
    ("diag-error", "diag-error", Rule::IgnoredValue),
    ("diag-suppress", "diag-suppress", Rule::IgnoredValue),
    ("diag-warn", "diag-warn", Rule::IgnoredValue),
];

/// The syntax of an option.
enum Written<'a> {
    /// With its value.
    With(&'a str),
    /// Without a value: the next option may be its value.
    Alone,
}

/// Returns the rule of an option.
fn rule(option: &str) -> Option<(&'static Rule, Written<'_>)> {
    for (long, short, rule) in RULES {
        let names =
            [option.strip_prefix("--").map(|rest| (rest, *long)), option.strip_prefix('-').map(|rest| (rest, *short))];
        for (rest, name) in names.into_iter().flatten().filter(|(_, name)| !name.is_empty()) {
            match rest.strip_prefix(name) {
                Some("") => return Some((rule, Written::Alone)),
                // `-Ifolder` has no equals sign.
                Some(value) if matches!(name, "I" | "D" | "U") => {
                    return Some((rule, Written::With(value.strip_prefix('=').unwrap_or(value))));
                }
                Some(value) => match value.strip_prefix('=') {
                    Some(value) => return Some((rule, Written::With(value))),
                    None => continue,
                },
                None => continue,
            }
        }
    }
    None
}

/// Returns `__CUDA_ARCH__` for an architecture of NVIDIA: 800 for `compute_80`, 900 for `sm_90a`.
fn arch(value: &str) -> Option<u32> {
    let kind = ["compute_", "sm_", "lto_"].iter().find_map(|kind| value.strip_prefix(kind))?;
    let number: u32 = kind.trim_end_matches(['a', 'f']).parse().ok()?;
    number.checked_mul(10).filter(|_| number >= 10)
}

/// Translates NVRTC's options to HIPRTC's. Options that NVRTC does not have are kept: clang's own can be passed.
///
/// `--gpu-architecture=compute_80` decides `__CUDA_ARCH__`, in a macro that the prelude reads, and an architecture of
/// AMD selects the GPU. `--warp-size=32`, `--warp-size=native`, `--saturating-shifts=false` and
/// `--divergent-collectives=true` are options of this crate: see [Warps](crate::nvrtc#warps) and
/// [Shifts](crate::nvrtc#shifts).
///
/// ```
/// use cuda_compat::nvrtc::translate_options;
///
/// let options = ["-arch=compute_80", "--maxrregcount=32", "--use_fast_math", "-D", "TILE=16", "-munsafe-fp-atomics"];
/// let translated = translate_options(options);
/// assert_eq!(
///     translated.options,
///     ["-DCUDA_COMPAT_ARCH=800", "-ffast-math", "-DTILE=16", "-munsafe-fp-atomics"]
/// );
/// assert_eq!(translated.ignored, ["--maxrregcount=32"]);
/// ```
pub fn translate_options<'a>(options: impl IntoIterator<Item = &'a str>) -> Translated {
    let mut translated = Translated::default();
    let mut options = options.into_iter().peekable();
    while let Some(option) = options.next() {
        let Some((rule, written)) = rule(option) else {
            translated.options.push(option.to_owned());
            continue;
        };
        let takes_value = !matches!(rule, Rule::Flag(_) | Rule::Ignored);
        let (value, as_written) = match written {
            Written::With(value) => (value, option.to_owned()),
            Written::Alone if takes_value => {
                match options.next_if(|next| matches!(rule, Rule::IgnoredOption) || !next.starts_with('-')) {
                    Some(value) => (value, format!("{option} {value}")),
                    None => ("", option.to_owned()),
                }
            }
            Written::Alone => ("", option.to_owned()),
        };
        let new = match rule {
            Rule::Value(name) => vec![format!("{name}{value}")],
            Rule::Pair(name) => vec![(*name).to_owned(), value.to_owned()],
            Rule::Flag(flag) => vec![(*flag).to_owned()],
            Rule::Choice(yes, no) => vec![if value == "true" { (*yes).to_owned() } else { (*no).to_owned() }],
            Rule::Lanes if value == "native" => vec![ALL_LANES.to_owned()],
            Rule::Lanes if value == "32" => vec![THIRTY_TWO_LANES.to_owned()],
            // The compiler rejects it by name.
            Rule::Lanes => vec![as_written],
            Rule::Shifts if value == "false" => vec![PLAIN.to_owned()],
            Rule::Divergent if value == "true" => vec![DIVERGENT.to_owned()],
            Rule::Shifts if value == "true" => Vec::new(),
            Rule::Divergent if value == "false" => Vec::new(),
            Rule::Shifts | Rule::Divergent => vec![as_written],
            Rule::Architecture if value.starts_with("gfx") => vec![format!("--offload-arch={value}")],
            Rule::Architecture if arch(value).is_some() => {
                arch(value).map(|arch| format!("{ARCH}{arch}")).into_iter().collect()
            }
            Rule::Architecture | Rule::IgnoredValue | Rule::IgnoredOption | Rule::Ignored => {
                translated.ignored.push(as_written);
                continue;
            }
        };
        translated.options.extend(new.into_iter().filter(|option| !option.is_empty()));
    }
    translated
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a translation: the options, the expected result, the ignored options.
    fn becomes(options: &[&str], expected: &[&str], ignored: &[&str]) {
        let translated = translate_options(options.iter().copied());
        assert_eq!(translated.options, expected, "{options:?}");
        assert_eq!(translated.ignored, ignored, "{options:?}");
    }

    #[test]
    fn architectures_of_nvidia_are_a_macro_and_those_of_amd_stay() {
        becomes(&["--gpu-architecture=compute_80"], &["-DCUDA_COMPAT_ARCH=800"], &[]);
        becomes(&["-arch=sm_90a", "-arch", "sm_75"], &["-DCUDA_COMPAT_ARCH=900", "-DCUDA_COMPAT_ARCH=750"], &[]);
        becomes(&["-arch=compute_103f", "-arch=lto_52"], &["-DCUDA_COMPAT_ARCH=1030", "-DCUDA_COMPAT_ARCH=520"], &[]);
        becomes(&["-arch=native", "-arch=sm_x"], &[], &["-arch=native", "-arch=sm_x"]);
        becomes(&["--gpu-architecture", "gfx90a"], &["--offload-arch=gfx90a"], &[]);
        becomes(&["-arch=gfx942:xnack-"], &["--offload-arch=gfx942:xnack-"], &[]);
        becomes(&["--offload-arch=gfx90a"], &["--offload-arch=gfx90a"], &[]);
    }

    #[test]
    fn options_with_values_are_read_in_all_forms() {
        becomes(
            &["-DA", "-D", "B=2", "--define-macro=C", "--define-macro", "D=x=y"],
            &["-DA", "-DB=2", "-DC", "-DD=x=y"],
            &[],
        );
        becomes(&["-Iinclude", "-I", "a b", "--include-path=/c"], &["-Iinclude", "-Ia b", "-I/c"], &[]);
        becomes(&["-UX", "--undefine-macro=Y"], &["-UX", "-UY"], &[]);
        becomes(&["--std=c++17", "-std=c++20", "-std", "c++14"], &["-std=c++17", "-std=c++20", "-std=c++14"], &[]);
        becomes(&["--pre-include=a.h", "-include", "b.h"], &["-include", "a.h", "-include", "b.h"], &[]);
    }

    #[test]
    fn switches_have_clangs_names() {
        becomes(&["--use_fast_math", "-use_fast_math"], &["-ffast-math", "-ffast-math"], &[]);
        becomes(&["--fmad=false", "-fmad=true"], &["-ffp-contract=off", "-ffp-contract=fast"], &[]);
        becomes(&["--ftz=true", "--ftz=false"], &["-fgpu-flush-denormals-to-zero"], &[]);
        becomes(&["-rdc=true", "--relocatable-device-code=false", "-dc"], &["-fgpu-rdc", "-fgpu-rdc"], &[]);
        becomes(&["-default-device"], &[DEFAULT_DEVICE], &[]);
        becomes(&["--device-as-default-execution-space"], &[DEFAULT_DEVICE], &[]);
        becomes(&["-G", "-lineinfo", "-w"], &["-g", "-gline-tables-only", "-w"], &[]);
    }

    #[test]
    fn the_size_of_a_warp_is_a_macro() {
        becomes(&["--warp-size=native", "--warp-size", "32"], &[ALL_LANES, THIRTY_TWO_LANES], &[]);
        becomes(&["--saturating-shifts=false", "--saturating-shifts=true"], &[PLAIN], &[]);
        becomes(&["--divergent-collectives=true", "--divergent-collectives", "false"], &[DIVERGENT], &[]);
        becomes(&["--warp-size=16", "--warp-size"], &["--warp-size=16", "--warp-size"], &[]);
    }

    #[test]
    fn what_has_no_meaning_is_named_and_what_is_clangs_stays() {
        let ignored = ["--maxrregcount=32", "--prec-div=false", "--restrict"];
        becomes(&ignored, &[], &ignored);
        becomes(&["-Xptxas", "-v", "-O3", "--ptxas-options=-v"], &["-O3"], &["-Xptxas -v", "--ptxas-options=-v"]);
        let clang = ["-O3", "-mllvm", "-amdgpu-early-inline-all=true", "-Wall", "-ffast-math", "-include-pch"];
        becomes(&clang, &clang, &[]);
        becomes(&[], &[], &[]);
    }
}
