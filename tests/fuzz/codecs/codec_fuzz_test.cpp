// Every decoder of bytes from peers or disk, fed with mutated valid encodings: no crash, and what
// is accepted encodes to the very bytes that were read (one value, one encoding).

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "gym/program/codec.hpp"
#include "gym/rpc/call_auth.hpp"
#include "gym/verifier/report_journal.hpp"
#include "gym/worker/unit_journal.hpp"
#include "random_seed.hpp"
#include "tiny_job.hpp"

namespace gym {
namespace {

/// The re-encoded value of `bytes`, or nothing if they are refused.
using Reencode = std::function<std::optional<Bytes>(ByteView bytes)>;

template <class T>
std::optional<Bytes> reencoded(const Result<T>& decoded) {
    if (!decoded.ok()) return std::nullopt;
    return encode(decoded.value());
}

class Mutator {
  public:
    explicit Mutator(std::uint64_t seed) : random_(seed) {}
    Bytes mutate(Bytes bytes) {
        for (std::uint64_t i = 0, n = 1 + below(3); i < n; ++i)
            change(bytes);
        return bytes;
    }

  private:
    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
    void change(Bytes& bytes) {
        if (bytes.empty()) return bytes.push_back(static_cast<std::uint8_t>(random_()));
        const std::size_t at = below(bytes.size());
        const auto here = bytes.begin() + static_cast<std::ptrdiff_t>(at);
        switch (below(6)) {
            case 0:
                bytes[at] ^= static_cast<std::uint8_t>(1U << below(8));
                break;
            case 1:
                bytes[at] = static_cast<std::uint8_t>(random_());
                break;
            case 2:
                bytes.resize(at);
                break;
            case 3:
                bytes.insert(here, static_cast<std::uint8_t>(random_()));
                break;
            case 4:
                bytes.erase(here);
                break;
            default:  // the largest values, where lengths and counts overflow
                std::fill_n(here, std::min<std::size_t>(8, bytes.size() - at), std::uint8_t{0xff});
        }
    }
    std::mt19937_64 random_;
};

class CodecFuzz : public ::testing::Test {
  protected:
    blob::MemoryStore blobs_;
    const crypto::PrivateKey key_ = testing::test_key(1);
    const testing::TinyJob job_ = testing::make_tiny_job({key_.address()}, blobs_);
    const engine::UnitResult unit_ = job_.run(0);
    const protocol::SignedCommitment commitment_ =
        protocol::sign(protocol::signing_domain(1, {}), job_.commitment(0, unit_), key_);

    void fuzz(const Bytes& valid, const Reencode& decode) {
        ASSERT_EQ(decode(valid), valid);
        const std::uint64_t seed = testing::random_seed();
        Mutator mutator(seed);
        for (std::uint64_t i = 0; i < 5'000 * testing::test_scale(); ++i) {
            const Bytes mutated = mutator.mutate(valid);
            const auto back = decode(mutated);
            if (!back) continue;
            ASSERT_EQ(*back, mutated) << "mutation " << i << " of seed " << seed;
        }
    }
};

TEST_F(CodecFuzz, RoundRecord) {
    fuzz(protocol::encode(job_.record),
         [](ByteView bytes) { return reencoded(protocol::decode_round_record(bytes)); });
}

TEST_F(CodecFuzz, UnitRecord) {
    fuzz(protocol::encode(job_.task(0).record),
         [](ByteView bytes) { return reencoded(protocol::decode_unit_record(bytes)); });
}

TEST_F(CodecFuzz, SignedCommitment) {
    fuzz(protocol::encode(commitment_),
         [](ByteView bytes) { return reencoded(protocol::decode_signed_commitment(bytes)); });
}

TEST_F(CodecFuzz, CallAuth) {
    const auto auth = rpc::sign_call(protocol::signing_domain(1, {}), "GetUnit", {}, key_, 5);
    fuzz(rpc::encode(auth), [](ByteView bytes) { return reencoded(rpc::decode_call_auth(bytes)); });
}

TEST_F(CodecFuzz, JournalEntry) {
    worker::JournalEntry entry;
    entry.unit = job_.unit(0);
    entry.record = job_.task(0).record;
    entry.inputs = job_.inputs;
    entry.commitment = commitment_;
    entry.receipt = records::InclusionReceipt{1, {}, 0, 2, {Digest{}}};
    fuzz(worker::encode(entry),
         [](ByteView bytes) { return reencoded(worker::decode_journal_entry(bytes)); });
}

TEST_F(CodecFuzz, PendingReport) {
    verifier::PendingReport pending;
    pending.records = engine::encode_records(unit_.records);
    fuzz(verifier::encode(pending),
         [](ByteView bytes) { return reencoded(verifier::decode_pending_report(bytes)); });
}

TEST_F(CodecFuzz, StepRecords) {
    fuzz(engine::encode_records(unit_.records), [](ByteView bytes) -> std::optional<Bytes> {
        const auto records = engine::decode_records(bytes);
        if (!records.ok()) return std::nullopt;
        return engine::encode_records(*records);
    });
}

TEST_F(CodecFuzz, Dataset) {
    std::vector<std::uint16_t> tokens(50, 3);
    const auto dataset = blob::Dataset::from_tokens(tokens, 300).value();
    fuzz(dataset.encode(), [](ByteView bytes) -> std::optional<Bytes> {
        const auto decoded = blob::Dataset::decode(bytes, std::nullopt);
        if (!decoded.ok()) return std::nullopt;
        return decoded->encode();
    });
}

TEST_F(CodecFuzz, State) {
    const engine::State state{{{"w", commit::DType::kF32, {2, 3}, Bytes(24, 1)},
                               {"b", commit::DType::kF32, {3}, Bytes(12, 2)}}};
    fuzz(engine::encode_state(state), [](ByteView bytes) -> std::optional<Bytes> {
        const auto decoded = engine::decode_state(bytes);
        if (!decoded.ok()) return std::nullopt;
        return engine::encode_state(*decoded);
    });
}

TEST_F(CodecFuzz, Program) {
    fuzz(program::encode(job_.program), [](ByteView bytes) -> std::optional<Bytes> {
        const auto decoded = program::decode(bytes);
        if (!decoded.ok()) return std::nullopt;
        return program::encode(*decoded);
    });
}

}  // namespace
}  // namespace gym
