#include "withheld_samples.hpp"

#include "gym/commit/tensor_root.hpp"
#include "random_game.hpp"
#include "withheld_mutations.hpp"

namespace gym::game::testing {
namespace {

using blob::ViewReader;
using move::ShowWithheld;

/// Now and then one that the data does not have.
std::uint64_t random_chunk(Rng& rng, std::uint64_t bytes) {
    return rng() % 8 == 0 ? rng() >> rng() % 64 : rng() % (bytes / commit::kChunkBytes + 2);
}

ShowWithheld random_delta(Rng& rng) {
    const Bytes delta = random_bytes(rng, rng() % 6000);
    const Wanted what = rng() % 2 == 0 ? Wanted::kDelta : Wanted::kLateDelta;
    return must(show_delta(ask(what, blob::blob_root(delta), 0, random_chunk(rng, delta.size())),
                           ViewReader(delta)));
}

ShowWithheld random_state_part(Rng& rng) {
    std::vector<std::pair<commit::DType, std::vector<std::uint64_t>>> shapes(rng() % 7);
    for (auto& [dtype, dims] : shapes) {
        dtype = static_cast<commit::DType>(1 + rng() % 7);
        dims.resize(rng() % 4);
        for (std::uint64_t& dim : dims)
            dim = rng() % 12;
    }
    const engine::State state = random_state(rng, shapes);
    const Bytes encoded = engine::encode_state(state);
    const Wanted what = rng() % 2 == 0 ? Wanted::kBase : Wanted::kOuter;
    const auto tensor = static_cast<std::uint32_t>(rng() % 8 == 0 ? rng() : rng() % 8);
    return must(show_state(ask(what, engine::state_root(state), tensor, random_chunk(rng, 4096)),
                           ViewReader(encoded)));
}

ShowWithheld random_dataset_part(Rng& rng) {
    const Digest tokenizer = rng() % 2 == 0 ? Digest() : random_digest(rng);
    const std::uint32_t vocabulary = rng() % 2 == 0 ? 256 : 70'000;
    std::vector<std::uint32_t> tokens(1 + rng() % 2000);
    for (std::uint32_t& token : tokens)
        token = static_cast<std::uint32_t>(rng() % vocabulary);
    const blob::Dataset dataset =
        must(blob::Dataset::from_tokens(TokenView(tokens), {vocabulary, tokenizer}));
    const Bytes file = dataset.encode();
    const auto leaf = static_cast<std::uint32_t>(rng() % 4);
    return must(
        show_dataset(ask(Wanted::kDataset, dataset.root(), leaf, random_chunk(rng, file.size())),
                     ViewReader(file)));
}

/// A tensor that nobody has, whose dims may be any.
ShowWithheld made_up_tensor(Rng& rng) {
    dispute::Shape shape;
    shape.dtype = static_cast<commit::DType>(1 + rng() % 7);
    std::uint64_t bits = std::bit_width(commit::size_bytes(shape.dtype)) - 1;
    for (std::uint64_t rank = rng() % 9; rank > 0; --rank) {
        const std::uint64_t power = rng() % 64;
        shape.dims.push_back(std::uint64_t{1} << power);
        bits += power;
    }
    if (!shape.dims.empty() && rng() % 2 == 0) shape.dims[0] += rng() % 3 - 1;
    ShowWithheld m;
    m.request = ask(rng() % 2 == 0 ? Wanted::kBase : static_cast<Wanted>(rng() % 9), {},
                    static_cast<std::uint32_t>(rng()), rng() >> rng() % 64);
    m.head = tensor_head(shape);
    m.content = random_bytes(rng, rng() % 4 == 0 ? rng() % 1100 : commit::kChunkBytes);
    if (rng() % 8 == 0) m.content.clear();
    m.path.assign(rng() % 4 == 0 ? 1 : bits - std::min<std::uint64_t>(bits, 10),
                  random_digest(rng));
    m.above.assign(rng() % 3 == 0 ? 0 : rng() % 70, random_digest(rng));
    if (rng() % 4 == 0) {  // that there is none
        m.head.clear();
        m.path.clear();
        if (rng() % 2 == 0) m.content.clear();
    }
    lead_to_root(m);
    return m;
}

std::vector<protocol::SignedCommitment> random_epoch(Rng& rng, const crypto::Eip712Domain& domain,
                                                     const std::vector<Digest>& rounds) {
    std::vector<protocol::SignedCommitment> out;
    for (std::uint64_t i = rng() % 9; i > 0; --i) {
        protocol::UnitCommitment says;
        says.slot = static_cast<std::uint32_t>(rng() % 3);
        says.round_record = rounds[rng() % rounds.size()];
        says.attempt = static_cast<std::uint32_t>(rng() % 2);
        says.delta_root = random_digest(rng);
        out.push_back(protocol::sign(domain, says, gym::testing::key(rng() % 3)));
    }
    return out;
}

/// A commitment that is in one of two epochs, or in neither.
ShowWithheld random_commitment(Rng& rng, const crypto::Eip712Domain& domain) {
    const std::vector<Digest> rounds{random_digest(rng), random_digest(rng)};
    const auto own = random_epoch(rng, domain, rounds), next = random_epoch(rng, domain, rounds);
    auto all = own;
    all.insert(all.end(), next.begin(), next.end());
    if (all.empty()) return random_commitment(rng, domain);
    protocol::SignedCommitment wanted = all[rng() % all.size()];
    DataRequest request = ask(Wanted::kCommitment, SampleEpochs::root_of(own), 0, 0);
    request.leaves = static_cast<std::uint32_t>(own.size());
    request.next_root = SampleEpochs::root_of(next);
    request.next_leaves = static_cast<std::uint32_t>(next.size());
    request.round_record = wanted.commitment.round_record;
    request.slot = wanted.commitment.slot;
    request.worker = must(crypto::recover_address(
        protocol::signing_digest(domain, wanted.commitment), wanted.signature));
    if (rng() % 2 == 0) wanted.commitment.flops += 1;
    request.leaf = protocol::commitment_leaf(wanted);
    ShowWithheld m = must(show_commitment(domain, request, {own, next}));
    if (rng() % 8 == 0) {  // nobody's, of nobody
        m.content.back() = 0;
        m.request.worker = {};
        lead_to_root(m);
    }
    return m;
}

}  // namespace

std::vector<Case> random_withheld(Rng& rng, const crypto::Eip712Domain& domain) {
    std::vector<Case> cases;
    for (ShowWithheld& m :
         std::vector{random_delta(rng), random_state_part(rng), random_dataset_part(rng),
                     made_up_tensor(rng), random_commitment(rng, domain)})
        cases.push_back({asked(m.request), std::move(m)});
    return cases;
}

}  // namespace gym::game::testing
