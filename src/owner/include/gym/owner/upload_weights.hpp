#pragma once

#include <filesystem>
#include <functional>

#include "gym/client/api_client.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/program/program.hpp"

namespace gym::owner {

struct WeightsUpload {
    std::filesystem::path weights;           ///< as interchange::load_weights() reads them
    client::UploadProgress progress = {};    ///< of the state's bytes; may be empty
    std::function<bool()> interrupted = {};  ///< asked between parts; empty: never
};

/// Reads weights of `program` from disk and uploads them as a state that jobs can begin from
/// (`init`). What gym-api has already is not sent again: a call after an error continues.
/// @param api with the key of the jobs' owner.
/// @return the state's root. @errors those of interchange::load_weights() and of
/// ApiClient::upload_blob(); kMismatch where gym-api finds another root; kCancelled.
[[nodiscard]] Result<Digest> upload_weights(const client::ApiClient& api,
                                            const program::Program& program,
                                            const WeightsUpload& upload);

}  // namespace gym::owner
