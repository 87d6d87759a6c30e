//! Archives (`ar`): their members and the members' names.

const MAGIC: &[u8] = b"!<arch>\n";
const HEADER: usize = 60;

/// A member of an archive.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Member<'a> {
    pub(super) name: String,
    pub(super) bytes: &'a [u8],
}

/// Returns the members, without the symbol and name tables.
pub(super) fn members(archive: &[u8]) -> Result<Vec<Member<'_>>, String> {
    let mut rest = archive.strip_prefix(MAGIC).ok_or("it does not start with !<arch>")?;
    let (mut members, mut long_names) = (Vec::new(), &b""[..]);
    while !rest.is_empty() {
        let truncated = || format!("it is truncated after {} members", members.len());
        let (header, tail) = rest.split_at_checked(HEADER).ok_or_else(truncated)?;
        if &header[58..] != b"`\n" {
            return Err(format!("the header after {} members is damaged", members.len()));
        }
        let text = |range: std::ops::Range<usize>| std::str::from_utf8(&header[range]).unwrap_or_default().trim_end();
        let size: usize = text(48..58).parse().map_err(|_| "a member's size is not a number")?;
        let (bytes, tail) = tail.split_at_checked(size).ok_or_else(truncated)?;
        // Members begin at even offsets.
        rest = if size % 2 == 1 { tail.get(1..).unwrap_or_default() } else { tail };
        match text(0..16) {
            "/" | "/SYM64/" | "__.SYMDEF" | "__.SYMDEF SORTED" => {}
            "//" => long_names = bytes,
            name => {
                let (name, bytes) = if let Some(length) = name.strip_prefix("#1/") {
                    // BSD's format: the name precedes the content.
                    let length = length.parse().map_err(|_| "a member's name has no length")?;
                    let (name, bytes) = bytes.split_at_checked(length).ok_or("a member's name is too long")?;
                    (String::from_utf8_lossy(name).trim_end_matches('\0').to_owned(), bytes)
                } else if let Some(at) = name.strip_prefix('/').and_then(|at| at.parse::<usize>().ok()) {
                    let name = long_names.get(at..).ok_or("a member's name is not in the table")?;
                    let end = name.iter().position(|byte| *byte == b'\n').unwrap_or(name.len());
                    (String::from_utf8_lossy(&name[..end]).trim_end_matches('/').to_owned(), bytes)
                } else {
                    (name.trim_end_matches('/').to_owned(), bytes)
                };
                if !name.starts_with("__.SYMDEF") {
                    members.push(Member { name, bytes });
                }
            }
        }
    }
    Ok(members)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Makes an archive as GNU's `ar` writes it.
    pub(in crate::link) fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut names = String::new();
        let mut bodies = Vec::new();
        for (name, bytes) in members {
            let header = if name.len() > 15 {
                let at = names.len();
                names += &format!("{name}/\n");
                format!("/{at}")
            } else {
                format!("{name}/")
            };
            bodies.push((header, *bytes));
        }
        let mut archive = MAGIC.to_vec();
        let table = [("/".to_owned(), &b"\0\0\0\0"[..]), ("//".to_owned(), names.as_bytes())];
        for (name, bytes) in table.iter().map(|(name, bytes)| (name, *bytes)).chain(bodies.iter().map(|(n, b)| (n, *b)))
        {
            archive.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, bytes.len()).into_bytes());
            archive.extend(bytes);
            if bytes.len() % 2 == 1 {
                archive.push(b'\n');
            }
        }
        archive
    }

    #[test]
    fn members_have_their_names_and_bytes() {
        let bytes = archive(&[("a.bc", b"one"), ("a name that is longer.bc", b"two!"), ("c.o", b"")]);
        let found = members(&bytes).unwrap();
        let found: Vec<_> = found.iter().map(|member| (member.name.as_str(), member.bytes)).collect();
        assert_eq!(found, [("a.bc", &b"one"[..]), ("a name that is longer.bc", b"two!"), ("c.o", b"")]);
        let mut bsd = MAGIC.to_vec();
        bsd.extend(format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "#1/8", 0, 0, 0, 644, 11).into_bytes());
        bsd.extend(b"name.bc\0abc");
        assert_eq!(members(&bsd).unwrap(), [Member { name: "name.bc".into(), bytes: b"abc" }]);
        assert_eq!(members(MAGIC).unwrap(), []);
    }

    #[test]
    fn damaged_archives_are_errors() {
        let good = archive(&[("a.bc", b"one"), ("a name that is longer.bc", b"two!")]);
        assert!(members(b"").is_err() && members(b"!<thin>\n").is_err());
        let whole = members(&good).unwrap();
        for length in 0..good.len() {
            // Truncated between two members, it is a shorter archive.
            assert!(members(&good[..length]).map_or(true, |found| found.len() < whole.len()), "{length}");
        }
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0xff;
            let _ = members(&bad);
        }
    }
}
