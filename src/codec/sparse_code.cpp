#include "gym/codec/sparse_code.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

namespace gym::codec {
namespace {

using kernels::SparseBlock;

constexpr unsigned kIndexBits = 10, kKept = kernels::kSparseKept;
constexpr std::size_t kLevelsAt = 20, kHeadAt = 24;
constexpr std::uint32_t kIndexMask = (1U << kIndexBits) - 1;
/// Four indices are five bytes.
constexpr unsigned kGroup = 4, kGroupBytes = 5;

std::uint64_t little_endian(const std::uint8_t* from, unsigned bytes) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < bytes; ++i)
        value |= std::uint64_t{from[i]} << (8 * i);
    return value;
}

void store_little_endian(std::uint64_t value, std::uint8_t* to, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i)
        to[i] = static_cast<std::uint8_t>(value >> (8 * i));
}

int level_of(std::uint64_t levels, unsigned entry) {
    const std::uint64_t bits = levels >> (2 * entry);
    const int magnitude = (bits & 1) != 0 ? kernels::kSparseHigh : kernels::kSparseLow;
    return (bits & 2) != 0 ? -magnitude : magnitude;
}

std::uint32_t index_of(const std::uint8_t* bytes, unsigned entry) {
    const std::uint64_t group =
        little_endian(bytes + std::size_t{entry / kGroup} * kGroupBytes, kGroupBytes);
    return static_cast<std::uint32_t>(group >> (kIndexBits * (entry % kGroup))) & kIndexMask;
}

/// Of bytes that were checked.
SparseBlock read(const std::uint8_t* bytes) {
    SparseBlock block;
    const std::uint8_t head = bytes[kHeadAt];
    if (head == 0) return block;
    block.scale = (head >> 4) - 1;
    block.count = (head & 15) + 1;
    const std::uint64_t levels = little_endian(bytes + kLevelsAt, kHeadAt - kLevelsAt);
    for (unsigned group = 0; group < kKept / kGroup; ++group) {
        std::uint64_t indices =
            little_endian(bytes + std::size_t{group} * kGroupBytes, kGroupBytes);
        for (unsigned i = group * kGroup; i < (group + 1) * kGroup; ++i) {
            block.index[i] = static_cast<std::uint16_t>(indices & kIndexMask);
            block.level[i] = static_cast<std::int8_t>(level_of(levels, i));
            indices >>= kIndexBits;
        }
    }
    return block;
}

Error malformed(std::uint64_t block, const std::string& what) {
    return fail(ErrorCode::kMalformed,
                "block " + std::to_string(block) + " of a sparse code: " + what);
}

Status check_padding(const std::uint8_t* bytes, unsigned count, std::uint64_t block) {
    for (unsigned i = count; i < kKept; ++i)
        if (index_of(bytes, i) != 0)
            return malformed(block,
                             "entry " + std::to_string(i) + " is absent, but its index is not 0");
    const std::uint64_t levels = little_endian(bytes + kLevelsAt, kHeadAt - kLevelsAt);
    if (count < kKept && levels >> (2 * count) != 0)
        return malformed(block, "an absent entry has a level");
    return {};
}

Status check_block(const std::uint8_t* bytes, std::uint64_t block, std::uint64_t elements) {
    const std::uint8_t head = bytes[kHeadAt];
    if (head == 0) {
        if (std::any_of(bytes, bytes + kHeadAt, [](std::uint8_t byte) { return byte != 0; }))
            return malformed(block, "it has no entries, but other bytes than 0");
        return {};
    }
    if (head < 16)
        return malformed(block, "its scale is 0, which only a block without entries has");
    const unsigned count = (head & 15U) + 1;
    bool high = false;
    const std::uint64_t levels = little_endian(bytes + kLevelsAt, kHeadAt - kLevelsAt);
    for (unsigned i = 0; i < count; ++i) {
        const std::uint32_t index = index_of(bytes, i);
        if (index >= elements)
            return malformed(block, "index " + std::to_string(index) + " of " +
                                        std::to_string(elements) + " elements");
        if (i > 0 && index <= index_of(bytes, i - 1))
            return malformed(block,
                             "index " + std::to_string(index) + " is not above the one before it");
        high = high || (levels >> (2 * i) & 1) != 0;
    }
    if (!high && head >> 4 > 1)
        return malformed(block, "no entry is 6, so its scale could be smaller");
    return check_padding(bytes, count, block);
}

Status check_leaf_padding(ByteView bytes) {
    constexpr std::size_t kUsed = kSparseBlocksPerLeaf * kSparseBlockBytes;
    for (std::size_t leaf = 0; leaf + kSparseLeafBytes <= bytes.size(); leaf += kSparseLeafBytes) {
        const ByteView padding = bytes.subspan(leaf + kUsed, kSparseLeafBytes - kUsed);
        if (std::ranges::any_of(padding, [](std::uint8_t byte) { return byte != 0; }))
            return fail(ErrorCode::kMalformed, "the padding of leaf " +
                                                   std::to_string(leaf / kSparseLeafBytes) +
                                                   " of a sparse code is not 0");
    }
    return {};
}

}  // namespace

void write_sparse_block(const SparseBlock& block, std::uint8_t* to) {
    std::memset(to, 0, kSparseBlockBytes);
    if (block.count == 0) return;
    std::uint64_t levels = 0;
    std::uint64_t groups[kKept / kGroup] = {};
    for (unsigned i = 0; i < static_cast<unsigned>(block.count); ++i) {
        groups[i / kGroup] |= std::uint64_t{block.index[i]} << (kIndexBits * (i % kGroup));
        const bool high =
            block.level[i] == kernels::kSparseHigh || block.level[i] == -kernels::kSparseHigh;
        levels |= ((high ? 1ULL : 0ULL) | (block.level[i] < 0 ? 2ULL : 0ULL)) << (2 * i);
    }
    for (unsigned group = 0; group < kKept / kGroup; ++group)
        store_little_endian(groups[group], to + std::size_t{group} * kGroupBytes, kGroupBytes);
    store_little_endian(levels, to + kLevelsAt, kHeadAt - kLevelsAt);
    to[kHeadAt] = static_cast<std::uint8_t>(16 * (block.scale + 1) + block.count - 1);
}

Result<SparseCode> SparseCode::decode(const TensorGrid& tensor, ByteView bytes) {
    GYM_CHECK(check(tensor));
    const std::uint64_t expected = sparse_code_bytes(tensor.elements);
    if (bytes.size() != expected)
        return fail(ErrorCode::kMalformed, "a sparse code of " + std::to_string(tensor.elements) +
                                               " elements has " + std::to_string(expected) +
                                               " bytes, not " + std::to_string(bytes.size()));
    GYM_CHECK(check_leaf_padding(bytes));
    for (std::uint64_t b = 0; b < blocks_of(tensor.elements); ++b)
        GYM_CHECK(check_block(bytes.data() + sparse_block_offset(b), b,
                              block_elements(tensor.elements, b)));
    return SparseCode(tensor, bytes);
}

SparseBlock SparseCode::block(std::uint64_t block) const {
    GYM_ASSERT(block < blocks_of(tensor_.elements), "a block of the tensor");
    return read(bytes_.data() + sparse_block_offset(block));
}

std::uint64_t SparseCode::squared_norm() const {
    std::uint64_t sum = 0;
    for (std::uint64_t b = 0; b < blocks_of(tensor_.elements); ++b) {
        const SparseBlock entries = read(bytes_.data() + sparse_block_offset(b));
        std::uint64_t squares = 0;
        for (int i = 0; i < entries.count; ++i)
            squares += static_cast<std::uint64_t>(entries.level[i] * entries.level[i]);
        sum += squares << (2 * entries.scale);
    }
    return sum;
}

void SparseCode::add_to(std::span<std::int64_t> sums, std::int64_t weight,
                        std::uint64_t first) const {
    const std::uint64_t end = first + blocks_of(sums.size());
    GYM_ASSERT(end <= blocks_of(tensor_.elements) &&
                   (sums.size() % kBlock == 0 || first * kBlock + sums.size() == tensor_.elements),
               "sums are whole blocks of the tensor");
    for (std::uint64_t b = first; b < end; ++b) {
        const SparseBlock entries = read(bytes_.data() + sparse_block_offset(b));
        const std::int64_t unit = weight * (std::int64_t{1} << entries.scale);
        std::int64_t* const to = sums.data() + (b - first) * kBlock;
        for (int i = 0; i < entries.count; ++i)
            to[entries.index[i]] += entries.level[i] * unit;
    }
}

}  // namespace gym::codec
