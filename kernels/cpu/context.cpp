#include "gym/kernels/context.hpp"

#include "cpu/check.hpp"

namespace gym::kernels {

Context::Context(Isa isa, int threads) : isa_(isa), pool_(std::make_unique<ThreadPool>(threads)) {
    GYM_KERNELS_REQUIRE(isa <= detect_isa());
}

}  // namespace gym::kernels
