#include "gym/rewards/fact_check.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "gym/rewards/formulas.hpp"

namespace gym::rewards {
namespace {

using RoundName = std::pair<Digest, std::uint64_t>;  // job and round

/// The cause of a credit: two credits of one cause pay it twice.
std::string cause_of(const Credit& credit) {
    std::string out(to_string(credit.kind()));
    if (credit.unit)
        return out + " of unit " + credit.unit->hex() +
               (credit.dataset ? " for dataset " + credit.dataset->hex() : "");
    out += " of round " + std::to_string(credit.round) + " of job " + credit.job_id.hex();
    if (credit.node) out += " for node " + credit.node->hex();
    return out;
}

/// Reports on one unit and fees on late credits may be several.
bool is_once(CreditKind kind) {
    return kind == CreditKind::kCompute || kind == CreditKind::kData ||
           kind == CreditKind::kUptime || kind == CreditKind::kEmission ||
           kind == CreditKind::kPrefix;
}

class FactChecker {
  public:
    FactChecker(const std::vector<EpochFile>& files, FactSource& facts)
        : files_(files), file_(files.back()), facts_(facts) {}

    Result<std::vector<std::string>> run() {
        for (std::size_t i = 0; i + 1 < files_.size(); ++i)
            for (const Credit& credit : files_[i].credits)
                remember(credit, files_[i].epoch);
        for (const Credit& credit : file_.credits) {
            check_repeats(credit);
            remember(credit, file_.epoch);
        }
        for (const Credit& credit : file_.credits)
            GYM_CHECK(check_credit(credit));
        for (const FileRound& round : file_.rounds)
            GYM_CHECK(check_nobody_dropped({round.job_id, round.round}));
        check_releases();
        return std::move(problems_);
    }

  private:
    void expect(bool holds, const std::string& problem) {
        if (!holds) problems_.push_back(problem);
    }
    static void add(Amount& to, const Amount& amount) { to = to.plus(amount).value_or(to); }

    void remember(const Credit& credit, std::uint64_t epoch) {
        ids_.emplace(credit.id, epoch);
        if (is_once(credit.kind())) causes_.emplace(cause_of(credit), epoch);
        const RoundName round{credit.job_id, credit.round};
        switch (credit.kind()) {
            case CreditKind::kCompute:
                if (credit.node) add(compute_[{round, *credit.node}], credit.amount);
                [[fallthrough]];
            case CreditKind::kVerification:
            case CreditKind::kUptime:
            case CreditKind::kData:
            case CreditKind::kPrefix:
                add(work_[round], credit.amount);
                break;
            case CreditKind::kFee:
                add(charged_[round], std::get<FeeInputs>(credit.inputs).charged);
                break;
            case CreditKind::kBurn:
            case CreditKind::kEmission:
                break;
        }
        if (credit.kind() == CreditKind::kVerification && credit.unit && credit.node)
            ++verified_[{*credit.unit, *credit.node}];
    }

    void check_repeats(const Credit& credit) {
        if (const auto before = ids_.find(credit.id); before != ids_.end())
            expect(false, "credit " + credit.id + " was paid by epoch " +
                              std::to_string(before->second) + " already");
        if (!is_once(credit.kind())) return;
        const auto before = causes_.find(cause_of(credit));
        if (before != causes_.end())
            expect(false, "credit " + credit.id + ": " + cause_of(credit) + " was paid by epoch " +
                              std::to_string(before->second) + " already");
    }

    Status check_credit(const Credit& credit) {
        const auto job = job_of(credit.job_id);
        if (!job.ok() && job.error().code == ErrorCode::kNotFound) {
            expect(false, "credit " + credit.id + ": its job is unknown: " + credit.job_id.hex());
            return {};
        }
        GYM_CHECK(job);
        add(spent_[credit.payer.value_or(job->owner)], credit.amount);
        if (is_of_unit(credit.kind())) return check_unit_credit(credit, *job);
        const RoundName round{credit.job_id, credit.round};
        if (const auto* in = std::get_if<UptimeInputs>(&credit.inputs); in && credit.node)
            expect(in->compute <= compute_[{round, *credit.node}],
                   "credit " + credit.id + ": a bonus on more than the node's compute");
        if (credit.kind() == CreditKind::kFee)
            expect(charged_[round] <= work_[round],
                   "credit " + credit.id + ": fees on more than the round's credits");
        return {};
    }

    Status check_unit_credit(const Credit& credit, const JobFacts& job) {
        const std::string name = "credit " + credit.id + ": ";
        if (!credit.unit) return {};  // check_epoch_file() says so
        GYM_TRY(const UnitFacts* const unit, unit_of({credit.job_id, credit.round}, *credit.unit));
        if (unit == nullptr) {
            expect(false, name + "its round has no unit " + credit.unit->hex());
            return {};
        }
        if (credit.kind() == CreditKind::kPrefix || is_for_prefix(credit, *unit))
            return check_prefix(credit, job, *unit);
        if (const auto* in = std::get_if<VerificationInputs>(&credit.inputs))
            return check_verification(credit, *in, job, *unit);
        expect(unit->is_train, name + "unit " + unit->id.hex() + " is not a train unit");
        expect(unit->state == protocol::UnitState::kFinal,
               name + "unit " + unit->id.hex() + " is " + std::string(to_string(unit->state)) +
                   ", not final");
        expect(credit.node == unit->worker,
               name + "unit " + unit->id.hex() + " was done by " + unit->worker.hex());
        if (const auto* in = std::get_if<ComputeInputs>(&credit.inputs)) {
            expect(credit.earner == unit->owner,
                   name + "unit " + unit->id.hex() + " is credited to " + unit->owner.hex());
            check_flops(credit, *in, job, *unit);
        } else {
            check_data(credit, std::get<DataInputs>(credit.inputs), job, *unit);
        }
        return {};
    }

    /// Nobody committed to an expired unit: what was verified of it is a prefix.
    static bool is_for_prefix(const Credit& credit, const UnitFacts& unit) {
        return credit.kind() == CreditKind::kVerification &&
               unit.state == protocol::UnitState::kExpired;
    }

    Status check_prefix(const Credit& credit, const JobFacts& job, const UnitFacts& unit) {
        const std::string name = "credit " + credit.id + ": ";
        GYM_TRY(const auto* const prefixes, prefixes_of({credit.job_id, credit.round}));
        const auto prefix = std::ranges::find(*prefixes, unit.id, &registry::Prefix::unit);
        if (prefix == prefixes->end()) {
            expect(false, name + "no prefix of unit " + unit.id.hex() + " was decided");
            return {};
        }
        expect(unit.is_train && unit.state == protocol::UnitState::kExpired,
               name + "unit " + unit.id.hex() + " is " + std::string(to_string(unit.state)) +
                   ", so that it has no prefix to pay");
        if (const auto* in = std::get_if<VerificationInputs>(&credit.inputs)) {
            expect(prefix->verifier_paid && prefix->verifier == credit.node,
                   name + "its node did not verify the prefix of unit " + unit.id.hex());
            check_prefix_flops(credit, *in, job, *prefix);
            return {};
        }
        expect(prefix->state == protocol::PrefixState::kVerified,
               name + "the prefix of unit " + unit.id.hex() + " is " +
                   std::string(to_string(prefix->state)));
        expect(credit.node == unit.worker,
               name + "unit " + unit.id.hex() + " was done by " + unit.worker.hex());
        expect(credit.earner == unit.owner,
               name + "unit " + unit.id.hex() + " is credited to " + unit.owner.hex());
        check_prefix_flops(credit, std::get<PrefixInputs>(credit.inputs), job, *prefix);
        return {};
    }

    /// @param in PrefixInputs or VerificationInputs.
    template <class Inputs>
    void check_prefix_flops(const Credit& credit, const Inputs& in, const JobFacts& job,
                            const registry::Prefix& prefix) {
        const std::string name = "credit " + credit.id + ": ";
        expect(in.flops == prefix.flops, name + "the prefix of unit " + prefix.unit.hex() +
                                             " has " + std::to_string(prefix.flops) + " FLOPs");
        expect(in.price == job.price_wei_per_pflop,
               name + "the job's price is " + job.price_wei_per_pflop.to_string());
    }

    void check_data(const Credit& credit, const DataInputs& in, const JobFacts& job,
                    const UnitFacts& unit) {
        const std::string name = "credit " + credit.id + ": ";
        expect(in.tokens == unit.tokens,
               name + "unit " + unit.id.hex() + " has " + std::to_string(unit.tokens) + " tokens");
        expect(credit.dataset.has_value() == !job.data_parts.empty(),
               name + (job.data_parts.empty() ? "the dataset is no mix"
                                              : "the dataset is a mix, whose parts are paid"));
        if (credit.dataset) return check_part(credit, in, job);
        expect(credit.earner == job.data_owner,
               name + "the dataset is " + job.data_owner.hex() + "'s");
        expect(in.price == job.data_price_wei_per_mtoken,
               name + "the dataset's price is " + job.data_price_wei_per_mtoken.to_string());
        expect(in.quality_ppm == job.data_quality_ppm,
               name + "the dataset's quality is " + std::to_string(job.data_quality_ppm));
    }

    /// The split of a unit's tokens, made again from the mix's parts.
    void check_part(const Credit& credit, const DataInputs& in, const JobFacts& job) {
        const std::string name = "credit " + credit.id + ": ";
        const auto part = std::ranges::find(job.data_parts, *credit.dataset, &DataPartFacts::root);
        if (part == job.data_parts.end())
            return expect(
                false, name + "dataset " + credit.dataset->hex() + " is no part of the job's mix");
        std::uint64_t mix_tokens = 0;
        Amount before;
        for (const DataPartFacts& other : job.data_parts) {
            mix_tokens += other.tokens;
            if (&other < &*part)
                add(before, data_weight(other.tokens, other.price_wei_per_mtoken, other.quality_ppm)
                                .value_or({}));
        }
        expect(credit.earner == part->owner,
               name + "the mix's part is " + part->owner.hex() + "'s");
        expect(in.price == part->price_wei_per_mtoken,
               name + "the part's price is " + part->price_wei_per_mtoken.to_string());
        expect(in.quality_ppm == part->quality_ppm,
               name + "the part's quality is " + std::to_string(part->quality_ppm));
        expect(in.part_tokens == part->tokens && in.mix_tokens == mix_tokens,
               name + "the mix has " + std::to_string(part->tokens) + " of " +
                   std::to_string(mix_tokens) + " tokens of the part");
        expect(in.weight_before == before,
               name + "the parts before it weigh " + before.to_string());
    }

    Status check_verification(const Credit& credit, const VerificationInputs& in,
                              const JobFacts& job, const UnitFacts& unit) {
        check_flops(credit, in, job, unit);
        if (!credit.node) {
            expect(false, "credit " + credit.id + " names no verifier");
            return {};
        }
        GYM_TRY(const auto reports, facts_.accepted_reports(unit.id));
        expect(credit.earner != unit.owner, "credit " + credit.id + ": unit " + unit.id.hex() +
                                                " was verified by its own owner, " +
                                                unit.owner.hex());
        const auto accepted = std::count(reports.begin(), reports.end(), *credit.node);
        expect(verified_[{unit.id, *credit.node}] <= accepted,
               "credit " + credit.id + ": " + std::to_string(accepted) + " reports of " +
                   credit.node->hex() + " on unit " + unit.id.hex() + " were accepted");
        return {};
    }

    /// How many, its round's record says: check_evidence().
    static bool is_of_whole_steps(const JobFacts& job, const UnitFacts& unit) {
        return unit.flops > 0 && unit.flops % job.flops_per_step == 0 &&
               unit.flops / job.flops_per_step <= job.steps_per_unit;
    }
    /// @param in ComputeInputs or VerificationInputs.
    template <class Inputs>
    void check_flops(const Credit& credit, const Inputs& in, const JobFacts& job,
                     const UnitFacts& unit) {
        const std::string name = "credit " + credit.id + ": ";
        expect(in.flops == unit.flops,
               name + "unit " + unit.id.hex() + " has " + std::to_string(unit.flops) + " FLOPs");
        expect(!unit.is_train || job.flops_per_step == 0 || is_of_whole_steps(job, unit),
               name + "the job's program counts " + std::to_string(job.flops_per_step) +
                   " FLOPs a step, and a unit has at most " + std::to_string(job.steps_per_unit) +
                   " steps; unit " + unit.id.hex() + " has " + std::to_string(unit.flops) +
                   " FLOPs");
        expect(in.price == job.price_wei_per_pflop,
               name + "the job's price is " + job.price_wei_per_pflop.to_string());
    }

    /// Each final unit of the round is paid by now, unless it has a reason to wait.
    Status check_nobody_dropped(const RoundName& round) {
        const auto units = units_of(round);
        if (!units.ok() && units.error().code == ErrorCode::kNotFound) {
            expect(false, "round " + std::to_string(round.second) + " of job " + round.first.hex() +
                              " is unknown");
            return {};
        }
        GYM_CHECK(units);
        GYM_TRY(const JobFacts job, job_of(round.first));
        for (const UnitFacts& unit : **units) {
            if (!unit.is_train || unit.state != protocol::UnitState::kFinal) continue;
            if (causes_.contains("compute of unit " + unit.id.hex())) continue;
            GYM_CHECK(expect_waits(round, unit.id, {unit.flops, job.price_wei_per_pflop},
                                   " is final, and " + unit.owner.hex() + " has no credit for it"));
        }
        GYM_TRY(const auto* const prefixes, prefixes_of(round));
        for (const registry::Prefix& prefix : *prefixes) {
            if (prefix.state != protocol::PrefixState::kVerified) continue;
            if (causes_.contains("prefix of unit " + prefix.unit.hex())) continue;
            GYM_CHECK(expect_waits(round, prefix.unit, {prefix.flops, job.price_wei_per_pflop},
                                   " has a verified prefix, and no credit for it"));
        }
        return {};
    }

    /// Unpaid work that is worth something must have a credit that waits.
    Status expect_waits(const RoundName& round, const Digest& unit, const ComputeInputs& worth,
                        const std::string& otherwise) {
        GYM_TRY(const Amount amount, evaluate(worth));
        if (amount.is_zero()) return {};
        GYM_TRY(const auto waits, facts_.waiting_credit(unit));
        expect(waits.has_value(),
               "unit " + unit.hex() + " of round " + std::to_string(round.second) + otherwise);
        return {};
    }

    void check_releases() {
        std::map<Address, Amount> expected = spent_;
        for (const FileRelease& release : file_.releases) {
            expect(expected[release.owner] == release.amount,
                   release.owner.hex() + " pays " + release.amount.to_string() +
                       ", the credits of its jobs are " + expected[release.owner].to_string());
            expected.erase(release.owner);
        }
        for (const auto& [owner, amount] : expected)
            expect(amount.is_zero(), owner.hex() + " pays nothing, the credits of its jobs are " +
                                         amount.to_string());
    }

    Result<JobFacts> job_of(const Digest& id) {
        if (const auto known = jobs_.find(id); known != jobs_.end()) return known->second;
        GYM_TRY(const JobFacts job, facts_.job(id));
        return jobs_.emplace(id, job).first->second;
    }
    Result<const std::vector<UnitFacts>*> units_of(const RoundName& round) {
        auto known = units_.find(round);
        if (known == units_.end()) {
            GYM_TRY(auto units, facts_.units(round.first, round.second));
            known = units_.emplace(round, std::move(units)).first;
        }
        return &known->second;
    }
    Result<const std::vector<registry::Prefix>*> prefixes_of(const RoundName& round) {
        auto known = prefixes_.find(round);
        if (known == prefixes_.end()) {
            GYM_TRY(auto prefixes, facts_.prefixes(round.first, round.second));
            known = prefixes_.emplace(round, std::move(prefixes)).first;
        }
        return &known->second;
    }
    /// Null if the round has no such unit.
    Result<const UnitFacts*> unit_of(const RoundName& round, const Digest& id) {
        const auto units = units_of(round);
        if (!units.ok() && units.error().code == ErrorCode::kNotFound) return nullptr;
        GYM_CHECK(units);
        for (const UnitFacts& unit : **units)
            if (unit.id == id) return &unit;
        return nullptr;
    }

    const std::vector<EpochFile>& files_;
    const EpochFile& file_;
    FactSource& facts_;
    std::vector<std::string> problems_;
    std::map<std::string, std::uint64_t> ids_, causes_;  // and the epoch that paid them
    std::map<std::pair<RoundName, Address>, Amount> compute_;
    std::map<RoundName, Amount> work_, charged_;
    std::map<std::pair<Digest, Address>, std::ptrdiff_t> verified_;
    std::map<Address, Amount> spent_;
    std::map<Digest, JobFacts> jobs_;
    std::map<RoundName, std::vector<UnitFacts>> units_;
    std::map<RoundName, std::vector<registry::Prefix>> prefixes_;
};

}  // namespace

Result<std::vector<std::string>> check_facts(const std::vector<EpochFile>& files,
                                             FactSource& facts) {
    if (files.empty()) return fail(ErrorCode::kInvalidArgument, "there is no file to check");
    return FactChecker(files, facts).run();
}

}  // namespace gym::rewards
