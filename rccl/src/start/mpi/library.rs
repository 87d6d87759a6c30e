//! MPI's C functions, in the two existing ABIs. In Open MPI's, handles are addresses of objects of the library; in
//! MPICH's, numbers.

use std::ffi::{CStr, OsString, c_char, c_int, c_void};
use std::fmt;
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;

use libloading::os::unix::{Library as File, RTLD_GLOBAL, RTLD_NOW};

use super::super::Error;

/// The variable with the library's absolute path.
const VARIABLE: &str = "RCCL_RS_MPI";
const OPEN_MPI: [&str; 1] = ["libmpi.so.40"];
const MPICH: [&str; 2] = ["libmpich.so.12", "libmpi.so.12"];

/// The variable in which Open MPI's launcher passes the number of ranks.
const OPEN_MPI_SIZE: &str = "OMPI_COMM_WORLD_SIZE";
const SIZES: [&str; 2] = [OPEN_MPI_SIZE, "PMI_SIZE"];

const SERIALIZED: c_int = 2;
const SUCCESS: c_int = 0;

/// The functions, with handles of one ABI.
struct Functions<H> {
    initialized: unsafe extern "C" fn(*mut c_int) -> c_int,
    finalized: unsafe extern "C" fn(*mut c_int) -> c_int,
    init_thread: unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int) -> c_int,
    query_thread: unsafe extern "C" fn(*mut c_int) -> c_int,
    is_thread_main: unsafe extern "C" fn(*mut c_int) -> c_int,
    finalize: unsafe extern "C" fn() -> c_int,
    comm_rank: unsafe extern "C" fn(H, *mut c_int) -> c_int,
    comm_size: unsafe extern "C" fn(H, *mut c_int) -> c_int,
    comm_split_type: unsafe extern "C" fn(H, c_int, c_int, H, *mut H) -> c_int,
    comm_free: unsafe extern "C" fn(*mut H) -> c_int,
    bcast: unsafe extern "C" fn(*mut c_void, c_int, H, c_int, H) -> c_int,
    world: H,
    byte: H,
    no_info: H,
    /// `MPI_COMM_TYPE_SHARED`
    shared: c_int,
}

// SAFETY: addresses and numbers; `init` checks which thread calls MPI.
unsafe impl<H> Send for Functions<H> {}
// SAFETY: as above; nothing is modified.
unsafe impl<H> Sync for Functions<H> {}

enum Abi {
    OpenMpi(Functions<*mut c_void>),
    Mpich(Functions<c_int>),
}

/// The MPI library of the process.
pub(super) struct Library {
    name: String,
    abi: Abi,
    /// Never closed: MPI has threads and exit functions.
    _file: File,
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let abi = if matches!(self.abi, Abi::OpenMpi(_)) { "Open MPI" } else { "MPICH" };
        f.debug_struct("Library").field("name", &self.name).field("abi", &abi).finish()
    }
}

/// Finds the library, once.
pub(super) fn library() -> Result<&'static Library, Error> {
    static FOUND: OnceLock<Result<Library, Error>> = OnceLock::new();
    FOUND.get_or_init(find).as_ref().map_err(Clone::clone)
}

fn find() -> Result<Library, Error> {
    if let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        if !Path::new(&path).is_absolute() {
            let needed = "the absolute path of an MPI library";
            return Err(Error::environment(VARIABLE, Some(path.to_string_lossy().into_owned()), needed));
        }
        return open(&path, RTLD_NOW | RTLD_GLOBAL).and_then(|file| bind(&path, file)).map_err(Error::mpi);
    }
    // The launcher's own library comes first.
    let names: Vec<OsString> = if std::env::var_os(OPEN_MPI_SIZE).is_some() {
        OPEN_MPI.into_iter().chain(MPICH).map(OsString::from).collect()
    } else {
        MPICH.into_iter().chain(OPEN_MPI).map(OsString::from).collect()
    };
    let mut tried = Vec::new();
    // First libraries that the process has already loaded, then those that can be loaded.
    for flags in [RTLD_NOW | libc::RTLD_NOLOAD, RTLD_NOW | RTLD_GLOBAL] {
        for name in &names {
            match open(name, flags).and_then(|file| bind(name, file)) {
                Ok(library) => return Ok(library),
                Err(reason) if flags & libc::RTLD_NOLOAD == 0 => tried.push(reason),
                Err(_) => {}
            }
        }
    }
    let tried = tried.join("; ");
    Err(Error::mpi(format!("no MPI library could be loaded ({VARIABLE} names one by its absolute path): {tried}")))
}

fn open(name: &OsString, flags: c_int) -> Result<File, String> {
    // SAFETY: an MPI library, whose initializers are trusted. Its own plugins need its symbols to be global.
    unsafe { File::open(Some(name), flags) }.map_err(|error| error.to_string())
}

fn bind(name: &OsString, file: File) -> Result<Library, String> {
    let name = name.to_string_lossy().into_owned();
    let object = |symbol: &CStr| -> Option<*mut c_void> {
        // SAFETY: only the address is read.
        unsafe { file.get::<*mut c_void>(symbol.to_bytes_with_nul()) }.ok().map(|symbol| symbol.into_raw())
    };
    let open_mpi = [c"ompi_mpi_comm_world", c"ompi_mpi_byte", c"ompi_mpi_info_null"].map(object);
    let abi = if let [Some(world), Some(byte), Some(no_info)] = open_mpi {
        Abi::OpenMpi(functions(&name, &file, [world, byte, no_info], 0)?)
    } else if version(&file).is_some_and(|text| has_abi_of_mpich(&text)) {
        // Defined by the MPICH ABI Compatibility Initiative.
        Abi::Mpich(functions(&name, &file, [0x4400_0000, 0x4c00_010d, 0x1c00_0000], 1)?)
    } else {
        return Err(format!("{name} is neither Open MPI nor MPICH"));
    };
    Ok(Library { name, abi, _file: file })
}

fn has_abi_of_mpich(version: &str) -> bool {
    ["MPICH", "Intel", "MVAPICH", "CRAY"].iter().any(|name| version.contains(name))
}

/// Returns the library's version text, which is available before MPI is initialized.
fn version(file: &File) -> Option<String> {
    // `MPI_MAX_LIBRARY_VERSION_STRING` is 8192 in MPICH.
    let (mut text, mut len) = (vec![0_u8; 16384], 0);
    // SAFETY: MPI's function has this type. The buffer is longer than any text that MPI writes.
    let status = unsafe {
        let get: unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int =
            *file.get(b"MPI_Get_library_version\0").ok()?;
        get(text.as_mut_ptr().cast(), &mut len)
    };
    let text = CStr::from_bytes_until_nul(&text).ok()?;
    (status == SUCCESS).then(|| text.to_string_lossy().into_owned())
}

fn functions<H>(
    name: &str,
    file: &File,
    [world, byte, no_info]: [H; 3],
    shared: c_int,
) -> Result<Functions<H>, String> {
    macro_rules! get {
        ($symbol:literal) => {
            // SAFETY: MPI's function has the type of the field.
            unsafe { *file.get(concat!($symbol, "\0").as_bytes()).map_err(|_| format!("{name} lacks {}", $symbol))? }
        };
    }
    Ok(Functions {
        initialized: get!("MPI_Initialized"),
        finalized: get!("MPI_Finalized"),
        init_thread: get!("MPI_Init_thread"),
        query_thread: get!("MPI_Query_thread"),
        is_thread_main: get!("MPI_Is_thread_main"),
        finalize: get!("MPI_Finalize"),
        comm_rank: get!("MPI_Comm_rank"),
        comm_size: get!("MPI_Comm_size"),
        comm_split_type: get!("MPI_Comm_split_type"),
        comm_free: get!("MPI_Comm_free"),
        bcast: get!("MPI_Bcast"),
        world,
        byte,
        no_info,
        shared,
    })
}

/// Runs the same code for both ABIs.
macro_rules! with {
    ($library:expr, |$functions:ident| $body:expr) => {
        match &$library.abi {
            Abi::OpenMpi($functions) => $body,
            Abi::Mpich($functions) => $body,
        }
    };
}

fn check(status: c_int, function: &str) -> Result<(), Error> {
    if status == SUCCESS { Ok(()) } else { Err(Error::mpi(format!("{function} returned {status}"))) }
}

/// Returns the value that a function writes.
fn ask(function: &str, call: impl FnOnce(*mut c_int) -> c_int) -> Result<c_int, Error> {
    let mut value = 0;
    check(call(&mut value), function).map(|()| value)
}

impl<H: Copy> Functions<H> {
    /// Initializes MPI if needed. Returns whether it did.
    fn init(&self) -> Result<bool, Error> {
        // SAFETY: these may be called at any time, by any thread; the values are valid for the writes.
        unsafe {
            if ask("MPI_Finalized", |value| (self.finalized)(value))? != 0 {
                return Err(Error::mpi("MPI was finalized before, and cannot be initialised again"));
            }
            let initialized = ask("MPI_Initialized", |value| (self.initialized)(value))? != 0;
            if !initialized {
                let level = ask("MPI_Init_thread", |value| {
                    (self.init_thread)(ptr::null_mut(), ptr::null_mut(), SERIALIZED, value)
                })?;
                let _ = level; // this thread is now the main thread, which may call at every level
                return Ok(true);
            }
            let level = ask("MPI_Query_thread", |value| (self.query_thread)(value))?;
            if level < SERIALIZED && ask("MPI_Is_thread_main", |value| (self.is_thread_main)(value))? == 0 {
                let needed = "call it from the thread that has initialised MPI, or initialise MPI with \
                              MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE";
                return Err(Error::mpi(format!("this thread may not call MPI: {needed}")));
            }
        }
        Ok(false)
    }

    fn rank_and_size(&self, of: H) -> Result<(usize, usize), Error> {
        // SAFETY: MPI is initialized, and the communicator is alive.
        let (rank, size) = unsafe {
            let rank = ask("MPI_Comm_rank", |value| (self.comm_rank)(of, value))?;
            (rank, ask("MPI_Comm_size", |value| (self.comm_size)(of, value))?)
        };
        Ok((rank.unsigned_abs() as usize, size.unsigned_abs() as usize))
    }

    fn local_rank(&self, rank: usize) -> Result<usize, Error> {
        let mut host = self.world;
        // SAFETY: MPI is initialized; all ranks call it, in `Mpi::init`; `host` is valid for the write.
        let status = unsafe { (self.comm_split_type)(self.world, self.shared, rank as c_int, self.no_info, &mut host) };
        check(status, "MPI_Comm_split_type")?;
        let (rank, _) = self.rank_and_size(host)?;
        // SAFETY: made above.
        check(unsafe { (self.comm_free)(&mut host) }, "MPI_Comm_free")?;
        Ok(rank)
    }

    fn broadcast(&self, bytes: &mut [u8], root: usize) -> Result<(), Error> {
        let count = c_int::try_from(bytes.len()).map_err(|_| {
            Error::mpi(format!("the bytes to broadcast are {}, but must be less than 2^31", bytes.len()))
        })?;
        // SAFETY: MPI is initialized; this many bytes are valid for reads and writes until the call returns.
        let status = unsafe { (self.bcast)(bytes.as_mut_ptr().cast(), count, self.byte, root as c_int, self.world) };
        check(status, "MPI_Bcast")
    }
}

impl Library {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Initializes MPI if needed. Returns whether it did.
    pub(super) fn init(&self) -> Result<bool, Error> {
        with!(self, |functions| functions.init())
    }

    pub(super) fn rank_and_size(&self) -> Result<(usize, usize), Error> {
        with!(self, |functions| functions.rank_and_size(functions.world))
    }

    pub(super) fn local_rank(&self, rank: usize) -> Result<usize, Error> {
        with!(self, |functions| functions.local_rank(rank))
    }

    pub(super) fn broadcast(&self, bytes: &mut [u8], root: usize) -> Result<(), Error> {
        with!(self, |functions| functions.broadcast(bytes, root))
    }

    pub(super) fn finalize(&self) {
        // SAFETY: MPI was initialized here, by this thread, and is no longer used.
        let _ = with!(self, |functions| unsafe { (functions.finalize)() });
    }
}

/// Returns an error if the launcher has started more ranks than the library knows: it then belongs to another MPI.
pub(super) fn expect_size(size: usize, library: &str) -> Result<(), Error> {
    let said = SIZES.iter().find_map(|name| {
        let ranks: usize = std::env::var(name).ok()?.parse().ok()?;
        Some((*name, ranks))
    });
    match said {
        Some((name, ranks)) if ranks != size => Err(Error::mpi(format!(
            "the launcher has started {ranks} ranks ({name}), but {library} knows of {size}: it belongs to another MPI than the \
             launcher ({VARIABLE} names another by its absolute path)"
        ))),
        _ => Ok(()),
    }
}
