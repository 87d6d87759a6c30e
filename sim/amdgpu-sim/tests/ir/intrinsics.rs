//! `llvm.amdgcn.*` intrinsics, each a function of three words per lane, compared with models that follow AMD's manuals.

use std::fmt::Write as _;

use amdgpu_sim::{Arch, Config, FaultKind, Gpu};

use crate::common::{Args, Random, launch, launch_1d, load, upload, zeros};
use crate::compiler::Compiler;

const LANES: usize = 64;

/// The operands of all lanes, and the current lane.
struct Operands<'a> {
    a: &'a [u32],
    b: &'a [u32],
    c: &'a [u32],
    lane: usize,
}

impl Operands<'_> {
    fn get(&self) -> (u32, u32, u32) {
        (self.a[self.lane], self.b[self.lane], self.c[self.lane])
    }
}

/// IR that computes `i32 %r` from `i32 %a, %b, %c, %lane`, and the expected value.
type Case = (&'static str, fn(&Operands<'_>) -> u32);

fn bytes(x: u32) -> [u8; 4] {
    x.to_le_bytes()
}

fn sum_of(count: u32, term: impl Fn(u32) -> u32) -> u32 {
    (0..count).map(term).fold(0, u32::wrapping_add)
}

fn part(x: u32, width: u32, k: u32) -> u32 {
    x >> (width * k) & ((1 << width) - 1)
}

fn signed(x: u32, bits: u32) -> i32 {
    (x << (32 - bits)) as i32 >> (32 - bits)
}

/// v_perm_b32: eight bytes, the second operand's first; 8 to 11 replicate a sign, 12 is zero, above are ones.
fn perm(a: u32, b: u32, selector: u32) -> u32 {
    let data = (u64::from(a) << 32 | u64::from(b)).to_le_bytes();
    u32::from_le_bytes(bytes(selector).map(|s| match s {
        0..8 => data[usize::from(s)],
        8..12 => {
            if data[usize::from(s - 8) * 2 + 1] & 0x80 != 0 {
                0xff
            } else {
                0
            }
        }
        12 => 0,
        _ => 0xff,
    }))
}

const CASES: &[Case] = &[
    ("%r = call i32 @llvm.amdgcn.perm(i32 %a, i32 %b, i32 %c)", |o| {
        let (a, b, c) = o.get();
        perm(a, b, c)
    }),
    // Valid selectors.
    ("%s = and i32 %c, 252645135\n %r = call i32 @llvm.amdgcn.perm(i32 %a, i32 %b, i32 %s)", |o| {
        let (a, b, c) = o.get();
        perm(a, b, c & 0x0f0f_0f0f)
    }),
    ("%r = call i32 @llvm.amdgcn.alignbyte(i32 %a, i32 %b, i32 %c)", |o| {
        let (a, b, c) = o.get();
        ((u64::from(a) << 32 | u64::from(b)) >> (8 * (c & 3))) as u32
    }),
    ("%r = call i32 @llvm.fshr.i32(i32 %a, i32 %b, i32 %c)", |o| {
        let (a, b, c) = o.get();
        ((u64::from(a) << 32 | u64::from(b)) >> (c & 31)) as u32
    }),
    ("%r = call i32 @llvm.amdgcn.sad.u8(i32 %a, i32 %b, i32 %c)", |o| {
        let (a, b, c) = o.get();
        sum_of(4, |k| part(a, 8, k).abs_diff(part(b, 8, k))).wrapping_add(c)
    }),
    ("%r = call i32 @llvm.amdgcn.sad.hi.u8(i32 %a, i32 %b, i32 %c)", |o| {
        let (a, b, c) = o.get();
        (sum_of(4, |k| part(a, 8, k).abs_diff(part(b, 8, k))) << 16).wrapping_add(c)
    }),
    ("%r = call i32 @llvm.amdgcn.sad.u16(i32 %a, i32 %b, i32 %c)", |o| {
        let (a, b, c) = o.get();
        sum_of(2, |k| part(a, 16, k).abs_diff(part(b, 16, k))).wrapping_add(c)
    }),
    // Bytes of the second operand that are zero are ignored.
    ("%r = call i32 @llvm.amdgcn.msad.u8(i32 %a, i32 %b, i32 %c)", |o| {
        let (a, b, c) = o.get();
        sum_of(4, |k| if part(b, 8, k) == 0 { 0 } else { part(a, 8, k).abs_diff(part(b, 8, k)) }).wrapping_add(c)
    }),
    ("%r = call i32 @llvm.amdgcn.mul.u24.i32(i32 %a, i32 %b)", |o| {
        let (a, b, _) = o.get();
        (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff)
    }),
    ("%r = call i32 @llvm.amdgcn.mulhi.i24(i32 %a, i32 %b)", |o| {
        let (a, b, _) = o.get();
        (i64::from(signed(a, 24)) * i64::from(signed(b, 24)) >> 32) as u32
    }),
    ("%r = call i32 @llvm.amdgcn.mulhi.u24(i32 %a, i32 %b)", |o| {
        let (a, b, _) = o.get();
        (u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff) >> 32) as u32
    }),
    ("%r = call i32 @llvm.amdgcn.lerp(i32 %a, i32 %b, i32 %c)", |o| {
        let (a, b, c) = o.get();
        (0..4).fold(0, |r, k| r | (part(a, 8, k) + part(b, 8, k) + (part(c, 8, k) & 1) >> 1) << (8 * k))
    }),
    // The position of the first bit that differs from the sign, from the top; -1 if none does.
    ("%r = call i32 @llvm.amdgcn.sffbh.i32(i32 %a)", |o| {
        let (a, ..) = o.get();
        let flipped = if a >> 31 == 1 { !a } else { a };
        if flipped == 0 { u32::MAX } else { flipped.leading_zeros() }
    }),
    ("%r = call i32 @llvm.amdgcn.sdot4(i32 %a, i32 %b, i32 %c, i1 true)", |o| {
        let (a, b, c) = o.get();
        let dot = |k: u32| i64::from(signed(part(a, 8, k), 8)) * i64::from(signed(part(b, 8, k), 8));
        ((0..4).map(dot).sum::<i64>() + i64::from(c as i32)).clamp(i32::MIN.into(), i32::MAX.into()) as u32
    }),
    ("%r = call i32 @llvm.amdgcn.udot8(i32 %a, i32 %b, i32 %c, i1 true)", |o| {
        let (a, b, c) = o.get();
        (u64::from(sum_of(8, |k| part(a, 4, k) * part(b, 4, k))) + u64::from(c)).min(u32::MAX.into()) as u32
    }),
    ("%n = mul i32 %c, 4\n %r = call i32 @llvm.amdgcn.ds.bpermute(i32 %n, i32 %a)", |o| {
        o.a[o.c[o.lane] as usize % LANES]
    }),
    ("%n = mul i32 %c, 4\n %r = call i32 @llvm.amdgcn.ds.permute(i32 %n, i32 %a)", |o| {
        let sender = (0..LANES).rev().find(|l| o.c[*l] as usize % LANES == o.lane);
        sender.map_or(0, |l| o.a[l])
    }),
    ("%r = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %a)", |o| o.a[0]),
    (
        "%u = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %c)\n %r = call i32 @llvm.amdgcn.readlane.i32(i32 %a, i32 %u)",
        |o| o.a[o.c[0] as usize % LANES],
    ),
    (
        "%u = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %c)\n %l = and i32 %u, 63\n %v = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %b)\n %r = call i32 @llvm.amdgcn.writelane.i32(i32 %v, i32 %l, i32 %a)",
        |o| if o.lane == o.c[0] as usize % LANES { o.b[0] } else { o.a[o.lane] },
    ),
    // row_shr:2; lanes without a source keep the old value; banks 0 and 2 of all rows.
    ("%r = call i32 @llvm.amdgcn.update.dpp.i32(i32 %b, i32 %a, i32 274, i32 15, i32 5, i1 false)", |o| {
        let column = o.lane % 16;
        if column < 2 || column / 4 % 2 == 1 { o.b[o.lane] } else { o.a[o.lane - 2] }
    }),
    // As bound_ctrl is set, they get zero; row_shl:1, rows 0 and 3.
    ("%r = call i32 @llvm.amdgcn.update.dpp.i32(i32 %b, i32 %a, i32 257, i32 9, i32 15, i1 true)", |o| {
        match (o.lane / 16, o.lane % 16) {
            (1 | 2, _) => o.b[o.lane],
            (_, 15) => 0,
            _ => o.a[o.lane + 1],
        }
    }),
    (
        "%k = icmp ult i32 %a, %b\n %w = call i64 @llvm.amdgcn.ballot.i64(i1 %k)\n %h = lshr i64 %w, 32\n %x = xor i64 %w, %h\n %r = trunc i64 %x to i32",
        |o| {
            let ballot = (0..LANES).fold(0_u64, |w, l| w | u64::from(o.a[l] < o.b[l]) << l);
            (ballot ^ ballot >> 32) as u32
        },
    ),
    (
        "%m = call i32 @llvm.amdgcn.mbcnt.lo(i32 %a, i32 %b)\n %r = call i32 @llvm.amdgcn.mbcnt.hi(i32 %a, i32 %m)",
        |o| {
            let a = u64::from(o.a[o.lane]);
            let below = (a | a << 32) & ((1 << o.lane) - 1);
            below.count_ones().wrapping_add(o.b[o.lane])
        },
    ),
    ("%p = call <2 x i16> @llvm.amdgcn.cvt.pk.i16(i32 %a, i32 %b)\n %r = bitcast <2 x i16> %p to i32", |o| {
        let (a, b, _) = o.get();
        let clamp = |x: u32| u32::from((x as i32).clamp(-32768, 32767) as u16);
        clamp(a) | clamp(b) << 16
    }),
    ("%p = call <2 x i16> @llvm.amdgcn.cvt.pk.u16(i32 %a, i32 %b)\n %r = bitcast <2 x i16> %p to i32", |o| {
        let (a, b, _) = o.get();
        a.min(0xffff) | b.min(0xffff) << 16
    }),
    // Integers of few bits, as floats: exact.
    (
        "%m = and i32 %a, 255\n %f = uitofp i32 %m to float\n %n = and i32 %b, 3\n %r = call i32 @llvm.amdgcn.cvt.pk.u8.f32(float %f, i32 %n, i32 %c)",
        |o| {
            let (a, b, c) = o.get();
            let shift = 8 * (b & 3);
            c & !(0xff << shift) | (a & 0xff) << shift
        },
    ),
    (
        "%x = and i32 %a, 1023\n %y = and i32 %b, 1023\n %z = and i32 %c, 1023\n %f = uitofp i32 %x to float\n %g = uitofp i32 %y to float\n %h = uitofp i32 %z to float\n %m = call float @llvm.amdgcn.fmed3.f32(float %f, float %g, float %h)\n %r = fptoui float %m to i32",
        |o| {
            let (a, b, c) = o.get();
            let mut all = [a & 1023, b & 1023, c & 1023];
            all.sort_unstable();
            all[1]
        },
    ),
    (
        "%f = bitcast i32 %a to float\n %e = call i32 @llvm.amdgcn.frexp.exp.i32.f32(float %f)\n %k = call i1 @llvm.amdgcn.class.f32(float %f, i32 480)\n %r = select i1 %k, i32 %e, i32 0",
        |o| {
            // Positive or negative, normal, subnormal or zero but for minus zero (bits 5 to 8 of the class: -0, +0, +subnormal, +normal).
            let (a, ..) = o.get();
            let x = f32::from_bits(a);
            let class = x == 0.0 || x.is_finite() && x > 0.0;
            if !class || x == 0.0 { 0 } else { (crate::numbers::exponent(x.into()) + 1) as u32 }
        },
    ),
    ("%n = lshr i32 %c, 3\n %r = call i32 @llvm.amdgcn.ubfe.i32(i32 %a, i32 %c, i32 %n)", |o| {
        let (a, _, c) = o.get();
        let (from, width) = (c & 31, c >> 3 & 31);
        (u64::from(a) >> from & ((1 << width) - 1)) as u32
    }),
    // Beyond the records a load gives zero: 40 words, an offset of up to 63.
    (
        "%d = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %in, i16 0, i64 160, i32 159744)\n %o = mul i32 %lane, 4\n %r = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %d, i32 %o, i32 0, i32 0)",
        |o| {
            // The input: a, b, c of each lane, one after the other.
            if o.lane >= 40 { 0 } else { [o.a, o.b, o.c][o.lane % 3][o.lane / 3] }
        },
    ),
    // The rounding bits of MODE: nearest.
    ("%r = call i32 @llvm.amdgcn.s.getreg(i32 6145)", |_| 0),
];

fn ir() -> String {
    let mut text = String::new();
    for (n, (body, _)) in CASES.iter().enumerate() {
        let _ = writeln!(
            text,
            "define amdgpu_kernel void @k{n}(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
 %lane = call i32 @llvm.amdgcn.workitem.id.x()
 %row = mul i32 %lane, 12
 %pa = getelementptr i8, ptr addrspace(1) %in, i32 %row
 %pb = getelementptr i8, ptr addrspace(1) %pa, i32 4
 %pc = getelementptr i8, ptr addrspace(1) %pa, i32 8
 %a = load i32, ptr addrspace(1) %pa
 %b = load i32, ptr addrspace(1) %pb
 %c = load i32, ptr addrspace(1) %pc
 {body}
 %at = mul i32 %lane, 4
 %to = getelementptr i8, ptr addrspace(1) %out, i32 %at
 store i32 %r, ptr addrspace(1) %to
 ret void
}}"
        );
    }
    text + "define amdgpu_kernel void @stop() {\n call void @llvm.trap()\n unreachable\n}\n"
}

#[test]
fn results_are_those_of_the_manuals() {
    let Some(compiler) = Compiler::new() else { return };
    let ir = ir();
    for (arch, level) in [(Arch::Gfx90a, 0), (Arch::Gfx90a, 3), (Arch::Gfx942, 1), (Arch::Gfx942, 2)] {
        let code = compiler.compile(&ir, arch, level);
        let gpu = Gpu::new(Config { arch, instruction_budget: Some(1_000_000), ..Config::default() });
        let module = load(&gpu, &code);
        for round in 0..8 {
            let mut random = Random(round);
            let input: Vec<u32> = (0..3 * LANES).map(|_| random.integer() as u32).collect();
            let [a, b, c] = [0, 1, 2].map(|k| input.iter().skip(k).step_by(3).copied().collect::<Vec<u32>>());
            for (n, (body, expected)) in CASES.iter().enumerate() {
                let (source, out) = (upload(&gpu, &input), zeros::<u32>(&gpu, LANES));
                launch_1d(&gpu, &module, &format!("k{n}"), 1, 64, &Args::default().pointer(&source).pointer(&out));
                for (lane, got) in out.get().into_iter().enumerate() {
                    let operands = Operands { a: &a, b: &b, c: &c, lane };
                    let expected = expected(&operands);
                    let all = operands.get();
                    assert_eq!(
                        got, expected,
                        "{arch} -O{level}, lane {lane}: {body}: {all:x?}: {got:#x}, not {expected:#x}"
                    );
                }
            }
        }
        let fault = launch(&gpu, &module, "stop", [1; 3], [64, 1, 1], &Args::default()).unwrap_err();
        assert!(!matches!(fault.kind, FaultKind::Budget(_)), "{fault}");
        assert!(fault.to_string().contains("s_trap"), "{fault}");
    }
}
