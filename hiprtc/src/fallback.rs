//! Code from a bundle where no compiler is available.

use std::sync::Arc;

use crate::bundle::Bundle;
use crate::code::{Code, Origin};
use crate::error::{Error, Result};
use crate::program::Program;

/// Compiles `program` if a compiler is available, otherwise takes the code from `bundle`. [`Code::origin`] returns
/// which. A program that calls this also runs on a machine without a compiler.
///
/// A source that does not compile is an error: the bundle is not used then.
///
/// # Errors
/// Those of [`Program::compile`]. [`Error::Neither`] with both causes if no compiler is available and the bundle cannot
/// be used.
///
/// ```
/// use hiprtc::{BundleWriter, Program};
///
/// # let file = BundleWriter::new().add("gfx90a".parse()?, b"code").to_bytes();
/// // static FILE: &[u8] = include_bytes!("scale.bundle");
/// let source = r#"extern "C" __global__ void scale(float *x) { x[threadIdx.x] *= 3; }"#;
/// let program = Program::new("scale.hip", source).arch("gfx90a");
/// let code = hiprtc::compile_or_bundle(&program, &file)?;
/// println!("{:?}", code.origin());
/// # Ok::<(), hiprtc::Error>(())
/// ```
pub fn compile_or_bundle(program: &Program, bundle: &[u8]) -> Result<Code> {
    match program.compile() {
        Err(compiler) if compiler.is_unavailable() => from_bundle(program, bundle, compiler),
        result => result,
    }
}

/// Takes the code from the bundle, and records why.
fn from_bundle(program: &Program, bundle: &[u8], compiler: Error) -> Result<Code> {
    let arch = program.wanted_arch()?;
    let selected = match program.expressions().first() {
        // Code from a bundle has no lowered names, so the kernels of expressions could not be found in it.
        Some(expression) => Err(Error::UnknownName { expression: expression.clone(), known: Vec::new() }),
        None => Bundle::decompress(bundle).and_then(|bytes| Ok(Bundle::parse(&bytes)?.select(&arch)?.to_vec())),
    };
    match selected {
        Ok(bytes) => {
            let origin = Origin::Bundle(Arc::new(compiler));
            let declarations = Arc::default();
            Ok(Code { bytes: bytes.into(), arch, log: String::new(), lowered: Vec::new(), origin, declarations })
        }
        Err(error) => Err(Error::Neither { compiler: Box::new(compiler), bundle: Box::new(error) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::BundleWriter;

    fn no_compiler() -> Error {
        Error::NoHiprtc(Box::new(rocm_loader::Error::RelativePath { path: "here".into() }))
    }

    #[test]
    fn the_bundle_steps_in_and_says_why() {
        let file = BundleWriter::new().add("gfx90a".parse().unwrap(), b"code").to_bytes();
        let program = Program::new("a", "x").arch("gfx90a:xnack-");
        let code = from_bundle(&program, &file, no_compiler()).unwrap();
        assert_eq!(code.as_bytes(), b"code");
        assert!(matches!(code.origin(), Origin::Bundle(why) if why.is_unavailable()));
        assert!(code.lowered_name("f").is_err());
    }

    #[test]
    fn both_reasons_are_told() {
        let file = BundleWriter::new().add("gfx90a".parse().unwrap(), b"code").to_bytes();
        for (program, file, part) in [
            (Program::new("a", "x").arch("gfx1100"), &file[..], "has no code for gfx1100"),
            (Program::new("a", "x").arch("gfx90a"), b"junk", "not a valid code object bundle"),
            (Program::new("a", "x").arch("gfx90a").name_expression("f<int>"), &file[..], "f<int>"),
        ] {
            let text = from_bundle(&program, file, no_compiler()).unwrap_err().to_string();
            assert!(text.contains("no run-time compiler") && text.contains(part), "{text}");
        }
    }
}
