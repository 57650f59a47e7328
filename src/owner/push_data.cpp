#include "gym/owner/push_data.hpp"

#include <system_error>
#include <utility>

#include "gym/data/manifest.hpp"
#include "gym/tokenizer/bundle_file.hpp"

namespace gym::owner {
namespace {

Result<std::string> licence_for(const Digest& root, const DataPush& push) {
    data::LicenceCounts documents;
    if (!push.token_file.empty()) {
        GYM_TRY(documents, data::licences_beside(push.token_file, root));
    }
    auto licence = data::licence_of_whole(push.terms.licence, documents);
    if (!licence.ok()) return licence.error().in("licence");
    return licence;
}

/// @return whether there are any.
Result<bool> give_tokenizer(const client::ApiClient& api, const registry::Dataset& record,
                            const DataPush& push) {
    std::optional<Bytes> bundle;
    if (!push.tokenizer.empty()) {
        GYM_TRY(const auto made, tokenizer::make_bundle(push.tokenizer));
        bundle = tokenizer::encode_bundle(made);
    } else if (record.tokenizer && !push.token_file.empty()) {
        GYM_TRY(bundle, tokenizer::find_bundle(push.token_file, *record.tokenizer));
    }
    if (!bundle) return false;
    GYM_CHECK(api.give_tokenizer(record.root, *bundle));
    return true;
}

/// The record with the manifest beside the token file, if the network has none yet.
Status give_manifest(const client::ApiClient& api, const DataPush& push,
                     client::Answer<registry::Dataset>& record) {
    if (record->manifest || !push.with_manifest || push.token_file.empty()) return {};
    const auto path = data::manifest_path(push.token_file);
    std::error_code error;
    if (!std::filesystem::exists(path, error)) return {};
    if (const Status given = api.give_manifest(record->root, path, push.progress); !given.ok())
        return given.error().in("dataset " + record->root.hex() +
                                " is registered, its manifest is not; run the command again");
    GYM_TRY(auto now, api.dataset(record->root));
    if (now) record = *std::move(now);
    return {};
}

/// @param enter DatasetTerms -> Result<client::Answer<registry::Dataset>>: registers the tokens.
template <class Enter>
Result<PushedData> push_as(const client::ApiClient& api, const Digest& root, const DataPush& push,
                           const Enter& enter) {
    client::DatasetTerms terms = push.terms;
    GYM_TRY(terms.licence, licence_for(root, push));
    if (push.reference) GYM_CHECK(api.check_dataset_name(*push.reference, root));
    GYM_TRY(auto record, enter(terms));
    PushedData out{std::move(record), {}};
    GYM_TRY(out.has_tokenizer, give_tokenizer(api, *out.record, push));
    GYM_CHECK(give_manifest(api, push, out.record));
    if (!push.reference) return out;
    GYM_TRY(out.version, api.name_dataset(*push.reference, out.record->root));
    return out;
}

}  // namespace

Result<PushedData> push_data(const client::ApiClient& api, const blob::Dataset& dataset,
                             const DataPush& push) {
    return push_as(api, dataset.root(), push, [&](const client::DatasetTerms& terms) {
        return api.register_dataset(dataset, terms, push.progress);
    });
}

Result<PushedData> push_data(const client::ApiClient& api, const LocalTokens& tokens,
                             const DataPush& push) {
    if (tokens.of_text) return push_data(api, *tokens.of_text, push);
    const Digest& root = tokens.dataset.root;
    return push_as(api, root, push, [&](const client::DatasetTerms& terms) {
        return api.register_dataset(push.token_file, root, terms, push.progress);
    });
}

Status check_documents(const std::string& name, const data::LicenceCounts& licences,
                       licence::Use use) {
    const std::string why = data::forbidden_by_documents(licences, use);
    if (why.empty()) return {};
    return fail(ErrorCode::kConflict,
                name + ": " + why +
                    ": declare `use: non-commercial` (--use) if that permits it, or build without "
                    "these documents (`gym data build --licences`); if they are your own, register "
                    "the dataset and name its root");
}

}  // namespace gym::owner
