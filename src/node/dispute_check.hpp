#pragma once

#include "gym/chain/client.hpp"
#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/node/node_config.hpp"
#include "gym/player/claim.hpp"
#include "gym/records/network.hpp"

/// Checks whether a node could play the games that its signatures may lead to, before it signs: a
/// node that does not answer a game loses it by the clock, and its stake with it.
namespace gym::node {

/// @errors kInvalidArgument: dispute_game is not an address, or chain_rpc is missing.
[[nodiscard]] Result<Address> configured_game(const NodeConfig& config);

/// Whether an error of these checks is final: settings and network do not fit. Any other error is
/// retried: the chain's node does not answer, answers wrongly or is behind.
[[nodiscard]] bool is_lasting(ErrorCode code) noexcept;

/// That a game is at `game`: right chain, code there and at its Stake, which knows this game. The
/// coordinator is not asked. @return its Stake. @errors kInvalidArgument: no such contract, said by
/// a node that has a block of the last ten minutes, with the remedy; kMismatch: another chain;
/// kUnavailable also of a node that is behind; else those of chain::ChainClient.
[[nodiscard]] Result<Address> find_stake(chain::ChainClient& client, const Address& game,
                                         const records::NetworkDescription& network);
/// That these are the coordinator's. @errors kMismatch.
Status check_named(const Address& game, const Address& stake,
                   const records::NetworkDescription& network);
/// Both: that the network's game is at `game`. @errors of both.
Status check_game(chain::ChainClient& client, const Address& game,
                  const records::NetworkDescription& network);

/// That a worker without dispute_game has nothing to lose: it neither has stake nor needs one.
/// A chain that does not answer, or none, counts as no stake.
/// @errors kInvalidArgument with what is at stake and what to set.
Status check_plays_nothing(const NodeConfig& config, const records::NetworkDescription& network,
                           const Address& self);

/// That a verifier without dispute_game needs no stake, which it could not defend. @errors
/// kInvalidArgument with what to set.
Status check_defends_no_reports(const records::NetworkDescription& network);

/// A node's funds for one game, and the most that the game may cost. All in wei.
struct GameMoney {
    Amount ether;
    Amount ether_needed;  ///< the gas of its moves at twice the base fee of now, and a tip
    Amount tokens;
    Amount bond;  ///< a challenger's; zero for a defender
};
/// @errors as chain::ChainClient.
[[nodiscard]] Result<GameMoney> game_money(chain::ChainClient& client, const Address& game,
                                           const records::NetworkDescription& network,
                                           player::Role role, const Address& self);
/// What `self` lacks and where to send it; empty if it lacks nothing.
[[nodiscard]] std::string money_missing(const GameMoney& money, const Address& self);

}  // namespace gym::node
