// One verifier among honest ones, over all reports of its career: what it may do with each draw.
#include <array>

#include "arena.hpp"
#include "gym/rewards/formulas.hpp"
#include "must.hpp"

namespace gym::sim::economy {
namespace {

using gym::testing::must;
namespace event = protocol::event;

enum VerifierArm : std::size_t {
    kHonest,
    kCopies,
    kCopiesWhatIsTrusted,
    kCopiesNowAndThen,
    kCopiesWhenItLeaves,
    kSilent,
    kRevealsLate,
    kLies,
    kLiesInAGame,
    kVerifierArms
};

/// Verifiers stake nothing, and who leaves has no reports ahead to lose.
Wei the_last_batch(const Network& net) {
    return static_cast<Wei>(net.params.verifier.reports_pending_max) * net.cost;
}

constexpr std::array<Arm, kVerifierArms> kNames = {{
    {"honest", Claim::kHonest},
    {"copies every commitment"},
    {"copies those of workers that are drawn seldom"},
    {"copies a tenth of them"},
    {"copies what is pending when it leaves", Claim::kAtMost, the_last_batch},
    {"is silent when it is drawn"},
    {"commits to reports and reveals none"},
    {"finds faults where there are none"},
    {"... and opens games about them"},
}};

class Career {
  public:
    Career(const Network& net, std::size_t arm, std::uint64_t seed)
        : net_(net), arm_(arm), dice_(seed) {}

    Book run() {
        const auto ahead = static_cast<std::uint64_t>(net_.params.verifier.reports_ahead);
        const std::uint64_t pending = net_.params.verifier.reports_pending_max;
        std::uint64_t reports = pending;
        while (dice_.below(ahead + 1) != 0)
            ++reports;
        const Wei budget =
            static_cast<Wei>(reports) * (net_.reward + net_.bonus + net_.report_reward);
        book_.move(Account::kOwner, Account::kEscrow, budget);
        // Either the first reports or the last ones are pending together.
        const bool at_the_end = arm_ == kCopiesWhenItLeaves;
        for (std::uint64_t i = 0; i < reports; ++i) {
            last_batch_ = i + pending >= reports;
            unit();
            const bool open = at_the_end ? last_batch_ : i + 1 < pending;
            if (!open || i + 1 == reports) settle();
        }
        book_.move(Account::kEscrow, Account::kOwner, book_.of(Account::kEscrow));
        return book_;
    }

  private:
    void apply(const protocol::UnitEvent& event) {
        status_ = must(protocol::apply(status_, event, net_.lifecycle, now_ms_));
    }
    void pass_deadline() {
        now_ms_ = status_.deadline_ms + 1;
        apply(event::TimePassed{});
    }

    /// A right unit that the beacon has drawn for this verifier.
    void unit() {
        // The same chances for every arm.
        const bool audited = dice_.ppm(net_.params.verifier.audit_ppm);
        const bool trusted = dice_.ppm(700'000);
        const bool tenth = dice_.ppm(100'000);
        now_ms_ = 0;
        status_ = protocol::assigned(net_.lifecycle, now_ms_);
        book_.move(Account::kPeerA, Account::kOutside, net_.cost);
        apply(event::Committed{});
        apply(event::Drawn{true});
        const bool copies = arm_ == kCopies || (arm_ == kCopiesWhatIsTrusted && trusted) ||
                            (arm_ == kCopiesNowAndThen && tenth) ||
                            (arm_ == kCopiesWhenItLeaves && last_batch_);
        if (excluded_ || arm_ == kSilent || arm_ == kRevealsLate)
            another_reports();
        else if (arm_ == kLies || arm_ == kLiesInAGame)
            lie();
        else
            report(copies, audited);
        pass_deadline();
        GYM_ASSERT(status_.state == protocol::UnitState::kFinal, "right work is paid");
        book_.move(Account::kEscrow, Account::kPeerA, net_.reward + net_.bonus);
    }

    void report(bool copies, bool audited) {
        if (!copies) book_.move(Account::kVerifier, Account::kOutside, net_.cost);
        apply(event::Reported{});
        apply(event::Revealed{});
        apply(event::Compared{true});
        pending_ += net_.report_reward;
        // One failed audit brings those of all that is pending (coordinator_core:
        // ReportAudits.OneFailedAuditBringsTheOthersOfThatVerifier).
        if (copies && audited && net_.rules.reports_audited) excluded_ = true;
    }

    /// Its deadline passes, and the next draw is somebody else's.
    void another_reports() {
        if (!excluded_) {
            if (arm_ == kRevealsLate) apply(event::Reported{});
            pass_deadline();
        }
        book_.move(Account::kVerifiers, Account::kOutside, net_.cost);
        apply(event::Reported{});
        apply(event::Revealed{});
        apply(event::Compared{true});
        book_.move(Account::kEscrow, Account::kVerifiers, net_.report_reward);
    }

    /// The referee runs the unit again (coordinator_core: FalseReports), and a game is lost: half
    /// of the bond is burned, half the worker's (DisputeBank._end, DisputeMoney.t.sol).
    void lie() {
        apply(event::Reported{});
        apply(event::Revealed{});
        apply(event::Compared{false});
        apply(event::Defended{});
        if (arm_ == kLiesInAGame) {
            book_.move(Account::kVerifier, Account::kOutside, net_.game_cost);
            book_.move(Account::kVerifier, Account::kGame, net_.bond);
            book_.move(Account::kGame, Account::kPeerA, net_.bond / 2);
            book_.move(Account::kGame, Account::kBurned, net_.bond - net_.bond / 2);
        }
        apply(event::Ruled{true});
        excluded_ = true;
    }

    /// Units have ended: what is pending is paid, unless its verifier was found out.
    void settle() {
        if (!excluded_) book_.move(Account::kEscrow, Account::kVerifier, pending_);
        pending_ = 0;
    }

    const Network& net_;
    std::size_t arm_;
    Dice dice_;
    Book book_;
    protocol::UnitStatus status_;
    UnixMs now_ms_ = 0;
    Wei pending_ = 0;
    bool excluded_ = false;
    bool last_batch_ = false;
};

Book play(const Network& net, std::size_t arm, std::uint64_t seed) {
    return Career(net, arm, seed).run();
}

constexpr std::array kCoalition = {Account::kVerifier};
constexpr std::array kOthers = {Account::kOwner, Account::kPeerA, Account::kVerifiers};

}  // namespace

const Arena& verifier_arena() {
    static const Arena arena{"verifier", kNames, kCoalition, kOthers, play};
    return arena;
}

}  // namespace gym::sim::economy
