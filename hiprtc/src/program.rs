//! A program and its compilation.

use std::fmt;
use std::sync::Arc;

use hip::{Arch, Device};
use hiprtc_sys::{HIPRTC_ERROR_COMPILATION, HIPRTC_SUCCESS};
use rocm_loader::clang_log::{with_places_of_source, without_directories};

use crate::bitcode::Bitcode;
use crate::bundle::BundleWriter;
use crate::cache::{self, Cache, Key, Stored};
use crate::code::{Code, Origin};
use crate::compiler::Compiler;
use crate::diagnostic::{self, Diagnostic, Severity};
use crate::error::{Error, Result, ok};
use crate::given::{Given, Input, Output};
use crate::handle::Handle;
use crate::loaded::Loaded;
use crate::options::Options;
use crate::source::declarations::Declarations;

/// Headers whose contents HIPRTC has built in.
const BUILT_IN: [&str; 2] = ["hip/hip_runtime.h", "hip/hip_fp16.h"];

/// HIP C++ source with its headers, options and architecture. Creating it compiles nothing; it can be compiled
/// repeatedly.
///
/// ```no_run
/// use hiprtc::{Options, Program};
///
/// let source = r#"
///     #include "scale.h"
///     template<typename T> __global__ void scale(T *x) { x[threadIdx.x] *= FACTOR; }
/// "#;
/// let code = Program::new("scale.hip", source)
///     .header("scale.h", "#pragma once\n#define FACTOR 3\n")
///     .options(Options::new().fast_math())
///     .name_expression("scale<float>")
///     .compile()?; // for the current device
/// let module = code.load(&hip::Device::get(0)?)?;
/// let kernel = module.kernel(code.lowered_name("scale<float>")?)?;
/// # Ok::<(), hiprtc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
#[doc(alias("hiprtcProgram", "nvrtcProgram"))]
pub struct Program {
    name: String,
    source: String,
    headers: Vec<(String, String)>,
    arch: Option<String>,
    options: Options,
    expressions: Vec<String>,
    uncached: bool,
}

impl Program {
    /// Creates a program from one source. `name` is its file name in the compiler's messages.
    #[doc(alias("hiprtcCreateProgram", "nvrtcCreateProgram", "hiprtcDestroyProgram", "nvrtcDestroyProgram"))]
    pub fn new(name: impl Into<String>, source: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            source: source.into(),
            headers: Vec::new(),
            arch: None,
            options: Options::new(),
            expressions: Vec::new(),
            uncached: false,
        }
    }

    /// Adds a header that `#include` finds under `name`, without a file.
    ///
    /// `<hip/hip_runtime.h>` and `<hip/hip_fp16.h>` need no header: their declarations are built into HIPRTC, and
    /// including them works with and without ROCm's development files. `<hip/hip_bf16.h>` and others are found if these
    /// files are installed.
    pub fn header(mut self, name: impl Into<String>, source: impl Into<String>) -> Self {
        self.headers.push((name.into(), source.into()));
        self
    }

    /// Sets the architecture to compile for, such as `"gfx90a"` or a [`hip::Arch`]. The default is the current
    /// device's.
    ///
    /// With the feature `nvidia`, `"sm_90"` gives machine code for NVIDIA's devices of that compute capability, and
    /// `"compute_90"` PTX, which the driver compiles for later ones, too. Both are compiled by NVRTC. For a device that is
    /// newer than NVRTC, the default is the latest PTX that it compiles to.
    pub fn arch(mut self, arch: impl fmt::Display) -> Self {
        self.arch = Some(arch.to_string());
        self
    }

    /// Sets the options, replacing earlier ones.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Requests an instance of a template, or any kernel by its C++ name: `"scale<float>"`, `"my::kernel"`. The code
    /// then contains it, under the name that [`Code::lowered_name`] returns.
    #[doc(alias("hiprtcAddNameExpression", "nvrtcAddNameExpression"))]
    pub fn name_expression(mut self, expression: impl Into<String>) -> Self {
        self.expressions.push(expression.into());
        self
    }

    /// Compiles without the [`cache`](crate::cache): stored code is not used, and the result is not stored.
    pub fn uncached(mut self) -> Self {
        self.uncached = true;
        self
    }

    /// Compiles for the architecture set with [`arch`](Self::arch), otherwise for the current device's.
    ///
    /// # Errors
    /// - [`Error::Compilation`] with the compiler's messages if the source does not compile.
    /// - [`Error::UnsupportedArch`] if the compiler does not support the architecture.
    /// - [`Error::NoHiprtc`], [`Error::NoComgr`] and [`Error::NoNvrtc`] if no compiler is available
    ///   ([`available`](crate::available)).
    /// - [`Error::InvalidOption`] for an option without a counterpart in NVRTC, for an architecture of NVIDIA's.
    /// - [`Error::NoArch`] if no architecture is set and no device is available.
    /// - [`Error::InvalidArch`], [`Error::Nul`], [`Error::Empty`] and [`Error::InvalidOption`] for invalid input.
    #[doc(alias("hiprtcCompileProgram", "nvrtcCompileProgram"))]
    pub fn compile(&self) -> Result<Code> {
        self.check()?;
        let (compiler, arch) = self.compiler()?;
        self.run(compiler, &arch, Output::Code)
    }

    /// Compiles for `arch`. The architecture set with [`arch`](Self::arch) is ignored.
    ///
    /// # Errors
    /// The same as [`compile`](Self::compile).
    pub fn compile_for(&self, arch: &Arch) -> Result<Code> {
        self.check()?;
        check_arch(&arch.to_string())?;
        self.run(Compiler::of(Some(arch))?, arch, Output::Code)
    }

    /// Compiles to LLVM bitcode, for a [`Linker`](crate::Linker): device functions may be declared here and defined in
    /// another program. The bitcode is for the architecture set with [`arch`](Self::arch), otherwise for the current
    /// device's.
    ///
    /// # Errors
    /// The same as [`compile`](Self::compile); [`Error::Unsupported`] for an architecture of NVIDIA's.
    #[doc(alias("hiprtcGetBitcode", "hiprtcGetBitcodeSize", "nvrtcGetLTOIR"))]
    pub fn compile_bitcode(&self) -> Result<Bitcode> {
        self.check()?;
        let (compiler, arch) = self.compiler()?;
        Ok(Bitcode::new(&self.name, self.run(compiler, &arch, Output::Bitcode)?))
    }

    /// Compiles and loads on `device`. The same program and device give the same module again, without loading it: the
    /// [`cache`](crate::cache) keeps it. Its variables are then shared, too; [`compile`](Self::compile) and
    /// [`Code::load`](crate::Code::load) give a separate module.
    ///
    /// ```no_run
    /// use hiprtc::Program;
    ///
    /// let device = hip::Device::get(0)?;
    /// let source = "template<typename T> __global__ void fill(T *x, T v) { x[threadIdx.x] = v; }";
    /// let fill = Program::new("fill.hip", source).name_expression("fill<float>");
    /// for _ in 0..1000 {
    ///     let kernel = fill.load(&device)?.kernel("fill<float>")?; // compiles and loads once
    /// }
    /// # Ok::<(), hiprtc::Error>(())
    /// ```
    ///
    /// # Errors
    /// The same as [`compile`](Self::compile), but the default architecture is that of `device`; [`Error::Hip`] if the
    /// runtime or its checks reject the code.
    pub fn load(&self, device: &Device) -> Result<Loaded> {
        self.check()?;
        let (compiler, arch) = match self.given_arch()? {
            Some(arch) => (Compiler::of(Some(&arch))?, arch),
            None => {
                let compiler = Compiler::of(None)?;
                (compiler, compiler.arch_for(device.properties()?.arch.clone()))
            }
        };
        let Some((cache, key)) = self.entry(compiler, &arch, Output::Code) else {
            let code = self.declare(self.run_now(compiler, &arch, Output::Code)?);
            return Ok(Loaded::new(code.load(device)?, code));
        };
        let load = || {
            let code = self.declare(self.run_cached(compiler, &arch, Output::Code, &cache, &key)?);
            Ok(Loaded::new(code.load(device)?, code))
        };
        let is_current = || Key::new(self.given(), &arch, Output::Code, compiler).as_ref() == Some(&key);
        cache.modules().get_or_load(&key, device.index(), load, is_current)
    }

    /// Compiles for several architectures, and returns the code as the bytes of a [`Bundle`](crate::Bundle).
    ///
    /// # Errors
    /// The same as [`compile`](Self::compile).
    pub fn compile_bundle<A: fmt::Display>(&self, architectures: impl IntoIterator<Item = A>) -> Result<Vec<u8>> {
        let mut writer = BundleWriter::new();
        for arch in architectures {
            let arch = check_arch(&arch.to_string())?;
            let code = self.compile_for(&arch)?;
            writer = writer.add(arch, code.into_bytes());
        }
        Ok(writer.to_bytes())
    }

    pub(crate) fn expressions(&self) -> &[String] {
        &self.expressions
    }

    /// Returns the texts, the options and the name expressions.
    pub(crate) fn given(&self) -> Given<'_> {
        let Self { name, source, headers, options, expressions, .. } = self;
        Given { name, source, headers, options: options.as_slice(), expressions }
    }

    /// Returns the architecture to find code for: the one set, otherwise the current device's.
    pub(crate) fn wanted_arch(&self) -> Result<Arch> {
        self.given_arch()?.map_or_else(device_arch, Ok)
    }

    /// Returns the compiler, and the architecture to compile for.
    fn compiler(&self) -> Result<(Compiler, Arch)> {
        let given = self.given_arch()?;
        let compiler = Compiler::of(given.as_ref())?;
        let arch = match given {
            Some(arch) => arch,
            None => compiler.arch_for(device_arch()?),
        };
        Ok((compiler, arch))
    }

    fn given_arch(&self) -> Result<Option<Arch>> {
        self.arch.as_deref().map(check_arch).transpose()
    }

    /// Rejects input that cannot be passed to a compiler.
    pub(crate) fn check(&self) -> Result<()> {
        let text = |what: String, text: &str| {
            if text.trim().is_empty() {
                return Err(Error::Empty { what });
            }
            match text.bytes().position(|byte| byte == 0) {
                Some(position) => Err(Error::Nul { what, position }),
                None => Ok(()),
            }
        };
        text("the program's name".to_owned(), &self.name)?;
        text(format!("the source of {}", self.name.escape_debug()), &self.source)?;
        for (name, source) in &self.headers {
            text("a header's name".to_owned(), name)?;
            if let Some(position) = source.bytes().position(|byte| byte == 0) {
                return Err(Error::Nul { what: format!("header {name}"), position });
            }
        }
        for expression in &self.expressions {
            text("a name expression".to_owned(), expression)?;
        }
        self.given_arch()?;
        self.options.check()
    }

    /// Compiles. The input has been checked, and a compiler is available.
    fn run(&self, compiler: Compiler, arch: &Arch, output: Output) -> Result<Code> {
        let code = match self.entry(compiler, arch, output) {
            Some((cache, key)) => self.run_cached(compiler, arch, output, &cache, &key)?,
            None => self.run_now(compiler, arch, output)?,
        };
        Ok(if output == Output::Code { self.declare(code) } else { code })
    }

    /// Adds the source's declarations to the code.
    fn declare(&self, code: Code) -> Code {
        Code { declarations: Arc::new(Declarations::of(self.given())), ..code }
    }

    /// Returns the cache to use, and the key in it.
    fn entry(&self, compiler: Compiler, arch: &Arch, output: Output) -> Option<(Arc<Cache>, Key)> {
        let cache = if self.uncached { None } else { cache::current() };
        cache.and_then(|cache| Some((cache, Key::new(self.given(), arch, output, compiler)?)))
    }

    fn run_cached(&self, compiler: Compiler, arch: &Arch, output: Output, cache: &Cache, key: &Key) -> Result<Code> {
        let make = || {
            let Code { bytes, log, lowered, .. } = self.run_now(compiler, arch, output)?;
            Ok(Stored { code: bytes.into_owned(), log, lowered })
        };
        let is_current = || Key::new(self.given(), arch, output, compiler).as_ref() == Some(key);
        let made: Result<_> = cache.get_or_make(key, make, is_current);
        let (Stored { code, log, lowered }, found) = made?;
        let origin = if found { Origin::Cached } else { Origin::Compiled };
        Ok(Code { bytes: code.into(), arch: arch.clone(), log, lowered, origin, declarations: Arc::default() })
    }

    /// Compiles, and if necessary once more with the headers that are built into HIPRTC.
    fn run_now(&self, compiler: Compiler, arch: &Arch, output: Output) -> Result<Code> {
        compiler.expect(arch)?;
        match self.run_once(compiler, arch, output) {
            Err(Error::Compilation { log, .. }) if self.lacks_built_in(&log) => {
                let built_in = BUILT_IN.iter().filter(|name| !self.headers.iter().any(|(known, _)| known == *name));
                built_in
                    .fold(self.clone(), |program, name| program.header(*name, "\n"))
                    .run_once(compiler, arch, output)
            }
            other => other,
        }
    }

    /// Returns whether a compilation failed because ROCm's development files are not installed, which also contain the
    /// headers that are built into HIPRTC.
    fn lacks_built_in(&self, log: &str) -> bool {
        BUILT_IN.iter().any(|name| {
            log.contains(&format!("'{name}' file not found")) && !self.headers.iter().any(|(known, _)| known == name)
        })
    }

    /// Returns the text of a file that the compiler's messages name.
    fn text_of(&self, file: &str) -> Option<String> {
        let file = diagnostic::short(file);
        let in_memory = self.headers.iter().find(|(name, _)| name == file).map(|(_, text)| text);
        let in_memory = in_memory.or_else(|| (file == self.name.as_str()).then_some(&self.source));
        in_memory.cloned().or_else(|| std::fs::read_to_string(file).ok())
    }

    fn run_once(&self, compiler: Compiler, arch: &Arch, output: Output) -> Result<Code> {
        let Input { headers, options } = compiler.input(arch, self.given(), output)?;
        let headers = [&self.headers[..], &headers].concat();
        let handle = Handle::create(compiler.functions(), self.given(), &headers)?;
        for expression in &self.expressions {
            handle.add_name(&self.name, expression)?;
        }
        let status = handle.compile(&options)?;
        let log = with_places_of_source(&without_directories(&handle.log()), |file| self.text_of(file));
        let warnings_count = status == HIPRTC_SUCCESS && compiler.checks_warnings(self.options.as_slice());
        let is_warning = |diagnostic: &Diagnostic| diagnostic.severity == Severity::Warning;
        if status == HIPRTC_ERROR_COMPILATION || warnings_count && Diagnostic::parse(&log).iter().any(is_warning) {
            return Err(Error::Compilation {
                name: self.name.clone(),
                arch: arch.clone(),
                options: options.into(),
                log,
            });
        }
        ok(status, compiler.functions().names.compile, || format!("{} for {arch}: {log}", self.name))?;
        let lowered =
            self.expressions.iter().map(|e| Ok((e.clone(), handle.lowered_name(e)?))).collect::<Result<_>>()?;
        let (get, is_output) = compiler.output(arch, output);
        let bytes = handle.output(&self.name, get)?;
        if !is_output(&bytes) {
            return Err(Error::NotCode { name: self.name.clone(), options, size: bytes.len() });
        }
        let (origin, declarations) = (Origin::Compiled, Arc::default());
        Ok(Code { bytes: bytes.into(), arch: arch.clone(), log, lowered, origin, declarations })
    }
}

/// Returns the current device's architecture.
fn device_arch() -> Result<Arch> {
    let arch = Device::current().and_then(|device| Ok(device.properties()?.arch.clone()));
    arch.map_err(|error| Error::NoArch(Box::new(error)))
}

/// Checks an architecture's name. HIPRTC itself would accept any string until late in the compilation.
pub(crate) fn check_arch(given: &str) -> Result<Arch> {
    let invalid = || Error::InvalidArch { given: given.to_owned() };
    let arch: Arch = given.parse().map_err(|_| invalid())?;
    if cfg!(feature = "nvidia") && arch.is_nvidia() {
        return Ok(arch);
    }
    let number = arch.name().strip_prefix("gfx").ok_or_else(invalid)?;
    let digits = number.strip_suffix("-generic").unwrap_or(number);
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_hexdigit() && !c.is_ascii_uppercase() || c == '-');
    let known_features = arch.features().iter().all(|feature| feature.name == "xnack" || feature.name == "sramecc");
    if is_number && known_features { Ok(arch) } else { Err(invalid()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_are_checked_before_the_compiler_sees_them() {
        for good in
            ["gfx90a", "gfx942:sramecc+:xnack-", "gfx1030", "gfx1201", "gfx9-4-generic", "gfx11-generic", "gfx90c"]
        {
            check_arch(good).unwrap();
        }
        for bad in [
            "",
            "gfx",
            "90a",
            "sm_",
            if cfg!(feature = "nvidia") { "sm_9" } else { "sm_90" },
            "gfx90A",
            "gfx90a:xnack",
            "gfx90a:foo+",
            "gfx90a ",
            "gfx90a\0",
            "native",
            "gfx-generic",
        ] {
            assert!(matches!(check_arch(bad), Err(Error::InvalidArch { .. })), "{bad:?}");
        }
    }

    #[test]
    fn impossible_input_is_refused_whether_or_not_there_is_a_compiler() {
        let good = Program::new("a.hip", "__global__ void f() {}");
        good.check().unwrap();
        for (bad, part) in [
            (Program::new("", "x"), "name is empty"),
            (Program::new("a\0b", "x"), "NUL at byte 1"),
            (Program::new("a", " \n"), "source of a is empty"),
            (Program::new("a", "x\0"), "source of a contains a NUL at byte 1"),
            (good.clone().header("", "x"), "header's name is empty"),
            (good.clone().header("h\0", "x"), "header's name contains a NUL"),
            (good.clone().header("h", "x\0"), "header h contains a NUL"),
            (good.clone().name_expression(""), "name expression is empty"),
            (good.clone().name_expression("f\0"), "name expression contains a NUL"),
            (good.clone().options(Options::new().raw("-g\0")), "NUL"),
            (good.clone().arch("sm_9"), "not an architecture"),
        ] {
            let text = bad.compile().unwrap_err().to_string();
            assert!(text.contains(part), "{part}: {text}");
        }
        good.clone().header("empty.h", "").check().unwrap();
    }
}
