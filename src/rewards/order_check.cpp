#include "gym/rewards/order_check.hpp"

#include <map>
#include <optional>

namespace gym::rewards {
namespace {

using registry::StoredOrder;

constexpr std::uint32_t kOrdersOfOneRead = 1'000;

void add(Amount& to, const Amount& amount) {
    to = to.plus(amount).value_or(to);
}

/// What each job paid itself, without emission.
std::map<Digest, Amount> paid_by_jobs(const std::vector<EpochFile>& files) {
    std::map<Digest, Amount> paid;
    for (const EpochFile& file : files)
        for (const Credit& credit : file.credits)
            if (!credit.payer) add(paid[credit.job_id], credit.amount);
    return paid;
}

class JobOrders {
  public:
    JobOrders(const Digest& id, const JobFacts& job, const records::OrderNetwork& network,
              const ReadLock& read_lock, std::vector<std::string>& problems)
        : name_("job " + id.hex() + ": "),
          job_(job),
          network_(network),
          read_lock_(read_lock),
          problems_(problems) {}

    Status check(const Amount& paid) {
        for (const StoredOrder& order : job_.orders) {
            if (order.state != registry::OrderState::kLocked) continue;
            check_order(order);
            GYM_CHECK(check_lock(order));
        }
        expect(has_order_, "there is no order of its owner");
        expect(paid <= signed_,
               "it paid " + paid.to_string() + " wei, its owner signed for " + signed_.to_string());
        return {};
    }

  private:
    void expect(bool holds, const std::string& problem) {
        if (!holds) problems_.push_back(name_ + problem);
    }
    void check_order(const StoredOrder& order) {
        const Status seal = registry::check_seal(network_, order);
        if (!seal.ok()) return expect(false, seal.error().message);
        if (order.owner() != job_.owner)
            return expect(false, "an order is signed by " + order.owner().hex() +
                                     ", the job belongs to " + job_.owner.hex());
        add(signed_, order.amount());
        if (const auto* terms = std::get_if<records::JobOrder>(&order.terms)) check_terms(*terms);
    }
    Status check_lock(const StoredOrder& order) {
        GYM_TRY(const Amount locked, read_lock_(order));
        expect(locked == order.amount(), "the chain locked " + locked.to_string() +
                                             " wei by an order for " + order.amount().to_string());
        return {};
    }
    void check_terms(const records::JobOrder& order) {
        has_order_ = true;
        expect(order.price_wei_per_pflop == job_.price_wei_per_pflop,
               "its price is " + job_.price_wei_per_pflop.to_string() + ", its owner signed " +
                   order.price_wei_per_pflop.to_string());
        expect(job_.data_price_wei_per_mtoken <= order.max_data_price_wei,
               "its data costs " + job_.data_price_wei_per_mtoken.to_string() +
                   ", its owner signed for " + order.max_data_price_wei.to_string() +
                   " at the most");
    }

    const std::string name_;
    const JobFacts& job_;
    const records::OrderNetwork& network_;
    const ReadLock& read_lock_;
    std::vector<std::string>& problems_;
    Amount signed_;
    bool has_order_ = false;
};

}  // namespace

Result<std::vector<std::string>> check_orders(const std::vector<EpochFile>& files,
                                              FactSource& facts,
                                              const records::OrderNetwork& network,
                                              const ReadLock& read_lock) {
    if (files.empty()) return fail(ErrorCode::kInvalidArgument, "there is no file to check");
    const auto paid = paid_by_jobs(files);
    std::vector<std::string> problems;
    for (const auto& [id, of_last_file] : paid_by_jobs({files.back()})) {
        const auto job = facts.job(id);
        // check_facts() names a job that is unknown.
        if (!job.ok() && job.error().code == ErrorCode::kNotFound) continue;
        GYM_CHECK(job);
        GYM_CHECK(JobOrders(id, *job, network, read_lock, problems).check(paid.at(id)));
    }
    return problems;
}

namespace {

/// The first order says which network it is.
void verify_order(const StoredOrder& order, std::optional<records::OrderNetwork>& network,
                  LockedOrders& out) {
    if (!network) network = order.seal.network;
    const Status seal = registry::check_seal(*network, order);
    if (seal.ok()) return;
    out.problems.push_back({"order of " + order.owner().hex() + " for job " + order.job.hex(),
                            seal.error().message,
                            {},
                            {}});
}

}  // namespace

Result<LockedOrders> verify_locked_orders(db::Database& database) {
    LockedOrders out;
    std::optional<records::OrderNetwork> network;
    while (true) {
        GYM_TRY(const auto orders, database.transact([&](db::Transaction& tx) {
            return registry::locked_orders(tx, out.count, kOrdersOfOneRead);
        }));
        for (const StoredOrder& order : orders)
            verify_order(order, network, out);
        out.count += orders.size();
        if (orders.size() < kOrdersOfOneRead) return out;
    }
}

}  // namespace gym::rewards
