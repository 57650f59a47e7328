#include "gym/contracts/admin_timelock.hpp"

#include <algorithm>

#include "bindings.hpp"
#include "gym/crypto/keccak.hpp"

namespace gym::contracts {
namespace {

/// Announcements that are read at most, from the newest back: those before have lapsed.
constexpr std::uint64_t kAnnouncementsMax = 1'024;
/// TimelockController's OperationState.
constexpr std::uint64_t kWaiting = 1;
constexpr std::uint64_t kReady = 2;

const Declaration& scheduled_event() {
    static const Declaration event = Declaration::of(
        "CallScheduled(bytes32 indexed id, uint256 indexed index, address target, uint256 value, "
        "bytes data, bytes32 predecessor, uint256 delay)");
    return event;
}

const Declaration& salt_event() {
    static const Declaration event = Declaration::of("CallSalt(bytes32 indexed id, bytes32 salt)");
    return event;
}

/// (targets, values, payloads, predecessor, salt), or those of one call.
std::vector<chain::AbiValue> arguments_of(const AdminChange& change) {
    if (change.single) {
        const AdminCall& call = change.calls.front();
        return {call.target, call.value_wei, call.data, change.predecessor, change.salt};
    }
    chain::AbiValue::List targets;
    chain::AbiValue::List values;
    chain::AbiValue::List payloads;
    for (const AdminCall& call : change.calls) {
        targets.emplace_back(call.target);
        values.emplace_back(call.value_wei);
        payloads.emplace_back(call.data);
    }
    return {std::move(targets), std::move(values), std::move(payloads), change.predecessor,
            change.salt};
}

std::string short_label(const AdminChange& change) {
    return "change " + change.id().hex();
}

Status read_call(const chain::Log& log, AdminChange& out) {
    GYM_TRY(const auto values, decode_event(scheduled_event(), log));
    Digest id;
    std::uint64_t index = 0;
    AdminCall call;
    Amount delay;
    GYM_CHECK(read_all(values, id, index, call.target, call.value_wei, call.data, out.predecessor,
                       delay));
    // An announcement that was cancelled and made again within one block has its events twice.
    if (index == out.calls.size()) out.calls.push_back(std::move(call));
    return {};
}

}  // namespace

Digest AdminChange::id() const {
    static const auto batch =
        chain::AbiSignature::parse("_(address[],uint256[],bytes[],bytes32,bytes32)").value();
    static const auto one =
        chain::AbiSignature::parse("_(address,uint256,bytes,bytes32,bytes32)").value();
    const auto& types = single ? one.inputs : batch.inputs;
    return crypto::keccak256(chain::abi_encode(types, arguments_of(*this)).value());
}

Result<AdminTimelock> AdminTimelock::of(chain::ChainClient& client, const Deployment& contracts) {
    GYM_TRY(const Address out, view_address(client, contracts.escrow, "timelock()"));
    for (const Address& contract : {contracts.distributor, contracts.commitment_log}) {
        GYM_TRY(const Address other, view_address(client, contract, "timelock()"));
        if (other != out)
            return fail(ErrorCode::kMismatch, "the contracts have several admins: " + out.hex() +
                                                  " of " + contracts.escrow.hex() + ", " +
                                                  other.hex() + " of " + contract.hex());
    }
    return AdminTimelock(out);
}

ContractCall AdminTimelock::announce(const AdminChange& change, std::uint64_t delay_s) const {
    std::vector<chain::AbiValue> arguments = arguments_of(change);
    arguments.emplace_back(delay_s);
    return make_call(address_,
                     change.single
                         ? "schedule(address,uint256,bytes,bytes32,bytes32,uint256)"
                         : "scheduleBatch(address[],uint256[],bytes[],bytes32,bytes32,uint256)",
                     arguments, "announce " + short_label(change));
}

ContractCall AdminTimelock::execute(const AdminChange& change) const {
    return make_call(address_,
                     change.single ? "execute(address,uint256,bytes,bytes32,bytes32)"
                                   : "executeBatch(address[],uint256[],bytes[],bytes32,bytes32)",
                     arguments_of(change), "execute " + short_label(change));
}

ContractCall AdminTimelock::cancel(const Digest& id) const {
    return make_call(address_, "cancel(bytes32)", {id}, "cancel change " + id.hex());
}

Result<std::uint64_t> AdminTimelock::delay_s(chain::ChainClient& client) const {
    GYM_TRY(const Amount delay,
            view_amount(client, address_, chain::BlockTag::kLatest, "getMinDelay()", {}));
    return chain::AbiValue(delay).u64();
}

Result<std::uint64_t> AdminTimelock::announcements(chain::ChainClient& client) const {
    GYM_TRY(const Amount count,
            view_amount(client, address_, chain::BlockTag::kLatest, "announcementCount()", {}));
    return chain::AbiValue(count).u64();
}

Result<AdminChange> AdminTimelock::read_change(chain::ChainClient& client, const Digest& id,
                                               std::uint64_t block) const {
    GYM_TRY(const auto logs, client.find_logs({address_, {std::nullopt, id}, block, block}));
    AdminChange out;
    for (const chain::Log& log : logs) {
        if (is_event(scheduled_event(), address_, log)) GYM_CHECK(read_call(log, out));
        if (!is_event(salt_event(), address_, log)) continue;
        GYM_TRY(const auto values, decode_event(salt_event(), log));
        Digest same;
        GYM_CHECK(read_all(values, same, out.salt));
    }
    if (out.id() == id) return out;
    out.single = out.calls.size() == 1;
    if (out.single && out.id() == id) return out;
    return fail(ErrorCode::kMalformed, "the events of block " + std::to_string(block) +
                                           " do not tell what change " + id.hex() + " does");
}

Result<std::vector<PendingChange>> AdminTimelock::pending(chain::ChainClient& client) const {
    GYM_TRY(const std::uint64_t count, announcements(client));
    std::vector<std::vector<chain::AbiValue>> indices;
    for (std::uint64_t i = count - std::min(count, kAnnouncementsMax); i < count; ++i)
        indices.push_back({i});
    const chain::BlockId at = chain::BlockTag::kLatest;
    GYM_TRY(const auto made, call_views(client, address_, at, "announcement(uint256)", indices,
                                        "_(bytes32,uint64)"));
    std::vector<std::vector<chain::AbiValue>> ids;
    for (const auto& one : made)
        ids.push_back({one[0]});
    GYM_TRY(const auto states,
            call_views(client, address_, at, "getOperationState(bytes32)", ids, "_(uint8)"));
    std::vector<PendingChange> out;
    // From the newest: of several announcements of one change the last counts.
    for (std::size_t i = made.size(); i > 0; --i) {
        PendingChange change;
        std::uint64_t block = 0;
        std::uint64_t state = 0;
        GYM_CHECK(read_all(made[i - 1], change.id, block));
        GYM_CHECK(read_all(states[i - 1], state));
        const auto same = [&](const PendingChange& other) { return other.id == change.id; };
        if ((state != kWaiting && state != kReady) || std::any_of(out.begin(), out.end(), same))
            continue;
        change.ready = state == kReady;
        GYM_TRY(const Amount time,
                view_amount(client, address_, at, "getTimestamp(bytes32)", {change.id}));
        GYM_TRY(change.ready_at_s, chain::AbiValue(time).u64());
        GYM_TRY(change.change, read_change(client, change.id, block));
        out.push_back(std::move(change));
    }
    std::reverse(out.begin(), out.end());
    return out;
}

}  // namespace gym::contracts
