#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "anvil.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/subprocess.hpp"
#include "gym/registry/rounds.hpp"
#include "postgres.hpp"

namespace gym::testing {

struct LoadOptions {
    std::uint32_t heartbeat_every_ms = 5'000;
    bool durable = false;     ///< PostgreSQL syncs its log at every commit
    bool statements = false;  ///< count statements (pg_stat_statements)
    std::string settings;     ///< more lines of coordinator.yaml
    std::string listen;       ///< more lines of its section `listen`, indented by two
};

/// What PostgreSQL has done so far.
struct DatabaseWork {
    std::uint64_t statements = 0;    ///< 0 unless they are counted
    std::uint64_t transactions = 0;  ///< committed
};

/// PostgreSQL, a chain of its own and coordinators as processes (gym-stub-coordinator: everything
/// but the training is real). Setting it up aborts on failure. One at a time per program.
class LoadNetwork {
  public:
    explicit LoadNetwork(const LoadOptions& options);

    /// Another coordinator over the same stores. @return its index.
    std::size_t start_coordinator();
    [[nodiscard]] std::string target(std::size_t coordinator) const;
    [[nodiscard]] pid_t pid(std::size_t coordinator) const;
    [[nodiscard]] std::string log(std::size_t coordinator) const;
    void kill_coordinator(std::size_t coordinator);

    /// Jobs of one round with a unit for each of `slots` workers; none begins with fewer.
    std::vector<Digest> submit_jobs(std::uint32_t jobs, std::uint32_t slots);
    [[nodiscard]] std::optional<registry::Round> round_one(const Digest& job);
    /// Units of the job in a state ("committed").
    [[nodiscard]] std::uint64_t count_units(const Digest& job, const std::string& state);
    /// When the job's last unit was committed.
    [[nodiscard]] UnixMs last_commit_ms(const Digest& job);
    [[nodiscard]] DatabaseWork database_work();
    /// The statements that took most time, one a line; empty unless they are counted.
    [[nodiscard]] std::string costly_statements(int count);
    /// How often statements like this (SQL's LIKE) ran; 0 unless they are counted.
    [[nodiscard]] std::uint64_t statement_calls(const std::string& like);
    void forget_statements();

    db::Database& owner() { return database_.owner(); }
    TestAnvil& chain() { return anvil_; }
    [[nodiscard]] std::uint32_t heartbeat_every_ms() const { return options_.heartbeat_every_ms; }

  private:
    struct Process {
        std::optional<Subprocess> process;
        int port = 0;
    };
    [[nodiscard]] std::filesystem::path file(const std::string& name) const;
    void write(const std::string& name, const std::string& text, unsigned mode);
    void prepare_database();
    void deploy_contracts();
    void register_dataset();
    std::string config(std::size_t coordinator) const;

    const LoadOptions options_;
    SystemClock clock_;
    TestAnvil anvil_;
    TestDatabase database_;
    crypto::PrivateKey key_ = anvil_.funded_key(0);
    Digest dataset_root_;
    std::vector<Process> processes_;
};

}  // namespace gym::testing
