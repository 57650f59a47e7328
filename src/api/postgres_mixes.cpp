#include <spdlog/spdlog.h>
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "gym/api/mixes.hpp"
#include "gym/blob/directory_store.hpp"
#include "gym/blob/read_once.hpp"
#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/common/file.hpp"
#include "gym/common/memory.hpp"
#include "gym/data/mix.hpp"
#include "gym/licence/licence.hpp"
#include "postgres_calls.hpp"

namespace gym::api {

namespace fs = std::filesystem;

// Not anonymous: PostgresMixes::Impl, which has external linkage, holds values of these types.
namespace mixes {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
constexpr std::uint64_t kManifestBytesMax = std::uint64_t{64} << 20;
constexpr std::size_t kFailuresKept = 64;
constexpr std::size_t kNameBytesMax = 128;
constexpr std::uint64_t kHeaderBytesMax = 256;  // of a token file

/// A mix with all that is known before it is made.
struct Plan {
    Digest recipe;
    Address owner;
    std::vector<registry::Dataset> parts;
    registry::Dataset mix;  ///< without root and blob
    std::uint64_t tokens = 0;
    bool best_effort = false;
};

Digest recipe_of(const std::vector<registry::Dataset>& parts, const MixOrder& order) {
    commit::Encoder encoder;
    encoder.raw(as_bytes("gym.mix.v1")).u32(static_cast<std::uint32_t>(parts.size()));
    for (std::size_t i = 0; i < parts.size(); ++i)
        encoder.fixed(parts[i].root).u64(order.parts[i].weight_ppm);
    encoder.u64(order.tokens).boolean(order.best_effort);
    return commit::sha256(encoder.view());
}

Result<registry::Dataset> find_part(db::Transaction& tx, const std::string& text,
                                    const registry::Viewer& viewer) {
    if (const auto root = Digest::parse(text); root.ok())
        return registry::get_dataset(tx, *root, viewer);
    GYM_TRY(const auto reference, registry::parse_dataset_reference(text));
    GYM_TRY(const auto version, registry::get_dataset_version(tx, reference, viewer));
    return registry::get_dataset(tx, version.root, viewer);
}

std::string name_of(const registry::Dataset& dataset) {
    return "dataset " + dataset.root.hex() + " (" + dataset.name + ")";
}

/// Whether somebody may make mixes with the dataset. Jobs on them are checked once more, by use.
Status check_usable(const registry::Dataset& part, const Address& who) {
    if (part.owner == who) return {};
    const std::string why = licence::forbidden(part.licence, licence::Use::kNonCommercial);
    if (why.empty()) return {};
    return fail(ErrorCode::kPermissionDenied, name_of(part) + " is under " + part.licence +
                                                  ", and " + why + ": leave it out of the mix");
}

/// That the parts are different datasets of one tokenizer, and none a mix.
Status check_together(const std::vector<registry::Dataset>& parts) {
    std::set<Digest> roots;
    for (const registry::Dataset& part : parts) {
        if (!part.parts.empty())
            return fail(ErrorCode::kInvalidArgument,
                        name_of(part) +
                            " is a mix itself: name its parts in its place (`gym data "
                            "show` lists them)");
        if (!roots.insert(part.root).second)
            return fail(ErrorCode::kInvalidArgument,
                        name_of(part) +
                            " is there twice: name it once, with the sum of both "
                            "weights");
        const bool same =
            part.vocabulary == parts[0].vocabulary && part.tokenizer == parts[0].tokenizer;
        if (!same)
            return fail(ErrorCode::kInvalidArgument,
                        name_of(part) + " was made by another tokenizer than " + name_of(parts[0]) +
                            ": mix datasets of one tokenizer");
    }
    return {};
}

Status check_size(const Plan& plan, const MixLimits& limits) {
    const std::uint64_t width = registry::bytes_per_token(plan.mix);
    if (plan.mix.tokens > (limits.bytes_max - kHeaderBytesMax) / width)
        return fail(ErrorCode::kOutOfRange,
                    "the mix would have " + std::to_string(plan.mix.tokens) + " tokens, at most " +
                        std::to_string((limits.bytes_max - kHeaderBytesMax) / width) +
                        " are made: ask for fewer with 'tokens'");
    std::uint64_t left = limits.parts_bytes_max / width;
    for (const registry::Dataset& part : plan.parts) {
        if (part.tokens > left)
            return fail(ErrorCode::kOutOfRange, "the parts have more than " +
                                                    memory_text(limits.parts_bytes_max) +
                                                    " together: mix fewer, or smaller ones");
        left -= part.tokens;
    }
    return {};
}

/// "a.txt, b.txt"
std::string label_of(const std::vector<registry::Dataset>& parts) {
    std::string out = "mix of ";
    for (std::size_t i = 0; i < parts.size(); ++i)
        out += (i == 0 ? "" : ", ") + parts[i].name;
    // Not through the middle of a character.
    std::size_t size = std::min(out.size(), kNameBytesMax);
    while (size > 0 && size < out.size() &&
           (static_cast<unsigned char>(out[size]) & 0xc0U) == 0x80U)
        --size;
    out.resize(size);
    return out;
}

/// What each part gives, which follows from numbers alone: registered files have no manifests here.
Result<std::vector<registry::DatasetPart>> shares_of(const std::vector<registry::Dataset>& parts,
                                                     const MixOrder& order) {
    std::vector<data::MixWish> wishes;
    wishes.reserve(parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i)
        wishes.push_back({name_of(parts[i]), order.parts[i].weight_ppm, parts[i].tokens});
    GYM_TRY(const auto quotas, data::mix_quotas(wishes, order.tokens, order.best_effort));
    std::vector<registry::DatasetPart> out;
    out.reserve(parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (quotas[i] == 0)
            return fail(ErrorCode::kInvalidArgument,
                        name_of(parts[i]) +
                            ": its share is less than a token of the mix: leave "
                            "it out, or raise its weight");
        out.push_back(
            {.root = parts[i].root, .tokens = quotas[i], .weight_ppm = order.parts[i].weight_ppm});
    }
    return out;
}

Result<Plan> plan_of(db::Transaction& tx, const MixOrder& order, const MixLimits& limits,
                     UnixMs now_ms) {
    if (order.parts.size() < 2 || order.parts.size() > data::kMixInputsMax)
        return fail(ErrorCode::kInvalidArgument,
                    "a mix is of 2 to " + std::to_string(data::kMixInputsMax) + " datasets");
    const auto viewer = registry::Viewer::account(order.owner);
    Plan out;
    out.owner = order.owner;
    out.tokens = order.tokens;
    out.best_effort = order.best_effort;
    out.parts.reserve(order.parts.size());
    std::set<std::string> licences;
    for (const MixOrder::Part& part : order.parts) {
        auto found = find_part(tx, part.dataset, viewer);
        if (!found.ok()) return found.error().in("'" + part.dataset + "'");
        GYM_CHECK(check_usable(*found, order.owner));
        licences.insert(found->licence);
        out.parts.push_back(*std::move(found));
    }
    GYM_CHECK(check_together(out.parts));
    out.recipe = recipe_of(out.parts, order);
    registry::Dataset& mix = out.mix;
    GYM_TRY(mix.parts, shares_of(out.parts, order));
    auto licence = licence::joined(licences);
    if (!licence.ok()) return licence.error().in("the licence of all parts together");
    mix.licence = *std::move(licence);
    mix.owner = order.owner;
    mix.name = label_of(out.parts);
    mix.vocabulary = out.parts[0].vocabulary;
    mix.tokenizer = out.parts[0].tokenizer;
    for (const registry::DatasetPart& part : mix.parts)
        mix.tokens += part.tokens;
    // It has no text of its own: nothing is compared with it, and its worth is that of its parts.
    mix.novelty_ppm = 0;
    mix.usefulness_ppm = 0;
    mix.sample = registry::DatasetSample{};
    mix.access.visibility = registry::Visibility::kPublic;  // but for that of its parts
    mix.registered_at_ms = now_ms;
    GYM_CHECK(check_size(out, limits));
    return out;
}

Status copy_blob(const blob::BlobStore& blobs, const Digest& root, const fs::path& path) {
    GYM_TRY(const auto reader, blobs.open_reader(root));
    GYM_TRY(FileAppender file, FileAppender::open(path, 0600));
    Bytes piece;
    for (std::uint64_t at = 0; at < reader->size(); at += piece.size()) {
        piece.resize(
            static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, reader->size() - at)));
        GYM_CHECK(reader->read(at, piece));
        GYM_CHECK(file.append(piece));
    }
    return {};
}

/// An empty folder for one mix, which goes away with the object.
class WorkFolder {
  public:
    static Result<WorkFolder> create(const fs::path& path) {
        std::error_code error;
        fs::remove_all(path, error);
        if (!error) fs::create_directories(path, error);
        if (!error) fs::permissions(path, fs::perms::owner_all, error);
        if (error)
            return fail(ErrorCode::kIo, "cannot make " + path.string() + ": " + error.message());
        return WorkFolder(path);
    }
    WorkFolder(WorkFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    WorkFolder& operator=(WorkFolder&&) = delete;
    ~WorkFolder() {
        std::error_code ignored;
        if (!path_.empty()) fs::remove_all(path_, ignored);
    }
    [[nodiscard]] const fs::path& path() const { return path_; }

  private:
    explicit WorkFolder(fs::path path) : path_(std::move(path)) {}
    fs::path path_;
};

Status check_disk(const Plan& plan, const fs::path& folder) {
    std::uint64_t tokens = plan.mix.tokens;
    for (const registry::Dataset& part : plan.parts)
        tokens += part.tokens;
    const std::uint64_t needed = tokens * registry::bytes_per_token(plan.mix);
    std::error_code error;
    const fs::space_info space = fs::space(folder, error);
    if (error || space.available >= needed) return {};
    return fail(ErrorCode::kUnavailable, "the server's disk has room for " +
                                             memory_text(space.available) + ", the mix needs " +
                                             memory_text(needed) + ": try again later");
}

/// The mix's files, made of the parts' files, which are checked against their roots.
Result<data::MixReport> make_files(const Plan& plan, const blob::BlobStore& blobs,
                                   const fs::path& folder) {
    data::MixOptions options;
    options.inputs.reserve(plan.parts.size());
    for (std::size_t i = 0; i < plan.parts.size(); ++i) {
        const Digest& root = plan.parts[i].root;
        // The manifest names files: by their roots, so that it follows from these alone.
        const fs::path file = folder / (root.hex().substr(2) + ".tokens");
        GYM_CHECK(copy_blob(blobs, plan.parts[i].blob, file));
        options.inputs.push_back({file, plan.mix.parts[i].weight_ppm});
    }
    options.output = folder / "mix.tokens";
    options.tokens = plan.tokens;
    options.best_effort = plan.best_effort;
    GYM_TRY(data::MixReport report, data::mix(options));
    for (std::size_t i = 0; i < plan.parts.size(); ++i) {
        if (report.shares[i].dataset_root != plan.parts[i].root)
            return fail(ErrorCode::kMismatch,
                        "the stored file of " + name_of(plan.parts[i]) + " was altered");
        if (report.shares[i].taken != plan.mix.parts[i].tokens)
            return fail(ErrorCode::kInternal,
                        "the mix has " + std::to_string(report.shares[i].taken) + " tokens of " +
                            name_of(plan.parts[i]) + " instead of " +
                            std::to_string(plan.mix.parts[i].tokens));
    }
    return report;
}

}  // namespace mixes

using mixes::Plan;

struct PostgresMixes::Impl {
    db::Database& database;
    blob::BlobStore& blobs;
    const Clock& clock;
    const fs::path folder;
    const PostgresBackend::Options options;
    const MixLimits limits;

    std::mutex mutex{};
    std::condition_variable changed{};
    std::deque<Plan> waiting{};
    std::optional<Digest> mixing{};
    std::map<Digest, Error> failures{};  ///< of mixes that nobody has asked for since
    bool stopping = false;
    std::thread thread{};

    void start() {
        thread = std::thread([this] { run(); });
    }
    void stop() {
        {
            const std::lock_guard lock(mutex);
            stopping = true;
        }
        changed.notify_all();
        thread.join();
    }

    void run() {
        std::unique_lock lock(mutex);
        for (;;) {
            changed.wait(lock, [this] { return stopping || !waiting.empty(); });
            if (stopping) return;
            const Plan plan = std::move(waiting.front());
            waiting.pop_front();
            mixing = plan.recipe;
            lock.unlock();
            const Status made = make(plan);
            lock.lock();
            mixing.reset();
            if (!made.ok()) note_failure(plan, made.error());
        }
    }

    void note_failure(const Plan& plan, const Error& error) {
        spdlog::warn("mix {} of {}: {}", plan.recipe.hex(), plan.owner.hex(), error.message);
        if (failures.size() >= mixes::kFailuresKept) failures.erase(failures.begin());
        failures.insert_or_assign(plan.recipe, error);
    }

    Status make(const Plan& plan) {
        GYM_TRY(const mixes::WorkFolder work,
                mixes::WorkFolder::create(folder / plan.recipe.hex().substr(2, 16)));
        GYM_CHECK(mixes::check_disk(plan, work.path()));
        GYM_TRY(const data::MixReport report, mixes::make_files(plan, blobs, work.path()));
        registry::Dataset mix = plan.mix;
        mix.root = report.dataset.root;
        registry::MixRecord record{plan.recipe, report.manifest_root, {}, clock.now_ms()};
        // Before the rows that promise the bytes.
        GYM_TRY(const auto made, blob::open_file(work.path() / "mix.tokens"));
        GYM_TRY(mix.blob, blob::blob_root(*made));
        GYM_CHECK(blobs.adopt(mix.blob, *made));
        GYM_TRY(const Bytes manifest, read_file(report.manifest, mixes::kManifestBytesMax));
        GYM_TRY(record.manifest_blob, blobs.put(manifest));
        GYM_TRY([[maybe_unused]] const bool is_new,
                calls::write(database, options, [&](db::Transaction& tx) {
                    return register_within_quota(tx, mix, record);
                }));
        return {};
    }

    Result<bool> register_within_quota(db::Transaction& tx, const registry::Dataset& mix,
                                       const registry::MixRecord& record) {
        GYM_CHECK(registry::lock_registrations(tx));
        GYM_TRY(const auto before, registry::find_dataset(tx, mix.root));
        if (!before) GYM_CHECK(registry::check_dataset_quota(tx, mix, options.dataset_quota));
        return registry::register_mix(tx, mix, record);
    }

    /// @errors what went wrong when it was made, once; kUnavailable.
    Result<MixProgress> enqueue(Plan plan) {
        const std::lock_guard lock(mutex);
        if (const auto failed = failures.find(plan.recipe); failed != failures.end()) {
            Error error = failed->second;
            failures.erase(failed);
            return error;
        }
        if (mixing == plan.recipe) return MixProgress{MixState::kMixing};
        bool busy = false;
        for (const Plan& other : waiting) {
            if (other.recipe == plan.recipe) return MixProgress{MixState::kWaiting};
            busy = busy || other.owner == plan.owner;
        }
        if (busy)
            return fail(ErrorCode::kUnavailable,
                        "another mix of yours waits already; ask again when it is made");
        if (waiting.size() >= limits.waiting_max)
            return fail(ErrorCode::kUnavailable,
                        std::to_string(waiting.size()) + " mixes wait already; ask again later");
        waiting.push_back(std::move(plan));
        changed.notify_all();
        return MixProgress{MixState::kWaiting};
    }
};

PostgresMixes::PostgresMixes(db::Database& database, blob::BlobStore& blobs, const Clock& clock,
                             std::filesystem::path folder, const PostgresBackend::Options& options,
                             MixLimits limits)
    : impl_(new Impl{database, blobs, clock, std::move(folder), options, limits}) {
    impl_->start();
}

PostgresMixes::~PostgresMixes() {
    impl_->stop();
}

Result<MixProgress> PostgresMixes::mix(const MixOrder& order) {
    Impl& impl = *impl_;
    Plan plan;
    GYM_TRY(auto made,
            calls::read(impl.database, impl.options,
                        [&](db::Transaction& tx) -> Result<std::optional<registry::Dataset>> {
                            GYM_TRY(plan,
                                    mixes::plan_of(tx, order, impl.limits, impl.clock.now_ms()));
                            GYM_TRY(const auto root, registry::find_mix(tx, plan.recipe));
                            if (!root) {
                                GYM_CHECK(registry::check_dataset_quota(
                                    tx, plan.mix, impl.options.dataset_quota));
                                return std::optional<registry::Dataset>();
                            }
                            return registry::find_dataset(tx, *root,
                                                          registry::Viewer::account(order.owner));
                        }));
    if (made) return MixProgress{MixState::kMade, *std::move(made)};
    return impl.enqueue(std::move(plan));
}

}  // namespace gym::api
