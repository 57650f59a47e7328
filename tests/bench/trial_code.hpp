// Candidates for codecs, in f32 and without a byte form: what learning they allow is measured
// before anything is defined exactly (kernels/delta_code.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gym::bench {

struct TrialCode {
    enum class Form {
        kTop,  ///< the `number` largest magnitudes of each 1,024, unrounded
        kSign  ///< signs, and a mean magnitude for each 64; a span has its turn every `number`
               ///< rounds
    };
    Form form = Form::kSign;
    std::uint32_t number = 1;

    [[nodiscard]] std::string text() const;  ///< as parse_trial_code() reads it
    /// Of a byte form, each element: kTop 12 a sent one (index and level), kSign 1 and 8 a span.
    [[nodiscard]] double bits() const;
};

/// "top-K" (K of 1,024) or "sign-N" (N rounds a turn); nothing else.
[[nodiscard]] std::optional<TrialCode> parse_trial_code(const std::string& text);

/// What the receiver decodes of a tensor in this round. `y` keeps what was not sent: the residual.
[[nodiscard]] std::vector<float> send(const TrialCode& code, std::uint64_t round,
                                      std::span<float> y);

}  // namespace gym::bench
