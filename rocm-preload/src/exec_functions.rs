//! The functions that start programs, for a preloaded library.

/// Defines the functions of the C library that start programs, and their list `CHILDREN`: `execve` and its variants,
/// `posix_spawn`, `posix_spawnp`, `system` and `popen`. Programs are started through the loader of the process.
///
/// The crate must export them without a symbol version. Requires Linux on x86-64 (`#![cfg(target_arch = "x86_64")]`).
#[macro_export]
macro_rules! exec_functions {
    () => {
        $crate::exec_functions! { @define
            /// Replaces this process by a program.
            fn execve(path: *const c_char, arguments: List, environment: List) -> c_int;
            /// Replaces this process by a program.
            fn execv(path: *const c_char, arguments: List) -> c_int;
            /// Replaces this process by a program found in `PATH`.
            fn execvp(name: *const c_char, arguments: List) -> c_int;
            /// Replaces this process by a program found in `PATH`.
            fn execvpe(name: *const c_char, arguments: List, environment: List) -> c_int;
            /// Replaces this process by an open program.
            fn fexecve(file: c_int, arguments: List, environment: List) -> c_int;
            /// Starts a program.
            fn posix_spawn(
                child: *mut pid_t,
                path: *const c_char,
                actions: Attribute,
                attributes: Attribute,
                arguments: List,
                environment: List
            ) -> c_int;
            /// Starts a program found in `PATH`.
            fn posix_spawnp(
                child: *mut pid_t,
                name: *const c_char,
                actions: Attribute,
                attributes: Attribute,
                arguments: List,
                environment: List
            ) -> c_int;
            /// Runs a shell command.
            fn system(command: *const c_char) -> c_int;
            /// Runs a shell command with a pipe.
            fn popen(command: *const c_char, mode: *const c_char) -> *mut c_void;
        }

        // Variadic functions, which Rust cannot define: the argument registers are stored in front of the arguments on the stack, so that
        // all of them form a list.
        ::std::arch::global_asm!(
            $crate::exec_functions!(@variadic "execl"),
            $crate::exec_functions!(@variadic "execlp"),
            $crate::exec_functions!(@variadic "execle"),
            execl = sym $crate::children::execl_list,
            execlp = sym $crate::children::execlp_list,
            execle = sym $crate::children::execle_list,
        );

        unsafe extern "C" {
            fn execl(path: *const ::std::ffi::c_char, ...) -> ::std::ffi::c_int;
            fn execlp(name: *const ::std::ffi::c_char, ...) -> ::std::ffi::c_int;
            fn execle(path: *const ::std::ffi::c_char, ...) -> ::std::ffi::c_int;
        }

        /// Called when the library is loaded.
        #[used]
        #[unsafe(link_section = ".init_array")]
        static INITIALIZE: extern "C" fn() = $crate::children::initialize;
    };
    (@define $($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        mod exec_functions {
            use ::std::ffi::{c_char, c_int, c_void};
            use $crate::children::{Attribute, List};
            use $crate::libc::pid_t;
            $(
                $(#[$attribute])*
                ///
                /// # Safety
                /// As of the C library's function.
                #[unsafe(no_mangle)]
                pub(super) unsafe extern "C" fn $name($($argument: $type),*) -> $result {
                    // SAFETY: as the caller vouches.
                    unsafe { $crate::children::$name($($argument),*) }
                }
            )*
        }

        /// All functions that start programs.
        const CHILDREN: &[$crate::Function] = &[
            $($crate::Function(exec_functions::$name as *const ::std::ffi::c_void),)*
            $crate::Function(execl as *const ::std::ffi::c_void),
            $crate::Function(execlp as *const ::std::ffi::c_void),
            $crate::Function(execle as *const ::std::ffi::c_void),
        ];
    };
    (@variadic $name:literal) => {
        concat!(
            ".globl ", $name, "\n",
            ".type ", $name, ", @function\n",
            $name, ":\n",
            "pop rax\n",
            "push r9\n",
            "push r8\n",
            "push rcx\n",
            "push rdx\n",
            "push rsi\n",
            "mov rsi, rsp\n",
            "push rax\n",
            "call {", $name, "}\n",
            "pop rcx\n",
            "add rsp, 40\n",
            "push rcx\n",
            "ret\n",
            ".size ", $name, ", . - ", $name, "\n",
        )
    };
}
