//! Collectives of one rank: groups of one call.

use hip::{DeviceSlice, DeviceSliceMut, IntoSlice, IntoSliceMut, Pod};

use crate::communicator::Communicator;
use crate::element::{Op, Reduce};
use crate::error::Result;
use crate::group::Group;

/// # Collectives
///
/// All ranks call the same collective with the same sizes, type, operator and root, each from its own thread or
/// process. If one thread has several ranks, their calls are put into a [`Group`].
///
/// Collectives that reduce take the types of [`Reduce`], all others any type without pointers ([`Pod`]). Counts of zero
/// do nothing.
/// Each returns [`Error::Invalid`](crate::Error::Invalid) for sizes that do not fit, and the errors of [`Group::end`].
impl Communicator {
    /// Reduces the elements of all ranks elementwise; every rank receives the results (`ncclAllReduce`).
    ///
    /// # Errors
    /// As described [above](Self#collectives).
    #[doc(alias = "ncclAllReduce")]
    pub fn all_reduce<'a, T: Reduce>(
        &'a self,
        send: impl IntoSlice<'a, T>,
        receive: impl IntoSliceMut<'a, T>,
        op: Op<'a, T>,
    ) -> Result<()> {
        let mut group = Group::new();
        group.all_reduce(self, send, receive, op)?;
        group.end()
    }

    /// [`all_reduce`](Self::all_reduce) in place: the results overwrite the elements.
    ///
    /// # Errors
    /// As described [above](Self#collectives).
    #[doc(alias = "ncclAllReduce")]
    pub fn all_reduce_in_place<'a, T: Reduce>(&'a self, memory: impl IntoSliceMut<'a, T>, op: Op<'a, T>) -> Result<()> {
        let mut group = Group::new();
        group.all_reduce_in_place(self, memory, op)?;
        group.end()
    }

    /// Reduces the elements of all ranks; the root receives the results (`ncclReduce`). Only the root needs receive
    /// memory.
    ///
    /// # Errors
    /// As described [above](Self#collectives).
    #[doc(alias = "ncclReduce")]
    pub fn reduce<'a, T: Reduce>(
        &'a self,
        send: impl IntoSlice<'a, T>,
        receive: Option<DeviceSliceMut<'a, T>>,
        op: Op<'a, T>,
        root: usize,
    ) -> Result<()> {
        let mut group = Group::new();
        group.reduce(self, send, receive, op, root)?;
        group.end()
    }

    /// [`reduce`](Self::reduce) in place: the results overwrite the root's elements. The memory of the other ranks is
    /// undefined afterwards.
    ///
    /// # Errors
    /// As described [above](Self#collectives).
    #[doc(alias = "ncclReduce")]
    pub fn reduce_in_place<'a, T: Reduce>(
        &'a self,
        memory: impl IntoSliceMut<'a, T>,
        op: Op<'a, T>,
        root: usize,
    ) -> Result<()> {
        let mut group = Group::new();
        group.reduce_in_place(self, memory, op, root)?;
        group.end()
    }

    /// Copies the root's elements to all ranks, in the same memory (`ncclBroadcast`, `ncclBcast`).
    ///
    /// # Errors
    /// As described [above](Self#collectives).
    #[doc(alias("ncclBroadcast", "ncclBcast"))]
    pub fn broadcast<'a, T: Pod>(&'a self, memory: impl IntoSliceMut<'a, T>, root: usize) -> Result<()> {
        let mut group = Group::new();
        group.broadcast(self, memory, root)?;
        group.end()
    }

    /// Copies the root's elements to all ranks, including the root (`ncclBroadcast`). Only the root needs send memory.
    ///
    /// # Errors
    /// As described [above](Self#collectives).
    #[doc(alias = "ncclBroadcast")]
    pub fn broadcast_to<'a, T: Pod>(
        &'a self,
        send: Option<DeviceSlice<'a, T>>,
        receive: impl IntoSliceMut<'a, T>,
        root: usize,
    ) -> Result<()> {
        let mut group = Group::new();
        group.broadcast_to(self, send, receive, root)?;
        group.end()
    }

    /// Gathers the elements of all ranks on all ranks, rank after rank (`ncclAllGather`). `receive` is as long as all
    /// `send` together.
    ///
    /// # Errors
    /// As described [above](Self#collectives).
    #[doc(alias = "ncclAllGather")]
    pub fn all_gather<'a, T: Pod>(
        &'a self,
        send: impl IntoSlice<'a, T>,
        receive: impl IntoSliceMut<'a, T>,
    ) -> Result<()> {
        let mut group = Group::new();
        group.all_gather(self, send, receive)?;
        group.end()
    }

    /// [`all_gather`](Self::all_gather) in place: each rank's elements are in its part of the memory, which has one
    /// part per rank.
    ///
    /// # Errors
    /// As described [above](Self#collectives).
    #[doc(alias = "ncclAllGather")]
    pub fn all_gather_in_place<'a, T: Pod>(&'a self, memory: impl IntoSliceMut<'a, T>) -> Result<()> {
        let mut group = Group::new();
        group.all_gather_in_place(self, memory)?;
        group.end()
    }

    /// Reduces the elements of all ranks; each rank receives its part of the results (`ncclReduceScatter`). `send` has
    /// one part per rank.
    ///
    /// # Errors
    /// As described [above](Self#collectives).
    #[doc(alias = "ncclReduceScatter")]
    pub fn reduce_scatter<'a, T: Reduce>(
        &'a self,
        send: impl IntoSlice<'a, T>,
        receive: impl IntoSliceMut<'a, T>,
        op: Op<'a, T>,
    ) -> Result<()> {
        let mut group = Group::new();
        group.reduce_scatter(self, send, receive, op)?;
        group.end()
    }

    /// [`reduce_scatter`](Self::reduce_scatter) in place: the results are in the rank's own part. The other parts are
    /// undefined afterwards.
    ///
    /// # Errors
    /// As described [above](Self#collectives).
    #[doc(alias = "ncclReduceScatter")]
    pub fn reduce_scatter_in_place<'a, T: Reduce>(
        &'a self,
        memory: impl IntoSliceMut<'a, T>,
        op: Op<'a, T>,
    ) -> Result<()> {
        let mut group = Group::new();
        group.reduce_scatter_in_place(self, memory, op)?;
        group.end()
    }

    /// Gathers the elements of all ranks on the root, rank after rank (`ncclGather`). Only the root needs receive
    /// memory.
    ///
    /// # Errors
    /// As described [above](Self#collectives).
    #[doc(alias = "ncclGather")]
    pub fn gather<'a, T: Pod>(
        &'a self,
        send: impl IntoSlice<'a, T>,
        receive: Option<DeviceSliceMut<'a, T>>,
        root: usize,
    ) -> Result<()> {
        let mut group = Group::new();
        group.gather(self, send, receive, root)?;
        group.end()
    }

    /// Sends each rank its part of the root's elements (`ncclScatter`). Only the root needs send memory.
    ///
    /// # Errors
    /// As described [above](Self#collectives).
    #[doc(alias = "ncclScatter")]
    pub fn scatter<'a, T: Pod>(
        &'a self,
        send: Option<DeviceSlice<'a, T>>,
        receive: impl IntoSliceMut<'a, T>,
        root: usize,
    ) -> Result<()> {
        let mut group = Group::new();
        group.scatter(self, send, receive, root)?;
        group.end()
    }

    /// Sends each rank the parts that all ranks have for it, rank after rank (`ncclAllToAll`). Both memories have one
    /// part per rank.
    ///
    /// # Errors
    /// As described [above](Self#collectives).
    #[doc(alias("ncclAllToAll", "ncclAlltoAll"))]
    pub fn all_to_all<'a, T: Pod>(
        &'a self,
        send: impl IntoSlice<'a, T>,
        receive: impl IntoSliceMut<'a, T>,
    ) -> Result<()> {
        let mut group = Group::new();
        group.all_to_all(self, send, receive)?;
        group.end()
    }

    /// [`all_to_all`](Self::all_to_all) with parts of different sizes (`ncclAllToAllv`): this many elements to and from
    /// each rank, one part after the other, covering all of the memory.
    ///
    /// # Errors
    /// As described [above](Self#collectives).
    #[doc(alias("ncclAllToAllv", "ncclAlltoAllv"))]
    pub fn all_to_all_v<'a, T: Pod>(
        &'a self,
        send: impl IntoSlice<'a, T>,
        send_counts: &[usize],
        receive: impl IntoSliceMut<'a, T>,
        receive_counts: &[usize],
    ) -> Result<()> {
        let mut group = Group::new();
        group.all_to_all_v(self, send, send_counts, receive, receive_counts)?;
        group.end()
    }

    /// Sends elements to a rank, which must [receive](Self::receive) as many (`ncclSend`). A rank that sends and
    /// receives must do both in a [`Group`].
    ///
    /// # Errors
    /// As described [above](Self#collectives).
    #[doc(alias = "ncclSend")]
    pub fn send<'a, T: Pod>(&'a self, send: impl IntoSlice<'a, T>, peer: usize) -> Result<()> {
        let mut group = Group::new();
        group.send(self, send, peer)?;
        group.end()
    }

    /// Receives elements that a rank [sends](Self::send) (`ncclRecv`).
    ///
    /// # Errors
    /// As described [above](Self#collectives).
    #[doc(alias = "ncclRecv")]
    pub fn receive<'a, T: Pod>(&'a self, receive: impl IntoSliceMut<'a, T>, peer: usize) -> Result<()> {
        let mut group = Group::new();
        group.receive(self, receive, peer)?;
        group.end()
    }
}
