#pragma once

#include <spdlog/spdlog.h>

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gym/game/withdrawn.hpp"
#include "gym/node/delta_loader.hpp"
#include "gym/node/idle_blobs.hpp"
#include "gym/node/timer.hpp"
#include "gym/protocol/reason.hpp"
#include "gym/rpc/blob_cache.hpp"
#include "gym/verifier/reexecution.hpp"
#include "gym/verifier/report_journal.hpp"
#include "gym/verifier/round_watch.hpp"
#include "gym/verifier/verifier.hpp"
#include "late_reports.hpp"
#include "withheld_inputs.hpp"

namespace gym::verifier {

/// Whether this verifier computed something else than what was committed to.
inline bool differs(const records::VerifyTask& task, const protocol::Report& report) {
    return protocol::roots_of(report) != protocol::roots_of(task.commitment.commitment);
}

inline bool is_aggregate(const records::VerifyTask& task) {
    return task.commitment.commitment.kind == protocol::UnitKind::kAggregate;
}

inline bool is_evaluation(const records::VerifyTask& task) {
    return task.commitment.commitment.kind == protocol::UnitKind::kEvaluate;
}

/// Whether the step record that an aggregate was committed to with is not this verifier's own: then
/// it is not known from what deltas it was made.
inline bool is_other_aggregate(const records::VerifyTask& task, const protocol::Report& report) {
    return is_aggregate(task) && report.records_root != task.commitment.commitment.records_root;
}

/// Hashes of the records of the rounds that the task's deltas are from.
inline std::vector<Digest> rounds_of(const records::VerifyTask& task) {
    std::vector<Digest> out{protocol::hash(task.record)};
    if (task.earlier) out.push_back(protocol::hash(task.earlier->record));
    return out;
}

class VerifierImpl final : public Verifier {
  public:
    VerifierImpl(rpc::Coordinator& coordinator, const crypto::PrivateKey& key,
                 VerifierOptions options, rpc::BlobCache cache, ReportJournal journal,
                 RoundWatch watch)
        : coordinator_(coordinator),
          key_(key),
          options_(std::move(options)),
          timer_(options_.timer == nullptr ? system_timer_ : *options_.timer),
          cache_(std::move(cache)),
          journal_(std::move(journal)),
          watch_(std::move(watch)),
          loader_(cache_, node::InputLoader::Keep::kAllJobs),
          deltas_(cache_, loader_) {}

    Result<bool> run_once(const std::stop_token& stop) override;
    [[nodiscard]] records::Activity activity() const override {
        const std::scoped_lock lock(mutex_);
        return activity_;
    }

  private:
    Status carry_out(const records::VerifyTask& task, const std::stop_token& stop);
    Status carry_out(const records::PrefixTask& task, const std::stop_token& stop);
    Result<protocol::SignedPrefix> compute(const records::PrefixTask& task,
                                           const std::stop_token& stop);
    Status check_chain(const records::VerifyTask& task, const records::NetworkDescription& network);
    Result<PendingReport> compute(const records::VerifyTask& task, const std::stop_token& stop);
    std::optional<PendingReport> take_late(const records::VerifyTask& task);
    Status drop(const records::VerifyTask& task, const PendingReport& pending, const Error& why);
    Status report(const records::VerifyTask& task, const PendingReport& pending);
    Result<std::optional<crypto::Signature>> stand_for(const records::VerifyTask& task,
                                                       const protocol::Report& report);
    Status audit_deltas(const records::VerifyTask& task, const node::ChainView::Epoch& epoch,
                        std::uint32_t delay_blocks, const crypto::Eip712Domain& domain);
    Status watch_round(const records::VerifyTask& task);
    Status compare_aggregate(const records::VerifyTask& evaluation);
    void accuse_other(const WatchedRound& first, const protocol::SignedCommitment& other);
    void look_at_next_records();
    Status look_at_next_record(const WatchedRound& round);
    void accuse(const records::VerifyTask& task, const PendingReport& pending);
    void ask_for_inputs(const records::VerifyTask& task, const Error& error);
    void note_inputs(const records::VerifyTask& task);
    void accuse_aggregate(const records::VerifyTask& task, const PendingReport& pending,
                          ByteView claimed);
    void accuse_delta(const records::VerifyTask& aggregate, const node::WrongDelta& wrong);
    void mistrust(const protocol::UnitKey& unit, const std::string& sentence);
    bool challenge(const protocol::UnitKey& unit, const Result<player::Claim>& claim);
    Status release(const records::VerifyTask& task);
    /// Of games, and of units of the same round to come.
    [[nodiscard]] bool needs(const Digest& blob) const {
        return loader_.keeps(blob) || (options_.claims != nullptr && options_.claims->needs(blob));
    }
    void tidy();
    [[nodiscard]] ReexecutionOptions run_options(const protocol::UnitKey& unit,
                                                 const std::stop_token& stop);

    void contradict(const protocol::UnitKey& unit, const std::string& sentence) const {
        spdlog::error("the coordinator contradicts itself or the chain: {}", sentence);
        emit("contradiction", unit, sentence);
    }
    void set_activity(records::Activity activity) {
        const std::scoped_lock lock(mutex_);
        activity_ = std::move(activity);
    }
    void emit(const char* name, const protocol::UnitKey& unit, std::string detail,
              std::optional<engine::RecordDifference> where = std::nullopt) const {
        spdlog::info("{}: {} {}", protocol::name_unit(unit), name, detail);
        if (options_.on_event) options_.on_event({name, unit, std::move(detail), std::move(where)});
    }

    rpc::Coordinator& coordinator_;
    const crypto::PrivateKey& key_;
    const VerifierOptions options_;
    node::SteadyTimer system_timer_;
    node::Timer& timer_;
    rpc::BlobCache cache_;
    ReportJournal journal_;
    RoundWatch watch_;
    node::InputLoader loader_;
    node::DeltaLoader deltas_;
    LateReports late_;
    WithheldInputs withheld_;
    std::optional<Digest> audited_;  ///< record of the round whose sample was compared last
    std::optional<protocol::UnitKey> audited_aggregate_;  ///< whose deltas were compared last
    /// The aggregate audited last if it has deltas that no one committed to, or subtracts some for
    /// no reason, with all that there is to show.
    struct Uncommitted {
        protocol::UnitKey unit;
        std::vector<protocol::SignedCommitment> epoch;
        std::vector<protocol::SignedCommitment> earlier_epoch;        ///< of held deltas
        std::vector<std::optional<game::WithdrawnSource>> withdrawn;  ///< of these
    };
    std::optional<Uncommitted> uncommitted_;
    /// An aggregate that is not shown as it must be, and why: told.
    std::optional<std::pair<protocol::UnitKey, std::string>> mistrusted_;
    /// The report on the prefix that was run last, to send again if the coordinator did not answer.
    std::optional<protocol::SignedPrefix> prefix_;
    std::optional<std::chrono::steady_clock::time_point> tidied_;
    std::string failing_;  ///< why a next record could not be looked at; told once
    mutable std::mutex mutex_;
    records::Activity activity_;
};

}  // namespace gym::verifier
