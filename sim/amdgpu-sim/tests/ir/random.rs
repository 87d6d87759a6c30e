//! Random programs: the interpreter, the software GPU at `-O0` and at `-O3` must agree on each.

use std::fmt::Write as _;

use amdgpu_sim::{Arch, Config, Gpu};

use crate::common::{Args, Random, launch_1d, load, upload, zeros};
use crate::compiler::Compiler;
use crate::interpret::*;

/// The number of programs per seed, of instructions per program, and of lanes.
const PROGRAMS: usize = 60;
const INSTRUCTIONS: usize = 30;
const LANES: usize = 64;

/// The bytes of an input or result.
const CELL: usize = 16;

const SCALARS: [Element; 8] = [
    Element::Int(8),
    Element::Int(16),
    Element::Int(32),
    Element::Int(64),
    Element::Int(128),
    Element::Float(16),
    Element::Float(32),
    Element::Float(64),
];

/// All types of values: scalars, and vectors of two that packed instructions take.
fn types() -> Vec<Type> {
    let pairs = [Element::Int(16), Element::Int(32), Element::Float(16), Element::Float(32)];
    let scalars = SCALARS.iter().map(|e| Type { element: *e, count: 1 });
    scalars.chain(pairs.map(|element| Type { element, count: 2 })).collect()
}

enum Step {
    /// An operation of up to three operands, on every element.
    Op(&'static str, [usize; 3]),
    /// `a if compare(c, d) else b`: predicate, then a, b, c, d.
    Select(&'static str, [usize; 4]),
    Convert(usize, bool),
}

struct Program {
    /// The types of the inputs, then of the steps.
    types: Vec<Type>,
    inputs: usize,
    steps: Vec<Step>,
}

fn pick<T: Copy>(random: &mut Random, from: &[T]) -> T {
    from[random.next() as usize % from.len()]
}

impl Program {
    fn random(random: &mut Random) -> Self {
        let mut program = Program { types: types(), inputs: types().len(), steps: Vec::new() };
        for _ in 0..INSTRUCTIONS {
            let ty = pick(random, &types());
            // Of the values with that type, preferably a late one.
            let operand = |random: &mut Random, types: &[Type], ty: Type| {
                let all: Vec<usize> = (0..types.len()).filter(|i| types[*i] == ty).collect();
                let half = all.len() / 2 * (random.next() as usize % 2);
                all[half + random.next() as usize % (all.len() - half)]
            };
            let is_float = matches!(ty.element, Element::Float(_));
            let step = match random.next() % 8 {
                0 if ty.count == 1 => {
                    let from = Type { element: pick(random, &SCALARS), count: 1 };
                    let wide = |e: Element| e == Element::Int(128);
                    if from == ty
                        || is_float && wide(from.element)
                        || wide(ty.element) && matches!(from.element, Element::Float(_))
                    {
                        continue;
                    }
                    Step::Convert(operand(random, &program.types, from), random.next() % 2 == 0)
                }
                1 | 2 => {
                    let compared = Type { element: pick(random, &SCALARS), count: 1 };
                    let compares =
                        if matches!(compared.element, Element::Float(_)) { FLOAT_COMPARES } else { INTEGER_COMPARES };
                    let operands = [ty, ty, compared, compared].map(|t| operand(random, &program.types, t));
                    Step::Select(pick(random, compares), operands)
                }
                _ => {
                    let op = pick(random, if is_float { FLOATS } else { INTEGERS });
                    // LLVM 22 cannot select code if a quotient and a remainder of 16 bits or less have the same operands.
                    if matches!(op, "urem" | "srem") && ty.element.bits() < 32 {
                        continue;
                    }
                    Step::Op(op, [0; 3].map(|_| operand(random, &program.types, ty)))
                }
            };
            program.types.push(ty);
            program.steps.push(step);
        }
        program
    }

    /// A kernel with a row of inputs and results for each item; if it is `uniform`, for each workgroup, so that
    /// everything is computed in scalar registers as far as scalar instructions exist.
    fn ir(&self, name: &str, uniform: bool) -> String {
        let (space, id) = if uniform { (4, "workgroup") } else { (1, "workitem") };
        let mut text = format!(
            "define amdgpu_kernel void @{name}(ptr addrspace({space}) noalias %in, ptr addrspace(1) noalias %out) {{\n"
        );
        let _ = writeln!(text, "  %lane = call i32 @llvm.amdgcn.{id}.id.x()");
        let address = |text: &mut String, name: &str, (base, space): (&str, u32), cells: usize, at: usize| {
            let _ = writeln!(text, "  %{name}.row = mul i32 %lane, {}", cells * CELL);
            let _ = writeln!(text, "  %{name}.at = add i32 %{name}.row, {}", at * CELL);
            let _ = writeln!(text, "  %{name}.to = getelementptr i8, ptr addrspace({space}) %{base}, i32 %{name}.at");
        };
        for (i, ty) in self.types[..self.inputs].iter().enumerate() {
            address(&mut text, &format!("i{i}"), ("in", space), self.inputs, i);
            let _ = writeln!(text, "  %v{i} = load {}, ptr addrspace({space}) %i{i}.to", ty.name());
        }
        for (k, step) in self.steps.iter().enumerate() {
            let n = self.inputs + k;
            step.write(&mut text, n, self.types[n], &self.types);
        }
        for (k, ty) in self.types[self.inputs..].iter().enumerate() {
            address(&mut text, &format!("o{k}"), ("out", 1), self.steps.len(), k);
            let _ = writeln!(text, "  store {} %v{}, ptr addrspace(1) %o{k}.to", ty.name(), self.inputs + k);
        }
        text + "  ret void\n}\n"
    }

    /// The values of all steps.
    fn interpret(&self, inputs: &[Value]) -> Vec<Value> {
        let mut values = inputs.to_vec();
        for (k, step) in self.steps.iter().enumerate() {
            let ty = self.types[self.inputs + k];
            values.push(step.value(ty, &values, &self.types));
        }
        values.split_off(self.inputs)
    }
}

impl Step {
    fn write(&self, text: &mut String, n: usize, ty: Type, types: &[Type]) {
        let (name, suffix) = (ty.name(), ty.suffix());
        let splat = |value: String| {
            let one = format!("{} {value}", ty.element.name());
            if ty.count == 1 { value } else { format!("<{one}, {one}>") }
        };
        let bits = ty.element.bits();
        let _ = match self {
            Step::Op(op @ ("shl" | "lshr" | "ashr"), [a, b, _]) => {
                // All widths are powers of two.
                let _ = writeln!(text, "  %m{n} = and {name} %v{b}, {}", splat((bits - 1).to_string()));
                writeln!(text, "  %v{n} = {op} {name} %v{a}, %m{n}")
            }
            Step::Op(op @ ("udiv" | "urem" | "sdiv" | "srem"), [a, b, _]) => {
                let _ = writeln!(text, "  %m{n} = or {name} %v{b}, {}", splat("1".into()));
                let _ =
                    writeln!(text, "  %d{n} = and {name} %m{n}, {}", splat((u128::MAX >> (129 - bits)).to_string()));
                writeln!(text, "  %v{n} = {op} {name} %v{a}, %d{n}")
            }
            Step::Op(
                op @ ("add" | "sub" | "mul" | "and" | "or" | "xor" | "fadd" | "fsub" | "fmul" | "fdiv"),
                [a, b, _],
            ) => {
                writeln!(text, "  %v{n} = {op} {name} %v{a}, %v{b}")
            }
            Step::Op("fneg", [a, ..]) => writeln!(text, "  %v{n} = fneg {name} %v{a}"),
            Step::Op(op @ ("ctlz" | "cttz" | "abs"), [a, ..]) => {
                writeln!(text, "  %v{n} = call {name} @llvm.{op}.{suffix}({name} %v{a}, i1 false)")
            }
            Step::Op(
                op @ ("ctpop" | "bitreverse" | "fabs" | "sqrt" | "floor" | "ceil" | "trunc" | "rint" | "canonicalize"),
                [a, ..],
            ) => writeln!(text, "  %v{n} = call {name} @llvm.{op}.{suffix}({name} %v{a})"),
            Step::Op(op @ ("fma" | "fshl" | "fshr"), [a, b, c]) => {
                writeln!(text, "  %v{n} = call {name} @llvm.{op}.{suffix}({name} %v{a}, {name} %v{b}, {name} %v{c})")
            }
            Step::Op(op, [a, b, _]) => {
                writeln!(text, "  %v{n} = call {name} @llvm.{op}.{suffix}({name} %v{a}, {name} %v{b})")
            }
            Step::Select(predicate, [a, b, c, d]) => {
                let compare = if matches!(types[*c].element, Element::Float(_)) { "fcmp" } else { "icmp" };
                let _ = writeln!(text, "  %c{n} = {compare} {predicate} {} %v{c}, %v{d}", types[*c].name());
                writeln!(text, "  %v{n} = select i1 %c{n}, {name} %v{a}, {name} %v{b}")
            }
            Step::Convert(a, signed) => {
                let from = types[*a];
                let (source, sign) = (from.name(), if *signed { 's' } else { 'u' });
                let wider = bits > from.element.bits();
                match (from.element, ty.element) {
                    (Element::Float(_), Element::Int(_)) => {
                        let suffixes = format!("{suffix}.{}", from.suffix());
                        writeln!(text, "  %v{n} = call {name} @llvm.fpto{sign}i.sat.{suffixes}({source} %v{a})")
                    }
                    (Element::Int(_), Element::Float(_)) => {
                        writeln!(text, "  %v{n} = {sign}itofp {source} %v{a} to {name}")
                    }
                    (Element::Int(_), _) => {
                        let op = if !wider {
                            "trunc"
                        } else if *signed {
                            "sext"
                        } else {
                            "zext"
                        };
                        writeln!(text, "  %v{n} = {op} {source} %v{a} to {name}")
                    }
                    _ => {
                        writeln!(text, "  %v{n} = {} {source} %v{a} to {name}", if wider { "fpext" } else { "fptrunc" })
                    }
                }
            }
        };
    }

    fn value(&self, ty: Type, values: &[Value], types: &[Type]) -> Value {
        let bits = ty.element.bits();
        match self {
            Step::Op(op, operands) => std::array::from_fn(|e| {
                let [a, b, c] = operands.map(|o| values[o][e]);
                match ty.element {
                    _ if e >= ty.count => 0,
                    Element::Int(_) => integer(op, bits, a, b, c),
                    Element::Float(_) => float(op, bits, a, b, c),
                }
            }),
            Step::Select(predicate, [a, b, c, d]) => {
                let (x, y) = (values[*c][0], values[*d][0]);
                let holds = match types[*c].element {
                    Element::Int(bits) => compare_integers(predicate, bits, x, y),
                    Element::Float(bits) => compare_floats(predicate, bits, x, y),
                };
                values[if holds { *a } else { *b }]
            }
            Step::Convert(a, signed) => [convert(types[*a].element, ty.element, *signed, values[*a][0]), 0],
        }
    }
}

/// A random element: all bits random, small, at an edge, or (a float) of a common size.
fn element(random: &mut Random, element: Element) -> u128 {
    let bits = element.bits();
    let any = u128::from(random.next()) << 64 | u128::from(random.next());
    match element {
        Element::Int(_) => {
            (any >> (128 - bits)) >> if random.next() % 2 == 0 { 0 } else { random.next() as u32 % bits }
        }
        Element::Float(_) => match random.next() % 4 {
            0 => {
                let x = any >> (128 - bits);
                // Quiet ones only.
                if wide(bits, x).is_nan() { narrow(bits, f64::NAN) } else { x }
            }
            1 => narrow(bits, [0.0, -0.0, f64::INFINITY, -1.0, f64::NAN, 1.0, 2.5, -0.5][random.next() as usize % 8]),
            2 => narrow(bits, (random.next() % 65) as f64 - 32.0),
            _ => narrow(bits, random.between(-100.0, 100.0)),
        },
    }
}

/// The bytes of a value in a cell.
fn cell(ty: Type, value: Value) -> [u8; CELL] {
    let size = ty.element.bits() as usize / 8;
    let mut bytes = [0; CELL];
    (0..ty.count).for_each(|e| bytes[e * size..(e + 1) * size].copy_from_slice(&value[e].to_le_bytes()[..size]));
    bytes
}

fn from_cell(ty: Type, bytes: &[u8]) -> Value {
    let size = ty.element.bits() as usize / 8;
    std::array::from_fn(|e| {
        let mut element = [0; 16];
        if e < ty.count {
            element[..size].copy_from_slice(&bytes[e * size..(e + 1) * size]);
        }
        u128::from_le_bytes(element)
    })
}

fn same(ty: Type, a: Value, b: Value) -> bool {
    let nan = |x: u128| matches!(ty.element, Element::Float(bits) if wide(bits, x).is_nan());
    (0..ty.count).all(|e| a[e] == b[e] || nan(a[e]) && nan(b[e]))
}

fn programs(arch: Arch, seed: u64, uniform: bool) {
    let Some(compiler) = Compiler::new() else { return };
    let mut random = Random(seed);
    let programs: Vec<Program> = (0..PROGRAMS).map(|_| Program::random(&mut random)).collect();
    let ir: String = programs.iter().enumerate().map(|(i, program)| program.ir(&format!("p{i}"), uniform)).collect();
    for level in [0, 3] {
        let code = compiler.compile(&ir, arch, level);
        let gpu = Gpu::new(Config { arch, instruction_budget: Some(10_000_000), ..Config::default() });
        let module = load(&gpu, &code);
        for (i, program) in programs.iter().enumerate() {
            let mut random = Random(seed ^ i as u64);
            let draw = |random: &mut Random, ty: Type| -> Value {
                std::array::from_fn(|e| if e < ty.count { element(random, ty.element) } else { 0 })
            };
            let inputs: Vec<Vec<Value>> = (0..LANES)
                .map(|_| program.types[..program.inputs].iter().map(|ty| draw(&mut random, *ty)).collect())
                .collect();
            let bytes: Vec<u8> = inputs
                .iter()
                .flat_map(|row| row.iter().zip(&program.types).flat_map(|(v, ty)| cell(*ty, *v)))
                .collect();
            let (a, out) = (upload(&gpu, &bytes), zeros::<u8>(&gpu, LANES * program.steps.len() * CELL));
            let (groups, items) = if uniform { (LANES as u32, 1) } else { (1, LANES as u32) };
            launch_1d(&gpu, &module, &format!("p{i}"), groups, items, &Args::default().pointer(&a).pointer(&out));
            let out = out.get();
            for (lane, inputs) in inputs.iter().enumerate() {
                for (k, expected) in program.interpret(inputs).into_iter().enumerate() {
                    let ty = program.types[program.inputs + k];
                    let got = from_cell(ty, &out[(lane * program.steps.len() + k) * CELL..][..CELL]);
                    assert!(
                        same(ty, got, expected),
                        "{arch} -O{level}, program {i} of seed {seed}, lane {lane}: %v{} is {got:x?}, not {expected:x?}, in\n{}",
                        program.inputs + k,
                        program.ir("p", uniform)
                    );
                }
            }
        }
    }
}

#[test]
fn programs_for_gfx90a() {
    programs(Arch::Gfx90a, 1, false);
}

#[test]
fn programs_for_gfx942() {
    programs(Arch::Gfx942, 2, false);
}

#[test]
fn programs_in_scalar_registers() {
    programs(Arch::Gfx90a, 3, true);
}
