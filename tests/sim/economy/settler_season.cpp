// A stolen settler's key between two honest epochs.
#include <array>

#include "arena.hpp"
#include "chain_model.hpp"

namespace gym::sim::economy {
namespace {

enum SettlerArm : std::size_t {
    kHonest,
    kExtraLeaf,
    kTakesFromAnEarner,
    kLeavesOutAnEarner,
    kWithholdsTheTree,
    kGift,
    kGiftUnwatched,
    kReleasesUnsigned,
    kUnlocksWhatWasSpent,
    kSettlerArms
};

constexpr std::uint64_t kGrowthRewards = 40;  // the growth limit, in rewards of a unit
constexpr std::array kEarners = {Account::kPeerA, Account::kPeerB, Account::kVerifiers};
constexpr std::array kOwners = {Account::kVictim, Account::kOwner};

Wei growth_limit(const Network& net) {
    return static_cast<Wei>(kGrowthRewards) * net.reward;
}
/// What owners have locked at most: released, it is in the distributor and not theirs any more.
Wei locked_most(const Network& net) {
    return 3 * growth_limit(net);
}

constexpr std::array<Arm, kSettlerArms> kNames = {{
    {"honest", Claim::kHonest},
    {"a leaf more under the same total", Claim::kGainsNothing},
    {"takes from an earner", Claim::kGainsNothing},
    {"leaves an earner out", Claim::kGainsNothing},
    {"withholds a tree that pays itself alone", Claim::kGainsNothing},
    {"gives itself what an epoch adds", Claim::kGainsNothing, nullptr, locked_most},
    {"the same, and the guardian does not look", Claim::kAtMost, growth_limit, locked_most},
    {"releases deposits that nobody locked", Claim::kGainsNothing},
    {"unlocks what an accomplice's jobs spent", Claim::kAtMost, growth_limit, growth_limit},
}};

class SettlerSeason {
  public:
    SettlerSeason(const Network& net, std::uint64_t seed)
        : net_(net),
          dice_(seed),
          escrow_(book_, net_.rules),
          distributor_(book_, net_.rules, growth_limit(net)) {
        for (const Account owner : kOwners) {
            escrow_.deposit(owner, 2 * locked_most(net_));
            lock(owner, locked_most(net_) / 2);
        }
        earn();
        settle();
        for (const Account owner : kOwners)
            lock(owner, locked_most(net_) / 2 - escrow_.locked_of(owner));
    }

    /// Earners claim at the end: until then everything is in the distributor.
    Book run(std::size_t arm) {
        earn();
        attack(arm);
        settle();  // the guardian has taken the key's role away; a new settler pays what is owed
        claim_all();
        for (const Account owner : kOwners) {
            escrow_.unlock(owner, escrow_.locked_of(owner));
            escrow_.withdraw(owner);
        }
        return book_;
    }

  private:
    struct Credit {
        Account owner;
        Account earner;
        Wei amount = 0;
        bool released = false;
        bool paid = false;
    };

    bool lock_by(Account owner, Wei amount, Account signer) {
        records::JobOrder order;
        order.owner = key_of(signer).address();
        order.budget_wei = amount_of(amount);
        order.expiry_s = kNowMs / 1'000 + 60;
        order.nonce.data[0] = ++nonce_;
        const auto seal = records::seal_order(order_network(), order, key_of(signer));
        order.owner = key_of(owner).address();
        return escrow_.lock(owner, order, seal);
    }
    void lock(Account owner, Wei amount) {
        GYM_ASSERT(lock_by(owner, amount, owner), "an owner locks its own money");
    }
    void earn() {
        for (const Account owner : kOwners)
            for (const Account earner : kEarners) {
                const auto part = static_cast<Wei>(dice_.between(1, kGrowthRewards * 1'000 / 6));
                credits_.push_back({owner, earner, net_.reward * part / 1'000});
            }
    }
    /// An honest epoch. What the contracts would refuse waits (src/rewards/close_epoch.cpp).
    void settle() {
        std::map<Account, Wei> next = paid_;
        Wei total = distributor_.active().total;
        std::vector<Credit*> posted;
        for (Credit& credit : credits_) {
            if (credit.paid) continue;
            if (!credit.released) credit.released = escrow_.release(credit.owner, credit.amount);
            if (total + credit.amount > distributor_.funded()) continue;
            total += credit.amount;
            next[credit.earner] += credit.amount;
            posted.push_back(&credit);
        }
        if (!post(next, total) || !distributor_.activate()) return;
        paid_ = next;
        for (Credit* credit : posted)
            credit->paid = true;
    }
    void claim_all() {
        (void)distributor_.claim(Account::kAccomplice);
        for (const Account earner : kEarners)
            (void)distributor_.claim(earner);
    }
    bool post(const std::map<Account, Wei>& amounts, Wei total, bool published = true) {
        Distributor::Root root;
        for (const auto& [account, amount] : amounts)
            if (amount > 0) root.leaves.push_back({key_of(account).address(), amount_of(amount)});
        root.hash = tree_of(root.leaves).root();
        root.total = total;
        root.published = published;
        return distributor_.submit(root);
    }

    void attack(std::size_t arm) {
        const Account victim = Account::kVictim;
        switch (arm) {
            case kHonest:
                return;
            case kUnlocksWhatWasSpent:
                escrow_.unlock(Account::kOwner, escrow_.locked_of(Account::kOwner));
                escrow_.withdraw(Account::kOwner);
                return;
            case kReleasesUnsigned:
                if (!lock_by(victim, locked_most(net_), Account::kSettler)) return;
                [[fallthrough]];
            case kGift:
            case kGiftUnwatched:
                (void)escrow_.release(victim, escrow_.locked_of(victim));
                break;
            default:
                break;
        }
        std::map<Account, Wei> amounts = paid_;
        const Wei total = change(arm, amounts);
        const bool adds = total > distributor_.active().total;
        if (!post(amounts, total, arm != kWithholdsTheTree)) return;
        const bool watched = arm != kGiftUnwatched && net_.rules.guardian_acts;
        if (adds && watched) distributor_.disable();  // `gym rewards audit` names the credits
        if (distributor_.activate()) paid_ = amounts;
        (void)distributor_.claim(Account::kAccomplice);
    }

    /// Makes the thief's amounts of the honest ones. @return the total that it states.
    Wei change(std::size_t arm, std::map<Account, Wei>& amounts) const {
        const Wei total = distributor_.active().total;
        const Wei most = net_.rules.growth_limited ? growth_limit(net_) : 2 * locked_most(net_);
        const Wei there = std::min(distributor_.funded() - total, most);
        const Wei taken =
            arm == kTakesFromAnEarner ? amounts[Account::kPeerA] / 2 : amounts[Account::kPeerA];
        switch (arm) {
            case kExtraLeaf:
                amounts[Account::kAccomplice] += taken;
                return total;
            case kTakesFromAnEarner:
            case kLeavesOutAnEarner:
                amounts[Account::kAccomplice] += taken;
                amounts[Account::kPeerA] -= taken;
                return total;
            case kWithholdsTheTree:
                amounts = {{Account::kAccomplice, total}};
                return total;
            default:
                amounts[Account::kAccomplice] += there;
                return total + there;
        }
    }

    const Network& net_;
    Dice dice_;
    Book book_;
    Escrow escrow_;
    Distributor distributor_;
    std::uint8_t nonce_ = 0;
    std::vector<Credit> credits_;
    std::map<Account, Wei> paid_;
};

Book play(const Network& net, std::size_t arm, std::uint64_t seed) {
    return SettlerSeason(net, seed).run(arm);
}

constexpr std::array kCoalition = {Account::kSettler, Account::kAccomplice, Account::kOwner};
constexpr std::array kOthers = {Account::kVictim, Account::kPeerA, Account::kPeerB,
                                Account::kVerifiers};

}  // namespace

const Arena& settler_arena() {
    static const Arena arena{"settler", kNames, kCoalition, kOthers, play, Baseline::kSameSeason,
                             1};
    return arena;
}

}  // namespace gym::sim::economy
