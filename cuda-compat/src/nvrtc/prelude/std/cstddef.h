// size_t and its kin.
#pragma once

#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
#ifndef NULL
#define NULL 0
#endif
typedef decltype(nullptr) nullptr_t;

namespace cuda { namespace std {
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef decltype(nullptr) nullptr_t;
struct max_align_t { alignas(16) char bytes[16]; };
enum class byte : unsigned char {};
}} // namespace cuda::std
