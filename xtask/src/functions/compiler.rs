//! Lists which functions of the compiler libraries `rocm-llvm` calls, in `rocm-llvm/LLVM_FUNCTIONS.md`, and which of
//! RCCL's `rccl` calls, in `rccl/RCCL_FUNCTIONS.md`, for all releases.
//!
//! A function counts as called if the sources of its module name it after `sys::` (or another name of the raw module),
//! or look it up. It is listed with the public items that have its name as a search alias (`#[doc(alias = "...")]`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use regex::Regex;
use syn::{Attribute, ImplItem, Item, Type, Visibility};

use super::files::rust_files;
use crate::paths;

/// A library and the module over it.
struct Library {
    /// The module, or the crate.
    module: &'static str,
    /// The folder of its sources.
    sources: &'static str,
    /// The raw bindings' table of functions.
    coverage: &'static str,
    /// The name in prose.
    title: &'static str,
    /// The pattern of a call or of a lookup by name, which matches neither a comment nor an alias.
    call: &'static str,
    /// Patterns of functions that are left out, and why.
    reasons: &'static [(&'static str, &'static str)],
}

/// A page of libraries.
pub(super) struct Page {
    path: &'static str,
    head: &'static str,
    libraries: &'static [Library],
}

/// The pages. To add a library, add it here, with the reasons for the functions that are left out.
pub(super) const PAGES: [Page; 3] = [
    Page {
        path: "rocm-llvm/LLVM_FUNCTIONS.md",
        head: "# Functions of the compiler libraries in the crate `rocm-llvm`\n\n\
             Every function of each library in any release from 5.7 to 10.0, with the items that reach it, or the reason why none\n\
             does. Raw bindings of all are in [`rocm-llvm-sys`](../rocm-llvm-sys), re-exported as `rocm_llvm::sys`.\n",
        libraries: &[COMGR, LLVM],
    },
    Page {
        path: "rocm-llvm/CLANG_FUNCTIONS.md",
        head: "# libclang's functions in the crate `rocm-llvm`\n\n\
             Every function of libclang in any release from 5.7 to 10.0, with the items that reach it, or the reason why none does.\n\
             Raw bindings of all are in [`rocm-llvm-sys`](../rocm-llvm-sys), re-exported as `rocm_llvm::sys`.\n",
        libraries: &[CLANG],
    },
    Page {
        path: "rccl/RCCL_FUNCTIONS.md",
        head: "# RCCL functions in the crate `rccl`\n\n\
             Every function of RCCL in any release from 5.7 to 10.0, with the items that reach it, or the reason why none does. The\n\
             column *since* says at which API levels the function exists. Raw bindings of all are in [`rccl-sys`](../rccl-sys).\n",
        libraries: &[RCCL],
    },
];

const NEW_IN_10: &str = "new in 10.0: no library of that release to test with";

const RCCL: Library = Library {
    module: "rccl",
    sources: "rccl/src",
    coverage: "rccl-sys/src/generated",
    title: "RCCL",
    call: r"\braw::(nccl\w+)\(",
    reasons: &[
        (r"pnccl\w+", "the same function under a name for profilers, which AMD's library does not export"),
        (
            r"ncclCommInitAll",
            "takes no configuration: `Communicator::init_all` calls `ncclCommInitRankConfig` for each device",
        ),
        (r"ncclCommInitRankMulti", "in 5.4 only: for several ranks on one device"),
        (r"ncclCommInitRankScalable", "several ids, for starts of thousands of ranks; `init_rank` takes one"),
        (r"ncclCommCuDevice", "the `Communicator` knows its device"),
        (r"ncclBcast", "`Communicator::broadcast` calls `ncclBroadcast` with the same memory twice"),
        (
            r"ncclAlltoAllv?",
            "another name of `ncclAllToAll` and `ncclAllToAllv`, which is called where NCCL has no other",
        ),
        (
            r"ncclAllReduceWithBias",
            "RCCL 7.2.4 has no kernel for gfx90a, which the software GPU is, and reads a null pointer when it reports that \
             (`ncclPrepareTasks`): it was not tested",
        ),
        (r"ncclGroupSimulateEnd", "estimates the time of a group by the library's model"),
        (r"ncclResetDebugInit", "reads `NCCL_DEBUG` again"),
        (r"ncclParam\w+|ncclComm(GetUniqueId|Grow|MemStats|Resume|Revoke|Suspend)", NEW_IN_10),
    ],
};

const COMGR: Library = Library {
    module: "comgr",
    sources: "rocm-llvm/src/comgr",
    coverage: "rocm-llvm-sys/src/comgr/generated",
    title: "Comgr",
    call: r#"(?:\w+::|c")(amd_comgr_\w+)(?:\s*\(|")"#,
    reasons: &[
        (r"amd_comgr_hotswap_\w+|\w+_block_sizes(_count)?", NEW_IN_10),
        (
            r"amd_comgr_action_info_get_\w+",
            "the caller has set it: an `ActionInfo` is a value, and Comgr's object lives as long as the action",
        ),
        (r"amd_comgr_action_info_set_options", "deprecated since Comgr 1.3, and removed in 3: options are a list"),
        (
            r"amd_comgr_get_metadata_map_size|amd_comgr_metadata_lookup",
            "metadata is copied whole, as a tree with `Metadata::get` and `Metadata::map`",
        ),
        (r"amd_comgr_set_data_from_file_slice", "`Data::new` takes bytes, which a program may map itself"),
        (
            r"amd_comgr_map_elf_virtual_address_to_code_object_offset",
            "since 6.2 only: the crate `object` maps addresses for every release",
        ),
    ],
};

const CLANG: Library = Library {
    module: "clang",
    sources: "rocm-llvm/src/clang",
    coverage: "rocm-llvm-sys/src/clang/generated",
    title: "libclang",
    call: r"\b(clang_[A-Za-z]\w*)\b",
    reasons: &[
        (r"clang_\w*ObjC\w*|clang_\w*IBOutlet\w*|clang_isObjC\w*", "Objective-C"),
        (
            r"clang_\w*(Comment|HTML)\w*",
            "the tree of a comment; `Cursor::comment` and `Cursor::brief_comment` return its text",
        ),
        (r"clang_\w*(odeComplet|ompletion)\w*", "completion of code in editors"),
        (r"clang_\w*([iI]ndex|IndexAction)\w*", "callbacks for declarations; `Cursor::descendants` visits them"),
        (r"clang_\w*(Rewriter|emap)\w*", "changes files; a program can apply `Diagnostic::fixes` to its text"),
        (r"clang_\w*(Module|VirtualFileOverlay)\w*", "modules and files in memory; `Source::with_file` has the latter"),
        (r"clang_\w*EvalResult\w*", "`Index::macro_values` takes the widest form of a number"),
        (r"clang_\w*(GCCAssembly|Operator|Opcode)\w*", "statements and expressions in detail"),
        (
            r"clang_\w*(CXCursorSet|hashCursor|getNull\w*|equal(Locations|Ranges)|isNull)\w*",
            "Rust's collections and `Option`",
        ),
        (r"clang_\w*PrintingPolicy\w*|clang_\w*PrettyPrinted|clang_getFullyQualifiedName", "text in other styles"),
        (r"clang_\w*Diagnostic\w*", "another form of `TranslationUnit::diagnostics`, or a detail of it"),
        (
            r"clang_(enableStackTraces|executeOnThread|\w*toggleCrashRecovery|\w*fatal_error_handler|free|\w*ResourceUsage\w*|\w*String(Set)?|getBuildSessionTimestamp|\w*Options|suspendTranslationUnit)",
            "settings of the whole library, or its memory",
        ),
        (
            r"clang_(parseTranslationUnit|parseTranslationUnit2FullArgv|createTranslationUnit|createTranslationUnitFromSourceFile|visitChildrenWithBlock|\w*WithBlock|getInstantiationLocation|getTypedefName|getNumElements|getArrayElementType)",
            "another form of a function that is reached",
        ),
        (
            r"clang_(is|get|Cursor_|Type_|CXX|visit|File|Location|Range|TargetInfo|annotate|construct|create|dispose|find|CompileCommand|default|load)\w*",
            "asks for a detail that nothing here needs yet",
        ),
    ],
};

const LLVM: Library = Library {
    module: "llvm",
    sources: "rocm-llvm/src/llvm",
    coverage: "rocm-llvm-sys/src/llvm/generated",
    title: "LLVM-C",
    call: r"\b(LLVM[A-Z]\w*)\b",
    reasons: &[
        (r"LLVMInitialize\w+|LLVM\w*X86\w+|LLVM\w*PPC\w+|LLVM\w*FP128\w*", "targets other than AMD GPUs and the host"),
        (
            r"LLVMOrc\w+|LLVM\w*ExecutionEngine\w*|LLVM\w*JIT\w*|LLVM\w*Interpreter\w*|LLVM\w*GenericValue\w*|LLVMRunFunction(AsMain)?|LLVMRunStatic\w+|LLVMCreate\w+Listener|LLVMAddGlobalMapping|LLVM(Add|Remove)Module|LLVMFindFunction|LLVMFreeMachineCodeForFunction|LLVMGetFunctionAddress|LLVMGetGlobalValueAddress|LLVMGetPointerToGlobal|LLVMRecompileAndRelinkFunction|LLVMAddSymbol|LLVMSearchForAddressOfSymbol|LLVMLoadLibraryPermanently",
            "the older compilers for the host, and details of ORC; `Jit` compiles and calls",
        ),
        (r"LLVMRemark\w+", "files of remarks"),
        (r"(thin)?lto_\w+", "link-time optimisation of files; `Module::link` links modules"),
        (r"llvm_blake3_\w+", "a hash; the crate `blake3` has it"),
        (
            r"LLVM(Create|Dispose)?(Binary|ObjectFile|MachO)\w*|LLVMCreate(Binary|ObjectFile)|LLVMGet(Section|Symbol|Relocation)\w*|LLVMMoveTo\w+|LLVMDispose(Section|Symbol|Relocation)\w+|LLVMIs(Section|Symbol|Relocation)\w+",
            "reads object files; the crate `object` does",
        ),
        (r"LLVMIsA[A-Z]\w+", "a class of exceptions or of one release, which `Class` does not have"),
        (
            r"LLVM(Int\d+|Int|Half|Float|Double|BFloat|Label|Void|Pointer|Struct|Array)Type|LLVM(MDNode|MDString|ConstString|ConstStruct|AppendBasicBlock|InsertBasicBlock|CreateBuilder|ModuleCreateWithName|ParseBitcode2?|GetBitcodeModule2?|GetMDKindID|GetTypeByName|GetGlobalContext|IntPtrType|IntPtrTypeForAS)|LLVMConstArray|LLVMGetArrayLength",
            "the form for LLVM's global context, or with smaller numbers: a `Context` is a value",
        ),
        (
            r"LLVMInt\d+TypeInContext|LLVM(GetValueName|SetValueName|CreateDisasm|CreateDisasmCPU|BuildIntCast|ParseBitcodeInContext|GetBitcodeModuleInContext2?|MDNodeInContext|MDStringInContext|ConstStringInContext2|ParseIRInContext2|SetCurrentDebugLocation|GetCurrentDebugLocation|SetInstDebugLocation|SetModuleInlineAsm|AppendModuleInlineAsm|AddGlobal|SetDisasmOptions|IntrinsicCopyOverloadedName2?)",
            "another form of a function that is reached",
        ),
        (
            r"LLVMBuild(A?Shr|LShr|Shl|[FSU]?(Add|Sub|Mul|Div|Rem)|Exact[SU]Div|N[SU]W\w+|And|Or|Xor|ZExt\w*|SExt\w*|Trunc\w*|FP\w+|[SU]IToFP|PtrToInt|IntToPtr|BitCast|AddrSpaceCast|PointerCast|IntCast2)",
            "`Builder` reaches it as an operator of `LLVMBuildBinOp` or `LLVMBuildCast`",
        ),
        (
            r"LLVMBuild(Array(Alloca|Malloc)|Malloc|Free|Mem(Cpy|Move|Set)|Global\w+|Aggregate\w+|IsN\w+|PtrDiff2|StructGEP2|VAArg|GEPWithNoWrapFlags|AtomicCmpXchgSyncScope)|LLVMConst(FCmp|ICmp|AllOnes|Byte\w*|DataArray|NamedStruct|PointerNull|\w*Of(String|Arbitrary)\w*|FPFromBits|RealGetDouble)",
            "made of others: an intrinsic, a load or store, or another constant",
        ),
        (
            r"LLVMBuild(Invoke\w*|CallBr|CallWithOperandBundles|Catch\w+|Cleanup\w+|LandingPad|Resume|IndirectBr)|LLVM(Get|Set)?(\w*(Clause|Handler|UnwindDest|NormalDest|CatchSwitch|Cleanup|Personality\w*|Clauses|Handlers|CallBr\w+))|LLVMBlockAddress|LLVMGetBlockAddress\w+|LLVMAddDestination|LLVMIsCleanup|LLVMHasPersonalityFn",
            "exceptions and computed jumps, which GPUs have not",
        ),
        (r"LLVMConst\w+", "folds constants: the builder and the passes do"),
        (r"LLVM\w*InlineAsm\w*", "reads assembly within functions back"),
        (
            r"LLVMDI\w+|LLVM\w*(Dbg|Debug)\w*|LLVM\w*DINode\w*|LLVMGlobalAddDebugInfo|LLVMStripModuleDebugInfo",
            "debug information of further types, and reading it back",
        ),
        (
            r"LLVM\w*(Alias|IFunc|Comdat|DLLStorage|ThreadLocal|Section|UnnamedAddr\w*|GC|PrefixData|PrologueData|Weak|ExternallyInitialized|PtrAuth)\w*",
            "properties of symbols beyond those of `Symbol`",
        ),
        (
            r"LLVM\w*(PassManager|PassBuilderOptions|AnalysisPasses|TargetLibraryInfo|ModuleProvider)\w*|LLVMRunPassesOnFunction",
            "the passes' names take options; the old pass manager is gone",
        ),
        (
            r"LLVM\w*ModuleFlag\w*",
            "`Module::flags` reads the named metadata: LLVM's function has undefined behaviour for the behaviours max and min",
        ),
        (
            r"LLVM(DisposeTemporary|GetLast|GetPrevious|GetOrInsert|GetNamed|Metadata|Temporary)\w*(MDNode|Metadata\w*)",
            "temporary nodes, and further ways to named metadata",
        ),
        (r"LLVM\w*(Metadata|MDNode|MDString|NamedMD)\w*", "changing metadata"),
        (r"LLVM\w*OperandBundle\w*", "operand bundles"),
        (
            r"LLVM(Dump|View)\w+|LLVM\w*(ToFile|ToFD|FileHandle|WithSTDIN|ContentsOfFile)\w*",
            "writes to files or the screen: results are bytes and text",
        ),
        (
            r"LLVM(\w*TargetData|\w*DataLayout|\w*(Size|Alignment)Of\w+|OffsetOfElement|ElementAtOffset|PointerSize\w*|ByteOrder|SizeOf\w*|AlignOf|IntPtrType\w*|PreferredAlignment\w+)",
            "layouts of types, in another form than `Module::layout_of`",
        ),
        (
            r"LLVM\w*(Target)\w*|LLVMGetHost\w+|LLVMNormalizeTargetTriple",
            "other ways to find a target, or to ask one; `TargetMachine::new` takes a processor",
        ),
        (
            r"LLVM(Shutdown|EnablePrettyStackTrace|ParseCommandLineOptions|ResetFatalErrorHandler|StartMultithreaded|StopMultithreaded|IsMultithreaded|CantFail|ConsumeError|CreateMessage|CreateStringError|Get(String)?Error\w+|Context(Get|Set|Should)\w+|\w*MemoryBufferWithMemoryRange|Context\w*Yield\w*)",
            "settings and errors of the whole library, which the module keeps to itself",
        ),
        (
            r"LLVM(Delete|Remove|Erase|Move|Insert|Replace|Instruction|Position|Clear)\w+|LLVMSet(Operand|ArgOperand|Successor|Condition|AtomicRMW\w*|AtomicSingleThread|CmpXchg\w+|SwitchCaseValue|ModuleIdentifier|SourceFileName)|LLVMAppendExistingBasicBlock",
            "changes a detail of code; `Value::erase`, `replace_all_uses`, `set_operand` and `Module::replace_symbol` change the rest",
        ),
        (
            r"LLVM(Get|Is|Has|Count|GEP|Builder|Value|BasicBlock|Struct|Pointer|Scalable|Set|Add|Create|Verify|Intrinsic|Label|Byte|Token|Metadata)\w*",
            "asks for, or sets, a detail that nothing here needs yet",
        ),
    ],
};

impl Page {
    /// Returns the path of the page.
    pub(super) fn path(&self) -> PathBuf {
        paths::root().join(self.path)
    }

    /// Returns the text of the page.
    pub(super) fn text(&self) -> Result<String> {
        let mut page = format!("<!-- Written by `cargo xtask functions`; do not edit. -->\n{}", self.head);
        self.libraries.iter().try_for_each(|library| library.write(&mut page))?;
        Ok(page)
    }
}

impl Library {
    /// Returns all functions, with the first release that has each and the first that no longer has it.
    fn functions(&self) -> Result<Vec<(String, String, Option<String>)>> {
        let path = paths::root().join(self.coverage).join("coverage.rs");
        let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        let (_, rows) = text.split_once("pub static FUNCTIONS").context("no table of functions")?;
        let rows = rows.split_once("];").map_or(rows, |(rows, _)| rows);
        let row = Regex::new(r#"\("(\w+)",\s*"([\d.]+)",\s*(?:None|Some\("([\d.]+)"\))\)"#)?;
        let of = |found: regex::Captures<'_>| {
            (found[1].to_owned(), found[2].to_owned(), found.get(3).map(|gone| gone.as_str().to_owned()))
        };
        let functions: Vec<_> = row.captures_iter(rows).map(of).collect();
        ensure!(!functions.is_empty(), "{} has no functions", path.display());
        Ok(functions)
    }

    fn write(&self, page: &mut String) -> Result<()> {
        let sources = Sources::read(self)?;
        let reasons = self
            .reasons
            .iter()
            .map(|(pattern, reason)| Ok((Regex::new(&format!("^(?:{pattern})$"))?, *reason)))
            .collect::<Result<Vec<_>>>()?;
        let functions = self.functions()?;
        let (mut rows, mut reached) = (String::new(), 0);
        let mut served = BTreeSet::new();
        for (name, since, gone) in &functions {
            let releases = gone.as_ref().map_or(since.clone(), |gone| format!("{since}, before {gone}"));
            let place = if let Some(place) = sources.place(name) {
                reached += 1;
                place
            } else {
                let found = reasons.iter().position(|(pattern, _)| pattern.is_match(name));
                let found = found.with_context(|| format!("{name} is neither called nor left out for a reason"))?;
                served.insert(found);
                format!("— {}", reasons[found].1)
            };
            writeln!(rows, "| `{name}` | {releases} | {place} |")?;
        }
        for (index, (pattern, _)) in self.reasons.iter().enumerate() {
            ensure!(served.contains(&index), "no function that is left out matches {pattern}: take it off the list");
        }
        write!(
            page,
            "\n## {}\n\nOf {} functions, {reached} are reached by `{}`.\n\n\
             | function | since | in `{}` |\n|---|---|---|\n{rows}",
            self.title,
            functions.len(),
            self.sources.trim_end_matches("/src").replace("/src/", "::").replace('-', "_"),
            self.module,
        )?;
        Ok(())
    }
}

/// The functions found in the sources of a module.
#[derive(Default)]
struct Sources {
    /// Functions that are called, with the files that call them.
    called: BTreeMap<String, BTreeSet<String>>,
    /// Functions that are search aliases of public items, with the items.
    aliases: BTreeMap<String, Vec<String>>,
}

impl Sources {
    fn read(library: &Library) -> Result<Self> {
        let mut sources = Self::default();
        let call = Regex::new(library.call)?;
        let folder = paths::root().join(library.sources);
        for file in rust_files(&folder)? {
            let text = fs::read_to_string(&file)?;
            let module = file.strip_prefix(&folder)?.with_extension("").display().to_string().replace('/', "::");
            // An alias is not a call.
            let code = text.lines().filter(|line| !["//", "#["].iter().any(|no| line.trim_start().starts_with(no)));
            for line in code {
                for found in call.captures_iter(line) {
                    sources.called.entry(found[1].to_owned()).or_default().insert(module.clone());
                }
            }
            let parsed = syn::parse_file(&text).with_context(|| format!("parsing {}", file.display()))?;
            parsed.items.iter().for_each(|item| sources.item(item));
        }
        Ok(sources)
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Fn(item) => self.note(&item.vis, &item.attrs, &item.sig.ident.to_string()),
            Item::Struct(item) => self.note(&item.vis, &item.attrs, &item.ident.to_string()),
            Item::Enum(item) => {
                self.note(&item.vis, &item.attrs, &item.ident.to_string());
                for variant in &item.variants {
                    self.note(&item.vis, &variant.attrs, &format!("{}::{}", item.ident, variant.ident));
                }
            }
            Item::Impl(block) if block.trait_.is_none() => {
                let Type::Path(owner) = &*block.self_ty else { return };
                let Some(owner) = owner.path.segments.last() else { return };
                for item in &block.items {
                    if let ImplItem::Fn(function) = item {
                        self.note(&function.vis, &function.attrs, &format!("{}::{}", owner.ident, function.sig.ident));
                    }
                }
            }
            _ => {}
        }
    }

    /// Records the search aliases of a public item.
    fn note(&mut self, visibility: &Visibility, attributes: &[Attribute], name: &str) {
        if !matches!(visibility, Visibility::Public(_)) {
            return;
        }
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
            // `alias = ".."` and `alias("..", "..")`.
            let _ = attribute.parse_nested_meta(|meta| {
                if !meta.path.is_ident("alias") {
                    return Ok(());
                }
                let mut names = Vec::new();
                if meta.input.peek(syn::Token![=]) {
                    names.push(meta.value()?.parse::<syn::LitStr>()?);
                } else {
                    let list;
                    syn::parenthesized!(list in meta.input);
                    names.extend(list.parse_terminated(<syn::LitStr as syn::parse::Parse>::parse, syn::Token![,])?);
                }
                for alias in names {
                    self.aliases.entry(alias.value()).or_default().push(name.to_owned());
                }
                Ok(())
            });
        }
    }

    /// Returns the public items or files through which a called function is used.
    fn place(&self, function: &str) -> Option<String> {
        const SHOWN: usize = 3;
        let modules = self.called.get(function)?;
        let list = |names: &mut dyn Iterator<Item = &String>| {
            names.take(SHOWN).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        };
        Some(match self.aliases.get(function) {
            Some(items) => list(&mut items.iter()),
            // `raw` names all of them, and uses some itself.
            None if modules.len() == 1 => format!("within {}", list(&mut modules.iter())),
            None => format!("within {}", list(&mut modules.iter().filter(|module| *module != "raw"))),
        })
    }
}
