#include "chain.hpp"

#include <algorithm>

namespace gym::game::sim {
namespace {

/// Blocks from one kept simulator to the next.
constexpr std::ptrdiff_t kTableBlocks = 8;

CallKey key_of(const Call& call) {
    struct Visitor {
        std::pair<Digest, Digest> operator()(const AnnounceCall& c) { return {c.announcement, {}}; }
        std::pair<Digest, Digest> operator()(const OpenCall& c) { return {c.opening.unit, c.salt}; }
        std::pair<Digest, Digest> operator()(const PlayCall& c) { return {c.sent->game, c.at}; }
        std::pair<Digest, Digest> operator()(const ConflictCall& c) {
            return {c.opening.finding.unit, c.salt};
        }
        std::pair<Digest, Digest> operator()(const ReclaimCall& c) { return {c.unit, c.salt}; }
        std::pair<Digest, Digest> operator()(const ForfeitCall& c) { return {c.announcement, {}}; }
        std::pair<Digest, Digest> operator()(const TimeoutCall& c) { return {c.game, {}}; }
        std::pair<Digest, Digest> operator()(const CloseCall& c) { return {c.game, {}}; }
        std::pair<Digest, Digest> operator()(const SettleCall& c) { return {c.unit, {}}; }
        std::pair<Digest, Digest> operator()(const CompensateCall& c) { return {c.game, {}}; }
        std::pair<Digest, Digest> operator()(const ThawCall&) { return {}; }
        std::pair<Digest, Digest> operator()(const WithdrawCall&) { return {}; }
        std::pair<Digest, Digest> operator()(const WithdrawEtherCall&) { return {}; }
    };
    const auto [name, cursor] = std::visit(Visitor{}, call);
    return {call.index(), name, cursor};
}

}  // namespace

Status apply(DisputeSimulator& simulator, const TxContext& tx, const Call& call) {
    struct Visitor {
        DisputeSimulator& simulator;
        const TxContext& tx;
        Status operator()(const AnnounceCall& c) { return simulator.announce(tx, c.announcement); }
        Status operator()(const OpenCall& c) { return simulator.open(tx, c.opening, c.salt); }
        Status operator()(const PlayCall& c) { return simulator.play(tx, c.sent); }
        Status operator()(const ConflictCall& c) {
            return simulator.open_conflict(tx, c.opening, c.salt);
        }
        Status operator()(const ReclaimCall& c) { return simulator.reclaim(tx, c.unit, c.salt); }
        Status operator()(const ForfeitCall& c) { return simulator.forfeit(tx, c.announcement); }
        Status operator()(const TimeoutCall& c) { return simulator.timeout(tx, c.game); }
        Status operator()(const CloseCall& c) { return simulator.close(tx, c.game); }
        Status operator()(const SettleCall& c) { return simulator.settle(tx, c.unit); }
        Status operator()(const CompensateCall& c) { return simulator.compensate(tx, c.order); }
        Status operator()(const ThawCall& c) { return simulator.thaw(tx, c.amount); }
        Status operator()(const WithdrawCall&) { return simulator.withdraw(tx); }
        Status operator()(const WithdrawEtherCall&) { return simulator.withdraw_ether(tx); }
    };
    return std::visit(Visitor{simulator, tx}, call);
}

Chain::Chain(Rng& rng, DisputeSimulator simulator, const ChainFaults& faults,
             std::map<Address, int> spared)
    : rng_(rng), simulator_(std::move(simulator)), faults_(faults), spared_(std::move(spared)) {}

void Chain::send(const Address& sender, Call call) {
    const CallKey key = key_of(call);
    const bool there = std::ranges::any_of(
        pool_, [&](const Pending& one) { return one.sender == sender && one.key == key; });
    if (!there) pool_.push_back({sender, std::move(call), key});
}

void Chain::skip(std::uint64_t blocks) {
    block_ += blocks;
    time_ += blocks * kBlockSeconds;
    past_.clear();  // no chain goes back that far
    revocable_ = 0;
}

/// To the simulator before a block.
void Chain::restore(std::vector<Past>::const_iterator past) {
    auto from = past;
    while (!from->before)
        --from;
    simulator_ = *from->before;
    for (; from != past; ++from)
        for (const auto& [index, tx] : from->executed)
            (void)apply(simulator_, tx, from->mined[index].call);
}

void Chain::go_back() {
    const std::size_t depth =
        std::min<std::size_t>(1 + rng_() % faults_.reorg_depth_max, revocable_);
    if (depth == 0) return;
    const auto first = past_.end() - static_cast<std::ptrdiff_t>(depth);
    restore(first);
    block_ = first->block;
    time_ = first->time;
    for (auto past = first; past != past_.end(); ++past)
        for (Pending& one : past->mined)
            send(one.sender, std::move(one.call));
    past_.erase(first, past_.end());
    revocable_ -= depth;
    ++reorgs_;
}

void Chain::begin_block() {
    if (revocable_ > faults_.reorg_depth_max) --revocable_;
    Past past;
    past.block = block_;
    past.time = time_;
    const auto last = std::find_if(past_.rbegin(), past_.rend(),
                                   [](const Past& one) { return one.before.has_value(); });
    if (last == past_.rend() || last - past_.rbegin() + 1 >= kTableBlocks) past.before = simulator_;
    past_.push_back(std::move(past));
    ++revocable_;
}

void Chain::mine(const Seen& seen) {
    if (rng_() % 1000 < faults_.reorg) go_back();
    begin_block();
    ++block_;
    time_ += kBlockSeconds * (1 + rng_() % 8 / 7);
    std::vector<Pending> waiting = std::move(pool_);
    pool_.clear();
    std::ranges::shuffle(waiting, rng_);
    Past& past = past_.back();
    for (Pending& one : waiting) {
        const std::uint64_t luck = rng_() % 1000;
        const auto spared = spared_.find(one.sender);
        const bool bad = luck < faults_.dropped + faults_.delayed;
        if (bad && (spared == spared_.end() || spared->second-- > 0)) {
            if (luck >= faults_.dropped) pool_.push_back(std::move(one));
            continue;
        }
        for (int times = rng_() % 1000 < faults_.doubled ? 2 : 1; times > 0; --times) {
            const TxContext tx = tx_of(one);
            const Status status = apply(simulator_, tx, one.call);
            past.executed.emplace_back(past.mined.size(), tx);
            ++executed_;
            seen(one, status);
        }
        past.mined.push_back(std::move(one));
    }
}

TxContext Chain::tx_of(const Pending& one) {
    TxContext tx;
    tx.sender = one.sender;
    tx.block = block_;
    tx.time = time_;
    tx.base_fee = 1 + rng_() % kBaseFeeMax;
    tx.gas_price = tx.base_fee + rng_() % (2 * kBaseFeeMax);
    tx.gas = 200'000;
    tx.value = Amount(2 * kBaseFeeMax * simulator_.terms().escrow_gas);
    return tx;
}

}  // namespace gym::game::sim
