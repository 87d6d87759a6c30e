//! The bindings are laid out as C's headers say: sizes, alignments, offsets of every field, every constant, at every level
//! with headers.

use std::fmt::Write as _;
use std::process::Command;

use crate::{Bindings, skipped, trees};

pub use crate::{bit, field};

/// What one side says, a fact a line.
pub type Lines = Vec<String>;

/// The C program of a level, and its counterpart.
pub struct Proof {
    /// The level.
    pub level: (u32, u32),
    /// Prints the facts as the C compiler sees them.
    pub program: &'static str,
    /// The same facts of the bindings.
    pub lines: fn(&mut Lines),
    /// The fetched tree that has the headers.
    pub tree: &'static str,
    /// The include directory in it.
    pub include: &'static str,
    /// Headers to leave out: they are C++, and the C interface does not need them.
    pub shims: &'static [&'static str],
    /// The headers are C++.
    pub cplusplus: bool,
}

/// Size and alignment of a type.
pub fn type_<T>(out: &mut Lines, name: &str) {
    out.push(format!("type {name} size {} align {}", size_of::<T>(), align_of::<T>()));
}

/// Value of a constant.
pub fn constant(out: &mut Lines, name: &str, value: i64) {
    out.push(format!("constant {name} {value}"));
}

/// Size of the field that a pointer to its struct is turned into a pointer to; nothing is called.
pub fn size_of_field<T, F>(_: fn(*const T) -> *const F) -> usize {
    size_of::<F>()
}

/// A struct of zeros, on the heap: some are large.
pub fn zeros<T>() -> Box<std::mem::MaybeUninit<T>> {
    Box::new(std::mem::MaybeUninit::zeroed())
}

/// Offset and size of a field.
#[macro_export]
macro_rules! field {
    ($out:expr, $type:ident, $c:literal, $($field:tt)+) => {{
        // SAFETY: never called.
        let size = $crate::layout::size_of_field(|place: *const $type| unsafe { &raw const (*place).$($field)+ });
        let offset = std::mem::offset_of!($type, $($field)+);
        $out.push(format!("field {}.{} offset {offset} size {size}", stringify!($type), $c));
    }};
}

/// The bytes of a struct of which a bit field has all bits set.
#[macro_export]
macro_rules! bit {
    ($out:expr, $type:ident, $get:ident, $set:ident) => {{
        let mut place = $crate::layout::zeros::<$type>();
        // SAFETY: all zero is a value of every struct that `cargo xtask bindgen` writes.
        let value = unsafe { &mut *place.as_mut_ptr() };
        value.$set(!0);
        assert_ne!(value.$get(), 0);
        // SAFETY: all bytes of the place were written, as zero and then through the field.
        let bytes = unsafe { std::slice::from_raw_parts(place.as_ptr().cast::<u8>(), size_of::<$type>()) };
        $out.push($crate::layout::bits(concat!(stringify!($type), ".", stringify!($get)), bytes));
    }};
}

/// A line of the bytes that are not zero.
pub fn bits(name: &str, bytes: &[u8]) -> String {
    let set = bytes.iter().enumerate().filter(|(_, byte)| **byte != 0);
    format!("bits {name}{}", set.map(|(at, byte)| format!(" {at}:{byte}")).collect::<String>())
}

/// Compiles the C programs against the headers and compares what they print with the bindings.
///
/// # Panics
/// If there is a difference, or a program does not compile.
pub fn compare(bindings: &Bindings, proofs: &[Proof]) {
    for ((major, minor), _) in &bindings.declared {
        match proofs.iter().find(|proof| proof.level == (*major, *minor)) {
            Some(proof) => compare_level(proof),
            None => println!("{} of ROCm {major}.{minor} has no headers at hand", bindings.name),
        }
    }
}

fn compare_level(proof: &Proof) {
    let level = format!("{}.{}", proof.level.0, proof.level.1);
    let include = trees().join(proof.tree).join(proof.include);
    if !include.is_dir() {
        skipped(format_args!("no headers in {} (`cargo xtask rocm fetch {}`)", include.display(), proof.tree));
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (source, executable) = (folder.path().join("layout.c"), folder.path().join("layout"));
    std::fs::write(&source, proof.program).expect("a file");
    // Some headers include these though they are C.
    for name in ["cstddef", "cstdint"] {
        std::fs::write(folder.path().join(name), format!("#include <{}.h>\n", &name[1..])).expect("a file");
    }
    for name in proof.shims {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, "").expect("a file");
    }
    let (variable, usual, standard) =
        if proof.cplusplus { ("CXX", "c++", "-xc++") } else { ("CC", "cc", "-std=gnu11") };
    let compiler = std::env::var_os(variable).unwrap_or_else(|| usual.into());
    let output = Command::new(&compiler)
        .args([standard, "-w", "-D__HIP_PLATFORM_AMD__", "-I"])
        .arg(folder.path())
        .arg("-I")
        .arg(&include)
        .arg(&source)
        .arg("-o")
        .arg(&executable)
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => {
            skipped(format_args!("no C compiler ({}): {error}", compiler.to_string_lossy()));
            return;
        }
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    // A tree that was fetched without the headers of this library.
    if !output.status.success() && errors.contains("No such file") && errors.contains("#include") {
        skipped(format_args!("not all headers in {}", include.display()));
        return;
    }
    assert!(output.status.success(), "{errors}");
    let output = Command::new(&executable).output().expect("the C program runs");
    let c: Lines = String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect();
    let mut rust = Lines::new();
    (proof.lines)(&mut rust);

    let mut wrong = String::new();
    for (c, rust) in c.iter().zip(&rust).filter(|(c, rust)| c != rust) {
        let _ = writeln!(wrong, "C:    {c}\nRust: {rust}");
    }
    assert!(wrong.is_empty(), "the bindings differ from the headers of {}:\n{wrong}", include.display());
    assert_eq!(c.len(), rust.len());
    println!("{} facts agree with C's headers of ROCm {level}", c.len());
}
