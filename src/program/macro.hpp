#pragma once

#include "backward.hpp"
#include "check.hpp"
#include "expander.hpp"

namespace gym::program {

/// Everything that the program module knows of a macro besides its row in the opcode table: to add
/// one is to add that row and an entry here (docs/MACROS.md, "Adding an op").
struct Macro {
    Opcode code;
    /// Shapes and dtypes; opcode table and validate.cpp have looked at arity and attributes.
    void (*check)(Check& c);
    /// The definition: primitives in order.
    void (*expand)(Expander& e, const Op& op);
    /// Writes the ops of the gradient, given the gradient `dy` of output 0; nullptr: has none.
    void (*differentiate)(Backward& b, const Op& op, SlotId dy) = nullptr;
};

/// `code` must be a macro.
[[nodiscard]] const Macro& macro_of(Opcode code);

// Shape rule, definition and gradient of each macro, together in macro_*.cpp.
extern const Macro kRowSum;
extern const Macro kColumnSum;
extern const Macro kSumSquares;
extern const Macro kMatmul;
extern const Macro kLayernorm;
extern const Macro kLayernormGrad;
extern const Macro kGeluGrad;
extern const Macro kAttention;
extern const Macro kAttentionGrad;
extern const Macro kCrossEntropy;
extern const Macro kCrossEntropyGrad;
extern const Macro kEmbeddingGrad;
extern const Macro kAdamw;
extern const Macro kRmsnorm;
extern const Macro kRmsnormGrad;
extern const Macro kRope;
extern const Macro kRepeatHeads;
extern const Macro kRepeatHeadsGrad;
extern const Macro kSwiglu;
extern const Macro kSwigluGrad;
extern const Macro kSumTensors;
extern const Macro kAdamwGuarded;
extern const Macro kAttentionDocuments;
extern const Macro kAttentionDocumentsGrad;

}  // namespace gym::program
