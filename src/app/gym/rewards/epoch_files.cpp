#include "rewards/epoch_files.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>

#include "gym/common/file.hpp"
#include "gym/contracts/rewards_distributor.hpp"

namespace gym::app {
namespace {

/// The tree behind a root on chain.
Result<rewards::PayoutTree> tree_behind(const EpochFileOptions& options,
                                        const contracts::RootSubmitted& root) {
    GYM_TRY(NamedFile file, fetch_epoch_file(options, root.epoch));
    GYM_TRY(rewards::PayoutTree tree,
            rewards::PayoutTree::build(file.content.domain, std::move(file.content.payouts)));
    if (tree.root() == root.root) return tree;
    return fail(ErrorCode::kMismatch, "the file of epoch " + std::to_string(root.epoch) +
                                          " gives the payout root " + tree.root().hex() +
                                          ", the chain has " + root.root.hex() +
                                          ": nothing can be proven about it");
}

Result<contracts::Claim> leaf_of(const rewards::PayoutTree& tree, const Address& earner) {
    contracts::Claim out;
    out.earner = earner;
    GYM_TRY(out.cumulative, tree.cumulative_of(earner));
    GYM_TRY(out.proof, tree.prove(earner));
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

Result<std::optional<FallenProof>> prove_fallen(const EpochFileOptions& options,
                                                const contracts::RootSubmitted& active,
                                                const contracts::RootSubmitted& pending) {
    GYM_TRY(const rewards::PayoutTree before, tree_behind(options, active));
    GYM_TRY(const rewards::PayoutTree after, tree_behind(options, pending));
    const auto fallen = rewards::most_fallen(before.payouts(), after.payouts());
    if (!fallen) return std::optional<FallenProof>();
    FallenProof out;
    GYM_TRY(out.active, leaf_of(before, fallen->earner));
    GYM_TRY(out.pending, leaf_of(after, fallen->earner));
    return std::optional(std::move(out));
}

}  // namespace gym::app
