#include "updated_base.hpp"

#include <optional>
#include <span>
#include <utility>

#include "gym/common/plural.hpp"
#include "gym/engine/delta.hpp"
#include "gym/engine/outer_state.hpp"

namespace gym::node {
namespace {

/// The last steps, from the newest base state that is on disk.
Result<std::span<const records::BaseStep>> steps_from_disk(rpc::BlobCache& cache,
                                                           const records::UnitInputs& inputs) {
    const std::span all(inputs.base_steps);
    for (std::size_t i = all.size(); i-- > 0;) {
        GYM_TRY(const bool here, cache.store().has(all[i].base_blob));
        if (here) return all.subspan(i);
    }
    return std::span<const records::BaseStep>();
}

/// An update for as long as it is needed. One that was in the store stays there: it may be the
/// delta of a unit, with the same bytes.
class FetchedUpdate {
  public:
    static Result<FetchedUpdate> fetch(rpc::BlobCache& cache, const program::Program& train,
                                       const Digest& blob,
                                       const rpc::BlobCache::Progress& progress) {
        GYM_TRY(const bool here, cache.store().has(blob));
        auto content = cache.fetch(blob, progress, rpc::BlobCache::Audience::kMany);
        if (!content.ok()) return content.error().in("update " + blob.hex());
        if (!here) GYM_CHECK(cache.store().remove(blob));
        GYM_TRY(engine::Delta update, engine::Delta::decode(train, *content));
        return FetchedUpdate(std::move(update));
    }
    [[nodiscard]] const engine::Delta& rows() const { return rows_; }

  private:
    explicit FetchedUpdate(engine::Delta rows) : rows_(std::move(rows)) {}
    engine::Delta rows_;
};

}  // namespace

Result<std::size_t> updated_base(rpc::BlobCache& cache, const program::Program& train,
                                 const records::UnitInputs& inputs,
                                 const rpc::BlobCache::Progress& progress) {
    GYM_TRY(const bool here, cache.store().has(inputs.base_state_blob));
    if (here) return std::size_t{0};
    GYM_TRY(const auto steps, steps_from_disk(cache, inputs));
    if (steps.empty()) return std::size_t{0};
    GYM_TRY(Bytes base, cache.store().get(steps.front().base_blob));
    GYM_TRY(const std::uint64_t update_bytes, engine::delta_bytes(train));
    if (steps.size() * update_bytes >= base.size()) return std::size_t{0};
    for (const records::BaseStep& step : steps) {
        GYM_TRY(const FetchedUpdate update,
                FetchedUpdate::fetch(cache, train, step.update_blob, progress));
        GYM_TRY(base, engine::with_update(train, std::move(base), update.rows()));
    }
    const auto made = blob::VerifiedBlob::hash(std::move(base));
    if (made.root() != inputs.base_state_blob)
        return fail(ErrorCode::kMismatch, counted(steps.size(), "update") + " behind base state " +
                                              steps.front().base_blob.hex() + " made " +
                                              made.root().hex() + ", and the task names " +
                                              inputs.base_state_blob.hex());
    GYM_CHECK(cache.store().put(made));
    return steps.size();
}

}  // namespace gym::node
