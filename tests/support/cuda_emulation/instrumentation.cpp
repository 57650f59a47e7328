// The functions that code compiled with -fsanitize=thread calls, in the place of ThreadSanitizer's
// own.
#include "checked_memory.hpp"

namespace {

using gym::emulation::Access;
using gym::emulation::check_access;

}  // namespace

#define GYM_SITE __builtin_return_address(0)
#define GYM_CHECK_SIZE(size)                                     \
    void __tsan_read##size(void* at) {                           \
        check_access(Access::kRead, at, size, GYM_SITE);         \
    }                                                            \
    void __tsan_write##size(void* at) {                          \
        check_access(Access::kWrite, at, size, GYM_SITE);        \
    }                                                            \
    void __tsan_unaligned_read##size(void* at) {                 \
        check_access(Access::kRead, at, size, GYM_SITE, false);  \
    }                                                            \
    void __tsan_unaligned_write##size(void* at) {                \
        check_access(Access::kWrite, at, size, GYM_SITE, false); \
    }

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void*, void*) {}
void __tsan_vptr_read(void*) {}

GYM_CHECK_SIZE(1)
GYM_CHECK_SIZE(2)
GYM_CHECK_SIZE(4)
GYM_CHECK_SIZE(8)
GYM_CHECK_SIZE(16)

// Copies of structs. Their members' alignment is the compiler's business.
void __tsan_read_range(void* at, std::size_t size) {
    check_access(Access::kRead, at, size, GYM_SITE, false);
}
void __tsan_write_range(void* at, std::size_t size) {
    check_access(Access::kWrite, at, size, GYM_SITE, false);
}

}  // extern "C"
