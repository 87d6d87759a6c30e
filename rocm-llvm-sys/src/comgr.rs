//! Comgr, the code object manager: compiles, links, disassembles and inspects code for AMD GPUs.
//!
//! Use the level of the installed Comgr: Comgr 3 (ROCm 6.4 and later) gives the constants of `amd_comgr_action_kind_t`
//! other values than Comgr 2, and accepts the old values for other actions without an error.

#[rustfmt::skip]
#[allow(missing_docs, reason = "not every item has a comment in C's headers")]
#[allow(non_camel_case_types, non_snake_case, non_upper_case_globals, reason = "names are C's")]
#[allow(clippy::missing_safety_doc, clippy::too_many_arguments, reason = "functions are C's")]
#[allow(clippy::identity_op, reason = "the first bit is written like the others")]
#[allow(unreachable_pub, unused_imports, unused_macros, reason = "levels differ in what they need")]
mod generated;

pub use generated::*;

rocm_loader::sys_crate!(rocm_loader::libraries::AMD_COMGR);
