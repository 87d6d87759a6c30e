/* All-reduce by NCCL from C, as `examples/nccl_bandwidth` does it in Rust: the same threads, streams, sizes, repetitions and columns.
 *
 *   cc -O2 -o bandwidth_c bandwidth.c -ldl -lpthread
 *   NCCL_NVLS_ENABLE=0 ./bandwidth_c [--ranks N] [--from BYTES] [--to BYTES] [--nccl FILE]
 *
 * Or as a library, for `nccl_bandwidth compare`, which takes turns with it in one process:
 *
 *   cc -O2 -shared -fPIC -o bandwidth_c.so bandwidth.c -ldl -lpthread
 *
 * Needs no headers of CUDA or NCCL: both libraries are opened at run time.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct { char internal[128]; } ncclUniqueId;
typedef void *ncclComm_t, *CUstream, *CUcontext;
typedef unsigned long long CUdeviceptr;

static int (*cuInit)(unsigned), (*cuDeviceGetCount)(int *), (*cuDeviceGet)(int *, int);
static int (*cuDevicePrimaryCtxRetain)(CUcontext *, int), (*cuCtxSetCurrent)(CUcontext);
static int (*cuMemAlloc)(CUdeviceptr *, size_t), (*cuMemFree)(CUdeviceptr);
static int (*cuStreamCreate)(CUstream *, unsigned), (*cuStreamSynchronize)(CUstream);
static int (*ncclGetUniqueId)(ncclUniqueId *), (*ncclCommInitRank)(ncclComm_t *, int, ncclUniqueId, int);
static int (*ncclAllReduce)(const void *, void *, size_t, int, int, ncclComm_t, CUstream), (*ncclCommDestroy)(ncclComm_t);

#define CHECK(call)                                                                  \
    do {                                                                             \
        int status = (call);                                                         \
        if (status != 0) {                                                           \
            fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, status);   \
            exit(1);                                                                 \
        }                                                                            \
    } while (0)

#define MOST_SIZES 64
static int ranks;
static size_t from = 1 << 10, to = 1 << 30;
static ncclUniqueId id;
static pthread_barrier_t all;
static double times[64][MOST_SIZES][2];

static void *symbol(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "no %s\n", name);
        exit(1);
    }
    return found;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

static int iterations(size_t bytes) { return bytes <= 0x100000 ? 500 : bytes <= 0x4000000 ? 100 : 20; }

/* One rank, on the thread that made it. */
typedef struct {
    ncclComm_t comm;
    CUstream stream;
    CUdeviceptr send, receive;
} Rank;

/* Opens the libraries, and gives the id of the ranks to come. */
void c_load(const char *nccl_name, char *bytes) {
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *nccl = dlopen(nccl_name, RTLD_NOW);
    if (!cuda || !nccl) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    cuInit = symbol(cuda, "cuInit");
    cuDeviceGetCount = symbol(cuda, "cuDeviceGetCount");
    cuDeviceGet = symbol(cuda, "cuDeviceGet");
    cuDevicePrimaryCtxRetain = symbol(cuda, "cuDevicePrimaryCtxRetain");
    cuCtxSetCurrent = symbol(cuda, "cuCtxSetCurrent");
    cuMemAlloc = symbol(cuda, "cuMemAlloc_v2");
    cuMemFree = symbol(cuda, "cuMemFree_v2");
    cuStreamCreate = symbol(cuda, "cuStreamCreate");
    cuStreamSynchronize = symbol(cuda, "cuStreamSynchronize");
    ncclGetUniqueId = symbol(nccl, "ncclGetUniqueId");
    ncclCommInitRank = symbol(nccl, "ncclCommInitRank");
    ncclAllReduce = symbol(nccl, "ncclAllReduce");
    ncclCommDestroy = symbol(nccl, "ncclCommDestroy");
    CHECK(cuInit(0));
    CHECK(ncclGetUniqueId((ncclUniqueId *)bytes));
}

/* Makes a rank, with memory for `most` bytes. */
Rank *c_start(int rank, int size, const char *bytes, size_t most) {
    Rank *of = calloc(1, sizeof(Rank));
    int device;
    CUcontext context;
    CHECK(cuDeviceGet(&device, rank));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&of->stream, 1));
    CHECK(ncclCommInitRank(&of->comm, size, *(const ncclUniqueId *)bytes, rank));
    CHECK(cuMemAlloc(&of->send, most));
    CHECK(cuMemAlloc(&of->receive, most));
    return of;
}

/* Microseconds of a call of so many bytes, in two memories or in one; `wait` waits for all ranks. */
double c_time(Rank *of, size_t bytes, int in_place, void (*wait)(void)) {
    int count = iterations(bytes);
    const int float32 = 7, sum = 0;
    void *send = (void *)(in_place ? of->receive : of->send), *receive = (void *)of->receive;
    for (int i = 0; i < (count < 20 ? count : 20); i++)
        CHECK(ncclAllReduce(send, receive, bytes / 4, float32, sum, of->comm, of->stream));
    CHECK(cuStreamSynchronize(of->stream));
    wait();
    double begin = now();
    for (int i = 0; i < count; i++)
        CHECK(ncclAllReduce(send, receive, bytes / 4, float32, sum, of->comm, of->stream));
    CHECK(cuStreamSynchronize(of->stream));
    return (now() - begin) / count;
}

void c_end(Rank *of) {
    CHECK(ncclCommDestroy(of->comm));
    CHECK(cuMemFree(of->send));
    CHECK(cuMemFree(of->receive));
    free(of);
}

static void wait_for_all(void) { pthread_barrier_wait(&all); }

static void *run(void *argument) {
    int rank = (int)(size_t)argument, line = 0;
    Rank *of = c_start(rank, ranks, id.internal, to);
    for (size_t bytes = from; bytes <= to && line < MOST_SIZES; bytes *= 2, line++)
        for (int in_place = 0; in_place < 2; in_place++)
            times[rank][line][in_place] = c_time(of, bytes, in_place, wait_for_all);
    wait_for_all();
    c_end(of);
    return NULL;
}

int main(int count, char **arguments) {
    const char *nccl_name = "libnccl.so.2";
    int wanted = 0;
    for (int i = 1; i + 1 < count; i += 2) {
        if (!strcmp(arguments[i], "--ranks")) wanted = atoi(arguments[i + 1]);
        else if (!strcmp(arguments[i], "--from")) from = strtoull(arguments[i + 1], NULL, 10);
        else if (!strcmp(arguments[i], "--to")) to = strtoull(arguments[i + 1], NULL, 10);
        else if (!strcmp(arguments[i], "--nccl")) nccl_name = arguments[i + 1];
    }
    c_load(nccl_name, id.internal);
    CHECK(cuDeviceGetCount(&ranks));
    if (wanted > 0) ranks = wanted;
    if (ranks > 64 || from < 4) return 1;
    pthread_barrier_init(&all, NULL, ranks);
    pthread_t threads[64];
    for (int rank = 0; rank < ranks; rank++) pthread_create(&threads[rank], NULL, run, (void *)(size_t)rank);
    for (int rank = 0; rank < ranks; rank++) pthread_join(threads[rank], NULL);
    double factor = 2.0 * (ranks - 1) / ranks;
    printf("#     size       count  type redop   time  algbw  busbw     time  algbw  busbw\n");
    int line = 0;
    for (size_t bytes = from; bytes <= to && line < MOST_SIZES; bytes *= 2, line++) {
        printf("%10zu %11zu float   sum", bytes, bytes / 4);
        for (int place = 0; place < 2; place++) {
            double time = 0;
            for (int rank = 0; rank < ranks; rank++) time += times[rank][line][place] / ranks;
            printf(" %8.2f %6.2f %6.2f", time, bytes / time / 1e3, bytes / time / 1e3 * factor);
        }
        printf("\n");
    }
    return 0;
}
