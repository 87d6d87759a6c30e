//! The output of `apt-get --print-uris`: one package per line, `'URI' FILE SIZE HASH`.

use crate::install::error::{Error, Result};

/// A package file in the archive, as apt would fetch it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// Name, such as `libamdhip64-7`.
    pub name: String,
    /// Full version with epoch, such as `1:22.1.8-3`.
    pub version: String,
    /// Name of the file that apt writes, with the epoch's colon escaped.
    pub file: String,
    /// Size of the file in bytes.
    pub size: u64,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
}

impl Package {
    /// Returns `name=version`, the form that apt accepts.
    pub fn exact(&self) -> String {
        format!("{}={}", self.name, self.version)
    }
}

/// Parses the output; other lines (apt's notices) are skipped.
pub(super) fn parse(output: &str) -> Result<Vec<Package>> {
    let lines = output.lines().filter(|line| line.starts_with('\''));
    lines.map(|line| package(line).map_err(|why| Error::Answer { line: line.to_owned(), why })).collect()
}

fn package(line: &str) -> Result<Package, &'static str> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let &[_, file, size, hash, ..] = &words[..] else { return Err("expected 'URI' FILE SIZE HASH") };
    let sha256 = hash.strip_prefix("SHA256:").ok_or("the hash is not SHA256")?;
    if sha256.len() != 64 || !sha256.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err("the hash is not SHA256");
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"%+-._~".contains(&byte);
    let file_name = file.strip_suffix(".deb").filter(|name| name.starts_with(|c: char| c.is_ascii_alphanumeric()));
    let mut parts = file_name.filter(|name| name.bytes().all(plain)).ok_or("the file is not a package")?.split('_');
    let (Some(name), Some(version)) = (parts.next(), parts.next()) else { return Err("no version in the file name") };
    Ok(Package {
        name: unescape(name),
        version: unescape(version),
        file: file.to_owned(),
        size: size.parse().map_err(|_| "the size is not a number")?,
        sha256: sha256.to_ascii_lowercase(),
    })
}

/// Decodes apt's `%3a` for the characters that a file name cannot contain.
fn unescape(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        plain.push_str(before);
        let code = after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code {
            Some(code) => {
                plain.push(char::from(code));
                rest = &after[2..];
            }
            None => {
                plain.push('%');
                rest = after;
            }
        }
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = include_str!("fixtures/print-uris.txt");

    #[test]
    fn names_versions_with_epoch_sizes_and_hashes() {
        let packages = parse(OUTPUT).unwrap();
        let exact: Vec<String> = packages.iter().map(Package::exact).collect();
        assert_eq!(exact, ["zlib1g=1:1.3.dfsg+really1.3.2-4", "libllvm22=1:22.1.8-3", "libamdhip64-7=7.2.4-1~exp2"]);
        assert_eq!(packages[1].size, 29_441_420);
        assert_eq!(packages[2].file, "libamdhip64-7_7.2.4-1~exp2_amd64.deb");
        assert!(packages[2].sha256.starts_with("265743c8"));
    }

    #[test]
    fn a_weaker_hash_or_a_path_for_a_file_is_refused() {
        assert!(parse("'http://m/a_1_all.deb' a_1_all.deb 5 MD5Sum:26e128fa514e77c2959cc3834792d1a2").is_err());
        let hash = "0".repeat(64);
        for file in ["../a_1_all.deb", "-a_1_all.deb", ".a_1_all.deb", "a\\b_1_all.deb", "a_1_all", "a.deb"] {
            assert!(parse(&format!("'http://m/a' {file} 5 SHA256:{hash}")).is_err(), "{file}");
        }
        assert_eq!(parse(&format!("'http://m/a' a_1_all.deb 5 SHA256:{hash}")).unwrap().len(), 1);
        assert!(parse(&format!("'http://m/a' a_1_all.deb five SHA256:{hash}")).is_err());
    }

    #[test]
    fn a_stray_percent_sign_stays() {
        assert_eq!(unescape("1%3a2%zz%"), "1:2%zz%");
    }
}
