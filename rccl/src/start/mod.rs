//! Startup: how ranks in separate processes find each other, on one host or many.
//!
//! A launcher passes each process its rank in variables: `rccl-run`, Slurm's `srun`, Open MPI's or MPICH's `mpirun`.
//! [`World::from_environment`] reads them, meets the other ranks at a [`Hub`], which rank 0 or `rccl-run` runs, and
//! creates a [`Communicator`] with them.
//!
//! ```no_run
//! use hip::DeviceBuffer;
//! use rccl::start::World;
//! use rccl::{Config, Op};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let world = World::from_environment()?;
//!     let device = world.device()?;
//!     let communicator = world.communicator(&device, &Config::new())?;
//!     let mut numbers = DeviceBuffer::from_slice(&device, &[world.rank() as f32; 1000])?;
//!     communicator.all_reduce_in_place(&mut numbers, Op::Sum)?;
//!     communicator.synchronize()?;
//!     Ok(())
//! }
//! ```
//!
//! # Variables
//!
//! | variable | meaning |
//! |---|---|
//! | `RANK`, `WORLD_SIZE`, `LOCAL_RANK` | rank, number of ranks, rank on this host (`rccl-run`) |
//! | `SLURM_PROCID`, `SLURM_NTASKS`, `SLURM_LOCALID` | the same, from Slurm |
//! | `OMPI_COMM_WORLD_RANK`, `..._SIZE`, `..._LOCAL_RANK` | the same, from Open MPI |
//! | `PMI_RANK`, `PMI_SIZE`, `MPI_LOCALRANKID` | the same, from MPICH and Intel MPI |
//! | `MASTER_ADDR`, `MASTER_PORT` | the address of rank 0. If they are not set under Slurm, its first node and a port derived from the job number |
//! | `RCCL_RS_SECRET`, `RCCL_RS_SECRET_FILE` | the secret that all ranks share, or a file that contains it: any text of at least 16 bytes |
//! | `RCCL_RS_HUB` | `launcher` if the launcher runs the hub, and not rank 0 |
//!
//! # Security
//! Each side proves that it knows the secret (keyed BLAKE3 over fresh random numbers), and each message is
//! authenticated. A caller that does not know it is rejected and logged. Messages are not encrypted. The library's own
//! connections between ranks are not authenticated: use a trusted network.

mod error;
mod hub;
#[cfg(all(unix, feature = "mpi"))]
mod mpi;
mod placement;
mod secret;
mod wire;

use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hip::Device;

pub use error::Error;
pub use hub::Hub;
#[cfg(all(unix, feature = "mpi"))]
#[cfg_attr(docsrs, doc(cfg(feature = "mpi")))]
pub use mpi::Mpi;
pub use placement::Placement;
pub use secret::Secret;

use crate::communicator::{Communicator, UniqueId};
use crate::config::Config;
use wire::{Channel, Request, Response};

/// The default limit of waits for ranks.
const TIMEOUT: Duration = Duration::from_secs(300);

/// The ranks of a program, as seen by one of them: a connection to the hub.
#[derive(Debug)]
pub struct World {
    placement: Placement,
    address: String,
    timeout: Duration,
    channel: Mutex<Channel>,
    /// `Some` on rank 0, unless the launcher runs the hub.
    _hub: Option<Hub>,
}

impl World {
    /// Joins the world that the launcher's variables describe. Waits for all ranks, for up to five minutes.
    ///
    /// # Errors
    /// [`Error::Environment`] for missing or invalid variables; [`Error::Missing`] names the missing ranks;
    /// [`Error::Connection`]; [`Error::Refused`].
    pub fn from_environment() -> Result<Self, Error> {
        Self::from_environment_with(TIMEOUT)
    }

    /// As [`from_environment`](Self::from_environment), with another deadline: for the start, and for each later wait.
    ///
    /// # Errors
    /// The errors of [`from_environment`](Self::from_environment).
    pub fn from_environment_with(timeout: Duration) -> Result<Self, Error> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let placement = Placement::from_variables(&variable)?;
        let secret = Secret::from_environment(&variable)?;
        let hub = match variable("RCCL_RS_HUB").as_deref() {
            Some("launcher") => None,
            Some(other) => {
                return Err(Error::environment("RCCL_RS_HUB", Some(other.to_owned()), "`launcher`, or not set"));
            }
            None if placement.rank == 0 => Some(Hub::listen(&placement.hub, placement.size, &secret)?),
            None => None,
        };
        Self::join(placement, &secret, timeout, hub)
    }

    /// Meets the other ranks at the hub at [`Placement::hub`]. If `hub` is `Some`, it lives as long as the world.
    ///
    /// # Errors
    /// The errors of [`from_environment`](Self::from_environment).
    pub fn join(placement: Placement, secret: &Secret, timeout: Duration, hub: Option<Hub>) -> Result<Self, Error> {
        let address = placement.hub.clone();
        let deadline = Instant::now() + timeout;
        let stream = connect(&address, deadline)?;
        let channel = Channel::knock(stream, &address, secret, placement.rank, placement.size, deadline)?;
        let world = Self { placement, address, timeout, channel: Mutex::new(channel), _hub: hub };
        world.exchange_until(&[], deadline, timeout)?;
        Ok(world)
    }

    /// Returns this rank.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.placement.rank
    }

    /// Returns the number of ranks.
    #[must_use]
    pub fn size(&self) -> usize {
        self.placement.size
    }

    /// Returns the rank among those of this host.
    #[must_use]
    pub fn local_rank(&self) -> usize {
        self.placement.local_rank
    }

    /// Returns the device for this rank: the device whose index is the rank on this host.
    ///
    /// # Errors
    /// The errors of [`Device::get`]; an error if there are fewer devices than ranks on this host.
    pub fn device(&self) -> crate::Result<Device> {
        device_of(self.local_rank())
    }

    /// Gathers the bytes of all ranks on all ranks, in rank order. At most 64 KB each.
    ///
    /// # Errors
    /// [`Error::Missing`] names the ranks that are missing or lost; [`Error::Connection`].
    pub fn exchange(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        self.exchange_until(bytes, Instant::now() + self.timeout, self.timeout)
    }

    fn exchange_until(&self, bytes: &[u8], deadline: Instant, whole: Duration) -> Result<Vec<Vec<u8>>, Error> {
        let left = deadline.saturating_duration_since(Instant::now());
        let request = Request::Exchange { timeout: left, bytes: bytes.to_vec() };
        match self.ask(&request, left)? {
            Response::All(all) => Ok(all),
            Response::Missing(ranks) => Err(Error::Missing { ranks, size: self.size(), waited: whole }),
            other => Err(Error::connection(&self.address, format!("an answer out of place: {other:?}"))),
        }
    }

    fn ask(&self, request: &Request, timeout: Duration) -> Result<Response, Error> {
        let mut channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner);
        // The hub answers at the deadline; a lost hub does not.
        channel.ask(request, timeout + Duration::from_secs(5)).map_err(|error| Error::connection(&self.address, error))
    }

    /// Waits for all ranks.
    ///
    /// # Errors
    /// The errors of [`exchange`](Self::exchange).
    pub fn barrier(&self) -> Result<(), Error> {
        self.exchange(&[]).map(drop)
    }

    /// Creates a communicator of all ranks, each on its device: rank 0 creates an id, and all receive it.
    ///
    /// # Errors
    /// The errors of [`exchange`](Self::exchange) and of [`Communicator::init_rank`].
    pub fn communicator(&self, device: &Device, config: &Config) -> crate::Result<Communicator> {
        // An error is sent, too: the other ranks must not wait for an id that never comes.
        let own = (self.rank() == 0).then(UniqueId::new);
        let bytes = match &own {
            Some(Ok(id)) => id.to_bytes().to_vec(),
            _ => Vec::new(),
        };
        let all = self.exchange(&bytes)?;
        let id = match own {
            Some(id) => id?,
            None => {
                let bytes = all.first().and_then(|bytes| <[u8; 128]>::try_from(bytes.as_slice()).ok());
                let bytes = bytes.ok_or_else(|| Error::connection(&self.address, "rank 0 could not make an id"))?;
                UniqueId::from_bytes(bytes)
            }
        };
        Communicator::init_rank(device, id, self.rank(), self.size(), config)
    }

    /// Forms the world of the remaining ranks: all that call this within `window`, counted from the first. Ranks whose
    /// process has ended are not waited for. The ranks get new numbers, in the order of the old ones. A restarted
    /// process can [`join`](Self::join), under a free rank.
    ///
    /// # Errors
    /// [`Error::Connection`] if the hub is lost, or has continued without this rank.
    pub fn regroup(&mut self, window: Duration) -> Result<(), Error> {
        match self.ask(&Request::Regroup { window }, window.max(self.timeout))? {
            Response::Regrouped { rank, size } => {
                (self.placement.rank, self.placement.size) = (rank, size);
                Ok(())
            }
            other => Err(Error::connection(&self.address, format!("an answer out of place: {other:?}"))),
        }
    }
}

/// Returns the device for a rank of this host.
fn device_of(local_rank: usize) -> crate::Result<Device> {
    let count = Device::count()?;
    if local_rank < count {
        return Ok(Device::get(local_rank)?);
    }
    // A launcher may make only one device visible to each rank.
    if count == 1 {
        return Ok(Device::get(0)?);
    }
    let allowed = format!("less than {count}, the number of devices");
    Err(crate::Error::invalid("the rank on this host", local_rank.to_string(), allowed))
}

/// Connects to the hub, which may not be running yet.
fn connect(address: &str, deadline: Instant) -> Result<TcpStream, Error> {
    loop {
        let resolved: Result<Vec<SocketAddr>, _> = address.to_socket_addrs().map(Iterator::collect);
        let mut reason = match &resolved {
            Ok(addresses) if addresses.is_empty() => "the name has no address".to_owned(),
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        };
        for address in resolved.unwrap_or_default() {
            let left = deadline.saturating_duration_since(Instant::now()).min(Duration::from_secs(5));
            match TcpStream::connect_timeout(&address, left.max(Duration::from_millis(1))) {
                Ok(stream) => return Ok(stream),
                Err(error) => reason = error.to_string(),
            }
        }
        if Instant::now() >= deadline {
            return Err(Error::connection(address, reason));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
