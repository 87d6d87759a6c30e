//! The elements of a program: HIP calls with all their arguments.

/// The maximum number of memory pieces of a program.
pub(crate) const PIECES: usize = 6;
/// Buffers of the program, each with [`HOST_BYTES`].
pub(crate) const HOST_BUFFERS: usize = 3;
pub(crate) const HOST_BYTES: usize = 4096;
/// The number of streams, and of the program's events.
pub(crate) const STREAMS: usize = 4;
pub(crate) const EVENTS: usize = 4;
/// The event that orders streams that would otherwise race.
pub(crate) const ORDER: usize = EVENTS;

/// An address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) base: Base,
    pub(crate) offset: usize,
}

/// The base of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    Null,
    /// An unmapped address.
    Wild,
    /// HIP's memory, by number. Never allocated: null. Freed: its former address.
    Piece(usize),
    /// A buffer of the program's.
    Own(usize),
}

/// A stream argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queue {
    /// The legacy default stream.
    Default,
    /// The thread's own default stream.
    PerThread,
    /// By number; possibly a destroyed stream.
    Slot(usize),
}

/// The allocation function of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Malloc,
    /// `hipMallocAsync`.
    Async(Queue),
    /// `hipHostMalloc` with flags.
    Pinned(u32),
    /// `hipMallocManaged` with flags.
    Managed(u32),
    /// `hipMallocPitch` with this many rows. The size is that of a row.
    Pitch(usize),
}

/// How memory is freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Release {
    Free,
    HostFree,
    Async(Queue),
}

/// The variant of a function that is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// The synchronous one.
    Plain,
    /// `...Async`.
    Async(Queue),
    /// `hipMemcpyWithStream`.
    With(Queue),
    /// `hipMemcpyHtoD` and so on, according to the kind.
    Typed,
    /// The same, `...Async`.
    TypedAsync(Queue),
}

/// A kernel of the test's module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// `add_in_place(data, value, n)`.
    Add,
    /// `vector_add(a, b, c, n)`.
    Sum,
    /// `slow_store(out, rounds, value)`: a word for each thread.
    Slow,
    /// `bounded(data)`: 64 threads at most.
    Bounded,
    Empty,
    /// A null handle.
    None,
}

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Allocate {
        piece: usize,
        size: usize,
        source: Source,
    },
    Free {
        place: Place,
        how: Release,
    },
    Copy {
        to: Place,
        from: Place,
        bytes: usize,
        kind: u32,
        call: Call,
    },
    Copy2D {
        to: Place,
        to_pitch: usize,
        from: Place,
        from_pitch: usize,
        width: usize,
        height: usize,
        kind: u32,
        call: Call,
    },
    /// Elements of 1, 2 or 4 bytes.
    Fill {
        to: Place,
        value: u32,
        count: usize,
        width: usize,
        call: Call,
    },
    Fill2D {
        to: Place,
        pitch: usize,
        value: u32,
        width: usize,
        height: usize,
        call: Call,
    },
    Launch {
        kernel: Kernel,
        data: [Place; 3],
        n: u32,
        grid: [u32; 3],
        block: [u32; 3],
        lds: u32,
        queue: Queue,
    },
    /// The program writes to its own or to pinned memory.
    Write {
        to: Place,
        value: u8,
        bytes: usize,
    },
    CreateStream {
        slot: usize,
        flags: u32,
        priority: i32,
    },
    DestroyStream {
        queue: Queue,
    },
    SyncStream {
        queue: Queue,
    },
    QueryStream {
        queue: Queue,
        done: bool,
    },
    AskStream {
        queue: Queue,
    },
    CreateEvent {
        slot: usize,
        flags: u32,
    },
    DestroyEvent {
        slot: usize,
    },
    Record {
        slot: usize,
        queue: Queue,
    },
    SyncEvent {
        slot: usize,
    },
    /// If it is not known whether it is `done`, both results are correct.
    QueryEvent {
        slot: usize,
        done: bool,
    },
    Elapsed {
        from: usize,
        to: usize,
        done: bool,
    },
    WaitEvent {
        queue: Queue,
        slot: usize,
        flags: u32,
    },
    /// A host function that adds to bytes of one of the program's buffers.
    HostFunction {
        queue: Queue,
        buffer: usize,
        value: u8,
    },
    /// Blocks a stream while an event on it and the stream itself are queried.
    Gate {
        queue: Queue,
        slot: usize,
    },
    SyncDevice,
    SetDevice {
        device: i32,
    },
    LastError,
    Attributes {
        place: Place,
    },
    Range {
        place: Place,
    },
    DevicePointer {
        place: Place,
        flags: u32,
    },
    HostFlags {
        place: Place,
    },
    Register {
        buffer: usize,
        bytes: usize,
        flags: u32,
    },
    Unregister {
        buffer: usize,
        offset: usize,
    },
    Function {
        known: bool,
    },
    MemoryLeft,
    /// Calls with a null output pointer.
    NoPlace {
        which: usize,
    },
}

/// A random number generator: SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// Returns true once in `n` times.
    pub(crate) fn rarely(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}
