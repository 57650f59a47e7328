// A real node behind a proxy that lies, lags, fails and says nothing: what is followed and what is
// sent.

#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "deployed.hpp"
#include "gym/chain/log_follower.hpp"
#include "gym/contracts/call.hpp"
#include "gym/contracts/job_escrow.hpp"
#include "must.hpp"
#include "rpc_proxy.hpp"

namespace gym::testing {
namespace {

namespace json = boost::json;
using Fault = RpcProxy::Fault;

/// The first receipt of a block's that has logs.
json::object* receipt_with_logs(json::object& reply) {
    json::value* result = reply.if_contains("result");
    if (result == nullptr || !result->is_array()) return nullptr;
    for (json::value& receipt : result->as_array())
        if (!receipt.at("logs").as_array().empty()) return &receipt.as_object();
    return nullptr;
}

/// The same text with its last digit changed.
void alter(json::value& hexadecimal) {
    json::string& text = hexadecimal.as_string();
    text.back() = text.back() == '1' ? '2' : '1';
}

std::string zeros(std::size_t bytes) {
    return "0x" + std::string(2 * bytes, '0');
}

class LyingNode : public DeployedTest {
  protected:
    static chain::HttpOptions quick() {
        chain::HttpOptions options;
        options.timeout_ms = 3'000;
        options.attempts = 1;
        return options;
    }
    /// By number or tag: what the node says of a block.
    json::value block_json(const std::string& id_json) {
        return json::parse(anvil_.rpc("eth_getBlockByNumber", "[" + id_json + ",false]"));
    }

    RpcProxy proxy_{anvil_.url()};
    std::unique_ptr<chain::ChainClient> behind_ =
        must(chain::make_http_client(proxy_.url(), quick()));
};

class FollowedThroughALyingNode : public LyingNode {
  protected:
    void deposit() {
        send(payer_, permit_deposit(tokens("1")), "deposit/" + std::to_string(deposits_));
        ++deposits_;
    }
    /// A follower that has seen nothing yet.
    void start_over() {
        memory_ =
            must(payer_.file->follower("f" + std::to_string(followers_++), anvil_.chain_id()));
        credits_.clear();
        calls_ = 0;
        restart();
    }
    void restart() {
        chain::FollowerOptions options;
        options.chain_id = anvil_.chain_id();
        options.start_block = deployment_.start_block;
        options.filter = {{deployment_.escrow}, contracts::JobEscrow::topics()};
        follower_ = std::make_unique<chain::LogFollower>(
            *behind_, *memory_, options,
            [this](const chain::LogKey& key, const chain::Log& log) -> Status {
                ++calls_;
                GYM_TRY(const auto event, escrow().parse_event(log));
                if (event) credits_.emplace(key, std::get<contracts::Deposited>(*event).amount);
                return {};
            });
    }
    /// Each deposit was credited once, with what the contract has.
    void expect_exact() {
        proxy_.tell({});
        proxy_.trouble({});
        restart();
        for (int i = 0; i < 200 && credits_.size() < deposits_; ++i) {
            const auto report = follower_->tick();
            ASSERT_TRUE(report.ok()) << report.error().message;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        Amount sum;
        for (const auto& [key, amount] : credits_)
            sum = *sum.plus(amount);
        EXPECT_EQ(credits_.size(), deposits_);
        EXPECT_EQ(calls_, deposits_);
        EXPECT_EQ(sum, must(escrow().balance_of(anvil_.client(), owner_.address())));
    }

    std::unique_ptr<chain::FollowerStore> memory_;
    std::unique_ptr<chain::LogFollower> follower_;
    std::map<chain::LogKey, Amount> credits_;
    std::uint64_t deposits_ = 0;
    std::uint64_t calls_ = 0;
    int followers_ = 0;
};

struct Lie {
    const char* what;
    RpcProxy::Lie lie;
    ErrorCode code;
    const char* message;
};

/// Changes the header of each block with a log, as `change` says.
RpcProxy::Lie about_headers(std::function<void(json::object&)> change) {
    return [change = std::move(change)](const std::string& method, const json::array&,
                                        json::object& reply) {
        if (method != "eth_getBlockByNumber" || !reply.at("result").is_object()) return;
        json::object& header = reply.at("result").as_object();
        if (header.at("logsBloom").as_string() != zeros(256)) change(header);
    };
}

/// Changes the first receipt that has logs, as `change` says.
RpcProxy::Lie about_receipts(std::function<void(json::object&)> change) {
    return [change = std::move(change)](const std::string& method, const json::array&,
                                        json::object& reply) {
        if (method != "eth_getBlockReceipts") return;
        if (json::object* receipt = receipt_with_logs(reply)) change(*receipt);
    };
}

std::vector<Lie> lies() {
    constexpr const char* kRoot = "do not hash to the block's receipts root";
    constexpr const char* kHeader = "does not hash to its block hash";
    const auto first_log = [](json::object& receipt) -> json::object& {
        return receipt.at("logs").as_array().front().as_object();
    };
    return {
        {"a log is left out", about_receipts([](auto& receipt) {
             receipt.at("logs").as_array().erase(receipt.at("logs").as_array().begin());
         }),
         ErrorCode::kMismatch, kRoot},
        {"all receipts are left out",
         [](const std::string& method, const json::array&, json::object& reply) {
             if (method == "eth_getBlockReceipts") reply["result"] = json::array{};
         },
         ErrorCode::kMismatch, kRoot},
        {"another amount", about_receipts([](auto& receipt) {
             for (json::value& log : receipt.at("logs").as_array())
                 if (log.at("data").as_string().size() > 2) return alter(log.at("data"));
         }),
         ErrorCode::kMismatch, kRoot},
        {"another owner", about_receipts([=](auto& receipt) {
             alter(first_log(receipt).at("topics").as_array().back());
         }),
         ErrorCode::kMismatch, kRoot},
        {"a reverted transaction is said to have succeeded, or the other way round",
         about_receipts([](auto& receipt) { receipt["status"] = "0x0"; }), ErrorCode::kMismatch,
         kRoot},
        {"a log of another block",
         about_receipts([=](auto& receipt) { alter(first_log(receipt).at("blockHash")); }),
         ErrorCode::kMismatch, "names another block"},
        {"logs are numbered anew, so that they are credited again",
         about_receipts([=](auto& receipt) { first_log(receipt)["logIndex"] = "0x7"; }),
         ErrorCode::kMismatch, "misnumbered"},
        {"a bloom filter in which nothing is",
         about_headers([](auto& header) { header["logsBloom"] = zeros(256); }),
         ErrorCode::kMismatch, kHeader},
        {"another receipts root",
         about_headers([](auto& header) { alter(header.at("receiptsRoot")); }),
         ErrorCode::kMismatch, kHeader},
        {"another parent", about_headers([](auto& header) { alter(header.at("parentHash")); }),
         ErrorCode::kMismatch, kHeader},
        {"other randomness", about_headers([](auto& header) { alter(header.at("mixHash")); }),
         ErrorCode::kMismatch, kHeader},
        {"another state", about_headers([](auto& header) { alter(header.at("stateRoot")); }),
         ErrorCode::kMismatch, kHeader},
        {"another block's number", about_headers([](auto& header) { header["number"] = "0x7fff"; }),
         ErrorCode::kMismatch, kHeader},
        {"another chain",
         [](const std::string& method, const json::array&, json::object& reply) {
             if (method == "eth_chainId") reply["result"] = "0x1";
         },
         ErrorCode::kMismatch, "serves chain 1"},
    };
}

TEST_F(FollowedThroughALyingNode, EachLieIsFoundOutAndNothingIsCreditedByIt) {
    for (int i = 0; i < 3; ++i)
        deposit();
    for (const Lie& lie : lies()) {
        SCOPED_TRACE(lie.what);
        start_over();
        proxy_.tell(lie.lie);
        for (int i = 0; i < 2; ++i) {  // a restart does not make it true
            const auto report = follower_->tick();
            ASSERT_FALSE(report.ok());
            EXPECT_EQ(report.error().code, lie.code) << report.error().message;
            EXPECT_NE(report.error().message.find(lie.message), std::string::npos)
                << report.error().message;
            EXPECT_EQ(calls_, 0U);
            restart();
        }
        expect_exact();
    }
}

TEST_F(FollowedThroughALyingNode, AnotherBlockThanTheOneAskedForIsRefused) {
    deposit();
    start_over();
    const std::string other = json::serialize(block_json("\"0x1\""));
    proxy_.tell([&](const std::string& method, const json::array& params, json::object& reply) {
        if (method == "eth_getBlockByNumber" && params.at(0).as_string() == "0x2")
            reply["result"] = json::parse(other);
    });
    EXPECT_EQ(behind_->block(std::uint64_t{2}).error().code, ErrorCode::kMalformed);
    EXPECT_EQ(behind_->blocks(1, 3).error().code, ErrorCode::kMalformed);
    expect_exact();
}

// A node that lags says old things that are true: nothing is undone by them, nothing new is
// believed.
TEST_F(FollowedThroughALyingNode, StaleBlocksUndoNothing) {
    deposit();
    start_over();
    expect_exact();
    const std::string stale = json::serialize(block_json("\"0x1\""));
    proxy_.tell([&](const std::string& method, const json::array& params, json::object& reply) {
        if (method != "eth_getBlockByNumber") return;
        if (params.at(0).as_string() == "latest" || params.at(0).as_string() == "finalized")
            reply["result"] = json::parse(stale);
    });
    deposit();
    const auto tip = must(memory_->tip());
    const auto finalized = must(memory_->finalized());
    const auto report = follower_->tick();
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->blocks_orphaned, 0U);
    EXPECT_EQ(must(memory_->tip())->number, tip->number);
    EXPECT_EQ(must(memory_->finalized())->number, finalized->number);
    EXPECT_EQ(calls_, 1U);

    // One that does not know what was final here lags, or was reset: to be tried again.
    proxy_.tell([&](const std::string& method, const json::array& params, json::object& reply) {
        if (method == "eth_getBlockByNumber" && params.at(0).as_string().starts_with("0x") &&
            std::stoull(std::string(params.at(0).as_string()), nullptr, 16) >= finalized->number)
            reply["result"] = nullptr;
    });
    EXPECT_EQ(follower_->tick().error().code, ErrorCode::kUnavailable);
    expect_exact();
}

TEST_F(FollowedThroughALyingNode, ErrorsAndSilenceAreToldAndTriedAgain) {
    deposit();
    start_over();
    expect_exact();
    deposit();
    proxy_.tell([](const std::string&, const json::array&, json::object& reply) {
        reply.erase("result");
        reply["error"] = {{"code", -32000}, {"message", "header not found"}};
    });
    EXPECT_EQ(follower_->tick().error().code, ErrorCode::kUnavailable);
    proxy_.tell({});
    for (const char* method : {"eth_getBlockByNumber", "eth_getBlockReceipts"})
        for (const auto& [fault, code] : {std::pair{Fault::kServerError, ErrorCode::kUnavailable},
                                          std::pair{Fault::kClose, ErrorCode::kUnavailable},
                                          std::pair{Fault::kSilence, ErrorCode::kTimeout}}) {
            SCOPED_TRACE(method);
            proxy_.trouble([&, fault = fault](const std::string& asked) {
                return asked == method ? fault : Fault::kNone;
            });
            const auto report = follower_->tick();
            ASSERT_FALSE(report.ok());
            EXPECT_EQ(report.error().code, code) << report.error().message;
        }
    expect_exact();
}

class SentThroughALyingNode : public LyingNode {
  protected:
    SentThroughALyingNode() {
        key_ = anvil_.funded_key(7);
        store_ = file_->intents(anvil_.chain_id(), key_.address());
        restart();
    }
    void restart() {
        chain::TxPolicy policy = test_policy(anvil_.chain_id());
        policy.bump_after_ms = 600'000;
        manager_ = std::make_unique<chain::TxManager>(*behind_, *store_, key_.clone(), clock_,
                                                      policy, contracts::describe_revert);
    }
    chain::IntentRequest payment() {
        chain::IntentRequest out;
        out.id = "pay/" + std::to_string(++payments_);
        out.to = chain::private_chain_key(900 + payments_).address();
        out.value_wei = Amount(payments_);
        return out;
    }
    /// Submits and ticks until its block is final and the manager said what it thinks of that.
    Result<chain::Intent> bring(const chain::IntentRequest& request) {
        GYM_CHECK(manager_->submit(request));
        return manager_->wait(request.id, kTimeoutMs);
    }
    void expect_paid_once(const chain::IntentRequest& request) {
        EXPECT_EQ(must(anvil_.client().balance(*request.to, chain::BlockTag::kLatest)),
                  request.value_wei);
        EXPECT_EQ(must(manager_->find(request.id)).state, chain::IntentState::kDone);
        EXPECT_EQ(must(anvil_.client().nonce(key_.address(), chain::BlockTag::kLatest)), payments_);
    }
    void tell_of_receipts(std::function<void(json::object&)> change, bool of_blocks_too = false) {
        proxy_.tell([change = std::move(change), of_blocks_too](
                        const std::string& method, const json::array&, json::object& reply) {
            json::value& result = reply.at("result");
            if (method == "eth_getTransactionReceipt" && result.is_object())
                change(result.as_object());
            if (of_blocks_too && method == "eth_getBlockReceipts" && result.is_array())
                for (json::value& receipt : result.as_array())
                    change(receipt.as_object());
        });
    }

    crypto::PrivateKey key_ = chain::private_chain_key(7);
    std::unique_ptr<chain_store::SqliteChainStore> file_ =
        must(chain_store::SqliteChainStore::open(":memory:"));
    std::unique_ptr<chain::IntentStore> store_;
    std::unique_ptr<chain::TxManager> manager_;
    std::uint32_t payments_ = 0;
};

TEST_F(SentThroughALyingNode, AReceiptThatContradictsItsBlockSettlesNothing) {
    const struct {
        const char* what;
        std::function<void(json::object&)> change;
        bool of_blocks_too;
        const char* message;
    } cases[] = {
        {"said to have reverted", [](auto& receipt) { receipt["status"] = "0x0"; }, false,
         "there it succeeded"},
        {"said so everywhere", [](auto& receipt) { receipt["status"] = "0x0"; }, true,
         "do not hash to the block's receipts root"},
        {"other gas", [](auto& receipt) { receipt["gasUsed"] = "0x5209"; }, false,
         "there it used 21000 gas"},
        {"a place that the block does not have",
         [](auto& receipt) { receipt["transactionIndex"] = "0x5"; }, false,
         "it has 1 transactions"},
        {"a log that it did not make",
         [this](auto& receipt) {
             receipt["logs"] =
                 json::array{json::object{{"address", deployment_.escrow.hex()},
                                          {"topics", json::array{}},
                                          {"data", "0x"},
                                          {"blockNumber", receipt.at("blockNumber")},
                                          {"blockHash", receipt.at("blockHash")},
                                          {"transactionHash", receipt.at("transactionHash")},
                                          {"logIndex", "0x0"}}};
         },
         false, "there it has other logs"},
    };
    for (const auto& lie : cases) {
        SCOPED_TRACE(lie.what);
        const chain::IntentRequest request = payment();
        tell_of_receipts(lie.change, lie.of_blocks_too);
        const auto told = bring(request);
        ASSERT_FALSE(told.ok());
        EXPECT_EQ(told.error().code, ErrorCode::kMismatch) << told.error().message;
        EXPECT_NE(told.error().message.find(lie.message), std::string::npos)
            << told.error().message;
        EXPECT_EQ(must(manager_->find(request.id)).state, chain::IntentState::kSigned);
        proxy_.tell({});
        ASSERT_TRUE(bring(request).ok());
        expect_paid_once(request);
    }
}

TEST_F(SentThroughALyingNode, ARevertIsNotMadeASuccess) {
    chain::IntentRequest request;
    request.id = "reverts";
    request.to = deployment_.escrow;
    request.data = escrow().withdraw().data;  // nothing was asked back
    request.gas_limit = 100'000;              // so that it is sent nevertheless
    tell_of_receipts([](auto& receipt) { receipt["status"] = "0x1"; });
    const auto told = bring(request);
    ASSERT_FALSE(told.ok());
    EXPECT_NE(told.error().message.find("there it reverted"), std::string::npos)
        << told.error().message;
    proxy_.tell({});
    EXPECT_EQ(bring(request).value().state, chain::IntentState::kReverted);
}

// A receipt that is kept back, a block that it is not in: wait; whatever is sent again pays once.
TEST_F(SentThroughALyingNode, AReceiptThatIsKeptBackIsWaitedFor) {
    const chain::IntentRequest request = payment();
    proxy_.tell([](const std::string& method, const json::array&, json::object& reply) {
        if (method == "eth_getTransactionReceipt") reply["result"] = nullptr;
    });
    must(manager_->submit(request));
    EXPECT_EQ(manager_->wait(request.id, 2'000).error().code, ErrorCode::kTimeout);
    tell_of_receipts([](auto& receipt) { alter(receipt.at("blockHash")); });
    EXPECT_EQ(manager_->wait(request.id, 1'000).error().code, ErrorCode::kTimeout);
    restart();
    proxy_.tell({});
    ASSERT_TRUE(bring(request).ok());
    expect_paid_once(request);
}

TEST_F(SentThroughALyingNode, ATransactionThatTheNodeKeepsForItselfIsSentAgain) {
    const chain::IntentRequest request = payment();
    int kept = 0;
    proxy_.trouble([&](const std::string& method) {
        if (method != "eth_sendRawTransaction" || kept >= 3) return Fault::kNone;
        ++kept;
        return Fault::kSwallow;
    });
    ASSERT_TRUE(bring(request).ok());
    EXPECT_EQ(kept, 3);
    expect_paid_once(request);
}

TEST_F(SentThroughALyingNode, ACountOfTransactionsFromThePastHalts) {
    ASSERT_TRUE(bring(payment()).ok());
    proxy_.tell([](const std::string& method, const json::array&, json::object& reply) {
        if (method == "eth_getTransactionCount") reply["result"] = "0x0";
    });
    const auto report = manager_->tick();
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().code, ErrorCode::kMismatch);
    EXPECT_NE(report.error().message.find("lost finalized"), std::string::npos);
}

TEST_F(SentThroughALyingNode, WhateverFailsInBetweenIsPaidOnce) {
    const char* const methods[] = {"eth_chainId",
                                   "eth_getBlockByNumber",
                                   "eth_getTransactionCount",
                                   "eth_maxPriorityFeePerGas",
                                   "eth_estimateGas",
                                   "eth_sendRawTransaction",
                                   "eth_getTransactionReceipt",
                                   "eth_getBlockReceipts"};
    const Fault faults[] = {Fault::kServerError, Fault::kClose, Fault::kLoseReply};
    std::set<std::string> failed;
    int turn = 0;
    for (const char* method : methods) {
        SCOPED_TRACE(method);
        const chain::IntentRequest request = payment();
        restart();  // asks for the chain's id anew
        int left = 2;
        const Fault fault = faults[turn++ % 3];
        proxy_.trouble([&](const std::string& asked) {
            if (asked != method || left == 0) return Fault::kNone;
            --left;
            failed.insert(asked);
            return fault;
        });
        const auto done = bring(request);
        ASSERT_TRUE(done.ok()) << done.error().message;
        proxy_.trouble({});
        expect_paid_once(request);
    }
    EXPECT_EQ(failed.size(), std::size(methods)) << "each was asked for";
}

}  // namespace
}  // namespace gym::testing
