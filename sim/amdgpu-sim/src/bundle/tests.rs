use super::compressed::COMPRESSED_MAGIC;
use super::table::MAGIC;
use super::*;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// Builds a raw bundle with its code objects at multiples of `align`.
fn raw(entries: &[(&str, &[u8])], align: usize) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend((entries.len() as u64).to_le_bytes());
    let table: usize = out.len() + entries.iter().map(|(id, _)| 24 + id.len()).sum::<usize>();
    let mut offset = table.next_multiple_of(align);
    let mut data = vec![0; offset - table];
    for (i, (id, code)) in entries.iter().enumerate() {
        for number in [offset, code.len(), id.len()] {
            out.extend((number as u64).to_le_bytes());
        }
        out.extend(id.as_bytes());
        data.extend(*code);
        let end = offset + code.len();
        offset = end.next_multiple_of(align);
        if i + 1 < entries.len() {
            data.resize(data.len() + offset - end, 0);
        }
    }
    out.extend(data);
    out
}

/// `raw` as a compressed bundle of a version, with zlib (0) or zstd (1).
fn compressed(raw: &[u8], version: u16, method: u16) -> Vec<u8> {
    let data = match method {
        0 => miniz_oxide::deflate::compress_to_vec_zlib(raw, 6),
        _ => compress_to_vec(raw, CompressionLevel::Fastest),
    };
    compressed_with(&data, version, method, raw.len() as u64)
}

fn compressed_with(data: &[u8], version: u16, method: u16, uncompressed: u64) -> Vec<u8> {
    let mut out = COMPRESSED_MAGIC.to_vec();
    out.extend(version.to_le_bytes());
    out.extend(method.to_le_bytes());
    let header = [20, 24, 32][usize::from(version) - 1];
    let sizes = if version == 1 { vec![uncompressed] } else { vec![header + data.len() as u64, uncompressed] };
    for size in sizes {
        let bytes = size.to_le_bytes();
        out.extend(if version == 3 { &bytes[..] } else { &bytes[..4] });
    }
    out.extend([0xab; 8]);
    out.extend(data);
    out
}

/// Every form of the bundle `raw`.
fn forms(raw: &[u8]) -> Vec<Vec<u8>> {
    let versions = (1..=3).flat_map(|version| [0, 1].map(|method| compressed(raw, version, method)));
    std::iter::once(raw.to_vec()).chain(versions).collect()
}

fn target(id: &str) -> TargetId {
    TargetId::parse(id).unwrap()
}

/// Data that compresses, but not completely.
fn code(seed: u32, len: usize) -> Vec<u8> {
    (0..len as u32).map(|i| (i / 7 * (seed | 1)) as u8 ^ (i >> 9) as u8).collect()
}

#[test]
fn every_form_has_the_same_entries() {
    let (a, b) = (code(3, 300_000), code(8, 5000));
    let entries: [(&str, &[u8]); 4] = [
        ("host-x86_64-unknown-linux--", b""),
        ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", &a),
        ("hipv4-amdgcn-amd-amdhsa--gfx942", &b),
        ("openmp-amdgcn-amd-amdhsa--gfx90a", b"not HIP's"),
    ];
    for align in [1, 4096] {
        for bytes in forms(&raw(&entries, align)) {
            let bundle = Bundle::open(&bytes).unwrap();
            assert_eq!(bundle.bytes().len(), bytes.len());
            assert_eq!(bundle.is_compressed(), bytes.starts_with(b"CCOB"));
            assert_eq!(bundle.uncompressed_size() as usize, raw(&entries, align).len());
            for (entry, (id, code)) in bundle.entries().iter().zip(entries) {
                assert_eq!((&*entry.id, &*bundle.code(entry).unwrap()), (id, code));
            }
            // All at once, also in reverse order.
            let mut all = Vec::new();
            bundle.for_each(|_| true, |entry, code| all.push((entry.id.clone(), code.into_owned()))).unwrap();
            assert_eq!(all, entries.map(|(id, code)| (id.to_owned(), code.to_vec())));

            assert_eq!(*pick(&bytes, &target("gfx90a:sramecc+:xnack-")).unwrap(), a);
            assert_eq!(*pick(&bytes, &target("gfx942:sramecc+:xnack+")).unwrap(), b);
            let error = pick(&bytes, &target("gfx90a:sramecc+:xnack+")).unwrap_err().to_string();
            assert!(error.contains("gfx90a:sramecc+:xnack+ ") && error.contains("--gfx942"), "{error}");
        }
    }
}

#[test]
fn the_best_entry_is_picked() {
    let bytes = raw(
        &[
            ("host-x86_64-unknown-linux--", b"host"),
            ("openmp-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", b"of OpenMP"),
            ("hipv4-amdgcn-amd-amdhsa--gfx90a", b"any"),
            ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", b"off"),
            ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", b"on"),
            ("hip-amdgcn-amd-amdhsa-unknown-gfx9-4-generic", b"family"),
            ("hip-amdgcn-amd-amdhsa--gfx942:sramecc-", b"no ecc"),
            ("hip-amdgcn-amd-amdhsa--gfx942:sramecc-", b"again"),
            ("hip-spirv64-amd-amdhsa-unknown-amdgcnspirv", b"SPIR-V"),
        ],
        1,
    );
    for (device, expected) in [
        ("gfx90a:sramecc+:xnack-", "off"),
        ("gfx90a:sramecc-:xnack+", "on"),
        ("gfx942:sramecc-:xnack-", "no ecc"),
        ("gfx942:sramecc+:xnack-", "family"),
    ] {
        assert_eq!(*pick(&bytes, &target(device)).unwrap(), *expected.as_bytes(), "{device}");
    }
    assert!(matches!(pick(&bytes, &target("gfx1100")), Err(LoadError::NoCodeFor { .. })));
    assert_eq!(*pick(b"\x7fELF", &target("gfx1100")).unwrap(), *b"\x7fELF");
}

#[test]
fn bundles_behind_each_other_are_all_found() {
    let id = "hipv4-amdgcn-amd-amdhsa--gfx90a";
    let mut file = Vec::new();
    for form in forms(&raw(&[(id, &code(1, 9000))], 4096)) {
        file.extend(&form);
        // With a linker's alignment, and without padding. Version 1 requires alignment, since it does not state its end.
        if file.len() % 2 == 0 || form.starts_with(b"CCOB\x01") {
            file.resize(file.len().next_multiple_of(4096), 0);
        }
    }
    let all = bundles(&file).unwrap();
    assert_eq!(all.len(), 7);
    let mut found = 0;
    for_each_code_object(
        &file,
        |t| t.processor == "gfx90a",
        |_, data| {
            assert_eq!(*data, code(1, 9000));
            found += 1;
        },
    )
    .unwrap();
    assert_eq!(found, 7);
    for_each_code_object(&file, |t| t.processor == "gfx942", |_, _| panic!("there is none")).unwrap();
    assert!(bundles(b"neither").is_err() && bundles(b"").is_err());
}

#[test]
fn what_follows_a_bundle_is_left_alone() {
    let bytes = raw(&[("hip-amdgcn-amd-amdhsa--gfx90a", b"code")], 1);
    for form in [bytes.clone(), compressed(&bytes, 2, 0), compressed(&bytes, 3, 1)] {
        let longer = [&form[..], b"and more"].concat();
        assert_eq!(Bundle::open(&longer).unwrap().bytes(), form);
        assert_eq!(bundles(&longer).unwrap().len(), 1);
        if form.starts_with(b"CCOB") {
            assert_eq!(compressed_len(&form[..16]), Some(form.len() as u64));
        }
    }
    assert_eq!(compressed_len(&compressed(&bytes, 1, 1)), None);
}

#[test]
fn every_truncation_and_every_flipped_bit_is_an_error_or_a_bundle() {
    let bytes = raw(&[("hip-amdgcn-amd-amdhsa--gfx90a", &code(5, 100)), ("host-x86_64", b"")], 1);
    for form in forms(&bytes) {
        let device = target("gfx90a:sramecc+:xnack-");
        for len in 0..form.len() {
            // Version 1 does not state its length: some bytes of zlib's checksum, or of zstd's last block, may be missing.
            let whole = pick(&form[..len], &device);
            let harmless = !is_bundle(&form[..len]) || form.starts_with(b"CCOB\x01");
            assert!(whole.is_err() || harmless, "{len} of {}", form.len());
        }
        for bit in 0..form.len() * 8 {
            let mut form = form.clone();
            form[bit / 8] ^= 1 << (bit % 8);
            let _ = pick(&form, &device);
            let _ = bundles(&form);
        }
    }
}

fn reason(bytes: &[u8]) -> String {
    Bundle::open(bytes).and_then(|bundle| bundle.for_each(|_| true, |_, _| {})).unwrap_err().to_string()
}

#[test]
fn headers_that_lie_are_found_out() {
    let id = "hip-amdgcn-amd-amdhsa--gfx90a";
    let good = raw(&[(id, &code(5, 100))], 1);
    assert!(reason(b"CCOB\x04\0\x01\0").contains("version 4"));
    assert!(reason(b"CCOB\x03\0\x02\0").contains("method 2"));
    assert!(reason(b"CCOB\x03\0\x01\0").contains("of 8 bytes"));
    // Impossible sizes.
    for size in [33 * 1024, u64::MAX] {
        let mut bytes = compressed(&good, 3, 1);
        bytes[8..16].copy_from_slice(&size.to_le_bytes());
        assert!(reason(&bytes).contains("it says that it has"), "{size}");
    }
    for size in [1 << 40, u64::MAX] {
        assert!(reason(&compressed_with(&[0; 100], 3, 1, size)).contains("100 bytes become"), "{size}");
    }
    // Truncated in the code, and in the table.
    let cut = compressed_with(&compress_to_vec(&good[..100], CompressionLevel::Fastest), 3, 1, good.len() as u64);
    assert!(reason(&cut).contains("it ends after 100 of"), "{}", reason(&cut));
    let cut = compressed_with(&compress_to_vec(&good[..50], CompressionLevel::Fastest), 3, 1, good.len() as u64);
    assert!(reason(&cut).contains("inside its table"), "{}", reason(&cut));
    // The content is not a bundle.
    assert!(reason(&compressed(b"no bundle, but long enough for one", 2, 0)).contains("no bundle in it"));
    assert!(reason(&compressed_with(&[1; 100], 3, 1, 200)).contains("zstd: no frame"));
    assert!(reason(&compressed_with(&[1; 100], 3, 0, 200)).contains("zlib"));
    // Overlapping entries.
    let mut twice = raw(&[(id, &code(5, 100)), (id, b"")], 1);
    let second = 24 + 8 + 24 + id.len();
    let first: Vec<u8> = twice[32..48].to_vec();
    twice[second..second + 16].copy_from_slice(&first);
    assert!(reason(&compressed(&twice, 3, 1)).contains("overlap"));
    // Too many entries, and too long IDs.
    let mut many = good.clone();
    many[24..32].copy_from_slice(&5000_u64.to_le_bytes());
    assert!(reason(&many).contains("5000 entries"));
    let mut long = good.clone();
    long[48..56].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(reason(&long).contains("the id of entry 0 has"));
}

/// A few bytes that state, and would decompress to, more than any code object.
#[test]
fn a_bomb_takes_no_more_memory_than_its_table_says_it_needs() {
    let id = "hip-amdgcn-amd-amdhsa--gfx90a";
    // Blocks of zstd that repeat one byte: 4 bytes become 128 KiB.
    let block = |last: u32| (((128 << 10) << 3) | 1 << 1 | last).to_le_bytes();
    let table = raw(&[(id, &[0; 16])], 1);
    // A frame without a stated size, with a window of 128 KiB; the table as it is.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3];
    frame.extend(&((table.len() as u32) << 3).to_le_bytes()[..3]);
    frame.extend(&table);
    (0..100_u32).for_each(|i| frame.extend(block(u32::from(i == 99))));
    let size = table.len() as u64 + 100 * (128 << 10);
    // The stated ratio is too large.
    assert!(reason(&compressed_with(&frame, 3, 1, size)).contains("become"));
    // With a permitted size, the rest is not read.
    let bytes = compressed_with(&frame, 3, 1, 100_000);
    let bundle = Bundle::open(&bytes).unwrap();
    assert_eq!(*bundle.code(&bundle.entries()[0]).unwrap(), [0; 16]);
}

#[test]
fn windows_that_no_compressor_asks_for_are_refused() {
    let frame = |window: u8| [&[0x28, 0xb5, 0x2f, 0xfd, 0, window][..], &[0; 100]].concat();
    // 128 MiB, and the next larger.
    assert!(!reason(&compressed_with(&frame(17 << 3), 3, 1, 1000)).contains("window"));
    assert!(reason(&compressed_with(&frame(17 << 3 | 1), 3, 1, 1000)).contains("a window of"));
    // One segment of 2^40 bytes.
    let single = [&[0x28, 0xb5, 0x2f, 0xfd, 0xe0][..], &(1_u64 << 40).to_le_bytes(), &[0; 100]].concat();
    assert!(reason(&compressed_with(&single, 3, 1, 1000)).contains("a window of"));
}
