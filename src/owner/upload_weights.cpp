#include "gym/owner/upload_weights.hpp"

#include <utility>

#include "gym/blob/verified_blob.hpp"
#include "gym/engine/state.hpp"
#include "gym/interchange/weights_file.hpp"

namespace gym::owner {
namespace {

/// `source`, until the upload is interrupted.
client::BlobSource interruptible(client::BlobSource source,
                                 const std::function<bool()>& interrupted) {
    if (!interrupted) return source;
    return {source.size_bytes,
            [read = std::move(source.read), &interrupted](std::uint64_t offset,
                                                          std::size_t size_bytes) -> Result<Bytes> {
                if (interrupted()) return fail(ErrorCode::kCancelled, "interrupted");
                return read(offset, size_bytes);
            }};
}

}  // namespace

Result<Digest> upload_weights(const client::ApiClient& api, const program::Program& program,
                              const WeightsUpload& upload) {
    GYM_TRY(const auto weights, interchange::load_weights(upload.weights, program));
    const Digest root = engine::state_root(weights.base);
    const Bytes bytes = engine::encode_state(weights.base);
    const auto source = interruptible(client::source_of(ByteView(bytes)), upload.interrupted);
    auto sent = api.upload_blob(blob::blob_root(bytes), source, upload.progress);
    if (!sent.ok()) {
        Error error = sent.error().in("uploading " + upload.weights.string());
        if (error.code == ErrorCode::kCancelled)
            error.message += "; the same command continues the upload";
        return error;
    }
    if ((*sent)->state_root == root) return root;
    return fail(ErrorCode::kMismatch,
                "gym-api found another root of the uploaded weights than " + root.hex());
}

}  // namespace gym::owner
