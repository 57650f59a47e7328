// A precondition of the kernels that the caller broke: stop, in every build.
#pragma once

#include <cstdio>
#include <cstdlib>

#define GYM_KERNELS_REQUIRE(condition)                                                      \
    do {                                                                                    \
        if (!(condition)) {                                                                 \
            (void)std::fprintf(stderr, "%s:%d: kernel precondition failed: %s\n", __FILE__, \
                               __LINE__, #condition);                                       \
            std::abort();                                                                   \
        }                                                                                   \
    } while (false)
