//! The compiler's messages about a program.

use rocm_loader::clang_log::{with_places_of_source, without_directories};

use super::ptx;

/// The command that installs the headers of hipCUB.
const INSTALL: &str = "rocm-sdk install 7.2 --with hipcub";

/// Returns HIPRTC's messages with the places and texts of a program's own source.
pub(super) fn of_source(log: &str, name: &str, source: &str) -> String {
    let log = ptx::explained(&without_directories(log));
    let log = with_places_of_source(&log, |file| (file == name).then(|| source.to_owned()));
    log.split_inclusive('\n').map(missing).collect()
}

/// Returns a line, which names a file that was not found as NVRTC does.
fn missing(line: &str) -> String {
    let file =
        line.split_once("fatal error: '").and_then(|(head, rest)| Some((head, rest.split_once("' file not found")?)));
    let Some((head, (file, rest))) = file else { return line.to_owned() };
    let advice = match file.starts_with("cub/") || file.starts_with("hipcub/") {
        true => format!(": {INSTALL} installs hipCUB, which is found without an option"),
        false => String::new(),
    };
    format!("{head}fatal error: cannot open source file \"{file}\"{advice}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_not_found_are_named_as_by_nvrtc() {
        let log = "/tmp/comgr-1/input/k.cu:1:10: fatal error: 'vector' file not found\n    1 | #include <vector>\n1 error generated.\n";
        let expected = "k.cu:1:10: fatal error: cannot open source file \"vector\"\n    1 | #include <vector>\n1 error generated.\n";
        assert_eq!(of_source(log, "k.cu", "#include <vector>"), expected);
        let cub = of_source("k.cu:1:10: fatal error: 'cub/cub.cuh' file not found\n", "k.cu", "");
        assert!(cub.contains("cannot open source file \"cub/cub.cuh\": rocm-sdk install 7.2 --with hipcub "), "{cub}");
        assert_eq!(missing("k.cu:1:1: error: x\n"), "k.cu:1:1: error: x\n");
    }

    #[test]
    fn shown_lines_are_those_of_the_program() {
        let log = "/tmp/comgr-1/input/k.cu:2:40: error: no y\n    2 | __attribute__((global)) void k(int *x) { *x = y; }\n      |                                               ^\n";
        let source = "\n__global__ void k(int *x) { *x = y; }\n";
        assert!(of_source(log, "k.cu", source).contains("    2 | __global__ void k(int *x) { *x = y; }\n"));
    }
}
