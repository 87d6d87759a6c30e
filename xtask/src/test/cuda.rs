//! The steps `cuda-compat` on a ROCm release.

use std::path::Path;

use super::rccl::on_rccl;
use crate::cargo::{checked_cargo, feature, named_tests, packages, programs};
use crate::hsa::{self as hsa_sim, Profile, hsa_ready};
use crate::rocm::Release;
use crate::steps::Step;

/// Returns the features of `cuda-compat` for a release: the same every time, so that nothing is built twice.
fn cuda_features(release: &Release) -> String {
    format!("{},cli,sim,f16,cublas,cublaslt,curand,cufft,cusolver,cusparse,nccl", feature(release))
}

/// Returns the tests of CUDA's names on a release's own HIP runtime and compiler, over the software GPU.
pub(super) fn cuda(release: &'static Release, offline: bool) -> Step {
    let features = cuda_features(release);
    let with = ["--no-default-features", "--features", &features];
    let test = |words: &[&str]| {
        let mut command = checked_cargo("test", offline);
        command.args(packages(&["cuda-compat"])).args(with).args(words);
        hsa_sim::run_on(&mut command, release, Profile::Dev);
        command
    };
    let mut commands = vec![test(&["--tests", "--no-fail-fast"])];
    let names = ["blas_gemm", "cuda_vector_add", "cuda_streams", "templates"];
    let on = |path: &Path| hsa_sim::program_on(path, release, Profile::Dev);
    commands.extend(programs("cuda-compat", &with, &names, offline, on));
    // The code that HIPRTC compiled also runs on the embedded runtime.
    let mut embedded = test(&named_tests(&["kernels", "toolkit"]));
    embedded.env("HIP_RS_BACKEND", "sim");
    commands.push(embedded);
    let about = format!("CUDA's names on ROCm {}, over the software GPU", release.name);
    let step = Step::commands(format!("cuda-compat {}", release.name), about, commands);
    step.when(hsa_ready(release)).suite_of(&["cuda-compat"])
}

/// Returns the tests of `cuda-compat`'s replacement of NCCL, over two software GPUs.
pub(super) fn cuda_ranks(release: &'static Release, offline: bool) -> Step {
    let mut ranks = checked_cargo("test", offline);
    ranks.args(packages(&["cuda-compat"])).args(["--no-default-features", "--features", &cuda_features(release)]);
    ranks.args(named_tests(&["libraries"]));
    hsa_sim::run_on_several(&mut ranks, release, 2);
    ranks.args(["--", "nccl::"]);
    let about = format!("NCCL in cudarc's shape on RCCL of ROCm {}, over two software GPUs", release.name);
    let commands = vec![hsa_sim::build_command(offline), ranks];
    on_rccl(format!("cuda-compat nccl {}", release.name), release, about, commands).suite_of(&["cuda-compat"])
}
