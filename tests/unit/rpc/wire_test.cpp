#include "wire.hpp"

#include <gtest/gtest.h>

#include "tiny_job.hpp"

namespace gym::rpc {
namespace {

Digest digest(std::uint8_t fill) {
    Digest out;
    out.data.fill(fill);
    return out;
}

class WireTest : public ::testing::Test {
  protected:
    blob::MemoryStore blobs_;
    const crypto::PrivateKey key_ = testing::test_key(1);
    const testing::TinyJob job_ = testing::make_tiny_job({key_.address()}, blobs_);

    protocol::SignedCommitment commitment() const {
        protocol::UnitCommitment out;
        out.round_record = protocol::hash(job_.record);
        out.records_root = digest(1);
        out.final_state_root = digest(2);
        out.delta_root = digest(3);
        return protocol::sign(protocol::signing_domain(1, {}), out, key_);
    }
    records::VerifyTask verify_task() const {
        records::VerifyTask task;
        task.unit = job_.unit(0);
        task.record = job_.task(0).record;
        task.round = job_.record;
        task.inputs = job_.inputs;
        task.inputs.momentum_blob = digest(4);
        task.inputs.base_steps = {{digest(12), digest(13)}, {digest(14), digest(15)}};
        task.commitment = commitment();
        task.committer = key_.address();
        task.beacon = digest(5);
        task.draw = 2;
        task.report_committed = true;
        task.deadline_ms = 77;
        task.deltas = {{0, digest(6), digest(7)}, {3, digest(8), digest(9)}};
        task.delta_norm_max = 2.5;
        task.delta_norm_factor = 10;
        task.deltas.push_back({1, digest(10), digest(11), true});
        task.hold_drawn = true;
        task.late = true;
        task.earlier = {job_.record, job_.inputs};
        task.aggregate = commitment();
        return task;
    }
};

TEST_F(WireTest, TasksRoundTrip) {
    const records::TrainTask train{job_.unit(0), job_.task(0).record, job_.inputs, 123, 456};
    for (const std::optional<records::Task>& task :
         {std::optional<records::Task>(train), std::optional<records::Task>(verify_task()),
          std::optional<records::Task>()}) {
        v1::NextTaskResponse message;
        wire::write(task, message);
        const auto back = wire::read(message);
        ASSERT_TRUE(back.ok()) << back.error().message;
        EXPECT_TRUE(*back == task);
    }
}

/// Whoever trains or verifies a unit of a large round is sent none of the other slots.
TEST_F(WireTest, TasksOfUnitsStaySmallInTheLargestRound) {
    constexpr std::uint32_t kSlots = 8192;
    protocol::RoundRecord large = job_.record;
    for (std::uint32_t slot = 1; slot < kSlots; ++slot) {
        protocol::SlotAssignment more = large.slots[0];
        more.slot = slot;
        more.worker.data[0] = static_cast<std::uint8_t>(slot >> 8U);
        more.worker.data[1] = static_cast<std::uint8_t>(slot);
        more.worker.data[2] ^= 1;
        large.slots.push_back(more);
    }
    large.round = 2;
    for (std::uint32_t slot = 0; slot < kSlots; ++slot)
        large.included.push_back({slot, digest(slot), digest(slot + 1)});
    ASSERT_TRUE(protocol::validate(large).ok());
    const auto record = protocol::unit_record(large, kSlots - 1);
    records::UnitInputs inputs = job_.inputs;
    inputs.base_steps.assign(records::kBaseStepsMax, {digest(1), digest(2)});
    records::VerifyTask verify = verify_task();
    verify.record = record;
    verify.round.reset();
    verify.deltas.clear();
    verify.earlier.reset();
    for (const std::optional<records::Task>& task :
         {std::optional<records::Task>(records::TrainTask{job_.unit(0), record, inputs, 1}),
          std::optional<records::Task>(records::PrefixTask{job_.unit(0), record, inputs, 3, 1, 99}),
          std::optional<records::Task>(verify)}) {
        v1::NextTaskResponse message;
        wire::write(task, message);
        EXPECT_LE(message.ByteSizeLong(), 4096U);
        EXPECT_TRUE(wire::read(message).value() == task);
    }
}

TEST_F(WireTest, ATaskWhoseSlotIsNotUnderItsHeadSaysSo) {
    records::TrainTask train = job_.task(0);
    train.record.assignment->steps += 1;
    v1::NextTaskResponse message;
    wire::write(std::optional<records::Task>(train), message);
    const Error error = wire::read(message).error();
    EXPECT_EQ(error.code, ErrorCode::kMalformed);
    EXPECT_NE(error.message.find("the terms of slot 0 are not under the head's slots root"),
              std::string::npos)
        << error.message;
}

TEST_F(WireTest, ATaskOfAPrefixRoundTripsAndAnAlteredOneIsMalformed) {
    const records::VerifyTask whole = verify_task();
    const records::PrefixTask task{whole.unit, whole.record, whole.inputs, 3, 1, 99};
    v1::NextTaskResponse message;
    wire::write(std::optional<records::Task>(task), message);
    EXPECT_EQ(wire::read(message).value(), std::optional<records::Task>(task));
    v1::NextTaskResponse altered = message;
    altered.mutable_prefix()->mutable_unit_record()->pop_back();
    EXPECT_EQ(wire::read(altered).error().code, ErrorCode::kMalformed);
    altered = message;
    altered.mutable_prefix()->mutable_inputs()->clear_program_blob();
    EXPECT_EQ(wire::read(altered).error().code, ErrorCode::kMalformed);
}

TEST_F(WireTest, TheStepsToABaseStateAreBoundedAndOfTwoRootsEach) {
    records::TrainTask train{job_.unit(0), job_.task(0).record, job_.inputs, 123};
    train.inputs.base_steps.assign(records::kBaseStepsMax, {digest(1), digest(2)});
    v1::NextTaskResponse message;
    wire::write(std::optional<records::Task>(train), message);
    const auto back = wire::read(message);
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(std::get<records::TrainTask>(**back).inputs, train.inputs);
    const auto error_of = [](const v1::NextTaskResponse& response) {
        const auto read = wire::read(response);
        return read.ok() ? Error{} : read.error();
    };
    v1::NextTaskResponse altered = message;
    altered.mutable_train()->mutable_inputs()->mutable_base_steps(3)->clear_update_blob();
    EXPECT_EQ(error_of(altered).code, ErrorCode::kMalformed);
    EXPECT_NE(error_of(altered).message.find("base_steps.update_blob"), std::string::npos);
    altered = message;
    altered.mutable_train()->mutable_inputs()->mutable_base_steps(0)->set_base_blob("short");
    EXPECT_EQ(error_of(altered).code, ErrorCode::kMalformed);
    altered = message;
    *altered.mutable_train()->mutable_inputs()->add_base_steps() =
        message.train().inputs().base_steps(0);
    EXPECT_EQ(error_of(altered).code, ErrorCode::kMalformed);
    EXPECT_NE(error_of(altered).message.find("base_steps: too many"), std::string::npos);
    // Every cut of the bytes is a task or an error, never anything else.
    const std::string bytes = message.SerializeAsString();
    for (std::size_t size = 0; size < bytes.size(); size += 7) {
        v1::NextTaskResponse cut;
        if (cut.ParseFromString(bytes.substr(0, size))) (void)wire::read(cut);
    }
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        std::string flipped = bytes;
        flipped[at] = static_cast<char>(flipped[at] ^ 0x15);
        v1::NextTaskResponse other;
        if (!other.ParseFromString(flipped)) continue;
        const auto read = wire::read(other);
        if (!read.ok() || !*read) continue;
        const auto* task = std::get_if<records::TrainTask>(&**read);
        if (task == nullptr) continue;
        EXPECT_LE(task->inputs.base_steps.size(), records::kBaseStepsMax);
    }
}

TEST_F(WireTest, ATaskWithAnAlteredRecordOrCommitmentIsMalformed) {
    v1::NextTaskResponse message;
    wire::write(verify_task(), message);
    v1::NextTaskResponse altered = message;
    altered.mutable_verify()->mutable_round_record()->pop_back();
    EXPECT_EQ(wire::read(altered).error().code, ErrorCode::kMalformed);
    altered = message;
    altered.mutable_verify()->mutable_signed_commitment()->push_back('x');
    EXPECT_EQ(wire::read(altered).error().code, ErrorCode::kMalformed);
    altered = message;
    altered.mutable_verify()->mutable_inputs()->clear_program_blob();
    EXPECT_EQ(wire::read(altered).error().code, ErrorCode::kMalformed);
    altered = message;
    altered.mutable_verify()->set_beacon("short");
    const Error error = wire::read(altered).error();
    EXPECT_EQ(error.code, ErrorCode::kMalformed);
    EXPECT_NE(error.message.find("beacon"), std::string::npos);
}

TEST_F(WireTest, ProfilesRoundTripAndBadOnesAreRefused) {
    const records::NodeProfile profile{records::NodeRole::kVerifier, "cpu", 8ULL << 30, 12'345,
                                       "gym 0.1.0"};
    v1::NodeProfile message;
    wire::write(profile, message);
    EXPECT_EQ(wire::read(message).value(), profile);
    v1::NodeProfile bad = message;
    bad.set_device("");
    EXPECT_EQ(wire::read(bad).error().code, ErrorCode::kMalformed);
    bad.set_device(std::string(65, 'x'));
    EXPECT_EQ(wire::read(bad).error().code, ErrorCode::kMalformed);
    bad = message;
    bad.set_role(v1::NODE_ROLE_UNSPECIFIED);
    EXPECT_EQ(wire::read(bad).error().code, ErrorCode::kMalformed);
    bad = message;
    bad.set_software_version(std::string(wire::kTextBytesMax + 1, 'x'));
    EXPECT_EQ(wire::read(bad).error().code, ErrorCode::kMalformed);
}

TEST_F(WireTest, ReportsRoundTripAndNameTheCallerAsVerifier) {
    records::ReportReveal reveal;
    protocol::Report& report = reveal.report;
    report.unit = digest(1);
    report.draw = 3;
    report.verifier = key_.address();
    report.records_root = digest(2);
    report.final_state_root = digest(3);
    report.delta_root = digest(4);
    report.trace = digest(5);
    report.challenge_signature = key_.sign_digest(digest(6));
    report.salt = digest(7);
    reveal.records = {9, 8, 7};
    v1::SubmitReportRevealRequest message;
    wire::write(reveal, message);
    const auto back = wire::read(message, key_.address());
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(back->report, report);
    EXPECT_EQ(back->records, reveal.records);
    EXPECT_FALSE(back->claim_signature) << "a verifier of before";
    reveal.claim_signature = key_.sign_digest(digest(8));
    wire::write(reveal, message);
    EXPECT_EQ(wire::read(message, key_.address())->claim_signature, reveal.claim_signature);
    v1::SubmitReportRevealRequest cut = message;
    cut.mutable_claim_signature()->pop_back();
    EXPECT_EQ(wire::read(cut, key_.address()).error().code, ErrorCode::kMalformed);
    const Address thief = testing::test_key(9).address();
    EXPECT_EQ(wire::read(message, thief)->report.verifier, thief);
}

TEST_F(WireTest, StatusWithUnitsAndReceiptsRoundTrips) {
    records::UnitReceipt unit;
    unit.key = job_.unit(0);
    unit.id = protocol::unit_id(unit.key);
    unit.worker = key_.address();
    unit.status.state = protocol::UnitState::kRejected;
    unit.status.deadline_ms = 5;
    unit.status.late = true;
    unit.reason_code = "step_differs";
    unit.reason = "step 3 differs";
    unit.inclusion = records::InclusionReceipt{4, digest(1), 1, 3, {digest(2), digest(3)}};
    unit.commitment = commitment();
    records::NodeStatus status;
    status.address = key_.address();
    status.excluded_because = "step 3 differs";
    status.units_final = 7;
    status.units_rejected = 1;
    status.challenges = 40;
    status.uptime_ppm = 999'000;
    status.open_units = {unit};
    status.recent_units = {unit, unit};
    v1::NodeStatus message;
    wire::write(status, message);
    EXPECT_EQ(wire::read(message).value(), status);
    message.mutable_recent_units(0)->set_state("no such state");
    EXPECT_EQ(wire::read(message).error().code, ErrorCode::kMalformed);
    message.mutable_recent_units(0)->set_state("final");
    message.mutable_recent_units(0)->set_kind(300);
    EXPECT_EQ(wire::read(message).error().code, ErrorCode::kMalformed);
    message.mutable_recent_units(0)->set_kind(1);
    message.mutable_recent_units(0)->mutable_signed_commitment()->push_back('x');
    EXPECT_EQ(wire::read(message).error().code, ErrorCode::kMalformed);
}

TEST_F(WireTest, SubmissionsAndNetworkFactsRoundTrip) {
    v1::SubmitCommitmentRequest request;
    wire::write(records::CommitmentSubmission{commitment(), {1, 2, 3}}, request);
    const auto submission = wire::read(request);
    ASSERT_TRUE(submission.ok());
    EXPECT_EQ(submission->commitment, commitment());
    EXPECT_EQ(submission->records, (Bytes{1, 2, 3}));
    records::NetworkDescription info{31337, key_.address(), 5, 6, 7, "v", 2, {}, {}, {}, {}, {}, {},
                                     {}};
    v1::GetNetworkResponse response;
    wire::write(info, response);
    const auto back = wire::read(response);
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(back->commitment_log, info.commitment_log);
    EXPECT_EQ(back->chain_id, 31337u);
    EXPECT_TRUE(back->stake.is_zero() && back->dispute_game.is_zero()) << "a coordinator of before";
    EXPECT_TRUE(back->minimum_stake.is_zero());
    info.stake.data.fill(1);
    info.dispute_game.data.fill(2);
    info.minimum_stake = Amount::parse_tokens("123456789.5").value();
    EXPECT_TRUE(back->verifier_stake.is_zero() && back->report_game.is_zero());
    EXPECT_TRUE(back->minimum_verifier_stake.is_zero());
    info.verifier_stake.data.fill(3);
    info.report_game.data.fill(4);
    info.minimum_verifier_stake = Amount(7);
    v1::GetNetworkResponse staked;
    wire::write(info, staked);
    EXPECT_EQ(wire::read(staked)->stake, info.stake);
    EXPECT_EQ(wire::read(staked)->dispute_game, info.dispute_game);
    EXPECT_EQ(wire::read(staked)->minimum_stake, info.minimum_stake);
    EXPECT_EQ(wire::read(staked)->verifier_stake, info.verifier_stake);
    EXPECT_EQ(wire::read(staked)->report_game, info.report_game);
    EXPECT_EQ(wire::read(staked)->minimum_verifier_stake, info.minimum_verifier_stake);
    EXPECT_TRUE(wire::read(staked)->mirrors.empty());
    info.mirrors = {"https://mirror.example", "http://192.0.2.7:7690/gym"};
    v1::GetNetworkResponse mirrored;
    wire::write(info, mirrored);
    EXPECT_EQ(wire::read(mirrored)->mirrors, info.mirrors);
    *mirrored.mutable_mirrors(0) = std::string(5'000, 'x');
    EXPECT_EQ(wire::read(mirrored).error().code, ErrorCode::kMalformed);
    for (std::size_t i = 0; i < records::kMirrorsMax; ++i)
        staked.add_mirrors("http://a");
    EXPECT_TRUE(wire::read(staked).ok());
    staked.add_mirrors("http://a");
    EXPECT_EQ(wire::read(staked).error().code, ErrorCode::kMalformed) << "one too many";
    staked.clear_mirrors();
    staked.set_minimum_stake_wei("short");
    EXPECT_EQ(wire::read(staked).error().code, ErrorCode::kMalformed);
    response.set_commitment_log("short");
    EXPECT_EQ(wire::read(response).error().code, ErrorCode::kMalformed);
}

}  // namespace
}  // namespace gym::rpc
