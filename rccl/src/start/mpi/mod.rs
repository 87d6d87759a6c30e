//! Ranks that MPI has started: MPI distributes the id, without a hub, a secret or variables.
//!
//! MPI is loaded at run time: Open MPI or MPICH (Intel MPI, MVAPICH and Cray MPICH share its ABI).

mod library;

use std::marker::PhantomData;
use std::rc::Rc;

use hip::Device;

use super::Error;
use crate::communicator::{Communicator, UniqueId};
use crate::config::Config;
use library::Library;

/// The ranks of `MPI_COMM_WORLD`, as seen by one of them.
///
/// The library is the one that the process has loaded, or that `RCCL_RS_MPI` names, or that of the launcher:
/// `libmpi.so.40` or `libmpich.so.12`. MPI is initialized if needed, and finalized when the value that did so is
/// dropped.
///
/// MPI calls have no deadline. A rank that fails ends all ranks, with MPI's default error handler. To continue without
/// a lost rank, use [`World`](super::World), which works under `mpirun`, too.
///
/// ```no_run
/// use rccl::Config;
/// use rccl::start::Mpi;
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let mpi = Mpi::init()?;
///     let device = mpi.device()?;
///     let communicator = mpi.communicator(&device, &Config::new())?;
///     println!("rank {} of {}", communicator.rank(), communicator.size());
///     Ok(())
/// }
/// ```
#[derive(Debug)]
#[doc(alias("MPI_Init", "MPI_Finalize"))]
pub struct Mpi {
    library: &'static Library,
    rank: usize,
    size: usize,
    local_rank: usize,
    finalize: bool,
    /// Bound to the thread that calls MPI.
    _thread: PhantomData<Rc<()>>,
}

impl Mpi {
    /// Finds MPI, and initializes it if the program has not (`MPI_Init_thread` with `MPI_THREAD_SERIALIZED`).
    ///
    /// # Errors
    /// [`Error::Mpi`] if no MPI can be loaded, with the names that were tried; if MPI was finalized before; if this
    /// thread may not call it; and if the launcher belongs to another MPI than the library, so that each rank is alone.
    pub fn init() -> Result<Self, Error> {
        let library = library::library()?;
        let finalize = library.init()?;
        let (rank, size) = library.rank_and_size()?;
        let mut mpi = Self { library, rank, size, local_rank: 0, finalize, _thread: PhantomData };
        library::expect_size(size, library.name())?;
        mpi.local_rank = library.local_rank(rank)?;
        Ok(mpi)
    }

    /// Returns this rank.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the number of ranks.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the rank among those of this host (`MPI_Comm_split_type`).
    #[must_use]
    pub fn local_rank(&self) -> usize {
        self.local_rank
    }

    /// Returns the device for this rank: the device whose index is the rank on this host.
    ///
    /// # Errors
    /// The errors of [`World::device`](super::World::device).
    pub fn device(&self) -> crate::Result<Device> {
        super::device_of(self.local_rank)
    }

    /// Copies the bytes of one rank to all ranks (`MPI_Bcast`): all must call it, with the same number of bytes.
    ///
    /// # Errors
    /// [`Error::Mpi`] for a root that is not a rank, for 2 GiB or more, and for errors of MPI.
    #[doc(alias = "MPI_Bcast")]
    pub fn broadcast(&self, bytes: &mut [u8], root: usize) -> Result<(), Error> {
        if root >= self.size {
            return Err(Error::mpi(format!("the root is {root}, but must be less than {}", self.size)));
        }
        self.library.broadcast(bytes, root)
    }

    /// Creates a communicator of all ranks, each on its device: rank 0 creates an id, and all receive it.
    ///
    /// # Errors
    /// The errors of [`broadcast`](Self::broadcast) and of [`Communicator::init_rank`].
    pub fn communicator(&self, device: &Device, config: &Config) -> crate::Result<Communicator> {
        // One more byte states whether there is an id. The other ranks must not wait for one that never comes.
        let own = (self.rank == 0).then(UniqueId::new);
        let mut bytes = [0; 129];
        if let Some(Ok(id)) = &own {
            bytes[..128].copy_from_slice(&id.to_bytes());
            bytes[128] = 1;
        }
        self.broadcast(&mut bytes, 0)?;
        let id = match own {
            Some(id) => id?,
            None if bytes[128] == 1 => {
                let mut id = [0; 128];
                id.copy_from_slice(&bytes[..128]);
                UniqueId::from_bytes(id)
            }
            None => return Err(Error::mpi("rank 0 could not make an id: see its error").into()),
        };
        Communicator::init_rank(device, id, self.rank, self.size, config)
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        if self.finalize {
            self.library.finalize();
        }
    }
}
