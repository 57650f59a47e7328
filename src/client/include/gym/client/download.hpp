#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "gym/client/api_client.hpp"
#include "gym/common/result.hpp"

namespace gym::client {

struct DownloadOptions {
    std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};  ///< bytes
    std::function<bool()> interrupted = {};  ///< asked between pieces; empty: never
    std::uint64_t piece_bytes = kModelPieceBytesMax;
};

/// Something of a model.
struct WantedPart {
    Digest job;
    std::uint64_t round = 0;
    ModelPart part = ModelPart::kState;
    ModelBlob blob;
    std::optional<registry::ModelReference> named = {};  ///< in the place of job and round
};

/// Downloads a part of a model into `file`, piece by piece. Continues behind what `file`
/// already holds of it, and hashes everything on the way: on success, the file's bytes have the
/// root `blob`. What arrived before an error stays for the next call, unless it is wrong.
/// @errors those of ApiClient::model_piece(); kMismatch, with both roots, for other bytes, which
/// are removed; kIo (a full disk, for one); kCancelled.
Status download(const ApiClient& api, const WantedPart& wanted, const std::filesystem::path& file,
                const DownloadOptions& options = {});

}  // namespace gym::client
