#include "params/params_file.hpp"

#include <algorithm>
#include <string_view>

#include "gym/common/yaml.hpp"
#include "gym/game/dispute_params.hpp"

namespace gym::app {
namespace {

constexpr double kTokensMax = 1e15;
constexpr double kSecondsMax = 1e10;
constexpr double kReportsMax = 1e12;
constexpr std::int64_t kDrawsMax = 1'000;
constexpr std::int64_t kPpmMax = 1'000'000;
constexpr std::int64_t kGasMax = 1'000'000'000;
constexpr std::int64_t kProversMax = 1'000;

/// Keys of one mapping, read until the first error, which finish() returns.
class Reader {
  public:
    /// @param overruled where to note terms that the contracts have otherwise; nullptr: they are
    /// taken from the file.
    static Result<Reader> below(YamlMap& file, std::string_view name,
                                std::vector<Overruled>* overruled) {
        GYM_TRY(YamlMap map, file.map(name));
        return Reader(std::move(map), name, overruled);
    }

    void real(std::string_view key, double max, double& out) { keep(map_.real(key, 0, max), out); }
    void real_of_contracts(std::string_view key, double max, double& out) {
        if (map_.has(key)) keep_of_contracts(key, map_.real(key, 0, max), out);
    }
    void real_if_given(std::string_view key, double max, double& out) {
        if (map_.has(key)) keep(map_.real(key, 0, max), out);
    }
    void boolean(std::string_view key, bool& out) { keep(map_.boolean(key), out); }
    template <class Integer>
    void count(std::string_view key, std::int64_t min, std::int64_t max, Integer& out) {
        keep(map_.integer(key, min, max), out);
    }
    template <class Integer>
    void count_if_given(std::string_view key, std::int64_t min, std::int64_t max, Integer& out) {
        if (map_.has(key)) keep(map_.integer(key, min, max), out);
    }
    template <class Integer>
    void count_of_contracts(std::string_view key, std::int64_t min, std::int64_t max,
                            Integer& out) {
        if (map_.has(key)) keep_of_contracts(key, map_.integer(key, min, max), out);
    }
    [[nodiscard]] Status finish() const {
        GYM_CHECK(status_);
        return map_.finish();
    }
    [[nodiscard]] YamlMap& map() { return map_; }

  private:
    Reader(YamlMap map, std::string_view name, std::vector<Overruled>* overruled)
        : map_(std::move(map)), name_(name), overruled_(overruled) {}

    /// `out` holds what the contracts have.
    template <class Value, class Out>
    void keep_of_contracts(std::string_view key, const Result<Value>& read, Out& out) {
        Out written = out;
        keep(read, written);
        if (overruled_ == nullptr)
            out = written;
        else if (written != out)
            overruled_->push_back({name_ + "." + std::string(key), static_cast<double>(written),
                                   static_cast<double>(out)});
    }
    template <class Value, class Out>
    void keep(const Result<Value>& read, Out& out) {
        if (!status_.ok()) return;
        if (read.ok())
            out = static_cast<Out>(*read);
        else
            status_ = read.error();
    }

    YamlMap map_;
    std::string name_;
    std::vector<Overruled>* overruled_;
    Status status_;
};

Status read_worker(Reader in, protocol::WorkerTerms& out) {
    in.real("stake", kTokensMax, out.stake_tokens);
    in.real("unit_reward", kTokensMax, out.unit_reward_tokens);
    in.count("bonus_ppm", 0, kPpmMax, out.bonus_ppm);
    in.real("unit_cost", kTokensMax, out.unit_cost_tokens);
    in.real("outside_gain", kTokensMax, out.outside_gain_tokens);
    in.count("open_units_max", 1, std::int64_t{protocol::kOpenUnitsLimit}, out.open_units_max);
    in.boolean("credits_wait", out.credits_wait);
    in.real("unit_s", kSecondsMax, out.unit_seconds);
    GYM_CHECK(in.finish());
    if (out.unit_reward_tokens > 0) return {};
    return in.map().error_at("unit_reward", "must be more than 0");
}

Status read_sampling(Reader in, protocol::SamplingTerms& out) {
    in.count("floor_ppm", 0, kPpmMax, out.floor_ppm);
    in.count("verifiers", 1, kPpmMax, out.verifiers);
    in.count("colluding_ppm", 0, kPpmMax, out.colluding_ppm);
    return in.finish();
}

Status read_challenge(Reader in, protocol::ChallengeTerms& out) {
    in.real_of_contracts("bond", kTokensMax, out.bond_tokens);
    in.count("provers", 1, kProversMax, out.provers);
    in.count("outage_ppm", 0, kPpmMax, out.outage_ppm);
    in.real("gas_price_gwei", kTokensMax, out.gas_price_gwei);
    in.real("ether_price", kTokensMax, out.ether_price_tokens);
    in.count("challenger_gas", 0, kGasMax, out.challenger_gas);
    in.count("defender_gas", 0, kGasMax, out.defender_gas);
    in.count_of_contracts("escrow_gas", 0, kGasMax, out.escrow_gas);
    return in.finish();
}

Status read_verifier(Reader in, protocol::VerifierTerms& out) {
    in.real("unit_cost", kTokensMax, out.unit_cost_tokens);
    in.real("report_reward", kTokensMax, out.report_reward_tokens);
    in.real("stake", kTokensMax, out.stake_tokens);
    in.real_if_given("report_stake", kTokensMax, out.report_stake_tokens);
    in.real_if_given("false_report_gain", kTokensMax, out.false_report_gain_tokens);
    in.real("reports_ahead", kReportsMax, out.reports_ahead);
    in.count("reports_pending_max", 1, std::int64_t{protocol::kOpenUnitsLimit},
             out.reports_pending_max);
    in.count("traced_ppm", 0, kPpmMax, out.traced_ppm);
    in.count("audit_ppm", 0, kPpmMax, out.audit_ppm);
    in.count("double_ppm", 0, kPpmMax, out.double_ppm);
    in.count("canary_ppm", 0, kPpmMax, out.canary_ppm);
    return in.finish();
}

Status read_slash(Reader in, protocol::SlashTerms& out) {
    // Stake.sol burns half at least.
    in.count_of_contracts("burned_ppm", kPpmMax / 2, kPpmMax, out.burned_ppm);
    in.count_of_contracts("compensation_ppm", 0, kPpmMax, out.compensation_ppm);
    in.count_of_contracts("missed_clock_ppm", 1, kPpmMax, out.missed_clock_ppm);
    GYM_CHECK(in.finish());
    if (std::int64_t{out.burned_ppm} + out.compensation_ppm <= kPpmMax) return {};
    return in.map().error_at("compensation_ppm",
                             "with burned_ppm it must not be more than 1000000");
}

Status read_times(Reader in, protocol::TimeTerms& out) {
    in.real_of_contracts("window_s", kSecondsMax, out.window_seconds);
    in.real_of_contracts("clock_s", kSecondsMax, out.clock_seconds);
    in.real_of_contracts("settling_s", kSecondsMax, out.settling_seconds);
    in.real_of_contracts("thaw_s", kSecondsMax, out.thaw_seconds);
    in.real_of_contracts("forced_inclusion_s", kSecondsMax, out.forced_inclusion_seconds);
    in.real("slowest_verifier_s", kSecondsMax, out.slowest_verifier_seconds);
    in.real_if_given("report_s", kSecondsMax, out.report_seconds);
    in.real_if_given("reveal_s", kSecondsMax, out.reveal_seconds);
    in.count_if_given("draws_max", 1, kDrawsMax, out.draws_max);
    return in.finish();
}

protocol::IncentiveParams terms_of(const game::DisputeParams& contracts) {
    protocol::IncentiveParams out;
    out.slash = {contracts.burned_ppm, contracts.compensation_ppm, contracts.missed_clock_ppm};
    out.challenge.bond_tokens = std::stod(contracts.bond.to_tokens());
    out.challenge.escrow_gas = contracts.escrow_gas;
    out.times.window_seconds =
        static_cast<double>(contracts.window_blocks) * static_cast<double>(contracts.block_time_s);
    out.times.clock_seconds = static_cast<double>(contracts.clock_s);
    out.times.settling_seconds = static_cast<double>(contracts.settling_s);
    out.times.thaw_seconds = static_cast<double>(contracts.thaw_period_s);
    out.times.forced_inclusion_seconds = static_cast<double>(contracts.inclusion_delay_s);
    return out;
}

}  // namespace

Result<ParamsFile> load_params_file(const std::string& path,
                                    const std::optional<game::DisputeParams>& contracts) {
    GYM_TRY(YamlMap file, YamlMap::load_file(path));
    ParamsFile out;
    out.params = terms_of(contracts.value_or(game::DisputeParams{}));
    protocol::IncentiveParams& params = out.params;
    std::vector<Overruled>* const overruled = contracts ? &out.overruled : nullptr;
    GYM_TRY(Reader worker, Reader::below(file, "worker", overruled));
    GYM_CHECK(read_worker(std::move(worker), params.worker));
    GYM_TRY(Reader sampling, Reader::below(file, "sampling", overruled));
    GYM_CHECK(read_sampling(std::move(sampling), params.sampling));
    GYM_TRY(Reader challenge, Reader::below(file, "challenge", overruled));
    GYM_CHECK(read_challenge(std::move(challenge), params.challenge));
    GYM_TRY(Reader verifier, Reader::below(file, "verifier", overruled));
    GYM_CHECK(read_verifier(std::move(verifier), params.verifier));
    GYM_TRY(Reader times, Reader::below(file, "times", overruled));
    GYM_CHECK(read_times(std::move(times), params.times));
    if (file.has("slash")) {
        GYM_TRY(Reader slash, Reader::below(file, "slash", overruled));
        GYM_CHECK(read_slash(std::move(slash), params.slash));
    }
    GYM_TRY(const std::int64_t capital_ppm, file.integer("capital_cost_ppm", 0, kPpmMax));
    params.capital_cost_ppm = static_cast<std::uint32_t>(capital_ppm);
    GYM_CHECK(file.finish());
    const Status fits = protocol::validate(params);
    if (!fits.ok()) return fits.error().in(path);
    return out;
}

}  // namespace gym::app
