#include "rlp_decoder.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace gym::testing {
namespace {

using chain::RlpItem;

constexpr std::uint8_t kShortString = 0x80;
constexpr std::uint8_t kLongString = 0xb7;  // plus the number of length bytes
constexpr std::uint8_t kShortList = 0xc0;
constexpr std::uint8_t kLongList = 0xf7;
constexpr std::size_t kShortSizeMax = 55;

Error malformed(const char* why) {
    return fail(ErrorCode::kMalformed, std::string("RLP: ") + why);
}

/// Reads one item off the front of what is left.
class Reader {
  public:
    explicit Reader(ByteView left) : left_(left) {}
    [[nodiscard]] bool empty() const { return left_.empty(); }

    Result<RlpItem> item(unsigned depth) {
        if (depth > kRlpDepthMax) return malformed("lists nest too deep");
        if (left_.empty()) return malformed("ends inside an item");
        const std::uint8_t first = left_[0];
        if (first < kShortString) return RlpItem::string(take(1));
        left_ = left_.subspan(1);
        const bool is_list = first >= kShortList;
        GYM_TRY(const ByteView content, is_list ? body(first, kShortList, kLongList)
                                                : body(first, kShortString, kLongString));
        if (!is_list) {
            if (content.size() == 1 && content[0] < kShortString)
                return malformed("a single byte has a length in front");
            return RlpItem::string(content);
        }
        RlpItem out = RlpItem::list({});
        for (Reader inner(content); !inner.empty();) {
            GYM_TRY(RlpItem child, inner.item(depth + 1));
            out.items.push_back(std::move(child));
        }
        return out;
    }

  private:
    ByteView take(std::size_t size) {
        const ByteView out = left_.first(size);
        left_ = left_.subspan(size);
        return out;
    }

    Result<ByteView> body(std::uint8_t first, std::uint8_t short_base, std::uint8_t long_base) {
        std::uint64_t size = static_cast<std::uint64_t>(first - short_base);
        if (size > kShortSizeMax) {
            const auto length_size = static_cast<std::size_t>(first - long_base);
            if (left_.size() < length_size) return malformed("ends inside a length");
            const ByteView length = take(length_size);
            if (length[0] == 0) return malformed("a length has a leading zero");
            size = 0;
            for (const std::uint8_t byte : length)
                size = size << 8 | byte;
            if (size <= kShortSizeMax) return malformed("a short length in the long form");
        }
        if (size > left_.size()) return malformed("an item is longer than its input");
        return take(static_cast<std::size_t>(size));
    }

    ByteView left_;
};

}  // namespace

Result<std::uint64_t> to_u64(const chain::RlpItem& item) {
    if (item.is_list || item.bytes.size() > 8) return malformed("not a 64-bit number");
    if (!item.bytes.empty() && item.bytes[0] == 0) return malformed("a number has leading zeros");
    std::uint64_t value = 0;
    for (const std::uint8_t byte : item.bytes)
        value = value << 8 | byte;
    return value;
}

Result<Amount> to_amount(const chain::RlpItem& item) {
    if (item.is_list || item.bytes.size() > 32) return malformed("not a 256-bit number");
    if (!item.bytes.empty() && item.bytes[0] == 0) return malformed("a number has leading zeros");
    std::array<std::uint8_t, 32> padded{};
    std::copy(item.bytes.rbegin(), item.bytes.rend(), padded.rbegin());
    return Amount::from_be32(padded);
}

Result<chain::RlpItem> rlp_decode(ByteView encoded) {
    Reader reader(encoded);
    GYM_TRY(RlpItem item, reader.item(0));
    if (!reader.empty()) return malformed("bytes follow the item");
    return item;
}

}  // namespace gym::testing
