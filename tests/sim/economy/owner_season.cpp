// A job owner: what it does with its money, deadlines and prices while others work for it.
#include <array>

#include "arena.hpp"
#include "chain_model.hpp"
#include "gym/protocol/dispute_window.hpp"
#include "gym/protocol/prefix.hpp"
#include "gym/protocol/price_floor.hpp"
#include "gym/protocol/unit_fit.hpp"
#include "gym/rewards/formulas.hpp"
#include "must.hpp"

namespace gym::sim::economy {
namespace {

using gym::testing::must;

enum OwnerArm : std::size_t {
    kHonest,
    kWithdrawsWhatIsSpent,
    kWithdrawsBeforeTheLock,
    kCancels,
    kLeaves,
    kLeavesWhileNothingIsReleased,
    kDeadlinesThatCutOff,
    kDrawsThatOutlastTheWindow,
    kPaysNothing,
    kWashesForEmission,
    kOwnerArms
};

constexpr std::uint64_t kRounds = 4;
constexpr std::array kWorkers = {Account::kPeerA, Account::kPeerB};

Wei all_that_is_earned(const Network& net) {
    const Wei unit = net.reward + net.bonus + net.report_reward;
    return static_cast<Wei>(kRounds * kWorkers.size()) * share_of(unit, 1'000'000 + net.fee_ppm);
}

constexpr std::array<Arm, kOwnerArms> kNames = {{
    {"honest", Claim::kHonest},
    {"withdraws what its job spends", Claim::kGainsNothing},
    {"withdraws between its order and the lock"},
    {"cancels its job half-way"},
    {"leaves the escrow while its job runs"},
    {"the same, and nothing is released for 30 days", Claim::kAtMost, all_that_is_earned,
     all_that_is_earned},
    {"deadlines that cut every unit off"},
    {"deadlines whose draws outlast the window"},
    {"a price of next to nothing"},
    {"owns workers and verifiers, for the emission"},
}};

class OwnerSeason {
  public:
    OwnerSeason(const Network& net, std::size_t arm)
        : net_(net), arm_(arm), escrow_(book_, net.rules) {}

    Book run() {
        budget_ = 2 * all_that_is_earned(net_);
        escrow_.deposit(Account::kOwner, budget_);
        if (arm_ == kWithdrawsBeforeTheLock) escrow_.withdraw(Account::kOwner);
        if (lock() && is_taken())
            for (std::uint64_t round = 0; round < rounds(); ++round)
                play_round();
        end();
        return book_;
    }

  private:
    bool lock() {
        records::JobOrder order;
        order.owner = key_of(Account::kOwner).address();
        order.budget_wei = amount_of(budget_);
        order.expiry_s = kNowMs / 1'000 + 60;
        return escrow_.lock(Account::kOwner, order,
                            records::seal_order(order_network(), order, key_of(Account::kOwner)));
    }

    /// Whether the coordinator starts the job.
    [[nodiscard]] bool is_taken() const {
        if (arm_ == kDrawsThatOutlastTheWindow) {
            protocol::LifecycleParams terms = net_.lifecycle;
            terms.report_ms = net_.lifecycle.challenge_ms;
            return protocol::outlasts_window(terms, net_.lifecycle.challenge_ms).empty();
        }
        if (arm_ == kPaysNothing && net_.rules.prices_have_floor) {
            const Amount floor = must(Amount::parse_tokens(protocol::kPricePerPflopMinGym));
            return protocol::below_floor(Amount(1), floor).empty();
        }
        return true;
    }
    [[nodiscard]] std::uint64_t rounds() const {
        const bool ends_early = arm_ == kCancels || arm_ == kLeaves;
        return ends_early ? kRounds / 2 : kRounds;
    }

    void play_round() {
        if (arm_ == kWashesForEmission) return wash();
        for (const Account worker : kWorkers) {
            if (arm_ == kDeadlinesThatCutOff)
                cut_off(worker);
            else
                whole_unit(worker);
        }
    }

    void whole_unit(Account worker) {
        const bool nothing = arm_ == kPaysNothing;
        book_.move(worker, Account::kOutside, net_.cost);
        book_.move(Account::kVerifiers, Account::kOutside, net_.cost);
        earn(worker, nothing ? 0 : net_.reward + net_.bonus);
        earn(Account::kVerifiers, nothing ? 0 : net_.report_reward);
        // What the unit is worth to the owner: a little more than it pays for it.
        const Wei pays =
            share_of(net_.reward + net_.bonus + net_.report_reward, 1'000'000 + net_.fee_ppm);
        book_.move(Account::kOutside, Account::kOwner, pays + pays / 20);
    }

    /// A machine that is just too slow. Its first steps are verified and paid at most three times
    /// in a row, and nothing of them is in the model (coordinator_core: PrefixesTest).
    void cut_off(Account worker) {
        const std::uint64_t steps = net_.unit.steps;
        const protocol::UnitLength length{net_.unit.flops_per_step, net_.unit.steps, 1'000};
        const std::uint64_t slow = net_.flops() - 1;  // a second is not enough
        if (net_.rules.units_fit && !protocol::is_in_time(length, slow)) return;
        if (steps < 2 || cut_off_[worker] >= protocol::kPrefixesInRowMax) return;
        ++cut_off_[worker];
        const auto done = static_cast<Wei>(steps - 1);
        const auto whole = static_cast<Wei>(steps);
        book_.move(worker, Account::kOutside, net_.cost * done / whole);
        if (!net_.rules.prefixes_paid) return;
        book_.move(Account::kVerifiers, Account::kOutside, net_.cost * done / whole);
        earn(worker, net_.reward * done / whole);
        earn(Account::kVerifiers, net_.report_reward * done / whole);
    }

    /// A round among its own workers and verifiers, which compute nothing and agree.
    void wash() {
        const Amount compute = amount_of(net_.reward);
        const rewards::Fee fee = must(rewards::fee_of(amount_of(net_.reward + net_.report_reward),
                                                      net_.fee_ppm, net_.fee_burned_ppm));
        escrow_.release(Account::kOwner, wei_of(fee.kept) + wei_of(fee.burned));
        book_.move(Account::kDistributor, Account::kCoordinator, wei_of(fee.kept));
        book_.move(Account::kDistributor, Account::kBurned, wei_of(fee.burned));
        const Amount of = net_.rules.emission_within_burn ? fee.burned : compute;
        book_.move(Account::kEmission, Account::kOwner,
                   wei_of(must(rewards::emission_share(of, net_.emission_ppm, compute, compute))));
    }

    void earn(Account account, Wei amount) {
        credits_.emplace_back(account, amount);
        const rewards::Fee fee =
            must(rewards::fee_of(amount_of(amount), net_.fee_ppm, net_.fee_burned_ppm));
        credits_.emplace_back(Account::kCoordinator, wei_of(fee.kept));
        credits_.emplace_back(Account::kBurned, wei_of(fee.burned));
    }

    void end() {
        if (arm_ == kWithdrawsWhatIsSpent) escrow_.withdraw(Account::kOwner);
        // JobEscrow.exit: 30 days are longer than everything that comes before a release.
        if (arm_ == kLeavesWhileNothingIsReleased) escrow_.exit(Account::kOwner);
        for (const auto& [account, amount] : credits_)
            if (escrow_.release(Account::kOwner, amount))
                book_.move(Account::kDistributor, account, amount);
        escrow_.exit(Account::kOwner);
    }

    const Network& net_;
    std::size_t arm_;
    Book book_;
    Escrow escrow_;
    Wei budget_ = 0;
    std::map<Account, std::uint32_t> cut_off_;
    std::vector<std::pair<Account, Wei>> credits_;
};

Book play(const Network& net, std::size_t arm, std::uint64_t) {
    return OwnerSeason(net, arm).run();
}

constexpr std::array kCoalition = {Account::kOwner};
/// They earn as much as the owner's jobs give them; what they must not have is less than nothing.
constexpr std::array kOthers = {Account::kPeerA, Account::kPeerB, Account::kVerifiers};

}  // namespace

const Arena& owner_arena() {
    static const Arena arena{"job owner", kNames, kCoalition, kOthers, play, Baseline::kNothing, 1};
    return arena;
}

}  // namespace gym::sim::economy
