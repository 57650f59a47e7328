// Whoever holds an API key of an owner, or gym-api's own database role: it brings orders.
#include <array>

#include "arena.hpp"
#include "chain_model.hpp"

namespace gym::sim::economy {
namespace {

enum ThiefArm : std::size_t {
    kHonest,
    kItsOwnSignature,
    kAnotherText,
    kMoreBudget,
    kADearerPrice,
    kAnotherOwner,
    kTheSameAgain,
    kAnOldOne,
    kOfAnotherNetwork,
    kAboveTheKeysLimit,
    kThiefArms
};

constexpr std::array<Arm, kThiefArms> kNames = {{
    {"honest", Claim::kHonest},
    {"an order that it signed itself", Claim::kGainsNothing},
    {"another text under an order of the owner", Claim::kGainsNothing},
    {"more budget than the owner signed", Claim::kGainsNothing},
    {"a dearer price of data than the owner signed", Claim::kGainsNothing},
    {"an order of another owner", Claim::kGainsNothing},
    {"an order a second time", Claim::kGainsNothing},
    {"an order that has expired", Claim::kGainsNothing},
    {"an order for another network", Claim::kGainsNothing},
    {"an order of the owner above the key's limit", Claim::kGainsNothing},
}};

struct Signed {
    records::JobOrder order;
    records::OrderSeal seal;
};

class ThiefSeason {
  public:
    ThiefSeason(const Network& net, std::uint64_t seed)
        : net_(net), dice_(seed), escrow_(book_, net.rules) {}

    Book run(std::size_t arm) {
        escrow_.deposit(Account::kVictim, 100 * net_.reward);
        const Signed real = order("job: 1", "first", kNowMs / 1'000 + 60);
        bring(real);
        const bool has_the_key_alone = arm == kAboveTheKeysLimit && net_.rules.keys_limited;
        // postgres_orders.cpp, charge_key(): the first order has used up what the key may bring.
        if (arm != kHonest && !has_the_key_alone) bring(attempt(arm, real));
        escrow_.unlock(Account::kVictim, escrow_.locked_of(Account::kVictim));
        escrow_.withdraw(Account::kVictim);
        return book_;
    }

  private:
    Signed order(std::string_view text, std::string_view request, std::uint64_t expiry_s,
                 Account signer = Account::kVictim,
                 const records::OrderNetwork& network = order_network()) {
        const records::OrderTerms terms{
            {},
            amount_of(net_.reward * static_cast<Wei>(dice_.between(1, 20))),
            net_.unit.price_wei_per_pflop,
            Amount(1)};
        Signed out;
        out.order = records::job_order(terms, text, key_of(signer).address(),
                                       records::order_nonce(request));
        out.order.expiry_s = expiry_s;
        out.seal = records::seal_order(network, out.order, key_of(signer));
        return out;
    }

    Signed attempt(std::size_t arm, const Signed& real) {
        const std::uint64_t valid = kNowMs / 1'000 + 60;
        const Account thief = Account::kThief;
        records::OrderNetwork other = order_network();
        ++other.chain_id;
        // An order of the owner's that was never brought is in the thief's hands, too.
        Signed out = arm == kItsOwnSignature ? order("job: 2", "second", valid, thief)
                     : arm == kAnotherOwner  ? order("job: 2", "second", valid, Account::kOwner)
                     : arm == kAnOldOne      ? order("job: 2", "second", kNowMs / 1'000 - 1)
                     : arm == kOfAnotherNetwork
                         ? order("job: 2", "second", valid, Account::kVictim, other)
                     : arm == kTheSameAgain ? real
                                            : order("job: 2", "second", valid);
        out.order.owner = key_of(Account::kVictim).address();
        if (arm == kAnotherText) out.order.spec = records::spec_digest("job: 3");
        if (arm == kMoreBudget) out.order.budget_wei = amount_of(40 * net_.reward);
        if (arm == kADearerPrice) out.order.max_data_price_wei = amount_of(net_.reward);
        return out;
    }

    /// The job trains on data of the thief's, which has the whole budget.
    void bring(const Signed& sealed) {
        const Wei budget = wei_of(sealed.order.budget_wei);
        if (!escrow_.lock(Account::kVictim, sealed.order, sealed.seal)) return;
        if (escrow_.release(Account::kVictim, budget))
            book_.move(Account::kDistributor, Account::kThief, budget);
    }

    const Network& net_;
    Dice dice_;
    Book book_;
    Escrow escrow_;
};

Book play(const Network& net, std::size_t arm, std::uint64_t seed) {
    return ThiefSeason(net, seed).run(arm);
}

constexpr std::array kCoalition = {Account::kThief};
constexpr std::array kOthers = {Account::kVictim};

}  // namespace

const Arena& thief_arena() {
    static const Arena arena{"API thief",           kNames, kCoalition, kOthers, play,
                             Baseline::kSameSeason, 1};
    return arena;
}

std::span<const Arena* const> all_arenas() {
    static const std::array<const Arena*, 6> all = {&worker_arena(),  &verifier_arena(),
                                                    &settler_arena(), &coordinator_arena(),
                                                    &owner_arena(),   &thief_arena()};
    return all;
}

Wei coalition_of(const Arena& arena, const Book& book) {
    Wei sum = 0;
    for (const Account account : arena.coalition)
        sum += book.of(account);
    return sum;
}

}  // namespace gym::sim::economy
