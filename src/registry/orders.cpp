#include "gym/registry/orders.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "gym/common/assert.hpp"

namespace gym::registry {
namespace {

constexpr std::array<std::string_view, 4> kStateNames = {"waiting", "locking", "locked", "refused"};

constexpr std::string_view kSelectOrders =
    "SELECT s.kind, s.owner, s.nonce, s.job_id, s.amount_wei, s.state, s.reason, o.spec, "
    "o.datasets, o.price_wei_per_pflop, o.max_data_price_wei, "
    "coalesce(o.expiry_s, f.expiry_s) AS expiry_s, coalesce(o.chain_id, f.chain_id) AS chain_id, "
    "coalesce(o.escrow, f.escrow) AS escrow, coalesce(o.signature, f.signature) AS signature "
    "FROM registry.order_state s "
    "LEFT JOIN registry.job_order o ON s.kind = 'job' AND o.owner = s.owner AND o.nonce = s.nonce "
    "LEFT JOIN registry.job_funding f ON s.kind = 'funding' AND f.owner = s.owner "
    "AND f.nonce = s.nonce ";

Status expect_stored(const db::Rows& rows, const Digest& job_id) {
    if (rows.affected() == 1) return {};
    return fail(ErrorCode::kNotFound, "there is no job " + job_id.hex());
}

/// The database keeps whole roots.
std::vector<Digest> split_roots(const Bytes& joined) {
    std::vector<Digest> roots(joined.size() / sizeof(Digest));
    for (std::size_t i = 0; i < roots.size(); ++i)
        std::copy_n(joined.begin() + static_cast<std::ptrdiff_t>(i * sizeof(Digest)),
                    sizeof(Digest), roots[i].data.begin());
    return roots;
}

records::JobOrder to_job_order(const db::Row& row) {
    return {.owner = row.get<Address>("owner"),
            .spec = row.get<Digest>("spec"),
            .datasets = split_roots(row.get<Bytes>("datasets")),
            .budget_wei = row.get<Amount>("amount_wei"),
            .price_wei_per_pflop = row.get<Amount>("price_wei_per_pflop"),
            .max_data_price_wei = row.get<Amount>("max_data_price_wei"),
            .nonce = row.get<Digest>("nonce"),
            .expiry_s = row.get<std::uint64_t>("expiry_s")};
}

records::JobFunding to_funding(const db::Row& row) {
    return {.owner = row.get<Address>("owner"),
            .job = row.get<Digest>("job_id"),
            .amount_wei = row.get<Amount>("amount_wei"),
            .nonce = row.get<Digest>("nonce"),
            .expiry_s = row.get<std::uint64_t>("expiry_s")};
}

Result<StoredOrder> to_order(const db::Row& row) {
    StoredOrder out;
    out.job = row.get<Digest>("job_id");
    if (row.get<std::string>("kind") == "job")
        out.terms = to_job_order(row);
    else
        out.terms = to_funding(row);
    out.seal = {{row.get<std::uint64_t>("chain_id"), row.get<Address>("escrow")},
                row.get<std::uint64_t>("expiry_s"),
                row.get<crypto::Signature>("signature")};
    GYM_TRY(out.state, parse_order_state(row.get<std::string>("state")));
    out.reason = row.get<std::string>("reason");
    return out;
}

Result<std::vector<StoredOrder>> select_orders(db::Transaction& tx, const std::string& where,
                                               db::Params params) {
    GYM_TRY(const db::Rows rows, tx.exec(std::string(kSelectOrders) + where, params));
    std::vector<StoredOrder> out;
    out.reserve(rows.size());
    for (const db::Row row : rows) {
        GYM_TRY(StoredOrder order, to_order(row));
        out.push_back(std::move(order));
    }
    return out;
}

}  // namespace

Status store_order(db::Transaction& tx, const Digest& job_id, const records::JobOrder& order,
                   const records::OrderSeal& seal, UnixMs now_ms) {
    Bytes datasets;
    datasets.reserve(order.datasets.size() * sizeof(Digest));
    for (const Digest& root : order.datasets)
        datasets.insert(datasets.end(), root.data.begin(), root.data.end());
    GYM_CHECK(
        tx.exec("INSERT INTO registry.job_order (job_id, owner, nonce, spec, datasets, budget_wei, "
                "price_wei_per_pflop, max_data_price_wei, expiry_s, chain_id, escrow, signature, "
                "received_at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) "
                "ON CONFLICT (job_id) DO NOTHING",
                {job_id, order.owner, order.nonce, order.spec, datasets, order.budget_wei,
                 order.price_wei_per_pflop, order.max_data_price_wei, seal.expiry_s,
                 seal.network.chain_id, seal.network.escrow, seal.signature, now_ms}));
    return {};
}

Status store_funding(db::Transaction& tx, const records::JobFunding& funding,
                     const records::OrderSeal& seal, UnixMs now_ms) {
    GYM_TRY(const db::Rows stored,
            tx.exec("INSERT INTO registry.job_funding (job_id, owner, nonce, amount_wei, expiry_s, "
                    "chain_id, escrow, signature, received_at_ms) SELECT id, owner, $2, $3, $4, "
                    "$5, $6, $7, $8 FROM registry.job WHERE id = $1 AND owner = $9",
                    {funding.job, funding.nonce, funding.amount_wei, seal.expiry_s,
                     seal.network.chain_id, seal.network.escrow, seal.signature, now_ms,
                     funding.owner}));
    return expect_stored(stored, funding.job);
}

std::string_view to_string(OrderState state) noexcept {
    return kStateNames.at(static_cast<std::size_t>(state));
}

Result<OrderState> parse_order_state(std::string_view name) {
    const auto found = std::ranges::find(kStateNames, name);
    if (found == kStateNames.end())
        return fail(ErrorCode::kMalformed, "'" + std::string(name) + "' is no state of an order");
    return static_cast<OrderState>(found - kStateNames.begin());
}

const Address& StoredOrder::owner() const {
    return std::visit([](const auto& order) -> const Address& { return order.owner; }, terms);
}
const Digest& StoredOrder::nonce() const {
    return std::visit([](const auto& order) -> const Digest& { return order.nonce; }, terms);
}
const Amount& StoredOrder::amount() const {
    if (const auto* job_order = std::get_if<records::JobOrder>(&terms))
        return job_order->budget_wei;
    return std::get<records::JobFunding>(terms).amount_wei;
}

Status check_seal(const records::OrderNetwork& network, const StoredOrder& order) {
    return std::visit(
        [&](const auto& terms) { return records::check_seal(network, terms, order.seal); },
        order.terms);
}

Result<std::vector<StoredOrder>> waiting_orders(db::Transaction& tx, std::uint32_t limit) {
    return select_orders(tx, "WHERE s.state = 'waiting' ORDER BY s.seq LIMIT $1 FOR UPDATE OF s",
                         {limit});
}

Result<std::vector<StoredOrder>> locking_orders(db::Transaction& tx, std::uint32_t limit) {
    return select_orders(tx, "WHERE s.state = 'locking' ORDER BY s.seq LIMIT $1", {limit});
}

Result<std::vector<StoredOrder>> locking_orders_of(db::Transaction& tx, const Address& owner) {
    return select_orders(tx, "WHERE s.state = 'locking' AND s.owner = $1 ORDER BY s.seq DESC",
                         {owner});
}

Result<std::vector<StoredOrder>> orders_of_job(db::Transaction& tx, const Digest& job_id) {
    return select_orders(tx, "WHERE s.job_id = $1 ORDER BY s.seq", {job_id});
}

Result<std::vector<StoredOrder>> locked_orders(db::Transaction& tx, std::uint64_t skip,
                                               std::uint32_t limit) {
    return select_orders(tx, "WHERE s.state = 'locked' ORDER BY s.seq OFFSET $1 LIMIT $2",
                         {skip, limit});
}

Result<Amount> ordered_amount(db::Transaction& tx, const Address& owner, OrderState state) {
    GYM_TRY(const db::Row row,
            // An Amount, also if somebody stored orders for more than there is.
            tx.exec_one("SELECT least(coalesce(sum(amount_wei), 0), 1e77::numeric(78, 0)) FROM "
                        "registry.order_state WHERE owner = $1 AND state = $2",
                        {owner, to_string(state)}));
    return row.get<Amount>(0);
}

Result<StoredOrder> order_of_job(db::Transaction& tx, const Digest& job_id) {
    GYM_TRY(auto found, select_orders(tx, "WHERE s.job_id = $1 AND s.kind = 'job'", {job_id}));
    if (found.empty()) return fail(ErrorCode::kNotFound, "there is no order of " + job_id.hex());
    return std::move(found.front());
}

Status decide_order(db::Transaction& tx, const StoredOrder& order, OrderState state,
                    const std::string& reason, UnixMs now_ms) {
    GYM_ASSERT(state != OrderState::kWaiting, "an order does not go back");
    GYM_TRY(const db::Rows rows,
            tx.exec("UPDATE registry.order_state SET state = $4, reason = $5, decided_at_ms = $6 "
                    "WHERE kind = $1 AND owner = $2 AND nonce = $3 AND state = $7",
                    {order.is_funding() ? "funding" : "job", order.owner(), order.nonce(),
                     to_string(state), reason, now_ms, to_string(order.state)}));
    if (rows.affected() == 1) return {};
    return fail(ErrorCode::kConflict, "the order of " + order.owner().hex() + " with the nonce " +
                                          order.nonce().hex() + " is not " +
                                          std::string(to_string(order.state)) + " any more");
}

}  // namespace gym::registry
