#include "service.hpp"

#include "gym/blob/directory_store.hpp"
#include "gym/common/file.hpp"
#include "gym/contracts/call.hpp"

namespace gym::app {
namespace {

constexpr const char* kRole = "gym_rewards";
constexpr const char* kFollower = "rewards";
constexpr std::int64_t kSealIntervalMs = 1'000;
constexpr std::size_t kSealsOfATickMax = 16;

RewardsServiceOptions completed(RewardsServiceOptions options) {
    options.rewards.domain = {options.deployment.chain_id, options.deployment.distributor,
                              options.deployment.token};
    options.rewards.escrow = options.deployment.escrow;
    options.policy.chain_id = options.deployment.chain_id;
    return options;
}

}  // namespace

rewards::PublishFile publish_to(std::filesystem::path folder, std::filesystem::path blob_folder) {
    return [folder = std::move(folder), blob_folder = std::move(blob_folder)](
               std::uint64_t epoch, const Digest& root, std::string_view json) -> Status {
        std::error_code error;
        std::filesystem::create_directories(folder, error);
        GYM_CHECK(write_file_atomic(folder / ("epoch-" + std::to_string(epoch) + ".json"),
                                    as_bytes(json)));
        if (blob_folder.empty()) return {};
        GYM_TRY(auto store, blob::DirectoryStore::open(blob_folder));
        GYM_TRY(const auto file, blob::VerifiedBlob::check(root, Bytes(json.begin(), json.end())));
        return store.put(file);
    };
}

Result<std::unique_ptr<RewardsService>> RewardsService::create(db::Database& database,
                                                               chain::ChainClient& client,
                                                               const crypto::PrivateKey& settler,
                                                               const Clock& clock,
                                                               RewardsServiceOptions options) {
    const RewardsServiceOptions ready = completed(std::move(options));
    GYM_TRY(auto follower, chain_store::postgres_follower(database, {kRole}, kFollower,
                                                          ready.deployment.chain_id));
    return std::unique_ptr<RewardsService>(
        new RewardsService(database, client, settler, clock, ready, std::move(follower)));
}

RewardsService::RewardsService(db::Database& database, chain::ChainClient& client,
                               const crypto::PrivateKey& settler, const Clock& clock,
                               const RewardsServiceOptions& options,
                               std::unique_ptr<chain::FollowerStore> follower)
    : clock_(clock),
      key_(settler.clone()),
      sealer_(database, clock, key_),
      intents_(chain_store::postgres_intents(database, {kRole}, options.deployment.chain_id,
                                             settler.address())),
      follower_(std::move(follower)),
      manager_(client, *intents_, settler.clone(), clock, options.policy,
               contracts::describe_revert),
      contracts_(client, manager_, options.deployment),
      feed_(client, *follower_, options.deployment),
      accounting_(database, clock, options.rewards),
      settlement_(database, clock, options.rewards, contracts_,
                  publish_to(options.publish_folder, options.blob_folder)),
      daemon_(accounting_, settlement_,
              [this](const auto& handler) { return feed_.follow(handler); }) {}

Result<std::size_t> RewardsService::seal() {
    const UnixMs now = clock_.now_ms();
    if (sealed_at_ != 0 && now < sealed_at_ + kSealIntervalMs && now >= sealed_at_)
        return std::size_t{0};
    std::size_t count = 0;
    while (count < kSealsOfATickMax) {
        const auto sealed = sealer_.tick();
        if (!sealed.ok() && sealed.error().code == ErrorCode::kConflict)
            break;  // another was faster
        if (!sealed.ok()) return sealed.error().in("sealing the ledger");
        if (!*sealed) break;
        ++count;
        if ((*sealed)->record.transfers < ledger::kSealTransfersMax) break;  // not a backlog
    }
    sealed_at_ = now;
    return count;
}

Result<RewardsService::Tick> RewardsService::tick() {
    Tick out;
    if (!fee_published_) GYM_CHECK(accounting_.publish_fee());
    fee_published_ = true;
    GYM_TRY(out.seals, seal());
    GYM_TRY(out.rewards, daemon_.tick());
    GYM_TRY(out.chain, manager_.tick());
    return out;
}

}  // namespace gym::app
