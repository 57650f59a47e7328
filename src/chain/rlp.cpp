#include "gym/chain/rlp.hpp"

#include <algorithm>

namespace gym::chain {
namespace {

constexpr std::uint8_t kShortString = 0x80;
constexpr std::uint8_t kLongString = 0xb7;  // plus the number of length bytes
constexpr std::uint8_t kShortList = 0xc0;
constexpr std::uint8_t kLongList = 0xf7;
constexpr std::size_t kShortSizeMax = 55;

Bytes big_endian(std::uint64_t value) {
    Bytes out;
    for (; value != 0; value >>= 8)
        out.push_back(static_cast<std::uint8_t>(value));
    std::reverse(out.begin(), out.end());
    return out;
}

void append_header(Bytes& out, std::size_t size, std::uint8_t short_base, std::uint8_t long_base) {
    if (size <= kShortSizeMax) {
        out.push_back(static_cast<std::uint8_t>(short_base + size));
        return;
    }
    const Bytes length = big_endian(size);
    out.push_back(static_cast<std::uint8_t>(long_base + length.size()));
    out.insert(out.end(), length.begin(), length.end());
}

void append_item(Bytes& out, const RlpItem& item) {
    if (item.is_list) {
        Bytes content;
        for (const RlpItem& child : item.items)
            append_item(content, child);
        append_header(out, content.size(), kShortList, kLongList);
        out.insert(out.end(), content.begin(), content.end());
        return;
    }
    if (item.bytes.size() != 1 || item.bytes[0] >= kShortString)
        append_header(out, item.bytes.size(), kShortString, kLongString);
    out.insert(out.end(), item.bytes.begin(), item.bytes.end());
}

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

RlpItem RlpItem::string(ByteView content) {
    RlpItem out;
    out.bytes.assign(content.begin(), content.end());
    return out;
}

RlpItem RlpItem::number(std::uint64_t value) {
    return string(big_endian(value));
}

RlpItem RlpItem::number(const Amount& value) {
    const auto bytes = value.to_be32();
    const auto first =
        std::find_if(bytes.begin(), bytes.end(), [](auto byte) { return byte != 0; });
    return string(ByteView(first, bytes.end()));
}

RlpItem RlpItem::list(std::vector<RlpItem> items) {
    RlpItem out;
    out.is_list = true;
    out.items = std::move(items);
    return out;
}

Result<std::uint64_t> RlpItem::to_u64() const {
    if (is_list || bytes.size() > 8) return malformed("not a 64-bit number");
    if (!bytes.empty() && bytes[0] == 0) return malformed("a number has leading zeros");
    std::uint64_t value = 0;
    for (const std::uint8_t byte : bytes)
        value = value << 8 | byte;
    return value;
}

Result<Amount> RlpItem::to_amount() const {
    if (is_list || bytes.size() > 32) return malformed("not a 256-bit number");
    if (!bytes.empty() && bytes[0] == 0) return malformed("a number has leading zeros");
    std::array<std::uint8_t, 32> padded{};
    std::copy(bytes.rbegin(), bytes.rend(), padded.rbegin());
    return Amount::from_be32(padded);
}

Bytes rlp_encode(const RlpItem& item) {
    Bytes out;
    append_item(out, item);
    return out;
}

Result<RlpItem> rlp_decode(ByteView encoded) {
    Reader reader(encoded);
    GYM_TRY(RlpItem item, reader.item(0));
    if (!reader.empty()) return malformed("bytes follow the item");
    return item;
}

}  // namespace gym::chain
