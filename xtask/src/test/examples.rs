//! The steps `examples`: builds and runs every example with README's command, on the software GPU and on each ROCm
//! release's own runtime.

use std::process::{Command, Output};

use anyhow::{Context, Result, bail};

use crate::cargo::checked_cargo;
use crate::hsa::hsa_ready;
use crate::hsa::{self, Profile};
use crate::process::{messages, program, shown};
use crate::rocm::Release;
use crate::steps::Step;
use crate::workspace;

/// Examples that end with an expected error on a release: the example, the release, a part of the message.
const REFUSED: [(&str, &str, &str); 1] = [
    // The runtime of 5.7 maps memory through AMD's driver, not through HSA, which hsa-sim replaces.
    ("vmm", "5.7", "hipMemMap failed"),
];

/// Messages of an example that only found the built-in software GPU, or no compiler.
const NOT_REAL: [&str; 2] = ["running on the software GPU", "No run-time compiler here"];

/// The packages of the examples: kernels in HIP C++ and in Rust.
pub(crate) const PACKAGES: [&str; 2] = ["rocm-examples", "rust-kernels"];

/// Returns the names of all examples.
fn names() -> Result<Vec<String>> {
    let packages = workspace::packages()?;
    let named = |name: &&str| packages.iter().find(|package| package.name == *name);
    let all = PACKAGES.iter().map(|name| named(name).with_context(|| format!("the workspace has no {name}")));
    Ok(all.collect::<Result<Vec<_>>>()?.into_iter().flat_map(|package| package.examples.clone()).collect())
}

/// Each example runs to its end on the software GPU with the right result.
pub(crate) fn simulated(offline: bool) -> Result<Step> {
    let run = |name: &String| {
        let mut command = checked_cargo("run", offline);
        command.args(["--example", name]).env("HIP_RS_BACKEND", "sim");
        command
    };
    // README's own program under all checks, for both processors.
    let checked = ["gfx90a", "gfx942"].map(|arch| {
        let mut command = run(&"vector_add".to_owned());
        command.envs([("HIP_SIM_CHECK", "all"), ("HIP_SIM_ARCH", arch)]);
        command
    });
    let commands = names()?.iter().map(run).chain(checked).collect();
    Ok(Step::commands("examples", "every example on the software GPU, by README's command", commands))
}

/// Each example, built with README's command, runs to its end on a release's own HIP runtime and compiler.
pub(crate) fn real(release: &'static Release, offline: bool) -> Result<Step> {
    let names = names()?;
    let about = format!("every example on the real HIP runtime of ROCm {}, over the software GPU", release.name);
    let call = move || {
        // No package and no feature is named, so that the workspace's root determines them.
        let messages = messages(checked_cargo("build", offline).arg("--examples"))?;
        let mut wrong = Vec::new();
        for name in &names {
            let program = program(&messages, "example", name)?;
            let mut command = hsa::program_on(&program, release, Profile::Dev);
            if name == "peer" {
                command.env("HIP_SIM_DEVICES", "2");
            }
            match judge(name, release.name, &run(&mut command)?) {
                Ok(line) => println!("{line}"),
                Err(why) => wrong.push(why),
            }
        }
        if wrong.is_empty() { Ok(()) } else { bail!("{}", wrong.join("\n")) }
    };
    Ok(Step::call(format!("examples {}", release.name), about, call).when(hsa_ready(release)))
}

fn run(command: &mut Command) -> Result<Output> {
    command.output().with_context(|| format!("starting {}", shown(command)))
}

/// Returns the report of a run, or what is wrong with it.
fn judge(name: &str, release: &str, output: &Output) -> Result<String, String> {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let wrong = |why: &str| Err(format!("{name} on {release}: {why}; it wrote\n{out}{err}"));
    if let Some(said) = NOT_REAL.iter().find(|said| err.contains(**said)) {
        return wrong(&format!("it says {said:?}"));
    }
    let refused = REFUSED.iter().find(|(refused, of, _)| (*refused, *of) == (name, release));
    match (output.status.success(), refused) {
        (true, None) if out.trim().is_empty() => wrong("it wrote nothing"),
        (true, None) => Ok(out.lines().last().unwrap_or_default().to_owned()),
        (true, Some(_)) => wrong("it was expected to be refused"),
        (false, Some((.., said))) if err.contains(said) => Ok(format!("{name}: refused, as expected: {said}")),
        (false, _) => wrong(&format!("{}", output.status)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    fn output(code: i32, out: &str, err: &str) -> Output {
        let status = std::process::ExitStatus::from_raw(code << 8);
        Output { status, stdout: out.into(), stderr: err.into() }
    }

    #[test]
    fn only_what_is_right_on_the_release_itself_is_right() {
        let well = judge("saxpy", "7.2", &output(0, "first\nsaxpy: all right\n", "Running on AMD Instinct"));
        assert_eq!(well.unwrap(), "saxpy: all right");
        for (name, release, output, why) in [
            ("saxpy", "7.2", output(1, "", "Error: hipMemMap failed"), "exit status: 1"),
            ("saxpy", "7.2", output(0, "", ""), "wrote nothing"),
            ("saxpy", "7.2", output(0, "all right", "No AMD GPU here: running on the software GPU"), "it says"),
            ("saxpy", "5.7", output(0, "all right", "No run-time compiler here: using"), "it says"),
            ("vmm", "5.7", output(0, "all right", ""), "expected to be refused"),
            ("vmm", "5.7", output(101, "", "panicked"), "exit status: 101"),
            ("vmm", "7.2", output(1, "", "Error: hipMemMap failed"), "exit status: 1"),
        ] {
            let error = judge(name, release, &output).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        assert!(judge("vmm", "5.7", &output(1, "", "Error: hipMemMap failed")).is_ok());
    }
}
