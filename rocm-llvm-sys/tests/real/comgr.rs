// Tests of one level, whose module is imported as `sys`.

use std::ffi::{CStr, CString, c_char, c_void};

use sys::*;
use sys_testing::child::{run_with_libraries, tree};

/// The library and its version in each tree.
const LIBRARY: (&str, usize) = match API_LEVEL.0 {
    ..=5 => ("libamd_comgr.so.2", 2),
    _ => ("libamd_comgr.so.3", 3),
};

const ISA: &CStr = c"amdgcn-amd-amdhsa--gfx90a";
const OK: amd_comgr_status_t = AMD_COMGR_STATUS_SUCCESS;

/// A kernel that stores its argument, in the language that Comgr compiles without headers.
const SOURCE: &CStr = c"
kernel void store(global int *to, int value) { *to = value; }
";

fn run_in_child(test: &str) -> bool {
    run_with_libraries(&format!("{}::{test}", module_path!()), tree(API_LEVEL), &[LIBRARY.0])
}

/// Creates a data set with one data object.
fn set_of(kind: amd_comgr_data_kind_t, name: &CStr, bytes: &[u8]) -> amd_comgr_data_set_t {
    let (mut set, mut data) = (amd_comgr_data_set_t::default(), amd_comgr_data_t::default());
    // SAFETY: pointers are valid for the writes, handles are alive, and the bytes are copied.
    unsafe {
        assert_eq!(amd_comgr_create_data_set(&mut set), OK);
        assert_eq!(amd_comgr_create_data(kind, &mut data), OK);
        assert_eq!(amd_comgr_set_data(data, bytes.len(), bytes.as_ptr().cast()), OK);
        assert_eq!(amd_comgr_set_data_name(data, name.as_ptr()), OK);
        assert_eq!(amd_comgr_data_set_add(set, data), OK);
        assert_eq!(amd_comgr_release_data(data), OK);
    }
    set
}

/// Runs an action; returns the status and the result.
fn act(
    action: amd_comgr_action_kind_t,
    options: &[&CStr],
    input: amd_comgr_data_set_t,
) -> (amd_comgr_status_t, amd_comgr_data_set_t) {
    let (mut info, mut result) = (amd_comgr_action_info_t::default(), amd_comgr_data_set_t::default());
    let mut pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
    // SAFETY: pointers are valid for the writes, handles are alive, and the strings and their count are those of the vector.
    unsafe {
        assert_eq!(amd_comgr_create_data_set(&mut result), OK);
        assert_eq!(amd_comgr_create_action_info(&mut info), OK);
        assert_eq!(amd_comgr_action_info_set_language(info, AMD_COMGR_LANGUAGE_OPENCL_1_2), OK);
        assert_eq!(amd_comgr_action_info_set_isa_name(info, ISA.as_ptr()), OK);
        assert_eq!(amd_comgr_action_info_set_option_list(info, pointers.as_mut_ptr(), pointers.len()), OK);
        assert_eq!(amd_comgr_action_info_set_logging(info, true), OK);
        let status = amd_comgr_do_action(action, info, input, result);
        assert_eq!(amd_comgr_destroy_action_info(info), OK);
        (status, result)
    }
}

/// Returns the first data object of a kind in a set.
fn first(set: amd_comgr_data_set_t, kind: amd_comgr_data_kind_t) -> amd_comgr_data_t {
    let (mut count, mut data) = (0, amd_comgr_data_t::default());
    // SAFETY: the set is alive, and the pointers are valid for the writes.
    unsafe {
        assert_eq!(amd_comgr_action_data_count(set, kind, &mut count), OK);
        assert_eq!(count, 1, "{kind:?}");
        assert_eq!(amd_comgr_action_data_get_data(set, kind, 0, &mut data), OK);
    }
    data
}

/// Returns the output of a function that is called for the size first.
fn bytes(mut get: impl FnMut(*mut usize, *mut c_char) -> amd_comgr_status_t) -> Vec<u8> {
    let mut size = 0;
    assert_eq!(get(&mut size, std::ptr::null_mut()), OK);
    let mut bytes = vec![0_u8; size];
    assert_eq!(get(&mut size, bytes.as_mut_ptr().cast()), OK);
    bytes
}

fn text(bytes: Vec<u8>) -> String {
    CStr::from_bytes_until_nul(&bytes).unwrap().to_str().unwrap().to_owned()
}

/// Returns the compiler's messages.
fn log(result: amd_comgr_data_set_t) -> String {
    let log = first(result, AMD_COMGR_DATA_KIND_LOG);
    // SAFETY: the data object is alive.
    let log = bytes(|size, to| unsafe { amd_comgr_get_data(log, size, to) });
    String::from_utf8_lossy(&log).into_owned()
}

/// Returns the kernel, compiled and linked.
fn executable() -> amd_comgr_data_t {
    let source = set_of(AMD_COMGR_DATA_KIND_SOURCE, c"store.cl", SOURCE.to_bytes());
    let (status, bitcode) = act(AMD_COMGR_ACTION_COMPILE_SOURCE_TO_BC, &[c"-nogpulib"], source);
    assert_eq!(status, OK, "{}", log(bitcode));
    let (status, relocatable) = act(AMD_COMGR_ACTION_CODEGEN_BC_TO_RELOCATABLE, &[], bitcode);
    assert_eq!(status, OK, "{}", log(relocatable));
    let (status, linked) = act(AMD_COMGR_ACTION_LINK_RELOCATABLE_TO_EXECUTABLE, &[], relocatable);
    assert_eq!(status, OK);
    first(linked, AMD_COMGR_DATA_KIND_EXECUTABLE)
}

#[test]
fn versions_isas_and_statuses() {
    if run_in_child("versions_isas_and_statuses") {
        return;
    }
    let (mut major, mut minor, mut count) = (0, 0, 0);
    // SAFETY: all pointers are valid for the writes.
    unsafe {
        amd_comgr_get_version(&mut major, &mut minor);
        assert_eq!(major, LIBRARY.1, "{major}.{minor}");
        assert_eq!(amd_comgr_get_isa_count(&mut count), OK);
        let mut name = std::ptr::null();
        let mut names = Vec::new();
        for index in 0..count {
            assert_eq!(amd_comgr_get_isa_name(index, &mut name), OK);
            names.push(CStr::from_ptr(name).to_owned());
        }
        assert!(names.iter().any(|name| **name == *ISA), "{names:?}");
        assert_eq!(amd_comgr_get_isa_name(count, &mut name), AMD_COMGR_STATUS_ERROR_INVALID_ARGUMENT);
    }
    for value in 0..3 {
        let status = amd_comgr_status_t(value);
        assert!(!format!("{status:?}").starts_with("amd_comgr_status"), "{status:?}");
        let mut theirs = std::ptr::null();
        // SAFETY: `theirs` is valid for the write, and is set to a static string.
        unsafe {
            assert_eq!(amd_comgr_status_string(status, &mut theirs), OK);
            // For example `AMD_COMGR_STATUS_ERROR_INVALID_ARGUMENT` and `INVALID_ARGUMENT`.
            let (theirs, ours) = (CStr::from_ptr(theirs).to_str().unwrap(), format!("{status:?}"));
            assert!(ours.ends_with(theirs), "{ours} {theirs}");
        }
    }
}

/// From a source to its kernel's name and arguments: handles, options, symbols and metadata.
#[test]
fn a_kernel_is_compiled_and_described() {
    if run_in_child("a_kernel_is_compiled_and_described") {
        return;
    }
    unsafe extern "C" fn collect(symbol: amd_comgr_symbol_t, names: *mut c_void) -> amd_comgr_status_t {
        let (mut length, mut kind) = (0_u64, amd_comgr_symbol_type_t::default());
        // SAFETY: the symbol is alive, the pointers have the attributes' types, and the name has room for its NUL.
        unsafe {
            let length_of = (&raw mut length).cast();
            assert_eq!(amd_comgr_symbol_get_info(symbol, AMD_COMGR_SYMBOL_INFO_NAME_LENGTH, length_of), OK);
            let mut name = vec![0_u8; usize::try_from(length).unwrap() + 1];
            let name_of = name.as_mut_ptr().cast();
            assert_eq!(amd_comgr_symbol_get_info(symbol, AMD_COMGR_SYMBOL_INFO_NAME, name_of), OK);
            let kind_of = (&raw mut kind).cast();
            assert_eq!(amd_comgr_symbol_get_info(symbol, AMD_COMGR_SYMBOL_INFO_TYPE, kind_of), OK);
            (*names.cast::<Vec<_>>()).push((text(name), kind));
        }
        OK
    }
    let code = executable();
    // SAFETY: the data object is alive.
    let elf = bytes(|size, to| unsafe { amd_comgr_get_data(code, size, to) });
    assert!(elf.starts_with(b"\x7fELF") && elf[18] == 224);
    // SAFETY: likewise.
    assert_eq!(text(bytes(|size, to| unsafe { amd_comgr_get_data_isa_name(code, size, to) })), ISA.to_str().unwrap());

    let mut symbols: Vec<(String, amd_comgr_symbol_type_t)> = Vec::new();
    // SAFETY: the data object and `symbols` are alive, and the callback expects such a vector.
    unsafe { assert_eq!(amd_comgr_iterate_symbols(code, Some(collect), (&raw mut symbols).cast()), OK) };
    assert!(symbols.contains(&("store".to_owned(), AMD_COMGR_SYMBOL_TYPE_FUNC)), "{symbols:?}");
    assert!(symbols.contains(&("store.kd".to_owned(), AMD_COMGR_SYMBOL_TYPE_OBJECT)), "{symbols:?}");

    let mut root = amd_comgr_metadata_node_t::default();
    // SAFETY: the data object is alive, and `root` is valid for the write.
    unsafe { assert_eq!(amd_comgr_get_data_metadata(code, &mut root), OK) };
    let kernel = element(member(root, c"amdhsa.kernels"), 0);
    assert_eq!(string(member(kernel, c".symbol")), "store.kd");
    let arguments = member(kernel, c".args");
    let argument = |index, key| string(member(element(arguments, index), key));
    assert_eq!(
        [argument(0, c".offset"), argument(0, c".size"), argument(0, c".value_kind")],
        ["0", "8", "global_buffer"]
    );
    assert_eq!([argument(1, c".offset"), argument(1, c".size"), argument(1, c".value_kind")], ["8", "4", "by_value"]);
    let mut missing = amd_comgr_metadata_node_t::default();
    // SAFETY: the node is alive, and `missing` is valid for the write.
    assert_ne!(unsafe { amd_comgr_metadata_lookup(kernel, c".nothing".as_ptr(), &mut missing) }, OK);
}

/// Returns the value of a key in a map.
fn member(map: amd_comgr_metadata_node_t, key: &CStr) -> amd_comgr_metadata_node_t {
    let mut node = amd_comgr_metadata_node_t::default();
    // SAFETY: the map is alive, and `node` is valid for the write.
    assert_eq!(unsafe { amd_comgr_metadata_lookup(map, key.as_ptr(), &mut node) }, OK, "{key:?}");
    node
}

/// Returns an element of a list.
fn element(list: amd_comgr_metadata_node_t, index: usize) -> amd_comgr_metadata_node_t {
    let mut node = amd_comgr_metadata_node_t::default();
    // SAFETY: the list is alive, and `node` is valid for the write.
    assert_eq!(unsafe { amd_comgr_index_list_metadata(list, index, &mut node) }, OK, "{index}");
    node
}

fn string(node: amd_comgr_metadata_node_t) -> String {
    // SAFETY: the node is alive.
    text(bytes(|size, to| unsafe { amd_comgr_get_metadata_string(node, size, to) }))
}

#[test]
fn errors_of_the_compiler_are_in_the_log() {
    if run_in_child("errors_of_the_compiler_are_in_the_log") {
        return;
    }
    let source = set_of(AMD_COMGR_DATA_KIND_SOURCE, c"wrong.cl", b"kernel void wrong() { undeclared = 1; }");
    let (status, result) = act(AMD_COMGR_ACTION_COMPILE_SOURCE_TO_BC, &[c"-nogpulib"], source);
    assert_eq!(status, AMD_COMGR_STATUS_ERROR);
    let log = log(result);
    assert!(log.contains("undeclared identifier 'undeclared'"), "{log}");
}

/// Callbacks: Comgr reads this program's memory, and prints into its text.
#[test]
fn an_instruction_is_disassembled() {
    if run_in_child("an_instruction_is_disassembled") {
        return;
    }
    struct Place {
        code: [u8; 8],
        lines: Vec<CString>,
    }
    const ADDRESS: u64 = 0x1000;
    unsafe extern "C" fn read(from: u64, to: *mut c_char, size: u64, place: *mut c_void) -> u64 {
        // SAFETY: Comgr passes the pointer that it was given, and has room for `size` bytes.
        unsafe {
            let code = &(*place.cast::<Place>()).code;
            let at = usize::try_from(from - ADDRESS).unwrap();
            let rest = code.get(at..).unwrap_or_default();
            let count = rest.len().min(size.try_into().unwrap());
            to.cast::<u8>().copy_from_nonoverlapping(rest.as_ptr(), count);
            count as u64
        }
    }
    unsafe extern "C" fn print(instruction: *const c_char, place: *mut c_void) {
        // SAFETY: Comgr passes a C string and the pointer that it was given.
        unsafe { (*place.cast::<Place>()).lines.push(CStr::from_ptr(instruction).to_owned()) };
    }
    unsafe extern "C" fn annotate(_: u64, _: *mut c_void) {}
    // s_mov_b32 s0, 0x12345678 has eight bytes.
    let mut place = Place { code: [0xff, 0x00, 0x80, 0xbe, 0x78, 0x56, 0x34, 0x12], lines: Vec::new() };
    let mut info = amd_comgr_disassembly_info_t::default();
    let mut size = 0;
    // SAFETY: the pointers are valid for the writes, and the callbacks expect such a `Place`, which is alive.
    unsafe {
        let status =
            amd_comgr_create_disassembly_info(ISA.as_ptr(), Some(read), Some(print), Some(annotate), &mut info);
        assert_eq!(status, OK);
        let user = (&raw mut place).cast();
        assert_eq!(amd_comgr_disassemble_instruction(info, ADDRESS, user, &mut size), OK);
        assert_eq!(amd_comgr_destroy_disassembly_info(info), OK);
    }
    assert_eq!(size, 8);
    let [line] = &place.lines[..] else { panic!("{:?}", place.lines) };
    assert_eq!(line.to_str().unwrap().split_whitespace().collect::<Vec<_>>().join(" "), "s_mov_b32 s0, 0x12345678");
}
