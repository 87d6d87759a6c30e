//! User objects: reference-counted data of the program that graphs retain, released by a function of the program.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use crate::handles::Handles;

/// The object behind a `hipUserObject_t`.
pub(crate) struct UserObject {
    data: *mut c_void,
    destroy: unsafe extern "C" fn(*mut c_void),
    count: Mutex<u32>,
    /// The table of its handle, and the handle as a number.
    place: OnceLock<(Weak<Handles<UserObject>>, usize)>,
}

// SAFETY: HIP gives the pointer to the function on any thread; the program that passes it has to expect that.
unsafe impl Send for UserObject {}
// SAFETY: as above.
unsafe impl Sync for UserObject {}

impl UserObject {
    /// Creates an object with `count` references.
    pub(crate) fn new(data: *mut c_void, destroy: unsafe extern "C" fn(*mut c_void), count: u32) -> Self {
        Self { data, destroy, count: Mutex::new(count), place: OnceLock::new() }
    }

    /// Stores the object's handle and its table: the object leaves that when it ends.
    pub(crate) fn named(&self, table: &Arc<Handles<UserObject>>, handle: usize) {
        self.place.get_or_init(|| (Arc::downgrade(table), handle));
    }

    /// Adds references. False if the count would overflow or the object has ended.
    pub(crate) fn retain(&self, more: u32) -> bool {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        match count.checked_add(more) {
            Some(sum) if *count > 0 => *count = sum,
            _ => return false,
        }
        true
    }

    /// Removes references, and destroys the object with the last one. False if it has fewer references.
    pub(crate) fn release(&self, fewer: u32) -> bool {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(left) = count.checked_sub(fewer) else { return false };
        *count = left;
        drop(count);
        if left == 0 {
            if let Some((table, handle)) = self.place.get() {
                if let Some(table) = table.upgrade() {
                    table.remove(std::ptr::without_provenance(*handle));
                }
            }
            // SAFETY: HIP requires a function that may be called with this data, on any thread, once. The count stays at 0, since an ended
            // object cannot be retained, so this is the only call.
            unsafe { (self.destroy)(self.data) };
        }
        true
    }
}

/// References that a graph holds.
pub(crate) struct Hold {
    pub(crate) object: Arc<UserObject>,
    pub(crate) count: u32,
}

impl Clone for Hold {
    fn clone(&self) -> Self {
        // References that would overflow the count are not added, and are not removed later.
        let count = if self.object.retain(self.count) { self.count } else { 0 };
        Self { object: Arc::clone(&self.object), count }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if self.count > 0 {
            self.object.release(self.count);
        }
    }
}
