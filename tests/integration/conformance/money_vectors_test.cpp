// tests/vectors/conformance/money.json: a ledger's seal with proofs, an epoch file with its payout
// tree.
#include <gtest/gtest.h>

#include <map>

#include "gym/commit/merkle.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/ledger/proof.hpp"
#include "gym/ledger/seal.hpp"
#include "gym/payouts/payout_tree.hpp"
#include "gym/rewards/epoch_file.hpp"
#include "vector_file.hpp"

namespace gym::conformance {
namespace {

namespace json = boost::json;

Digest digest_of(std::string_view text) {
    return commit::sha256(as_bytes(text));
}
Address filled(std::uint8_t byte) {
    Address out;
    out.data.fill(byte);
    return out;
}

// The ledger.

using ledger::AccountId;
using ledger::AccountKey;
using ledger::AccountKind;
using ledger::SealedEntry;
using ledger::SealedTransfer;
using ledger::TransferKind;

const AccountKey kEscrow{"system", "erc20:31337:0x2222222222222222222222222222222222222222",
                         AccountKind::kChainEscrow};
const AccountKey kOwner{"0x3333333333333333333333333333333333333333", kEscrow.asset,
                        AccountKind::kAvailable};

SealedTransfer transfer(std::uint64_t seq, TransferKind kind, std::string_view purpose,
                        const Amount& amount) {
    SealedTransfer out;
    out.seq = seq;
    out.id = ledger::transfer_id(purpose);
    out.kind = kind;
    out.debit = AccountId{7};
    out.credit = AccountId{(std::int64_t{1} << 40) + 9};
    out.amount = amount;
    out.created_at_us = 812'345'678'901'234 + static_cast<std::int64_t>(seq);
    return out;
}

/// Every kind, with and without what is optional.
std::vector<SealedTransfer> transfers() {
    const Amount large =
        *Amount::parse("123456789012345678901234567890123456789012345678901234567");
    std::vector<SealedTransfer> out{transfer(5, TransferKind::kTransfer, "one", Amount(250)),
                                    transfer(6, TransferKind::kPending, "two", large),
                                    transfer(8, TransferKind::kPost, "three", large),
                                    transfer(9, TransferKind::kPending, "four", Amount(1)),
                                    transfer(10, TransferKind::kVoid, "five", Amount(1))};
    out[0].reason = "deposit \xc3\xa9";
    out[0].debit_entry = SealedEntry{3, "-250"};
    out[0].credit_entry = SealedEntry{1, "250"};
    out[1].expires_at = 1'700'000'000'000;
    out[1].group = ledger::transfer_id("group");
    out[2].pending = out[1].id;
    out[2].debit_entry = SealedEntry{4, "-" + large.to_string()};
    out[2].credit_entry = SealedEntry{2, large.to_string()};
    out[4].pending = out[3].id;
    out[4].reason = "void";
    return out;
}

json::object ledger_vector() {
    const auto key = crypto::PrivateKey::from_bytes(digest_of("settler").view()).value();
    std::vector<Digest> leaves;
    json::array fingerprints, proofs;
    for (const SealedTransfer& one : transfers()) {
        leaves.push_back(ledger::transfer_leaf(one, ledger::account_digest(one.debit, kEscrow),
                                               ledger::account_digest(one.credit, kOwner)));
        fingerprints.emplace_back(ledger::fingerprint(one).hex());
    }
    const ledger::Seal seal = ledger::sign_seal({.number = 2,
                                                 .first_seq = 5,
                                                 .last_seq = 10,
                                                 .transfers = leaves.size(),
                                                 .root = commit::merkle_root(leaves),
                                                 .previous = digest_of("the seal before"),
                                                 .sealed_at = 1'700'000'000'123,
                                                 .signer = {}},
                                                key);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        const ledger::TransferProof proof{
            transfers()[i], kEscrow, kOwner, i, commit::merkle_prove(leaves, i).value(), seal};
        EXPECT_TRUE(ledger::check_proof(proof).ok());
        proofs.emplace_back(json::parse(ledger::encode_proof(proof)));
    }
    return {{"proofs", proofs}, {"fingerprints", fingerprints}};
}

// Payouts.

rewards::Credit credit(std::uint8_t n, const rewards::CreditInputs& inputs, std::uint8_t earner) {
    const rewards::CreditKind kind = rewards::kind_of(inputs);
    rewards::Credit out;
    out.id = ledger::to_uuid(ledger::transfer_id("credit " + std::to_string(n)));
    out.inputs = inputs;
    out.earner = filled(earner);
    out.job_id = digest_of("a job");
    out.round = 1;
    if (rewards::is_of_unit(kind)) out.unit = digest_of("unit " + std::to_string(n));
    if (kind != rewards::CreditKind::kFee && kind != rewards::CreditKind::kBurn)
        out.node = filled(earner);
    if (kind == rewards::CreditKind::kEmission) out.payer = filled(0xef);
    out.amount = *rewards::evaluate(inputs);
    return out;
}

rewards::EpochFile epoch_file() {
    const Amount price = *Amount::parse("3000000000000000000");
    rewards::EpochFile file;
    file.epoch = 1;
    file.domain = {31337, filled(0x66), filled(0x22)};
    file.rounds = {{digest_of("a job"), 1, 4, digest_of("epoch root"),
                    rewards::UptimeSpan{1'700'000'000'000, 1'700'000'060'000}}};
    file.credits = {
        credit(1, rewards::ComputeInputs{123'456'789'012, price}, 0xa1),
        credit(2, rewards::VerificationInputs{123'456'789'012, price, 1'100'000}, 0xc3),
        credit(3, rewards::UptimeInputs{Amount(1'000'000), 990'000, 100'000, 100, 99}, 0xa1),
        credit(4, rewards::DataInputs{1'234'567, price, 700'000}, 0xb2),
        credit(5, rewards::FeeInputs{Amount(1'000'003), 50'000, 300'000}, 0xd4),
        credit(6, rewards::BurnInputs{Amount(1'000'003), 50'000, 300'000}, 0xe5),
        credit(7, rewards::EmissionInputs{Amount(15'000), 500'000, Amount(3), Amount(7)}, 0xa1)};
    std::sort(file.credits.begin(), file.credits.end(),
              [](const auto& a, const auto& b) { return a.id < b.id; });
    std::map<Address, Amount> earned, spent;
    for (const rewards::Credit& one : file.credits) {
        earned[one.earner] = *earned[one.earner].plus(one.amount);
        Amount& paid = spent[one.payer.value_or(filled(0xee))];
        paid = *paid.plus(one.amount);
        file.total_cumulative = *file.total_cumulative.plus(one.amount);
    }
    for (const auto& [owner, amount] : spent)
        file.releases.push_back({owner, amount});
    for (const auto& [earner, amount] : earned)
        file.payouts.push_back({earner, amount});
    file.payout_root = payouts::PayoutTree::build(file.domain, file.payouts).value().root();
    file.ledger_seal = ledger::SealHead{2, digest_of("a seal")};
    return file;
}

json::object payouts_vector() {
    const rewards::EpochFile file = epoch_file();
    const std::string text = rewards::encode_epoch_file(file);
    EXPECT_TRUE(rewards::check_epoch_file(file, std::nullopt).empty());
    const auto tree = payouts::PayoutTree::build(file.domain, file.payouts).value();
    json::array proofs;
    for (const payouts::Payout& payout : file.payouts) {
        json::array path;
        const payouts::PayoutPath steps = tree.prove(payout.earner).value();
        for (const payouts::PayoutStep& step : steps)
            path.emplace_back(json::object{{"hash", step.sibling.hash.hex()},
                                           {"sum_wei", step.sibling.sum.to_string()},
                                           {"pivot", step.pivot.hex()}});
        proofs.emplace_back(json::object{{"earner", payout.earner.hex()},
                                         {"leaf", payouts::payout_leaf(file.domain, payout).hex()},
                                         {"path", path}});
    }
    return {{"epoch_file", text},
            {"epoch_file_root", rewards::epoch_file_root(text).hex()},
            {"payouts", proofs}};
}

TEST(ConformanceVectors, OfMoneyAreWhatTheProductComputes) {
    expect_committed("money", {{"ledger", ledger_vector()}, {"rewards", payouts_vector()}});
}

}  // namespace
}  // namespace gym::conformance
