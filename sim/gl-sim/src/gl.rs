//! OpenGL's functions: buffers and textures.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::formats::Format;
use crate::state::{
    Buffer, Context, Group, INVALID_ENUM, INVALID_OPERATION, INVALID_VALUE, Image, OUT_OF_MEMORY, Texture, with_context,
};
use crate::storage::Storage;

const BUFFER_SIZE: u32 = 0x8764;
const TEXTURE_2D: u32 = 0x0de1;
const TEXTURE_3D: u32 = 0x806f;
const TEXTURE_RECTANGLE: u32 = 0x84f5;
const TEXTURE_WIDTH: u32 = 0x1000;
const TEXTURE_HEIGHT: u32 = 0x1001;
const TEXTURE_INTERNAL_FORMAT: u32 = 0x1003;
const TEXTURE_DEPTH: u32 = 0x8071;
const TEXTURE_SAMPLES: u32 = 0x9106;
const TEXTURE_BASE_LEVEL: u32 = 0x813c;
const TEXTURE_MAX_LEVEL: u32 = 0x813d;

/// Unused bytes before a buffer, so that it does not start at the beginning of its memory.
const BEFORE_BUFFERS: usize = 256;
/// The alignment of texel rows in bytes.
const PITCH: usize = 256;
/// Maximum number of texels along a side.
const MOST: usize = 16384;

/// Returns the first error in the thread's context since the last call.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn glGetError() -> c_uint {
    with_context(|context, _| Ok(std::mem::take(&mut context.error)))
}

/// Waits for queued commands. Commands are executed immediately.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn glFinish() {}

/// As [`glFinish`].
#[unsafe(no_mangle)]
pub(crate) extern "C" fn glFlush() {}

/// Returns the vendor, for every argument.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn glGetString(_: c_uint) -> *const c_char {
    c"gl-sim".as_ptr()
}

/// No parameter is supported.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn glGetIntegerv(_: c_uint, _: *mut c_int) {
    with_context(|_, _| Err::<(), _>(INVALID_ENUM));
}

/// Reserves names for new objects.
unsafe fn generate(count: c_int, names: *mut c_uint, reserve: impl Fn(&mut Group) -> c_uint) {
    with_context(|_, group| {
        let count = usize::try_from(count).map_err(|_| INVALID_VALUE)?;
        for index in 0..count {
            // SAFETY: the caller has room for that many names.
            unsafe { names.add(index).write(reserve(group)) };
        }
        Ok(())
    });
}

/// Reserves names for new buffers.
///
/// # Safety
/// There is room for `count` names.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn glGenBuffers(count: c_int, names: *mut c_uint) {
    let reserve = |group: &mut Group| {
        let name = group.buffers.keys().next_back().map_or(1, |last| last + 1);
        group.buffers.insert(name, None);
        name
    };
    // SAFETY: as the caller vouches.
    unsafe { generate(count, names, reserve) }
}

/// Reserves names for new textures.
///
/// # Safety
/// There is room for `count` names.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn glGenTextures(count: c_int, names: *mut c_uint) {
    let reserve = |group: &mut Group| {
        let name = group.textures.keys().next_back().map_or(1, |last| last + 1);
        group.textures.insert(name, None);
        name
    };
    // SAFETY: as the caller vouches.
    unsafe { generate(count, names, reserve) }
}

unsafe fn delete(count: c_int, names: *const c_uint, remove: impl Fn(&mut Group, c_uint)) {
    with_context(|_, group| {
        let count = usize::try_from(count).map_err(|_| INVALID_VALUE)?;
        // SAFETY: the caller has that many names.
        (0..count).for_each(|index| remove(group, unsafe { names.add(index).read() }));
        Ok(())
    });
}

/// Deletes buffers. Existing mappings keep their memory.
///
/// # Safety
/// There are `count` names.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn glDeleteBuffers(count: c_int, names: *const c_uint) {
    // SAFETY: as the caller vouches.
    unsafe { delete(count, names, |group, name| drop(group.buffers.remove(&name))) }
}

/// Deletes textures.
///
/// # Safety
/// There are `count` names.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn glDeleteTextures(count: c_int, names: *const c_uint) {
    // SAFETY: as the caller vouches.
    unsafe { delete(count, names, |group, name| drop(group.textures.remove(&name))) }
}

/// Binds a buffer, and creates it if it does not exist.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn glBindBuffer(target: c_uint, name: c_uint) {
    with_context(|context, group| {
        if name != 0 {
            group.buffers.get_mut(&name).ok_or(INVALID_OPERATION)?.get_or_insert_default();
        }
        context.bound.insert(target, name);
        Ok(())
    });
}

/// Binds a texture to a target, and creates it if it does not exist.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn glBindTexture(target: c_uint, name: c_uint) {
    with_context(|context, group| {
        if ![TEXTURE_2D, TEXTURE_3D, TEXTURE_RECTANGLE].contains(&target) {
            return Err(INVALID_ENUM);
        }
        if name != 0 {
            let texture = group.textures.get_mut(&name).ok_or(INVALID_VALUE)?;
            if texture.get_or_insert(Texture { target, image: None }).target != target {
                return Err(INVALID_OPERATION);
            }
        }
        context.bound.insert(target, name);
        Ok(())
    });
}

/// Returns whether the buffer exists.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn glIsBuffer(name: c_uint) -> u8 {
    with_context(|_, group| Ok(u8::from(matches!(group.buffers.get(&name), Some(Some(_))))))
}

/// Returns whether the texture exists.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn glIsTexture(name: c_uint) -> u8 {
    with_context(|_, group| Ok(u8::from(matches!(group.textures.get(&name), Some(Some(_))))))
}

fn bound_buffer<'a>(context: &Context, group: &'a mut Group, target: c_uint) -> Result<&'a mut Buffer, u32> {
    let name = context.bound.get(&target).ok_or(INVALID_OPERATION)?;
    group.buffers.get_mut(name).and_then(Option::as_mut).ok_or(INVALID_OPERATION)
}

fn bound_texture<'a>(context: &Context, group: &'a mut Group, target: c_uint) -> Result<&'a mut Texture, u32> {
    let name = context.bound.get(&target).ok_or(INVALID_OPERATION)?;
    group.textures.get_mut(name).and_then(Option::as_mut).ok_or(INVALID_OPERATION)
}

/// Creates a data store for the bound buffer.
///
/// # Safety
/// `data` is null or points to `size` bytes.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn glBufferData(target: c_uint, size: isize, data: *const c_void, _usage: c_uint) {
    with_context(|context, group| {
        let size = usize::try_from(size).map_err(|_| INVALID_VALUE)?;
        let buffer = bound_buffer(context, group, target)?;
        buffer.store = None;
        if size > 0 {
            let store = Storage::new(BEFORE_BUFFERS, size).ok_or(OUT_OF_MEMORY)?;
            if !data.is_null() {
                // SAFETY: the caller vouches for that many bytes.
                store.write(0, unsafe { std::slice::from_raw_parts(data.cast(), size) });
            }
            buffer.store = Some(store);
        }
        Ok(())
    });
}

/// Writes to the bound buffer.
///
/// # Safety
/// `data` points to `size` bytes.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn glBufferSubData(target: c_uint, offset: isize, size: isize, data: *const c_void) {
    with_context(|context, group| {
        let (Ok(offset), Ok(size)) = (usize::try_from(offset), usize::try_from(size)) else {
            return Err(INVALID_VALUE);
        };
        let store = bound_buffer(context, group, target)?.store.as_ref().ok_or(INVALID_VALUE)?;
        // SAFETY: the caller vouches for that many bytes.
        let bytes = unsafe { std::slice::from_raw_parts(data.cast(), size) };
        if store.write(offset, bytes) { Ok(()) } else { Err(INVALID_VALUE) }
    });
}

/// Reads from the bound buffer.
///
/// # Safety
/// `data` has room for `size` bytes.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn glGetBufferSubData(target: c_uint, offset: isize, size: isize, data: *mut c_void) {
    with_context(|context, group| {
        let (Ok(offset), Ok(size)) = (usize::try_from(offset), usize::try_from(size)) else {
            return Err(INVALID_VALUE);
        };
        let store = bound_buffer(context, group, target)?.store.as_ref().ok_or(INVALID_VALUE)?;
        let mut bytes = vec![0; size];
        if !store.read(offset, &mut bytes) {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller vouches for that much room.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), data.cast(), size) };
        Ok(())
    });
}

/// Returns the size of the bound buffer.
///
/// # Safety
/// There is room for a number.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn glGetBufferParameteriv(target: c_uint, what: c_uint, value: *mut c_int) {
    with_context(|context, group| {
        if what != BUFFER_SIZE {
            return Err(INVALID_ENUM);
        }
        let bytes = bound_buffer(context, group, target)?.store.as_ref().map_or(0, |store| store.bytes);
        // SAFETY: the caller vouches for it.
        unsafe { value.write(c_int::try_from(bytes).unwrap_or(c_int::MAX)) };
        Ok(())
    });
}

/// Creates the image of the bound texture.
unsafe fn image(
    target: c_uint,
    level: c_int,
    internal: c_int,
    size: [c_int; 3],
    client: [c_uint; 2],
    texels: *const c_void,
) {
    with_context(|context, group| {
        let format = Format::of(internal as u32).ok_or(INVALID_VALUE)?;
        if format.client != client {
            return Err(INVALID_OPERATION);
        }
        let size = size.map(|size| usize::try_from(size).ok().filter(|size| (1..=MOST).contains(size)));
        let ([Some(width), Some(height), Some(depth)], 0) = (size, level) else { return Err(INVALID_VALUE) };
        let texture = bound_texture(context, group, target)?;
        let row = width * format.bytes;
        let pitch = row.next_multiple_of(PITCH);
        let store = Storage::new(0, pitch * height * depth).ok_or(OUT_OF_MEMORY)?;
        if !texels.is_null() {
            // SAFETY: the caller vouches for that many texels without gaps.
            let texels = unsafe { std::slice::from_raw_parts(texels.cast::<u8>(), row * height * depth) };
            texels.chunks_exact(row).enumerate().for_each(|(index, row)| assert!(store.write(index * pitch, row)));
        }
        texture.image = Some(Image { format, size: [width, height, depth], pitch, store });
        Ok(())
    });
}

/// Creates a 2D image. Rows in the program's memory have no gaps (`GL_UNPACK_ALIGNMENT` of 1).
///
/// # Safety
/// `texels` is null or points to as many as the sizes say.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn glTexImage2D(
    target: c_uint,
    level: c_int,
    internal: c_int,
    width: c_int,
    height: c_int,
    _border: c_int,
    format: c_uint,
    kind: c_uint,
    texels: *const c_void,
) {
    // SAFETY: as the caller vouches.
    unsafe { image(target, level, internal, [width, height, 1], [format, kind], texels) }
}

/// Creates a 3D image. Rows in the program's memory have no gaps.
///
/// # Safety
/// `texels` is null or points to as many as the sizes say.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn glTexImage3D(
    target: c_uint,
    level: c_int,
    internal: c_int,
    width: c_int,
    height: c_int,
    depth: c_int,
    _border: c_int,
    format: c_uint,
    kind: c_uint,
    texels: *const c_void,
) {
    // SAFETY: as the caller vouches.
    unsafe { image(target, level, internal, [width, height, depth], [format, kind], texels) }
}

/// Reads the texels of the bound texture, without gaps between rows.
///
/// # Safety
/// There is room for them.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn glGetTexImage(
    target: c_uint,
    level: c_int,
    format: c_uint,
    kind: c_uint,
    texels: *mut c_void,
) {
    with_context(|context, group| {
        let image = bound_texture(context, group, target)?.image.as_ref().ok_or(INVALID_OPERATION)?;
        if image.format.client != [format, kind] || level != 0 {
            return Err(INVALID_OPERATION);
        }
        let [width, height, depth] = image.size;
        let mut row = vec![0; width * image.format.bytes];
        for index in 0..height * depth {
            image.store.read(index * image.pitch, &mut row);
            let to = texels.wrapping_byte_add(index * row.len()).cast();
            // SAFETY: the caller vouches for room for all rows.
            unsafe { std::ptr::copy_nonoverlapping(row.as_ptr(), to, row.len()) };
        }
        Ok(())
    });
}

/// Returns the base or maximum level of the bound texture. There is only level 0.
///
/// # Safety
/// There is room for a number.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn glGetTexParameteriv(target: c_uint, what: c_uint, value: *mut c_int) {
    with_context(|context, group| {
        bound_texture(context, group, target)?;
        let found = match what {
            TEXTURE_BASE_LEVEL => 0,
            TEXTURE_MAX_LEVEL => 1000,
            _ => return Err(INVALID_ENUM),
        };
        // SAFETY: the caller vouches for it.
        unsafe { value.write(found) };
        Ok(())
    });
}

/// Returns the size and format of a level of the bound texture; zeros for a level that does not exist.
///
/// # Safety
/// There is room for a number.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn glGetTexLevelParameteriv(
    target: c_uint,
    level: c_int,
    what: c_uint,
    value: *mut c_int,
) {
    with_context(|context, group| {
        let image = bound_texture(context, group, target)?.image.as_ref().filter(|_| level == 0);
        let size = image.map_or([0; 3], |image| image.size);
        let found = match what {
            TEXTURE_WIDTH => size[0] as c_int,
            TEXTURE_HEIGHT => size[1] as c_int,
            TEXTURE_DEPTH => size[2] as c_int,
            // OpenGL's value for a texture without texels.
            TEXTURE_INTERNAL_FORMAT => image.map_or(1, |image| image.format.internal as c_int),
            TEXTURE_SAMPLES => 0,
            _ => return Err(INVALID_ENUM),
        };
        // SAFETY: the caller vouches for it.
        unsafe { value.write(found) };
        Ok(())
    });
}
