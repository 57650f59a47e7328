#include "gym/quality/evaluation_terms.hpp"

#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"

namespace gym::quality {

Digest held_out_commitment(const Digest& salt, const Digest& root) {
    commit::Encoder encoder;
    encoder.raw(as_bytes("GYMHELD1")).fixed(salt).fixed(root);
    return commit::sha256(encoder.view());
}

Digest evaluation_id(const EvaluationTerms& terms) {
    commit::Encoder encoder;
    encoder.raw(as_bytes("GYMUSEF1")).fixed(terms.program_root).fixed(terms.seed);
    encoder.u32(terms.vocabulary).u32(terms.base_steps).u32(terms.steps).u32(terms.windows);
    encoder.fixed(terms.reference_root).fixed(terms.held_out);
    return commit::sha256(encoder.view());
}

}  // namespace gym::quality
