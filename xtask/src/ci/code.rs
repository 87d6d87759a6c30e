//! The names that a source file has: what it defines, what it imports, and which paths it writes. They are read from
//! its tokens, so paths inside macros count too. Items for tests and documentation do not count.

use anyhow::{Result, anyhow};
use proc_macro2::{Delimiter, Group, Ident, Spacing, TokenStream, TokenTree};

/// The path of a module from the root of its crate, or a path as it is written.
pub(super) type Path = Vec<String>;

/// The names of one source file.
#[derive(Debug, Default)]
pub(super) struct Code {
    /// The modules that its code is in: the file's own, and those with a body inside it.
    pub(super) modules: Vec<Path>,
    /// The modules that are in files of their own.
    pub(super) declared: Vec<Declared>,
    /// The functions, types, traits, constants and macros, each with its module.
    pub(super) items: Vec<(Path, String)>,
    /// The macros by example. Those with `true` are exported: at the root of the crate.
    pub(super) macros: Vec<(String, bool)>,
    /// The modules where a macro is called in the place of an item: it may define any.
    pub(super) made: Vec<Path>,
    pub(super) imports: Vec<Import>,
    pub(super) named: Vec<Named>,
}

/// A module in a file of its own.
#[derive(Debug)]
pub(super) struct Declared {
    pub(super) module: Path,
    /// The file, if `#[path]` names it.
    pub(super) file: Option<String>,
}

/// A name that a `use` brings into a module.
#[derive(Debug)]
pub(super) struct Import {
    pub(super) module: Path,
    /// `None` for all names of a module.
    pub(super) name: Option<String>,
    pub(super) path: Path,
}

/// A path that code writes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Named {
    /// The module in which it stands.
    pub(super) module: Path,
    /// Its segments. The first is `crate`, `super`, `self`, or a name in the scope of the module.
    pub(super) path: Path,
    pub(super) by: By,
}

/// The place of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum By {
    /// An expression, a type, or a `use` of the module's own.
    Code,
    /// The call of a function.
    Call,
    /// The call of a macro.
    Macro,
    /// `pub use`, with any restriction.
    Export,
}

impl Named {
    /// The path from the root of the crate, if it is written with `crate` or `super`.
    pub(super) fn at_root(&self) -> Option<Path> {
        let ups = self.path.iter().take_while(|segment| *segment == "super").count();
        let base = match self.path[0].as_str() {
            "crate" => &[],
            "super" => &self.module[..self.module.len().saturating_sub(ups)],
            _ => return None,
        };
        Some([base, &self.path[ups.max(1)..]].concat())
    }
}

impl Code {
    /// Reads a file whose module is `module`.
    pub(super) fn read(text: &str, module: &[String]) -> Result<Code> {
        let tokens: TokenStream = text.parse().map_err(|error| anyhow!("{error}"))?;
        let mut code = Code::default();
        code.walk(tokens, module, true);
        Ok(code)
    }

    /// Reads the tokens of a group. Where they are `items`, what they define can be named from elsewhere.
    fn walk(&mut self, tokens: TokenStream, module: &[String], items: bool) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        if items {
            self.modules.push(module.to_vec());
        }
        let (mut at, mut exported, mut file) = (0, false, None);
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Punct(punct) if punct.as_char() == '#' => {
                    let attribute = tokens.get(at + 1).map(ToString::to_string).unwrap_or_default();
                    exported |= attribute == "[macro_export]";
                    file = named_file(&attribute).or(file);
                    if is_left_out(&attribute) {
                        at += 2;
                        while at < tokens.len() && !ends_item(&tokens[at]) {
                            at += 1;
                        }
                    }
                }
                TokenTree::Ident(word) if word == "use" && !is_punct(tokens.get(at + 1), '<') => {
                    at = self.import(&tokens, at, module)
                }
                TokenTree::Ident(word) if word == "mod" => {
                    if let Some(TokenTree::Ident(name)) = tokens.get(at + 1) {
                        let inner = [module, &[name.to_string()]].concat();
                        match tokens.get(at + 2) {
                            Some(TokenTree::Group(body)) => self.walk(body.stream(), &inner, true),
                            _ if items => self.declared.push(Declared { module: inner, file: file.take() }),
                            // A macro may build it from something else.
                            _ => {}
                        }
                        at += 2;
                    }
                }
                TokenTree::Ident(word) if word == "macro_rules" => {
                    if let (Some(TokenTree::Ident(name)), Some(TokenTree::Group(body))) =
                        (tokens.get(at + 2), tokens.get(at + 3))
                    {
                        self.macros.push((name.to_string(), exported));
                        self.items.push((module.to_vec(), name.to_string()));
                        self.walk(body.stream(), module, false);
                        (at, exported) = (at + 3, false);
                    }
                }
                TokenTree::Ident(_) => {
                    if items && defines(&tokens, at) {
                        self.items.extend(word_at(&tokens, at + 1).map(|name| (module.to_vec(), name.to_string())));
                    }
                    if items && calls_macro(&tokens, at) {
                        self.made.push(module.to_vec());
                    }
                    if begins_path(&tokens, at) {
                        self.path(&tokens, at, module);
                    }
                }
                TokenTree::Group(group) => self.walk(group.stream(), module, foreign(&tokens, at, group) && items),
                _ => {}
            }
            at += 1;
        }
    }

    /// Reads the `use` at an index, and returns where it ends.
    fn import(&mut self, tokens: &[TokenTree], at: usize, module: &[String]) -> usize {
        let before = at.checked_sub(1).map(|before| &tokens[before]);
        let restricted = matches!(before, Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis);
        let visible = at.checked_sub(if restricted { 2 } else { 1 }).map(|before| &tokens[before]);
        let by = if matches!(visible, Some(TokenTree::Ident(word)) if word == "pub") { By::Export } else { By::Code };
        let end = (at..tokens.len()).find(|end| ends_use(&tokens[*end])).unwrap_or(tokens.len());
        let mut leaves = Vec::new();
        leaves_of(&tokens[at + 1..end], &mut Path::new(), &mut leaves);
        for (path, name) in leaves {
            self.named.push(Named { module: module.to_vec(), path: path.clone(), by });
            self.imports.push(Import { module: module.to_vec(), name, path });
        }
        end
    }

    /// Reads the path that begins at an index.
    fn path(&mut self, tokens: &[TokenTree], at: usize, module: &[String]) {
        let (mut path, mut end) = (Path::new(), at);
        while let Some(word) = word_at(tokens, end) {
            path.push(word.to_string());
            end += 1;
            if !is_separator(tokens, end) {
                break;
            }
            end += 2;
        }
        let called = matches!(tokens.get(end), Some(TokenTree::Punct(punct)) if punct.as_char() == '!')
            && matches!(tokens.get(end + 1), Some(TokenTree::Group(_)));
        let applied =
            matches!(tokens.get(end), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis);
        // A single word in lower case may be a variable, a field or a keyword, unless it is called.
        if path.len() > 1 || called || applied || path[0].starts_with(char::is_uppercase) {
            let by = match (called, applied) {
                (true, _) => By::Macro,
                (_, true) => By::Call,
                _ => By::Code,
            };
            self.named.push(Named { module: module.to_vec(), path, by });
        }
    }
}

/// The paths in the tree of a `use`, each with the name that it brings in.
fn leaves_of(tokens: &[TokenTree], base: &mut Path, leaves: &mut Vec<(Path, Option<String>)>) {
    let depth = base.len();
    let mut at = 0;
    loop {
        match tokens.get(at) {
            Some(TokenTree::Ident(word)) => {
                base.push(word.to_string());
                if is_separator(tokens, at + 1) {
                    at += 3;
                    continue;
                }
                if word == "self" && base.len() > 1 {
                    base.pop();
                }
                let renamed =
                    word_at(tokens, at + 1).filter(|word| *word == "as").and_then(|_| word_at(tokens, at + 2));
                let name = renamed.map(ToString::to_string).or_else(|| base.last().cloned());
                leaves.push((base.clone(), name));
            }
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                for part in inner.split(|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',')) {
                    leaves_of(part, base, leaves);
                }
            }
            Some(TokenTree::Punct(punct)) if punct.as_char() == '*' && !base.is_empty() => {
                leaves.push((base.clone(), None));
            }
            Some(TokenTree::Punct(punct)) if punct.as_char() == '$' => {
                at += 1;
                continue;
            }
            // Another crate's (`::name`), or a macro's variable.
            _ => {}
        }
        base.truncate(depth);
        return;
    }
}

fn word_at(tokens: &[TokenTree], at: usize) -> Option<&Ident> {
    match tokens.get(at) {
        Some(TokenTree::Ident(word)) => Some(word),
        _ => None,
    }
}

fn is_punct(token: Option<&TokenTree>, expected: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == expected)
}

/// Returns whether `::` is at an index.
fn is_separator(tokens: &[TokenTree], at: usize) -> bool {
    let joint = matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.spacing() == Spacing::Joint);
    joint && is_punct(tokens.get(at), ':') && is_punct(tokens.get(at + 1), ':')
}

/// Whether the word at an index is a keyword before the name that it defines.
fn defines(tokens: &[TokenTree], at: usize) -> bool {
    let word = word_at(tokens, at).map(ToString::to_string).unwrap_or_default();
    // `*const T` is a type.
    let pointer = at > 0 && is_punct(tokens.get(at - 1), '*');
    ["fn", "struct", "enum", "union", "trait", "type", "const", "static"].contains(&word.as_str())
        && !pointer
        && word_at(tokens, at + 1).is_some()
}

/// Whether the word at an index is the name of a macro that is called.
fn calls_macro(tokens: &[TokenTree], at: usize) -> bool {
    is_punct(tokens.get(at + 1), '!') && matches!(tokens.get(at + 2), Some(TokenTree::Group(_)))
}

/// Whether the word at an index begins a path: it is no field, no lifetime, no later segment, and not the name of a new
/// item.
fn begins_path(tokens: &[TokenTree], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).and_then(|before| tokens.get(before));
    let field = is_punct(before(1), '.') && !is_punct(before(2), '.');
    let later = at >= 2 && is_separator(tokens, at - 2);
    let new = at >= 1 && defines(tokens, at - 1);
    let variable = is_punct(before(1), '$') && !matches!(&tokens[at], TokenTree::Ident(word) if word == "crate");
    !field && !later && !new && !variable && !is_punct(before(1), '\'')
}

/// Whether a group holds the items of an `extern` block.
fn foreign(tokens: &[TokenTree], at: usize, group: &Group) -> bool {
    let before = |back: usize| at.checked_sub(back).and_then(|before| tokens.get(before));
    let word = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Ident(word)) if word == "extern");
    group.delimiter() == Delimiter::Brace
        && (word(before(1)) || matches!(before(1), Some(TokenTree::Literal(_))) && word(before(2)))
}

/// Returns whether an attribute excludes its item from the library: `cfg(test)`, `cfg(doc)`.
fn is_left_out(attribute: &str) -> bool {
    let text = attribute.replace(' ', "");
    text == "[cfg(test)]" || text == "[cfg(doc)]" || text.starts_with("[cfg(all(test,")
}

/// The file that an attribute `#[path]` names.
fn named_file(attribute: &str) -> Option<String> {
    Some(attribute.strip_prefix("[path = \"")?.strip_suffix("\"]")?.to_owned())
}

fn ends_item(token: &TokenTree) -> bool {
    match token {
        TokenTree::Punct(punct) => punct.as_char() == ';',
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        _ => false,
    }
}

fn ends_use(token: &TokenTree) -> bool {
    is_punct(Some(token), ';')
}
