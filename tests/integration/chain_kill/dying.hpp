#pragma once

#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "gym/chain/client.hpp"
#include "gym/chain/intent_store.hpp"

namespace gym::testing {

/// Ends this process by SIGKILL when it passes a chosen place for the n-th time: nothing is
/// flushed, nothing unwinds, no destructor runs.
class KillSwitch {
  public:
    /// @param place a name that pass() is given, "any" for all of them, empty for never.
    KillSwitch(std::string place, std::uint64_t passes) : place_(std::move(place)), left_(passes) {}
    void pass(const std::string& place) {
        if (place_.empty() || (place_ != "any" && place_ != place)) return;
        if (left_-- > 0) return;
        ::kill(::getpid(), SIGKILL);
        for (;;)
            ::pause();
    }
    template <class F>
    auto around(const std::string& step, F&& work) {
        pass(step + ".before");
        auto out = work();
        pass(step + ".after");
        return out;
    }

  private:
    std::string place_;
    std::uint64_t left_;
};

/// A store in which each durable step is a place to die before and after.
class DyingStore final : public chain::IntentStore {
  public:
    DyingStore(chain::IntentStore& inner, KillSwitch& kill) : inner_(inner), kill_(kill) {}

    Result<chain::Intent> submit(const chain::IntentRequest& request, UnixMs now_ms) override {
        return kill_.around("submit", [&] { return inner_.submit(request, now_ms); });
    }
    Result<chain::Intent> find(const std::string& id) override { return inner_.find(id); }
    Result<std::vector<chain::Intent>> open(std::uint32_t limit) override {
        return inner_.open(limit);
    }
    Result<std::optional<std::uint64_t>> highest_nonce() override { return inner_.highest_nonce(); }
    Result<std::optional<std::uint64_t>> highest_settled_nonce() override {
        return inner_.highest_settled_nonce();
    }
    Status assign(const std::string& id, std::uint64_t nonce, std::uint64_t gas_limit,
                  const chain::Attempt& first) override {
        return kill_.around("assign", [&] { return inner_.assign(id, nonce, gas_limit, first); });
    }
    Status add_attempt(const std::string& id, std::size_t attempts_expected,
                       const chain::Attempt& attempt) override {
        replacing_ = true;
        return kill_.around("replace",
                            [&] { return inner_.add_attempt(id, attempts_expected, attempt); });
    }
    Status request_cancel(const std::string& id) override { return inner_.request_cancel(id); }
    Status settle(const std::string& id, const chain::Outcome& outcome, UnixMs now_ms) override {
        return kill_.around("settle", [&] { return inner_.settle(id, outcome, now_ms); });
    }
    /// True from the first replacement on.
    [[nodiscard]] bool replacing() const { return replacing_; }

  private:
    chain::IntentStore& inner_;
    KillSwitch& kill_;
    bool replacing_ = false;
};

/// A node in which each call is a place to die before and after. What is sent for the first time
/// passes "send", what follows the first replacement passes "resend".
class DyingClient final : public chain::ChainClient {
  public:
    DyingClient(chain::ChainClient& inner, const DyingStore& store, KillSwitch& kill)
        : inner_(inner), store_(store), kill_(kill) {}

    Result<std::uint64_t> chain_id() override {
        return kill_.around("read", [&] { return inner_.chain_id(); });
    }
    Result<std::optional<chain::BlockHeader>> block(const chain::BlockId& id) override {
        return kill_.around("read", [&] { return inner_.block(id); });
    }
    Result<std::vector<chain::BlockHeader>> blocks(std::uint64_t first,
                                                   std::uint32_t count) override {
        return inner_.blocks(first, count);
    }
    Result<std::vector<chain::Log>> logs(const Digest& block_hash,
                                         const chain::LogFilter& filter) override {
        return inner_.logs(block_hash, filter);
    }
    Result<std::vector<chain::Log>> find_logs(const chain::LogQuery& query) override {
        return inner_.find_logs(query);
    }
    Result<std::vector<chain::ConsensusReceipt>> receipts(const Digest& block_hash) override {
        return kill_.around("read", [&] { return inner_.receipts(block_hash); });
    }
    Result<std::optional<chain::Receipt>> receipt(const Digest& transaction_hash) override {
        return kill_.around("receipt", [&] { return inner_.receipt(transaction_hash); });
    }
    Result<std::uint64_t> nonce(const Address& account, const chain::BlockId& at) override {
        return kill_.around("read", [&] { return inner_.nonce(account, at); });
    }
    Result<Amount> balance(const Address& account, const chain::BlockId& at) override {
        return inner_.balance(account, at);
    }
    Result<Bytes> code(const Address& account, const chain::BlockId& at) override {
        return inner_.code(account, at);
    }
    Result<chain::CallOutcome> call(const chain::CallRequest& request,
                                    const chain::BlockId& at) override {
        return inner_.call(request, at);
    }
    Result<chain::GasEstimate> estimate_gas(const chain::CallRequest& request) override {
        return kill_.around("read", [&] { return inner_.estimate_gas(request); });
    }
    Result<Amount> suggested_priority_fee() override {
        return kill_.around("read", [&] { return inner_.suggested_priority_fee(); });
    }
    Result<chain::SendOutcome> send(ByteView raw_transaction) override {
        return kill_.around(store_.replacing() ? "resend" : "send",
                            [&] { return inner_.send(raw_transaction); });
    }

  private:
    chain::ChainClient& inner_;
    const DyingStore& store_;
    KillSwitch& kill_;
};

}  // namespace gym::testing
