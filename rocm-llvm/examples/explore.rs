//! x
use rocm_llvm::comgr::{self, *};
fn show<T: std::fmt::Debug>(what: &str, r: Result<T>) -> Option<T> { match r { Ok(x) => { let t = format!("{x:?}"); println!("OK {what}: {}", t.chars().take(300).collect::<String>()); Some(x) } Err(e) => { let t = e.to_string(); println!("ERR {what}: {}", t.chars().take(1500).collect::<String>()); None } } }
fn main() {
    show("version", comgr::version());
    show("isas", comgr::isas());
    if let Some(m) = show("isa meta", comgr::isa_metadata("gfx90a")) { println!("{m}"); }
    show("isa features", Isa::new("gfx90a:sramecc+:xnack-"));
    show("isa bad", Isa::new("gfx90a:foo+"));
    show("isa bad", Isa::new("gfx1100:xnack+"));
    show("demangle", comgr::demangle("_Z5scaleIfEvPT_S0_"));
    let src = r#"extern "C" __global__ void saxpy(float a, const float *x, float *y, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + sinf(y[i]);
}"#;
    show("header", comgr::hip_header().map(str::len));
    let bc = show("hip_to_bitcode", comgr::hip_to_bitcode("saxpy.hip", src, "gfx90a", &Options::new().debug()).map(|b| (b.log, b.bytes))).unwrap_or_default();
    let code = show("hip_to_code", comgr::hip_to_code_object("saxpy.hip", src, "gfx90a", &Options::new().debug().optimize(3)).map(|b| (b.log, b.bytes)));
    if let Some((_, code)) = code {
        std::fs::write("/tmp/saxpy.co", &code).unwrap();
        if let Some(m) = show("metadata", comgr::metadata(&code)) { println!("{m}"); }
        show("symbols", comgr::symbols(&code));
        if let Some(d) = show("disassemble", comgr::disassemble(&code)) { println!("{}", d.to_string().lines().take(20).collect::<Vec<_>>().join("\n")); }
        show("lines", comgr::source_lines(&code));
        let d = Data::new(DataKind::CodeObject, "c", &code).unwrap();
        show("sym", d.symbol("saxpy.kd")); show("nosym", d.symbol("nothing"));
        show("mangled", d.mangled_names());
        show("isa", d.isa_name());
    }
    show("bc metadata", comgr::metadata(&bc.1));
    show("link bc", comgr::link_bitcode(&[("a", &bc.1)], "gfx90a", &Options::new()).map(|b| b.log));
    let ir = r#"
target triple = "amdgcn-amd-amdhsa"
declare float @__ocml_sin_f32(float)
define amdgpu_kernel void @k(ptr addrspace(1) %p, float %x) { %y = call float @__ocml_sin_f32(float %x)
 store float %y, ptr addrspace(1) %p
 ret void }
"#;
    let plain = r#"
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %p, float %x) { store float %x, ptr addrspace(1) %p
 ret void }
"#;
    show("plain ir", comgr::ir_to_code_object("k.ll", plain.as_bytes(), "gfx90a", &Options::new()).map(|b| b.bytes.len()));
    show("plain ir asm", comgr::ir_to_assembly("k.ll", plain.as_bytes(), "gfx90a", &Options::new()));
    show("ir without libs", comgr::ir_to_code_object("k.ll", ir.as_bytes(), "gfx90a", &Options::new()).map(|b| b.bytes.len()));
    show("ir with libs", comgr::ir_to_code_object("k.ll", ir.as_bytes(), "gfx90a", &Options::new().device_libraries()).map(|b| b.bytes.len()));
    show("bad ir", comgr::ir_to_code_object("k.ll", b"define what", "gfx90a", &Options::new()).map(|b| b.bytes.len()));
    show("bad bc", comgr::ir_to_code_object("k.bc", b"BC\xc0\xde0000", "gfx90a", &Options::new()).map(|b| b.bytes.len()));
    show("cut bc", comgr::ir_to_code_object("k.bc", &bc.1[..bc.1.len()/2], "gfx90a", &Options::new()).map(|b| b.bytes.len()));
    show("bad hip", comgr::hip_to_bitcode("bad.hip", "int f( { nonsense }", "gfx90a", &Options::new()).map(|b| b.log));
    let asm = comgr::ir_to_assembly("k.ll", plain.as_bytes(), "gfx90a", &Options::new()).unwrap_or_default();
    show("assemble", comgr::assembly_to_code_object("k.s", &asm, "gfx90a", &Options::new()).map(|b| b.bytes.len()));
    show("bad asm", comgr::assemble("k.s", "s_nonsense v0", "gfx90a", &Options::new()).map(|b| b.bytes.len()));
    show("other arch bc", comgr::link_bitcode(&[("a", &bc.1)], "gfx1100", &Options::new()).map(|b| b.bytes.len()));
    show("other arch codegen", comgr::ir_to_code_object("a", &bc.1, "gfx1100", &Options::new()).map(|b| b.bytes.len()));
}
