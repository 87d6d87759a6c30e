//! `rocm_llvm::clang` on the system's libclang, and on those of ROCm releases.

mod macros;

use std::path::{Path, PathBuf};

use rocm_llvm::clang::{
    Access, Availability, CompilationDatabase, Cursor, CursorKind, Error, Index, Library, Linkage, MacroValue,
    Severity, Source, StorageClass, TemplateArgument, TokenKind, TranslationUnit, TypeKind,
};
use sys_testing::child::run_with_libraries;

const SOURCE: &str = "\
enum color { RED = -1, GREEN = 7 };
/// A point.
/// It has more.
struct point { int x; float y[3]; const char *name; };
typedef struct point Point;
/** Adds two numbers. */
extern \"C\" int add(int a, const Point *b, ...);
int add(int a, const Point *b, ...) { return a + b->x; }
struct opaque;
template <typename T> T twice(T x) { return x + x; }
namespace inner { struct nested { struct opaque *next; }; }
int call() { return add(1, nullptr); }
enum large { HIGH = 0x80000000u };
typedef unsigned long long word;
enum wide : word { ALL = ~0ull };
enum small : signed char { LEAST = -128 };
";

fn parse<'i>(index: &'i Index, text: &str) -> TranslationUnit<'i> {
    index.parse(&Source::text("source.cpp", text).arguments(["-std=c++17"])).unwrap()
}

fn index() -> Option<Index> {
    match Index::new() {
        Ok(index) => Some(index),
        Err(error) => {
            println!("SKIPPED: {error}");
            None
        }
    }
}

/// Returns HIP's header of ROCm 7.2 with the folder of all headers, if they are there.
fn hip_header() -> Option<(Source, PathBuf)> {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/rocm/7.2/usr/include");
    let header = include.join("hip/hip_runtime_api.h");
    if !header.exists() {
        println!("SKIPPED: no HIP headers in {} (`cargo xtask rocm fetch 7.2`)", include.display());
        return None;
    }
    let source = Source::file(header).arguments(["-x", "c++", "-std=c++17", "-D__HIP_PLATFORM_AMD__"]);
    Some((source.argument(format!("-I{}", include.display())), include))
}

/// Parses a source of the system's headers; `None` if the compiler's own headers are missing.
fn parse_whole<'i>(index: &'i Index, source: &Source) -> Option<TranslationUnit<'i>> {
    let unit = index.parse(source).unwrap();
    if unit.has_errors() {
        println!("SKIPPED: the compiler's own headers are missing: {:?}", unit.diagnostics());
        return None;
    }
    Some(unit)
}

fn named<'u>(unit: &'u TranslationUnit<'_>, kind: CursorKind, name: &str) -> Cursor<'u> {
    let found = unit.cursor().descendants().find(|cursor| cursor.kind() == kind && cursor.spelling() == name);
    found.unwrap_or_else(|| panic!("no {kind:?} {name}"))
}

const DETAILS: &str = "\
#define FLAG 0x10u // a flag
#define NEGATIVE (-7)
#define NAME \"text\"
#define HALF 0.5f
#define OTHER (FLAG | 1)
#define EMPTY
#define CALL(x) (x + 1)
struct bits { unsigned low : 3; unsigned high : 5; private: int hidden; };
static int counter;
extern \"C++\" inline int scale(int x, ...) { return x; }
template <typename T, int N> T pick(T x) { return x + N; }
template <> int pick<int, 3>(int x) { return x; }
template <typename T> struct box { T inner; };
box<float> of_float;
struct base { virtual void f() const = 0; static void g(); base() = default; base(const base &); };
enum class scoped { ONE };
[[deprecated]] void old();
volatile int changing;
namespace { int inside; }
";

fn details(index: &Index) {
    let source = Source::text("details.cpp", DETAILS).argument("-std=c++17").with_macros();
    let unit = index.parse(&source).unwrap();
    assert!(!unit.has_errors(), "{:?}", unit.diagnostics());
    let value = |name| named(&unit, CursorKind::MacroDefinition, name).macro_value();
    assert_eq!((value("FLAG"), value("NEGATIVE")), (Some(MacroValue::Int(16)), Some(MacroValue::Int(-7))));
    assert_eq!((value("NAME"), value("HALF")), (Some(MacroValue::Text("text".into())), Some(MacroValue::Float(0.5))));
    assert_eq!((value("OTHER"), value("EMPTY"), value("CALL")), (None, None, None));
    let body = |name| named(&unit, CursorKind::MacroDefinition, name).macro_body();
    assert_eq!((body("OTHER").as_deref(), body("EMPTY").as_deref()), (Some("( FLAG | 1 )"), Some("")));
    assert_eq!((body("CALL"), body("FLAG").as_deref()), (None, Some("0x10u")));
    assert!(named(&unit, CursorKind::MacroDefinition, "CALL").is_macro_function());
    assert!(
        named(&unit, CursorKind::MacroDefinition, "__cplusplus").is_macro_builtin() || value("__cplusplus").is_some()
    );

    let bits = named(&unit, CursorKind::Struct, "bits");
    let fields = bits.ty().unwrap().fields();
    let widths: Vec<_> = fields.iter().map(|field| (field.bit_width(), field.access())).collect();
    let expected = [(Some(3), Access::Public), (Some(5), Access::Public), (None, Access::Private)];
    assert_eq!(widths, expected);
    assert_eq!((bits.ty().unwrap().offset_of("high"), bits.ty().unwrap().offset_of("none")), (Some(3), None));
    let range = fields[0].range().unwrap();
    assert_eq!(&DETAILS[range.start.offset as usize..range.end.offset as usize], "unsigned low : 3");
    let tokens: Vec<_> = fields[0].tokens().into_iter().map(|token| (token.kind, token.text)).collect();
    assert_eq!(tokens[0], (TokenKind::Keyword, "unsigned".to_owned()));
    assert_eq!(tokens[1], (TokenKind::Identifier, "low".to_owned()));
    assert_eq!((tokens[2].0, tokens[3].0), (TokenKind::Punctuation, TokenKind::Literal));

    let counter = named(&unit, CursorKind::Variable, "counter");
    assert_eq!((counter.storage_class(), counter.linkage()), (StorageClass::Static, Linkage::Internal));
    let scale = named(&unit, CursorKind::Function, "scale");
    assert_eq!((scale.mangling().as_deref(), scale.linkage()), (Some("_Z5scaleiz"), Linkage::External));
    assert!(scale.is_inline() && scale.is_variadic() && !counter.is_inline());
    let template = named(&unit, CursorKind::FunctionTemplate, "pick");
    assert_eq!((template.mangling(), template.template_arguments()), (None, vec![]));
    let pick = named(&unit, CursorKind::Function, "pick");
    let arguments = pick.template_arguments();
    assert!(
        matches!(&arguments[..], [TemplateArgument::Type(ty), TemplateArgument::Int(3)] if ty.kind() == TypeKind::Int)
    );
    assert_eq!(pick.template(), Some(template));
    let of_float = named(&unit, CursorKind::Variable, "of_float").ty().unwrap();
    assert_eq!(of_float.template_arguments()[0].unwrap().kind(), TypeKind::Float);
    let base = named(&unit, CursorKind::Struct, "base");
    let f = named(&unit, CursorKind::Method, "f");
    assert!(base.is_abstract() && f.is_const_method() && f.is_virtual_method() && f.is_pure_virtual_method());
    assert!(named(&unit, CursorKind::Method, "g").is_static_method() && f.lexical_parent() == Some(base));
    let constructors: Vec<_> = base.children().into_iter().filter(|c| c.kind() == CursorKind::Constructor).collect();
    assert!(constructors[0].is_default_constructor() && constructors[0].is_defaulted_method());
    assert!(constructors[1].is_copy_constructor() && !constructors[1].is_move_constructor());
    assert!(named(&unit, CursorKind::Enum, "scoped").is_scoped_enum());
    let old = named(&unit, CursorKind::Function, "old");
    assert_eq!((old.availability(), old.has_attributes()), (Availability::Deprecated, true));
    assert!(named(&unit, CursorKind::Variable, "changing").ty().unwrap().is_volatile());
    // Every method works on every cursor.
    for cursor in unit.cursor().descendants() {
        let _ = (cursor.mangling(), cursor.template_arguments(), cursor.template(), cursor.canonical());
        let _ = (cursor.storage_class(), cursor.access(), cursor.linkage(), cursor.availability(), cursor.bit_width());
        let _ = (cursor.tokens(), cursor.range(), cursor.macro_value(), cursor.included_file());
        if let Some(ty) = cursor.ty() {
            let _ = (ty.template_arguments(), ty.named(), ty.offset_of("x"), ty.address_space(), ty.is_plain());
            let _ = (ty.is_volatile(), ty.is_restrict());
        }
    }
    let unit = index.parse(&Source::text("fix.cpp", "int f() { return 1 }\n")).unwrap();
    let found = unit.diagnostics();
    assert_eq!((found[0].fixes[0].text.as_str(), found[0].category.as_str()), (";", "Parse Issue"), "{found:?}");
    assert_eq!(found[0].fixes[0].range.start.offset, 18);

    // Files: what is included, a change, and a saved tree.
    let files = |text: &str| {
        Source::text("/nowhere/main.cpp", "#include \"lib.h\"\n").with_file("/nowhere/lib.h", text).with_macros()
    };
    let unit = index.parse(&files("int first;\n")).unwrap();
    let included = unit.inclusions();
    assert_eq!((included.len(), included[0].stack.len(), included[1].stack.len()), (2, 0, 1), "{included:?}");
    assert!(included[1].file.ends_with("lib.h") && included[1].stack[0].line == 1);
    assert!(named(&unit, CursorKind::Inclusion, "lib.h").included_file().unwrap().ends_with("lib.h"));
    let unit = unit.reparse(&files("int second;\n")).unwrap();
    named(&unit, CursorKind::Variable, "second");
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("main.ast");
    unit.save(&saved).unwrap();
    // SAFETY: this libclang wrote the file.
    let again = unsafe { index.load(&saved) }.unwrap();
    named(&again, CursorKind::Variable, "second");
    assert!(matches!(unit.save(folder.path().join("none/main.ast")), Err(Error::File { .. })));

    assert!(matches!(CompilationDatabase::read(folder.path()), Err(Error::File { .. })));
    let json = r#"[{"directory": "/src", "file": "a.cpp", "arguments": ["clang++", "-DX=1", "-c", "a.cpp"]}]"#;
    std::fs::write(folder.path().join("compile_commands.json"), json).unwrap();
    let database = CompilationDatabase::read(folder.path()).unwrap();
    let all = database.all();
    assert_eq!(
        (all.len(), all[0].directory.as_path(), all[0].file.as_path()),
        (1, Path::new("/src"), Path::new("a.cpp"))
    );
    assert!(all[0].arguments.contains(&"-DX=1".to_owned()), "{all:?}");
    assert_eq!(database.commands("/src/a.cpp").unwrap(), all);
    std::fs::write(folder.path().join("compile_commands.json"), "{").unwrap();
    assert!(matches!(CompilationDatabase::read(folder.path()), Err(Error::File { .. })));
}

fn everything(index: &Index) {
    details(index);
    macros::values(index);
    let unit = parse(index, SOURCE);
    assert_eq!(unit.diagnostics(), []);
    assert_eq!((unit.cursor().kind(), unit.cursor().spelling().as_str()), (CursorKind::TranslationUnit, "source.cpp"));

    let red = named(&unit, CursorKind::EnumConstant, "RED");
    assert_eq!((red.enum_value(), named(&unit, CursorKind::EnumConstant, "GREEN").enum_value()), (Some(-1), Some(7)));
    let value = |name| named(&unit, CursorKind::EnumConstant, name).enum_value();
    assert_eq!((value("HIGH"), value("ALL"), value("LEAST")), (Some(1 << 31), Some(u64::MAX.into()), Some(-128)));
    let color = named(&unit, CursorKind::Enum, "color");
    assert_eq!((color.children().len(), color.enum_type().unwrap().kind()), (2, TypeKind::Int));
    assert_eq!((color.enum_value(), red.parent()), (None, Some(color)));

    let point = named(&unit, CursorKind::Struct, "point");
    let ty = point.ty().unwrap();
    assert_eq!((ty.kind(), ty.size(), ty.alignment()), (TypeKind::Record, Some(24), Some(8)));
    let fields: Vec<_> =
        ty.fields().into_iter().map(|f| (f.spelling(), f.ty().unwrap().spelling(), f.field_offset())).collect();
    let expected = [("x", "int", 0), ("y", "float[3]", 32), ("name", "const char *", 128)];
    assert_eq!(fields, expected.map(|(name, ty, at)| (name.to_owned(), ty.to_owned(), Some(at))));
    let y = ty.fields()[1].ty().unwrap();
    assert_eq!((y.kind(), y.length(), y.element().unwrap().kind()), (TypeKind::Array, Some(3), TypeKind::Float));
    let name = ty.fields()[2].ty().unwrap();
    let pointee = name.pointee().unwrap();
    assert!(name.kind() == TypeKind::Pointer && !name.is_const() && pointee.is_const() && pointee.pointee().is_none());
    assert_eq!(point.brief_comment().unwrap(), "A point. It has more.");
    assert!(point.comment().unwrap().starts_with("/// A point.\n"));
    assert!(point.is_definition() && point.is_in_main_file() && !point.is_in_system_header());

    let opaque = named(&unit, CursorKind::Struct, "opaque");
    let of = opaque.ty().unwrap();
    assert_eq!((of.size(), of.alignment(), of.fields().len(), opaque.definition()), (None, None, 0, None));

    let alias = named(&unit, CursorKind::Typedef, "Point");
    assert_eq!(alias.underlying_type().unwrap().canonical(), ty);
    assert_eq!(alias.ty().unwrap().declaration(), Some(alias));
    assert_eq!(ty.declaration(), Some(point));

    let add = named(&unit, CursorKind::Function, "add");
    let signature = add.ty().unwrap();
    assert_eq!(signature.spelling(), "int (int, const Point *, ...)");
    assert!(signature.is_variadic() && signature.kind() == TypeKind::Function && !add.is_definition());
    assert_eq!(signature.parameters().len(), 2);
    assert_eq!((signature.result(), add.result_type()), (Some(signature.parameters()[0]), signature.result()));
    let arguments = add.arguments();
    assert_eq!(arguments.iter().map(|a| a.spelling()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(arguments[1].ty().unwrap().pointee().unwrap().canonical().declaration(), Some(point));
    assert_eq!(add.brief_comment().unwrap(), "Adds two numbers.");
    let place = add.location().unwrap();
    assert_eq!((place.file.as_path(), place.line, place.column), (Path::new("source.cpp"), 7, 16));
    assert_eq!(&SOURCE[place.offset as usize..][..3], "add");
    let definition = add.definition().unwrap();
    assert!(definition != add && definition.is_definition() && definition.usr() == add.usr());
    let call = named(&unit, CursorKind::Call, "add");
    assert_eq!((call.referenced().unwrap().usr(), call.arguments().len()), (add.usr(), 2));

    let template = named(&unit, CursorKind::FunctionTemplate, "twice");
    assert_eq!((template.display_name().as_str(), template.kind_name().as_str()), ("twice(T)", "FunctionTemplate"));
    let dependent = template.ty().unwrap().result().unwrap();
    assert_eq!((dependent.size(), dependent.alignment()), (None, None));
    let nested = named(&unit, CursorKind::Struct, "nested");
    assert_eq!(nested.parent().unwrap().spelling(), "inner");
    // A cursor that has none of these.
    assert!(unit.cursor().ty().is_none() && unit.cursor().location().is_none() && unit.cursor().arguments().is_empty());
    assert!(
        point.result_type().is_none() && ty.result().is_none() && ty.parameters().is_empty() && ty.length().is_none()
    );
    // Every method works on every cursor.
    for cursor in unit.cursor().descendants() {
        let _ = (cursor.usr(), cursor.definition(), cursor.referenced(), cursor.parent(), cursor.comment());
        let _ = (cursor.underlying_type(), cursor.enum_type(), cursor.field_offset(), format!("{cursor:?}"));
        if let Some(ty) = cursor.ty() {
            let _ = (ty.size(), ty.fields(), ty.canonical(), ty.declaration(), ty.parameters(), format!("{ty:?}"));
        }
    }
}

#[test]
fn a_source_is_walked() {
    if let Some(index) = index() {
        everything(&index);
    }
}

macro_rules! on_release {
    ($name:ident, $release:literal, $library:literal) => {
        #[test]
        fn $name() {
            if run_with_libraries(concat!(module_path!(), "::", stringify!($name)), $release, &[$library]) {
                return;
            }
            everything(&Index::new().unwrap());
            let path = Library::load().unwrap().path();
            assert!(path.contains(concat!("/", $release, "/")), "{path}");
        }
    };
}
on_release!(a_source_is_walked_with_rocm_5_7, "5.7", "libclang-17.so.1");
on_release!(a_source_is_walked_with_rocm_6_4, "6.4", "libclang-19.so.1");
on_release!(a_source_is_walked_with_rocm_7_2, "7.2", "libclang-22.so.1");

#[test]
fn diagnostics_are_values() {
    let Some(index) = index() else { return };
    let unit = parse(&index, "int f() {\n  int unused;\n  return undeclared;\n}\n#include \"no_such.h\"\n");
    assert!(unit.has_errors());
    let found = unit.diagnostics();
    let errors: Vec<_> = found.iter().map(|d| (d.severity, d.location.as_ref().unwrap().line)).collect();
    assert!(errors.contains(&(Severity::Error, 3)) && errors.contains(&(Severity::Fatal, 5)), "{found:?}");
    let error = found.iter().find(|d| d.severity == Severity::Error).unwrap();
    assert!(error.message.contains("undeclared identifier 'undeclared'"), "{error}");
    assert!(error.to_string().starts_with("source.cpp:3:10: error: "), "{error}");
    let unit = index.parse(&Source::text("w.c", "int f() { int unused; return 0; }").argument("-Wall")).unwrap();
    let warnings = unit.diagnostics();
    assert!(!unit.has_errors() && warnings[0].severity == Severity::Warning, "{warnings:?}");
    assert!(warnings[0].text.contains("[-Wunused-variable]"), "{warnings:?}");
}

#[test]
fn bad_input_is_an_error() {
    let Some(index) = index() else { return };
    assert!(matches!(index.parse(&Source::file("/nonexistent/a.h")), Err(Error::File { .. })));
    assert!(matches!(index.parse(&Source::file("/")), Err(Error::File { .. })));
    assert!(matches!(index.parse(&Source::text("a\0.h", "")), Err(Error::Null { at: 1, .. })));
    assert!(matches!(index.parse(&Source::text("a.h", "").argument("-D\0")), Err(Error::Null { at: 2, .. })));
    // An unknown argument gives a diagnostic or no unit at all.
    match index.parse(&Source::text("a.h", "int x;").argument("--no-such-argument")) {
        Ok(unit) => assert!(unit.has_errors(), "{:?}", unit.diagnostics()),
        Err(error) => assert!(error.to_string().contains("--no-such-argument"), "{error}"),
    }
    // An empty text, and texts that are not programs.
    for text in ["", "\0\0", "{{{{", "template <", "#include", "\"", "/*", "struct s { struct s x; };"] {
        let unit = parse(&index, text);
        for cursor in unit.cursor().descendants() {
            let _ = (cursor.ty().map(|ty| (ty.size(), ty.alignment(), ty.fields())), cursor.field_offset());
        }
    }
}

#[test]
fn headers_macros_and_bodies() {
    let Some(index) = index() else { return };
    let source = Source::text("/nowhere/main.cpp", "#include \"lib.h\"\nint f() { return SIZE; }\n")
        .with_file("/nowhere/lib.h", "#define SIZE 4\n")
        .with_macros();
    let unit = index.parse(&source).unwrap();
    assert!(!unit.has_errors(), "{:?}", unit.diagnostics());
    let size = named(&unit, CursorKind::MacroDefinition, "SIZE");
    assert!(!size.is_in_main_file() && size.location().unwrap().file.ends_with("lib.h"));
    named(&unit, CursorKind::MacroExpansion, "SIZE");
    named(&unit, CursorKind::Inclusion, "lib.h");
    let bodies = |source: &Source| {
        let unit = index.parse(source).unwrap();
        unit.cursor().descendants().filter(|cursor| cursor.kind_name() == "ReturnStmt").count()
    };
    let source = Source::text("b.cpp", "int f() { return 1; }");
    assert_eq!((bodies(&source), bodies(&source.clone().without_bodies())), (1, 0));
}

/// The functions in HIP's header are those that `hip-sys` declares.
#[test]
fn hips_header_is_walked() {
    let Some(index) = index() else { return };
    let Some((source, _)) = hip_header() else { return };
    let Some(unit) = parse_whole(&index, &source.without_bodies()) else { return };
    let malloc = named(&unit, CursorKind::Function, "hipMalloc");
    assert_eq!(malloc.ty().unwrap().spelling(), "hipError_t (void **, size_t)");
    assert!(malloc.comment().is_some_and(|comment| comment.contains("@param[out] ptr")));
    let names: Vec<_> =
        unit.cursor().descendants().filter(|c| c.kind() == CursorKind::Function).map(|c| c.spelling()).collect();
    for name in ["hipMemcpyAsync", "hipModuleLaunchKernel", "hipGraphLaunch", "hipGetDeviceCount", "hipStreamCreate"] {
        assert!(names.iter().any(|other| other == name), "no {name}");
    }
    assert!(names.iter().filter(|name| name.starts_with("hip")).count() > 450, "{}", names.len());
    let dim3 = named(&unit, CursorKind::Struct, "dim3").ty().unwrap();
    assert_eq!((dim3.size(), dim3.fields().len()), (Some(12), 3));
}

#[test]
fn other_libraries_are_refused() {
    if !sys_testing::child::run(concat!(module_path!(), "::other_libraries_are_refused")) {
        assert!(matches!(Library::open("libclang.so"), Err(Error::Open(rocm_loader::Error::RelativePath { .. }))));
        assert!(matches!(Library::open("/nonexistent/libclang.so"), Err(Error::Open(_))));
        if Path::new("/lib/x86_64-linux-gnu/libm.so.6").exists() {
            let error = Library::open("/lib/x86_64-linux-gnu/libm.so.6").unwrap_err();
            assert!(matches!(error, Error::MissingFunction { .. }), "{error}");
        }
        // None of these calls chooses a library.
        if let Ok(library) = Library::load() {
            assert!(library.version().contains("clang version"), "{}", library.version());
            assert_eq!(Library::open(library.path()).unwrap().path(), library.path());
            assert!(matches!(Library::open("/nonexistent/libclang.so"), Err(Error::InUse { .. })));
        }
    }
}

/// The message is one line with the package; the search follows on request.
#[test]
fn without_a_library_the_package_is_named() {
    if sys_testing::child::run(concat!(module_path!(), "::without_a_library_the_package_is_named")) {
        return;
    }
    // SAFETY: this process runs one test, and no other thread reads variables.
    unsafe { std::env::remove_var("LIBCLANG_PATH") };
    rocm_loader::set_search(rocm_loader::Search::nowhere().system(false)).unwrap();
    let error = Index::new().unwrap_err();
    let text = error.to_string();
    assert!(text.lines().count() == 1 && text.contains("install libclang1"), "{text}");
    assert!(matches!(&error, Error::NotFound { report } if report.contains("clang")), "{error}");
    // SAFETY: as above.
    unsafe { std::env::set_var("LIBCLANG_PATH", "/nonexistent") };
    assert!(matches!(Index::new(), Err(Error::Open(_))));
    for folder in ["/usr/lib/x86_64-linux-gnu", "/usr/lib/llvm-19/lib"] {
        if Path::new(folder).join("libclang-19.so.1").exists() {
            // SAFETY: as above.
            unsafe { std::env::set_var("LIBCLANG_PATH", folder) };
            Index::new().unwrap();
            assert!(Library::load().unwrap().path().starts_with("/usr/lib"), "{}", Library::load().unwrap().path());
            return;
        }
    }
}
