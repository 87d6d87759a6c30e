//! Random control flow: every lane takes its own path through nested branches, loops and switches, and must reach the
//! same result as a scalar interpreter.
//!
//! At `-O0` and `-O1` only: from `-O2` on LLVM 22's code generator miscompiled one of sixty such programs. (Its machine
//! code, for a single lane, was executed with a separate interpreter: the result is that of the software GPU and not
//! that of the IR, while the same optimised IR with code generation at `-O1` is correct.)

use std::fmt::Write as _;

use amdgpu_sim::{Arch, Config, Gpu};

use crate::common::{Args, Random, launch_1d, load, upload, zeros};
use crate::compiler::Compiler;

const PROGRAMS: usize = 20;
const LANES: usize = 128;
/// 32-bit variables; the first ones are initialised with the lane's inputs.
const VARIABLES: usize = 5;

enum Statement {
    /// `a = b op c`
    Assign(usize, &'static str, usize, usize),
    /// `a = constant`
    Set(usize, u32),
    /// `if a < b` (unsigned)
    If(usize, usize, Vec<Statement>, Vec<Statement>),
    /// A `for` loop with as many iterations as the low 3 bits of a variable say at its start.
    Loop(usize, Vec<Statement>),
    /// `switch a & 3`
    Switch(usize, [Vec<Statement>; 4]),
    /// `break` or `continue` of the innermost loop, `if a & 3 == 1`.
    Break(usize),
    Continue(usize),
    /// The end, `if a & 31 == 7`.
    Return(usize),
}

const OPS: [&str; 6] = ["add", "sub", "mul", "xor", "and", "or"];

fn block(random: &mut Random, depth: usize, in_loop: bool) -> Vec<Statement> {
    (0..1 + random.next() % 4).map(|_| statement(random, depth, in_loop)).collect()
}

fn statement(random: &mut Random, depth: usize, in_loop: bool) -> Statement {
    let variable = |random: &mut Random| random.next() as usize % VARIABLES;
    let (a, b, c) = (variable(random), variable(random), variable(random));
    match random.next() % 12 {
        0 | 1 if depth > 0 => Statement::If(a, b, block(random, depth - 1, in_loop), block(random, depth - 1, in_loop)),
        2 | 3 if depth > 0 => Statement::Loop(a, block(random, depth - 1, true)),
        4 if depth > 0 => Statement::Switch(a, [0; 4].map(|_| block(random, depth - 1, in_loop))),
        5 if in_loop => Statement::Break(a),
        6 if in_loop => Statement::Continue(a),
        7 if random.next() % 4 == 0 => Statement::Return(a),
        8 => Statement::Set(a, random.next() as u32 >> (random.next() % 32)),
        _ => Statement::Assign(a, OPS[random.next() as usize % OPS.len()], b, c),
    }
}

/// How a block ended.
enum End {
    Through,
    Broken,
    Continued,
    Returned,
}

fn interpret(block: &[Statement], v: &mut [u32; VARIABLES]) -> End {
    for statement in block {
        let end = match statement {
            Statement::Assign(a, op, b, c) => {
                let (x, y) = (v[*b], v[*c]);
                v[*a] = match *op {
                    "add" => x.wrapping_add(y),
                    "sub" => x.wrapping_sub(y),
                    "mul" => x.wrapping_mul(y),
                    "xor" => x ^ y,
                    "and" => x & y,
                    _ => x | y,
                };
                End::Through
            }
            Statement::Set(a, x) => {
                v[*a] = *x;
                End::Through
            }
            Statement::If(a, b, yes, no) => interpret(if v[*a] < v[*b] { yes } else { no }, v),
            Statement::Loop(a, body) => {
                let mut end = End::Through;
                for _ in 0..v[*a] & 7 {
                    match interpret(body, v) {
                        End::Returned => end = End::Returned,
                        End::Broken => {}
                        End::Through | End::Continued => continue,
                    }
                    break;
                }
                end
            }
            Statement::Switch(a, cases) => interpret(&cases[v[*a] as usize & 3], v),
            Statement::Break(a) => {
                if v[*a] & 3 == 1 {
                    End::Broken
                } else {
                    End::Through
                }
            }
            Statement::Continue(a) => {
                if v[*a] & 3 == 1 {
                    End::Continued
                } else {
                    End::Through
                }
            }
            Statement::Return(a) => {
                if v[*a] & 31 == 7 {
                    End::Returned
                } else {
                    End::Through
                }
            }
        };
        if !matches!(end, End::Through) {
            return end;
        }
    }
    End::Through
}

/// Writes IR: variables are stack slots of the lane, which the optimiser turns into registers.
struct Writer {
    text: String,
    /// For names.
    count: usize,
}

impl Writer {
    fn fresh(&mut self) -> usize {
        self.count += 1;
        self.count
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.text, "{line}");
    }

    fn read(&mut self, variable: usize) -> usize {
        let n = self.fresh();
        self.line(format_args!("  %x{n} = load i32, ptr addrspace(5) %v{variable}"));
        n
    }

    /// Branches to `label` if the low bits of a variable have this value; otherwise continues.
    fn leave(&mut self, variable: usize, mask: u32, value: u32, label: &str) {
        let (x, n) = (self.read(variable), self.fresh());
        self.line(format_args!("  %m{n} = and i32 %x{x}, {mask}\n  %c{n} = icmp eq i32 %m{n}, {value}"));
        self.line(format_args!("  br i1 %c{n}, label %{label}, label %on{n}\non{n}:"));
    }

    /// `exits`: the targets of the innermost loop's `break` and `continue`.
    fn block(&mut self, block: &[Statement], exits: Option<(&str, &str)>) {
        for statement in block {
            match statement {
                Statement::Assign(a, op, b, c) => {
                    let (x, y, n) = (self.read(*b), self.read(*c), self.fresh());
                    self.line(format_args!(
                        "  %r{n} = {op} i32 %x{x}, %x{y}\n  store i32 %r{n}, ptr addrspace(5) %v{a}"
                    ));
                }
                Statement::Set(a, x) => self.line(format_args!("  store i32 {x}, ptr addrspace(5) %v{a}")),
                Statement::If(a, b, yes, no) => {
                    let (x, y, n) = (self.read(*a), self.read(*b), self.fresh());
                    self.line(format_args!("  %c{n} = icmp ult i32 %x{x}, %x{y}"));
                    self.line(format_args!("  br i1 %c{n}, label %yes{n}, label %no{n}\nyes{n}:"));
                    self.block(yes, exits);
                    self.line(format_args!("  br label %end{n}\nno{n}:"));
                    self.block(no, exits);
                    self.line(format_args!("  br label %end{n}\nend{n}:"));
                }
                Statement::Loop(a, body) => {
                    let (x, n) = (self.read(*a), self.fresh());
                    self.line(format_args!("  %turns{n} = and i32 %x{x}, 7\n  store i32 0, ptr addrspace(5) %loop{n}"));
                    self.line(format_args!(
                        "  br label %head{n}\nhead{n}:\n  %k{n} = load i32, ptr addrspace(5) %loop{n}"
                    ));
                    self.line(format_args!("  %c{n} = icmp ult i32 %k{n}, %turns{n}"));
                    self.line(format_args!("  br i1 %c{n}, label %body{n}, label %after{n}\nbody{n}:"));
                    self.line(format_args!(
                        "  %next{n} = add i32 %k{n}, 1\n  store i32 %next{n}, ptr addrspace(5) %loop{n}"
                    ));
                    self.block(body, Some((&format!("after{n}"), &format!("head{n}"))));
                    self.line(format_args!("  br label %head{n}\nafter{n}:"));
                    // Its stack slot is allocated at the start of the function.
                    let place = format!("  %loop{n} = alloca i32, addrspace(5)\n");
                    let start = self.text.find("start:\n").map_or(0, |at| at + "start:\n".len());
                    self.text.insert_str(start, &place);
                }
                Statement::Switch(a, cases) => {
                    let (x, n) = (self.read(*a), self.fresh());
                    self.line(format_args!("  %s{n} = and i32 %x{x}, 3\n  switch i32 %s{n}, label %case{n}.3 ["));
                    (0..3).for_each(|i| self.line(format_args!("    i32 {i}, label %case{n}.{i}")));
                    self.line(format_args!("  ]"));
                    for (i, case) in cases.iter().enumerate() {
                        self.line(format_args!("case{n}.{i}:"));
                        self.block(case, exits);
                        self.line(format_args!("  br label %end{n}"));
                    }
                    self.line(format_args!("end{n}:"));
                }
                Statement::Break(a) => self.leave(*a, 3, 1, exits.map_or("done", |e| e.0)),
                Statement::Continue(a) => self.leave(*a, 3, 1, exits.map_or("done", |e| e.1)),
                Statement::Return(a) => self.leave(*a, 31, 7, "done"),
            }
        }
    }

    fn kernel(name: &str, program: &[Statement]) -> String {
        let mut writer = Writer { text: "start:\n".into(), count: 0 };
        for v in 0..VARIABLES {
            writer.line(format_args!("  %v{v} = alloca i32, addrspace(5)"));
        }
        writer.line(format_args!(
            "  %lane = call i32 @llvm.amdgcn.workitem.id.x()\n  %row = mul i32 %lane, {}",
            4 * VARIABLES
        ));
        for v in 0..VARIABLES {
            writer.line(format_args!("  %at{v} = add i32 %row, {}", 4 * v));
            writer.line(format_args!("  %p{v} = getelementptr i8, ptr addrspace(1) %in, i32 %at{v}"));
            writer.line(format_args!(
                "  %i{v} = load i32, ptr addrspace(1) %p{v}\n  store i32 %i{v}, ptr addrspace(5) %v{v}"
            ));
        }
        writer.block(program, None);
        writer.line(format_args!("  br label %done\ndone:"));
        for v in 0..VARIABLES {
            let x = writer.read(v);
            writer.line(format_args!("  %q{v} = getelementptr i8, ptr addrspace(1) %out, i32 %at{v}"));
            writer.line(format_args!("  store i32 %x{x}, ptr addrspace(1) %q{v}"));
        }
        let body = writer.text;
        format!(
            "define amdgpu_kernel void @{name}(ptr addrspace(1) %in, ptr addrspace(1) %out) {{\n{body}  ret void\n}}\n"
        )
    }
}

fn programs(arch: Arch, seed: u64, levels: [u8; 2]) {
    let Some(compiler) = Compiler::new() else { return };
    let mut random = Random(seed);
    let programs: Vec<Vec<Statement>> =
        (0..PROGRAMS).map(|_| (0..6).flat_map(|_| block(&mut random, 3, false)).collect()).collect();
    let ir: String = programs.iter().enumerate().map(|(i, p)| Writer::kernel(&format!("f{i}"), p)).collect();
    for level in levels {
        let code = compiler.compile(&ir, arch, level);
        let gpu = Gpu::new(Config { arch, instruction_budget: Some(20_000_000), ..Config::default() });
        let module = load(&gpu, &code);
        for (i, program) in programs.iter().enumerate() {
            let mut random = Random(seed ^ i as u64);
            let input: Vec<u32> = (0..VARIABLES * LANES).map(|_| random.integer() as u32).collect();
            let (a, out) = (upload(&gpu, &input), zeros::<u32>(&gpu, VARIABLES * LANES));
            launch_1d(&gpu, &module, &format!("f{i}"), 1, LANES as u32, &Args::default().pointer(&a).pointer(&out));
            for (lane, (start, got)) in input.chunks_exact(VARIABLES).zip(out.get().chunks_exact(VARIABLES)).enumerate()
            {
                let mut expected: [u32; VARIABLES] = start.try_into().unwrap();
                interpret(program, &mut expected);
                assert_eq!(got, expected, "{arch} -O{level}, program {i} of seed {seed}, lane {lane}");
            }
        }
    }
}

#[test]
fn programs_for_gfx90a() {
    programs(Arch::Gfx90a, 1, [0, 1]);
}

#[test]
fn programs_for_gfx942() {
    programs(Arch::Gfx942, 2, [0, 1]);
}
