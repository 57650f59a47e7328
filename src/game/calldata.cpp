#include "gym/game/calldata.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "abi_codec.hpp"

namespace gym::game {
namespace {

/// "pick(bytes32,(uint8,..),(uint64,..))".
template <class M>
std::string signature_text() {
    const M one{};
    const std::string arguments = abi::texts_of(abi::members(one));
    return std::string(name_of(Move(one))) + "(bytes32," + abi::Type<Cursor>::text() + "," +
           (abi::kOneStruct<M> ? "(" + arguments + ")" : arguments) + ")";
}

/// Of every move, in the order of Move.
const std::vector<chain::AbiSignature>& signatures() {
    static const auto all = []<std::size_t... I>(std::index_sequence<I...>) {
        std::vector<chain::AbiSignature> out;
        const auto add = [&](const std::string& text) {
            auto signature = chain::AbiSignature::parse(text);
            GYM_ASSERT(signature.ok(), "a signature made of types");
            out.push_back(std::move(signature).value());
        };
        (add(signature_text<std::variant_alternative_t<I, Move>>()), ...);
        return out;
    }
    (std::make_index_sequence<std::variant_size_v<Move>>());
    return all;
}

template <class M>
Result<Move> read_move(const chain::AbiValue::List& arguments) {
    M move;
    if constexpr (abi::kOneStruct<M>) {
        GYM_CHECK(abi::Type<M>::read(arguments.at(2), move));
    } else {
        GYM_CHECK(abi::read_all(arguments, 2, abi::members(move)));
    }
    return Move(std::move(move));
}

using Reader = Result<Move> (*)(const chain::AbiValue::List&);

Reader reader_of(std::size_t index) {
    static const auto all = []<std::size_t... I>(std::index_sequence<I...>) {
        return std::array<Reader, sizeof...(I)>{&read_move<std::variant_alternative_t<I, Move>>...};
    }
    (std::make_index_sequence<std::variant_size_v<Move>>());
    return all[index];
}

}  // namespace

Bytes encode_call(const SentMove& sent) {
    chain::AbiValue::List arguments{sent.game, abi::Type<Cursor>::value(sent.cursor)};
    std::visit(
        [&]<class M>(const M& move) {
            chain::AbiValue::List values = abi::values_of(abi::members(move));
            if constexpr (abi::kOneStruct<M>) values = {chain::AbiValue(std::move(values))};
            arguments.insert(arguments.end(), values.begin(), values.end());
        },
        sent.move);
    auto call = signatures()[sent.move.index()].encode_call(arguments);
    GYM_ASSERT(call.ok(), "a move has the types of its signature");
    return std::move(call).value();
}

namespace {

/// The signature that a call begins with, and its place in Move.
const chain::AbiSignature* find_signature(ByteView calldata, std::size_t& index) {
    for (index = 0; index < signatures().size(); ++index) {
        const auto selector = signatures()[index].selector();
        if (calldata.size() >= abi::kSelectorBytes &&
            std::equal(selector.begin(), selector.end(), calldata.begin()))
            return &signatures()[index];
    }
    return nullptr;
}

Error no_move() {
    return fail(ErrorCode::kNotFound, "the call is not a move of a dispute");
}

Result<SentMove> sent_move(std::size_t index, const chain::AbiValue::List& arguments) {
    SentMove sent;
    GYM_TRY(sent.game, arguments.at(0).digest());
    GYM_CHECK(abi::Type<Cursor>::read(arguments.at(1), sent.cursor));
    GYM_TRY(sent.move, reader_of(index)(arguments));
    return sent;
}

}  // namespace

Result<SentMove> read_call(ByteView calldata) {
    std::size_t index = 0;
    const chain::AbiSignature* signature = find_signature(calldata, index);
    if (signature == nullptr) return no_move();
    GYM_TRY(const auto arguments, chain::abi_read_calldata(signature->inputs, calldata));
    return sent_move(index, arguments);
}

}  // namespace gym::game
