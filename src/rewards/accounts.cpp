#include "gym/rewards/accounts.hpp"

#include "gym/common/ppm.hpp"

namespace gym::rewards {

using ledger::AccountKey;
using ledger::AccountKind;

AccountKey available_account(const std::string& asset, const Address& owner) {
    return {owner.hex(), asset, AccountKind::kAvailable};
}
AccountKey escrow_account(const std::string& asset, const Digest& job_id) {
    return {"job:" + job_id.hex(), asset, AccountKind::kEscrow};
}
AccountKey own_escrow_account(const std::string& asset, const Address& owner) {
    return {"own:" + owner.hex(), asset, AccountKind::kEscrow};
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

Status FeeTerms::check() const {
    const auto refuse = [](const char* why) { return fail(ErrorCode::kInvalidArgument, why); };
    if (fee_ppm > kPpm || burned_ppm > kPpm)
        return refuse("a fee and its burned part are at most 1000000 ppm each");
    if (fee_ppm != 0 && (account.is_zero() || account == kBurnAddress))
        return refuse("a fee needs an account that receives the part that is not burned");
    if (emission_ppm > kPpm)
        return refuse(
            "emission is at most the burned amount (1000000 ppm): above it, buying from oneself "
            "would pay");
    if (emission_ppm == 0) return {};
    if (fee_ppm == 0 || burned_ppm == 0)
        return refuse("emission returns burned amounts: it needs a fee and burned_ppm above 0");
    if (emission_account.is_zero() || emission_account == account)
        return refuse("emission needs an account of its own to pay it");
    return {};
}

}  // namespace gym::rewards
