//! Compares the calls of all ranks before they are made.

use std::sync::MutexGuard;

use crate::call::Call;
use crate::communicator::Communicator;
use crate::element::RawOp;
use crate::error::{Error, Result};
use crate::group::Group;
use crate::records::{Buffers, LISTED, PAIR, WORDS};
use crate::summary::Kind;

/// Value for a call without a root.
const NONE: u64 = u64::MAX;

/// The calls of one rank, and its memory.
struct Rank<'a> {
    communicator: &'a Communicator,
    buffers: MutexGuard<'a, Buffers>,
    collectives: Vec<&'a Call>,
    pairs: Vec<&'a Call>,
}

/// Compares the calls of a group with those of the other ranks. One communicator per rank does so.
pub(crate) fn compare(parts: &[(&Communicator, &[Call])]) -> Result<()> {
    let checked = parts.iter().filter(|(of, _)| of.checks.is_some()).count();
    if checked < parts.len() {
        let allowed = "all with `check_calls`, or none of them";
        return Err(Error::invalid(
            "the communicators of a group",
            "some with `check_calls` and some without",
            allowed,
        ));
    }
    let mut ranks: Vec<Rank<'_>> = parts
        .iter()
        .filter_map(|(communicator, calls)| {
            let buffers = communicator.checks.as_ref()?.lock();
            let (pairs, collectives) = calls.iter().partition(|call| call.kind.is_point_to_point());
            Some(Rank { communicator, buffers, collectives, pairs })
        })
        .collect();
    let most = ranks.iter().map(|rank| rank.collectives.len()).max().unwrap_or(0);
    for place in 0..most {
        compare_collective(&mut ranks, place)?;
    }
    compare_pairs(&mut ranks)
}

/// Compares the collectives at one position in the group, across all ranks that have one.
fn compare_collective(ranks: &mut [Rank<'_>], place: usize) -> Result<()> {
    let mut with: Vec<&mut Rank<'_>> = ranks.iter_mut().filter(|rank| rank.collectives.len() > place).collect();
    for rank in &mut with {
        let record = record(rank.collectives[place], place, rank.collectives.len(), rank.communicator.size());
        rank.buffers.own.copy_from_slice_on(rank.communicator.stream(), &record)?;
    }
    let mut group = Group::new();
    for rank in &mut with {
        let Buffers { own, all, .. } = &mut *rank.buffers;
        group.all_gather(rank.communicator, &*own, all)?;
    }
    group.end_unchecked()?;
    for rank in &with {
        let (size, number) = (rank.communicator.size(), rank.communicator.rank());
        rank.communicator.synchronize()?;
        let all = rank.buffers.all.to_vec()?;
        let records: Vec<&[u64]> = all.chunks(WORDS + 2 * size).collect();
        if !fit(&records, size) {
            let calls = records.iter().map(|record| describe(record, size)).collect();
            return Err(Error::Mismatch { rank: number, calls });
        }
    }
    Ok(())
}

fn record(call: &Call, place: usize, of: usize, size: usize) -> Vec<u64> {
    let kind = Kind::ALL.iter().position(|kind| *kind == call.kind).unwrap_or(Kind::ALL.len());
    let op = match call.op {
        RawOp::Plain(op) => u64::from(op.0),
        // Each rank has its own factor.
        RawOp::Host(_) | RawOp::Device(_) => NONE,
    };
    let root = call.peer.map_or(NONE, |root| root as u64);
    let numbers = [place as u64, of as u64, kind as u64, call.count as u64, call.data_type.as_raw().0.into(), op, root];
    let mut record = numbers.to_vec();
    match &call.parts {
        Some(parts) => {
            record.extend(parts.send_counts.iter().map(|count| *count as u64));
            record.extend(parts.receive_counts.iter().map(|count| *count as u64));
        }
        None => record.resize(WORDS + 2 * size, 0),
    }
    record
}

/// Returns whether calls match: all are equal, and each rank sends what the others receive.
fn fit(records: &[&[u64]], size: usize) -> bool {
    let same = records.windows(2).all(|two| two[0][..WORDS] == two[1][..WORDS]);
    let counts =
        (0..size).all(|from| (0..size).all(|to| records[from][WORDS + to] == records[to][WORDS + size + from]));
    same && counts
}

/// Formats a record.
fn describe(record: &[u64], size: usize) -> String {
    let kind = Kind::ALL.get(record[2] as usize).map_or("an unknown call", |kind| kind.names().0);
    let op = u32::try_from(record[5])
        .map_or("scaled sum".to_owned(), |op| RawOp::Plain(crate::raw::ncclRedOp_t(op)).name().to_owned());
    let mut text = format!("{kind} of {} elements of type {}, {op}", record[3], record[4]);
    if record[6] != NONE {
        text.push_str(&format!(", root {}", record[6]));
    }
    if record[WORDS..].iter().any(|count| *count != 0) {
        let (send, receive) = record[WORDS..].split_at(size);
        text.push_str(&format!(", {send:?} sent, {receive:?} received"));
    }
    if record[1] != 1 { format!("{text} ({} of {} in a group)", record[0] + 1, record[1]) } else { text }
}

/// Compares sends and receives, by pairs of ranks: only the ranks that take part.
fn compare_pairs(ranks: &mut [Rank<'_>]) -> Result<()> {
    let mut with: Vec<&mut Rank<'_>> = ranks.iter_mut().filter(|rank| !rank.pairs.is_empty()).collect();
    for rank in &mut with {
        let mut words = vec![0; PAIR * rank.communicator.size()];
        for call in &rank.pairs {
            let Some(peer) = call.peer else { continue };
            let pair = &mut words[peer * PAIR..][..PAIR];
            let side = usize::from(call.kind == Kind::Receive);
            let number = pair[side] as usize;
            if number < LISTED {
                pair[2 + side * LISTED + number] = (call.count * call.data_type.size()) as u64;
            }
            pair[side] += 1;
        }
        rank.buffers.pairs.copy_from_slice_on(rank.communicator.stream(), &words)?;
    }
    let mut group = Group::new();
    for rank in &mut with {
        let Buffers { pairs, theirs, .. } = &mut *rank.buffers;
        for (peer, theirs) in theirs.iter_mut().enumerate() {
            if rank.pairs.iter().any(|call| call.peer == Some(peer)) {
                group.send(rank.communicator, pairs.slice(peer * PAIR..(peer + 1) * PAIR)?, peer)?;
                group.receive(rank.communicator, theirs, peer)?;
            }
        }
    }
    group.end_unchecked()?;
    for rank in &with {
        rank.communicator.synchronize()?;
        let ours = rank.buffers.pairs.to_vec()?;
        for peer in 0..rank.communicator.size() {
            if !rank.pairs.iter().any(|call| call.peer == Some(peer)) {
                continue;
            }
            let (ours, theirs) = (&ours[peer * PAIR..][..PAIR], rank.buffers.theirs[peer].to_vec()?);
            if !pair_fits(ours, &theirs) {
                return Err(Error::Mismatch {
                    rank: rank.communicator.rank(),
                    calls: mismatched(rank.communicator, peer, ours, &theirs),
                });
            }
        }
    }
    Ok(())
}

fn pair_fits(ours: &[u64], theirs: &[u64]) -> bool {
    let sides = |pair: &[u64]| {
        let (sent, received) = pair[2..].split_at(LISTED);
        ((pair[0], sent.to_vec()), (pair[1], received.to_vec()))
    };
    let ((sent, received), (their_sent, their_received)) = (sides(ours), sides(theirs));
    sent == their_received && received == their_sent
}

/// Returns one line per rank, of which two are known.
fn mismatched(communicator: &Communicator, peer: usize, ours: &[u64], theirs: &[u64]) -> Vec<String> {
    let listed = |pair: &[u64], side: usize, with: usize| {
        let bytes = &pair[2 + side * LISTED..][..(pair[side] as usize).min(LISTED)];
        let word = if side == 0 { "sends to" } else { "receives from" };
        format!("{} {word} rank {with} of {bytes:?} bytes", pair[side])
    };
    let own = communicator.rank();
    (0..communicator.size())
        .map(|rank| match rank {
            rank if rank == own => format!("{}, {}", listed(ours, 0, peer), listed(ours, 1, peer)),
            rank if rank == peer => format!("{}, {}", listed(theirs, 0, own), listed(theirs, 1, own)),
            _ => "not asked".to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::DataType;
    use crate::summary::Parts;

    fn records(calls: &[Call]) -> bool {
        let records: Vec<Vec<u64>> = calls.iter().map(|call| record(call, 0, 1, calls.len())).collect();
        fit(&records.iter().map(Vec::as_slice).collect::<Vec<_>>(), calls.len())
    }

    #[test]
    fn calls_fit_if_all_say_the_same() {
        let call = |count, ty| Call::new(Kind::AllReduce, count, ty);
        assert!(records(&[call(7, DataType::F32), call(7, DataType::F32)]));
        assert!(!records(&[call(7, DataType::F32), call(8, DataType::F32)]));
        assert!(!records(&[call(7, DataType::F32), call(7, DataType::I32)]));
        let root = |peer| Call { peer: Some(peer), ..Call::new(Kind::Broadcast, 7, DataType::F32) };
        assert!(records(&[root(1), root(1)]));
        assert!(!records(&[root(1), root(0)]));
        assert!(!records(&[Call::new(Kind::AllGather, 7, DataType::F32), call(7, DataType::F32)]));
    }

    #[test]
    fn parts_fit_if_each_rank_receives_what_is_sent() {
        let call = |send: [usize; 2], receive: [usize; 2]| {
            let parts = Parts { send_counts: send.into(), receive_counts: receive.into(), ..Parts::default() };
            Call { parts: Some(Box::new(parts)), ..Call::new(Kind::AllToAllV, 0, DataType::U8) }
        };
        assert!(records(&[call([1, 2], [1, 3]), call([3, 4], [2, 4])]));
        assert!(!records(&[call([1, 2], [1, 3]), call([3, 4], [1, 4])]));
    }

    #[test]
    fn pairs_fit_if_one_receives_what_the_other_sends() {
        let pair = |sent: &[u64], received: &[u64]| {
            let mut words = vec![0; PAIR];
            (words[0], words[1]) = (sent.len() as u64, received.len() as u64);
            words[2..][..sent.len()].copy_from_slice(sent);
            words[2 + LISTED..][..received.len()].copy_from_slice(received);
            words
        };
        assert!(pair_fits(&pair(&[4, 8], &[1]), &pair(&[1], &[4, 8])));
        assert!(!pair_fits(&pair(&[4, 8], &[1]), &pair(&[1], &[8, 4])));
        assert!(!pair_fits(&pair(&[4], &[]), &pair(&[], &[])));
    }
}
