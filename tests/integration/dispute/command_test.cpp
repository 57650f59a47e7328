// `gym dispute` after a whole game between real players: everything that it says comes from the
// chain.

#include <boost/json.hpp>
#include <cstdlib>
#include <sstream>

#include "command.hpp"
#include "gym/common/file.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/stake.hpp"
#include "gym/crypto/keystore.hpp"
#include "outer_fixture.hpp"
#include "play_fixture.hpp"

namespace gym::testing {
namespace {

namespace json = boost::json;

/// The command line over a chain on which a fixture plays.
template <class Fixture>
class CommandsOn : public Fixture {
  protected:
    using Fixture::anvil_;
    using Fixture::folder_;

    void SetUp() override {
        Fixture::SetUp();
        const auto file = folder_.path() / "deployment.json";
        ASSERT_TRUE(contracts::save_deployment(file, Fixture::deployment_).ok());
        ::setenv("GYM_CHAIN", anvil_.url().c_str(), 1);
        ::setenv("GYM_DEPLOYMENT", file.c_str(), 1);
    }
    void TearDown() override {
        for (const char* name : {"GYM_CHAIN", "GYM_DEPLOYMENT"})
            ::unsetenv(name);
    }
    Outcome gym(std::vector<std::string> arguments) { return run(folder_, std::move(arguments)); }
    json::object gym_json(std::vector<std::string> arguments) {
        arguments.emplace_back("--json");
        const Outcome outcome = gym(std::move(arguments));
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err << outcome.out;
        // Of several lines the last one is the result.
        const std::size_t end = outcome.out.find_last_not_of('\n');
        const std::size_t begin = outcome.out.rfind('\n', end);
        return json::parse(outcome.out.substr(begin == std::string::npos ? 0 : begin + 1))
            .as_object();
    }
};

class DisputeCommands : public CommandsOn<PlayTest> {
  protected:
    /// The unit's name on chain and the API's both lead to the game.
    void expect_found_by_either_unit(const Digest& game) {
        const std::string registry = protocol::unit_id(claim_of(worker_, worker_.role).key).hex();
        for (const std::string& unit : {chain_unit().hex(), registry, registry.substr(0, 12)})
            EXPECT_EQ(gym_json({"dispute", "show", unit}).at("game").as_string(), game.hex());
        const Outcome table = gym({"dispute", "list"});
        EXPECT_TRUE(table.out.starts_with("game          unit          job ")) << table.out;
        EXPECT_NE(table.out.find(registry.substr(0, 12)), std::string::npos) << table.out;
        const Outcome unknown = gym({"dispute", "show", "0x00000000000000000000"});
        EXPECT_NE(unknown.err.find("no game and no disputed unit begins with 0x0000"),
                  std::string::npos)
            << unknown.err;
    }
    /// Stake added between a proof and its settlement would be taken, too.
    void expect_stake_is_kept_from_the_slash() {
        ASSERT_TRUE(crypto::save_keystore(folder_ / "key.json", crypto::PrivateKey::generate(),
                                          crypto::SecretBytes(std::string_view("pass")),
                                          crypto::ScryptCost::light())
                        .ok());
        ASSERT_TRUE(write_file_atomic(folder_ / "pass", as_bytes("pass\n"), 0600).ok());
        const std::string worker = worker_.key.address().hex(),
                          other = verifier_.key.address().hex();
        const auto add = [&](const std::string& owner, std::vector<std::string> more) {
            std::vector<std::string> words{"stake",
                                           "add",
                                           "1",
                                           "--owner",
                                           owner,
                                           "--data-dir",
                                           folder_.path().string(),
                                           "--passphrase-file",
                                           (folder_ / "pass").string()};
            words.insert(words.end(), more.begin(), more.end());
            return gym(words);
        };
        const Outcome refused = add(worker, {});
        EXPECT_EQ(refused.exit_code, 5);
        EXPECT_NE(refused.err.find("a fault is proven in 1 unit(s) of 0x"), std::string::npos)
            << refused.err;
        // Both come as far as the wallet, which is empty.
        for (const Outcome& outcome : {add(worker, {"--despite-disputes"}), add(other, {})})
            EXPECT_NE(outcome.err.find("the wallet holds 0 GYM"), std::string::npos) << outcome.err;
    }
};
using OuterDisputeCommands = CommandsOn<OuterPlayTest>;

TEST_F(OuterDisputeCommands, TellAGameAboutAnAggregate) {
    lie(coordinator_).lie_about(OuterTree::kMomentum, 3, 9);
    commit();
    play_until([&] { return proven(); });
    const player::GameRecord played = games().at(0);
    const json::object shown = gym_json({"dispute", "show", played.id.hex()});
    EXPECT_EQ(shown.at("status").as_string(), "fault_proven");
    EXPECT_EQ(shown.at("asserter").as_string(), coordinator_.key.address().hex());
    EXPECT_EQ(shown.at("place").as_string(), "the aggregate, parameter 3, its momentum, element 2");
    const std::string claimed(shown.at("fault").at("claimed_text").as_string());
    EXPECT_NE(claimed.find("(f32 0x"), std::string::npos) << claimed;
    const Outcome text = gym({"dispute", "show", played.id.hex()});
    for (const char* part :
         {"declareOuter -> the aggregate and its inputs",
          "pickOuter -> the aggregate, momentum tensors 0 to ",
          "pickOuterTensor -> the aggregate, parameter 3, its momentum, its tensor",
          "pickElement -> the aggregate, parameter 3, its momentum, element 2 of 3 deltas",
          "challenger  proveOuter -> a fault: the aggregate, parameter 3, its momentum, element 2; "
          "the asserter claimed "})
        EXPECT_NE(text.out.find(part), std::string::npos) << part << " is not in\n" << text.out;
}

TEST_F(OuterDisputeCommands, TellAGameAboutWhatIsIncluded) {
    const std::uint32_t slot = sample_.included[1].slot;
    const auto says = sample_.commitment(slot, sample_.add_delta());
    sample_.epoch[2] = protocol::sign(domain(), says, coordinator_.key);
    sample_.included[1].root = says.delta_root;
    run();
    commit();
    play_until([&] { return proven(); });
    const json::object shown = gym_json({"dispute", "show", games().at(0).id.hex()});
    const std::string delta = "the delta of slot " + std::to_string(slot) + " in the aggregate";
    EXPECT_EQ(shown.at("place").as_string(), delta + ", its commitment: worker");
    const Outcome text = gym({"dispute", "show", games().at(0).id.hex()});
    EXPECT_NE(text.out.find("pickIncluded -> " + delta), std::string::npos) << text.out;
}

TEST_F(OuterDisputeCommands, TellAGameAboutAHeldDelta) {
    sample_.add_held();
    const std::uint32_t slot = sample_.included.back().slot;
    const auto says = sample_.commitment(slot, sample_.add_delta(), true);
    sample_.previous_epoch[2] = protocol::sign(domain(), says, coordinator_.key);
    sample_.included.back().root = says.delta_root;
    run();
    commit();
    play_until([&] { return proven(); });
    const json::object shown = gym_json({"dispute", "show", games().at(0).id.hex()});
    const std::string delta =
        "the held delta of slot " + std::to_string(slot) + " in the aggregate";
    EXPECT_EQ(shown.at("place").as_string(), delta + ", its commitment: worker");
    EXPECT_EQ(shown.at("deltas").to_number<int>(), 5);
    EXPECT_EQ(shown.at("held_deltas").to_number<int>(), 2);
    const Outcome text = gym({"dispute", "show", games().at(0).id.hex()});
    for (const std::string& part :
         {std::string("declareOuter -> the aggregate and its inputs, 2 of 5 deltas held"),
          "pickIncluded -> " + delta})
        EXPECT_NE(text.out.find(part), std::string::npos) << part << " is not in\n" << text.out;
}

TEST_F(OuterDisputeCommands, TellAConflict) {
    commit();
    protocol::UnitCommitment second = outcome_;
    second.final_state_root = engine::testing::seed_of("another base");
    const auto other = protocol::sign(domain(), second, coordinator_.key);
    ASSERT_TRUE(verifier_.claims->remove(claim_of(verifier_)).ok());
    ASSERT_TRUE(verifier_.claims->save(conflict_with(protocol::encode(other))).ok());
    if (protocol::signing_digest(domain(), second) < protocol::signing_digest(domain(), outcome_))
        commitment_ = other;
    play_until([&] { return proven(); });
    const json::object shown = gym_json({"dispute", "show", chain_unit().hex()});
    EXPECT_EQ(shown.at("status").as_string(), "fault_proven");
    EXPECT_EQ(shown.at("place").as_string(), "two different commitments to one unit are signed");
    EXPECT_EQ(shown.at("moves").to_number<int>(), 2) << "announce and openConflict";
    EXPECT_EQ(shown.at("unit").as_string(), protocol::unit_id(claim_of(verifier_).key).hex());
    EXPECT_TRUE(shown.at("aggregate").as_bool());
    const Outcome listed = gym({"dispute", "list"});
    EXPECT_NE(listed.out.find("two different commitments"), std::string::npos) << listed.out;
    EXPECT_NE(listed.out.find("  aggregate  fault_proven"), std::string::npos) << listed.out;
    const Outcome text = gym({"dispute", "show", chain_unit().hex()});
    EXPECT_NE(text.out.find("openConflict -> a fault: two different commitments to one unit are "
                            "signed  (0x"),
              std::string::npos)
        << text.out;
    EXPECT_EQ(text.out.find("computed"), std::string::npos) << "no number decides it";
}

TEST_F(DisputeCommands, TellAWholeGameFromTheChainAlone) {
    EXPECT_EQ(gym({"dispute", "list"}).out, "no game was opened yet\n");
    EXPECT_EQ(gym({"dispute", "show", "0x12"}).exit_code, 2) << "too short";
    send(*worker_.sender, contracts::Stake(deployment_.stake).thaw(tokens("100")), "thaw");
    break_device(worker_, {.step = 2, .op = 5, .output = 0, .bit = 30});
    commit();
    play_until([&] { return proven(); });
    const player::GameRecord played = games().at(0);

    const json::object listed = gym_json({"dispute", "list"});
    ASSERT_EQ(listed.at("games").as_array().size(), 1U);
    const json::object& line = listed.at("games").as_array()[0].as_object();
    EXPECT_EQ(line.at("game").as_string(), played.id.hex());
    EXPECT_EQ(line.at("status").as_string(), "fault_proven");
    EXPECT_FALSE(line.contains("course"));
    EXPECT_TRUE(gym_json({"dispute", "list", "--open"}).at("games").as_array().empty());

    const json::object shown = gym_json({"dispute", "show", played.id.hex().substr(0, 10)});
    EXPECT_EQ(shown.at("asserter").as_string(), worker_.key.address().hex());
    EXPECT_EQ(shown.at("challenger").as_string(), verifier_.key.address().hex());
    const std::string place(shown.at("place").as_string());
    EXPECT_TRUE(place.starts_with("step 2, trace leaf ")) << place;
    EXPECT_TRUE(place.ends_with(", element " + played.fault->element.to_string())) << place;
    EXPECT_EQ(shown.at("fault").at("claimed").as_string(), played.fault->claimed.hex());
    const std::string claimed(shown.at("fault").at("claimed_text").as_string());
    EXPECT_NE(claimed.find("(f32 0x"), std::string::npos) << claimed;
    EXPECT_EQ(shown.at("bond_burned_wei").as_string(), "0");
    EXPECT_TRUE(shown.at("slash").is_null()) << "not settled yet";

    const auto head = anvil_.client().block(chain::BlockTag::kLatest).value()->number;
    const auto events =
        player::game_events(anvil_.client(), contract(), played.id, {0, head}).value();
    const auto cost = player::game_cost(anvil_.client(), events).value();
    EXPECT_EQ(shown.at("asserter_gas").to_number<std::uint64_t>(), cost.asserter_gas);
    EXPECT_EQ(shown.at("challenger_gas").to_number<std::uint64_t>(), cost.challenger_gas);
    EXPECT_EQ(shown.at("transactions").as_array().size(), cost.transactions);
    for (const char* counted : {"moves", "asserter_gas", "challenger_gas", "unit", "chain_unit"})
        EXPECT_EQ(line.at(counted), shown.at(counted)) << counted << ": list and show differ";
    EXPECT_EQ(shown.at("moves").to_number<std::uint64_t>(), cost.transactions);
    for (const json::value& event : shown.at("course").as_array()) {
        const json::value& call = event.at("call");
        EXPECT_FALSE(call.is_string() && call.as_string().starts_with("0x"))
            << json::serialize(event);
    }
    expect_found_by_either_unit(played.id);

    expect_stake_is_kept_from_the_slash();
    pass(contract().terms(anvil_.client()).value().settling_s + 1);
    play_until([&] { return on_chain().settled; });
    const json::object settled = gym_json({"dispute", "watch", chain_unit().hex()});
    EXPECT_EQ(settled.at("slash").at("taken_wei").as_string(), tokens("500").to_string());
    EXPECT_EQ(settled.at("slash").at("reward_wei").as_string(), tokens("200").to_string());
    EXPECT_EQ(settled.at("slash").at("burned_wei").as_string(), tokens("300").to_string());
    const Outcome text = gym({"dispute", "show", played.id.hex()});
    for (const char* part :
         {"over: the fault is proven", "claimed            ", "computed           ",
          "slashed            500 GYM", "reward             200 GYM", "challenger  announce  (0x",
          "challenger  open -> the unit  (",
          "challenger  proveElement -> a fault: step 2, trace leaf ",
          "end         over: the fault is proven  (0x", "pickStep -> step 2, its record",
          "bond               10 GYM, returned"})
        EXPECT_NE(text.out.find(part), std::string::npos) << part << " is not in\n" << text.out;

    const Outcome stake = gym({"stake", "show", "--address", worker_.key.address().hex()});
    EXPECT_NE(stake.out.find("  nothing, left of 100 after a slash, until "), std::string::npos)
        << stake.out;
    EXPECT_NE(stake.out.find("slashed            500 GYM so far, for proven faults"),
              std::string::npos)
        << stake.out;
    EXPECT_EQ(gym_json({"stake", "show", "--address", worker_.key.address().hex()})
                  .at("slashed_wei")
                  .as_string(),
              tokens("500").to_string());
}

TEST_F(DisputeCommands, WatchWaitsForAGameAndFollowsItToItsEnd) {
    const Command watching(folder_, {"dispute", "watch", "--json"});
    break_device(worker_, {.step = 1, .op = 20, .output = 0, .bit = 30});
    commit();
    play_until([&] { return proven(); });
    const Outcome outcome = watching.wait();
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    std::istringstream lines(outcome.out);
    std::vector<json::object> told;
    for (std::string line; std::getline(lines, line);)
        told.push_back(json::parse(line).as_object());
    ASSERT_GT(told.size(), 5U) << outcome.out;
    const json::object& end = told.back();
    EXPECT_EQ(end.at("status").as_string(), "fault_proven");
    EXPECT_EQ(end.at("game").as_string(), games().at(0).id.hex());
    ASSERT_EQ(told.size(), end.at("course").as_array().size() + 1) << "each event once, then all";
    for (std::size_t i = 0; i + 1 < told.size(); ++i)
        EXPECT_EQ(told[i], end.at("course").as_array()[i].as_object());
    EXPECT_EQ(told[0].at("call").as_string(), "announce");
    EXPECT_EQ(told[1].at("call").as_string(), "open");
    const json::object& proof = told[told.size() - 3];
    EXPECT_EQ(proof.at("event").as_string(), "fault_found");
    EXPECT_EQ(proof.at("fault"), end.at("fault")) << "what was claimed, and what was computed";
    EXPECT_EQ(told[told.size() - 2].at("words").as_string(), "over: the fault is proven");
}

TEST_F(DisputeCommands, ShowWhoseTurnItIsAndTheClocks) {
    break_device(worker_, {.step = 0, .op = 8, .output = 0, .bit = 30});
    commit();
    play_until([&] { return !games().empty(); }, false);
    const Outcome text = gym({"dispute", "show", games()[0].id.hex()});
    EXPECT_NE(text.out.find("turn               the asserter must answer"), std::string::npos)
        << text.out;
    EXPECT_NE(text.out.find("place              the unit"), std::string::npos) << text.out;
    const json::object line =
        gym_json({"dispute", "list", "--open"}).at("games").as_array().at(0).as_object();
    EXPECT_EQ(line.at("status").as_string(), "asserter_moves");
    EXPECT_EQ(line.at("challenger_clock_s").to_number<std::uint64_t>(),
              contract().terms(anvil_.client()).value().clock_s);
}

}  // namespace
}  // namespace gym::testing
