//! MIMG.

use super::error::DecodeError;
use super::fields::{Fields, Input, bit, bits};
use crate::isa::{Flags, Format, Image, Inst, Op, Type};

pub(super) fn mimg(input: &Input<'_>) -> Result<Inst, DecodeError> {
    let word = input.word;
    let f = input.op(Format::Mimg, bits(word, 18, 7))?;
    let high = f.second()?;
    f.zero("opm", bits(word, 0, 1))?;
    let mut inst = f.inst(Format::Mimg, 8);
    inst.mods.scc = bit(word, 7);
    inst.mods.glc = bit(word, 13);
    inst.mods.slc = bit(word, 25);
    let image = Image {
        dmask: bits(word, 8, 4) as u8,
        unorm: bit(word, 12),
        da: bit(word, 14),
        a16: bit(word, 15),
        lwe: bit(word, 17),
        d16: bit(high, 31),
    };
    if image.d16 && !f.converts() {
        return Err(f.bad("d16", 1, "the instruction moves whole registers"));
    }
    let sampled = f.info.src[3] != Type::None;
    let (data, acc) = (image.data(f.op), bit(word, 16));
    let vdata = f.vreg_or_acc("vdata", bits(high, 8, 8), data, acc)?;
    if f.info.src[1] != Type::None {
        inst.src[1] = vdata;
    }
    if f.info.dst != Type::None && (!f.info.is(Flags::atomic) || inst.mods.glc) {
        inst.dst = vdata;
    }
    inst.src[0] = f.vreg("vaddr", bits(high, 0, 8), f.info.src[0])?;
    inst.src[2] = f.sreg("srsrc", bits(high, 16, 5) << 2, f.info.src[2])?;
    let ssamp = bits(high, 21, 5);
    if sampled {
        inst.src[3] = f.sreg("ssamp", ssamp << 2, f.info.src[3])?;
    } else {
        f.zero("ssamp", ssamp)?;
    }
    inst.mods.image = Some(image);
    Ok(inst)
}

impl Fields<'_> {
    /// Returns whether the image's format converts the data, which may then be 16 bits wide.
    fn converts(&self) -> bool {
        matches!(
            self.op,
            Op::image_load | Op::image_load_mip | Op::image_store | Op::image_store_mip | Op::image_sample
        )
    }
}
