#include "rewards/epoch_files.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>

#include "gym/common/file.hpp"
#include "gym/contracts/rewards_distributor.hpp"

namespace gym::app {
namespace {

/// The tree behind a root on chain.
Result<payouts::PayoutTree> tree_behind(const EpochFileOptions& options,
                                        const contracts::RootSubmitted& root) {
    GYM_TRY(NamedFile file, fetch_epoch_file(options, root.epoch));
    GYM_TRY(payouts::PayoutTree tree,
            payouts::PayoutTree::build(file.content.domain, std::move(file.content.payouts)));
    if (tree.root() == root.root) return tree;
    return fail(ErrorCode::kMismatch, "the file of epoch " + std::to_string(root.epoch) +
                                          " gives the payout root " + tree.root().hex() +
                                          ", the chain has " + root.root.hex() +
                                          ": nothing can be proven about it");
}

/// The leaf at which the path of `key` ends.
Result<contracts::Claim> leaf_of(const payouts::PayoutTree& tree, const Address& key) {
    const payouts::Payout& payout = tree.end_of_path(key);
    contracts::Claim out{payout.earner, payout.cumulative, {}};
    GYM_TRY(out.path, tree.prove(payout.earner));
    return out;
}

}  // namespace

void EpochFileOptions::add_to(CLI::App& command) {
    command.add_option("--files", folder,
                       "Read epoch-N.json files from this folder instead of gym-api");
    api.add_to(command, false);
}

Result<NamedFile> fetch_epoch_file(const EpochFileOptions& options, std::uint64_t epoch) {
    const std::string name = "epoch-" + std::to_string(epoch) + ".json";
    std::string text;
    if (options.folder.empty()) {
        GYM_TRY(text, options.api.client().epoch_file(epoch));
    } else {
        GYM_TRY(const Bytes bytes, read_file(std::filesystem::path(options.folder) / name));
        text.assign(bytes.begin(), bytes.end());
    }
    auto content = rewards::parse_epoch_file(text);
    if (!content.ok()) return content.error().in(name);
    if (content->epoch != epoch)
        return fail(ErrorCode::kMismatch, name + " is of epoch " + std::to_string(content->epoch));
    return NamedFile{std::move(*content), rewards::epoch_file_root(text)};
}

Result<PayoutRoots> payout_roots(chain::ChainClient& client,
                                 const contracts::RewardsDistributor& distributor) {
    PayoutRoots out;
    // In this order: a root that becomes active in between is found once at least.
    GYM_TRY(out.pending, distributor.pending_root(client));
    GYM_TRY(out.active, distributor.active_root(client));
    return out;
}

Status check_pending(const PayoutRoots& roots, std::uint64_t epoch) {
    const std::string number = std::to_string(epoch);
    if (roots.pending.epoch != epoch)
        return fail(ErrorCode::kConflict,
                    "the payout root of epoch " + number +
                        " is not pending, and only a pending one can be stopped: " +
                        (roots.pending.epoch == 0
                             ? std::string("none is pending")
                             : "pending is epoch " + std::to_string(roots.pending.epoch)));
    if (roots.active.epoch == 0)
        return fail(
            ErrorCode::kConflict,
            "no payout root is active yet, so nobody can have less under the one of epoch " +
                number + ": nothing is sent");
    return {};
}

Result<std::optional<FallenProof>> prove_fallen(const EpochFileOptions& options,
                                                const contracts::RootSubmitted& active,
                                                const contracts::RootSubmitted& pending) {
    GYM_TRY(const payouts::PayoutTree before, tree_behind(options, active));
    GYM_TRY(const payouts::PayoutTree after, tree_behind(options, pending));
    const auto fallen = payouts::most_fallen(before.payouts(), after.payouts());
    if (!fallen) return std::optional<FallenProof>();
    FallenProof out;
    out.fallen = *fallen;
    GYM_TRY(out.active, leaf_of(before, fallen->earner));
    GYM_TRY(out.pending, leaf_of(after, fallen->earner));
    return std::optional(std::move(out));
}

Result<contracts::Claim> leaf_under(const EpochFileOptions& options,
                                    const contracts::RootSubmitted& root, const Address& earner) {
    GYM_TRY(const payouts::PayoutTree tree, tree_behind(options, root));
    GYM_CHECK(tree.cumulative_of(earner));
    return leaf_of(tree, earner);
}

}  // namespace gym::app
