//! A kernel built in memory computes the right results.

use rocm_llvm::llvm::{Context, Linker, Optimization, TargetMachine};

use crate::support::{llvm, saxpy, skipped};

#[test]
fn a_kernel_made_in_memory_runs() {
    if llvm().is_none() {
        return;
    }
    let device = match hip::sim_if_no_gpu().and_then(|_| hip::Device::get(0)) {
        Ok(device) => device,
        Err(_) => return skipped("no GPU is available; build with `--features sim` for the software GPU"),
    };
    let linker = match Linker::find() {
        Ok(linker) => linker,
        Err(error) => return skipped(error),
    };
    let gpu = device.properties().unwrap().arch.name().to_owned();
    let context = Context::new().unwrap();
    for (level, passes) in [(Optimization::None, "instsimplify"), (Optimization::Aggressive, "default<O3>")] {
        let machine = TargetMachine::new(&gpu, level).unwrap();
        let mut module = saxpy(&context, &machine);
        machine.run_passes(&mut module, passes).unwrap();
        let code = linker.link(&[machine.emit_object(&module).unwrap()]).unwrap();
        let kernel = hip::Module::load(&device, &code).unwrap().kernel("saxpy").unwrap();
        let stream = hip::Stream::new(&device).unwrap();
        let n = 1000_u32;
        let numbers: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let x = hip::DeviceBuffer::from_slice(&device, &numbers).unwrap();
        let mut y = hip::DeviceBuffer::from_slice(&device, &[1.0_f32; 1000]).unwrap();
        let config = hip::LaunchConfig::for_elements(n as usize, 64);
        // SAFETY: the kernel reads n elements of x, changes n elements of y, and checks its index against n.
        unsafe { kernel.launch(&stream, config, (n, 2.5_f32, &x, &mut y)).unwrap() };
        let expected: Vec<f32> = numbers.iter().map(|x| 2.5 * x + 1.0).collect();
        assert_eq!(y.to_vec().unwrap(), expected, "{passes}");
    }
}
