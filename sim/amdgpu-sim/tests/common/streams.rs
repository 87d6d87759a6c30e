//! Random instructions: every opcode of the table, with random fields.

use amdgpu_sim::isa::{Arch, Flags, Format, Inst, Op, Type, decode};

/// A field of an encoding: lowest bit, number of bits, and the kind of values to try.
#[derive(Clone, Copy)]
struct Field(u32, u32, Kind);

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// A vector register.
    Vector,
    /// Any source of 9 bits.
    Source,
    /// A scalar source or register.
    Scalar,
    /// Flags and numbers; half of the time mostly zero bits.
    Bits,
}
use Kind::*;

/// An opcode in one of its encodings.
pub(crate) struct Form {
    pub(crate) op: Op,
    fixed: u64,
    fields: Vec<Field>,
    /// The first word may be followed by a literal.
    literal: bool,
}

/// All forms of all instructions of `arch` for which `wanted` holds.
pub(crate) fn forms(arch: Arch, wanted: impl Fn(Op) -> bool) -> Vec<Form> {
    Op::ALL.iter().copied().filter(|op| wanted(*op)).flat_map(|op| forms_of(op, arch)).collect()
}

fn forms_of(op: Op, arch: Arch) -> Vec<Form> {
    let info = op.info();
    let Some(code) = info.opcode[arch as usize].map(u64::from) else { return Vec::new() };
    let mut all = Vec::new();
    let mut add =
        |fixed: u64, literal, fields: &[Field]| all.push(Form { op, fixed, fields: fields.to_vec(), literal });
    let (sdst, ssrc0, ssrc1) = (Field(16, 7, Scalar), Field(0, 8, Scalar), Field(8, 8, Scalar));
    let vop3 = [
        Field(0, 8, if info.is(Flags::scalar_dst) || info.format == Format::Vopc { Scalar } else { Vector }),
        Field(8, 8, Bits),
        Field(32, 9, Source),
        Field(41, 9, Source),
        Field(50, 9, Source),
        Field(59, 5, Bits),
    ];
    match info.format {
        Format::Sop2 => add(2 << 30 | code << 23, true, &[ssrc0, ssrc1, sdst]),
        Format::Sop1 => add(0x17d << 23 | code << 8, true, &[ssrc0, sdst]),
        Format::Sopc => add(0x17e << 23 | code << 16, true, &[ssrc0, ssrc1]),
        Format::Sopk => add(0xb << 28 | code << 23, true, &[Field(0, 16, Bits), sdst]),
        Format::Sopp => add(0x17f << 23 | code << 16, false, &[Field(0, 16, Bits)]),
        Format::Smem => {
            let fields =
                [Field(0, 6, Bits), Field(6, 7, Scalar), Field(13, 5, Bits), Field(32, 21, Bits), Field(57, 7, Scalar)];
            add(0x30 << 26 | code << 18, false, &fields);
        }
        Format::Vop1 | Format::Vop2 | Format::Vopc => {
            let (fixed, e64) = match info.format {
                Format::Vop1 => (0x3f << 25 | code << 9, 0x140),
                Format::Vop2 => (code << 25, 0x100),
                _ => (0x3e << 25 | code << 17, 0),
            };
            let vdst = Field(17, 8, if info.is(Flags::scalar_dst) { Scalar } else { Vector });
            let registers = match info.format {
                Format::Vop1 => vec![vdst],
                Format::Vop2 => vec![vdst, Field(9, 8, Vector)],
                _ => vec![Field(9, 8, Vector)],
            };
            add(fixed, true, &[&registers[..], &[Field(0, 9, Source)]].concat());
            if !info.is(Flags::no_e64) {
                add(0x34 << 26 | (code + e64) << 16, false, &vop3);
            }
            if !info.is(Flags::no_sdwa) {
                add(fixed | 249, false, &[&registers[..], &[Field(32, 8, Vector), Field(40, 24, Bits)]].concat());
            }
            if !info.is(Flags::no_dpp) && info.format != Format::Vopc {
                add(fixed | 250, false, &[&registers[..], &[Field(32, 8, Vector), Field(40, 24, Bits)]].concat());
            }
        }
        Format::Vop3 | Format::Vop3b => add(0x34 << 26 | code << 16, false, &vop3),
        Format::Vop3p => add(0x1a7 << 23 | code << 16, false, &vop3),
        Format::Ds => {
            let registers = [(info.src[0], 32), (info.src[1], 40), (info.src[2], 48), (info.dst, 56)];
            let registers = registers.iter().filter(|(ty, _)| *ty != Type::None).map(|(_, low)| Field(*low, 8, Vector));
            let fields: Vec<_> = [Field(0, 16, Bits), Field(25, 1, Bits)].into_iter().chain(registers).collect();
            add(0x36 << 26 | u64::from(info.is(Flags::gds)) << 16 | code << 17, false, &fields);
        }
        Format::Flat | Format::Global | Format::Scratch => {
            let segment = match info.format {
                Format::Flat => 0,
                Format::Scratch => 1,
                _ => 2,
            };
            let fields = [
                Field(0, 14, Bits),
                Field(16, 2, Bits),
                Field(25, 1, Bits),
                Field(32, 8, Vector),
                Field(40, 8, Vector),
                Field(55, 1, Bits),
                Field(56, 8, Vector),
            ];
            // Without a scalar address, and with.
            let fixed = 0x37 << 26 | code << 18 | segment << 14;
            add(fixed | if segment == 0 { 0 } else { 0x7f << 48 }, false, &fields);
            if segment != 0 {
                add(fixed, false, &[&fields[..], &[Field(48, 7, Scalar)]].concat());
            }
        }
        Format::Mubuf | Format::Mtbuf | Format::Mimg => {
            let fixed = match info.format {
                Format::Mubuf => 0x38 << 26 | code << 18,
                Format::Mtbuf => 0x3a << 26 | code << 15,
                _ => 0x3c << 26 | code << 18,
            };
            let free = match info.format {
                Format::Mubuf => vec![Field(0, 18, Bits), Field(25, 1, Bits)],
                Format::Mtbuf => vec![Field(0, 15, Bits), Field(19, 7, Bits)],
                _ => vec![Field(8, 10, Bits), Field(25, 1, Bits)],
            };
            let fields = [
                Field(32, 8, Vector),
                Field(40, 8, Vector),
                Field(48, 5, Bits),
                Field(53, 3, Bits),
                Field(56, 8, Scalar),
            ];
            add(fixed, false, &[&free[..], &fields].concat());
        }
        Format::Sdwa | Format::Dpp | Format::Vintrp | Format::Exp => {}
    }
    all
}

impl Form {
    /// The words of the instruction with random fields: the used ones, and the decoded instruction. `None` if the
    /// fields contradict each other.
    pub(crate) fn words(&self, arch: Arch, random: &mut dyn FnMut() -> u64) -> Option<(Vec<u32>, Inst)> {
        let mut bits = self.fixed;
        for &Field(low, width, kind) in &self.fields {
            let any = random();
            let few = random() % 4 != 0;
            let value = match kind {
                // Few registers, so that one instruction's result is another's operand; occasionally the last ones, which wide operands
                // exceed.
                Vector if few => any % 12,
                Vector if any % 3 == 0 => 255 - any / 3 % 4,
                Vector => any,
                Source if few => [256 + any % 12, any % 24, 128 + any % 80, 240 + any % 8][(any >> 32) as usize % 4],
                Source => any,
                // Register numbers that most operands accept: multiples of four.
                Scalar if few => any % 6 * 4,
                Scalar => any,
                Bits if few => any & random() & random(),
                Bits => any,
            };
            bits |= (value & ((1 << width) - 1)) << low;
        }
        let third = random() as u32;
        let words = [bits as u32, if self.literal { third } else { (bits >> 32) as u32 }, third];
        let inst = decode(&words, arch).ok().filter(|inst| inst.op == self.op)?;
        Some((words[..usize::from(inst.size) / 4].to_vec(), inst))
    }
}
