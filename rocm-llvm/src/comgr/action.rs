//! Actions: the operations of Comgr on a set of data objects.

use std::ffi::{CString, c_char};
use std::path::{Path, PathBuf};

use rocm_llvm_sys::comgr::{self as sys, amd_comgr_action_info_t};
use rocm_loader::clang_log::{with_places_of_source, without_directories};

use crate::comgr::data_set::DataSet;
use crate::comgr::error::{Error, Result};
use crate::comgr::isa::Isa;
use crate::comgr::kind::{Action, DataKind, Language};
use crate::comgr::library::{c_string, check, library, lossy, not_supported, status_text};
use crate::comgr::numbering;

impl Action {
    /// Returns whether the Comgr of this process has the action. Some actions also need a tool that a build of Comgr
    /// may lack.
    pub fn is_supported(self) -> bool {
        numbering::has_action(self).is_ok()
    }
}

/// The settings of an action besides its input (`amd_comgr_action_info_t`).
///
/// ```
/// use rocm_llvm::comgr::{self, Action, ActionInfo, Data, DataKind, DataSet, Isa, Language};
///
/// # fn main() -> comgr::Result<()> {
/// # if comgr::available().is_err() { return Ok(()) }
/// let mut sources = DataSet::new()?;
/// sources.add(&Data::new(DataKind::Source, "f.cl", b"kernel void f(global int *x) { *x = 1; }")?)?;
/// let info = ActionInfo::new().isa(Isa::new("gfx90a")?).language(Language::OpenCl20).options(["-O2", "-nogpulib"]);
/// // SAFETY: the input is a source.
/// let bitcode = unsafe { info.run(Action::CompileToBitcode, &sources)? };
/// assert_eq!(bitcode.data.count(DataKind::Bitcode)?, 1);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "amd_comgr_action_info_t")]
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct ActionInfo {
    isa: Option<Isa>,
    language: Language,
    options: Vec<String>,
    directory: Option<PathBuf>,
    device_libraries: Option<bool>,
    files_in_memory: Option<bool>,
    bundle_entry_ids: Vec<String>,
}

/// The result of an action.
#[derive(Debug)]
pub struct Output {
    /// The data objects that the action made, including the log.
    pub data: DataSet,
    /// The messages of the compiler, such as warnings.
    pub log: String,
}

impl ActionInfo {
    /// Creates settings without an architecture, a language or options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the architecture (`amd_comgr_action_info_set_isa_name`).
    #[doc(alias = "amd_comgr_action_info_set_isa_name")]
    pub fn isa(mut self, isa: Isa) -> Self {
        self.isa = Some(isa);
        self
    }

    /// Sets the language of the sources (`amd_comgr_action_info_set_language`).
    #[doc(alias = "amd_comgr_action_info_set_language")]
    pub fn language(mut self, language: Language) -> Self {
        self.language = language;
        self
    }

    /// Adds options for the tool that the action runs: Clang, its assembler, the linker or the disassembler
    /// (`amd_comgr_action_info_set_option_list`). Each element is one option.
    #[doc(alias = "amd_comgr_action_info_set_option_list")]
    pub fn options<T: Into<String>>(mut self, options: impl IntoIterator<Item = T>) -> Self {
        self.options.extend(options.into_iter().map(Into::into));
        self
    }

    /// Sets the directory that relative paths of included files start from
    /// (`amd_comgr_action_info_set_working_directory_path`).
    #[doc(alias = "amd_comgr_action_info_set_working_directory_path")]
    pub fn working_directory(mut self, directory: impl AsRef<Path>) -> Self {
        self.directory = Some(directory.as_ref().to_owned());
        self
    }

    /// Sets whether the device libraries are linked (`amd_comgr_action_info_set_device_lib_linking`). Since Comgr 3
    /// (ROCm 6.4).
    #[doc(alias = "amd_comgr_action_info_set_device_lib_linking")]
    pub fn device_libraries(mut self, link: bool) -> Self {
        self.device_libraries = Some(link);
        self
    }

    /// Sets whether the compiler keeps its intermediate files in memory (`amd_comgr_action_info_set_vfs`), as far as
    /// the action can. Since ROCm 7.0, and in some builds of 6.4. The environment variables `AMD_COMGR_USE_VFS` and
    /// `AMD_COMGR_SAVE_TEMPS` override it.
    #[doc(alias = "amd_comgr_action_info_set_vfs")]
    pub fn files_in_memory(mut self, use_memory: bool) -> Self {
        self.files_in_memory = Some(use_memory);
        self
    }

    /// Sets which entries [`Action::Unbundle`] takes, such as `hip-amdgcn-amd-amdhsa--gfx90a`
    /// (`amd_comgr_action_info_set_bundle_entry_ids`). Since Comgr 2.8 (ROCm 6.2).
    #[doc(alias = "amd_comgr_action_info_set_bundle_entry_ids")]
    pub fn bundle_entry_ids<T: Into<String>>(mut self, ids: impl IntoIterator<Item = T>) -> Self {
        self.bundle_entry_ids = ids.into_iter().map(Into::into).collect();
        self
    }

    /// Runs an action on a set of data objects (`amd_comgr_do_action`). Blocks until it is done.
    ///
    /// # Errors
    /// [`Error::Action`] with the messages of the compiler if it rejects the input. [`Error::NotSupported`] if this
    /// Comgr lacks the action, the language or one of the settings. [`Error::Input`] if an option or a path contains a
    /// NUL.
    ///
    /// # Safety
    /// The input must not contain damaged or crafted files: the bitcode, SPIR-V, object files, code objects, bundles
    /// and archives that the action reads must be the output of a compiler, whole or truncated. LLVM's readers trust
    /// the content, and can access memory outside the input, or end the process. Sources can be anything.
    #[doc(alias("amd_comgr_do_action", "amd_comgr_action_info_set_logging"))]
    pub unsafe fn run(&self, action: Action, input: &DataSet) -> Result<Output> {
        numbering::has_action(action)?;
        let info = self.make()?;
        let result = DataSet::new()?;
        let status = numbering::do_action(action, info.0, input.raw(), result.raw())?;
        let log = log(&result).map(|log| with_places_of_source(&log, |file| text_of(input, file)));
        if status == sys::AMD_COMGR_STATUS_SUCCESS {
            return Ok(Output { data: result, log: log? });
        }
        Err(Error::Action {
            action,
            isa: self.isa.as_ref().map(|isa| isa.name().to_owned()),
            inputs: names(input),
            status: status_text(status),
            log: log.unwrap_or_default(),
        })
    }

    /// Creates Comgr's object.
    fn make(&self) -> Result<Info> {
        library()?;
        let options = self.options.iter().map(|option| c_string("the option", option)).collect::<Result<Vec<_>>>()?;
        let directory = match &self.directory {
            Some(directory) => {
                let text = directory.to_str().ok_or_else(|| {
                    Error::input(format!("the working directory {}", directory.display()), "its name is not UTF-8")
                })?;
                Some(c_string("the working directory", text)?)
            }
            None => None,
        };
        let entries =
            self.bundle_entry_ids.iter().map(|id| c_string("the bundle entry", id)).collect::<Result<Vec<_>>>()?;
        let mut raw = amd_comgr_action_info_t::default();
        // SAFETY: the place is valid for the write.
        let status = unsafe { sys::amd_comgr_create_action_info(&mut raw) };
        check(status, "amd_comgr_create_action_info", || "an action info".to_owned())?;
        let info = Info(raw);
        if let Some(isa) = &self.isa {
            // SAFETY: a live action info and a C string, which is copied.
            let status = unsafe { sys::amd_comgr_action_info_set_isa_name(raw, isa.c_name().as_ptr()) };
            check(status, "amd_comgr_action_info_set_isa_name", || isa.name().to_owned())?;
        }
        if self.language != Language::None {
            let status = numbering::set_language(raw, self.language)?;
            check(status, "amd_comgr_action_info_set_language", || format!("{:?}", self.language))?;
        }
        // The disassembler rejects a list, even an empty one.
        if !options.is_empty() {
            let mut pointers = pointers(&options);
            // SAFETY: a live action info; the C strings and their number are those of the vector, and are copied.
            let status =
                unsafe { sys::amd_comgr_action_info_set_option_list(raw, pointers.as_mut_ptr(), pointers.len()) };
            check(status, "amd_comgr_action_info_set_option_list", || self.options.join(" "))?;
        }
        if let Some(directory) = directory {
            // SAFETY: a live action info and a C string, which is copied.
            let status = unsafe { sys::amd_comgr_action_info_set_working_directory_path(raw, directory.as_ptr()) };
            check(status, "amd_comgr_action_info_set_working_directory_path", || {
                directory.to_string_lossy().into_owned()
            })?;
        }
        // SAFETY: a live action info.
        let status = unsafe { sys::amd_comgr_action_info_set_logging(raw, true) };
        check(status, "amd_comgr_action_info_set_logging", || "the log".to_owned())?;
        if let Some(link) = self.device_libraries {
            let status = numbering::set_device_libraries(raw, link)?;
            check(status, "amd_comgr_action_info_set_device_lib_linking", || link.to_string())?;
        }
        if let Some(use_memory) = self.files_in_memory {
            let status = numbering::set_vfs(raw, use_memory)?;
            check(status, "amd_comgr_action_info_set_vfs", || use_memory.to_string())?;
        }
        if !entries.is_empty() {
            if !sys::has(c"amd_comgr_action_info_set_bundle_entry_ids") {
                return Err(not_supported("bundle entries", "Comgr 2.8 (ROCm 6.2)"));
            }
            let mut pointers = self::pointers(&entries);
            // SAFETY: a live action info; the C strings and their number are those of the vector, and are copied.
            let status =
                unsafe { sys::amd_comgr_action_info_set_bundle_entry_ids(raw, pointers.as_mut_ptr(), pointers.len()) };
            check(status, "amd_comgr_action_info_set_bundle_entry_ids", || self.bundle_entry_ids.join(", "))?;
        }
        Ok(info)
    }
}

fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ptr()).collect()
}

/// Comgr's object, destroyed on drop.
struct Info(amd_comgr_action_info_t);

impl Drop for Info {
    fn drop(&mut self) {
        // SAFETY: a live action info, destroyed once.
        let _ = unsafe { sys::amd_comgr_destroy_action_info(self.0) };
    }
}

/// Returns the messages in the result of an action.
fn log(result: &DataSet) -> Result<String> {
    let mut text = String::new();
    for kind in [DataKind::Log, DataKind::Diagnostic] {
        for data in result.data(kind)? {
            text.push_str(&lossy(data.bytes()?));
        }
    }
    Ok(without_directories(&text))
}

/// Returns the text of a file that messages name: of the input, or on disk.
fn text_of(input: &DataSet, file: &str) -> Option<String> {
    let sources = [DataKind::Source, DataKind::Include].into_iter().filter_map(|kind| input.data(kind).ok());
    let named = sources.flatten().find(|data| data.name().is_ok_and(|name| name == file));
    match named {
        Some(data) => data.bytes().ok().map(lossy),
        None => std::fs::read_to_string(file).ok(),
    }
}

/// Returns the names of the inputs, without headers.
fn names(input: &DataSet) -> Vec<String> {
    const SHOWN: [DataKind; 9] = [
        DataKind::Source,
        DataKind::Bitcode,
        DataKind::Object,
        DataKind::CodeObject,
        DataKind::Bytes,
        DataKind::Bundle,
        DataKind::BitcodeBundle,
        DataKind::Archive,
        DataKind::ArchiveBundle,
    ];
    let data = SHOWN.iter().filter_map(|kind| input.data(*kind).ok()).flatten();
    data.filter_map(|data| data.name().ok()).collect()
}
