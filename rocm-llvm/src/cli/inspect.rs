//! `rocm-llvm inspect`.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde::Serialize;

use super::file::{File, Kind};
use super::kernel::{Argument, Code, Kernel};
use super::occupancy::Limit;
use super::output::{Result, print};

/// Show the architectures and kernels in a file: arguments, registers, LDS, scratch memory, spills, occupancy.
///
/// The occupancy is the number of waves that fit on a SIMD unit given the kernel's registers and static LDS, in
/// workgroups of the best size, as Clang's `-Rpass-analysis=kernel-resource-usage` prints it. LDS that a launch adds
/// lowers it.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Inspect {
    /// A code object, object file, offload bundle, host library or program
    file: PathBuf,
    /// Only code for this architecture: gfx90a, or gfx90a:xnack-
    #[arg(long, value_name = "ARCH")]
    arch: Option<String>,
    /// Only kernels with this text in their name, mangled or not
    #[arg(long, value_name = "TEXT")]
    kernel: Option<String>,
    /// List the code objects without their kernels
    #[arg(long)]
    list: bool,
    /// Show the arguments that the compiler adds too
    #[arg(long)]
    hidden: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A file, for JSON.
#[derive(Serialize)]
struct Report {
    file: String,
    kind: &'static str,
    code_objects: Vec<Object>,
}

/// A code object, for JSON.
#[derive(Serialize)]
struct Object {
    bundle: Option<usize>,
    compressed: bool,
    id: Option<String>,
    target: Option<String>,
    bytes: usize,
    code_object_version: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    kernel_count: usize,
    kernels: Vec<Kernel>,
}

impl Inspect {
    pub(crate) fn run(&self) -> Result<()> {
        let file = File::read(&self.file)?;
        let kind = match file.kind()? {
            Kind::CodeObject => "code object",
            Kind::Bundle => "offload bundle",
            Kind::Host => "host file",
        };
        let mut report = Report { file: file.path.clone(), kind, code_objects: Vec::new() };
        let mut others = Vec::new();
        if !self.json {
            print(&format!("{}: {kind}, {} bytes\n", file.path, file.size()))?;
        }
        file.for_each(|code| {
            if !code.is_for(self.arch.as_deref()) {
                others.extend(code.target());
                return Ok(());
            }
            let read = Code::read(code.bytes);
            let error = read.as_ref().err().cloned();
            let version = read.as_ref().ok().and_then(|read| read.version);
            let mut kernels = read.map(|read| read.kernels).unwrap_or_default();
            let kernel_count = kernels.len();
            kernels.retain(|kernel| !self.list && self.wants(kernel));
            let object = Object {
                bundle: code.bundle,
                compressed: code.compressed,
                id: code.id.map(str::to_owned),
                target: code.target(),
                bytes: code.bytes.len(),
                code_object_version: version,
                error,
                kernel_count,
                kernels,
            };
            match self.json {
                true => report.code_objects.push(object),
                false => {
                    print(&self.text(&object))?;
                    // Kernels that were printed are not kept.
                    report.code_objects.push(Object { kernels: Vec::new(), ..object });
                }
            }
            Ok(())
        })?;
        if report.code_objects.is_empty() {
            others.sort();
            others.dedup();
            return Err(match &self.arch {
                Some(arch) => format!("{} has no code for {arch}: it has code for {}", file.path, others.join(", ")),
                None => format!("{} has no code for AMD GPUs", file.path),
            });
        }
        match self.json {
            true => {
                let json = serde_json::to_string_pretty(&report).map_err(|error| error.to_string())?;
                print(&(json + "\n"))
            }
            false => Ok(()),
        }
    }

    fn wants(&self, kernel: &Kernel) -> bool {
        let Some(wanted) = self.kernel.as_deref() else { return true };
        kernel.name.contains(wanted) || kernel.demangled.as_ref().is_some_and(|name| name.contains(wanted))
    }

    fn text(&self, object: &Object) -> String {
        let mut text = String::from("\n");
        text.push_str(object.target.as_deref().unwrap_or("unknown architecture"));
        if let Some(bundle) = object.bundle {
            let compressed = if object.compressed { ", compressed" } else { "" };
            let _ = write!(text, " (bundle {bundle}{compressed})");
        }
        let _ = write!(text, ": {} bytes", object.bytes);
        if let Some(version) = object.code_object_version {
            let _ = write!(text, ", code object version {version}");
        }
        let kernels = if object.kernel_count == 1 { "kernel" } else { "kernels" };
        let _ = writeln!(text, ", {} {kernels}", object.kernel_count);
        if let Some(error) = &object.error {
            let _ = writeln!(text, "  {error}");
        }
        for kernel in &object.kernels {
            self.kernel(&mut text, kernel);
        }
        text
    }

    pub(super) fn kernel(&self, text: &mut String, kernel: &Kernel) {
        let _ = writeln!(text, "\n  {}", kernel.name);
        if let Some(demangled) = &kernel.demangled {
            let _ = writeln!(text, "    {demangled}");
        }
        let agprs = kernel.agprs.map(|agprs| format!(" (AGPRs {agprs})")).unwrap_or_default();
        let _ = writeln!(
            text,
            "    VGPRs {}{agprs}, SGPRs {}, LDS {} bytes, scratch {} bytes{}",
            kernel.vgprs,
            kernel.sgprs,
            kernel.lds_bytes,
            kernel.scratch_bytes,
            if kernel.uses_dynamic_stack { " and a dynamic stack" } else { "" }
        );
        if kernel.vgpr_spills > 0 || kernel.sgpr_spills > 0 {
            let _ = writeln!(text, "    spills: VGPRs {}, SGPRs {}", kernel.vgpr_spills, kernel.sgpr_spills);
        }
        let _ = write!(text, "    wave{}, workgroups up to {}", kernel.wavefront_size, kernel.max_workgroup_size);
        if let Some(size) = &kernel.required_workgroup_size {
            let size: Vec<String> = size.iter().map(u64::to_string).collect();
            let _ = write!(text, ", required {}", size.join(" x "));
        }
        match &kernel.occupancy {
            Some(occupancy) => {
                let limit = match occupancy.limit {
                    Limit::None => "",
                    Limit::Vgprs => ", limited by VGPRs",
                    Limit::Sgprs => ", limited by SGPRs",
                    Limit::Lds => ", limited by LDS",
                };
                let _ = writeln!(
                    text,
                    ", occupancy {} of {} waves a SIMD{limit}",
                    occupancy.waves_per_simd, occupancy.most
                );
            }
            None => _ = writeln!(text, ", occupancy unknown for this architecture"),
        }
        let shown = kernel.arguments.iter().filter(|argument| self.hidden || !argument.is_hidden());
        let hidden = kernel.arguments.iter().filter(|argument| argument.is_hidden()).count();
        let _ = writeln!(text, "    arguments, {} bytes:", kernel.argument_bytes);
        shown.for_each(|argument| self.argument(text, argument));
        if hidden > 0 && !self.hidden {
            let _ = writeln!(text, "      and {hidden} hidden (--hidden shows them)");
        }
    }

    fn argument(&self, text: &mut String, argument: &Argument) {
        let _ = write!(text, "      {:>4}  {:>3} bytes  {}", argument.offset, argument.size, argument.kind);
        if let Some(space) = &argument.address_space {
            let _ = write!(text, " ({space})");
        }
        for part in [&argument.type_name, &argument.name].into_iter().flatten().filter(|part| !part.is_empty()) {
            let _ = write!(text, "  {part}");
        }
        text.push('\n');
    }
}
