#include "data/evaluation_file.hpp"

#include <utility>

#include "cli/inputs.hpp"
#include "gym/common/file.hpp"
#include "gym/common/yaml.hpp"
#include "gym/program/train_config_yaml.hpp"

namespace gym::app {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kModelBytesMax = 64 << 10;  // what the registry keeps

Result<fs::path> path_key(YamlMap& map, const fs::path& folder, std::string_view key) {
    GYM_TRY(const std::string text, map.string(key));
    if (text.empty()) return map.error_at(key, "must be a file");
    return folder / text;
}

Result<std::uint32_t> count_key(YamlMap& map, std::string_view key, std::uint32_t most) {
    GYM_TRY(const std::int64_t value, map.integer(key, 1, most));
    return static_cast<std::uint32_t>(value);
}

}  // namespace

Result<EvaluationFile> load_evaluation_file(const fs::path& path) {
    GYM_TRY(YamlMap map, YamlMap::load_file(path.string()));
    const fs::path folder = path.parent_path();
    EvaluationFile out;
    GYM_TRY(out.model, path_key(map, folder, "model"));
    GYM_TRY(const std::string seed, map.string("seed"));
    out.seed = parse_seed(seed);
    GYM_CHECK(map.read_integer("base_steps", 0, measure::kEvaluationStepsMax, out.base_steps));
    GYM_TRY(out.steps, count_key(map, "steps", measure::kEvaluationStepsMax));
    GYM_TRY(out.windows, count_key(map, "windows", measure::kEvaluationWindowsMax));
    GYM_TRY(out.reference, path_key(map, folder, "reference"));
    GYM_TRY(out.held_out, path_key(map, folder, "held_out"));
    GYM_TRY(const std::string salt, map.string("salt"));
    const auto parsed = Digest::parse(salt);
    if (!parsed.ok())
        return map.error_at("salt",
                            "must be 64 unpredictable hexadecimal digits, as "
                            "`openssl rand -hex 32` prints them");
    out.salt = *parsed;
    GYM_CHECK(map.finish());
    return out;
}

Result<OpenedEvaluation> open_evaluation(const fs::path& path) {
    GYM_TRY(const EvaluationFile file, load_evaluation_file(path));
    if (file.salt == Digest())
        return fail(ErrorCode::kInvalidArgument,
                    path.string() +
                        ": the salt is the example's, which everybody knows: `openssl rand -hex "
                        "32` prints one");
    GYM_TRY(const Bytes model, read_file(file.model, kModelBytesMax));
    std::string yaml(model.begin(), model.end());
    GYM_TRY(const auto config, program::parse_train_config(yaml, file.model.string()));
    GYM_TRY(blob::Dataset reference, read_dataset(file.reference.string()));
    GYM_TRY(blob::Dataset held_out, read_dataset(file.held_out.string()));
    auto evaluation = measure::Evaluation::create({.model = config,
                                                   .seed = file.seed,
                                                   .base_steps = file.base_steps,
                                                   .steps = file.steps,
                                                   .windows = file.windows,
                                                   .reference = std::move(reference),
                                                   .held_out = std::move(held_out),
                                                   .salt = file.salt});
    if (!evaluation.ok()) return evaluation.error().in(path.string());
    return OpenedEvaluation{*std::move(evaluation), std::move(yaml)};
}

}  // namespace gym::app
