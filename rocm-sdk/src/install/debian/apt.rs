//! Runs apt with private state: lists, cache, sources and pins in one folder, and a dpkg status file that lists the
//! packages in a tree, so that apt resolves exactly the missing ones.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::lock::Lock;
use super::sources::Archive;
use super::uris::{self, Package};
use crate::install::command::{capture, watch};
use crate::install::error::{Error, Result, While as _};
use crate::install::host;
use crate::install::progress::{Amount, Event, Progress, step};

/// The packages that may be taken from the archive.
#[derive(Clone, Copy, Debug)]
pub struct Selection<'a> {
    /// Short name, for the files of apt's state.
    pub name: &'a str,
    /// Suites to search.
    pub suites: &'a [&'a str],
    /// Package name patterns and the versions that they are pinned to, for suites that contain several versions or
    /// change.
    pub pins: &'a [(&'a str, &'a str)],
}

/// apt's private state for one selection.
#[derive(Debug)]
pub struct Apt<'l> {
    lock: &'l Lock,
    folder: PathBuf,
    config: PathBuf,
    name: String,
    archive: Archive,
    suites: Vec<String>,
}

impl<'l> Apt<'l> {
    /// Sets up the state for `selection` from `archive` in `folder`, an absolute path, which `lock` protects from other
    /// processes.
    ///
    /// # Errors
    /// [`Error::Setting`] for a folder, mirror or keyring whose name apt would misinterpret; [`Error::Io`].
    pub fn new(folder: &Path, lock: &'l Lock, selection: &Selection<'_>, archive: &Archive) -> Result<Self> {
        if !folder.is_absolute()
            || folder.to_str().is_none_or(|path| path.contains(|c: char| c == '"' || c.is_control()))
        {
            let what = format!("folder {}", folder.display());
            return Err(Error::setting(what, "apt needs an absolute path without quotes and control characters"));
        }
        let apt = Self {
            lock,
            folder: folder.to_owned(),
            config: folder.join(format!("{}.conf", selection.name)),
            name: selection.name.to_owned(),
            archive: archive.clone().checked()?,
            suites: selection.suites.iter().map(|&suite| suite.to_owned()).collect(),
        };
        for part in ["lists/partial", "archives/partial", "empty", "tmp"] {
            let part = folder.join(part);
            fs::create_dir_all(&part).while_(|| format!("creating {}", part.display()))?;
        }
        let host = capture(Command::new("apt-config").arg("dump")).unwrap_or_default();
        for (path, text) in [
            (apt.file("list"), source_lines(&apt.archive, selection.suites)),
            (apt.file("preferences"), preferences(selection.pins)),
            (apt.file("status"), String::new()),
            (apt.config.clone(), apt.settings(&reach(&host), host::is_root())),
        ] {
            fs::write(&path, text).while_(|| format!("writing {}", path.display()))?;
        }
        Ok(apt)
    }

    /// Returns the folder into which packages are downloaded.
    pub fn archives(&self) -> PathBuf {
        self.folder.join("archives")
    }

    /// Sets the installed packages, by their control stanzas.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn set_installed<'a>(&self, stanzas: impl Iterator<Item = &'a str>) -> Result<()> {
        let mut status = String::new();
        for stanza in stanzas {
            let _ = writeln!(status, "{}\nStatus: install ok installed\n", stanza.trim_end());
        }
        let path = self.file("status");
        fs::write(&path, status).while_(|| format!("writing {}", path.display()))
    }

    /// Updates the package lists, and checks that they are signed and belong to the requested suites.
    ///
    /// # Errors
    /// [`Error::Untrusted`] if the check fails; [`Error::Command`] if the lists cannot be downloaded.
    pub fn update(&self, progress: &mut dyn Progress) -> Result<()> {
        let mut command = self.command("apt-get");
        command.args(["-q", "update"]);
        step(progress, "Updating the package lists", None, |progress| {
            watch(command.stdin(self.lock.shared()?), &self.file("log"), || progress.event(Event::Advance(0)))
        })
        .map_err(|error| {
            self.judge(error, "the package lists could not be fetched; check the network and the mirror")
        })?;
        self.check_lists()
    }

    /// Asks apt whether its lists are signed, and which suite they belong to.
    fn check_lists(&self) -> Result<()> {
        let format = "$(CREATED_BY)|$(TRUSTED)|$(RELEASE)|$(SUITE)|$(CODENAME)";
        let lists = capture(self.command("apt-get").args(["indextargets", "--format", format]))?;
        let refused = |why: String| Error::Untrusted { mirror: self.archive.mirror.clone(), why };
        let mut seen = Vec::new();
        for list in lists.lines() {
            let words: Vec<&str> = list.split('|').collect();
            let &[kind, trusted, release, suite, codename] = &words[..] else {
                return Err(Error::Answer { line: list.to_owned(), why: "expected five fields" });
            };
            if kind != "Packages" {
                continue;
            }
            if trusted != "yes" {
                return Err(refused(format!(
                    "the package list of {release} is not signed by {}",
                    self.archive.keyring.display()
                )));
            }
            if release != suite && release != codename {
                return Err(refused(format!(
                    "the package list of {release} is that of another suite, {suite} ({codename})"
                )));
            }
            seen.push(release);
        }
        match self.suites.iter().find(|suite| !seen.contains(&suite.as_str())) {
            Some(suite) => Err(refused(format!("no package list of {suite}"))),
            None => Ok(()),
        }
    }

    /// Distinguishes a failed signature from other failures of apt.
    fn judge(&self, error: Error, what_else: &str) -> Error {
        const SIGNS: &[&str] = &[
            "is not signed",
            "GPG error",
            "signatures",
            "NO_PUBKEY",
            "Hash Sum mismatch",
            "unexpected size",
            "isn't a valid",
        ];
        const DATES: &[&str] = &["is expired", "is not valid yet"];
        match error {
            Error::Command { said, .. } if SIGNS.iter().chain(DATES).any(|sign| said.contains(sign)) => {
                let complaints = said.lines().filter(|line| line.starts_with("E:") || line.starts_with("W:"));
                let mut why = complaints.collect::<Vec<_>>().join("\n");
                if why.is_empty() {
                    why.clone_from(&said);
                }
                if DATES.iter().any(|sign| said.contains(sign)) {
                    why += "\n(the mirror is out of date, or this machine's clock is wrong)";
                }
                Error::Untrusted { mirror: self.archive.mirror.clone(), why }
            }
            Error::Command { command, status, said } => {
                Error::Command { command, status, said: format!("{said}\n({what_else})") }
            }
            other => other,
        }
    }

    /// Returns the names of all packages that begin with `prefix`.
    ///
    /// # Errors
    /// [`Error::Command`].
    pub fn names(&self, prefix: &str) -> Result<Vec<String>> {
        let output = capture(self.command("apt-cache").args(["pkgnames", prefix]))?;
        Ok(output.lines().map(str::to_owned).collect())
    }

    /// Returns the version of a package that apt would install; `None` if there is no such package.
    ///
    /// # Errors
    /// [`Error::Command`].
    pub fn candidate(&self, name: &str) -> Result<Option<String>> {
        let output = capture(self.command("apt-cache").args(["policy", name]))?;
        let version = output.lines().find_map(|line| line.trim().strip_prefix("Candidate: "));
        Ok(version.filter(|version| *version != "(none)").map(str::to_owned))
    }

    /// Returns the packages that apt would install for `roots` with all dependencies, whether or not they are already
    /// downloaded.
    ///
    /// # Errors
    /// [`Error::Dependencies`] if they cannot be resolved; [`Error::Command`]; [`Error::Answer`].
    pub fn closure(&self, roots: &[String]) -> Result<Vec<Package>> {
        // apt does not list packages that it has already downloaded, so it is given an empty folder.
        let none = format!("Dir::Cache::archives={}", self.folder.join("empty").display());
        let words = ["-qq", "--print-uris", "--no-install-recommends", "-o", &none, "install"];
        let found = self.uris(self.command("apt-get").args(words).args(roots));
        found.map_err(|error| dependencies(error, roots))
    }

    /// Returns the packages themselves, without their dependencies.
    ///
    /// # Errors
    /// [`Error::Command`], also for an unknown name; [`Error::Answer`].
    pub fn alone(&self, names: &[String]) -> Result<Vec<Package>> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        self.uris(self.command("apt-get").args(["-qq", "--print-uris", "download"]).args(names))
    }

    /// Returns the unpacked size of packages in bytes, according to their control stanzas.
    ///
    /// # Errors
    /// [`Error::Command`].
    pub fn unpacked_size<'a>(&self, packages: impl Iterator<Item = &'a Package>) -> Result<u64> {
        let exact: Vec<String> = packages.map(Package::exact).collect();
        if exact.is_empty() {
            return Ok(0);
        }
        let shown = capture(self.command("apt-cache").args(["--no-all-versions", "show"]).args(exact))?;
        Ok(installed_size(&shown))
    }

    /// Downloads `roots` with all their dependencies, which are `packages`. It resumes an earlier download.
    ///
    /// # Errors
    /// [`Error::Untrusted`] if a file differs from the signed list; [`Error::Command`].
    pub fn download_closure(&self, roots: &[String], packages: &[Package], progress: &mut dyn Progress) -> Result<()> {
        let mut command = self.command("apt-get");
        command.args(["-q", "-y", "--download-only", "--no-install-recommends", "install"]).args(roots);
        self.download(&mut command, packages, progress)
    }

    /// Downloads the packages themselves.
    ///
    /// # Errors
    /// The same as [`download_closure`](Self::download_closure).
    pub fn download_alone(&self, packages: &[Package], progress: &mut dyn Progress) -> Result<()> {
        let mut command = self.command("apt-get");
        command.current_dir(self.archives()).args(["-q", "download"]).args(packages.iter().map(Package::exact));
        self.download(&mut command, packages, progress)
    }

    fn download(&self, command: &mut Command, packages: &[Package], progress: &mut dyn Progress) -> Result<()> {
        if packages.is_empty() {
            return Ok(());
        }
        let total = packages.iter().map(|package| package.size).sum();
        let what = format!("Downloading {} packages", packages.len());
        step(progress, &what, Some(Amount::Bytes(total)), |progress| {
            watch(command.stdin(self.lock.shared()?), &self.file("log"), || {
                progress.event(Event::Advance(self.arrived(packages)))
            })
        })
        .map(drop)
        .map_err(|error| self.judge(error, "the download failed; run the command again to go on where it stopped"))
    }

    /// Returns how many bytes of the packages have been downloaded.
    pub fn arrived<'a>(&self, packages: impl IntoIterator<Item = &'a Package>) -> u64 {
        let folders = [self.archives(), self.archives().join("partial")];
        let size = |folder: &PathBuf, name: &str| folder.join(name).metadata().map_or(0, |data| data.len());
        let arrived = |p: &Package| folders.iter().map(|folder| size(folder, &p.file)).max().unwrap_or(0).min(p.size);
        packages.into_iter().map(arrived).sum()
    }

    fn uris(&self, command: &mut Command) -> Result<Vec<Package>> {
        uris::parse(&capture(command)?)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        // Its temporary files stay in the folder, too.
        command.env("APT_CONFIG", &self.config).env("TMPDIR", self.folder.join("tmp")).env("LC_ALL", "C");
        command.current_dir(&self.folder);
        command
    }

    fn file(&self, kind: &str) -> PathBuf {
        self.folder.join(format!("{}.{kind}", self.name))
    }

    /// Returns apt's configuration. Of the machine's configuration it only contains `reach`: how to reach mirrors.
    fn settings(&self, reach: &str, as_root: bool) -> String {
        let at = |path: &Path| path.display().to_string();
        let empty = at(&self.folder.join("empty"));
        let mut text = format!(
            "Dir::State \"{folder}\";\nDir::State::lists \"{folder}/lists\";\nDir::State::status \"{status}\";\n\
             Dir::Cache \"{folder}\";\nDir::Cache::archives \"{folder}/archives\";\nDir::Log \"{folder}\";\n\
             Dir::Etc::sourcelist \"{sources}\";\nDir::Etc::sourceparts \"{empty}\";\n\
             Dir::Etc::preferences \"{preferences}\";\nDir::Etc::preferencesparts \"{empty}\";\n\
             Dir::Etc::parts \"{empty}\";\nDir::Etc::main \"{empty}/none\";\n\
             Dir::Etc::trusted \"{empty}/none\";\nDir::Etc::trustedparts \"{empty}\";\n\
             APT::Architecture \"amd64\";\nAPT::Architectures {{ \"amd64\"; }};\n\
             APT::Get::List-Cleanup \"false\";\nAcquire::Languages \"none\";\nAcquire::ForceHash \"SHA256\";\n\
             Acquire::Retries \"3\";\nAPT::Update::Error-Mode \"any\";\n\
             Acquire::AllowInsecureRepositories \"false\";\nAcquire::AllowWeakRepositories \"false\";\n\
             Acquire::AllowDowngradeToInsecureRepositories \"false\";\nAPT::Get::AllowUnauthenticated \"false\";\n",
            folder = at(&self.folder),
            status = at(&self.file("status")),
            sources = at(&self.file("list")),
            preferences = at(&self.file("preferences")),
        );
        if self.archive.is_snapshot() {
            // The lists of a snapshot of the archive are always expired.
            text.push_str("Acquire::Check-Valid-Until \"false\";\n");
        }
        if as_root {
            // apt would otherwise switch to a user of its own, who cannot write to the folder.
            text.push_str("APT::Sandbox::User \"root\";\n");
        }
        text + reach
    }
}

/// Distinguishes packages with unresolvable dependencies from other failures of apt.
fn dependencies(error: Error, packages: &[String]) -> Error {
    // Messages of apt 2 and of apt 3.
    const SIGNS: [&str; 3] = ["held broken packages", "Unmet dependencies", "Unable to satisfy dependencies"];
    match error {
        Error::Command { said, .. } if SIGNS.iter().any(|sign| said.contains(sign)) => {
            Error::Dependencies { packages: packages.to_vec(), said }
        }
        other => other,
    }
}

/// Returns the lines of `apt-config dump` that configure how this machine reaches mirrors.
fn reach(dump: &str) -> String {
    const KEPT: &[&str] =
        &["http", "https", "mirror", "Retries", "ForceIPv4", "ForceIPv6", "Check-Valid-Until", "Check-Date"];
    let kept = |line: &&str| {
        let name = line.strip_prefix("Acquire::").and_then(|rest| rest.split([':', ' ']).next());
        name.is_some_and(|name| KEPT.iter().any(|kept| name.eq_ignore_ascii_case(kept)))
    };
    dump.lines().filter(kept).fold(String::new(), |text, line| text + line + "\n")
}

fn source_lines(archive: &Archive, suites: &[&str]) -> String {
    suites.iter().fold(String::new(), |text, suite| {
        text + &format!("deb [signed-by={}] {} {suite} main\n", archive.keyring.display(), archive.mirror)
    })
}

fn preferences(pins: &[(&str, &str)]) -> String {
    pins.iter().fold(String::new(), |text, (packages, version)| {
        text + &format!("Package: {packages}\nPin: version {version}\nPin-Priority: 900\n\n")
    })
}

/// Returns the sum of the fields `Installed-Size`, which count units of 1024 bytes.
pub(super) fn installed_size(stanzas: &str) -> u64 {
    let sizes = stanzas.lines().filter_map(|line| line.strip_prefix("Installed-Size:")?.trim().parse::<u64>().ok());
    sizes.fold(0, u64::saturating_add).saturating_mul(1024)
}

/// Returns those of `names` that are `stem` followed by a soname number, highest first.
pub fn numbered(names: &[String], stem: &str) -> Vec<String> {
    let number = |name: &str| -> Option<u32> {
        let rest = name.strip_prefix(stem)?;
        let rest = rest.strip_prefix('-').unwrap_or(rest);
        rest.strip_suffix("t64").unwrap_or(rest).parse().ok()
    };
    let mut found: Vec<_> = names.iter().filter_map(|name| Some((number(name)?, name))).collect();
    found.sort_by(|one, other| other.cmp(one));
    found.into_iter().map(|(_, name)| name.clone()).collect()
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
        let archive = Archive { mirror: "http://m/debian".into(), keyring: "/k.gpg".into() };
        let lines = source_lines(&archive, &["sid", "experimental"]);
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
        assert_eq!(numbered(&names, "librocblas"), ["librocblas5", "librocblas4"]);
        assert_eq!(numbered(&["librocm-smi64-7".to_owned()], "librocm-smi64"), ["librocm-smi64-7"]);
        assert_eq!(numbered(&["libllvm17t64".to_owned()], "libllvm"), ["libllvm17t64"]);
        assert!(numbered(&names, "librocfft").is_empty());
    }

    #[test]
    fn sizes_are_added_up_and_a_monstrous_one_does_not_overflow() {
        let stanzas =
            "Package: a\nInstalled-Size: 3\n\nPackage: b\nDescription: x\n Installed-Size: 9\n\nInstalled-Size: 4\n";
        assert_eq!(installed_size(stanzas), 7 * 1024);
        assert_eq!(installed_size(&format!("Installed-Size: {}\nInstalled-Size: 1\n", u64::MAX)), u64::MAX);
    }

    fn lock(folder: &Path) -> Lock {
        Lock::hold(&folder.join("lock"), &mut crate::install::Silent).unwrap()
    }

    fn some<'l>(folder: &Path, lock: &'l Lock) -> Apt<'l> {
        Apt {
            lock,
            folder: folder.to_owned(),
            config: folder.join("t.conf"),
            name: "t".into(),
            archive: Archive { mirror: "http://m/debian".into(), keyring: "/k.gpg".into() },
            suites: vec!["sid".into()],
        }
    }

    #[test]
    fn bytes_that_arrived_are_capped_at_the_final_size_and_taken_once() {
        let folder = tempfile::tempdir().unwrap();
        let lock = lock(folder.path());
        let apt = some(folder.path(), &lock);
        fs::create_dir_all(apt.archives().join("partial")).unwrap();
        for (file, size) in [("a", 10), ("partial/a", 4), ("partial/b", 9)] {
            fs::write(apt.archives().join(file), vec![0; size]).unwrap();
        }
        let package = |file: &str, size| Package {
            name: file.into(),
            version: "1".into(),
            file: file.into(),
            size,
            sha256: String::new(),
        };
        assert_eq!(apt.arrived(&[package("a", 12), package("b", 5), package("c", 7)]), 15);
    }

    #[test]
    fn a_matter_of_trust_is_told_from_a_network_that_fails() {
        let folder = tempfile::tempdir().unwrap();
        let lock = lock(folder.path());
        let apt = some(folder.path(), &lock);
        let failed =
            |said: &str| Error::Command { command: "apt-get update".into(), status: "1".into(), said: said.into() };
        let error = apt
            .judge(failed("Get:1 x\nW: GPG error: http://m sid InRelease: NO_PUBKEY 1\nE: x is not signed."), "else");
        assert!(matches!(&error, Error::Untrusted { why, .. } if !why.contains("Get:1")), "{error}");
        let error = apt.judge(failed("E: Release file for http://m is expired (invalid since 3d)"), "else");
        assert!(matches!(&error, Error::Untrusted { why, .. } if why.contains("clock is wrong")), "{error}");
        let error = apt.judge(failed("E: Could not resolve host"), "check the network");
        assert!(matches!(&error, Error::Command { said, .. } if said.contains("check the network")), "{error}");
    }

    #[test]
    fn apt_takes_the_settings() {
        if crate::install::command::find("apt-config").is_none() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let lock = lock(folder.path());
        let apt = some(folder.path(), &lock);
        fs::create_dir(folder.path().join("empty")).unwrap();
        fs::write(&apt.config, apt.settings("Acquire::http::Proxy \"http://proxy\";\n", true)).unwrap();
        let dump = capture(apt.command("apt-config").arg("dump")).unwrap();
        for line in [
            "Acquire::http::Proxy \"http://proxy\";",
            "APT::Sandbox::User \"root\";",
            "Acquire::ForceHash \"SHA256\";",
            "APT::Get::AllowUnauthenticated \"false\";",
        ] {
            assert!(dump.contains(line), "{line} is missing");
        }
        assert!(!dump.contains("Post-Invoke"), "the machine's hooks must not run");
    }
}
