#pragma once

#include <cstdint>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::chain {

/// Recursive Length Prefix (Ethereum yellow paper, appendix B): a byte string, or a list of items.
struct RlpItem {
    bool is_list = false;
    Bytes bytes;                 ///< the content of a byte string
    std::vector<RlpItem> items;  ///< the items of a list

    static RlpItem string(ByteView content);
    /// A number: big-endian without leading zeros; zero is the empty string.
    static RlpItem number(std::uint64_t value);
    static RlpItem number(const Amount& value);
    static RlpItem list(std::vector<RlpItem> items);

    /// @errors kMalformed for a list, leading zeros, or more than 8 (32) bytes.
    [[nodiscard]] Result<std::uint64_t> to_u64() const;
    [[nodiscard]] Result<Amount> to_amount() const;
    friend bool operator==(const RlpItem&, const RlpItem&) = default;
};

/// Lists nest at most this deep when decoding.
inline constexpr unsigned kRlpDepthMax = 16;

[[nodiscard]] Bytes rlp_encode(const RlpItem& item);

/// Strict: one item, the shortest length form, nothing after it. @errors kMalformed.
[[nodiscard]] Result<RlpItem> rlp_decode(ByteView encoded);

}  // namespace gym::chain
