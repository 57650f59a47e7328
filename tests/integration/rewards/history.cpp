#include "history.hpp"

#include <cstdio>
#include <cstdlib>

#include "gym/commit/merkle.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/ledger/ledger.hpp"
#include "gym/registry/challenges.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/registry/nodes.hpp"
#include "gym/rewards/accounting.hpp"
#include "manual_clock.hpp"

namespace gym::testing {
namespace {

constexpr std::int64_t kRoundMs = 40'000;
const Bytes kRecords = {1, 2, 3};

}  // namespace

Address test_address(std::uint8_t first, std::uint8_t last) {
    Address out;
    out.data.front() = first;
    out.data.back() = last;
    return out;
}

Digest test_digest(std::string_view of) {
    return commit::sha256(as_bytes(of));
}

Status accept_orders(db::Transaction& tx, const std::string& asset, const Digest& job, UnixMs now) {
    GYM_TRY(const auto orders, registry::orders_of_job(tx, job));
    for (const registry::StoredOrder& order : orders) {
        if (order.state != registry::OrderState::kWaiting) continue;
        ledger::TransferRequest reserved;
        reserved.id =
            ledger::transfer_id(std::string(order.is_funding() ? "job-funding:" : "job-order:") +
                                order.owner().hex() + ":" + order.nonce().hex());
        reserved.kind = ledger::TransferKind::kPending;
        GYM_TRY(reserved.debit,
                ledger::open_account(tx, rewards::available_account(asset, order.owner())));
        GYM_TRY(reserved.credit, ledger::open_account(tx, rewards::escrow_account(asset, job)));
        reserved.amount = order.amount();
        GYM_TRY(const auto statuses, ledger::submit(tx, {&reserved, 1}, now));
        if (!ledger::done(statuses.at(0))) return fail(ErrorCode::kInsufficientFunds, "budget");
        GYM_CHECK(tx.exec(
            "INSERT INTO rewards.owner_lock AS l (owner, needed) VALUES ($1, $2) ON CONFLICT "
            "(owner) DO UPDATE SET needed = l.needed + excluded.needed",
            {order.owner(), order.amount()}));
        GYM_CHECK(registry::decide_order(tx, order, registry::OrderState::kLocking, "", now));
    }
    return {};
}

History::History(db::Database& registry, testing::ManualClock& clock, std::size_t workers)
    : registry_(registry), clock_(clock), workers_(workers) {
    life_.unit_ms = 60'000;
    life_.challenge_ms = 5'000;
    life_.defence_ms = 5'000;
    register_nodes();
}

void History::must(const Status& status, const char* what) const {
    if (status.ok()) return;
    std::fprintf(stderr, "history, %s: %s\n", what, status.error().message.c_str());
    std::abort();
}

crypto::PrivateKey History::key_of(std::size_t index) {
    return crypto::PrivateKey::from_bytes(test_digest("node " + std::to_string(index)).view())
        .value();
}

void History::register_nodes() {
    write("nodes", [&](db::Transaction& tx) -> Status {
        registry::NewNode node;
        for (std::size_t i = 0; i < workers_; ++i) {
            node.address = worker(i);
            node.owner = earner(i);
            GYM_CHECK(registry::register_node(tx, node, clock_.now_ms()));
        }
        node.address = verifier();
        node.owner = verifier_earner();
        node.profile.role = records::NodeRole::kVerifier;
        GYM_CHECK(registry::register_node(tx, node, clock_.now_ms()));
        return {};
    });
}

/// Lets time pass with every node but the silent ones answering what it is asked.
void History::beat(std::int64_t ms) {
    registry::ChallengePolicy policy;
    policy.answer_ms = 1'000;
    const registry::ChallengeDice dice{
        [&] { return test_digest("nonce " + std::to_string(++nonces_)); }, [] { return 5'000; }};
    for (std::int64_t passed = 0; passed < ms; passed += 5'000) {
        write("heartbeat", [&](db::Transaction& tx) -> Status {
            GYM_CHECK(registry::issue_challenges(tx, policy, dice, clock_.now_ms()));
            for (std::size_t i = 0; i < workers_; ++i)
                if (!silent.contains(i)) GYM_CHECK(answer_challenge(tx, key_of(i)));
            return {};
        });
        clock_.advance_ms(5'000);
    }
}

Status History::answer_challenge(db::Transaction& tx, const crypto::PrivateKey& node) {
    const registry::Sighting seen{node.address(), clock_.now_ms()};
    GYM_CHECK(registry::heartbeat(tx, seen.node, seen.at_ms));
    GYM_TRY(const auto challenges, registry::open_challenges(tx, {&seen, 1}));
    if (challenges.empty()) return {};
    const registry::ArrivedAnswer arrived{
        seen.node, protocol::answer_uptime(domain, node, challenges.at(seen.node)), seen.at_ms};
    GYM_TRY(const auto outcomes, registry::answer_challenges(tx, {&arrived, 1}));
    return outcomes.front() == registry::AnswerOutcome::kCounted
               ? Status()
               : Status(fail(ErrorCode::kInternal, "an answer in time did not count"));
}

registry::StateRef History::state_ref(const std::string& name) const {
    return {test_digest("root " + name), test_digest("blob " + name)};
}

Status History::register_mix(db::Transaction& tx, registry::Dataset mix) const {
    mix.owner = test_address(0x51, 1);  // who asked for it is paid nothing
    mix.tokens = 0;
    for (std::size_t i = 0; i < mix_.size(); ++i) {
        registry::Dataset part = mix;
        part.parts.clear();
        part.root = mixed_root(i);
        part.owner = mix_[i].provider;
        part.tokens = 2 * mix_[i].tokens;
        part.price_wei_per_mtoken = mix_[i].price;
        part.usefulness_ppm = mix_[i].quality_ppm;
        GYM_CHECK(registry::register_dataset(tx, part));
        mix.parts.push_back({.root = part.root, .tokens = mix_[i].tokens, .weight_ppm = 1});
        mix.tokens += mix_[i].tokens;
    }
    mix.price_wei_per_mtoken = Amount();
    mix.novelty_ppm = mix.usefulness_ppm = 0;
    GYM_CHECK(registry::register_mix(tx, mix, {.recipe = mix.root, .manifest_bytes = 1}));
    return {};
}

Digest History::submit_job(const std::string& asset, const Address& owner, const Amount& budget,
                           const Amount& price, const std::string& key) {
    registry::Dataset dataset;
    dataset.root = test_digest("dataset " + key);
    dataset.blob = test_digest("dataset blob " + key);
    dataset.owner = data_provider();
    dataset.name = "text";
    dataset.tokens = 1'000'000;
    dataset.vocabulary = 256;
    dataset.licence = "CC0-1.0";
    dataset.sample.emplace();
    dataset.price_wei_per_mtoken = data_price_;
    dataset.registered_at_ms = clock_.now_ms();
    write("dataset", [&](db::Transaction& tx) -> Status {
        if (!mix_.empty()) return register_mix(tx, dataset);
        GYM_CHECK(registry::register_dataset(tx, dataset));
        return {};
    });

    registry::NewJob job;
    job.id = registry::make_job_id(owner, key);
    job.owner = owner;
    job.name = key;
    job.spec_yaml = "{}";
    job.dataset_root = dataset.root;
    job.terms.rounds = 1'000;
    job.terms.slots_max = 64;
    job.terms.price_wei_per_pflop = price;
    job.terms.lifecycle = life_;
    job.budget_wei = budget;
    write("job", [&](db::Transaction& tx) -> Status {
        GYM_CHECK(store_job(tx, job, clock_.now_ms(), order_key ? &*order_key : nullptr));
        return accept_orders(tx, asset, job.id, clock_.now_ms());
    });
    lock_on_chain();

    registry::JobArtifacts artifacts;
    for (Digest* digest : {&artifacts.seed, &artifacts.program_root, &artifacts.program_blob,
                           &artifacts.evaluate_program_root, &artifacts.evaluate_program_blob,
                           &artifacts.logits_program_root, &artifacts.logits_program_blob,
                           &artifacts.base_state_root, &artifacts.base_state_blob,
                           &artifacts.momentum_root, &artifacts.momentum_blob})
        *digest = test_digest("artifact");
    write("start", [&](db::Transaction& tx) {
        return registry::start_job(tx, job.id, artifacts, clock_.now_ms());
    });
    return job.id;
}

Status History::advance(db::Transaction& tx, std::size_t index, const protocol::UnitEvent& event,
                        const std::optional<protocol::Reason>& reason) {
    GYM_CHECK(registry::advance(tx, ids_[index], event, life_, clock_.now_ms(), reason));
    return {};
}

Status History::commit_unit(db::Transaction& tx, const registry::Round& round, std::size_t index) {
    const protocol::UnitKey key = {job_, round_, static_cast<std::uint32_t>(index), 0};
    registry::NewUnit unit;
    unit.key = key;
    unit.worker = worker(units_[index].worker);
    unit.owner = earner(units_[index].worker);
    GYM_CHECK(registry::assign_unit(tx, unit, life_, clock_.now_ms()));
    ids_[index] = protocol::unit_id(key);
    if (has_prefix(index))
        return registry::keep_prefix(tx, ids_[index],
                                     prefix_of(round.record_hash, index, units_[index].worker),
                                     clock_.now_ms());
    if (expires(index)) return {};
    protocol::UnitCommitment commitment;
    commitment.round_record = round.record_hash;
    commitment.slot = key.slot;
    commitment.records_root = test_digest("records");
    commitment.final_state_root = test_digest("final");
    commitment.delta_root = test_digest("delta");
    commitment.steps = 1;
    commitment.tokens = kTokens;
    commitment.flops = units_[index].flops;
    const auto signed_commitment = protocol::sign(domain, commitment, key_of(units_[index].worker));
    leaves_[index] = protocol::commitment_leaf(signed_commitment);
    GYM_CHECK(
        registry::store_commitment(tx, ids_[index], signed_commitment, kRecords, clock_.now_ms()));
    return advance(tx, index, protocol::event::Committed{});
}

void History::commit_round(const Digest& job, const std::vector<PlannedUnit>& units) {
    job_ = job;
    units_ = units;
    ids_.assign(units.size(), Digest{});
    leaves_.assign(units.size(), std::nullopt);
    write("round", [&](db::Transaction& tx) -> Status {
        GYM_TRY(const auto last, registry::last_round(tx, job));
        round_ = last ? last->round + 1 : 1;
        protocol::RoundRecord record;
        record.job_id = job;
        record.round = round_;
        if (last) record.previous_record = last->record_hash;
        record.checkpoint_every = 1;
        record.tokens_per_step = kTokens;
        record.flops_per_step = units.empty() ? 0 : units.front().flops;
        for (std::size_t i = 0; i < units.size(); ++i)
            record.slots.push_back({static_cast<std::uint32_t>(i), worker(units[i].worker), kPpm,
                                    has_prefix(i) ? 4U : 1U});
        GYM_TRY(const registry::Round round,
                registry::record_round(tx, record, state_ref("base"), state_ref("momentum"),
                                       clock_.now_ms()));
        epoch_ = round.epoch;
        GYM_CHECK(registry::open_round(tx, job, round_, clock_.now_ms() + life_.unit_ms,
                                       clock_.now_ms()));
        for (std::size_t i = 0; i < units.size(); ++i)
            GYM_CHECK(commit_unit(tx, round, i));
        return {};
    });
}

Digest History::commitments_root() const {
    std::vector<Digest> leaves;
    for (std::size_t i = 0; i < leaves_.size(); ++i)
        if (leaves_[i] && !left_out.contains(i)) leaves.push_back(*leaves_[i]);
    return commit::merkle_root(leaves);
}

std::uint32_t History::commitment_count() const {
    std::uint32_t count = 0;
    for (std::size_t i = 0; i < leaves_.size(); ++i)
        count += leaves_[i] && !left_out.contains(i) ? 1 : 0;
    return count;
}

protocol::SignedPrefix History::prefix_of(const Digest& record, std::size_t index,
                                          std::size_t signer) const {
    const bool lies = units_[index].fate == Fate::kWrongPrefix && signer != kVerifierKey;
    const protocol::UnitPrefix prefix{record, static_cast<std::uint32_t>(index), 0, 1,
                                      test_digest(lies ? "another link" : "link")};
    return protocol::sign(domain, prefix, key_of(signer));
}

/// Draw, report and verdict.
Status History::decide_prefix(db::Transaction& tx, std::size_t index) {
    GYM_TRY(const registry::Round round, registry::get_round(tx, job_, round_));
    const auto found = prefix_of(round.record_hash, index, kVerifierKey);
    GYM_CHECK(registry::draw_prefix(tx, ids_[index], verifier(), clock_.now_ms() + 1));
    GYM_CHECK(registry::store_prefix_report(tx, ids_[index], {found.prefix.link, found.signature},
                                            clock_.now_ms()));
    const bool right = units_[index].fate == Fate::kPrefix;
    return registry::decide_prefix(
        tx, ids_[index],
        {right ? protocol::PrefixState::kVerified : protocol::PrefixState::kRefuted,
         units_[index].flops, true, right ? "" : "it differs"},
        clock_.now_ms());
}

/// The draw, and for a sampled unit the whole commit-reveal.
Status History::draw_unit(db::Transaction& tx, std::size_t index) {
    const Fate fate = units_[index].fate;
    if (expires(index)) return {};
    GYM_CHECK(advance(tx, index, protocol::event::Drawn{fate != Fate::kUnsampled}));
    if (fate == Fate::kUnsampled) return {};
    const bool equal = fate == Fate::kVerified;
    protocol::Report report;
    report.unit = ids_[index];
    report.verifier = verifier();
    report.records_root = test_digest(equal ? "records" : "other records");
    report.final_state_root = test_digest("final");
    report.delta_root = test_digest("delta");
    report.challenge_signature =
        key_of(kVerifierKey)
            .sign_digest(protocol::trace_challenge_digest(domain, beacon, ids_[index]));
    report.salt = test_digest("salt");
    GYM_CHECK(registry::set_verifier(tx, ids_[index], verifier()));
    GYM_CHECK(registry::store_report(tx, ids_[index], 0, verifier(),
                                     protocol::report_digest(beacon, report), clock_.now_ms()));
    GYM_CHECK(advance(tx, index, protocol::event::Reported{}));
    GYM_CHECK(registry::store_reveal(tx, report, kRecords, equal, clock_.now_ms()));
    GYM_CHECK(advance(tx, index, protocol::event::Revealed{}));
    std::optional<protocol::Reason> reason;
    if (!equal)
        reason = protocol::step_differs({job_, round_, static_cast<std::uint32_t>(index), 0}, 1,
                                        test_digest("records"), test_digest("other records"));
    return advance(tx, index, protocol::event::Compared{equal}, reason);
}

void History::finish_round() {
    std::vector<Digest> committed;
    for (std::size_t i = 0; i < units_.size(); ++i)
        if (leaves_[i] && !left_out.contains(i)) committed.push_back(ids_[i]);
    beat(kRoundMs);
    write("draws", [&](db::Transaction& tx) -> Status {
        GYM_CHECK(registry::set_epoch(tx, epoch_, committed));
        GYM_CHECK(registry::seal_round(tx, job_, round_, commitments_root(), commitment_count(),
                                       clock_.now_ms()));
        GYM_CHECK(registry::mark_posted(tx, job_, round_, posted_block, {posted_block + 1, {}}));
        GYM_CHECK(registry::set_beacon(tx, job_, round_, beacon));
        GYM_CHECK(registry::lock_feed(tx));
        for (std::size_t i = 0; i < units_.size(); ++i)
            GYM_CHECK(draw_unit(tx, i));
        return {};
    });
    bool waits_for_expiry = false;
    for (std::size_t i = 0; i < units_.size(); ++i)
        waits_for_expiry = waits_for_expiry || expires(i);
    beat(waits_for_expiry ? life_.unit_ms : life_.defence_ms + life_.challenge_ms);
    write("ends", [&](db::Transaction& tx) -> Status {
        GYM_CHECK(registry::lock_feed(tx));
        for (std::size_t i = 0; i < units_.size(); ++i)
            GYM_CHECK(advance(tx, i, protocol::event::TimePassed{}));
        for (std::size_t i = 0; i < units_.size(); ++i)
            if (has_prefix(i)) GYM_CHECK(decide_prefix(tx, i));
        registry::AggregateOutcome outcome;
        outcome.next_base = state_ref("next");
        outcome.next_momentum = state_ref("next momentum");
        outcome.validation_loss = 1;
        GYM_CHECK(registry::set_aggregated(tx, job_, round_, outcome, clock_.now_ms()));
        return registry::close_round(tx, job_, round_, clock_.now_ms());
    });
}

void History::end_job(const Digest& job) {
    write("end", [&](db::Transaction& tx) {
        return registry::set_job_status(tx, job, registry::JobStatus::kCompleted, "",
                                        clock_.now_ms());
    });
}

}  // namespace gym::testing
