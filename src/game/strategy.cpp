#include "gym/game/strategy.hpp"

#include "gym/game/planner.hpp"

namespace gym::game {
namespace {

template <class Work>
class ByWork final : public Strategy {
  public:
    explicit ByWork(Work& own) : own_(own) {}
    Result<Move> answer(const Line& line) override { return plan_answer(own_, line); }
    Result<Move> challenge(const Line& line) override { return plan_challenge(own_, line); }

  private:
    Work& own_;
};

}  // namespace

std::unique_ptr<Strategy> strategy_of(UnitWork& own) {
    return std::make_unique<ByWork<UnitWork>>(own);
}
std::unique_ptr<Strategy> strategy_of(OuterWork& own) {
    return std::make_unique<ByWork<OuterWork>>(own);
}

}  // namespace gym::game
