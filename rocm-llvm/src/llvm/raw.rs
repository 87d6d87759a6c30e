//! LLVM's C functions that this module calls unconditionally: the library is checked for them when it is chosen.

use std::ffi::{CStr, CString, c_char, c_int};

pub(super) use rocm_llvm_sys::llvm::{
    BINDING, LLVMAttributeIndex, LLVMBasicBlockRef, LLVMBool, LLVMBuilderRef, LLVMContextRef, LLVMDIBuilderRef,
    LLVMDiagnosticInfoRef, LLVMDisasmContextRef, LLVMErrorRef, LLVMMemoryBufferRef, LLVMMetadataRef, LLVMModuleRef,
    LLVMOrcExecutionSessionRef, LLVMOrcLLJITRef, LLVMOrcObjectLayerRef, LLVMTargetMachineRef, LLVMTypeRef,
    LLVMValueRef,
};

use super::error::{Error, Result};

macro_rules! required {
    ($list:ident: $($name:ident)*) => {
        pub(super) use rocm_llvm_sys::llvm::{$($name),*};
        pub(super) const $list: &[&str] = &[$(stringify!($name)),*];
    };
}

required! { CORE:
    LLVMAddAttributeAtIndex LLVMAddCallSiteAttribute LLVMAddCase LLVMAddFunction LLVMAddGlobalInAddressSpace
    LLVMAddIncoming LLVMAddModuleFlag LLVMAddNamedMetadataOperand LLVMAppendBasicBlockInContext LLVMArrayType2
    LLVMBFloatTypeInContext LLVMBuildAlloca LLVMBuildAtomicCmpXchg LLVMBuildAtomicRMW LLVMBuildBinOp LLVMBuildBr
    LLVMBuildCall2 LLVMBuildCast LLVMBuildCondBr LLVMBuildExtractElement LLVMBuildExtractValue LLVMBuildFCmp
    LLVMBuildFNeg LLVMBuildFence LLVMBuildFreeze LLVMBuildGEP2 LLVMBuildICmp LLVMBuildInBoundsGEP2
    LLVMBuildInsertElement LLVMBuildInsertValue LLVMBuildLoad2 LLVMBuildNeg LLVMBuildNot LLVMBuildPhi LLVMBuildRet
    LLVMBuildRetVoid LLVMBuildSelect LLVMBuildShuffleVector LLVMBuildStore LLVMBuildSwitch LLVMBuildUnreachable
    LLVMCloneModule LLVMConstArray2 LLVMConstInt LLVMConstIntGetSExtValue LLVMConstIntGetZExtValue LLVMConstNull
    LLVMConstReal LLVMConstStringInContext LLVMConstStructInContext LLVMConstVector LLVMContextCreate
    LLVMContextDispose LLVMContextSetDiagnosticHandler LLVMCountBasicBlocks LLVMCountParamTypes LLVMCountParams
    LLVMCountStructElementTypes LLVMCreateBuilderInContext LLVMCreateDIBuilder LLVMCreateEnumAttribute
    LLVMCreateMemoryBufferWithMemoryRangeCopy LLVMCreatePassBuilderOptions LLVMCreateStringAttribute
    LLVMCreateTypeAttribute LLVMDIBuilderCreateDebugLocation LLVMDIBuilderCreateFile
    LLVMDIBuilderCreateFunction     LLVMDIBuilderCreateSubroutineType LLVMDIBuilderFinalize LLVMDebugMetadataVersion LLVMDisposeBuilder
    LLVMDisposeDIBuilder LLVMDisposeErrorMessage LLVMDisposeMemoryBuffer LLVMDisposeMessage LLVMDisposeModule
    LLVMDisposePassBuilderOptions LLVMDoubleTypeInContext LLVMFloatTypeInContext LLVMFunctionType
    LLVMGetArrayLength2 LLVMGetBasicBlockName LLVMGetBasicBlockTerminator LLVMGetBasicBlocks LLVMGetBufferSize
    LLVMGetBufferStart LLVMGetDataLayoutStr LLVMGetDiagInfoDescription LLVMGetDiagInfoSeverity LLVMGetElementType
    LLVMGetEnumAttributeKindForName LLVMGetErrorMessage LLVMGetFirstFunction LLVMGetFirstGlobal
    LLVMGetFirstInstruction LLVMGetFunctionCallConv LLVMGetInstructionOpcode LLVMGetIntTypeWidth LLVMGetIntrinsicDeclaration
    LLVMGetLinkage LLVMGetMDKindIDInContext LLVMGetModuleFlag LLVMGetModuleIdentifier
    LLVMGetNamedFunction LLVMGetNamedGlobal LLVMGetNamedGlobalAlias LLVMGetNamedGlobalIFunc LLVMGetNextFunction LLVMGetNextGlobal LLVMGetNextInstruction
    LLVMGetNumArgOperands LLVMGetOperand LLVMGetParam LLVMGetParamTypes LLVMGetPointerAddressSpace LLVMGetPoison LLVMGetReturnType LLVMGetSubprogram
    LLVMGetStructElementTypes LLVMGetTarget LLVMGetTypeKind LLVMGetUndef LLVMGetValueName2 LLVMGetVectorSize
    LLVMGlobalGetValueType LLVMHalfTypeInContext LLVMInstallFatalErrorHandler LLVMIntTypeInContext
    LLVMIntrinsicIsOverloaded LLVMIsAAllocaInst LLVMIsAAtomicCmpXchgInst LLVMIsAAtomicRMWInst LLVMIsACallInst
    LLVMIsAConstantInt LLVMIsAFunction LLVMIsAGlobalVariable LLVMIsAInstruction LLVMIsALoadInst LLVMIsAPHINode
    LLVMIsAStoreInst LLVMIsConstant LLVMIsDeclaration LLVMIsFunctionVarArg LLVMIsOpaqueStruct     LLVMLinkModules2 LLVMLookupIntrinsicID LLVMMDNodeInContext2 LLVMMDStringInContext2 LLVMMetadataAsValue
    LLVMModuleCreateWithNameInContext LLVMParseBitcodeInContext2 LLVMParseIRInContext LLVMPointerTypeInContext
    LLVMPositionBuilderAtEnd LLVMPositionBuilderBefore LLVMPrintModuleToString LLVMPrintTypeToString
    LLVMPrintValueToString LLVMRunPasses LLVMSetAlignment LLVMSetCurrentDebugLocation2 LLVMSetDataLayout
    LLVMSetFunctionCallConv LLVMSetGlobalConstant LLVMSetInitializer LLVMSetInstructionCallConv LLVMSetLinkage LLVMSetMetadata
    LLVMSetModuleInlineAsm2 LLVMSetNSW LLVMSetNUW LLVMSetOrdering LLVMSetSubprogram LLVMSetTarget
    LLVMSetValueName2 LLVMSetVisibility LLVMSetVolatile LLVMStructTypeInContext LLVMTypeIsSized
    LLVMTypeOf LLVMValueAsMetadata LLVMVectorType LLVMVerifyModule LLVMVoidTypeInContext
    LLVMWriteBitcodeToMemoryBuffer
    LLVMDisposeValueMetadataEntries LLVMGetFirstNamedMetadata LLVMGetMDNodeNumOperands LLVMGetMDNodeOperands
    LLVMGetMDString LLVMGetMetadata LLVMGetMetadataKind LLVMGetNamedMetadataName LLVMGetNamedMetadataNumOperands
    LLVMGetNamedMetadataOperands LLVMGetNextNamedMetadata LLVMGlobalCopyAllMetadata LLVMGlobalSetMetadata
    LLVMInstructionGetAllMetadataOtherThanDebugLoc LLVMIsAValueAsMetadata LLVMValueMetadataEntriesGetKind
    LLVMValueMetadataEntriesGetMetadata
}

required! { READING:
    LLVMAppendExistingBasicBlock LLVMBasicBlockAsValue LLVMConstRealGetDouble LLVMCountIncoming
    LLVMCreateBasicBlockInContext LLVMDeleteBasicBlock LLVMDeleteFunction LLVMDeleteGlobal LLVMDeleteInstruction
    LLVMGetAlignment LLVMGetAllocatedType LLVMGetAsString LLVMGetAtomicRMWBinOp LLVMGetBasicBlockParent
    LLVMGetCalledFunctionType LLVMGetCalledValue LLVMGetCmpXchgFailureOrdering LLVMGetCmpXchgSuccessOrdering
    LLVMGetCondition LLVMGetConstOpcode LLVMGetExact LLVMGetFCmpPredicate LLVMGetFirstUse LLVMGetGEPSourceElementType
    LLVMGetICmpPredicate LLVMGetIncomingBlock LLVMGetIncomingValue LLVMGetIndices LLVMGetInstructionParent LLVMGetNSW
    LLVMGetNUW LLVMGetMaskValue LLVMGetNextUse LLVMGetNumIndices LLVMGetNumMaskElements LLVMGetNumOperands
    LLVMGetNumSuccessors LLVMGetOrdering LLVMGetParamParent LLVMGetPreviousInstruction LLVMGetSuccessor LLVMGetUser
    LLVMGetVolatile LLVMGetWeak LLVMInstructionRemoveFromParent LLVMIsAArgument LLVMIsAConstantDataSequential
    LLVMIsAConstantExpr LLVMIsAConstantFP LLVMIsAGlobalValue LLVMIsAInlineAsm LLVMIsAMDNode LLVMIsAMDString
    LLVMIsATerminatorInst LLVMIsAUser LLVMIsAtomicSingleThread LLVMIsConditional LLVMIsConstantString LLVMIsInBounds
    LLVMIsNull LLVMIsPoison LLVMIsUndef LLVMMoveBasicBlockAfter LLVMMoveBasicBlockBefore
    LLVMRemoveBasicBlockFromParent LLVMReplaceAllUsesWith LLVMSetOperand LLVMValueAsBasicBlock LLVMValueIsBasicBlock
    LLVMDIBuilderCreateArrayType LLVMDIBuilderCreateAutoVariable LLVMDIBuilderCreateBasicType
    LLVMDIBuilderCreateExpression LLVMDIBuilderCreateLexicalBlock LLVMDIBuilderCreateMemberType
    LLVMDIBuilderCreateParameterVariable LLVMDIBuilderCreatePointerType LLVMDIBuilderCreateStructType
    LLVMDIBuilderGetOrCreateSubrange
    LLVMABIAlignmentOfType LLVMABISizeOfType LLVMAppendModuleInlineAsm LLVMElementAtOffset LLVMGetModuleDataLayout
    LLVMGetModuleInlineAsm LLVMGetSourceFileName LLVMInsertBasicBlockInContext LLVMOffsetOfElement
    LLVMPointerSizeForAS LLVMPreferredAlignmentOfType LLVMSetExact LLVMSetSourceFileName LLVMSetWeak
    LLVMSizeOfTypeInBits LLVMStoreSizeOfType
    LLVMConstNamedStruct LLVMGetDefaultTargetTriple LLVMGetHostCPUFeatures LLVMGetHostCPUName LLVMGetAttributeCountAtIndex LLVMGetAttributesAtIndex LLVMGetCallSiteAttributeCount
    LLVMGetCallSiteAttributes LLVMGetEnumAttributeKind LLVMGetEnumAttributeValue LLVMGetInitializer LLVMGetInlineAsm
    LLVMGetSection LLVMGetStringAttributeKind LLVMGetStringAttributeValue LLVMGetStructName LLVMGetThreadLocalMode
    LLVMGetTypeAttributeValue LLVMGetTypeByName2 LLVMGetUnnamedAddress LLVMGetVisibility LLVMIsEnumAttribute
    LLVMIsExternallyInitialized LLVMIsGlobalConstant LLVMIsLiteralStruct LLVMIsPackedStruct LLVMIsStringAttribute
    LLVMIsTypeAttribute LLVMRemoveEnumAttributeAtIndex LLVMRemoveStringAttributeAtIndex LLVMSetExternallyInitialized
    LLVMSetSection LLVMSetThreadLocalMode LLVMSetUnnamedAddress LLVMStructCreateNamed LLVMStructSetBody
}

required! { JIT:
    LLVMOrcCreateLLJITBuilder LLVMOrcCreateRTDyldObjectLinkingLayerWithSectionMemoryManager
    LLVMOrcLLJITBuilderSetObjectLinkingLayerCreator
    LLVMOrcAbsoluteSymbols LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess LLVMOrcCreateLLJIT
    LLVMOrcDisposeLLJIT LLVMOrcDisposeMaterializationUnit LLVMOrcExecutionSessionSetErrorReporter
    LLVMOrcJITDylibAddGenerator LLVMOrcJITDylibDefine LLVMOrcLLJITAddObjectFile LLVMOrcLLJITGetExecutionSession
    LLVMOrcLLJITGetGlobalPrefix LLVMOrcLLJITGetMainJITDylib LLVMOrcLLJITLookup LLVMOrcLLJITMangleAndIntern
}

#[cfg(target_arch = "x86_64")]
required! { HOST:
    LLVMInitializeX86AsmParser LLVMInitializeX86AsmPrinter LLVMInitializeX86Target LLVMInitializeX86TargetInfo
    LLVMInitializeX86TargetMC
}

#[cfg(target_arch = "aarch64")]
required! { HOST:
    LLVMInitializeAArch64AsmParser LLVMInitializeAArch64AsmPrinter LLVMInitializeAArch64Target
    LLVMInitializeAArch64TargetInfo LLVMInitializeAArch64TargetMC
}

/// Not supported: the name is not that of a function.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) const HOST: &[&str] = &["none"];

required! { TARGET:
    LLVMCopyStringRepOfTargetData LLVMCreateDisasmCPUFeatures LLVMCreateTargetDataLayout LLVMCreateTargetMachine
    LLVMDisasmDispose LLVMDisasmInstruction LLVMDisposeTargetData LLVMDisposeTargetMachine LLVMGetTargetFromTriple
    LLVMInitializeAMDGPUAsmParser LLVMInitializeAMDGPUAsmPrinter LLVMInitializeAMDGPUDisassembler
    LLVMInitializeAMDGPUTarget LLVMInitializeAMDGPUTargetInfo LLVMInitializeAMDGPUTargetMC
    LLVMTargetMachineEmitToMemoryBuffer
}

/// Converts a string to a C string.
pub(super) fn c_text(what: &'static str, text: &str) -> Result<CString> {
    CString::new(text).map_err(|error| Error::Null { what, at: error.nul_position() })
}

/// Copies a string that LLVM gave away, and frees it.
///
/// # Safety
/// `text` must be null, or a message of LLVM that nothing else uses.
pub(super) unsafe fn take_message(text: *mut c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: a C string, by the contract.
    let message = unsafe { CStr::from_ptr(text) }.to_string_lossy().trim_end().to_owned();
    // SAFETY: LLVM gave it away, and it is not used afterwards.
    unsafe { LLVMDisposeMessage(text) };
    message
}

/// Takes the message of an error; `None` for success, which is null.
///
/// # Safety
/// `error` must be null, or an error that LLVM gave away.
pub(super) unsafe fn take_error(error: LLVMErrorRef) -> Option<String> {
    if error.is_null() {
        return None;
    }
    // SAFETY: by the contract; the message is a C string, and freed after it was copied.
    unsafe {
        let message = LLVMGetErrorMessage(error);
        let copied = CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(message);
        Some(copied)
    }
}

/// Copies a string that LLVM keeps.
///
/// # Safety
/// `text` must be null, or valid for `length` bytes.
pub(super) unsafe fn copy_text(text: *const c_char, length: usize) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: by the contract.
    String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) }).into_owned()
}

/// A memory buffer of LLVM's.
pub(super) struct Buffer(pub(super) LLVMMemoryBufferRef);

impl Buffer {
    /// Makes a copy of `bytes`, with a NUL byte after it.
    pub(super) fn new(name: &CStr, bytes: &[u8]) -> Self {
        // SAFETY: the bytes and the name are valid for the reads, and copied.
        Self(unsafe { LLVMCreateMemoryBufferWithMemoryRangeCopy(bytes.as_ptr().cast(), bytes.len(), name.as_ptr()) })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        if self.0.is_null() {
            return &[];
        }
        // SAFETY: the buffer is live, its memory does not change during its life, and has this size.
        unsafe { std::slice::from_raw_parts(LLVMGetBufferStart(self.0).cast(), LLVMGetBufferSize(self.0)) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: it belongs to this value, and is not used afterwards.
            unsafe { LLVMDisposeMemoryBuffer(self.0) };
        }
    }
}

/// C's boolean.
pub(super) fn flag(value: bool) -> LLVMBool {
    c_int::from(value)
}
