#include "gym/owner/push_data.hpp"

#include <utility>

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

/// @param enter DatasetTerms -> Result<client::Answer<registry::Dataset>>: registers the tokens.
template <class Enter>
Result<PushedData> push_as(const client::ApiClient& api, const Digest& root, const DataPush& push,
                           const Enter& enter) {
    client::DatasetTerms terms = push.terms;
    GYM_TRY(terms.licence, licence_for(root, push));
    if (push.reference) GYM_CHECK(api.check_dataset_name(*push.reference, root));
    GYM_TRY(auto record, enter(terms));
    PushedData out{std::move(record), {}, false};
    GYM_TRY(out.has_tokenizer, give_tokenizer(api, *out.record, push));
    if (!push.reference) return out;
    GYM_TRY(out.version, api.name_dataset(*push.reference, out.record->root));
    return out;
}

}  // namespace

Result<PushedData> push_data(const client::ApiClient& api, const blob::Dataset& dataset,
                             const DataPush& push) {
    return push_as(api, dataset.root(), push, [&](const client::DatasetTerms& terms) {
        return api.register_dataset(dataset, terms);
    });
}

Result<PushedData> push_token_file(const client::ApiClient& api, const Digest& root,
                                   const DataPush& push) {
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
