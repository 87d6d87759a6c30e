// cuda/pipeline: stages of copies, which are complete when they return.
#pragma once
#include "cuda_compat/barrier.h"

namespace cuda {
// What the stages of a group have in common: nothing, as its threads wait for each other.
template <thread_scope scope, unsigned char stages> struct pipeline_shared_state {
    pipeline_shared_state() = default;
    pipeline_shared_state(const pipeline_shared_state &) = delete;
};
namespace __cuda_compat_pipeline {
struct alone { __device__ void sync() const {} };
}
// Each thread of the group calls each function: a stage is read and written again when all of them have come.
template <thread_scope scope, class G = __cuda_compat_pipeline::alone> class pipeline {
    const G group;

  public:
    __device__ explicit pipeline(const G &group) : group(group) {}
    pipeline(pipeline &&) = default;
    pipeline(const pipeline &) = delete;
    __device__ void producer_acquire() {}
    __device__ void producer_commit() {}
    __device__ void consumer_wait() { group.sync(); }
    __device__ void consumer_release() { group.sync(); }
    __device__ bool quit() { return true; }
};
__device__ inline pipeline<thread_scope_thread> make_pipeline() {
    return pipeline<thread_scope_thread>(__cuda_compat_pipeline::alone());
}
template <class G, thread_scope scope, unsigned char stages>
__device__ inline pipeline<scope, G> make_pipeline(const G &group, pipeline_shared_state<scope, stages> *) {
    return pipeline<scope, G>(group);
}
template <unsigned char prior, thread_scope scope, class G> __device__ inline void pipeline_consumer_wait_prior(pipeline<scope, G> &) {}
template <class S, thread_scope scope, class G> __device__ inline void memcpy_async(void *to, const void *from, S size, pipeline<scope, G> &) {
    ::__cuda_compat::copies::bytes(to, from, size, 0, 1);
}
template <class T, class S, thread_scope scope, class G>
__device__ inline void memcpy_async(const T &threads, void *to, const void *from, S size, pipeline<scope, G> &) {
    ::__cuda_compat::copies::bytes(to, from, size, threads.thread_rank(), threads.size());
}
} // namespace cuda
