#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gym/common/clock.hpp"
#include "gym/crypto/key.hpp"
#include "gym/db/database.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/registry/jobs.hpp"
#include "gym/registry/prefixes.hpp"
#include "gym/registry/rounds.hpp"
#include "gym/registry/units.hpp"
#include "manual_clock.hpp"
#include "owner_orders.hpp"

namespace gym::testing {

enum class Fate {
    kVerified,     ///< sampled, re-executed, final
    kUnsampled,    ///< final after the challenge window
    kRejected,     ///< re-execution differs, no defence
    kExpired,      ///< never committed
    kPrefix,       ///< expired, and its first step, which has the unit's FLOPs here, is verified
    kWrongPrefix,  ///< the same, and refuted
};

struct PlannedUnit {
    std::size_t worker = 0;
    std::uint64_t flops = 0;
    Fate fate = Fate::kVerified;
};

Address test_address(std::uint8_t first, std::uint8_t last);
Digest test_digest(std::string_view of);

/// What gym-rewards does with a job's orders that wait, when their signatures are good: reserves
/// their money. Then the chain's turn comes.
Status accept_orders(db::Transaction& tx, const std::string& asset, const Digest& job, UnixMs now);

/// Writes what a coordinator would write into the registry, step by step: nodes, a job, rounds,
/// units. A failure ends the program: a test cannot go on without its history.
class History {
  public:
    /// `registry` may write schema registry; times come from `clock`, which the steps move on.
    History(db::Database& registry, testing::ManualClock& clock, std::size_t workers);

    /// Submits and starts a job whose budget is locked in its escrow, by an order of `owner`, which
    /// order_key signs if there is one. lock_on_chain() has to bring about the lock.
    Digest submit_job(const std::string& asset, const Address& owner, const Amount& budget,
                      const Amount& price_wei_per_pflop, const std::string& key = "job");
    /// A data provider's price, in force for jobs submitted afterwards.
    void set_data_price(const Amount& wei_per_mtoken) { data_price_ = wei_per_mtoken; }
    /// A part of the mix that jobs submitted afterwards train on.
    struct MixedPart {
        Address provider;
        Amount price;  ///< wei for a million tokens
        std::uint32_t quality_ppm = 0;
        std::uint64_t tokens = 0;  ///< of the mix
    };
    /// Registered before the next job; its root is mixed_root(). Empty: jobs train on one dataset.
    void set_mix(std::vector<MixedPart> parts) { mix_ = std::move(parts); }
    [[nodiscard]] static Digest mixed_root(std::size_t index) {
        return test_digest("part " + std::to_string(index));
    }

    /// Opens the job's next round and commits its units.
    void commit_round(const Digest& job, const std::vector<PlannedUnit>& units);
    /// Draws, reports and disputes; then the challenge window passes and the round is closed.
    void finish_round();
    void run_round(const Digest& job, const std::vector<PlannedUnit>& units) {
        commit_round(job, units);
        finish_round();
    }
    void end_job(const Digest& job);

    /// Over the commitments of the open round, and how many there are.
    [[nodiscard]] Digest commitments_root() const;
    [[nodiscard]] std::uint32_t commitment_count() const;
    [[nodiscard]] Digest unit_id(std::size_t index) const { return ids_.at(index); }
    [[nodiscard]] std::uint64_t round() const { return round_; }
    [[nodiscard]] Address worker(std::size_t index) const { return key_of(index).address(); }
    /// The account that is credited for a worker's units.
    [[nodiscard]] Address earner(std::size_t index) const {
        return test_address(0x20, static_cast<std::uint8_t>(index));
    }
    [[nodiscard]] Address verifier() const { return key_of(kVerifierKey).address(); }
    [[nodiscard]] Address verifier_earner() const { return test_address(0x40, 1); }
    [[nodiscard]] Address data_provider() const { return test_address(0x50, 1); }

    static constexpr std::uint64_t kTokens = 4'096;  ///< of every unit
    std::set<std::size_t> silent;                    ///< workers that answer no uptime challenge
    /// The domain of nodes' signatures; a test that checks signatures sets its network's before it
    /// begins.
    crypto::Eip712Domain domain = protocol::signing_domain(31'337, {});
    /// Where the chain has the open round's root, and what the block after it draws by.
    std::uint64_t posted_block = 1;
    Digest beacon = test_digest("beacon");
    std::optional<OrderKey> order_key;
    std::function<void()> lock_on_chain;  ///< until gym-rewards has confirmed all orders
    std::set<std::size_t> left_out;       ///< units of the open round that are not under its root

  private:
    static constexpr std::size_t kVerifierKey = 255;

    void must(const Status& status, const char* what) const;
    [[nodiscard]] static crypto::PrivateKey key_of(std::size_t index);
    template <class F>
    void write(const char* what, F&& body) {
        must(registry_.transact(std::forward<F>(body)), what);
    }
    void register_nodes();
    Status register_mix(db::Transaction& tx, registry::Dataset mix) const;
    void beat(std::int64_t ms);
    Status answer_challenge(db::Transaction& tx, const crypto::PrivateKey& node);
    Status commit_unit(db::Transaction& tx, const registry::Round& round, std::size_t index);
    Status draw_unit(db::Transaction& tx, std::size_t index);
    [[nodiscard]] bool has_prefix(std::size_t index) const {
        return units_[index].fate == Fate::kPrefix || units_[index].fate == Fate::kWrongPrefix;
    }
    [[nodiscard]] bool expires(std::size_t index) const {
        return units_[index].fate == Fate::kExpired || has_prefix(index);
    }
    /// The statement of `signer` about the unit's first step.
    [[nodiscard]] protocol::SignedPrefix prefix_of(const Digest& record, std::size_t index,
                                                   std::size_t signer) const;
    Status decide_prefix(db::Transaction& tx, std::size_t index);
    Status advance(db::Transaction& tx, std::size_t index, const protocol::UnitEvent& event,
                   const std::optional<protocol::Reason>& reason = std::nullopt);
    [[nodiscard]] registry::StateRef state_ref(const std::string& name) const;

    db::Database& registry_;
    testing::ManualClock& clock_;
    std::size_t workers_;
    Amount data_price_;
    std::vector<MixedPart> mix_;
    protocol::LifecycleParams life_;
    Digest job_;
    std::uint64_t round_ = 0;
    std::vector<PlannedUnit> units_;  // of the open round
    std::vector<Digest> ids_;
    std::vector<std::optional<Digest>> leaves_;  // none for a unit that never commits
    std::uint64_t epoch_ = 0;
    std::uint64_t nonces_ = 0;
};

}  // namespace gym::testing
