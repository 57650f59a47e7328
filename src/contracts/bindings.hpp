#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gym/chain/abi.hpp"
#include "gym/chain/client.hpp"
#include "gym/contracts/call.hpp"
#include "gym/crypto/key.hpp"
#include "gym/game/state.hpp"

// Parts of all contract bindings. The signatures come from the bindings' own sources, so
// one that does not parse, or arguments that do not fit, are broken invariants and not errors.

namespace gym::contracts {

/// An event or error as Solidity writes it: "Released(uint64 indexed epoch, address indexed owner,
/// uint256 amount)". A tuple is written with parentheses and without spaces: "(uint8,bytes32) a".
struct Declaration {
    chain::AbiSignature signature;
    std::vector<std::string> names;
    std::vector<bool> indexed;

    static Declaration of(std::string_view text);
};

[[nodiscard]] Bytes call_data(std::string_view function,
                              const std::vector<chain::AbiValue>& arguments);
[[nodiscard]] ContractCall make_call(const Address& to, std::string_view function,
                                     const std::vector<chain::AbiValue>& arguments,
                                     std::string label);
/// (owner, amount, deadline, v, r, s): the arguments of every "...WithPermit" function.
[[nodiscard]] std::vector<chain::AbiValue> permit_arguments(const Address& owner,
                                                            const Amount& amount,
                                                            std::uint64_t deadline_s,
                                                            const crypto::Signature& permit);

/// Calls a view and decodes its `outputs` ("_(uint64,bytes32)"). @errors as stated in call.hpp.
[[nodiscard]] Result<std::vector<chain::AbiValue>> call_view(
    chain::ChainClient& client, const Address& contract, const chain::BlockId& at,
    std::string_view function, const std::vector<chain::AbiValue>& arguments,
    std::string_view outputs);
/// The same view for many arguments, in few round trips: the outputs of each, in order.
[[nodiscard]] Result<std::vector<std::vector<chain::AbiValue>>> call_views(
    chain::ChainClient& client, const Address& contract, const chain::BlockId& at,
    std::string_view function, const std::vector<std::vector<chain::AbiValue>>& arguments,
    std::string_view outputs);
/// A view with one uint256 or narrower output.
[[nodiscard]] Result<Amount> view_amount(chain::ChainClient& client, const Address& contract,
                                         const chain::BlockId& at, std::string_view function,
                                         const std::vector<chain::AbiValue>& arguments);
/// A view without arguments that returns an address, as the chain is now.
[[nodiscard]] Result<Address> view_address(chain::ChainClient& client, const Address& contract,
                                           std::string_view function);

// Reads one value. @errors kMalformed. Numbers that the contract keeps as narrow as `out` is were
// held to their type by the codec.
Status read(const chain::AbiValue& value, Digest& out);
Status read(const chain::AbiValue& value, Address& out);
Status read(const chain::AbiValue& value, Amount& out);
Status read(const chain::AbiValue& value, Bytes& out);
Status read(const chain::AbiValue& value, bool& out);
Status read(const chain::AbiValue& value, std::uint8_t& out);
Status read(const chain::AbiValue& value, std::uint32_t& out);
Status read(const chain::AbiValue& value, std::uint64_t& out);
/// Any number that the contract has; one that this version does not know is kept.
Status read(const chain::AbiValue& value, game::Stage& out);
Status read(const chain::AbiValue& value, game::GameStatus& out);
Status read(const chain::AbiValue& value, game::Cursor& out);

/// Reads `values` in order into as many fields. @errors kMalformed.
template <class... Fields>
Status read_all(const std::vector<chain::AbiValue>& values, Fields&... fields) {
    GYM_ASSERT(values.size() == sizeof...(fields), "the declaration has as many values as fields");
    Status status;
    std::size_t at = 0;
    (void)((status = read(values[at++], fields), status.ok()) && ...);
    return status;
}

/// The event's values in the order of its declaration. @errors kMalformed. The log's topic 0 fits
/// already.
[[nodiscard]] Result<std::vector<chain::AbiValue>> decode_event(const Declaration& event,
                                                                const chain::Log& log);
/// True if `log` is this event of `contract`.
[[nodiscard]] bool is_event(const Declaration& event, const Address& contract,
                            const chain::Log& log);

/// One event of a contract, as an alternative of the variant of all its events.
template <class Variant>
struct EventBinding {
    Declaration declaration;
    std::function<Result<Variant>(const std::vector<chain::AbiValue>& values)> read;
};

/// @param fields of the event's struct, in the order of its declaration.
template <class Variant, class Event, class... Fields>
EventBinding<Variant> event_of(std::string_view declaration, Fields Event::*... fields) {
    return {Declaration::of(declaration),
            [=](const std::vector<chain::AbiValue>& values) -> Result<Variant> {
                Event event;
                GYM_CHECK(read_all(values, event.*fields...));
                return Variant(std::move(event));
            }};
}

template <class Variant>
std::vector<Digest> topics_of(const std::vector<EventBinding<Variant>>& events) {
    std::vector<Digest> out;
    out.reserve(events.size());
    for (const auto& event : events)
        out.push_back(event.declaration.signature.hash());
    return out;
}

/// Decodes `log`; absent if it is not an event of `contract`. @errors kMalformed.
template <class Variant>
Result<std::optional<Variant>> find_event(const std::vector<EventBinding<Variant>>& events,
                                          const Address& contract, const chain::Log& log) {
    for (const auto& event : events) {
        if (!is_event(event.declaration, contract, log)) continue;
        GYM_TRY(const auto values, decode_event(event.declaration, log));
        GYM_TRY(Variant found, event.read(values));
        return std::optional<Variant>(std::move(found));
    }
    return std::optional<Variant>();
}

}  // namespace gym::contracts
