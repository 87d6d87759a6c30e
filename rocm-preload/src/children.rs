//! Starts programs like the C library's functions, but through the loader of this process.
//!
//! A program that the loader cannot start, and every program in a process that was not started through a loader, is
//! started by the C library's function. The same holds for unreadable files: the system then reports the error.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::transmute;
use std::ptr::null;

use crate::arguments::{Arguments, count};
use crate::functions::missing;
use crate::kind::{HEAD, Kind};
use crate::launch::SCRIPTS;
use crate::place::Place;
use crate::process::{Loaded, loaded};
use crate::real::Real;

/// A list of C strings that ends with a null pointer.
pub type List = *const *const c_char;
/// An attribute of `posix_spawn`, which is only passed on.
pub type Attribute = *const c_void;

/// The folders that are searched if `PATH` is not set.
const USUAL_PATH: &[u8] = b"/bin:/usr/bin";
/// The maximum length of the library list, from the loader and the environment.
const LIBRARIES: usize = 8192;
/// The maximum length of a script's first line that the kernel reads.
const LINE: usize = 260;

unsafe extern "C" {
    static environ: List;
}

/// Reads the properties of this process. Called when a preloaded library is loaded.
pub extern "C" fn initialize() {
    crate::process::read();
}

fn errno() -> c_int {
    // SAFETY: points to this thread's error number.
    unsafe { *libc::__errno_location() }
}

fn set_errno(error: c_int) {
    // SAFETY: points to this thread's error number.
    unsafe { *libc::__errno_location() = error };
}

/// The first bytes of a file that this user may execute and that is not setuid or setgid. Calls no function of the C
/// library that can be redirected.
fn head(path: *const c_char, buffer: &mut [u8; HEAD]) -> Option<&[u8]> {
    // SAFETY: system calls with a C string and memory of ours.
    unsafe {
        let at = libc::AT_FDCWD;
        if libc::syscall(libc::SYS_faccessat, at, path, libc::X_OK) != 0 {
            return None;
        }
        let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY;
        let file = libc::syscall(libc::SYS_openat, at, path, flags, 0);
        if file < 0 {
            return None;
        }
        let mut status: libc::stat = std::mem::zeroed();
        let plain = libc::syscall(libc::SYS_fstat, file, &raw mut status) == 0
            && status.st_mode & libc::S_IFMT == libc::S_IFREG
            // The loader would drop the right to run as another user.
            && status.st_mode & (libc::S_ISUID | libc::S_ISGID) == 0
            && libc::syscall(libc::SYS_fgetxattr, file, c"security.capability".as_ptr(), null::<u8>(), 0) < 0;
        let len = if plain { libc::syscall(libc::SYS_pread64, file, buffer.as_mut_ptr(), HEAD, 0) } else { -1 };
        libc::syscall(libc::SYS_close, file);
        Some(&buffer[..usize::try_from(len).ok()?])
    }
}

/// A script that is being resolved to a program: its interpreter and the interpreter's argument, as C strings.
struct Line {
    text: [u8; LINE],
    argument: Option<usize>,
}

impl Line {
    fn new(interpreter: &[u8], argument: Option<&[u8]>) -> Self {
        let mut text = [0; LINE];
        // Both are parts of a shorter line.
        text[..interpreter.len()].copy_from_slice(interpreter);
        let at = interpreter.len() + 1;
        if let Some(argument) = argument {
            text[at..at + argument.len()].copy_from_slice(argument);
        }
        Self { text, argument: argument.map(|_| at) }
    }

    fn interpreter(&self) -> *const c_char {
        self.text.as_ptr().cast()
    }

    fn argument(&self) -> Option<*const c_char> {
        self.argument.map(|at| self.text[at..].as_ptr().cast())
    }
}

/// The loader's libraries, and those of `LD_LIBRARY_PATH`, which the loader ignores if its option is given.
fn libraries<'a>(loaded: &'a Loaded, environment: List, buffer: &'a mut [u8; LIBRARIES]) -> *const c_char {
    let own = loaded.libraries.to_bytes();
    // SAFETY: the caller of `exec` passes a list of C strings.
    let variable = unsafe { value(environment, b"LD_LIBRARY_PATH=") }.unwrap_or_default();
    let len = own.len() + 1 + variable.len();
    if variable.is_empty() || own.ends_with(variable) || len >= LIBRARIES {
        return loaded.libraries.as_ptr();
    }
    buffer[..own.len()].copy_from_slice(own);
    buffer[own.len()] = b':';
    buffer[own.len() + 1..len].copy_from_slice(variable);
    buffer[len] = 0;
    buffer.as_ptr().cast()
}

/// The value of a variable. `name` includes the `=`.
///
/// # Safety
/// `environment` must be null or a list of C strings that outlives the value.
unsafe fn value<'a>(environment: List, name: &[u8]) -> Option<&'a [u8]> {
    // SAFETY: as the caller vouches.
    unsafe {
        let mut all = (0..count(environment)).map(|at| CStr::from_ptr(*environment.add(at)).to_bytes());
        all.find_map(|variable| variable.strip_prefix(name))
    }
}

/// Calls `start` with the file and the arguments that start the program `path` through the loader of this process, or
/// with the original ones.
///
/// # Safety
/// `path` must be a C string, the lists must be null or end with a null pointer.
unsafe fn through_loader<R>(
    path: *const c_char,
    arguments: List,
    environment: List,
    start: impl FnOnce(*const c_char, List) -> R,
) -> R {
    let Some(loaded) = loaded().filter(|_| !path.is_null()) else { return start(path, arguments) };
    // SAFETY: as the caller vouches.
    let own = unsafe { Place::of_this_program(path) };
    let first = own.as_ref().map_or(path, Place::as_ptr);
    // The scripts, from the requested one to the one whose interpreter is a program.
    let mut scripts: [Option<Line>; SCRIPTS] = Default::default();
    let mut depth = 0_usize;
    let mut buffer = [0; HEAD];
    let program = loop {
        let file = depth.checked_sub(1).and_then(|at| scripts[at].as_ref()).map_or(first, Line::interpreter);
        match head(file, &mut buffer).map(Kind::of) {
            Some(Kind::Dynamic) => break file,
            Some(Kind::Script { interpreter, argument }) if depth < SCRIPTS => {
                scripts[depth] = Some(Line::new(interpreter, argument));
                depth += 1;
            }
            // The loader cannot start it. If this program's own file was requested, that is still used.
            _ => return start(first, arguments),
        }
    };
    // SAFETY: as the caller vouches.
    let given = unsafe { count(arguments) };
    let Some(mut list) = Arguments::with_room(given + loaded.options.len() + 2 * SCRIPTS + 8) else {
        return start(first, arguments);
    };
    list.push(loaded.loader.as_ptr());
    loaded.options.iter().for_each(|option| list.push(option.as_ptr()));
    let mut buffer = [0; LIBRARIES];
    list.push(c"--library-path".as_ptr());
    list.push(libraries(loaded, environment, &mut buffer));
    list.push(c"--argv0".as_ptr());
    // SAFETY: the list has a first word.
    list.push(if depth > 0 || given == 0 { program } else { unsafe { *arguments } });
    // The loader searches a name without a slash among the libraries.
    // SAFETY: a C string, as the caller vouches, or a script's.
    let name = unsafe { CStr::from_ptr(program) }.to_bytes();
    let here = if name.contains(&b'/') { None } else { Place::new(b"./", name) };
    list.push(here.as_ref().map_or(program, Place::as_ptr));
    for at in (0..depth).rev() {
        if let Some(argument) = scripts[at].as_ref().and_then(Line::argument) {
            list.push(argument);
        }
        let script = at.checked_sub(1).and_then(|at| scripts[at].as_ref()).map_or(first, Line::interpreter);
        list.push(script);
    }
    for at in 1..given {
        // SAFETY: within the list.
        list.push(unsafe { *arguments.add(at) });
    }
    start(loaded.loader.as_ptr(), list.as_ptr())
}

/// Declares the C library's function of a name and calls it.
macro_rules! real {
    ($name:ident($($argument:expr => $type:ty),*) -> $result:ty) => {{
        static REAL: Real = Real::new(
            match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a name has no zero inside"),
            }
        );
        match REAL.get() {
            // SAFETY: the C library's function of this name has this type; the arguments are as the caller vouches.
            Some(real) => unsafe {
                transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> $result>(real)($($argument),*)
            },
            None => missing(),
        }
    }};
}

/// `execve`.
///
/// # Safety
/// As of the C library's function.
pub unsafe fn execve(path: *const c_char, arguments: List, environment: List) -> c_int {
    let start = |path, arguments| real!(execve(path => *const c_char, arguments => List, environment => List) -> c_int);
    // SAFETY: as the caller vouches.
    unsafe { through_loader(path, arguments, environment, start) }
}

/// `execv`.
///
/// # Safety
/// As of the C library's function.
pub unsafe fn execv(path: *const c_char, arguments: List) -> c_int {
    // SAFETY: as the caller vouches; the environment is the process's.
    unsafe { execve(path, arguments, environ) }
}

/// `execvp`.
///
/// # Safety
/// As of the C library's function.
pub unsafe fn execvp(name: *const c_char, arguments: List) -> c_int {
    // SAFETY: as the caller vouches; the environment is the process's.
    unsafe { execvpe(name, arguments, environ) }
}

/// `execvpe`: searches each folder of `PATH`, and runs a file without `#!` with the shell.
///
/// # Safety
/// As of the C library's function.
pub unsafe fn execvpe(name: *const c_char, arguments: List, environment: List) -> c_int {
    if loaded().is_none() || name.is_null() {
        return real!(execvpe(name => *const c_char, arguments => List, environment => List) -> c_int);
    }
    let mut denied = false;
    // SAFETY: as the caller vouches.
    let found = unsafe {
        in_path(name, |path| {
            execve(path, arguments, environment);
            match errno() {
                libc::ENOEXEC => {
                    by_shell(path, arguments, environment);
                    Some(())
                }
                libc::EACCES => {
                    denied = true;
                    None
                }
                libc::ENOENT | libc::ENOTDIR | libc::ESTALE | libc::ENODEV | libc::ETIMEDOUT => None,
                _ => Some(()),
            }
        })
    };
    if found.is_none() && denied {
        set_errno(libc::EACCES);
    }
    -1
}

/// Runs a file without `#!` with the shell.
///
/// # Safety
/// As of [`execve`].
unsafe fn by_shell(path: *const c_char, arguments: List, environment: List) {
    const SHELL: &CStr = c"/bin/sh";
    // SAFETY: as the caller vouches.
    unsafe {
        let given = count(arguments);
        let Some(mut list) = Arguments::with_room(given + 2) else { return };
        list.push(SHELL.as_ptr());
        list.push(path);
        (1..given).for_each(|at| list.push(*arguments.add(at)));
        execve(SHELL.as_ptr(), list.as_ptr(), environment);
    }
}

/// Calls `each` with the file `name` in each folder of this process's `PATH`, until it returns a value. A name with a
/// slash is a path.
///
/// # Safety
/// `name` must be a C string.
unsafe fn in_path<R>(name: *const c_char, mut each: impl FnMut(*const c_char) -> Option<R>) -> Option<R> {
    // SAFETY: as the caller vouches; the environment is a list of C strings.
    let (text, path) = unsafe { (CStr::from_ptr(name).to_bytes(), value(environ, b"PATH=")) };
    if text.contains(&b'/') {
        return each(name);
    }
    set_errno(libc::ENOENT);
    if text.is_empty() {
        return None;
    }
    for folder in path.unwrap_or(USUAL_PATH).split(|byte| *byte == b':') {
        // An empty entry is the current folder.
        let folder = if folder.is_empty() { b"." } else { folder };
        let Some(place) = Place::new(folder, b"/").and_then(|place| place.and(text)) else { continue };
        if let Some(result) = each(place.as_ptr()) {
            return Some(result);
        }
    }
    None
}

/// `fexecve`: runs an open file, which the loader gets by its path.
///
/// # Safety
/// As of the C library's function.
pub unsafe fn fexecve(file: c_int, arguments: List, environment: List) -> c_int {
    let plain = || real!(fexecve(file => c_int, arguments => List, environment => List) -> c_int);
    if loaded().is_none() || file < 0 {
        return plain();
    }
    let mut digits = [0; 10];
    let mut at = digits.len();
    let mut rest = file;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    let Some(link) = Place::new(b"/proc/self/fd/", &digits[at..]) else { return plain() };
    let mut path = [0_u8; libc::PATH_MAX as usize];
    // SAFETY: a system call with a C string and memory of ours, of which the last byte stays zero.
    let len = unsafe { libc::syscall(libc::SYS_readlink, link.as_ptr(), path.as_mut_ptr(), path.len() - 1) };
    // SAFETY: a system call with a C string.
    if len <= 0 || unsafe { libc::syscall(libc::SYS_faccessat, libc::AT_FDCWD, path.as_ptr(), libc::X_OK) } != 0 {
        return plain();
    }
    // SAFETY: as the caller vouches.
    unsafe { execve(path.as_ptr().cast(), arguments, environment) }
}

/// `posix_spawn`.
///
/// # Safety
/// As of the C library's function.
pub unsafe fn posix_spawn(
    child: *mut libc::pid_t,
    path: *const c_char,
    actions: Attribute,
    attributes: Attribute,
    arguments: List,
    environment: List,
) -> c_int {
    let start = |path, arguments| {
        real!(posix_spawn(
            child => *mut libc::pid_t, path => *const c_char, actions => Attribute, attributes => Attribute,
            arguments => List, environment => List
        ) -> c_int)
    };
    // SAFETY: as the caller vouches.
    unsafe { through_loader(path, arguments, environment, start) }
}

/// `posix_spawnp`.
///
/// # Safety
/// As of the C library's function.
pub unsafe fn posix_spawnp(
    child: *mut libc::pid_t,
    name: *const c_char,
    actions: Attribute,
    attributes: Attribute,
    arguments: List,
    environment: List,
) -> c_int {
    // The C library reports missing files and files that are not programs.
    let is_program = |path: *const c_char| {
        let mut buffer = [0; HEAD];
        let kind = head(path, &mut buffer).map(Kind::of);
        matches!(kind, Some(Kind::Dynamic | Kind::Script { .. }))
    };
    let ready = loaded().is_some() && !name.is_null();
    // SAFETY: as the caller vouches.
    let found = unsafe {
        if ready && CStr::from_ptr(name).to_bytes().contains(&b'/') {
            return posix_spawn(child, name, actions, attributes, arguments, environment);
        }
        ready.then(|| {
            in_path(name, |path| {
                is_program(path).then(|| posix_spawn(child, path, actions, attributes, arguments, environment))
            })
        })
    };
    found.flatten().unwrap_or_else(|| {
        real!(posix_spawnp(
            child => *mut libc::pid_t, name => *const c_char, actions => Attribute, attributes => Attribute,
            arguments => List, environment => List
        ) -> c_int)
    })
}

/// `system`.
///
/// # Safety
/// As of the C library's function.
pub unsafe fn system(command: *const c_char) -> c_int {
    // SAFETY: as the caller vouches.
    let own = unsafe { shell(command) };
    let command = own.as_ref().map_or(command, |text| text.as_ptr());
    real!(system(command => *const c_char) -> c_int)
}

/// `popen`.
///
/// # Safety
/// As of the C library's function.
pub unsafe fn popen(command: *const c_char, mode: *const c_char) -> *mut c_void {
    // SAFETY: as the caller vouches.
    let own = unsafe { shell(command) };
    let command = own.as_ref().map_or(command, |text| text.as_ptr());
    real!(popen(command => *const c_char, mode => *const c_char) -> *mut c_void)
}

/// A shell command that starts a shell through this process's loader, which runs `command`: the C library starts its
/// shell with an internal function.
///
/// # Safety
/// `command` must be null or a C string.
unsafe fn shell(command: *const c_char) -> Option<CString> {
    loaded().filter(|_| !command.is_null())?;
    let arguments = [c"sh".as_ptr(), c"-c".as_ptr(), command, null()];
    // SAFETY: lists of C strings, all of which end.
    unsafe {
        through_loader(c"/bin/sh".as_ptr(), arguments.as_ptr(), environ, |_, list| {
            // A shell that the loader cannot start.
            if std::ptr::eq(list, arguments.as_ptr()) {
                return None;
            }
            let mut text = b"exec".to_vec();
            for at in 0..count(list) {
                text.extend(b" '");
                for byte in CStr::from_ptr(*list.add(at)).to_bytes() {
                    match byte {
                        b'\'' => text.extend(br"'\''"),
                        _ => text.push(*byte),
                    }
                }
                text.push(b'\'');
            }
            CString::new(text).ok()
        })
    }
}

/// `execl`, with its arguments as a list.
///
/// # Safety
/// As of the C library's function.
pub unsafe extern "C" fn execl_list(path: *const c_char, arguments: List) -> c_int {
    // SAFETY: as the caller vouches.
    unsafe { execv(path, arguments) }
}

/// `execlp`, with its arguments as a list.
///
/// # Safety
/// As of the C library's function.
pub unsafe extern "C" fn execlp_list(name: *const c_char, arguments: List) -> c_int {
    // SAFETY: as the caller vouches.
    unsafe { execvp(name, arguments) }
}

/// `execle`, with its arguments as a list. The environment follows the null pointer.
///
/// # Safety
/// As of the C library's function.
pub unsafe extern "C" fn execle_list(path: *const c_char, arguments: List) -> c_int {
    // SAFETY: as the caller vouches.
    unsafe { execve(path, arguments, (*arguments.add(count(arguments) + 1)).cast()) }
}
