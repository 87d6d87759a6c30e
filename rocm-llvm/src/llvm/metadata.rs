//! Metadata for passes and for the runtime.

use std::fmt;
use std::hash::{Hash, Hasher};

use rocm_llvm_sys::llvm::LLVMDIArgListMetadataKind;

use super::context::Context;
use super::error::{Error, Result};
use super::module::Module;
use super::raw;
use super::types::TypeKind;
use super::value::{Owner, Value};

/// A string, a node, or a constant, as metadata.
///
/// Two are equal if LLVM has one object for both. A node can contain itself: keep the nodes that were visited in a set.
///
/// ```
/// use rocm_llvm::llvm::Context;
///
/// # fn main() -> Result<(), rocm_llvm::llvm::Error> {
/// # if rocm_llvm::llvm::Library::load().is_err() { return Ok(()) }
/// let context = Context::new()?;
/// let module = context.parse_ir("v.ll", "!opencl.ocl.version = !{!0}\n!0 = !{i32 2, !\"x\", null}\n")?;
/// let version = module.named_metadata("opencl.ocl.version")?[0];
/// let operands = version.operands();
/// assert_eq!(operands[0].and_then(|major| major.as_constant()?.as_int()), Some(2));
/// assert_eq!(operands[1].and_then(|text| text.as_text()).as_deref(), Some("x"));
/// assert_eq!(operands[2], None);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Metadata<'m> {
    content: Content<'m>,
    owner: Owner<'m>,
    context: &'m Context,
}

#[derive(Clone, Copy)]
enum Content<'m> {
    Text(raw::LLVMMetadataRef),
    Node(raw::LLVMMetadataRef),
    Constant(Value<'m>),
}

/// The number of the kind `dbg`.
const DBG: u32 = 0;

/// Names of LLVM's own kinds. Names of others are looked up in the text of the code that has them.
const KINDS: &[&str] = &[
    "dbg",
    "tbaa",
    "prof",
    "fpmath",
    "range",
    "tbaa.struct",
    "invariant.load",
    "alias.scope",
    "noalias",
    "nontemporal",
    "nonnull",
    "dereferenceable",
    "align",
    "llvm.loop",
    "type",
    "absolute_symbol",
    "callees",
    "amdgpu.noclobber",
    "amdgpu.no.fine.grained.memory",
    "amdgpu.no.remote.memory",
    "amdgpu.ignore.denormal.mode",
    "reqd_work_group_size",
    "kernel_arg_addr_space",
    "kernel_arg_type",
];

/// Returns the names in the text of code that can be those of kinds: `name` of `!name !0`.
fn names_in(text: &str) -> impl Iterator<Item = Vec<u8>> {
    text.split_inclusive(' ').zip(text.split(' ').skip(1)).filter_map(|(word, next)| {
        let name = word.trim_start().strip_prefix('!')?.strip_suffix(' ')?;
        if !next.starts_with(['!', '<']) || name.starts_with(|first: char| first.is_ascii_digit()) {
            return None;
        }
        // Other characters than letters, digits and a few signs are `\20`.
        let mut bytes = name.bytes();
        let mut plain = Vec::with_capacity(name.len());
        while let Some(byte) = bytes.next() {
            plain.push(match byte {
                b'\\' => {
                    let mut digit = || char::from(bytes.next()?).to_digit(16);
                    u8::try_from(digit()? << 4 | digit()?).ok()?
                }
                other => other,
            });
        }
        (!plain.is_empty()).then_some(plain)
    })
}

impl Context {
    /// Returns LLVM's number of a kind, which the context gets if it does not have it.
    #[doc(alias = "LLVMGetMDKindIDInContext")]
    fn kind(&self, operation: &'static str, name: &[u8]) -> Result<u32> {
        let length = u32::try_from(name.len()).map_err(|_| Error::invalid(operation, "the kind's name is too long"))?;
        // SAFETY: the context is live, and the text is valid for its length.
        Ok(unsafe { raw::LLVMGetMDKindIDInContext(self.raw(), name.as_ptr().cast(), length) })
    }

    /// Returns the name of a kind that `text`, printed by LLVM, uses.
    fn kind_name(&self, kind: u32, text: impl FnOnce() -> String) -> Result<String> {
        let mut kinds = self.kinds.borrow_mut();
        if kinds.is_empty() {
            for name in KINDS {
                kinds.insert(self.kind("metadata", name.as_bytes())?, (*name).to_owned());
            }
        }
        if !kinds.contains_key(&kind) {
            for name in names_in(&text()) {
                let number = self.kind("metadata", &name)?;
                kinds.insert(number, String::from_utf8_lossy(&name).into_owned());
            }
        }
        kinds.get(&kind).cloned().ok_or_else(|| Error::invalid("metadata", format!("kind {kind} has no name")))
    }
}

impl<'m> Metadata<'m> {
    pub(super) fn raw(self) -> raw::LLVMMetadataRef {
        match self.content {
            Content::Text(raw) | Content::Node(raw) => raw,
            // SAFETY: the value is live, and a constant.
            Content::Constant(value) => unsafe { raw::LLVMValueAsMetadata(value.raw()) },
        }
    }

    pub(super) fn context(self) -> &'m Context {
        self.context
    }

    pub(super) fn owner(self) -> Owner<'m> {
        self.owner
    }

    fn is_kept(self) -> bool {
        !matches!(self.content, Content::Constant(_))
    }

    pub(super) fn is_node(self) -> bool {
        matches!(self.content, Content::Node(_))
    }

    /// Wraps a constant, or metadata as a value. Returns `None` for metadata that LLVM may free: a value of a function
    /// as metadata, or a list of these.
    fn from_value(raw: raw::LLVMValueRef, owner: Owner<'m>, context: &'m Context) -> Option<Self> {
        let value = Value::new(raw, owner, context);
        // SAFETY: the value is live, and each function is called for its class. The one with a place writes one value.
        let content = unsafe {
            if value.ty().kind() != TypeKind::Metadata {
                Content::Constant(value)
            } else if !raw::LLVMIsAMDString(raw).is_null() {
                Content::Text(raw::LLVMValueAsMetadata(raw))
            } else if !raw::LLVMIsAValueAsMetadata(raw).is_null() {
                let mut inner = std::ptr::null_mut();
                raw::LLVMGetMDNodeOperands(raw, &mut inner);
                let inner = (!inner.is_null()).then(|| Value::new(inner, owner, context));
                Content::Constant(inner.filter(|inner| inner.is_constant())?)
            } else if !raw::LLVMIsAMDNode(raw).is_null() {
                let node = raw::LLVMValueAsMetadata(raw);
                if raw::LLVMGetMetadataKind(node) == LLVMDIArgListMetadataKind {
                    return None;
                }
                Content::Node(node)
            } else {
                return None;
            }
        };
        Some(Self { content, owner, context })
    }

    /// Wraps an operand of a node or of named metadata; `None` for null.
    fn from_operand(raw: raw::LLVMValueRef, owner: Owner<'m>, context: &'m Context) -> Option<Self> {
        if raw.is_null() {
            return None;
        }
        let found = Self::from_value(raw, owner, context)?;
        // A constant is returned as a constant. One as metadata was a node of one constant, see `to_value`.
        // SAFETY: the value is live.
        if found.is_kept() || unsafe { raw::LLVMIsAValueAsMetadata(raw).is_null() } {
            return Some(found);
        }
        let mut only = found.raw();
        // SAFETY: the context is live, the operand belongs to it, and there is one.
        let node = unsafe { raw::LLVMMDNodeInContext2(context.raw(), &mut only, 1) };
        Some(Self { content: Content::Node(node), owner, context })
    }

    /// Returns it as a value, for intrinsics that take metadata. LLVM has one value for a constant and for a node whose
    /// only operand is the constant.
    #[doc(alias = "LLVMMetadataAsValue")]
    pub fn to_value(self) -> Value<'m> {
        // SAFETY: the context and the metadata are live.
        Value::new(unsafe { raw::LLVMMetadataAsValue(self.context().raw(), self.raw()) }, self.owner, self.context())
    }

    /// Returns the text of a string; `None` for others. Bytes that are not UTF-8 are replaced.
    #[doc(alias = "LLVMGetMDString")]
    pub fn as_text(self) -> Option<String> {
        let Content::Text(_) = self.content else { return None };
        let mut length = 0;
        // SAFETY: the string is live and one, the place valid for the write, and the text has the returned length.
        unsafe {
            let text = raw::LLVMGetMDString(self.to_value().raw(), &mut length);
            Some(raw::copy_text(text, length as usize))
        }
    }

    /// Returns the constant; `None` for strings and nodes.
    pub fn as_constant(self) -> Option<Value<'m>> {
        match self.content {
            Content::Constant(value) => Some(value),
            Content::Text(_) | Content::Node(_) => None,
        }
    }

    /// Returns the operands of a node, `None` for one that is null; none for strings and constants. Nodes of debug
    /// information have operands as LLVM keeps them; their other fields are not returned.
    ///
    /// LLVM's C interface returns a node whose only operand is null as one without operands.
    #[doc(alias("LLVMGetMDNodeNumOperands", "LLVMGetMDNodeOperands"))]
    pub fn operands(self) -> Vec<Option<Metadata<'m>>> {
        if !self.is_node() {
            return Vec::new();
        }
        let node = self.to_value().raw();
        // SAFETY: the node is live and one, and the buffer has room for the operands that LLVM writes.
        let raws = unsafe {
            let mut raws = vec![std::ptr::null_mut(); raw::LLVMGetMDNodeNumOperands(node) as usize];
            raw::LLVMGetMDNodeOperands(node, raws.as_mut_ptr());
            raws
        };
        raws.into_iter().map(|raw| Self::from_operand(raw, self.owner, self.context)).collect()
    }

    /// Returns what identifies it.
    fn identity(self) -> usize {
        match self.content {
            Content::Text(raw) | Content::Node(raw) => raw as usize,
            Content::Constant(value) => value.raw() as usize,
        }
    }
}

impl PartialEq for Metadata<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for Metadata<'_> {}

impl Hash for Metadata<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

/// Prints it as LLVM does, a node with the addresses of the nodes in it.
impl fmt::Display for Metadata<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_value().fmt(f)
    }
}

impl fmt::Debug for Metadata<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Metadata({self})")
    }
}

impl Context {
    /// Returns a string as metadata.
    #[doc(alias = "LLVMMDStringInContext2")]
    pub fn metadata_text(&self, text: &str) -> Metadata<'_> {
        // SAFETY: the context is live, and the text valid for its length and copied.
        let raw = unsafe { raw::LLVMMDStringInContext2(self.raw(), text.as_ptr().cast(), text.len()) };
        Metadata { content: Content::Text(raw), owner: Owner::Context, context: self }
    }

    /// Returns a node with these operands.
    ///
    /// # Errors
    /// [`Error::Mixed`] if operands belong to another context, or to two modules.
    #[doc(alias = "LLVMMDNodeInContext2")]
    pub fn metadata_node<'m>(&'m self, operands: &[Metadata<'m>]) -> Result<Metadata<'m>> {
        let mut owner = Owner::Context;
        let mut raws = Vec::with_capacity(operands.len());
        for operand in operands {
            self.same("metadata_node", operand.context)?;
            owner = owner.join("metadata_node", operand.owner)?;
            raws.push(operand.raw());
        }
        // SAFETY: the context is live, and all operands belong to it; the count is that of the vector.
        let raw = unsafe { raw::LLVMMDNodeInContext2(self.raw(), raws.as_mut_ptr(), raws.len()) };
        Ok(Metadata { content: Content::Node(raw), owner, context: self })
    }
}

impl<'m> Value<'m> {
    /// Returns a constant as metadata.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is not a constant.
    #[doc(alias = "LLVMValueAsMetadata")]
    pub fn to_metadata(self) -> Result<Metadata<'m>> {
        if !self.is_constant() {
            return Err(Error::invalid("to_metadata", format!("`{self}` is not a constant")));
        }
        Ok(Metadata { content: Content::Constant(self), owner: self.owner(), context: self.context() })
    }

    /// Returns the metadata of a value that is metadata, such as an argument of an intrinsic; `None` for others, and while
    /// debug information of the module is not finished: its nodes are not final.
    pub fn as_metadata(self) -> Option<Metadata<'m>> {
        let is_final = self.module().is_none_or(|module| module.check_finished("as_metadata").is_ok());
        let is_metadata = self.ty().kind() == TypeKind::Metadata;
        if is_final && is_metadata { Metadata::from_value(self.raw(), self.owner(), self.context()) } else { None }
    }

    /// Returns whether it is metadata that LLVM does not free when a value of a function is replaced.
    pub(super) fn is_kept_metadata(self) -> bool {
        Metadata::from_value(self.raw(), self.owner(), self.context()).is_some_and(Metadata::is_kept)
    }

    /// Returns the node of a kind, such as `range` or `dbg`, that is attached to an instruction, a function or a global
    /// variable; the first one if a global variable has several. `None` if there is none, and for other values.
    ///
    /// # Errors
    /// [`Error::Invalid`] while debug information of the module is not finished: its nodes are not final.
    #[doc(alias("LLVMGetMetadata", "LLVMHasMetadata"))]
    pub fn metadata(self, kind: &str) -> Result<Option<Metadata<'m>>> {
        let Some((owner, is_instruction)) = self.attached("metadata")?.filter(|_| !kind.is_empty()) else {
            return Ok(None);
        };
        if is_instruction && kind == "dbg" {
            // SAFETY: the instruction is live, and `dbg` is 0. A location is not a node of one constant.
            let raw = unsafe { raw::LLVMGetMetadata(self.raw(), DBG) };
            return Ok(Metadata::from_operand(raw, owner, self.context()));
        }
        let number = self.context().kind("metadata", kind.as_bytes())?;
        let found = self.entries(owner, is_instruction).into_iter().find(|(other, _)| *other == number);
        Ok(found.map(|(_, node)| node))
    }

    /// Returns the nodes that are attached to an instruction, a function or a global variable, with the names of their
    /// kinds; none for other values. The location of an instruction in the source (`dbg`) is not among them.
    ///
    /// # Errors
    /// [`Error::Invalid`] while debug information of the module is not finished: its nodes are not final.
    #[doc(alias("LLVMInstructionGetAllMetadataOtherThanDebugLoc", "LLVMGlobalCopyAllMetadata"))]
    #[doc(alias("LLVMValueMetadataEntriesGetKind", "LLVMValueMetadataEntriesGetMetadata"))]
    #[doc(alias = "LLVMDisposeValueMetadataEntries")]
    pub fn all_metadata(self) -> Result<Vec<(String, Metadata<'m>)>> {
        let Some((owner, is_instruction)) = self.attached("all_metadata")? else { return Ok(Vec::new()) };
        let entries = self.entries(owner, is_instruction).into_iter();
        entries.map(|(kind, node)| Ok((self.context().kind_name(kind, || self.to_string())?, node))).collect()
    }

    /// Returns the owner of the nodes that are attached, and whether it is an instruction; `None` for a value that has
    /// none.
    fn attached(self, operation: &'static str) -> Result<Option<(Owner<'m>, bool)>> {
        let Some(module) = self.module() else { return Ok(None) };
        module.check_finished(operation)?;
        // SAFETY: the value is live.
        let (is_instruction, is_global) = unsafe {
            let is_global =
                !raw::LLVMIsAFunction(self.raw()).is_null() || !raw::LLVMIsAGlobalVariable(self.raw()).is_null();
            (!raw::LLVMIsAInstruction(self.raw()).is_null(), is_global)
        };
        Ok((is_instruction || is_global).then_some((Owner::Module(module), is_instruction)))
    }

    /// Returns the nodes with their kinds' numbers.
    fn entries(self, owner: Owner<'m>, is_instruction: bool) -> Vec<(u32, Metadata<'m>)> {
        let mut count = 0;
        // SAFETY: the value is live and of the function's class, the place is valid for the write, the indices are below the count, and the
        // entries are freed after their last use.
        unsafe {
            let entries = match is_instruction {
                true => raw::LLVMInstructionGetAllMetadataOtherThanDebugLoc(self.raw(), &mut count),
                false => raw::LLVMGlobalCopyAllMetadata(self.raw(), &mut count),
            };
            let entry = |at: usize| {
                // Fits: LLVM's own functions take the index as `u32`.
                let at = at as u32;
                let content = Content::Node(raw::LLVMValueMetadataEntriesGetMetadata(entries, at));
                let node = Metadata { content, owner, context: self.context() };
                (raw::LLVMValueMetadataEntriesGetKind(entries, at), node)
            };
            // LLVM returns `dbg` for an instruction, too, despite the name of its function.
            let all = (0..count).map(entry).filter(|(kind, _)| !is_instruction || *kind != DBG).collect();
            raw::LLVMDisposeValueMetadataEntries(entries);
            all
        }
    }

    /// Attaches metadata to an instruction, such as a node of kind `range` or `amdgpu.noclobber`; or to a function or
    /// global variable, such as `reqd_work_group_size`. Replaces the node of the kind.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the value is none of these, the metadata not a node, or the kind `dbg`, which a
    /// [`Builder`](super::Builder) sets; [`Error::Mixed`].
    #[doc(alias("LLVMSetMetadata", "LLVMGlobalSetMetadata", "LLVMGetMDKindIDInContext"))]
    pub fn set_metadata(self, kind: &str, node: Metadata<'m>) -> Result<()> {
        let operation = "set_metadata";
        self.context().same(operation, node.context())?;
        // SAFETY: the value is live.
        let (is_instruction, is_global) = unsafe {
            let is_global =
                !raw::LLVMIsAFunction(self.raw()).is_null() || !raw::LLVMIsAGlobalVariable(self.raw()).is_null();
            (!raw::LLVMIsAInstruction(self.raw()).is_null(), is_global)
        };
        if !is_instruction && !is_global {
            let why = format!("`{self}` is not an instruction, a function or a global variable");
            return Err(Error::invalid(operation, why));
        }
        if kind == "dbg" || kind.is_empty() || !node.is_node() {
            return Err(Error::invalid(operation, "a node and the name of its kind are needed, and not `dbg`"));
        }
        self.owner().join(operation, node.owner())?;
        let kind = self.context().kind(operation, kind.as_bytes())?;
        // SAFETY: the context, the value and the node are live, and of one context. The functions are called for their classes.
        unsafe {
            match is_instruction {
                true => {
                    raw::LLVMSetMetadata(self.raw(), kind, raw::LLVMMetadataAsValue(self.context().raw(), node.raw()))
                }
                false => raw::LLVMGlobalSetMetadata(self.raw(), kind, node.raw()),
            }
        }
        Ok(())
    }
}

impl Module<'_> {
    pub(super) fn check_finished(&self, operation: &'static str) -> Result<()> {
        match self.unfinished.get() {
            0 => Ok(()),
            _ => Err(Error::invalid(operation, "debug information is not finished: drop the DebugInfo")),
        }
    }

    /// Returns the names of the named metadata, in the module's order.
    #[doc(alias("LLVMGetFirstNamedMetadata", "LLVMGetNextNamedMetadata", "LLVMGetNamedMetadataName"))]
    pub fn named_metadata_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        // SAFETY: the module is live, and so is its metadata; the place is valid for the write, and the name has the returned length.
        unsafe {
            let mut at = raw::LLVMGetFirstNamedMetadata(self.raw());
            while !at.is_null() {
                let mut length = 0;
                let name = raw::LLVMGetNamedMetadataName(at, &mut length);
                names.push(raw::copy_text(name, length));
                at = raw::LLVMGetNextNamedMetadata(at);
            }
        }
        names
    }

    /// Returns the nodes of the named metadata, such as `opencl.ocl.version`; none if the module does not have it.
    ///
    /// # Errors
    /// [`Error::Null`] if the name contains a NUL byte; [`Error::Invalid`] while debug information of the module is not
    /// finished: its nodes are not final.
    #[doc(alias("LLVMGetNamedMetadataNumOperands", "LLVMGetNamedMetadataOperands"))]
    pub fn named_metadata(&self, name: &str) -> Result<Vec<Metadata<'_>>> {
        self.check_finished("named_metadata")?;
        let text = raw::c_text("a name of metadata", name)?;
        // SAFETY: the module is live, the name is a C string, and the buffer has room for the operands that LLVM writes.
        let raws = unsafe {
            let count = raw::LLVMGetNamedMetadataNumOperands(self.raw(), text.as_ptr());
            let mut raws = vec![std::ptr::null_mut(); count as usize];
            raw::LLVMGetNamedMetadataOperands(self.raw(), text.as_ptr(), raws.as_mut_ptr());
            raws
        };
        let node = |raw| Metadata::from_operand(raw, Owner::Module(self), self.context());
        Ok(raws.into_iter().filter_map(node).collect())
    }

    /// Adds a node to the named metadata, such as `opencl.ocl.version`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is not a node, or the name is empty or reserved; [`Error::Null`]; [`Error::Mixed`].
    #[doc(alias = "LLVMAddNamedMetadataOperand")]
    pub fn add_named_metadata<'m>(&'m self, name: &str, node: Metadata<'m>) -> Result<()> {
        let operation = "add_named_metadata";
        self.context().same(operation, node.context())?;
        node.owner().join(operation, Owner::Module(self))?;
        let text = raw::c_text("a name of metadata", name)?;
        if !node.is_node() || name.is_empty() || name == "llvm.module.flags" || name.starts_with("llvm.dbg") {
            return Err(Error::invalid(
                operation,
                format!("`{name}`: a node and a name that is not LLVM's are needed"),
            ));
        }
        // SAFETY: the module and the node are live, of one context, and the name is a C string.
        unsafe { raw::LLVMAddNamedMetadataOperand(self.raw(), text.as_ptr(), node.to_value().raw()) };
        Ok(())
    }
}
