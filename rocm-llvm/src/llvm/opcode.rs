//! The operations of instructions, and the classes of values.

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

use super::raw::{self, LLVMValueRef};
use super::value::Value;

macro_rules! opcodes {
    ($($name:ident $text:literal = $($number:literal)|+;)*) => {
        /// The operation of an instruction or of a constant expression.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Opcode {
            $(#[doc = concat!("`", $text, "`")] $name,)*
            /// Unknown to this crate, by LLVM's number.
            Other(u32),
        }

        impl Opcode {
            pub(super) fn from_raw(number: u32) -> Self {
                match number {
                    $($($number)|+ => Self::$name,)*
                    other => Self::Other(other),
                }
            }

            /// Returns its name in LLVM's text form; empty for [`Other`](Self::Other).
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                    Self::Other(_) => "",
                }
            }
        }
    };
}

// LLVM 23 has two numbers for branches: with a condition and without.
opcodes! {
    Ret "ret" = 1; Br "br" = 2 | 70 | 71; Switch "switch" = 3; IndirectBr "indirectbr" = 4; Invoke "invoke" = 5;
    Unreachable "unreachable" = 7; CallBr "callbr" = 67; FNeg "fneg" = 66;
    Add "add" = 8; FAdd "fadd" = 9; Sub "sub" = 10; FSub "fsub" = 11; Mul "mul" = 12; FMul "fmul" = 13;
    UDiv "udiv" = 14; SDiv "sdiv" = 15; FDiv "fdiv" = 16; URem "urem" = 17; SRem "srem" = 18; FRem "frem" = 19;
    Shl "shl" = 20; LShr "lshr" = 21; AShr "ashr" = 22; And "and" = 23; Or "or" = 24; Xor "xor" = 25;
    Alloca "alloca" = 26; Load "load" = 27; Store "store" = 28; GetElementPtr "getelementptr" = 29;
    Trunc "trunc" = 30; ZExt "zext" = 31; SExt "sext" = 32; FpToUi "fptoui" = 33; FpToSi "fptosi" = 34;
    UiToFp "uitofp" = 35; SiToFp "sitofp" = 36; FpTrunc "fptrunc" = 37; FpExt "fpext" = 38;
    PtrToInt "ptrtoint" = 39; PtrToAddr "ptrtoaddr" = 69; IntToPtr "inttoptr" = 40; BitCast "bitcast" = 41;
    AddrSpaceCast "addrspacecast" = 60; ICmp "icmp" = 42; FCmp "fcmp" = 43; Phi "phi" = 44; Call "call" = 45;
    Select "select" = 46; VaArg "va_arg" = 49; ExtractElement "extractelement" = 50;
    InsertElement "insertelement" = 51; ShuffleVector "shufflevector" = 52; ExtractValue "extractvalue" = 53;
    InsertValue "insertvalue" = 54; Freeze "freeze" = 68; Fence "fence" = 55; AtomicCmpXchg "cmpxchg" = 56;
    AtomicRmw "atomicrmw" = 57; Resume "resume" = 58; LandingPad "landingpad" = 59; CleanupRet "cleanupret" = 61;
    CatchRet "catchret" = 62; CatchPad "catchpad" = 63; CleanupPad "cleanuppad" = 64; CatchSwitch "catchswitch" = 65;
}

macro_rules! classes {
    ($($name:ident $function:literal;)*) => {
        /// A class of LLVM's hierarchy of values, for [`Value::is_a`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Class {
            $(#[doc = concat!("What `", $function, "` asks for.")] #[doc(alias = $function)] $name,)*
        }

        impl Class {
            fn function(self) -> &'static CStr {
                let name = match self {
                    $(Self::$name => concat!($function, "\0"),)*
                };
                CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or_default()
            }
        }
    };
}

classes! {
    AddrSpaceCast "LLVMIsAAddrSpaceCastInst"; Alloca "LLVMIsAAllocaInst"; Argument "LLVMIsAArgument";
    AtomicCmpXchg "LLVMIsAAtomicCmpXchgInst"; AtomicRmw "LLVMIsAAtomicRMWInst"; BinaryOperator "LLVMIsABinaryOperator";
    BitCast "LLVMIsABitCastInst"; BlockAddress "LLVMIsABlockAddress"; Call "LLVMIsACallInst"; Cast "LLVMIsACastInst";
    Cmp "LLVMIsACmpInst"; Constant "LLVMIsAConstant"; ConstantAggregateZero "LLVMIsAConstantAggregateZero";
    ConstantArray "LLVMIsAConstantArray"; ConstantDataArray "LLVMIsAConstantDataArray";
    ConstantDataSequential "LLVMIsAConstantDataSequential"; ConstantDataVector "LLVMIsAConstantDataVector";
    ConstantExpr "LLVMIsAConstantExpr"; ConstantFp "LLVMIsAConstantFP"; ConstantInt "LLVMIsAConstantInt";
    ConstantPointerNull "LLVMIsAConstantPointerNull"; ConstantStruct "LLVMIsAConstantStruct";
    ConstantVector "LLVMIsAConstantVector"; DbgDeclare "LLVMIsADbgDeclareInst"; DbgInfo "LLVMIsADbgInfoIntrinsic";
    DbgLabel "LLVMIsADbgLabelInst"; DbgVariable "LLVMIsADbgVariableIntrinsic";
    ExtractElement "LLVMIsAExtractElementInst"; ExtractValue "LLVMIsAExtractValueInst"; FCmp "LLVMIsAFCmpInst";
    Fence "LLVMIsAFenceInst"; FpExt "LLVMIsAFPExtInst"; FpToSi "LLVMIsAFPToSIInst"; FpToUi "LLVMIsAFPToUIInst";
    FpTrunc "LLVMIsAFPTruncInst"; Freeze "LLVMIsAFreezeInst"; Function "LLVMIsAFunction";
    GetElementPtr "LLVMIsAGetElementPtrInst"; GlobalAlias "LLVMIsAGlobalAlias"; GlobalIFunc "LLVMIsAGlobalIFunc";
    GlobalObject "LLVMIsAGlobalObject"; GlobalValue "LLVMIsAGlobalValue"; GlobalVariable "LLVMIsAGlobalVariable";
    ICmp "LLVMIsAICmpInst"; InlineAssembly "LLVMIsAInlineAsm"; InsertElement "LLVMIsAInsertElementInst";
    InsertValue "LLVMIsAInsertValueInst"; Instruction "LLVMIsAInstruction"; IntToPtr "LLVMIsAIntToPtrInst";
    Intrinsic "LLVMIsAIntrinsicInst"; Invoke "LLVMIsAInvokeInst"; LandingPad "LLVMIsALandingPadInst";
    Load "LLVMIsALoadInst"; MemCpy "LLVMIsAMemCpyInst"; MemIntrinsic "LLVMIsAMemIntrinsic";
    MemMove "LLVMIsAMemMoveInst"; MemSet "LLVMIsAMemSetInst"; Phi "LLVMIsAPHINode"; Poison "LLVMIsAPoisonValue";
    PtrToInt "LLVMIsAPtrToIntInst"; Return "LLVMIsAReturnInst"; Select "LLVMIsASelectInst"; SExt "LLVMIsASExtInst";
    ShuffleVector "LLVMIsAShuffleVectorInst"; SiToFp "LLVMIsASIToFPInst"; Store "LLVMIsAStoreInst";
    Switch "LLVMIsASwitchInst"; Terminator "LLVMIsATerminatorInst"; Trunc "LLVMIsATruncInst";
    UiToFp "LLVMIsAUIToFPInst"; UnaryInstruction "LLVMIsAUnaryInstruction"; UnaryOperator "LLVMIsAUnaryOperator";
    Undef "LLVMIsAUndefValue"; Unreachable "LLVMIsAUnreachableInst"; User "LLVMIsAUser"; VaArg "LLVMIsAVAArgInst";
    ZExt "LLVMIsAZExtInst";
}

impl Value<'_> {
    /// Returns whether it is of this class of LLVM's: [`Class::Intrinsic`], [`Class::ConstantExpr`], ...
    pub fn is_a(self, class: Class) -> bool {
        type Test = unsafe extern "C" fn(LLVMValueRef) -> LLVMValueRef;
        let Some(address) = raw::BINDING.symbol(class.function()) else { return false };
        // SAFETY: all functions of the table have this signature.
        let test = unsafe { std::mem::transmute::<NonNull<c_void>, Test>(address) };
        // SAFETY: the value is live.
        unsafe { !test(self.raw()).is_null() }
    }
}
