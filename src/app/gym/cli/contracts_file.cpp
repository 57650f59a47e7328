#include "cli/contracts_file.hpp"

#include <limits>

#include "gym/chain/private_chain.hpp"
#include "gym/common/yaml.hpp"
#include "gym/contracts/deploy.hpp"
#include "gym/crypto/key.hpp"
#include "gym/game/dispute_params.hpp"

namespace gym::app {
namespace {

constexpr std::int64_t kDayS = 86'400;
constexpr std::int64_t kDelayMaxS = 30 * kDayS;  // what the contracts accept

Status read_address(YamlMap& map, std::string_view key, Address& out) {
    GYM_TRY(const std::string text, map.string(key));
    const auto address = crypto::parse_address(text);
    if (!address.ok()) return map.error_at(key, address.error().message);
    if (*address == Address{}) return map.error_at(key, "must not be the zero address");
    out = *address;
    return {};
}

Status read_tokens(YamlMap& map, std::string_view key, Amount& out) {
    GYM_TRY(const std::string text, map.string(key));
    const auto amount = Amount::parse_tokens(text);
    if (!amount.ok()) return map.error_at(key, amount.error().message);
    if (amount->is_zero()) return map.error_at(key, "must be more than 0");
    out = *amount;
    return {};
}

/// Ethereum is final after about 15 minutes; the rest is for the settler's transaction.
constexpr std::uint64_t kWithdrawalDelayMinS = 3'600;

Status read_delay(YamlMap& map, std::string_view key, std::uint64_t& out_s) {
    GYM_TRY(const std::int64_t seconds, map.integer(key, 0, kDelayMaxS));
    out_s = static_cast<std::uint64_t>(seconds);
    return {};
}

Status read_token(YamlMap map, contracts::DeployParams& params) {
    GYM_CHECK(read_address(map, "holder", params.token_holder));
    GYM_CHECK(read_tokens(map, "supply", params.token_supply));
    return map.finish();
}

Status read_roles(YamlMap map, contracts::DeployParams& params) {
    GYM_CHECK(read_address(map, "coordinator", params.coordinator));
    GYM_CHECK(read_address(map, "settler", params.settler));
    GYM_CHECK(read_address(map, "guardian", params.guardian));
    // A guardian with the settler's key could not stop what that key does.
    if (params.guardian == params.settler)
        return map.error_at("guardian", "must be another key than the settler's");
    return map.finish();
}

Status read_limits(YamlMap map, std::uint64_t chain_id, contracts::DeployParams& params) {
    GYM_CHECK(read_delay(map, "admin_delay_s", params.admin_delay_s));
    GYM_CHECK(read_delay(map, "activation_delay_s", params.activation_delay_s));
    GYM_CHECK(read_delay(map, "withdrawal_delay_s", params.withdrawal_delay_s));
    // An order that gym-rewards has accepted is locked on chain long before its owner is paid.
    if (chain_id != chain::kLocalChainId && params.withdrawal_delay_s < kWithdrawalDelayMinS)
        return map.error_at("withdrawal_delay_s", "must be at least " +
                                                      std::to_string(kWithdrawalDelayMinS) +
                                                      " seconds on a chain that is not local");
    if (chain_id != chain::kLocalChainId && params.withdrawal_delay_s >= params.activation_delay_s)
        return map.error_at("withdrawal_delay_s",
                            "must be below activation_delay_s on a chain that is not local: owners "
                            "have to be able to leave before a root that they distrust pays");
    // The contracts hold to this, too; here it is told by key.
    for (const auto& [key, delay_s] : {std::pair{"withdrawal_delay_s", params.withdrawal_delay_s},
                                       {"activation_delay_s", params.activation_delay_s}})
        if (params.admin_delay_s < 2 * delay_s)
            return map.error_at("admin_delay_s",
                                std::string("must be at least twice ") + key +
                                    ": people who do not want an announced change need time to "
                                    "see it and to leave");
    GYM_CHECK(read_delay(map, "epoch_interval_s", params.epoch_interval_s));
    GYM_CHECK(read_tokens(map, "release_cap", params.release_cap));
    GYM_CHECK(read_tokens(map, "growth_limit", params.growth_limit));
    return map.finish();
}

template <class Number>
Status read_number(YamlMap& map, std::string_view key, Number& out) {
    GYM_TRY(const std::int64_t value,
            map.integer(key, 0, std::numeric_limits<std::uint32_t>::max()));
    out = static_cast<Number>(value);
    return {};
}

/// Each key may be left out: the defaults are those of game::DisputeParams.
Status read_dispute(YamlMap map, game::DisputeParams& params) {
    if (map.has("bond")) GYM_CHECK(read_tokens(map, "bond", params.bond));
    const auto number = [&](const char* key, auto& out) -> Status {
        return map.has(key) ? read_number(map, key, out) : Status{};
    };
    GYM_CHECK(number("clock_s", params.clock_s));
    GYM_CHECK(number("settling_s", params.settling_s));
    GYM_CHECK(number("announce_blocks", params.announce_blocks));
    GYM_CHECK(number("open_blocks", params.open_blocks));
    GYM_CHECK(number("escrow_gas", params.escrow_gas));
    GYM_CHECK(number("missed_clock_ppm", params.missed_clock_ppm));
    GYM_CHECK(number("window_blocks", params.window_blocks));
    GYM_CHECK(number("notice_blocks", params.notice_blocks));
    GYM_CHECK(number("thaw_period_s", params.thaw_period_s));
    GYM_CHECK(number("burned_ppm", params.burned_ppm));
    GYM_CHECK(number("compensation_ppm", params.compensation_ppm));
    GYM_CHECK(number("block_time_s", params.block_time_s));
    GYM_CHECK(number("inclusion_delay_s", params.inclusion_delay_s));
    return map.finish();
}

/// JobEscrow's EXIT_DELAY.
constexpr std::uint64_t kExitDelayS = 30 * kDayS;

/// That all that an owner's jobs spent can be final, and released, before the owner takes the rest.
Status check_exits(const game::DisputeParams& terms) {
    const std::uint64_t final_s = std::uint64_t{terms.window_blocks} * terms.block_time_s +
                                  2 * std::uint64_t{terms.clock_s} + terms.settling_s;
    if (final_s <= kExitDelayS / 2) return {};
    return fail(ErrorCode::kInvalidArgument,
                "dispute: the window, two clocks and settling take " + std::to_string(final_s) +
                    " seconds, at most " + std::to_string(kExitDelayS / 2) +
                    " are allowed: an owner that leaves is paid back " +
                    std::to_string(kExitDelayS) + " seconds after its jobs have ended");
}

Status read_hex(YamlMap& map, std::string_view key, std::size_t size, Bytes& out) {
    GYM_TRY(const std::string text, map.string(key));
    auto bytes = from_hex(text);
    if (!bytes.ok() || bytes->size() != size)
        return map.error_at(key, "must be " + std::to_string(size) + " bytes in hexadecimal");
    out = *std::move(bytes);
    return {};
}

/// Quicknet, but for the keys that are there; a chain of another key needs all of them.
Status read_drand(YamlMap map, contracts::DrandChain& chain) {
    const auto seconds = [&](const char* key, std::uint64_t& out) -> Status {
        if (!map.has(key)) return {};
        GYM_TRY(const std::int64_t value, map.integer(key, 0, UINT32_MAX));
        out = static_cast<std::uint64_t>(value);
        return {};
    };
    if (map.has("public_key")) {
        GYM_CHECK(read_hex(map, "public_key", contracts::kDrandKeyBytes, chain.public_key));
        GYM_CHECK(read_hex(map, "known_signature", contracts::kDrandSignatureBytes,
                           chain.known_signature));
        for (const char* key : {"genesis_s", "period_s", "known_round"})
            if (!map.has(key))
                return map.error_at(key,
                                    "is missing: a chain with a public_key of its own has one");
        GYM_CHECK(seconds("genesis_s", chain.genesis_s));
        GYM_CHECK(seconds("period_s", chain.period_s));
        GYM_CHECK(seconds("known_round", chain.known_round));
        if (chain.period_s == 0) return map.error_at("period_s", "must be at least 1");
        if (chain.known_round == 0) return map.error_at("known_round", "must be at least 1");
    }
    GYM_CHECK(seconds("delay_s", chain.delay_s));
    return map.finish();
}

/// The source of the randomness that draws the units to verify.
Status read_randomness(YamlMap& map, contracts::DeployParams& params) {
    GYM_TRY(const std::string source, map.string_or("randomness", "prevrandao"));
    if (source != "prevrandao" && source != "drand")
        return map.error_at("randomness", "must be prevrandao or drand");
    if (source == "drand") params.drand = contracts::drand_quicknet();
    if (!map.has("drand")) return {};
    if (!params.drand) return map.error_at("drand", "needs `randomness: drand`");
    GYM_TRY(YamlMap drand, map.map("drand"));
    return read_drand(std::move(drand), *params.drand);
}

}  // namespace

Result<ContractsFile> load_contracts_file(const std::string& path) {
    GYM_TRY(YamlMap map, YamlMap::load_file(path));
    ContractsFile file;
    GYM_TRY(const std::int64_t chain_id, map.integer("chain_id", 1, INT64_MAX));
    file.chain_id = static_cast<std::uint64_t>(chain_id);
    GYM_TRY(YamlMap token, map.map("token"));
    GYM_CHECK(read_token(std::move(token), file.params));
    GYM_TRY(YamlMap roles, map.map("roles"));
    GYM_CHECK(read_roles(std::move(roles), file.params));
    GYM_TRY(YamlMap limits, map.map("limits"));
    GYM_CHECK(read_limits(std::move(limits), file.chain_id, file.params));
    GYM_CHECK(read_randomness(map, file.params));
    if (map.has("dispute")) {
        GYM_TRY(YamlMap dispute, map.map("dispute"));
        GYM_CHECK(read_dispute(std::move(dispute), file.params.dispute));
    }
    GYM_CHECK(map.finish());
    const Status terms = game::check_dispute_params(file.params.dispute);
    if (!terms.ok()) return terms.error().in(path);
    const Status exits = check_exits(file.params.dispute);
    if (!exits.ok()) return exits.error().in(path);
    return file;
}

}  // namespace gym::app
