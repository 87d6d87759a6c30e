//! The queues behind streams: ordered work, dependencies between queues, and the threads that run it.
//!
//! Every stream has one queue. A submitted command gets the queue's next *ticket*; it may start when the command
//! before it has completed and every (queue, ticket) that it waits for has too. Dependencies always point at commands
//! submitted earlier, so they cannot form a cycle.
//!
//! Two kinds of thread run commands. A few [workers] start when there is work and exit after some idle seconds. And a
//! waiting thread runs the command that it waits for if no worker has begun it, so that `launch; synchronize` needs no
//! thread switch. Host functions and waits for external conditions run on workers only: the waiting thread may hold a
//! lock that they need, and a wait may block it for long.

mod worker_counts;
mod workers;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::ThreadId;

use amdgpu_sim::Delay;

use crate::fault::Failure;
use worker_counts::Workers;

/// Polls of the completion counter before a waiting thread sleeps: a few microseconds.
const SPINS: u32 = 200;

/// Names a queue; stale once the queue is closed, and never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct QueueKey {
    index: u32,
    serial: u32,
}

/// The number of a command within its queue, from 1.
pub(crate) type Ticket = u64;

/// A point in a queue: reached when the command with this ticket has completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) queue: QueueKey,
    pub(crate) ticket: Ticket,
}

/// A queue's ordering relative to its device's null queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The legacy default stream: it waits for all blocking queues, and they wait for it.
    Null,
    /// A stream created without `hipStreamNonBlocking`.
    Blocking,
    /// A non-blocking stream.
    Free,
}

/// The order in which workers take ready queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Priority {
    High,
    Normal,
    Low,
}

type DeviceWork = Box<dyn FnOnce() -> Result<(), Failure> + Send>;
type HostWork = Box<dyn FnOnce(Option<Arc<Failure>>) + Send>;

/// The failure because of which work was skipped, even if it has been reported already.
pub(crate) type LeftOut = Arc<OnceLock<Arc<Failure>>>;

/// What a command does.
pub(crate) enum Work {
    /// Device work. Skipped while the queue has an unreported failure.
    Device(DeviceWork),
    /// Device work whose submitter waits for it and needs to know if it was skipped.
    Awaited(DeviceWork, LeftOut),
    /// Calls the program, on a worker. Runs after a failure too, which is passed to it.
    Host(HostWork),
    /// Waits on a worker for an external condition, for an unlimited time. Skipped like device work.
    Wait(DeviceWork),
    /// Bookkeeping that runs even after a failure (time stamps, releases).
    Always(Box<dyn FnOnce() + Send>),
}

impl Work {
    /// Returns whether the work may block for an unlimited time. Only workers run such work, and it does not count as
    /// device work.
    fn may_stay(&self) -> bool {
        matches!(self, Self::Host(_) | Self::Wait(_))
    }
}

struct Command {
    waits: Vec<Point>,
    implied: Vec<Point>,
    work: Work,
    thread: ThreadId,
}

/// A failure and the commands that it affects.
#[derive(Clone)]
struct Fault {
    failure: Arc<Failure>,
    /// The thread that submitted the failed command.
    thread: ThreadId,
    from: Ticket,
    /// `None` until the failure has been reported. Then the last command submitted before the report.
    upto: Option<Ticket>,
}

impl Fault {
    fn spoils(&self, ticket: Ticket) -> bool {
        ticket >= self.from && self.upto.is_none_or(|upto| ticket <= upto)
    }
}

struct Queue {
    serial: u32,
    device: usize,
    ordering: Order,
    priority: Priority,
    commands: VecDeque<Command>,
    submitted: Ticket,
    completed: Ticket,
    running: bool,
    in_ready: bool,
    fault: Option<Fault>,
    /// Queues whose head command waits for this queue.
    waiters: Vec<QueueKey>,
}

impl Queue {
    fn pending_fault(&self) -> Option<&Fault> {
        self.fault.as_ref().filter(|fault| fault.upto.is_none())
    }
}

/// An unreported failure of a closed queue.
struct Orphan {
    device: usize,
    queue: QueueKey,
    fault: Fault,
}

#[derive(Default)]
struct State {
    slots: Vec<Option<Queue>>,
    free: Vec<u32>,
    serial: u32,
    ready: [VecDeque<QueueKey>; 3],
    orphans: Vec<Orphan>,
    workers: Workers,
    /// The number of waiting threads that are asleep.
    sleepers: usize,
}

/// The kind of thread that runs a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Runner {
    Worker,
    /// A thread that waits for commands.
    Waiter,
}

thread_local! {
    /// Cached, since the standard library's query takes a reference to the thread each time.
    static THIS_THREAD: ThreadId = std::thread::current().id();
}

/// The calling thread.
pub(crate) fn this_thread() -> ThreadId {
    // During thread exit, thread-local variables are gone.
    THIS_THREAD.try_with(|id| *id).unwrap_or_else(|_| std::thread::current().id())
}

/// All queues of the process and the threads that serve them.
pub(crate) struct Scheduler {
    state: Mutex<State>,
    /// Wakes sleeping workers.
    work: Condvar,
    /// Wakes napping workers.
    nap: Condvar,
    /// Wakes waiting threads.
    done: Condvar,
    /// Counts completions. Waiting threads poll it before they sleep.
    completions: AtomicU64,
    /// The number of workers that run device work at the same time, unless they wait for each other.
    device_workers: usize,
    /// Delays before and after commands.
    delay: Option<Delay>,
}

/// The failures that a synchronising call reports.
#[derive(Clone, Copy)]
pub(crate) enum Scope {
    /// The program named the stream or event: its failure is reported once.
    Named(Point),
    /// Everything on the device. A failure of another thread's work is kept for that thread too.
    Device(usize),
    /// The queues that the null stream waits for: the null queue and all blocking ones.
    NullStream(usize),
}

impl Scheduler {
    pub(crate) fn new(delay: Option<Delay>) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            state: Mutex::default(),
            work: Condvar::new(),
            nap: Condvar::new(),
            done: Condvar::new(),
            completions: AtomicU64::new(0),
            device_workers: cores.max(2),
            delay,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent whenever the lock is released: nothing that can panic runs under it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a queue of `device`.
    pub(crate) fn open(&self, device: usize, ordering: Order, priority: Priority) -> QueueKey {
        let mut state = self.lock();
        state.serial = state.serial.wrapping_add(1);
        let serial = state.serial;
        let queue = Queue {
            serial,
            device,
            ordering,
            priority,
            commands: VecDeque::new(),
            submitted: 0,
            completed: 0,
            running: false,
            in_ready: false,
            fault: None,
            waiters: Vec::new(),
        };
        let index = match state.free.pop() {
            Some(index) => {
                state.slots[index as usize] = Some(queue);
                index
            }
            None => {
                state.slots.push(Some(queue));
                u32::try_from(state.slots.len() - 1).unwrap_or(u32::MAX)
            }
        };
        QueueKey { index, serial }
    }

    /// Waits for the queue's commands and removes it. An unreported failure is kept with the device.
    pub(crate) fn close(self: &Arc<Self>, key: QueueKey) {
        if let Some(point) = self.last(key) {
            self.wait(&[point]);
        }
        let mut state = self.lock();
        if state.queue(key).is_none() {
            return;
        }
        let slot = state.slots[key.index as usize].take();
        state.free.push(key.index);
        if let Some(queue) = slot {
            if let Some(fault) = queue.fault.filter(|fault| fault.upto.is_none()) {
                state.orphans.push(Orphan { device: queue.device, queue: key, fault });
            }
            // Another thread may have submitted commands meanwhile; they are removed with the queue.
            for waiter in queue.waiters {
                self.consider(&mut state, waiter);
            }
            self.call_worker(&mut state, true);
        }
        drop(state);
        self.announce();
    }

    /// Appends `work` to the queue, after the points in `waits`. `None` if the queue is closed.
    pub(crate) fn submit(self: &Arc<Self>, key: QueueKey, work: Work, waits: &[Point]) -> Option<Point> {
        self.submit_behind(key, work, waits, None)
    }

    /// As [`submit`](Self::submit), and after one more point whose failure is ignored.
    pub(crate) fn submit_behind(
        self: &Arc<Self>,
        key: QueueKey,
        work: Work,
        waits: &[Point],
        behind: Option<Point>,
    ) -> Option<Point> {
        let mut state = self.lock();
        let queue = state.queue(key)?;
        let (device, ordering) = (queue.device, queue.ordering);
        let mut implied = state.implied_waits(key, device, ordering);
        implied.extend(behind.filter(|point| !state.reached(*point)));
        let waits = waits.iter().copied().filter(|point| !state.reached_clean(*point)).collect();
        let thread = this_thread();
        let queue = state.queue_mut(key)?;
        queue.submitted += 1;
        let ticket = queue.submitted;
        queue.commands.push_back(Command { waits, implied, work, thread });
        if queue.commands.len() == 1 {
            self.consider(&mut state, key);
            self.call_worker(&mut state, false);
        }
        Some(Point { queue: key, ticket })
    }

    /// The queue's last submitted command; `None` if the queue is closed.
    pub(crate) fn last(&self, key: QueueKey) -> Option<Point> {
        self.lock().queue(key).map(|queue| Point { queue: key, ticket: queue.submitted })
    }

    /// Whether the point has been reached. A closed queue has completed all it held.
    pub(crate) fn reached(&self, point: Point) -> bool {
        self.lock().reached(point)
    }

    /// The last points of the queues that `scope` covers.
    pub(crate) fn points(&self, scope: Scope) -> Vec<Point> {
        let state = self.lock();
        if let Scope::Named(point) = scope {
            return vec![point];
        }
        let mut points = Vec::new();
        for (index, slot) in state.slots.iter().enumerate() {
            if let Some(queue) = slot {
                if state.covers(scope, queue) {
                    points.push(Point {
                        queue: QueueKey { index: index as u32, serial: queue.serial },
                        ticket: queue.submitted,
                    });
                }
            }
        }
        points
    }

    /// Waits for all points, and runs ready commands on this thread meanwhile.
    pub(crate) fn wait(self: &Arc<Self>, points: &[Point]) {
        let mut state = self.lock();
        let mut spun = 0;
        loop {
            let Some(point) = points.iter().copied().find(|point| !state.reached(*point)) else {
                self.call_worker(&mut state, false);
                return;
            };
            if let Some(key) = state.runnable_towards(point.queue) {
                state = self.run_head(state, key, Runner::Waiter);
                spun = 0;
                continue;
            }
            self.call_worker(&mut state, true);
            if spun < SPINS {
                let seen = self.completions.load(Ordering::Acquire);
                drop(state);
                while spun < SPINS && self.completions.load(Ordering::Acquire) == seen {
                    std::hint::spin_loop();
                    spun += 1;
                }
                state = self.lock();
                continue;
            }
            state.sleepers += 1;
            state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.sleepers -= 1;
        }
    }

    /// The failure, if any, that a synchronising call over `scope` must report.
    pub(crate) fn take_failure(&self, scope: Scope) -> Option<Arc<Failure>> {
        let mut state = self.lock();
        if let (Scope::Named(point), true) = (scope, state.orphans.is_empty()) {
            // Usually there is none.
            state.queue(point.queue)?.pending_fault()?;
        }
        let me = this_thread();
        let mut found: Option<Arc<Failure>> = None;
        let mut orphans = std::mem::take(&mut state.orphans);
        orphans.retain(|orphan| {
            let (covered, named) = match scope {
                Scope::Named(p) => (p.queue == orphan.queue && p.ticket >= orphan.fault.from, true),
                Scope::Device(device) | Scope::NullStream(device) => (orphan.device == device, false),
            };
            if covered && found.is_none() {
                found = Some(orphan.fault.failure.clone());
            }
            !(covered && (named || orphan.fault.thread == me))
        });
        state.orphans = orphans;
        for index in 0..state.slots.len() {
            let Some(queue) = &state.slots[index] else { continue };
            let (covered, named) = match scope {
                Scope::Named(p) => (
                    p.queue == QueueKey { index: index as u32, serial: queue.serial }
                        && queue.fault.as_ref().is_some_and(|fault| fault.from <= p.ticket),
                    true,
                ),
                _ => (state.covers(scope, queue), false),
            };
            let Some(fault) = queue.pending_fault().filter(|_| covered) else { continue };
            let told = named || fault.thread == me;
            found.get_or_insert_with(|| fault.failure.clone());
            if let Some(queue) = state.slots[index].as_mut().filter(|_| told) {
                let submitted = queue.submitted;
                if let Some(fault) = &mut queue.fault {
                    fault.upto = Some(submitted);
                }
            }
        }
        found
    }

    /// The device of a scope; `None` for a closed queue.
    pub(crate) fn device_of(&self, scope: Scope) -> Option<usize> {
        match scope {
            Scope::Named(point) => self.lock().queue(point.queue).map(|queue| queue.device),
            Scope::Device(device) | Scope::NullStream(device) => Some(device),
        }
    }

    /// Discards the failures of a device, on its reset.
    pub(crate) fn forgive(&self, device: usize) {
        let mut state = self.lock();
        state.orphans.retain(|orphan| orphan.device != device);
        for queue in state.slots.iter_mut().flatten().filter(|queue| queue.device == device) {
            queue.fault = None;
        }
    }

    /// Puts the queue on the ready list if its head can run, or on the waiter list of the queue it waits for.
    ///
    /// The caller must then call a worker, unless it takes from the ready list itself.
    fn consider(&self, state: &mut State, key: QueueKey) {
        let Some(queue) = state.queue(key) else { return };
        if queue.running || queue.in_ready {
            return;
        }
        let Some(head) = queue.commands.front() else { return };
        let unmet = head.waits.iter().chain(&head.implied).copied().find(|point| !state.reached(*point));
        if let Some(point) = unmet {
            if let Some(other) = state.queue_mut(point.queue) {
                if !other.waiters.contains(&key) {
                    other.waiters.push(key);
                }
            }
            return;
        }
        let priority = queue.priority;
        if let Some(queue) = state.queue_mut(key) {
            queue.in_ready = true;
        }
        state.ready[priority as usize].push_back(key);
    }

    /// Runs the head of a queue, which must be ready. Releases the lock meanwhile.
    fn run_head<'a>(
        self: &'a Arc<Self>,
        mut state: MutexGuard<'a, State>,
        key: QueueKey,
        runner: Runner,
    ) -> MutexGuard<'a, State> {
        let Some(queue) = state.queue_mut(key) else { return state };
        let Some(command) = queue.commands.pop_front() else { return state };
        queue.running = true;
        if std::mem::take(&mut queue.in_ready) {
            let priority = queue.priority;
            state.ready[priority as usize].retain(|ready| *ready != key);
        }
        let Some(queue) = state.queue_mut(key) else { return state };
        let ticket = queue.completed + 1;
        // Waiting for a failed command makes this queue fail too.
        if !queue.fault.as_ref().is_some_and(|fault| fault.spoils(ticket)) {
            if let Some(inherited) = command.waits.iter().find_map(|point| state.spoiled(*point)) {
                if let Some(queue) = state.queue_mut(key) {
                    queue.fault = Some(Fault { failure: inherited, thread: command.thread, from: ticket, upto: None });
                }
            }
        }
        let spoiled = state.spoiled(Point { queue: key, ticket });
        let may_stay = command.work.may_stay();
        let workers = &mut state.workers;
        match runner {
            Runner::Worker if may_stay => workers.in_host_function += 1,
            Runner::Worker => workers.busy += 1,
            Runner::Waiter => {}
        }
        self.call_worker(&mut state, false);
        drop(state);
        self.pause(key, 2 * ticket);
        let failure = match (command.work, spoiled) {
            (Work::Device(_) | Work::Wait(_), Some(_)) => None,
            (Work::Awaited(_, left_out), Some(failure)) => {
                let _ = left_out.set(failure);
                None
            }
            (Work::Device(work) | Work::Wait(work) | Work::Awaited(work, _), None) => {
                catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(Failure::from_panic(&*panic))).err()
            }
            (Work::Host(call), spoiled) => {
                // A panic in the program's callback stops at the callback's own `extern "C"` boundary.
                call(spoiled);
                None
            }
            (Work::Always(work), _) => {
                work();
                None
            }
        };
        self.pause(key, 2 * ticket + 1);
        let mut state = self.lock();
        let workers = &mut state.workers;
        match runner {
            Runner::Worker if may_stay => workers.in_host_function -= 1,
            Runner::Worker => workers.busy -= 1,
            Runner::Waiter => {}
        }
        if let Some(failure) = &failure {
            crate::fault::remember(failure);
        }
        let mut waiters = Vec::new();
        if let Some(queue) = state.queue_mut(key) {
            queue.running = false;
            queue.completed = ticket;
            if let Some(failure) = failure {
                queue.fault =
                    Some(Fault { failure: Arc::new(failure), thread: command.thread, from: ticket, upto: None });
            }
            waiters = std::mem::take(&mut queue.waiters);
        }
        for waiter in waiters {
            self.consider(&mut state, waiter);
        }
        // The runner checks the ready list next, and calls a worker for what it does not run itself.
        self.consider(&mut state, key);
        self.completions.fetch_add(1, Ordering::Release);
        if state.sleepers > 0 {
            self.done.notify_all();
        }
        state
    }

    /// Delays the command as the settings require.
    fn pause(&self, key: QueueKey, step: u64) {
        if let Some(delay) = self.delay {
            std::thread::sleep(delay.wait(u64::from(key.serial), step));
        }
    }

    fn announce(&self) {
        self.completions.fetch_add(1, Ordering::Release);
        self.done.notify_all();
    }
}

impl State {
    fn queue(&self, key: QueueKey) -> Option<&Queue> {
        self.slots.get(key.index as usize)?.as_ref().filter(|queue| queue.serial == key.serial)
    }

    fn queue_mut(&mut self, key: QueueKey) -> Option<&mut Queue> {
        self.slots.get_mut(key.index as usize)?.as_mut().filter(|queue| queue.serial == key.serial)
    }

    fn reached(&self, point: Point) -> bool {
        self.queue(point.queue).is_none_or(|queue| queue.completed >= point.ticket)
    }

    /// Returns whether the point has been reached without a failure.
    fn reached_clean(&self, point: Point) -> bool {
        self.reached(point) && self.spoiled(point).is_none()
    }

    /// The failure that affects the command at `point`.
    fn spoiled(&self, point: Point) -> Option<Arc<Failure>> {
        let fault = match self.queue(point.queue) {
            Some(queue) => queue.fault.as_ref(),
            None => self.orphans.iter().find(|orphan| orphan.queue == point.queue).map(|o| &o.fault),
        }?;
        fault.spoils(point.ticket).then(|| fault.failure.clone())
    }

    fn covers(&self, scope: Scope, queue: &Queue) -> bool {
        match scope {
            Scope::Named(_) => false,
            Scope::Device(device) => queue.device == device,
            Scope::NullStream(device) => queue.device == device && queue.ordering != Order::Free,
        }
    }

    /// The points that a new command waits for under the rules of the legacy default stream.
    fn implied_waits(&self, key: QueueKey, device: usize, ordering: Order) -> Vec<Point> {
        let other = match ordering {
            Order::Free => return Vec::new(),
            Order::Null => Order::Blocking,
            Order::Blocking => Order::Null,
        };
        let mut points = Vec::new();
        for (index, slot) in self.slots.iter().enumerate() {
            if let Some(queue) = slot {
                let open = queue.completed < queue.submitted;
                if open && queue.device == device && queue.ordering == other {
                    let queue_key = QueueKey { index: index as u32, serial: queue.serial };
                    debug_assert_ne!(queue_key, key);
                    points.push(Point { queue: queue_key, ticket: queue.submitted });
                }
            }
        }
        points
    }

    /// The queue to run next so that `key` makes progress: itself, or the queue that its head waits for. `None` if that
    /// one is running, or its head is a host function or a wait.
    fn runnable_towards(&self, mut key: QueueKey) -> Option<QueueKey> {
        loop {
            let queue = self.queue(key)?;
            if queue.running {
                return None;
            }
            let head = queue.commands.front()?;
            let unmet = head.waits.iter().chain(&head.implied).find(|point| !self.reached(**point));
            match unmet {
                Some(point) => key = point.queue,
                None if head.work.may_stay() => return None,
                None => return Some(key),
            }
        }
    }

    /// The next queue for a worker, by priority.
    fn take_ready(&mut self) -> Option<QueueKey> {
        for priority in 0..self.ready.len() {
            while let Some(key) = self.ready[priority].pop_front() {
                let Some(queue) = self.queue_mut(key) else { continue };
                queue.in_ready = false;
                // A waiting thread may have run the head meanwhile, and takes care of the next command.
                if queue.running || queue.commands.is_empty() {
                    continue;
                }
                let Some(head) = queue.commands.front() else { continue };
                let blocked = head
                    .waits
                    .iter()
                    .chain(&head.implied)
                    .copied()
                    .collect::<Vec<_>>()
                    .into_iter()
                    .find(|point| !self.reached(*point));
                if let Some(point) = blocked {
                    if let Some(other) = self.queue_mut(point.queue) {
                        if !other.waiters.contains(&key) {
                            other.waiters.push(key);
                        }
                    }
                    continue;
                }
                return Some(key);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
