#pragma once

#include <cstdint>
#include <vector>

#include "gym/kernels/q14_product.hpp"

namespace gym::engine {

/// Memory that kernels reuse from op to op, so that a step allocates nothing once it is warm.
struct Scratch {
    kernels::QuantisedMatrix quantised_a;
    kernels::QuantisedMatrix quantised_b;
    kernels::AlignedBuffer bytes;
};

}  // namespace gym::engine
