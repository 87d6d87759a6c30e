//! Options of clang as options of NVRTC.

use crate::error::{Error, Result};

/// Options of both.
const SAME: [&str; 6] = ["-std=c++11", "-std=c++14", "-std=c++17", "-std=c++20", "-w", "-G"];
/// Options of both that have a value.
const SAME_WITH_VALUE: [&str; 3] = ["-D", "-U", "-I"];
/// Folders for headers: NVRTC has one list.
const FOLDERS: [&str; 3] = ["-iquote", "-isystem", "-idirafter"];
/// Options with a counterpart of another name.
const OTHER_NAMES: [(&str, &str); 15] = [
    ("-ffast-math", "--use_fast_math"),
    ("-ffp-contract=off", "--fmad=false"),
    ("-ffp-contract=on", "--fmad=true"),
    ("-ffp-contract=fast", "--fmad=true"),
    ("-fgpu-flush-denormals-to-zero", "--ftz=true"),
    ("-fno-gpu-flush-denormals-to-zero", "--ftz=false"),
    ("-g", "--generate-line-info"),
    ("-gline-tables-only", "--generate-line-info"),
    ("-O0", "--ptxas-options=-O0"),
    ("-O1", "--ptxas-options=-O1"),
    ("-O2", "--ptxas-options=-O2"),
    ("-O3", "--ptxas-options=-O3"),
    ("-std=gnu++14", "-std=c++14"),
    ("-std=gnu++17", "-std=c++17"),
    ("-std=gnu++20", "-std=c++20"),
];
/// Limits that only help clang's optimiser.
const HINTS: [&str; 1] = ["--gpu-max-threads-per-block="];

/// Returns NVRTC's options for those of clang. Options that begin with `--` and are not clang's are NVRTC's own.
///
/// # Errors
/// [`Error::InvalidOption`] for an option of clang without a counterpart.
pub(super) fn translate(options: &[String]) -> Result<Vec<String>> {
    let mut translated = Vec::new();
    let mut rest = options.iter();
    while let Some(option) = rest.next() {
        let refuse = |reason| Err(Error::InvalidOption { option: option.clone(), reason });
        if let Some((_, other)) = OTHER_NAMES.iter().find(|(name, _)| name == option) {
            translated.push((*other).to_owned());
        } else if SAME_WITH_VALUE.contains(&option.as_str()) {
            // The value is the next argument.
            let value = rest.next().map_or("", String::as_str);
            translated.push(format!("{option}{value}"));
        } else if let Some(folder) = FOLDERS.iter().find_map(|name| option.strip_prefix(name)) {
            let folder = if folder.is_empty() { rest.next().map_or("", String::as_str) } else { folder };
            translated.push(format!("-I{folder}"));
        } else if SAME.contains(&option.as_str()) || SAME_WITH_VALUE.iter().any(|name| option.starts_with(name)) {
            translated.push(option.clone());
        } else if option == "-Werror" || option.starts_with("-W") && !option.contains(',') && !option.contains('=') {
            // Other warnings than clang's. `-Werror` is checked after the compilation.
        } else if HINTS.iter().any(|name| option.starts_with(name)) {
            // NVRTC has no such option.
        } else if option == "-mllvm" || option.starts_with("-m") {
            return refuse("it is for AMD's GPUs, and the program is compiled for NVIDIA's");
        } else if option.starts_with("--") && !option.starts_with("--offload") {
            translated.push(option.clone());
        } else {
            return refuse("NVRTC, which compiles for NVIDIA's GPUs, has no such option");
        }
    }
    Ok(translated)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{CppStandard, OptLevel, Options};

    #[test]
    fn every_option_with_a_method_has_a_counterpart() {
        let options = Options::new()
            .standard(CppStandard::Cpp20)
            .define("A", 1)
            .undefine("B")
            .include_dir("/x")
            .opt_level(OptLevel::O2)
            .fast_math()
            .debug()
            .max_threads_per_block(256)
            .raw("-I")
            .raw("/y")
            .raw("-iquote/z")
            .raw("-isystem")
            .raw("/s")
            .raw("-Wall")
            .raw("-Werror")
            .raw("--maxrregcount=32");
        let want = [
            "-std=c++20",
            "-DA=1",
            "-UB",
            "-I/x",
            "--ptxas-options=-O2",
            "--use_fast_math",
            "--generate-line-info",
            "-I/y",
            "-I/z",
            "-I/s",
            "--maxrregcount=32",
        ];
        assert_eq!(translate(options.as_slice()).unwrap(), want);
    }

    #[test]
    fn options_without_a_counterpart_are_named() {
        for option in [
            "-mllvm",
            "-mcumode",
            "-std=c++23",
            "-Xclang",
            "-Wl,x",
            "-fgpu-rdc",
            "-fplugin=x",
            "--offload-arch=x",
            "x.o",
        ] {
            let error = translate(&[option.to_owned()]).unwrap_err();
            assert!(matches!(&error, Error::InvalidOption { option: named, .. } if named == option), "{error}");
        }
    }
}
