//! Immediate fields that have a syntax of their own.

use super::{Printer, put};
use crate::isa::{Arch, Format, Type};
use std::fmt::Write;

fn hardware_register(id: u32, arch: Arch) -> Option<&'static str> {
    Some(match id {
        1 => "HW_REG_MODE",
        2 => "HW_REG_STATUS",
        3 => "HW_REG_TRAPSTS",
        4 => "HW_REG_HW_ID",
        5 => "HW_REG_GPR_ALLOC",
        6 => "HW_REG_LDS_ALLOC",
        7 => "HW_REG_IB_STS",
        15 => "HW_REG_SH_MEM_BASES",
        16 => "HW_REG_TBA_LO",
        17 => "HW_REG_TBA_HI",
        18 => "HW_REG_TMA_LO",
        19 => "HW_REG_TMA_HI",
        _ if arch != Arch::Gfx942 => return None,
        20 => "HW_REG_XCC_ID",
        21 => "HW_REG_SQ_PERF_SNAPSHOT_DATA",
        22 => "HW_REG_SQ_PERF_SNAPSHOT_DATA1",
        23 => "HW_REG_SQ_PERF_SNAPSHOT_PC_LO",
        24 => "HW_REG_SQ_PERF_SNAPSHOT_PC_HI",
        _ => return None,
    })
}

const GS_OPERATIONS: [&str; 4] = ["GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"];

/// The names of a message and of its operation, and whether it has a stream.
fn message(id: u32, operation: u32, stream: u32) -> Option<(&'static str, Option<&'static str>, bool)> {
    let plain = |name| (operation == 0 && stream == 0).then_some((name, None, false));
    match id {
        1 => plain("MSG_INTERRUPT"),
        2 if (1..4).contains(&operation) => Some(("MSG_GS", Some(GS_OPERATIONS[operation as usize]), true)),
        3 if (1..4).contains(&operation) => Some(("MSG_GS_DONE", Some(GS_OPERATIONS[operation as usize]), true)),
        3 if operation == 0 && stream == 0 => Some(("MSG_GS_DONE", Some(GS_OPERATIONS[0]), false)),
        4 => plain("MSG_SAVEWAVE"),
        5 => plain("MSG_STALL_WAVE_GEN"),
        6 => plain("MSG_HALT_WAVES"),
        7 => plain("MSG_ORDERED_PS_DONE"),
        8 => plain("MSG_EARLY_PRIM_DEALLOC"),
        9 => plain("MSG_GS_ALLOC_REQ"),
        10 => plain("MSG_GET_DOORBELL"),
        15 if stream == 0 => {
            let operation = match operation {
                1 => "SYSMSG_OP_ECC_ERR_INTERRUPT",
                2 => "SYSMSG_OP_REG_RD",
                4 => "SYSMSG_OP_TTRACE_PC",
                _ => return None,
            };
            Some(("MSG_SYSMSG", Some(operation), false))
        }
        _ => None,
    }
}

const DATA_FORMATS: [&str; 16] = [
    "INVALID",
    "8",
    "16",
    "8_8",
    "32",
    "16_16",
    "10_11_11",
    "11_11_10",
    "10_10_10_2",
    "2_10_10_10",
    "8_8_8_8",
    "32_32",
    "16_16_16_16",
    "32_32_32",
    "32_32_32_32",
    "RESERVED_15",
];
const NUMBER_FORMATS: [&str; 8] = ["UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "RESERVED_6", "FLOAT"];
/// The format if the text has no `format`: 8 bits, normalised.
const DEFAULT_FORMAT: (u8, u8) = (1, 0);

impl Printer<'_> {
    /// An immediate field of the encoding.
    pub(super) fn field(&mut self, value: i32, ty: Type) {
        let bits = value as u32 & 0xffff;
        match ty {
            Type::HwReg => self.hwreg(bits),
            Type::SendMsg => self.sendmsg(bits),
            Type::WaitCnt => self.waitcnt(bits),
            Type::GprIdx => self.gpr_idx(bits),
            Type::Branch => {
                put!(self, "{bits}");
            }
            _ if matches!(self.inst.format, Format::Sopp | Format::Smem) && bits <= 64 => {
                put!(self, "{bits}");
            }
            _ => {
                put!(self, "{bits:#x}");
            }
        }
    }

    fn hwreg(&mut self, bits: u32) {
        let (id, offset, size) = (bits & 0x3f, bits >> 6 & 0x1f, (bits >> 11) + 1);
        self.text.push_str("hwreg(");
        match hardware_register(id, self.arch) {
            Some(name) => self.text.push_str(name),
            None => {
                put!(self, "{id}");
            }
        }
        if (offset, size) != (0, 32) {
            put!(self, ", {offset}, {size}");
        }
        self.text.push(')');
    }

    fn sendmsg(&mut self, bits: u32) {
        let (id, operation, stream) = (bits & 0xf, bits >> 4 & 7, bits >> 8 & 3);
        match message(id, operation, stream) {
            Some((name, None, _)) => {
                put!(self, "sendmsg({name})");
            }
            Some((name, Some(operation), false)) => {
                put!(self, "sendmsg({name}, {operation})");
            }
            Some((name, Some(operation), true)) => {
                put!(self, "sendmsg({name}, {operation}, {stream})");
            }
            None if bits & !0x37f != 0 => {
                put!(self, "{bits}");
            }
            None => {
                put!(self, "sendmsg({id}, {operation}, {stream})");
            }
        }
    }

    fn waitcnt(&mut self, bits: u32) {
        let counters = [
            ("vmcnt", bits & 0xf | (bits >> 14) << 4, 63),
            ("expcnt", bits >> 4 & 7, 7),
            ("lgkmcnt", bits >> 8 & 0xf, 15),
        ];
        // A wait without any limit is printed in full.
        let nothing = counters.iter().all(|(_, count, all)| count == all);
        let shown = counters.iter().filter(|(_, count, all)| nothing || count != all);
        for (i, (name, count, _)) in shown.enumerate() {
            put!(self, "{}{name}({count})", if i == 0 { "" } else { " " });
        }
    }

    fn gpr_idx(&mut self, bits: u32) {
        if bits > 15 {
            put!(self, "{bits:#x}");
            return;
        }
        let names: Vec<&str> = ["SRC0", "SRC1", "SRC2", "DST"]
            .into_iter()
            .enumerate()
            .filter(|(i, _)| bits >> i & 1 == 1)
            .map(|(_, name)| name)
            .collect();
        put!(self, "gpr_idx({})", names.join(","));
    }

    pub(super) fn buffer_format(&mut self, format: u8) {
        let (data, number) = (format & 15, format >> 4);
        let mut names = Vec::new();
        if data != DEFAULT_FORMAT.0 {
            names.push(format!("BUF_DATA_FORMAT_{}", DATA_FORMATS[usize::from(data)]));
        }
        if number != DEFAULT_FORMAT.1 {
            names.push(format!("BUF_NUM_FORMAT_{}", NUMBER_FORMATS[usize::from(number & 7)]));
        }
        if !names.is_empty() {
            put!(self, " format:[{}]", names.join(","));
        }
    }

    /// The pattern in the offset of `ds_swizzle_b32`.
    pub(super) fn swizzle(&mut self, bits: u32) {
        if bits >= 0xe000 {
            put!(self, "swizzle(FFT,{})", bits & 0x1f);
        } else if bits >= 0xc000 {
            put!(self, "swizzle(ROTATE,{},{})", bits >> 10 & 1, bits >> 5 & 0x1f);
        } else if bits & 0xff00 == 0x8000 {
            let lane = |i: u32| bits >> (2 * i) & 3;
            put!(self, "swizzle(QUAD_PERM,{},{},{},{})", lane(0), lane(1), lane(2), lane(3));
        } else if bits & 0x8000 == 0 {
            self.swizzle_masks(bits & 0x1f, bits >> 5 & 0x1f, bits >> 10 & 0x1f);
        } else {
            put!(self, "{bits}");
        }
    }

    fn swizzle_masks(&mut self, and: u32, or: u32, xor: u32) {
        let group = 0x1f - and + 1;
        if and == 0x1f && or == 0 && xor.is_power_of_two() {
            put!(self, "swizzle(SWAP,{xor})");
        } else if and == 0x1f && or == 0 && xor > 0 && (xor + 1).is_power_of_two() {
            put!(self, "swizzle(REVERSE,{})", xor + 1);
        } else if group > 1 && group.is_power_of_two() && or < group && xor == 0 {
            put!(self, "swizzle(BROADCAST,{group},{or})");
        } else {
            // Each bit of the lane number: kept, inverted, or set to a constant.
            let of_zeros = or ^ xor;
            let of_ones = (and | or) ^ xor;
            let pattern: String = (0..5)
                .rev()
                .map(|i| match (of_zeros >> i & 1, of_ones >> i & 1) {
                    (0, 0) => '0',
                    (1, 1) => '1',
                    (0, _) => 'p',
                    _ => 'i',
                })
                .collect();
            put!(self, "swizzle(BITMASK_PERM,\"{pattern}\")");
        }
    }
}
