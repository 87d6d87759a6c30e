//! Environment variables that determine which ROCm and which GPUs a program uses.

use std::path::Path;

use serde::Serialize;

use super::gpus::Gpu;
use super::machine::Machine;
use super::problem::Problems;

/// A variable that is set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// Its value; characters that are not Unicode are replaced.
    pub value: String,
    /// Its effect.
    pub meaning: &'static str,
}

const KNOWN: &[(&str, &str)] = &[
    ("ROCM_PATH", "the ROCm installation to use"),
    ("HIP_PATH", "the ROCm installation to use, after ROCM_PATH"),
    ("VIRTUAL_ENV", "Python environment whose ROCm wheels are used"),
    ("CONDA_PREFIX", "Python environment whose ROCm wheels are used, after VIRTUAL_ENV"),
    ("ROCM_SDK_INSTALL_DIR", "the directory of `rocm-sdk install`'s installations"),
    ("LD_LIBRARY_PATH", "directories that the system loader searches first"),
    ("LD_PRELOAD", "libraries that the system loader loads before all others"),
    ("ROCM_SDK_PRELOAD_LIBRARIES", "libraries that a program opens at its start"),
    ("ROCM_SDK_TARGET_FAMILY", "the GPU family whose libraries are used"),
    ("ROCR_VISIBLE_DEVICES", "the GPUs visible to ROCm"),
    ("HIP_VISIBLE_DEVICES", "those of them that are visible to HIP, renumbered"),
    ("CUDA_VISIBLE_DEVICES", "the same for HIP, if HIP_VISIBLE_DEVICES is not set"),
    ("GPU_DEVICE_ORDINAL", "the GPUs visible to OpenCL"),
    ("HSA_OVERRIDE_GFX_VERSION", "the architecture that ROCm assumes for every GPU"),
    ("HSA_ENABLE_SDMA", "0: no copies by the GPU's copy engines"),
    ("HSA_XNACK", "1: the GPU can access all host memory, by page faults"),
    ("HSA_TOOLS_LIB", "a tool library that ROCm loads: a profiler or debugger"),
    ("HIP_PLATFORM", "amd or nvidia, for hipcc"),
    ("HIP_LAUNCH_BLOCKING", "1: a launch returns after its kernel has finished"),
    ("AMD_SERIALIZE_KERNEL", "1 to 3: one kernel after the other"),
    ("AMD_SERIALIZE_COPY", "1 to 3: one copy after the other"),
    ("AMD_LOG_LEVEL", "0 to 5: log level of HIP on stderr"),
    ("GPU_MAX_HW_QUEUES", "number of hardware queues per GPU that HIP uses"),
];

impl Variable {
    pub(crate) fn all(machine: &Machine) -> Vec<Self> {
        let set = KNOWN.iter().filter_map(|&(name, meaning)| {
            let value = machine.variable(name)?.to_string_lossy().into_owned();
            Some(Self { name, value, meaning })
        });
        set.collect()
    }

    pub(crate) fn judge(variables: &[Self], gpus: &[Gpu], problems: &mut Problems) {
        let value = |name: &str| variables.iter().find(|v| v.name == name).map(|v| v.value.as_str());
        for name in ["ROCM_PATH", "HIP_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"] {
            let path = value(name).filter(|path| !path.is_empty()).map(Path::new);
            if let Some(path) = path.filter(|path| path.is_absolute() && !path.is_dir()) {
                problems.warning(
                    format!("{name} names {}, which is not a directory", path.display()),
                    format!("set {name} to an existing directory, or `unset {name}`"),
                );
            }
        }
        if let Some(path) = value("LD_LIBRARY_PATH").filter(|p| !p.is_empty()) {
            if path.split([':', ';']).any(|entry| !entry.starts_with('/')) {
                problems.warning(
                    format!("LD_LIBRARY_PATH={path} has an entry that is empty or relative: the current directory decides what is loaded"),
                    "make every entry absolute, with no colon at either end",
                );
            }
        }
        if value("HIP_PLATFORM") == Some("nvidia") {
            problems.warning("HIP_PLATFORM=nvidia: hipcc compiles for NVIDIA's GPUs", "`unset HIP_PLATFORM`");
        }
        // ROCR_VISIBLE_DEVICES applies first. The remaining GPUs are renumbered for HIP, which ignores an empty value of its variable.
        let shown = visible("ROCR_VISIBLE_DEVICES", value("ROCR_VISIBLE_DEVICES"), gpus.len(), problems);
        let hip = value("HIP_VISIBLE_DEVICES").filter(|v| !v.is_empty());
        let (name, chosen) = match hip {
            Some(_) => ("HIP_VISIBLE_DEVICES", hip),
            None => ("CUDA_VISIBLE_DEVICES", value("CUDA_VISIBLE_DEVICES").filter(|v| !v.is_empty())),
        };
        visible(name, chosen, shown, problems);
        if let Some(version) = value("HSA_OVERRIDE_GFX_VERSION") {
            judge_override(version, gpus, problems);
        }
    }
}

/// Returns how many of `count` GPUs a variable leaves visible; the list ends at the first invalid entry.
fn visible(name: &str, value: Option<&str>, count: usize, problems: &mut Problems) -> usize {
    let Some(value) = value else { return count };
    if count == 0 {
        return 0;
    }
    let entries: Vec<&str> = value.split(',').map(str::trim).take_while(|_| !value.is_empty()).collect();
    let meant = |entry: &&&str| {
        entry.get(..4).is_some_and(|head| head.eq_ignore_ascii_case("GPU-") && entry.len() > 4)
            || entry.parse().is_ok_and(|n: usize| n < count)
    };
    let left = entries.iter().take_while(meant).count();
    let todo = match count {
        1 => format!("`unset {name}`; the only GPU is number 0"),
        _ => format!("`unset {name}`, or name GPUs from 0 to {}", count - 1),
    };
    if left == 0 {
        problems.error(format!("{name}={value} hides every GPU"), todo);
    } else if left < entries.len() {
        problems.warning(
            format!(
                "{name}={value}: {:?} is not a GPU of this machine; this entry and those after it are ignored",
                entries[left]
            ),
            todo,
        );
    }
    left
}

fn judge_override(version: &str, gpus: &[Gpu], problems: &mut Problems) {
    let numbers: Option<Vec<u32>> = version.split('.').map(|n| n.trim().parse().ok()).collect();
    let Some([major, minor, stepping]) = numbers.as_deref() else {
        problems.warning(
            format!("HSA_OVERRIDE_GFX_VERSION={version} is not of the form 10.3.0 (decimal: gfx90a is 9.0.10)"),
            "`unset HSA_OVERRIDE_GFX_VERSION`, or correct it",
        );
        return;
    };
    let target = format!("gfx{major}{minor:x}{stepping:x}");
    if let Some(gpu) = gpus.iter().find(|gpu| gpu.target != target) {
        problems.warning(
            format!("HSA_OVERRIDE_GFX_VERSION={version}: the {} is treated as a {target}", gpu.target),
            "nothing, if this is intended and both have the same instructions; otherwise `unset HSA_OVERRIDE_GFX_VERSION`",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how many of four GPUs `visible` leaves, and its warnings.
    fn of_four(value: &str) -> (usize, Vec<String>) {
        let mut problems = Problems::default();
        let left = visible("X", Some(value), 4, &mut problems);
        (left, problems.0.into_iter().map(|p| format!("{}: {}", p.severity, p.problem)).collect())
    }

    #[test]
    fn lists_of_gpus() {
        for whole in ["0", "0,1", "3, 2 ,1,0", "GPU-0123456789abcdef", "gpu-0123,1"] {
            let (left, said) = of_four(whole);
            assert_eq!((left, said.len()), (whole.split(',').count(), 0), "{whole}");
        }
        for none in ["", "-1", "4", "-1,0", "x", "GPU-", "é", ","] {
            assert_eq!(of_four(none), (0, vec![format!("error: X={none} hides every GPU")]));
        }
        assert_eq!(
            of_four("1,7,2"),
            (
                1,
                vec![
                    "warning: X=1,7,2: \"7\" is not a GPU of this machine; this entry and those after it are ignored"
                        .into()
                ]
            )
        );
    }
}
