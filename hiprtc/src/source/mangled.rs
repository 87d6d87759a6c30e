//! The types of a kernel's parameters from its mangled name (Itanium C++ ABI): those that the compiler saw, of
//! templates and overloads too.
//!
//! It reads the names and types that kernels usually have; a name with anything else gives no types.

use hip::module::Number;

/// A type, with the details that are needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Void,
    /// `char` and `unsigned char`.
    Byte,
    Number(Number, &'static str),
    Pointer(Box<Type>),
    Const(Box<Type>),
    /// A structure, by the last part of its name.
    Named(String, Arguments),
    /// A number as an argument of a template, or an irrelevant type.
    Other,
}

/// The arguments of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arguments {
    /// Not a template.
    None,
    /// The first argument is a number type.
    Number(Number),
    Other,
}

impl Arguments {
    fn of(first: Option<&Type>) -> Self {
        if let Some(Type::Number(number, _)) = first { Self::Number(*number) } else { Self::Other }
    }
}

/// The maximum nesting of types.
const DEPTH: usize = 16;
/// Longer names are not read: with `S_`, a type can grow with each letter.
const MOST_BYTES: usize = 1024;

/// Returns a function's own name and the types of its parameters, if its mangled name is completely understood.
pub(super) fn function(symbol: &str) -> Option<(String, Vec<Type>)> {
    if symbol.len() > MOST_BYTES {
        return None;
    }
    let mut reader = Reader { rest: symbol.strip_prefix("_Z")?, known: Vec::new(), arguments: Vec::new(), depth: 0 };
    let (name, arguments) = reader.function_name()?;
    if let Some(arguments) = arguments {
        reader.arguments = arguments;
        // The return type.
        reader.expect("v")?;
    }
    if reader.rest == "v" {
        return Some((name, Vec::new()));
    }
    let mut parameters = Vec::new();
    while !reader.rest.is_empty() {
        parameters.push(reader.type_()?);
    }
    (!parameters.is_empty() && !parameters.contains(&Type::Void)).then_some((name, parameters))
}

struct Reader<'a> {
    rest: &'a str,
    /// The types that `S_`, `S0_`, ... refer to.
    known: Vec<Type>,
    /// The types that `T_`, `T0_`, ... refer to.
    arguments: Vec<Type>,
    depth: usize,
}

impl Reader<'_> {
    fn take(&mut self, start: &str) -> bool {
        let rest = self.rest.strip_prefix(start);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, start: &str) -> Option<()> {
        self.take(start).then_some(())
    }

    /// Reads a name that is preceded by its length.
    fn identifier(&mut self) -> Option<String> {
        let digits = self.rest.find(|c: char| !c.is_ascii_digit())?;
        let length: usize = self.rest[..digits].parse().ok()?;
        let (name, rest) = self.rest[digits..].split_at_checked(length)?;
        self.rest = rest;
        Some(name.to_owned())
    }

    /// Reads the function's own name, and its template arguments, if any.
    fn function_name(&mut self) -> Option<(String, Option<Vec<Type>>)> {
        let nested = self.take("N");
        let _internal = self.take("L");
        let mut name = self.identifier()?;
        if nested {
            while !self.take("E") {
                // The parts before the last name are namespaces, and the name of a template counts too.
                self.known.push(Type::Named(name.clone(), Arguments::None));
                if self.rest.starts_with('I') {
                    let arguments = self.template_arguments()?;
                    return self.take("E").then_some((name, Some(arguments)));
                }
                let _internal = self.take("L");
                name = self.identifier()?;
            }
            return Some((name, None));
        }
        if self.rest.starts_with('I') {
            self.known.push(Type::Named(name.clone(), Arguments::None));
            let arguments = self.template_arguments()?;
            return Some((name, Some(arguments)));
        }
        Some((name, None))
    }

    fn template_arguments(&mut self) -> Option<Vec<Type>> {
        self.expect("I")?;
        let mut arguments = Vec::new();
        while !self.take("E") {
            arguments.push(if self.take("L") { self.literal()? } else { self.type_()? });
        }
        Some(arguments)
    }

    /// Reads a number: its type, digits, `E`.
    fn literal(&mut self) -> Option<Type> {
        let (builtin, rest) = self.rest.split_at_checked(1)?;
        if !"abcdfhijlmstxy".contains(builtin) {
            return None;
        }
        let end = rest.find('E')?;
        self.rest = &rest[end + 1..];
        Some(Type::Other)
    }

    /// Reads `S_` or `T_`: after the letter, the number in base 36 and `_`.
    fn index(&mut self, radix: u32) -> Option<usize> {
        let end = self.rest.find('_')?;
        let digits = &self.rest[..end];
        let index = if digits.is_empty() {
            0
        } else {
            let is_digit = |c: char| c.is_ascii_digit() || radix == 36 && c.is_ascii_uppercase();
            if digits.len() > 4 || !digits.chars().all(is_digit) {
                return None;
            }
            usize::from_str_radix(digits, radix).ok()? + 1
        };
        self.rest = &self.rest[end + 1..];
        Some(index)
    }

    fn type_(&mut self) -> Option<Type> {
        if self.depth == DEPTH {
            return None;
        }
        self.depth += 1;
        let read = self.type_within();
        self.depth -= 1;
        read
    }

    fn type_within(&mut self) -> Option<Type> {
        if let Some(builtin) = self.builtin() {
            return Some(builtin);
        }
        let made = if self.take("P") {
            Type::Pointer(Box::new(self.type_()?))
        } else if self.take("R") || self.take("O") {
            self.type_()?;
            Type::Other
        } else if self.rest.starts_with(['V', 'K', 'r']) {
            // In this order, and only one candidate for `S_` in all.
            let _ = self.take("r");
            let _ = self.take("V");
            let is_const = self.take("K");
            let inner = self.type_()?;
            if is_const && !matches!(inner, Type::Const(_)) { Type::Const(Box::new(inner)) } else { inner }
        } else if self.take("T") {
            let index = self.index(10)?;
            self.arguments.get(index)?.clone()
        } else if self.take("Dv") {
            let end = self.rest.find('_')?;
            if end == 0 || !self.rest[..end].chars().all(|c| c.is_ascii_digit()) {
                return None;
            }
            self.rest = &self.rest[end + 1..];
            Type::Named(VECTOR.to_owned(), Arguments::of(Some(&self.type_()?)))
        } else if self.rest.starts_with('S') {
            return self.substitution();
        } else if self.take("N") {
            return self.nested_type();
        } else {
            let name = self.identifier()?;
            if self.rest.starts_with('I') {
                self.known.push(Type::Named(name.clone(), Arguments::None));
                Type::Named(name, Arguments::of(self.template_arguments()?.first()))
            } else {
                Type::Named(name, Arguments::None)
            }
        };
        self.known.push(made.clone());
        Some(made)
    }

    /// Reads a reference to an earlier type, which may be a template that gets its arguments here.
    fn substitution(&mut self) -> Option<Type> {
        self.expect("S")?;
        let index = self.index(36)?;
        let known = self.known.get(index)?.clone();
        if !self.rest.starts_with('I') {
            return Some(known);
        }
        let Type::Named(name, _) = known else { return None };
        let made = Type::Named(name, Arguments::of(self.template_arguments()?.first()));
        self.known.push(made.clone());
        Some(made)
    }

    /// After `N`: each prefix is a candidate for `S_`, and so is the whole name.
    fn nested_type(&mut self) -> Option<Type> {
        let mut made = if self.rest.starts_with('S') {
            self.expect("S")?;
            let index = self.index(36)?;
            self.known.get(index)?.clone()
        } else {
            let made = Type::Named(self.identifier()?, Arguments::None);
            self.known.push(made.clone());
            made
        };
        while !self.take("E") {
            made = match (self.rest.starts_with('I'), made) {
                (true, Type::Named(name, _)) => Type::Named(name, Arguments::of(self.template_arguments()?.first())),
                (true, _) => return None,
                (false, _) => Type::Named(self.identifier()?, Arguments::None),
            };
            self.known.push(made.clone());
        }
        Some(made)
    }

    /// Reads types that are not candidates for `S_`.
    fn builtin(&mut self) -> Option<Type> {
        let number = |number, name| Type::Number(number, name);
        // 4 bytes on Windows.
        let long = |bits, name| if cfg!(windows) { Type::Other } else { number(bits, name) };
        use Number::{Bf16, Bool, F16, F32, F64, I8, I16, I32, I64, U16, U32, U64};
        let all = [
            ("v", Type::Void),
            ("c", Type::Byte),
            ("h", Type::Byte),
            ("a", number(I8, "signed char")),
            ("b", number(Bool, "bool")),
            ("s", number(I16, "short")),
            ("t", number(U16, "unsigned short")),
            ("i", number(I32, "int")),
            ("j", number(U32, "unsigned")),
            ("l", long(I64, "long")),
            ("m", long(U64, "unsigned long")),
            ("x", number(I64, "long long")),
            ("y", number(U64, "unsigned long long")),
            ("f", number(F32, "float")),
            ("d", number(F64, "double")),
            ("DF16_", number(F16, "_Float16")),
            ("DF16b", number(Bf16, "__bf16")),
            ("Dh", number(F16, "__fp16")),
        ];
        all.into_iter().find(|(code, _)| self.take(code)).map(|(_, made)| made)
    }
}

/// The template behind HIP's vectors, and clang's vector type.
pub(super) const VECTOR: &str = "HIP_vector_type";

#[cfg(test)]
mod tests {
    use super::*;

    fn show(made: &Type) -> String {
        match made {
            Type::Void => "void".to_owned(),
            Type::Byte => "byte".to_owned(),
            Type::Number(_, name) => (*name).to_owned(),
            Type::Pointer(to) => format!("{}*", show(to)),
            Type::Const(of) => format!("const {}", show(of)),
            Type::Named(name, Arguments::None) => name.clone(),
            Type::Named(name, Arguments::Number(number)) => format!("{name}<{number:?}>"),
            Type::Named(name, Arguments::Other) => format!("{name}<?>"),
            Type::Other => "?".to_owned(),
        }
    }

    fn read(symbol: &str) -> Option<String> {
        function(symbol).map(|(_, all)| all.iter().map(show).collect::<Vec<_>>().join(", "))
    }

    /// Manglings of these declarations by clang and GCC.
    #[test]
    fn names_of_compilers_are_read() {
        for (symbol, types) in NAMES {
            assert_eq!(read(symbol).as_deref(), Some(*types), "{symbol}");
        }
    }

    const NAMES: &[(&str, &str)] = &[
        ("_Z1fv", ""),
        ("_Z2a1PfPKfS_S1_j", "float*, const float*, float*, const float*, unsigned"),
        ("_Z2a2PKfPfPViPVKii", "const float*, float*, int*, const int*, int"),
        (
            "_Z2a3P15HIP_vector_typeIfLj4EEPKS0_S0_P8ParticlePKS4_S4_P6__halfPKS8_",
            "HIP_vector_type<F32>*, const HIP_vector_type<F32>*, HIP_vector_type<F32>, Particle*, const Particle*, Particle, __half*, const __half*",
        ),
        (
            "_Z2a4PvPKvPcPKhmxbPasPt",
            "void*, const void*, byte*, const byte*, unsigned long, long long, bool, signed char*, short, unsigned short*",
        ),
        ("_Z2a5PPfPPKfPKS_RfRS1_PDF16_DF16_", "float**, const float**, const float**, ?, ?, _Float16*, _Float16"),
        (
            "_Z2a7P15HIP_vector_typeIfLj4EEPS_IdLj2EES0_",
            "HIP_vector_type<F32>*, HIP_vector_type<F64>*, HIP_vector_type<F32>",
        ),
        (
            "_Z2t1I15HIP_vector_typeIfLj4EEEvPT_S3_PKS2_S5_S2_",
            "HIP_vector_type<F32>*, HIP_vector_type<F32>*, const HIP_vector_type<F32>*, const HIP_vector_type<F32>*, HIP_vector_type<F32>",
        ),
        ("_Z2t1IKfEvPT_S2_PKS1_S4_S1_", "const float*, const float*, const float*, const float*, const float"),
        ("_Z2t1IPfEvPT_S2_PKS1_S4_S1_", "float**, float**, const float**, const float**, float*"),
        ("_Z2t1IfEvPT_S1_PKS0_S3_S0_", "float*, float*, const float*, const float*, float"),
        (
            "_Z2t2IN2my4DeepENS0_4PairIiS1_EEEvPT_PT0_PKS6_S4_S6_",
            "Deep*, Pair<I32>*, const Pair<I32>*, Deep, Pair<I32>",
        ),
        ("_Z2t2IfiEvPT_PT0_PKS2_S0_S2_", "float*, int*, const int*, float, int"),
        ("_Z2t3ILin1EjEvT0_PS0_i", "unsigned, unsigned*, int"),
        ("_Z2t4IdEvP15HIP_vector_typeIT_Lj2EEPS1_PKS2_", "HIP_vector_type<F64>*, double*, const HIP_vector_type<F64>*"),
        ("_ZL4statPfdS_", "float*, double, float*"),
        ("_ZN12_GLOBAL__N_14anonEPfPKfS0_", "float*, const float*, float*"),
        ("_ZN12_GLOBAL__N_15anon2IiEEvPT_S2_", "int*, int*"),
        (
            "_ZN2my2f1EPNS_4DeepEPKNS0_5InnerEPS2_PNS_4PairIifEENS6_IfiEEPNS7_2InIS0_EE",
            "Deep*, const Inner*, Inner*, Pair<I32>*, Pair<F32>, In<?>*",
        ),
        (
            "_ZN2my2g1IfEEvPT_PKS1_S1_PNS_4PairIS1_NS_4DeepEEEPNS5_IS6_S1_EE",
            "float*, const float*, float, Pair<F32>*, Pair<?>*",
        ),
        ("_ZN2my6deeper2g3ILi4EdLb1EEEvPT0_PKS2_S3_", "double*, const double*, double*"),
        ("_ZN2my6deeper2h1EPNS_4DeepEPfPKfS3_", "Deep*, float*, const float*, float*"),
        ("_Z2v1PDv4_fPKS_S_Pf", "HIP_vector_type<F32>*, const HIP_vector_type<F32>*, HIP_vector_type<F32>, float*"),
    ];

    #[test]
    fn others_say_nothing() {
        for symbol in [
            "f",
            "_Z",
            "_Z1f",
            "_Z2f",
            "_Z1fPFvfE",
            "_Z1fS_",
            "_Z1fT_",
            "_Z1fIfE",
            "_ZN1a1fPf",
            "_Z1fIfEiPT_",
            "_Z1fvf",
            "_ZL",
        ] {
            assert_eq!(read(symbol), None, "{symbol}");
        }
        let mut random = crate::damage::Random(9);
        for (symbol, _) in NAMES {
            for _ in 0..200 {
                let _ = function(&random.text(symbol));
            }
        }
        // Types that grow without bound.
        assert_eq!(read(&format!("_Z1f{}f", "P".repeat(100))), None);
        let pairs: String =
            (0..200).map(|n| format!("4PairIS{0}_S{0}_E", if n == 0 { String::new() } else { "0".into() })).collect();
        for symbol in
            [format!("_Z1f1A{pairs}"), format!("_Z1fPf{}", "PS_".repeat(300)), format!("_Z1f{}", "f".repeat(2000))]
        {
            let _ = read(&symbol);
        }
    }
}
