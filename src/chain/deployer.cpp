#include "deployer.hpp"

#include "gym/chain/transaction.hpp"

namespace gym::chain {
namespace {

/// Stakes that are deployed before giving up because somebody else uses the key.
constexpr unsigned kStakesMax = 4;
constexpr std::size_t kWord = 32;

std::string intent_id(const std::string& name, const std::string& again) {
    return "deploy/" + name + again;
}

std::vector<AbiValue> terms_of(const DisputeParams& params) {
    return {params.bond,
            params.clock_s,
            params.settling_s,
            std::uint64_t{params.announce_blocks},
            std::uint64_t{params.open_blocks},
            params.escrow_gas};
}

/// Puts a Stake on chain whose game is what we deploy next. Absent where the nonce that it counted
/// on is gone: another one is needed.
Result<std::optional<Address>> place_stake(Deployer& deployer, const DisputeParams& params,
                                           const Address& token, const std::string& again) {
    const Address& sender = deployer.manager().sender();
    GYM_TRY(const bool asked, deployer.under_way("Stake", again));
    if (!asked) {
        GYM_TRY(const std::uint64_t nonce, deployer.manager().next_nonce());
        GYM_CHECK(deployer.submit(
            "Stake",
            {token, created_address(sender, nonce + 1), params.thaw_period_s,
             std::uint64_t{params.burned_ppm}, std::uint64_t{params.compensation_ppm}},
            again));
    }
    GYM_TRY(const Placed stake, deployer.placed("Stake", again));
    GYM_TRY(const bool game_asked, deployer.under_way("DisputeGame", again));
    if (game_asked) return std::optional(stake.address);
    GYM_TRY(const auto arguments, deployer.arguments_of("Stake", again));
    GYM_TRY(const Address named, arguments[1].address());
    GYM_TRY(const std::uint64_t nonce, deployer.manager().next_nonce());
    if (named != created_address(sender, nonce)) return std::optional<Address>();
    return std::optional(stake.address);
}

}  // namespace

Status Deployer::submit(const std::string& name, const std::vector<AbiValue>& arguments,
                        const std::string& again) {
    GYM_TRY(const Artifact artifact, load_artifact(artifacts_, name));
    auto encoded = abi_encode(artifact.constructor, arguments);
    if (!encoded.ok()) return encoded.error().in("constructor of " + name);
    IntentRequest request;
    request.id = intent_id(name, again);
    request.label = "deploy " + name;
    request.data = artifact.bytecode;
    request.data.insert(request.data.end(), encoded->begin(), encoded->end());
    GYM_CHECK(manager_.submit(request));
    return {};
}

Result<Placed> Deployer::placed(const std::string& name, const std::string& again) {
    GYM_TRY(const Receipt receipt, manager_.wait_mined(intent_id(name, again), timeout_ms_));
    if (!receipt.contract_address)
        return fail(ErrorCode::kMalformed, "the receipt of " + name + " names no contract");
    return Placed{*receipt.contract_address, receipt.block_number};
}

Result<Placed> Deployer::create(const std::string& name, const std::vector<AbiValue>& arguments) {
    GYM_CHECK(submit(name, arguments));
    return placed(name);
}

Result<bool> Deployer::under_way(const std::string& name, const std::string& again) {
    const auto intent = manager_.find(intent_id(name, again));
    if (!intent.ok() && intent.error().code == ErrorCode::kNotFound) return false;
    if (!intent.ok()) return intent.error();
    return !is_settled(intent->state) || intent->state == IntentState::kDone;
}

Result<std::vector<AbiValue>> Deployer::arguments_of(const std::string& name,
                                                     const std::string& again) {
    GYM_TRY(const Artifact artifact, load_artifact(artifacts_, name));
    GYM_TRY(const Intent intent, manager_.find(intent_id(name, again)));
    const ByteView data = intent.request.data;
    // Static arguments only: one word each, behind the creation code.
    const std::size_t size = kWord * artifact.constructor.size();
    if (data.size() < size)
        return fail(ErrorCode::kMalformed, "the intent of " + name + " is too short");
    return abi_decode(artifact.constructor, data.last(size));
}

Status deploy_game(Deployer& deployer, const DisputeParams& params,
                   const std::vector<Address>& rules, Deployment& out) {
    for (unsigned i = 0; i < kStakesMax; ++i) {
        const std::string again = i == 0 ? "" : "/" + std::to_string(i + 1);
        GYM_TRY(const auto stake, place_stake(deployer, params, out.token, again));
        if (!stake) continue;
        GYM_CHECK(deployer.submit("DisputeGame", {terms_of(params), *stake, AbiValue::array(rules)},
                                  again));
        GYM_TRY(const Placed game, deployer.placed("DisputeGame", again));
        out.stake = *stake;
        out.dispute_game = game.address;
        return {};
    }
    return fail(
        ErrorCode::kConflict,
        "another program sends transactions with the key " + deployer.manager().sender().hex() +
            ": Stake names the game by a nonce that was gone each time; stop it and repeat");
}

}  // namespace gym::chain
