//! A row of the table: a function and the values of its arguments.

use std::any::Any;
use std::ffi::{CStr, c_void};
use std::sync::Mutex;

use hsa_sim::abi::*;

use crate::world::{KINDS, Kind, World};

/// The expected result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    /// This status.
    Is(hsa_status_t),
    /// Any error.
    Error,
    /// Any result: the call must only return.
    Any,
}

/// What a function returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Returns {
    Status,
    /// A number, with this value in case of an error.
    Number(u64),
    /// Nothing.
    Nothing,
}

/// An argument.
pub(crate) enum Argument {
    /// A handle or an address of this kind. For another kind, the status is that of the kind, or this one.
    Of(Kind, Option<hsa_status_t>),
    /// The same, created for the call and destroyed after it.
    Fresh(Kind, Option<hsa_status_t>),
    /// A pointer to a list of one handle of this kind.
    List(Kind, hsa_status_t),
    /// A place for a result, or null if that is allowed.
    Out { nullable: bool, made: Option<Undo> },
    /// A pointer to these bytes, or null if that is allowed.
    In { bytes: Vec<u8>, nullable: bool },
    /// A number for which this value is valid, and the values that are refused.
    Number(u64, Vec<(u64, Expect)>),
    /// The number of an attribute.
    Attribute(u64),
    /// A function, or null if that is allowed.
    Callback(*const c_void, bool),
    /// A text, or null if that is allowed.
    Text(&'static CStr, bool),
}

/// Undoes a successful call: receives the arguments and the value that the call returned.
pub(crate) type Undo = fn(&World, &[u64], u64);

/// A function.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) returns: Returns,
    /// Whether it succeeds with valid arguments.
    pub(crate) works: bool,
    /// The result while the runtime is not started.
    pub(crate) off: Expect,
    /// Additional cases: the arguments that differ.
    pub(crate) more: Vec<(Vec<(usize, u64)>, Expect)>,
    /// Undoes a call that succeeded.
    pub(crate) undo: Option<fn(&World, &[u64])>,
}

impl Row {
    pub(crate) fn new(name: &'static str, arguments: Vec<Argument>) -> Self {
        Self {
            name,
            arguments,
            returns: Returns::Status,
            works: true,
            off: Expect::Is(HSA_STATUS_ERROR_NOT_INITIALIZED),
            more: Vec::new(),
            undo: None,
        }
    }

    pub(crate) fn returns(mut self, returns: Returns) -> Self {
        self.returns = returns;
        self.off = if returns == Returns::Nothing { Expect::Any } else { Expect::Error };
        self
    }

    /// The function is not supported, whatever its arguments.
    pub(crate) fn unsupported(mut self) -> Self {
        (self.works, self.off) = (false, Expect::Is(HSA_STATUS_ERROR_NOT_SUPPORTED));
        self
    }

    /// The function never succeeds with the arguments in the table.
    pub(crate) fn never(mut self) -> Self {
        self.works = false;
        self
    }

    pub(crate) fn off(mut self, off: Expect) -> Self {
        self.off = off;
        self
    }

    pub(crate) fn also(mut self, others: &[(usize, u64)], expect: Expect) -> Self {
        self.more.push((others.to_vec(), expect));
        self
    }

    pub(crate) fn undo(mut self, undo: fn(&World, &[u64])) -> Self {
        self.undo = Some(undo);
        self
    }
}

/// The arguments of one call, with the data that must live as long and the objects to destroy afterwards.
pub(crate) struct Call {
    pub(crate) values: Vec<u64>,
    fresh: Vec<(Kind, u64)>,
    /// Index, buffer, and undo function.
    outs: Vec<(usize, Box<[u64; 1024]>, Option<Undo>)>,
    _ins: Vec<Box<[u8]>>,
}

/// The input bytes, spaced such that they can be misaligned by 1 from a boundary of 16.
fn aligned(bytes: &[u8]) -> Box<[u8]> {
    let mut all = vec![0_u8; bytes.len() + 32].into_boxed_slice();
    let start = all.as_ptr().align_offset(16);
    all[start..start + bytes.len()].copy_from_slice(bytes);
    all
}

impl Call {
    /// A call with valid arguments.
    pub(crate) fn good(world: &World, row: &Row) -> Self {
        let mut call = Self { values: Vec::new(), fresh: Vec::new(), outs: Vec::new(), _ins: Vec::new() };
        for (index, argument) in row.arguments.iter().enumerate() {
            let value = match argument {
                Argument::Of(kind, _) => world.live[kind],
                Argument::Fresh(kind, _) => {
                    let new = world.make(*kind);
                    call.fresh.push((*kind, new));
                    new
                }
                Argument::List(kind, _) => call.keep(&world.live[kind].to_ne_bytes()),
                Argument::Out { made, .. } => {
                    let place = Box::new([0_u64; 1024]);
                    let address = place.as_ptr() as u64;
                    call.outs.push((index, place, *made));
                    address
                }
                Argument::In { bytes, .. } => call.keep(bytes),
                Argument::Number(value, _) | Argument::Attribute(value) => *value,
                Argument::Callback(function, _) => *function as u64,
                Argument::Text(text, _) => text.as_ptr() as u64,
            };
            call.values.push(value);
        }
        call
    }

    fn keep(&mut self, bytes: &[u8]) -> u64 {
        let kept = aligned(bytes);
        let address = kept[kept.as_ptr().align_offset(16)..].as_ptr() as u64;
        self._ins.push(kept);
        address
    }

    /// Undoes the call, if it succeeded, and destroys the objects made for it.
    pub(crate) fn finish(self, world: &World, row: &Row, success: bool) {
        if success && world.running {
            for (index, place, made) in &self.outs {
                // A misaligned pointer is one byte further.
                let skipped = (self.values[*index] != place.as_ptr() as u64) as usize;
                // SAFETY: inside of the place.
                let value = unsafe { place.as_ptr().cast::<u8>().add(skipped).cast::<u64>().read_unaligned() };
                if let (Some(undo), true) = (made, self.values[*index] != 0) {
                    undo(world, &self.values, value);
                }
            }
            if let Some(undo) = row.undo {
                undo(world, &self.values);
            }
        }
        for (kind, one) in self.fresh {
            world.end(kind, one);
        }
    }
}

/// The address of a leaked copy of some numbers.
pub(crate) fn kept<T: Copy + Send + 'static>(numbers: &[T]) -> u64 {
    static ALL: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::new(Vec::new());
    let copy = numbers.to_vec();
    let address = copy.as_ptr() as u64;
    ALL.lock().unwrap().push(Box::new(copy));
    address
}

/// Numbers that are not valid handles of any kind.
const GARBAGE: [u64; 6] = [1, 8, 0xdead_beef, 0x7fff_ffff_f000, 1 << 63, u64::MAX];

/// The wrong values of an argument.
pub(crate) fn wrongs(world: &World, argument: &Argument) -> Vec<(u64, Expect)> {
    let invalid = Expect::Is(HSA_STATUS_ERROR_INVALID_ARGUMENT);
    let null = |nullable: bool| if nullable { Expect::Any } else { invalid };
    match argument {
        Argument::Of(kind, status) | Argument::Fresh(kind, status) => {
            let refused = status.or(kind.refused()).map_or(Expect::Error, Expect::Is);
            let mut all: Vec<_> = [0].into_iter().chain(GARBAGE).map(|value| (value, refused)).collect();
            if kind.is_address() {
                all[0].1 = Expect::Error;
                all.push((world.live[kind] + 1, Expect::Any));
                all.push((world.live[kind] + crate::world::SIZE as u64 - 1, Expect::Any));
            } else {
                // Of another size, misaligned, or of another generation.
                let is_place = matches!(kind, Kind::Signal | Kind::Queue | Kind::Image | Kind::Sampler);
                all.push((if is_place { world.live[kind] + 1 } else { world.live[kind] ^ 1 << 40 }, refused));
                for other in KINDS.into_iter().filter(|other| !other.is_like(*kind)) {
                    all.push((world.live[&other], refused));
                }
            }
            all.extend(world.ended.get(kind).map(|ended| (*ended, refused)));
            all
        }
        Argument::List(kind, null) => {
            let refused = kind.refused().map_or(Expect::Error, Expect::Is);
            let mut all = vec![(0, Expect::Is(*null))];
            let others = KINDS.into_iter().filter(|other| !other.is_like(*kind)).map(|other| world.live[&other]);
            let bad = [0].into_iter().chain(GARBAGE).chain(others).chain(world.ended.get(kind).copied());
            all.extend(bad.map(|bad| (kept(&[bad]), refused)));
            all
        }
        Argument::Out { nullable, .. } => vec![(0, null(*nullable))],
        Argument::In { nullable, .. } => vec![(0, null(*nullable))],
        Argument::Number(_, wrong) => wrong.clone(),
        Argument::Attribute(_) => {
            let ranges = [0..64, 0x200..0x210, 0x3000..0x3010, 0xa000..0xa020, 0xa100..0xa120];
            let all = ranges.into_iter().flatten().map(|attribute| (attribute, Expect::Any));
            all.chain([9999, 0x7fff_ffff, 0xffff_ffff].map(|attribute| (attribute, invalid))).collect()
        }
        Argument::Callback(_, nullable) | Argument::Text(_, nullable) => vec![(0, null(*nullable))],
    }
}

/// Returns whether an argument is a pointer that may be misaligned.
pub(crate) fn can_be_misaligned(argument: &Argument) -> bool {
    matches!(argument, Argument::Out { .. } | Argument::In { .. } | Argument::List(..))
}
