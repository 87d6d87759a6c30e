//! Devel archives that are damaged, or made to write elsewhere: each is an error, and nothing changes at all.
#![cfg(all(feature = "devel", target_os = "linux"))]

mod wheels;

use std::fs;
use std::path::{Component, Path, PathBuf};

use rocm_sdk::devel::Error;
use tar::EntryType;
use wheels::{Archive, PACKAGE, Site, compress, header, left_over};

/// Neither archive is expanded: the error contains `why`, and all files are unchanged.
#[track_caller]
fn refused(what: &str, tar: &[u8], why: &str) {
    for xz in [false, true] {
        let site = Site::new();
        site.devel(tar, xz);
        check(&site, what, why);
    }
}

#[track_caller]
fn check(site: &Site, what: &str, why: &str) {
    let before = site.snapshot();
    let error = site.expand().expect_err(what);
    let right = match &error {
        Error::Refused { .. } | Error::Damaged { .. } => error.to_string().contains(why),
        _ => false,
    };
    assert!(right, "{what}: {error}");
    let text = error.to_string();
    assert!(text.len() < 1500 && !text.contains(|c: char| c.is_control()), "{what}: {text}");
    assert!(site.snapshot() == before, "{what}: something changed");
}

fn start() -> Archive {
    Archive::default().file("__init__.py", "").file("include/a.h", "a")
}

fn entry(name: &[u8]) -> Vec<u8> {
    start().raw(name, EntryType::Regular, b"", b"evil").bytes()
}

#[test]
fn names_that_lead_out() {
    let absolute = format!("{}/evil", std::env::temp_dir().display());
    for (name, why) in [
        ("../evil", "`..`"),
        ("../../../../../../../../../../../../tmp/evil", "`..`"),
        ("_rocm_sdk_devel/../evil", "`..`"),
        ("_rocm_sdk_devel/lib/../../pip/__init__.py", "`..`"),
        ("_rocm_sdk_devel/..", "`..`"),
        ("./../evil", "`..`"),
        (absolute.as_str(), "absolute"),
        ("//evil", "absolute"),
        ("/_rocm_sdk_devel/evil", "absolute"),
        ("evil", "not below"),
        ("pip/__init__.py", "not below"),
        ("pip/evil.pth", "not below"),
        ("evil.pth", "not below"),
        ("_rocm_sdk_core/lib/libamdhip64.so.7", "not below"),
        ("rocm_sdk_devel/__init__.py", "not below"),
        ("_rocm_sdk_devel2/evil", "not below"),
        ("_rocm_sdk_devel", "must be a directory"),
        (".", "empty"),
    ] {
        refused(name, &entry(name.as_bytes()), why);
        assert!(!Path::new(&absolute).exists());
    }
    // Also as the first entry, before the package's name is known.
    for name in ["../_rocm_sdk_devel/x", "/tmp/_rocm_sdk_devel/x", "pip/x", "rocm_sdk_devel/x", "_rocm_sdk_core/x"] {
        let first = Archive::default().raw(name.as_bytes(), EntryType::Regular, b"", b"evil");
        refused(name, &first.bytes(), "rejected");
    }
}

#[test]
fn names_that_no_package_has() {
    for (name, why) in [
        (b"_rocm_sdk_devel/a\nb,,\n../../evil".as_slice(), "control character"),
        (b"_rocm_sdk_devel/a\rb", "control character"),
        (b"_rocm_sdk_devel/a\x1b[2Jb", "control character"),
        (b"_rocm_sdk_devel/a\x7fb", "control character"),
        (b"_rocm_sdk_devel/\xff\xfe", "UTF-8"),
        (b"_rocm_sdk_devel/\xc0\xae\xc0\xae/x", "UTF-8"),
        ("_rocm_sdk_devel/\u{85}".as_bytes(), "control character"),
    ] {
        refused(&name.escape_ascii().to_string(), &entry(name), why);
    }
    // The old header ends a name at NUL, pax and GNU's long names do not.
    let long = [b"_rocm_sdk_devel/a\0".as_slice(), &[b'x'; 120]].concat();
    refused("NUL in a long name", &entry(&long), "control character");
    let pax = start().pax(&[("path", b"_rocm_sdk_devel/a\0b")]).file("harmless", "evil");
    refused("NUL in a pax name", &pax.bytes(), "control character");
    for (name, what) in [
        (format!("{PACKAGE}/{}", "x".repeat(256)), "a long component"),
        (format!("{PACKAGE}/{}x", "directory/".repeat(500)), "a long path"),
        (format!("{PACKAGE}/{}x", "d/".repeat(100_000)), "a deep path"),
    ] {
        refused(what, &entry(name.as_bytes()), "longer than");
    }
    let longest = format!("{PACKAGE}/{}", "x".repeat(255));
    let site = Site::with(&start().raw(longest.as_bytes(), EntryType::Regular, b"", b"fine"), true);
    site.expand().unwrap();
    assert_eq!(site.read(&longest), "fine");
}

#[test]
fn names_of_pax_headers_count() {
    for (name, why) in [("../evil", "`..`"), ("/tmp/evil", "absolute"), ("pip/__init__.py", "not below")] {
        let archive = start().pax(&[("path", name.as_bytes())]).file("harmless", "evil");
        refused(name, &archive.bytes(), why);
        let archive =
            start().pax(&[("linkpath", format!("../../../{name}").as_bytes())]).link("harmless", "__init__.py");
        refused(name, &archive.bytes(), "it leads");
    }
}

#[test]
fn links_that_lead_out() {
    for (name, target, why) in [
        ("evil", "/etc/passwd", "absolute"),
        ("evil", "//etc/passwd", "absolute"),
        ("evil", "..", "site-packages itself"),
        ("evil", "../", "site-packages itself"),
        ("evil", "../..", "out of site-packages"),
        ("evil", "../../../../../../../etc/passwd", "out of site-packages"),
        ("evil", "../pip", "none of ROCm's"),
        ("evil", "../pip/__init__.py", "none of ROCm's"),
        ("evil", "../rocm_sdk_devel/_devel.tar", "none of ROCm's"),
        ("lib/evil", "../../rocm_sdk/__init__.py", "none of ROCm's"),
        ("evil", "../_rocm_sdk_core/../pip/__init__.py", "goes back up"),
        ("evil", "../_rocm_sdk_core/lib/../../pip/__init__.py", "goes back up"),
        ("evil", "../_rocm_sdk_none/../../x", "goes back up"),
        ("evil", "nothing/../../..", "goes back up"),
        ("evil", "include/a.h/../../..", "is a file"),
        ("evil", "", "without a target"),
        ("evil", "a\nb", "control character"),
        ("bin/amdclang", "/usr/bin/clang", "absolute"),
        ("bin/amdclang", "../../../../bin/sh", "out of site-packages"),
        ("evil", "evil", "circle"),
        ("evil", "./evil/x", "circle"),
        ("evil", "include/../evil", "circle"),
    ] {
        refused(&format!("{name} -> {target}"), &start().link(name, target).bytes(), why);
    }
    let long = "../".repeat(2000);
    refused("a long target", &start().link("evil", &long).bytes(), "longer than");
    let archive = start().raw(b"_rocm_sdk_devel/evil", EntryType::Symlink, b"\xff", b"");
    refused("a target that is no text", &archive.bytes(), "UTF-8");
    let circle = start().link("a", "b").link("b", "c").link("c", "a");
    refused("a circle of three", &circle.bytes(), "circle");
    let mut chain = start();
    for n in 0..50 {
        chain = chain.link(&format!("l{n}"), &format!("l{}", n + 1));
    }
    refused("a chain too long", &chain.link("l50", "include").bytes(), "circle");
}

#[test]
fn links_made_earlier_in_the_archive_lead_nobody() {
    let through = |link: &str, target: &str, then: &str| start().link(link, target).file(then, "evil").bytes();
    for (link, target, then) in [
        ("out", "../pip", "out/__init__.py"),
        ("out", "..", "out/pip/__init__.py"),
        ("out", "include", "out/evil.h"),
        ("a/b", "../..", "a/b/c/evil"),
    ] {
        refused(&format!("{then} through {link} -> {target}"), &through(link, target, then), "a link made");
    }
    // Over a link: the content would be written through it.
    for then in [
        start().link("over", "../pip/__init__.py").file("over", "evil"),
        start().link("over", "include/a.h").link("over", "../pip/__init__.py"),
        start().link("over", "include").directory("over"),
        start().file("over", "x").hard_link("over", "_rocm_sdk_devel/include/a.h"),
        start().link("over", "../pip/__init__.py").hard_link("over", "_rocm_sdk_devel/include/a.h"),
    ] {
        refused("an entry over a link", &then.bytes(), "twice");
    }
    // Step by step: each link is harmless alone.
    let stairs = start().link("a", ".").link("b", "a/..").link("c", "b/..").link("d", "c/etc/passwd");
    refused("stairs", &stairs.bytes(), "it leads");
    let under = start().link("d", "include").link("d/evil", "../../../../etc/passwd");
    refused("a link below a link", &under.bytes(), "a link made");
}

#[test]
fn links_in_the_other_wheels_lead_nobody() {
    let site = Site::with(&start().link("evil", "../_rocm_sdk_core/leak"), false);
    std::os::unix::fs::symlink("../pip/__init__.py", site.path("_rocm_sdk_core/leak")).unwrap();
    check(&site, "a link out of the core wheel", "leads out of");
    let site = Site::with(&start().link("evil", "../_rocm_sdk_core/leak/__init__.py"), false);
    std::os::unix::fs::symlink("../pip", site.path("_rocm_sdk_core/leak")).unwrap();
    check(&site, "a directory link out of the core wheel", "leads out of");
    let site = Site::with(&start().link("evil", "../_rocm_sdk_core/leak"), false);
    std::os::unix::fs::symlink("/dev/null", site.path("_rocm_sdk_core/leak")).unwrap();
    check(&site, "a link to a device", "leads out of");
    let site = Site::with(&start().link("evil", "../_rocm_sdk_core/pipe"), false);
    let path = std::ffi::CString::new(site.path("_rocm_sdk_core/pipe").to_str().unwrap()).unwrap();
    // SAFETY: the path is NUL-terminated.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
    let error = site.expand().unwrap_err();
    assert!(error.to_string().contains("neither a file nor a directory"), "{error}");
    assert_eq!(left_over(&site), [""; 0]);
}

#[test]
fn hard_links_that_lead_out() {
    for target in [
        "/etc/passwd",
        "../pip/__init__.py",
        "pip/__init__.py",
        "_rocm_sdk_core/lib/libamdhip64.so.7",
        "_rocm_sdk_devel/../pip/__init__.py",
        "_rocm_sdk_devel/none",
        "_rocm_sdk_devel/evil",
        "_rocm_sdk_devel/include",
        "_rocm_sdk_devel",
        "",
    ] {
        refused(&format!("hard link to {target}"), &start().hard_link("evil", target).bytes(), "rejected");
    }
    let through = start().link("l", "../pip/__init__.py").hard_link("evil", "_rocm_sdk_devel/l");
    refused("hard link to a link", &through.bytes(), "which is not a file");
    let site = Site::with(&start().hard_link("b.h", "_rocm_sdk_devel/include/a.h"), true);
    assert_eq!(site.expand().unwrap().hard_links, 1);
    assert!(site.same("_rocm_sdk_devel/b.h", "_rocm_sdk_devel/include/a.h"));
}

#[test]
fn what_no_package_holds() {
    for (kind, why) in [
        (EntryType::Char, "a device"),
        (EntryType::Block, "a device"),
        (EntryType::Fifo, "a pipe"),
        (EntryType::new(b'V'), "unknown type"),
        (EntryType::new(b'D'), "unknown type"),
        (EntryType::new(0xff), "unknown type"),
    ] {
        let archive = start().raw(b"_rocm_sdk_devel/evil", kind, b"", b"");
        refused(&format!("{kind:?}"), &archive.bytes(), why);
    }
    let mut sparse = start();
    let mut of_a_gigabyte = header(b"_rocm_sdk_devel/evil", EntryType::GNUSparse, b"", 0);
    of_a_gigabyte.as_gnu_mut().unwrap().set_real_size(1 << 30);
    of_a_gigabyte.as_gnu_mut().unwrap().sparse[0].offset.copy_from_slice(b"10000000000\0");
    of_a_gigabyte.as_gnu_mut().unwrap().sparse[0].numbytes.copy_from_slice(b"00000000000\0");
    of_a_gigabyte.set_cksum();
    sparse.push(&of_a_gigabyte, b"");
    refused("a sparse file", &sparse.bytes(), "sparse");
    for kind in [EntryType::Symlink, EntryType::Directory, EntryType::Link] {
        let archive = start().raw(b"_rocm_sdk_devel/evil", kind, b"_rocm_sdk_devel/include/a.h", b"content");
        refused("content where none can be", &archive.bytes(), "not a file");
    }
}

#[test]
fn entries_that_are_there_twice() {
    for archive in [
        start().file("include/a.h", "other"),
        start().directory("include/a.h"),
        start().file("include", "x"),
        start().link("include", "lib"),
        start().hard_link("include/a.h", "_rocm_sdk_devel/__init__.py"),
        start().raw(b"_rocm_sdk_devel//include/./a.h", EntryType::Regular, b"", b"x"),
    ] {
        refused("twice", &archive.bytes(), "twice");
    }
    refused("below a file", &start().file("include/a.h/b", "x").bytes(), "is a file");
    let site = Site::with(&start().directory("include").directory("include/").directory(""), false);
    assert_eq!(site.expand().unwrap().files, 2);
}

#[test]
fn archives_that_are_cut_short() {
    let whole = Archive::good();
    let (entries, tar) = (whole.entries().len(), whole.bytes());
    // At every block, and next to it: an archive truncated between two entries lacks its end, too.
    let cuts = (0..entries).step_by(512).flat_map(|at| [at, at + 1, at + 511]).filter(|at| at % 37 < 3 || *at < 20_000);
    for at in cuts.chain([entries - 1, entries]) {
        let site = Site::new();
        site.devel(&tar[..at], false);
        check(&site, &format!("{at} of {}", tar.len()), if at == 0 { "cut short" } else { "" });
    }
    let site = Site::new();
    site.devel(&tar[..entries], false);
    check(&site, "no end", "cut short");
    let xz = compress(&tar);
    for at in (0..xz.len()).step_by(1 + xz.len() / 200).chain(xz.len() - 20..xz.len()) {
        let site = Site::new();
        site.devel(b"", true);
        site.write("rocm_sdk_devel/_devel.tar.xz", &xz[..at]);
        check(&site, &format!("{at} of {} compressed", xz.len()), "");
    }
    let site = Site::new();
    site.devel(b"", true);
    site.write("rocm_sdk_devel/_devel.tar.xz", &xz[..xz.len() / 2]);
    check(&site, "half of it", "cut short");
}

#[test]
fn archives_that_are_something_else() {
    for (what, content) in [
        ("zeros", vec![0; 20_000]),
        ("text", b"<html>404</html>\n".repeat(100)),
        ("a pointer of git lfs", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n".to_vec()),
        ("nothing", Vec::new()),
    ] {
        for name in ["_devel.tar", "_devel.tar.xz"] {
            let site = Site::new();
            site.devel(b"", false);
            fs::remove_file(site.path("rocm_sdk_devel/_devel.tar")).unwrap();
            site.write(&format!("rocm_sdk_devel/{name}"), &content);
            check(&site, what, "");
        }
    }
    let mut after = start().bytes();
    after.extend(entry(b"_rocm_sdk_devel/evil"));
    refused("a second archive behind the first", &after, "follows the end");
    let mut xz = compress(&start().bytes());
    xz.extend(b"trailing");
    let site = Site::new();
    site.devel(b"", true);
    site.write("rocm_sdk_devel/_devel.tar.xz", xz);
    check(&site, "bytes behind the compressed data", "damaged");
}

/// A header may announce any size: it takes neither memory nor time. (Trusting it would take hours.)
#[test]
fn headers_that_announce_gigabytes() {
    let mut zeros = start();
    zeros.push(&header(b"././@LongLink", EntryType::GNULongName, b"", 8 << 30), b"");
    let mut bytes = zeros.entries().to_vec();
    bytes.resize(bytes.len() + (64 << 20), b'x');
    refused("a name of gigabytes", &bytes, "too long");
    for kind in [EntryType::XHeader, EntryType::XGlobalHeader] {
        let mut pax = start();
        pax.push(&header(b"pax", kind, b"", 4 << 30), b"");
        let mut bytes = pax.entries().to_vec();
        bytes.resize(bytes.len() + (4 << 20), b'x');
        refused("a pax header of gigabytes", &bytes, "damaged");
    }
    let mut long = start();
    long.push(&header(b"_rocm_sdk_devel/evil", EntryType::Regular, b"", 1 << 40), b"little");
    refused("a file that is not all there", &long.bytes(), "cut short");
    let huge = start().pax(&[("size", b"18446744073709551615")]).file("evil", "x");
    refused("a size at the end of the numbers", &huge.bytes(), "");
    let mut many = start();
    for _ in 0..40_000 {
        many.push(&header(b"g", EntryType::XGlobalHeader, b"", 0), b"");
    }
    let site = Site::with(&many, false);
    site.expand().unwrap();
}

/// Computes the checksum of xz's headers.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = !0_u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    !crc
}

/// xz's header states the memory for reading: 4 GiB are refused.
#[test]
fn compressed_data_that_wants_gigabytes_of_memory() {
    let mut xz = compress(&start().bytes());
    // After the stream's header of 12 bytes comes the block's: its size in words, flags, LZMA2's number, that one byte follows, the
    // dictionary.
    let size = (usize::from(xz[12]) + 1) * 4;
    let at = 12 + xz[12..].windows(2).position(|pair| pair == [0x21, 1]).unwrap() + 2;
    assert!(at < 12 + size && xz[at] < 40);
    xz[at] = 40;
    let crc = crc32(&xz[12..12 + size - 4]);
    xz[12 + size - 4..12 + size].copy_from_slice(&crc.to_le_bytes());
    let site = Site::new();
    site.devel(b"", true);
    site.write("rocm_sdk_devel/_devel.tar.xz", &xz);
    check(&site, "a dictionary of 4 GiB", "memory");
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

/// Whatever an archive contains: nothing changes outside the tree, no link in it leads out, and an error leaves no
/// tree.
#[track_caller]
fn check_any(site: &Site, what: &str) -> bool {
    let inside = |path: &Path| path.starts_with(site.path(PACKAGE));
    let ours = |path: &Path| {
        inside(path) || path.starts_with(site.path("rocm_sdk_devel")) || path.to_string_lossy().ends_with("/RECORD")
    };
    let before = site.snapshot();
    let result = site.expand();
    let after = site.snapshot();
    if let Err(error) = result {
        assert!(!matches!(error, Error::Io { .. }), "{what}: {error}");
        assert!(before == after, "{what}: something changed");
        return false;
    }
    let others = |all: std::collections::BTreeMap<PathBuf, String>| {
        all.into_iter().filter(|(path, _)| !ours(path)).collect::<Vec<_>>()
    };
    let tree: Vec<_> = after.iter().filter(|(path, _)| inside(path)).map(|(p, w)| (p.clone(), w.clone())).collect();
    assert_eq!(others(before), others(after), "{what}");
    for (path, content) in tree {
        let Some(target) = content.strip_prefix("-> ") else { continue };
        // By the text of the path, and by the kernel's resolution.
        let mut at: Vec<Component<'_>> = path.parent().unwrap().components().collect();
        if !Path::new(target).is_absolute() {
            if let Ok(real) = path.canonicalize() {
                let name = real.strip_prefix(site.path("").canonicalize().unwrap()).expect(what);
                assert!(name.starts_with("_rocm_sdk_core") || name.starts_with(PACKAGE), "{what}: {}", path.display());
                continue;
            }
        }
        for component in Path::new(target).components() {
            match component {
                Component::ParentDir => drop(at.pop()),
                Component::CurDir => {}
                other => at.push(other),
            }
        }
        let end: PathBuf = at.iter().collect();
        assert!(end.starts_with(site.path("")), "{what}: {} -> {target}", path.display());
    }
    true
}

#[test]
fn archives_of_random_entries() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let names = ["a", "b", "c", "d/e", "d", "d/f", "a/b", "a/b/c", "d/e/f", "bin/amdclang"];
    let targets = [
        "a",
        "b",
        "c",
        "d",
        "d/e",
        "..",
        "../..",
        "../d",
        ".",
        "../_rocm_sdk_core",
        "../_rocm_sdk_core/bin/hipcc",
        "../../_rocm_sdk_core/bin/hipcc",
        "../pip/__init__.py",
        "a/..",
        "b/..",
        "a/../b",
        "../_rocm_sdk_devel/a",
        "../../_rocm_sdk_devel/d",
        "d/../..",
        "c/../../pip",
        "none",
        "none/x",
        "a/b",
        "/etc/passwd",
    ];
    let mut whole = 0;
    for round in 0..500 {
        let mut archive = Archive::default().file("__init__.py", "");
        let mut what = format!("round {round}:");
        for _ in 0..=random.below(5) {
            let (name, target) = (random.of(&names), random.of(&targets));
            what += &format!(" {name} {target};");
            archive = match random.below(5) {
                0 => archive.file(name, "content"),
                1 => archive.directory(name),
                2 => archive.hard_link(name, &format!("{PACKAGE}/{}", random.of(&names))),
                _ => archive.link(name, target),
            };
        }
        whole += usize::from(check_any(&Site::with(&archive, false), &what));
    }
    assert!((50..450).contains(&whole), "{whole} archives were fine");
}

/// Random bytes are changed. In tar archives, the header's checksum is corrected, so that it does not hide the damage.
#[test]
fn archives_with_random_damage() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let good = Archive::default()
        .file("__init__.py", "")
        .directory("share")
        .file("include/a.h", "a".repeat(600))
        .link("include/b.h", "a.h")
        .hard_link("include/c.h", "_rocm_sdk_devel/include/a.h")
        .pax(&[("path", b"_rocm_sdk_devel/pax"), ("mtime", b"1.5")])
        .file("short", "x")
        .raw(format!("{PACKAGE}/{}", "long/".repeat(30)).as_bytes(), EntryType::Directory, b"", b"")
        .bytes();
    let blocks = good.len() / 512;
    for round in 0..300 {
        let mut tar = good.clone();
        for _ in 0..=random.below(3) {
            let block = random.below(blocks) * 512;
            tar[block + random.below(345)] = [b'0', b'7', b'/', b'.', 0, 0xff, b'5', b'x'][random.below(8)];
            let sum: u32 = tar[block..block + 512]
                .iter()
                .enumerate()
                .map(|(at, &byte)| if (148..156).contains(&at) { 32 } else { u32::from(byte) })
                .sum();
            let is_header = tar[block + 257..].starts_with(b"ustar");
            if is_header {
                tar[block + 148..block + 156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
            }
        }
        let site = Site::new();
        site.devel(&tar, false);
        check_any(&site, &format!("tar round {round}"));
    }
    let xz = compress(&good);
    for round in 0..300 {
        let mut bytes = xz.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len());
            bytes[at] ^= 1 << random.below(8);
        }
        let site = Site::new();
        site.devel(b"", true);
        site.write("rocm_sdk_devel/_devel.tar.xz", &bytes);
        check_any(&site, &format!("xz round {round}"));
    }
}
