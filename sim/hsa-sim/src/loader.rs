//! Code object readers, executables, and the symbols in them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use amdgpu_sim::{CodeObject, Kernel, LoadError, Module};

use crate::abi::{
    HSA_STATUS_ERROR_FROZEN_EXECUTABLE, HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
    HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER, HSA_STATUS_ERROR_INVALID_EXECUTABLE,
    HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL, HSA_STATUS_ERROR_INVALID_SYMBOL_NAME,
    HSA_STATUS_ERROR_OUT_OF_RESOURCES, HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED, HSA_STATUS_ERROR_VARIABLE_UNDEFINED,
    hsa_code_object_reader_t, hsa_executable_symbol_t, hsa_executable_t, hsa_loaded_code_object_t, hsa_status_t,
};
use crate::agent::{AgentId, Agents};
use crate::handles::Handles;
use crate::result::Result;

/// The code object readers, executables and symbols of the process.
pub(crate) struct Loader {
    readers: Handles<Arc<Source>>,
    executables: Handles<Arc<Executable>>,
    symbols: Handles<Arc<Symbol>>,
    loaded: Handles<Arc<Loaded>>,
}

/// The bytes of a code object: a copy, and their address in the program.
pub(crate) struct Source {
    pub(crate) bytes: Vec<u8>,
    /// The address of the program's own bytes; 0 for a file.
    pub(crate) address: u64,
}

/// An executable.
pub(crate) struct Executable {
    pub(crate) profile: u32,
    pub(crate) rounding: u32,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    frozen: bool,
    /// Variables defined by the program, by agent and name.
    defined: HashMap<(AgentId, String), u64>,
    loaded: Vec<(u64, Arc<Loaded>)>,
    /// Symbols by agent and name.
    symbols: HashMap<(AgentId, String), u64>,
    /// The symbols in order, cached on first use: HIP 5.7 asks once per kernel, and Tensile has thousands in one file.
    in_order: Option<Arc<[Named]>>,
}

/// A symbol of an agent.
pub(crate) type Named = (AgentId, hsa_executable_symbol_t);

/// A loaded code object.
pub(crate) struct Loaded {
    pub(crate) executable: hsa_executable_t,
    pub(crate) agent: AgentId,
    pub(crate) source: Arc<Source>,
    pub(crate) module: Arc<Module>,
}

/// The kind of a symbol.
pub(crate) enum What {
    Kernel(Kernel),
    /// A device variable: its address and size.
    Variable(u64, u64),
}

/// A symbol of an executable.
pub(crate) struct Symbol {
    pub(crate) agent: AgentId,
    pub(crate) name: String,
    pub(crate) what: What,
}

impl Executable {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the executable is frozen.
    pub(crate) fn is_frozen(&self) -> bool {
        self.state().frozen
    }

    /// The executable's loaded code objects.
    pub(crate) fn loaded(&self) -> Vec<hsa_loaded_code_object_t> {
        self.state().loaded.iter().map(|(handle, _)| hsa_loaded_code_object_t { handle: *handle }).collect()
    }
}

/// The status for a code object that can't be loaded.
fn status_of(error: &LoadError) -> hsa_status_t {
    match error {
        LoadError::Target { .. } => HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS,
        LoadError::UndefinedSymbol(_) => HSA_STATUS_ERROR_VARIABLE_UNDEFINED,
        LoadError::Memory(_) => HSA_STATUS_ERROR_OUT_OF_RESOURCES,
        _ => HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
    }
}

impl Default for Loader {
    fn default() -> Self {
        Self {
            readers: Handles::new(0x52),
            executables: Handles::new(0x45),
            symbols: Handles::new(0x53),
            loaded: Handles::new(0x4c),
        }
    }
}

impl Loader {
    /// Creates a reader from the bytes of a code object.
    pub(crate) fn reader(&self, source: Source) -> Result<hsa_code_object_reader_t> {
        let handle = self.readers.insert(Arc::new(source)).ok_or(HSA_STATUS_ERROR_OUT_OF_RESOURCES)?;
        Ok(hsa_code_object_reader_t { handle })
    }

    /// Destroys a reader. Code loaded from it stays.
    pub(crate) fn destroy_reader(&self, reader: hsa_code_object_reader_t) -> Result<()> {
        self.readers.remove(reader.handle).map(drop).ok_or(HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER)
    }

    /// Creates an empty executable.
    pub(crate) fn create(&self, profile: u32, rounding: u32) -> Result<hsa_executable_t> {
        let executable = Executable { profile, rounding, state: Mutex::default() };
        let handle = self.executables.insert(Arc::new(executable)).ok_or(HSA_STATUS_ERROR_OUT_OF_RESOURCES)?;
        Ok(hsa_executable_t { handle })
    }

    /// The executable behind a handle.
    pub(crate) fn executable(&self, executable: hsa_executable_t) -> Result<Arc<Executable>> {
        self.executables.get(executable.handle).ok_or(HSA_STATUS_ERROR_INVALID_EXECUTABLE)
    }

    /// All executables.
    pub(crate) fn executables(&self) -> Vec<hsa_executable_t> {
        self.executables.all().into_iter().map(|(handle, _)| hsa_executable_t { handle }).collect()
    }

    /// Destroys an executable. Its running kernels finish.
    pub(crate) fn destroy(&self, executable: hsa_executable_t) -> Result<()> {
        let removed = self.executables.remove(executable.handle).ok_or(HSA_STATUS_ERROR_INVALID_EXECUTABLE)?;
        let state = std::mem::take(&mut *removed.state());
        for handle in state.symbols.into_values() {
            self.symbols.remove(handle);
        }
        for (handle, _) in state.loaded {
            self.loaded.remove(handle);
        }
        Ok(())
    }

    /// Defines the address of a variable that code refers to. Must precede loading.
    pub(crate) fn define(
        &self,
        executable: hsa_executable_t,
        agent: AgentId,
        name: String,
        address: u64,
    ) -> Result<()> {
        let executable = self.executable(executable)?;
        let mut state = executable.state();
        if state.frozen {
            return Err(HSA_STATUS_ERROR_FROZEN_EXECUTABLE);
        }
        if state.symbols.contains_key(&(agent, name.clone())) {
            return Err(HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED);
        }
        match state.defined.insert((agent, name), address) {
            None => Ok(()),
            Some(_) => Err(HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED),
        }
    }

    /// Loads a code object to a GPU.
    pub(crate) fn load(
        &self,
        agents: &Agents,
        handle: hsa_executable_t,
        agent: AgentId,
        reader: hsa_code_object_reader_t,
    ) -> Result<hsa_loaded_code_object_t> {
        let executable = self.executable(handle)?;
        let source = self.readers.get(reader.handle).ok_or(HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER)?;
        let gpu = agents.gpu(agent)?;
        let mut state = executable.state();
        if state.frozen {
            return Err(HSA_STATUS_ERROR_FROZEN_EXECUTABLE);
        }
        let refused = |error: LoadError| {
            eprintln!("hsa-sim: a code object can't be loaded: {error}");
            status_of(&error)
        };
        let code = CodeObject::parse(&source.bytes).map_err(refused)?;
        let externs = |name: &str| state.defined.get(&(agent, name.to_owned())).copied();
        let module = gpu.load_with(&code, &externs).map_err(refused)?;
        let kernels = module.kernels().map(|kernel| (kernel.info().symbol.clone(), What::Kernel(kernel.clone())));
        let globals = module.globals().filter_map(|name| {
            let (address, bytes) = module.global(name)?;
            Some((name.to_owned(), What::Variable(address, bytes)))
        });
        state.in_order = None;
        for (name, what) in kernels.chain(globals).collect::<Vec<_>>() {
            let symbol = Symbol { agent, name: name.clone(), what };
            let handle = self.symbols.insert(Arc::new(symbol)).ok_or(HSA_STATUS_ERROR_OUT_OF_RESOURCES)?;
            if let Some(old) = state.symbols.insert((agent, name), handle) {
                self.symbols.remove(old);
            }
        }
        let loaded = Arc::new(Loaded { executable: handle, agent, source, module });
        let handle = self.loaded.insert(Arc::clone(&loaded)).ok_or(HSA_STATUS_ERROR_OUT_OF_RESOURCES)?;
        state.loaded.push((handle, loaded));
        Ok(hsa_loaded_code_object_t { handle })
    }

    /// Freezes an executable: no more code can be loaded.
    pub(crate) fn freeze(&self, executable: hsa_executable_t) -> Result<()> {
        let executable = self.executable(executable)?;
        let mut state = executable.state();
        if state.frozen {
            return Err(HSA_STATUS_ERROR_FROZEN_EXECUTABLE);
        }
        state.frozen = true;
        Ok(())
    }

    /// The symbol with that name on an agent, or on any agent if none is given.
    pub(crate) fn find(
        &self,
        executable: hsa_executable_t,
        agent: Option<AgentId>,
        name: &str,
    ) -> Result<hsa_executable_symbol_t> {
        let executable = self.executable(executable)?;
        let state = executable.state();
        let found = match agent {
            Some(agent) => state.symbols.get(&(agent, name.to_owned())),
            None => state.symbols.iter().find(|((_, other), _)| other == name).map(|(_, handle)| handle),
        };
        found.map(|handle| hsa_executable_symbol_t { handle: *handle }).ok_or(HSA_STATUS_ERROR_INVALID_SYMBOL_NAME)
    }

    /// The symbols of an executable, sorted by agent and name.
    pub(crate) fn symbols(&self, executable: hsa_executable_t) -> Result<Arc<[Named]>> {
        let executable = self.executable(executable)?;
        let mut state = executable.state();
        let State { symbols, in_order, .. } = &mut *state;
        let list = in_order.get_or_insert_with(|| {
            let mut all: Vec<_> = symbols.iter().collect();
            all.sort();
            all.into_iter().map(|((of, _), handle)| (*of, hsa_executable_symbol_t { handle: *handle })).collect()
        });
        Ok(Arc::clone(list))
    }

    /// Calls `look` with the symbol behind a handle.
    pub(crate) fn with_symbol<R>(&self, symbol: hsa_executable_symbol_t, look: impl FnOnce(&Symbol) -> R) -> Result<R> {
        let looked = self.symbols.with(symbol.handle, |symbol| look(symbol));
        looked.ok_or(HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL)
    }

    /// The loaded code object behind a handle.
    pub(crate) fn loaded(&self, loaded: hsa_loaded_code_object_t) -> Result<Arc<Loaded>> {
        self.loaded.get(loaded.handle).ok_or(HSA_STATUS_ERROR_INVALID_CODE_OBJECT)
    }

    /// Every loaded code object.
    pub(crate) fn all_loaded(&self) -> Vec<Arc<Loaded>> {
        self.loaded.all().into_iter().map(|(_, loaded)| loaded).collect()
    }

    /// Destroys all executables and readers.
    pub(crate) fn clear(&self) {
        for executable in self.executables() {
            // It may have been destroyed concurrently, which has the same result.
            let _ = self.destroy(executable);
        }
        self.readers.clear();
    }
}
