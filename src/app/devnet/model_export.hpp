#pragma once

#include <filesystem>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/devnet/layout.hpp"
#include "gym/devnet/report.hpp"
#include "gym/devnet/services.hpp"

namespace gym::devnet {

struct ModelExport {
    std::filesystem::path folder;    ///< to write
    std::filesystem::path examples;  ///< with the scripts that compare logits
};

/// The job's owner takes the model away: `gym job export`, then a text and logits from the folder
/// alone, which other software computes again.
/// @errors kInternal with the output of a command that failed.
[[nodiscard]] Result<ExportedModel> export_model(const Layout& layout, const Programs& programs,
                                                 const Digest& job_id, const ModelExport& wanted);

}  // namespace gym::devnet
