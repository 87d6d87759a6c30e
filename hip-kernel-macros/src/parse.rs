//! Parses the function under `#[kernel]`.

use std::cell::RefCell;
use std::iter::Peekable;

use proc_macro::{Delimiter, Group, Ident, Span, TokenStream, TokenTree, token_stream::IntoIter};

use crate::normal::normal;

/// An error and its location.
#[derive(Debug)]
pub(crate) struct Error {
    span: Span,
    message: String,
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span, message: message.into() }
    }

    /// Returns `compile_error!` at the location.
    pub(crate) fn tokens(&self) -> TokenStream {
        let text: TokenStream = format!("::core::compile_error! {{ {:?} }}", self.message).parse().unwrap_or_default();
        text.into_iter()
            .map(|mut token| {
                token.set_span(self.span);
                if let TokenTree::Group(group) = &token {
                    let inner = group.stream().into_iter().map(|mut token| {
                        token.set_span(self.span);
                        token
                    });
                    let mut group = Group::new(group.delimiter(), inner.collect());
                    group.set_span(self.span);
                    return TokenTree::Group(group);
                }
                token
            })
            .collect()
    }
}

/// A parameter by the way it is passed.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// `&[T]`: a pointer and a length.
    Slice(String),
    /// `*const T`
    Const(String),
    /// `*mut T`
    Mut(String),
    /// `DisjointSlice<T>`, `DisjointChunks<T, N>`, `DisjointGrid<T>`, `AtomicSlice<T>`: the type as written, without
    /// lifetimes, and its element.
    Output { path: String, element: String, form: Output },
    /// `Shared<T>`
    Shared(String),
    /// `SharedSlice<T>`
    SharedSlice(String),
    /// `Printer`
    Printer,
    /// `GridBarrier`
    GridBarrier,
    /// Anything else.
    Value(String),
}

/// A type of memory that a kernel writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    Slice,
    Chunks,
    Grid,
    Atomic,
}

#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// The type as written.
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// A generic parameter other than a lifetime.
#[derive(Clone, Debug)]
pub(crate) struct Generic {
    pub(crate) name: String,
    /// The type of a constant.
    pub(crate) constant: Option<String>,
}

/// A function and the settings of the attribute.
#[derive(Debug)]
pub(crate) struct Function {
    /// The function as written.
    pub(crate) item: TokenStream,
    /// The same from its name on.
    pub(crate) source: TokenStream,
    /// Doc comments and `cfg`.
    pub(crate) attributes: String,
    pub(crate) visibility: String,
    pub(crate) is_unsafe: bool,
    pub(crate) name: Ident,
    pub(crate) generics: Vec<Generic>,
    pub(crate) parameters: Vec<Parameter>,
    /// The generic arguments of each instance.
    pub(crate) instances: Vec<Vec<String>>,
    /// Parameters with equal lengths.
    pub(crate) same_len: Vec<Vec<String>>,
    /// The maximum number of threads of a block.
    pub(crate) max_threads: Option<u32>,
    /// The maximum stack size of a thread in bytes, if the compiler cannot determine it.
    pub(crate) stack: Option<u32>,
}

pub(crate) type Tokens = Peekable<IntoIter>;

pub(crate) fn is_punct(token: Option<&TokenTree>, what: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == what)
}

pub(crate) fn is_ident(token: Option<&TokenTree>, what: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident.to_string() == what)
}

thread_local! {
    /// Tokens that would change if they were converted to text: see `is_fragile`.
    static KEPT: RefCell<Vec<TokenStream>> = const { RefCell::new(Vec::new()) };
}

/// Runs one macro, and then clears the kept tokens: tokens cannot be dropped when a thread ends.
pub(crate) fn keeping<R>(run: impl FnOnce() -> R) -> R {
    struct Forget;
    impl Drop for Forget {
        fn drop(&mut self) {
            KEPT.with_borrow_mut(Vec::clear);
        }
    }
    let _forget = Forget;
    run()
}

/// The prefix of placeholders for kept tokens in text.
const STANDS: &str = "__hk_kept_";

/// Converts the tokens to text, for [`written`].
pub(crate) fn text(tokens: &[TokenTree]) -> String {
    let stream: TokenStream = tokens.iter().cloned().collect();
    if !is_fragile(&stream) {
        return stream.to_string();
    }
    KEPT.with_borrow_mut(|kept| {
        kept.push(stream);
        format!("{STANDS}{}", kept.len() - 1)
    })
}

/// Returns the output of [`text`] in a readable form.
pub(crate) fn shown(text: &str) -> String {
    kept(text).map_or_else(|| text.to_owned(), |tokens| tokens.to_string())
}

/// Converts output of [`text`] back to tokens; `None` if it is not Rust.
pub(crate) fn written(text: &str) -> Option<TokenStream> {
    let stream: TokenStream = text.parse().ok()?;
    Some(if text.contains(STANDS) { restored(stream) } else { stream })
}

fn kept(name: &str) -> Option<TokenStream> {
    let index: usize = name.strip_prefix(STANDS)?.parse().ok()?;
    KEPT.with_borrow(|kept| kept.get(index).cloned())
}

fn restored(stream: TokenStream) -> TokenStream {
    let one = |token: TokenTree| match token {
        TokenTree::Group(group) => {
            let mut inner = Group::new(group.delimiter(), restored(group.stream()));
            inner.set_span(group.span());
            TokenStream::from(TokenTree::Group(inner))
        }
        TokenTree::Ident(name) => kept(&name.to_string()).unwrap_or_else(|| TokenStream::from(TokenTree::Ident(name))),
        other => TokenStream::from(other),
    };
    stream.into_iter().map(one).collect()
}

/// Names that are keywords in some editions. Text is parsed in the edition of this crate, not the user's.
const OF_EDITIONS: [&str; 5] = ["async", "await", "dyn", "gen", "try"];

/// Returns whether tokens would change if they were converted to text: a path that begins with `$crate`, as macros by
/// example write it, and names that are keywords in this crate's edition.
fn is_fragile(stream: &TokenStream) -> bool {
    stream.clone().into_iter().any(|token| match token {
        TokenTree::Ident(name) => {
            let name = name.to_string();
            name == "$crate" || OF_EDITIONS.contains(&&*name)
        }
        TokenTree::Group(group) => is_fragile(&group.stream()),
        _ => false,
    })
}

/// Returns a name in a form for every edition: `r#gen` for `gen`.
pub(crate) fn escaped(name: &str) -> String {
    if OF_EDITIONS.contains(&name) { format!("r#{name}") } else { name.to_owned() }
}

/// Returns `try` for `r#try`.
pub(crate) fn plain_name(name: &str) -> &str {
    name.strip_prefix("r#").unwrap_or(name)
}

/// Splits at commas outside of brackets.
pub(crate) fn split(stream: TokenStream) -> Vec<Vec<TokenTree>> {
    let mut parts = vec![Vec::new()];
    let (mut depth, mut before) = (0i32, ' ');
    for token in stream {
        let mut now = ' ';
        if let TokenTree::Punct(punct) = &token {
            now = punct.as_char();
            match now {
                '<' => depth += 1,
                '>' if before != '-' && before != '=' => depth -= 1,
                ',' if depth == 0 => {
                    parts.push(Vec::new());
                    continue;
                }
                _ => {}
            }
        }
        before = now;
        parts.last_mut().expect("there is one").push(token);
    }
    if parts.last().is_some_and(Vec::is_empty) {
        parts.pop();
    }
    parts
}

/// Reads the attributes before an item, and returns those that are repeated.
pub(crate) fn attributes(tokens: &mut Tokens) -> String {
    let mut kept = String::new();
    while is_punct(tokens.peek(), '#') {
        tokens.next();
        if let Some(TokenTree::Group(group)) = tokens.next() {
            let name = group.stream().into_iter().next().map(|name| name.to_string()).unwrap_or_default();
            if ["doc", "cfg", "deprecated"].contains(&name.as_str()) {
                kept += &format!("#{group}\n");
            }
        }
    }
    kept
}

pub(crate) fn visibility(tokens: &mut Tokens) -> String {
    if !is_ident(tokens.peek(), "pub") {
        return String::new();
    }
    let mut visibility = "pub".to_owned();
    tokens.next();
    if let Some(TokenTree::Group(group)) = tokens.peek() {
        if group.delimiter() == Delimiter::Parenthesis {
            visibility += &group.to_string();
            tokens.next();
        }
    }
    visibility
}

/// Reads the tokens between `<` and its `>`, after the `<`.
fn angles(tokens: &mut Tokens) -> TokenStream {
    let (mut depth, mut before, mut inside) = (1, ' ', Vec::new());
    for token in tokens.by_ref() {
        let mut now = ' ';
        if let TokenTree::Punct(punct) = &token {
            now = punct.as_char();
            match now {
                '<' => depth += 1,
                '>' if before != '-' => depth -= 1,
                _ => {}
            }
        }
        before = now;
        if depth == 0 {
            break;
        }
        inside.push(token);
    }
    inside.into_iter().collect()
}

/// Parses a function with the attribute's content.
pub(crate) fn function(attribute: TokenStream, item: TokenStream) -> Result<Function> {
    let mut tokens: Tokens = item.clone().into_iter().peekable();
    let attributes = attributes(&mut tokens);
    let visibility = visibility(&mut tokens);
    let mut is_unsafe = false;
    let mut last = Span::call_site();
    loop {
        match tokens.next() {
            Some(TokenTree::Ident(word)) if word.to_string() == "fn" => break,
            Some(TokenTree::Ident(word)) if word.to_string() == "unsafe" => is_unsafe = true,
            Some(other) => {
                let message = format!("a kernel is `fn` or `unsafe fn`; found `{other}`");
                return Err(Error::new(other.span(), message));
            }
            None => return Err(Error::new(last, "`#[kernel]` is for a function")),
        }
        last = Span::call_site();
    }
    let source: TokenStream = tokens.clone().collect();
    let Some(TokenTree::Ident(name)) = tokens.next() else {
        return Err(Error::new(last, "the function has no name"));
    };
    let mut generics = Vec::new();
    if is_punct(tokens.peek(), '<') {
        tokens.next();
        for part in split(angles(&mut tokens)) {
            match &part[..] {
                [TokenTree::Punct(quote), ..] if quote.as_char() == '\'' => {}
                [TokenTree::Ident(word), TokenTree::Ident(name), _, kind @ ..] if word.to_string() == "const" => {
                    generics.push(Generic { name: escaped(&name.to_string()), constant: Some(text(kind)) });
                }
                [TokenTree::Ident(name), ..] => {
                    generics.push(Generic { name: escaped(&name.to_string()), constant: None })
                }
                _ => return Err(Error::new(name.span(), "a generic parameter that is not understood")),
            }
        }
    }
    let Some(TokenTree::Group(list)) = tokens.next() else {
        return Err(Error::new(name.span(), "the function has no parameters: `()`"));
    };
    if is_punct(tokens.peek(), '-') {
        let message = "a kernel returns nothing: write results to a `DisjointSlice`";
        return Err(Error::new(tokens.peek().map_or(name.span(), TokenTree::span), message));
    }
    let parameters =
        split(list.stream()).into_iter().map(|part| parameter(&part, list.span())).collect::<Result<Vec<_>>>()?;
    let mut function = Function {
        item,
        source,
        attributes,
        visibility,
        is_unsafe,
        name,
        generics,
        parameters,
        instances: Vec::new(),
        same_len: Vec::new(),
        max_threads: None,
        stack: None,
    };
    options(&mut function, attribute)?;
    check(&function)?;
    Ok(function)
}

fn parameter(tokens: &[TokenTree], span: Span) -> Result<Parameter> {
    let tokens = match tokens {
        [TokenTree::Ident(word), rest @ ..] if word.to_string() == "mut" => rest,
        other => other,
    };
    let [TokenTree::Ident(name), colon, kind @ ..] = tokens else {
        let span = tokens.first().map_or(span, TokenTree::span);
        return Err(Error::new(span, "a kernel's parameter is `name: type`"));
    };
    if !is_punct(Some(colon), ':') || kind.is_empty() {
        return Err(Error::new(name.span(), "a kernel's parameter is `name: type`"));
    }
    let span = kind[0].span();
    if let Some(at) = kind.windows(2).position(|pair| is_punct(pair.first(), '\'') && is_ident(pair.get(1), "static")) {
        return Err(Error::new(
            kind[at].span(),
            "what a kernel is given is gone after the launch: leave out `'static`",
        ));
    }
    let mut text = String::new();
    normal(kind.iter().cloned().collect(), &mut text);
    // Easier to read in errors, and still the same for each compiler.
    let text =
        [(" :: ", "::"), (" < ", "<"), (" > ", "> "), ("& ", "&"), ("[ ", "["), (" ]", "]"), (" ,", ","), (" ;", ";")]
            .iter()
            .fold(text, |text, (from, to)| text.replace(from, to));
    Ok(Parameter { name: escaped(&name.to_string()), kind: kind_of(kind)?, text: text.trim().to_owned(), span })
}

fn kind_of(tokens: &[TokenTree]) -> Result<Kind> {
    // A type that was passed to a macro by example.
    if let [TokenTree::Group(group)] = tokens {
        if group.delimiter() == Delimiter::None {
            let inner: Vec<_> = group.stream().into_iter().collect();
            return if inner.is_empty() {
                Err(Error::new(group.span(), "a kernel's parameter is `name: type`"))
            } else {
                kind_of(&inner)
            };
        }
    }
    let span = tokens[0].span();
    if is_punct(tokens.first(), '*') {
        return match tokens.get(1) {
            Some(TokenTree::Ident(word)) if word.to_string() == "const" => Ok(Kind::Const(text(&tokens[2..]))),
            Some(TokenTree::Ident(word)) if word.to_string() == "mut" => Ok(Kind::Mut(text(&tokens[2..]))),
            _ => Err(Error::new(span, "a pointer is `*const T` or `*mut T`")),
        };
    }
    if is_punct(tokens.first(), '&') {
        let mut rest = &tokens[1..];
        if is_punct(rest.first(), '\'') {
            rest = rest.get(2..).unwrap_or_default();
        }
        return match rest {
            [TokenTree::Group(group)]
                if group.delimiter() == Delimiter::Bracket
                    && !group.stream().into_iter().any(|token| is_punct(Some(&token), ';')) =>
            {
                Ok(Kind::Slice(text(&group.stream().into_iter().collect::<Vec<_>>())))
            }
            [TokenTree::Ident(word), ..] if word.to_string() == "mut" => Err(Error::new(
                span,
                "all threads would have this `&mut`: use `DisjointSlice<T>`, which gives each thread its own elements, or `AtomicSlice<T>`",
            )),
            _ => Err(Error::new(span, "memory that a kernel reads is a slice: `&[T]`")),
        };
    }
    // A path: its last name, and the content of its angle brackets.
    let open = tokens.iter().position(|token| is_punct(Some(token), '<'));
    let path = &tokens[..open.unwrap_or(tokens.len())];
    let Some(TokenTree::Ident(last)) = path.last() else { return Ok(Kind::Value(text(tokens))) };
    let arguments = match open {
        Some(open) => {
            let inside: TokenStream = tokens[open + 1..tokens.len() - 1].iter().cloned().collect();
            let all = split(inside).into_iter().filter(|part| !is_punct(part.first(), '\''));
            all.map(|part| text(&part)).collect::<Vec<_>>()
        }
        None => Vec::new(),
    };
    let element = || {
        let message = format!("`{last}` without the type of its elements: `{last}<T>`");
        arguments.first().cloned().ok_or_else(|| Error::new(last.span(), message))
    };
    let output = |form| {
        let path = format!("{}<{}>", text(path), arguments.join(", "));
        Ok(Kind::Output { path, element: element()?, form })
    };
    match last.to_string().as_str() {
        "DisjointSlice" => output(Output::Slice),
        "DisjointChunks" => output(Output::Chunks),
        "DisjointGrid" => output(Output::Grid),
        "AtomicSlice" => output(Output::Atomic),
        "Shared" => Ok(Kind::Shared(element()?)),
        "SharedSlice" => Ok(Kind::SharedSlice(element()?)),
        "Printer" => Ok(Kind::Printer),
        "GridBarrier" => Ok(Kind::GridBarrier),
        _ => Ok(Kind::Value(text(tokens))),
    }
}

/// The largest stack of a thread that AMD's runtime supports.
const MOST_STACK: u32 = (128 << 10) - 16;

/// Parses the attribute: `<f32>, <f64>`, `same_len(a, b)`, `max_threads(256)`.
fn options(function: &mut Function, attribute: TokenStream) -> Result<()> {
    for part in split(attribute) {
        match &part[..] {
            [TokenTree::Punct(open), inside @ .., TokenTree::Punct(close)]
                if open.as_char() == '<' && close.as_char() == '>' =>
            {
                let types = split(inside.iter().cloned().collect());
                function.instances.push(types.iter().map(|part| text(part)).collect());
            }
            [TokenTree::Ident(word), TokenTree::Group(group)] if word.to_string() == "same_len" => {
                let mut names = Vec::new();
                for name in split(group.stream()) {
                    let name_text = match &name[..] {
                        [TokenTree::Ident(name)] => escaped(&name.to_string()),
                        other => text(other),
                    };
                    let known = function.parameters.iter().find(|parameter| parameter.name == name_text);
                    if !known.is_some_and(|p| matches!(p.kind, Kind::Slice(_) | Kind::Output { .. })) {
                        let span = name.first().map_or(word.span(), TokenTree::span);
                        return Err(Error::new(span, format!("`{name_text}` is not a parameter that has a length")));
                    }
                    names.push(name_text);
                }
                if names.len() < 2 {
                    return Err(Error::new(word.span(), "`same_len` is for two parameters or more"));
                }
                function.same_len.push(names);
            }
            [TokenTree::Ident(word), TokenTree::Group(group)] if word.to_string() == "max_threads" => {
                let threads = group.stream().to_string().parse().ok().filter(|threads| (1..=1024).contains(threads));
                let error = || Error::new(group.span(), "`max_threads` is a number of threads from 1 to 1024");
                function.max_threads = Some(threads.ok_or_else(error)?);
            }
            [TokenTree::Ident(word), TokenTree::Group(group)] if word.to_string() == "stack" => {
                let bytes = group.stream().to_string().replace('_', "");
                let bytes = bytes.parse().ok().filter(|bytes| (1..=MOST_STACK).contains(bytes));
                let message = format!("`stack` is a number of bytes from 1 to {MOST_STACK}");
                function.stack = Some(bytes.ok_or_else(|| Error::new(group.span(), &message))?);
            }
            [first, ..] => {
                let message = "expected `<f32>` (an instance), `same_len(a, b)`, `max_threads(256)` or `stack(16384)`";
                return Err(Error::new(first.span(), message));
            }
            [] => {}
        }
    }
    Ok(())
}

fn check(function: &Function) -> Result<()> {
    let name = &function.name;
    if function.generics.is_empty() {
        if !function.instances.is_empty() {
            return Err(Error::new(name.span(), "instances of a kernel that is not generic"));
        }
    } else if function.instances.is_empty() {
        let names: Vec<_> = function.generics.iter().map(|generic| &*generic.name).collect();
        let message = format!(
            "name the instances of this generic kernel, for example `#[kernel(<f32>, <f64>)]`: one type for each of {}",
            names.join(", ")
        );
        return Err(Error::new(name.span(), message));
    }
    let is_barrier = |parameter: &&Parameter| matches!(parameter.kind, Kind::GridBarrier);
    if function.parameters.iter().filter(is_barrier).count() > 1 {
        return Err(Error::new(name.span(), "a kernel has one `GridBarrier` at most: it serves any number of waits"));
    }
    if let Some(instance) = function.instances.iter().find(|i| i.len() != function.generics.len()) {
        let message = format!("`<{}>` is not one type for each generic parameter", instance.join(", "));
        return Err(Error::new(name.span(), message));
    }
    let mut dynamic = false;
    for parameter in &function.parameters {
        match &parameter.kind {
            Kind::Const(_) | Kind::Mut(_) if !function.is_unsafe => {
                let message =
                    "a kernel that takes pointers is an `unsafe fn`; safe ones take `&[T]` and `DisjointSlice<T>`";
                return Err(Error::new(parameter.span, message));
            }
            Kind::Shared(_) | Kind::SharedSlice(_) if dynamic => {
                return Err(Error::new(parameter.span, "a `SharedSlice` is the last of the shared parameters"));
            }
            Kind::SharedSlice(_) => dynamic = true,
            _ => {}
        }
    }
    Ok(())
}
