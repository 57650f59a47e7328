#include "job/job_mix.hpp"

#include <cmath>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "cli/cli_context.hpp"
#include "cli/find_id.hpp"
#include "cli/inputs.hpp"
#include "cli/rows.hpp"
#include "data/pull_command.hpp"
#include "gym/blob/dataset_writer.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/common/file.hpp"
#include "gym/common/ppm.hpp"
#include "gym/common/yaml_list.hpp"
#include "gym/common/yaml_text.hpp"
#include "gym/data/manifest.hpp"
#include "gym/data/mix.hpp"
#include "gym/licence/licence.hpp"
#include "gym/plan/draft.hpp"
#include "gym/registry/job_spec.hpp"

namespace gym::app {
namespace {

namespace fs = std::filesystem;

using plan::kDataKey;
constexpr const char* kDatasetKey = "dataset";
constexpr double kWeightMin = 1e-6, kWeightMax = 100;
constexpr std::size_t kNameDigits = 16;

/// An entry of `data`.
struct Part {
    std::string dataset;  ///< a file, a root or a name
    std::uint64_t weight_ppm = 0;
};

Result<std::vector<Part>> parts_of(const JobText& job) {
    GYM_TRY(auto map, YamlMap::parse(job.text.text(), job.text.origin()));
    if (map.has(kDatasetKey))
        return map.error_at(kDataKey, "and 'dataset' are both there: a job has one of them");
    GYM_TRY(auto entries, list_of_maps(job.text.text(), job.text.origin(), kDataKey));
    if (entries.size() < 2 || entries.size() > data::kMixInputsMax)
        return map.error_at(kDataKey, "must list 2 to " + std::to_string(data::kMixInputsMax) +
                                          " datasets, like [{dataset: NAME, weight: 0.7}, "
                                          "{dataset: 0x..., weight: 0.3}]; `dataset: NAME` takes "
                                          "a single one");
    std::vector<Part> out;
    out.reserve(entries.size());
    for (YamlMap& entry : entries) {
        Part part;
        GYM_TRY(part.dataset, entry.string(entry.has("root") ? "root" : kDatasetKey));
        GYM_TRY(const double weight, entry.real("weight", kWeightMin, kWeightMax));
        part.weight_ppm = static_cast<std::uint64_t>(std::llround(weight * kPpm));
        GYM_CHECK(entry.finish());
        out.push_back(std::move(part));
    }
    return out;
}

/// Files that were fetched and made, below the user's data directory.
Result<fs::path> store() {
    fs::path out = node::default_data_dir() / "mixes";
    std::error_code error;
    fs::create_directories(out, error);
    if (error) return fail(ErrorCode::kIo, "cannot make " + out.string() + ": " + error.message());
    return out;
}

bool holds(const fs::path& file, const Digest& root) {
    std::error_code unknown;
    if (!fs::exists(file, unknown)) return false;
    const auto found = blob::scan_dataset(file);
    return found.ok() && found->root == root;
}

/// What the job file declares about the weights, as registry::parse_job_spec() reads it.
Result<licence::Use> use_of(const JobText& job) {
    GYM_TRY(auto map, YamlMap::parse(job.text.text(), job.text.origin()));
    if (!map.has(registry::kUseKey)) return licence::Use::kCommercial;
    GYM_TRY(const std::string word, map.string(registry::kUseKey));
    return licence::parse_use(word);
}

class MixBuilder {
  public:
    MixBuilder(const ApiOptions& api, licence::Use use, fs::path store, bool quiet)
        : api_(api), use_(use), store_(std::move(store)), quiet_(quiet) {}

    [[nodiscard]] const MixedFrom& mixed_from() const { return from_; }

    /// A token file with the part's tokens.
    Result<fs::path> fetch(const Part& part, const fs::path& folder) {
        const fs::path file = folder / part.dataset;
        std::error_code unknown;
        if (fs::exists(file, unknown)) return token_file(file);
        const client::ApiClient client = api_.client(kApiRetryFor);
        GYM_TRY(const Digest root, find_dataset(client, part.dataset));
        GYM_TRY(const auto record, client.dataset(root));
        if (!record)
            return fail(ErrorCode::kNotFound, "dataset " + root.hex() + " is not registered");
        GYM_CHECK(permit(part, record->value));
        const fs::path kept = store_ / (root.hex().substr(2) + ".tokens");
        if (!holds(kept, root)) {
            if (!quiet_) print_notice("data", "fetching {}", part.dataset);
            const auto pulled = pull_dataset(api_, root, kept);
            if (!pulled.ok())
                return pulled.error().in("'" + std::string(kDataKey) + "': " + part.dataset);
        }
        return kept;
    }

    Result<fs::path> mix(const std::vector<Part>& parts, const std::vector<fs::path>& files) {
        data::MixOptions options;
        options.inputs.reserve(parts.size());
        std::string name = "gym mix of a job\n";
        for (std::size_t i = 0; i < parts.size(); ++i) {
            options.inputs.push_back({files[i], parts[i].weight_ppm});
            GYM_TRY(const auto summary, blob::scan_dataset(files[i]));
            name += summary.root.hex() + ":" + std::to_string(parts[i].weight_ppm) + "\n";
        }
        const std::string digits = commit::sha256(as_bytes(name)).hex().substr(2, kNameDigits);
        options.output = store_ / ("mix-" + digits + ".tokens");
        // Made again each time: a damaged file is never trusted, and mixing takes seconds.
        GYM_TRY(const data::MixReport report, data::mix(options));
        if (!quiet_) say(parts, report);
        return options.output;
    }

  private:
    /// The mix would be the job owner's own dataset, which no licence is checked of.
    Status permit(const Part& part, const registry::Dataset& dataset) {
        shown_.push_back(dataset.licence);
        from_.licences.insert(dataset.licence);
        const std::string why = licence::forbidden(dataset.licence, use_);
        if (why.empty()) return {};
        return fail(ErrorCode::kConflict,
                    part.dataset + " is under " + dataset.licence + ", and " + why +
                        ": leave it out of 'data', or name its file if it is your own");
    }
    /// A text becomes one, a token a byte.
    Result<fs::path> token_file(const fs::path& file) {
        shown_.emplace_back("your file");
        from_.has_files = true;
        const auto known = blob::scan_dataset(file);
        if (known.ok()) return file;
        GYM_TRY(const auto dataset, read_dataset(file.string()));
        const fs::path made = store_ / (dataset.root().hex().substr(2) + ".tokens");
        GYM_CHECK(write_file_atomic(made, dataset.encode()));
        return made;
    }

    void say(const std::vector<Part>& parts, const data::MixReport& report) const {
        for (std::size_t i = 0; i < parts.size(); ++i)
            print_notice(i == 0 ? "mix" : "", "{} of {} tokens: {} ({})",
                         data::percent_text(report.shares[i].achieved_ppm), report.dataset.tokens,
                         parts[i].dataset, shown_[i]);
    }

    const ApiOptions& api_;
    const licence::Use use_;
    const fs::path store_;
    const bool quiet_;
    std::vector<std::string> shown_;  ///< about each part
    MixedFrom from_;
};

}  // namespace

Result<MixedFrom> resolve_mix(const ApiOptions& api, JobText& job, bool quiet) {
    GYM_TRY(const bool there, job.text.has(kDataKey));
    if (!there) return MixedFrom();
    GYM_TRY(const std::vector<Part> parts, parts_of(job));
    GYM_TRY(fs::path kept, store());
    GYM_TRY(const licence::Use use, use_of(job));
    MixBuilder builder(api, use, std::move(kept), quiet);
    std::vector<fs::path> files;
    files.reserve(parts.size());
    for (const Part& part : parts) {
        GYM_TRY(fs::path file, builder.fetch(part, job.folder));
        files.push_back(std::move(file));
    }
    GYM_TRY(const fs::path mixed, builder.mix(parts, files));
    std::error_code error;
    const fs::path whole = fs::absolute(mixed, error);
    if (error) return fail(ErrorCode::kIo, mixed.string() + ": " + error.message());
    GYM_CHECK(job.text.erase(kDataKey));
    GYM_CHECK(job.text.set(kDatasetKey, yaml_quoted(whole.string())));
    return builder.mixed_from();
}

}  // namespace gym::app
