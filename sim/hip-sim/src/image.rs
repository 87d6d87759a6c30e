//! Code that C passes as a bare pointer: finds its length and reads its bytes.
//!
//! `hipModuleLoadData` takes no size. The size follows from the headers of the ELF file or bundle, which may be
//! damaged. So the bytes are read through the kernel where possible (`/proc/self/mem`): a length that exceeds the
//! program's memory is then an error and not a crash.

use std::ffi::c_void;
use std::io::Read as _;

use amdgpu_sim::bundle;

/// The maximum length of an image. A larger one means a damaged header.
const LONGEST: u64 = 4 << 30;
const BUNDLE: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
const COMPRESSED: &[u8] = b"CCOB";
/// `HIPF`: the wrapper that a compiler puts around a program's own bundle.
const WRAPPER: u32 = 0x4849_5046;
const NO_BITS: u32 = 8;

/// Reads the program's memory without trusting addresses.
struct Reader {
    #[cfg(target_os = "linux")]
    file: Option<std::fs::File>,
}

impl Reader {
    fn new() -> Self {
        Self {
            #[cfg(target_os = "linux")]
            file: std::fs::File::open("/proc/self/mem").ok(),
        }
    }

    /// `len` bytes at `address`.
    ///
    /// # Safety
    /// The bytes must be valid for reads on platforms where that cannot be checked.
    unsafe fn read(&self, address: u64, len: u64) -> Result<Vec<u8>, String> {
        let unreadable = || format!("the image's headers lead to {len} bytes at {address:#x}, which cannot be read");
        let count = usize::try_from(len).ok().filter(|_| len <= LONGEST).ok_or_else(unreadable)?;
        address.checked_add(len).ok_or_else(unreadable)?;
        #[cfg(target_os = "linux")]
        if let Some(file) = &self.file {
            use std::os::unix::fs::FileExt;
            // The size may be wrong too, so memory is allocated only as reading succeeds.
            let mut bytes = Vec::new();
            let mut at = address;
            while bytes.len() < count {
                let part = (count - bytes.len()).min(1 << 20);
                let start = bytes.len();
                bytes.resize(start + part, 0);
                file.read_exact_at(&mut bytes[start..], at).map_err(|_| unreadable())?;
                at += part as u64;
            }
            return Ok(bytes);
        }
        let from = std::ptr::with_exposed_provenance::<u8>(address as usize);
        // SAFETY: valid for reads, as the caller vouches.
        Ok(unsafe { std::slice::from_raw_parts(from, count) }.to_vec())
    }
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut number = [0; N];
    if let Some(from) = bytes.get(at..at + N) {
        number.copy_from_slice(from);
    }
    number
}

fn u16_at(bytes: &[u8], at: usize) -> u64 {
    u16::from_le_bytes(number(bytes, at)).into()
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(number(bytes, at))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(number(bytes, at))
}

/// The whole image at `image`.
///
/// # Safety
/// `image` must point to an image: an ELF file, an offload bundle, or the wrapper of one.
pub(crate) unsafe fn read(image: *const c_void) -> Result<Vec<u8>, String> {
    let reader = Reader::new();
    let mut address = image.expose_provenance() as u64;
    // SAFETY: as the caller vouches, here and below: only what the image's own headers describe is read.
    unsafe {
        let mut magic = reader.read(address, 4)?;
        if u32_at(&magic, 0) == WRAPPER {
            address = u64_at(&reader.read(address, 16)?, 8);
            magic = reader.read(address, 4)?;
        }
        if magic == b"\x7fELF" {
            let len = elf_len(&reader, address)?;
            reader.read(address, len)
        } else if magic == COMPRESSED {
            let len = bundle::compressed_len(&reader.read(address, 16)?);
            reader.read(address, len.ok_or("a compressed bundle that does not say its length: load it from a file")?)
        } else if magic == BUNDLE[..4] && reader.read(address, BUNDLE.len() as u64)? == BUNDLE {
            let len = bundle_len(&reader, address)?;
            reader.read(address, len)
        } else {
            Err("the image is neither an ELF file nor an offload bundle".into())
        }
    }
}

/// Reads an image file. Only regular files are accepted: a pipe or a device may never end.
pub(crate) fn read_file(path: &str) -> Result<Vec<u8>, String> {
    let about = |error: std::io::Error| format!("{path}: {error}");
    // Checked before opening: opening a pipe would block until its other end is opened.
    let data = std::fs::metadata(path).map_err(about)?;
    if !data.is_file() {
        return Err(format!("{path} is not a plain file"));
    }
    if data.len() > LONGEST {
        return Err(format!("{path} has {} bytes; code objects have at most {LONGEST}", data.len()));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path).and_then(|file| file.take(LONGEST).read_to_end(&mut bytes)).map_err(about)?;
    Ok(bytes)
}

/// # Safety
/// As for [`read`].
unsafe fn elf_len(reader: &Reader, address: u64) -> Result<u64, String> {
    let damaged = || "the ELF file's header is damaged".to_owned();
    let table = |offset: u64, size: u64, count: u64| {
        let bytes = size.checked_mul(count)?;
        offset.checked_add(bytes).filter(|end| *end <= LONGEST).map(|_| bytes)
    };
    // SAFETY: as the caller vouches.
    let header = unsafe { reader.read(address, 64) }?;
    let (programs, sections) = (u64_at(&header, 32), u64_at(&header, 40));
    let (program_size, program_count) = (u16_at(&header, 54), u16_at(&header, 56));
    let (section_size, section_count) = (u16_at(&header, 58), u16_at(&header, 60));
    let program_bytes = table(programs, program_size, program_count).ok_or_else(damaged)?;
    let section_bytes = table(sections, section_size, section_count).ok_or_else(damaged)?;
    let mut end = 64.max(programs + program_bytes).max(sections + section_bytes);
    // SAFETY: as the caller vouches.
    let table = unsafe { reader.read(address + programs, program_bytes) }?;
    for entry in table.chunks_exact(usize::try_from(program_size).unwrap_or(0).max(40)) {
        end = end.max(u64_at(entry, 8).saturating_add(u64_at(entry, 32)));
    }
    // SAFETY: as the caller vouches.
    let table = unsafe { reader.read(address + sections, section_bytes) }?;
    for entry in table.chunks_exact(usize::try_from(section_size).unwrap_or(0).max(40)) {
        if u32_at(entry, 4) != NO_BITS {
            end = end.max(u64_at(entry, 24).saturating_add(u64_at(entry, 32)));
        }
    }
    if end > LONGEST { Err(damaged()) } else { Ok(end) }
}

/// # Safety
/// As for [`read`].
unsafe fn bundle_len(reader: &Reader, address: u64) -> Result<u64, String> {
    let damaged = || "the bundle's header is damaged".to_owned();
    let mut at = address + BUNDLE.len() as u64;
    // SAFETY: as the caller vouches.
    let count = u64_at(&unsafe { reader.read(at, 8) }?, 0);
    if count > 4096 {
        return Err(damaged());
    }
    at += 8;
    let mut end = 0_u64;
    for _ in 0..count {
        // SAFETY: as the caller vouches.
        let entry = unsafe { reader.read(at, 24) }?;
        end = end.max(u64_at(&entry, 0).saturating_add(u64_at(&entry, 8)));
        at = at.checked_add(24).and_then(|at| at.checked_add(u64_at(&entry, 16))).ok_or_else(damaged)?;
    }
    end = end.max(at.saturating_sub(address));
    if end > LONGEST { Err(damaged()) } else { Ok(end) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_slice(bytes: &[u8]) -> Result<Vec<u8>, String> {
        // SAFETY: the tests pass valid images, or damaged ones whose unreadable addresses are detected.
        unsafe { read(bytes.as_ptr().cast()) }
    }

    #[test]
    fn a_bundle_is_read_to_its_last_entry() {
        let id = b"hipv4-amdgcn-amd-amdhsa--gfx90a";
        let mut bundle = BUNDLE.to_vec();
        bundle.extend(1_u64.to_le_bytes());
        bundle.extend(100_u64.to_le_bytes());
        bundle.extend(5_u64.to_le_bytes());
        bundle.extend((id.len() as u64).to_le_bytes());
        bundle.extend(id);
        bundle.resize(100, 0);
        bundle.extend(b"code!");
        let exact = bundle.clone();
        bundle.extend([9; 50]);
        assert_eq!(read_slice(&bundle).unwrap(), exact);
    }

    #[test]
    fn what_has_no_length_or_is_no_code_is_refused_with_the_reason() {
        assert!(read_slice(b"hello, this is no code").unwrap_err().contains("neither"));
        assert!(read_slice(b"CCOB\x01\0\x01\0        ").unwrap_err().contains("does not say its length"));
    }

    #[test]
    fn a_compressed_bundle_is_read_as_far_as_it_says() {
        let bundle = include_bytes!("../tests/kernels/basic.v3.hipfb");
        let longer = [&bundle[..], &[9; 50]].concat();
        assert_eq!(read_slice(&longer).unwrap(), bundle);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn files_without_an_end_are_refused() {
        for path in ["/dev/zero", "/proc", "/nowhere"] {
            assert!(read_file(path).unwrap_err().starts_with(path));
        }
        assert!(read_file("/proc/self/exe").unwrap().starts_with(b"\x7fELF"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn damaged_headers_are_an_error_not_a_crash() {
        let mut elf = vec![0_u8; 64];
        elf[..4].copy_from_slice(b"\x7fELF");
        elf[40..48].copy_from_slice(&(3_u64 << 30).to_le_bytes());
        elf[58] = 64;
        elf[60] = 200;
        let text = read_slice(&elf).unwrap_err();
        assert!(text.contains("cannot be read"), "{text}");
        elf[40..48].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(read_slice(&elf).unwrap_err().contains("damaged"));
        let compressed = [b"CCOB\x03\0\x01\0".as_slice(), &(3_u64 << 30).to_le_bytes()].concat();
        assert!(read_slice(&compressed).unwrap_err().contains("cannot be read"));
    }
}
