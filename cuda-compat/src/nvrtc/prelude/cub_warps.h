// CUB's collectives of warps: 32 lanes, where hipCUB's have those of a wave.
#pragma once
#include <hipcub/warp/warp_exchange.hpp>
#include <hipcub/warp/warp_load.hpp>
#include <hipcub/warp/warp_merge_sort.hpp>
#include <hipcub/warp/warp_reduce.hpp>
#include <hipcub/warp/warp_scan.hpp>
#include <hipcub/warp/warp_store.hpp>

#if CUDA_COMPAT_WARP_SIZE == 32
namespace cub {
using namespace hipcub;
template <class T, int lanes = 32> using WarpReduce = ::hipcub::WarpReduce<T, lanes>;
template <class T, int lanes = 32> using WarpScan = ::hipcub::WarpScan<T, lanes>;
template <class T, int items, int lanes = 32> using WarpExchange = ::hipcub::WarpExchange<T, items, lanes>;
template <class T, int items, WarpLoadAlgorithm algorithm = WARP_LOAD_DIRECT, int lanes = 32>
using WarpLoad = ::hipcub::WarpLoad<T, items, algorithm, lanes>;
template <class T, int items, WarpStoreAlgorithm algorithm = WARP_STORE_DIRECT, int lanes = 32>
using WarpStore = ::hipcub::WarpStore<T, items, algorithm, lanes>;
template <class T, int items, int lanes = 32, class V = NullType> using WarpMergeSort = ::hipcub::WarpMergeSort<T, items, lanes, V>;
} // namespace cub
#endif
