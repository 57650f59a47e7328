#include "gym/devnet/demo.hpp"

#include <chrono>

#include "gym/common/clock.hpp"
#include "gym/common/file.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/devnet/infrastructure.hpp"
#include "gym/devnet/progress.hpp"
#include "job.hpp"
#include "measurement.hpp"
#include "model_export.hpp"

namespace gym::devnet {
namespace {

const char* const kDepositTokens = "1000";
/// Of a million tokens of the text, times its quality.
const char* const kDataPriceTokens = "0.1";

/// Claims, then waits for the verdict on the cheat, then reads everything back.
Result<Report> end_demo(const DemoOptions& options, const Layout& layout,
                        const contracts::Deployment& deployment, db::Database& database,
                        const Digest& job_id, const Announce& announce) {
    const WaitLimits limits{.timeout_s = options.timeout_s,
                            .interrupted = options.network.interrupted};
    announce("settling: waiting for the last payout root, then claiming");
    GYM_CHECK(settle_and_claim(layout, deployment, database, limits));
    GYM_TRY(const auto reader, open_account(layout, kDeployer));
    ReportSources sources{.database = database,
                          .chain = reader->client(),
                          .deployment = deployment,
                          .blobs = layout.blobs(),
                          .job_id = job_id};
    GYM_TRY(sources.verifier, holder_address(layout, kVerifier));
    for (const std::string& name : layout.worker_names()) {
        GYM_TRY(const Address address, holder_address(layout, name));
        sources.workers.emplace(address, name);
        if (!options.network.cheating_worker.empty() && name == layout.worker_names().back())
            sources.cheater = address;
    }
    if (sources.cheater != Address()) {
        announce("waiting until the cheat's stake is taken on chain");
        GYM_CHECK(wait_for_slash(sources, limits));
    }
    return collect_report(sources);
}

/// The network's evaluation comes first, so that it cannot have been made for the text.
Result<Digest> offer_text(const DemoOptions& options, const Layout& layout,
                          db::Database& database) {
    const Programs& programs = options.network.programs;
    GYM_TRY(const TextParts parts, cut_text(options.text));
    GYM_CHECK(register_text(layout, programs,
                            {.holder = kJobOwner,
                             .name = "reference of the evaluation",
                             .licence = options.licence,
                             .text = parts.reference}));
    GYM_CHECK(publish_evaluation(layout, programs, parts));
    GYM_TRY(const Digest dataset, register_text(layout, programs,
                                                {.holder = kProvider,
                                                 .name = "demo text",
                                                 .licence = options.licence,
                                                 .price_tokens = kDataPriceTokens,
                                                 .text = parts.offered}));
    GYM_CHECK(measure_offered(layout, programs, dataset, parts, database));
    return dataset;
}

}  // namespace

Status check_inputs(const DemoOptions& options) {
    const auto parts = cut_text(options.text);
    if (!parts.ok()) return parts.error().in("--text");
    const auto job = read_file(options.job_file);
    if (!job.ok()) return job.error().in("--job");
    return {};
}

Result<Report> run_demo(const DemoOptions& options, const Announce& announce) {
    const auto started = std::chrono::steady_clock::now();
    GYM_TRY(const Layout layout, network_up(options.network, announce));
    GYM_TRY(const auto database, open_database(layout));
    GYM_TRY(const contracts::Deployment deployment,
            contracts::load_deployment(layout.deployment()));
    GYM_TRY(const Amount deposit, Amount::parse_tokens(kDepositTokens));
    const WaitLimits limits{.timeout_s = options.timeout_s,
                            .interrupted = options.network.interrupted};
    announce("depositing the job's budget on chain");
    GYM_CHECK(fund_owner(layout, deployment, *database, deposit));
    announce("registering the text as its provider and measuring how useful it is");
    GYM_TRY(const Digest dataset, offer_text(options, layout, *database));
    announce("submitting the job");
    GYM_TRY(const Digest job_id,
            submit_job(layout, options.network.programs, dataset, options.job_file));
    announce("training: job " + job_id.hex());
    GYM_CHECK(watch_job(*database, job_id, limits));
    if (!options.network.cheating_worker.empty()) {
        GYM_TRY(const JobProgress ended, read_progress(*database, job_id, SystemClock().now_ms()));
        GYM_CHECK(check_cheat_proven(ended));
    }
    std::optional<ExportedModel> model;
    if (!options.model_folder.empty()) {
        announce("exporting the trained model to " + options.model_folder.string());
        GYM_TRY(model, export_model(layout, options.network.programs, job_id,
                                    {options.model_folder, options.examples}));
    }
    GYM_TRY(Report report, end_demo(options, layout, deployment, *database, job_id, announce));
    report.model = std::move(model);
    const auto wall = std::chrono::steady_clock::now() - started;
    report.wall_s =
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(wall).count());
    return report;
}

}  // namespace gym::devnet
