#include "cli/pending_changes.hpp"

#include <boost/json.hpp>

#include "cli/amount_text.hpp"
#include "cli/rows.hpp"

namespace gym::app {

namespace json = boost::json;

json::array changes_json(const contracts::Deployment& contracts,
                         const contracts::AdminTimelock& timelock,
                         const std::vector<contracts::PendingChange>& changes) {
    json::array out;
    for (const contracts::PendingChange& pending : changes) {
        json::array calls;
        for (const contracts::AdminCall& call : pending.change.calls)
            calls.emplace_back(contracts::describe_call(contracts, timelock.address(), call));
        out.push_back(json::object{{"id", pending.id.hex()},
                                   {"ready_at_s", pending.ready_at_s},
                                   {"ready", pending.ready},
                                   {"calls", std::move(calls)}});
    }
    return out;
}

void print_changes(const contracts::Deployment& contracts, const contracts::AdminTimelock& timelock,
                   const std::vector<contracts::PendingChange>& changes) {
    for (const contracts::PendingChange& pending : changes) {
        print_row("announced", "{}, {} {}", pending.id.hex(),
                  pending.ready ? "can be executed since" : "can be executed from",
                  contract_time_text(pending.ready_at_s));
        for (const contracts::AdminCall& call : pending.change.calls)
            print_row("", "{}", contracts::describe_call(contracts, timelock.address(), call));
    }
}

}  // namespace gym::app
