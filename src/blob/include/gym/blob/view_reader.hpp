#pragma once

#include <algorithm>

#include "gym/blob/blob_store.hpp"
#include "gym/common/assert.hpp"

namespace gym::blob {

/// A blob in memory. Does not own the bytes.
class ViewReader final : public BlobReader {
  public:
    explicit ViewReader(ByteView bytes) : bytes_(bytes) {}
    [[nodiscard]] std::uint64_t size() const noexcept override { return bytes_.size(); }
    Status read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
        GYM_ASSERT(offset <= bytes_.size() && out.size() <= bytes_.size() - offset,
                   "a read beyond the blob");
        std::ranges::copy(bytes_.subspan(offset, out.size()), out.begin());
        return {};
    }

  private:
    ByteView bytes_;
};

}  // namespace gym::blob
