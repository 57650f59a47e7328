#pragma once

#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "dispute_simulator.hpp"

/// A chain that is as bad as a chain can be: it loses, delays, doubles and reorders transactions,
/// and goes back some blocks to mine them anew.
namespace gym::game::sim {

using Rng = std::mt19937_64;

struct AnnounceCall {
    Digest announcement;
};
struct OpenCall {
    Opening opening;
    Digest salt;
};
struct ConflictCall {
    ConflictOpening opening;
    Digest salt;
};
struct PlayCall {
    explicit PlayCall(const std::shared_ptr<const SentMove>& move)
        : PlayCall(move, hash_of(move->cursor)) {}
    PlayCall(std::shared_ptr<const SentMove> move, const Digest& cursor)
        : sent(std::move(move)), at(cursor) {}
    std::shared_ptr<const SentMove> sent;
    Digest at;  ///< hash of its cursor
};
struct ReclaimCall {
    Digest unit, salt;
};
struct ForfeitCall {
    Digest announcement;
};
struct TimeoutCall {
    Digest game;
};
struct CloseCall {
    Digest game;
};
struct SettleCall {
    Digest unit;
};
/// By anybody, for the prover.
struct CompensateCall {
    Digest game;
    std::uint64_t order = 0;
};
struct ThawCall {
    Amount amount;
};
struct WithdrawCall {};
struct WithdrawEtherCall {};
using Call = std::variant<AnnounceCall, OpenCall, PlayCall, ReclaimCall, ForfeitCall, TimeoutCall,
                          CloseCall, SettleCall, ThawCall, WithdrawCall, WithdrawEtherCall,
                          ConflictCall, CompensateCall>;

/// Makes the call on a simulator.
Status apply(DisputeSimulator& simulator, const TxContext& tx, const Call& call);

/// The subject of a call: kind, name, and the cursor of a move.
struct CallKey {
    std::size_t kind = 0;
    Digest name, cursor;
    friend bool operator==(const CallKey&, const CallKey&) = default;
};

/// A transaction that nobody has mined yet.
struct Pending {
    Address sender;
    Call call;
    CallKey key;
};

/// How bad; chances in a thousand for each transaction, or for each block.
struct ChainFaults {
    unsigned dropped = 0;
    unsigned delayed = 0;
    unsigned doubled = 0;
    unsigned reorg = 0;
    unsigned reorg_depth_max = 4;
};

class Chain {
  public:
    /// @param spared transactions of these senders are lost this often at most: who sends again
    /// gets through.
    Chain(Rng& rng, DisputeSimulator simulator, const ChainFaults& faults,
          std::map<Address, int> spared);

    [[nodiscard]] const DisputeSimulator& simulator() const { return simulator_; }
    DisputeSimulator& setup() { return simulator_; }
    [[nodiscard]] std::uint64_t block() const { return block_; }
    [[nodiscard]] std::uint64_t time() const { return time_; }
    [[nodiscard]] const std::vector<Pending>& pool() const { return pool_; }
    /// Counts reorganisations: whoever has kept something of the log must forget it.
    [[nodiscard]] std::uint64_t reorgs() const { return reorgs_; }
    [[nodiscard]] std::uint64_t executed() const { return executed_; }

    /// Once, however often it is sent before it is mined.
    void send(const Address& sender, Call call);
    /// Mines a block; the chain may go back before.
    /// @param seen after each transaction, with what became of it.
    using Seen = std::function<void(const Pending&, const Status&)>;
    void mine(const Seen& seen);
    /// Empty blocks.
    void skip(std::uint64_t blocks);

    static constexpr std::uint64_t kBlockSeconds = 12;
    static constexpr std::uint64_t kBaseFeeMax = 100;

  private:
    /// A block that may be taken back.
    struct Past {
        std::optional<DisputeSimulator>
            before;  ///< only of some: the blocks between are executed again
        std::uint64_t block = 0, time = 0;
        std::vector<Pending> mined;
        std::vector<std::pair<std::size_t, TxContext>> executed;  ///< which of `mined`, and how
    };
    void go_back();
    void restore(std::vector<Past>::const_iterator past);
    void begin_block();
    [[nodiscard]] TxContext tx_of(const Pending& one);

    Rng& rng_;
    DisputeSimulator simulator_;
    ChainFaults faults_;
    std::map<Address, int> spared_;
    std::uint64_t block_ = 1, time_ = 1'000'000;
    std::vector<Pending> pool_;
    std::vector<Past> past_;
    std::size_t revocable_ = 0;  ///< of the last blocks in `past_`
    std::uint64_t reorgs_ = 0, executed_ = 0;
};

}  // namespace gym::game::sim
