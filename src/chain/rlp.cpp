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

Bytes rlp_encode(const RlpItem& item) {
    Bytes out;
    append_item(out, item);
    return out;
}

}  // namespace gym::chain
