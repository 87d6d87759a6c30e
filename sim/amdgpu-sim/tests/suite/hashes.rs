//! Hashes and generators against published test vectors; searching; a hash table.

use std::collections::BTreeMap;
use std::sync::Arc;

use amdgpu_sim::{Gpu, Module};

use crate::common::{Args, Random, launch_1d, upload, zeros};
use crate::levels::{Level, topic};

topic!("hashes", check);

/// Runs a kernel that hashes the first 0, 1, 2, ... bytes of a text, and gives back the hashes, `words` words each.
fn prefixes(gpu: &Gpu, module: &Module, kernel: &str, text: &[u8], words: usize) -> Vec<Vec<u32>> {
    let count = text.len() + 1;
    let padded = [text, &[0]].concat();
    let (a, out) = (upload(gpu, &padded), zeros::<u32>(gpu, words * count));
    let args = Args::default().pointer(&a).pointer(&out).value(count as u32);
    launch_1d(gpu, module, kernel, count.div_ceil(64) as u32, 64, &args);
    out.get().chunks_exact(words).map(<[u32]>::to_vec).collect()
}

fn hex(words: &[u32]) -> String {
    words.iter().map(|w| format!("{w:08x}")).collect()
}

fn check(level: Level, gpu: &Gpu, module: &Arc<Module>) {
    // FIPS 180-2, appendix B.
    let long = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    let sha = |text: &[u8]| prefixes(gpu, module, "sha256", text, 8).iter().map(|h| hex(h)).collect::<Vec<_>>();
    let (abc, long) = (sha(b"abc"), sha(long));
    assert_eq!(abc[0], "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "{level}");
    assert_eq!(abc[3], "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "{level}");
    assert_eq!(long[56], "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1", "{level}");
    assert_eq!(long[3], abc[3], "{level}: the same text");

    // RFC 1321, appendix A.5. Its digests are bytes, the words' low ones first.
    let vectors: [(&str, &str); 5] = [
        ("a", "0cc175b9c0f1b6a831c399e269772661"),
        ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
        ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"),
        (
            "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
            "57edf4a22be3c955ac49da2e2107b67a",
        ),
    ];
    for (text, expected) in vectors {
        let digests = prefixes(gpu, module, "md5", text.as_bytes(), 4);
        let digest = |words: &[u32]| hex(&words.iter().map(|w| w.swap_bytes()).collect::<Vec<_>>());
        assert_eq!(digest(&digests[text.len()]), expected, "{level}: {text}");
        assert_eq!(digest(&digests[0]), "d41d8cd98f00b204e9800998ecf8427e", "{level}: the empty text");
    }

    // The check value of the catalogue of CRC algorithms.
    assert_eq!(prefixes(gpu, module, "crc32", b"123456789", 1)[9], [0xcbf4_3926], "{level}");
    philox(level, gpu, module);
    search(level, gpu, module);
    table(level, gpu, module);
}

/// The known answers of the paper's own library, Random123.
fn philox(level: Level, gpu: &Gpu, module: &Module) {
    let counters = [[0; 4], [u32::MAX; 4], [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344]];
    let keys = [[0; 2], [u32::MAX; 2], [0xa409_3822, 0x299f_31d0]];
    let expected = [
        [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8],
        [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd],
        [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
    ];
    let (c, k, out) = (upload(gpu, counters.as_flattened()), upload(gpu, keys.as_flattened()), zeros::<u32>(gpu, 12));
    launch_1d(gpu, module, "philox", 1, 64, &Args::default().pointer(&c).pointer(&k).pointer(&out).value(3_u32));
    assert_eq!(out.get(), expected.as_flattened(), "{level}");
}

fn search(level: Level, gpu: &Gpu, module: &Module) {
    let mut random = Random(121);
    let text: Vec<u8> = (0..5000).map(|_| b'a' + (random.next() % 3) as u8).collect();
    for word in ["abc", "b", "ccabac", "cab"] {
        let expected: Vec<u32> =
            (0..text.len() as u32).filter(|i| text[*i as usize..].starts_with(word.as_bytes())).collect();
        let (t, w) = (upload(gpu, &text), upload(gpu, word.as_bytes()));
        let (places, count) = (zeros::<u32>(gpu, text.len()), zeros::<u32>(gpu, 1));
        let args = Args::default().pointer(&t).value(text.len() as u32).pointer(&w).value(word.len() as u32);
        launch_1d(gpu, module, "search", 40, 128, &args.pointer(&places).pointer(&count));
        let mut found = places.get()[..count.get()[0] as usize].to_vec();
        found.sort_unstable();
        assert_eq!(found, expected, "{level}: {word}");
    }
}

fn table(level: Level, gpu: &Gpu, module: &Module) {
    let mut random = Random(122);
    let input: Vec<u32> = (0..1500).map(|_| (random.next() % 900) as u32 * 12345).collect();
    let (a, keys, values) = (upload(gpu, &input), upload(gpu, &[u32::MAX; 1024]), zeros::<u32>(gpu, 1024));
    let args = Args::default().pointer(&a).pointer(&keys).pointer(&values).value(1023_u32).value(input.len() as u32);
    launch_1d(gpu, module, "insert", 12, 128, &args);
    let mut expected = BTreeMap::new();
    input.iter().enumerate().for_each(|(i, key)| *expected.entry(*key).or_default() += i as u32 + 1);
    let found = keys.get().into_iter().zip(values.get()).filter(|(key, _)| *key != u32::MAX);
    assert_eq!(found.collect::<BTreeMap<_, _>>(), expected, "{level}");
}
