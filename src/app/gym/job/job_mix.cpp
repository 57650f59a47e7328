#include "job/job_mix.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
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
#include "gym/data/document_licences.hpp"
#include "gym/data/manifest.hpp"
#include "gym/data/mix.hpp"
#include "gym/data/remote.hpp"
#include "gym/licence/licence.hpp"
#include "gym/owner/push_data.hpp"
#include "gym/plan/draft.hpp"
#include "gym/registry/job_spec.hpp"
#include "job/job_data.hpp"

namespace gym::app {
namespace {

namespace fs = std::filesystem;

using plan::kDataKey;
constexpr const char* kDatasetKey = "dataset";
constexpr std::size_t kNameDigits = 16;
constexpr std::size_t kFileNameBytesMax = 128;

/// An entry of `data`.
struct Part {
    std::string dataset;  ///< a file, a root, a name, or a URL of documents
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
        GYM_TRY(const double weight,
                entry.real("weight", data::kMixWeightMin, data::kMixWeightMax));
        part.weight_ppm = data::mix_weight_ppm(weight);
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
    if (!error) fs::permissions(out, fs::perms::owner_all, error);
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

Status permit_part(const std::string& name, const registry::Dataset& dataset, licence::Use use) {
    const std::string why = licence::forbidden(dataset.licence, use);
    if (why.empty()) return {};
    return fail(ErrorCode::kConflict,
                name + " is under " + dataset.licence + ", and " + why +
                    ": leave it out of 'data', or name its file if it is your own");
}

/// The root of a part that the network has.
Result<Digest> find_part(const client::ApiClient& api, const Part& part, const fs::path& folder) {
    auto root = find_dataset(api, part.dataset);
    if (root.ok() || root.error().code != ErrorCode::kNotFound) return root;
    return root.error().in("'" + std::string(kDataKey) + "': there is no file " +
                           (folder / part.dataset).string() + ", and as a dataset's name");
}

class MixBuilder {
  public:
    MixBuilder(const ApiOptions& api, licence::Use use, fs::path store, bool quiet)
        : api_(api), use_(use), store_(std::move(store)), quiet_(quiet) {}

    [[nodiscard]] const MixedFrom& mixed_from() const { return from_; }

    /// A token file with the part's tokens.
    Result<fs::path> fetch(const Part& part, const fs::path& folder) {
        if (data::is_remote(part.dataset)) return built(part.dataset);
        const fs::path file = folder / part.dataset;
        std::error_code unknown;
        if (fs::exists(file, unknown)) return token_file(file);
        const client::ApiClient client = api_.client(kApiRetryFor);
        GYM_TRY(const Digest root, find_part(client, part, folder));
        GYM_TRY(const auto record, client.dataset(root));
        if (!record)
            return fail(ErrorCode::kNotFound, "dataset " + root.hex() + " is not registered");
        GYM_CHECK(permit(part, record->value));
        GYM_TRY(const fs::path place, place_for(**record));
        const fs::path kept = place / (root.hex().substr(2) + ".tokens");
        if (!holds(kept, root)) {
            if (!quiet_)
                print_notice("data", "fetching {}{}", part.dataset,
                             place == store_ ? ""
                                             : ": it is not public, so it lies in " +
                                                   place.string() + " until the command ends");
            const auto pulled = pull_dataset(api_, root, kept, true);
            if (!pulled.ok())
                return pulled.error().in("'" + std::string(kDataKey) + "': " + part.dataset +
                                         " (with all files of the list registered, gym-api makes "
                                         "the mix and nothing is fetched)");
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
        options.output =
            (from_.hidden ? from_.hidden->path() : store_) / ("mix-" + digits + ".tokens");
        // Made again each time: a damaged file is never trusted, and mixing takes seconds.
        GYM_TRY(const data::MixReport report, data::mix(options));
        if (!quiet_) say(parts, report);
        return options.output;
    }

  private:
    /// Copies of what not everybody may read do not stay on this machine.
    Result<fs::path> place_for(const registry::Dataset& dataset) {
        if (dataset.access.visibility == registry::Visibility::kPublic) return store_;
        if (!from_.hidden) {
            GYM_TRY(TemporaryFolder folder, TemporaryFolder::create("gym-mix"));
            from_.hidden = std::make_shared<const TemporaryFolder>(std::move(folder));
        }
        return from_.hidden->path();
    }
    /// The mix would be the job owner's own dataset, which no licence is checked of.
    Status permit(const Part& part, const registry::Dataset& dataset) {
        shown_.push_back(dataset.licence);
        from_.licences.insert(dataset.licence);
        return permit_part(part.dataset, dataset, use_);
    }
    /// Of documents elsewhere, a token a byte.
    Result<fs::path> built(const std::string& url) {
        shown_.emplace_back("your file");
        from_.has_files = true;
        GYM_TRY(const JobData data,
                load_job_data(url, {.vocabulary = blob::kByteVocabulary, .quiet = quiet_}));
        return data.token_file;
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

bool is_file(const Part& part, const fs::path& folder) {
    std::error_code unknown;
    return fs::exists(folder / part.dataset, unknown);
}

Status name_dataset(JobText& job, const std::string& dataset) {
    GYM_CHECK(job.text.erase(kDataKey));
    return job.text.set(kDatasetKey, yaml_quoted(dataset));
}

/// The root under which a file is registered; registers it if the rules permit. Absent: it is not
/// registered, and stays so.
Result<std::optional<Digest>> root_of_file(const ApiOptions& options, const fs::path& file,
                                           const MixRules& rules) {
    GYM_TRY(const owner::LocalTokens tokens, owner::read_tokens(file, std::nullopt));
    const Digest& root = tokens.dataset.root;
    const client::ApiClient client = options.client(kApiRetryFor);
    GYM_TRY(const auto known, client.dataset(root));
    if (known) return std::optional(root);
    if (!rules.submits) return std::optional<Digest>();
    GYM_TRY(const auto documents, data::licences_beside(file, root));
    if (rules.licence.empty() && !data::names_licence(documents))
        return fail(ErrorCode::kInvalidArgument,
                    file.string() +
                        " is mixed with registered datasets and is not registered itself: say "
                        "under which licence with --licence (an SPDX expression like CC-BY-4.0; "
                        "private: only your own jobs train on it)");
    GYM_TRY(const client::ApiClient with_key, options.client_with_key(kApiRetryFor));
    const std::string name = file.filename().string().substr(0, kFileNameBytesMax);
    owner::DataPush push;
    push.terms.name = name;
    push.terms.licence = rules.licence;
    push.token_file = file;
    // To train on it is not to publish it.
    push.terms.access.emplace(registry::Access{registry::Visibility::kPrivate, {}});
    const auto pushed = owner::push_data(with_key, tokens, push);
    if (!pushed.ok()) return pushed.error().in(file.string());
    if (!rules.quiet)
        print_notice("data",
                     "{} is registered under {}, for nothing; nobody else sees it (`gym data "
                     "visibility` changes that)",
                     file.string(), pushed->record->licence);
    return std::optional(pushed->record->root);
}

void say_network_mix(const std::vector<Part>& parts, const registry::Dataset& mix,
                     const fs::path& folder) {
    for (std::size_t i = 0; i < parts.size() && i < mix.parts.size(); ++i) {
        const registry::DatasetPart& part = mix.parts[i];
        const auto ppm = static_cast<double>(part.tokens) / static_cast<double>(mix.tokens) * kPpm;
        print_notice(i == 0 ? "mix" : "", "{} of {} tokens: {} ({})",
                     data::percent_text(static_cast<std::uint64_t>(std::llround(ppm))), mix.tokens,
                     parts[i].dataset, is_file(parts[i], folder) ? "your file" : part.licence);
    }
}

/// The mix that gym-api makes. Absent: of files alone, or of one that a quote does not register.
Result<std::optional<Digest>> mix_of_network(const ApiOptions& options, const JobText& job,
                                             const std::vector<Part>& parts,
                                             const MixRules& rules) {
    const auto local = [&](const Part& part) { return is_file(part, job.folder); };
    const auto remote = [](const Part& part) { return data::is_remote(part.dataset); };
    // Documents elsewhere are read, and so mixed, here.
    if (std::ranges::all_of(parts, local) || std::ranges::any_of(parts, remote))
        return std::optional<Digest>();
    GYM_TRY(const licence::Use use, use_of(job));
    const client::ApiClient lookup = options.client(kApiRetryFor);
    client::MixRequest request;
    // Names first: nothing is registered for a list that cannot be mixed.
    std::vector<std::optional<Digest>> roots(parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (local(parts[i])) continue;
        GYM_TRY(roots[i], find_part(lookup, parts[i], job.folder));
        GYM_TRY(const auto record, lookup.dataset(*roots[i]));
        if (!record)
            return fail(ErrorCode::kNotFound, "'" + std::string(kDataKey) + "': dataset " +
                                                  roots[i]->hex() +
                                                  " is not registered (`gym data list`)");
        GYM_CHECK(permit_part(parts[i].dataset, **record, use));
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (!roots[i]) {
            GYM_TRY(roots[i], root_of_file(options, job.folder / parts[i].dataset, rules));
        }
        if (!roots[i]) return std::optional<Digest>();
        request.parts.push_back({*roots[i], parts[i].weight_ppm});
    }
    GYM_TRY(const client::ApiClient client, options.client_with_key(kApiRetryFor));
    bool said = rules.quiet;
    const auto made = client.make_mix(request, [&](const client::Mix&) {
        if (!std::exchange(said, true)) print_notice("mix", "gym-api makes it");
    });
    if (!made.ok()) return made.error().in("'" + std::string(kDataKey) + "'");
    if (!rules.quiet) say_network_mix(parts, *made, job.folder);
    return std::optional(made->root);
}

}  // namespace

Result<MixedFrom> resolve_mix(const ApiOptions& api, JobText& job, const MixRules& rules) {
    GYM_TRY(const bool there, job.text.has(kDataKey));
    if (!there) return MixedFrom();
    GYM_TRY(const std::vector<Part> parts, parts_of(job));
    GYM_TRY(const auto made, mix_of_network(api, job, parts, rules));
    if (made) {
        GYM_CHECK(name_dataset(job, made->hex()));
        return MixedFrom();
    }
    GYM_TRY(fs::path kept, store());
    GYM_TRY(const licence::Use use, use_of(job));
    MixBuilder builder(api, use, std::move(kept), rules.quiet);
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
    GYM_CHECK(name_dataset(job, whole.string()));
    return builder.mixed_from();
}

}  // namespace gym::app
