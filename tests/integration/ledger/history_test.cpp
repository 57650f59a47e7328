#include <cstdlib>
#include <map>
#include <random>
#include <thread>

#include "ledger_fixture.hpp"

// Random histories against an independent model: the simplest book-keeping that could be right, one
// transfer at a time, in memory.
namespace gym::ledger {
namespace {

struct ModelTransfer {
    TransferRequest request;
    bool resolved = false;
};

class Model {
  public:
    explicit Model(std::map<AccountId, bool> may_overdraw)
        : may_overdraw_(std::move(may_overdraw)) {}

    Statuses book(const std::vector<TransferRequest>& batch) {
        Statuses statuses;
        for (std::size_t i = 0; i < batch.size();) {
            std::size_t end = i + 1;
            while (batch[i].group && end < batch.size() && batch[end].group == batch[i].group)
                ++end;
            const auto saved = *this;
            Statuses group;
            bool failed = false;
            for (std::size_t k = i; k < end; ++k) {
                group.push_back(failed ? kGroupFailed : one(batch[k]));
                failed = failed || (batch[k].group && !done(group.back()));
            }
            if (failed) {
                *this = saved;
                for (auto& status : group)
                    if (status == kCreated) status = kGroupFailed;
            }
            statuses.insert(statuses.end(), group.begin(), group.end());
            i = end;
        }
        return statuses;
    }
    [[nodiscard]] std::int64_t balance(AccountId id) const {
        const auto found = balances_.find(id);
        return found == balances_.end() ? 0 : found->second;
    }

  private:
    static bool same(const TransferRequest& a, const TransferRequest& b) {
        return a.kind == b.kind && a.debit == b.debit && a.credit == b.credit &&
               a.amount == b.amount && a.pending == b.pending && a.group == b.group &&
               a.reason == b.reason;
    }
    TransferStatus one(const TransferRequest& request) {
        if (const auto found = transfers_.find(request.id); found != transfers_.end())
            return same(found->second.request, request) ? kExists : kExistsDifferent;
        const auto amount = static_cast<std::int64_t>(*request.amount.to_u64());
        if (request.kind == TransferKind::kTransfer || request.kind == TransferKind::kPending) {
            if (!may_overdraw_.at(request.debit) &&
                balances_[request.debit] - reserved_[request.debit] < amount)
                return kInsufficient;
            if (request.kind == TransferKind::kPending) {
                reserved_[request.debit] += amount;
            } else {
                balances_[request.debit] -= amount;
                balances_[request.credit] += amount;
            }
        } else {
            const auto pending = transfers_.find(*request.pending);
            if (pending == transfers_.end() || known_before_.count(*request.pending) == 0)
                return kUnknown;
            if (pending->second.request.kind != TransferKind::kPending) return kInvalid;
            if (pending->second.resolved) return kClosed;
            pending->second.resolved = true;
            const TransferRequest& what = pending->second.request;
            const auto held = static_cast<std::int64_t>(*what.amount.to_u64());
            reserved_[what.debit] -= held;
            if (request.kind == TransferKind::kPost) {
                balances_[what.debit] -= held;
                balances_[what.credit] += held;
            }
        }
        transfers_[request.id] = {request, false};
        return kCreated;
    }

  public:
    /// Resolutions refer to transfers of earlier batches.
    void end_batch() {
        for (const auto& [id, transfer] : transfers_)
            known_before_[id] = true;
    }

  private:
    std::map<AccountId, bool> may_overdraw_;
    std::map<AccountId, std::int64_t> balances_, reserved_;
    std::map<TransferId, ModelTransfer> transfers_;
    std::map<TransferId, bool> known_before_;
};

std::uint64_t test_seed() {
    const char* text = std::getenv("GYM_TEST_SEED");
    return text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device{}();
}

int test_scale() {
    const char* text = std::getenv("GYM_TEST_SCALE");
    return text != nullptr ? std::max(1, std::atoi(text)) : 1;
}

class HistoryTest : public LedgerTest {
  protected:
    TransferRequest random_request(std::mt19937_64& random,
                                   const std::vector<AccountId>& accounts) {
        const auto pick = [&](std::uint64_t n) { return random() % n; };
        const std::string name = "r" + std::to_string(pick(400));
        if (pick(3) == 0) {
            TransferRequest request = resolve(name, "r" + std::to_string(pick(400)),
                                              pick(2) ? TransferKind::kPost : TransferKind::kVoid);
            return request;
        }
        const std::size_t debit = pick(accounts.size());
        const std::size_t credit = (debit + 1 + pick(accounts.size() - 1)) % accounts.size();
        return move(name, accounts[debit], accounts[credit], 1 + pick(50),
                    pick(2) ? TransferKind::kTransfer : TransferKind::kPending);
    }
};

TEST_F(HistoryTest, MatchesAnIndependentModelStatusByStatus) {
    const std::uint64_t seed = test_seed();
    SCOPED_TRACE("GYM_TEST_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::vector<AccountId> accounts = {outside()};
    std::map<AccountId, bool> overdraw = {{accounts[0], true}};
    for (int i = 0; i < 4; ++i) {
        accounts.push_back(account("0x" + std::to_string(i)));
        overdraw[accounts.back()] = false;
    }
    Model model(overdraw);
    for (int batch_number = 0; batch_number < 60 * test_scale(); ++batch_number) {
        std::vector<TransferRequest> batch;
        const std::size_t size = 1 + random() % 20;
        while (batch.size() < size) {
            batch.push_back(random_request(random, accounts));
            if (random() % 4 == 0) {
                const auto group = transfer_id("g" + std::to_string(random()));
                batch.back().group = group;
                for (std::size_t k = random() % 4; k > 0; --k) {
                    batch.push_back(random_request(random, accounts));
                    batch.back().group = group;
                }
            }
        }
        ASSERT_EQ(book(batch), model.book(batch)) << "batch " << batch_number;
        model.end_batch();
    }
    for (const AccountId id : accounts) {
        const auto balance = ledger_.balance(id);
        ASSERT_TRUE(balance.ok());
        const std::int64_t net = static_cast<std::int64_t>(*balance->credits.to_u64()) -
                                 static_cast<std::int64_t>(*balance->debits.to_u64());
        EXPECT_EQ(net, model.balance(id));
    }
}

TEST_F(HistoryTest, OneTransferAloneIsDecidedAsInABatch) {
    const std::uint64_t seed = test_seed();
    SCOPED_TRACE("GYM_TEST_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::vector<AccountId> accounts = {outside()};
    std::map<AccountId, bool> may_overdraw{{accounts[0], true}};
    for (int i = 0; i < 3; ++i) {
        accounts.push_back(account("0x" + std::to_string(i)));
        may_overdraw[accounts.back()] = false;
    }
    Model model(may_overdraw);
    for (int i = 0; i < 300 * test_scale(); ++i) {
        const std::vector<TransferRequest> alone{random_request(random, accounts)};
        ASSERT_EQ(book(alone), model.book(alone)) << "transfer " << i;
        model.end_batch();
    }
}

TEST_F(HistoryTest, ManyWritersOverTheSameAccountsKeepEveryInvariant) {
    const std::uint64_t seed = test_seed();
    SCOPED_TRACE("GYM_TEST_SEED=" + std::to_string(seed));
    std::vector<AccountId> accounts;
    for (int i = 0; i < 6; ++i) {
        accounts.push_back(account("0x" + std::to_string(i)));
        fund(accounts.back(), 200);
    }
    std::vector<std::jthread> threads;
    std::mutex mutex;
    std::vector<std::string> errors;
    for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&, thread] {
            std::mt19937_64 random(seed + static_cast<std::uint64_t>(thread));
            for (int i = 0; i < 25 * test_scale(); ++i) {
                std::vector<TransferRequest> batch;
                for (int k = i % 3 == 0 ? 1 : 10; k > 0; --k)  // one alone takes another way
                    batch.push_back(random_request(random, accounts));
                const auto result = ledger_.submit(batch);
                if (result.ok()) continue;
                const std::scoped_lock lock(mutex);
                errors.push_back(result.error().message);
            }
        });
    }
    threads.clear();
    EXPECT_TRUE(errors.empty()) << errors.front();
    Amount total;
    for (const AccountId id : accounts)
        total = *total.plus(*ledger_.balance(id)->net());
    EXPECT_EQ(total, Amount(1200));
}

TEST_F(HistoryTest, ACrashOfTheServerLosesNothingThatWasAcknowledgedAndRepeatsNothing) {
    const AccountId a = account("0xa");
    const AccountId b = account("0xb");
    fund(a, 1'000);
    constexpr int kTransfers = 60;
    std::atomic<bool> failed = false;
    std::atomic<int> acknowledged = 0;
    std::jthread writer([&] {
        for (int i = 0; i < kTransfers; ++i) {
            const auto statuses =
                ledger_.submit(std::vector{move("c" + std::to_string(i), a, b, 1)});
            if (!statuses.ok() || !done(statuses->at(0))) failed = true;
            ++acknowledged;
        }
    });
    for (int crash = 0; crash < 2; ++crash) {
        while (acknowledged < (crash + 1) * 15)
            std::this_thread::yield();
        ASSERT_TRUE(testing::postgres().restart(db::StopMode::kImmediate).ok());
    }
    writer.join();
    EXPECT_FALSE(failed);
    EXPECT_EQ(spendable(b), Amount(kTransfers));
}

}  // namespace
}  // namespace gym::ledger
