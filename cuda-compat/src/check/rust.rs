//! Reads Rust source, and finds the CUDA names and cudarc items that it uses.

use std::collections::{BTreeMap, BTreeSet};

use crate::report::{Findings, Kind as ItemKind, Place, Verdict};
use crate::tokens::{Kind, Token, tokens};
use crate::{cudarc, kernels, names};

/// The facts of one file that do not depend on the others.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    file: String,
    /// Names that the file defines.
    pub(crate) defined: BTreeSet<String>,
    /// Imports: the name in the file, the path.
    imports: Vec<(String, Vec<String>)>,
    /// Paths with the position of their last name.
    paths: Vec<(Vec<String>, Place)>,
    /// C functions that the file declares.
    declared: Vec<(String, Place)>,
    /// Method calls that may be cudarc's: receiver, name.
    methods: Vec<(Receiver, String, Place)>,
    /// Types that variables and fields may have.
    types: BTreeMap<String, BTreeSet<String>>,
    /// `const WARP = 32` and similar constants.
    warps: Vec<(String, Place)>,
}

/// The receiver of a method call.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Receiver {
    /// A variable or a field of this name.
    Named(String),
    /// A value of this type.
    Typed(&'static str),
    Unknown,
}

/// Methods that return their receiver, or a reference to it.
const TRANSPARENT: &[&str] =
    &["unwrap", "expect", "clone", "as_ref", "as_mut", "borrow", "borrow_mut", "lock", "read", "write", "map_err", "w"];

/// Reads a file. Results that do not depend on other files are added to the findings directly.
pub(crate) fn read(file: &str, source: &str, findings: &mut Findings) -> Facts {
    let (tokens, broken) = tokens(source);
    if let Some(why) = broken {
        findings.note(file, format!("does not parse: {why}"));
    }
    let mut reader = Reader { tokens: &tokens, facts: Facts { file: file.to_owned(), ..Facts::default() }, findings };
    reader.imports();
    reader.all();
    reader.facts
}

struct Reader<'a> {
    tokens: &'a [Token],
    facts: Facts,
    findings: &'a mut Findings,
}

impl Reader<'_> {
    fn ident(&self, at: usize) -> Option<&str> {
        self.tokens.get(at)?.ident()
    }

    fn is(&self, at: usize, punct: char) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is(punct))
    }

    fn is_open(&self, at: usize, open: char) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == Kind::Open(open))
    }

    /// Returns whether `::` is at a position.
    fn is_separator(&self, at: usize) -> bool {
        self.is(at, ':') && self.is(at + 1, ':')
    }

    fn place(&self, at: usize) -> Place {
        let (line, column) = self.tokens.get(at).map_or((0, 0), |token| (token.line, token.column));
        Place { file: self.facts.file.clone(), line, column }
    }

    /// Returns the position after the bracket that closes the one at `at`.
    fn behind(&self, at: usize) -> usize {
        let mut depth = 0_usize;
        for (index, token) in self.tokens.iter().enumerate().skip(at) {
            match token.kind {
                Kind::Open(_) => depth += 1,
                Kind::Close(_) => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return index + 1;
                    }
                }
                _ => {}
            }
        }
        self.tokens.len()
    }

    /// Returns the position of the bracket that the one at `at` closes.
    fn opening(&self, at: usize) -> usize {
        let mut depth = 0_usize;
        for index in (0..=at).rev() {
            match self.tokens[index].kind {
                Kind::Close(_) => depth += 1,
                Kind::Open(_) => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return index;
                    }
                }
                _ => {}
            }
        }
        0
    }

    /// Reads all imports first: they also apply to code before them.
    fn imports(&mut self) {
        for at in 0..self.tokens.len() {
            if self.ident(at) == Some("use") && !self.is(at.wrapping_sub(1), '.') {
                self.tree(at + 1, &mut Vec::new(), 0);
            }
        }
    }

    /// Reads an import; returns the position after it.
    fn tree(&mut self, mut at: usize, prefix: &mut Vec<String>, depth: usize) -> usize {
        let start = prefix.len();
        loop {
            if self.is_separator(at) {
                at += 2;
            } else if let Some(name) = self.ident(at).filter(|name| *name != "as").map(str::to_owned) {
                prefix.push(name);
                at += 1;
                if self.is_separator(at) {
                    continue;
                }
                let place = self.place(at - 1);
                let alias = match self.ident(at) {
                    Some("as") => {
                        at += 2;
                        self.ident(at - 1).map(str::to_owned)
                    }
                    _ => prefix.last().cloned(),
                };
                if prefix.last().is_some_and(|last| last == "self") {
                    prefix.pop();
                }
                let alias =
                    alias.map(|alias| if alias == "self" { prefix.last().cloned().unwrap_or_default() } else { alias });
                self.facts.imports.push((alias.unwrap_or_default(), prefix.clone()));
                self.facts.paths.push((prefix.clone(), place));
                break;
            } else if self.is(at, '*') {
                self.facts.imports.push(("*".to_owned(), prefix.clone()));
                self.facts.paths.push((prefix.clone(), self.place(at)));
                at += 1;
                break;
            } else if self.is_open(at, '{') && depth < 32 {
                let end = self.behind(at);
                at += 1;
                while at + 1 < end {
                    let next = self.tree(at, prefix, depth + 1);
                    at = next.max(at + 1);
                    if self.is(at, ',') {
                        at += 1;
                    }
                }
                at = end;
                break;
            } else {
                break;
            }
        }
        prefix.truncate(start);
        at
    }

    fn all(&mut self) {
        let mut at = 0;
        let mut foreign_until = 0;
        while at < self.tokens.len() {
            match &self.tokens[at].kind {
                Kind::Text(text, is_literal) => {
                    let (text, is_literal) = (text.clone(), *is_literal);
                    self.text(at, &text, is_literal);
                    at += 1;
                }
                Kind::Ident(word) => match word.as_str() {
                    "use" => {
                        at = self.tree_end(at + 1);
                    }
                    "extern" if self.foreign(at).is_some() => {
                        let open = self.foreign(at).unwrap_or(at);
                        foreign_until = self.behind(open);
                        at = open + 1;
                    }
                    "fn" | "struct" | "enum" | "union" | "type" | "trait" | "mod" | "const" | "static" => {
                        at = self.definition(at, at < foreign_until);
                    }
                    "let" => {
                        self.binding(at + 1);
                        at += 1;
                    }
                    _ => at = self.name(at),
                },
                _ => at += 1,
            }
        }
    }

    /// Returns the position after an import.
    fn tree_end(&self, mut at: usize) -> usize {
        while at < self.tokens.len() && !self.is(at, ';') {
            at = if matches!(self.tokens[at].kind, Kind::Open(_)) { self.behind(at) } else { at + 1 };
        }
        at
    }

    /// Returns the position of the opening bracket of a block of foreign functions.
    fn foreign(&self, at: usize) -> Option<usize> {
        let open = if matches!(self.tokens.get(at + 1)?.kind, Kind::Text(..)) { at + 2 } else { at + 1 };
        self.is_open(open, '{').then_some(open)
    }

    fn definition(&mut self, at: usize, is_foreign: bool) -> usize {
        let word = self.ident(at).unwrap_or_default().to_owned();
        let name_at = if self.ident(at + 1) == Some("mut") { at + 2 } else { at + 1 };
        let Some(name) = self.ident(name_at).map(str::to_owned) else { return at + 1 };
        if is_foreign && word == "fn" {
            self.facts.declared.push((name, self.place(name_at)));
            return name_at + 1;
        }
        // `const fn name`, and `*const name`, which is a type.
        if word == "const" && (self.is(at.wrapping_sub(1), '*') || matches!(name.as_str(), "fn" | "unsafe" | "extern"))
        {
            return at + 1;
        }
        self.facts.defined.insert(name.clone());
        if word == "const" || word == "static" {
            let end = self.tree_end(name_at);
            let value = end.checked_sub(1).and_then(|last| self.tokens.get(last)).map(|token| &token.kind);
            let is_32 = matches!(value, Some(Kind::Literal(text)) if text.trim_end_matches(char::is_alphanumeric).is_empty()
                && text.starts_with("32") && !text[2..].starts_with(|c: char| c.is_ascii_digit() || c == '.'));
            if is_32 && end == name_at + 5 && name.to_ascii_lowercase().contains("warp") {
                self.facts.warps.push((name, self.place(name_at)));
            }
        }
        name_at
    }

    /// Reads `let name = …`, and records the type if it is visible.
    fn binding(&mut self, at: usize) {
        let at = if self.ident(at) == Some("mut") { at + 1 } else { at };
        let Some(name) = self.ident(at).map(str::to_owned) else { return };
        if !self.is(at + 1, '=') || self.is(at + 2, '=') {
            return;
        }
        let (mut index, mut ty) = (at + 2, None);
        while index < self.tokens.len() && !self.is(index, ';') {
            match &self.tokens[index].kind {
                Kind::Open(_) => {
                    index = self.behind(index);
                    continue;
                }
                Kind::Ident(word) if self.is(index.wrapping_sub(1), '.') && TRANSPARENT.contains(&word.as_str()) => {}
                Kind::Ident(word) if self.is(index.wrapping_sub(1), '.') => {
                    ty = cudarc::returned(word).map(str::to_owned);
                }
                Kind::Ident(word) if self.is_separator(index + 1) && cudarc::is_type(word) => ty = Some(word.clone()),
                _ => {}
            }
            index += 1;
        }
        if let Some(ty) = ty {
            self.facts.types.entry(name).or_default().insert(ty);
        }
    }

    /// Reads a name in code: the start of a path, a method, or a variable with its type. Returns the position after it.
    fn name(&mut self, at: usize) -> usize {
        let Some(name) = self.ident(at).map(str::to_owned) else { return at + 1 };
        if self.is(at.wrapping_sub(1), '.') && !self.is(at.wrapping_sub(2), '.') {
            // A function of a library that the program loads itself: `lib.cuInit`.
            if names::is_known(&name) {
                let place = self.place(at);
                self.facts.paths.push((vec![name], place));
                return at + 1;
            }
            let is_call = self.is_open(at + 1, '(') || self.is_separator(at + 1);
            if is_call {
                if name == "cuda" && self.ident(at + 2) == Some("true") {
                    let place = self.place(at);
                    self.findings.add(ItemKind::Build, "cc::Build::cuda", place, || Verdict::differs(kernels::NVCC));
                }
                let receiver = self.receiver(at - 1);
                let place = self.place(at);
                self.facts.methods.push((receiver, name, place));
            }
            return at + 1;
        }
        if self.is(at + 1, ':') && !self.is(at + 2, ':') && !self.is(at.wrapping_sub(1), ':') {
            self.annotation(&name, at + 2);
        }
        let (mut path, mut last, mut next) = (vec![name], at, at + 1);
        while self.is_separator(next) {
            next += 2;
            if self.is(next, '<') {
                next = self.angle(next);
            } else if let Some(name) = self.ident(next) {
                path.push(name.to_owned());
                last = next;
                next += 1;
            } else {
                break;
            }
        }
        let place = self.place(last);
        self.facts.paths.push((path, place));
        last + 1
    }

    /// Returns the position after `<…>`.
    fn angle(&self, at: usize) -> usize {
        let mut depth = 0_usize;
        let mut index = at;
        while index < self.tokens.len() {
            if matches!(self.tokens[index].kind, Kind::Open(_)) {
                index = self.behind(index);
                continue;
            }
            if self.is(index, '<') {
                depth += 1;
            } else if self.is(index, '>') && !self.is(index.wrapping_sub(1), '-') {
                depth -= 1;
                if depth == 0 {
                    return index + 1;
                }
            } else if self.is(index, ';') {
                return index;
            }
            index += 1;
        }
        index
    }

    /// Reads `name: Type`, and records the types of cudarc in it.
    fn annotation(&mut self, name: &str, at: usize) {
        let mut depth = 0_usize;
        for token in self.tokens.iter().skip(at).take(60) {
            match &token.kind {
                Kind::Open('{') | Kind::Punct(';' | '=') => break,
                Kind::Punct(',') if depth == 0 => break,
                Kind::Punct('<') => depth += 1,
                Kind::Punct('>') => depth = depth.saturating_sub(1),
                Kind::Close(_) if depth == 0 => break,
                Kind::Ident(ty) if cudarc::is_type(ty) => {
                    self.facts.types.entry(name.to_owned()).or_default().insert(ty.clone());
                }
                _ => {}
            }
        }
    }

    /// Returns the receiver of the method after the dot at `dot`.
    fn receiver(&self, dot: usize) -> Receiver {
        let Some(mut at) = dot.checked_sub(1) else { return Receiver::Unknown };
        for _ in 0..32 {
            if self.is(at, '?') {
                at = at.saturating_sub(1);
                continue;
            }
            match &self.tokens[at].kind {
                Kind::Ident(name) if name == "self" => return Receiver::Unknown,
                Kind::Ident(name) => return Receiver::Named(name.clone()),
                Kind::Close(']') => at = self.opening(at).saturating_sub(1),
                Kind::Close(')') => {
                    let Some(before) = self.opening(at).checked_sub(1) else { return Receiver::Unknown };
                    let Some(method) = self.ident(before) else { return Receiver::Unknown };
                    if let Some(ty) = cudarc::returned(method) {
                        return Receiver::Typed(ty);
                    }
                    if !TRANSPARENT.contains(&method) && method != "cuda_stream" {
                        // A function that returns a stream is often named after it.
                        return Receiver::Named(method.to_owned());
                    }
                    let Some(previous) = before.checked_sub(2).filter(|_| self.is(before - 1, '.')) else {
                        return Receiver::Unknown;
                    };
                    at = previous;
                }
                _ => return Receiver::Unknown,
            }
        }
        Receiver::Unknown
    }

    /// Reads a string: CUDA C++, PTX, or a build command.
    fn text(&mut self, at: usize, text: &str, is_literal: bool) {
        let place = self.place(at);
        if kernels::is_kernel(text) {
            let start = kernels::Start { file: &self.facts.file, line: place.line, column: place.column, is_literal };
            kernels::read(text, &start, self.findings);
        } else {
            let is_command = self.ident(at.wrapping_sub(2)) == Some("new")
                && self.ident(at.wrapping_sub(5)) == Some("Command")
                || self.facts.file.ends_with("build.rs");
            kernels::build(text, place, is_command, self.findings);
        }
    }
}

/// Crates whose items are named as in CUDA's C headers.
const RAW: &[&str] = &[
    "sys",
    "ffi",
    "cuda_sys",
    "cuda_driver_sys",
    "cuda_runtime_sys",
    "cust_raw",
    "driver_sys",
    "runtime_sys",
    "nvml_wrapper_sys",
    "cublas_sys",
    "nvrtc_sys",
    "cudart",
    "cuda",
];

/// Adds the items that the files use.
pub(crate) fn resolve(all: &[Facts], roots: &BTreeSet<String>, findings: &mut Findings) {
    let defined: BTreeSet<&str> = all.iter().flat_map(|facts| &facts.defined).map(String::as_str).collect();
    let mut everywhere: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (name, types) in all.iter().flat_map(|facts| &facts.types) {
        everywhere.entry(name).or_default().extend(types.iter().cloned());
    }
    for facts in all {
        File { facts, defined: &defined, roots, everywhere: &everywhere }.resolve(findings);
    }
}

/// A path in cudarc: module, item in it.
type InCudarc = (String, String);

struct File<'a> {
    facts: &'a Facts,
    defined: &'a BTreeSet<&'a str>,
    roots: &'a BTreeSet<String>,
    everywhere: &'a BTreeMap<&'a str, BTreeSet<String>>,
}

impl File<'_> {
    fn resolve(&self, findings: &mut Findings) {
        for (name, place) in &self.facts.declared {
            self.c_name(name, true, place, findings);
        }
        for (path, place) in &self.facts.paths {
            if let Some((module, item)) = self.in_cudarc(path) {
                self.item(&module, &item, place, findings);
            }
            let is_raw = path.iter().rev().skip(1).any(|part| RAW.contains(&part.as_str()))
                || path.first().is_some_and(|first| {
                    self.import(first).is_some_and(|full| full.iter().any(|part| RAW.contains(&part.as_str())))
                });
            let names: &[String] = if path.len() > 2 { &path[path.len() - 2..] } else { path };
            for name in names {
                self.c_name(name, is_raw, place, findings);
            }
        }
        let uses_cudarc = self.facts.paths.iter().any(|(path, _)| path.iter().any(|part| self.roots.contains(part)));
        for (receiver, name, place) in &self.facts.methods {
            if !uses_cudarc {
                continue;
            }
            let types = self.types(receiver);
            match cudarc::method(&types, name) {
                Some((module, item)) => self.item(module, &item, place, findings),
                None if cudarc::old(name).is_some() && !self.defined.contains(name.as_str()) => {
                    self.item("driver", name, place, findings);
                }
                None => {}
            }
        }
        for (name, place) in &self.facts.warps {
            let name = format!("{name} = 32");
            findings.add(ItemKind::C, &name, place.clone(), || {
                Verdict::differs("right for kernels that `nvrtc` compiles, which makes two warps of each wave; waves of MI GPUs have 64 lanes")
            });
        }
    }

    fn import(&self, name: &str) -> Option<&Vec<String>> {
        self.facts.imports.iter().find(|(alias, _)| alias == name).map(|(_, path)| path)
    }

    /// Resolves a path to cudarc.
    fn in_cudarc(&self, path: &[String]) -> Option<InCudarc> {
        let rooted = |path: &[String]| {
            let root = path.iter().position(|part| self.roots.contains(part))?;
            let (module, item) = path[root + 1..].split_first()?;
            cudarc::is_module(module).then(|| (module.clone(), item.join("::")))
        };
        if let Some(found) = rooted(path) {
            return Some(found);
        }
        let (first, rest) = path.split_first()?;
        if let Some(full) = self.import(first) {
            return rooted(&[full, rest].concat());
        }
        if self.defined.contains(first.as_str()) {
            return None;
        }
        let globs = self.facts.imports.iter().filter(|(alias, _)| alias == "*");
        globs.filter_map(|(_, glob)| rooted(&[glob, path].concat())).find(|(module, item)| {
            let start = item.split("::").next().unwrap_or_default();
            cudarc::find(module, item).is_some()
                || cudarc::find(module, start).is_some()
                || cudarc::old(start).is_some()
        })
    }

    /// Adds an item of cudarc.
    fn item(&self, module: &str, item: &str, place: &Place, findings: &mut Findings) {
        if let Some(advice) = cudarc::module(module) {
            findings.add(ItemKind::Cudarc, &format!("{module}::*"), place.clone(), || Verdict::missing(advice));
            return;
        }
        let item = item.strip_prefix("safe::").unwrap_or(item);
        // A module, or C names, which are counted separately.
        if item.is_empty() || item == "safe" || item == "result" || item == "sys" || item.starts_with("sys::") {
            return;
        }
        let whole = cudarc::find(module, item);
        // `DriverError::error_name`, `CudaSlice::<f32>::len`: the type, if the rest is not in the table.
        let found = whole.or_else(|| cudarc::find(module, item.rsplit_once("::")?.0));
        match found {
            Some(found) => findings
                .add(ItemKind::Cudarc, &format!("{module}::{found}"), place.clone(), || cudarc::verdict(module, found)),
            None => {
                let name = item.split("::").find(|part| cudarc::old(part).is_some());
                if let Some((name, new)) = name.and_then(|name| Some((name, cudarc::old(name)?))) {
                    findings.add(ItemKind::Cudarc, &format!("{module}::{name}"), place.clone(), || {
                        Verdict::missing(format!("of cudarc before 0.14; update to cudarc 0.19, where it is {new}"))
                    });
                } else if item.rsplit("::").next().is_some_and(|last| last.starts_with(char::is_uppercase)) {
                    findings.add(ItemKind::Cudarc, &format!("{module}::{item}"), place.clone(), || {
                        cudarc::verdict(module, item)
                    });
                }
            }
        }
    }

    /// Adds a name of CUDA's C headers, if it is one. `is_raw`: the path is that of a C header.
    fn c_name(&self, name: &str, is_raw: bool, place: &Place, findings: &mut Findings) {
        let name = names::plain(name);
        if self.defined.contains(name) && !is_raw {
            return;
        }
        if names::is_known(name) {
            findings.add(ItemKind::C, name, place.clone(), || names::verdict(name));
        } else if let Some((library, advice)) = names::library(name) {
            findings.add(ItemKind::C, library, place.clone(), || Verdict::missing(format!("not mapped: {advice}")));
        } else if is_raw && is_like_cuda(name) && !self.defined.contains(name) {
            findings.add(ItemKind::C, name, place.clone(), || names::verdict(name));
        }
    }

    fn types(&self, receiver: &Receiver) -> BTreeSet<String> {
        match receiver {
            Receiver::Typed(ty) => BTreeSet::from([(*ty).to_owned()]),
            Receiver::Named(name) => {
                let here = self.facts.types.get(name).or_else(|| self.everywhere.get(name.as_str()));
                let of_others = |ty: &&String| !self.defined.contains(ty.as_str());
                here.into_iter().flatten().filter(of_others).cloned().collect()
            }
            Receiver::Unknown => BTreeSet::new(),
        }
    }
}

/// Returns whether a name is written like a function or a constant of CUDA's C headers.
fn is_like_cuda(name: &str) -> bool {
    let starts = [
        "cu", "cuda", "cublas", "cublasLt", "curand", "cusparse", "cufft", "cusolver", "nvrtc", "nccl", "nvml", "nvtx",
    ];
    let function = starts.iter().any(|start| {
        name.strip_prefix(start)
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()) && rest.len() > 2)
    });
    function || ["CUDA_", "CU_", "CUBLAS_", "CUSPARSE_", "NVML_", "NVRTC_"].iter().any(|start| name.starts_with(start))
}
