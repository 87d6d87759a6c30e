//! Statuses.

use std::ffi::CStr;

/// What a function returns.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct hsa_status_t(pub u32);

macro_rules! statuses {
    ($($name:ident = $value:literal, $text:literal;)*) => {
        $(pub const $name: hsa_status_t = hsa_status_t($value);)*

        /// Every status with its name, for the test that compares them with C's headers.
        #[doc(hidden)]
        pub const STATUSES: &[(&str, hsa_status_t)] = &[$((stringify!($name), $name)),*];

        /// The text for a status, as `hsa_status_string` gives it.
        pub(crate) fn status_text(status: hsa_status_t) -> Option<&'static CStr> {
            match status {
                $($name => Some($text),)*
                _ => None,
            }
        }
    };
}

statuses! {
    HSA_STATUS_SUCCESS = 0x0, c"HSA_STATUS_SUCCESS: The function has been executed successfully.";
    HSA_STATUS_INFO_BREAK = 0x1, c"HSA_STATUS_INFO_BREAK: A traversal over a list of elements has been interrupted by the application before completing.";
    HSA_STATUS_ERROR = 0x1000, c"HSA_STATUS_ERROR: A generic error has occurred.";
    HSA_STATUS_ERROR_INVALID_ARGUMENT = 0x1001, c"HSA_STATUS_ERROR_INVALID_ARGUMENT: One of the actual arguments does not meet a precondition stated in the documentation of the corresponding formal argument.";
    HSA_STATUS_ERROR_INVALID_QUEUE_CREATION = 0x1002, c"HSA_STATUS_ERROR_INVALID_QUEUE_CREATION: The requested queue creation is not valid.";
    HSA_STATUS_ERROR_INVALID_ALLOCATION = 0x1003, c"HSA_STATUS_ERROR_INVALID_ALLOCATION: The requested allocation is not valid.";
    HSA_STATUS_ERROR_INVALID_AGENT = 0x1004, c"HSA_STATUS_ERROR_INVALID_AGENT: The agent is invalid.";
    HSA_STATUS_ERROR_INVALID_REGION = 0x1005, c"HSA_STATUS_ERROR_INVALID_REGION: The memory region is invalid.";
    HSA_STATUS_ERROR_INVALID_SIGNAL = 0x1006, c"HSA_STATUS_ERROR_INVALID_SIGNAL: The signal is invalid.";
    HSA_STATUS_ERROR_INVALID_QUEUE = 0x1007, c"HSA_STATUS_ERROR_INVALID_QUEUE: The queue is invalid.";
    HSA_STATUS_ERROR_OUT_OF_RESOURCES = 0x1008, c"HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate the necessary resources.";
    HSA_STATUS_ERROR_INVALID_PACKET_FORMAT = 0x1009, c"HSA_STATUS_ERROR_INVALID_PACKET_FORMAT: The AQL packet is malformed.";
    HSA_STATUS_ERROR_RESOURCE_FREE = 0x100A, c"HSA_STATUS_ERROR_RESOURCE_FREE: An error has been detected while releasing a resource.";
    HSA_STATUS_ERROR_NOT_INITIALIZED = 0x100B, c"HSA_STATUS_ERROR_NOT_INITIALIZED: An API other than hsa_init has been invoked while the reference count of the HSA runtime is zero.";
    HSA_STATUS_ERROR_REFCOUNT_OVERFLOW = 0x100C, c"HSA_STATUS_ERROR_REFCOUNT_OVERFLOW: The maximum reference count for the object has been reached.";
    HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS = 0x100D, c"HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS: The arguments passed to a functions are not compatible.";
    HSA_STATUS_ERROR_INVALID_INDEX = 0x100E, c"HSA_STATUS_ERROR_INVALID_INDEX: The index is invalid.";
    HSA_STATUS_ERROR_INVALID_ISA = 0x100F, c"HSA_STATUS_ERROR_INVALID_ISA: The instruction set architecture is invalid.";
    HSA_STATUS_ERROR_INVALID_CODE_OBJECT = 0x1010, c"HSA_STATUS_ERROR_INVALID_CODE_OBJECT: The code object is invalid.";
    HSA_STATUS_ERROR_INVALID_EXECUTABLE = 0x1011, c"HSA_STATUS_ERROR_INVALID_EXECUTABLE: The executable is invalid.";
    HSA_STATUS_ERROR_FROZEN_EXECUTABLE = 0x1012, c"HSA_STATUS_ERROR_FROZEN_EXECUTABLE: The executable is frozen.";
    HSA_STATUS_ERROR_INVALID_SYMBOL_NAME = 0x1013, c"HSA_STATUS_ERROR_INVALID_SYMBOL_NAME: There is no symbol with the given name.";
    HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED = 0x1014, c"HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED: The variable is already defined.";
    HSA_STATUS_ERROR_VARIABLE_UNDEFINED = 0x1015, c"HSA_STATUS_ERROR_VARIABLE_UNDEFINED: The variable is undefined.";
    HSA_STATUS_ERROR_EXCEPTION = 0x1016, c"HSA_STATUS_ERROR_EXCEPTION: An HSAIL operation resulted in a hardware exception.";
    HSA_STATUS_ERROR_INVALID_ISA_NAME = 0x1017, c"HSA_STATUS_ERROR_INVALID_ISA_NAME: The instruction set architecture name is invalid.";
    HSA_STATUS_ERROR_INVALID_CODE_SYMBOL = 0x1018, c"HSA_STATUS_ERROR_INVALID_CODE_SYMBOL: The code object symbol is invalid.";
    HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL = 0x1019, c"HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL: The executable symbol is invalid.";
    HSA_STATUS_ERROR_INVALID_FILE = 0x1020, c"HSA_STATUS_ERROR_INVALID_FILE: The file descriptor is invalid.";
    HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER = 0x1021, c"HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER: The code object reader is invalid.";
    HSA_STATUS_ERROR_INVALID_CACHE = 0x1022, c"HSA_STATUS_ERROR_INVALID_CACHE: The cache is invalid.";
    HSA_STATUS_ERROR_INVALID_WAVEFRONT = 0x1023, c"HSA_STATUS_ERROR_INVALID_WAVEFRONT: The wavefront is invalid.";
    HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP = 0x1024, c"HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP: The signal group is invalid.";
    HSA_STATUS_ERROR_INVALID_RUNTIME_STATE = 0x1025, c"HSA_STATUS_ERROR_INVALID_RUNTIME_STATE: The HSA runtime is not in the configuration state.";
    HSA_STATUS_ERROR_FATAL = 0x1026, c"HSA_STATUS_ERROR_FATAL: The queue received an error that may require process termination.";
    HSA_STATUS_ERROR_INVALID_MEMORY_POOL = 40, c"HSA_STATUS_ERROR_INVALID_MEMORY_POOL: The memory pool is invalid.";
    HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION = 41, c"HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: The agent attempted to access memory beyond the largest legal address.";
    HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION = 42, c"HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION: The agent attempted to execute an illegal shader instruction.";
    HSA_STATUS_ERROR_MEMORY_FAULT = 43, c"HSA_STATUS_ERROR_MEMORY_FAULT: The agent attempted to access an inaccessible address.";
    HSA_STATUS_CU_MASK_REDUCED = 44, c"HSA_STATUS_CU_MASK_REDUCED: The CU mask was successfully set but the mask attempted to enable a CU which was disabled for the process.";
    HSA_STATUS_ERROR_OUT_OF_REGISTERS = 45, c"HSA_STATUS_ERROR_OUT_OF_REGISTERS: Kernel has requested more VGPRs than are available on this agent.";
    HSA_STATUS_ERROR_RESOURCE_BUSY = 46, c"HSA_STATUS_ERROR_RESOURCE_BUSY: The resource is busy or temporarily unavailable.";
    HSA_STATUS_ERROR_NOT_SUPPORTED = 47, c"HSA_STATUS_ERROR_NOT_SUPPORTED: The software GPU does not support this function.";
    HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED = 0x3000, c"HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED: Image format is not supported.";
    HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED = 0x3001, c"HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED: Image size is not supported.";
    HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED = 0x3002, c"HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED: Image pitch is not supported or invalid.";
    HSA_EXT_STATUS_ERROR_SAMPLER_DESCRIPTOR_UNSUPPORTED = 0x3003, c"HSA_EXT_STATUS_ERROR_SAMPLER_DESCRIPTOR_UNSUPPORTED: Sampler descriptor is not supported or invalid.";
}
