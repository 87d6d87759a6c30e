//! Instruction words to try: systematic over the table, and pseudo-random in every encoding.

use amdgpu_sim::isa::{Arch, Flags, Format, Op, Type};

/// The kind of a field, which determines the values to try in it.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Shape {
    /// Vector register number.
    Vector,
    /// 9-bit source: anything.
    Source,
    /// 8-bit scalar source.
    ScalarSource,
    /// 7-bit scalar register.
    ScalarRegister,
    /// SDWA selection: 6 is all of it, 7 does not exist (and crashes LLVM).
    Selection,
    /// Flags and numbers.
    Raw,
}
use Shape::*;

/// An encoding: its fixed bits, its fields as (lowest bit of 64, bits, shape).
pub(crate) struct Encoding {
    name: &'static str,
    fixed: u64,
    opcode: u32,
    fields: Vec<(u32, u32, Shape)>,
    /// A literal may follow the first word.
    literal: bool,
}

fn vop3_fields() -> Vec<(u32, u32, Shape)> {
    vec![
        (0, 8, Vector),
        (8, 3, Raw),
        (11, 4, Raw),
        (15, 1, Raw),
        (32, 9, Source),
        (41, 9, Source),
        (50, 9, Source),
        (59, 2, Raw),
        (61, 3, Raw),
    ]
}

fn sdwa_source(low: u32) -> Vec<(u32, u32, Shape)> {
    vec![(low, 3, Selection), (low + 3, 1, Raw), (low + 4, 2, Raw), (low + 7, 1, Raw)]
}

fn encodings_of(op: Op, arch: Arch) -> Vec<(Encoding, u32)> {
    let info = op.info();
    let Some(code) = info.opcode[arch as usize].map(u32::from) else { return Vec::new() };
    let mut all = Vec::new();
    let mut add = |name, fixed: u64, opcode, code, literal, fields| {
        all.push((Encoding { name, fixed, opcode, fields, literal }, code));
    };
    let vector_if = |ty, low| (ty != Type::None).then_some((low, 8, Vector));
    match info.format {
        Format::Sop2 => add(
            "SOP2",
            2 << 30,
            23,
            code,
            true,
            vec![(0, 8, ScalarSource), (8, 8, ScalarSource), (16, 7, ScalarRegister)],
        ),
        Format::Sop1 => {
            add("SOP1", 0x17d << 23, 8, code, true, vec![(0, 8, ScalarSource), (16, 7, ScalarRegister)]);
        }
        Format::Sopc => add("SOPC", 0x17e << 23, 16, code, true, vec![(0, 8, ScalarSource), (8, 8, ScalarSource)]),
        Format::Sopk => add("SOPK", 0xb << 28, 23, code, true, vec![(0, 16, Raw), (16, 7, ScalarRegister)]),
        Format::Sopp => add("SOPP", 0x17f << 23, 16, code, false, vec![(0, 16, Raw)]),
        Format::Smem => add(
            "SMEM",
            0x30 << 26,
            18,
            code,
            false,
            vec![(0, 6, Raw), (6, 7, ScalarRegister), (13, 5, Raw), (32, 21, Raw), (57, 7, ScalarRegister)],
        ),
        Format::Vop1 | Format::Vop2 | Format::Vopc => {
            let (name, fixed, opcode, e64, vdst, vsrc1): (_, u64, _, _, Option<u32>, Option<u32>) = match info.format {
                Format::Vop1 => ("VOP1", 0x3f << 25, 9, 0x140, Some(17), None),
                Format::Vop2 => ("VOP2", 0, 25, 0x100, Some(17), Some(9)),
                _ => ("VOPC", 0x3e << 25, 17, 0, None, Some(9)),
            };
            let registers = || -> Vec<_> { vdst.into_iter().chain(vsrc1).map(|low| (low, 8, Vector)).collect() };
            let mut fields = registers();
            fields.push((0, 9, Source));
            add(name, fixed, opcode, code, true, fields);
            if !info.is(Flags::no_e64) {
                add("VOP3 (e64)", 0x34 << 26, 16, code + e64, false, vop3_fields());
            }
            if !info.is(Flags::no_sdwa) {
                let mut fields = registers();
                fields.push((32, 8, Vector));
                if info.format == Format::Vopc {
                    fields.extend([(40, 7, ScalarRegister), (47, 1, Raw)]);
                } else {
                    fields.extend([(40, 3, Selection), (43, 1, Raw), (45, 1, Raw), (46, 2, Raw)]);
                }
                fields.extend(sdwa_source(48));
                if info.format != Format::Vop1 {
                    fields.extend(sdwa_source(56));
                }
                add("SDWA", fixed | 249, opcode, code, false, fields);
            }
            if !info.is(Flags::no_dpp) && info.format != Format::Vopc {
                let mut fields = registers();
                fields.extend([(32, 8, Vector), (40, 9, Raw), (51, 1, Raw), (52, 4, Raw), (56, 8, Raw)]);
                add("DPP", fixed | 250, opcode, code, false, fields);
            }
        }
        Format::Vop3 => add("VOP3", 0x34 << 26, 16, code, false, vop3_fields()),
        Format::Vop3p => add("VOP3P", 0x1a7 << 23, 16, code, false, vop3_fields()),
        Format::Ds => {
            let gds = if info.is(Flags::gds) { 1 << 16 } else { 0 };
            let mut fields = vec![(0, 8, Raw), (8, 8, Raw), (16, 1, Raw), (25, 1, Raw)];
            fields.extend(vector_if(info.src[0], 32));
            fields.extend(vector_if(info.src[1], 40));
            fields.extend(vector_if(info.src[2], 48));
            fields.extend(vector_if(info.dst, 56));
            add("DS", 0x36 << 26 | gds, 17, code, false, fields);
        }
        Format::Flat | Format::Global | Format::Scratch => {
            let (name, segment, saddr): (_, u64, u64) = match info.format {
                Format::Flat => ("FLAT", 0, 0),
                Format::Scratch => ("SCRATCH", 1, 0x7f),
                _ => ("GLOBAL", 2, 0x7f),
            };
            let fields = |with_saddr| {
                let mut fields =
                    vec![(0, 13, Raw), (13, 1, Raw), (16, 2, Raw), (25, 1, Raw), (32, 8, Vector), (40, 8, Vector)];
                if with_saddr {
                    fields.push((48, 7, ScalarRegister));
                }
                fields.extend([(55, 1, Raw), (56, 8, Vector)]);
                fields
            };
            add(name, 0x37 << 26 | segment << 14 | saddr << 48, 18, code, false, fields(false));
            if segment != 0 {
                add(name, 0x37 << 26 | segment << 14, 18, code, false, fields(true));
            }
        }
        Format::Mubuf => {
            let lds = if info.is(Flags::lds_only) { 1 << 16 } else { 0 };
            add(
                "MUBUF",
                0x38 << 26 | lds,
                18,
                code,
                false,
                vec![
                    (0, 12, Raw),
                    (12, 2, Raw),
                    (14, 4, Raw),
                    (32, 8, Vector),
                    (40, 8, Vector),
                    (48, 5, Raw),
                    (55, 1, Raw),
                    (56, 8, ScalarSource),
                ],
            );
        }
        Format::Mtbuf => add(
            "MTBUF",
            0x3a << 26,
            15,
            code,
            false,
            vec![
                (0, 12, Raw),
                (12, 3, Raw),
                (19, 7, Raw),
                (32, 8, Vector),
                (40, 8, Vector),
                (48, 5, Raw),
                (53, 3, Raw),
                (56, 8, ScalarSource),
            ],
        ),
        Format::Mimg => {
            let sampler = (info.src[3] != Type::None).then_some((53, 5, Raw));
            let mut fields = vec![
                (7, 1, Raw),
                (8, 4, Raw),
                (12, 1, Raw),
                (13, 5, Raw),
                (25, 1, Raw),
                (32, 8, Vector),
                (40, 8, Vector),
                (48, 5, Raw),
                (63, 1, Raw),
            ];
            fields.extend(sampler);
            add("MIMG", 0x3c << 26, 18, code, false, fields);
        }
        // No instruction of these architectures has another native encoding.
        _ => {}
    }
    all
}

/// Literals: ordinary ones, and those that equal an inline constant of some type.
const LITERALS: [u32; 24] = [
    0x1234_5678,
    0x9122_3344,
    0,
    1,
    5,
    64,
    65,
    0xffff_ffff,
    0xffff_fff0,
    0xffff_ffef,
    0xfff0,
    0xffff,
    0x3f00_0000,
    0xc080_0000,
    0x3e22_f983,
    0x3800,
    0xc400,
    0x3118,
    0x3800_3800,
    0x3fe0_0000,
    0xbfe0_0000,
    0x3fc4_5f30,
    0x0001_0005,
    0x8000_0000,
];

/// Codes that mean different things in source fields.
const CODES: [u32; 64] = [
    0, 1, 2, 3, 4, 7, 8, 96, 98, 99, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 112, 119, 120, 122, 123,
    124, 126, 127, 128, 129, 192, 193, 208, 209, 234, 235, 236, 237, 238, 239, 240, 241, 242, 243, 244, 245, 246, 247,
    248, 251, 252, 253, 254, 255, 256, 257, 258, 260, 382, 383, 508, 510, 511,
];

/// xorshift64*: the same words on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 16) % limit
    }
}

fn with(word: u64, (low, bits, _): (u32, u32, Shape), value: u64) -> u64 {
    let mask = ((1 << bits) - 1) << low;
    word & !mask | value << low & mask
}

/// Returns whether LLVM 22's disassembler reads out of bounds or runs into an "unreachable" on these words, so that it
/// cannot be used: a literal in a 64-bit encoding (a source, or the scalar destination of a compare), a matrix product
/// with a scalar source, invalid SDWA selections.
pub(crate) fn llvm_crashes(words: [u32; 2]) -> bool {
    let (low, high) = (words[0], words[1]);
    let sources = [high & 511, high >> 9 & 511, high >> 18 & 511];
    match low >> 26 {
        0b110100 => {
            let mfma = low >> 23 & 7 == 7 && low >> 16 & 0x7f >= 0x3e;
            low & 255 == 255
                || sources
                    .iter()
                    .any(|&code| code == 255 || (mfma && code < 256 && !matches!(code, 128..=208 | 240..=248)))
        }
        0b111000 | 0b111010 => high >> 24 == 255,
        _ if low >> 31 == 0 && low & 511 == 249 => {
            let compare = low >> 25 == 0x3e;
            (!compare && (high >> 8 & 7 == 7 || high >> 11 & 3 == 3)) || high >> 16 & 7 == 7 || high >> 24 & 7 == 7
        }
        _ => false,
    }
}

/// Calls `each` with words of every encoding of `op`: every bit flipped, every interesting source and literal in turn,
/// and `random` pseudo-random ones.
pub(crate) fn words_of(
    op: Op,
    arch: Arch,
    random: usize,
    rng: &mut Random,
    each: &mut dyn FnMut(&'static str, [u32; 2]),
) {
    for (encoding, code) in encodings_of(op, arch) {
        let mut send = |word: u64| each(encoding.name, [word as u32, (word >> 32) as u32]);
        let mut base = encoding.fixed | u64::from(code) << encoding.opcode;
        if encoding.literal {
            base |= u64::from(LITERALS[0]) << 32;
        }
        for (i, &field) in encoding.fields.iter().enumerate() {
            let nice = 8 * (i as u64 + 1);
            base = match field.2 {
                Vector | ScalarSource => with(base, field, nice),
                Source => with(base, field, 256 + nice),
                ScalarRegister => with(base, field, 8),
                Selection => with(base, field, 6),
                Raw => base,
            };
        }
        send(base);
        for bit in 0..if encoding.literal { 32 } else { 64 } {
            send(base ^ 1 << bit);
        }
        for &field in &encoding.fields {
            match field.2 {
                Source => CODES.iter().for_each(|&code| send(with(base, field, code.into()))),
                ScalarSource => {
                    CODES.iter().filter(|&&code| code < 256).for_each(|&code| send(with(base, field, code.into())));
                }
                ScalarRegister => (0..128).for_each(|code| send(with(base, field, code))),
                Vector => (0..8).chain(248..256).for_each(|code| send(with(base, field, code))),
                Selection => (0..7).for_each(|code| send(with(base, field, code))),
                Raw if field.1 <= 9 => (0..1 << field.1).for_each(|code| send(with(base, field, code))),
                Raw => (0..64).for_each(|_| send(with(base, field, rng.next()))),
            }
            if encoding.literal && matches!(field.2, Source | ScalarSource) {
                for literal in LITERALS {
                    let word = with(base, field, 255);
                    send(with(word, (32, 32, Raw), literal.into()));
                }
            }
        }
        for _ in 0..random {
            let mut word = base;
            for &field in &encoding.fields {
                let any = rng.next();
                let value = match (field.2, rng.below(4)) {
                    (Vector, 1..) => any & !1,
                    (Source, 0) => CODES[(any % CODES.len() as u64) as usize].into(),
                    (Source, 1 | 2) => 256 | any & 0xfe,
                    (ScalarSource | ScalarRegister, 1..) => any % 26 * 4,
                    (Selection, _) => any % 7,
                    (Raw, 0) => 0,
                    _ => any,
                };
                word = with(word, field, value);
            }
            if encoding.literal {
                word = with(word, (32, 32, Raw), LITERALS[rng.below(LITERALS.len() as u64) as usize].into());
            }
            send(word);
        }
    }
}

/// The opcode space of each encoding: name, fixed bits, lowest bit and number of bits of the opcode.
const SPACES: [(&str, u32, u32, u32); 25] = [
    ("SOP2", 2 << 30, 23, 7),
    ("SOPK", 0xb << 28, 23, 5),
    ("SOP1", 0x17d << 23, 8, 8),
    ("SOPC", 0x17e << 23, 16, 7),
    ("SOPP", 0x17f << 23, 16, 7),
    ("SMEM", 0x30 << 26, 18, 8),
    ("EXP", 0x31 << 26, 0, 4),
    ("VINTRP", 0x35 << 26, 16, 2),
    ("VOP2", 0, 25, 6),
    ("VOP1", 0x3f << 25, 9, 8),
    ("VOPC", 0x3e << 25, 17, 8),
    ("SDWA", 249, 25, 6),
    ("SDWA", 0x3f << 25 | 249, 9, 8),
    ("SDWA", 0x3e << 25 | 249, 17, 8),
    ("DPP", 250, 25, 6),
    ("DPP", 0x3f << 25 | 250, 9, 8),
    ("DPP", 0x3e << 25 | 250, 17, 8),
    ("VOP3", 0x34 << 26, 16, 10),
    ("DS", 0x36 << 26, 17, 8),
    ("FLAT", 0x37 << 26, 18, 7),
    ("SCRATCH", 0x37 << 26 | 1 << 14, 18, 7),
    ("GLOBAL", 0x37 << 26 | 2 << 14, 18, 7),
    ("MUBUF", 0x38 << 26, 18, 7),
    ("MTBUF", 0x3a << 26, 15, 4),
    ("MIMG", 0x3c << 26, 18, 7),
];

/// Calls `each` with every opcode of every encoding, known or not, each with several ways to fill the other fields.
pub(crate) fn every_opcode(each: &mut dyn FnMut(&'static str, [u32; 2])) {
    let first = [0, 8, 8 << 17, 1 << 16, 1 << 17];
    let second = [
        0,
        8,
        0x10,
        0x7f << 16,
        0x7f_1008,
        256 | 258 << 9 | 260 << 18,
        2 | 4 << 9 | 260 << 18,
        256 | 258 << 9 | 128 << 18,
        0x0606_0608,
        0x0006_0608,
        0xff01_5008,
    ];
    for (name, fixed, low, bits) in SPACES {
        for opcode in 0..1 << bits {
            for more in first {
                for high in second {
                    each(name, [fixed | opcode << low | more, high]);
                }
            }
        }
    }
}
