//! A cache of plans.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;

use hip::{DeviceBuffer, IntoSlice, IntoSliceMut, Stream};

use crate::transform::{C2C, C2R, FftReal, Forward, Inverse, R2C};
use crate::{Layout, Normalization, Plan, Result, Transform, Unnormalized};

/// Plans of one stream, by transform type and layout: each is made once, and all share one workspace.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # if hip::sim_if_no_gpu().is_err() || !hipfft::is_available()
/// #     || hip::backend()? == hip::Backend::Sim { return Ok(()) }
/// use hip::{Device, DeviceBuffer, Stream};
/// use hipfft::{C2C, Complex32, Layout, PlanCache, Unitary};
/// let device = Device::get(0)?;
/// let mut plans = PlanCache::new(&Stream::new(&device)?, 16);
/// let mut data = DeviceBuffer::<Complex32>::zeroed(&device, 4)?;
/// for _ in 0..3 {
///     plans.run::<C2C<f32>, Unitary>(&Layout::new([4])?, |plan| plan.forward_in_place(&mut data))?; // plans once
/// }
/// assert_eq!((plans.len(), plans.hits()), (1, 2));
/// # Ok(()) }
/// ```
pub struct PlanCache {
    stream: Stream,
    capacity: usize,
    plans: HashMap<(TypeId, Layout), Kept>,
    workspace: Option<DeviceBuffer<u8>>,
    /// Number of calls so far: the plan that was used least recently is dropped first.
    calls: u64,
    hits: u64,
}

struct Kept {
    plan: Box<dyn Any + Send>,
    used: u64,
}

impl PlanCache {
    /// Creates an empty cache. It keeps at most `capacity` plans, and at least one: a new plan replaces the one that
    /// was used least recently.
    #[must_use]
    pub fn new(stream: &Stream, capacity: usize) -> Self {
        let capacity = capacity.max(1);
        Self { stream: stream.clone(), capacity, plans: HashMap::new(), workspace: None, calls: 0, hits: 0 }
    }

    /// Returns the stream of all plans.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Returns the number of cached plans.
    #[must_use]
    pub fn len(&self) -> usize {
        self.plans.len()
    }

    /// Returns whether the cache is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.plans.is_empty()
    }

    /// Returns how often a plan was found in the cache.
    #[must_use]
    pub fn hits(&self) -> u64 {
        self.hits
    }

    /// Drops all plans, and their workspace.
    pub fn clear(&mut self) {
        self.plans.clear();
        self.workspace = None;
    }

    /// Calls `transform` with the plan of a layout. If the cache does not have the plan, it is made.
    ///
    /// # Errors
    /// An error from [`Plan::new`] or from `transform`.
    pub fn run<T: Transform, N: Normalization>(
        &mut self,
        layout: &Layout,
        transform: impl FnOnce(&mut CachedPlan<'_, T, N>) -> Result<()>,
    ) -> Result<()> {
        let key = (TypeId::of::<Plan<T, N>>(), layout.clone());
        self.calls += 1;
        if self.plans.contains_key(&key) {
            self.hits += 1;
        } else {
            let plan = Plan::<T, N>::without_workspace(&self.stream, layout)?;
            if self.plans.len() >= self.capacity {
                let oldest = self.plans.iter().min_by_key(|(_, kept)| kept.used).map(|(key, _)| key.clone());
                oldest.and_then(|oldest| self.plans.remove(&oldest));
            }
            self.plans.insert(key.clone(), Kept { plan: Box::new(plan), used: 0 });
        }
        let Some(kept) = self.plans.get_mut(&key) else { unreachable!("it has just been put there") };
        kept.used = self.calls;
        let Some(plan) = kept.plan.downcast_mut::<Plan<T, N>>() else { unreachable!("the key has the type") };
        let needed = plan.workspace_len();
        let workspace = match self.workspace.take() {
            Some(workspace) if workspace.len() >= needed => workspace,
            // Work that uses the old workspace keeps it alive.
            _ => DeviceBuffer::uninit(&self.stream.device(), needed)?,
        };
        let (workspace, result) = plan.run_in(workspace, |plan| transform(&mut CachedPlan(plan)));
        // The workspace of a captured transform belongs to the graph: branches of a graph run concurrently.
        self.workspace = workspace.filter(|workspace| !workspace.as_slice().is_in_graph());
        result
    }
}

/// A plan of a [`PlanCache`], borrowed for a call. It transforms as [`Plan`] does. It stays on the cache's stream, and
/// the cache keeps it.
#[derive(Debug)]
pub struct CachedPlan<'a, T: Transform, N: Normalization = Unnormalized>(&'a mut Plan<T, N>);

impl<T: Transform, N: Normalization> CachedPlan<'_, T, N> {
    /// Returns the requested layout.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        self.0.layout()
    }

    /// Returns the cache's stream.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        self.0.stream()
    }
}

impl<T: FftReal, N: Normalization> CachedPlan<'_, C2C<T>, N> {
    /// As [`Plan::forward`].
    ///
    /// # Errors
    /// As [`Plan::forward`].
    pub fn forward<'a>(
        &mut self,
        input: impl IntoSlice<'a, T::Complex>,
        output: impl IntoSliceMut<'a, T::Complex>,
    ) -> Result<()> {
        self.0.forward(input, output)
    }

    /// As [`Plan::inverse`].
    ///
    /// # Errors
    /// As [`Plan::inverse`].
    pub fn inverse<'a>(
        &mut self,
        input: impl IntoSlice<'a, T::Complex>,
        output: impl IntoSliceMut<'a, T::Complex>,
    ) -> Result<()> {
        self.0.inverse(input, output)
    }
}

impl<T: FftReal, N: Normalization> CachedPlan<'_, R2C<T>, N> {
    /// As [`Plan::forward`].
    ///
    /// # Errors
    /// As [`Plan::forward`].
    pub fn forward<'a>(
        &mut self,
        input: impl IntoSlice<'a, T>,
        output: impl IntoSliceMut<'a, T::Complex>,
    ) -> Result<()> {
        self.0.forward(input, output)
    }
}

impl<T: FftReal, N: Normalization> CachedPlan<'_, C2R<T>, N> {
    /// As [`Plan::inverse`].
    ///
    /// # Errors
    /// As [`Plan::inverse`].
    pub fn inverse<'a>(
        &mut self,
        input: impl IntoSliceMut<'a, T::Complex>,
        output: impl IntoSliceMut<'a, T>,
    ) -> Result<()> {
        self.0.inverse(input, output)
    }
}

impl<T: Forward, N: Normalization> CachedPlan<'_, T, N> {
    /// As [`Plan::forward_in_place`].
    ///
    /// # Errors
    /// As [`Plan::forward_in_place`].
    pub fn forward_in_place<'a>(&mut self, data: impl IntoSliceMut<'a, <T::Real as FftReal>::Complex>) -> Result<()> {
        self.0.forward_in_place(data)
    }
}

impl<T: Inverse, N: Normalization> CachedPlan<'_, T, N> {
    /// As [`Plan::inverse_in_place`].
    ///
    /// # Errors
    /// As [`Plan::inverse_in_place`].
    pub fn inverse_in_place<'a>(&mut self, data: impl IntoSliceMut<'a, <T::Real as FftReal>::Complex>) -> Result<()> {
        self.0.inverse_in_place(data)
    }
}

impl fmt::Debug for PlanCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stream, capacity, plans, hits, .. } = self;
        f.debug_struct("PlanCache")
            .field("stream", stream)
            .field("capacity", capacity)
            .field("plans", &plans.len())
            .field("hits", hits)
            .finish_non_exhaustive()
    }
}
