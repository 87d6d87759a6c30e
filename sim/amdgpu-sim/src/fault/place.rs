//! The place of a fault or a finding in a dispatch.

use std::fmt;

use super::source::SourceFrame;
use crate::exec::Program;
use crate::module::Kernel;

/// The place of a fault in a dispatch.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultPlace {
    /// The workgroup's position in the grid of workgroups.
    pub workgroup: [u32; 3],
    /// The wave in the workgroup.
    pub wave: u32,
    /// The first lane that caused it, if lanes differ.
    pub lane: Option<u32>,
    /// Address of the instruction in memory.
    pub pc: u64,
    /// The instruction's offset from the kernel's entry, in bytes.
    pub offset: i64,
    /// The disassembled instruction.
    pub instruction: String,
    /// The source location, innermost inlined function first. Empty without debug information in the code object, or
    /// without the feature `profile`.
    pub source: Vec<SourceFrame>,
    /// For an access outside LDS: the static and dynamic LDS of the workgroup in bytes.
    pub lds: Option<[u32; 2]>,
}

impl FaultPlace {
    /// The place of the micro-operation `pc`.
    pub(crate) fn of(
        kernel: &Kernel,
        program: &Program,
        pc: u32,
        workgroup: [u32; 3],
        wave: u32,
        lane: Option<u32>,
    ) -> Self {
        let source = program.source_at(pc);
        let instruction = match &source.inst {
            Some(inst) => inst.to_string(),
            None => format!(".long {:#010x}", source.word),
        };
        Self {
            workgroup,
            wave,
            lane,
            pc: source.address,
            offset: source.address.wrapping_sub(kernel.inner.entry_address()) as i64,
            instruction,
            source: kernel.source_of(&[source.address]).pop().unwrap_or_default(),
            lds: None,
        }
    }
}

impl fmt::Display for FaultPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.workgroup;
        write!(f, "`{}` at {:#x} (entry {:+#x})", self.instruction, self.pc, self.offset)?;
        for (i, frame) in self.source.iter().enumerate() {
            write!(f, "{} {frame}", if i == 0 { "," } else { ", inlined into" })?;
        }
        write!(f, ", workgroup ({x}, {y}, {z}), wave {}", self.wave)?;
        match self.lane {
            Some(lane) => write!(f, ", lane {lane}"),
            None => Ok(()),
        }
    }
}
