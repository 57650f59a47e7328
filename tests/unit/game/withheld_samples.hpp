#pragma once

#include <array>

#include "gym/blob/dataset.hpp"
#include "gym/blob/verified_blob.hpp"
#include "gym/blob/view_reader.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/engine/state.hpp"
#include "gym/game/evidence.hpp"
#include "gym/game/withheld_answers.hpp"
#include "move_samples.hpp"
#include "must.hpp"
#include "samples.hpp"

/// Data for tests of games about what is withheld, each kind with the request for a part of it.
namespace gym::game::testing {

inline Bytes random_bytes(Rng& rng, std::uint64_t size) {
    Bytes bytes(size);
    for (std::uint8_t& byte : bytes)
        byte = static_cast<std::uint8_t>(rng());
    return bytes;
}

/// Tensors with these dims, of random bytes.
inline engine::State random_state(
    Rng& rng, const std::vector<std::pair<commit::DType, std::vector<std::uint64_t>>>& shapes) {
    engine::State state;
    for (const auto& [dtype, dims] : shapes) {
        std::uint64_t size = commit::size_bytes(dtype);
        for (const std::uint64_t dim : dims)
            size *= dim;
        state.tensors.push_back(
            {"t" + std::to_string(state.tensors.size()), dtype, dims, random_bytes(rng, size)});
    }
    return state;
}

/// Three tensors: of four chunks, the last not full; of a part of one; of one whole chunk.
inline engine::State sample_state() {
    Rng rng(5);
    return random_state(rng, {{commit::DType::kF32, {3, 300}},
                              {commit::DType::kU8, {10}},
                              {commit::DType::kI64, {2, 64}}});
}

inline blob::Dataset sample_dataset(const blob::Tokenization& tokenization) {
    std::vector<std::uint16_t> tokens;
    for (std::uint32_t i = 0; i < 1500; ++i)
        tokens.push_back(static_cast<std::uint16_t>(i * 7 % tokenization.vocabulary));
    return gym::testing::must(blob::Dataset::from_tokens(TokenView(tokens), tokenization));
}

inline DataRequest ask(Wanted what, const Digest& root, std::uint32_t tensor, std::uint64_t chunk) {
    DataRequest request;
    request.what = what;
    request.root = root;
    request.tensor = tensor;
    request.chunk = chunk;
    return request;
}

/// Where a game about the request begins.
inline Cursor asked(const DataRequest& request) {
    return start_of(filled(99), request);
}

/// Commitments of two epochs of rounds that take late ones.
struct SampleEpochs {
    SampleEpochs() {
        protocol::RoundRecord record = gym::testing::round_record();
        record.accept_late = true;
        for (std::uint32_t slot = 0; slot < 3; ++slot) {
            protocol::UnitCommitment says = gym::testing::commitment(record);
            says.slot = slot;
            own.push_back(protocol::sign(gym::testing::domain(), says, gym::testing::key(slot)));
            says.round_record = gym::testing::digest(77);
            next.push_back(protocol::sign(gym::testing::domain(), says, gym::testing::key(slot)));
        }
        next.pop_back();
    }
    [[nodiscard]] static Digest root_of(std::span<const protocol::SignedCommitment> epoch) {
        std::vector<Digest> leaves;
        for (const protocol::SignedCommitment& one : epoch)
            leaves.push_back(protocol::commitment_leaf(one));
        return commit::merkle_root(leaves);
    }
    /// For a commitment that may be under either.
    [[nodiscard]] DataRequest ask(const protocol::SignedCommitment& commitment,
                                  const Address& worker) const {
        DataRequest request = testing::ask(Wanted::kCommitment, root_of(own), 0, 0);
        request.leaves = static_cast<std::uint32_t>(own.size());
        request.next_root = root_of(next);
        request.next_leaves = static_cast<std::uint32_t>(next.size());
        request.leaf = protocol::commitment_leaf(commitment);
        request.round_record = commitment.commitment.round_record;
        request.slot = commitment.commitment.slot;
        request.worker = worker;
        return request;
    }
    /// Another commitment of slot's worker to the unit of own[slot], in no epoch yet.
    [[nodiscard]] protocol::SignedCommitment second(std::uint32_t slot) const {
        protocol::UnitCommitment says = own.at(slot).commitment;
        says.delta_root = filled(66);
        says.attempt = 1;
        return protocol::sign(gym::testing::domain(), says, gym::testing::key(slot));
    }
    std::vector<protocol::SignedCommitment> own, next;
};

/// Expects of each byte of the answer that the rules refuse it with another one there.
/// @param kept bytes at the beginning of `head` that are left alone.
template <class Refused>
void for_every_altered_byte(const move::ShowWithheld& answer, std::size_t kept,
                            const Refused& refused) {
    for (const auto part : {&move::ShowWithheld::head, &move::ShowWithheld::content})
        for (std::size_t i = part == &move::ShowWithheld::head ? kept : 0;
             i < (answer.*part).size(); ++i) {
            move::ShowWithheld other = answer;
            (other.*part)[i] ^= static_cast<std::uint8_t>(1U << i % 8);
            refused(other);
        }
    for (const auto part : {&move::ShowWithheld::path, &move::ShowWithheld::above})
        for (std::size_t i = 0; i < (answer.*part).size() * Digest::kSize; ++i) {
            move::ShowWithheld other = answer;
            (other.*part)[i / Digest::kSize].data[i % Digest::kSize] ^= 1;
            refused(other);
        }
}

}  // namespace gym::game::testing
