//! y = alpha x + y, with a kernel that is built in memory: LLVM IR, optimised, compiled and linked without ROCm.
//!
//! `cargo run -p rocm-llvm --example saxpy_ir --features sim` runs it on the software GPU if there is no AMD GPU. An
//! argument names the LLVM to use.

use rocm_llvm::llvm::{
    AddressSpace, Attribute, Context, IntPredicate, Library, Linker, Module, Optimization, Place, TargetMachine,
};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

const GROUP: u32 = 256;

fn main() -> Result {
    let llvm = match std::env::args_os().nth(1) {
        Some(path) => Library::open(std::path::absolute(path)?)?,
        None => Library::load()?,
    };
    println!("LLVM {} at {}", llvm.version(), llvm.path());
    let linker = Linker::find()?;
    println!("lld at {}", linker.path().display());

    let context = Context::new()?;
    let mut objects = Vec::new();
    for gpu in ["gfx90a", "gfx942", "gfx1100", "gfx1201"] {
        let machine = match TargetMachine::new(gpu, Optimization::Aggressive) {
            Ok(machine) => machine,
            // LLVM 17 is older than gfx1201.
            Err(error) => {
                println!("{error}");
                continue;
            }
        };
        let mut module = saxpy(&context, &machine)?;
        machine.run_passes(&mut module, "default<O3>")?;
        let code = linker.link(&[machine.emit_object(&module)?])?;
        println!("{gpu}: {} bytes of code object", code.len());
        objects.push((gpu, code));
    }
    launch(&objects)
}

/// The kernel `saxpy(n, alpha, x, y)`.
fn saxpy<'c>(context: &'c Context, machine: &TargetMachine) -> Result<Module<'c>> {
    let (i32, f32, pointer) = (context.i32(), context.f32(), context.pointer(AddressSpace::Global));
    let module = context.module("saxpy")?;
    machine.prepare(&module)?;
    let kernel = module.add_kernel("saxpy", &[i32, f32, pointer, pointer])?;
    kernel.add_attribute(Place::Function, Attribute::Text("amdgpu-flat-work-group-size", "1,256"))?;
    let [n, alpha, x, y] = [0, 1, 2, 3].map(|at| kernel.parameter(at));
    let (n, alpha, x, y) = (n?, alpha?, x?, y?);

    let (entry, body, end) = (kernel.append_block("entry")?, kernel.append_block("body")?, kernel.append_block("end")?);
    let b = entry.builder();
    let group = b.call(module.intrinsic("llvm.amdgcn.workgroup.id.x")?, &[], "group")?;
    let item = b.call(module.intrinsic("llvm.amdgcn.workitem.id.x")?, &[], "item")?;
    let first = b.mul(group, i32.const_int(GROUP.into())?, "first")?;
    let i = b.add(first, item, "i")?;
    b.cond_br(b.icmp(IntPredicate::Ult, i, n, "inside")?, body, end)?;

    b.position_at_end(body)?;
    let (at_x, at_y) = (b.inbounds_gep(f32, x, &[i], "")?, b.inbounds_gep(f32, y, &[i], "")?);
    let product = b.fmul(alpha, b.load(f32, at_x, "x")?, "product")?;
    b.store(b.fadd(product, b.load(f32, at_y, "y")?, "sum")?, at_y)?;
    b.br(end)?;

    b.position_at_end(end)?;
    b.ret(None)?;
    drop(b);
    module.verify()?;
    Ok(module)
}

/// Launches the code object for the available GPU, and checks the results.
fn launch(objects: &[(&str, Vec<u8>)]) -> Result {
    hip::sim_if_no_gpu()?;
    let device = match hip::Device::get(0) {
        Ok(device) => device,
        Err(error) => {
            println!("not launched: {error}");
            return Ok(());
        }
    };
    let arch = device.properties()?.arch.clone();
    let Some((gpu, code)) = objects.iter().find(|(gpu, _)| *gpu == arch.name()) else {
        println!("not launched: the GPU is {arch}");
        return Ok(());
    };
    let kernel = hip::Module::load(&device, code)?.kernel("saxpy")?;
    let stream = hip::Stream::new(&device)?;
    let n = 100_000_u32;
    let numbers: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let x = hip::DeviceBuffer::from_slice(&device, &numbers)?;
    let mut y = hip::DeviceBuffer::from_slice(&device, &numbers)?;
    let config = hip::LaunchConfig::for_elements(n as usize, GROUP);
    // SAFETY: the kernel reads n elements of x, changes n elements of y, and checks its index against n.
    unsafe { kernel.launch(&stream, config, (n, 2.5_f32, &x, &mut y))? };
    let wrong = y.to_vec()?.iter().zip(&numbers).filter(|(y, x)| **y != 3.5 * **x).count();
    if wrong > 0 {
        return Err(format!("{wrong} of {n} numbers are wrong").into());
    }
    println!("saxpy: {n} numbers on {gpu}, all equal to the CPU's");
    Ok(())
}
