#include "gym/contracts/deploy.hpp"

#include "bindings.hpp"
#include "gym/chain/prevrandao.hpp"
#include "gym/chain/transaction.hpp"
#include "gym/contracts/artifact.hpp"

namespace gym::contracts {
namespace {

/// Stakes that are deployed before giving up because another program uses the key.
constexpr unsigned kStakesMax = 4;
constexpr std::size_t kWord = 32;
/// Of the names of the verifiers' Stake and its game.
constexpr const char* kOfVerifiers = "/verifiers";

std::string intent_id(const std::string& name, const std::string& again) {
    return "deploy/" + name + again;
}

/// Of the names of the i-th Stake and its game.
std::string suffix(unsigned i) {
    return i == 0 ? "" : "/" + std::to_string(i + 1);
}

struct Placed {
    Address address;
    std::uint64_t block = 0;
};

/// Contract creations as intents "deploy/NAME", so that a repetition creates nothing twice.
class Deployer {
  public:
    Deployer(chain::TxManager& manager, const std::filesystem::path& artifacts,
             std::uint32_t timeout_ms)
        : manager_(manager), artifacts_(artifacts), timeout_ms_(timeout_ms) {}

    /// Asks for the contract; several can be on their way at once. @param again for a name that is
    /// deployed anew: part of the intent's id.
    Status submit(const std::string& name, const std::vector<chain::AbiValue>& arguments,
                  const std::string& again = {});
    /// Waits until it is in a block.
    [[nodiscard]] Result<Placed> placed(const std::string& name, const std::string& again = {});
    /// Whether it was requested and has not failed.
    [[nodiscard]] Result<bool> under_way(const std::string& name, const std::string& again);
    /// The constructor's arguments of a requested deployment.
    [[nodiscard]] Result<std::vector<chain::AbiValue>> arguments_of(const std::string& name,
                                                                    const std::string& again);

    [[nodiscard]] chain::TxManager& manager() { return manager_; }

  private:
    chain::TxManager& manager_;
    const std::filesystem::path& artifacts_;
    std::uint32_t timeout_ms_;
};

Status Deployer::submit(const std::string& name, const std::vector<chain::AbiValue>& arguments,
                        const std::string& again) {
    GYM_TRY(const Artifact artifact, load_artifact(artifacts_, name));
    auto encoded = chain::abi_encode(artifact.constructor, arguments);
    if (!encoded.ok()) return encoded.error().in("constructor of " + name);
    chain::IntentRequest request;
    request.id = intent_id(name, again);
    request.label = "deploy " + name;
    request.data = artifact.bytecode;
    request.data.insert(request.data.end(), encoded->begin(), encoded->end());
    GYM_CHECK(manager_.submit(request));
    return {};
}

Result<Placed> Deployer::placed(const std::string& name, const std::string& again) {
    GYM_TRY(const chain::Receipt receipt, manager_.wait_mined(intent_id(name, again), timeout_ms_));
    if (!receipt.contract_address)
        return fail(ErrorCode::kMalformed, "the receipt of " + name + " names no contract");
    return Placed{*receipt.contract_address, receipt.block_number};
}

Result<bool> Deployer::under_way(const std::string& name, const std::string& again) {
    const auto intent = manager_.find(intent_id(name, again));
    if (!intent.ok() && intent.error().code == ErrorCode::kNotFound) return false;
    if (!intent.ok()) return intent.error();
    return !chain::is_settled(intent->state) || intent->state == chain::IntentState::kDone;
}

Result<std::vector<chain::AbiValue>> Deployer::arguments_of(const std::string& name,
                                                            const std::string& again) {
    GYM_TRY(const Artifact artifact, load_artifact(artifacts_, name));
    GYM_TRY(const chain::Intent intent, manager_.find(intent_id(name, again)));
    const ByteView data = intent.request.data;
    // Static arguments only: one word each, behind the creation code.
    const std::size_t size = kWord * artifact.constructor.size();
    if (data.size() < size)
        return fail(ErrorCode::kMalformed, "the intent of " + name + " is too short");
    return chain::abi_decode(artifact.constructor, data.last(size));
}

std::vector<chain::AbiValue> terms_of(const game::DisputeTerms& terms) {
    return {terms.bond,
            terms.clock_s,
            terms.settling_s,
            terms.announce_blocks,
            terms.open_blocks,
            terms.escrow_gas,
            std::uint64_t{terms.missed_clock_ppm}};
}

/// Puts a Stake on chain whose game is what we deploy next. Absent where the nonce that it counted
/// on is gone: another one is needed.
Result<std::optional<Address>> place_stake(Deployer& deployer, const game::DisputeParams& params,
                                           const Address& token, const std::string& again) {
    const Address& sender = deployer.manager().sender();
    GYM_TRY(const bool asked, deployer.under_way("Stake", again));
    if (!asked) {
        GYM_TRY(const std::uint64_t nonce, deployer.manager().next_nonce());
        GYM_CHECK(deployer.submit(
            "Stake",
            {token, chain::created_address(sender, nonce + 1), params.thaw_period_s,
             std::uint64_t{params.burned_ppm}, std::uint64_t{params.compensation_ppm}},
            again));
    }
    GYM_TRY(const Placed stake, deployer.placed("Stake", again));
    GYM_TRY(const bool game_asked, deployer.under_way("DisputeGame", again));
    if (game_asked) return std::optional(stake.address);
    GYM_TRY(const auto arguments, deployer.arguments_of("Stake", again));
    GYM_TRY(const Address named, arguments[1].address());
    GYM_TRY(const std::uint64_t nonce, deployer.manager().next_nonce());
    if (named != chain::created_address(sender, nonce)) return std::optional<Address>();
    return std::optional(stake.address);
}

struct StakeAndGame {
    Address stake;
    Address game;
};

/// Stake and the dispute game that it names, once token and rules are there.
/// @param rules of openings, TreeRules, StepRules, FaultRules, ElementRules, OuterRules,
/// OuterProofs. @param whose part of the names of both: empty, workers'.
Result<StakeAndGame> deploy_game(Deployer& deployer, const game::DisputeParams& params,
                                 const Address& token, const std::vector<Address>& rules,
                                 const std::string& whose) {
    for (unsigned i = 0; i < kStakesMax; ++i) {
        const std::string again = whose + suffix(i);
        GYM_TRY(const auto stake, place_stake(deployer, params, token, again));
        if (!stake) continue;
        GYM_CHECK(deployer.submit(
            "DisputeGame", {terms_of(params), *stake, chain::AbiValue::array(rules)}, again));
        GYM_TRY(const Placed game, deployer.placed("DisputeGame", again));
        return StakeAndGame{*stake, game.address};
    }
    return fail(
        ErrorCode::kConflict,
        "another program sends transactions with the key " + deployer.manager().sender().hex() +
            ": Stake names the game by a nonce that was gone each time; stop it and repeat");
}

Status submit_drand(Deployer& deployer, const DrandChain& chain) {
    return deployer.submit("DrandBeacon",
                           {chain.public_key, chain.genesis_s, chain.period_s, chain.delay_s,
                            chain.known_round, chain.known_signature});
}

struct Rules {
    std::vector<Address> of_units;  ///< in the order of DisputeGame's constructor
    Address reports;                ///< instead of the first: ReportRules
};

/// All but Stake and DisputeGame. What needs nothing of another is on its way at once.
Result<Rules> deploy_money_and_rules(Deployer& deployer, const DeployParams& params,
                                     Deployment& out) {
    // The token first: what it is in is the first block of ours.
    GYM_CHECK(deployer.submit("GymToken", {params.token_holder, params.token_supply}));
    GYM_CHECK(deployer.submit(
        "AdminTimelock", {params.admin_delay_s, deployer.manager().sender(), params.guardian}));
    const char* const plain[] = {"ElementwiseOps", "MovementOps", "SumOps",
                                 "ProductOps",     "TreeRules",   "StepRules",
                                 "FaultRules",     "OuterRules",  "OuterProofs"};
    for (const char* name : plain)
        GYM_CHECK(deployer.submit(name, {}));
    if (params.drand) GYM_CHECK(submit_drand(deployer, *params.drand));
    GYM_TRY(const Placed token, deployer.placed("GymToken"));
    GYM_TRY(const Placed admin, deployer.placed("AdminTimelock"));
    Placed beacon;
    if (params.drand) {
        GYM_TRY(beacon, deployer.placed("DrandBeacon"));
    }
    std::vector<Address> at;
    for (const char* name : plain) {
        GYM_TRY(const Placed contract, deployer.placed(name));
        at.push_back(contract.address);
    }

    GYM_CHECK(deployer.submit(
        "CommitmentLog", {admin.address, params.coordinator, params.guardian, beacon.address}));
    GYM_CHECK(deployer.submit("RewardsDistributor",
                              {token.address, admin.address, params.settler, params.guardian,
                               params.activation_delay_s, params.growth_limit}));
    GYM_CHECK(deployer.submit("OneStep", {at[0], at[1], at[2], at[3]}));
    GYM_TRY(const Placed log, deployer.placed("CommitmentLog"));
    GYM_TRY(const Placed distributor, deployer.placed("RewardsDistributor"));
    GYM_TRY(const Placed one_step, deployer.placed("OneStep"));

    GYM_CHECK(deployer.submit(
        "OpeningRules", {log.address, params.dispute.window_blocks, params.dispute.notice_blocks}));
    GYM_CHECK(deployer.submit("ReportRules",
                              {log.address, game::report_params(params.dispute).window_blocks}));
    GYM_CHECK(deployer.submit(
        "JobEscrow",
        {token.address, distributor.address, admin.address, params.settler, params.guardian,
         params.withdrawal_delay_s, params.epoch_interval_s, params.release_cap}));
    GYM_CHECK(deployer.submit("ElementRules", {one_step.address}));
    GYM_TRY(const Placed opening, deployer.placed("OpeningRules"));
    GYM_TRY(const Placed reports, deployer.placed("ReportRules"));
    GYM_TRY(const Placed escrow, deployer.placed("JobEscrow"));
    GYM_TRY(const Placed elements, deployer.placed("ElementRules"));
    out.start_block = token.block;
    out.token = token.address;
    out.distributor = distributor.address;
    out.escrow = escrow.address;
    out.commitment_log = log.address;
    return Rules{{opening.address, at[4], at[5], at[6], elements.address, at[7], at[8]},
                 reports.address};
}

}  // namespace

Result<Deployment> deploy(chain::TxManager& manager, chain::ChainClient& client,
                          const std::filesystem::path& artifacts, const DeployParams& params,
                          std::uint32_t timeout_ms) {
    GYM_CHECK(game::check_dispute_params(params.dispute));
    Deployment out;
    GYM_TRY(out.chain_id, client.chain_id());
    if (!params.drand) GYM_CHECK(chain::check_prevrandao(client));
    Deployer deployer(manager, artifacts, timeout_ms);
    GYM_TRY(Rules rules, deploy_money_and_rules(deployer, params, out));
    GYM_TRY(const StakeAndGame workers,
            deploy_game(deployer, params.dispute, out.token, rules.of_units, ""));
    rules.of_units.front() = rules.reports;
    GYM_TRY(const StakeAndGame verifiers, deploy_game(deployer, game::report_params(params.dispute),
                                                      out.token, rules.of_units, kOfVerifiers));
    out.stake = workers.stake;
    out.dispute_game = workers.game;
    out.verifier_stake = verifiers.stake;
    out.report_game = verifiers.game;
    return out;
}

Status wait_deployment_final(chain::TxManager& manager, std::uint32_t timeout_ms) {
    // The last transaction: all others have lower nonces, so they are final when it is.
    for (unsigned i = kStakesMax; i-- > 0;) {
        const auto last =
            manager.wait(intent_id("DisputeGame", kOfVerifiers + suffix(i)), timeout_ms);
        if (!last.ok() && last.error().code == ErrorCode::kNotFound) continue;
        if (!last.ok()) return last.error();
        if (last->state == chain::IntentState::kDone) return {};
        return fail(ErrorCode::kConflict, "the last step of the deployment ended as " +
                                              std::string(chain::to_string(last->state)));
    }
    return fail(ErrorCode::kNotFound, "no deployment is under way");
}

}  // namespace gym::contracts
