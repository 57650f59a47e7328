#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

#include "gym/db/database.hpp"

namespace gym::testing {

/// Commits `write` while `other`, on a thread of its own, waits for a row that `write` holds: what
/// `other` read before is then out of date. Fails if `other` never has to wait.
template <class F>
void write_while_waited_for(db::Database& database, F&& write, const std::function<void()>& other) {
    std::thread thread;
    bool waited = false;
    const Status done = database.transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(write(tx));
        if (!thread.joinable()) thread = std::thread(other);
        for (int i = 0; i < 2'000 && !waited; ++i) {
            GYM_TRY(const db::Row row,
                    tx.exec_one("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND "
                                "pg_backend_pid() = ANY (pg_blocking_pids(pid)))"));
            waited = row.get<bool>(0);
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        return {};
    });
    if (thread.joinable()) thread.join();
    EXPECT_TRUE(done.ok()) << done.error().message;
    EXPECT_TRUE(waited) << "nothing waited for the row";
}

}  // namespace gym::testing
