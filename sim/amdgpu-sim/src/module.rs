//! Loaded code objects: relocated segments in the GPU's memory, with the addresses of kernels and variables.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};

use crate::code_object::{
    CodeObject, Global, Image, KernelInfo, LoadError, Relocation, RelocationKind, Segment, SymbolValue,
};
use crate::exec::{Program, Resources, Trap};
use crate::fault::SourceFrame;
use crate::isa::Arch;
use crate::memory::{Agent, Memory};
use crate::observe::source;

/// A code object in a GPU's memory. It is unloaded when the last reference to it and to its kernels is dropped.
#[derive(Debug)]
pub struct Module {
    loaded: Arc<Loaded>,
    kernels: HashMap<String, Kernel>,
    globals: HashMap<String, (u64, u64)>,
}

/// The part of a module that its kernels keep alive.
#[derive(Debug)]
struct Loaded {
    memory: Arc<Memory>,
    kernels: Arc<KernelTable>,
    base: u64,
    span: u64,
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // First, so that an image loaded at the same address does not lose its kernels.
        self.kernels.remove(self.base, self.base.saturating_add(self.span));
        self.memory.free_image(self.base, self.span);
    }
}

/// The kernels loaded on a GPU, by descriptor address.
#[derive(Debug, Default)]
pub(crate) struct KernelTable(RwLock<BTreeMap<u64, Weak<KernelInner>>>);

impl KernelTable {
    /// The kernel whose descriptor is at `address`.
    pub(crate) fn get(&self, address: u64) -> Option<Kernel> {
        let table = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Some(Kernel { inner: table.get(&address)?.upgrade()? })
    }

    fn insert(&self, kernels: impl Iterator<Item = Kernel>) {
        let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
        table.extend(kernels.map(|k| (k.descriptor_address(), Arc::downgrade(&k.inner))));
    }

    /// Removes the kernels with descriptors in `base..end`.
    fn remove(&self, base: u64, end: u64) {
        let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let gone: Vec<u64> = table.range(base..end).map(|(address, _)| *address).collect();
        gone.iter().for_each(|address| drop(table.remove(address)));
    }
}

/// A kernel that can be dispatched. Cloning it is cheap.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub(crate) inner: Arc<KernelInner>,
}

#[derive(Debug)]
pub(crate) struct KernelInner {
    /// A process-wide unique number, which is never reused.
    pub(crate) id: u64,
    pub(crate) info: KernelInfo,
    /// Where the image begins.
    pub(crate) base: u64,
    /// Address (from the start of the image) and size of its code segment.
    code: (u64, u64),
    /// The lowered code, created by the first dispatch.
    program: OnceLock<Result<Program, Trap>>,
    /// The number of instructions of a workgroup in the last dispatch; 0 before.
    pub(crate) cost: AtomicU64,
    /// The code object, if it has debug information and the feature that reads it is enabled.
    debug: Option<Arc<[u8]>>,
    _loaded: Arc<Loaded>,
}

impl KernelInner {
    /// Address of the first instruction.
    pub(crate) fn entry_address(&self) -> u64 {
        self.base + self.info.entry
    }

    /// The lowered code.
    pub(crate) fn program(&self, memory: &Memory, arch: Arch, whole: usize) -> Result<&Program, Trap> {
        let program = self.program.get_or_init(|| {
            let (address, size) = (self.base + self.code.0, self.code.1);
            let mut bytes = vec![0; size as usize];
            memory.read(address, &mut bytes).map_err(|_| Trap::WildJump(address))?;
            let words = bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]));
            let text: Vec<u32> = words.collect();
            Program::lower(&text, address, self.entry_address(), Resources::of(&self.info.descriptor), arch, whole)
        });
        program.as_ref().map_err(Clone::clone)
    }
}

impl Kernel {
    /// The source locations of instructions, innermost inlined function first, if known.
    pub(crate) fn source_of(&self, addresses: &[u64]) -> Vec<Vec<SourceFrame>> {
        let Some(file) = &self.inner.debug else { return vec![Vec::new(); addresses.len()] };
        let offsets: Vec<u64> = addresses.iter().map(|address| address.wrapping_sub(self.inner.base)).collect();
        source::frames(file, &offsets)
    }

    /// The kernel's properties from the code object.
    pub fn info(&self) -> &KernelInfo {
        &self.inner.info
    }

    /// The address of its descriptor: the kernel object of a dispatch packet.
    pub fn descriptor_address(&self) -> u64 {
        self.inner.base + self.inner.info.descriptor_address
    }
}

impl Module {
    pub(crate) fn load(
        memory: &Arc<Memory>,
        owner: Agent,
        table: &Arc<KernelTable>,
        code: &CodeObject,
        defined: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<Arc<Self>, LoadError> {
        static NEXT_ID: AtomicU64 = AtomicU64::new(0);
        let image = &code.image;
        let (base, span) = place(memory, owner, image, code.globals())?;
        let loaded = Arc::new(Loaded { memory: Arc::clone(memory), kernels: Arc::clone(table), base, span });
        for segment in &image.segments {
            memory.write(base + segment.address, image.contents(segment))?;
        }
        for relocation in &image.relocations {
            apply(memory, base, relocation, defined)?;
        }
        let debug = if cfg!(feature = "profile") { image.debug_information() } else { None };
        let kernel = |info: &KernelInfo| Kernel {
            inner: Arc::new(KernelInner {
                id: NEXT_ID.fetch_add(1, Relaxed),
                info: info.clone(),
                base,
                code: code_around(image, info.entry),
                program: OnceLock::new(),
                cost: AtomicU64::new(0),
                debug: debug.clone(),
                _loaded: Arc::clone(&loaded),
            }),
        };
        let kernels: HashMap<String, Kernel> = code.kernels().iter().map(|k| (k.name.clone(), kernel(k))).collect();
        table.insert(kernels.values().cloned());
        let globals = code.globals().iter().map(|g| (g.name.clone(), (base + g.address, g.size))).collect();
        Ok(Arc::new(Self { kernels, globals, loaded }))
    }

    /// The kernel of that name.
    pub fn kernel(&self, name: &str) -> Option<Kernel> {
        self.kernels.get(name).cloned()
    }

    /// All kernels, in no order.
    pub fn kernels(&self) -> impl Iterator<Item = &Kernel> {
        self.kernels.values()
    }

    /// Address and size in bytes of the device variable of that name.
    pub fn global(&self, name: &str) -> Option<(u64, u64)> {
        self.globals.get(name).copied()
    }

    /// Names of all device variables, in no order.
    pub fn globals(&self) -> impl Iterator<Item = &str> {
        self.globals.keys().map(String::as_str)
    }

    /// The address in memory of the code object's address 0.
    pub fn base(&self) -> u64 {
        self.loaded.base
    }

    /// The bytes that the code object takes in memory, from [`base`](Self::base) on.
    pub fn span(&self) -> u64 {
        self.loaded.span
    }
}

/// Address (from the start of the image) and size of the executable segment that contains `entry`.
fn code_around(image: &Image, entry: u64) -> (u64, u64) {
    // The parser checked that the entry is in one.
    let segment = image.segments.iter().find(|s| entry >= s.address && entry - s.address < s.size);
    segment.map_or((entry, 0), |s| (s.address, s.size))
}

/// Allocates an image and returns its base address and span.
///
/// Kernels may write to named constants, including `__constant__` variables: HIP's runtime sets those with a copy
/// kernel.
fn place(memory: &Memory, owner: Agent, image: &Image, globals: &[Global]) -> Result<(u64, u64), LoadError> {
    let named = |s: &Segment| globals.iter().any(|g| g.address >= s.address && g.address - s.address < s.size);
    let may_write = |s: &Segment| s.writable || (!s.executable && named(s));
    let segments: Vec<_> = image.segments.iter().map(|s| (s.address, s.size, may_write(s))).collect();
    let span = image.span();
    if span == 0 {
        return Err(LoadError::Segment("there are none".into()));
    }
    Ok((memory.alloc_image(owner, span, &segments)?, span))
}

/// Applies one relocation to an image at `base`.
fn apply(
    memory: &Memory,
    base: u64,
    relocation: &Relocation,
    defined: &dyn Fn(&str) -> Option<u64>,
) -> Result<(), LoadError> {
    let symbol = match &relocation.symbol {
        SymbolValue::Image(address) => base.wrapping_add(*address),
        SymbolValue::Absolute(value) => *value,
        SymbolValue::Undefined(name) => defined(name).ok_or_else(|| LoadError::UndefinedSymbol(name.to_string()))?,
    };
    let place = base + relocation.offset;
    let absolute = symbol.wrapping_add_signed(relocation.addend);
    let relative = absolute.wrapping_sub(place);
    let value = match relocation.kind {
        RelocationKind::Abs64 | RelocationKind::Abs32 | RelocationKind::Abs32Lo => absolute,
        RelocationKind::Abs32Hi => absolute >> 32,
        RelocationKind::Rel64 | RelocationKind::Rel32 | RelocationKind::Rel32Lo => relative,
        RelocationKind::Rel32Hi => relative >> 32,
        RelocationKind::Relative64 => base.wrapping_add_signed(relocation.addend),
    };
    let fits = match relocation.kind {
        RelocationKind::Abs32 => u32::try_from(value).is_ok(),
        RelocationKind::Rel32 => i32::try_from(value as i64).is_ok(),
        _ => true,
    };
    if !fits {
        return Err(LoadError::Relocation {
            offset: relocation.offset,
            reason: format!("{value:#x} does not fit 32 bits"),
        });
    }
    let bytes = value.to_le_bytes();
    Ok(memory.write(place, &bytes[..relocation.kind.size() as usize])?)
}
