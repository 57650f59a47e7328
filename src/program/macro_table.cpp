#include <algorithm>
#include <array>

#include "gym/common/assert.hpp"
#include "macro.hpp"

namespace gym::program {
namespace {

// Pointers: constants of other files may not be copied before main().
constexpr std::array kMacros{
    &kRowSum,
    &kColumnSum,
    &kSumSquares,
    &kMatmul,
    &kLayernorm,
    &kLayernormGrad,
    &kGeluGrad,
    &kAttention,
    &kAttentionGrad,
    &kCrossEntropy,
    &kCrossEntropyGrad,
    &kEmbeddingGrad,
    &kAdamw,
    &kRmsnorm,
    &kRmsnormGrad,
    &kRope,
    &kRepeatHeads,
    &kRepeatHeadsGrad,
    &kSwiglu,
    &kSwigluGrad,
    &kSumTensors,
    &kAdamwGuarded,
    &kAttentionDocuments,
    &kAttentionDocumentsGrad,
};

}  // namespace

const Macro& macro_of(Opcode code) {
    const auto* const found = std::ranges::find(kMacros, code, &Macro::code);
    GYM_ASSERT(found != kMacros.end(), "a macro without an entry");
    return **found;
}

}  // namespace gym::program
