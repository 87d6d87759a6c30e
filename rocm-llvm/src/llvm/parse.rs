//! Reading modules: text, and bitcode.

use std::mem::ManuallyDrop;

use super::context::Context;
use super::error::{Error, Result};
use super::module::Module;
use super::raw::{self, Buffer};
use super::trial::{self, Trial};
use crate::annotations;

impl Context {
    /// Reads a module in LLVM's text form, and verifies it. `name` is for messages.
    ///
    /// On Unix, a child process reads the text first, because LLVM can crash on text that no compiler wrote. This takes
    /// as long again.
    ///
    /// # Errors
    /// [`Error::Parse`] with LLVM's message, which contains the line and column; also if LLVM crashes on the text, and if
    /// the input is bitcode, which [`parse_bitcode`](Self::parse_bitcode) reads; [`Error::Verify`]; [`Error::Io`] if no
    /// child process can be started.
    #[doc(alias = "LLVMParseIRInContext")]
    pub fn parse_ir(&self, name: &str, input: impl AsRef<[u8]>) -> Result<Module<'_>> {
        let input = input.as_ref();
        let c_name = raw::c_text("an input's name", name)?;
        if input.iter().all(u8::is_ascii_whitespace) {
            return Err(Error::Parse { name: name.to_owned(), message: "the input is empty".to_owned() });
        }
        // LLVM would read it, and its reader of bitcode is not safe for arbitrary input.
        if is_bitcode(input) {
            let message = "this is bitcode, not text: read it with Context::parse_bitcode".to_owned();
            return Err(Error::Parse { name: name.to_owned(), message });
        }
        // LLVM would take the NUL byte for the end of the text.
        if let Some(at) = input.iter().position(|&byte| byte == 0) {
            return Err(Error::Null { what: "the text", at });
        }
        annotations::check(input).map_err(|message| Error::Parse { name: name.to_owned(), message })?;
        let buffer = ManuallyDrop::new(Buffer::new(&c_name, input));
        let context = self.raw();
        let read = self.guarded("parse_ir", move || {
            let trial = trial::run(|| {
                // SAFETY: the child has copies of the context and the buffer.
                let (failed, module, _) = unsafe { read(context, buffer.0) };
                if !failed && !module.is_null() {
                    let (action, mut message) = (rocm_llvm_sys::llvm::LLVMReturnStatusAction, std::ptr::null_mut());
                    // SAFETY: the module is live, and the place valid for the write.
                    unsafe { raw::LLVMVerifyModule(module, action, &mut message) };
                }
            });
            match trial {
                // SAFETY: the context is live while the caller waits, and nothing else uses the buffer.
                Ok(Trial::Ended) => Ok(Some(unsafe { read(context, buffer.0) })),
                other => {
                    drop(ManuallyDrop::into_inner(buffer));
                    other.map(|_| None)
                }
            }
        })?;
        let read = read.map_err(|error| Error::io("a process that reads the text first cannot be started", &error))?;
        let (failed, module, message) = read.ok_or_else(|| Error::Parse {
            name: name.to_owned(),
            message: "LLVM crashed on the text, in a child process: no compiler wrote it".to_owned(),
        })?;
        self.parsed(name, failed, module, message)
    }

    /// Reads a module in bitcode, and verifies it. `name` is for messages.
    ///
    /// # Errors
    /// [`Error::Parse`] if the input is not bitcode, is truncated, or was written by a newer LLVM; [`Error::Verify`].
    ///
    /// # Safety
    /// The input must not be damaged or crafted bitcode. It must be bytes that an LLVM wrote, whole or truncated, or
    /// not bitcode at all. LLVM's reader trusts the content, and can access memory outside the input.
    #[doc(alias = "LLVMParseBitcodeInContext2")]
    pub unsafe fn parse_bitcode(&self, name: &str, input: impl AsRef<[u8]>) -> Result<Module<'_>> {
        let input = input.as_ref();
        let c_name = raw::c_text("an input's name", name)?;
        if !is_bitcode(input) {
            return Err(Error::Parse {
                name: name.to_owned(),
                message: "not bitcode: it does not start like it".into(),
            });
        }
        let buffer = Buffer::new(&c_name, input);
        let context = self.raw();
        let (failed, module) = self.guarded("parse_bitcode", move || {
            let mut module = std::ptr::null_mut();
            // SAFETY: the context is live while the caller waits, the buffer is live, the pointer is valid for the write, and the caller
            // guarantees that the reader can read the input.
            let failed = unsafe { raw::LLVMParseBitcodeInContext2(context, buffer.0, &mut module) } != 0;
            drop(buffer);
            (failed, module)
        })?;
        self.parsed(name, failed, module, String::new())
    }

    fn parsed(&self, name: &str, failed: bool, module: raw::LLVMModuleRef, message: String) -> Result<Module<'_>> {
        if failed || module.is_null() {
            let mut lines = self.take_errors().into_iter().map(|d| d.message).collect::<Vec<_>>();
            if !message.is_empty() {
                lines.insert(0, message);
            }
            return Err(Error::Parse { name: name.to_owned(), message: lines.join("\n") });
        }
        let module = Module::from_raw(module, self);
        module.verify()?;
        Ok(module)
    }
}

/// Reads text. Returns whether it failed, the module and a message.
///
/// # Safety
/// The context and the buffer must be live. LLVM owns the buffer afterwards.
unsafe fn read(context: raw::LLVMContextRef, buffer: raw::LLVMMemoryBufferRef) -> (bool, raw::LLVMModuleRef, String) {
    let (mut module, mut message) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: as the caller ensures; both pointers are valid for the writes, and the message is given away.
    unsafe {
        let failed = raw::LLVMParseIRInContext(context, buffer, &mut module, &mut message) != 0;
        (failed, module, raw::take_message(message))
    }
}

/// Returns whether the input starts with the magic of bitcode or of its wrapper.
fn is_bitcode(input: &[u8]) -> bool {
    input.starts_with(b"BC\xc0\xde") || input.starts_with(&0x0b17_c0de_u32.to_le_bytes())
}
