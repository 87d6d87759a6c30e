//! Expands a kernel: to a function that the hardware can start on the device, and to a type that launches it on the
//! host.

use proc_macro::TokenStream;

use crate::identity;
use crate::parse::{self, Error, Function, Kind, Output, Parameter, Result, plain_name};

// Names of the expansion begin with `__hk_`, so that they differ from the user's names in the same scope.

/// Absolute paths, even if the user shadows the names.
const USIZE: &str = "::core::primitive::usize";
const U64: &str = "::core::primitive::u64";
const U32: &str = "::core::primitive::u32";
const STR: &str = "::core::primitive::str";

/// An instance: its generic arguments, and its name in the code object.
struct Instance<'a> {
    arguments: &'a [String],
    symbol: String,
}

pub(crate) fn kernel(function: &Function) -> Result<TokenStream> {
    let none = Vec::new();
    let all = if function.generics.is_empty() { std::slice::from_ref(&none) } else { &function.instances[..] };
    let instances: Vec<_> =
        all.iter().map(|arguments| Instance { arguments, symbol: symbol(function, arguments) }).collect();
    let device: String = instances.iter().map(|instance| device(function, instance)).collect();
    let host = host(function, &instances);
    let mut tokens: TokenStream = "#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] \
                                   #[cfg_attr(target_arch = \"amdgpu\", inline(always))] \
                                   #[cfg_attr(not(target_arch = \"amdgpu\"), allow(dead_code))]"
        .parse()
        .map_err(|_| broken(function))?;
    tokens.extend(function.item.clone());
    tokens.extend(parse::written(&(device + &host)).ok_or_else(|| broken(function))?);
    Ok(tokens)
}

fn broken(function: &Function) -> Error {
    Error::new(function.name.span(), "`#[kernel]` does not understand this function")
}

/// Returns the symbol's name: `scale_f32` for `scale<f32>`, and `try` for `r#try`.
fn symbol(function: &Function, arguments: &[String]) -> String {
    let mut symbol = plain_name(&function.name.to_string()).to_owned();
    for argument in arguments {
        symbol.push('_');
        symbol.extend(parse::shown(argument).chars().filter(|c| c.is_alphanumeric() || *c == '_'));
    }
    symbol
}

/// Returns the aliases of generic parameters: `type T = f32; const N: usize = 4;`.
fn aliases(function: &Function, arguments: &[String]) -> String {
    let pairs = function.generics.iter().zip(arguments);
    let one = |(generic, argument): (&crate::parse::Generic, &String)| match &generic.constant {
        Some(kind) => format!("#[allow(dead_code)] const {}: {kind} = {argument};\n", generic.name),
        None => format!("#[allow(dead_code, non_camel_case_types)] type {} = {argument};\n", generic.name),
    };
    pairs.map(one).collect()
}

fn turbofish(arguments: &[String]) -> String {
    if arguments.is_empty() {
        return String::new();
    }
    let braced = arguments
        .iter()
        .map(|a| if a.starts_with(|c: char| c.is_ascii_digit()) { format!("{{{a}}}") } else { a.clone() });
    format!("::<{}>", braced.collect::<Vec<_>>().join(", "))
}

/// Returns constants `__HK_SHARED_0`, `__HK_SHARED_1`, ... with the start and end of shared memory for each of the
/// parameters, in order.
fn shared(parameters: &[Parameter]) -> (String, usize) {
    let mut text = format!("const __HK_SHARED_0: {USIZE} = 0;\n");
    let mut count = 0;
    for parameter in parameters {
        if let Kind::Shared(element) = &parameter.kind {
            text += &format!(
                "const __HK_SHARED_{}: {USIZE} = ::hip_kernel::shared::end::<{element}>(__HK_SHARED_{count});\n",
                count + 1
            );
            count += 1;
        }
    }
    (text, count)
}

fn device(function: &Function, instance: &Instance<'_>) -> String {
    // Pointers first, so that the arguments that kernels read are adjacent and loaded at once. The place for a panic is the very first, and
    // the barrier's state the second: the panic handler finds them there.
    let (mut first, mut abi, mut make, mut pass) = (String::new(), String::new(), String::new(), String::new());
    let (mut place_of_panics, mut leave) = (format!("_: {U64}, "), String::new());
    let mut shared_index = 0;
    for (index, Parameter { name, kind, .. }) in function.parameters.iter().enumerate() {
        let (p, n) = (format!("__hk_p{index}"), format!("__hk_n{index}"));
        match kind {
            Kind::Slice(element) => {
                first += &format!("{p}: ::core::ptr::NonNull<{element}>, ");
                abi += &format!("{n}: {USIZE}, ");
                make += &format!("let {p} = ::hip_kernel::launched::slice({p}, {n});\n");
            }
            Kind::Const(element) => first += &format!("{p}: *const {element}, "),
            Kind::Mut(element) => first += &format!("{p}: *mut {element}, "),
            Kind::Output { path, element, form } => {
                first += &format!("{p}: ::core::ptr::NonNull<{element}>, ");
                abi += &format!("{n}: {USIZE}, ");
                let path = path.replacen('<', "::<", 1);
                let width = if *form == Output::Grid {
                    abi += &format!("__hk_w{index}: {USIZE}, ");
                    format!(", __hk_w{index}")
                } else {
                    String::new()
                };
                make += &format!("let {p} = {path}::from_launch({p}, {n}{width});\n");
            }
            Kind::Shared(element) => {
                make +=
                    &format!("let {p} = ::hip_kernel::shared::Shared::<{element}>::at(__HK_SHARED_{shared_index});\n");
                shared_index += 1;
            }
            Kind::SharedSlice(element) => {
                abi += &format!("{n}: {USIZE}, ");
                make += &format!(
                    "let {p} = ::hip_kernel::shared::SharedSlice::<{element}>::at(::hip_kernel::shared::start::<{element}>(__HK_SHARED_{shared_index}), {n});\n"
                );
            }
            Kind::Printer => {
                first += &format!("{p}: *mut {U32}, ");
                abi += &format!("{n}: {USIZE}, ");
                make += &format!("let {p} = ::hip_kernel::print::Printer::from_launch({p}, {n});\n");
            }
            Kind::GridBarrier => {
                place_of_panics += &format!("{p}_state: *mut {U32}, ");
                make += &format!("let {p} = ::hip_kernel::group::GridBarrier::from_launch({p}_state);\n");
                leave = format!("; ::hip_kernel::group::GridBarrier::leave({p}_state)");
            }
            Kind::Value(value) => {
                abi += &format!("{p}: <{value} as ::hip_kernel::Value>::Abi, ");
                make += &format!("let {p} = <{value} as ::hip_kernel::Value>::from_abi({p});\n");
            }
        }
        let _ = name;
        pass += &format!("{p}, ");
    }
    let place = |name: &String| function.parameters.iter().position(|parameter| parameter.name == *name);
    let mut contract = String::new();
    for names in &function.same_len {
        let places: Vec<_> = names.iter().filter_map(place).collect();
        for pair in places.windows(2) {
            contract += &format!("::core::hint::assert_unchecked(__hk_n{} == __hk_n{});\n", pair[0], pair[1]);
        }
    }
    if let Some(threads) = function.max_threads {
        contract += &format!("::hip_kernel::launched::max_threads::<{threads}>();\n");
    }
    let stack = function.stack.map_or_else(String::new, |bytes| {
        format!(
            "#[used] #[unsafe(export_name = \"hip_kernel_stack.{}\")] static __HK_STACK: {U32} = {bytes};\n",
            instance.symbol
        )
    });
    let name = parse::escaped(&function.name.to_string());
    let (aliases, turbofish) = (aliases(function, instance.arguments), turbofish(instance.arguments));
    let (constants, _) = shared(&function.parameters);
    let (symbol, attributes) = (&instance.symbol, cfgs(&function.attributes));
    let (text, layouts, count) =
        (identity::text(function, symbol), identity::layouts(function), function.parameters.len());
    format!(
        "{attributes} #[cfg(target_arch = \"amdgpu\")]\nconst _: () = {{\n{aliases}\n#[allow(dead_code)] {constants}\n\
         {stack}#[unsafe(export_name = {symbol:?})]\n\
         unsafe extern \"gpu-kernel\" fn __hk_start({place_of_panics}{first}{abi}) {{\n\
         // SAFETY: the host passes what the signature says, and has checked the lengths.\n\
         #[allow(unused_unsafe)] unsafe {{ {contract} {make} {name}{turbofish}({pass}){leave} }}\n}}\n\
         const __HK_TEXT: &{STR} = {text};\n\
         #[used]\n#[allow(elided_lifetimes_in_paths)]\n#[unsafe(link_section = \".hip_kernel\")]\n\
         #[unsafe(export_name = \"hip_kernel_identity_{symbol}\")]\n\
         static __HK_IDENTITY: ::hip_kernel::identity::Record<{count}, {{ __HK_TEXT.len() }}> =\n\
         ::hip_kernel::identity::Record::new(__HK_TEXT, {layouts});\n}};\n"
    )
}

/// Returns the `cfg`s among attributes.
fn cfgs(attributes: &str) -> String {
    attributes.lines().filter(|line| line.starts_with("#[cfg")).collect()
}

/// Converts `vector_add` to the form of a type's name.
fn camel(name: &str) -> String {
    let name = plain_name(name);
    let mut camel = String::new();
    for word in name.split('_').filter(|word| !word.is_empty()) {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        camel.extend(letters);
    }
    if camel.is_empty() || camel == "Self" || camel.starts_with(|c: char| c.is_ascii_digit()) {
        camel.insert_str(0, "Kernel");
    }
    camel
}

/// The names of a launch's parameters.
struct Names(Vec<String>);

impl Names {
    fn new(parameters: &[Parameter]) -> Self {
        Self(parameters.iter().map(|parameter| parameter.name.clone()).collect())
    }

    /// Returns this name, with `_` appended as often as it is taken.
    fn unused(&mut self, name: &str) -> String {
        let mut name = name.to_owned();
        while self.0.contains(&name) {
            name.push('_');
        }
        self.0.push(name.clone());
        name
    }
}

fn host(function: &Function, instances: &[Instance<'_>]) -> String {
    let Function { attributes, visibility, name, .. } = function;
    let type_name = camel(&name.to_string());
    let generics = |with_types: bool| {
        if function.generics.is_empty() {
            return String::new();
        }
        let all = function.generics.iter().map(|generic| match &generic.constant {
            Some(kind) if with_types => format!("const {}: {kind}", generic.name),
            _ => generic.name.clone(),
        });
        format!("<{}>", all.collect::<Vec<_>>().join(", "))
    };
    let types = function.generics.iter().filter(|generic| generic.constant.is_none());
    let marker: String = types.map(|generic| format!("{}, ", generic.name)).collect();
    let (declared, used) = (generics(true), generics(false));
    let mut text = format!(
        "{attributes}\n#[cfg(not(target_arch = \"amdgpu\"))]\n\
         {visibility} struct {type_name}{declared} {{\n kernel: ::hip_kernel::host::Launcher<{type_name}{used}>,\n \
         marker: ::core::marker::PhantomData<fn() -> ({marker})>,\n}}\n\
         #[cfg(not(target_arch = \"amdgpu\"))]\n\
         impl{declared} ::core::clone::Clone for {type_name}{used} {{\n fn clone(&self) -> Self {{\n \
         Self {{ kernel: ::core::clone::Clone::clone(&self.kernel), marker: self.marker }}\n }}\n}}\n\
         #[cfg(not(target_arch = \"amdgpu\"))]\n\
         impl{declared} ::core::fmt::Debug for {type_name}{used} {{\n fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) \
         -> ::core::fmt::Result {{\n ::core::fmt::Debug::fmt(&self.kernel, f)\n }}\n}}\n"
    );
    for instance in instances {
        text += &host_instance(function, instance, &type_name);
    }
    text
}

fn host_instance(function: &Function, instance: &Instance<'_>, type_name: &str) -> String {
    let Function { visibility, is_unsafe, name, .. } = function;
    let (mut taken, mut convert, mut needs) = (String::new(), String::new(), String::new());
    let (mut shapes, mut held, mut pointer_shapes, mut pointers) =
        (String::new(), String::new(), String::new(), String::new());
    let (mut first_shapes, mut first_held, mut mark) = (String::new(), String::new(), "");
    let (constants, shared_count) = shared(&function.parameters);
    let mut names = Names::new(&function.parameters);
    let (stream, config) = (names.unused("stream"), names.unused("config"));
    let mut bytes = format!("::core::result::Result::Ok(__HK_SHARED_{shared_count})");
    let typed = "::hip_kernel::host::typed";
    let value = |ty: &str| format!("<{typed}::Value<{ty}> as {typed}::Parameter>::SHAPE, ");
    for (index, Parameter { name, kind, .. }) in function.parameters.iter().enumerate() {
        let (p, n) = (format!("__hk_p{index}"), format!("__hk_n{index}"));
        // The names that callers of `launch` see.
        let name = if name == "_" { names.unused(&format!("unused_{index}")) } else { name.clone() };
        let shown = plain_name(&name);
        match kind {
            Kind::Slice(element) => {
                taken += &format!("{name}: impl ::hip_kernel::hip::IntoSlice<'a, {element}>, ");
                convert += &format!(
                    "let {p} = {typed}::Const::<{element}>::convert({name});\nlet {n} = {p}.len() as {U64};\n"
                );
                pointer_shapes += &format!("<{typed}::Const<{element}> as {typed}::Parameter>::SHAPE, ");
                shapes += &value(U64);
                pointers += &format!(
                    "{typed}::Const::<{element}>::hold(&{p}).not_null(::core::mem::align_of::<{element}>() as {U64}), "
                );
                held += &format!("{typed}::Value::<{U64}>::hold(&{n}), ");
            }
            Kind::Const(element) => {
                taken += &format!("{name}: impl ::hip_kernel::hip::IntoSlice<'a, {element}>, ");
                convert += &format!("let {p} = {typed}::Const::<{element}>::convert({name});\n");
                pointer_shapes += &format!("<{typed}::Const<{element}> as {typed}::Parameter>::SHAPE, ");
                pointers += &format!("{typed}::Const::<{element}>::hold(&{p}), ");
            }
            Kind::Mut(element) => {
                taken += &format!("{name}: impl ::hip_kernel::hip::IntoSliceMut<'a, {element}>, ");
                convert += &format!("let {p} = {typed}::Mut::<{element}>::convert({name});\n");
                pointer_shapes += &format!("<{typed}::Mut<{element}> as {typed}::Parameter>::SHAPE, ");
                pointers += &format!("{typed}::Mut::<{element}>::hold(&{p}), ");
            }
            Kind::Output { element, form, .. } => {
                taken += &format!("{name}: impl ::hip_kernel::hip::IntoSliceMut<'a, {element}>, ");
                convert +=
                    &format!("let {p} = {typed}::Mut::<{element}>::convert({name});\nlet {n} = {p}.len() as {U64};\n");
                pointer_shapes += &format!("<{typed}::Mut<{element}> as {typed}::Parameter>::SHAPE, ");
                shapes += &value(U64);
                pointers += &format!(
                    "{typed}::Mut::<{element}>::hold(&{p}).not_null(::core::mem::align_of::<{element}>() as {U64}), "
                );
                held += &format!("{typed}::Value::<{U64}>::hold(&{n}), ");
                match form {
                    Output::Slice | Output::Chunks => needs += &format!("__hk_needs.one_dimension({shown:?});\n"),
                    Output::Grid => {
                        let width = names.unused(&format!("{name}_width"));
                        taken += &format!("{width}: {USIZE}, ");
                        convert += &format!(
                            "let __hk_w{index} = {width} as {U64};\n__hk_needs.width({shown:?}, __hk_w{index}, {n});\n"
                        );
                        shapes += &value(U64);
                        held += &format!("{typed}::Value::<{U64}>::hold(&__hk_w{index}), ");
                    }
                    Output::Atomic => {}
                }
            }
            Kind::Shared(_) => {}
            Kind::SharedSlice(element) => {
                taken += &format!("{name}: {USIZE}, ");
                convert += &format!("let {n} = {name} as {U64};\n");
                bytes = format!("::hip_kernel::shared::dynamic::<{element}>(__HK_SHARED_{shared_count}, {name})");
                shapes += &value(U64);
                held += &format!("{typed}::Value::<{U64}>::hold(&{n}), ");
            }
            Kind::Printer => {
                taken += &format!("{name}: &'a mut ::hip_kernel::host::Printed, ");
                convert += &format!(
                    "let {p} = {typed}::Mut::<{U32}>::convert({name}.as_slice_mut());\nlet {n} = {p}.len() as {U64};\n"
                );
                pointer_shapes += &format!("<{typed}::Mut<{U32}> as {typed}::Parameter>::SHAPE, ");
                shapes += &value(U64);
                pointers += &format!("{typed}::Mut::<{U32}>::hold(&{p}), ");
                held += &format!("{typed}::Value::<{U64}>::hold(&{n}), ");
            }
            Kind::GridBarrier => {
                taken += &format!("{name}: &'a mut ::hip_kernel::host::GridState, ");
                convert += &format!("let {p} = {typed}::Mut::<{U32}>::convert({name}.for_launch({stream})?);\n");
                first_shapes = format!("<{typed}::Mut<{U32}> as {typed}::Parameter>::SHAPE, ");
                first_held = format!("{typed}::Mut::<{U32}>::hold(&{p}), ");
                mark = " | ::hip_kernel::launched::HAS_BARRIER";
            }
            Kind::Value(ty) => {
                taken += &format!("{name}: {ty}, ");
                convert += &format!("let {p} = <{ty} as ::hip_kernel::Value>::to_abi({name});\n");
                let abi = format!("<{ty} as ::hip_kernel::Value>::Abi");
                shapes += &value(&abi);
                held += &format!("{typed}::Value::<{abi}>::hold(&{p}), ");
            }
        }
    }
    let place = |name: &String| function.parameters.iter().position(|parameter| parameter.name == *name);
    for names in &function.same_len {
        for pair in names.windows(2) {
            let (Some(one), Some(other)) = (place(&pair[0]), place(&pair[1])) else { continue };
            needs += &format!(
                "__hk_needs.same_len({:?}, __hk_n{one}, {:?}, __hk_n{other});\n",
                plain_name(&pair[0]),
                plain_name(&pair[1])
            );
        }
    }
    if let Some(threads) = function.max_threads {
        needs += &format!("__hk_needs.max_threads({threads});\n");
    }
    let place_of_panics = value(U64);
    let stack = function.stack.map_or_else(String::new, |bytes| format!(".with_stack({bytes})?"));
    let (aliases, turbofish) = (aliases(function, instance.arguments), turbofish(instance.arguments));
    let unsafety = if *is_unsafe { "unsafe" } else { "" };
    let safety = if *is_unsafe {
        format!("///\n/// # Safety\n/// That of the function `{name}`, for every thread of the launch.\n")
    } else {
        String::new()
    };
    let attributes = cfgs(&function.attributes);
    let visibility = if visibility.starts_with("pub(") { "pub" } else { visibility };
    // Inside a constant, `self` and `super` still refer to the module's, and private items stay private.
    let visibility = if visibility.is_empty() { "pub(self)" } else { visibility };
    let symbol = &instance.symbol;
    let (text, layouts) = (identity::text(function, symbol), identity::layouts(function));
    let waits = function.parameters.iter().any(|parameter| matches!(parameter.kind, Kind::GridBarrier));
    let launch = if waits { "launch_cooperative" } else { "launch" };
    format!(
        "{attributes} #[cfg(not(target_arch = \"amdgpu\"))]\n#[allow(dead_code, unused_mut, unused_variables, \
         unreachable_pub, clippy::too_many_arguments, clippy::extra_unused_lifetimes, clippy::needless_pub_self)]\nconst _: () = {{\n{aliases}\n{constants}\n\
         impl {type_name}{turbofish} {{\n\
         /// The kernel's name in the code object.\n{visibility} const NAME: &'static {STR} = {symbol:?};\n\
         /// Finds the kernel, and compares this signature and the function's source with what the code was made of.\n///\n\
         /// # Errors\n/// `Error::KernelNotFound`; `Error::Stale` if the code is of another source, or its compiler saw other types.\n\
         {visibility} fn load(kernels: &::hip_kernel::Kernels) -> ::hip_kernel::hip::Result<Self> {{\n\
         let stub = ::hip_kernel::host::Stub {{ text: {text}, layouts: &{layouts}, package: ::core::option_env!(\"CARGO_PKG_NAME\") }};\n\
         // SAFETY: all is of this type.\n\
         let kernel = unsafe {{ ::hip_kernel::host::Launcher::load(kernels, Self::NAME, &[{place_of_panics}{first_shapes}{pointer_shapes}{shapes}], &stub)? }}{stack};\n\
         ::core::result::Result::Ok(Self {{ kernel, marker: ::core::marker::PhantomData }})\n}}\n\
         /// Finds the kernel in any module, and compares the sizes of this signature's parameters with what the code object says of it.\n///\n\
         /// # Errors\n/// `Error::KernelNotFound`; `Error::ArgumentCount` and `Error::Argument` if the parameters differ.\n///\n\
         /// # Safety\n/// The caller must ensure that the module's kernel does what this one does, with the same types, and reads and writes\n\
         /// nothing else.\n\
         {visibility} unsafe fn load_unchecked(module: &::hip_kernel::hip::Module) -> ::hip_kernel::hip::Result<Self> {{\n\
         // SAFETY: the caller ensures it.\n\
         let kernel = unsafe {{ ::hip_kernel::host::Launcher::load_unchecked(module, Self::NAME, &[{place_of_panics}{first_shapes}{pointer_shapes}{shapes}])? }}{stack};\n\
         ::core::result::Result::Ok(Self {{ kernel, marker: ::core::marker::PhantomData }})\n}}\n\
         /// Queues a launch and returns at once.\n///\n\
         /// # Errors\n/// Those of `hip::Kernel::launch`, and `Error::Geometry` if the grid or the lengths are not what the kernel needs.\n{safety}\
         {visibility} {unsafety} fn launch<'a>(&self, {stream}: &::hip_kernel::hip::Stream, {config}: ::hip_kernel::hip::LaunchConfig, {taken}) \
         -> ::hip_kernel::hip::Result<()> {{\n\
         let mut __hk_needs = self.kernel.needs({config});\n{convert}\n{needs}\n\
         let __hk_config = __hk_needs.finish({bytes})?;\n\
         let __hk_panics: {U64} = ::hip_kernel::host::panics({stream})?{mark};\n\
         // SAFETY: the arguments are of the kinds that `load` has compared. The kernel reads slices and writes outputs within\n\
         // their lengths, each thread its own elements; for a kernel with pointers the caller answers.\n\
         unsafe {{ self.kernel.{launch}({stream}, __hk_config, [{typed}::Value::<{U64}>::hold(&__hk_panics), {first_held}{pointers}{held}]) }}\n}}\n\
         /// The kernel, without its signature.\n#[must_use]\n\
         {visibility} fn kernel(&self) -> &::hip_kernel::hip::Kernel {{\n self.kernel.kernel()\n}}\n\
         }}\n}};\n"
    )
}
