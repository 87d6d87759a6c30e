//! Writes what a kernel becomes: on the device a function that the hardware can start, on the host a type that launches it.

use proc_macro::TokenStream;

use crate::identity;
use crate::parse::{Error, Function, Kind, Output, Parameter, Result};

/// An instance: what its generic parameters are, and its name in the code object.
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
    tokens.extend((device + &host).parse::<TokenStream>().map_err(|_| broken(function))?);
    Ok(tokens)
}

fn broken(function: &Function) -> Error {
    Error::new(function.name.span(), "`#[kernel]` does not understand this function")
}

/// `scale<f32>` is `scale_f32`.
fn symbol(function: &Function, arguments: &[String]) -> String {
    let mut symbol = function.name.to_string();
    for argument in arguments {
        symbol.push('_');
        symbol.extend(argument.chars().filter(|c| c.is_alphanumeric() || *c == '_'));
    }
    symbol
}

/// `type T = f32; const N: usize = 4;`
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

/// Where shared memory begins and ends for each of the parameters, as constants `SHARED_0`, `SHARED_1`, ... behind each other.
fn shared(parameters: &[Parameter]) -> (String, usize) {
    let mut text = "const SHARED_0: usize = 0;\n".to_owned();
    let mut count = 0;
    for parameter in parameters {
        if let Kind::Shared(element) = &parameter.kind {
            text += &format!(
                "const SHARED_{}: usize = ::hip_kernel::shared::end::<{element}>(SHARED_{count});\n",
                count + 1
            );
            count += 1;
        }
    }
    (text, count)
}

fn device(function: &Function, instance: &Instance<'_>) -> String {
    // Pointers first: what kernels read of their arguments is then together, and loaded at once.
    // The place for a panic is the first of all, and the barrier's state the second: the panic handler finds them there.
    let (mut first, mut abi, mut make, mut pass) = (String::new(), String::new(), String::new(), String::new());
    let (mut place_of_panics, mut leave) = ("_: u64, ".to_owned(), String::new());
    let mut shared_index = 0;
    for (index, Parameter { name, kind, .. }) in function.parameters.iter().enumerate() {
        let (p, n) = (format!("p{index}"), format!("n{index}"));
        match kind {
            Kind::Slice(element) => {
                first += &format!("{p}: ::core::ptr::NonNull<{element}>, ");
                abi += &format!("{n}: usize, ");
                make += &format!("let {p} = ::hip_kernel::launched::slice({p}, {n});\n");
            }
            Kind::Const(element) => first += &format!("{p}: *const {element}, "),
            Kind::Mut(element) => first += &format!("{p}: *mut {element}, "),
            Kind::Output { path, element, form } => {
                first += &format!("{p}: ::core::ptr::NonNull<{element}>, ");
                abi += &format!("{n}: usize, ");
                let path = path.replacen('<', "::<", 1);
                let width = if *form == Output::Grid {
                    abi += &format!("w{index}: usize, ");
                    format!(", w{index}")
                } else {
                    String::new()
                };
                make += &format!("let {p} = {path}::from_launch({p}, {n}{width});\n");
            }
            Kind::Shared(element) => {
                make += &format!("let {p} = ::hip_kernel::shared::Shared::<{element}>::at(SHARED_{shared_index});\n");
                shared_index += 1;
            }
            Kind::SharedSlice(element) => {
                abi += &format!("{n}: usize, ");
                make += &format!(
                    "let {p} = ::hip_kernel::shared::SharedSlice::<{element}>::at(::hip_kernel::shared::start::<{element}>(SHARED_{shared_index}), {n});\n"
                );
            }
            Kind::Printer => {
                first += &format!("{p}: *mut u32, ");
                abi += &format!("{n}: usize, ");
                make += &format!("let {p} = ::hip_kernel::print::Printer::from_launch({p}, {n});\n");
            }
            Kind::GridBarrier => {
                place_of_panics += &format!("state_{p}: *mut u32, ");
                make += &format!("let {p} = ::hip_kernel::group::GridBarrier::from_launch(state_{p});\n");
                leave = format!("; ::hip_kernel::group::GridBarrier::leave(state_{p})");
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
            contract += &format!("::core::hint::assert_unchecked(n{} == n{});\n", pair[0], pair[1]);
        }
    }
    if let Some(threads) = function.max_threads {
        contract += &format!("::hip_kernel::launched::max_threads::<{threads}>();\n");
    }
    let stack = function.stack.map_or_else(String::new, |bytes| {
        format!(
            "#[used] #[unsafe(export_name = \"hip_kernel_stack.{}\")] static STACK: u32 = {bytes};\n",
            instance.symbol
        )
    });
    let name = &function.name;
    let (aliases, turbofish) = (aliases(function, instance.arguments), turbofish(instance.arguments));
    let (constants, _) = shared(&function.parameters);
    let (symbol, attributes) = (&instance.symbol, cfgs(&function.attributes));
    let (text, layouts, count) =
        (identity::text(function, symbol), identity::layouts(function), function.parameters.len());
    format!(
        "{attributes} #[cfg(target_arch = \"amdgpu\")]\nconst _: () = {{\n{aliases}\n#[allow(dead_code)] {constants}\n\
         {stack}#[unsafe(export_name = {symbol:?})]\n\
         unsafe extern \"gpu-kernel\" fn start({place_of_panics}{first}{abi}) {{\n\
         // SAFETY: the host passes what the signature says, and has checked the lengths.\n\
         #[allow(unused_unsafe)] unsafe {{ {contract} {make} {name}{turbofish}({pass}){leave} }}\n}}\n\
         const TEXT_OF_KERNEL: &str = {text};\n\
         #[used]\n#[allow(elided_lifetimes_in_paths)]\n#[unsafe(link_section = \".hip_kernel\")]\n\
         #[unsafe(export_name = \"hip_kernel_identity_{symbol}\")]\n\
         static IDENTITY: ::hip_kernel::identity::Record<{count}, {{ TEXT_OF_KERNEL.len() }}> =\n\
         ::hip_kernel::identity::Record::new(TEXT_OF_KERNEL, {layouts});\n}};\n"
    )
}

/// The `cfg`s among attributes.
fn cfgs(attributes: &str) -> String {
    attributes.lines().filter(|line| line.starts_with("#[cfg")).collect()
}

/// `vector_add` as a type's name.
fn camel(name: &str) -> String {
    let name = name.trim_start_matches("r#");
    let mut camel = String::new();
    for word in name.split('_').filter(|word| !word.is_empty()) {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        camel.extend(letters);
    }
    if camel.is_empty() || camel.starts_with(|c: char| c.is_ascii_digit()) {
        camel.insert_str(0, "Kernel");
    }
    camel
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
    let mut bytes = format!("::core::result::Result::Ok(SHARED_{shared_count})");
    let typed = "::hip_kernel::host::typed";
    let value = |ty: &str| format!("<{typed}::Value<{ty}> as {typed}::Parameter>::SHAPE, ");
    for (index, Parameter { name, kind, .. }) in function.parameters.iter().enumerate() {
        let (p, n) = (name, format!("n{index}"));
        match kind {
            Kind::Slice(element) => {
                taken += &format!("{p}: impl ::core::convert::Into<::hip_kernel::hip::DeviceSlice<'a, {element}>>, ");
                convert +=
                    &format!("let {p} = {typed}::Const::<{element}>::convert({p});\nlet {n} = {p}.len() as u64;\n");
                pointer_shapes += &format!("<{typed}::Const<{element}> as {typed}::Parameter>::SHAPE, ");
                shapes += &value("u64");
                pointers += &format!(
                    "{typed}::Const::<{element}>::hold(&{p}).not_null(::core::mem::align_of::<{element}>() as u64), "
                );
                held += &format!("{typed}::Value::<u64>::hold(&{n}), ");
            }
            Kind::Const(element) => {
                taken += &format!("{p}: impl ::core::convert::Into<::hip_kernel::hip::DeviceSlice<'a, {element}>>, ");
                convert += &format!("let {p} = {typed}::Const::<{element}>::convert({p});\n");
                pointer_shapes += &format!("<{typed}::Const<{element}> as {typed}::Parameter>::SHAPE, ");
                pointers += &format!("{typed}::Const::<{element}>::hold(&{p}), ");
            }
            Kind::Mut(element) => {
                taken +=
                    &format!("{p}: impl ::core::convert::Into<::hip_kernel::hip::DeviceSliceMut<'a, {element}>>, ");
                convert += &format!("let {p} = {typed}::Mut::<{element}>::convert({p});\n");
                pointer_shapes += &format!("<{typed}::Mut<{element}> as {typed}::Parameter>::SHAPE, ");
                pointers += &format!("{typed}::Mut::<{element}>::hold(&{p}), ");
            }
            Kind::Output { element, form, .. } => {
                taken +=
                    &format!("{p}: impl ::core::convert::Into<::hip_kernel::hip::DeviceSliceMut<'a, {element}>>, ");
                convert +=
                    &format!("let {p} = {typed}::Mut::<{element}>::convert({p});\nlet {n} = {p}.len() as u64;\n");
                pointer_shapes += &format!("<{typed}::Mut<{element}> as {typed}::Parameter>::SHAPE, ");
                shapes += &value("u64");
                pointers += &format!(
                    "{typed}::Mut::<{element}>::hold(&{p}).not_null(::core::mem::align_of::<{element}>() as u64), "
                );
                held += &format!("{typed}::Value::<u64>::hold(&{n}), ");
                match form {
                    Output::Slice | Output::Chunks => needs += &format!("needs.one_dimension({name:?});\n"),
                    Output::Grid => {
                        taken += &format!("{p}_width: usize, ");
                        convert +=
                            &format!("let w{index} = {p}_width as u64;\nneeds.width({name:?}, w{index}, {n});\n");
                        shapes += &value("u64");
                        held += &format!("{typed}::Value::<u64>::hold(&w{index}), ");
                    }
                    Output::Atomic => {}
                }
            }
            Kind::Shared(_) => {}
            Kind::SharedSlice(element) => {
                taken += &format!("{p}: usize, ");
                convert += &format!("let {n} = {p} as u64;\n");
                bytes = format!("::hip_kernel::shared::dynamic::<{element}>(SHARED_{shared_count}, {p})");
                shapes += &value("u64");
                held += &format!("{typed}::Value::<u64>::hold(&{n}), ");
            }
            Kind::Printer => {
                taken += &format!("{p}: &'a mut ::hip_kernel::host::Printed, ");
                convert += &format!(
                    "let {p} = {typed}::Mut::<u32>::convert({p}.as_slice_mut());\nlet {n} = {p}.len() as u64;\n"
                );
                pointer_shapes += &format!("<{typed}::Mut<u32> as {typed}::Parameter>::SHAPE, ");
                shapes += &value("u64");
                pointers += &format!("{typed}::Mut::<u32>::hold(&{p}), ");
                held += &format!("{typed}::Value::<u64>::hold(&{n}), ");
            }
            Kind::GridBarrier => {
                taken += &format!("{p}: &'a mut ::hip_kernel::host::GridState, ");
                convert += &format!("let {p} = {typed}::Mut::<u32>::convert({p}.for_launch(stream)?);\n");
                first_shapes = format!("<{typed}::Mut<u32> as {typed}::Parameter>::SHAPE, ");
                first_held = format!("{typed}::Mut::<u32>::hold(&{p}), ");
                mark = " | ::hip_kernel::launched::HAS_BARRIER";
            }
            Kind::Value(ty) => {
                taken += &format!("{p}: {ty}, ");
                convert += &format!("let {p} = <{ty} as ::hip_kernel::Value>::to_abi({p});\n");
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
            needs += &format!("needs.same_len({:?}, n{one}, {:?}, n{other});\n", pair[0], pair[1]);
        }
    }
    if let Some(threads) = function.max_threads {
        needs += &format!("needs.max_threads({threads});\n");
    }
    let place_of_panics = value("u64");
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
    // Inside of a constant, `self` and `super` are those of the module, too; what is private to it stays so.
    let visibility = if visibility.is_empty() { "pub(self)" } else { visibility };
    let symbol = &instance.symbol;
    let (text, layouts) = (identity::text(function, symbol), identity::layouts(function));
    let waits = function.parameters.iter().any(|parameter| matches!(parameter.kind, Kind::GridBarrier));
    let launch = if waits { "launch_cooperative" } else { "launch" };
    format!(
        "{attributes} #[cfg(not(target_arch = \"amdgpu\"))]\n#[allow(dead_code, unused_mut, unused_variables, \
         unreachable_pub, clippy::too_many_arguments, clippy::extra_unused_lifetimes, clippy::needless_pub_self)]\nconst _: () = {{\n{aliases}\n{constants}\n\
         impl {type_name}{turbofish} {{\n\
         /// The kernel's name in the code object.\n{visibility} const NAME: &'static str = {symbol:?};\n\
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
         {visibility} {unsafety} fn launch<'a>(&self, stream: &::hip_kernel::hip::Stream, config: ::hip_kernel::hip::LaunchConfig, {taken}) \
         -> ::hip_kernel::hip::Result<()> {{\n\
         let mut needs = self.kernel.needs(config);\n{convert}\n{needs}\n\
         let config = needs.finish({bytes})?;\n\
         let place_of_panics: u64 = ::hip_kernel::host::panics(stream)?{mark};\n\
         // SAFETY: the arguments are of the kinds that `load` has compared. The kernel reads slices and writes outputs within\n\
         // their lengths, each thread its own elements; for a kernel with pointers the caller answers.\n\
         unsafe {{ self.kernel.{launch}(stream, config, [{typed}::Value::<u64>::hold(&place_of_panics), {first_held}{pointers}{held}]) }}\n}}\n\
         /// The kernel, without its signature.\n#[must_use]\n\
         {visibility} fn kernel(&self) -> &::hip_kernel::hip::Kernel {{\n self.kernel.kernel()\n}}\n\
         }}\n}};\n"
    )
}
