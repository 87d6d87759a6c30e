//! The part of OpenGL that the tests need, from an available library: a real one with a display, or the workspace's
//! software one.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr;

use hip::bytemuck;
use libloading::os::unix::Library;

pub(crate) const ARRAY_BUFFER: c_uint = 0x8892;
pub(crate) const TEXTURE_2D: c_uint = 0x0de1;
pub(crate) const TEXTURE_3D: c_uint = 0x806f;
const DYNAMIC_DRAW: c_uint = 0x88e8;
const VENDOR: c_uint = 0x1f00;
const UNPACK_ALIGNMENT: c_uint = 0x0cf5;
const PACK_ALIGNMENT: c_uint = 0x0d05;

/// A format of texels: internal format, format and type.
pub(crate) type Format = (c_int, c_uint, c_uint);
pub(crate) const R32F: Format = (0x822e, 0x1903, 0x1406);
pub(crate) const RG32UI: Format = (0x823c, 0x8228, 0x1405);
pub(crate) const RGBA8: Format = (0x8058, 0x1908, 0x1401);

/// A context that is current on the thread that made it.
pub(crate) struct OpenGl {
    gl: Library,
    x: Library,
    display: *mut c_void,
    context: *mut c_void,
}

/// Calls a function of the library by its name in C, of these types.
macro_rules! call {
    ($library:expr, $name:ident($($type:ty = $argument:expr),* $(,)?) $(-> $result:ty)?) => {{
        // SAFETY: the types are those of the C headers, and pointers point to the types that the function expects.
        unsafe {
            let function = $library.get::<unsafe extern "C" fn($($type),*) $(-> $result)?>(stringify!($name).as_bytes());
            function.unwrap_or_else(|error| panic!("{}: {error}", stringify!($name)))($($argument),*)
        }
    }};
}

impl OpenGl {
    /// Creates a context on a display, the machine's first if it has no name; or returns the reason that it cannot.
    pub(crate) fn new(display: Option<&str>) -> Result<Self, String> {
        // SAFETY: loading them starts nothing.
        let open = |name| unsafe { Library::new(name) }.map_err(|error| error.to_string());
        let (gl, x) = (open("libGL.so.1")?, open("libX11.so.6")?);
        let name = display.map(|name| CString::new(name).unwrap());
        let name = name.as_ref().map_or(ptr::null(), |name| name.as_ptr());
        let display = call!(x, XOpenDisplay(*const c_char = name) -> *mut c_void);
        if display.is_null() {
            return Err("there is no X display".to_owned());
        }
        let mut opened = Self { gl, x, display, context: ptr::null_mut() };
        opened.context = opened.create();
        if opened.context.is_null() {
            return Err("GLX gives no context".to_owned());
        }
        opened.make_current(true);
        for alignment in [UNPACK_ALIGNMENT, PACK_ALIGNMENT] {
            if opened.vendor() != "gl-sim" {
                call!(opened.gl, glPixelStorei(c_uint = alignment, c_int = 1));
            }
        }
        Ok(opened)
    }

    fn create(&self) -> *mut c_void {
        let screen = call!(self.x, XDefaultScreen(*mut c_void = self.display) -> c_int);
        let mut attributes = [4, 0]; // GLX_RGBA
        let visual = call!(self.gl, glXChooseVisual(
            *mut c_void = self.display, c_int = screen, *mut c_int = attributes.as_mut_ptr()) -> *mut c_void);
        if visual.is_null() {
            return visual;
        }
        call!(self.gl, glXCreateContext(
            *mut c_void = self.display, *mut c_void = visual, *mut c_void = ptr::null_mut(), c_int = 1) -> *mut c_void)
    }

    /// Makes it current on this thread, or none.
    pub(crate) fn make_current(&self, current: bool) {
        let root = call!(self.x, XDefaultRootWindow(*mut c_void = self.display) -> u64);
        let (drawable, context) = if current { (root, self.context) } else { (0, ptr::null_mut()) };
        let done = call!(self.gl, glXMakeCurrent(
            *mut c_void = self.display, u64 = drawable, *mut c_void = context) -> c_int);
        assert_eq!(done, 1, "glXMakeCurrent");
    }

    /// Whose library it is.
    pub(crate) fn vendor(&self) -> String {
        let text = call!(self.gl, glGetString(c_uint = VENDOR) -> *const c_char);
        // SAFETY: a string of the library's, with a context that is current.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }

    /// The first error since the last call.
    pub(crate) fn error(&self) -> c_uint {
        call!(self.gl, glGetError() -> c_uint)
    }

    /// A buffer of these elements, and its name.
    pub(crate) fn buffer<T: bytemuck::Pod>(&self, elements: &[T]) -> c_uint {
        let name = self.name_of_buffer();
        let bytes: &[u8] = bytemuck::cast_slice(elements);
        call!(self.gl, glBufferData(
            c_uint = ARRAY_BUFFER, isize = bytes.len() as isize, *const c_void = bytes.as_ptr().cast(), c_uint = DYNAMIC_DRAW));
        assert_eq!(self.error(), 0, "glBufferData");
        name
    }

    /// The name of a buffer without a data store.
    pub(crate) fn name_of_buffer(&self) -> c_uint {
        let mut name = 0;
        call!(self.gl, glGenBuffers(c_int = 1, *mut c_uint = &mut name));
        call!(self.gl, glBindBuffer(c_uint = ARRAY_BUFFER, c_uint = name));
        name
    }

    /// Changes the elements of a buffer.
    pub(crate) fn write<T: bytemuck::Pod>(&self, name: c_uint, elements: &[T]) {
        let bytes: &[u8] = bytemuck::cast_slice(elements);
        call!(self.gl, glBindBuffer(c_uint = ARRAY_BUFFER, c_uint = name));
        call!(self.gl, glBufferSubData(
            c_uint = ARRAY_BUFFER, isize = 0, isize = bytes.len() as isize, *const c_void = bytes.as_ptr().cast()));
        assert_eq!(self.error(), 0, "glBufferSubData");
    }

    /// Elements of a buffer.
    pub(crate) fn read<T: bytemuck::Pod>(&self, name: c_uint, len: usize) -> Vec<T> {
        let mut elements = vec![T::zeroed(); len];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut elements);
        call!(self.gl, glBindBuffer(c_uint = ARRAY_BUFFER, c_uint = name));
        call!(self.gl, glGetBufferSubData(
            c_uint = ARRAY_BUFFER, isize = 0, isize = bytes.len() as isize, *mut c_void = bytes.as_mut_ptr().cast()));
        assert_eq!(self.error(), 0, "glGetBufferSubData");
        elements
    }

    /// Deletes a buffer.
    pub(crate) fn delete(&self, name: c_uint) {
        call!(self.gl, glDeleteBuffers(c_int = 1, *const c_uint = &name));
    }

    /// The name of a texture without texels.
    pub(crate) fn name_of_texture(&self, target: c_uint) -> c_uint {
        let mut name = 0;
        call!(self.gl, glGenTextures(c_int = 1, *mut c_uint = &mut name));
        call!(self.gl, glBindTexture(c_uint = target, c_uint = name));
        name
    }

    /// A texture of these texels, and its name: a plane if the size has no depth.
    pub(crate) fn texture<T: bytemuck::Pod>(&self, size: [usize; 3], format: Format, texels: &[T]) -> c_uint {
        let ([width, height, depth], (internal, format, kind)) = (size.map(|size| size as c_int), format);
        let data: *const c_void = texels.as_ptr().cast();
        assert_eq!(texels.len(), size[0] * size[1] * size[2].max(1));
        let name = self.name_of_texture(if depth == 0 { TEXTURE_2D } else { TEXTURE_3D });
        if depth == 0 {
            call!(self.gl, glTexImage2D(c_uint = TEXTURE_2D, c_int = 0, c_int = internal, c_int = width, c_int = height,
                c_int = 0, c_uint = format, c_uint = kind, *const c_void = data));
        } else {
            call!(self.gl, glTexImage3D(c_uint = TEXTURE_3D, c_int = 0, c_int = internal, c_int = width, c_int = height,
                c_int = depth, c_int = 0, c_uint = format, c_uint = kind, *const c_void = data));
        }
        assert_eq!(self.error(), 0, "glTexImage");
        name
    }

    /// The texels of a texture.
    pub(crate) fn texels<T: bytemuck::Pod>(&self, target: c_uint, name: c_uint, format: Format, len: usize) -> Vec<T> {
        let mut texels = vec![T::zeroed(); len];
        call!(self.gl, glBindTexture(c_uint = target, c_uint = name));
        call!(self.gl, glGetTexImage(
            c_uint = target, c_int = 0, c_uint = format.1, c_uint = format.2, *mut c_void = texels.as_mut_ptr().cast()));
        assert_eq!(self.error(), 0, "glGetTexImage");
        texels
    }
}

impl Drop for OpenGl {
    fn drop(&mut self) {
        if !self.context.is_null() {
            self.make_current(false);
            call!(self.gl, glXDestroyContext(*mut c_void = self.display, *mut c_void = self.context));
        }
        // The display stays open: HIP's runtime keeps one of the same name open forever.
    }
}
