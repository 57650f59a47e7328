#pragma once

#include <cstdint>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"

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

    friend bool operator==(const RlpItem&, const RlpItem&) = default;
};

[[nodiscard]] Bytes rlp_encode(const RlpItem& item);

}  // namespace gym::chain
