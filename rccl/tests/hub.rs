//! Ranks find each other over TCP, without any GPU; strangers, garbage and a second rank 3 don't get in.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use rccl::start::{Error, Hub, Placement, Secret, World};

const TEXT: &str = "a secret of the tests";

fn secret() -> Secret {
    Secret::new(TEXT).unwrap()
}

fn hub(size: usize) -> (Hub, String) {
    let hub = Hub::listen("127.0.0.1:0", size, &secret()).unwrap();
    let address = hub.address().to_string();
    (hub, address)
}

fn join(address: &str, rank: usize, size: usize, timeout: Duration) -> Result<World, Error> {
    let placement = Placement { rank, size, local_rank: rank, hub: address.to_owned() };
    World::join(placement, &secret(), timeout, None)
}

/// No test waits for this to be over.
const LONG: Duration = Duration::from_secs(100_000);

/// All ranks, each on a thread.
fn ranks(address: &str, size: usize, run: impl Fn(World) + Sync) {
    std::thread::scope(|scope| {
        for rank in 0..size {
            let run = &run;
            scope.spawn(move || run(join(address, rank, size, LONG).unwrap()));
        }
    });
}

/// Returns the callers that the hub has rejected, once there are this many.
fn refused(hub: &Hub, number: usize) -> Vec<String> {
    while hub.refused().len() < number {
        std::thread::sleep(Duration::from_millis(5));
    }
    hub.refused()
}

#[test]
fn all_ranks_get_what_all_say() {
    let (hub, address) = hub(5);
    ranks(&address, 5, |world| {
        for round in 0..20_u8 {
            let own = vec![world.rank() as u8 + round; world.rank() * 1000];
            let all = world.exchange(&own).unwrap();
            let expected: Vec<_> = (0..5).map(|rank| vec![rank as u8 + round; rank * 1000]).collect();
            assert_eq!(all, expected);
        }
        world.barrier().unwrap();
    });
    assert_eq!(hub.refused(), [""; 0]);
}

#[test]
fn ranks_that_do_not_come_are_named() {
    // On a busy machine one of the two may come when the other's time is over: then they get more.
    for seconds in [1, 4, 16, 64, 256] {
        let (_hub, address) = hub(4);
        let waited = Duration::from_secs(seconds);
        let errors: Vec<Error> = std::thread::scope(|scope| {
            let come = |rank| {
                let address = &address;
                scope.spawn(move || join(address, rank, 4, waited))
            };
            let threads = [come(0), come(2)];
            threads.into_iter().map(|thread| thread.join().unwrap().unwrap_err()).collect()
        });
        let met = Error::Missing { ranks: vec![1, 3], size: 4, waited };
        if errors.iter().all(|error| *error == met) {
            return assert!(met.to_string().ends_with("1, 3"), "{met}");
        }
        println!("in {waited:?} they did not meet: {errors:?}");
    }
    panic!("ranks 0 and 2 do not meet");
}

#[cfg(target_os = "linux")]
#[test]
fn a_hub_that_is_not_there_is_an_error_at_the_deadline() {
    let (_reserved, port) = reserve(0).unwrap();
    let address = format!("127.0.0.1:{port}");
    let error = join(&address, 1, 2, Duration::from_millis(300)).unwrap_err();
    assert!(matches!(&error, Error::Connection { address: of, .. } if *of == address), "{error}");
}

/// Reserves a port of this machine, any if it is 0: no other program gets it, no process listens at it, and a hub of
/// this test can. `None` if it is taken.
#[cfg(target_os = "linux")]
fn reserve(port: u16) -> Option<(std::os::fd::OwnedFd, u16)> {
    use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
    const LENGTH: libc::socklen_t = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    // SAFETY: it takes numbers, and gives a descriptor or -1.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    assert!(socket >= 0);
    // SAFETY: the socket is new, and only this code has it.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // With `SO_REUSEADDR` on both sides, as std sets it, an address can be bound twice until a process listens. The system does not assign
    // it, neither to listen at nor to connect from.
    let on = 1_i32;
    // SAFETY: all zero is a value of the struct; the pointers are to values of the lengths that go with them, which
    // live through the calls.
    unsafe {
        let mut address: libc::sockaddr_in = std::mem::zeroed();
        address.sin_family = libc::AF_INET as libc::sa_family_t;
        address.sin_port = port.to_be();
        let (fd, place) = (socket.as_raw_fd(), (&raw mut address).cast::<libc::sockaddr>());
        let set = libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_REUSEADDR, (&raw const on).cast(), 4);
        assert_eq!(set, 0);
        if libc::bind(fd, place, LENGTH) != 0 {
            return None;
        }
        let mut length = LENGTH;
        assert_eq!(libc::getsockname(fd, place, &raw mut length), 0);
        Some((socket, u16::from_be(address.sin_port)))
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_rank_that_comes_first_waits_for_the_hub() {
    let (_reserved, port) = reserve(0).unwrap();
    let address = format!("127.0.0.1:{port}");
    std::thread::scope(|scope| {
        let early = scope.spawn(|| join(&address, 0, 1, LONG));
        // Whichever comes first, they meet. The pause makes it likely that the rank does.
        std::thread::sleep(Duration::from_millis(200));
        let _hub = Hub::listen(&address, 1, &secret()).unwrap();
        assert_eq!(early.join().unwrap().unwrap().size(), 1);
    });
}

#[test]
fn strangers_and_garbage_are_refused_and_do_no_harm() {
    let (hub, address) = hub(2);
    // Garbage of the right length, of another protocol, and nothing at all.
    let say = |bytes: &[u8]| {
        let mut stream = TcpStream::connect(&address).unwrap();
        let mut greeting = [0; 40];
        stream.read_exact(&mut greeting).unwrap();
        stream.write_all(bytes).unwrap();
        stream
    };
    let _kept = [say(&[7; 72]), say(b"")];
    drop(say(b"GET / HTTP/1.0\r\n\r\n"));
    // A caller that knows everything but the secret.
    let placement = Placement { rank: 1, size: 2, local_rank: 1, hub: address.clone() };
    let other = Secret::new("another secret of the same size").unwrap();
    let error = World::join(placement, &other, LONG, None).unwrap_err();
    assert!(error.to_string().contains("another secret"), "{error}");
    // Recorded messages of one rank are of no use to another caller.
    let lines = refused(&hub, 3);
    assert_eq!(lines.iter().filter(|line| line.contains("does not know the secret")).count(), 2, "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("ended after 18 bytes")), "{lines:?}");
    ranks(&address, 2, |world| assert_eq!(world.exchange(b"x").unwrap(), [b"x"; 2]));
}

#[test]
fn a_hub_that_does_not_know_the_secret_is_found_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(b"RCCLRS1\n").unwrap();
            stream.write_all(&[1; 32]).unwrap();
            stream.read_exact(&mut [0; 72]).unwrap();
            // "You are in", without a proof.
            stream.write_all(&[0; 35]).unwrap();
        });
        let error = join(&address, 0, 1, LONG).unwrap_err();
        assert!(error.to_string().contains("does not know the secret"), "{error}");
    });
}

#[test]
fn a_second_rank_3_is_refused() {
    let (hub, address) = hub(4);
    ranks(&address, 4, |world| {
        if world.rank() == 0 {
            let error = join(&address, 3, 4, LONG).unwrap_err();
            assert!(
                matches!(&error, Error::Refused { reason, .. } if reason == "there is a rank 3 already"),
                "{error}"
            );
            let error = join(&address, 4, 4, LONG).unwrap_err();
            assert!(matches!(&error, Error::Refused { reason, .. } if reason == "rank 4 of 4"), "{error}");
            let error = join(&address, 1, 3, LONG).unwrap_err();
            assert!(
                matches!(&error, Error::Refused { reason, .. } if reason.contains("3 ranks, and there are 4")),
                "{error}"
            );
        }
        world.barrier().unwrap();
    });
    assert_eq!(hub.refused().len(), 3);
}

#[test]
fn those_that_are_left_make_a_new_world() {
    // On a busy machine one of the two may come when the window is over: then they get more time.
    assert!([1, 4, 16, 64, 256].into_iter().any(|seconds| two_of_four_make_a_new_world(Duration::from_secs(seconds))));
}

/// Returns whether both that are left came in the window.
fn two_of_four_make_a_new_world(window: Duration) -> bool {
    let late = AtomicBool::new(false);
    // Disconnected too when a rank that is left fails.
    let (is_made, made) = mpsc::channel::<()>();
    let (is_made, made) = (Mutex::new(vec![is_made.clone(), is_made]), Mutex::new(made));
    let (hub, address) = hub(4);
    ranks(&address, 4, |mut world| {
        let rank = world.rank();
        let is_made = if [0, 3].contains(&rank) { is_made.lock().unwrap().pop() } else { None };
        world.barrier().unwrap();
        match rank {
            // Its process dies.
            1 => drop(world),
            // The rank has stopped, and continues after the others have regrouped.
            2 => {
                made.lock().unwrap().recv().expect("the others make a world");
                assert!(matches!(world.exchange(b""), Err(Error::Connection { .. })));
            }
            _ => {
                let lost = world.exchange(b"").unwrap_err();
                let went_on = world.regroup(window);
                // By then, a world of one rank or two exists.
                is_made.unwrap().send(()).unwrap();
                if went_on.is_err() || world.size() == 1 {
                    println!("not both came in {window:?}: {lost}, {went_on:?}");
                    return late.store(true, Ordering::Release);
                }
                assert!(matches!(&lost, Error::Missing { ranks, .. } if ranks.contains(&1)), "{lost}");
                assert_eq!((world.rank(), world.size()), (usize::from(rank == 3), 2));
                let all = world.exchange(&[rank as u8]).unwrap();
                assert_eq!(all, [[0], [3]]);
            }
        }
    });
    assert!(hub.refused().iter().any(|line| line.contains("rank 2 was refused: the others have gone on")));
    !late.into_inner()
}

#[test]
fn a_rank_comes_back_in_a_new_process() {
    let (_hub, address) = hub(2);
    let mut first = None;
    std::thread::scope(|scope| {
        let zero = scope.spawn(|| join(&address, 0, 2, LONG).unwrap());
        drop(join(&address, 1, 2, LONG).unwrap());
        first = Some(zero.join().unwrap());
    });
    let first = first.unwrap();
    // The loss of rank 1 may be known already, or only at the end of the window.
    assert!(matches!(first.exchange(b"a"), Err(Error::Missing { .. })));
    std::thread::scope(|scope| {
        let again = scope.spawn(|| join(&address, 1, 2, LONG).unwrap());
        // Joining is an exchange, which needs both ranks: an error as long as one is lost.
        while let Err(error) = first.exchange(b"") {
            assert!(matches!(error, Error::Missing { .. }), "{error}");
        }
        let again = again.join().unwrap();
        scope.spawn(move || assert_eq!(again.exchange(b"b").unwrap(), [b"c", b"b"]));
        assert_eq!(first.exchange(b"c").unwrap(), [b"c", b"b"]);
    });
}

#[test]
fn a_secret_is_long_enough() {
    let error = Secret::new("short").unwrap_err().to_string();
    assert!(error.contains("16 bytes"), "{error}");
    assert_ne!(Secret::generate().unwrap(), Secret::generate().unwrap());
    assert_eq!(format!("{:?}", secret()), "Secret");
}

/// Set in the processes that the next test starts.
const TASK: &str = "RCCL_TEST_SLURM_TASK";

#[test]
fn a_task_of_a_slurm_step() {
    let Ok(shown) = std::env::var(TASK) else { return };
    let world = World::from_environment_with(LONG).unwrap();
    let all = world.exchange(shown.as_bytes()).unwrap();
    let all: Vec<_> = all.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect();
    println!("@@ {} of {}, {} on this host: {}", world.rank(), world.size(), world.local_rank(), all.join(" "));
}

/// Processes with the variables that `srun -n 3` of Slurm 23 sets in a job of 8 tasks, on a cluster whose PMI is
/// `pmi2`, and no others.
#[cfg(target_os = "linux")]
#[test]
fn tasks_of_a_slurm_step_meet() {
    // A separate port, derived from Slurm's job number.
    let reserved = |job: u32| Some((job, reserve((20_000 + job % 20_000) as u16)?.0));
    let (job, _reserved) = (4_000_000 + std::process::id() % 10_000..).find_map(reserved).unwrap();
    let tasks: Vec<_> = (0..3)
        .map(|task: usize| {
            let mut command = std::process::Command::new(std::env::current_exe().unwrap());
            command.args(["--exact", "a_task_of_a_slurm_step", "--nocapture", "--test-threads=1"]).env_clear();
            // The loader of this program, where it has been given one.
            command.envs(std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("LD_")));
            let number = task.to_string();
            let job = job.to_string();
            let variables = [
                ("SLURM_PROCID", number.as_str()),
                ("SLURM_LOCALID", &number),
                ("SLURM_NODEID", "0"),
                ("SLURM_NTASKS", "8"),
                ("SLURM_NPROCS", "8"),
                ("SLURM_STEP_NUM_TASKS", "3"),
                ("SLURM_STEP_NUM_NODES", "1"),
                ("SLURM_STEP_TASKS_PER_NODE", "3"),
                ("SLURM_STEP_NODELIST", "localhost"),
                ("SLURM_STEP_ID", "0"),
                ("SLURM_STEPID", "0"),
                ("SLURM_STEP_LAUNCHER_PORT", "40001"),
                ("SLURM_JOB_NODELIST", "localhost,node[01-03,7]"),
                ("SLURM_NODELIST", "localhost,node[01-03,7]"),
                ("SLURM_JOB_NUM_NODES", "5"),
                ("SLURM_NNODES", "5"),
                ("SLURM_TASKS_PER_NODE", "2(x3),1(x2)"),
                ("SLURM_GTIDS", "0,1,2"),
                ("SLURM_JOB_ID", &job),
                ("SLURM_JOBID", &job),
                ("SLURM_JOB_NAME", "train"),
                ("SLURM_JOB_PARTITION", "gpu"),
                ("SLURM_CPUS_ON_NODE", "8"),
                ("SLURM_CPU_BIND", "quiet,none"),
                ("SLURM_DISTRIBUTION", "block"),
                ("SLURM_LAUNCH_NODE_IPADDR", "127.0.0.1"),
                ("SLURM_SRUN_COMM_HOST", "127.0.0.1"),
                ("SLURM_SUBMIT_DIR", "/tmp"),
                ("SLURM_SUBMIT_HOST", "login"),
                ("SLURM_TASK_PID", "4711"),
                ("SLURM_TOPOLOGY_ADDR", "localhost"),
                ("SLURM_TOPOLOGY_ADDR_PATTERN", "node"),
                ("SLURM_UMASK", "0022"),
                ("SLURM_WORKING_CLUSTER", "cluster:head:6817:9728:109"),
                ("SLURMD_NODENAME", "localhost"),
                ("PMI_RANK", &number),
                ("PMI_SIZE", "3"),
                ("PMI_FD", "13"),
                ("PMI_JOBID", "17.0"),
                ("RCCL_RS_SECRET", TEXT),
                (TASK, ["zero", "one", "two"][task]),
            ];
            command.envs(variables).stdout(std::process::Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for (task, child) in tasks.into_iter().enumerate() {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(&format!("@@ {task} of 3, {task} on this host: zero one two")), "{text}");
    }
}

/// MPI: in processes that this program starts by MPI's launchers.
#[cfg(all(unix, feature = "mpi"))]
mod mpi {
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use rccl::start::Mpi;

    /// Set in ranks.
    const RANK: &str = "RCCL_TEST_MPI_RANK";
    /// Set where ranks have GPUs, and RCCL: `mpiexec -n 2 hip-sim run --devices 2 -- hub-... --exact
    /// mpi::a_rank_of_mpi`, with both variables.
    const SUM: &str = "RCCL_TEST_MPI_SUM";
    /// The folder into which packages of Open MPI and MPICH were unpacked; the system's own if it is not set.
    const ROOT: &str = "RCCL_TEST_MPI";

    #[test]
    fn a_rank_of_mpi() {
        if std::env::var_os(RANK).is_none() {
            return;
        }
        let said = match Mpi::init() {
            Ok(mpi) => {
                let mut bytes = [if mpi.rank() == 1 { 42 } else { 0 }; 1000];
                mpi.broadcast(&mut bytes, 1).unwrap();
                let error = mpi.broadcast(&mut bytes, mpi.size()).unwrap_err().to_string();
                assert!(error.contains("must be less than"), "{error}");
                let (rank, size, local) = (mpi.rank(), mpi.size(), mpi.local_rank());
                if std::env::var_os(SUM).is_some() {
                    sum(&mpi);
                }
                drop(mpi);
                let again = Mpi::init().unwrap_err().to_string();
                assert!(again.contains("finalized before"), "{again}");
                format!("rank {rank} of {size}, {local}: {}", bytes.iter().all(|byte| *byte == 42))
            }
            Err(error) => format!("error {error}"),
        };
        println!("@@ {said}");
    }

    /// The sum of the ranks' numbers, from 1 on, by a communicator whose id MPI hands out.
    fn sum(mpi: &Mpi) {
        hip::sim_if_no_gpu().unwrap();
        let device = mpi.device().unwrap();
        let communicator = mpi.communicator(&device, &rccl::Config::new()).unwrap();
        let mut memory = hip::DeviceBuffer::from_slice(&device, &[mpi.rank() as i32 + 1; 100]).unwrap();
        communicator.all_reduce_in_place(&mut memory, rccl::Op::Sum).unwrap();
        communicator.synchronize().unwrap();
        assert_eq!(memory.to_vec().unwrap(), vec![(1..=mpi.size() as i32).sum::<i32>(); 100]);
        println!("the sum of {} ranks is right", mpi.size());
        communicator.finalize().unwrap();
    }

    fn rank(command: &mut Command) -> String {
        command.args(["--exact", "mpi::a_rank_of_mpi", "--nocapture", "--test-threads=1"]).env(RANK, "1");
        let output = command.output().unwrap();
        let mut lines: Vec<String> = String::from_utf8_lossy(&output.stdout)
            .lines()
            .filter_map(|line| line.split_once("@@ ").map(|(_, said)| said.to_owned()))
            .collect();
        lines.sort();
        assert!(!lines.is_empty(), "{output:?}");
        lines.join("\n")
    }

    #[test]
    fn a_library_that_is_not_there_is_named() {
        let alone = || Command::new(std::env::current_exe().unwrap());
        let said = rank(alone().env("RCCL_RS_MPI", "/no/such/libmpi.so.40"));
        assert!(said.starts_with("error MPI") && said.contains("/no/such/libmpi.so.40"), "{said}");
        let said = rank(alone().env("RCCL_RS_MPI", "libmpi.so.40"));
        assert!(said.contains("RCCL_RS_MPI") && said.contains("absolute path"), "{said}");
    }

    /// A launcher with everything it needs to run from its folder.
    fn launcher(name: &str, root: Option<&Path>) -> Option<Command> {
        let Some(root) = root else {
            let path = std::env::var_os("PATH")?;
            return std::env::split_paths(&path)
                .map(|folder| folder.join(name))
                .find(|file| file.exists())
                .map(Command::new);
        };
        let libraries = root.join("usr/lib").join(format!("{}-linux-gnu", std::env::consts::ARCH));
        let open_mpi = libraries.join("openmpi/lib");
        let mut command = Command::new(root.join("usr/bin").join(name));
        let system = root.join("lib").join(format!("{}-linux-gnu", std::env::consts::ARCH));
        let folders =
            [&libraries, &libraries.join("slurm-wlm"), &open_mpi, &system].map(|folder| folder.display().to_string());
        command.env("LD_LIBRARY_PATH", folders.join(":")).env("OPAL_PREFIX", root.join("usr"));
        command.env("OPAL_LIBDIR", &open_mpi).env("OPAL_PKGLIBDIR", open_mpi.join("openmpi3"));
        command.env("PMIX_INSTALL_PREFIX", root.join("usr")).env("PMIX_PKGLIBDIR", libraries.join("pmix2/lib/pmix"));
        Some(command)
    }

    /// With Debian's packages: `cargo xtask mpi`.
    #[test]
    fn ranks_that_mpi_has_started_get_the_bytes_of_one() {
        let root = std::env::var_os(ROOT).map(PathBuf::from);
        let kinds: [(&str, &[&str]); 2] =
            [("orterun", &["--oversubscribe", "-n", "3"]), ("mpiexec.hydra", &["-n", "3"])];
        for (name, arguments) in kinds {
            let Some(mut command) = launcher(name, root.as_deref()) else {
                println!("SKIPPED: {name} is not there (cargo xtask mpi)");
                continue;
            };
            command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
            command.args(arguments).arg(std::env::current_exe().unwrap());
            let expected: Vec<_> = (0..3).map(|rank| format!("rank {rank} of 3, {rank}: true")).collect();
            assert_eq!(rank(&mut command), expected.join("\n"), "{name}");
        }
        // The launcher of one, with the library of the other.
        let Some(root) = root else { return };
        let libraries = root.join("usr/lib").join(format!("{}-linux-gnu", std::env::consts::ARCH));
        let mut command = launcher("mpiexec.hydra", Some(&root)).unwrap();
        command.env("RCCL_RS_MPI", libraries.join("libmpi.so.40"));
        command.args(["-n", "2"]).arg(std::env::current_exe().unwrap());
        let said = rank(&mut command);
        assert!(said.contains("2 ranks (PMI_SIZE)") && said.contains("another MPI"), "{said}");
    }
}
