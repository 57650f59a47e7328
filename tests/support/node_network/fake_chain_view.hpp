#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "gym/node/chain_view.hpp"

namespace gym::testing {

/// A chain that holds what a test put there. Thread-safe while `mutex` is held for changes.
class FakeChainView final : public node::ChainView {
  public:
    Status check() override { return down(); }
    Result<std::optional<Round>> round(const Digest& job_id, std::uint64_t round) override {
        return find(rounds, std::pair(job_id, round));
    }
    Result<bool> has_aggregate(const Digest& job_id, std::uint64_t round) override {
        GYM_TRY(const auto found, find(aggregates, std::pair(job_id, round)));
        return found.has_value();
    }
    Result<std::optional<Epoch>> epoch(std::uint64_t epoch) override { return find(epochs, epoch); }
    Result<std::optional<Digest>> randomness(std::uint64_t block) override {
        return find(beacons, block);
    }
    Result<bool> is_proven_faulty(const Digest& unit) override {
        const std::scoped_lock lock(mutex);
        ++asked;
        GYM_CHECK(down());
        return faulty.contains(unit);
    }
    void post(const protocol::RoundRecord& record, std::uint64_t epoch) {
        post(protocol::head_of(record), epoch);
    }
    void post(const protocol::RoundHead& record, std::uint64_t epoch) {
        const std::scoped_lock lock(mutex);
        rounds[{record.job_id, record.round}] = {protocol::hash(record), epoch};
        if (record.included != 0)
            aggregates[{record.job_id, record.round - 1}] = record.base_state_root;
    }

    std::mutex mutex;
    std::map<std::pair<Digest, std::uint64_t>, Round> rounds;
    /// Of the rounds before those with deltas: what they made.
    std::map<std::pair<Digest, std::uint64_t>, Digest> aggregates;
    std::map<std::uint64_t, Epoch> epochs;
    std::map<std::uint64_t, Digest> beacons;
    std::set<Digest> faulty;  ///< units by their names on chain
    bool answers = true;
    unsigned asked = 0;

  private:
    Status down() const {
        if (answers) return {};
        return fail(ErrorCode::kTimeout, "the chain does not answer");
    }
    template <class Map, class Key>
    Result<std::optional<typename Map::mapped_type>> find(const Map& map, const Key& key) {
        const std::scoped_lock lock(mutex);
        ++asked;
        GYM_CHECK(down());
        const auto found = map.find(key);
        if (found == map.end()) return std::optional<typename Map::mapped_type>();
        return std::optional(found->second);
    }
};

}  // namespace gym::testing
