//! Attributes of functions, results, parameters and calls.

use super::context::Context;
use super::error::{Error, Result};
use super::raw;
use super::types::Type;

/// The subject of an [`Attribute`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The function.
    Function,
    /// Its result.
    Result,
    /// The parameter of this index, from 0.
    Parameter(usize),
}

impl Place {
    pub(super) fn index(self, parameters: usize) -> Result<raw::LLVMAttributeIndex> {
        match self {
            Self::Function => Ok(u32::MAX),
            Self::Result => Ok(0),
            // Fits: LLVM has no functions with that many parameters.
            Self::Parameter(at) if at < parameters => Ok(at as u32 + 1),
            Self::Parameter(at) => Err(Error::invalid("attribute", format!("parameter {at} of {parameters}"))),
        }
    }
}

/// An attribute: an assumption that LLVM may make, or a request to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Attribute<'a> {
    /// An attribute without a value, by its name in LLVM's text form: `nounwind`, `alwaysinline`, `noinline`,
    /// `convergent`, `noalias`, `readonly`, `nonnull`, `inreg`, `optnone`, ...
    Flag(&'a str),
    /// The pointer is a multiple of this power of two.
    Align(u32),
    /// This many bytes can be read through the pointer.
    Dereferenceable(u64),
    /// The pointer points to a copy of a value of this type. Kernels receive structures in this form.
    ByRef(Type<'a>),
    /// The pointer's target is passed by value, of this type.
    ByValue(Type<'a>),
    /// The function writes its result of this type through the pointer.
    StructResult(Type<'a>),
    /// A text attribute for a target: `("amdgpu-flat-work-group-size", "1,256")`.
    Text(&'a str, &'a str),
}

/// The attributes without a value in LLVM 17 to 23 that this crate knows. The others take a value or a type.
pub(super) const FLAGS: &[&str] = &[
    "allocalign",
    "allocptr",
    "alwaysinline",
    "builtin",
    "cold",
    "convergent",
    "disable_sanitizer_instrumentation",
    "fn_ret_thunk_extern",
    "hot",
    "immarg",
    "inreg",
    "inlinehint",
    "jumptable",
    "minsize",
    "mustprogress",
    "naked",
    "nest",
    "noalias",
    "nobuiltin",
    "nocallback",
    "nocapture",
    "nocf_check",
    "noduplicate",
    "nofree",
    "noimplicitfloat",
    "noinline",
    "nomerge",
    "nonlazybind",
    "nonnull",
    "noprofile",
    "norecurse",
    "noredzone",
    "noreturn",
    "nosync",
    "noundef",
    "nounwind",
    "null_pointer_is_valid",
    "optdebug",
    "optforfuzzing",
    "optnone",
    "optsize",
    "readnone",
    "readonly",
    "returned",
    "safestack",
    "signext",
    "speculatable",
    "sanitize_address",
    "sanitize_memory",
    "sanitize_thread",
    "speculative_load_hardening",
    "ssp",
    "sspreq",
    "sspstrong",
    "strictfp",
    "swiftasync",
    "swifterror",
    "swiftself",
    "willreturn",
    "writable",
    "writeonly",
    "zeroext",
    "dead_on_unwind",
];

impl Attribute<'_> {
    /// Returns LLVM's attribute. One that does not exist in its version is an error.
    pub(super) fn to_raw(self, context: &Context) -> Result<rocm_llvm_sys::llvm::LLVMAttributeRef> {
        let operation = "attribute";
        match self {
            Self::Flag(name) if FLAGS.contains(&name) => number(context, name, 0),
            Self::Flag(name) => Err(Error::invalid(operation, format!("{name} is not an attribute without a value"))),
            Self::Align(bytes) if bytes.is_power_of_two() => number(context, "align", bytes.into()),
            Self::Align(bytes) => Err(Error::invalid(operation, format!("align: {bytes} is not a power of two"))),
            Self::Dereferenceable(0) => Err(Error::invalid(operation, "dereferenceable: 0 bytes")),
            Self::Dereferenceable(bytes) => number(context, "dereferenceable", bytes),
            Self::ByRef(ty) => of_type(context, "byref", ty),
            Self::ByValue(ty) => of_type(context, "byval", ty),
            Self::StructResult(ty) => of_type(context, "sret", ty),
            Self::Text(key, value) => {
                let length = |text: &str| {
                    u32::try_from(text.len()).map_err(|_| Error::invalid(operation, "the text is too long"))
                };
                if key.is_empty() {
                    return Err(Error::invalid(operation, "the key is empty"));
                }
                let (of_key, of_value) = (length(key)?, length(value)?);
                // SAFETY: the context is live, and the texts valid for their lengths and copied.
                Ok(unsafe {
                    raw::LLVMCreateStringAttribute(
                        context.raw(),
                        key.as_ptr().cast(),
                        of_key,
                        value.as_ptr().cast(),
                        of_value,
                    )
                })
            }
        }
    }
}

fn kind(name: &str) -> Result<u32> {
    // SAFETY: the text is valid for its length.
    match unsafe { raw::LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()) } {
        0 => Err(Error::invalid("attribute", format!("this LLVM does not have {name}"))),
        kind => Ok(kind),
    }
}

fn number(context: &Context, name: &str, value: u64) -> Result<rocm_llvm_sys::llvm::LLVMAttributeRef> {
    let kind = kind(name)?;
    // SAFETY: the context is live, and the attribute one that takes this value.
    Ok(unsafe { raw::LLVMCreateEnumAttribute(context.raw(), kind, value) })
}

fn of_type(context: &Context, name: &str, ty: Type<'_>) -> Result<rocm_llvm_sys::llvm::LLVMAttributeRef> {
    context.same("attribute", ty.context())?;
    ty.check_element("attribute")?;
    let kind = kind(name)?;
    // SAFETY: the context and the type are live, and the attribute one that takes a type.
    Ok(unsafe { raw::LLVMCreateTypeAttribute(context.raw(), kind, ty.raw()) })
}
