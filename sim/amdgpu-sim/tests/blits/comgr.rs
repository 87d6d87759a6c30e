//! Comgr, the compiler in ROCm's runtime: OpenCL C to a code object.

use std::ffi::{CStr, CString, c_char};

use libloading::Library;

/// `amd_comgr_data_t`, `amd_comgr_data_set_t`, `amd_comgr_action_info_t`: structures of one 64-bit handle, passed as
/// that.
type Handle = u64;

const SOURCE: i32 = 1;
const LOG: i32 = 5;
const EXECUTABLE: i32 = 8;
const OPENCL_2_0: i32 = 2;

/// The numbers of the actions: those after the third moved down in Comgr 3.
struct Actions {
    headers: i32,
    compile: i32,
    codegen: i32,
    link: i32,
}

const OLD: Actions = Actions { headers: 1, compile: 15, codegen: 6, link: 9 };
const NEW: Actions = Actions { headers: 1, compile: 12, codegen: 4, link: 7 };

pub(crate) struct Comgr {
    library: Library,
    actions: Actions,
}

/// Calls a function of the library by name and type, and gives back its status.
macro_rules! call {
    ($comgr:expr, $name:literal, ($($t:ty),*), $($value:expr),*) => {{
        // SAFETY: the types are those of amd_comgr.h, and each caller passes handles that live and places for results.
        let status = unsafe {
            let function = $comgr.library.get::<unsafe extern "C" fn($($t),*) -> i32>($name).expect("a function of Comgr");
            function($($value),*)
        };
        if status == 0 { Ok(()) } else { Err(format!("{}: status {status}", $name.escape_ascii())) }
    }};
}

impl Comgr {
    pub(crate) fn open(name: &str) -> Self {
        // SAFETY: AMD's library, whose initialisers have no preconditions.
        let library = unsafe { Library::new(name) }.unwrap_or_else(|error| panic!("{name}: {error}"));
        Self { library, actions: if name.ends_with(".2") { OLD } else { NEW } }
    }

    fn set(&self) -> Result<Handle, String> {
        let mut set = 0;
        call!(self, b"amd_comgr_create_data_set", (*mut Handle), &mut set)?;
        Ok(set)
    }

    /// What the data of a kind in a set holds: the first one's.
    fn contents(&self, set: Handle, kind: i32) -> Result<Vec<u8>, String> {
        let (mut data, mut size) = (0, 0_usize);
        call!(self, b"amd_comgr_action_data_get_data", (Handle, i32, usize, *mut Handle), set, kind, 0, &mut data)?;
        call!(self, b"amd_comgr_get_data", (Handle, *mut usize, *mut c_char), data, &mut size, std::ptr::null_mut())?;
        let mut bytes = vec![0_u8; size];
        call!(
            self,
            b"amd_comgr_get_data",
            (Handle, *mut usize, *mut c_char),
            data,
            &mut size,
            bytes.as_mut_ptr().cast()
        )?;
        call!(self, b"amd_comgr_release_data", (Handle), data)?;
        Ok(bytes)
    }

    fn act(&self, action: i32, info: Handle, from: Handle) -> Result<Handle, String> {
        let to = self.set()?;
        let done = call!(self, b"amd_comgr_do_action", (i32, Handle, Handle, Handle), action, info, from, to);
        done.map_err(|error| {
            let log = self.contents(to, LOG).unwrap_or_default();
            format!("action {action}: {error}\n{}", String::from_utf8_lossy(&log))
        })?;
        Ok(to)
    }

    /// Compiles OpenCL C with AMD's device libraries and links it.
    pub(crate) fn compile(&self, source: &str, arch: &str) -> Result<Vec<u8>, String> {
        let (mut data, mut info) = (0, 0);
        let set = self.set()?;
        call!(self, b"amd_comgr_create_data", (i32, *mut Handle), SOURCE, &mut data)?;
        call!(self, b"amd_comgr_set_data", (Handle, usize, *const c_char), data, source.len(), source.as_ptr().cast())?;
        call!(self, b"amd_comgr_set_data_name", (Handle, *const c_char), data, c"blit.cl".as_ptr())?;
        call!(self, b"amd_comgr_data_set_add", (Handle, Handle), set, data)?;
        call!(self, b"amd_comgr_create_action_info", (*mut Handle), &mut info)?;
        call!(self, b"amd_comgr_action_info_set_language", (Handle, i32), info, OPENCL_2_0)?;
        let isa = CString::new(format!("amdgcn-amd-amdhsa--{arch}")).map_err(|e| e.to_string())?;
        call!(self, b"amd_comgr_action_info_set_isa_name", (Handle, *const c_char), info, isa.as_ptr())?;
        call!(self, b"amd_comgr_action_info_set_logging", (Handle, bool), info, true)?;
        self.options(info, &[c"-cl-std=CL2.0", c"-O3"])?;
        // OpenCL's own declarations, where Comgr keeps them precompiled; later ones know them by themselves.
        let set = self.act(self.actions.headers, info, set).unwrap_or(set);
        let code = self.act(self.actions.compile, info, set)?;
        self.options(info, &[c"-O3"])?;
        let object = self.act(self.actions.codegen, info, code)?;
        self.options(info, &[])?;
        let linked = self.act(self.actions.link, info, object)?;
        self.contents(linked, EXECUTABLE)
    }

    fn options(&self, info: Handle, options: &[&CStr]) -> Result<(), String> {
        let pointers: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
        // The list is copied.
        call!(
            self,
            b"amd_comgr_action_info_set_option_list",
            (Handle, *const *const c_char, usize),
            info,
            pointers.as_ptr(),
            pointers.len()
        )
    }
}
