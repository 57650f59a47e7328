#pragma once

#include <functional>
#include <map>
#include <random>

#include "messages.hpp"

namespace gym::sim {

enum class Behaviour {
    kHonestWorker,
    kCheatingWorker,      ///< a wrong result in some of its units; defends them all the same
    kEquivocatingWorker,  ///< sometimes signs a second result
    kLeavingWorker,       ///< honest, gone for good at some moment
    kHonestVerifier,
    kSilentVerifier,  ///< takes tasks and never reports
    kLyingVerifier,   ///< reports differences that are not there
};
[[nodiscard]] bool is_verifier(Behaviour behaviour);

/// A node as the network sees it. Everything in it is lost in a crash.
class SimNode {
  public:
    using Send = std::function<void(Message)>;
    SimNode(Behaviour behaviour, Address address, std::uint64_t seed);

    [[nodiscard]] Behaviour behaviour() const { return behaviour_; }
    void receive(const Message& message, UnixMs now_ms, const Send& send);
    /// Polls, finishes work, repeats what was not acknowledged.
    void act(UnixMs now_ms, const Send& send);
    void crash();

  private:
    void start_unit(const Assignment& assignment, UnixMs now_ms);
    void start_task(const Task& task, UnixMs now_ms);
    [[nodiscard]] protocol::UnitCommitment result_of(const Assignment& assignment);
    [[nodiscard]] bool chance(std::uint32_t percent);
    UnixMs work_time_ms();

    struct Unit {
        protocol::UnitCommitment commitment;
        UnixMs ready_ms = 0;
        bool taken = false;
    };
    struct Check {
        protocol::Report report;
        Digest digest;
        UnixMs ready_ms = 0;
        bool taken = false;
    };
    Behaviour behaviour_;
    Address address_;
    std::mt19937_64 random_;
    std::uint64_t fault_seed_;
    std::map<Digest, Unit> units_;
    std::map<Digest, Check> checks_;
};

}  // namespace gym::sim
