#include <algorithm>
#include <map>
#include <set>

#include "gym/common/ppm.hpp"
#include "gym/rewards/epoch_file.hpp"

namespace gym::rewards {
namespace {

class Checker {
  public:
    Checker(const EpochFile& file, const std::optional<EpochFile>& previous)
        : file_(file), previous_(previous) {}

    std::vector<std::string> run() {
        check_chain();
        check_credits();
        check_emission();
        check_releases();
        check_payouts();
        check_tree();
        return std::move(problems_);
    }

  private:
    using RoundName = std::pair<Digest, std::uint64_t>;  // job and round

    void expect(bool holds, const std::string& problem) {
        if (!holds) problems_.push_back(problem);
    }

    void check_chain() {
        if (!previous_) {
            expect(file_.epoch == 1 && !file_.previous, "the file before is missing");
            return;
        }
        expect(file_.epoch == previous_->epoch + 1, "the epoch does not follow the file before");
        expect(file_.previous == epoch_file_root(encode_epoch_file(*previous_)),
               "the file names another file before it");
        expect(file_.domain == previous_->domain, "the distributor changed");
        check_seal();
    }

    /// The chain of the ledger's seals only grows.
    void check_seal() {
        const auto& before = previous_->ledger_seal;
        const auto& now = file_.ledger_seal;
        if (!before) return;
        expect(now && now->number >= before->number, "the ledger has fewer seals than before");
        if (now && now->number == before->number)
            expect(now->hash == before->hash, "the ledger's seal differs from the one before");
    }

    void check_credits() {
        std::set<std::string> ids;
        std::set<Digest> computed;
        for (const Credit& credit : file_.credits) {
            expect(ids.insert(credit.id).second, "credit " + credit.id + " is repeated");
            const auto amount = evaluate(credit.inputs);
            expect(amount.ok() && *amount == credit.amount,
                   "credit " + credit.id + " does not follow from its formula");
            expect(!credit.amount.is_zero(), "credit " + credit.id + " is worth nothing");
            expect(credit.unit.has_value() == is_of_unit(credit.kind()),
                   "credit " + credit.id + ": credits for work have a unit, others none");
            expect(credit.payer.has_value() == (credit.kind() == CreditKind::kEmission),
                   "credit " + credit.id + ": emission has a payer, all others are the job's");
            const auto* const data = std::get_if<DataInputs>(&credit.inputs);
            expect(credit.dataset.has_value() == (data != nullptr && data->mix_tokens != 0),
                   "credit " + credit.id + ": a part of a mix is named, all others are not");
            // As a whole or for a prefix, never both.
            if ((credit.kind() == CreditKind::kCompute || credit.kind() == CreditKind::kPrefix) &&
                credit.unit)
                expect(computed.insert(*credit.unit).second,
                       "unit " + credit.unit->hex() + " is credited twice");
            check_uptime(credit);
            if (credit.kind() == CreditKind::kBurn)
                add(burned_[{credit.job_id, credit.round}], credit.amount);
            add(total_, credit.amount);
            add(earned_[credit.earner], credit.amount);
        }
    }

    void check_uptime(const Credit& credit) {
        const auto* const in = std::get_if<UptimeInputs>(&credit.inputs);
        if (in == nullptr || in->challenges == 0) return;
        expect(in->answered <= in->challenges &&
                   in->uptime_ppm == in->answered * std::uint64_t{kPpm} / in->challenges,
               "credit " + credit.id + ": its uptime is not answered / challenges");
    }

    /// A round gives back what it burned at most, and each node's share is of the same burn.
    void check_emission() {
        struct Given {
            Amount emission, compute;
        };
        std::map<RoundName, Given> given;
        for (const Credit& credit : file_.credits) {
            const auto* const in = std::get_if<EmissionInputs>(&credit.inputs);
            if (in == nullptr) continue;
            const RoundName name{credit.job_id, credit.round};
            expect(in->burned == burned_[name],
                   "credit " + credit.id + " is emission above the amount that its round burned");
            add(given[name].emission, credit.amount);
            add(given[name].compute, in->compute);
            expect(given[name].compute <= in->compute_total,
                   "credit " + credit.id + ": the shares of its round are more than the whole");
        }
        for (const auto& [name, sums] : given)
            expect(sums.emission <= burned_[name], "round " + std::to_string(name.second) +
                                                       " of job " + name.first.hex() +
                                                       " gets more emission than it burned");
    }

    /// Job owners pay what the credits are worth, to the last unit.
    void check_releases() {
        Amount released;
        for (const FileRelease& release : file_.releases)
            add(released, release.amount);
        expect(released == total_, "releases and credits differ");
    }

    void check_payouts() {
        std::map<Address, Amount> expected = earned_;
        if (previous_)
            for (const Payout& payout : previous_->payouts)
                add(expected[payout.earner], payout.cumulative);
        Amount total;
        for (const Payout& payout : file_.payouts) {
            add(total, payout.cumulative);
            const auto found = expected.find(payout.earner);
            expect(found != expected.end() && found->second == payout.cumulative,
                   "the cumulative amount of " + payout.earner.hex() +
                       " is not the one before plus its credits");
            expected.erase(payout.earner);
        }
        for (const auto& [earner, amount] : expected)
            expect(amount.is_zero(), "earner " + earner.hex() + " is missing");
        expect(total == file_.total_cumulative, "the total is not the sum of the payouts");
    }

    void check_tree() {
        const auto tree = PayoutTree::build(file_.domain, file_.payouts);
        expect(tree.ok() && tree->root() == file_.payout_root, "the payout root is another");
    }

    void add(Amount& to, const Amount& amount) {
        const auto sum = to.plus(amount);
        expect(sum.ok(), "a sum does not fit 256 bits");
        to = sum.value_or(to);
    }

    const EpochFile& file_;
    const std::optional<EpochFile>& previous_;
    std::vector<std::string> problems_;
    Amount total_;
    std::map<RoundName, Amount> burned_;
    std::map<Address, Amount> earned_;
};

}  // namespace

std::vector<std::string> check_epoch_file(const EpochFile& file,
                                          const std::optional<EpochFile>& previous) {
    return Checker(file, previous).run();
}

}  // namespace gym::rewards
