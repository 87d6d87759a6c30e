//! Rounding and denormal modes that a kernel sets.

use std::cmp::Ordering;

use amdgpu_sim::{Arch, Config, Gpu};

use crate::common::{Args, Random, launch_1d, load, upload, zeros};
use crate::compiler::Compiler;
use crate::interpret::wide;
use crate::numbers::{numbers, sum_to_odd};

const COUNT: usize = 256;

/// The next number up or down in a format, by its bits.
fn neighbour(bits: u32, x: u64, up: bool) -> u64 {
    let sign = 1 << (bits - 1);
    match (x & !sign == 0, (x & sign == 0) == up) {
        (true, _) => {
            if up {
                1
            } else {
                sign | 1
            }
        }
        (_, true) => x + 1,
        _ => x - 1,
    }
}

/// `exact` (possibly rounded to odd) in a narrower format, in a mode as `llvm.set.rounding` numbers them: to zero,
/// nearest, up, down.
fn directed(bits: u32, exact: f64, mode: u32) -> u64 {
    let near = crate::interpret::narrow(bits, exact) as u64;
    let order = wide(bits, near.into()).partial_cmp(&exact).unwrap_or(Ordering::Equal);
    let up = match mode {
        0 => exact < 0.0,
        2 => true,
        3 => false,
        _ => return near,
    };
    match order {
        Ordering::Less if up => neighbour(bits, near, true),
        Ordering::Greater if !up => neighbour(bits, near, false),
        _ => near,
    }
}

fn rounding_ir() -> String {
    let mut text = String::new();
    for ty in ["half", "float"] {
        let suffix = if ty == "half" { "f16" } else { "f32" };
        let size = if ty == "half" { 2 } else { 4 };
        let mut body = String::new();
        for (k, (op, operands)) in [("fadd", 2), ("fsub", 2), ("fmul", 2), ("fma", 3)].into_iter().enumerate() {
            let list: Vec<String> = ["a", "b", "c"][..operands].iter().map(|v| format!("{ty} %{v}")).collect();
            body += &format!(
                " %r{k} = call {ty} @llvm.experimental.constrained.{op}.{suffix}({}, metadata !\"round.dynamic\", metadata !\"fpexcept.ignore\") #0
 %to{k} = getelementptr {ty}, ptr addrspace(1) %row, i32 {k}
 store {ty} %r{k}, ptr addrspace(1) %to{k}\n",
                list.join(", ")
            );
        }
        let mut loads = String::new();
        for v in ["a", "b", "c"] {
            loads += &format!(
                " %p{v} = getelementptr i8, ptr addrspace(1) %i{v}, i32 %at\n %{v} = load {ty}, ptr addrspace(1) %p{v}\n"
            );
        }
        text += &format!(
            "define amdgpu_kernel void @round_{suffix}(ptr addrspace(1) %ia, ptr addrspace(1) %ib, ptr addrspace(1) %ic, ptr addrspace(1) %out, i32 %mode) #0 {{
 call void @llvm.set.rounding(i32 %mode) #0
 %lane = call i32 @llvm.amdgcn.workitem.id.x()
 %at = mul i32 %lane, {size}
{loads} %first = mul i32 %lane, {}
 %row = getelementptr i8, ptr addrspace(1) %out, i32 %first
{body} ret void
}}
",
            4 * size
        );
    }
    text + "attributes #0 = { strictfp }\n"
}

#[test]
fn all_four_ways_of_rounding() {
    let Some(compiler) = Compiler::new() else { return };
    let ir = rounding_ir();
    for (arch, level) in [(Arch::Gfx90a, 0), (Arch::Gfx90a, 2), (Arch::Gfx942, 3)] {
        let code = compiler.compile(&ir, arch, level);
        let gpu = Gpu::new(Config { arch, instruction_budget: Some(1_000_000), ..Config::default() });
        let module = load(&gpu, &code);
        for mode in 0..4 {
            let mut random = Random(17);
            let [a, b, c]: [Vec<crate::numbers::Half>; 3] = std::array::from_fn(|_| numbers(&mut random, COUNT));
            let exact = |x: f64, y: f64, z: f64| [sum_to_odd(x, y), sum_to_odd(x, -y), x * y, sum_to_odd(x * y, z)];
            let wide16 = |v: crate::numbers::Half| wide(16, v.0.into());
            let (da, db, dc) = (upload(&gpu, &a), upload(&gpu, &b), upload(&gpu, &c));
            let out = zeros::<u16>(&gpu, 4 * COUNT);
            let args = Args::default().pointer(&da).pointer(&db).pointer(&dc).pointer(&out).value(mode);
            launch_1d(&gpu, &module, "round_f16", 1, COUNT as u32, &args);
            for (i, got) in out.get().chunks_exact(4).enumerate() {
                let (x, y, z) = (wide16(a[i]), wide16(b[i]), wide16(c[i]));
                for (k, exact) in exact(x, y, z).into_iter().enumerate() {
                    agree(16, got[k].into(), exact, mode, format_args!("{arch} -O{level} half {k}: {x:e} {y:e} {z:e}"));
                }
            }

            let [a, b, c]: [Vec<f32>; 3] = std::array::from_fn(|_| numbers(&mut random, COUNT));
            let (da, db, dc) = (upload(&gpu, &a), upload(&gpu, &b), upload(&gpu, &c));
            let out = zeros::<u32>(&gpu, 4 * COUNT);
            let args = Args::default().pointer(&da).pointer(&db).pointer(&dc).pointer(&out).value(mode);
            launch_1d(&gpu, &module, "round_f32", 1, COUNT as u32, &args);
            for (i, got) in out.get().chunks_exact(4).enumerate() {
                let (x, y, z) = (f64::from(a[i]), f64::from(b[i]), f64::from(c[i]));
                for (k, exact) in exact(x, y, z).into_iter().enumerate() {
                    agree(
                        32,
                        got[k].into(),
                        exact,
                        mode,
                        format_args!("{arch} -O{level} float {k}: {x:e} {y:e} {z:e}"),
                    );
                }
            }
        }
    }
}

fn agree(bits: u32, got: u64, exact: f64, mode: u32, what: std::fmt::Arguments<'_>) {
    let expected = directed(bits, exact, mode);
    let nan = |x: u64| wide(bits, x.into()).is_nan();
    // The mode determines the sign of an exact zero sum: minus only when rounding down.
    let zero = exact == 0.0 && got & !(1 << (bits - 1)) == 0;
    assert!(got == expected || nan(got) && nan(expected) || zero, "{what}, mode {mode}: {got:#x}, not {expected:#x}");
}

#[test]
fn denormals_are_flushed_where_the_function_says_so() {
    let Some(compiler) = Compiler::new() else { return };
    let ir = "define amdgpu_kernel void @flush(ptr addrspace(1) %in, ptr addrspace(1) %out) #0 {
 %lane = call i32 @llvm.amdgcn.workitem.id.x()
 %at = mul i32 %lane, 8
 %pa = getelementptr i8, ptr addrspace(1) %in, i32 %at
 %pb = getelementptr i8, ptr addrspace(1) %pa, i32 4
 %a = load float, ptr addrspace(1) %pa
 %b = load float, ptr addrspace(1) %pb
 %sum = fadd float %a, %b
 %product = fmul float %a, %b
 %to = getelementptr i8, ptr addrspace(1) %out, i32 %at
 %next = getelementptr i8, ptr addrspace(1) %to, i32 4
 store float %sum, ptr addrspace(1) %to
 store float %product, ptr addrspace(1) %next
 ret void
}
";
    let flush = |x: f32| if x.is_subnormal() { 0_f32.copysign(x) } else { x };
    for (attribute, flushes) in
        [("\"denormal-fp-math-f32\"=\"preserve-sign,preserve-sign\"", true), ("nounwind", false)]
    {
        let ir = format!("{ir}attributes #0 = {{ {attribute} }}\n");
        for level in [0, 3] {
            let code = compiler.compile(&ir, Arch::Gfx90a, level);
            let gpu = Gpu::new(Config::default());
            let module = load(&gpu, &code);
            let mut random = Random(18);
            let mut input: Vec<f32> = numbers(&mut random, 2 * COUNT);
            // Products that are subnormal though the factors are not.
            (0..COUNT).step_by(3).for_each(|i| {
                input[2 * i] = 1.5 * 2_f32.powi(-100);
                input[2 * i + 1] = -1.25 * 2_f32.powi(-30);
            });
            let (a, out) = (upload(&gpu, &input), zeros::<f32>(&gpu, 2 * COUNT));
            launch_1d(&gpu, &module, "flush", 1, COUNT as u32, &Args::default().pointer(&a).pointer(&out));
            let maybe = |x: f32| if flushes { flush(x) } else { x };
            for (operands, got) in input.chunks_exact(2).zip(out.get().chunks_exact(2)) {
                let (x, y) = (maybe(operands[0]), maybe(operands[1]));
                let expected = [maybe(x + y), maybe(x * y)];
                for (got, expected) in got.iter().zip(expected) {
                    let same = got.to_bits() == expected.to_bits() || got.is_nan() && expected.is_nan();
                    assert!(same, "{attribute} -O{level}: {operands:?}: {got:e}, not {expected:e}");
                }
            }
        }
    }
}
