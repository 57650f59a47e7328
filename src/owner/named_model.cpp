#include "gym/owner/named_model.hpp"

#include <system_error>
#include <utility>

#include "gym/blob/verified_blob.hpp"
#include "gym/common/file.hpp"
#include "gym/owner/upload_weights.hpp"
#include "gym/program/codec.hpp"
#include "gym/tokenizer/bundle.hpp"
#include "model_download.hpp"

namespace gym::owner {
namespace {

namespace fs = std::filesystem;

Result<Digest> upload(const client::ApiClient& api, ByteView bytes) {
    const Digest root = blob::blob_root(bytes);
    GYM_TRY([[maybe_unused]] const auto sent, api.upload_blob(root, client::source_of(bytes)));
    return root;
}

Result<Bytes> bundle_of(const std::vector<interchange::NamedFile>& files) {
    std::vector<tokenizer::TokenizerFile> out;
    out.reserve(files.size());
    for (const interchange::NamedFile& file : files)
        out.push_back({file.name, file.content});
    GYM_TRY(const auto bundle, tokenizer::make_bundle(std::move(out)));
    return tokenizer::encode_bundle(bundle);
}

/// The files of the model's tokenizer; none if nobody gave them.
Result<std::vector<interchange::NamedFile>> fetch_tokenizer(const client::ApiClient& api,
                                                            const registry::ModelVersion& model) {
    if (!model.tokenizer || !model.tokenizer_blob) return std::vector<interchange::NamedFile>();
    GYM_TRY(const std::string files, api.model_tokenizer({model.name, model.version}));
    GYM_TRY(auto bundle, read_bundle_of(as_bytes(files), *model.tokenizer, "model " + model.name));
    return named_files(std::move(bundle.files));
}

interchange::ModelFolder describe(const registry::ModelVersion& model) {
    interchange::ModelFolder out;
    out.card.name = model.name + "@" + std::to_string(model.version);
    out.card.job = model.job;
    out.card.round = model.round;
    out.card.tokenizer_notes = {
        "They were registered with the model, whose owner is `" + model.owner.hex() + "`" +
            (model.job ? ", as they came with the data of the job that trained it." : "."),
        "Nobody checked what else than the tokenizer itself they say, such as a chat template."};
    out.card.checks.emplace_back(
        "the bytes have the roots that gym-api named; nothing was compared with a chain");
    return out;
}

/// Whether `folder` has this version, whole and unchanged.
Result<bool> holds(const fs::path& folder, const registry::ModelVersion& model) {
    std::error_code ignored;
    if (!fs::exists(folder, ignored)) return false;
    const auto read = interchange::read_model_folder(folder);
    if (read.ok())
        return read->program_root == model.program.root && read->state_root == model.state.root;
    const ErrorCode code = read.error().code;
    if (code == ErrorCode::kNotFound || code == ErrorCode::kConflict) return false;  // not finished
    return read.error();
}

}  // namespace

Result<client::Answer<registry::ModelVersion>> push_model(const client::ApiClient& api,
                                                          const program::Program& program,
                                                          const ModelPush& push) {
    GYM_CHECK(api.check_confidential(push.access ? push.access->visibility
                                                 : registry::default_visibility(push.licence)));
    client::ModelTerms terms{.licence = push.licence};
    terms.access = push.access;
    if (!push.tokenizer.empty()) {
        GYM_TRY(const Bytes bundle, bundle_of(push.tokenizer));
        GYM_TRY(terms.tokenizer, upload(api, bundle));
    }
    GYM_TRY(terms.state,
            upload_weights(api, program, {push.weights, push.progress, push.interrupted}));
    const Bytes encoded = program::encode(program);
    GYM_TRY(terms.program, upload(api, encoded));
    return api.name_model(push.reference, terms);
}

Result<Pulled> pull_model(const client::ApiClient& api, const ModelPull& pull) {
    GYM_CHECK(interchange::check_model_folder(pull.folder));
    GYM_TRY(auto answer, api.model_version(pull.reference));
    Pulled out;
    out.model = std::move(answer.value);
    const registry::ModelVersion& model = out.model;
    const auto blob_of = [](const registry::ModelBlobRef& one) {
        return client::ModelBlob{one.root, one.blob, one.bytes};
    };
    const ModelSource source{.named = registry::ModelReference{model.name, model.version},
                             .program = blob_of(model.program),
                             .state = blob_of(model.state)};
    GYM_CHECK(check_space(pull.folder, source, model.tokenizer_blob ? kTokenizerBytes : 0));
    GYM_CHECK(interchange::begin_model_folder(pull.folder));
    GYM_TRY(const DownloadFolder parts, DownloadFolder::open(pull.folder));
    GYM_TRY(const Downloaded downloaded,
            download_model(api, source, parts, {pull.progress, pull.interrupted}));
    interchange::ModelFolder folder = describe(model);
    GYM_TRY(folder.tokenizer, fetch_tokenizer(api, model));
    GYM_TRY(out.written, interchange::write_model_folder(pull.folder, downloaded.program,
                                                         downloaded.state, folder));
    parts.remove();
    return out;
}

Result<CachedModel> cached_model(const client::ApiClient& api, const fs::path& home,
                                 ModelPull pull) {
    GYM_TRY(auto answer, api.model_version(pull.reference));
    CachedModel out;
    out.model = std::move(answer.value);
    pull.reference = {out.model.name, out.model.version};
    // The root is in the name: another network may have other weights under it.
    pull.folder = home / (out.model.name + "-" + std::to_string(out.model.version) + "-" +
                          out.model.state.root.hex().substr(2, 8));
    out.folder = pull.folder;
    GYM_TRY(const bool there, holds(pull.folder, out.model));
    if (!there) GYM_CHECK(pull_model(api, pull));
    return out;
}

}  // namespace gym::owner
