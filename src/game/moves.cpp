#include "gym/game/moves.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <tuple>
#include <type_traits>

#include "abi_codec.hpp"
#include "gym/crypto/keccak.hpp"

namespace gym::game {
namespace {

struct MoveInfo {
    std::string_view name;
    bool answer = false;
    bool proof = false;
};
/// In the order of Move.
constexpr std::array<MoveInfo, std::variant_size_v<Move>> kMoves{{
    {"declareStates", true, false},  {"answerSteps", true, false},
    {"openStep", true, false},       {"answer", true, false},
    {"openMacro", true, false},      {"openTensor", true, false},
    {"postChunk", true, false},      {"pick", false, false},
    {"pickStep", false, false},      {"pickDelta", false, false},
    {"pickTree", false, false},      {"pickLeaf", false, false},
    {"pickPrimitive", false, false}, {"proveElement", false, true},
    {"proveToken", false, true},     {"proveDelta", false, true},
    {"proveRecord", false, true},    {"proveInput", false, true},
    {"proveSlot", false, true},      {"proveGradient", false, true},
    {"declareOuter", true, false},   {"showIncluded", true, false},
    {"postColumn", true, false},     {"pickOuter", false, false},
    {"pickIncluded", false, false},  {"pickOuterTensor", false, false},
    {"pickElement", false, false},   {"proveColumn", false, true},
    {"proveOuter", false, true},     {"proveOuterSlot", false, true},
    {"proveSigner", false, true},    {"pickRow", false, false},
    {"postRow", true, false},        {"proveRow", false, true},
    {"proveUpdate", false, true},    {"pickPart", false, false},
    {"provePart", false, true},      {"showWithheld", true, false},
}};

/// abi.encode's form of a member of fixed size.
using Word = std::array<std::uint8_t, 32>;

Word word_of(const Digest& digest) {
    return digest.data;
}
Word word_of(std::unsigned_integral auto number) {
    Word word{};
    for (std::size_t i = 0; i < sizeof number; ++i)
        word[word.size() - 1 - i] = static_cast<std::uint8_t>(std::uint64_t{number} >> (8 * i));
    return word;
}
Word word_of(const Address& address) {
    Word word{};
    std::ranges::copy(address.data, word.end() - Address::kSize);
    return word;
}
template <class Number>
requires std::is_enum_v<Number> Word word_of(Number number) {
    return word_of(static_cast<std::underlying_type_t<Number>>(number));
}
Word word_of(const std::optional<dispute::Shape>& shape) {
    const auto number = abi::Type<std::optional<dispute::Shape>>::value(shape).amount();
    GYM_ASSERT(number.ok(), "a shape is a number");
    return number->to_be32();
}

/// keccak256(tag | abi.encode(one)), without the codec: every look at a game hashes its cursor.
template <abi::Struct T>
Digest hash_struct(const T& one, std::string_view tag = {}) {
    const auto words = std::apply(
        [](const auto&... member) {
            return std::array<Word, sizeof...(member)>{word_of(member)...};
        },
        abi::members(one));
    return crypto::keccak256({as_bytes(tag), ByteView(words.front().data(), sizeof words)});
}

}  // namespace

Digest hash_of(const Cursor& cursor) {
    return hash_struct(cursor);
}
Digest hash_of(const Facts& facts) {
    return hash_struct(facts);
}
Digest hash_of(const OuterFacts& facts) {
    return hash_struct(facts);
}
Digest hash_of(const DataRequest& request) {
    return hash_struct(request, "gym.data_request.v1");
}
Digest hash_of(const UnitFacts& facts) {
    return std::visit([](const auto& one) { return hash_of(one); }, facts);
}
Digest hash_of(const OuterFrame& frame) {
    return hash_struct(frame);
}
Digest hash_of(const StepFrame& frame) {
    return hash_struct(frame);
}
Digest hash_of(const OpFrame& frame) {
    return hash_struct(frame);
}

Digest steps_frame(const Digest& facts_hash, const Digest& states_root) {
    return crypto::keccak256({facts_hash.view(), states_root.view()});
}

std::string_view name_of(const Move& move) noexcept {
    return kMoves[move.index()].name;
}
bool is_answer(const Move& move) noexcept {
    return kMoves[move.index()].answer;
}
bool is_proof(const Move& move) noexcept {
    return kMoves[move.index()].proof;
}

}  // namespace gym::game
