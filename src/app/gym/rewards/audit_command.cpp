#include "rewards/audit_command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <limits>
#include <memory>

#include "cli/api_facts.hpp"
#include "cli/cli_context.hpp"
#include "cli/pending_changes.hpp"
#include "cli/rows.hpp"
#include "gym/chain/client.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/plural.hpp"
#include "gym/contracts/admin_timelock.hpp"
#include "gym/contracts/commitment_log.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/job_escrow.hpp"
#include "gym/contracts/rewards_distributor.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/rewards/epoch_file.hpp"
#include "gym/rewards/order_check.hpp"
#include "rewards/audit_evidence.hpp"
#include "rewards/epoch_files.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

struct AuditOptions {
    EpochFileOptions files;
    ChainOptions chain;
    std::uint64_t epoch = 0;
    bool files_only = false;
};

/// One of them is there. @errors kNotFound.
Result<PayoutRoots> roots_on_chain(chain::ChainClient& client, const Address& distributor) {
    GYM_TRY(const PayoutRoots out,
            payout_roots(client, contracts::RewardsDistributor(distributor)));
    if (out.newest().epoch != 0) return out;
    return fail(ErrorCode::kNotFound, "no payout root is on chain yet");
}

class Findings {
  public:
    void expect(bool holds, const std::string& otherwise) {
        if (!holds) list_.push_back(otherwise);
    }
    void add(const std::vector<std::string>& more) {
        list_.insert(list_.end(), more.begin(), more.end());
    }
    [[nodiscard]] const std::vector<std::string>& list() const { return list_; }

  private:
    std::vector<std::string> list_;
};

void check_against_chain(const NamedFile& file, const contracts::RootSubmitted& root,
                         const contracts::Deployment& contracts, Findings& findings) {
    const rewards::EpochFile& content = file.content;
    findings.expect(file.root == root.epoch_file_root, "the chain names the file " +
                                                           root.epoch_file_root.hex() +
                                                           ", this one is " + file.root.hex());
    findings.expect(content.payout_root == root.root, "the chain has the payout root " +
                                                          root.root.hex() + ", the file " +
                                                          content.payout_root.hex());
    findings.expect(content.total_cumulative == root.total_cumulative,
                    "the chain pays " + root.total_cumulative.to_string() +
                        " wei in all, the file " + content.total_cumulative.to_string());
    findings.expect(content.domain.chain_id == contracts.chain_id &&
                        content.domain.distributor == contracts.distributor &&
                        content.domain.token == contracts.token,
                    "the file is for other contracts");
}

/// All files from the first one to `epoch`, found from the one that the chain names: each names the
/// one before by its root, so none can be another than the one that was posted.
Result<std::vector<rewards::EpochFile>> follow_links(const AuditOptions& options, NamedFile newest,
                                                     std::uint64_t epoch, Findings& findings) {
    std::vector<rewards::EpochFile> files;
    NamedFile file = std::move(newest);
    for (;;) {
        const std::uint64_t number = file.content.epoch;
        std::optional<NamedFile> before;
        if (number > 1) {
            GYM_TRY(before, fetch_epoch_file(options.files, number - 1));
            findings.expect(file.content.previous == before->root,
                            "file " + std::to_string(number - 1) + " is not the one that file " +
                                std::to_string(number) + " was made after");
        }
        if (number <= epoch) files.push_back(std::move(file.content));
        if (!before) break;
        file = std::move(*before);
    }
    std::reverse(files.begin(), files.end());
    return files;
}

/// A pending root that takes from an earner need not be waited for: anybody can disable it.
void check_fallen(const AuditOptions& options, const PayoutRoots& roots, Findings& findings) {
    if (roots.pending.epoch == 0 || roots.active.epoch == 0) return;
    const auto fallen = prove_fallen(options.files, roots.active, roots.pending);
    if (!fallen.ok()) return findings.expect(false, fallen.error().message);
    if (!*fallen) return;
    const std::string epoch = std::to_string(roots.pending.epoch);
    const payouts::Fallen& found = (*fallen)->fallen;
    findings.expect(false, found.earner.hex() + " has " + found.after.to_string() +
                               " wei under the pending root of epoch " + epoch + ", and " +
                               found.before.to_string() +
                               " under the active one: `gym rewards disable " + epoch +
                               "` disables the pending root, before it pays");
}

/// The roots under which the rounds' commitments are, as the chain has them.
Status check_rounds(chain::ChainClient& client, const contracts::Deployment& contracts,
                    const rewards::EpochFile& file, Findings& findings) {
    const contracts::CommitmentLog log(contracts.commitment_log);
    for (const rewards::FileRound& round : file.rounds) {
        if (!round.commitments_root) continue;
        GYM_TRY(const auto posted, log.epoch_of(client, round.epoch));
        GYM_TRY(const auto recorded, log.round_of(client, round.job_id, round.round));
        findings.expect(recorded.epoch == round.epoch,
                        "round " + std::to_string(round.round) + " of job " + round.job_id.hex() +
                            ": the chain has it in epoch " + std::to_string(recorded.epoch) +
                            ", the file in " + std::to_string(round.epoch));
        findings.expect(posted.commitments_root == *round.commitments_root,
                        "round " + std::to_string(round.round) + " of job " + round.job_id.hex() +
                            ": the chain has the commitments " + posted.commitments_root.hex() +
                            ", the file " + round.commitments_root->hex());
    }
    return {};
}

json::array strings(const std::vector<std::string>& sentences) {
    return json::array(sentences.begin(), sentences.end());
}

/// Compares the signed records with the chain, then with the credits.
Result<rewards::EvidenceFindings> check_records(const AuditOptions& options,
                                                chain::ChainClient& client,
                                                const contracts::Deployment& contracts,
                                                const std::vector<rewards::EpochFile>& files,
                                                Findings& findings) {
    const auto facts = make_api_facts(options.files.api.client());
    GYM_TRY(const auto deviations, rewards::check_facts(files, *facts));
    findings.add(deviations);
    const contracts::JobEscrow escrow(contracts.escrow);
    const auto read_lock = [&](const registry::StoredOrder& order) {
        return std::visit([&](const auto& terms) { return escrow.lock_of(client, terms); },
                          order.terms);
    };
    GYM_TRY(
        const auto unsigned_money,
        rewards::check_orders(files, *facts, {contracts.chain_id, contracts.escrow}, read_lock));
    findings.add(unsigned_money);
    const auto evidence =
        make_audit_evidence(options.files.api.client(), client, contracts.commitment_log);
    const auto domain = protocol::signing_domain(contracts.chain_id, contracts.commitment_log);
    GYM_TRY(auto found,
            rewards::check_evidence(domain, files, *facts, *evidence, SystemClock().now_ms()));
    findings.add(found.deviations);
    return found;
}

/// Absent: files alone were checked.
using Evidence = std::optional<rewards::EvidenceFindings>;

void print_evidence(const Evidence& evidence) {
    if (!evidence) {
        print_row("units", "not compared (--files-only)");
        return;
    }
    print_row("units", "each credit compared with the records of its job and unit");
    print_row("orders", "the owner's signature recovered under what each job paid");
    print_row("signed",
              "{} commitments under roots on chain, {} reports, {} answers to uptime challenges",
              evidence->commitments, evidence->reports, evidence->answers);
    for (const std::string& sentence : evidence->unchecked)
        print_row("not checked", "{}", sentence);
}

/// What the admin of the contracts will be able to do: no deviation, but everybody's to know.
struct Announced {
    const contracts::Deployment& contracts;
    contracts::AdminTimelock timelock;
    std::vector<contracts::PendingChange> changes;
};

Result<Announced> announced_changes(chain::ChainClient& client,
                                    const contracts::Deployment& contracts) {
    GYM_TRY(const auto timelock, contracts::AdminTimelock::of(client, contracts));
    GYM_TRY(auto changes, timelock.pending(client));
    return Announced{contracts, timelock, std::move(changes)};
}

void print(const CliContext& context, const rewards::EpochFile& content, const Evidence& evidence,
           const contracts::RootSubmitted& anchor, const Announced& announced,
           const Findings& findings) {
    const Digest file_root = rewards::epoch_file_root(rewards::encode_epoch_file(content));
    const std::uint64_t seal = content.ledger_seal ? content.ledger_seal->number : 0;
    const std::string seal_hash = content.ledger_seal ? content.ledger_seal->hash.hex() : "";
    if (context.json) {
        context.print_json({{"epoch", content.epoch},
                            {"ledger_seal", seal},
                            {"ledger_seal_hash", seal_hash},
                            {"payout_root", content.payout_root.hex()},
                            {"file_root", file_root.hex()},
                            {"credits", content.credits.size()},
                            {"earners", content.payouts.size()},
                            {"total_wei", content.total_cumulative.to_string()},
                            {"chain_epoch", anchor.epoch},
                            {"units_checked", evidence.has_value()},
                            {"commitments_checked", evidence ? evidence->commitments : 0},
                            {"reports_checked", evidence ? evidence->reports : 0},
                            {"answers_checked", evidence ? evidence->answers : 0},
                            {"unchecked", evidence ? strings(evidence->unchecked) : json::array()},
                            {"announced", changes_json(announced.contracts, announced.timelock,
                                                       announced.changes)},
                            {"deviations", strings(findings.list())}});
        return;
    }
    print_row("epoch", "{} (the chain's newest root is of epoch {})", content.epoch, anchor.epoch);
    print_row("payout root", "{}", content.payout_root.hex());
    print_row("recomputed", "{} of {} in this epoch", counted(content.credits.size(), "credit"),
              counted(content.rounds.size(), "round"));
    print_row("payable so far", "{} GYM to {}, of this epoch and all before it",
              content.total_cumulative.to_tokens(), counted(content.payouts.size(), "earner"));
    if (seal != 0) print_row("ledger", "sealed up to seal {}, {}", seal, seal_hash);
    print_evidence(evidence);
    print_changes(announced.contracts, announced.timelock, announced.changes);
    if (findings.list().empty())
        print_row("verdict", "the payout root follows from the files and equals the one on chain");
    for (const std::string& sentence : findings.list())
        print_row("deviation", "{}", sentence);
}

Status audit(const CliContext& context, const AuditOptions& options) {
    GYM_TRY(const contracts::Deployment contracts, options.chain.contracts());
    GYM_TRY(const std::string url, options.chain.rpc_url());
    GYM_TRY(const auto client, chain::make_http_client(url));
    GYM_TRY(const PayoutRoots roots, roots_on_chain(*client, contracts.distributor));
    const contracts::RootSubmitted& anchor = roots.newest();
    const std::uint64_t epoch = options.epoch == 0 ? anchor.epoch : options.epoch;
    if (epoch > anchor.epoch)
        return fail(ErrorCode::kNotFound,
                    "the chain's newest payout root is of epoch " + std::to_string(anchor.epoch));
    Findings findings;
    GYM_TRY(NamedFile newest, fetch_epoch_file(options.files, anchor.epoch));
    check_against_chain(newest, anchor, contracts, findings);
    check_fallen(options, roots, findings);
    GYM_TRY(const auto files, follow_links(options, std::move(newest), epoch, findings));
    const rewards::EpochFile& file = files.back();
    std::optional<rewards::EpochFile> previous;
    if (files.size() > 1) previous = files[files.size() - 2];
    findings.add(rewards::check_epoch_file(file, previous));
    GYM_CHECK(check_rounds(*client, contracts, file, findings));
    Evidence evidence;
    if (!options.files_only) {
        GYM_TRY(evidence, check_records(options, *client, contracts, files, findings));
    }
    GYM_TRY(const Announced announced, announced_changes(*client, contracts));
    print(context, file, evidence, anchor, announced, findings);
    if (findings.list().empty()) return {};
    return fail(ErrorCode::kMismatch, std::to_string(findings.list().size()) +
                                          " deviation(s); the first: " + findings.list().front());
}

}  // namespace

void add_audit_command(CLI::App& rewards, CliContext& context) {
    auto options = std::make_shared<AuditOptions>();
    CLI::App* command = rewards.add_subcommand(
        "audit",
        "Recompute a payout root from public data: epoch files, the chain, jobs and units");
    command
        ->add_option("epoch", options->epoch,
                     "Payout epoch, 1 or more (default: the newest on chain)")
        ->check(CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()));
    command->add_flag("--files-only", options->files_only,
                      "Check only the files: skip gym-api's records and the nodes' signatures");
    options->files.add_to(*command);
    options->chain.add_to(*command);
    command->callback([&context, options] { context.finish(audit(context, *options)); });
}

}  // namespace gym::app
