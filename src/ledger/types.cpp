#include "gym/ledger/types.hpp"

#include <algorithm>
#include <array>

#include "gym/commit/sha256.hpp"

namespace gym::ledger {
namespace {

constexpr std::array<std::string_view, 8> kAccountKinds = {
    "available",         "escrow", "earned", "payable", "withdrawing", "chain_escrow",
    "chain_distributor", "dust"};
constexpr std::array<std::string_view, 5> kTransferKinds = {"transfer", "pending", "post", "void",
                                                            "expire"};
constexpr std::array<std::string_view, 8> kStatuses = {
    "created", "exists",  "exists_different", "insufficient",
    "closed",  "unknown", "invalid",          "group_failed"};

}  // namespace

TransferId transfer_id(std::string_view purpose) {
    const Digest digest = commit::sha256(as_bytes(purpose));
    TransferId id;
    std::copy_n(digest.data.begin(), TransferId::kSize, id.data.begin());
    id.data[6] =
        static_cast<std::uint8_t>((id.data[6] & 0x0f) | 0x80);  // version 8: vendor-specific
    id.data[8] = static_cast<std::uint8_t>((id.data[8] & 0x3f) | 0x80);  // variant of RFC 9562
    return id;
}

std::string to_uuid(const TransferId& id) {
    std::string text = to_hex(id.view());
    for (const std::size_t dash : {20u, 16u, 12u, 8u})
        text.insert(dash, 1, '-');
    return text;
}

Result<TransferId> parse_uuid(std::string_view text) {
    constexpr std::array<std::size_t, 4> kDashes = {8, 13, 18, 23};
    if (text.size() != 36 || !std::all_of(kDashes.begin(), kDashes.end(),
                                          [&](std::size_t at) { return text[at] == '-'; }))
        return fail(ErrorCode::kMalformed, "not a UUID: " + std::string(text.substr(0, 64)));
    std::string hex(text);
    std::erase(hex, '-');
    return TransferId::parse(hex);
}

std::string_view to_string(AccountKind kind) noexcept {
    return kAccountKinds[static_cast<std::size_t>(kind)];
}

Result<AccountKind> parse_account_kind(std::string_view text) {
    const auto found = std::find(kAccountKinds.begin(), kAccountKinds.end(), text);
    if (found == kAccountKinds.end())
        return fail(ErrorCode::kInvalidArgument,
                    "no account kind " + std::string(text.substr(0, 64)));
    return static_cast<AccountKind>(found - kAccountKinds.begin());
}

std::string_view to_string(TransferKind kind) noexcept {
    return kTransferKinds[static_cast<std::size_t>(kind)];
}

Result<TransferKind> parse_transfer_kind(std::string_view text) {
    const auto found = std::find(kTransferKinds.begin(), kTransferKinds.end(), text);
    if (found == kTransferKinds.end())
        return fail(ErrorCode::kInvalidArgument,
                    "no transfer kind " + std::string(text.substr(0, 64)));
    return static_cast<TransferKind>(found - kTransferKinds.begin());
}

std::string_view to_string(TransferStatus status) noexcept {
    return kStatuses[static_cast<std::size_t>(status)];
}

Result<TransferStatus> parse_transfer_status(std::string_view text) {
    const auto found = std::find(kStatuses.begin(), kStatuses.end(), text);
    if (found == kStatuses.end())
        return fail(ErrorCode::kInvalidArgument,
                    "no transfer status " + std::string(text.substr(0, 64)));
    return static_cast<TransferStatus>(found - kStatuses.begin());
}

std::string erc20_asset(std::uint64_t chain_id, const Address& token) {
    return "erc20:" + std::to_string(chain_id) + ":" + token.hex();
}

Amount Balance::spendable() const {
    const auto committed = debits.plus(debits_pending);
    if (!committed.ok()) return Amount();
    return credits.minus(*committed).value_or(Amount());
}

}  // namespace gym::ledger
