//! A reader of the part of MessagePack that code object metadata uses: maps, arrays, text, numbers, booleans, nil.
//!
//! Existing crates would add a fifth to `hip`'s build time. The tests compare this reader with `rmpv`.

/// LLVM nests five levels.
const MAX_DEPTH: usize = 32;

/// A value; text is borrowed from the bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    Nil,
    Bool(bool),
    Unsigned(u64),
    Negative(i64),
    Float(f64),
    Text(&'a str),
    Binary(&'a [u8]),
    Array(Vec<Value<'a>>),
    Map(Vec<(Value<'a>, Value<'a>)>),
}

impl<'a> Value<'a> {
    /// Reads the value that `bytes` start with.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, &'static str> {
        Reader { bytes }.value(0)
    }

    pub(crate) fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Unsigned(number) => Some(*number),
            _ => None,
        }
    }

    pub(crate) fn as_str(&self) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_array(&self) -> Option<&[Value<'a>]> {
        match self {
            Self::Array(values) => Some(values),
            _ => None,
        }
    }

    pub(crate) fn as_map(&self) -> Option<&[(Value<'a>, Value<'a>)]> {
        match self {
            Self::Map(pairs) => Some(pairs),
            _ => None,
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn value(&mut self, depth: usize) -> Result<Value<'a>, &'static str> {
        if depth == MAX_DEPTH {
            return Err("values nested too deep");
        }
        let [first] = self.array()?;
        Ok(match first {
            0x00..=0x7f => Value::Unsigned(first.into()),
            0x80..=0x8f => self.map((first & 0xf).into(), depth)?,
            0x90..=0x9f => self.list((first & 0xf).into(), depth)?,
            0xa0..=0xbf => self.text((first & 0x1f).into())?,
            0xc0 => Value::Nil,
            0xc2 | 0xc3 => Value::Bool(first == 0xc3),
            0xc4..=0xc6 => {
                let len = self.unsigned(1 << (first - 0xc4))?;
                Value::Binary(self.take(len)?)
            }
            0xca => Value::Float(f32::from_be_bytes(self.array()?).into()),
            0xcb => Value::Float(f64::from_be_bytes(self.array()?)),
            0xcc..=0xcf => Value::Unsigned(self.unsigned(1 << (first - 0xcc))?),
            0xd0..=0xd3 => {
                let size = 1 << (first - 0xd0);
                let unused = 64 - 8 * size as u32;
                signed((self.unsigned(size)? << unused) as i64 >> unused)
            }
            0xd9..=0xdb => {
                let len = self.unsigned(1 << (first - 0xd9))?;
                self.text(len)?
            }
            0xdc | 0xdd => {
                let len = self.unsigned(2 << (first - 0xdc))?;
                self.list(len, depth)?
            }
            0xde | 0xdf => {
                let len = self.unsigned(2 << (first - 0xde))?;
                self.map(len, depth)?
            }
            0xe0..=0xff => signed((first as i8).into()),
            0xc1 | 0xc7..=0xc9 | 0xd4..=0xd8 => return Err("a value of a kind that metadata has not"),
        })
    }

    fn take(&mut self, len: u64) -> Result<&'a [u8], &'static str> {
        let (taken, rest) =
            usize::try_from(len).ok().and_then(|len| self.bytes.split_at_checked(len)).ok_or("it is cut off")?;
        self.bytes = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], &'static str> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or("it is cut off")?;
        self.bytes = rest;
        Ok(*taken)
    }

    /// Reads a big-endian number of `size` bytes, at most 8.
    fn unsigned(&mut self, size: u64) -> Result<u64, &'static str> {
        Ok(self.take(size)?.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    fn text(&mut self, len: u64) -> Result<Value<'a>, &'static str> {
        std::str::from_utf8(self.take(len)?).map(Value::Text).map_err(|_| "text that is not UTF-8")
    }

    // Lengths are untrusted: memory is only allocated for values that exist.
    fn list(&mut self, len: u64, depth: usize) -> Result<Value<'a>, &'static str> {
        (0..len).map(|_| self.value(depth + 1)).collect::<Result<_, _>>().map(Value::Array)
    }

    fn map(&mut self, len: u64, depth: usize) -> Result<Value<'a>, &'static str> {
        (0..len).map(|_| Ok((self.value(depth + 1)?, self.value(depth + 1)?))).collect::<Result<_, _>>().map(Value::Map)
    }
}

fn signed(number: i64) -> Value<'static> {
    u64::try_from(number).map_or(Value::Negative(number), Value::Unsigned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Converts to `rmpv`'s value.
    fn oracle(value: &Value<'_>) -> rmpv::Value {
        match value {
            Value::Nil => rmpv::Value::Nil,
            Value::Bool(value) => (*value).into(),
            Value::Unsigned(value) => (*value).into(),
            Value::Negative(value) => (*value).into(),
            Value::Float(value) => (*value).into(),
            Value::Text(text) => (*text).into(),
            Value::Binary(bytes) => (*bytes).into(),
            Value::Array(values) => rmpv::Value::Array(values.iter().map(oracle).collect()),
            Value::Map(pairs) => {
                rmpv::Value::Map(pairs.iter().map(|(key, value)| (oracle(key), oracle(value))).collect())
            }
        }
    }

    fn values() -> impl Strategy<Value = rmpv::Value> {
        let leaf = prop_oneof![
            Just(rmpv::Value::Nil),
            any::<bool>().prop_map(Into::into),
            any::<u64>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<i8>().prop_map(Into::into),
            any::<f64>().prop_filter("NaN is not equal to itself", |x| !x.is_nan()).prop_map(Into::into),
            ".{0,40}".prop_map(Into::into),
            proptest::collection::vec(any::<u8>(), 0..300).prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 64, 20, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..20).prop_map(rmpv::Value::Array),
                proptest::collection::vec((inner.clone(), inner), 0..20).prop_map(rmpv::Value::Map),
            ]
        })
    }

    proptest! {
        #[test]
        fn values_are_read_as_rmpv_wrote_them(value in values()) {
            let mut bytes = Vec::new();
            rmpv::encode::write_value(&mut bytes, &value).unwrap();
            let read = Value::read(&bytes).unwrap();
            prop_assert_eq!(oracle(&read), value);
            if let Some(all_but_one) = bytes.len().checked_sub(1) {
                prop_assert!(Value::read(&bytes[..all_but_one]).is_err());
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Value::read(&bytes);
        }
    }
}
