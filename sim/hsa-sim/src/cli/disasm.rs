//! Disassembling kernels.

use std::io::{self, ErrorKind, Write as _};
use std::path::PathBuf;

use amdgpu_sim::bundle::{Bundle, is_bundle};
use amdgpu_sim::{Arch as SimArch, CodeObject, Config, Gpu, Kernel, isa};
use anyhow::{Context as _, Result, bail};
use clap::Args;

use super::gpu::Arch;

/// `hip-sim disasm`.
#[derive(Debug, Args)]
pub(super) struct Disasm {
    /// The file
    file: PathBuf,
    /// Only this kernel; may be given several times
    #[arg(long, value_name = "NAME")]
    kernel: Vec<String>,
    /// The processor to choose from a bundle
    #[arg(long, value_enum, default_value = "gfx90a")]
    arch: Arch,
    /// Names and sizes only
    #[arg(long)]
    list: bool,
}

impl Disasm {
    pub(super) fn run(&self) -> Result<()> {
        let bytes = std::fs::read(&self.file).with_context(|| format!("reading {}", self.file.display()))?;
        let wanted = match self.arch {
            Arch::Gfx90a => SimArch::Gfx90a,
            Arch::Gfx942 => SimArch::Gfx942,
        };
        let mut gpu = Gpu::new(Config { arch: wanted, ..Config::default() });
        let code = if is_bundle(&bytes) {
            let bundle = Bundle::open(&bytes)?;
            let entry = bundle.best(&gpu.target()).with_context(|| {
                let targets: Vec<_> = bundle.entries().iter().map(|entry| format!("{entry:?}")).collect();
                format!("no code for {} in {}; it has {}", gpu.target(), self.file.display(), targets.join(", "))
            })?;
            CodeObject::parse(&bundle.code(entry)?)?
        } else {
            let code = CodeObject::parse(&bytes)?;
            let arch =
                [SimArch::Gfx90a, SimArch::Gfx942].into_iter().find(|arch| arch.name() == code.target().processor);
            let arch = arch.with_context(|| format!("{}: code for {}", self.file.display(), code.target()))?;
            gpu = Gpu::new(Config { arch, ..Config::default() });
            code
        };
        let arch = gpu.config().arch;
        let module = gpu.load_with(&code, &|_| Some(0))?;
        let mut kernels: Vec<Kernel> = module.kernels().cloned().collect();
        kernels.sort_by_key(entry);
        let all: Vec<u64> = kernels.iter().map(entry).collect();
        for name in &self.kernel {
            if !kernels.iter().any(|kernel| kernel.info().name == *name) {
                let names: Vec<_> = kernels.iter().map(|kernel| kernel.info().name.clone()).collect();
                bail!("no kernel {name:?} in {}; it has {}", self.file.display(), names.join(", "));
            }
        }
        for kernel in &kernels {
            let info = kernel.info();
            if !self.kernel.is_empty() && !self.kernel.contains(&info.name) {
                continue;
            }
            let start = entry(kernel);
            let segment = gpu.memory().find(start).context("a kernel without code")?;
            let next = all.iter().copied().find(|other| *other > start).unwrap_or(u64::MAX);
            let mut bytes = vec![0; (next.min(segment.end()) - start) as usize];
            gpu.memory().read(start, &mut bytes)?;
            let words: Vec<u32> = bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect();
            let lines = lines(&words, arch);
            let mut out = io::BufWriter::new(io::stdout().lock());
            let mut write = || {
                writeln!(
                    out,
                    "{}: {} instructions; {} VGPRs, {} AGPRs, {} SGPRs, {} bytes of LDS, {} of scratch, {} of arguments",
                    info.name,
                    lines.len(),
                    info.vgpr_count,
                    info.agpr_count,
                    info.sgpr_count,
                    info.lds_size,
                    info.private_size,
                    info.kernarg_size,
                )?;
                let shown = if self.list { &[] } else { &lines[..] };
                shown.iter().try_for_each(|(offset, text)| writeln!(out, "  {offset:6x}:  {text}"))?;
                out.flush()
            };
            match write() {
                // The reader may close the pipe early, as `head` does.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
                written => written.context("writing to stdout")?,
            }
        }
        Ok(())
    }
}

/// The address of a kernel's first instruction.
fn entry(kernel: &Kernel) -> u64 {
    kernel.descriptor_address().wrapping_add_signed(kernel.info().descriptor.kernel_code_entry_byte_offset)
}

/// The instructions with their offsets, up to the last one that ends a wave. Padding follows it.
fn lines(words: &[u32], arch: SimArch) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let (mut at, mut end) = (0, 0);
    while at < words.len() {
        let (text, size) = match isa::decode(&words[at..], arch) {
            Ok(inst) => (isa::disassemble(&inst, arch), usize::from(inst.size / 4).max(1)),
            Err(_) => (format!(".long {:#010x}", words[at]), 1),
        };
        let ends = ["s_endpgm", "s_setpc_b64", "s_branch"].iter().any(|name| text.starts_with(name));
        lines.push((4 * at, text));
        if ends {
            end = lines.len();
        }
        at += size;
    }
    lines.truncate(if end > 0 { end } else { lines.len() });
    lines
}
