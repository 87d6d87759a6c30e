//! Cursors over libclang: walks the syntax tree of C, C++ and HIP headers.
//!
//! ```
//! use rocm_llvm::clang::{CursorKind, Index, Source};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // ROCm's libclang, or the system's.
//! let index = match Index::new() {
//!     Ok(index) => index,
//!     Err(error) => {
//!         println!("{error}");
//!         return Ok(());
//!     }
//! };
//! let source = Source::text("math.h", "/// Adds.\nfloat add(float a, float b);\nstruct vec { float x[3]; };");
//! let unit = index.parse(&source)?;
//! assert!(!unit.has_errors());
//! for cursor in unit.cursor().children() {
//!     match (cursor.kind(), cursor.ty()) {
//!         (CursorKind::Function, Some(ty)) => {
//!             assert_eq!((cursor.spelling(), ty.spelling()), ("add".into(), "float (float, float)".into()));
//!             assert_eq!(cursor.brief_comment().as_deref(), Some("Adds."));
//!             assert_eq!(cursor.arguments()[1].spelling(), "b");
//!         }
//!         (CursorKind::Struct, Some(ty)) => assert_eq!((ty.size(), ty.fields().len()), (Some(12), 1)),
//!         other => println!("{other:?}"),
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Cursors and types borrow their [`TranslationUnit`], which borrows its [`Index`]: none can outlive its owner. The
//! compiler's messages are a list of [`Diagnostic`]s; nothing is printed.

mod cursor;
mod database;
mod details;
mod diagnostic;
mod error;
mod kinds;
mod library;
mod macros;
mod raw;
mod tokens;
mod types;
mod unit;

pub use cursor::{Cursor, CursorKind, Descendants};
pub use database::{CompilationDatabase, CompileCommand};
pub use details::{Access, Availability, Linkage, StorageClass, TemplateArgument};
pub use diagnostic::{Diagnostic, FixIt, Location, Range, Severity};
pub use error::{Error, Result};
pub use library::Library;
pub use macros::NoValue;
pub use tokens::{MacroValue, Token, TokenKind};
pub use types::{Type, TypeKind};
pub use unit::{Included, Index, Source, TranslationUnit};
