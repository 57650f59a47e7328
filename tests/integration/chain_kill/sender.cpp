// One life of a process that sends payments: stores them, ticks until all of them are settled, ends
// with 0. It may be told where to die.
//
//   chain_kill_sender RPC_URL CHAIN_ID STORE FIRST COUNT [PLACE PASSES]
//
// STORE is "sqlite:FILE" or "postgres:HOST:PORT:DATABASE:USER" with GYM_DB_PASSWORD.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "dying.hpp"
#include "gym/chain/tx_manager.hpp"
#include "gym/chain_store/postgres.hpp"
#include "gym/chain_store/sqlite.hpp"
#include "must.hpp"
#include "payments.hpp"

namespace {

using namespace gym;
using gym::testing::must;

/// Whatever keeps a store alive, and the store.
struct Store {
    std::unique_ptr<chain_store::SqliteChainStore> file;
    std::unique_ptr<db::Database> database;
    std::unique_ptr<chain::IntentStore> intents;
};

Store open_store(const std::string& text, std::uint64_t chain_id, const Address& sender) {
    Store out;
    if (text.starts_with("sqlite:")) {
        out.file = must(chain_store::SqliteChainStore::open(text.substr(7)));
        out.intents = out.file->intents(chain_id, sender);
        return out;
    }
    out.database = must(db::Database::open(testing::parse_database(text)));
    out.intents = chain_store::postgres_intents(*out.database, {"gym_rewards"}, chain_id, sender);
    return out;
}

bool all_settled(chain::TxManager& manager, std::uint64_t end) {
    for (std::uint64_t i = 0; i < end; ++i)
        if (!chain::is_settled(must(manager.find(testing::payment(i).id)).state)) return false;
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 6 && argc != 8) return 2;
    const std::string url = argv[1];
    const std::uint64_t chain_id = std::strtoull(argv[2], nullptr, 10);
    const std::uint64_t first = std::strtoull(argv[4], nullptr, 10);
    const std::uint64_t end = first + std::strtoull(argv[5], nullptr, 10);
    testing::KillSwitch kill(argc == 8 ? argv[6] : "",
                             argc == 8 ? std::strtoull(argv[7], nullptr, 10) : 0);
    auto key = testing::payer();
    const auto node = must(chain::make_http_client(url));
    const Store store = open_store(argv[3], chain_id, key.address());
    testing::DyingStore dying_store(*store.intents, kill);
    testing::DyingClient dying_node(*node, dying_store, kill);
    const SystemClock clock;
    chain::TxManager manager(dying_node, dying_store, std::move(key), clock,
                             testing::sender_policy(chain_id),
                             [](ByteView) { return std::string("reverted"); });
    for (std::uint64_t i = first; i < end; ++i)
        (void)must(manager.submit(testing::payment(i)));
    while (!all_settled(manager, end)) {
        const auto report = manager.tick();
        if (!report.ok()) {
            std::cerr << report.error().message << std::endl;
            return 3;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return 0;
}
