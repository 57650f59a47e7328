#include "routes.hpp"

#include <algorithm>
#include <boost/json/serialize.hpp>

#include "gym/api/statement.hpp"
#include "views.hpp"

namespace gym::api {
namespace {

namespace json = boost::json;
constexpr std::uint64_t kListMax = 1000;
constexpr std::uint64_t kListDefault = 100;
constexpr std::uint64_t kEpochMax = std::uint64_t{1} << 53;

Response ok(const json::object& object) {
    return json_response(200, json::serialize(object));
}

const Parameter kLimit{"limit", "Page size, at most 1000 (default 100)."};

Result<Response> list_nodes(RouteContext& context, const Call& call) {
    registry::NodeFilter filter;
    GYM_TRY(const std::uint64_t limit, call.number("limit", kListMax, kListDefault));
    filter.limit = static_cast<std::uint32_t>(limit);
    if (call.has("role")) {
        GYM_TRY(filter.role, records::parse_node_role(call.query.find("role")->second));
    }
    if (call.has("owner")) {
        GYM_TRY(filter.owner, call.address("owner"));
    }
    if (call.has("after")) {
        GYM_TRY(filter.after, call.address("after"));
    }
    GYM_TRY(const auto nodes, context.with.queries.nodes(filter));
    const UnixMs live_since = context.with.clock.now_ms() - context.options.node_live_ms;
    json::array out;
    for (const registry::Node& node : nodes)
        out.push_back(to_json(node, !node.left && node.last_seen_at_ms >= live_since));
    return ok({{"nodes", std::move(out)}});
}

Result<Response> list_jobs(RouteContext& context, const Call& call) {
    registry::JobFilter filter;
    GYM_TRY(const std::uint64_t limit, call.number("limit", kListMax, kListDefault));
    GYM_TRY(const std::uint64_t offset, call.number("offset", 1'000'000, 0));
    filter.limit = static_cast<std::uint32_t>(limit);
    filter.offset = static_cast<std::uint32_t>(offset);
    if (call.has("owner")) {
        GYM_TRY(filter.owner, call.address("owner"));
    }
    if (call.has("status")) {
        GYM_TRY(filter.status, registry::parse_job_status(call.query.find("status")->second));
    }
    filter.viewer = viewer_of(call);
    GYM_TRY(const auto jobs, context.with.queries.jobs(filter));
    return ok({{"jobs", to_json_list(jobs, filter.viewer)}});
}

Result<Response> list_datasets(RouteContext& context, const Call& call) {
    registry::DatasetFilter filter;
    GYM_TRY(const std::uint64_t limit, call.number("limit", kListMax, kListDefault));
    GYM_TRY(const std::uint64_t offset, call.number("offset", 1'000'000, 0));
    filter.limit = static_cast<std::uint32_t>(limit);
    filter.offset = static_cast<std::uint32_t>(offset);
    if (call.has("owner")) {
        GYM_TRY(filter.owner, call.address("owner"));
    }
    filter.viewer = viewer_of(call);
    GYM_TRY(const auto datasets, context.with.queries.datasets(filter));
    return ok({{"datasets", to_json_list(datasets, filter.viewer)}});
}

Result<Response> list_units(RouteContext& context, const Call& call) {
    registry::UnitFilter filter;
    GYM_TRY(const std::uint64_t limit, call.number("limit", kListMax, kListDefault));
    filter.limit = static_cast<std::uint32_t>(limit);
    if (call.has("job")) {
        GYM_TRY(filter.job_id, call.digest("job"));
    }
    if (call.has("round")) {
        GYM_TRY(filter.round, call.number("round", 1'000'000, 0));
    }
    if (call.has("worker")) {
        GYM_TRY(filter.worker, call.address("worker"));
    }
    if (call.has("state")) {
        GYM_TRY(const auto state, protocol::parse_unit_state(call.query.find("state")->second));
        filter.states.push_back(state);
    }
    GYM_TRY(const auto units, context.with.queries.units(filter));
    return ok({{"units", to_json_list(units)}});
}

/// @errors kUnavailable while the key's owner has enough of them under way.
Result<ReadsInFlight::Read> begin_statement(RouteContext& context, const Call& call) {
    auto read = context.statements.begin(*call.owner);
    if (read) return *std::move(read);
    return fail(ErrorCode::kUnavailable,
                "other statements or proofs of this owner are being read; ask again");
}

Result<Response> transfer_proof(RouteContext& context, const Call& call) {
    const auto id = ledger::parse_uuid(call.path.find("id")->second);
    if (!id.ok())
        return fail(ErrorCode::kMalformed, "'id' must be a transfer's id: a UUID, 8-4-4-4-12");
    GYM_TRY([[maybe_unused]] const ReadsInFlight::Read read, begin_statement(context, call));
    GYM_TRY(const auto proof, context.with.queries.transfer_proof(*call.owner, *id));
    // Exactly these bytes: they can be kept and checked without this service.
    return json_response(200, ledger::encode_proof(proof));
}

void add_account_routes(Router& router, RouteContext& context) {
    router.add({.method = "GET",
                .pattern = "/v1/accounts/{address}",
                .id = "getAccount",
                .summary = "Balances of an address and its last credits.",
                .path = {{"address", "An Ethereum address."}},
                .schema = "Account",
                .run = [&context](const Call& call) -> Result<Response> {
                    GYM_TRY(const Address address, call.address("address"));
                    GYM_TRY(const AccountView view, context.with.queries.account(address));
                    return ok(to_json(view));
                }});
    router.add({.method = "GET",
                .pattern = "/v1/rewards/{address}/proof",
                .id = "getRewardProof",
                .summary = "The arguments of RewardsDistributor.claim() for an earner.",
                .path = {{"address", "The earner's address."}},
                .schema = "RewardProof",
                .run = [&context](const Call& call) -> Result<Response> {
                    GYM_TRY(const Address address, call.address("address"));
                    GYM_TRY(const auto proof, context.with.queries.proof(address));
                    return ok(to_json(address, proof, context.options.network));
                }});
    router.add({.method = "GET",
                .pattern = "/v1/receipts/{id}",
                .id = "getReceipt",
                .summary = "Explains a credit: unit, formula, inputs, posting.",
                .path = {{"id", "The credit's id, or a unit's id for its compute credit."}},
                .schema = "Receipt",
                .run = [&context](const Call& call) -> Result<Response> {
                    GYM_TRY(const auto receipt,
                            context.with.queries.receipt(call.path.find("id")->second));
                    return ok(to_json(receipt));
                }});
    router.add({.method = "GET",
                .pattern = "/v1/transfers/{id}/proof",
                .id = "getTransferProof",
                .summary = "A proof that a transfer is in the ledger, under a signed seal. `gym "
                           "ledger verify --proof` checks it offline. For the owner of one of its "
                           "two accounts, or of the job that one belongs to; 403 for others. 409 "
                           "until a seal covers it, which takes about a second.",
                .path = {{"id", "The transfer's id: the `id` or `posting` of a receipt."}},
                .needs_key = true,
                .schema = "TransferProof",
                .run = [&context](const Call& call) { return transfer_proof(context, call); }});
}

void add_epoch_routes(Router& router, RouteContext& context) {
    router.add({.method = "GET",
                .pattern = "/v1/epochs",
                .id = "listEpochs",
                .summary = "Payout epochs, newest first.",
                .query = {kLimit},
                .schema = "EpochList",
                .run = [&context](const Call& call) -> Result<Response> {
                    GYM_TRY(const auto limit, call.number("limit", kListMax, kListDefault));
                    GYM_TRY(const auto epochs,
                            context.with.queries.epochs(static_cast<std::uint32_t>(limit)));
                    return ok({{"epochs", to_json_list(epochs)}});
                }});
    router.add({.method = "GET",
                .pattern = "/v1/epochs/{epoch}/file",
                .id = "getEpochFile",
                .summary = "The file behind an epoch's payout root, byte for byte: its hash is on "
                           "chain.",
                .path = {{"epoch", "The payout epoch's number."}},
                .run = [&context](const Call& call) -> Result<Response> {
                    GYM_TRY(const auto epoch, call.number("epoch", kEpochMax, 0));
                    Response response;
                    GYM_TRY(response.body, context.with.queries.epoch_file(epoch));
                    return response;
                }});
}

void add_node_routes(Router& router, RouteContext& context) {
    router.add({.method = "GET",
                .pattern = "/v1/nodes",
                .id = "listNodes",
                .summary = "Registered nodes, ascending by address.",
                .query = {{"role", "worker or verifier."},
                          {"owner", "Only nodes of this owner."},
                          {"after", "Only nodes after this address."},
                          kLimit},
                .schema = "NodeList",
                .run = [&context](const Call& call) { return list_nodes(context, call); }});
    router.add({.method = "GET",
                .pattern = "/v1/nodes/{address}",
                .id = "getNode",
                .summary = "A node, and why it is excluded if it is.",
                .path = {{"address", "The node's address."}},
                .schema = "Node",
                .run = [&context](const Call& call) -> Result<Response> {
                    GYM_TRY(const Address address, call.address("address"));
                    GYM_TRY(const auto node, context.with.queries.node(address));
                    const UnixMs now = context.with.clock.now_ms();
                    return ok(to_json(node, !node.left && node.last_seen_at_ms >=
                                                              now - context.options.node_live_ms));
                }});
}

void add_job_routes(Router& router, RouteContext& context) {
    router.add({.method = "GET",
                .pattern = "/v1/jobs",
                .id = "listJobs",
                .summary = "Jobs whose model is public, and with an API key those whose model its "
                           "owner may see; newest first.",
                .query = {{"owner", "Only jobs of this owner."},
                          {"status", "submitted, running, paused, completed, cancelled or failed."},
                          {"offset", "Number of items to skip."},
                          kLimit},
                .takes_key = true,
                .schema = "JobList",
                .run = [&context](const Call& call) { return list_jobs(context, call); }});
    router.add({.method = "GET",
                .pattern = "/v1/jobs/{id}",
                .id = "getJob",
                .summary = "A job: status, rounds and losses, cost, disputes and rejections. Open "
                           "to everybody, because payments are audited with it; the name only to "
                           "those who may see the model.",
                .path = {{"id", "The job's id."}},
                .takes_key = true,
                .schema = "JobDetail",
                .run = [&context](const Call& call) -> Result<Response> {
                    GYM_TRY(const Digest id, call.digest("id"));
                    GYM_TRY(const JobView view, context.with.queries.job(id));
                    return ok(to_json(view, viewer_of(call)));
                }});
}

void add_bill_routes(Router& router, RouteContext& context) {
    router.add({.method = "GET",
                .pattern = "/v1/jobs/{id}/bill",
                .id = "getJobBill",
                .summary = "A job's payments by kind of credit. The posted sums add up to its "
                           "`spent_wei`.",
                .path = {{"id", "The job's id."}},
                .schema = "JobBill",
                .run = [&context](const Call& call) -> Result<Response> {
                    GYM_TRY(const Digest id, call.digest("id"));
                    GYM_TRY(const JobBill bill, context.with.queries.bill(id));
                    return ok(to_json(bill));
                }});
    router.add({.method = "GET",
                .pattern = "/v1/units/{id}/credits",
                .id = "listUnitCredits",
                .summary = "Every credit of a unit: compute, data, verification.",
                .path = {{"id", "The unit's id."}},
                .schema = "CreditList",
                .run = [&context](const Call& call) -> Result<Response> {
                    GYM_TRY(const Digest id, call.digest("id"));
                    GYM_TRY(const auto receipts, context.with.queries.unit_receipts(id));
                    return ok({{"credits", to_json_list(receipts)}});
                }});
}

void add_dataset_routes(Router& router, RouteContext& context) {
    router.add({.method = "GET",
                .pattern = "/v1/datasets",
                .id = "listDatasets",
                .summary = "List public datasets, and with an API key those that its owner may "
                           "see, newest first.",
                .query = {{"owner", "Only datasets of this owner."},
                          {"offset", "Number of items to skip."},
                          kLimit},
                .takes_key = true,
                .schema = "DatasetList",
                .run = [&context](const Call& call) { return list_datasets(context, call); }});
    router.add({.method = "GET",
                .pattern = "/v1/datasets/{root}",
                .id = "getDataset",
                .summary = "A dataset: licence, price, quality and its measurement. 404 for one "
                           "that the caller may not see, as for one that does not exist.",
                .path = {{"root", "The root of its tokens."}},
                .takes_key = true,
                .schema = "Dataset",
                .run = [&context](const Call& call) -> Result<Response> {
                    GYM_TRY(const Digest root, call.digest("root"));
                    const registry::Viewer viewer = viewer_of(call);
                    GYM_TRY(const auto dataset, context.with.queries.dataset(root, viewer));
                    return ok(to_json(dataset, viewer));
                }});
}

void add_evaluation_routes(Router& router, RouteContext& context) {
    router.add({.method = "GET",
                .pattern = "/v1/evaluations",
                .id = "listEvaluations",
                .summary = "The evaluations that measure the usefulness of datasets, newest first.",
                .query = {kLimit},
                .schema = "EvaluationList",
                .run = [&context](const Call& call) -> Result<Response> {
                    GYM_TRY(const auto limit, call.number("limit", kListMax, kListDefault));
                    GYM_TRY(const auto evaluations,
                            context.with.queries.evaluations(static_cast<std::uint32_t>(limit)));
                    return ok({{"evaluations", to_json_list(evaluations)}});
                }});
    router.add({.method = "GET",
                .pattern = "/v1/evaluations/{id}",
                .id = "getEvaluation",
                .summary = "An evaluation. Its held-out text is a commitment until it is retired.",
                .path = {{"id", "Hash of its terms."}},
                .schema = "Evaluation",
                .run = [&context](const Call& call) -> Result<Response> {
                    GYM_TRY(const Digest id, call.digest("id"));
                    GYM_TRY(const auto evaluation, context.with.queries.evaluation(id));
                    return ok(to_json(evaluation));
                }});
}

void add_unit_routes(Router& router, RouteContext& context) {
    router.add({.method = "GET",
                .pattern = "/v1/units",
                .id = "listUnits",
                .summary = "Units, newest round first.",
                .query = {{"job", "Only units of this job."},
                          {"round", "Only units of this round."},
                          {"worker", "Only units of this worker."},
                          {"state", "Only units in this state."},
                          kLimit},
                .schema = "UnitList",
                .run = [&context](const Call& call) { return list_units(context, call); }});
    router.add({.method = "GET",
                .pattern = "/v1/units/{id}",
                .id = "getUnit",
                .summary = "A unit: its states, the reports on it, and the reason of its end.",
                .path = {{"id", "The unit's id."}},
                .schema = "UnitDetail",
                .run = [&context](const Call& call) -> Result<Response> {
                    GYM_TRY(const Digest id, call.digest("id"));
                    GYM_TRY(const UnitView view, context.with.queries.unit(id));
                    return ok(to_json(view));
                }});
}

}  // namespace

void add_read_routes(Router& router, RouteContext& context) {
    add_account_routes(router, context);
    add_epoch_routes(router, context);
    add_node_routes(router, context);
    add_job_routes(router, context);
    add_bill_routes(router, context);
    add_dataset_routes(router, context);
    add_evaluation_routes(router, context);
    add_unit_routes(router, context);
}

// Records that nodes signed, for auditors (docs/REWARDS.md, "Auditing an epoch").

namespace {

constexpr std::uint64_t kOffsetMax = 10'000'000;
constexpr std::uint64_t kRoundMax = 1'000'000;
constexpr std::uint64_t kTimeMax = std::uint64_t{1} << 53;

const std::vector<Parameter> kPaging{{"offset", "Number of items to skip."},
                                     {"limit", "Page size, at most 1000."}};
const std::vector<Parameter> kRoundPath{{"id", "The job's id."}, {"round", "From 1."}};

Result<registry::Page> page_of(const Call& call) {
    GYM_TRY(const std::uint64_t offset, call.number("offset", kOffsetMax, 0));
    GYM_TRY(const std::uint64_t limit, call.number("limit", kListMax, kListMax));
    return registry::Page{static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(limit)};
}

/// One page of something that a round has.
template <class Read>
Result<Response> list_of_round(const Call& call, const char* name, Read&& read) {
    GYM_TRY(const Digest job, call.digest("id"));
    GYM_TRY(const std::uint64_t round, call.number("round", kRoundMax, 0));
    GYM_TRY(const registry::Page page, page_of(call));
    GYM_TRY(const auto items, read(job, round, page));
    return ok({{name, to_json_list(items)}});
}

Result<Response> list_challenges(RouteContext& context, const Call& call) {
    GYM_TRY(const Address node, call.address("address"));
    GYM_TRY(const std::uint64_t from, call.number("from_ms", kTimeMax, 0));
    GYM_TRY(const std::uint64_t to, call.number("to_ms", kTimeMax, kTimeMax));
    GYM_TRY(const registry::Page page, page_of(call));
    // An open challenge is told to its node alone: a node that is away could otherwise read it here
    // and wake up just to answer.
    const UnixMs until = std::min(static_cast<UnixMs>(to), context.with.clock.now_ms());
    GYM_TRY(const auto challenges,
            context.with.queries.challenges(node, static_cast<UnixMs>(from), until, page));
    return ok({{"challenges", to_json_list(challenges)}});
}

void add_price_routes(Router& router, RouteContext& context) {
    router.add({.method = "GET",
                .pattern = "/v1/fee",
                .id = "getFee",
                .summary =
                    "The fee that jobs pay on top of their credits as of now, and the bounds on "
                    "their costs.",
                .schema = "Fee",
                .run = [&context](const Call&) -> Result<Response> {
                    GYM_TRY(const NetworkTerms terms, context.with.queries.terms());
                    return ok(to_json(terms));
                }});
    router.add({.method = "GET",
                .pattern = "/v1/market",
                .id = "getMarket",
                .summary = "What jobs pay for a PFLOP, private ones included.",
                .schema = "Market",
                .run = [&context](const Call&) -> Result<Response> {
                    GYM_TRY(const Market market, context.with.queries.market());
                    return ok(to_json(market));
                }});
}

}  // namespace

void add_evidence_routes(Router& router, RouteContext& context) {
    router.add({.method = "GET",
                .pattern = "/v1/jobs/{id}/rounds/{round}",
                .id = "getRound",
                .summary = "A round: its record, whose hash is on chain, and the coordinator's "
                           "signed commitment to its aggregate.",
                .path = kRoundPath,
                .schema = "RoundDetail",
                .run = [&context](const Call& call) -> Result<Response> {
                    GYM_TRY(const Digest job, call.digest("id"));
                    GYM_TRY(const std::uint64_t round, call.number("round", kRoundMax, 0));
                    GYM_TRY(const RoundView view, context.with.queries.round(job, round));
                    return ok(to_json(view));
                }});
    router.add({.method = "GET",
                .pattern = "/v1/jobs/{id}/rounds/{round}/commitments",
                .id = "listCommitments",
                .summary = "Signed commitments of a sealed round, in the order of the leaves under "
                           "its root on chain.",
                .path = kRoundPath,
                .query = kPaging,
                .schema = "CommitmentList",
                .run = [&context](const Call& call) {
                    return list_of_round(call, "commitments", [&](const auto&... at) {
                        return context.with.queries.commitments(at...);
                    });
                }});
    router.add({.method = "GET",
                .pattern = "/v1/jobs/{id}/rounds/{round}/reports",
                .id = "listReports",
                .summary = "Revealed reports on the ended units of a round.",
                .path = kRoundPath,
                .query = kPaging,
                .schema = "SignedReportList",
                .run = [&context](const Call& call) {
                    return list_of_round(call, "reports", [&](const auto&... at) {
                        return context.with.queries.reports(at...);
                    });
                }});
    router.add({.method = "GET",
                .pattern = "/v1/jobs/{id}/rounds/{round}/prefixes",
                .id = "listPrefixes",
                .summary = "What was decided about the first steps of units of a round that ended "
                           "without a commitment.",
                .path = kRoundPath,
                .query = kPaging,
                .schema = "PrefixList",
                .run = [&context](const Call& call) {
                    return list_of_round(call, "prefixes", [&](const auto&... at) {
                        return context.with.queries.prefixes(at...);
                    });
                }});
    router.add(
        {.method = "GET",
         .pattern = "/v1/nodes/{address}/challenges",
         .id = "listChallenges",
         .summary = "Uptime challenges to a node whose deadlines have passed, with its "
                    "signed answers, oldest first.",
         .path = {{"address", "The node's address."}},
         .query = {{"from_ms", "Only challenges issued at or after this moment (default 0)."},
                   {"to_ms", "Only challenges with a deadline before this moment (default now)."},
                   kPaging[0],
                   kPaging[1]},
         .schema = "ChallengeList",
         .run = [&context](const Call& call) { return list_challenges(context, call); }});
    add_price_routes(router, context);
}

// An owner's transfers.

namespace {

Result<Response> list_transfers(RouteContext& context, const Call& call) {
    StatementFilter filter;
    GYM_TRY(filter.owner, call.address("address"));
    if (filter.owner != *call.owner)
        return fail(ErrorCode::kPermissionDenied,
                    "the API key belongs to " + call.owner->hex() +
                        ": it cannot read the transfers of another owner");
    GYM_TRY(filter.before, call.number("before", StatementFilter::kNewest, filter.before));
    GYM_TRY(const std::uint64_t limit, call.number("limit", kListMax, kListDefault));
    if (limit == 0) return fail(ErrorCode::kMalformed, "'limit' must be 1 to 1000");
    filter.limit = static_cast<std::uint32_t>(limit);
    GYM_TRY([[maybe_unused]] const ReadsInFlight::Read read, begin_statement(context, call));
    GYM_TRY(const auto lines, context.with.queries.statement(filter));
    const bool more = lines.size() == filter.limit;
    return json_response(
        200, json::serialize(json::object{
                 {"transfers", to_json_list(lines)},
                 {"next_before", more ? json::value(lines.back().seq) : json::value(nullptr)}}));
}

}  // namespace

void add_statement_routes(Router& router, RouteContext& context) {
    router.add(
        {.method = "GET",
         .pattern = "/v1/accounts/{address}/transfers",
         .id = "listTransfers",
         .summary = "An owner's transfers, newest first: those of the address's accounts "
                    "and of the escrows of its jobs. For the API key of that address; 403 "
                    "for others.",
         .path = {{"address", "An Ethereum address."}},
         .query = {{"before",
                    "Only transfers with a smaller `seq`: the `next_before` of "
                    "the page before. New transfers do not move the pages behind the first."},
                   {"limit", "Page size, 1 to 1000 (default 100)."}},
         .needs_key = true,
         .schema = "TransferList",
         .run = [&context](const Call& call) { return list_transfers(context, call); }});
}

}  // namespace gym::api
