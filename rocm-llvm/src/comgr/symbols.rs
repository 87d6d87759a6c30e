//! Symbols of object files and code objects.

use std::ffi::c_void;

use rocm_llvm_sys::comgr::{self as sys, amd_comgr_status_t, amd_comgr_symbol_t, amd_comgr_symbol_type_t};

use crate::comgr::data::Data;
use crate::comgr::error::Result;
use crate::comgr::library::{c_string, check, lossy};

/// The kind of a symbol (`amd_comgr_symbol_type_t`).
#[doc(alias = "amd_comgr_symbol_type_t")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SymbolKind {
    /// Unknown to Comgr.
    Unknown,
    /// Without a kind, such as a symbol of another file.
    None,
    /// Data: a variable, or the descriptor of a kernel (`NAME.kd`).
    Object,
    /// Code.
    Function,
    /// A section.
    Section,
    /// The name of a source file.
    File,
    /// Uninitialised memory that several files share.
    Common,
    /// A kernel of a code object of version 2.
    HsaKernel,
}

impl SymbolKind {
    fn from_raw(raw: amd_comgr_symbol_type_t) -> Self {
        match raw {
            sys::AMD_COMGR_SYMBOL_TYPE_NOTYPE => Self::None,
            sys::AMD_COMGR_SYMBOL_TYPE_OBJECT => Self::Object,
            sys::AMD_COMGR_SYMBOL_TYPE_FUNC => Self::Function,
            sys::AMD_COMGR_SYMBOL_TYPE_SECTION => Self::Section,
            sys::AMD_COMGR_SYMBOL_TYPE_FILE => Self::File,
            sys::AMD_COMGR_SYMBOL_TYPE_COMMON => Self::Common,
            sys::AMD_COMGR_SYMBOL_TYPE_AMDGPU_HSA_KERNEL => Self::HsaKernel,
            _ => Self::Unknown,
        }
    }
}

/// A symbol of an object file or a code object (`amd_comgr_symbol_t`).
#[doc(alias("amd_comgr_symbol_t", "amd_comgr_symbol_get_info"))]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Symbol {
    /// Its name, mangled if the source's was.
    pub name: String,
    /// Its kind.
    pub kind: SymbolKind,
    /// Size of a variable or function in bytes.
    pub size: u64,
    /// Whether it is defined elsewhere.
    pub is_undefined: bool,
    /// Its address in a code object, its offset in the section in an object file.
    pub value: u64,
}

impl Data {
    /// Returns the symbols of an object file or a code object: see [`symbols`](crate::comgr::symbols()).
    ///
    /// # Errors
    /// [`Error::Call`](crate::comgr::Error::Call) for other kinds of data.
    #[doc(alias = "amd_comgr_iterate_symbols")]
    pub fn symbols(&self) -> Result<Vec<Symbol>> {
        of_data(self)
    }

    /// Returns the symbol of this name (`amd_comgr_symbol_lookup`); `None` if it does not exist. In a code object, only
    /// the dynamic symbols are searched.
    ///
    /// # Errors
    /// [`Error::Input`](crate::comgr::Error::Input) if the name contains a NUL,
    /// [`Error::Call`](crate::comgr::Error::Call) for data other than object files and code objects.
    #[doc(alias = "amd_comgr_symbol_lookup")]
    pub fn symbol(&self, name: &str) -> Result<Option<Symbol>> {
        lookup(self, name)
    }
}

/// Returns all symbols of a data object.
fn of_data(data: &Data) -> Result<Vec<Symbol>> {
    let mut found: Result<Vec<Symbol>> = Ok(Vec::new());
    // SAFETY: a live data object, and a callback that expects such a result, which lives until the call returns.
    let status = unsafe { sys::amd_comgr_iterate_symbols(data.raw(), Some(add), (&raw mut found).cast()) };
    let found = found?;
    check(status, "amd_comgr_iterate_symbols", || data.describe())?;
    Ok(found)
}

/// Returns the symbol with this name.
fn lookup(data: &Data, name: &str) -> Result<Option<Symbol>> {
    let c_name = c_string("the symbol", name)?;
    let mut symbol = amd_comgr_symbol_t::default();
    // SAFETY: a live data object, a C string, and a place that is valid for the write.
    let status = unsafe { sys::amd_comgr_symbol_lookup(data.raw(), c_name.as_ptr(), &mut symbol) };
    // Comgr returns this status if there is no such symbol.
    if status == sys::AMD_COMGR_STATUS_ERROR && sys::has(c"amd_comgr_symbol_lookup") {
        return Ok(None);
    }
    check(status, "amd_comgr_symbol_lookup", || format!("{name} in {}", data.describe()))?;
    // Comgr sets no handle, and returns success, if there is no such symbol.
    if symbol.handle == 0 { Ok(None) } else { read(symbol).map(Some) }
}

/// Adds a symbol to a `Result<Vec<Symbol>>`.
unsafe extern "C" fn add(symbol: amd_comgr_symbol_t, symbols: *mut c_void) -> amd_comgr_status_t {
    // SAFETY: Comgr passes on the pointer that `of_data` gave it.
    let symbols = unsafe { &mut *symbols.cast::<Result<Vec<Symbol>>>() };
    let Ok(found) = symbols else { return sys::AMD_COMGR_STATUS_ERROR };
    match read(symbol) {
        Ok(symbol) => {
            found.push(symbol);
            sys::AMD_COMGR_STATUS_SUCCESS
        }
        Err(error) => {
            *symbols = Err(error);
            sys::AMD_COMGR_STATUS_ERROR
        }
    }
}

/// Copies a live symbol.
fn read(symbol: amd_comgr_symbol_t) -> Result<Symbol> {
    const FUNCTION: &str = "amd_comgr_symbol_get_info";
    let mut length = 0_u64;
    // SAFETY: a live symbol; the attribute is a `uint64_t`.
    let status = unsafe {
        sys::amd_comgr_symbol_get_info(symbol, sys::AMD_COMGR_SYMBOL_INFO_NAME_LENGTH, (&raw mut length).cast())
    };
    check(status, FUNCTION, || "the length of a name".to_owned())?;
    let mut name = vec![0_u8; usize::try_from(length).unwrap_or(0) + 1];
    // SAFETY: a live symbol; the attribute is the name and a NUL, for which there is room.
    let status =
        unsafe { sys::amd_comgr_symbol_get_info(symbol, sys::AMD_COMGR_SYMBOL_INFO_NAME, name.as_mut_ptr().cast()) };
    check(status, FUNCTION, || "a name".to_owned())?;
    name.pop();
    let (mut kind, mut size) = (amd_comgr_symbol_type_t::default(), 0_u64);
    let (mut is_undefined, mut value) = (false, 0_u64);
    // SAFETY: a live symbol; the attribute is an `amd_comgr_symbol_type_t`.
    let status =
        unsafe { sys::amd_comgr_symbol_get_info(symbol, sys::AMD_COMGR_SYMBOL_INFO_TYPE, (&raw mut kind).cast()) };
    check(status, FUNCTION, || "a kind".to_owned())?;
    // SAFETY: a live symbol; the attribute is a `uint64_t`.
    let status =
        unsafe { sys::amd_comgr_symbol_get_info(symbol, sys::AMD_COMGR_SYMBOL_INFO_SIZE, (&raw mut size).cast()) };
    check(status, FUNCTION, || "a size".to_owned())?;
    // SAFETY: a live symbol; the attribute is a C `bool`, which Comgr sets to 0 or 1.
    let status = unsafe {
        sys::amd_comgr_symbol_get_info(symbol, sys::AMD_COMGR_SYMBOL_INFO_IS_UNDEFINED, (&raw mut is_undefined).cast())
    };
    check(status, FUNCTION, || "whether it is defined".to_owned())?;
    // SAFETY: a live symbol; the attribute is a `uint64_t`.
    let status =
        unsafe { sys::amd_comgr_symbol_get_info(symbol, sys::AMD_COMGR_SYMBOL_INFO_VALUE, (&raw mut value).cast()) };
    check(status, FUNCTION, || "a value".to_owned())?;
    Ok(Symbol { name: lossy(name), kind: SymbolKind::from_raw(kind), size, is_undefined, value })
}
