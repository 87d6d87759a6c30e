//! What `apt-get --print-uris` says: one package a line, `'URI' FILE SIZE HASH`.

use anyhow::{Context, Result, ensure};

/// A package file in the archive, as apt would fetch it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    /// Name, such as `libamdhip64-7`.
    pub(crate) name: String,
    /// Full version with epoch, such as `1:22.1.8-3`.
    pub(crate) version: String,
    /// Name of the file that apt writes, with the epoch's colon escaped.
    pub(crate) file: String,
    /// Size of the file in bytes.
    pub(crate) size: u64,
    /// SHA-256 of the file, in hexadecimal.
    pub(crate) sha256: String,
}

impl Package {
    /// `name=version`, as apt takes it.
    pub(crate) fn exact(&self) -> String {
        format!("{}={}", self.name, self.version)
    }
}

/// Parses the output; lines that are no package (apt's notices) are passed over.
pub(crate) fn parse(output: &str) -> Result<Vec<Package>> {
    output
        .lines()
        .filter(|line| line.starts_with('\''))
        .map(|line| package(line).with_context(|| format!("apt-get answered a line that cannot be read: {line}")))
        .collect()
}

fn package(line: &str) -> Result<Package> {
    let words: Vec<&str> = line.split_whitespace().collect();
    ensure!(words.len() >= 4, "expected 'URI' FILE SIZE HASH");
    let (file, size, hash) = (words[1], words[2], words[3]);
    let sha256 = hash.strip_prefix("SHA256:").context("the hash is not SHA256")?;
    ensure!(sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit()), "the hash is not SHA256");
    ensure!(!file.contains('/') && file.ends_with(".deb"), "the file is not a package");
    let mut parts = file.trim_end_matches(".deb").split('_');
    let (name, version) = (parts.next().unwrap_or_default(), parts.next().context("no version in the file name")?);
    Ok(Package {
        name: unescape(name),
        version: unescape(version),
        file: file.to_owned(),
        size: size.parse().context("the size is no number")?,
        sha256: sha256.to_ascii_lowercase(),
    })
}

/// Undoes apt's `%3a` for the characters that a file name cannot hold.
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

    const OUTPUT: &str = include_str!("../../fixtures/print-uris.txt");

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
        assert!(parse(&format!("'http://m/a' ../a_1_all.deb 5 SHA256:{hash}")).is_err());
        assert!(parse(&format!("'http://m/a' a_1_all.deb five SHA256:{hash}")).is_err());
    }

    #[test]
    fn a_stray_percent_sign_stays() {
        assert_eq!(unescape("1%3a2%zz%"), "1:2%zz%");
    }
}
