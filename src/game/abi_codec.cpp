#include "abi_codec.hpp"

#include <algorithm>

namespace gym::game::abi {
namespace {

// Bytes of a shape's word, from the left.
constexpr std::size_t kDtypeAt = 10;
constexpr std::size_t kRankAt = 11;
constexpr std::size_t kDimsAt = 12;
constexpr std::size_t kDimBytes = 4;

using Word = std::array<std::uint8_t, 32>;

Error malformed(const char* what) {
    return fail(ErrorCode::kMalformed, std::string("a move: ") + what);
}

std::uint32_t dim_at(const Word& word, std::size_t k) {
    std::uint32_t dim = 0;
    for (std::size_t i = 0; i < kDimBytes; ++i)
        dim = dim << 8 | word[kDimsAt + kDimBytes * k + i];
    return dim;
}

void put_dim(Word& word, std::size_t k, std::uint32_t dim) {
    for (std::size_t i = kDimBytes; i > 0; --i, dim >>= 8)
        word[kDimsAt + kDimBytes * k + i - 1] = static_cast<std::uint8_t>(dim);
}

/// Dims of 32 bits, but the only one of a delta has 64: its upper half lies where others have their
/// second dim, which a small delta's word leaves 0.
std::vector<std::uint64_t> dims_of(const Word& word, std::size_t rank) {
    if (rank == 1) return {std::uint64_t{dim_at(word, 1)} << 32 | dim_at(word, 0)};
    std::vector<std::uint64_t> dims;
    for (std::size_t k = 0; k < rank; ++k)
        dims.push_back(dim_at(word, k));
    return dims;
}

}  // namespace

chain::AbiSignature parsed_signature(const char* text) {
    auto signature = chain::AbiSignature::parse(text);
    GYM_ASSERT(signature.ok(), "a signature");
    return std::move(signature).value();
}

Status check_selector(const chain::AbiSignature& signature, ByteView calldata) {
    const auto selector = signature.selector();
    if (calldata.size() >= kSelectorBytes &&
        std::equal(selector.begin(), selector.end(), calldata.begin()))
        return {};
    return fail(ErrorCode::kNotFound, "the call is not " + signature.name + "()");
}

Status Type<Stage>::read(const chain::AbiValue& from, Stage& to) {
    GYM_TRY(const std::uint64_t number, from.u64());
    if (number < static_cast<std::uint64_t>(Stage::kUnit) ||
        number > static_cast<std::uint64_t>(Stage::kPart))
        return malformed("no stage has this number");
    to = static_cast<Stage>(number);
    return {};
}

chain::AbiValue Type<std::optional<dispute::Shape>>::value(
    const std::optional<dispute::Shape>& shape) {
    Word word{};
    if (!shape) return Amount();
    const std::vector<std::uint64_t>& dims = shape->dims;
    word[kDtypeAt] = static_cast<std::uint8_t>(shape->dtype);
    word[kRankAt] = static_cast<std::uint8_t>(dims.size());
    for (std::size_t k = 0; k < dims.size() && k < program::kRankMax; ++k)
        put_dim(word, k, static_cast<std::uint32_t>(dims[k]));
    if (dims.size() == 1) put_dim(word, 1, static_cast<std::uint32_t>(dims[0] >> 32));
    return Amount::from_be32(word);
}

Status Type<std::optional<dispute::Shape>>::read(const chain::AbiValue& from,
                                                 std::optional<dispute::Shape>& to) {
    GYM_TRY(const Amount number, from.amount());
    to.reset();
    if (number.is_zero()) return {};
    const auto word = number.to_be32();
    dispute::Shape shape;
    GYM_TRY(shape.dtype, commit::dtype_from(word[kDtypeAt]));
    const std::size_t rank = word[kRankAt];
    if (rank == 0 || rank > program::kRankMax) return malformed("a shape's rank");
    shape.dims = dims_of(word, rank);
    const bool delta = rank == 1 && shape.dtype == program::DType::kU8;
    const std::uint64_t most = delta ? dispute::kDeltaBytesMax : program::kSlotElementsMax;
    std::uint64_t count = 1;
    for (const std::uint64_t dim : shape.dims) {
        if (dim == 0 || dim > most / count)
            return malformed("a tensor of no elements, or too many");
        count *= dim;
    }
    // One shape has one word.
    if (value(shape) != chain::AbiValue(number)) return malformed("a shape with more in its word");
    to = std::move(shape);
    return {};
}

}  // namespace gym::game::abi
