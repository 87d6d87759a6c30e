//! Declarations of a source, added to the metadata of the code.

use super::declared::{Declaration, Form, Number};
use super::metadata::{KernelInfo, ParameterKind};

impl KernelInfo {
    /// Adds the source's declarations, if they match the parameters of the code. Declarations of another source are
    /// ignored.
    pub(super) fn declare(&mut self, declarations: Vec<Declaration>) {
        let both = || self.parameters.iter().zip(&declarations);
        let same = self.parameters.len() == declarations.len()
            && both().all(|(parameter, declaration)| fits(declaration, &parameter.kind, parameter.size));
        if same {
            for (parameter, declaration) in self.parameters.iter_mut().zip(declarations) {
                if parameter.kind == ParameterKind::PointerOrValue {
                    match declaration.form {
                        // Also the type of textures and surfaces.
                        Form::Value { number: Number::U64, .. } => continue,
                        Form::Value { .. } => parameter.kind = ParameterKind::Value,
                        Form::Pointer { .. } => parameter.kind = ParameterKind::Pointer,
                        Form::Unknown => {}
                    }
                }
                parameter.declared = Some(declaration.checked());
            }
        }
    }
}

fn fits(declaration: &Declaration, kind: &ParameterKind, bytes: usize) -> bool {
    match (&declaration.form, kind) {
        (Form::Unknown, _) => true,
        (Form::Pointer { .. }, kind) => kind.takes_pointer(),
        (Form::Value { size, .. }, kind) if kind.takes_value() => *size == bytes,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::declared::Number::{F32, I32, I64, U64};
    use crate::module::metadata::Parameter;
    use crate::module::metadata::tests::kernel_of;

    #[test]
    fn a_source_of_other_parameters_is_of_no_use() {
        let parameter =
            |offset, size, kind| Parameter { name: None, type_name: None, offset, size, kind, declared: None };
        let code = || kernel_of(vec![parameter(0, 8, ParameterKind::Pointer), parameter(8, 4, ParameterKind::Value)]);
        let (memory, number) = (Declaration::pointer("float *x", Some(F32), true), Declaration::value("int n", I32, 4));
        let is_declared = |declarations: &[&Declaration]| {
            let mut code = code();
            code.declare(declarations.iter().map(|&declaration| declaration.clone()).collect());
            code != undeclared(&code)
        };
        assert!(is_declared(&[&memory, &number]) && is_declared(&[&Declaration::unknown("T x"), &number]));
        let wide = Declaration::value("long n", I64, 8);
        for other in [&[&memory][..], &[&memory, &number, &number], &[&number, &memory], &[&memory, &wide], &[]] {
            assert!(!is_declared(other), "{other:?}");
        }
        let mut code = code();
        code.declare(vec![memory, number]);
        assert_eq!(code.to_string(), "k(float *x, int n)");
    }

    #[test]
    fn a_source_tells_pointers_from_numbers() {
        let place = |offset| Parameter {
            name: None,
            type_name: None,
            offset,
            size: 8,
            kind: ParameterKind::PointerOrValue,
            declared: None,
        };
        let mut code = kernel_of([0, 8, 16, 24].map(place).to_vec());
        code.declare(vec![
            Declaration::pointer("float *x", Some(F32), true),
            Declaration::value("long n", I64, 8),
            Declaration::value("hipTextureObject_t t", U64, 8),
            Declaration::unknown("T v"),
        ]);
        let kinds = code.parameters.iter().map(|parameter| &parameter.kind);
        let either = &ParameterKind::PointerOrValue;
        assert!(kinds.eq([&ParameterKind::Pointer, &ParameterKind::Value, either, either]));
        assert_eq!(code.to_string(), "k(float *x, long n, pointer or 8 bytes, T v)");
        let mut short = kernel_of(vec![place(0)]);
        short.declare(vec![Declaration::value("int n", I32, 4)]);
        assert_eq!(short.parameters[0].declared, None);
    }

    fn undeclared(kernel: &KernelInfo) -> KernelInfo {
        let mut kernel = kernel.clone();
        kernel.parameters.iter_mut().for_each(|parameter| parameter.declared = None);
        kernel
    }
}
