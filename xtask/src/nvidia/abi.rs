//! Parameters as the C ABI passes them: what has to agree for a call to be forwarded.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

/// Returns how a parameter of a Rust type is passed: `8`, `4`, `2` or `1` for integers, enums and addresses of so many
/// bytes, or `s` for a structure. `types` are aliases, enums and structures by name.
pub(super) fn class(of: &str, types: &BTreeMap<String, String>) -> Result<char> {
    Ok(match of {
        "usize" | "u64" | "i64" | "c_ulonglong" | "c_longlong" => '8',
        "c_int" | "c_uint" | "u32" | "i32" => '4',
        "c_ushort" => '2',
        "c_uchar" => '1',
        "struct" => 's',
        _ if of.starts_with('*') || of.starts_with("Option<") => '8',
        _ => class(types.get(of).with_context(|| format!("the type {of} is not known"))?, types)?,
    })
}

/// Returns the parameters of a function in Rust: name and type.
pub(super) fn parameters(list: &str) -> Vec<(String, String)> {
    let list = list.split_whitespace().collect::<Vec<_>>().join(" ");
    list.split(',')
        .filter_map(|parameter| parameter.split_once(':'))
        .map(|(name, of)| (name.trim().to_owned(), of.trim().to_owned()))
        .collect()
}

/// Returns the classes of all parameters.
pub(super) fn classes(parameters: &[(String, String)], types: &BTreeMap<String, String>) -> Result<String> {
    parameters.iter().map(|(_, of)| class(of, types)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_passed_as_what_it_stands_for() {
        let types = [("hipStream_t", "*mut ihipStream_t"), ("Kind", "c_uint"), ("Alias", "Kind"), ("Handle", "struct")];
        let types = types.map(|(name, of)| (name.to_owned(), of.to_owned())).into();
        let list =
            parameters("stream: hipStream_t,\n        kind: Alias, size: usize, of: *const Kind, handle: Handle");
        assert_eq!(classes(&list, &types).unwrap(), "8488s");
        assert!(classes(&parameters("other: Unknown"), &types).is_err());
    }
}
