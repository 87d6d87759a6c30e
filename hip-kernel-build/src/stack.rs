//! Determines which kernels need a stack whose size the compiler does not know, and the sizes that they state.

/// The symbol of a kernel's stated stack: a `u32` that `#[kernel(stack(..))]` writes.
const STATED: &str = "hip_kernel_stack.";
/// The suffix of a kernel's descriptor.
const DESCRIPTOR: &str = ".kd";
/// Offset in the descriptor of the stack size that the compiler knows of, in bytes.
const PRIVATE: usize = 4;
/// Offset in the descriptor of the code's properties, and the bit for a dynamic stack.
const PROPERTIES: usize = 56;
const USES_DYNAMIC_STACK: u16 = 1 << 11;
/// The section in which LLVM lists the frames of functions.
const FRAMES: &str = ".stack_sizes";

/// Returns the kernels that make calls the compiler cannot follow (recursion, `dyn`, pointers to functions) and do not
/// state a stack, sorted.
///
/// `None` if the bytes are not an ELF file with symbols.
pub(crate) fn unstated(code: &[u8]) -> Option<Vec<String>> {
    let symbols = symbols(code)?;
    let stated: Vec<&str> = symbols.iter().filter_map(|symbol| symbol.name.strip_prefix(STATED)).collect();
    let mut found = Vec::new();
    for symbol in &symbols {
        let Some(kernel) = symbol.name.strip_suffix(DESCRIPTOR) else { continue };
        let is_dynamic = number::<2>(symbol.bytes, PROPERTIES)? & usize::from(USES_DYNAMIC_STACK) != 0;
        if is_dynamic && !stated.contains(&kernel) {
            found.push(kernel.to_owned());
        }
    }
    found.sort();
    Some(found)
}

/// Returns whether a kernel has a dynamic stack: then functions check the stack.
///
/// `None` if the bytes are not an ELF file with symbols.
pub(crate) fn is_dynamic(code: &[u8]) -> Option<bool> {
    let symbols = symbols(code)?;
    let mut kernels = symbols.iter().filter(|symbol| symbol.name.ends_with(DESCRIPTOR));
    kernels.try_fold(false, |any, kernel| {
        Some(any || number::<2>(kernel.bytes, PROPERTIES)? & usize::from(USES_DYNAMIC_STACK) != 0)
    })
}

/// Returns the maximum stack size of the functions that LLVM lists, and of each kernel with all functions that it calls
/// by name. A function that is called through a pointer has written to no more than that before it checks the stack.
pub(crate) fn largest_function(code: &[u8]) -> Option<u32> {
    let symbols = symbols(code)?;
    let kernels = symbols.iter().filter(|symbol| symbol.name.ends_with(DESCRIPTOR));
    let of_kernels = kernels.filter_map(|kernel| number::<4>(kernel.bytes, PRIVATE)).max().unwrap_or(0);
    let frames = sections(code)?.into_iter().filter(|section| section.name == FRAMES);
    let mut largest = u64::try_from(of_kernels).ok()?;
    for section in frames {
        largest = largest.max(largest_frame(section.bytes)?);
    }
    Some(u32::try_from(largest).unwrap_or(u32::MAX / 2))
}

/// Returns the largest number in a list of addresses of eight bytes, each followed by a number in LEB128.
fn largest_frame(mut list: &[u8]) -> Option<u64> {
    let mut largest = 0;
    while !list.is_empty() {
        list = list.get(8..)?;
        let len = list.iter().position(|byte| byte & 0x80 == 0)? + 1;
        let (digits, rest) = list.split_at(len);
        let add = |number: u64, digit: &u8| Some(number.checked_mul(128)? + u64::from(digit & 0x7f));
        largest = largest.max(digits.iter().rev().try_fold(0, add)?);
        list = rest;
    }
    Some(largest)
}

/// A kernel that states less stack than one function call needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TooSmall {
    pub(crate) kernel: String,
    pub(crate) stated: u32,
    pub(crate) needed: u32,
}

/// Returns the kernels with a dynamic stack whose stated stack is too small for themselves and `margin` bytes, sorted.
/// A kernel checks nothing before its first call, and the called function checks only after its own frame is allocated.
pub(crate) fn too_small(code: &[u8], margin: u32) -> Option<Vec<TooSmall>> {
    let symbols = symbols(code)?;
    let mut found = Vec::new();
    for symbol in &symbols {
        let Some(kernel) = symbol.name.strip_prefix(STATED) else { continue };
        let descriptor = symbols.iter().find(|symbol| symbol.name.strip_suffix(DESCRIPTOR) == Some(kernel))?;
        let is_dynamic = number::<2>(descriptor.bytes, PROPERTIES)? & usize::from(USES_DYNAMIC_STACK) != 0;
        let (stated, own) = (number::<4>(symbol.bytes, 0)?, number::<4>(descriptor.bytes, PRIVATE)?);
        let needed = own.saturating_add(margin as usize);
        if is_dynamic && stated < needed {
            let [stated, needed] = [stated, needed].map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
            found.push(TooSmall { kernel: kernel.to_owned(), stated, needed });
        }
    }
    found.sort_by(|a, b| a.kernel.cmp(&b.kernel));
    Some(found)
}

/// A symbol of the file, and the bytes of its section from its address on.
struct Symbol<'a> {
    name: &'a str,
    bytes: &'a [u8],
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<usize> {
    let mut wide = [0; 8];
    wide[..N].copy_from_slice(bytes.get(at..at.checked_add(N)?)?);
    usize::try_from(u64::from_le_bytes(wide)).ok()
}

/// A section: name, type, address, bytes, and the section that it refers to.
struct Section<'a> {
    name: &'a str,
    kind: usize,
    address: usize,
    bytes: &'a [u8],
    link: usize,
}

/// Returns the string at `at` in a table of names.
fn name(names: &[u8], at: usize) -> Option<&str> {
    std::str::from_utf8(names.get(at..)?.split(|byte| *byte == 0).next()?).ok()
}

/// Returns the sections of a 64-bit little-endian ELF file.
fn sections(code: &[u8]) -> Option<Vec<Section<'_>>> {
    const NOBITS: usize = 8;
    if !code.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (table, size, count) = (number::<8>(code, 40)?, number::<2>(code, 58)?, number::<2>(code, 60)?);
    let mut sections = Vec::new();
    let mut at = Vec::new();
    for index in 0..count {
        let header = code.get(table.checked_add(index * size)?..)?;
        let kind = number::<4>(header, 4)?;
        let (offset, len) = (number::<8>(header, 24)?, number::<8>(header, 32)?);
        let bytes = if kind == NOBITS { &[][..] } else { code.get(offset..offset.checked_add(len)?)? };
        sections.push(Section {
            name: "",
            kind,
            address: number::<8>(header, 16)?,
            bytes,
            link: number::<4>(header, 40)?,
        });
        at.push(number::<4>(header, 0)?);
    }
    // The header names the section with the sections' names.
    let names = sections.get(number::<2>(code, 62)?)?.bytes;
    for (section, at) in sections.iter_mut().zip(at) {
        section.name = name(names, at)?;
    }
    Some(sections)
}

/// Returns the dynamic symbols: kernels are exported.
fn symbols(code: &[u8]) -> Option<Vec<Symbol<'_>>> {
    const DYNSYM: usize = 11;
    let sections = sections(code)?;
    let dynamic = sections.iter().find(|section| section.kind == DYNSYM)?;
    let names = sections.get(dynamic.link)?.bytes;
    let mut symbols = Vec::new();
    for symbol in dynamic.bytes.chunks_exact(24) {
        let name = name(names, number::<4>(symbol, 0)?)?;
        let Some(section) = sections.get(number::<2>(symbol, 6)?) else { continue };
        let bytes = number::<8>(symbol, 8)?.checked_sub(section.address).and_then(|at| section.bytes.get(at..));
        symbols.push(Symbol { name, bytes: bytes.unwrap_or_default() });
    }
    Some(symbols)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read() {
        let mut list = vec![0x10; 8];
        list.extend([0x00]);
        list.extend([0x20; 8]);
        // 100,000 = 3 * 2^15 + 13 * 2^7 + 32
        list.extend([0xa0, 0x8d, 0x06]);
        list.extend([0x80; 8]);
        list.extend([0x7f]);
        assert_eq!(largest_frame(&list), Some(100_000));
        assert_eq!(largest_frame(&[]), Some(0));
        for len in [1, 8, 10, 17, 18, 19, 21, 28] {
            assert_eq!(largest_frame(&list[..len]), None, "{len}");
        }
        assert_eq!(largest_frame(&[&[0; 8][..], &[0xff; 20], &[1]].concat()), None);
    }

    #[test]
    fn damaged_files_are_refused() {
        assert_eq!(unstated(b"no ELF file"), None);
        let mut code = vec![0; 64];
        code[..6].copy_from_slice(b"\x7fELF\x02\x01");
        assert_eq!(unstated(&code), None);
        // Section headers beyond the end of the file.
        code[40..48].copy_from_slice(&u64::MAX.to_le_bytes());
        code[58..62].copy_from_slice(&[64, 0, 1, 0]);
        assert_eq!(unstated(&code), None);
    }
}
