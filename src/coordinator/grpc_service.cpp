#include "gym/coordinator/grpc_service.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "gym/registry/blob_access.hpp"
#include "gym/registry/nodes.hpp"
#include "gym/registry/retention.hpp"
#include "gym/registry/rounds.hpp"
#include "gym/rpc/upload_ticket.hpp"

namespace gym::coordinator {
namespace {

Error no_blob(const Digest& root) {
    return fail(ErrorCode::kNotFound,
                "no blob " + root.hex() +
                    " for this node: blobs that are not public go to nodes that hold a task of "
                    "their job");
}

Status check_length(std::uint64_t size_bytes, std::uint64_t bytes_max) {
    if (size_bytes <= bytes_max) return {};
    return fail(ErrorCode::kOutOfRange,
                "no delta of this unit is longer than " + std::to_string(bytes_max) + " bytes");
}

}  // namespace

Result<records::NetworkDescription> GrpcService::network() {
    records::NetworkDescription out = network_;
    out.server_ms = clock_.now_ms();
    out.mirrors = mirrors();
    return out;
}

std::vector<std::string> GrpcService::mirrors() {
    const std::scoped_lock lock(mirrors_mutex_);
    return mirrors_.value_or(network_.mirrors);
}

void GrpcService::set_mirrors(std::vector<std::string> mirrors) {
    const std::scoped_lock lock(mirrors_mutex_);
    mirrors_ = std::move(mirrors);
}

Result<std::optional<registry::Node>> GrpcService::find_node(const Address& address) {
    return database_.transact([&](db::Transaction& tx) { return registry::find_node(tx, address); },
                              {.read_only = true});
}

Result<bool> GrpcService::is_registered(const Address& address) {
    GYM_TRY(const auto node, find_node(address));
    return node.has_value();
}

Result<std::vector<Address>> GrpcService::registered_nodes() {
    return database_.transact(
        [](db::Transaction& tx) { return registry::node_addresses(tx, kKnownNodesMax); },
        {.read_only = true});
}

Result<bool> GrpcService::register_node(const Address& caller,
                                        const records::NodeProfile& profile) {
    GYM_TRY(const auto known, find_node(caller));
    if (known && known->excluded)
        return fail(ErrorCode::kPermissionDenied, "excluded: " + known->excluded_reason);
    registry::NewNode node;
    node.address = caller;
    node.owner = caller;
    node.profile = profile;
    GYM_CHECK(core_.register_node(node));
    return !known.has_value();
}

std::vector<Result<records::HeartbeatAnswer>> GrpcService::heartbeats(
    std::span<const rpc::ArrivedBeat> beats) {
    std::vector<Beat> out;
    out.reserve(beats.size());
    for (const rpc::ArrivedBeat& arrived : beats)
        out.push_back({arrived.caller, arrived.at_ms, arrived.beat.answer});
    return core_.heartbeats(out);
}

Status GrpcService::leave(const Address& caller) {
    return core_.leave(caller);
}

std::vector<Result<std::optional<records::Task>>> GrpcService::next_tasks(
    std::span<const Address> callers, std::span<const Digest> computed) {
    return core_.next_tasks(callers, computed);
}

Result<bool> GrpcService::may_fetch(const Address& caller, const Digest& root) {
    return database_.transact(
        [&](db::Transaction& tx) {
            return registry::may_fetch_blob(tx, caller, root, clock_.now_ms() - tasks_kept_ms_);
        },
        {.read_only = true});
}

/// A root that nobody stored and one that is not for this node get the same answer: roots follow
/// from contents, and whoever guesses a text must not learn here that it is private data.
Result<std::shared_ptr<const blob::BlobReader>> GrpcService::open_blob(const Address& caller,
                                                                       const Digest& root) {
    GYM_TRY(const bool allowed, may_fetch(caller, root));
    if (!allowed) return refuse_blob(caller, root);
    auto content = blobs_.open_reader(root);
    if (!content.ok() && content.error().code == ErrorCode::kNotFound) return lost_blob(root);
    if (!content.ok()) return content.error();
    blob_bytes_ += (*content)->size();
    return std::shared_ptr<const blob::BlobReader>(*std::move(content));
}

/// To those who may have it.
Error GrpcService::lost_blob(const Digest& root) {
    const auto why = database_.transact(
        [&](db::Transaction& tx) { return registry::why_pruned(tx, root); }, {.read_only = true});
    return why.ok() && *why ? fail(ErrorCode::kNotFound, **why) : no_blob(root);
}

Error GrpcService::refuse_blob(const Address& caller, const Digest& root) {
    spdlog::warn("refused blob {} to {}, which holds no task that needs it", root.hex(),
                 caller.hex());
    const Status counted = database_.transact(
        [&](db::Transaction& tx) { return registry::count_refused_blob(tx, caller); });
    if (!counted.ok()) spdlog::warn("the refusal is not counted: {}", counted.error().message);
    return no_blob(root);
}

Status GrpcService::allow_upload(const Address& caller, const Digest& root,
                                 std::uint64_t size_bytes) {
    if (size_bytes > network_.blob_bytes_max)
        return fail(
            ErrorCode::kOutOfRange,
            "blobs of at most " + std::to_string(network_.blob_bytes_max) + " bytes are accepted");
    // A repeat after a lost answer, or what no mirror gave.
    GYM_TRY(const auto committed, core_.committed_delta_bytes(caller, root));
    if (committed) return check_length(size_bytes, *committed);
    GYM_CHECK(check_upload(caller, root, size_bytes, kUploadsPerUnitMax));
    return {};
}

Result<UploadLimit> GrpcService::check_upload(const Address& caller, const Digest& root,
                                              std::uint64_t size_bytes, std::size_t roots_max) {
    GYM_TRY(const auto limit, core_.upload_limit(caller));
    if (!limit)
        return fail(
            ErrorCode::kPermissionDenied,
            "only a worker with a unit to commit may upload, " + caller.hex() + " has none");
    GYM_CHECK(check_length(size_bytes, limit->bytes_max));
    GYM_CHECK(count_upload(caller, limit->unit, root, roots_max));
    return *limit;
}

Result<rpc::UploadPermit> GrpcService::permit_upload(const Address& caller, const Digest& root,
                                                     std::uint64_t size_bytes) {
    // One: another mirror is told to fetch it there (DeltaCopier).
    rpc::UploadPermit permit{{}, mirrors(), 1};
    if (permit.mirrors.empty() || ticket_key_ == nullptr) return rpc::UploadPermit{};
    GYM_TRY(const UploadLimit limit, check_upload(caller, root, size_bytes, kTicketsPerUnitMax));
    if (!limit.is_public) return rpc::UploadPermit{};
    const rpc::UploadTicket ticket{caller, root, size_bytes, clock_.now_ms() + rpc::kTicketMs, {}};
    permit.ticket = rpc::encode(rpc::sign_ticket(network_.domain(), ticket, *ticket_key_));
    return permit;
}

Status GrpcService::name_delta(const Address& caller, const Digest& root,
                               const std::vector<std::string>& named) {
    // It is fetched there: a worker must not send the coordinator to any other place.
    const std::vector<std::string> known = mirrors();
    for (const std::string& mirror : named)
        if (std::ranges::find(known, mirror) == known.end())
            return fail(ErrorCode::kInvalidArgument,
                        "the network names no such mirror (any more): upload the delta to the "
                        "coordinator, or ask for a new permit");
    return core_.name_delta(caller, root, named);
}

Result<std::vector<Digest>> GrpcService::wanted_deltas(const Address& caller) {
    GYM_TRY(auto roots, core_.wanted_deltas(caller));
    if (roots.size() > rpc::kWantedDeltasMax) roots.resize(rpc::kWantedDeltasMax);
    return roots;
}

Status GrpcService::count_upload(const Address& caller, const Digest& unit, const Digest& root,
                                 std::size_t roots_max) {
    const std::scoped_lock lock(uploads_mutex_);
    Uploads& uploads = uploads_[caller];
    if (uploads.unit != unit) uploads = {unit, {}};
    if (uploads.roots.contains(root)) return {};
    if (uploads.roots.size() >= roots_max)
        return fail(ErrorCode::kPermissionDenied, "a unit has one delta; this one had " +
                                                      std::to_string(uploads.roots.size()) +
                                                      " different uploads already");
    uploads.roots.insert(root);
    return {};
}

Status GrpcService::put_blob(const Address& caller, const blob::VerifiedBlob& blob) {
    uploaded_bytes_ += blob.bytes().size();
    GYM_CHECK(blobs_.put(blob));
    return core_.note_upload(caller, blob.root());
}

Result<records::CommitmentAck> GrpcService::submit_commitment(
    const Address& caller, const records::CommitmentSubmission& submission) {
    return core_.commit_unit(caller, submission.commitment, submission.records);
}

Result<Bytes> GrpcService::submit_report_commit(const Address& caller,
                                                const records::ReportCommit& commit) {
    return core_.commit_report(caller, commit.unit, commit.draw, commit.report_digest);
}

Result<bool> GrpcService::submit_report_reveal(const Address&,
                                               const records::ReportReveal& reveal) {
    // The caller is in the report: the server put it there after it checked the signature.
    GYM_TRY(const RevealOutcome outcome,
            core_.reveal_report(reveal.report, reveal.records, reveal.claim_signature));
    return outcome.equal;
}

Status GrpcService::submit_prefix(const Address& caller, const protocol::SignedPrefix& prefix) {
    GYM_TRY(const auto node, find_node(caller));
    if (node && node->profile.role == records::NodeRole::kVerifier)
        return core_.report_prefix(caller, prefix);
    return core_.keep_prefix(caller, prefix);
}

Status GrpcService::defend_unit(const Address& caller, const Digest& unit) {
    return core_.defend(caller, unit);
}

Result<records::NodeStatus> GrpcService::node_status(const Address&, const Address& subject) {
    return core_.node_status(subject);
}

Result<protocol::RoundRecord> GrpcService::round_record(const Address&, const Digest& job_id,
                                                        std::uint64_t round) {
    GYM_TRY(const registry::Round found,
            database_.transact(
                [&](db::Transaction& tx) { return registry::get_round(tx, job_id, round); },
                {.read_only = true}));
    return found.record;
}

Result<records::UnitReceipt> GrpcService::unit(const Address&, const Digest& unit_id) {
    return core_.unit_receipt(unit_id);
}

}  // namespace gym::coordinator
