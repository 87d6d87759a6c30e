//! LLVM through its C interface: builds, reads, optimises and emits LLVM IR for AMD GPUs.
//!
//! ```
//! use rocm_llvm::llvm::{AddressSpace, Context, Library, Optimization, TargetMachine};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // ROCm's LLVM, the system's, or the one in the Rust toolchain.
//! let llvm = match Library::load() {
//!     Ok(llvm) => llvm,
//!     Err(error) => {
//!         println!("{error}");
//!         return Ok(());
//!     }
//! };
//! println!("LLVM {} at {}", llvm.version(), llvm.path());
//!
//! let context = Context::new()?;
//! let mut module = context.module("store")?;
//! let kernel = module.add_kernel("store", &[context.pointer(AddressSpace::Global), context.i32()])?;
//! let builder = kernel.append_block("entry")?.builder();
//! builder.store(kernel.parameter(1)?, kernel.parameter(0)?)?;
//! builder.ret(None)?;
//! drop(builder);
//!
//! // A float added to an integer is undefined behaviour in LLVM; here it is an error.
//! let (one, half) = (context.i32().const_int(1)?, context.f32().const_float(0.5)?);
//! let block = module.add_function("f", context.void().function(&[], false)?)?.append_block("entry")?;
//! assert!(block.builder().add(one, half, "").is_err());
//! block.builder().ret(None)?;
//!
//! let machine = TargetMachine::new("gfx90a", Optimization::Default)?;
//! machine.run_passes(&mut module, "default<O2>")?;
//! let object = machine.emit_object(&module)?;
//! assert!(object.starts_with(b"\x7fELF"));
//! assert!(machine.emit_assembly(&module)?.contains("global_store_dword"));
//! # Ok(())
//! # }
//! ```
//!
//! | to | use |
//! |---|---|
//! | choose the LLVM | [`Library`] |
//! | build IR | [`Context`], [`Module`], [`Function`], [`BasicBlock`], [`Builder`] |
//! | read code | [`Value::opcode`], [`Value::operands`], [`Value::users`], [`Function::attributes`], [`Symbol`] |
//! | read metadata | [`Value::metadata`], [`Value::all_metadata`], [`Module::named_metadata`], [`Module::flags`], [`Metadata`] |
//! | change code | [`Value::replace_all_uses`], [`Value::erase`], [`BasicBlock::erase`], [`Module::erase_function`] |
//! | read and write IR | [`Context::parse_ir`], [`Context::parse_bitcode`], [`Module::to_bitcode`], `to_string` |
//! | link modules | [`Module::link`] |
//! | optimise | [`TargetMachine::run_passes`], [`Module::run_passes`] |
//! | make code | [`TargetMachine::emit_object`], [`TargetMachine::emit_assembly`], [`TargetMachine::assemble`] |
//! | make a code object for HIP | [`link()`], [`Linker`] |
//! | decode machine code | [`Disassembler`], [`Object`] |
//! | describe the source | [`DebugInfo`] |
//! | run code on the host | [`Jit`] |
//! | call other functions of LLVM | `as_raw` of each object, with [`sys::llvm`](crate::sys::llvm) |
//!
//! # Guarantees
//! - Values borrow their module, and modules their context. Operations that could free values take their module by
//!   `&mut`. Freed memory cannot be used. Erased instructions and blocks stay in memory until
//!   then, and are rejected as operands.
//! - Operands are checked before they are passed to LLVM: types, counts, and the function, module and context that they
//!   belong to. See [`Builder`].
//! - A module is verified before passes, linking and code generation. These work on a copy; the module changes if they
//!   succeed.
//! - LLVM's errors become [`Error`]s. If LLVM would end the process (a *fatal error*), the operation returns
//!   [`Error::Fatal`]: the thread that called LLVM is parked, and its copy of the module is never freed.
//!
//! Not covered: a crash inside LLVM that is neither an error nor a fatal error, on input that the verifier accepts.
//!
//! # Trust
//! LLVM's reader of bitcode expects the output of a compiler. Truncated files are errors, but on changed bytes it can
//! access memory outside the file, or crash. [`Context::parse_bitcode`] is `unsafe` for that reason.
//!
//! [`Context::parse_ir`] only reads text, and rejects bitcode. LLVM can crash on text, too: while it reads, it converts
//! metadata and intrinsics of older releases, and trusts their form. So the text is first read in a child process (Unix),
//! and text that crashes it is an [`Error::Parse`]. A wrong read that does not crash goes unnoticed. On other systems than
//! Unix, read only text that a compiler wrote.

mod assembly;
mod attribute;
mod attributes;
mod builder;
mod context;
mod debug_info;
mod debug_variables;
mod disassembler;
mod edit;
mod erased;
mod error;
mod extent;
mod function;
mod functions;
mod globals;
mod guard;
mod handles;
mod instruction;
mod jit;
mod later;
mod layout;
mod library;
mod linkage;
mod lld;
mod metadata;
mod module;
mod module_flags;
mod object;
mod opcode;
mod parse;
mod passes;
mod processor;
mod raw;
mod structures;
mod symbol;
mod target;
mod trial;
mod types;
mod value;
mod version;

pub use assembly::{Dialect, InlineAssembly};
pub use attribute::{Attribute, Place};
pub use attributes::AttributeValue;
pub use builder::{Builder, Cast, FloatPredicate, IntPredicate, Ordering, Phi, RmwOperation, Scope};
pub use context::Context;
pub use debug_info::{DebugInfo, FunctionScope, Language, Location};
pub use debug_variables::{DebugType, Encoding, Member, Variable};
pub use disassembler::{Disassembler, Instruction};
pub use error::{Diagnostic, Error, Mixed, Result, Severity};
pub use function::{BasicBlock, CallingConvention, Function, Visibility};
pub use globals::Global;
pub use instruction::Operand;
pub use jit::{Jit, JitFunction};
pub use layout::Layout;
pub use library::Library;
pub use linkage::Linkage;
pub use lld::{Linker, link};
pub use metadata::Metadata;
pub use module::Module;
pub use module_flags::{FlagBehavior, ModuleFlag};
pub use object::{Code, Object};
pub use opcode::{Class, Opcode};
pub use symbol::{Symbol, ThreadLocal, UnnamedAddress};
pub use target::{Optimization, TargetMachine};
pub use types::{AddressSpace, FunctionType, Type, TypeKind};
pub use value::{FastMath, Value};
pub use version::Version;
