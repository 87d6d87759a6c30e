// Tests of one level, whose module is imported as `sys`.

use std::ffi::{CStr, c_uint, c_void};

use sys::*;
use sys_testing::child::{run_with_libraries, tree};

/// The library and the version of Clang in each tree.
const LIBRARY: (&str, &str) = match API_LEVEL.0 {
    ..=5 => ("libclang-17.so.1", "17."),
    6 => ("libclang-19.so.1", "19."),
    _ => ("libclang-22.so.1", "22."),
};

const SOURCE: &CStr = c"enum color { RED = -1, GREEN = 7 };
struct point { int x; float y[3]; };
int add(int a, int b) { return a + b; }
";

fn run_in_child(test: &str) -> bool {
    run_with_libraries(&format!("{}::{test}", module_path!()), tree(API_LEVEL), &[LIBRARY.0])
}

/// Takes a string of Clang: a struct that is returned and passed by value.
fn taken(string: CXString) -> String {
    // SAFETY: the string belongs to Clang, and is not used afterwards.
    unsafe {
        let text = CStr::from_ptr(clang_getCString(string)).to_str().unwrap().to_owned();
        clang_disposeString(string);
        text
    }
}

/// Parses a text and passes on the translation unit.
fn parse(source: &CStr, then: impl FnOnce(CXTranslationUnit)) {
    let name = c"/nowhere/source.c".as_ptr();
    let length = source.to_bytes().len().try_into().unwrap();
    let mut file = CXUnsavedFile { Filename: name, Contents: source.as_ptr(), Length: length };
    let mut unit = std::ptr::null_mut();
    let arguments = [c"-std=c11".as_ptr()];
    // SAFETY: the strings outlive the calls, the counts are those of the arrays, and each handle is disposed of once.
    unsafe {
        let index = clang_createIndex(0, 0);
        let options = CXTranslationUnit_None.0;
        let result =
            clang_parseTranslationUnit2(index, name, arguments.as_ptr(), 1, &mut file, 1, options as _, &mut unit);
        assert_eq!(result, CXError_Success);
        then(unit);
        clang_disposeTranslationUnit(unit);
        clang_disposeIndex(index);
    }
}

#[test]
fn version_is_that_of_the_file() {
    if run_in_child("version_is_that_of_the_file") {
        return;
    }
    // SAFETY: it takes no arguments.
    let version = taken(unsafe { clang_getClangVersion() });
    assert!(version.contains(&format!("clang version {}", LIBRARY.1)), "{version}");
}

/// Clang calls back with structs by value: kinds, names, types, values and lines of a source in memory.
#[test]
fn a_callback_visits_the_cursors() {
    if run_in_child("a_callback_visits_the_cursors") {
        return;
    }
    unsafe extern "C" fn visit(cursor: CXCursor, _: CXCursor, seen: *mut c_void) -> CXChildVisitResult {
        // SAFETY: Clang passes live cursors and the pointer that it was given; the line is valid for the write.
        unsafe {
            let mut line: c_uint = 0;
            let nowhere = std::ptr::null_mut();
            let location = clang_getCursorLocation(cursor);
            clang_getExpansionLocation(location, std::ptr::null_mut(), &mut line, nowhere, nowhere);
            let kind = clang_getCursorKind(cursor);
            let value = if kind == CXCursor_EnumConstantDecl {
                clang_getEnumConstantDeclValue(cursor).to_string()
            } else {
                taken(clang_getTypeSpelling(clang_getCursorType(cursor)))
            };
            let name = taken(clang_getCursorSpelling(cursor));
            (*seen.cast::<Vec<String>>()).push(format!("{line} {kind:?} {name}: {value}"));
        }
        CXChildVisit_Recurse
    }
    let mut seen: Vec<String> = Vec::new();
    parse(SOURCE, |unit| {
        // SAFETY: the unit and `seen` are alive, and the callback expects such a vector.
        unsafe {
            let root = clang_getTranslationUnitCursor(unit);
            assert_eq!(clang_visitChildren(root, Some(visit), (&raw mut seen).cast()), 0);
            assert_eq!(clang_getNumDiagnostics(unit), 0);
        }
    });
    for expected in [
        "1 CXCursor_EnumDecl color: enum color",
        "1 CXCursor_EnumConstantDecl RED: -1",
        "1 CXCursor_EnumConstantDecl GREEN: 7",
        "2 CXCursor_FieldDecl y: float[3]",
        "3 CXCursor_FunctionDecl add: int (int, int)",
        "3 CXCursor_ParmDecl b: int",
        "3 CXCursor_BinaryOperator +: int",
    ] {
        let name = expected.replace(" +:", " :");
        assert!(seen.iter().any(|line| *line == expected || *line == name), "{expected}: {seen:#?}");
    }
}

#[test]
fn errors_are_told_with_their_line() {
    if run_in_child("errors_are_told_with_their_line") {
        return;
    }
    parse(c"int f(void) {\n  return undeclared;\n}\n", |unit| {
        let mut line: c_uint = 0;
        // SAFETY: the unit is alive, `line` is valid for the write, and the diagnostic is disposed of once.
        unsafe {
            assert_eq!(clang_getNumDiagnostics(unit), 1);
            let diagnostic = clang_getDiagnostic(unit, 0);
            assert_eq!(clang_getDiagnosticSeverity(diagnostic), CXDiagnostic_Error);
            let text = taken(clang_getDiagnosticSpelling(diagnostic));
            assert!(text.contains("undeclared identifier 'undeclared'"), "{text}");
            let location = clang_getDiagnosticLocation(diagnostic);
            let nowhere = std::ptr::null_mut();
            clang_getExpansionLocation(location, std::ptr::null_mut(), &mut line, nowhere, nowhere);
            clang_disposeDiagnostic(diagnostic);
        }
        assert_eq!(line, 2);
    });
}
