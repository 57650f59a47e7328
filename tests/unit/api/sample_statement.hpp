#pragma once

#include <algorithm>
#include <vector>

#include "gym/api/statement.hpp"

namespace gym::api::testing {

/// Of address 1, newest first: a budget, a deposit, a reservation for somebody, with gaps in `seq`.
inline std::vector<StatementLine> sample_statement() {
    const std::string owner = "0x0000000000000000000000000000000000000001";
    Digest job;
    job.data.back() = 1;
    const StatementAccount chain{"system", ledger::AccountKind::kChainEscrow, false, {}};
    const StatementAccount escrow{"job:" + job.hex(), ledger::AccountKind::kEscrow, true, "50"};
    const StatementAccount available{owner, ledger::AccountKind::kAvailable, true, "200"};
    const StatementAccount earned{"0x0000000000000000000000000000000000000007",
                                  ledger::AccountKind::kEarned, false, std::nullopt};
    std::vector<StatementLine> out(3);
    out[0] = {.id = ledger::transfer_id("credit"),
              .seq = 9,
              .at = 1'800'000'002'000,
              .kind = ledger::TransferKind::kPending,
              .reason = "compute of unit 1",
              .state = LineState::kPending,
              .amount = Amount::parse_tokens("1.5").value(),
              .from = escrow,
              .to = earned,
              .job_id = job,
              .round = 3};
    out[1] = {.id = ledger::transfer_id("budget"),
              .seq = 5,
              .at = 1'800'000'001'000,
              .reason = "job budget",
              .sealed = true,
              .amount = Amount::parse_tokens("50").value(),
              .from = available,
              .to = escrow,
              .job_id = job,
              .round = std::nullopt};
    out[2] = {.id = ledger::transfer_id("deposit"),
              .seq = 2,
              .at = 1'800'000'000'000,
              .reason = "deposit",
              .sealed = true,
              .amount = Amount::parse_tokens("250").value(),
              .from = chain,
              .to = available,
              .job_id = std::nullopt,
              .round = std::nullopt};
    return out;
}

/// The page of it that `filter` asks for; nothing for other addresses.
inline std::vector<StatementLine> sample_page(const StatementFilter& filter) {
    std::vector<StatementLine> out = sample_statement();
    if (filter.owner.hex() != out[2].to.owner) return {};
    std::erase_if(out, [&](const StatementLine& line) { return line.seq >= filter.before; });
    out.resize(std::min<std::size_t>(out.size(), filter.limit));
    return out;
}

}  // namespace gym::api::testing
