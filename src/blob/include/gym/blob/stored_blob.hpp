#pragma once

#include <cstdint>

#include "gym/common/bytes.hpp"

namespace gym::blob {

/// A blob as its store lists it.
struct StoredBlob {
    Digest root;
    std::uint64_t bytes = 0;      ///< of its files
    std::int64_t written_ns = 0;  ///< when it was last put or held, by the store's own clock

    friend bool operator==(const StoredBlob&, const StoredBlob&) = default;
};

}  // namespace gym::blob
