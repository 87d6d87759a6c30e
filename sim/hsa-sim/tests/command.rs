//! The command `hip-sim`.
#![cfg(all(target_os = "linux", feature = "cli"))]

mod support;

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Command;

const KERNELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../hip/tests/kernels/kernels.gfx90a.co");

/// Runs the command. Returns whether it succeeded, stdout and stderr.
fn hip_sim(arguments: &[&str], variables: &[(&str, &str)]) -> (bool, String, String) {
    let cache = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_hip-sim"));
    command.args(arguments).env("XDG_CACHE_HOME", cache.path()).env("HIP_SIM_LIBRARY", support::library());
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout), text(&output.stderr))
}

/// The program that `trace` runs in [`a_traced_program_tells_of_its_kernels`].
#[test]
fn traced() {
    if std::env::var_os("HSA_SIM_TEST_TRACED").is_none() {
        return;
    }
    let device = hip::Device::get(0).unwrap();
    assert_eq!(device.properties().unwrap().arch.to_string(), "gfx90a:sramecc+:xnack-");
    assert_eq!(hip::Device::count().unwrap(), 2);
    let module = hip::Module::load(&device, &std::fs::read(KERNELS).unwrap()).unwrap();
    let stream = hip::Stream::new(&device).unwrap();
    let kernel = module.kernel("empty").unwrap();
    // SAFETY: a kernel that does nothing.
    unsafe { kernel.launch(&stream, hip::LaunchConfig::new(3, 64), ()) }.unwrap();
    stream.synchronize().unwrap();
}

#[test]
fn a_traced_program_tells_of_its_kernels() {
    if support::libraries("7.2", &["libamdhip64.so.7"]).is_none() {
        return;
    }
    let tree = support::trees().join("7.2/usr");
    let program = std::env::current_exe().unwrap();
    let arguments = ["trace", "--devices", "2", "--rocm", tree.to_str().unwrap(), "--"];
    let arguments = [&arguments[..], &[program.to_str().unwrap(), "--exact", "traced", "--nocapture"]].concat();
    let variables = [("HSA_SIM_TEST_TRACED", "1"), ("HIP_RS_BACKEND", "rocm")];
    let (success, out, err) = hip_sim(&arguments, &variables);
    assert!(success && out.contains("1 passed"), "{out}{err}");
    assert!(
        err.contains(
            "hsa-sim: kernel empty on GPU 0 (gfx90a): grid 192x1x1 in workgroups of 64x1x1, 0 bytes of LDS: 3 waves"
        ),
        "{err}"
    );
}

/// The program that [`a_release_without_roctracer_has_one`] runs.
#[test]
fn traces_nothing() {
    if std::env::var_os("HSA_SIM_TEST_TRACER").is_none() {
        return;
    }
    // SAFETY: functions without arguments, with the types of roctracer.h.
    unsafe {
        let library = libloading::Library::new("libroctracer64.so.4").unwrap();
        library.get::<unsafe extern "C" fn()>(b"roctracer_start\0").unwrap()();
        library.get::<unsafe extern "C" fn()>(b"roctracer_stop\0").unwrap()();
        assert_eq!(library.get::<unsafe extern "C" fn() -> u32>(b"roctracer_version_major\0").unwrap()(), 4);
    }
}

/// Debian's ROCm has no rocTracer, to which `CuPy` links.
#[test]
fn a_release_without_roctracer_has_one() {
    if support::libraries("7.2", &["libamdhip64.so.7"]).is_none() {
        return;
    }
    let tree = support::trees().join("7.2");
    let program = std::env::current_exe().unwrap();
    let arguments = ["run", "--rocm", tree.to_str().unwrap(), "--", program.to_str().unwrap(), "--exact"];
    let arguments = [&arguments[..], &["traces_nothing", "--nocapture"]].concat();
    let (success, out, err) = hip_sim(&arguments, &[("HSA_SIM_TEST_TRACER", "1")]);
    assert!(success && out.contains("1 passed"), "{out}{err}");
}

/// The program that [`a_call_that_is_not_supported_is_told`] runs.
#[test]
fn unsupported() {
    if std::env::var_os("HSA_SIM_TEST_UNSUPPORTED").is_none() {
        return;
    }
    // SAFETY: the function looks at no arguments.
    let status = unsafe {
        let library = libloading::Library::new("libhsa-runtime64.so.1").unwrap();
        let function: unsafe extern "C" fn() -> u32 = *library.get(b"hsa_ven_amd_pcs_flush\0").unwrap();
        std::mem::forget(library);
        function()
    };
    assert_eq!(status, 47);
}

#[test]
fn a_call_that_is_not_supported_is_told() {
    if support::libraries("7.2", &["libamdhip64.so.7"]).is_none() {
        return;
    }
    let tree = support::trees().join("7.2");
    let program = std::env::current_exe().unwrap();
    let arguments = ["run", "--log", "errors", "--rocm", tree.to_str().unwrap(), "--", program.to_str().unwrap()];
    let arguments = [&arguments[..], &["--exact", "unsupported", "--nocapture"]].concat();
    let (success, out, err) = hip_sim(&arguments, &[("HSA_SIM_TEST_UNSUPPORTED", "1")]);
    assert!(success && out.contains("1 passed"), "{out}{err}");
    assert!(err.contains("hsa-sim: hsa_ven_amd_pcs_flush: HSA_STATUS_ERROR_NOT_SUPPORTED"), "{err}");
}

/// The program that [`children_run_on_the_software_gpu`] runs: it prints the path of its file and the number of GPUs,
/// and starts itself in the way that `HSA_SIM_TEST_CHILD` names.
#[test]
fn child() {
    let Ok(way) = std::env::var("HSA_SIM_TEST_CHILD") else { return };
    let own = std::env::current_exe().unwrap();
    println!("{} has {} GPUs", own.display(), hip::Device::count().unwrap());
    let arguments = ["--exact", "child", "--nocapture"];
    // SAFETY: this test's process has no other thread that reads the environment.
    unsafe { std::env::set_var("HSA_SIM_TEST_CHILD", "none") };
    let status = match &*way {
        "none" => return,
        "itself" => Command::new("/proc/self/exe").args(arguments).status().unwrap(),
        "variadic" => {
            let program = std::ffi::CString::new(own.into_os_string().into_encoded_bytes()).unwrap();
            let words = arguments.map(|word| std::ffi::CString::new(word).unwrap());
            let end = std::ptr::null::<libc::c_char>();
            // More arguments than registers, so that some are on the stack.
            let more = [c"--test-threads=1", c"--show-output"].map(std::ffi::CStr::as_ptr);
            let [a, b, c] = words.each_ref().map(|word| word.as_ptr());
            // SAFETY: C strings and a null pointer at the end; the process is replaced.
            unsafe { libc::execl(program.as_ptr(), c"name".as_ptr(), a, b, c, more[0], more[1], end) };
            panic!("{}", std::io::Error::last_os_error());
        }
        shell => {
            let line = format!("'{}' {}", own.display(), arguments.join(" "));
            let line = std::ffi::CString::new(line).unwrap();
            assert_eq!(shell, "system");
            // SAFETY: a C string.
            assert_eq!(unsafe { libc::system(line.as_ptr()) }, 0);
            return;
        }
    };
    assert!(status.success());
}

/// Child processes use the same ROCm and GPUs: started directly, by a shell, by a script, by Python and by its workers.
/// Without the preloaded library, HIP would not be found with an older host's C library.
#[test]
fn children_run_on_the_software_gpu() {
    if support::libraries("7.2", &["libamdhip64.so.7"]).is_none() {
        return;
    }
    // The tree itself, not its `usr`.
    let tree = support::trees().join("7.2");
    let own = std::env::current_exe().unwrap();
    let own = own.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let said = format!("{own} has 2 GPUs");
    let run = |command: &[&str], way: &str| {
        let settings = ["run", "--devices", "2", "--rocm", tree.to_str().unwrap(), "--"];
        let variables = [("HSA_SIM_TEST_CHILD", way), ("HIP_RS_BACKEND", "rocm"), ("HIP_SIM_TEST_OWN", own)];
        let (success, out, err) = hip_sim(&[&settings[..], command].concat(), &variables);
        assert!(success, "{command:?} {way}: {out}{err}");
        (out.matches(&said).count(), out)
    };
    let child = [own, "--exact", "child", "--nocapture"];
    for way in ["itself", "variadic", "system"] {
        let (count, out) = run(&child, way);
        assert_eq!(count, 2, "{way}: {out}");
    }
    // The shell's own search, its pipes, and a file without `#!`.
    let line = format!("'{own}' --exact child --nocapture");
    let text = folder.path().join("text");
    let script = folder.path().join("script");
    let lines = format!("#!/usr/bin/env -S bash -e\n{line} | cat\n{}\n(exec -a other {line})", text.display());
    for (file, content) in [(&text, &line), (&script, &lines)] {
        // Written by another process: a file that this process has open for writing while another test forks cannot be executed.
        let write = ["-c", "printf '%s\\n' \"$1\" > \"$0\" && chmod 755 \"$0\"", file.to_str().unwrap(), content];
        assert!(Command::new("sh").args(write).status().unwrap().success());
    }
    let (count, out) = run(&[script.to_str().unwrap()], "none");
    assert_eq!(count, 3, "{out}");
    let (count, out) =
        run(&["bash", "-c", "readlink /proc/$$/exe; bash -c \"$0 --exact child --nocapture\"", own], "itself");
    assert_eq!(count, 2, "{out}");

    if Command::new("python3").arg("--version").output().is_err() {
        support::skipped(&"no python3: children of Python were not tested");
        return;
    }
    let program = r#"
import multiprocessing, os, subprocess, sys
command = [os.environ["HIP_SIM_TEST_OWN"], "--exact", "child", "--nocapture"]

def work(_):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout

if __name__ == "__main__":
    assert os.path.samefile(os.readlink("/proc/self/exe"), sys.executable), os.readlink("/proc/self/exe")
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        print(*pool.map(work, range(2)))
    print(os.popen(" ".join(command)).read(), flush=True)
    os.spawnv(os.P_WAIT, command[0], command)
    subprocess.run([sys.executable, "-c", "import os, sys; os.execv(sys.argv[1], sys.argv[1:])", *command], check=True)
"#;
    let file = folder.path().join("program.py");
    std::fs::write(&file, program).unwrap();
    let (count, out) = run(&["python3", file.to_str().unwrap()], "none");
    assert_eq!(count, 5, "{out}");
}

/// The program sees the driver's files with both ways to start it, unless disabled.
#[test]
fn a_program_finds_the_drivers_files() {
    if support::libraries("7.2", &["libamdhip64.so.7"]).is_none() {
        return;
    }
    let tree = support::trees().join("7.2/usr");
    let arguments = ["run", "--devices", "3", "--rocm", tree.to_str().unwrap()];
    let list = ["--", "ls", "/sys/class/kfd/kfd/topology/nodes"];
    let (success, out, err) = hip_sim(&[&arguments[..], &list].concat(), &[]);
    assert!(success && out == "0\n1\n2\n3\n", "{out}{err}");
    let (_, out, err) = hip_sim(&[&arguments[..], &["--no-driver-files"], &list].concat(), &[]);
    assert!(!out.contains('3'), "{out}{err}");
}

/// ROCm's own `rocminfo` lists the host and the GPUs with the chips' properties.
#[test]
fn rocminfo_lists_the_gpus() {
    if support::libraries("7.2", &["../../bin/rocminfo"]).is_none() {
        return;
    }
    let tree = support::trees().join("7.2/usr");
    for (architecture, name, units, memory) in [
        ("gfx90a", "AMD Instinct MI250X (amdgpu-sim)", 104, "4G"),
        ("gfx942", "AMD Instinct MI300X (amdgpu-sim)", 304, "3G"),
    ] {
        let settings = ["run", "--devices", "2", "--arch", architecture, "--memory", memory];
        let what = ["--rocm", tree.to_str().unwrap(), "--", "rocminfo"];
        let (success, out, err) = hip_sim(&[&settings[..], &what].concat(), &[]);
        assert!(success && out.contains("is loaded") && out.contains("*** Done ***"), "{out}{err}");
        let agents: Vec<Agent<'_>> = out.split("\nAgent ").skip(1).map(Agent::read).collect();
        let [host, gpus @ ..] = &agents[..] else { panic!("{out}") };
        assert_eq!((host.all("Device Type"), host.all("Node")), (vec!["CPU"], vec!["0"]));
        assert!(host.pools.iter().any(|(segment, ..)| segment.contains("KERNARG, FINE GRAINED")), "{:?}", host.pools);
        assert_eq!(gpus.len(), 2);
        let kib = format!("{}KB", memory.strip_suffix('G').unwrap().parse::<u64>().unwrap() << 20);
        for (gpu, node) in gpus.iter().zip(["1", "2"]) {
            let isa = format!("amdgcn-amd-amdhsa--{architecture}:sramecc+:xnack-");
            assert_eq!(gpu.all("Name"), [architecture, &isa]);
            assert_eq!(gpu.all("Marketing Name"), [name]);
            assert_eq!((gpu.all("Device Type"), gpu.all("Node")), (vec!["GPU"], vec![node]));
            assert_eq!(gpu.all("Compute Unit"), [units.to_string()]);
            assert_eq!(gpu.all("Wavefront Size"), ["64(0x40)"]);
            let pools = [
                ("GLOBAL; FLAGS: COARSE GRAINED", &*kib, true),
                ("GLOBAL; FLAGS: FINE GRAINED", &*kib, true),
                ("GROUP", "64KB", false),
            ];
            let pools = pools.map(|(segment, size, given)| (segment.to_owned(), size.to_owned(), given));
            assert_eq!(gpu.pools, pools);
        }
    }
}

/// The section of one agent in the output of `rocminfo`.
struct Agent<'a> {
    /// Names and values, line by line.
    lines: Vec<(&'a str, &'a str)>,
    /// Memory pools: segment, size, and whether programs can allocate from them.
    pools: Vec<(String, String, bool)>,
}

impl<'a> Agent<'a> {
    fn read(text: &'a str) -> Self {
        let lines: Vec<_> = text
            .lines()
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.trim(), value.trim()))
            .collect();
        // Sizes are in decimal, in hexadecimal in brackets, and have a unit.
        let size = |text: &str| text.split(['(', ')']).step_by(2).collect::<String>().replace(' ', "");
        let place = |name| lines.iter().filter(move |(other, _)| *other == name).map(|(_, value)| *value);
        let pools = place("Segment").zip(place("Size")).zip(place("Allocatable"));
        let pools = pools.map(|((segment, bytes), given)| (segment.to_owned(), size(bytes), given == "TRUE")).collect();
        Self { pools, lines }
    }

    /// Every value of that name, in order.
    fn all(&self, name: &str) -> Vec<&'a str> {
        self.lines.iter().filter(|(other, _)| *other == name).map(|(_, value)| *value).collect()
    }
}

#[test]
fn what_cannot_be_run_is_said() {
    let (success, _, err) = hip_sim(&["run", "--devices", "65", "--", "true"], &[]);
    assert!(!success && err.contains("HIP_SIM_DEVICES") && err.contains("1 to 64"), "{err}");
    let (success, _, err) = hip_sim(&["run", "--rocm", "/nowhere", "--", "true"], &[]);
    assert!(!success && err.contains("neither /nowhere nor /nowhere/usr has ROCm's libraries"), "{err}");
    let nothing = tempfile::tempdir().unwrap();
    let nothing = ("ROCM_SDK_INSTALL_DIR", nothing.path().to_str().unwrap());
    let (success, _, err) = hip_sim(&["run", "--rocm", "6.4", "--", "true"], &[nothing]);
    assert!(!success && err.contains("ROCm 6.4 is not installed (installed: none); `rocm-sdk install 6.4`"), "{err}");
    let (success, _, err) = hip_sim(&["run", "--rocm", "6.1", "--", "true"], &[nothing]);
    assert!(!success && err.contains("it can install 5.7, 6.4, 7.2"), "{err}");
    let (success, _, err) = hip_sim(&["disasm", "/nowhere"], &[]);
    assert!(!success && err.contains("/nowhere"), "{err}");
}

#[test]
fn kernels_are_disassembled() {
    let (success, out, err) = hip_sim(&["disasm", KERNELS, "--kernel", "empty"], &[]);
    assert!(success && out.starts_with("empty: 1 instructions") && out.contains("0:  s_endpgm"), "{out}{err}");
    let (success, _, err) = hip_sim(&["disasm", KERNELS, "--kernel", "none"], &[]);
    assert!(!success && err.contains("vector_add"), "{err}");
    // The reader may close the pipe at once, as `head` does.
    let (read, write) = UnixStream::pair().unwrap();
    drop(read);
    let mut command = Command::new(env!("CARGO_BIN_EXE_hip-sim"));
    let output = command.args(["disasm", KERNELS]).stdout(OwnedFd::from(write)).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn info_shows_each_gpu() {
    let (success, out, err) = hip_sim(&["info", "--arch", "gfx942", "--devices", "2", "--memory", "3G"], &[]);
    assert!(success, "{err}");
    assert_eq!(out.matches("amdgcn-amd-amdhsa--gfx942").count(), 2, "{out}");
    assert!(out.contains("GPU 1") && out.contains("3.0 GiB"), "{out}");
}

/// The program that [`an_access_outside_of_a_stream_ordered_allocation_is_a_fault`] runs: it stores to memory of the
/// pool in the way that `HSA_SIM_TEST_POOL` names.
#[test]
fn stores_to_memory_of_a_pool() {
    let Ok(way) = std::env::var("HSA_SIM_TEST_POOL") else { return };
    let device = hip::Device::get(0).unwrap();
    if way == "no pools" {
        assert_eq!(device.attribute(hip::device::DeviceAttribute::MEMORY_POOLS_SUPPORTED).unwrap(), 0);
        return println!("it ran");
    }
    let module = hip::Module::load(&device, &std::fs::read(KERNELS).unwrap()).unwrap();
    let store = module.kernel("store_index").unwrap();
    let stream = hip::Stream::new(&device).unwrap();
    let new = |len| hip::DeviceBuffer::<i32>::uninit_async(&stream, len).unwrap();
    // Neighbours, which are in one chunk with the buffer if HIP divides chunks.
    let before = new(64);
    let buffer = new(64);
    let after = new(64);
    let address = buffer.as_device_ptr();
    let (buffer, threads) = match &*way {
        "inside" => (Some(buffer), 64),
        "past" => (Some(buffer), 65),
        "freed" => {
            drop(buffer);
            stream.synchronize().unwrap();
            (None, 64)
        }
        other => panic!("{other}"),
    };
    // SAFETY: not safe on a GPU; the software GPU checks every access, which is what this tests.
    let launched = unsafe { store.launch(&stream, hip::LaunchConfig::new(1, threads), (address,)) };
    let result = launched.and_then(|()| stream.synchronize());
    println!("{}", if result.is_ok() { "it ran" } else { "it failed" });
    // HIP frees no memory of a GPU that has failed.
    if result.is_err() {
        std::mem::forget((before, buffer, after));
    }
}

/// HIP's pools keep freed memory until the device is synchronized. That of 5.7 keeps it longer.
#[test]
fn an_access_outside_of_a_stream_ordered_allocation_is_a_fault() {
    const OUTSIDE: &str = "kernel store_index: out of bounds: write of 4 bytes at address 0x{}; 0 bytes past the end of 256 bytes of device memory";
    const FREED: &str = "kernel store_index: use after free: write of 4 bytes at address 0x{}; at byte 0 of freed 256 bytes of device memory";
    let chunks = ("DEBUG_HIP_MEM_POOL_VMHEAP", "1");
    let no_pools = ("HIP_MEM_POOL_SUPPORT", "0");
    let none = ("HSA_SIM_TEST_NOTHING", "");
    for (release, file, way, variable, told) in [
        ("7.2", "libamdhip64.so.7", "inside", none, ""),
        ("7.2", "libamdhip64.so.7", "past", none, OUTSIDE),
        ("7.2", "libamdhip64.so.7", "freed", none, FREED),
        // The program's own setting stays: HIP divides chunks, and the neighbour's memory is written.
        ("7.2", "libamdhip64.so.7", "past", chunks, ""),
        ("7.2", "libamdhip64.so.7", "no pools", no_pools, ""),
        ("6.4", "libamdhip64.so.6", "inside", none, ""),
        ("6.4", "libamdhip64.so.6", "past", none, OUTSIDE),
        ("6.4", "libamdhip64.so.6", "freed", none, FREED),
        ("6.4", "libamdhip64.so.6", "no pools", no_pools, ""),
        ("5.7", "libamdhip64.so.5", "inside", none, ""),
        ("5.7", "libamdhip64.so.5", "past", none, OUTSIDE),
    ] {
        if support::libraries(release, &[file]).is_none() {
            continue;
        }
        let tree = support::trees().join(release);
        let program = std::env::current_exe().unwrap();
        let arguments = ["run", "--rocm", tree.to_str().unwrap(), "--", program.to_str().unwrap(), "--exact"];
        let arguments = [&arguments[..], &["stores_to_memory_of_a_pool", "--nocapture"]].concat();
        let variables = [("HSA_SIM_TEST_POOL", way), ("HIP_RS_BACKEND", "rocm"), variable];
        let (_, out, err) = hip_sim(&arguments, &variables);
        // A fault ends the process with 6.4 and 5.7.
        let said = if told.is_empty() { "it ran" } else { "it failed" };
        assert!(out.contains(said) || release != "7.2" && !told.is_empty(), "{release} {way}: {out}{err}");
        assert_eq!(err.contains("hsa-sim: "), !told.is_empty(), "{release} {way}: {out}{err}");
        for part in told.split("{}; ") {
            assert!(err.contains(part), "{release} {way}: no {part:?} in {out}{err}");
        }
    }
}
