// Answers of a real node: headers, receipts roots, logs, processes.

#include <signal.h>

#include <set>

#include "deployed.hpp"
#include "gym/chain/transaction.hpp"
#include "gym/contracts/artifact.hpp"
#include "gym/contracts/gym_token.hpp"
#include "gym/crypto/keccak.hpp"

namespace gym::testing {
namespace {

using chain::BlockTag;

TEST(ClientOnAnvil, HeadersFormAChainWithRandomnessAndFinality) {
    TestAnvil anvil;
    anvil.mine(20);
    const auto headers = anvil.client().blocks(0, 30).value();
    ASSERT_EQ(headers.size(), 21U) << "fewer when the chain ends";
    std::set<Digest> randomness;
    for (std::size_t i = 0; i < headers.size(); ++i) {
        EXPECT_EQ(headers[i].number, i);
        if (i > 0) {
            EXPECT_EQ(headers[i].parent_hash, headers[i - 1].hash);
            randomness.insert(headers[i].prevrandao);
        }
    }
    EXPECT_EQ(randomness.size(), 20U);
    EXPECT_EQ(anvil.client().block(BlockTag::kLatest).value()->hash, headers.back().hash);
    EXPECT_EQ(anvil.client().block(headers[7].hash).value()->number, 7U);
    EXPECT_EQ(anvil.client().block(BlockTag::kFinalized).value()->number, 18U);
    EXPECT_FALSE(anvil.client().block(std::uint64_t{1000}).value().has_value());
    EXPECT_FALSE(anvil.client().block(crypto::keccak256_text("none")).value().has_value());
    EXPECT_EQ(anvil.client().chain_id().value(), anvil.chain_id());
    EXPECT_EQ(chain::check_chain_id(anvil.client(), 1).error().code, ErrorCode::kMismatch);
}

TEST(ClientOnAnvil, ReceiptsRootsOfARealNodeAreRebuilt) {
    TestAnvil anvil;
    SystemClock clock;
    Sender sender(anvil, anvil.funded_key(1), clock);
    anvil.rpc("evm_setAutomine", "[false]");
    const auto artifact =
        contracts::load_artifact(contracts::find_artifacts().value(), "GymToken").value();
    const Address holder = sender.manager->sender();
    // A creation (with a log), and transfers: sizes around where the shape of the tree changes.
    chain::IntentRequest creation;
    creation.id = "token";
    creation.data = artifact.bytecode;
    const Bytes arguments = chain::abi_encode(artifact.constructor, {holder, tokens("5")}).value();
    creation.data.insert(creation.data.end(), arguments.begin(), arguments.end());
    ASSERT_TRUE(sender.manager->submit(creation).ok());
    ASSERT_TRUE(sender.manager->tick().ok());
    anvil.mine(1);
    const contracts::GymToken token(anvil.chain_id(), chain::created_address(holder, 0));
    std::uint64_t nonce = 1;
    for (const std::uint64_t count : {1U, 2U, 17U, 130U}) {
        for (std::uint64_t i = 0; i < count; ++i) {
            chain::Transaction tx;
            tx.chain_id = anvil.chain_id();
            tx.nonce = nonce++;
            tx.fee_max_wei = Amount(10'000'000'000);
            tx.priority_fee_wei = Amount(1'000'000'000);
            tx.gas_limit = 100'000;
            tx.to = token.address();
            tx.data = token.transfer(chain::private_chain_key(60).address(), Amount(1 + i)).data;
            ASSERT_EQ(anvil.client()
                          .send(chain::sign_transaction(tx, chain::private_chain_key(1)).raw)
                          .value(),
                      chain::SendOutcome::kAccepted);
        }
        anvil.mine(1);
        const auto header = anvil.client().block(BlockTag::kLatest).value();
        auto receipts = anvil.client().receipts(header->hash).value();
        ASSERT_EQ(receipts.size(), count);
        EXPECT_EQ(chain::receipts_root(receipts), header->receipts_root) << count;
        EXPECT_TRUE(chain::bloom_may_contain(header->logs_bloom, token.address().view()));
        EXPECT_FALSE(chain::bloom_may_contain(header->logs_bloom, as_bytes("somebody else")));
        const auto logs = anvil.client().logs(header->hash, {{token.address()}, {}}).value();
        EXPECT_EQ(logs.size(), count);
        receipts.back().logs.clear();
        EXPECT_NE(chain::receipts_root(receipts), header->receipts_root);
    }
    const std::uint64_t head = anvil.client().block(BlockTag::kLatest).value()->number;
    // The creation's log and 150 transfers; by position of a topic, only those that match there.
    chain::LogQuery query{token.address(), {}, 0, head};
    const auto all = chain::find_all_logs(anvil.client(), query).value();
    EXPECT_EQ(all.size(), 151U);
    query.topics = {{}, all.back().topics.at(1)};
    EXPECT_EQ(chain::find_all_logs(anvil.client(), query).value().size(), 150U);
    query.topics = {{}, {}, all.back().topics.at(1)};
    EXPECT_EQ(chain::find_all_logs(anvil.client(), query).value().size(), 1U);
    query = {token.address(), {}, head, head};
    EXPECT_EQ(chain::find_all_logs(anvil.client(), query).value().size(), 130U);

    // A reply that is too large is asked for in parts: the largest block's still fits.
    query = {token.address(), {}, 0, head};
    chain::HttpOptions options;
    options.reply_bytes_max = 80 << 10;
    const auto narrow = chain::make_http_client(anvil.url(), options).value();
    ASSERT_FALSE(narrow->find_logs(query).ok());
    EXPECT_EQ(chain::find_all_logs(*narrow, query).value().size(), 151U);
    options.reply_bytes_max = 10 << 10;
    const auto too_narrow = chain::make_http_client(anvil.url(), options).value();
    EXPECT_EQ(chain::find_all_logs(*too_narrow, query).error().code, ErrorCode::kMalformed);
}

TEST(PrivateAnvil, StopsByItsIdAndStartsAgainWithItsState) {
    chain::AnvilOptions options;
    options.persist = true;
    TestAnvil anvil(options);
    anvil.mine(5);
    const auto hash = anvil.client().block(std::uint64_t{5}).value()->hash;
    const pid_t pid = anvil.node().pid();
    anvil.stop(false);
    EXPECT_NE(::kill(pid, 0), 0);
    EXPECT_EQ(anvil.client().chain_id().error().code, ErrorCode::kUnavailable);
    anvil.start();
    EXPECT_NE(anvil.node().pid(), pid);
    EXPECT_EQ(anvil.client().block(std::uint64_t{5}).value()->hash, hash);
    const Address account = chain::private_chain_key(1).address();
    // The node lost the states of blocks before the one it stopped at. A daemon that asks for one
    // waits for the next finalized block; it does not end.
    const auto lost = anvil.client().nonce(account, std::uint64_t{3});
    ASSERT_FALSE(lost.ok());
    EXPECT_EQ(lost.error().code, ErrorCode::kUnavailable) << lost.error().message;
    anvil.mine(3);
    EXPECT_TRUE(anvil.client().nonce(account, BlockTag::kFinalized).ok());
}

TEST(PrivateAnvil, ABinaryThatIsMissingOrEndsIsSaidSo) {
    chain::AnvilOptions options;
    options.binary = "/nonexistent/anvil";
    const auto folder = std::filesystem::temp_directory_path() / "gym-anvil-none";
    EXPECT_EQ(chain::PrivateAnvil::start(folder, options).error().code, ErrorCode::kNotFound);
    options.binary = "/bin/false";
    EXPECT_EQ(chain::PrivateAnvil::start(folder, options).error().code, ErrorCode::kUnavailable);
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace gym::testing
