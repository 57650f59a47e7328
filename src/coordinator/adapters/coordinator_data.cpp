#include "gym/coordinator/adapters/coordinator_data.hpp"

#include <map>
#include <utility>
#include <vector>

#include "gym/game/withheld_answers.hpp"
#include "gym/protocol/round_record.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/registry/rounds.hpp"
#include "gym/registry/units.hpp"

namespace gym::coordinator {
namespace {

using game::Wanted;

/// States of which the tensors' roots are kept.
constexpr std::size_t kStatesMax = 16;

class CoordinatorData final : public player::DataSource {
  public:
    CoordinatorData(db::Database& database, const blob::BlobStore& blobs,
                    const crypto::Eip712Domain& domain)
        : database_(database), blobs_(blobs), domain_(domain) {}

    Result<game::move::ShowWithheld> show(const game::WithheldEvidence& asked,
                                          const game::DataRequest& request) override {
        GYM_TRY(const registry::Round round, find(asked.record));
        if (request.what == Wanted::kCommitment) return show_leaf(round, request);
        if (request.what == Wanted::kDataset) {
            GYM_TRY(const Digest blob, database_.transact([&](db::Transaction& tx) {
                return dataset_blob(tx, round.record.dataset_root);
            }));
            GYM_TRY(const auto file, blobs_.open_reader(blob));
            return game::show_dataset(request, *file);
        }
        if (request.what != Wanted::kBase && request.what != Wanted::kOuter)
            return fail(ErrorCode::kNotFound, "deltas are their workers' to show");
        const Digest& blob = request.what == Wanted::kBase ? round.base.blob : round.momentum.blob;
        GYM_TRY(const auto state, blobs_.open_reader(blob));
        GYM_TRY(const auto* roots, roots_of(blob, *state));
        return game::show_state(request, *state, *roots);
    }

  private:
    /// Games about one state have its tensors hashed once: they keep the player from its others.
    Result<const std::vector<Digest>*> roots_of(const Digest& blob, const blob::BlobReader& state) {
        const auto known = roots_.find(blob);
        if (known != roots_.end()) return &known->second;
        GYM_TRY(std::vector<Digest> roots, game::tensor_roots(state));
        if (roots_.size() >= kStatesMax) roots_.clear();
        return &roots_.emplace(blob, std::move(roots)).first->second;
    }

    Result<registry::Round> find(const protocol::RoundHead& record) {
        GYM_TRY(auto round, database_.transact([&](db::Transaction& tx) {
            return registry::find_round_by_record(tx, protocol::hash(record));
        }));
        if (round) return *std::move(round);
        return fail(ErrorCode::kNotFound, "no round has record " + protocol::hash(record).hex());
    }

    static Result<Digest> dataset_blob(db::Transaction& tx, const Digest& root) {
        GYM_TRY(const registry::Dataset dataset, registry::get_dataset(tx, root));
        return dataset.blob;
    }

    Result<game::move::ShowWithheld> show_leaf(const registry::Round& round,
                                               const game::DataRequest& request) {
        std::vector<protocol::SignedCommitment> own, next;
        GYM_CHECK(database_.transact([&](db::Transaction& tx) -> Status {
            GYM_TRY(own, registry::epoch_commitments(tx, round.epoch));
            if (request.next_root.is_zero()) return {};
            GYM_TRY(const registry::Round behind,
                    registry::get_round(tx, round.job_id, round.round + 1));
            GYM_TRY(next, registry::epoch_commitments(tx, behind.epoch));
            return {};
        }));
        return game::show_commitment(domain_, request, {own, next});
    }

    db::Database& database_;
    const blob::BlobStore& blobs_;
    const crypto::Eip712Domain domain_;
    std::map<Digest, std::vector<Digest>> roots_;  ///< of the tensors of states, by blob
};

}  // namespace

std::unique_ptr<player::DataSource> make_coordinator_data(db::Database& database,
                                                          const blob::BlobStore& blobs,
                                                          const crypto::Eip712Domain& domain) {
    return std::make_unique<CoordinatorData>(database, blobs, domain);
}

}  // namespace gym::coordinator
