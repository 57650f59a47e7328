#include "gym/rewards/accounting.hpp"

namespace gym::rewards {

using ledger::AccountKey;
using ledger::AccountKind;

AccountKey available_account(const std::string& asset, const Address& owner) {
    return {owner.hex(), asset, AccountKind::kAvailable};
}
AccountKey escrow_account(const std::string& asset, const Digest& job_id) {
    return {"job:" + job_id.hex(), asset, AccountKind::kEscrow};
}
AccountKey earned_account(const std::string& asset, const Address& earner) {
    return {earner.hex(), asset, AccountKind::kEarned};
}
AccountKey payable_account(const std::string& asset, const Address& earner) {
    return {earner.hex(), asset, AccountKind::kPayable};
}
AccountKey withdrawing_account(const std::string& asset, const Address& owner) {
    return {owner.hex(), asset, AccountKind::kWithdrawing};
}
AccountKey chain_escrow_account(const std::string& asset) {
    return {"system", asset, AccountKind::kChainEscrow};
}
AccountKey chain_distributor_account(const std::string& asset) {
    return {"system", asset, AccountKind::kChainDistributor};
}

}  // namespace gym::rewards
