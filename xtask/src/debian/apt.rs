//! apt with a state of its own: lists, cache, sources and pins under one folder, and a dpkg status that says what a
//! tree already holds, so that apt resolves exactly what is still missing.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::progress;
use super::sources;
use super::uris::{self, Package};
use crate::process::capture;

/// What to take from the archive.
#[derive(Debug)]
pub(crate) struct Selection<'a> {
    /// Short name, for the files of apt's state.
    pub(crate) name: &'a str,
    /// Suites to look in.
    pub(crate) suites: &'a [&'a str],
    /// Package name patterns and the versions that they are held at, for suites that hold several or move on.
    pub(crate) pins: &'a [(&'a str, &'a str)],
}

/// apt's private state for one selection.
#[derive(Debug)]
pub(crate) struct Apt {
    folder: PathBuf,
    config: PathBuf,
    name: String,
}

/// Keyring of the Debian archive, as installed on this machine.
pub(crate) fn keyring() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("ROCM_RS_DEBIAN_KEYRING") {
        let path = PathBuf::from(path);
        ensure!(path.is_file(), "ROCM_RS_DEBIAN_KEYRING names no file: {}", path.display());
        return Ok(path);
    }
    let folder = Path::new("/usr/share/keyrings");
    ["debian-archive-keyring.gpg", "debian-archive-keyring.pgp"]
        .iter()
        .map(|name| folder.join(name))
        .find(|path| path.is_file())
        .context("the keys of the Debian archive are not on this machine (package debian-archive-keyring)")
}

impl Apt {
    /// Sets up the state in `folder` for `selection`.
    pub(crate) fn new(folder: &Path, selection: &Selection<'_>) -> Result<Self> {
        for part in ["lists/partial", "archives/partial", "empty"] {
            let part = folder.join(part);
            fs::create_dir_all(&part).with_context(|| format!("creating {}", part.display()))?;
        }
        let apt = Self {
            folder: folder.to_owned(),
            config: folder.join(format!("{}.conf", selection.name)),
            name: selection.name.to_owned(),
        };
        let mirror = sources::mirror(Path::new("/etc/apt"))?;
        let keyring = keyring()?;
        fs::write(apt.file("list"), source_lines(&mirror, &keyring, selection.suites))?;
        fs::write(apt.file("preferences"), preferences(selection.pins))?;
        fs::write(apt.file("status"), "")?;
        let host = capture(Command::new("apt-config").arg("dump")).unwrap_or_default();
        let as_root = rustix::process::geteuid().is_root();
        fs::write(&apt.config, apt.settings(&reach(&host), mirror.contains("/archive/"), as_root))
            .with_context(|| format!("writing {}", apt.config.display()))?;
        Ok(apt)
    }

    /// Folder into which packages are downloaded.
    pub(crate) fn archives(&self) -> PathBuf {
        self.folder.join("archives")
    }

    /// Tells apt what is there already: control stanzas of packages.
    pub(crate) fn set_installed<'a>(&self, stanzas: impl Iterator<Item = &'a str>) -> Result<()> {
        let mut status = String::new();
        for stanza in stanzas {
            let _ = writeln!(status, "{}\nStatus: install ok installed\n", stanza.trim_end());
        }
        fs::write(self.file("status"), status).context("writing apt's status")
    }

    /// Brings the package lists up to date.
    pub(crate) fn update(&self) -> Result<()> {
        progress::spin("Updating the package lists", self.command("apt-get").args(["-q", "update"]))
            .context("the package lists could not be fetched; check the network and the mirror")
    }

    /// Names of all packages that begin with `prefix`.
    pub(crate) fn names(&self, prefix: &str) -> Result<Vec<String>> {
        let output = capture(self.command("apt-cache").args(["pkgnames", prefix]))?;
        Ok(output.lines().map(str::to_owned).collect())
    }

    /// Version of a package that apt would choose; none if there is no such package.
    pub(crate) fn candidate(&self, name: &str) -> Result<Option<String>> {
        let output = capture(self.command("apt-cache").args(["policy", name]))?;
        let version = output.lines().find_map(|line| line.trim().strip_prefix("Candidate: "));
        Ok(version.filter(|version| *version != "(none)").map(str::to_owned))
    }

    /// What apt would install to have `roots` with all that they depend on, whether downloaded already or not.
    pub(crate) fn closure(&self, roots: &[String]) -> Result<Vec<Package>> {
        // apt does not name the packages whose files it has, so it is shown a folder that has none.
        let none = format!("Dir::Cache::archives={}", self.folder.join("empty").display());
        let words = ["-qq", "--print-uris", "--no-install-recommends", "-o", &none, "install"];
        self.uris(self.command("apt-get").args(words).args(roots))
    }

    /// The packages themselves, without what they depend on.
    pub(crate) fn alone(&self, names: &[String]) -> Result<Vec<Package>> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        self.uris(self.command("apt-get").args(["-qq", "--print-uris", "download"]).args(names))
    }

    /// Downloads `roots` with all that they depend on; goes on where an earlier download stopped.
    pub(crate) fn download_closure(&self, roots: &[String], packages: &[Package]) -> Result<()> {
        let mut command = self.command("apt-get");
        command.args(["-q", "-y", "--download-only", "--no-install-recommends", "install"]).args(roots);
        self.download(&mut command, packages)
    }

    /// Downloads the packages themselves.
    pub(crate) fn download_alone(&self, packages: &[Package]) -> Result<()> {
        let mut command = self.command("apt-get");
        command.current_dir(self.archives()).args(["-q", "download"]).args(packages.iter().map(Package::exact));
        self.download(&mut command, packages)
    }

    fn download(&self, command: &mut Command, packages: &[Package]) -> Result<()> {
        if packages.is_empty() {
            return Ok(());
        }
        let folders = [self.archives(), self.archives().join("partial")];
        let files: Vec<_> = packages.iter().map(|package| (package.file.clone(), package.size)).collect();
        let what = format!("Downloading {} packages", packages.len());
        progress::bytes(&what, command, &folders, &files)
            .context("the download failed; run the command again to go on where it stopped")
    }

    fn uris(&self, command: &mut Command) -> Result<Vec<Package>> {
        uris::parse(&capture(command)?)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("APT_CONFIG", &self.config).env("LC_ALL", "C").current_dir(&self.folder);
        command
    }

    fn file(&self, kind: &str) -> PathBuf {
        self.folder.join(format!("{}.{kind}", self.name))
    }

    /// apt's configuration: nothing of the machine's but `reach`, how it reaches mirrors.
    fn settings(&self, reach: &str, snapshot: bool, as_root: bool) -> String {
        let at = |path: &Path| path.display().to_string();
        let empty = at(&self.folder.join("empty"));
        let mut text = format!(
            "Dir::State \"{folder}\";\nDir::State::lists \"{folder}/lists\";\nDir::State::status \"{status}\";\n\
             Dir::Cache \"{folder}\";\nDir::Cache::archives \"{folder}/archives\";\n\
             Dir::Etc::sourcelist \"{sources}\";\nDir::Etc::sourceparts \"{empty}\";\n\
             Dir::Etc::preferences \"{preferences}\";\nDir::Etc::preferencesparts \"{empty}\";\n\
             Dir::Etc::parts \"{empty}\";\nDir::Etc::main \"{empty}/none\";\n\
             APT::Get::List-Cleanup \"false\";\nAcquire::Languages \"none\";\nAcquire::ForceHash \"SHA256\";\n\
             Acquire::Retries \"3\";\nAPT::Update::Error-Mode \"any\";\n",
            folder = at(&self.folder),
            status = at(&self.file("status")),
            sources = at(&self.file("list")),
            preferences = at(&self.file("preferences")),
        );
        if snapshot {
            // The lists of a snapshot of the archive have run out by their nature.
            text.push_str("Acquire::Check-Valid-Until \"false\";\n");
        }
        if as_root {
            // Else apt drops to a user of its own, who may not write into a checkout.
            text.push_str("APT::Sandbox::User \"root\";\n");
        }
        text + reach
    }
}

/// The lines of `apt-config dump` that say how this machine reaches mirrors.
fn reach(dump: &str) -> String {
    const KEPT: &[&str] =
        &["http", "https", "mirror", "Retries", "ForceIPv4", "ForceIPv6", "Check-Valid-Until", "Check-Date"];
    let kept = |line: &&str| {
        let name = line.strip_prefix("Acquire::").and_then(|rest| rest.split([':', ' ']).next());
        name.is_some_and(|name| KEPT.iter().any(|kept| name.eq_ignore_ascii_case(kept)))
    };
    dump.lines().filter(kept).fold(String::new(), |text, line| text + line + "\n")
}

fn source_lines(mirror: &str, keyring: &Path, suites: &[&str]) -> String {
    suites.iter().fold(String::new(), |text, suite| {
        text + &format!("deb [signed-by={}] {mirror} {suite} main\n", keyring.display())
    })
}

fn preferences(pins: &[(&str, &str)]) -> String {
    pins.iter().fold(String::new(), |text, (packages, version)| {
        text + &format!("Package: {packages}\nPin: version {version}\nPin-Priority: 900\n\n")
    })
}

/// Of `names`, the one that is `stem` followed by a soname number; the highest where there are several.
pub(crate) fn newest_soname(names: &[String], stem: &str) -> Result<String> {
    let number = |name: &str| -> Option<u32> {
        let rest = name.strip_prefix(stem)?.trim_start_matches('-');
        rest.strip_suffix("t64").unwrap_or(rest).parse().ok()
    };
    let found = names.iter().filter_map(|name| Some((number(name)?, name))).max();
    match found {
        Some((_, name)) => Ok(name.clone()),
        None => bail!("Debian has no library package {stem} in this release"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_machines_configuration_only_how_to_reach_mirrors_is_taken() {
        let dump = "APT::Update::Post-Invoke:: \"rm -f /x\";\nAcquire \"\";\nAcquire::http::Proxy \"http://proxy\";\n\
                    Acquire::Languages:: \"none\";\nAcquire::Check-Date \"false\";\nAcquire::httpx \"no\";\nDir::Bin \"x\";\n";
        assert_eq!(reach(dump), "Acquire::http::Proxy \"http://proxy\";\nAcquire::Check-Date \"false\";\n");
    }

    #[test]
    fn sources_are_signed_and_pins_hold_versions() {
        let lines = source_lines("http://m/debian", Path::new("/k.gpg"), &["sid", "experimental"]);
        assert_eq!(
            lines,
            "deb [signed-by=/k.gpg] http://m/debian sid main\ndeb [signed-by=/k.gpg] http://m/debian experimental main\n"
        );
        assert_eq!(
            preferences(&[("libamd* libhip*", "7.2.*")]),
            "Package: libamd* libhip*\nPin: version 7.2.*\nPin-Priority: 900\n\n"
        );
    }

    #[test]
    fn a_library_is_found_by_its_soname_number() {
        let names: Vec<String> = ["librocblas4", "librocblas5", "librocblas5-tests", "librocblas-dev", "librocsolver9"]
            .iter()
            .map(|name| (*name).to_owned())
            .collect();
        assert_eq!(newest_soname(&names, "librocblas").unwrap(), "librocblas5");
        assert_eq!(newest_soname(&["librocm-smi64-7".to_owned()], "librocm-smi64").unwrap(), "librocm-smi64-7");
        assert_eq!(newest_soname(&["libllvm17t64".to_owned()], "libllvm").unwrap(), "libllvm17t64");
        assert!(newest_soname(&names, "librocfft").is_err());
    }

    #[test]
    fn apt_takes_the_settings() {
        if crate::process::find("apt-config").is_none() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let apt = Apt { folder: folder.path().to_owned(), config: folder.path().join("t.conf"), name: "t".into() };
        fs::create_dir(folder.path().join("empty")).unwrap();
        fs::write(&apt.config, apt.settings("Acquire::http::Proxy \"http://proxy\";\n", true, true)).unwrap();
        let dump = capture(apt.command("apt-config").arg("dump")).unwrap();
        for line in
            ["Acquire::http::Proxy \"http://proxy\";", "APT::Sandbox::User \"root\";", "Acquire::ForceHash \"SHA256\";"]
        {
            assert!(dump.contains(line), "{line} is missing");
        }
        assert!(!dump.contains("Post-Invoke"), "the machine's hooks must not run");
    }
}
