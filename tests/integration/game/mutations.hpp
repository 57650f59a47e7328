#pragma once

#include "gym/commit/sha256.hpp"
#include "gym/crypto/keccak.hpp"
#include "random_game.hpp"
#include "withheld_mutations.hpp"

/// Moves with something changed: flipped bits, other numbers, longer and shorter lists.
namespace gym::game::testing {

template <std::unsigned_integral T>
void mutate(Rng& rng, T& number) {
    switch (rng() % 3) {
        case 0:
            number = static_cast<T>(number ^ T{1} << rng() % (8 * sizeof(T)));
            break;
        case 1:
            number = static_cast<T>(rng() % 2 == 0 ? number + 1 : number - 1);
            break;
        default:
            randomise(rng, number);
            break;
    }
}
inline void mutate(Rng&, bool& flag) {
    flag = !flag;
}
inline void mutate(Rng& rng, Stage& stage) {
    stage = static_cast<Stage>(rng() % 2 == 0 ? rng() % 16 : rng() % 256);
}
inline void mutate(Rng& rng, OuterTree& tree) {
    tree = static_cast<OuterTree>(rng() % 5);
}
inline void mutate(Rng& rng, Wanted& what) {
    what = static_cast<Wanted>(rng() % 8);
}
inline void mutate(Rng& rng, Address& address) {
    if (rng() % 4 == 0)
        address = {};
    else
        address.data[rng() % Address::kSize] ^= static_cast<std::uint8_t>(1U << rng() % 8);
}
inline void mutate(Rng& rng, Digest& digest) {
    if (rng() % 4 == 0)
        digest = {};
    else
        digest.data[rng() % Digest::kSize] ^= static_cast<std::uint8_t>(1U << rng() % 8);
}
inline void mutate(Rng& rng, Bytes& bytes) {
    const std::uint64_t kind = rng() % 8;
    if (kind == 0 || bytes.empty())
        bytes.push_back(static_cast<std::uint8_t>(rng()));
    else if (kind == 1)
        bytes.pop_back();
    else if (kind == 2)
        bytes.clear();
    else
        bytes[rng() % bytes.size()] ^= static_cast<std::uint8_t>(1U << rng() % 8);
}
inline void mutate(Rng& rng, std::optional<dispute::Shape>& shape) {
    const std::uint64_t kind = rng() % 4;
    if (!shape || kind == 0)
        randomise(rng, shape);
    else if (kind == 1)
        shape->dtype = static_cast<program::DType>(1 + rng() % 7);
    else
        shape->dims[rng() % shape->dims.size()] += 1;
}
template <class T>
void mutate(Rng& rng, std::vector<T>& items);
template <abi::Struct T>
void mutate(Rng& rng, T& one) {
    const auto all = abi::members(one);
    std::uint64_t left = rng() % std::tuple_size_v<decltype(all)>;
    std::apply([&](auto&... member) { ((left-- == 0 ? mutate(rng, member) : void()), ...); }, all);
}
template <class T>
void mutate(Rng& rng, std::vector<T>& items) {
    const std::uint64_t kind = rng() % 8;
    if (kind == 0 || items.empty()) {
        T item{};
        if (!items.empty() && rng() % 2 == 0) item = items[rng() % items.size()];
        items.push_back(std::move(item));
    } else if (kind == 1) {
        items.pop_back();
    } else if (kind == 2) {
        std::swap(items.front(), items.back());
    } else {
        mutate(rng, items[rng() % items.size()]);
    }
}

/// Moves at a cursor that stands for the facts.
template <class M>
inline constexpr bool kFrameIsFacts =
    std::same_as<M, move::DeclareStates> || std::same_as<M, move::DeclareOuter> ||
    std::same_as<M, move::ShowIncluded> || std::same_as<M, move::ProveSigner>;

/// Makes the hashes right again by which a change is found at once, so that it is looked at deeper.
template <class M>
void reseal(Rng& rng, Cursor& c, M& m) {
    if constexpr (requires { m.record, m.frame.hash_after; }) {
        commit::Hasher hasher;
        m.frame.hash_after = hasher.update(m.frame.hash_before).update(m.record).finish();
    }
    if constexpr (requires { m.op.record, m.primitive; })
        m.op.record = dispute::primitive_digest(m.primitive);
    if constexpr (requires { m.chunk; })
        if (rng() % 2 == 0 && m.chunk.size() <= commit::kChunkBytes)
            c.node = commit::chunk_leaf(m.chunk);
    if constexpr (requires { m.facts, m.frame.facts; }) m.frame.facts = hash_of(m.facts);
    if constexpr (requires { m.facts, m.step.facts; }) m.step.facts = hash_of(m.facts);
    if constexpr (requires { m.facts, m.outer.facts; }) m.outer.facts = hash_of(m.facts);
    if constexpr (requires { m.outer, m.op; })
        m.op.step = hash_of(m.outer);
    else if constexpr (requires { m.step, m.op; })
        m.op.step = hash_of(m.step);
    else if constexpr (requires { m.facts, m.op; })
        m.op.step = hash_of(m.facts);
    if constexpr (std::same_as<M, move::ShowWithheld>) {
        if (rng() % 2 == 0) lead_to_root(m);
        // Another commitment than the one that is asked for, or the same.
        if (rng() % 2 == 0) {
            commit::Hasher hasher;
            m.request.leaf =
                hasher.update(as_bytes("gym.commitment.v1")).update(m.content).finish();
        }
        c.frame = hash_of(m.request);
    } else if constexpr (requires { m.frame; })
        c.frame = hash_of(m.frame);
    else if constexpr (requires { m.op; })
        c.frame = hash_of(m.op);
    else if constexpr (kFrameIsFacts<M>)
        c.frame = hash_of(m.facts);
    else if constexpr (requires { m.states_root; })
        c.frame = steps_frame(hash_of(m.facts), m.states_root);
    else if constexpr (requires { m.to.states_root; })
        c.frame = steps_frame(hash_of(m.facts), m.to.states_root);
}

/// The same of what aggregates have.
template <class M>
void reseal_outer(Rng& rng, Cursor& c, M& m) {
    constexpr std::size_t kBatchRootAt = 8;
    if constexpr (std::same_as<M, move::DeclareOuter>) {
        const auto declared = read_declared(m.slots, m.held);
        const Digest root = engine::included_root(declared.ok() ? declared->size() : 1,
                                                  program::groups_of(m.held), m.root);
        if (rng() % 2 == 0 && m.record.size() >= kBatchRootAt + Digest::kSize)
            std::ranges::copy(root.data, m.record.begin() + kBatchRootAt);
        commit::Hasher hasher;
        m.facts.records_root = hasher.update(Digest{}).update(m.record).finish();
    }
    // Mutations that the rules themselves would have let through.
    if constexpr (requires { m.outer, m.values; })
        if (!m.values.empty() && m.values.size() % 4 == 0) c.twin = crypto::keccak256(m.values);
    if constexpr (std::same_as<M, move::PickPart>)
        if (!m.added.empty()) c.twin = crypto::keccak256(m.added);
    if constexpr (std::same_as<M, move::ProveUpdate>) {
        m.op.record = dispute::state_record_digest(m.record);
        if (c.stage == Stage::kColumn && !m.posted.empty() && m.posted.size() % 4 == 0)
            c.twin = crypto::keccak256(m.posted);
        if (c.stage == Stage::kChunks && !m.posted.empty() &&
            m.posted.size() <= commit::kChunkBytes)
            c.node = commit::chunk_leaf(m.posted);
    }
    if constexpr (std::same_as<M, move::ProveRow>) {
        c.twin = crypto::keccak256(m.residuals);
        if (!m.chunk.empty() && m.chunk.size() <= commit::kChunkBytes)
            c.node = commit::chunk_leaf(m.chunk);
    }
    if constexpr (std::same_as<M, move::PickElement>)
        if (c.stage == Stage::kRow) c.twin = crypto::keccak256(m.chunk);
    if constexpr (std::same_as<M, move::ProveColumn>)
        m.op.record = dispute::state_record_digest(m.slot.record);
    if constexpr (std::same_as<M, move::PickIncluded>) m.frame.slots = crypto::keccak256(m.slots);
    if constexpr (std::same_as<M, move::ProveSigner>) {
        commit::Hasher hasher;
        c.node = hasher.update(as_bytes("gym.commitment.v1")).update(m.commitment).finish();
    }
}

/// Another list with the same tree, of which contracts know that it is not the record's.
inline void refold(Rng& rng, move::DeclareOuter& m) {
    std::vector<Digest>& list = m.children;
    auto declared = read_declared(m.slots, m.held);
    if (!declared.ok()) return;
    if (rng() % 2 == 0) {
        list.push_back(commit::absent_leaf());
        declared->insert(declared->begin(), {kDeclaredSlotsMax - 1, {}, false, 0});
        m.slots = slots_of(*declared);
        return;
    }
    for (std::size_t i = 0; 2 * i < list.size(); ++i)
        list[i] = commit::merkle_node(
            list[2 * i], 2 * i + 1 < list.size() ? list[2 * i + 1] : commit::absent_leaf());
    list.resize((list.size() + 1) / 2);
    declared->resize(std::min(declared->size(), list.size()));
    m.slots = slots_of(*declared);
}

/// A case with one or two things changed; sometimes at once visible, sometimes not.
inline Case mutated(Rng& rng, const Case& original) {
    Case changed = original;
    std::visit(
        [&](auto& m) {
            for (std::uint64_t times = 1 + rng() % 4 / 3; times > 0; --times) {
                if (rng() % 4 == 0)
                    mutate(rng, changed.at);
                else
                    mutate(rng, m);
            }
            // No tree is higher: the rules make no such cursor, and do not look for it.
            changed.at.height %= commit::kTreeDepthMax + 1;
            // Nor is there a column of an element that a tensor does not have.
            if (original.at.stage == Stage::kColumn) changed.at.index = original.at.index;
            if (rng() % 2 == 0) {
                reseal_outer(rng, changed.at, m);
                reseal(rng, changed.at, m);
            }
            if constexpr (std::same_as<std::remove_cvref_t<decltype(m)>, move::DeclareOuter>)
                if (rng() % 4 == 0) refold(rng, m);
        },
        changed.move);
    return changed;
}

}  // namespace gym::game::testing
