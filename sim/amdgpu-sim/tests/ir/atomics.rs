//! `atomicrmw` and `cmpxchg`: every operation and type in every address space, with orderings and scopes in rotation.

use std::fmt::Write as _;

use amdgpu_sim::{Arch, Config, Gpu};

use crate::common::{Args, Random, launch_1d, load, upload, zeros};
use crate::compiler::Compiler;
use crate::interpret::{Element, narrow, wide};
use crate::numbers::sum_to_odd;

const LANES: usize = 64;

const ORDERINGS: [&str; 5] = ["monotonic", "acquire", "release", "acq_rel", "seq_cst"];
const SCOPES: [&str; 10] = [
    "",
    "agent",
    "workgroup",
    "wavefront",
    "singlethread",
    "one-as",
    "agent-one-as",
    "workgroup-one-as",
    "wavefront-one-as",
    "singlethread-one-as",
];

const INTEGERS: [&str; 15] = [
    "xchg",
    "add",
    "sub",
    "and",
    "nand",
    "or",
    "xor",
    "max",
    "min",
    "umax",
    "umin",
    "uinc_wrap",
    "udec_wrap",
    "usub_cond",
    "usub_sat",
];
const FLOATS: [&str; 5] = ["xchg", "fadd", "fsub", "fmax", "fmin"];

/// The address space of a cell, and of the pointer to it.
const PLACES: [&str; 5] = ["global", "flat to global", "local", "flat to local", "private"];

#[derive(Clone, Copy)]
struct Case {
    op: &'static str,
    element: Element,
    place: &'static str,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for place in PLACES {
        for element in [16, 32, 64].map(Element::Int) {
            cases.extend(INTEGERS.iter().chain(&["cmpxchg"]).map(|op| Case { op, element, place }));
        }
        for element in [16, 32, 64].map(Element::Float) {
            cases.extend(FLOATS.map(|op| Case { op, element, place }));
        }
    }
    cases
}

impl Case {
    /// The kernel: every lane has its own cell, so that the old and the new value are known.
    fn ir(self, n: usize) -> String {
        let (ty, bits) = (self.element.name(), self.element.bits());
        let mut text = format!(
            "define amdgpu_kernel void @a{n}(ptr addrspace(1) %cells, ptr addrspace(1) %in, ptr addrspace(1) %old) {{\n"
        );
        text += "  %lane = call i32 @llvm.amdgcn.workitem.id.x()\n  %offset = mul i32 %lane, 8\n";
        for name in ["cells", "in", "old"] {
            let _ = writeln!(text, "  %{name}.to = getelementptr i8, ptr addrspace(1) %{name}, i32 %offset");
        }
        let _ = writeln!(
            text,
            "  %x = load {ty}, ptr addrspace(1) %in.to\n  %start = load {ty}, ptr addrspace(1) %cells.to"
        );
        let (space, setup) = match self.place {
            "global" => ("addrspace(1) ", "  %cell = getelementptr i8, ptr addrspace(1) %cells, i32 %offset\n"),
            "flat to global" => ("", "  %cell = addrspacecast ptr addrspace(1) %cells.to to ptr\n"),
            "local" => ("addrspace(3) ", "  %cell = getelementptr i8, ptr addrspace(3) @local, i32 %offset\n"),
            "flat to local" => (
                "",
                "  %shared = getelementptr i8, ptr addrspace(3) @local, i32 %offset\n  %cell = addrspacecast ptr addrspace(3) %shared to ptr\n",
            ),
            _ => ("addrspace(5) ", "  %cell = alloca i64, align 8, addrspace(5)\n"),
        };
        text += setup;
        let _ = writeln!(text, "  store {ty} %start, ptr {space}%cell, align 8");
        // Ten scopes and five orderings: eventually all combinations.
        let scope = match SCOPES[n % 10] {
            "" => String::new(),
            scope => format!("syncscope(\"{scope}\") "),
        };
        let ordering = ORDERINGS[(n / 10 + n) % 5];
        if self.op == "cmpxchg" {
            let failure = ["monotonic", "acquire", "seq_cst"][n % 3];
            let _ = writeln!(
                text,
                "  %odd = and i32 %lane, 1\n  %is = icmp eq i32 %odd, 0\n  %expected = select i1 %is, {ty} %start, {ty} %x"
            );
            let _ = writeln!(
                text,
                "  %both = cmpxchg ptr {space}%cell, {ty} %expected, {ty} %x {scope}{ordering} {failure}, align 8"
            );
            let _ = writeln!(text, "  %o = extractvalue {{ {ty}, i1 }} %both, 0");
        } else {
            // With these attributes a float's operation may be one instruction; otherwise it is a loop.
            let promises = if matches!(self.element, Element::Float(_)) && n % 2 == 0 {
                ", !amdgpu.no.fine.grained.memory !0, !amdgpu.no.remote.memory !0, !amdgpu.ignore.denormal.mode !0"
            } else {
                ""
            };
            let align = bits / 8;
            let _ = writeln!(
                text,
                "  %o = atomicrmw {} ptr {space}%cell, {ty} %x {scope}{ordering}, align {align}{promises}",
                self.op
            );
        }
        let _ = writeln!(
            text,
            "  %left = load {ty}, ptr {space}%cell, align 8\n  store {ty} %left, ptr addrspace(1) %cells.to"
        );
        text + &format!("  store {ty} %o, ptr addrspace(1) %old.to\n  ret void\n}}\n")
    }

    /// The final value of the cell.
    fn result(self, lane: usize, old: u64, x: u64) -> u64 {
        let bits = self.element.bits();
        let sign = |v: u64| (v << (64 - bits)) as i64 >> (64 - bits);
        let mask = u64::MAX >> (64 - bits);
        if let (Element::Float(_), false) = (self.element, self.op == "xchg") {
            let (a, b) = (wide(bits, old.into()), wide(bits, x.into()));
            let sum = |a: f64, b: f64| if bits == 64 { a + b } else { sum_to_odd(a, b) };
            let result = match self.op {
                "fadd" => sum(a, b),
                "fsub" => sum(a, -b),
                "fmax" => a.max(b),
                _ => a.min(b),
            };
            return narrow(bits, result) as u64;
        }
        mask & match self.op {
            "xchg" => x,
            "add" => old.wrapping_add(x),
            "sub" => old.wrapping_sub(x),
            "and" => old & x,
            "nand" => !(old & x),
            "or" => old | x,
            "xor" => old ^ x,
            "max" => sign(old).max(sign(x)) as u64,
            "min" => sign(old).min(sign(x)) as u64,
            "umax" => old.max(x),
            "umin" => old.min(x),
            "uinc_wrap" => {
                if old >= x {
                    0
                } else {
                    old + 1
                }
            }
            "udec_wrap" => {
                if old == 0 || old > x {
                    x
                } else {
                    old - 1
                }
            }
            "usub_cond" => {
                if old >= x {
                    old - x
                } else {
                    old
                }
            }
            "usub_sat" => old.saturating_sub(x),
            // Odd lanes expect the operand, which the cell usually does not contain.
            _ => {
                if lane % 2 == 0 || old == x {
                    x
                } else {
                    old
                }
            }
        }
    }
}

fn element(random: &mut Random, element: Element) -> u64 {
    match element {
        Element::Int(bits) => random.integer() as u64 & (u64::MAX >> (64 - bits)),
        // Normal numbers only: the treatment of denormals depends on the memory's mode.
        Element::Float(bits) => {
            narrow(bits, random.between(1.0, 30.0) * if random.next() % 2 == 0 { 1.0 } else { -1.0 }) as u64
        }
    }
}

fn check(arch: Arch, levels: [u8; 2]) {
    let Some(compiler) = Compiler::new() else { return };
    let cases = cases();
    let mut ir = String::from("@local = internal addrspace(3) global [64 x i64] poison, align 8\n!0 = !{}\n");
    cases.iter().enumerate().for_each(|(n, case)| ir += &case.ir(n));
    for level in levels {
        let code = compiler.compile(&ir, arch, level);
        let gpu = Gpu::new(Config { arch, instruction_budget: Some(10_000_000), ..Config::default() });
        let module = load(&gpu, &code);
        let mut random = Random(5);
        for (n, case) in cases.iter().enumerate() {
            let mut draw = || (0..LANES).map(|_| element(&mut random, case.element)).collect::<Vec<u64>>();
            let (start, input) = (draw(), draw());
            let (cells, a, old) = (upload(&gpu, &start), upload(&gpu, &input), zeros::<u64>(&gpu, LANES));
            let args = Args::default().pointer(&cells).pointer(&a).pointer(&old);
            launch_1d(&gpu, &module, &format!("a{n}"), 1, LANES as u32, &args);
            let expected: Vec<u64> = (0..LANES).map(|l| case.result(l, start[l], input[l])).collect();
            let name = format!("{arch} -O{level}: {} of {:?}, {}\n{}", case.op, case.element, case.place, case.ir(n));
            assert_eq!(old.get(), start, "what was found: {name}");
            assert_eq!(cells.get(), expected, "what is left: {name}");
        }
    }
}

#[test]
fn operations_on_gfx90a() {
    check(Arch::Gfx90a, [0, 2]);
}

#[test]
fn operations_on_gfx942() {
    check(Arch::Gfx942, [1, 3]);
}
