//! The kernel driver, its device nodes, and whether this user may open them.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde::Serialize;

use super::machine::{Machine, text};
use super::problem::Problems;

/// The kernel driver and its interfaces for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Driver {
    /// Release of the kernel.
    pub kernel: Option<String>,
    /// Whether `amdgpu` is loaded or built in.
    pub loaded: bool,
    /// Version of the module, if it has one: AMD's `amdgpu-dkms` does, the kernel's does not.
    pub version: Option<String>,
    /// Whether the driver offers computing (`/sys/class/kfd`).
    pub compute: bool,
    /// Whether this is WSL with a GPU of Windows (`/dev/dxg`).
    pub wsl: bool,
    /// AMD's GPUs on the PCI bus, with any driver.
    pub pci: Vec<PciDevice>,
    /// The device nodes.
    pub nodes: Vec<Node>,
    /// The current user.
    pub user: User,
}

/// A GPU on the PCI bus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PciDevice {
    /// `0000:03:00.0`
    pub address: String,
    /// AMD's model number, `0x740f`.
    pub device: String,
    /// The kernel driver of the GPU: `amdgpu`, or `vfio-pci` for one that is passed to a virtual machine.
    pub driver: Option<String>,
}

/// A file under `/dev`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Node {
    /// `/dev/kfd`, `/dev/dri/renderD128`
    pub path: String,
    /// `None` if the file does not exist.
    pub permissions: Option<Permissions>,
    /// Whether this user may read and write it.
    pub usable: bool,
}

/// The permissions of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Permissions {
    /// In octal digits, `660`.
    pub mode: String,
    /// The name of its owner, or the number if it has no name.
    pub owner: String,
    /// The name of its group, or the number if it has no name.
    pub group: String,
}

/// The user that runs the examination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct User {
    /// The login name, or the number if there is no name.
    pub name: String,
    /// The effective user number.
    pub uid: u32,
    /// The groups of this process, by name if they have one.
    pub groups: Vec<String>,
    #[serde(skip)]
    gids: Vec<u32>,
}

pub(crate) const KFD: &str = "/dev/kfd";
const AMD: &str = "0x1002";

impl Driver {
    pub(crate) fn examine(machine: &Machine) -> Self {
        let groups = Names::read(machine, "etc/group");
        let users = Names::read(machine, "etc/passwd");
        let user = User::read(machine, &users, &groups);
        let renders = machine.names("dev/dri").into_iter().filter(|name| name.starts_with("renderD"));
        let paths = std::iter::once(KFD.to_owned()).chain(renders.map(|name| format!("/dev/dri/{name}")));
        Self {
            kernel: machine.text("proc/sys/kernel/osrelease"),
            loaded: machine.exists("sys/module/amdgpu"),
            version: machine.text("sys/module/amdgpu/version"),
            compute: machine.exists("sys/class/kfd/kfd/topology"),
            wsl: machine.exists("dev/dxg"),
            pci: pci_devices(machine),
            nodes: paths.map(|path| Node::examine(machine, path, &user, &users, &groups)).collect(),
            user,
        }
    }

    pub(crate) fn node(&self, path: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.path == path)
    }

    /// Reports what prevents programs from using the driver. `gpus` is the number of GPUs that it lists.
    pub(crate) fn judge(&self, machine: &Machine, gpus: usize, problems: &mut Problems) {
        if self.wsl {
            return;
        }
        let ours: Vec<&PciDevice> =
            self.pci.iter().filter(|d| !d.driver.as_deref().is_some_and(|d| d.starts_with("vfio"))).collect();
        let kfd = self.node(KFD).and_then(|node| node.permissions.as_ref());
        match ours.first() {
            _ if gpus > 0 => {}
            None if self.pci.is_empty() && !self.compute => problems.error(
                "this machine has no AMD GPU",
                "kernels can be compiled without one; `hip-sim run --rocm 7.2 -- PROGRAM` runs a program on a software GPU, as does a build with hip's feature `sim`",
            ),
            None if !self.pci.is_empty() => problems.error(
                format!("the AMD GPU {} is given to virtual machines (driver vfio-pci)", self.pci[0].address),
                "run the program in that virtual machine, or give the GPU back to the driver amdgpu",
            ),
            Some(device) if !self.loaded => problems.error(
                format!("there is an AMD GPU at {}, but the kernel driver amdgpu is not loaded", device.address),
                "`sudo modprobe amdgpu`; if that fails, `sudo dmesg | grep amdgpu` shows the cause (missing firmware, an old kernel, a block list)",
            ),
            _ if !self.compute => problems.error(
                "the kernel driver amdgpu does not support compute: /sys/class/kfd is missing",
                "run a kernel built with CONFIG_HSA_AMD, or install AMD's amdgpu-dkms",
            ),
            _ => problems.error(
                "the kernel driver amdgpu lists no GPU with compute support",
                "`sudo dmesg | grep -e amdgpu -e kfd` shows the cause; the driver may not support an old GPU",
            ),
        }
        match kfd {
            None if gpus > 0 => problems.error(
                format!("{KFD} is missing though the driver shows a GPU"),
                "in a container, start it with `--device /dev/kfd --device /dev/dri`; elsewhere `sudo udevadm trigger`",
            ),
            Some(_) if machine.at("dev/kfd").is_dir() => problems.error(
                format!("{KFD} is a directory"),
                "remove it: a container created it in place of the device; start the container with `--device /dev/kfd`",
            ),
            _ => {}
        }
        for node in &self.nodes {
            let file = machine.at(node.path.trim_start_matches('/'));
            if let Some(permissions) = node.permissions.as_ref().filter(|_| !node.usable && gpus > 0 && !file.is_dir())
            {
                problems.error(
                    format!(
                        "{} may not open {} (mode {}, owner {}, group {})",
                        self.user.name, node.path, permissions.mode, permissions.owner, permissions.group
                    ),
                    self.user.way_in(machine, node, permissions),
                );
            }
        }
    }
}

impl Node {
    fn examine(machine: &Machine, path: String, user: &User, users: &Names, groups: &Names) -> Self {
        let file = machine.at(path.trim_start_matches('/'));
        let metadata = fs::metadata(&file).ok();
        let usable = metadata.as_ref().is_some_and(|m| {
            let allowed = match user {
                _ if user.uid == 0 => 6,
                _ if m.uid() == user.uid => m.mode() >> 6 & 7,
                _ if user.gids.contains(&m.gid()) => m.mode() >> 3 & 7,
                _ => m.mode() & 7,
            };
            // Access control lists, such as those for the user at the screen, are evaluated by the kernel.
            !m.is_dir() && (allowed & 6 == 6 || machine.is_this() && may_open(&file))
        });
        let permissions = metadata.map(|m| Permissions {
            mode: format!("{:o}", m.mode() & 0o7777),
            owner: users.name(m.uid()),
            group: groups.name(m.gid()),
        });
        Self { path, permissions, usable }
    }
}

#[cfg(target_os = "linux")]
fn may_open(path: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt as _;
    let Ok(path) = std::ffi::CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: a NUL-terminated path; nothing is opened.
    unsafe { crate::c::access(path.as_ptr(), crate::c::R_OK | crate::c::W_OK) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn may_open(_: &Path) -> bool {
    false
}

impl User {
    fn read(machine: &Machine, users: &Names, groups: &Names) -> Self {
        let status = machine.text("proc/self/status").unwrap_or_default();
        let numbers = |key: &str| -> Vec<u32> {
            let line = status.lines().find_map(|line| line.strip_prefix(key));
            line.unwrap_or_default().split_whitespace().filter_map(|n| n.parse().ok()).collect()
        };
        // Real, effective, saved, file system IDs.
        let effective = |numbers: &[u32]| numbers.get(1).or(numbers.first()).copied();
        let uid = effective(&numbers("Uid:")).unwrap_or(u32::MAX);
        let mut gids: Vec<u32> = effective(&numbers("Gid:")).into_iter().chain(numbers("Groups:")).collect();
        gids.sort_unstable();
        gids.dedup();
        Self { name: users.name(uid), uid, groups: gids.iter().map(|&gid| groups.name(gid)).collect(), gids }
    }

    /// Returns what to do to get access.
    fn way_in(&self, machine: &Machine, node: &Node, permissions: &Permissions) -> String {
        let group = &permissions.group;
        let mode = u32::from_str_radix(&permissions.mode, 8).unwrap_or(0);
        if mode >> 3 & 6 != 6 || group == "root" {
            let name = node.path.rsplit('/').next().unwrap_or_default();
            let name = if name.starts_with("renderD") { "renderD*" } else { name };
            return format!(
                "give it to a group: put `KERNEL==\"{name}\", GROUP=\"render\", MODE=\"0660\"` into \
                 /etc/udev/rules.d/70-amdgpu.rules, then `sudo udevadm control --reload && sudo udevadm trigger`"
            );
        }
        if group.bytes().all(|b| b.is_ascii_digit()) {
            return format!("start the container with `--group-add {group}`: the group has no name in here");
        }
        if Names::members(machine, group).contains(&self.name) {
            return format!(
                "{} is in the group {group} since after this session began: log out and in again",
                self.name
            );
        }
        format!("`sudo usermod -a -G {group} {}`, then log out and in again", self.name)
    }
}

/// The names in `/etc/passwd` or `/etc/group`.
struct Names(Vec<(u32, String)>);

impl Names {
    fn read(machine: &Machine, file: &str) -> Self {
        let text = machine.text(file).unwrap_or_default();
        let entry = |line: &str| -> Option<(u32, String)> {
            let mut fields = line.split(':');
            let name = fields.next()?.to_owned();
            Some((fields.nth(1)?.parse().ok()?, name))
        };
        Self(text.lines().filter_map(entry).collect())
    }

    fn name(&self, id: u32) -> String {
        self.0.iter().find(|entry| entry.0 == id).map_or_else(|| id.to_string(), |entry| entry.1.clone())
    }

    /// Returns the members of a group according to `/etc/group`.
    fn members(machine: &Machine, group: &str) -> Vec<String> {
        let text = machine.text("etc/group").unwrap_or_default();
        let line = text.lines().find(|line| line.split(':').next() == Some(group));
        let members = line.and_then(|line| line.split(':').nth(3)).unwrap_or_default();
        members.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
    }
}

/// Returns AMD's devices of the classes display and processing accelerator.
fn pci_devices(machine: &Machine) -> Vec<PciDevice> {
    let bus = "sys/bus/pci/devices";
    let devices = machine.names(bus).into_iter().filter_map(|address| {
        let read = |name: &str| text(&machine.at(bus).join(&address).join(name));
        let class = read("class")?;
        if read("vendor")? != AMD || !(class.starts_with("0x03") || class.starts_with("0x1200")) {
            return None;
        }
        let driver = fs::read_link(machine.at(bus).join(&address).join("driver")).ok();
        let driver = driver.and_then(|link| Some(link.file_name()?.to_string_lossy().into_owned()));
        Some(PciDevice { device: read("device").unwrap_or_default(), address, driver })
    });
    devices.collect()
}
