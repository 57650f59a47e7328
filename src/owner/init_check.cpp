#include "gym/owner/init_check.hpp"

#include <algorithm>
#include <string>

#include "gym/blob/verified_blob.hpp"
#include "gym/common/memory.hpp"
#include "gym/engine/state_layout.hpp"
#include "gym/program/codec.hpp"

namespace gym::owner {
namespace {

/// The program that `piece` names, which has `bytes` bytes.
Result<program::Program> fetch_program(const client::ApiClient& api, client::ModelPiece piece,
                                       const Digest& blob, std::uint64_t bytes) {
    if (bytes > program::kProgramBytesMax)
        return fail(ErrorCode::kOutOfRange, "gym-api names a program of " + memory_text(bytes));
    piece.part = client::ModelPart::kProgram;
    std::string encoded;
    while (encoded.size() < bytes) {
        piece.offset = encoded.size();
        piece.size = std::min(client::kModelPieceBytesMax, bytes - piece.offset);
        GYM_TRY(const std::string part, api.model_piece(piece));
        encoded += part;
    }
    if (blob::blob_root(as_bytes(encoded)) != blob)
        return fail(ErrorCode::kMismatch,
                    "gym-api sent another program than the one that it names");
    return program::decode(as_bytes(encoded));
}

Status compare(const program::Program& needed, const program::Program& given) {
    return engine::check_layout(engine::parameter_layout(needed), engine::parameter_layout(given));
}

}  // namespace

Status check_job_weights(const client::ApiClient& api, const registry::InitialWeights& weights,
                         const program::Program& program) {
    GYM_TRY(const auto model, api.model(*weights.job, weights.round));
    client::ModelPiece piece;
    piece.job = model->job;
    piece.round = model->round;
    GYM_TRY(const auto given, fetch_program(api, piece, model->program.blob, model->program.bytes));
    return compare(program, given);
}

Status check_named_weights(const client::ApiClient& api, const registry::ModelVersion& model,
                           const program::Program& program) {
    client::ModelPiece piece;
    piece.named = registry::ModelReference{model.name, model.version};
    GYM_TRY(const auto given, fetch_program(api, piece, model.program.blob, model.program.bytes));
    return compare(program, given);
}

}  // namespace gym::owner
