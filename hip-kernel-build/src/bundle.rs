//! The file for all architectures: clang's offload bundle, as `hiprtc`'s `BundleWriter` writes it. Implemented here
//! again, so that a build script need not wait for `hip`.

const MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
const ALIGN: usize = 4096;

/// Returns the bytes of a bundle.
pub(crate) fn bundle(code: &[(String, Vec<u8>)]) -> Vec<u8> {
    let host = ("host-x86_64-unknown-linux-gnu-".to_owned(), &[][..]);
    let device = code.iter().map(|(arch, code)| (format!("hipv4-amdgcn-amd-amdhsa--{arch}"), &code[..]));
    let entries: Vec<_> = std::iter::once(host).chain(device).collect();
    let table: usize = entries.iter().map(|(id, _)| 24 + id.len()).sum();
    let mut bytes = MAGIC.to_vec();
    bytes.extend((entries.len() as u64).to_le_bytes());
    let mut offset = (MAGIC.len() + 8 + table).next_multiple_of(ALIGN);
    for (id, code) in &entries {
        [offset, code.len(), id.len()].iter().for_each(|number| bytes.extend((*number as u64).to_le_bytes()));
        bytes.extend(id.bytes());
        offset = (offset + code.len()).next_multiple_of(ALIGN);
    }
    for (_, code) in entries.iter().filter(|(_, code)| !code.is_empty()) {
        bytes.resize(bytes.len().next_multiple_of(ALIGN), 0);
        bytes.extend_from_slice(code);
    }
    bytes
}

/// Returns the architectures that a bundle has code for; `None` if the bytes are not a bundle.
pub(crate) fn architectures(bytes: &[u8]) -> Option<Vec<String>> {
    fn number(rest: &mut &[u8]) -> Option<usize> {
        let (head, tail) = rest.split_first_chunk::<8>()?;
        *rest = tail;
        usize::try_from(u64::from_le_bytes(*head)).ok()
    }
    let mut rest = bytes.strip_prefix(MAGIC)?;
    let count = number(&mut rest)?;
    let mut found = Vec::new();
    for _ in 0..count.min(4096) {
        let (_, _, len) = (number(&mut rest)?, number(&mut rest)?, number(&mut rest)?);
        let (id, tail) = rest.split_at_checked(len)?;
        rest = tail;
        if let Some((_, arch)) = std::str::from_utf8(id).ok()?.rsplit_once("--") {
            found.push(arch.to_owned());
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_hiprtc_writes_and_reads() {
        let code = [("gfx90a".to_owned(), vec![1; 5000]), ("gfx1100".to_owned(), vec![2; 3])];
        let bytes = bundle(&code);
        let mut writer = hiprtc::BundleWriter::new();
        for (arch, code) in &code {
            writer = writer.add(arch.parse().unwrap(), code);
        }
        assert_eq!(bytes, writer.to_bytes());
        assert_eq!(architectures(&bytes).unwrap(), ["gfx90a", "gfx1100"]);
        for len in 0..200 {
            let _ = architectures(&bytes[..len]);
        }
        assert_eq!(architectures(b"\x7fELF"), None);
    }
}
