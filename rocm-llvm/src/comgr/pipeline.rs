//! The pipelines: from sources to code objects and back, each in one call.

use std::path::Path;

use crate::comgr::action::{ActionInfo, Output};
use crate::comgr::data::Data;
use crate::comgr::data_set::DataSet;
use crate::comgr::error::{Error, Result};
use crate::comgr::format;
use crate::comgr::hip_header;
use crate::comgr::input::{Artifact, Input};
use crate::comgr::isa::Isa;
use crate::comgr::kind::DataKind;
use crate::comgr::kind::{Action, Language};
use crate::comgr::library::{library, lossy};
use crate::comgr::metadata::Metadata;
use crate::comgr::options::Options;
use crate::comgr::symbols::Symbol;
use crate::comgr::version::Numbering;

/// The result of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Built {
    /// The file that was made.
    pub bytes: Artifact,
    /// The messages of the compiler, such as warnings; empty if there were none.
    pub log: String,
}

/// Compiles HIP source to LLVM bitcode for an architecture, device libraries included. `name` is the source's name in
/// messages.
///
/// # Errors
/// [`Error::Action`] with the messages of the compiler. [`Error::UnknownIsa`], and [`Error::Input`] for an empty source
/// or names that contain a NUL. [`Error::NoHipHeader`] without HIPRTC: see [`Options::no_hip_header`].
#[doc(alias = "amd_comgr_do_action")]
pub fn hip_to_bitcode(name: &str, source: &str, isa: &str, options: &Options) -> Result<Built> {
    let isa = Isa::new(isa)?;
    let input = sources(name, source, options)?;
    let mut headers = input;
    let mut flags = Vec::new();
    if !options.no_hip_header {
        headers.add(&Data::new(DataKind::Include, hip_header::NAME, hip_header::hip_header()?.as_bytes())?)?;
        // Like HIPRTC: its header replaces Clang's and the system's.
        flags.extend(["-D__HIPCC_RTC__", "-nogpuinc", "-nostdinc", "-include", hip_header::NAME, "-std=c++17"]);
    }
    let info = info(&isa, options).language(Language::Hip).options(flags).options(optimized(options));
    let output = run(&info, Action::CompileToBitcodeWithDeviceLibraries, &headers)?;
    Built::of(output, DataKind::Bitcode, name, String::new())
}

/// Compiles HIP source to a code object.
///
/// # Errors
/// Those of [`hip_to_bitcode`].
#[doc(alias = "amd_comgr_do_action")]
pub fn hip_to_code_object(name: &str, source: &str, isa: &str, options: &Options) -> Result<Built> {
    let bitcode = hip_to_bitcode(name, source, isa, options)?;
    // The device libraries are already linked, and the options are those of the front end.
    let rest = Options { options: backend_options(&optimized(options)), device_libraries: false, ..options.clone() };
    let code = ir_to_code_object(name, &bitcode.bytes, isa, &rest)?;
    Ok(Built { log: bitcode.log + &code.log, ..code })
}

/// Compiles LLVM IR, as text or bitcode, to an object file.
///
/// In bitcode of HIP source, each function names the processor that it was compiled for, and is compiled for that one:
/// pass the same architecture.
///
/// # Errors
/// [`Error::Action`] with the messages of the compiler for bad IR. [`Error::Input`] for other input, such as a
/// truncated or empty file.
///
/// Bitcode that this process did not make is trusted by an `unsafe` call: see [`Input`].
#[doc(alias = "amd_comgr_do_action")]
pub fn ir_to_object<'a>(name: &str, ir: impl Into<Input<'a>>, isa: &str, options: &Options) -> Result<Built> {
    generate(name, ir.into(), isa, options, Action::BitcodeToObject, DataKind::Object)
}

/// Compiles LLVM IR, as text or bitcode, to assembly.
///
/// # Errors
/// Those of [`ir_to_object`].
#[doc(alias = "amd_comgr_do_action")]
pub fn ir_to_assembly<'a>(name: &str, ir: impl Into<Input<'a>>, isa: &str, options: &Options) -> Result<String> {
    generate(name, ir.into(), isa, options, Action::BitcodeToAssembly, DataKind::Source)
        .map(|built| lossy(built.bytes.into_vec()))
}

/// Compiles LLVM IR, as text or bitcode, to a code object.
///
/// # Errors
/// Those of [`ir_to_object`]; [`Error::Action`] also if a called function is not defined. Functions of the device
/// libraries need [`Options::device_libraries`].
#[doc(alias = "amd_comgr_do_action")]
pub fn ir_to_code_object<'a>(name: &str, ir: impl Into<Input<'a>>, isa: &str, options: &Options) -> Result<Built> {
    let object = ir_to_object(name, ir, isa, options)?;
    let code = link_objects(&[(name, &object.bytes)], isa, options)?;
    Ok(Built { log: object.log + &code.log, ..code })
}

/// Links LLVM modules, as bitcode or text with their names, to one bitcode. Bitcode that this process did not make is
/// trusted by an `unsafe` call: see [`Input`].
///
/// With [`Options::device_libraries`], functions of the device libraries that they call are linked too. Comgr 3 has no
/// action for that: the libraries are then linked when the result is compiled to machine code with the same option.
///
/// # Errors
/// [`Error::Action`] with the messages of the linker, such as for a function that is defined twice. [`Error::Input`] if
/// the list is empty, or one is neither bitcode nor text.
#[doc(alias = "amd_comgr_do_action")]
pub fn link_bitcode<'a, I>(bitcodes: &[(&str, I)], isa: &str, options: &Options) -> Result<Built>
where
    I: Copy + Into<Input<'a>>,
{
    if bitcodes.is_empty() {
        return Err(Error::input("the bitcodes", "there are none to link"));
    }
    link_modules(&inputs(bitcodes), &Isa::new(isa)?, options)
}

/// Links bitcodes, and the device libraries if Comgr has an action for that.
fn link_modules(modules: &[(&str, Input<'_>)], isa: &Isa, options: &Options) -> Result<Built> {
    let mut input = DataSet::new()?;
    for (name, module) in modules {
        input.add(&Data::of(DataKind::Bitcode, &with_extension(name, &["bc", "ll"]), *module)?)?;
    }
    let info = info(isa, options).options(options.options.clone());
    let mut log = String::new();
    if options.device_libraries && library()?.numbering == Numbering::Two {
        // Comgr chooses the libraries by the language.
        let output = run(&info.clone().language(Language::Hip), Action::AddDeviceLibraries, &input)?;
        (input, log) = (output.data, output.log);
    }
    let name = modules.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    Built::of(run(&info, Action::LinkBitcode, &input)?, DataKind::Bitcode, &name, log)
}

/// Assembles a source to an object file.
///
/// # Errors
/// [`Error::Action`] with the messages of the assembler. [`Error::Input`] for an empty source.
#[doc(alias = "amd_comgr_do_action")]
pub fn assemble(name: &str, assembly: &str, isa: &str, options: &Options) -> Result<Built> {
    let isa = Isa::new(isa)?;
    let input = sources(&with_extension(name, &["s"]), assembly, options)?;
    let info = info(&isa, options).options(options.options.clone());
    Built::of(run(&info, Action::Assemble, &input)?, DataKind::Object, name, String::new())
}

/// Assembles and links a source to a code object.
///
/// # Errors
/// Those of [`assemble`] and [`link_objects`].
#[doc(alias = "amd_comgr_do_action")]
pub fn assembly_to_code_object(name: &str, assembly: &str, isa: &str, options: &Options) -> Result<Built> {
    let object = assemble(name, assembly, isa, options)?;
    let code = link_objects(&[(name, &object.bytes)], isa, options)?;
    Ok(Built { log: object.log + &code.log, ..code })
}

/// Links object files, given with their names, to a code object. Object files that this process did not make are
/// trusted by an `unsafe` call: see [`Input`].
///
/// The linker does not merge the metadata of the files: each that contains kernels has a note of its own in the result.
/// [`metadata`], `hip::Module::load` and HIP of ROCm 7.2 read all of them. For tools that read the first alone, link the
/// modules with [`link_bitcode`] instead.
///
/// # Errors
/// [`Error::Action`] with the messages of the linker, such as for a symbol that is not defined. [`Error::Input`] if
/// there is no object file, or one is not an object file for AMD GPUs.
#[doc(alias = "amd_comgr_do_action")]
pub fn link_objects<'a, I>(objects: &[(&str, I)], isa: &str, options: &Options) -> Result<Built>
where
    I: Copy + Into<Input<'a>>,
{
    let isa = Isa::new(isa)?;
    if objects.is_empty() {
        return Err(Error::input("the object files", "there are none to link"));
    }
    let mut input = DataSet::new()?;
    for (name, object) in &inputs(objects) {
        input.add(&Data::of(DataKind::Object, &with_extension(name, &["o"]), *object)?)?;
    }
    let info = info(&isa, options).options(options.link_options.clone());
    let name = objects.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    Built::of(run(&info, Action::LinkToCodeObject, &input)?, DataKind::CodeObject, &name, String::new())
}

/// Returns the metadata of a code object or an object file: the tree that LLVM's AMDGPU documentation describes as
/// "code object metadata".
///
/// # Errors
/// [`Error::Input`] if it is neither, or truncated. [`Error::Call`] if it has no metadata.
#[doc(alias = "amd_comgr_get_data_metadata")]
pub fn metadata(code: &[u8]) -> Result<Metadata> {
    Data::new(format::kind_of_elf("the code object", code)?, "code", code)?.metadata()
}

/// Returns the symbols of a code object (its dynamic symbols) or an object file.
///
/// # Errors
/// [`Error::Input`] if it is neither, or truncated.
#[doc(alias = "amd_comgr_iterate_symbols")]
pub fn symbols(code: &[u8]) -> Result<Vec<Symbol>> {
    Data::new(format::kind_of_elf("the code object", code)?, "code", code)?.symbols()
}

impl Built {
    /// Takes the one data object of a kind from an action's result.
    fn of(output: Output, kind: DataKind, name: &str, log: String) -> Result<Self> {
        let log = log + &output.log;
        match &output.data.data(kind)?[..] {
            [data] => Ok(Self { bytes: Artifact::new(data.bytes()?), log }),
            others => Err(Error::input(
                name,
                format!(
                    "Comgr reported success but made {} results of the kind {kind:?}, not one: {log}",
                    others.len()
                ),
            )),
        }
    }
}

fn inputs<'a, 'n, I: Copy + Into<Input<'a>>>(named: &[(&'n str, I)]) -> Vec<(&'n str, Input<'a>)> {
    named.iter().map(|&(name, input)| (name, input.into())).collect()
}

/// Runs an action on sources, on the results of other actions, or on an [`Input`].
fn run(info: &ActionInfo, action: Action, input: &DataSet) -> Result<Output> {
    // SAFETY: the bitcode and the object files in the set are artifacts of this process, or an `Input`, whose creator ensures that a
    // compiler wrote them.
    unsafe { info.run(action, input) }
}

/// Returns the settings that all actions of a pipeline share.
fn info(isa: &Isa, options: &Options) -> ActionInfo {
    let mut info = ActionInfo::new().isa(isa.clone());
    if let Some(directory) = &options.directory {
        info = info.working_directory(directory);
    }
    if let Some(use_memory) = options.files_in_memory {
        info = info.files_in_memory(use_memory);
    }
    info
}

/// Returns the set of a source and the headers from memory.
fn sources(name: &str, source: &str, options: &Options) -> Result<DataSet> {
    if source.trim().is_empty() {
        return Err(Error::input(name, "the source is empty"));
    }
    if let Some(at) = source.find('\0') {
        return Err(Error::input(name, format!("the source has a NUL at byte {at}")));
    }
    let mut input = DataSet::new()?;
    input.add(&Data::new(DataKind::Source, name, source.as_bytes())?)?;
    for (name, text) in &options.headers {
        input.add(&Data::new(DataKind::Include, name, text)?)?;
    }
    Ok(input)
}

/// Returns a name with one of these extensions: Comgr writes its input to files, and its tools depend on their
/// extensions. A name without one gets the first. Directories are removed.
fn with_extension(name: &str, extensions: &[&str]) -> String {
    let file = Path::new(name).file_name().and_then(|file| file.to_str()).unwrap_or(name);
    let has = Path::new(file).extension().and_then(|extension| extension.to_str());
    match has.is_some_and(|extension| extensions.contains(&extension)) || file.is_empty() {
        true => file.to_owned(),
        false => format!("{file}.{}", extensions[0]),
    }
}

/// Runs an action on IR and returns its result.
fn generate(name: &str, ir: Input<'_>, isa: &str, options: &Options, action: Action, kind: DataKind) -> Result<Built> {
    let isa = Isa::new(isa)?;
    let name = &with_extension(name, &["bc", "ll"]);
    let mut input = DataSet::new()?;
    input.add(&Data::of(DataKind::Bitcode, name, ir)?)?;
    let mut info = info(&isa, options).options(optimized(options));
    let mut log = String::new();
    if options.device_libraries {
        match library()?.numbering {
            // The bitcode is linked with the libraries first.
            Numbering::Two => {
                let linked = link_modules(&[(name, ir)], &isa, options)?;
                log = linked.log;
                input = DataSet::new()?;
                input.add(&Data::of(DataKind::Bitcode, name, &linked.bytes)?)?;
            }
            Numbering::Three => info = info.device_libraries(true),
        }
    }
    Built::of(run(&info, action, &input)?, kind, name, log)
}

/// Returns the options with an optimisation level: Comgr's own default differs between releases, and is `-O0` for IR.
fn optimized(options: &Options) -> Vec<String> {
    let level = (!options.options.iter().any(|option| option.starts_with("-O"))).then(|| "-O3".to_owned());
    level.into_iter().chain(options.options.iter().cloned()).collect()
}

/// Returns the options for compiling HIP that also apply to compiling bitcode.
fn backend_options(options: &[String]) -> Vec<String> {
    let mut rest = options.iter();
    let mut kept = Vec::new();
    while let Some(option) = rest.next() {
        match option.as_str() {
            "-mllvm" => kept.extend([Some(option), rest.next()].into_iter().flatten().cloned()),
            _ if option.starts_with("-O") || option.starts_with("-m") => kept.push(option.clone()),
            _ => {}
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_back_end_are_those_of_code_generation() {
        assert_eq!(optimized(&Options::new().option("-g")), ["-O3", "-g"]);
        assert_eq!(optimized(&Options::new().optimize(1)), ["-O1"]);
        let all = ["-O2", "-Iinclude", "-mllvm", "-amdgpu-x=1", "-DA=1", "-mcumode", "-g", "-Wall"];
        let kept = backend_options(&all.map(str::to_owned));
        assert_eq!(kept, ["-O2", "-mllvm", "-amdgpu-x=1", "-mcumode"]);
    }
}
