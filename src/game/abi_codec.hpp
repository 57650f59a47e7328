#pragma once

#include <concepts>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "gym/chain/abi.hpp"
#include "gym/game/moves.hpp"

/// The members of the structs of contracts/src/dispute/DisputeTypes.sol in their order, and of the
/// moves in the order of IDisputeMoves.sol. Their ABI types, encoding and decoding follow from it.
namespace gym::game::abi {

inline constexpr std::size_t kSelectorBytes = 4;

/// Of a text that is a signature.
chain::AbiSignature parsed_signature(const char* text);
/// @errors kNotFound: the call is another function's.
Status check_selector(const chain::AbiSignature& signature, ByteView calldata);

template <class C, class T>
concept Is = std::same_as<std::remove_const_t<C>, T>;

auto members(Is<Cursor> auto& c) {
    return std::tie(c.stage, c.answered, c.height, c.index, c.leaves, c.node, c.twin, c.frame);
}
auto members(Is<Facts> auto& f) {
    return std::tie(f.records_root, f.final_state_root, f.delta_root, f.job_seed, f.trace_root,
                    f.initial_state_root, f.dataset_root, f.round, f.slot, f.steps,
                    f.checkpoint_every);
}
auto members(Is<StepFrame> auto& f) {
    return std::tie(f.facts, f.program, f.step, f.hash_before, f.hash_after, f.state_before,
                    f.state_after, f.trace);
}
auto members(Is<OpFrame> auto& f) {
    return std::tie(f.step, f.program, f.leaf, f.first, f.count, f.writer, f.macro_root,
                    f.primitive, f.record, f.shape);
}
auto members(Is<OuterFacts> auto& f) {
    return std::tie(f.records_root, f.final_state_root, f.momentum_after, f.round_record,
                    f.trace_root, f.base_root, f.momentum_root, f.epoch_root, f.epoch_leaves,
                    f.previous_record, f.previous_epoch_root, f.previous_epoch_leaves);
}
auto members(Is<OuterFrame> auto& f) {
    return std::tie(f.facts, f.program, f.deltas_root, f.deltas, f.held, f.slots, f.state_root,
                    f.tree);
}
auto members(Is<DataRequest> auto& r) {
    return std::tie(r.what, r.root, r.tensor, r.chunk, r.leaves, r.next_root, r.next_leaves, r.leaf,
                    r.round_record, r.slot, r.worker);
}
auto members(Is<Pick> auto& p) {
    return std::tie(p.index, p.node, p.path, p.twin, p.twin_path);
}
auto members(Is<StepPick> auto& p) {
    return std::tie(p.states_root, p.after, p.before);
}
auto members(Is<dispute::RecordProof> auto& p) {
    return std::tie(p.index, p.record, p.path);
}
auto members(Is<dispute::ChunksOpening::Chunk> auto& c) {
    return std::tie(c.content, c.path);
}
auto members(Is<dispute::ChunksOpening> auto& o) {
    return std::tie(o.chunks, o.tree_root, o.path);
}

auto members(Is<protocol::SlotProof> auto& p) {
    return std::tie(p.terms, p.path);
}

auto members(Is<move::DeclareStates> auto& m) {
    return std::tie(m.facts, m.states_root, m.records, m.states);
}
auto members(Is<move::AnswerSteps> auto& m) {
    return std::tie(m.facts, m.states_root, m.records, m.states);
}
auto members(Is<move::OpenStep> auto& m) {
    return std::tie(m.frame, m.facts, m.header, m.record, m.trace, m.children);
}
auto members(Is<move::Answer> auto& m) {
    return std::tie(m.children);
}
auto members(Is<move::OpenMacro> auto& m) {
    return std::tie(m.frame, m.root, m.writer_path, m.children);
}
auto members(Is<move::OpenTensor> auto& m) {
    return std::tie(m.frame, m.tree_root, m.children);
}
auto members(Is<move::PostChunk> auto& m) {
    return std::tie(m.frame, m.content);
}
auto members(Is<move::PickNode> auto& m) {
    return std::tie(m.to);
}
auto members(Is<move::PickStep> auto& m) {
    return std::tie(m.facts, m.to);
}
auto members(Is<move::PickDelta> auto& m) {
    return std::tie(m.facts, m.states_root, m.header);
}
auto members(Is<move::PickTree> auto& m) {
    return std::tie(m.frame, m.header, m.record);
}
auto members(Is<move::PickLeaf> auto& m) {
    return std::tie(m.frame, m.header, m.to, m.leaf_record);
}
auto members(Is<move::PickPrimitive> auto& m) {
    return std::tie(m.frame, m.header, m.to, m.primitive);
}
auto members(Is<move::ProveElement> auto& m) {
    return std::tie(m.op, m.step, m.header, m.primitive, m.element, m.chunk, m.operands);
}
auto members(Is<move::ProveToken> auto& m) {
    return std::tie(m.op, m.step, m.facts, m.header, m.element, m.chunk, m.tokens, m.dataset);
}
auto members(Is<move::ProveRecord> auto& m) {
    return std::tie(m.frame, m.header, m.record, m.field, m.leaf, m.leaf_record);
}
auto members(Is<move::ProveInput> auto& m) {
    return std::tie(m.frame, m.facts, m.header, m.leaf, m.leaf_record);
}
auto members(Is<move::ProveSlot> auto& m) {
    return std::tie(m.frame, m.header, m.slot, m.slot_record, m.source);
}
auto members(Is<move::ProveDelta> auto& m) {
    return std::tie(m.op, m.facts, m.header, m.word, m.chunk, m.slot_record, m.final, m.base);
}
auto members(Is<move::ProveGradient> auto& m) {
    return std::tie(m.frame, m.header, m.gradient, m.gradient_record, m.source);
}

auto members(Is<move::DeclareOuter> auto& m) {
    return std::tie(m.facts, m.record, m.root, m.children, m.slots, m.held);
}
auto members(Is<move::ShowIncluded> auto& m) {
    return std::tie(m.facts, m.index, m.commitment, m.path, m.included, m.late);
}
auto members(Is<move::PostColumn> auto& m) {
    return std::tie(m.values);
}
auto members(Is<move::PickOuter> auto& m) {
    return std::tie(m.frame, m.facts, m.header, m.tree);
}
auto members(Is<move::PickIncluded> auto& m) {
    return std::tie(m.frame, m.slots, m.position);
}
auto members(Is<move::PickOuterTensor> auto& m) {
    return std::tie(m.frame, m.header, m.to, m.slot);
}
auto members(Is<move::PickElement> auto& m) {
    return std::tie(m.op, m.outer, m.element, m.chunk);
}
auto members(Is<move::ProveColumn> auto& m) {
    return std::tie(m.op, m.outer, m.header, m.values, m.position, m.slot, m.delta);
}
auto members(Is<move::ProveOuter> auto& m) {
    return std::tie(m.op, m.outer, m.facts, m.header, m.values, m.base, m.momentum);
}
auto members(Is<move::ProveOuterSlot> auto& m) {
    return std::tie(m.frame, m.facts, m.header, m.leaf, m.source);
}
auto members(Is<move::ProveSigner> auto& m) {
    return std::tie(m.facts, m.record, m.slot, m.commitment);
}
auto members(Is<move::PickRow> auto& m) {
    return std::tie(m.op, m.outer, m.facts, m.header, m.row, m.slot);
}
auto members(Is<move::PostRow> auto& m) {
    return std::tie(m.op, m.residual);
}
auto members(Is<move::ProveRow> auto& m) {
    return std::tie(m.place, m.chunk, m.residuals);
}
auto members(Is<move::PickPart> auto& m) {
    return std::tie(m.added, m.part);
}
auto members(Is<move::ProvePart> auto& m) {
    return std::tie(m.op, m.outer, m.values);
}
auto members(Is<move::ProveUpdate> auto& m) {
    return std::tie(m.op, m.outer, m.facts, m.header, m.record, m.element, m.posted, m.operands);
}
auto members(Is<move::ShowWithheld> auto& m) {
    return std::tie(m.request, m.head, m.content, m.path, m.above);
}

/// Moves whose one argument beside game and cursor is a struct.
template <class M>
inline constexpr bool kOneStruct =
    Is<M, move::ProveElement> || Is<M, move::ProveToken> || Is<M, move::ProveDelta> ||
    Is<M, move::ProveColumn> || Is<M, move::ProveOuter> || Is<M, move::ProveUpdate>;

template <class T>
concept Struct = requires(T& t) {
    members(t);
};

template <class T>
struct Type;

template <std::unsigned_integral T>
struct Type<T> {
    static std::string text() { return "uint" + std::to_string(8 * sizeof(T)); }
    static chain::AbiValue value(T number) { return std::uint64_t{number}; }
    static Status read(const chain::AbiValue& from, T& to) {
        GYM_TRY(const std::uint64_t number, from.u64());
        to = static_cast<T>(number);  // the codec holds it to the type's bits
        return {};
    }
};
template <>
struct Type<bool> {
    static std::string text() { return "bool"; }
    static chain::AbiValue value(bool flag) { return flag; }
    static Status read(const chain::AbiValue& from, bool& to) {
        GYM_TRY(to, from.boolean());
        return {};
    }
};
template <>
struct Type<Stage> {
    static std::string text() { return "uint8"; }
    static chain::AbiValue value(Stage stage) { return static_cast<std::uint64_t>(stage); }
    static Status read(const chain::AbiValue& from, Stage& to);
};
/// Any number: openings and rules refuse those that stand for nothing.
template <class T>
requires Is<T, OuterTree> || Is<T, Wanted>
struct Type<T> {
    static std::string text() { return "uint8"; }
    static chain::AbiValue value(T number) { return static_cast<std::uint64_t>(number); }
    static Status read(const chain::AbiValue& from, T& to) {
        GYM_TRY(const std::uint64_t number, from.u64());
        to = static_cast<T>(number);
        return {};
    }
};
template <>
struct Type<Digest> {
    static std::string text() { return "bytes32"; }
    static chain::AbiValue value(const Digest& digest) { return digest; }
    static Status read(const chain::AbiValue& from, Digest& to) {
        GYM_TRY(to, from.digest());
        return {};
    }
};
template <>
struct Type<Address> {
    static std::string text() { return "address"; }
    static chain::AbiValue value(const Address& address) { return address; }
    static Status read(const chain::AbiValue& from, Address& to) {
        GYM_TRY(to, from.address());
        return {};
    }
};
template <>
struct Type<Bytes> {
    static std::string text() { return "bytes"; }
    static chain::AbiValue value(const Bytes& bytes) { return bytes; }
    static Status read(const chain::AbiValue& from, Bytes& to) {
        GYM_TRY(to, from.bytes());
        return {};
    }
};
/// One word (Shapes of contracts/src/dispute): dtype, rank, five dims of 32 bits, the only dim of
/// rank 1 in the places of two; 0 for none.
template <>
struct Type<std::optional<dispute::Shape>> {
    static std::string text() { return "uint256"; }
    static chain::AbiValue value(const std::optional<dispute::Shape>& shape);
    static Status read(const chain::AbiValue& from, std::optional<dispute::Shape>& to);
};
template <class T>
struct Type<std::vector<T>> {
    static std::string text() { return Type<T>::text() + "[]"; }
    static chain::AbiValue value(const std::vector<T>& items) {
        chain::AbiValue::List list;
        for (const T& item : items)
            list.push_back(Type<T>::value(item));
        return list;
    }
    static Status read(const chain::AbiValue& from, std::vector<T>& to) {
        GYM_TRY(const chain::AbiValue::List list, from.list());
        to.resize(list.size());
        for (std::size_t i = 0; i < list.size(); ++i)
            GYM_CHECK(Type<T>::read(list[i], to[i]));
        return {};
    }
};

/// "uint8,bool,..." of all members.
template <class Members>
std::string texts_of(const Members& all) {
    std::string text;
    std::apply(
        [&](const auto&... member) {
            ((text +=
              (text.empty() ? "" : ",") + Type<std::remove_cvref_t<decltype(member)>>::text()),
             ...);
        },
        all);
    return text;
}

template <class Members>
chain::AbiValue::List values_of(const Members& all) {
    chain::AbiValue::List list;
    std::apply(
        [&](const auto&... member) {
            (list.push_back(Type<std::remove_cvref_t<decltype(member)>>::value(member)), ...);
        },
        all);
    return list;
}

/// @param begin of the members' values in `list`.
template <class Members>
Status read_all(const chain::AbiValue::List& list, std::size_t begin, const Members& all) {
    Status status;
    std::apply(
        [&](auto&... member) {
            const auto one = [&](auto& to) {
                if (status.ok())
                    status = Type<std::remove_cvref_t<decltype(to)>>::read(list.at(begin++), to);
            };
            (one(member), ...);
        },
        all);
    return status;
}

template <Struct T>
struct Type<T> {
    static std::string text() {
        const T one{};
        return "(" + texts_of(members(one)) + ")";
    }
    static chain::AbiValue value(const T& one) { return values_of(members(one)); }
    static Status read(const chain::AbiValue& from, T& to) {
        GYM_TRY(const chain::AbiValue::List list, from.list());
        return read_all(list, 0, members(to));
    }
};

}  // namespace gym::game::abi
