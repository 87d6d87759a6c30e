//! The names in a devel archive: which are allowed, and the targets of its links. This module accesses no files.

use std::collections::HashMap;

/// The kernel's limit: a path through more links than this is a loop.
const MAX_LINKS: usize = 40;
/// `NAME_MAX`, and `PATH_MAX` with room for the directory that it is unpacked into.
const MAX_COMPONENT: usize = 255;
const MAX_PATH: usize = 3500;

/// An entry of the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    Directory,
    File,
    /// A symbolic link with its target as written.
    Link(String),
}

/// The target of a link.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A file of the archive; the path is relative to site-packages.
    File(String),
    /// A directory of the archive.
    Directory,
    /// A path in another of ROCm's packages, relative to site-packages.
    Sibling(String),
    /// A name of the devel tree that is not in the archive.
    Nowhere,
}

/// The tree that an archive describes. Paths are relative to site-packages, and their first component is the package.
#[derive(Debug, Default)]
pub(super) struct Names {
    package: String,
    nodes: HashMap<String, Node>,
}

impl Names {
    /// Returns the package's name: `_rocm_sdk_devel`, possibly with a suffix; empty before the first entry.
    pub(super) fn package(&self) -> &str {
        &self.package
    }

    pub(super) fn get(&self, path: &str) -> Option<&Node> {
        self.nodes.get(path)
    }

    /// Adds an entry with its raw name. Returns its path, and the new directories above it, outermost first.
    pub(super) fn add(&mut self, name: &[u8], node: Node) -> Result<(String, Vec<String>), String> {
        let components = components(name)?;
        let package = components[0];
        if self.package.is_empty() {
            if !package.starts_with("_rocm_sdk_devel") {
                return Err("not below a directory _rocm_sdk_devel*".to_owned());
            }
            package.clone_into(&mut self.package);
        } else if package != self.package {
            return Err(format!("not below {}, as the entries before it", self.package));
        }
        let path = components.join("/");
        if components.len() == 1 && node != Node::Directory {
            return Err("the package must be a directory".to_owned());
        }
        let mut new = Vec::new();
        for above in ancestors(&path) {
            match self.nodes.get(above) {
                Some(Node::Directory) => {}
                Some(Node::File) => return Err(format!("{above} is a file, by an entry before it")),
                Some(Node::Link(_)) => {
                    return Err(format!("it leads through {above}, a link made by an entry before it"));
                }
                None => {
                    self.nodes.insert(above.to_owned(), Node::Directory);
                    new.push(above.to_owned());
                }
            }
        }
        match (self.nodes.get(&path), &node) {
            (None, _) => {
                if node == Node::Directory {
                    new.push(path.clone());
                }
                self.nodes.insert(path.clone(), node);
            }
            (Some(Node::Directory), Node::Directory) => {}
            (Some(_), _) => return Err("there twice".to_owned()),
        }
        Ok((path, new))
    }

    /// Returns the file of the archive that the hard link target `name` refers to.
    pub(super) fn hard_link_target(&self, name: &[u8]) -> Result<String, String> {
        let path = components(name)?.join("/");
        match self.nodes.get(&path) {
            Some(Node::File) => Ok(path),
            Some(_) => Err(format!("a hard link to {path}, which is not a file")),
            None => Err("a hard link whose target is not an earlier file of the archive".to_owned()),
        }
    }

    /// Follows the link at `path` to its end, including all links on the way.
    pub(super) fn resolve(&self, path: &str) -> Result<Place, String> {
        let mut links = 0;
        // `at` is known to be a directory; `ahead` is still to be walked, the next component last.
        let mut at: Vec<&str> = path.split('/').collect();
        let mut ahead: Vec<&str> = Vec::new();
        if let Some(name) = at.pop() {
            ahead.push(name);
        }
        while let Some(component) = ahead.pop() {
            match component {
                "" | "." => continue,
                ".." => {
                    if at.pop().is_none() {
                        return Err("it leads out of site-packages".to_owned());
                    }
                    continue;
                }
                name => at.push(name),
            }
            if at.len() == 1 && component != self.package {
                if !is_sibling(component) {
                    return Err(format!("it leads to {component}, which is none of ROCm's packages"));
                }
                return Ok(Place::Sibling(plain_rest(&at, &ahead)?));
            }
            let here = at.join("/");
            match self.nodes.get(&here) {
                Some(Node::Directory) => {}
                Some(Node::File) if ahead.iter().all(|c| matches!(*c, "" | ".")) => return Ok(Place::File(here)),
                Some(Node::File) => return Err(format!("it leads through {here}, which is a file")),
                Some(Node::Link(target)) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err("it leads in a circle".to_owned());
                    }
                    check_target(target)?;
                    at.pop();
                    ahead.extend(target.rsplit('/'));
                }
                None => {
                    plain_rest(&at, &ahead)?;
                    return Ok(Place::Nowhere);
                }
            }
        }
        if at.is_empty() { Err("it leads to site-packages itself".to_owned()) } else { Ok(Place::Directory) }
    }
}

/// Returns whether this is the name of a package that the devel tree may link into.
pub(super) fn is_sibling(name: &str) -> bool {
    name.starts_with("_rocm_") && !name.starts_with("_rocm_sdk_devel")
}

/// Returns the whole path, if the remaining components contain no `..`.
fn plain_rest(at: &[&str], ahead: &[&str]) -> Result<String, String> {
    let rest = || ahead.iter().rev().copied().filter(|c| !matches!(*c, "" | "."));
    if rest().any(|c| c == "..") {
        return Err("it goes back up from a place that is not known".to_owned());
    }
    Ok(at.iter().copied().chain(rest()).collect::<Vec<_>>().join("/"))
}

/// Returns the target of a symbolic link as text, if such a link is allowed.
pub(super) fn target(raw: &[u8]) -> Result<String, String> {
    let target = text(raw)?;
    check_target(target)?;
    Ok(target.to_owned())
}

fn check_target(target: &str) -> Result<(), String> {
    if target.is_empty() {
        return Err("a link without a target".to_owned());
    }
    if target.starts_with('/') || (cfg!(windows) && target.contains([':', '\\'])) {
        return Err("a link to an absolute path".to_owned());
    }
    if target.len() > MAX_PATH {
        return Err(format!("the target is longer than {MAX_PATH} bytes"));
    }
    Ok(())
}

/// Returns the components of a relative path without `..`.
pub(super) fn components(raw: &[u8]) -> Result<Vec<&str>, String> {
    let name = text(raw)?;
    if name.starts_with('/') || (cfg!(windows) && name.contains([':', '\\'])) {
        return Err("an absolute path".to_owned());
    }
    let components: Vec<&str> = name.split('/').filter(|c| !matches!(*c, "" | ".")).collect();
    if components.is_empty() {
        return Err("an empty name".to_owned());
    }
    if components.contains(&"..") {
        return Err("it goes up with `..`".to_owned());
    }
    if name.len() > MAX_PATH || components.iter().any(|c| c.len() > MAX_COMPONENT) {
        return Err(format!("a name longer than {MAX_COMPONENT} bytes, or a path longer than {MAX_PATH}"));
    }
    Ok(components)
}

/// Returns text that can be written to RECORD and to a report.
fn text(raw: &[u8]) -> Result<&str, String> {
    let text = std::str::from_utf8(raw).map_err(|_| "not UTF-8".to_owned())?;
    match text.chars().find(|c| c.is_control()) {
        Some(odd) => Err(format!("it has the control character {}", odd.escape_default())),
        None => Ok(text),
    }
}

/// Returns the ancestors of a path: `a`, `a/b` for `a/b/c`.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKAGE: &str = "_rocm_sdk_devel";

    fn names(entries: &[(&str, Node)]) -> Names {
        let mut names = Names::default();
        for (name, node) in entries {
            names.add(format!("{PACKAGE}/{name}").as_bytes(), node.clone()).unwrap();
        }
        names
    }

    fn link(target: &str) -> Node {
        Node::Link(target.to_owned())
    }

    fn resolve(names: &Names, path: &str) -> Result<Place, String> {
        names.resolve(&format!("{PACKAGE}/{path}"))
    }

    #[test]
    fn links_lead_where_the_kernel_would_go() {
        let names = names(&[
            ("lib/llvm/bin/clang-22", Node::File),
            ("lib/llvm/bin/clang", link("clang-22")),
            ("lib/llvm/bin/clang++", link("clang")),
            ("llvm", link("lib/llvm")),
            ("bin/clang", link("../llvm/bin/clang++")),
            ("bin/up", link("../llvm/..")),
            ("lib/libhip.so", link("libhip.so.7")),
            ("lib/libhip.so.7", link("../../_rocm_sdk_core/lib/libhip.so.7")),
            ("lib/libother.so", link("libother.so.1")),
            ("here", link(".")),
            ("lib/deep", link("../here/here/./lib//llvm/bin/clang-22")),
        ]);
        let clang = || Ok(Place::File(format!("{PACKAGE}/lib/llvm/bin/clang-22")));
        for path in ["lib/llvm/bin/clang", "lib/llvm/bin/clang++", "bin/clang", "lib/deep"] {
            assert_eq!(resolve(&names, path), clang(), "{path}");
        }
        let sibling = || Ok(Place::Sibling("_rocm_sdk_core/lib/libhip.so.7".to_owned()));
        assert_eq!(resolve(&names, "lib/libhip.so"), sibling());
        assert_eq!(resolve(&names, "lib/libhip.so.7"), sibling());
        assert_eq!(resolve(&names, "lib/libother.so"), Ok(Place::Nowhere));
        for path in ["llvm", "here", "bin/up"] {
            assert_eq!(resolve(&names, path), Ok(Place::Directory), "{path}");
        }
    }

    #[test]
    fn links_that_lead_astray_are_refused() {
        let names = names(&[
            ("file", Node::File),
            ("a", link("b")),
            ("b", link("a")),
            ("self", link("self")),
            ("up1", link("..")),
            ("up2", link("../..")),
            ("etc", link("../../../../etc/passwd")),
            ("python", link("../pip/__init__.py")),
            ("absolute", link("/etc/passwd")),
            ("through", link("file/x")),
            ("back", link("../_rocm_sdk_core/../pip/x")),
            ("missing", link("no/../../../etc")),
            ("dir/inner", link("../up1x")),
            ("up1x", link("dir/../..")),
        ]);
        for (path, why) in [
            ("a", "circle"),
            ("self", "circle"),
            ("up1", "site-packages itself"),
            ("up2", "out of site-packages"),
            ("etc", "out of site-packages"),
            ("python", "none of ROCm's"),
            ("absolute", "absolute"),
            ("through", "is a file"),
            ("back", "goes back up"),
            ("missing", "goes back up"),
            ("dir/inner", "site-packages itself"),
        ] {
            let error = resolve(&names, path).unwrap_err();
            assert!(error.contains(why), "{path}: {error}");
        }
    }

    #[test]
    fn names_of_every_bad_kind_are_refused() {
        let long = format!("{PACKAGE}/{}", "x".repeat(256));
        let deep = format!("{PACKAGE}/{}", "xxxxxxx/".repeat(500));
        let bad: &[(&[u8], &str)] = &[
            (b"", "empty"),
            (b".", "empty"),
            (b"/etc/passwd", "absolute"),
            (b"../x", "`..`"),
            (b"_rocm_sdk_devel/../x", "`..`"),
            (b"_rocm_sdk_devel/lib/../../pip/x", "`..`"),
            (b"_rocm_sdk_core/lib/x", "not below"),
            (b"pip/__init__.py", "not below"),
            (b"_rocm_sdk_devel", "must be a directory"),
            (b"_rocm_sdk_devel/a\0b", "control character"),
            (b"_rocm_sdk_devel/a\nb", "control character"),
            (b"_rocm_sdk_devel/\xff", "UTF-8"),
            (long.as_bytes(), "longer"),
            (deep.as_bytes(), "longer"),
        ];
        for (name, why) in bad {
            let error = Names::default().add(name, Node::File).unwrap_err();
            assert!(error.contains(why), "{}: {error}", name.escape_ascii());
        }
    }

    #[test]
    fn entries_that_contradict_each_other_are_refused() {
        let mut names = names(&[("file", Node::File), ("dir/x", Node::File), ("link", link("dir"))]);
        for (name, node, why) in [
            ("_rocm_sdk_devel/file", Node::File, "twice"),
            ("_rocm_sdk_devel/file", link("dir"), "twice"),
            ("_rocm_sdk_devel/dir", Node::File, "twice"),
            ("_rocm_sdk_devel/link", Node::Directory, "twice"),
            ("_rocm_sdk_devel/file/x", Node::File, "is a file"),
            ("_rocm_sdk_devel/link/x", Node::File, "a link made"),
            ("_rocm_sdk_devel/link/sub/x", Node::File, "a link made"),
            ("_rocm_sdk_devel_other/x", Node::File, "as the entries before"),
        ] {
            let error = names.add(name.as_bytes(), node).unwrap_err();
            assert!(error.contains(why), "{name}: {error}");
        }
        assert_eq!(names.add(b"_rocm_sdk_devel/dir/", Node::Directory), Ok(("_rocm_sdk_devel/dir".to_owned(), vec![])));
        assert!(names.hard_link_target(b"_rocm_sdk_devel/file").is_ok());
        for name in ["_rocm_sdk_devel/link", "_rocm_sdk_devel/none", "/etc/passwd", "_rocm_sdk_devel/../x"] {
            assert!(names.hard_link_target(name.as_bytes()).is_err(), "{name}");
        }
    }
}
