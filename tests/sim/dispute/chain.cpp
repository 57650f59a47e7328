#include "chain.hpp"

#include <algorithm>

namespace gym::game::sim {
namespace {

/// What a call is about: kind, name, and the cursor of a move.
using Key = std::tuple<std::size_t, Digest, Digest>;

Key key_of(const Call& call) {
    struct Visitor {
        std::pair<Digest, Digest> operator()(const AnnounceCall& c) { return {c.announcement, {}}; }
        std::pair<Digest, Digest> operator()(const OpenCall& c) { return {c.opening.unit, c.salt}; }
        std::pair<Digest, Digest> operator()(const PlayCall& c) {
            return {c.sent->game, hash_of(c.sent->cursor)};
        }
        std::pair<Digest, Digest> operator()(const ReclaimCall& c) { return {c.unit, c.salt}; }
        std::pair<Digest, Digest> operator()(const ForfeitCall& c) { return {c.announcement, {}}; }
        std::pair<Digest, Digest> operator()(const TimeoutCall& c) { return {c.game, {}}; }
        std::pair<Digest, Digest> operator()(const CloseCall& c) { return {c.game, {}}; }
        std::pair<Digest, Digest> operator()(const SettleCall& c) { return {c.unit, {}}; }
        std::pair<Digest, Digest> operator()(const ThawCall&) { return {}; }
        std::pair<Digest, Digest> operator()(const WithdrawCall&) { return {}; }
        std::pair<Digest, Digest> operator()(const WithdrawEtherCall&) { return {}; }
    };
    const auto [name, cursor] = std::visit(Visitor{}, call);
    return {call.index(), name, cursor};
}

}  // namespace

Status apply(Table& table, const Tx& tx, const Call& call) {
    struct Visitor {
        Table& table;
        const Tx& tx;
        Status operator()(const AnnounceCall& c) { return table.announce(tx, c.announcement); }
        Status operator()(const OpenCall& c) { return table.open(tx, c.opening, c.salt); }
        Status operator()(const PlayCall& c) { return table.play(tx, *c.sent); }
        Status operator()(const ReclaimCall& c) { return table.reclaim(tx, c.unit, c.salt); }
        Status operator()(const ForfeitCall& c) { return table.forfeit(tx, c.announcement); }
        Status operator()(const TimeoutCall& c) { return table.timeout(tx, c.game); }
        Status operator()(const CloseCall& c) { return table.close(tx, c.game); }
        Status operator()(const SettleCall& c) { return table.settle(tx, c.unit); }
        Status operator()(const ThawCall& c) { return table.thaw(tx, c.amount); }
        Status operator()(const WithdrawCall&) { return table.withdraw(tx); }
        Status operator()(const WithdrawEtherCall&) { return table.withdraw_ether(tx); }
    };
    return std::visit(Visitor{table, tx}, call);
}

Chain::Chain(Rng& rng, Table table, const Weather& weather, std::map<Address, int> spared)
    : rng_(rng), table_(std::move(table)), weather_(weather), spared_(std::move(spared)) {}

void Chain::send(const Address& sender, Call call) {
    const Key key = key_of(call);
    const bool there = std::ranges::any_of(
        pool_, [&](const Pending& one) { return one.sender == sender && key_of(one.call) == key; });
    if (!there) pool_.push_back({sender, std::move(call)});
}

void Chain::skip(std::uint64_t blocks) {
    block_ += blocks;
    time_ += blocks * kBlockSeconds;
    past_.clear();  // no chain goes back that far
}

void Chain::go_back() {
    const std::size_t depth =
        std::min<std::size_t>(1 + rng_() % weather_.reorg_depth_max, past_.size());
    if (depth == 0) return;
    const auto first = past_.end() - static_cast<std::ptrdiff_t>(depth);
    table_ = *first->table;
    block_ = first->block;
    time_ = first->time;
    for (auto past = first; past != past_.end(); ++past)
        for (Pending& one : past->mined)
            send(one.sender, std::move(one.call));
    past_.erase(first, past_.end());
    ++reorgs_;
}

void Chain::mine(const Seen& seen) {
    if (rng_() % 1000 < weather_.reorg) go_back();
    Past past{nullptr, block_, time_, {}};
    if (past_.size() > weather_.reorg_depth_max) past_.erase(past_.begin());
    // Blocks without transactions share what was before.
    if (!past_.empty() && past_.back().mined.empty())
        past.table = past_.back().table;
    else
        past.table = std::make_shared<const Table>(table_);
    ++block_;
    time_ += kBlockSeconds * (1 + rng_() % 8 / 7);
    std::vector<Pending> waiting = std::move(pool_);
    pool_.clear();
    std::ranges::shuffle(waiting, rng_);
    for (Pending& one : waiting) {
        const std::uint64_t luck = rng_() % 1000;
        const auto spared = spared_.find(one.sender);
        const bool bad = luck < weather_.dropped + weather_.delayed;
        if (bad && (spared == spared_.end() || spared->second-- > 0)) {
            if (luck >= weather_.dropped) pool_.push_back(std::move(one));
            continue;
        }
        for (int times = rng_() % 1000 < weather_.doubled ? 2 : 1; times > 0; --times) {
            const Status status = execute(one);
            ++executed_;
            seen(one, status);
        }
        past.mined.push_back(std::move(one));
    }
    past_.push_back(std::move(past));
}

Status Chain::execute(const Pending& one) {
    Tx tx;
    tx.sender = one.sender;
    tx.block = block_;
    tx.time = time_;
    tx.base_fee = 1 + rng_() % kBaseFeeMax;
    tx.gas_price = tx.base_fee + rng_() % (2 * kBaseFeeMax);
    tx.gas = 200'000;
    tx.value = Amount(2 * kBaseFeeMax * table_.terms().escrow_gas);
    return apply(table_, tx, one.call);
}

}  // namespace gym::game::sim
