// Functions on bytes and strings that HIPRTC lacks.
#pragma once

__device__ inline void *__cuda_compat_memmove(void *to, const void *from, __SIZE_TYPE__ size) {
    char *target = (char *)to;
    const char *source = (const char *)from;
    if (target < source) {
        for (__SIZE_TYPE__ i = 0; i < size; ++i) target[i] = source[i];
    } else {
        for (__SIZE_TYPE__ i = size; i > 0; --i) target[i - 1] = source[i - 1];
    }
    return to;
}
__device__ inline int __cuda_compat_memcmp(const void *a, const void *b, __SIZE_TYPE__ size) {
    const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;
    for (__SIZE_TYPE__ i = 0; i < size; ++i) {
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    }
    return 0;
}
__device__ inline __SIZE_TYPE__ __cuda_compat_strlen(const char *text) {
    __SIZE_TYPE__ length = 0;
    while (text[length]) ++length;
    return length;
}
__device__ inline int __cuda_compat_strcmp(const char *a, const char *b) {
    while (*a && *a == *b) ++a, ++b;
    return (int)(unsigned char)*a - (int)(unsigned char)*b;
}
#define memmove __cuda_compat_memmove
#define memcmp __cuda_compat_memcmp
#define strlen __cuda_compat_strlen
#define strcmp __cuda_compat_strcmp
