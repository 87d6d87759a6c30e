//! Kernels of the tests. The same file is compiled for the host, where its functions give the expected values.

use hip_kernel::prelude::*;

pub mod algorithms;
pub mod device;
pub mod language;
pub mod names;
pub mod panics;

/// A kernel for each function of one number: element `i` of the output is the function of element `i` of the input.
macro_rules! elementwise {
    ($($name:ident $(($option:ident = $value:literal))?: $about:literal)*) => {
        $(
            #[kernel($($option($value))?)]
            pub fn $name(x: &[u32], mut y: DisjointSlice<u32>) {
                if let Some((i, y)) = y.mine() {
                    *y = language::$name(x[i]);
                }
            }
        )*

        /// The functions, with what they show.
        #[cfg(not(target_arch = "amdgpu"))]
        pub const LANGUAGE: &[(&str, &str, fn(u32) -> u32)] = &[$((stringify!($name), $about, language::$name)),*];
    };
}

elementwise! {
    structs: "structures, nested, with methods"
    tuples: "tuples and destructuring"
    arrays: "arrays, of arrays too, on the stack"
    enums: "enumerations with fields, `match`"
    options: "`Option`, `Result` and `?`"
    patterns: "ranges, guards, bindings, slices in patterns"
    closures: "closures that capture, by reference and by value"
    higher_order: "functions that take and return functions"
    function_pointers(stack = 4096): "calls through pointers"
    traits: "traits, default methods, associated constants and types"
    trait_objects(stack = 4096): "`dyn Trait`, chosen at run time"
    generics: "generic functions and types"
    const_generics: "constants as parameters of types"
    operators: "operators of own types"
    iterators: "`map`, `filter`, `zip`, `fold`, `rev`, `step_by`, `take_while`"
    own_iterators: "own iterators"
    slices: "parts of slices, `chunks`, `windows`, `split_at`, `copy_from_slice`"
    sorting: "`sort_unstable` and `binary_search`"
    strings: "text and characters"
    constants: "constants, statics and tables"
    const_functions: "functions that are run by the compiler"
    modules: "modules, visibility, `use`"
    macros: "macros by example"
    loops: "labels, `break` with a value, `while let`"
    recursion(stack = 8192): "functions that call themselves"
    calls: "functions that are not inlined"
    drops: "`Drop` at the end of a scope"
    swaps: "`mem::swap`, `replace`, `take`"
    references: "references with lifetimes"
    integers: "wrapping, checked, saturating and overflowing arithmetic, bits"
    wide_integers: "64 and 128 bits, division"
    small_integers: "8 and 16 bits, signed and unsigned"
    conversions: "`as`, `From`, `TryFrom`, bits of floats"
    comparisons: "`Ord`, `clamp`, `derive(PartialOrd)`"
    floats: "arithmetic of floats"
    unions: "unions and `transmute`"
    cells: "`Cell` and `RefCell`"
    hashing: "`Hash` and own hashers"
}
