#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gym/blob/dataset.hpp"
#include "gym/client/api_client.hpp"
#include "gym/common/result.hpp"
#include "gym/data/document_licences.hpp"
#include "gym/licence/licence.hpp"
#include "gym/owner/local_data.hpp"
#include "gym/tokenizer/tokenizer.hpp"

/// Data of this machine that is registered with a network.
namespace gym::owner {

struct DataPush {
    /// An empty licence: all of the documents' together.
    client::DatasetTerms terms = {};
    std::optional<registry::DatasetReference> reference = {};  ///< of which it is the next version
    /// The manifest and the tokenizer's files are looked for beside it; empty: nowhere.
    std::filesystem::path token_file = {};
    std::vector<tokenizer::TokenizerFile> tokenizer = {};  ///< in the place of those beside it
    /// Whether the manifest goes to the network, too: those who may see the dataset can read it.
    bool with_manifest = true;
    /// Bytes sent and in all, of what is sent in parts.
    client::UploadProgress progress = {};
};
struct PushedData {
    client::Answer<registry::Dataset> record;
    std::optional<client::Answer<registry::DatasetVersion>> version;
    bool has_tokenizer = false;  ///< its files were sent: exported models have them
};

/// Registers a dataset under a licence that its documents' licences permit
/// (data::licence_of_whole()), with the files of its tokenizer, and makes it the next version of a
/// name. The same again changes nothing; a manifest that was given before stays. @param api with a
/// key.
/// @errors those of data::licences_beside(), data::licence_of_whole(), find_bundle(),
/// make_bundle() and of gym-api; nothing is registered where licence or name are refused.
[[nodiscard]] Result<PushedData> push_data(const client::ApiClient& api,
                                           const blob::Dataset& dataset, const DataPush& push);

/// The same of tokens that are in `push.token_file`, or in memory. A large file is sent in parts:
/// never more than one is in memory, and what was cut continues.
[[nodiscard]] Result<PushedData> push_data(const client::ApiClient& api, const LocalTokens& tokens,
                                           const DataPush& push);

/// That the documents of the data `name` permit a job for `use` (data::forbidden_by_documents()):
/// what they forbid, no licence of the whole permits. @errors kConflict.
[[nodiscard]] Status check_documents(const std::string& name, const data::LicenceCounts& licences,
                                     licence::Use use);

}  // namespace gym::owner
