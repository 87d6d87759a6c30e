//! Compares the layout of the bindings with C's headers: sizes, alignments, offsets of every field, and every constant,
//! at every level with headers.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::coverage::Bindings;
use crate::inputs::{Kind, changed};
use crate::trees::{skipped, trees};

pub use crate::{bit, field};

/// The facts of one side, one per line.
pub type Lines = Vec<String>;

/// The C program of a level, and its counterpart.
pub struct Proof {
    /// The level.
    pub level: (u32, u32),
    /// A program that prints the facts according to the C compiler.
    pub program: &'static str,
    /// The same facts of the bindings.
    pub lines: fn(&mut Lines),
    /// The fetched tree with the headers.
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

/// The size of the field that the function computes a pointer to. The function is never called.
pub fn size_of_field<T, F>(_: fn(*const T) -> *const F) -> usize {
    size_of::<F>()
}

/// A zeroed struct, on the heap since some are large.
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

/// The bytes of a struct with all bits of a bit field set.
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

/// A line with the nonzero bytes.
pub fn bits(name: &str, bytes: &[u8]) -> String {
    let set = bytes.iter().enumerate().filter(|(_, byte)| **byte != 0);
    format!("bits {name}{}", set.map(|(at, byte)| format!(" {at}:{byte}")).collect::<String>())
}

/// Compiles the C programs against the headers and compares their output with the bindings.
///
/// # Panics
/// Panics if there is a difference, or a program does not compile, with the headers that the bindings were generated
/// from.
pub fn compare(bindings: &Bindings, proofs: &[Proof]) {
    for ((major, minor), _) in &bindings.declared {
        match proofs.iter().find(|proof| proof.level == (*major, *minor)) {
            Some(proof) => match compare_level(proof, &trees()) {
                Ok(facts) => println!("{facts} facts agree with C's headers of ROCm {major}.{minor}"),
                Err(Unlike::NotThere(why)) => skipped(why),
                Err(Unlike::Wrong(why)) => match changed(Kind::Headers, bindings.name, proof.level) {
                    Some(changed) => skipped(changed),
                    None => panic!("{why}"),
                },
            },
            None => println!("{} of ROCm {major}.{minor} has no headers at hand", bindings.name),
        }
    }
}

/// Why the facts of a level are not confirmed.
#[derive(Debug)]
enum Unlike {
    /// There is nothing to compare with.
    NotThere(String),
    /// They differ, or the program does not compile.
    Wrong(String),
}

/// Returns whether at least one of the headers that the program includes conditionally exists.
fn has_headers(program: &str, include: &Path) -> bool {
    let mut names = program.lines().filter_map(|line| line.strip_prefix("#if __has_include(<")?.strip_suffix(">)"));
    names.any(|name| include.join(name).is_file())
}

/// The number of facts that agree.
fn compare_level(proof: &Proof, trees: &Path) -> Result<usize, Unlike> {
    let include = trees.join(proof.tree).join(proof.include);
    if !has_headers(proof.program, &include) {
        let command = format!("cargo xtask rocm fetch {} --with bindings", proof.tree);
        return Err(Unlike::NotThere(format!("no headers of the library in {} (`{command}`)", include.display())));
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (source, executable) = (folder.path().join("layout.c"), folder.path().join("layout"));
    std::fs::write(&source, proof.program).expect("a file");
    // Some headers include these although they are C.
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
            return Err(Unlike::NotThere(format!("no C compiler ({}): {error}", compiler.to_string_lossy())));
        }
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    // A tree that was fetched without the headers of this library.
    if !output.status.success() && errors.contains("No such file") && errors.contains("#include") {
        return Err(Unlike::NotThere(format!("not all headers in {}", include.display())));
    }
    if !output.status.success() {
        return Err(Unlike::Wrong(errors.into_owned()));
    }
    let output = Command::new(&executable).output().expect("the C program runs");
    let c: Lines = String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect();
    let mut rust = Lines::new();
    (proof.lines)(&mut rust);

    let mut wrong = String::new();
    for (c, rust) in c.iter().zip(&rust).filter(|(c, rust)| c != rust) {
        let _ = writeln!(wrong, "C:    {c}\nRust: {rust}");
    }
    if c.len() != rust.len() {
        let _ = writeln!(wrong, "{} facts in C, {} in Rust", c.len(), rust.len());
    }
    if wrong.is_empty() {
        return Ok(c.len());
    }
    Err(Unlike::Wrong(format!("the bindings differ from the headers of {}:\n{wrong}", include.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_without_the_headers_of_a_library_is_no_difference() {
        let program = "#include <stdio.h>\n#if __has_include(<rccl/rccl.h>)\n#include <rccl/rccl.h>\n#endif\n\
                       int main(void) { printf(\"constant NCCL %d\\n\", NCCL); return 0; }\n";
        let proof = Proof {
            level: (7, 2),
            program,
            lines: |out| constant(out, "NCCL", 3),
            tree: "7.2",
            include: "usr/include",
            shims: &[],
            cplusplus: false,
        };
        let trees = tempfile::tempdir().unwrap();
        let header = trees.path().join("7.2/usr/include/rccl/rccl.h");
        std::fs::create_dir_all(header.parent().unwrap()).unwrap();
        assert!(matches!(compare_level(&proof, trees.path()), Err(Unlike::NotThere(_))));
        std::fs::write(&header, "#define NCCL 3\n").unwrap();
        assert!(matches!(compare_level(&proof, trees.path()), Ok(1)));
        for text in ["#define NCCL 4\n", "", "#include <hip/hip.h>\n"] {
            std::fs::write(&header, text).unwrap();
            let unlike = compare_level(&proof, trees.path()).unwrap_err();
            assert_eq!(matches!(unlike, Unlike::NotThere(_)), text.starts_with("#include"), "{unlike:?}");
        }
    }
}
