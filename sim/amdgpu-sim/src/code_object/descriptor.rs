//! Kernel descriptors: the 64 bytes (`NAME.kd`) from which the hardware starts a kernel.

/// Bytes of a descriptor.
pub(crate) const SIZE: usize = 64;

/// A kernel descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelDescriptor {
    /// Static LDS of a workgroup in bytes.
    pub group_segment_fixed_size: u32,
    /// Scratch of a lane in bytes.
    pub private_segment_fixed_size: u32,
    /// Size of the kernarg segment; 0 if the compiler did not set it.
    pub kernarg_size: u32,
    /// Offset of the first instruction from the descriptor, in bytes.
    pub kernel_code_entry_byte_offset: i64,
    /// `COMPUTE_PGM_RSRC3`.
    pub compute_pgm_rsrc3: u32,
    /// `COMPUTE_PGM_RSRC1`.
    pub compute_pgm_rsrc1: u32,
    /// `COMPUTE_PGM_RSRC2`.
    pub compute_pgm_rsrc2: u32,
    /// The SGPRs that the dispatch must initialise.
    pub kernel_code_properties: u16,
    /// Kernel arguments to preload into SGPRs: length in dwords (bits 0 to 6) and offset in dwords (bits 7 to 15).
    pub kernarg_preload: u16,
}

impl KernelDescriptor {
    pub(crate) fn read(bytes: &[u8; SIZE]) -> Self {
        let u32_at = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        Self {
            group_segment_fixed_size: u32_at(0),
            private_segment_fixed_size: u32_at(4),
            kernarg_size: u32_at(8),
            kernel_code_entry_byte_offset: (u64::from(u32_at(16)) | u64::from(u32_at(20)) << 32) as i64,
            compute_pgm_rsrc3: u32_at(44),
            compute_pgm_rsrc1: u32_at(48),
            compute_pgm_rsrc2: u32_at(52),
            kernel_code_properties: u16_at(56),
            kernarg_preload: u16_at(58),
        }
    }

    fn property(&self, bit: u32) -> bool {
        self.kernel_code_properties >> bit & 1 != 0
    }

    /// Whether the scratch buffer descriptor is in 4 user SGPRs.
    pub fn private_segment_buffer(&self) -> bool {
        self.property(0)
    }

    /// Whether the address of the dispatch packet is in 2 user SGPRs.
    pub fn dispatch_ptr(&self) -> bool {
        self.property(1)
    }

    /// Whether the address of the queue is in 2 user SGPRs.
    pub fn queue_ptr(&self) -> bool {
        self.property(2)
    }

    /// Whether the address of the kernarg segment is in 2 user SGPRs.
    pub fn kernarg_segment_ptr(&self) -> bool {
        self.property(3)
    }

    /// Whether the dispatch ID is in 2 user SGPRs.
    pub fn dispatch_id(&self) -> bool {
        self.property(4)
    }

    /// Whether the flat scratch base is in 2 user SGPRs.
    pub fn flat_scratch_init(&self) -> bool {
        self.property(5)
    }

    /// Whether the scratch size of a lane is in a user SGPR.
    pub fn private_segment_size(&self) -> bool {
        self.property(6)
    }

    /// Whether waves have 32 lanes.
    pub fn wave32(&self) -> bool {
        self.property(10)
    }

    /// Whether the scratch size is not known at compile time.
    pub fn dynamic_stack(&self) -> bool {
        self.property(11)
    }

    /// Whether the wave's offset into the scratch buffer is in an SGPR, after the workgroup IDs.
    pub fn private_segment(&self) -> bool {
        self.compute_pgm_rsrc2 & 1 != 0
    }

    /// The number of SGPRs that the dispatch initialises before the workgroup IDs.
    pub fn user_sgpr_count(&self) -> u32 {
        self.compute_pgm_rsrc2 >> 1 & 0x1f
    }

    /// Which workgroup IDs (x, y, z) follow the user SGPRs.
    pub fn workgroup_ids(&self) -> [bool; 3] {
        [7, 8, 9].map(|bit| self.compute_pgm_rsrc2 >> bit & 1 != 0)
    }

    /// Whether the workgroup info is in an SGPR, after the workgroup IDs.
    pub fn workgroup_info(&self) -> bool {
        self.compute_pgm_rsrc2 >> 10 & 1 != 0
    }

    /// The number of work-item IDs besides x: 0, 1 or 2.
    pub fn work_item_ids(&self) -> u32 {
        self.compute_pgm_rsrc2 >> 11 & 3
    }

    /// The VGPRs of a wave, architected and accumulation ones together (gfx90a granules of 8).
    pub fn vgprs(&self) -> u32 {
        ((self.compute_pgm_rsrc1 & 0x3f) + 1) * 8
    }

    /// The SGPRs of a wave (granules of 16).
    pub fn sgprs(&self) -> u32 {
        // The field is in units of 8.
        (((self.compute_pgm_rsrc1 >> 6 & 0xf) / 2 + 1) * 16).min(102)
    }

    /// The first VGPR of the unified file that is an accumulation register (gfx90a and gfx942).
    pub fn accum_offset(&self) -> u32 {
        ((self.compute_pgm_rsrc3 & 0x3f) + 1) * 4
    }

    /// `FLOAT_ROUND_MODE` and `FLOAT_DENORM_MODE`: the low byte of the MODE register.
    pub fn float_mode(&self) -> u8 {
        (self.compute_pgm_rsrc1 >> 12) as u8
    }

    /// Whether NaN clamps to zero (DX10_CLAMP).
    pub fn dx10_clamp(&self) -> bool {
        self.compute_pgm_rsrc1 >> 21 & 1 != 0
    }

    /// IEEE mode: signalling NaNs are quieted.
    pub fn ieee_mode(&self) -> bool {
        self.compute_pgm_rsrc1 >> 23 & 1 != 0
    }

    /// The dwords of kernel arguments to preload into SGPRs, and their dword offset in the kernarg segment.
    pub fn preload(&self) -> (u32, u32) {
        (u32::from(self.kernarg_preload & 0x7f), u32::from(self.kernarg_preload >> 7))
    }
}
