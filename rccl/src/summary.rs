//! What a call is, in numbers and in words.

use crate::element::DataType;
use crate::error::Context;

/// The kind of collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    AllReduce,
    Reduce,
    Broadcast,
    AllGather,
    ReduceScatter,
    Gather,
    Scatter,
    AllToAll,
    AllToAllV,
    Send,
    Receive,
}

impl Kind {
    pub(crate) const ALL: [Self; 11] = [
        Self::AllReduce,
        Self::Reduce,
        Self::Broadcast,
        Self::AllGather,
        Self::ReduceScatter,
        Self::Gather,
        Self::Scatter,
        Self::AllToAll,
        Self::AllToAllV,
        Self::Send,
        Self::Receive,
    ];

    /// Returns the method's name, and the C function.
    pub(crate) fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::AllReduce => ("all_reduce", "ncclAllReduce"),
            Self::Reduce => ("reduce", "ncclReduce"),
            Self::Broadcast => ("broadcast", "ncclBroadcast"),
            Self::AllGather => ("all_gather", "ncclAllGather"),
            Self::ReduceScatter => ("reduce_scatter", "ncclReduceScatter"),
            Self::Gather => ("gather", "ncclGather"),
            Self::Scatter => ("scatter", "ncclScatter"),
            Self::AllToAll => ("all_to_all", "ncclAllToAll"),
            Self::AllToAllV => ("all_to_all_v", "ncclAllToAllv"),
            Self::Send => ("send", "ncclSend"),
            Self::Receive => ("receive", "ncclRecv"),
        }
    }

    /// Returns whether it is between two ranks.
    pub(crate) fn is_point_to_point(self) -> bool {
        matches!(self, Self::Send | Self::Receive)
    }

    fn reduces(self) -> bool {
        matches!(self, Self::AllReduce | Self::Reduce | Self::ReduceScatter)
    }
}

/// The parts of an all-to-all with parts of different sizes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) send_counts: Vec<usize>,
    pub(crate) send_offsets: Vec<usize>,
    pub(crate) receive_counts: Vec<usize>,
    pub(crate) receive_offsets: Vec<usize>,
}

/// The description of a call, without formatted text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Summary {
    pub(crate) kind: Kind,
    pub(crate) count: usize,
    pub(crate) data_type: DataType,
    pub(crate) op: &'static str,
    pub(crate) peer: Option<usize>,
}

impl Summary {
    pub(crate) fn asked(&self, parts: Option<&Parts>) -> String {
        let mut text = match parts {
            Some(parts) => {
                format!("{:?} sent, {:?} received, of {:?}", parts.send_counts, parts.receive_counts, self.data_type)
            }
            None => format!("{} {:?}", self.count, self.data_type),
        };
        if self.kind.reduces() {
            text.push_str(", ");
            text.push_str(self.op);
        }
        text
    }

    pub(crate) fn context(&self, parts: Option<&Parts>) -> Context {
        Context { call: self.kind.names().0, peer: self.peer, asked: self.asked(parts), ..Context::default() }
    }
}
