#include "gym/engine/parameter_ranges.hpp"

#include <algorithm>
#include <utility>

#include "gym/codec/row_layout.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/common/assert.hpp"

namespace gym::engine {
namespace {

constexpr std::uint64_t kChunkElements = commit::kChunkBytes / sizeof(float);
static_assert(kChunkElements % codec::kRowElements == 0, "a chunk of f32 is whole rows");
static_assert(codec::kChunkOfRowsBytes == commit::kChunkBytes);

std::uint64_t chunks_of_elements(std::uint64_t elements) {
    return (elements + kChunkElements - 1) / kChunkElements;
}

/// floor(whole * k / of), which whole * k need not fit.
std::uint64_t share(std::uint64_t whole, std::uint64_t k, std::uint64_t of) {
    return whole / of * k + whole % of * k / of;
}

}  // namespace

ParameterRanges::ParameterRanges(std::vector<std::uint64_t> elements, std::uint64_t count)
    : elements_(std::move(elements)) {
    GYM_ASSERT(count > 0, "there is a range");
    std::uint64_t begin = 0, row = 1;  // row 0 is the head
    for (const std::uint64_t here : elements_) {
        begins_.push_back(begin);
        rows_.push_back(row);
        begin += here;
        row += codec::rows_of(here);
    }
    rows_.push_back(row);
    cuts_.push_back({0, 0});
    for (std::uint64_t k = 1; k < count; ++k)
        cuts_.push_back(cut_behind(share(begin, k, count)));
    cuts_.push_back({elements_.size(), 0});
}

ParameterRanges ParameterRanges::of(const program::Program& train, std::uint64_t count) {
    std::vector<std::uint64_t> elements;
    for (const program::SlotId id : train.slots_of(program::SlotKind::kParam))
        elements.push_back(program::element_count(train.slot(id).dims));
    return {std::move(elements), count};
}

ParameterRanges::Cut ParameterRanges::cut_behind(std::uint64_t first) const {
    constexpr std::uint64_t kChunkRows = kChunkElements / codec::kRowElements;
    if (elements_.empty()) return {};
    const auto next = std::ranges::upper_bound(begins_, first);
    GYM_ASSERT(next != begins_.begin(), "the first parameter begins with element 0");
    auto parameter = static_cast<std::size_t>(next - begins_.begin()) - 1;
    std::uint64_t element = first - begins_[parameter];
    for (; parameter < elements_.size(); ++parameter, element = 0) {
        // One of 31 chunks in a row begins with a chunk of rows: 4 and 31 have no common divisor.
        std::uint64_t chunk = chunks_of_elements(element);
        while (chunk * kChunkElements < elements_[parameter] &&
               (rows_[parameter] + chunk * kChunkRows) % codec::kRowsOfChunk != 0)
            ++chunk;
        if (chunk * kChunkElements < elements_[parameter])
            return {parameter, chunk * kChunkElements};
    }
    return {elements_.size(), 0};
}

std::vector<ParameterPart> ParameterRanges::parts(std::size_t range) const {
    GYM_ASSERT(range < size(), "a range");
    const Cut &begin = cuts_[range], &end = cuts_[range + 1];
    std::vector<ParameterPart> out;
    for (std::size_t i = begin.parameter; i < elements_.size() && i <= end.parameter; ++i) {
        const std::uint64_t first = i == begin.parameter ? begin.element : 0;
        const std::uint64_t last = i == end.parameter ? end.element : elements_[i];
        if (last > first) out.push_back({i, first, last - first});
    }
    return out;
}

std::uint64_t ParameterRanges::chunk_of(const Cut& cut) const {
    if (cut.parameter == elements_.size()) return update_chunks();
    if (cut.parameter == 0 && cut.element == 0) return 0;
    return (rows_[cut.parameter] + cut.element / codec::kRowElements) / codec::kRowsOfChunk;
}

ChunkSpan ParameterRanges::update_chunks(std::size_t range) const {
    GYM_ASSERT(range < size(), "a range");
    const std::uint64_t first = chunk_of(cuts_[range]);
    return {first, chunk_of(cuts_[range + 1]) - first};
}

std::uint64_t ParameterRanges::tensor_chunks(std::size_t parameter) const {
    return chunks_of_elements(elements_[parameter]);
}

std::uint64_t ParameterRanges::update_chunks() const {
    return (rows_.back() + codec::kRowsOfChunk - 1) / codec::kRowsOfChunk;
}

ChunkSpan chunks_of(const ParameterPart& part) {
    GYM_ASSERT(part.first % kChunkElements == 0, "a range begins with a chunk");
    return {part.first / kChunkElements, chunks_of_elements(part.count)};
}

}  // namespace gym::engine
