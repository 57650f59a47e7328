#include "rewards/claim_command.hpp"

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "cli/chain_sender.hpp"
#include "cli/cli_context.hpp"
#include "cli/network_options.hpp"
#include "cli/not_empty.hpp"
#include "cli/rows.hpp"
#include "gym/chain/intent_store.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/rewards_distributor.hpp"
#include "gym/payouts/payout_tree.hpp"

namespace gym::app {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kPathLengthMax = 40;  // RewardsDistributor.PATH_LENGTH_MAX
/// gym-api and the chain learn at different moments that a payout root has become active.
constexpr std::chrono::seconds kRootPatience{60};
constexpr std::chrono::seconds kRootPoll{1};

struct ClaimOptions {
    KeyOptions keys;
    ApiOptions api;
    ChainOptions chain;
    std::string address;
};

/// A claim under the payout root of `epoch`.
struct Payable {
    std::uint64_t epoch = 0;
    Digest root;  ///< the chain's, once the proof was checked
    contracts::Claim claim;
};

Result<Payable> payable_of(const client::ClaimProof& proof,
                           const contracts::Deployment& contracts) {
    if (proof.distributor != contracts.distributor || proof.chain_id != contracts.chain_id)
        return fail(ErrorCode::kMismatch, "gym-api's proof is for the distributor " +
                                              proof.distributor.hex() + ", the deployment has " +
                                              contracts.distributor.hex());
    if (proof.proof.path.size() > kPathLengthMax)
        return fail(ErrorCode::kMalformed, "gym-api's proof is too long");
    return Payable{proof.proof.epoch, {}, {proof.earner, proof.proof.cumulative, proof.proof.path}};
}

Result<Payable> fetch_payable(const ClaimOptions& options, const contracts::Deployment& contracts,
                              const Address& earner) {
    const auto proof = options.api.client().claim_proof(earner);
    if (!proof.ok() && proof.error().code == ErrorCode::kNotFound)
        return fail(ErrorCode::kNotFound,
                    "nothing to claim for " + earner.hex() +
                        " yet: no payout root on chain pays it. `gym rewards show --address " +
                        earner.hex() + "` shows which credits are pending, posted or payable (" +
                        proof.error().message + ")");
    if (!proof.ok()) return proof.error();
    GYM_TRY(Payable payable, payable_of(*proof, contracts));
    if (payable.claim.earner != earner)
        return fail(ErrorCode::kMismatch, "gym-api sent a proof of another earner");
    return payable;
}

/// Checks as the contract will, before anything is signed. @errors kMismatch.
Status check_proof(const Payable& payable, const contracts::Deployment& contracts,
                   const contracts::RootSubmitted& active) {
    const payouts::PayoutDomain domain{contracts.chain_id, contracts.distributor, contracts.token};
    const contracts::Claim& claim = payable.claim;
    const auto found =
        payouts::fold_path(domain, {claim.earner, claim.cumulative}, claim.earner, claim.path);
    if (found.ok() && *found == payouts::PayoutNode{active.root, active.total_cumulative})
        return {};
    return fail(ErrorCode::kMismatch,
                "gym-api's proof does not lead to the chain's active payout root, of epoch " +
                    std::to_string(payable.epoch) +
                    ": nothing was sent. Check its epoch files with `gym rewards audit`, or name "
                    "another gym-api with --api or GYM_API");
}

/// Proofs under the chain's active root, which may change at any moment.
class ActiveProofs {
  public:
    ActiveProofs(const ClaimOptions& options, const ChainSender& sender, const Address& earner)
        : options_(options),
          sender_(sender),
          earner_(earner),
          until_(steady_clock::now() + kRootPatience) {}

    /// Waits until gym-api's proof is under that root. @errors kConflict: it took too long.
    Result<Payable> next() {
        while (true) {
            GYM_TRY(Payable payable, fetch_payable(options_, sender_.contracts, earner_));
            GYM_TRY(const contracts::RootSubmitted active, active_root());
            if (payable.epoch == active.epoch) {
                GYM_CHECK(check_proof(payable, sender_.contracts, active));
                payable.root = active.root;
                return payable;
            }
            if (steady_clock::now() > until_)
                return fail(ErrorCode::kConflict,
                            "gym-api's proof is under the payout root of epoch " +
                                std::to_string(payable.epoch) + ", the chain's is of epoch " +
                                std::to_string(active.epoch) +
                                ": nothing was sent, try again later");
            report_wait();
            std::this_thread::sleep_for(kRootPoll);
        }
    }

    /// Whether a claim that was refused was for a root that has been replaced since.
    Result<bool> is_replaced(const Payable& refused) {
        if (steady_clock::now() > until_) return false;
        // Nodes judge by the time of their next block, and answer by that of the last.
        std::this_thread::sleep_for(kRootPoll);
        GYM_TRY(const contracts::RootSubmitted active, active_root());
        if (active.epoch == refused.epoch) return false;
        report_wait();
        return true;
    }

  private:
    Result<contracts::RootSubmitted> active_root() {
        const contracts::RewardsDistributor distributor(sender_.contracts.distributor);
        return distributor.active_root(sender_.account->client());
    }
    void report_wait() {
        if (reported_) return;
        reported_ = true;
        print_notice("waiting", "a new payout root is becoming active");
    }

    const ClaimOptions& options_;
    const ChainSender& sender_;
    const Address earner_;
    const steady_clock::time_point until_;
    bool reported_ = false;
};

struct Paid {
    Amount before;  ///< what was claimed by then
    Amount amount;
    chain::Outcome outcome;  ///< unless the amount is zero
};

Result<Paid> pay(const ClaimOptions& options, const ChainSender& sender, const Address& earner) {
    const contracts::RewardsDistributor distributor(sender.contracts.distributor);
    ActiveProofs proofs(options, sender, earner);
    while (true) {
        GYM_TRY(const Payable payable, proofs.next());
        const contracts::Claim& claim = payable.claim;
        Paid out;
        GYM_TRY(out.before, distributor.claimed(sender.account->client(), earner));
        if (out.before >= claim.cumulative) return out;
        GYM_TRY(out.amount, claim.cumulative.minus(out.before));
        const auto outcome = sender.account->execute(
            distributor.claim(claim), "claim/" + earner.hex() + "/" + payable.root.hex() + "/" +
                                          claim.cumulative.to_string());
        if (outcome.ok()) {
            out.outcome = *outcome;
            return out;
        }
        if (outcome.error().code != ErrorCode::kConflict) return outcome.error();
        GYM_TRY(const bool again, proofs.is_replaced(payable));
        if (!again) return outcome.error();
    }
}

void print_nothing(const CliContext& context, const Address& earner, const Paid& paid) {
    if (context.json)
        context.print_json({{"earner", earner.hex()}, {"paid_wei", "0"}});
    else
        print_line("nothing to claim for {}: {} GYM were paid already", crypto::to_checksum(earner),
                   paid.before.to_tokens());
}

Status claim(const CliContext& context, const ClaimOptions& options) {
    GYM_TRY(const auto asked, address_option("--address", options.address));
    GYM_TRY(const ChainSender sender, open_sender(options.keys, options.chain, options.api));
    const Address earner = asked.value_or(sender.account->address());
    // An earner can have chosen another address to be paid.
    const contracts::RewardsDistributor distributor(sender.contracts.distributor);
    GYM_TRY(const Address chosen, distributor.recipient_of(sender.account->client(), earner));
    const Address recipient = chosen.is_zero() ? earner : chosen;
    GYM_TRY(const Paid paid, pay(options, sender, earner));
    if (paid.amount.is_zero()) {
        print_nothing(context, earner, paid);
        return {};
    }
    const auto& sent = paid.outcome.transaction_hash;
    const std::string hash = sent ? sent->hex() : std::string("-");
    if (context.json) {
        context.print_json({{"earner", earner.hex()},
                            {"recipient", recipient.hex()},
                            {"paid_wei", paid.amount.to_string()},
                            {"transaction", hash},
                            {"gas_used", paid.outcome.gas_used}});
        return {};
    }
    print_row("paid", "{} GYM to {}", paid.amount.to_tokens(), crypto::to_checksum(recipient));
    print_row("transaction", "{} (final)", hash);
    return {};
}

}  // namespace

void add_claim_command(CLI::App& rewards, CliContext& context) {
    auto options = std::make_shared<ClaimOptions>();
    CLI::App* command = rewards.add_subcommand("claim", "Claim payable rewards on chain");
    options->api.add_to(*command, false);
    options->keys.add_to(*command, true);
    command
        ->add_option("--address", options->address,
                     "Claim for this earner: it is paid, and the key's owner pays the gas")
        ->check(not_empty());
    options->chain.add_to(*command);
    command->callback([&context, options] { context.finish(claim(context, *options)); });
}

}  // namespace gym::app
