#pragma once

#include <functional>
#include <map>
#include <random>
#include <set>

#include "gym/game/table.hpp"

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
struct PlayCall {
    std::shared_ptr<const SentMove> sent;
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
struct ThawCall {
    Amount amount;
};
struct WithdrawCall {};
struct WithdrawEtherCall {};
using Call = std::variant<AnnounceCall, OpenCall, PlayCall, ReclaimCall, ForfeitCall, TimeoutCall,
                          CloseCall, SettleCall, ThawCall, WithdrawCall, WithdrawEtherCall>;

/// Makes the call on a table.
Status apply(Table& table, const Tx& tx, const Call& call);

/// A transaction that nobody has mined yet.
struct Pending {
    Address sender;
    Call call;
};

/// How bad; chances in a thousand for each transaction, or for each block.
struct Weather {
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
    Chain(Rng& rng, Table table, const Weather& weather, std::map<Address, int> spared);

    [[nodiscard]] const Table& table() const { return table_; }
    Table& setup() { return table_; }
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
    struct Past {
        std::shared_ptr<const Table> table;
        std::uint64_t block = 0, time = 0;
        std::vector<Pending> mined;
    };
    void go_back();
    Status execute(const Pending& one);

    Rng& rng_;
    Table table_;
    Weather weather_;
    std::map<Address, int> spared_;
    std::uint64_t block_ = 1, time_ = 1'000'000;
    std::vector<Pending> pool_;
    std::vector<Past> past_;
    std::uint64_t reorgs_ = 0, executed_ = 0;
};

}  // namespace gym::game::sim
