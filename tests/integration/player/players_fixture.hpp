#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "deployed.hpp"
#include "gym/chain/client.hpp"
#include "gym/contracts/dispute_game.hpp"
#include "gym/contracts/stake.hpp"
#include "gym/game/dispute_params.hpp"
#include "gym/game/state.hpp"
#include "gym/player/game_log.hpp"
#include "gym/player/player.hpp"
#include "gym/protocol/report_claim.hpp"
#include "temporary_folder.hpp"

namespace gym::testing {

/// The players of both sides of a dispute on a real chain. A player's process is an object: every
/// tick is the first one of a new process.
class PlayersTest : public DeployedTest {
  protected:
    [[nodiscard]] game::DisputeParams dispute_terms() const override {
        game::DisputeParams terms;
        terms.window_blocks = 400;  // 40 s, and nobody waits for them
        return terms;
    }

    /// One side: its claims on disk, its transactions, what it plays.
    struct Party : player::UnitSource {
        void release(const player::Claim& claim) override { released.push_back(claim.name()); }
        player::Role role = player::Role::kChallenge;
        std::string name;
        std::unique_ptr<player::ClaimStore> claims;
        std::unique_ptr<Sender> sender;
        crypto::PrivateKey key = crypto::PrivateKey::generate();
        std::vector<std::string> events;
        std::vector<std::string> released;

        /// It has nothing to say. Logs that are behind the game's state are no reason: a block came
        /// between the two questions.
        [[nodiscard]] bool is_stuck() const {
            return std::ranges::any_of(events, [](const std::string& event) {
                return event.starts_with("stuck") &&
                       event.find("the logs do not lead to") == std::string::npos;
            });
        }
        [[nodiscard]] bool told(const std::string& beginning) const {
            return std::ranges::any_of(
                events, [&](const std::string& event) { return event.starts_with(beginning); });
        }
    };
    virtual Party& asserter() = 0;
    virtual Party& challenger() = 0;
    [[nodiscard]] virtual Digest chain_unit() const = 0;
    /// Of the unit's round and of the one before; only games about aggregates need them.
    [[nodiscard]] virtual std::optional<game::EpochRoots> epoch_roots() const {
        return std::nullopt;
    }

    void enter_chain(Party& party, std::string name, std::uint32_t key) {
        party.name = std::move(name);
        party.key = anvil_.funded_key(key);
        party.claims = player::ClaimStore::open(folder_.path() / party.name).value();
        party.sender = std::make_unique<Sender>(anvil_, party.key.clone(), clock_);
        send(payer_, token().transfer(party.key.address(), tokens("1000")), party.name);
    }
    void stake(Party& party, const char* amount) {
        const contracts::Stake stake(stake_address());
        const std::string id = std::string("stake:") + amount;
        send(*party.sender, token().approve(stake.address(), tokens(amount)), "approve:" + id);
        send(*party.sender, stake.stake(party.key.address(), tokens(amount)), id);
    }

    std::unique_ptr<player::Player> player_of(Party& party) {
        player::PlayerSetup setup{anvil_.client(),
                                  *party.sender->manager,
                                  contract(),
                                  domain(),
                                  *party.claims,
                                  party,
                                  [&party](const player::PlayerEvent& event) {
                                      party.events.push_back(event.name + ": " + event.detail);
                                  }};
        if (about_reports()) {
            setup.domain =
                protocol::signing_domain(deployment_.chain_id, deployment_.commitment_log);
            return player_of(party, player::setup_of_reports(setup, deployment_.report_game));
        }
        return player_of(party, std::move(setup));
    }
    static std::unique_ptr<player::Player> player_of(const Party& party,
                                                     player::PlayerSetup setup) {
        return party.role == player::Role::kDefend ? player::make_defender(std::move(setup))
                                                   : player::make_challenger(std::move(setup));
    }

    /// Ticks both sides until `done`.
    void play_until(const std::function<bool()>& done, bool asserter_plays = true,
                    bool challenger_plays = true) {
        for (int ticks = 0; ticks < 600 && !done(); ++ticks) {
            if (asserter_plays) tick(asserter());
            if (challenger_plays) tick(challenger());
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        std::string story;
        for (const Party* party : {&asserter(), &challenger()})
            for (const std::string& event : party->events)
                story += party->name + " " + event + "\n";
        ASSERT_TRUE(done()) << story;
    }
    void tick(Party& party) {
        const Status done = player_of(party)->tick();
        EXPECT_TRUE(done.ok()) << done.error().message;
    }
    /// Moves the chain's clock.
    void pass(std::uint64_t seconds) {
        anvil_.rpc("evm_increaseTime", "[" + std::to_string(seconds) + "]");
        anvil_.mine(1);
    }
    std::uint64_t head() { return anvil_.client().block(chain::BlockTag::kLatest).value()->number; }
    std::uint64_t window() { return contract().opening(anvil_.client()).value().window_blocks; }
    game::DisputeTerms terms() { return contract().terms(anvil_.client()).value(); }

    /// Whether the asserter is a verifier, and the games are about its report.
    [[nodiscard]] virtual bool about_reports() const { return false; }
    [[nodiscard]] Address stake_address() const {
        return about_reports() ? deployment_.verifier_stake : deployment_.stake;
    }
    [[nodiscard]] contracts::DisputeGame contract() const {
        return contracts::DisputeGame(about_reports() ? deployment_.report_game
                                                      : deployment_.dispute_game);
    }
    [[nodiscard]] crypto::Eip712Domain domain() const {
        if (about_reports())
            return protocol::report_domain(deployment_.chain_id, deployment_.report_game);
        return protocol::signing_domain(deployment_.chain_id, deployment_.commitment_log);
    }
    game::UnitState on_chain() { return contract().unit_of(anvil_.client(), chain_unit()).value(); }
    contracts::Stake::Holding stake_of(const Party& party) {
        return contracts::Stake(stake_address())
            .stake_of(anvil_.client(), party.key.address())
            .value();
    }
    Amount balance(const Party& party) {
        return token().balance_of(anvil_.client(), party.key.address()).value();
    }
    std::vector<player::GameRecord> games() {
        const auto logs =
            chain::find_all_logs(anvil_.client(), {contract().address(),
                                                   player::topics_of_unit(chain_unit()), 0, head()})
                .value();
        const auto events = player::parse_events(contract(), logs).value();
        return player::replay(events, epoch_roots()).games;
    }

    /// Whether a fault is proven, in the logs, too: they come after the state.
    bool proven() {
        return on_chain().proven_at_s != 0 && std::ranges::any_of(games(), [](const auto& game) {
                   return game.ended && (game.ended->status == game::GameStatus::kFaultProven ||
                                         game.ended->status == game::GameStatus::kFaultByClock);
               });
    }
    /// Whether games were opened and all are over, by the logs.
    bool all_ended() {
        const auto played = games();
        return !played.empty() &&
               std::ranges::all_of(played, [](const auto& game) { return game.ended.has_value(); });
    }

    TemporaryFolder folder_;
};

}  // namespace gym::testing
