#include "history.hpp"

#include <algorithm>
#include <cmath>

namespace gym::sim::economy {
namespace {

/// So many times as many seasons as tries of one arm it plays what paid best.
constexpr std::uint64_t kSeasons = 3;
constexpr std::size_t kViolationsMax = 5;

/// The payoffs of a party's own past, from which it chooses.
class Memory {
  public:
    explicit Memory(const Arena& arena) : arena_(arena), sums_(arena.arms.size(), 0.0) {
        counts_.assign(arena.arms.size(), 0);
    }
    void add(std::size_t arm, double gain) {
        sums_[arm] += gain;
        ++counts_[arm];
    }
    [[nodiscard]] double mean(std::size_t arm) const {
        return counts_[arm] == 0 ? 0 : sums_[arm] / static_cast<double>(counts_[arm]);
    }
    /// Nine times of ten the best so far, honest play included; otherwise any.
    [[nodiscard]] std::size_t choose(Dice& dice) const {
        std::size_t best = 0;
        for (std::size_t arm = 1; arm < sums_.size(); ++arm)
            if (may_choose(arm) && mean(arm) > mean(best)) best = arm;
        if (!dice.ppm(100'000)) return best;
        const auto any = static_cast<std::size_t>(dice.below(sums_.size()));
        return may_choose(any) ? any : best;
    }

  private:
    [[nodiscard]] bool may_choose(std::size_t arm) const {
        return arena_.arms[arm].claim != Claim::kAtMost;
    }
    const Arena& arena_;
    std::vector<double> sums_;
    std::vector<std::uint64_t> counts_;
};

class History {
  public:
    History(const Arena& arena, const Rules& rules, std::uint64_t seed, Tally& tally)
        : arena_(arena),
          seed_(seed),
          dice_(seed),
          net_(random_network(dice_.next(), rules)),
          tally_(tally),
          memory_(arena) {}

    void play() {
        for (std::uint64_t i = 0; i < arena_.tries; ++i) {
            const std::uint64_t season = dice_.next();
            const Book honest = arena_.play(net_, 0, season);
            for (std::size_t arm = 1; arm < arena_.arms.size(); ++arm)
                memory_.add(arm, gain(arm, season, honest));
        }
        for (std::size_t arm = 1; arm < arena_.arms.size(); ++arm)
            tally_.arms[arm].gain.add(memory_.mean(arm));
        const std::uint64_t seasons = kSeasons * arena_.tries;
        double sum = 0;
        for (std::uint64_t i = 0; i < seasons; ++i) {
            const std::size_t arm = memory_.choose(dice_);
            const std::uint64_t season = dice_.next();
            const double won = arm == 0 ? 0 : gain(arm, season, arena_.play(net_, 0, season));
            memory_.add(arm, won);
            sum += won;
        }
        tally_.adaptive.add(sum / static_cast<double>(seasons));
        ++tally_.histories;
    }

  private:
    /// In pay of a unit, more than the same season gives an honest party.
    double gain(std::size_t arm, std::uint64_t season, const Book& honest) {
        const Book book = arena_.play(net_, arm, season);
        if (book.total() != 0) violation(arm, "money appeared or vanished");
        const Wei won = coalition_of(arena_, book) - coalition_of(arena_, honest);
        check_gain(arm, won);
        check_honest(arm, book, honest);
        return in_pay(won);
    }
    [[nodiscard]] double in_pay(Wei wei) const { return tokens_of(wei) / tokens_of(net_.reward); }

    void check_gain(std::size_t arm, Wei won) {
        const Arm& one = arena_.arms[arm];
        ArmResult& result = tally_.arms[arm];
        result.most = std::max(result.most, in_pay(won));
        if (one.claim == Claim::kGainsNothing && won > 0) violation(arm, "it gained");
        if (one.claim == Claim::kAtMost && won > one.most(net_))
            violation(arm, "it gained more than what is left");
    }
    void check_honest(std::size_t arm, const Book& book, const Book& honest) {
        const Arm& one = arena_.arms[arm];
        for (const Account account : arena_.honest) {
            const bool same = arena_.baseline == Baseline::kSameSeason;
            const Wei lost = (same ? honest.of(account) : 0) - book.of(account);
            tally_.arms[arm].harm = std::max(tally_.arms[arm].harm, in_pay(lost));
            if (lost > (one.harm == nullptr ? 0 : one.harm(net_)))
                violation(arm, "honest account " + std::to_string(static_cast<unsigned>(account)) +
                                   " lost " + std::to_string(in_pay(lost)) + " times a unit's pay");
        }
    }
    void violation(std::size_t arm, const std::string& what) {
        ++tally_.arms[arm].violations;
        if (tally_.violations.size() < kViolationsMax)
            tally_.violations.push_back("GYM_TEST_SEED=" + std::to_string(seed_) + ": " +
                                        std::string(arena_.name) + ", " +
                                        std::string(arena_.arms[arm].name) + ": " + what);
    }

    const Arena& arena_;
    std::uint64_t seed_;
    Dice dice_;
    Network net_;
    Tally& tally_;
    Memory memory_;
};

}  // namespace

void Mean::add(double value) {
    sum += value;
    squares += value * value;
    ++count;
}
double Mean::value() const {
    return count == 0 ? 0 : sum / static_cast<double>(count);
}
double Mean::error() const {
    if (count == 0) return 0;
    const auto n = static_cast<double>(count);
    return 3 * std::sqrt(std::max(squares / n - value() * value(), 0.0) / n);
}

void play_history(const Arena& arena, const Rules& rules, std::uint64_t seed, Tally& tally) {
    tally.arms.resize(arena.arms.size());
    History(arena, rules, seed, tally).play();
}

}  // namespace gym::sim::economy
