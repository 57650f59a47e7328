#pragma once

#include <filesystem>
#include <string>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/db/database.hpp"
#include "gym/devnet/layout.hpp"
#include "gym/devnet/report.hpp"
#include "gym/devnet/services.hpp"
#include "waiting.hpp"

// The steps of the demo's job, as its owner and its earners take them.
namespace gym::devnet {

/// Deposits `amount` on chain and waits until the ledger shows it as available.
Status fund_owner(const Layout& layout, const contracts::Deployment& deployment,
                  db::Database& database, const Amount& amount);
/// A text that a key holder offers to jobs; a token is a byte.
struct OfferedText {
    std::string holder;
    std::string name;
    std::string licence;
    std::string price_tokens = "0";  ///< of a million tokens of the text, times its quality
    ByteView text;
};
/// Registers it over REST. @return the dataset's root.
Result<Digest> register_text(const Layout& layout, const Programs& programs,
                             const OfferedText& offered);
/// The job's owner submits the job file for a registered dataset over REST. @return the job's id.
Result<Digest> submit_job(const Layout& layout, const Programs& programs, const Digest& dataset,
                          const std::filesystem::path& job_file);
/// Shows progress until the job has ended and every unit is decided. @errors kTimeout, kCancelled;
/// kConflict when the job failed, pauses or was cancelled; those of check_disputes().
Status watch_job(db::Database& database, const Digest& job_id, const WaitLimits& limits);
/// Waits until the active payout root pays everything that the ledger made payable, then claims for
/// every holder that earned. @errors kTimeout.
Status settle_and_claim(const Layout& layout, const contracts::Deployment& deployment,
                        db::Database& database, const WaitLimits& limits);
/// Waits until the stake of `sources.cheater` is taken: its game, and the time after the proof in
/// which earlier announcements could still prove it, too.
Status wait_for_slash(const ReportSources& sources, const WaitLimits& limits);

}  // namespace gym::devnet
