#include "measurement.hpp"

#include <fmt/format.h>

#include "gym/commit/sha256.hpp"
#include "gym/common/file.hpp"
#include "gym/common/subprocess.hpp"
#include "gym/devnet/infrastructure.hpp"
#include "gym/registry/datasets.hpp"

namespace gym::devnet {
namespace {

namespace fs = std::filesystem;

/// One part of so many is the reference, another one is held out.
constexpr std::size_t kPartsOfText = 50;
constexpr std::size_t kTextBytesMin = 100'000;
constexpr int kMeasureTimeoutMs = 120'000;

/// A second of work: examples/gpt-nano.yaml with a short schedule.
constexpr const char* kModel =
    "batch: 4\n"
    "model: {vocabulary: 256, context: 64, layers: 2, heads: 3, width: 48, init_std: 0.05}\n"
    "optimizer: {learning_rate: 4.0e-3, warmup_steps: 10, total_steps: 160}\n";

fs::path evaluation_file(const Layout& layout) {
    return layout.secrets() / "evaluation.yaml";
}

/// The operator's file and what it names, next to the other secrets.
Status write_evaluation(const Layout& layout, const TextParts& parts) {
    GYM_TRY(const std::string salt, ensure_secret(layout.secrets() / "evaluation-salt"));
    const std::string yaml = fmt::format(
        "model: evaluation-model.yaml\nseed: demo\nbase_steps: 80\nsteps: 80\nwindows: 64\n"
        "reference: reference.txt\nheld_out: held-out.txt\nsalt: \"{}\"\n",
        commit::sha256(as_bytes(salt)).hex());
    const auto write = [&](const char* name, ByteView content) {
        return write_file_atomic(layout.secrets() / name, content, 0600);
    };
    GYM_CHECK(write("evaluation-model.yaml", as_bytes(std::string_view(kModel))));
    GYM_CHECK(write("reference.txt", parts.reference));
    GYM_CHECK(write("held-out.txt", parts.held_out));
    return write("evaluation.yaml", as_bytes(yaml));
}

/// Runs `gym` with the rights of gym_evaluator.
Status run_as_evaluator(const Layout& layout, const Programs& programs,
                        std::vector<std::string> words) {
    GYM_TRY(const db::ConnectionConfig access, database_access(layout));
    const std::string user = kDbEvaluator;
    GYM_TRY(const std::string password, ensure_secret(layout.secrets() / ("db-" + user)));
    SubprocessOptions command;
    command.argv = {programs.path("gym")};
    command.argv.insert(command.argv.end(), words.begin(), words.end());
    command.env = {{"PGHOST", access.host},
                   {"PGPORT", std::to_string(access.port)},
                   {"PGDATABASE", kDatabase},
                   {"PGUSER", user},
                   {"PGPASSWORD", password}};
    const auto output = run_command(command, kMeasureTimeoutMs);
    if (!output.ok()) return output.error().in("gym " + words[0] + " " + words[1]);
    return {};
}

}  // namespace

Result<TextParts> cut_text(const fs::path& text) {
    GYM_TRY(const Bytes all, read_file(text));
    if (all.size() < kTextBytesMin)
        return fail(ErrorCode::kInvalidArgument,
                    text.string() + " has " + std::to_string(all.size()) +
                        " bytes; with less than " + std::to_string(kTextBytesMin) +
                        " nothing is left to measure it with");
    const ByteView view(all);
    const std::size_t part = all.size() / kPartsOfText;
    const auto copy = [](ByteView bytes) { return Bytes(bytes.begin(), bytes.end()); };
    return TextParts{copy(view.first(all.size() - 2 * part)),
                     copy(view.subspan(all.size() - 2 * part, part)), copy(view.last(part))};
}

Status publish_evaluation(const Layout& layout, const Programs& programs, const TextParts& parts) {
    GYM_CHECK(write_evaluation(layout, parts));
    return run_as_evaluator(layout, programs,
                            {"operator", "publish-evaluation", evaluation_file(layout).string()});
}

Status measure_offered(const Layout& layout, const Programs& programs, const Digest& dataset,
                       const TextParts& parts, db::Database& database) {
    GYM_TRY(const registry::Dataset stored, database.transact([&](db::Transaction& tx) {
        return registry::get_dataset(tx, dataset);
    }));
    if (stored.measurement) return {};
    const fs::path offered = layout.config() / "offered.txt";
    GYM_CHECK(write_file_atomic(offered, parts.offered));
    return run_as_evaluator(layout, programs,
                            {"data", "measure", offered.string(), "--evaluation",
                             evaluation_file(layout).string(), "--record"});
}

}  // namespace gym::devnet
