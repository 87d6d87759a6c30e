//! Typed loads and stores: the element's format is in the descriptor (MUBUF) or in the instruction (MTBUF).

use super::reach::{Action, TFE, reach, residency};
use crate::exec::lanes::lanes;
use crate::exec::mem::fault::Checked;
use crate::exec::mem::format::Format;
use crate::exec::mem::outcome::done;
use crate::exec::mem::space::{Addresses, Space, load_element, store_element};
use crate::exec::{Ctx, Flow, LANES, Micro, Trap, Wave};
use crate::fault::Access;
use crate::isa::{Flags, Op, Type};

/// The instruction contains the format, in bits 14:8.
pub(super) const OWN_FORMAT: u16 = 1 << 7;

/// The moved components and their positions in the registers.
#[derive(Clone, Copy)]
pub(super) struct Components {
    count: u16,
    /// Two components per register.
    halves: bool,
    /// The only component is in the high half.
    high: bool,
}

/// The components that `op` moves, with a data operand of type `data`.
pub(super) fn components(op: Op, data: Type) -> Components {
    let high = op.info().is(Flags::d16_hi);
    let halves = high || op.info().is(Flags::d16);
    Components { count: if halves { data.elements() } else { data.dwords() } as u16, halves, high }
}

impl Components {
    /// Encoded in 5 bits.
    pub(super) fn pack(self) -> u16 {
        self.count | u16::from(self.halves) << 3 | u16::from(self.high) << 4
    }

    fn unpack(bits: u16) -> Self {
        Self { count: bits & 7, halves: bits >> 3 & 1 == 1, high: bits >> 4 & 1 == 1 }
    }

    fn registers(self) -> u16 {
        if self.halves { self.count.div_ceil(2) } else { self.count }
    }

    /// The register of component `i` and its first bit.
    fn place(self, i: u16) -> (u16, u32) {
        if self.high {
            (0, 16)
        } else if self.halves {
            (i / 2, 16 * u32::from(i % 2))
        } else {
            (i, 0)
        }
    }
}

/// Elements in transit.
struct Elements {
    format: Format,
    data: [[u32; 4]; LANES],
    inside: u64,
    access: Access,
}

impl Action for Elements {
    fn bytes(&self) -> u32 {
        self.format.bytes()
    }

    fn on<S: Space>(&mut self, _: &mut Wave, space: &mut S, at: &Addresses, mask: u64) -> Checked {
        let bytes = self.format.bytes();
        space.check(at, mask, bytes, 0, self.access)?;
        self.inside = mask;
        for lane in lanes(mask) {
            // SAFETY: checked just above, all bytes of the element.
            unsafe {
                if self.access == Access::Read {
                    self.data[lane] = load_element(space, lane, at[lane], bytes);
                } else {
                    store_element(space, lane, at[lane], bytes, self.data[lane]);
                }
            }
        }
        Ok(())
    }

    fn outside(&mut self, _: &mut Wave, _: u64) {}
}

/// The format, and for each register of a load its component (4 to 7), zero or one.
fn layout(w: &Wave, m: &Micro) -> (Option<Format>, [u32; 4]) {
    let word = w.slot(m.src[2] + 3);
    if m.dst2 & OWN_FORMAT != 0 {
        let format = u32::from(m.dst2 >> 8);
        return (Format::of(format, format >> 4), [4, 5, 6, 7]);
    }
    (Format::of(word >> 15, word >> 12), std::array::from_fn(|i| word >> (3 * i) & 7))
}

const NO_FORMAT: Trap = Trap::Unsupported("a buffer format that is not one");

pub(super) fn load(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let (format, select) = layout(w, m);
    let Some(format) = format else { return w.fail(NO_FORMAT) };
    let mut elements = Elements { format, data: [[0; 4]; LANES], inside: 0, access: Access::Read };
    let result = reach(w, m, ctx, &mut elements);
    if result.is_ok() {
        let components = Components::unpack(m.dst2);
        if m.aux & TFE != 0 {
            residency(w, m.src[1] + components.registers());
        }
        for lane in lanes(w.exec()) {
            let inside = elements.inside >> lane & 1 == 1;
            let element = format.unpack(elements.data[lane]);
            for i in 0..components.count {
                let value = match select[usize::from(i)] {
                    _ if !inside => 0,
                    0 => 0,
                    1 => format.one(),
                    n => element[n as usize & 3],
                };
                let (register, shift) = components.place(i);
                let place = &mut w.row_mut(m.src[1] + register)[lane];
                *place =
                    if components.halves { *place & !(0xffff << shift) | format.halve(value) << shift } else { value };
            }
        }
    }
    done(w, result)
}

pub(super) fn store(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let Some(format) = layout(w, m).0 else { return w.fail(NO_FORMAT) };
    let components = Components::unpack(m.dst2);
    let mut data = [[0; 4]; LANES];
    for lane in lanes(w.exec()) {
        let mut element = [0; 4];
        for i in 0..components.count {
            let (register, shift) = components.place(i);
            let bits = w.row(m.src[1] + register)[lane] >> shift;
            element[usize::from(i)] = if components.halves { format.double(bits) } else { bits };
        }
        data[lane] = format.pack(element);
    }
    let mut elements = Elements { format, data, inside: 0, access: Access::Write };
    let result = reach(w, m, ctx, &mut elements);
    done(w, result)
}
