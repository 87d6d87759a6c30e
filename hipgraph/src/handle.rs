//! The resource handle, its engine, and the random state.

use std::ptr::null_mut;
use std::rc::Rc;

use hipgraph_sys::*;

use crate::error::{ADVICE, Error, Result, make};

/// The engine that runs the algorithms.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Engine {
    /// AMD's hipGRAPH.
    Library,
    /// Another engine, by its name: `reference`, or a provider that the program set.
    Provider(String),
}

impl std::fmt::Display for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Engine::Library => "hipGRAPH",
            Engine::Provider(name) => name,
        })
    }
}

/// Returns the engine that runs the algorithms.
///
/// # Errors
/// If no provider is set and hipGRAPH cannot be loaded. The error lists every path that was tried.
pub fn engine() -> Result<Engine> {
    match (BINDING.provider_name(), load_error()) {
        (Some(name), _) => Ok(Engine::Provider(name.to_owned())),
        (None, None) => Ok(Engine::Library),
        (None, Some(why)) => Err(Error::NoLibrary { report: why.with_advice(ADVICE) }),
    }
}

/// Returns whether AMD's library can be opened. This does not go through the binding, which a successful load would
/// bind.
#[cfg(feature = "reference")]
fn library_is_there() -> bool {
    static PROBE: rocm_loader::Binding = rocm_loader::Binding::new(&rocm_loader::libraries::HIPGRAPH);
    PROBE.check().is_ok()
}

/// Selects the reference engine if hipGRAPH cannot be loaded, for the whole process. Returns the engine.
///
/// # Errors
/// If the library was called before.
#[cfg(feature = "reference")]
pub fn reference_if_missing() -> Result<Engine> {
    if BINDING.provider_name().is_none() && !library_is_there() {
        return use_reference();
    }
    engine()
}

/// Selects the reference engine for the whole process, even if hipGRAPH is installed. Returns the engine.
///
/// # Errors
/// If the library was called before, or another provider is set.
#[cfg(feature = "reference")]
pub fn use_reference() -> Result<Engine> {
    let reference = hipgraph_reference::provider();
    if BINDING.provider_name() != Some(reference.name()) {
        let set = set_provider(reference);
        // Another thread may have set it first.
        if let (Err(why), true) = (set, BINDING.provider_name() != Some(reference.name())) {
            let report = format!("the reference engine cannot be chosen any more: {why}");
            return Err(Error::NoLibrary { report });
        }
    }
    engine()
}

struct Inner {
    handle: *mut hipgraph_resource_handle_t,
    /// The handle may have communicators: only then may the library be asked for ranks.
    over_raft: bool,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: the handle is alive; everything that was made with it keeps it alive.
        unsafe { hipgraph_free_resource_handle(self.handle) }
    }
}

/// The library's resources on the current device: streams, memory, communicators. Graphs and results keep it alive.
///
/// Clones share the handle. It is not `Send`: the library does not document that several threads can use a handle.
#[derive(Clone)]
#[doc(alias("hipgraph_create_resource_handle", "hipgraph_free_resource_handle"))]
pub struct ResourceHandle(Rc<Inner>);

impl ResourceHandle {
    /// Creates a handle on the current device.
    ///
    /// # Errors
    /// If no [`engine`] is available, or it returns no handle.
    pub fn new() -> Result<ResourceHandle> {
        engine()?;
        // SAFETY: null makes the library create its own resources.
        unsafe { ResourceHandle::create(null_mut(), "a handle on one device") }
    }

    /// Creates a handle from a `raft::handle_t*`, which carries the communicators of several GPUs.
    ///
    /// # Safety
    /// `raft` must be null or such a handle with communicators. It must live as long as this handle and everything that
    /// is made with it.
    ///
    /// # Errors
    /// As [`new`](Self::new). The reference engine accepts null only.
    pub unsafe fn from_raft(raft: *mut std::ffi::c_void) -> Result<ResourceHandle> {
        engine()?;
        // SAFETY: as the caller ensures.
        unsafe { ResourceHandle::create(raft, "a handle over RAFT's") }
    }

    /// # Safety
    /// As [`from_raft`](Self::from_raft).
    unsafe fn create(raft: *mut std::ffi::c_void, request: &str) -> Result<ResourceHandle> {
        // SAFETY: as the caller ensures.
        let handle = unsafe { hipgraph_create_resource_handle(raft) };
        if handle.is_null() {
            let function = "hipgraph_create_resource_handle";
            if let Some(why) = symbol_error(c"hipgraph_create_resource_handle") {
                return Err(Error::NoSymbol { function, report: why.to_string() });
            }
            return Err(Error::Library {
                status: HIPGRAPH_INVALID_HANDLE,
                message: "it returned null: a device and its driver must be available, and the engine must support it"
                    .to_owned(),
                function,
                request: request.to_owned(),
            });
        }
        Ok(ResourceHandle(Rc::new(Inner { handle, over_raft: !raft.is_null() })))
    }

    /// Creates a handle for one rank of several GPUs.
    ///
    /// hipGRAPH's C interface only accepts communicators inside a `raft::handle_t`, a C++ object: the function checks
    /// the rank, and returns an error that explains it. For one rank, the handle is the same as from
    /// [`new`](Self::new).
    ///
    /// # Errors
    /// If the communicator has more than one rank, or as [`new`](Self::new).
    #[cfg(feature = "rccl")]
    pub fn from_communicator(communicator: &rccl::Communicator) -> Result<ResourceHandle> {
        let ranks = communicator.size();
        if ranks == 1 {
            return ResourceHandle::new();
        }
        Err(crate::error::invalid(
            "the number of ranks",
            ranks.to_string(),
            "1: hipGRAPH takes communicators in a raft::handle_t of C++ only (`ResourceHandle::from_raft`)",
        ))
    }

    /// Returns the rank of this handle among the cooperating ranks; 0 on one GPU.
    #[doc(alias = "hipgraph_resource_handle_get_rank")]
    pub fn rank(&self) -> usize {
        if !self.0.over_raft {
            return 0;
        }
        // SAFETY: the handle is alive.
        usize::try_from(unsafe { hipgraph_resource_handle_get_rank(self.raw()) }).unwrap_or(0)
    }

    /// Returns the number of cooperating ranks; 1 on one GPU.
    #[doc(alias = "hipgraph_resource_handle_get_comm_size")]
    pub fn ranks(&self) -> usize {
        if !self.0.over_raft {
            return 1;
        }
        // SAFETY: the handle is alive.
        usize::try_from(unsafe { hipgraph_resource_handle_get_comm_size(self.raw()) }).unwrap_or(1)
    }

    pub(crate) fn raw(&self) -> *mut hipgraph_resource_handle_t {
        self.0.handle
    }
}

impl std::fmt::Debug for ResourceHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ResourceHandle").field(&self.raw()).finish()
    }
}

/// The state of the library's random number generator. The same seed gives the same results on the same engine.
#[doc(alias("hipgraph_rng_state_create", "hipgraph_rng_state_free"))]
pub struct RandomState {
    state: *mut hipgraph_rng_state_t,
    _handle: ResourceHandle,
}

impl RandomState {
    /// Creates a state from a seed.
    ///
    /// # Errors
    /// If the library returns one.
    pub fn new(handle: &ResourceHandle, seed: u64) -> Result<RandomState> {
        let request = || format!("random numbers from the seed {seed}");
        // SAFETY: the handle is alive, and the places are valid for writes.
        let state = make("hipgraph_rng_state_create", request, |state, error| unsafe {
            hipgraph_rng_state_create(handle.raw(), seed, state, error)
        })?;
        Ok(RandomState { state, _handle: handle.clone() })
    }

    pub(crate) fn raw(&mut self) -> *mut hipgraph_rng_state_t {
        self.state
    }
}

impl Drop for RandomState {
    fn drop(&mut self) {
        // SAFETY: the state is alive, and freed once.
        unsafe { hipgraph_rng_state_free(self.state) }
    }
}

impl std::fmt::Debug for RandomState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RandomState").finish_non_exhaustive()
    }
}
