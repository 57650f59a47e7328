#include "gym/owner/export_model.hpp"

#include <utility>

#include "model_download.hpp"

namespace gym::owner {
namespace {

interchange::ModelFolder describe(const client::JobModel& model) {
    interchange::ModelFolder folder;
    folder.card.name = model.name;
    folder.card.job = model.job;
    folder.card.round = model.round;
    folder.card.rounds = model.rounds;
    for (const client::ModelData& data : model.datasets)
        folder.card.datasets.push_back({data.root, data.name, data.licence});
    for (const client::ModelLoss& loss : model.losses)
        folder.card.losses.push_back({loss.round, loss.validation_loss});
    return folder;
}

/// The files of the tokenizer that the job's data names, checked against its root; none if nobody
/// gave them.
Result<std::vector<interchange::NamedFile>> fetch_tokenizer(const client::ApiClient& api,
                                                            const client::JobModel& model) {
    std::vector<interchange::NamedFile> out;
    if (model.datasets.empty() || !model.datasets.front().tokenizer) return out;
    const client::ModelData& data = model.datasets.front();
    GYM_TRY(const auto files, api.tokenizer_files(data.root));
    if (!files) return out;
    return files_of_bundle(*files, *data.tokenizer, "dataset " + data.root.hex());
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
    const ModelSource source{
        out.model.job, out.model.round, {}, out.model.program, out.model.state};
    GYM_CHECK(check_space(request.folder, source, tokenizer_bytes(request, out.model)));
    GYM_CHECK(interchange::begin_model_folder(request.folder));
    GYM_TRY(const DownloadFolder parts, DownloadFolder::open(request.folder));
    GYM_TRY(const Downloaded downloaded,
            download_model(api, source, parts, {request.progress, request.interrupted}));
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
    if (folder.tokenizer.empty()) {
        GYM_TRY(folder.tokenizer, fetch_tokenizer(api, out.model));
    }
    GYM_TRY(out.written, interchange::write_model_folder(request.folder, downloaded.program,
                                                         downloaded.state, folder));
    parts.remove();
    return out;
}

}  // namespace gym::owner
