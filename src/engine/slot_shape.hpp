#pragma once

#include "gym/program/program.hpp"

namespace gym::engine {

inline std::int64_t elements(const program::Slot& slot) {
    return static_cast<std::int64_t>(program::element_count(slot.dims));
}

/// A tensor as rows of its last dim.
struct Rows {
    std::int64_t count;
    std::int64_t length;
};

inline Rows rows_of(const program::Slot& slot) {
    const std::int64_t length = slot.dims.back();
    return {elements(slot) / length, length};
}

}  // namespace gym::engine
