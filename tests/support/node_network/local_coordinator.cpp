#include "local_coordinator.hpp"

#include <algorithm>

#include "gym/blob/blob_store.hpp"

namespace gym::testing {

Status LocalCoordinator::get_blob(const Digest& root, std::uint64_t offset, const ChunkSink& sink) {
    GYM_TRY(const auto blob, handler_.open_blob(caller_, root));
    Bytes content(blob->size());
    GYM_CHECK(blob->read(0, content));
    if (offset > content.size()) return fail(ErrorCode::kOutOfRange, "offset beyond the blob");
    for (std::size_t at = offset; at < content.size(); at += chunk_bytes) {
        if (chunks_until_cut && (*chunks_until_cut)-- == 0) {
            chunks_until_cut.reset();
            return fail(ErrorCode::kUnavailable, "the connection broke");
        }
        const auto part = ByteView(content).subspan(at, std::min(chunk_bytes, content.size() - at));
        bytes_sent += part.size();
        GYM_CHECK(sink(part, content.size()));
    }
    return {};
}

Status LocalCoordinator::put_blob(const Digest& root, ByteView content) {
    GYM_TRY(const auto blob,
            blob::VerifiedBlob::check(root, Bytes(content.begin(), content.end())));
    GYM_CHECK(handler_.allow_upload(caller_, root, content.size()));
    return handler_.put_blob(caller_, blob);
}

}  // namespace gym::testing
