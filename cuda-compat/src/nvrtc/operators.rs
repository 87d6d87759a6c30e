//! Operators that a program defines for HIP's vector types, such as `operator*(float4, float4)`.
//!
//! CUDA's types have none, HIP's have, and calls would be ambiguous.

use super::lanes::tokens::{Kind, Token, tokens};

/// The macro of the prelude that makes the compiler prefer a function.
const PREFERRED: &str = "CUDA_COMPAT_PREFERRED ";

const NAMES: [&str; 17] = ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "==", "!=", "<", ">", "<=", ">=", "~"];

/// Returns a program with a macro before each operator that it defines. Lines stay the same.
pub(super) fn preferred(source: &str) -> String {
    if !source.contains("operator") {
        return source.to_owned();
    }
    let tokens = tokens(source);
    let (mut result, mut done) = (String::with_capacity(source.len()), 0);
    for at in 0..tokens.len() {
        if tokens[at].text == "operator" && is_definition(&tokens, at) {
            let start = tokens[at].text.as_ptr() as usize - source.as_ptr() as usize;
            result.push_str(&source[done..start]);
            result.push_str(PREFERRED);
            done = start;
        }
    }
    result.push_str(&source[done..]);
    result
}

/// Returns whether an operator follows its type: otherwise it is called by name, or a member of a class elsewhere.
fn is_definition(tokens: &[Token<'_>], at: usize) -> bool {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
    let mut end = at + 1;
    while tokens.get(end).is_some_and(|token| token.kind == Kind::Operator && token.text != "(") && end < at + 3 {
        end += 1;
    }
    let name: String = tokens[at + 1..end.min(tokens.len())].iter().map(|token| token.text).collect();
    let is_known = NAMES.iter().any(|known| name == *known || name.strip_suffix('=') == Some(known));
    let Some(before) = at.checked_sub(1).and_then(|before| tokens.get(before)) else { return false };
    let follows_type = match before.kind {
        Kind::Name => !matches!(before.text, "return" | "using" | "else" | "case" | "throw" | "operator"),
        Kind::Operator => matches!(before.text, "&" | "*" | ">" | "&&"),
        Kind::Number | Kind::Text => false,
    };
    // A vector is a parameter.
    let parameters = tokens[end.min(tokens.len())..].iter().take_while(|token| token.text != ")");
    let has_vector = parameters.filter(|token| token.kind == Kind::Name).any(|token| is_vector(token.text));
    is_known && follows_type && text(end) == "(" && has_vector
}

/// Returns whether a name is a vector type's: `float4`, `uchar2`.
fn is_vector(name: &str) -> bool {
    let kind = name.trim_end_matches(['1', '2', '3', '4']);
    let kinds = [
        "char",
        "short",
        "int",
        "long",
        "longlong",
        "uchar",
        "ushort",
        "uint",
        "ulong",
        "ulonglong",
        "float",
        "double",
    ];
    name.len() == kind.len() + 1 && kinds.contains(&kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a program, with `@` where the macro is expected.
    #[track_caller]
    fn becomes(expected: &str) {
        assert_eq!(preferred(&expected.replace('@', "")), expected.replace('@', PREFERRED));
    }

    #[test]
    fn operators_of_vectors_are_marked() {
        becomes("inline float4 @operator*(float4 a, float b) {}\nint2 @operator-(int2 a);");
        becomes("void @operator+=(float3 &a, const float3 &b); bool @operator==(uchar4 a, uchar4 b);");
        becomes("double2 & @operator <<= (double2 &a, int by); A<B> @operator/(float2 a, B b);");
    }

    #[test]
    fn other_code_stays() {
        becomes("struct A { A operator+(A b); float operator()(float4 x); float4 operator[](int4 i); };");
        becomes("x = operator+(make_float4(1), float4{}); return operator*(float4(), y); a.operator+(float4());");
        becomes("std::ostream &operator<<(std::ostream &s, my_float4 x); operator float4() const;");
    }

    #[test]
    fn any_text_is_taken() {
        let source = "float4 operator*(float4 a, float4 b) { return é; } operator operator<<=";
        for (at, _) in source.char_indices() {
            preferred(&source[..at]);
            preferred(&source[at..]);
        }
    }
}
