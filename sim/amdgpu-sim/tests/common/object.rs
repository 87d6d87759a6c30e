//! Handmade code objects: machine code that no compiler generates, and files that no linker generates.

/// A kernel's code, and the contents of its descriptor and metadata.
#[derive(Clone)]
pub(crate) struct Kernel {
    pub(crate) name: String,
    /// Words of machine code.
    pub(crate) text: Vec<u32>,
    pub(crate) lds: u32,
    pub(crate) scratch: u32,
    pub(crate) kernarg: u32,
    /// `compute_pgm_rsrc1`, 2 and 3, and the kernel code properties.
    pub(crate) rsrc: [u32; 3],
    pub(crate) properties: u16,
    /// Additional metadata as MessagePack: keys and values.
    pub(crate) more: Vec<Vec<u8>>,
}

impl Kernel {
    /// Arguments' address in s[0:1], workgroup number in s2, work-item number in v0; allocates v0 to v31, a0 to a31 and
    /// all scalar registers, keeps denormals.
    pub(crate) fn new(name: &str, text: &[u32]) -> Self {
        Self {
            name: name.into(),
            text: text.to_vec(),
            lds: 0,
            scratch: 0,
            kernarg: 16,
            rsrc: [7 | 12 << 6 | 0xf0 << 12 | 1 << 21 | 1 << 23, 2 << 1 | 1 << 7, 7],
            properties: 1 << 3,
            more: Vec::new(),
        }
    }

    fn descriptor(&self, entry: i64) -> [u8; 64] {
        let mut out = [0; 64];
        let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &self.lds.to_le_bytes());
        put(4, &self.scratch.to_le_bytes());
        put(8, &self.kernarg.to_le_bytes());
        put(16, &entry.to_le_bytes());
        put(44, &self.rsrc[2].to_le_bytes());
        put(48, &self.rsrc[0].to_le_bytes());
        put(52, &self.rsrc[1].to_le_bytes());
        put(56, &self.properties.to_le_bytes());
        out
    }

    fn metadata(&self) -> Vec<u8> {
        let pairs = [
            (".name", text(&self.name)),
            (".symbol", text(&format!("{}.kd", self.name))),
            (".kernarg_segment_size", number(self.kernarg)),
            (".args", [vec![0x90 | (self.kernarg.min(64) / 8) as u8], self.arguments()].concat()),
        ];
        let mut out = vec![0x80 | (pairs.len() + self.more.len() / 2) as u8];
        pairs.into_iter().for_each(|(key, value)| out.extend([text(key), value].concat()));
        out.extend(self.more.concat());
        out
    }

    fn arguments(&self) -> Vec<u8> {
        let argument = |n: u32| {
            let fields = [(".offset", number(8 * n)), (".size", number(8)), (".value_kind", text("by_value"))];
            let mut out = vec![0x80 | fields.len() as u8];
            fields.into_iter().for_each(|(key, value)| out.extend([text(key), value].concat()));
            out
        };
        (0..self.kernarg.min(64) / 8).flat_map(argument).collect()
    }
}

/// A text in MessagePack.
pub(crate) fn text(text: &str) -> Vec<u8> {
    let mut out = vec![0xda];
    out.extend((text.len() as u16).to_be_bytes());
    out.extend(text.as_bytes());
    out
}

/// A number in MessagePack.
pub(crate) fn number(number: u32) -> Vec<u8> {
    [vec![0xce], number.to_be_bytes().to_vec()].concat()
}

/// A relocation: position, type, symbol index, addend.
pub(crate) type Relocation = (u64, u32, u32, i64);

/// A code object. Code is at [`TEXT`], data at [`DATA`].
#[derive(Clone, Default)]
pub(crate) struct Object {
    pub(crate) kernels: Vec<Kernel>,
    /// `e_flags` other than plain gfx90a's.
    pub(crate) flags: Option<u32>,
    /// Metadata that replaces the kernels'.
    pub(crate) metadata: Option<Vec<u8>>,
    /// Writable data; the variable `data`.
    pub(crate) data: Vec<u8>,
    pub(crate) relocations: Vec<Relocation>,
    /// Section headers for the relocations.
    pub(crate) relocation_sections: usize,
    /// Program headers in addition to the default ones: type, flags, file offset, address, bytes in the file and in
    /// memory.
    pub(crate) headers: Vec<[u64; 6]>,
    /// Symbols in addition to the default ones: offset of the name in `strings`, value, section.
    pub(crate) symbols: Vec<(u32, u64, u16)>,
    pub(crate) strings: Vec<u8>,
}

/// Where descriptors are.
pub(crate) const DESCRIPTORS: u64 = 0x1_0000;
/// Where code is.
pub(crate) const TEXT: u64 = 0x2_0000;
/// Where data is.
pub(crate) const DATA: u64 = 0x8_0000;

/// `PT_LOAD` and `PT_NOTE`.
pub(crate) const LOAD: u64 = 1;
pub(crate) const NOTE: u64 = 4;
/// Flags of segments.
pub(crate) const READ: u64 = 4;
pub(crate) const WRITE: u64 = 2;
pub(crate) const EXECUTE: u64 = 1;

impl Object {
    /// One kernel `k`.
    pub(crate) fn of(text: &[u32]) -> Self {
        Self { kernels: vec![Kernel::new("k", text)], ..Self::default() }
    }

    fn note(&self) -> Vec<u8> {
        let made = || {
            let mut out = [vec![0x81], text("amdhsa.kernels"), vec![0xdc]].concat();
            out.extend((self.kernels.len() as u16).to_be_bytes());
            self.kernels.iter().for_each(|k| out.extend(k.metadata()));
            out
        };
        let contents = self.metadata.clone().unwrap_or_else(made);
        let mut out = Vec::new();
        for word in [7, contents.len() as u32, 32] {
            out.extend(word.to_le_bytes());
        }
        out.extend(b"AMDGPU\0\0");
        out.extend(&contents);
        out.resize(out.len().next_multiple_of(4), 0);
        out
    }

    /// The file.
    pub(crate) fn build(&self) -> Vec<u8> {
        let (mut descriptors, mut code, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for kernel in &self.kernels {
            let (at, entry) = (DESCRIPTORS + descriptors.len() as u64, TEXT + code.len() as u64);
            descriptors.extend(kernel.descriptor(entry as i64 - at as i64));
            places.push(at);
            code.extend(kernel.text.iter().flat_map(|w| w.to_le_bytes()));
            code.resize(code.len().next_multiple_of(256), 0);
        }
        // Our own names come first, so that those of `symbols` have a known offset: none.
        let mut strings = if self.strings.is_empty() { vec![0] } else { self.strings.clone() };
        let mut symbols = vec![0; 24];
        let mut symbol = |name: u32, kind: u8, section: u16, value: u64, size: u64| {
            symbols.extend(name.to_le_bytes());
            symbols.extend([1 << 4 | kind, 0]);
            symbols.extend(section.to_le_bytes());
            symbols.extend(value.to_le_bytes());
            symbols.extend(size.to_le_bytes());
        };
        let mut named = |name: &str| {
            let at = strings.len() as u32;
            strings.extend(name.as_bytes());
            strings.push(0);
            at
        };
        for (kernel, place) in self.kernels.iter().zip(places) {
            symbol(named(&format!("{}.kd", kernel.name)), 1, 1, place, 64);
        }
        symbol(named("data"), 1, 1, DATA, self.data.len() as u64);
        self.symbols.iter().for_each(|(name, value, section)| symbol(*name, 0, *section, *value, 0));
        let relocations: Vec<u8> = self
            .relocations
            .iter()
            .flat_map(|(place, kind, symbol, addend)| {
                [&place.to_le_bytes()[..], &kind.to_le_bytes(), &symbol.to_le_bytes(), &addend.to_le_bytes()].concat()
            })
            .collect();

        let mut out = vec![0; 64 + 56 * (4 + self.headers.len())];
        let mut part = |bytes: &[u8]| {
            out.resize(out.len().next_multiple_of(64), 0);
            let at = out.len() as u64;
            out.extend(bytes);
            (at, bytes.len() as u64)
        };
        let note = part(&self.note());
        let descriptors = part(&descriptors);
        let code = part(&code);
        let data = part(&self.data);
        let symbols = part(&symbols);
        let strings = part(&strings);
        let relocations = part(&relocations);
        let mut headers = vec![
            [LOAD, READ, descriptors.0, DESCRIPTORS, descriptors.1, descriptors.1],
            [LOAD, READ | EXECUTE, code.0, TEXT, code.1, code.1],
            [LOAD, READ | WRITE, data.0, DATA, data.1, data.1],
            [NOTE, READ, note.0, 0, note.1, note.1],
        ];
        headers.extend(&self.headers);
        for (i, [kind, flags, offset, address, file_size, size]) in headers.iter().enumerate() {
            let words = [*offset, *address, *address, *file_size, *size, 4];
            let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            let at = 64 + 56 * i;
            out[at..at + 4].copy_from_slice(&(*kind as u32).to_le_bytes());
            out[at + 4..at + 8].copy_from_slice(&(*flags as u32).to_le_bytes());
            out[at + 8..at + 56].copy_from_slice(&bytes);
        }
        // A null section, symbols, strings, relocations.
        let mut sections =
            vec![[0; 9], [11, 2, 0, symbols.0, symbols.1, 2, 1, 8, 24], [3, 2, 0, strings.0, strings.1, 0, 0, 1, 0]];
        let relocation = [4, 2, 0, relocations.0, relocations.1, 1, 0, 8, 24];
        sections
            .extend(vec![relocation; if self.relocations.is_empty() { 0 } else { self.relocation_sections.max(1) }]);
        let at = out.len();
        for [kind, flags, address, offset, size, link, info, align, entry] in &sections {
            let (kind, link, info) = (*kind as u32, *link as u32, *info as u32);
            out.extend([0_u32, kind].iter().flat_map(|w| w.to_le_bytes()));
            out.extend([*flags, *address, *offset, *size].iter().flat_map(|w| w.to_le_bytes()));
            out.extend([link, info].iter().flat_map(|w| w.to_le_bytes()));
            out.extend([*align, *entry].iter().flat_map(|w| w.to_le_bytes()));
        }
        let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, b"\x7fELF\x02\x01\x01\x40\x04");
        put(16, &[3, 0, 224, 0, 1, 0, 0, 0]);
        put(32, &64_u64.to_le_bytes());
        put(40, &(at as u64).to_le_bytes());
        put(48, &self.flags.unwrap_or(0x53f).to_le_bytes());
        put(52, &[64, 0, 56, 0]);
        put(56, &(headers.len() as u16).to_le_bytes());
        put(58, &[64, 0]);
        put(60, &(sections.len() as u16).to_le_bytes());
        // The section names: those of the symbols are reused.
        put(62, &[2, 0]);
        out
    }
}
