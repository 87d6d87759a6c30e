//! One object of every kind that HSA's functions take: live, destroyed, and made for a single call.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{c_int, c_void};
use std::io::{Seek as _, Write as _};
use std::os::fd::AsRawFd as _;

use hsa_sim::abi::*;
use libloading::os::unix::Library;

use crate::row::kept;

/// The code object that is loaded.
pub(crate) const CODE: &[u8] = include_bytes!("../kernels/features.gfx90a.co");
/// Bytes of allocations, reservations and mappings.
pub(crate) const SIZE: usize = 8192;

/// A function called with integer arguments only: pointers, handles and sizes are passed in the same way.
pub(crate) type Plain = unsafe extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64, u64) -> u64;

/// The kinds of handles and addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Gpu,
    Isa,
    Wavefront,
    Cache,
    Pool,
    HostPool,
    Signal,
    Queue,
    Reader,
    /// An executable that is not frozen.
    Open,
    /// A frozen executable with a code object.
    Frozen,
    Symbol,
    Loaded,
    Image,
    Sampler,
    /// Memory of the GPU.
    Memory,
    /// Locked memory of the test.
    Locked,
    /// Reserved addresses.
    Reserved,
    /// Memory without addresses.
    Physical,
    /// Memory mapped to reserved addresses.
    Mapped,
    /// Memory of another driver.
    Foreign,
}

/// Every kind that a handle or address can be of.
pub(crate) const KINDS: [Kind; 21] = [
    Kind::Gpu,
    Kind::Isa,
    Kind::Wavefront,
    Kind::Cache,
    Kind::Pool,
    Kind::HostPool,
    Kind::Signal,
    Kind::Queue,
    Kind::Reader,
    Kind::Open,
    Kind::Frozen,
    Kind::Symbol,
    Kind::Loaded,
    Kind::Image,
    Kind::Sampler,
    Kind::Memory,
    Kind::Locked,
    Kind::Reserved,
    Kind::Physical,
    Kind::Mapped,
    Kind::Foreign,
];

impl Kind {
    /// The status for a handle of another kind; `None` if any error is correct.
    pub(crate) fn refused(self) -> Option<hsa_status_t> {
        Some(match self {
            Self::Gpu => HSA_STATUS_ERROR_INVALID_AGENT,
            Self::Isa => HSA_STATUS_ERROR_INVALID_ISA,
            Self::Wavefront => HSA_STATUS_ERROR_INVALID_WAVEFRONT,
            Self::Cache => HSA_STATUS_ERROR_INVALID_CACHE,
            Self::Pool | Self::HostPool => HSA_STATUS_ERROR_INVALID_MEMORY_POOL,
            Self::Signal => HSA_STATUS_ERROR_INVALID_SIGNAL,
            Self::Queue => HSA_STATUS_ERROR_INVALID_QUEUE,
            Self::Reader => HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER,
            Self::Open | Self::Frozen => HSA_STATUS_ERROR_INVALID_EXECUTABLE,
            Self::Symbol => HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL,
            Self::Loaded => HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
            Self::Image | Self::Sampler => HSA_STATUS_ERROR_INVALID_ARGUMENT,
            Self::Physical => HSA_STATUS_ERROR_INVALID_ALLOCATION,
            Self::Memory | Self::Locked | Self::Reserved | Self::Mapped | Self::Foreign => return None,
        })
    }

    /// Returns whether it is an address to which programs add offsets, rather than a handle.
    pub(crate) fn is_address(self) -> bool {
        matches!(self, Self::Memory | Self::Locked | Self::Reserved | Self::Mapped | Self::Foreign)
    }

    /// Returns whether a function that takes this kind also accepts the other.
    pub(crate) fn is_like(self, other: Self) -> bool {
        let pools = [Self::Pool, Self::HostPool];
        let executables = [Self::Open, Self::Frozen];
        self == other || [pools, executables].iter().any(|alike| alike.contains(&self) && alike.contains(&other))
    }
}

/// The library, and the objects made with it.
pub(crate) struct World {
    library: Library,
    loader: HashMap<&'static str, u64>,
    pub(crate) live: BTreeMap<Kind, u64>,
    pub(crate) ended: BTreeMap<Kind, u64>,
    pub(crate) cpu: u64,
    /// Memory of the test.
    pub(crate) own: u64,
    /// The same, to be locked by a single call.
    pub(crate) lockable: u64,
    /// The handle with which other processes could open the live memory.
    pub(crate) shared: Vec<u8>,
    /// A shareable signal, and the handle with which other processes could open it.
    pub(crate) signal: u64,
    pub(crate) shared_signal: Vec<u8>,
    /// Whether the runtime is started.
    pub(crate) running: bool,
    pub(crate) file: std::fs::File,
    /// The descriptor of memory that another driver has exported.
    pub(crate) foreign: c_int,
    /// The GPU's PCI device id.
    pub(crate) chip: u32,
    /// The memory of the images.
    data: u64,
}

/// Memory of the test that is never freed.
fn own() -> u64 {
    kept(&vec![0_u64; SIZE / 4]).next_multiple_of(4096)
}

/// The description of a small image.
pub(crate) fn picture() -> hsa_ext_image_descriptor_t {
    let format = hsa_ext_image_format_t {
        channel_type: HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT,
        channel_order: HSA_EXT_IMAGE_CHANNEL_ORDER_R,
    };
    let geometry = HSA_EXT_IMAGE_GEOMETRY_2D;
    hsa_ext_image_descriptor_t { geometry, width: 16, height: 4, format, ..hsa_ext_image_descriptor_t::default() }
}

unsafe extern "C" fn keep(handle: u64, list: *mut c_void) -> hsa_status_t {
    // SAFETY: the list of `World::each`, for the time of the call.
    unsafe { (*list.cast::<Vec<u64>>()).push(handle) };
    HSA_STATUS_SUCCESS
}

unsafe extern "C" fn keep_second(_: u64, handle: u64, list: *mut c_void) -> hsa_status_t {
    // SAFETY: as above.
    unsafe { keep(handle, list) }
}

impl World {
    /// Contains only the library.
    pub(crate) fn new(library: Library) -> Self {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(CODE).unwrap();
        file.rewind().unwrap();
        Self {
            library,
            loader: HashMap::new(),
            live: KINDS.into_iter().map(|kind| (kind, 0x1000)).collect(),
            ended: BTreeMap::new(),
            cpu: 0x1000,
            own: own(),
            lockable: own(),
            shared: vec![0; 32],
            signal: 0x1000,
            shared_signal: vec![0; 32],
            running: false,
            file,
            foreign: -2,
            chip: 0,
            data: 0,
        }
    }

    /// The address of a function: exported, or in the loader extension's table.
    pub(crate) fn address(&self, name: &str) -> Option<Plain> {
        if let Some(address) = self.loader.get(name) {
            // SAFETY: an entry of the table.
            return Some(unsafe { std::mem::transmute::<usize, Plain>(*address as usize) });
        }
        // SAFETY: HSA's functions take at most ten arguments.
        unsafe { self.library.get::<Plain>(name.as_bytes()).ok().map(|function| *function) }
    }

    /// Calls a function.
    pub(crate) fn call(&self, name: &str, arguments: &[u64]) -> u64 {
        let function = self.address(name).unwrap_or_else(|| panic!("no {name}"));
        let mut all = [0_u64; 10];
        all[..arguments.len()].copy_from_slice(arguments);
        let [a, b, c, d, e, f, g, h, i, j] = all;
        // SAFETY: a function ignores the registers and stack slots beyond its parameters. The validity of the pointers is what the test is
        // about.
        unsafe { function(a, b, c, d, e, f, g, h, i, j) }
    }

    /// Calls a function that destroys an object, unless it has been destroyed.
    pub(crate) fn undo(&self, name: &str, arguments: &[u64]) {
        self.call(name, arguments);
    }

    /// Calls a function that must succeed.
    pub(crate) fn good(&self, name: &str, arguments: &[u64]) {
        let status = hsa_status_t(self.call(name, arguments) as u32);
        assert_eq!(status, HSA_STATUS_SUCCESS, "{name} {arguments:x?}");
    }

    /// Calls a function that returns a handle through its last argument.
    fn made(&self, name: &str, arguments: &[u64]) -> u64 {
        let mut place = 0_u64;
        let all: Vec<u64> = arguments.iter().copied().chain([(&raw mut place) as u64]).collect();
        self.good(name, &all);
        place
    }

    /// Collects the handles that a function passes to its callback, as its first argument or the second.
    fn each(&self, name: &str, arguments: &[u64], second: bool) -> Vec<u64> {
        let mut list: Vec<u64> = Vec::new();
        let callback = if second { keep_second as *const c_void as u64 } else { keep as *const c_void as u64 };
        let all: Vec<u64> = arguments.iter().copied().chain([callback, (&raw mut list) as u64]).collect();
        self.good(name, &all);
        list
    }

    fn at(&self, kind: Kind) -> u64 {
        self.live[&kind]
    }

    /// Creates one object of every kind. The runtime must be started.
    pub(crate) fn build(&mut self) {
        self.running = true;
        let mut table = [0_u64; 7];
        self.good(
            "hsa_system_get_major_extension_table",
            &[u64::from(HSA_EXTENSION_AMD_LOADER), 1, size_of_val(&table) as u64, (&raw mut table) as u64],
        );
        self.loader = LOADER.into_iter().zip(table).collect();
        let agents = self.each("hsa_iterate_agents", &[], false);
        self.cpu = agents[0];
        let gpu = agents[1];
        self.live.insert(Kind::Gpu, gpu);
        self.live.insert(Kind::Isa, self.each("hsa_agent_iterate_isas", &[gpu], false)[0]);
        self.live.insert(Kind::Cache, self.each("hsa_agent_iterate_caches", &[gpu], false)[0]);
        self.live.insert(Kind::Wavefront, self.each("hsa_isa_iterate_wavefronts", &[self.at(Kind::Isa)], false)[0]);
        self.live.insert(Kind::Pool, self.each("hsa_amd_agent_iterate_memory_pools", &[gpu], false)[0]);
        self.live.insert(Kind::HostPool, self.each("hsa_amd_agent_iterate_memory_pools", &[self.cpu], false)[0]);
        self.data = self.make(Kind::Memory);
        let (mut chip, mut foreign) = (0_u32, 0);
        self.good("hsa_agent_get_info", &[gpu, u64::from(HSA_AMD_AGENT_INFO_CHIP_ID), (&raw mut chip) as u64]);
        let physical = self.make(Kind::Physical);
        self.good("hsa_amd_vmem_export_shareable_handle", &[(&raw mut foreign) as u64, physical, 0]);
        self.end(Kind::Physical, physical);
        (self.chip, self.foreign) = (chip, foreign);
        let there = [Kind::Gpu, Kind::Isa, Kind::Wavefront, Kind::Cache, Kind::Pool, Kind::HostPool];
        let mut made = Vec::new();
        for kind in KINDS.into_iter().filter(|kind| !there.contains(kind)) {
            made.push((kind, (0..8).map(|_| self.make(kind)).collect::<Vec<u64>>()));
            self.live.insert(kind, self.make(kind));
        }
        for (kind, many) in made {
            // The slot of the first destroyed one is reused last.
            many.iter().for_each(|one| self.end(kind, *one));
            self.ended.insert(kind, many[0]);
        }
        let mut handle = vec![0_u8; 32];
        self.good("hsa_amd_ipc_memory_create", &[self.at(Kind::Memory), SIZE as u64, handle.as_mut_ptr() as u64]);
        self.shared = handle;
        self.signal = self.made("hsa_amd_signal_create", &[0, 0, 0, u64::from(HSA_AMD_SIGNAL_IPC)]);
        let mut handle = vec![0_u8; 32];
        self.good("hsa_amd_ipc_signal_create", &[self.signal, handle.as_mut_ptr() as u64]);
        self.shared_signal = handle;
    }

    /// Makes one.
    pub(crate) fn make(&self, kind: Kind) -> u64 {
        if !self.running {
            return self.at(kind);
        }
        let size = SIZE as u64;
        match kind {
            Kind::Signal => self.made("hsa_signal_create", &[0, 0, 0]),
            Kind::Queue => self.made("hsa_queue_create", &[self.at(Kind::Gpu), 64, 0, 0, 0, 0, 0]),
            Kind::Reader => {
                self.made("hsa_code_object_reader_create_from_memory", &[CODE.as_ptr() as u64, CODE.len() as u64])
            }
            Kind::Open => self.made("hsa_executable_create_alt", &[1, 0, 0]),
            Kind::Frozen => {
                let (reader, executable) = (self.make(Kind::Reader), self.make(Kind::Open));
                let arguments = [executable, self.at(Kind::Gpu), reader, 0, 0];
                self.good("hsa_executable_load_agent_code_object", &arguments);
                self.good("hsa_executable_freeze", &[executable, 0]);
                self.end(Kind::Reader, reader);
                executable
            }
            Kind::Symbol => {
                let executable = self.make(Kind::Frozen);
                self.each("hsa_executable_iterate_symbols", &[executable], true)[0]
            }
            Kind::Loaded => {
                let executable = self.make(Kind::Frozen);
                self.each("hsa_ven_amd_loader_executable_iterate_loaded_code_objects", &[executable], true)[0]
            }
            Kind::Image => {
                let picture = picture();
                let arguments = [self.at(Kind::Gpu), (&raw const picture) as u64, self.data, 3];
                self.made("hsa_ext_image_create", &arguments)
            }
            Kind::Sampler => {
                let sampler = hsa_ext_sampler_descriptor_t::default();
                self.made("hsa_ext_sampler_create", &[self.at(Kind::Gpu), (&raw const sampler) as u64])
            }
            Kind::Memory => self.made("hsa_amd_memory_pool_allocate", &[self.at(Kind::Pool), size, 0]),
            Kind::Locked => self.made("hsa_amd_memory_lock", &[own(), size, 0, 0]),
            Kind::Reserved => {
                let mut base = 0_u64;
                self.good("hsa_amd_vmem_address_reserve", &[(&raw mut base) as u64, size, 0, 0]);
                base
            }
            Kind::Physical => self.made("hsa_amd_vmem_handle_create", &[self.at(Kind::Pool), size, 0, 0]),
            Kind::Mapped => {
                let (base, physical) = (self.make(Kind::Reserved), self.make(Kind::Physical));
                self.good("hsa_amd_vmem_map", &[base, size, 0, physical, 0]);
                self.end(Kind::Physical, physical);
                base
            }
            Kind::Foreign => {
                let gpu = self.at(Kind::Gpu);
                let (mut size, mut base) = (0_u64, 0_u64);
                let (list, size, place) = ((&raw const gpu) as u64, (&raw mut size) as u64, (&raw mut base) as u64);
                self.good("hsa_amd_interop_map_buffer", &[1, list, self.foreign as u64, 0, size, place, 0, 0]);
                base
            }
            Kind::Gpu | Kind::Isa | Kind::Wavefront | Kind::Cache | Kind::Pool | Kind::HostPool => self.at(kind),
        }
    }

    /// Destroys an object, unless it has been destroyed.
    pub(crate) fn end(&self, kind: Kind, one: u64) {
        if !self.running {
            return;
        }
        let size = SIZE as u64;
        match kind {
            Kind::Signal => self.call("hsa_signal_destroy", &[one]),
            Kind::Queue => self.call("hsa_queue_destroy", &[one]),
            Kind::Reader => self.call("hsa_code_object_reader_destroy", &[one]),
            Kind::Open | Kind::Frozen => self.call("hsa_executable_destroy", &[one]),
            Kind::Symbol | Kind::Loaded => {
                // Found through the object that it belongs to.
                let (name, attribute) = match kind {
                    Kind::Loaded => ("hsa_ven_amd_loader_loaded_code_object_get_info", 1_u64),
                    _ => {
                        let all = self.each("hsa_ven_amd_loader_iterate_executables", &[], false);
                        let owner = all.into_iter().find(|executable| {
                            self.each("hsa_executable_iterate_symbols", &[*executable], true).contains(&one)
                        });
                        owner.into_iter().for_each(|owner| self.end(Kind::Frozen, owner));
                        return;
                    }
                };
                let mut owner = 0_u64;
                self.good(name, &[one, attribute, (&raw mut owner) as u64]);
                self.call("hsa_executable_destroy", &[owner])
            }
            Kind::Image => self.call("hsa_ext_image_destroy", &[self.at(Kind::Gpu), one]),
            Kind::Sampler => self.call("hsa_ext_sampler_destroy", &[self.at(Kind::Gpu), one]),
            Kind::Memory => self.call("hsa_amd_memory_pool_free", &[one]),
            Kind::Locked => self.call("hsa_amd_memory_unlock", &[one]),
            Kind::Reserved => self.call("hsa_amd_vmem_address_free", &[one, size]),
            Kind::Physical => self.call("hsa_amd_vmem_handle_release", &[one]),
            Kind::Mapped => {
                self.call("hsa_amd_vmem_unmap", &[one, size]);
                self.call("hsa_amd_vmem_address_free", &[one, size])
            }
            Kind::Foreign => self.call("hsa_amd_interop_unmap_buffer", &[one]),
            Kind::Gpu | Kind::Isa | Kind::Wavefront | Kind::Cache | Kind::Pool | Kind::HostPool => 0,
        };
    }

    /// The image descriptor of the live image, to which its handle points.
    pub(crate) fn image_words(&self) -> [u32; 8] {
        if !self.running {
            return [0; 8];
        }
        // SAFETY: the image is alive.
        unsafe { std::ptr::with_exposed_provenance::<[u32; 8]>(self.at(Kind::Image) as usize).read() }
    }

    /// The descriptor of a file with the code object.
    pub(crate) fn descriptor(&self) -> c_int {
        self.file.as_raw_fd()
    }

    /// The resources that a leak would increase: used memory of GPU and host, executables, threads, open files.
    pub(crate) fn used(&self) -> [u64; 5] {
        let left = |agent: u64| {
            let mut bytes = 0_u64;
            let attribute = u64::from(HSA_AMD_AGENT_INFO_MEMORY_AVAIL);
            self.good("hsa_agent_get_info", &[agent, attribute, (&raw mut bytes) as u64]);
            u64::MAX - bytes
        };
        let count = |folder: &str| std::fs::read_dir(folder).map_or(0, |entries| entries.count() as u64);
        let executables = self.each("hsa_ven_amd_loader_iterate_executables", &[], false).len() as u64;
        [left(self.at(Kind::Gpu)), left(self.cpu), executables, count("/proc/self/task"), count("/proc/self/fd")]
    }
}

/// The loader extension's functions, in the order of its table.
pub(crate) const LOADER: [&str; 7] = [
    "hsa_ven_amd_loader_query_host_address",
    "hsa_ven_amd_loader_query_segment_descriptors",
    "hsa_ven_amd_loader_query_executable",
    "hsa_ven_amd_loader_executable_iterate_loaded_code_objects",
    "hsa_ven_amd_loader_loaded_code_object_get_info",
    "hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size",
    "hsa_ven_amd_loader_iterate_executables",
];
