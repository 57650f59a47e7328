#include "release_room.hpp"

#include <map>

namespace gym::rewards {
namespace {

using Spent = std::map<Address, Amount>;

struct RoundCredits {
    std::vector<FileCredit> credits;
    Spent spent;
};

class Room {
  public:
    explicit Room(const ReleaseCaps& caps) : caps_(caps) {}

    /// Takes all of `more`, or nothing.
    Result<bool> take(const Spent& more) {
        Spent spent = spent_;
        Amount total = total_;
        for (const auto& [payer, amount] : more) {
            GYM_TRY(spent[payer], spent[payer].plus(amount));
            GYM_TRY(total, total.plus(amount));
            if (spent[payer] > caps_.owner || total > caps_.epoch) return false;
        }
        spent_ = std::move(spent);
        total_ = total;
        return true;
    }

  private:
    ReleaseCaps caps_;
    Spent spent_;
    Amount total_;
};

}  // namespace

Result<EpochChoice> choose_rounds(std::vector<FileCredit> credits, const ReleaseCaps& caps,
                                  const PayerOf& payer_of) {
    std::vector<RoundName> order;
    std::map<RoundName, RoundCredits> rounds;
    for (FileCredit& credit : credits) {
        const RoundName name{credit.job_id, credit.round};
        const auto [round, is_new] = rounds.try_emplace(name);
        if (is_new) order.push_back(name);
        GYM_TRY(const Address payer, payer_of(credit));
        Amount& spent = round->second.spent[payer];
        GYM_TRY(spent, spent.plus(credit.amount));
        round->second.credits.push_back(std::move(credit));
    }
    EpochChoice out;
    Room room(caps);
    const auto add = [&](const RoundName& name) {
        for (FileCredit& credit : rounds[name].credits)
            out.credits.push_back(std::move(credit));
    };
    for (const RoundName& name : order) {
        GYM_TRY(const bool fits, room.take(rounds[name].spent));
        if (fits)
            add(name);
        else
            out.held.insert(name);
    }
    if (out.credits.empty() && !order.empty()) {
        add(order.front());
        out.held.erase(order.front());
    }
    return out;
}

}  // namespace gym::rewards
