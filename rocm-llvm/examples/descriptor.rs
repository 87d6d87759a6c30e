//! Finds the descriptor of a kernel in a code object, and reads some of its fields.

use object::{Object as _, ObjectSection as _};
use rocm_llvm::comgr::{self, Data, DataKind, Options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let source = "extern \"C\" __global__ void sum(float *x) {
        __shared__ float all[256];
        all[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        x[threadIdx.x] += all[255 - threadIdx.x];
    }";
    let code = comgr::hip_to_code_object("sum.hip", source, "gfx90a", &Options::new())?.bytes;
    let data = Data::new(DataKind::CodeObject, "sum.co", &code)?;
    let symbol = data.symbol("sum.kd")?.ok_or("no descriptor")?;
    let file = object::File::parse(&code[..])?;
    let section =
        file.sections().find(|section| (section.address()..section.address() + section.size()).contains(&symbol.value));
    let section = section.ok_or("no section has the descriptor")?;
    let at = usize::try_from(symbol.value - section.address())?;
    let descriptor = section.data()?.get(at..at + 64).ok_or("the descriptor is cut off")?;
    let number = |at: usize| u32::from_le_bytes(descriptor[at..at + 4].try_into().unwrap_or_default());
    println!("LDS: {} bytes", number(0));
    println!("scratch: {} bytes", number(4));
    println!("arguments: {} bytes", number(8));
    // COMPUTE_PGM_RSRC1: the lowest six bits are the registers in eights, less one.
    println!("vector registers: at most {}", (number(48) & 0x3f) * 8 + 8);
    Ok(())
}
