//! The values of macros, which the compiler computes.

use rocm_llvm::clang::{CursorKind, Error, Index, MacroValue, NoValue, Source};

type Value = Result<MacroValue, NoValue>;

const SHARED: &str = r#"
typedef struct stream *Stream;
struct stream;
enum color { RED = -1, GREEN = 7 };
extern int variable;
int twice(int x);
#define MAJOR 7
#define VERSION (MAJOR * 10000000 + 2 * 100000 + 26015)
#define FLAG (1u << 3)
#define FLAGS (FLAG | 0x1)
#define TOP 0x80000000
#define ALL (~0ull)
#define LEAST (-9223372036854775807LL - 1)
#define COLOR GREEN
#define NEGATIVE RED
#define CHARACTER 'c'
#define SIZE sizeof(struct { int a; double b; })
#define STREAM ((Stream)2)
#define MINUS_ONE ((void *)-1)
#define NOTHING ((void *)0)
#define HALF (1 / 2.0f)
#define TEXT "a\tb"
#define TEXTS ("v" TEXT "\"")
#define CHOICE (MAJOR > 6 ? 10 : 20)
#define CALL(x) ((x) + 1)
#define CALLED CALL(4)
#define EMPTY
#define COMMENT /* nothing */
#define ITSELF ITSELF
#define ONE_OF_TWO OTHER_OF_TWO
#define OTHER_OF_TWO ONE_OF_TWO
#define ADDRESS (&variable)
#define FUNCTION twice
#define RUNTIME (twice(1))
#define TYPE unsigned long
#define ATTRIBUTE [[nodiscard]]
#define CALLED_BY __attribute__((unused))
#define UNKNOWN (no_such_name + 1)
#define STATEMENT do { } while (0)
#define TWO 1; static const int injected = 2
#define BEGIN extern "C" {
#define END }
#define FRONT (1 + (
#define BACK 1) + (2
#define OPENED FRONT 2
#define CLOSED FRONT 2))
#define CROSSED ( [ ) ]
#define DIGRAPH <%
#define POISON _Pragma("GCC poison MAJOR") 1
#define QUOTE "abc
#define LATER 1
#undef LATER
#define AGAIN 1
#undef AGAIN
#define AGAIN 2
#define WIDE ((__int128)1 << 100)
#define RECORD ((struct pair) { 1, 2 })
#define DIVIDED (1 / 0)
#define WIDE_TEXT L"abc"
#define LAST 42
struct pair { int a, b; };
"#;

fn int(value: i128) -> Value {
    Ok(MacroValue::Int(value))
}

fn text(value: &str) -> Value {
    Ok(MacroValue::Text(value.to_owned()))
}

pub(crate) fn values(index: &Index) {
    let all = |source: &Source| {
        let unit = index.parse(&source.clone().with_macros()).unwrap();
        let cursors =
            unit.cursor().children().into_iter().filter(|cursor| cursor.kind() == CursorKind::MacroDefinition);
        let names: Vec<_> =
            cursors.filter(|cursor| !cursor.is_macro_builtin()).map(|cursor| cursor.spelling()).collect();
        let values = index.macro_values(source, &names).unwrap();
        assert_eq!(values.len(), names.len());
        names.into_iter().zip(values).collect::<std::collections::HashMap<_, _>>()
    };
    for name in ["/nowhere/v.h", "v.c", "v.cpp", "v.hpp"] {
        let is_c = name.ends_with("h") && !name.ends_with("hpp") || name.ends_with('c');
        // Warnings that are errors change nothing.
        let source = Source::text(name, SHARED).arguments(["-Wall", "-Werror"]).without_bodies();
        let found = all(&source);
        let value = |name: &str| found[name].clone();
        assert_eq!(value("VERSION"), int(70_226_015), "{name}");
        assert_eq!((value("FLAG"), value("FLAGS")), (int(8), int(9)));
        assert_eq!((value("TOP"), value("ALL")), (int(0x8000_0000), int(u64::MAX.into())));
        assert_eq!((value("LEAST"), value("COLOR"), value("NEGATIVE")), (int(i64::MIN.into()), int(7), int(-1)));
        assert_eq!((value("CHARACTER"), value("CHOICE")), (int(99), int(10)));
        assert_eq!((value("STREAM"), value("NOTHING")), (int(2), int(0)));
        assert_eq!((value("MINUS_ONE"), value("HALF")), (int(u64::MAX.into()), Ok(MacroValue::Float(0.5))));
        assert_eq!((value("TEXT"), value("TEXTS")), (text("a\tb"), text("va\tb\"")), "{name}");
        assert_eq!(
            (value("CALLED"), value("CLOSED"), value("AGAIN"), value("LAST")),
            (int(5), int(3), int(2), int(42))
        );
        // C++ has no definitions of types within `sizeof`.
        let is_error = |name: &str| matches!(value(name), Err(NoValue::NotExpression(text)) if !text.is_empty());
        assert!(if is_c { value("SIZE") == int(16) } else { is_error("SIZE") }, "{:?}", value("SIZE"));

        assert_eq!((value("CALL"), value("EMPTY")), (Err(NoValue::Parameters), Err(NoValue::Empty)));
        assert_eq!((value("COMMENT"), value("LATER")), (Err(NoValue::Empty), Err(NoValue::Undefined)));
        for broken in ["BEGIN", "END", "FRONT", "BACK", "OPENED", "CROSSED", "DIGRAPH", "POISON"] {
            assert_eq!(value(broken), Err(NoValue::Brackets), "{broken}");
        }
        for wrong in [
            "TYPE",
            "ATTRIBUTE",
            "CALLED_BY",
            "UNKNOWN",
            "STATEMENT",
            "TWO",
            "ITSELF",
            "ONE_OF_TWO",
            "OTHER_OF_TWO",
            "QUOTE",
        ] {
            assert!(is_error(wrong), "{wrong} in {name}: {:?}", value(wrong));
        }
        assert!(value("UNKNOWN").unwrap_err().to_string().contains("no_such_name"), "{:?}", value("UNKNOWN"));
        for other in ["ADDRESS", "FUNCTION", "WIDE", "WIDE_TEXT"] {
            assert_eq!(value(other), Err(NoValue::NotConstant), "{other} in {name}");
        }
        // C has no initial values that are computed before `main`.
        for other in ["RUNTIME", "DIVIDED"] {
            assert!(is_error(other) || value(other) == Err(NoValue::NotConstant), "{other}: {:?}", value(other));
        }
        assert!(value("RECORD").is_err());
        let asked = ["LAST", "no such name", "1; int x", "", "NO_SUCH", "LAST", "__LINE__"];
        let found = index.macro_values(&source, &asked).unwrap();
        assert_eq!((&found[0], &found[5]), (&int(42), &int(42)));
        assert!(found[1..5].iter().all(|value| *value == Err(NoValue::Undefined)), "{found:?}");
    }
    // What only C++ has, and what the source itself gets wrong.
    let source = Source::text(
        "/nowhere/more.cpp",
        "#include \"no_such_header.h\"\n\
         namespace n { constexpr int square(int x) { return x * x; } enum class E : unsigned { A = 3 }; const int two = 2; }\n\
         #define SQUARE (n::square(12))\n#define SCOPED n::E::A\n#define NULLS nullptr\n#define YES true\n\
         #define CONSTANT (n::two + 1)\n#define LAMBDA [] { return 1; }\n#define INCLUDED (INNER + 1)\n\
         #include \"inner.h\"\nint broken = no_such_name;\n// The end: \\",
    )
    .with_file("/nowhere/inner.h", "#pragma once\n#define INNER 5\n")
    .arguments(["-std=c++17", "-ferror-limit=1"]);
    let found = index.macro_values(&source, &["SQUARE", "SCOPED", "NULLS", "YES", "CONSTANT", "INCLUDED"]).unwrap();
    assert_eq!(found, [int(144), int(3), int(0), int(1), int(3), int(6)]);
    assert!(index.macro_values(&source, &["LAMBDA"]).unwrap()[0].is_err());
    let unclosed = Source::text("unclosed.cpp", "#define A 1\n/* never closed\n");
    assert_eq!(index.macro_values(&unclosed, &["A"]).unwrap(), [Err(NoValue::Undefined)]);
    // Deeply nested names, and brackets that double.
    let mut deep = String::from("#define D0 1\n#define P0 (\n");
    for at in 1..3000 {
        deep += &format!("#define D{at} D{}\n#define P{at} P{} P{}\n", at - 1, at - 1, at - 1);
    }
    let source = Source::text("deep.h", deep);
    let found = index.macro_values(&source, &["D900", "D2999", "P2999"]).unwrap();
    assert_eq!(found, [int(1), Err(NoValue::Brackets), Err(NoValue::Brackets)]);
    // A file, and one that does not exist.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.h");
    std::fs::write(&path, "#include \"b.h\"\n#define A (B + 1)\n").unwrap();
    std::fs::write(folder.path().join("b.h"), "#define B 1\n").unwrap();
    assert_eq!(index.macro_values(&Source::file(&path), &["A"]).unwrap(), [int(2)]);
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(index.macro_values(&Source::file(&path), &["A"]), Err(Error::File { .. })));
}

/// Most macros without parameters in HIP's header have a value.
#[test]
fn hips_macros_have_values() {
    let Some(index) = super::index() else { return };
    let Some((source, include)) = super::hip_header() else { return };
    let Some(unit) = super::parse_whole(&index, &source.clone().with_macros()) else { return };
    let is_hips = |cursor: &rocm_llvm::clang::Cursor<'_>| {
        cursor.kind() == CursorKind::MacroDefinition
            && !cursor.is_macro_function()
            && cursor.location().is_some_and(|at| at.file.starts_with(include.join("hip")))
    };
    let names: Vec<_> = unit.cursor().children().into_iter().filter(is_hips).map(|cursor| cursor.spelling()).collect();
    let values = index.macro_values(&source, &names).unwrap();
    let value = |name: &str| values[names.iter().position(|other| other == name).unwrap()].clone();
    let (major, minor, patch) = (value("HIP_VERSION_MAJOR"), value("HIP_VERSION_MINOR"), value("HIP_VERSION_PATCH"));
    let number = |value: Value| match value {
        Ok(MacroValue::Int(number)) => number,
        other => panic!("{other:?}"),
    };
    let version = number(major) * 10_000_000 + number(minor) * 100_000 + number(patch);
    assert_eq!(value("HIP_VERSION"), int(version));
    assert_eq!((value("hipHostMallocDefault"), value("hipStreamPerThread")), (int(0), int(2)));
    assert_eq!((value("hipDeviceScheduleMask"), value("hipHostRegisterMapped")), (int(7), int(2)));
    let with_value = values.iter().filter(|value| value.is_ok()).count();
    for (name, value) in names.iter().zip(&values) {
        println!("{name}: {value:?}");
    }
    println!("{with_value} of {} macros without parameters have a value", names.len());
    assert!(with_value * 10 > names.len() * 6, "{with_value} of {}", names.len());
}
