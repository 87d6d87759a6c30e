//! Which kernels need a stack whose size the compiler does not know, and what they state.

/// The symbol of a kernel's stated stack: a `u32` that `#[kernel(stack(..))]` writes.
const STATED: &str = "hip_kernel_stack.";
/// The suffix of a kernel's descriptor.
const DESCRIPTOR: &str = ".kd";
/// Where the descriptor has the bytes of stack that the compiler knows of.
const PRIVATE: usize = 4;
/// Where the descriptor has the code's properties, and the bit for a dynamic stack.
const PROPERTIES: usize = 56;
const USES_DYNAMIC_STACK: u16 = 1 << 11;

/// Kernels that call what the compiler cannot follow (recursion, `dyn`, pointers to functions) and do not state a stack, sorted.
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

/// The margin that checks of the stack need, in bytes, if a kernel has a dynamic stack: more than the frame of any function that kernels
/// call by name, which are in what the compiler knows of their stacks.
pub(crate) fn margin(code: &[u8]) -> Option<u32> {
    let (mut is_dynamic, mut largest) = (false, 0);
    for symbol in symbols(code)?.iter().filter(|symbol| symbol.name.ends_with(DESCRIPTOR)) {
        is_dynamic |= number::<2>(symbol.bytes, PROPERTIES)? & usize::from(USES_DYNAMIC_STACK) != 0;
        largest = largest.max(number::<4>(symbol.bytes, PRIVATE)?);
    }
    is_dynamic.then(|| u32::try_from(largest).unwrap_or(u32::MAX / 2).saturating_add(512))
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

/// A section: type, address, bytes, and the section that it refers to.
struct Section<'a> {
    kind: usize,
    address: usize,
    bytes: &'a [u8],
    link: usize,
}

/// The dynamic symbols of a 64-bit little-endian ELF file: kernels are exported.
fn symbols(code: &[u8]) -> Option<Vec<Symbol<'_>>> {
    const NOBITS: usize = 8;
    const DYNSYM: usize = 11;
    if !code.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (table, size, count) = (number::<8>(code, 40)?, number::<2>(code, 58)?, number::<2>(code, 60)?);
    let mut sections = Vec::new();
    for index in 0..count {
        let header = code.get(table.checked_add(index * size)?..)?;
        let kind = number::<4>(header, 4)?;
        let (offset, len) = (number::<8>(header, 24)?, number::<8>(header, 32)?);
        let bytes = if kind == NOBITS { &[][..] } else { code.get(offset..offset.checked_add(len)?)? };
        sections.push(Section { kind, address: number::<8>(header, 16)?, bytes, link: number::<4>(header, 40)? });
    }
    let dynamic = sections.iter().find(|section| section.kind == DYNSYM)?;
    let names = sections.get(dynamic.link)?.bytes;
    let mut symbols = Vec::new();
    for symbol in dynamic.bytes.chunks_exact(24) {
        let name = names.get(number::<4>(symbol, 0)?..)?;
        let name = std::str::from_utf8(name.split(|byte| *byte == 0).next()?).ok()?;
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
    fn damaged_files_are_refused() {
        assert_eq!(unstated(b"no ELF file"), None);
        let mut code = vec![0; 64];
        code[..6].copy_from_slice(b"\x7fELF\x02\x01");
        assert_eq!(unstated(&code), None);
        // Section headers behind the end.
        code[40..48].copy_from_slice(&u64::MAX.to_le_bytes());
        code[58..62].copy_from_slice(&[64, 0, 1, 0]);
        assert_eq!(unstated(&code), None);
    }
}
