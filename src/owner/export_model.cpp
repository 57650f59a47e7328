#include "gym/owner/export_model.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "gym/blob/dataset.hpp"
#include "gym/common/file.hpp"
#include "model_download.hpp"

namespace gym::owner {
namespace {

interchange::ModelFolder describe(const client::JobModel& model) {
    interchange::ModelFolder folder;
    folder.card.name = model.name;
    folder.card.job = model.job;
    folder.card.round = model.round;
    folder.card.rounds = std::max(model.rounds, model.round);
    for (const client::ModelData& data : model.datasets)
        folder.card.datasets.push_back({data.root, data.name, data.licence});
    if (!model.datasets.empty()) {
        const client::ModelData& data = model.datasets.front();
        folder.card.byte_data = !data.tokenizer && data.vocabulary == blob::kByteVocabulary;
    }
    for (const client::ModelLoss& loss : model.losses)
        folder.card.losses.push_back({loss.round, loss.validation_loss});
    return folder;
}

constexpr const char* kUnchecked =
    "Nobody checked what else than the tokenizer itself they say, such as a chat template.";

/// Who wrote the files, if it is not the job's owner.
std::optional<std::string> stranger(const client::JobModel& model, const client::ModelData& data) {
    if (data.tokenizer_owner == model.owner) return std::nullopt;
    return data.tokenizer_owner ? data.tokenizer_owner->hex() + ", who is not the job's owner"
                                : std::string("a party that gym-api does not name");
}

/// What an earlier export wrote there of these files: the folder is written anew. Files that were
/// changed since stay.
void remove_left_out(const std::filesystem::path& folder,
                     const std::vector<tokenizer::TokenizerFile>& files) {
    for (const tokenizer::TokenizerFile& file : files) {
        const auto there = read_file(folder / file.name, tokenizer::kTokenizerFileBytesMax);
        std::error_code ignored;
        if (there.ok() && *there == file.bytes)
            std::filesystem::remove(folder / file.name, ignored);
    }
}

/// Puts the files of the tokenizer that the job's data names, if anybody gave them, into `folder`,
/// checked against its root, and says in card and `warnings` whose they are.
Status fetch_tokenizer(const client::ApiClient& api, const client::JobModel& model,
                       const ExportRequest& request, interchange::ModelFolder& folder,
                       std::vector<std::string>& warnings) {
    if (model.datasets.empty() || !model.datasets.front().tokenizer) return {};
    const client::ModelData& data = model.datasets.front();
    GYM_TRY(const auto files, api.tokenizer_files(data.root));
    if (!files) return {};
    GYM_TRY(auto bundle, read_bundle_of(*files, *data.tokenizer, "dataset " + data.root.hex()));
    std::vector<std::string>& notes = folder.card.tokenizer_notes;
    notes = {"They came with the dataset `" + data.root.hex() + "`"};
    const auto author = stranger(model, data);
    notes.front() += ", from " + author.value_or("the job's owner") + ".";
    if (!author || request.all_tokenizer_files) {
        notes.emplace_back(kUnchecked);
        folder.tokenizer = named_files(std::move(bundle.files));
        return {};
    }
    GYM_TRY(auto covered, tokenizer::covered_files(bundle));
    remove_left_out(request.folder, bundle.files);
    notes.emplace_back(
        "Only the tokenizer itself was taken, and its configuration written anew; other files of "
        "that party, such as a chat template, were left out.");
    if (bundle.files.size() > 1)
        warnings.push_back("the data's tokenizer comes from " + *author +
                           ": of its files the tokenizer itself was taken, and others, such as a "
                           "chat template, were left out "
                           "(--all-tokenizer-files takes them, --tokenizer your own)");
    folder.tokenizer = named_files(std::move(covered));
    return {};
}

/// Of weights that the job did not train.
std::vector<std::string> warnings_about(const client::JobModel& model) {
    if (model.round != 0) return {};
    const std::string weights = "these are the weights that the job begins from";
    if (model.newest_round == 0)
        return {"no round of the job is trained yet: " + weights +
                ", not a result; export again after its first round (`gym job watch`)"};
    return {weights + ": no round of it has changed them, and the newest is round " +
            std::to_string(model.newest_round)};
}

std::uint64_t tokenizer_bytes(const ExportRequest& request, const client::JobModel& model) {
    std::uint64_t bytes = 0;
    for (const interchange::NamedFile& file : request.tokenizer)
        bytes += file.content.size();
    const bool is_fetched =
        bytes == 0 && !model.datasets.empty() && model.datasets.front().tokenizer;
    return is_fetched ? kTokenizerBytes : bytes;
}

}  // namespace

Result<Exported> export_model(const client::ApiClient& api, const ExportRequest& request) {
    GYM_CHECK(interchange::check_model_folder(request.folder));
    GYM_CHECK(interchange::check_no_other_job(request.folder, request.job));
    GYM_TRY(auto answer, api.model(request.job, request.round));
    Exported out;
    out.model = std::move(answer.value);
    out.warnings = warnings_about(out.model);
    const ModelSource source{out.model.job,     out.model.round, {},
                             out.model.program, out.model.state, out.model.mirrors};
    GYM_CHECK(check_space(request.folder, source, tokenizer_bytes(request, out.model)));
    GYM_CHECK(interchange::begin_model_folder(request.folder));
    GYM_TRY(const DownloadFolder parts, DownloadFolder::open(request.folder));
    GYM_TRY(const Downloaded downloaded,
            download_model(api, source, parts,
                           {request.progress, request.interrupted,
                            [&](const std::string& note) { out.warnings.push_back(note); }}));
    interchange::ModelFolder folder = describe(out.model);
    if (request.check) {
        auto checked = request.check(out.model, downloaded.roots);
        if (!checked.ok()) {
            // Right by gym-api's word and wrong by the chain's: the next call must not start there.
            if (checked.error().code == ErrorCode::kMismatch) parts.remove();
            return checked.error();
        }
        out.on_chain = true;
        out.checks.push_back(std::move(*checked));
    } else {
        out.checks.emplace_back(
            "the bytes have the roots that gym-api named; nothing was compared with a chain");
    }
    folder.card.checks = out.checks;
    folder.tokenizer = request.tokenizer;
    if (folder.tokenizer.empty())
        GYM_CHECK(fetch_tokenizer(api, out.model, request, folder, out.warnings));
    else
        folder.card.tokenizer_notes = {"They were given when the model was exported."};
    GYM_TRY(out.written, interchange::write_model_folder(request.folder, downloaded.program,
                                                         downloaded.state, folder));
    parts.remove();
    return out;
}

}  // namespace gym::owner
