//! Why a link failed. HIPRTC discards the messages: Comgr, which links for it, links the same inputs once more, with a log.

use std::ffi::{CStr, CString, c_char};
use std::ptr::null_mut;

use hip::Arch;
use rocm_loader::Library;

use crate::comgr::{ActionInfo, Comgr, SINCE, Status, isa_name};

/// `amd_comgr_data_t` and `amd_comgr_data_set_t`: structures of one 64-bit handle, which C passes like the handle itself.
type Data = u64;
type DataSet = u64;

// Kinds of data, `amd_comgr_data_kind_t`.
const DIAGNOSTIC: u32 = 4;
const LOG: u32 = 5;
const BITCODE: u32 = 6;

/// `AMD_COMGR_LANGUAGE_HIP` of Comgr 2.
const HIP: u32 = 4;

/// Numbers of actions, `amd_comgr_action_kind_t`, which Comgr 3 changed.
#[derive(Debug, PartialEq, Eq)]
struct Actions {
    /// Comgr 3 has a setting in its place.
    add_device_libraries: Option<u32>,
    link: u32,
    generate: u32,
    link_objects: u32,
}

const OF_COMGR_2: Actions = Actions { add_device_libraries: Some(3), link: 4, generate: 6, link_objects: 9 };
const OF_COMGR_3: Actions = Actions { add_device_libraries: None, link: 3, generate: 4, link_objects: 7 };

/// Declares functions of Comgr that have the same signature since ROCm 5.7.
macro_rules! functions {
    ($($name:ident: $symbol:literal $signature:ty,)*) => {
        struct Functions {
            $($name: $signature,)*
        }

        impl Functions {
            fn of(library: &Library) -> Option<Self> {
                // SAFETY: the signatures are those of Comgr's header, with integers for the enums and the handles.
                unsafe { Some(Self { $($name: library.function::<$signature>($symbol, SINCE).ok()?,)* }) }
            }
        }
    };
}

functions! {
    version: c"amd_comgr_get_version" unsafe extern "C" fn(*mut usize, *mut usize),
    create_data: c"amd_comgr_create_data" unsafe extern "C" fn(u32, *mut Data) -> Status,
    release_data: c"amd_comgr_release_data" unsafe extern "C" fn(Data) -> Status,
    set_data: c"amd_comgr_set_data" unsafe extern "C" fn(Data, usize, *const c_char) -> Status,
    set_name: c"amd_comgr_set_data_name" unsafe extern "C" fn(Data, *const c_char) -> Status,
    data: c"amd_comgr_get_data" unsafe extern "C" fn(Data, *mut usize, *mut c_char) -> Status,
    create_set: c"amd_comgr_create_data_set" unsafe extern "C" fn(*mut DataSet) -> Status,
    destroy_set: c"amd_comgr_destroy_data_set" unsafe extern "C" fn(DataSet) -> Status,
    add: c"amd_comgr_data_set_add" unsafe extern "C" fn(DataSet, Data) -> Status,
    count: c"amd_comgr_action_data_count" unsafe extern "C" fn(DataSet, u32, *mut usize) -> Status,
    of_set: c"amd_comgr_action_data_get_data" unsafe extern "C" fn(DataSet, u32, usize, *mut Data) -> Status,
    create_info: c"amd_comgr_create_action_info" unsafe extern "C" fn(*mut ActionInfo) -> Status,
    destroy_info: c"amd_comgr_destroy_action_info" unsafe extern "C" fn(ActionInfo) -> Status,
    set_isa: c"amd_comgr_action_info_set_isa_name" unsafe extern "C" fn(ActionInfo, *const c_char) -> Status,
    set_language: c"amd_comgr_action_info_set_language" unsafe extern "C" fn(ActionInfo, u32) -> Status,
    set_logging: c"amd_comgr_action_info_set_logging" unsafe extern "C" fn(ActionInfo, bool) -> Status,
    set_options: c"amd_comgr_action_info_set_option_list" unsafe extern "C" fn(ActionInfo, *mut *const c_char, usize) -> Status,
    run: c"amd_comgr_do_action" unsafe extern "C" fn(u32, ActionInfo, DataSet, DataSet) -> Status,
}

/// `amd_comgr_action_info_set_device_lib_linking`, of Comgr 3.
type SetDeviceLibraries = unsafe extern "C" fn(ActionInfo, bool) -> Status;

/// Links bitcode and LLVM IR, which end in a zero, as HIPRTC does. Returns the messages of what fails; `None` if nothing does, or Comgr
/// cannot be called. `options` are those of the back end.
pub(super) fn of_failure(
    comgr: &Comgr,
    inputs: &[(CString, Box<[u8]>)],
    arch: &Arch,
    options: &[CString],
) -> Option<String> {
    let functions = Functions::of(&comgr.0)?;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the pointers are valid for the results.
    unsafe { (functions.version)(&mut major, &mut minor) };
    let actions = if major < 3 { OF_COMGR_2 } else { OF_COMGR_3 };
    let mut set = Set::new(&functions)?;
    for (name, bytes) in inputs {
        set.add(name, bytes.get(..bytes.len() - 1)?)?;
    }
    let info = |options: &[CString]| Info::new(&functions, arch, options);
    let plain = info(&[])?;
    if let Some(action) = actions.add_device_libraries {
        // Comgr chooses the libraries by the language.
        // SAFETY: a live action info.
        succeeded(unsafe { (functions.set_language)(plain.raw, HIP) })?;
        set = match set.run(action, &plain)? {
            Ok(with) => with,
            Err(log) => return Some(log),
        };
    }
    let generate = info(options)?;
    if actions.add_device_libraries.is_none() {
        // SAFETY: the signature is that of Comgr 3's header.
        let set = unsafe {
            comgr.0.function::<SetDeviceLibraries>(c"amd_comgr_action_info_set_device_lib_linking", "6.4").ok()?
        };
        // SAFETY: a live action info.
        succeeded(unsafe { set(generate.raw, true) })?;
    }
    for (action, info) in [(actions.link, &plain), (actions.generate, &generate), (actions.link_objects, &plain)] {
        set = match set.run(action, info)? {
            Ok(made) => made,
            Err(log) => return Some(log),
        };
    }
    None
}

fn succeeded(status: Status) -> Option<()> {
    (status == 0).then_some(())
}

/// A data set of Comgr, destroyed on drop.
struct Set<'f> {
    functions: &'f Functions,
    raw: DataSet,
}

impl<'f> Set<'f> {
    fn new(functions: &'f Functions) -> Option<Self> {
        let mut raw = 0;
        // SAFETY: the pointer is valid for the result.
        succeeded(unsafe { (functions.create_set)(&mut raw) })?;
        Some(Self { functions, raw })
    }

    fn add(&mut self, name: &CStr, bytes: &[u8]) -> Option<()> {
        let mut data = 0;
        // SAFETY: the pointer is valid for the result.
        succeeded(unsafe { (self.functions.create_data)(BITCODE, &mut data) })?;
        // SAFETY: live data; there are that many bytes, and Comgr copies them and the name; the set holds the data on.
        let statuses = unsafe {
            [
                (self.functions.set_data)(data, bytes.len(), bytes.as_ptr().cast()),
                (self.functions.set_name)(data, name.as_ptr()),
                (self.functions.add)(self.raw, data),
                (self.functions.release_data)(data),
            ]
        };
        statuses.into_iter().try_for_each(succeeded)
    }

    /// Returns the result of an action, or the messages if it fails. `None` if Comgr has none.
    fn run(&self, action: u32, info: &Info<'_>) -> Option<Result<Self, String>> {
        let result = Self::new(self.functions)?;
        // SAFETY: live objects. The caller of `Linker::add` ensures that bitcode from elsewhere is not damaged.
        let status = unsafe { (self.functions.run)(action, info.raw, self.raw, result.raw) };
        if status == 0 {
            return Some(Ok(result));
        }
        let log = [LOG, DIAGNOSTIC].iter().filter_map(|&kind| result.texts(kind)).collect::<String>();
        (!log.trim().is_empty()).then(|| Err(log.trim().to_owned()))
    }

    /// Returns the text of all data of a kind.
    fn texts(&self, kind: u32) -> Option<String> {
        let mut count = 0;
        // SAFETY: a live set, and a pointer that is valid for the result.
        succeeded(unsafe { (self.functions.count)(self.raw, kind, &mut count) })?;
        (0..count).map(|index| self.text(kind, index)).collect()
    }

    fn text(&self, kind: u32, index: usize) -> Option<String> {
        let (mut data, mut size) = (0, 0);
        // SAFETY: a live set, an index below the count, and a pointer that is valid for the result.
        succeeded(unsafe { (self.functions.of_set)(self.raw, kind, index, &mut data) })?;
        // SAFETY: live data; without a place for the bytes, Comgr returns their number.
        let asked = unsafe { (self.functions.data)(data, &mut size, null_mut()) };
        let mut bytes = vec![0_u8; size];
        // SAFETY: live data, and a place for that many bytes.
        let read = unsafe { (self.functions.data)(data, &mut size, bytes.as_mut_ptr().cast()) };
        // SAFETY: live data, released once.
        let released = unsafe { (self.functions.release_data)(data) };
        [asked, read, released].into_iter().try_for_each(succeeded)?;
        Some(String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned())
    }
}

impl Drop for Set<'_> {
    fn drop(&mut self) {
        // SAFETY: alive, and destroyed once. Nothing can handle its status here.
        let _: Status = unsafe { (self.functions.destroy_set)(self.raw) };
    }
}

/// The settings of an action, destroyed on drop.
struct Info<'f> {
    functions: &'f Functions,
    raw: ActionInfo,
}

impl<'f> Info<'f> {
    fn new(functions: &'f Functions, arch: &Arch, options: &[CString]) -> Option<Self> {
        let (isa, mut raw) = (isa_name(arch)?, 0);
        // SAFETY: the pointer is valid for the result.
        succeeded(unsafe { (functions.create_info)(&mut raw) })?;
        let info = Self { functions, raw };
        // SAFETY: a live action info and a C string, which is copied.
        succeeded(unsafe { (functions.set_isa)(raw, isa.as_ptr()) })?;
        // SAFETY: a live action info.
        succeeded(unsafe { (functions.set_logging)(raw, true) })?;
        let mut pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        if !pointers.is_empty() {
            // SAFETY: a live action info, and that many C strings, which are copied.
            succeeded(unsafe { (functions.set_options)(raw, pointers.as_mut_ptr(), pointers.len()) })?;
        }
        Some(info)
    }
}

impl Drop for Info<'_> {
    fn drop(&mut self) {
        // SAFETY: alive, and destroyed once. Nothing can handle its status here.
        let _: Status = unsafe { (self.functions.destroy_info)(self.raw) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_headers() {
        use rocm_llvm_sys::comgr::{self as sys, rocm_6_2 as two, rocm_7_0 as three};
        let of_2 = Actions {
            add_device_libraries: Some(two::AMD_COMGR_ACTION_ADD_DEVICE_LIBRARIES.0),
            link: two::AMD_COMGR_ACTION_LINK_BC_TO_BC.0,
            generate: two::AMD_COMGR_ACTION_CODEGEN_BC_TO_RELOCATABLE.0,
            link_objects: two::AMD_COMGR_ACTION_LINK_RELOCATABLE_TO_EXECUTABLE.0,
        };
        let of_3 = Actions {
            add_device_libraries: None,
            link: three::AMD_COMGR_ACTION_LINK_BC_TO_BC.0,
            generate: three::AMD_COMGR_ACTION_CODEGEN_BC_TO_RELOCATABLE.0,
            link_objects: three::AMD_COMGR_ACTION_LINK_RELOCATABLE_TO_EXECUTABLE.0,
        };
        assert_eq!((OF_COMGR_2, OF_COMGR_3), (of_2, of_3));
        let kinds = [sys::AMD_COMGR_DATA_KIND_DIAGNOSTIC, sys::AMD_COMGR_DATA_KIND_LOG, sys::AMD_COMGR_DATA_KIND_BC];
        assert_eq!([DIAGNOSTIC, LOG, BITCODE], kinds.map(|kind| kind.0));
        assert_eq!(HIP, two::AMD_COMGR_LANGUAGE_HIP.0);
    }
}
