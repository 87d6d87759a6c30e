//! What a compilation is given.

/// The texts and options of a program, and the names that it requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given<'a> {
    /// The source's file name in the compiler's messages.
    pub(crate) name: &'a str,
    pub(crate) source: &'a str,
    /// Names and texts.
    pub(crate) headers: &'a [(String, String)],
    pub(crate) options: &'a [String],
    pub(crate) expressions: &'a [String],
}

impl<'a> Given<'a> {
    /// The source and the headers.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &'a str> {
        std::iter::once(self.source).chain(self.headers.iter().map(|(_, text)| text.as_str()))
    }

    /// Whether a header needs no file.
    pub(crate) fn has_header(&self, name: &str) -> bool {
        self.headers.iter().any(|(known, _)| known == name)
    }
}

/// What a compiler gets for a program in addition to its texts.
#[derive(Debug, Default)]
pub(crate) struct Input {
    /// Names and texts.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) options: Vec<String>,
}

/// The kind of output of a compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// A code object.
    Code,
    /// Bitcode, for the linker.
    Bitcode,
}

impl Output {
    /// The option that requests it.
    pub(crate) fn option(self) -> Option<&'static str> {
        match self {
            Self::Code => None,
            Self::Bitcode => Some("-fgpu-rdc"),
        }
    }
}
