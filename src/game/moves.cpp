#include "gym/game/moves.hpp"

#include <array>

#include "abi_structs.hpp"
#include "gym/crypto/keccak.hpp"

namespace gym::game {
namespace {

constexpr std::array<std::string_view, 10> kStages{"unit",   "steps",     "step",  "trace",
                                                   "state",  "gradients", "macro", "primitives",
                                                   "tensor", "chunks"};

struct MoveInfo {
    std::string_view name;
    bool answer = false;
    bool proof = false;
};
/// In the order of Move.
constexpr std::array<MoveInfo, std::variant_size_v<Move>> kMoves{{
    {"declareStates", true, false},  {"answerSteps", true, false},   {"openStep", true, false},
    {"answer", true, false},         {"openMacro", true, false},     {"openTensor", true, false},
    {"postChunk", true, false},      {"pick", false, false},         {"pickStep", false, false},
    {"pickDelta", false, false},     {"pickTree", false, false},     {"pickLeaf", false, false},
    {"pickPrimitive", false, false}, {"proveElement", false, true},  {"proveToken", false, true},
    {"proveDelta", false, true},     {"proveRecord", false, true},   {"proveInput", false, true},
    {"proveSlot", false, true},      {"proveGradient", false, true},
}};

/// keccak256(abi.encode(one)).
template <abi::Struct T>
Digest hash_struct(const T& one) {
    static const auto type = chain::AbiType::parse(abi::Type<T>::text());
    GYM_ASSERT(type.ok() && !type->is_dynamic(), "frames have a fixed size");
    const auto encoded = chain::abi_encode({*type}, {abi::Type<T>::value(one)});
    GYM_ASSERT(encoded.ok(), "a struct has the types of its members");
    return crypto::keccak256(*encoded);
}

}  // namespace

std::string_view to_string(Stage stage) noexcept {
    const auto index = static_cast<std::size_t>(stage) - 1;
    return index < kStages.size() ? kStages[index] : "unknown";
}

Digest hash_of(const Cursor& cursor) {
    return hash_struct(cursor);
}
Digest hash_of(const Facts& facts) {
    return hash_struct(facts);
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
