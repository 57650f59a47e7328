#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "anvil.hpp"
#include "gym/chain_store/sqlite.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/common/clock.hpp"
#include "gym/contracts/artifact.hpp"
#include "gym/contracts/call.hpp"
#include "gym/contracts/commitment_log.hpp"
#include "gym/contracts/deploy.hpp"
#include "gym/contracts/dispute_game.hpp"
#include "gym/game/withheld.hpp"
#include "log_storage.hpp"
#include "move_samples.hpp"
#include "must.hpp"
#include "random_seed.hpp"
#include "samples.hpp"

// withheld_facts_of() against OpeningRules.openWithheld on a network: the same refusals, names and
// asserters.

namespace gym::game::testing {
namespace {

using gym::testing::must;

constexpr std::uint32_t kTimeoutMs = 60'000, kNotice = 3;
constexpr std::uint64_t kCasesPerRequest = 15;

/// A round on the chain with commitments to its units, all published.
struct PostedRound {
    protocol::RoundRecord record;
    std::vector<protocol::SignedCommitment> commitments;
    commit::MerkleTree tree{std::vector<Digest>{}};
    PostedEpochs epochs;
};

class WithheldOpenings : public ::testing::Test {
  protected:
    WithheldOpenings() : admin_(anvil_.funded_key(0)) {
        const auto file = must(chain_store::SqliteChainStore::open(":memory:"));
        const auto store = file->intents(anvil_.chain_id(), admin_.address());
        chain::TxManager manager(anvil_.client(), *store, admin_.clone(), clock_,
                                 gym::testing::test_policy(anvil_.chain_id()),
                                 contracts::describe_revert);
        contracts::DeployParams params;
        params.token_holder = params.settler = params.guardian = params.coordinator =
            admin_.address();
        params.dispute.notice_blocks = kNotice;
        deployment_ = must(contracts::deploy(
            manager, anvil_.client(), must(contracts::find_artifacts()), params, kTimeoutMs));
        const contracts::DisputeGame game(deployment_.dispute_game);
        opening_ = must(game.contracts(anvil_.client())).opening;
        anvil_.rpc("anvil_autoImpersonateAccount", "[true]");
        other_ = anvil_.funded_key(1).address();
        gym::testing::let_sign(anvil_, log_address(), other_);
    }

    [[nodiscard]] crypto::Eip712Domain domain() const {
        return protocol::signing_domain(deployment_.chain_id, deployment_.commitment_log);
    }
    void send(const Address& from, const contracts::ContractCall& call) {
        const auto receipt = anvil_.transact({.from = from, .to = call.to, .data = call.data});
        ASSERT_TRUE(receipt.success) << call.label;
    }

    /// Puts a round there. @param own whether it has an epoch. @param next and the round after it.
    PostedRound post(bool late, bool own, bool next) {
        PostedRound out;
        out.record = gym::testing::round_record();
        out.record.job_id = gym::testing::digest(1000 + rounds_++);
        out.record.accept_late = late;
        gym::testing::put_round(anvil_, log_address(), out.record);
        std::vector<Digest> leaves;
        for (std::uint32_t slot = 0; slot < 3; ++slot) {
            out.commitments.push_back(
                protocol::sign(domain(), says(out.record, slot, false), gym::testing::key(slot)));
            // Another one, which contradicts the record.
            out.commitments.push_back(
                protocol::sign(domain(), says(out.record, slot, true), gym::testing::key(slot)));
        }
        const contracts::CommitmentLog log(log_address());
        for (const protocol::SignedCommitment& one : out.commitments) {
            leaves.push_back(protocol::commitment_leaf(one));
            send(admin_.address(),
                 log.post_commitment(out.record.job_id, out.record.round, protocol::encode(one)));
        }
        out.tree = commit::MerkleTree(leaves);
        anvil_.mine(kNotice);
        if (own) out.epochs.own = post_epoch(admin_.address(), out.record, out.tree);
        protocol::RoundRecord after = out.record;
        after.round += 1;
        gym::testing::put_round(anvil_, log_address(), after);
        if (next) out.epochs.next = post_epoch(other_, after, out.tree);
        return out;
    }
    static protocol::UnitCommitment says(const protocol::RoundRecord& record, std::uint32_t slot,
                                         bool wrong) {
        protocol::UnitCommitment out = gym::testing::commitment(record);
        out.slot = slot;
        out.steps = record.slots[slot].steps;
        out.tokens = record.tokens_per_step * out.steps + (wrong ? 1 : 0);
        out.flops = record.flops_per_step * out.steps;
        out.attempt = wrong ? 1 : 0;
        return out;
    }
    PostedEpoch post_epoch(const Address& poster, const protocol::RoundRecord& record,
                           const commit::MerkleTree& tree) {
        const contracts::CommitmentLog log(log_address());
        const auto leaves = static_cast<std::uint32_t>(tree.leaf_count());
        send(poster, log.post_epoch({++epochs_, record.job_id, record.round, tree.root(), leaves}));
        return {{tree.root(), leaves}, poster};
    }
    [[nodiscard]] const Address& log_address() const { return deployment_.commitment_log; }

    /// The contract's answer: unit, asserter, facts. Nothing: it refuses.
    std::optional<std::tuple<Digest, Address, Digest>> ask(const WithheldEvidence& evidence) {
        chain::CallRequest request;
        request.to = opening_;
        request.data = encode_withheld(evidence, filled(9));
        const chain::CallOutcome outcome =
            must(anvil_.client().call(request, chain::BlockTag::kLatest));
        if (outcome.reverted) return std::nullopt;
        const auto type = must(chain::AbiType::parse("(bytes32,address,bytes32,uint256,uint256)"));
        const auto members = must(must(chain::abi_decode({type}, outcome.output))[0].list());
        EXPECT_EQ(must(members[3].u64()), 0U) << "nothing is wrong by what was signed alone";
        return std::tuple(must(members[0].digest()), must(members[1].address()),
                          must(members[2].digest()));
    }

    /// Every request of a round.
    static std::vector<WithheldEvidence> requests(const PostedRound& round) {
        std::vector<WithheldEvidence> out;
        for (std::uint32_t i = 0; i < round.commitments.size(); ++i) {
            const protocol::SignedCommitment& one = round.commitments[i];
            const protocol::UnitRecord record =
                protocol::unit_record(round.record, one.commitment.slot);
            out.push_back(ask_for_commitment(one, record));
            for (const bool late : {false, true})
                out.push_back(ask_for_delta({one, record, i, must(round.tree.prove(i)), late}, i));
        }
        for (const Wanted what : {Wanted::kBase, Wanted::kOuter, Wanted::kDataset})
            out.push_back(ask_for_chunk({what, 3, 5}, protocol::head_of(round.record)));
        return out;
    }

    /// Something else in it. The log knows all of its commitments and no other ones.
    WithheldEvidence changed(const WithheldEvidence& evidence, const PostedRound& round) {
        WithheldEvidence out = evidence;
        switch (rng_() % 8) {
            case 0:
                out.data.what = static_cast<Wanted>(rng_() % 8);
                break;
            case 1:
                out.data.tensor = static_cast<std::uint32_t>(rng_() % 3);
                break;
            case 2:
                out.data.chunk = rng_() >> rng_() % 64;
                break;
            case 3:
                out.index = static_cast<std::uint32_t>(rng_() % 8);
                break;
            case 4:
                if (out.path.empty() || rng_() % 2 == 0)
                    out.path.push_back(random_digest(rng_));
                else
                    out.path.pop_back();
                break;
            case 5:
                if (out.slot.terms.empty() || rng_() % 2 == 0)
                    out.slot =
                        protocol::prove_slot(round.record, static_cast<std::uint32_t>(rng_() % 4));
                else
                    out.slot.terms[rng_() % out.slot.terms.size()] ^= 1;
                break;
            case 6:
                out.commitment = round.commitments[rng_() % round.commitments.size()];
                break;
            default:
                out.commitment.reset();
                break;
        }
        return out;
    }

    void compare(const WithheldEvidence& evidence, const PostedRound& round) {
        const auto made = withheld_facts_of(domain(), evidence, round.epochs);
        const auto there = ask(evidence);
        ASSERT_EQ(made.ok(), there.has_value()) << "what " << int(evidence.data.what) << ": "
                                                << (made.ok() ? "accepted" : made.error().message);
        ++(made.ok() ? accepted_ : refused_)[evidence.data.what];
        if (made.ok()) {
            EXPECT_EQ(std::tuple(made->unit, made->asserter, hash_of(made->request)), *there);
        }
    }

    Rng rng_{gym::testing::random_seed()};
    gym::testing::TestAnvil anvil_;
    SystemClock clock_;
    crypto::PrivateKey admin_;
    contracts::Deployment deployment_;
    Address opening_;
    Address other_;  ///< a coordinator, too: posts the next rounds' epochs
    std::uint64_t rounds_ = 0, epochs_ = 0;
    std::map<Wanted, std::uint64_t> accepted_, refused_;
};

TEST_F(WithheldOpenings, AreThoseOfTheContract) {
    for (const bool late : {false, true})
        for (const bool own : {false, true})
            for (const bool next : {false, true}) {
                const PostedRound round = post(late, own, next);
                for (const WithheldEvidence& evidence : requests(round)) {
                    ASSERT_NO_FATAL_FAILURE(compare(evidence, round));
                    for (std::uint64_t i = 0; i < kCasesPerRequest; ++i)
                        ASSERT_NO_FATAL_FAILURE(compare(changed(evidence, round), round));
                }
            }
    for (std::uint8_t what = 1; what <= 6; ++what) {
        EXPECT_GT(accepted_[static_cast<Wanted>(what)], 0U) << int(what);
        EXPECT_GT(refused_[static_cast<Wanted>(what)], 0U) << int(what);
        std::cout << int(what) << ": " << accepted_[static_cast<Wanted>(what)] << " accepted, "
                  << refused_[static_cast<Wanted>(what)] << " refused\n";
    }
}

}  // namespace
}  // namespace gym::game::testing
